#!/usr/bin/env bash
# Starts and stops one server for the tests, on 127.0.0.1 only. DIR is a folder that setup.sh filled; with - the programs of the PATH are taken.
#   up.sh start DIR DATA nats|redis|mongodb PORT   prints the URL when the server answers; the same DATA gives the same data again
#   up.sh stop  DIR DATA                           ends it in order
#   up.sh kill  DIR DATA                           ends it as a crash does
#   up.sh drop  DIR DATA                           ends it and deletes its data
set -euo pipefail
verb=${1:?start, stop, kill or drop} dir=${2:?DIR} data=$(realpath -m "${3:?DATA}") server=${4:-} port=${5:-}
mkdir -p "$data"
machine=$(uname -m)

# A process that nobody reaps has ended too.
runs() { kill -0 "$1" 2>/dev/null && { [ ! -e "/proc/$1/status" ] || grep -qs '^State:.[^ZX]' "/proc/$1/status"; }; }
end() {
  local file=$data/$1.pid pid
  [ -e "$file" ] || return 0
  pid=$(cat "$file")
  kill -CONT "$pid" 2>/dev/null || true
  kill -"$2" "$pid" 2>/dev/null || true
  for _ in $(seq 500); do runs "$pid" || break; sleep 0.02; done
  rm -f "$file"
}
detached() { if command -v setsid >/dev/null; then exec setsid "$@"; else exec nohup "$@"; fi; }
spawn() {
  local name=$1
  shift
  detached "$@" >>"$data/$name.log" 2>&1 </dev/null &
  echo $! >"$data/$name.pid"
}
await() {
  local name=$1
  shift
  for _ in $(seq 600); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    runs "$(cat "$data/$name.pid")" || break
    sleep 0.05
  done
  echo "$name did not come up:" >&2
  tail -5 "$data/$name.log" >&2
  exit 1
}
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
# program FOLDER NAME: that of DIR where it is there.
program() { if [ -x "$dir/$1/$2" ]; then echo "$dir/$1/$2"; else command -v "$2"; fi; }

sid=$dir/sid
pg=/srv/pg/$(printf %s "$data" | cksum | cut -d' ' -f1)
sql() { chroot "$sid" /usr/bin/psql -h "$pg" -U postgres -qAtc "$1"; }

start_postgres() {
  if [ ! -e "$sid$pg/PG_VERSION" ]; then
    chroot --userspec=postgres "$sid" /usr/lib/postgresql/18/bin/initdb -D "$pg" -A trust -U postgres --locale=C.UTF-8 --no-sync >/dev/null
    cat >>"$sid$pg/postgresql.conf" <<C
listen_addresses = ''
unix_socket_directories = '$pg'
dynamic_shared_memory_type = mmap
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
cron.database_name = 'postgres'
cron.use_background_workers = on
documentdb.localhost_connection_string = 'host=$pg'
shared_buffers = 64MB
max_connections = 100
max_worker_processes = 16
# The tests kill the server, not the machine.
fsync = off
C
  fi
  rm -f "$sid$pg/postmaster.pid" "$sid$pg"/.s.PGSQL.*
  spawn postgres chroot --userspec=postgres "$sid" /usr/lib/postgresql/18/bin/postgres -D "$pg"
  await postgres sql 'select 1'
  # Indexes are built by a job; it looks for work every second.
  sql "set client_min_messages = error; create extension if not exists documentdb cascade;
    select cron.alter_job(jobid, schedule := '1 second') from cron.job where jobname like 'documentdb_index%'" >/dev/null
}

start_mongodb() {
  mkdir -p "$data/mongodb"
  if [ -e "$sid/.complete" ]; then
    start_postgres
    spawn mongodb "$dir/ferretdb" "127.0.0.1:$port" "postgres://postgres@/postgres?host=$sid$pg" "$data/mongodb"
  else
    spawn mongodb "$(command -v mongod)" --dbpath "$data/mongodb" --bind_ip 127.0.0.1 --port "$port"
  fi
}

case $verb in
  start)
    case ${server:?nats, redis or mongodb} in
      nats)
        binary=$(program nats/usr/sbin nats-server)
        # 2.9, which distributions have, does not know it.
        sync=', sync_interval: always'
        case $("$binary" --version) in *" v2.9."*) sync= ;; esac
        printf 'host: 127.0.0.1\nport: %s\njetstream { store_dir: "%s"%s }\n' "${port:?PORT}" "$data/nats" "$sync" >"$data/nats.conf"
        spawn nats "$binary" -c "$data/nats.conf"
        ;;
      redis)
        mkdir -p "$data/redis"
        spawn redis env LD_LIBRARY_PATH="$dir/redis/usr/lib/$machine-linux-gnu" "$(program redis/usr/bin redis-server)" \
          --port "${port:?PORT}" --bind 127.0.0.1 --dir "$data/redis" --appendonly yes --save ''
        ;;
      mongodb) start_mongodb ;;
      *) echo "no such server: $server" >&2; exit 2 ;;
    esac
    await "$server" answers
    echo "$server://127.0.0.1:$port"
    ;;
  stop | drop)
    for name in nats redis mongodb; do end "$name" TERM; done
    end postgres INT
    if [ "$verb" = drop ]; then rm -rf -- "$data" "${sid:?}$pg"; fi
    ;;
  kill)
    for name in nats redis mongodb; do end "$name" KILL; done
    # Its processes end without writing anything more; the next start recovers from the log.
    end postgres QUIT
    ;;
  *) echo "no such verb: $verb" >&2; exit 2 ;;
esac
