/**
 * The page about one server: its commands are run in order, on a tree of their own, and its units and proxies are held
 * against their programs.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import t from 'tap';
import { linesWithoutSetting, readServeConfig } from '../../src/service/settings/config.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { shell } from '../support/documented-pages.js';
import { freePort } from '../support/free-port.js';
import { environmentOf } from '../support/server-process.js';

t.setTimeout(900_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));
const vps = join(root, 'deploy/vps');
const read = (name: string): string => readFileSync(join(vps, name), 'utf8');
const units = ['sealpost.service', 'sealpost-backup.service', 'sealpost-backup.timer'];

/** Directories of a server, which stand below a temporary one here. */
const PLACES = /(?<![\w.])\/(?:etc|opt\/sealpost|var\/lib\/sealpost|var\/backups\/sealpost|usr\/local\/bin)\b/g;
const below = (place: string, text: string): string => text.replace(PLACES, (path) => `${place}${path}`);

const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

void t.test('the settings are such, and serve takes them', (t) => {
  const text = read('settings.env');
  t.same(linesWithoutSetting(text), []);
  const place = temporaryDirectory(t);
  const settings = { ...parseEnv(text), SEALPOST_MASTER_KEY_FILE: join(place, 'master.key'), SEALPOST_DATA_DIR: place };
  writeFileSync(settings.SEALPOST_MASTER_KEY_FILE, Buffer.alloc(32, 7).toString('base64'));
  t.match(readServeConfig(settings), { publicUrl: 'https://mail.example.com', host: '127.0.0.1' });
  t.end();
});

void t.test('systemd takes the units', { skip: !has('systemd-analyze') && 'systemd-analyze is missing' }, (t) => {
  const place = temporaryDirectory(t);
  // The programs that units name must be there.
  for (const name of units) writeFileSync(join(place, name), read(name).replaceAll('/opt/sealpost/current/', root));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units.map((name) => join(place, name))], {
    encoding: 'utf8',
  });
  t.same([status, stderr], [0, '']);
  t.end();
});

void t.test('Caddy takes its file', { skip: !has('caddy') && 'caddy is missing' }, (t) => {
  const home = temporaryDirectory(t);
  const { status, stderr } = spawnSync(
    'caddy',
    ['validate', '--adapter', 'caddyfile', '--config', join(vps, 'Caddyfile')],
    {
      encoding: 'utf8',
      env: { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
    },
  );
  t.equal(status, 0, stderr);
  t.end();
});

void t.test(
  'nginx takes its file',
  { skip: !(has('nginx') && has('openssl')) && 'nginx or openssl is missing' },
  (t) => {
    const place = temporaryDirectory(t);
    const [key, certificate] = [join(place, 'privkey.pem'), join(place, 'fullchain.pem')];
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=mail.example.com',
      '-keyout',
      key,
      '-out',
      certificate,
    ];
    t.equal(spawnSync('openssl', made).status, 0);
    const site = read('nginx.conf')
      .replaceAll('/etc/letsencrypt/live/mail.example.com', place)
      .replace(/^\tlisten \[::\].*\n/gm, '');
    const whole = `pid ${place}/pid; error_log stderr; events {} http { access_log off; ${[
      'client_body',
      'proxy',
      'fastcgi',
      'uwsgi',
      'scgi',
    ]
      .map((name) => `${name}_temp_path ${place}/${name};`)
      .join(' ')}\n${site}\n}`;
    writeFileSync(join(place, 'nginx.conf'), whole);
    const { status, stderr } = spawnSync('nginx', ['-t', '-p', place, '-c', join(place, 'nginx.conf')], {
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    t.end();
  },
);

const lacking = ['jq', 'curl', 'openssl'].filter((program) => !has(program));

void t.test(
  'the commands of the page',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const place = temporaryDirectory(t);
    const programs = join(place, 'programs');
    const port = await freePort();
    for (const directory of [
      programs,
      ...['files', 'etc/systemd/system', 'etc/caddy', 'usr/local/bin', 'opt'].map((path) => join(place, path)),
    ])
      mkdirSync(directory, { recursive: true });
    for (const name of readdirSync(vps)) {
      writeFileSync(join(place, 'files', name), below(place, read(name)));
      chmodSync(join(place, 'files', name), statSync(join(vps, name)).mode);
    }
    const release = `${place}/opt/sealpost/current`;
    const path = `PATH=${release}/node_modules/.bin:$PATH`;
    /** Stand-ins for what changes a machine; everything else is what a server has. */
    const standIns: Readonly<Record<string, string>> = {
      sudo: 'exec "$@"',
      'apt-get': '',
      useradd: '',
      npm: '',
      runuser: 'shift 3; exec "$@"',
      install:
        'for word in "$@"; do shift; case $word in -o|-g) skip=1 ;; *) [ -n "$skip" ] && skip= || set -- "$@" "$word" ;; esac; done; exec /usr/bin/install "$@"',
      // A release: the programs of this build, and the files of deploy with the places of this test.
      git: [
        'for to in "$@"; do :; done; mkdir -p "$to/deploy"',
        `cp -r '${place}/files' "$to/deploy/vps"`,
        `for part in bin build node_modules fonts package.json; do ln -s '${root}'$part "$to/$part"; done`,
      ].join('\n'),
      sudoedit: `sed -i 's/^PORT=.*/PORT=${port}/; s,^SEALPOST_SMTP_URL=.*,SEALPOST_SMTP_URL=mailbox:,' "$1"`,
      systemctl: [
        `pid='${place}/pid'`,
        `start() { cd '${place}/etc/sealpost' && ${path} setsid '${release}/bin/sealpost.js' serve >>'${place}/journal' 2>&1 & echo $! >"$pid"; }`,
        'stop() { [ ! -e "$pid" ] || { kill "$(cat "$pid")" 2>/dev/null; while kill -0 "$(cat "$pid")" 2>/dev/null; do /bin/sleep 0.1; done; rm "$pid"; }; }',
        'case "$*" in',
        "  'daemon-reload'|'reload caddy') ;;",
        "  'enable --now sealpost sealpost-backup.timer'|'start sealpost') start ;;",
        "  'stop sealpost') stop ;;",
        "  'restart sealpost') stop; start ;;",
        `  'start sealpost-backup') ${path} '${release}/deploy/vps/backup.sh' ;;`,
        '  *) echo "no stand-in for systemctl $*" >&2; exit 1 ;;',
        'esac',
      ].join('\n'),
    };
    for (const [name, text] of Object.entries(standIns)) {
      writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(programs, name), 0o755);
    }
    const { NODE_OPTIONS: _loader, ...environment } = environmentOf({});
    const env = {
      ...environment,
      PATH: `${programs}:${place}/usr/local/bin:${environment['PATH'] ?? ''}`,
      REPOSITORY: root,
    };
    t.teardown(() => shell('systemctl stop sealpost', place, env));

    const base = `http://127.0.0.1:${port}`;
    const commands = new Map<string, string>();
    let heading = '';
    for (const [, title, inside = ''] of readFileSync(join(root, 'docs/vps.md'), 'utf8').matchAll(
      /^#+ (.*)$|^```sh\n([^]*?)^```$/gm,
    ))
      if (title === undefined) commands.set(heading, `${commands.get(heading) ?? ''}${inside}`);
      else heading = title;
    t.same([...commands.keys()], ['Install', 'HTTPS', 'First use', 'Backups', 'Restore', 'Update']);
    let directory = place;
    const run = async (heading: string): Promise<string> => {
      const line = below(place, ['set -e', commands.get(heading), 'pwd >"$PLACE/pwd"'].join('\n')).replaceAll(
        /https:\/\/mail\.example\.com|http:\/\/127\.0\.0\.1:3000/g,
        base,
      );
      const { code, stdout, stderr } = await shell(line, directory, { ...env, PLACE: place });
      if (code !== 0) throw new Error(`${heading}: ${stdout}${stderr}`);
      directory = readFileSync(join(place, 'pwd'), 'utf8').trim();
      return stdout;
    };
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' };
    let key = '';
    const call = (target: string, body?: unknown) =>
      fetch(`${base}${target}`, {
        headers: { ...proxied, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });

    await run('Install');
    t.match(await run('HTTPS'), '"status":"ready"');
    t.ok(existsSync(join(place, 'etc/caddy/Caddyfile')));
    key = /sealpost_sk_[\w-]+/.exec(await run('First use'))?.[0] ?? '';
    t.equal((await fetch(`${base}/api/emails`)).status, 403, 'plain HTTP, without the proxy');
    const sent = await call('/api/emails/send', {
      templateId: 'sign-in-code',
      to: [{ email: 'ada@example.com' }],
      variables: { code: '482913', firstName: 'Ada' },
    });
    t.equal(sent.status, 201);
    const { id } = (await sent.json()) as { id: string };
    await run('Backups');
    for (const kind of ['log', 'keys']) t.equal(readdirSync(join(place, 'var/backups/sealpost', kind)).length, 1, kind);
    // The disk is replaced: what was backed up comes back, on a server that is stopped first.
    await shell('systemctl stop sealpost; rm -r "$DATA"/*', place, { ...env, DATA: join(place, 'var/lib/sealpost') });
    await run('Restore');
    t.match(await run('Update'), '"status":"ready"');
    const record = await call(`/api/emails/${id}`);
    t.equal(record.status, 200, 'the mail of before is there');
  },
);
