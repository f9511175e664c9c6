/**
 * A Postfix of the distribution on a port of its own, with its own configuration and queue: it relays every mail to one
 * host.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { temporaryDirectory } from './data-directory.js';
import { freePort } from './free-port.js';
import { eventually } from './wait.js';

const PATH = `/usr/sbin:/sbin:${process.env['PATH'] ?? ''}`;

/** Runs the master until the input of the shell ends, as it does where the test is killed. */
const UNTIL_INPUT_ENDS = `
exec 3<&0
"$1" -c "$2" -s </dev/null 3<&- & master=$!
( cat <&3 >/dev/null; kill -TERM "$master" 2>/dev/null ) &
wait "$master"
`;

const run = (program: string, args: readonly string[]) => spawnSync(program, args, { env: { PATH }, encoding: 'utf8' });

/** Why no Postfix can be started here; undefined if one can. */
export const postfixMissing = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'the master of Postfix is started by root alone';
  if (run('postconf', ['-d', 'mail_version']).status !== 0) return 'there is no Postfix';
  // A package whose installation broke off may have left programs without their user and group.
  const [, owner] = /^mail_owner = (\S+)/.exec(run('postconf', ['-d', 'mail_owner']).stdout) ?? [];
  const [, group] = /^setgid_group = (\S+)/.exec(run('postconf', ['-d', 'setgid_group']).stdout) ?? [];
  const isKnown =
    run('getent', ['passwd', owner ?? '']).status === 0 && run('getent', ['group', group ?? '']).status === 0;
  if (!isKnown) return 'Postfix is installed without its user or its group';
  return isOpen(tmpdir()) ? undefined : `its user cannot pass through ${tmpdir()}`;
};

/** True if every user may pass through the directory and those above it. */
const isOpen = (directory: string): boolean =>
  (statSync(directory).mode & 0o001) !== 0 && (dirname(directory) === directory || isOpen(dirname(directory)));

const settingsOf = (directory: string, nextPort: number): readonly string[] => [
  'compatibility_level = 3.6',
  `queue_directory = ${join(directory, 'queue')}`,
  `data_directory = ${join(directory, 'data')}`,
  `maillog_file = ${join(directory, 'log')}`,
  `maillog_file_prefixes = ${directory}`,
  'inet_protocols = ipv4',
  'inet_interfaces = 127.0.0.1',
  'myhostname = relay.test',
  'mydestination =',
  'local_recipient_maps =',
  'alias_maps =',
  'alias_database =',
  'mynetworks = 127.0.0.0/8',
  'smtpd_relay_restrictions = permit_mynetworks, reject',
  'smtpd_peername_lookup = no',
  'smtp_dns_support_level = disabled',
  'smtp_host_lookup = native',
  'smtputf8_enable = yes',
  `relayhost = [127.0.0.1]:${nextPort}`,
];

/** No service is in a jail (`chroot`), which would need copies of system files. */
const servicesOf = (port: number): readonly string[] => [
  `127.0.0.1:${port} inet n - n - - smtpd`,
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 300 1 qmgr',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'smtp unix - - n - - smtp',
  'relay unix - - n - - smtp',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'anvil unix - - n - 1 anvil',
  'postlog unix-dgram n - n - 1 postlogd',
];

export type Postfix = Readonly<{
  /** Its version, e.g. `3.7.11`. */
  version: string;
  url: string;
  /** Its log. */
  log: () => string;
}>;

/** Starts one that hands every mail to the port of loopback. It is stopped with the test. */
export const openPostfix = async (t: Test, nextPort: number): Promise<Postfix> => {
  const directory = temporaryDirectory(t);
  // The user of Postfix passes through it to its queue.
  chmodSync(directory, 0o755);
  for (const name of ['config', 'queue', 'data']) mkdirSync(join(directory, name));
  const config = join(directory, 'config');
  const valueOf = (name: string): string => run('postconf', ['-d', '-h', name]).stdout.trim();
  run('chown', [valueOf('mail_owner'), join(directory, 'data')]);
  const port = await freePort();
  writeFileSync(join(config, 'main.cf'), `${settingsOf(directory, nextPort).join('\n')}\n`);
  writeFileSync(join(config, 'master.cf'), `${servicesOf(port).join('\n')}\n`);
  const checked = run('postfix', ['-c', config, 'check']);
  if (checked.status !== 0) throw new Error(`Postfix refuses its configuration: ${checked.stdout}${checked.stderr}`);

  let said = '';
  let hasEnded = false;
  // Signals to the group of the test do not reach the shell, which would leave the master alone.
  const shell = spawn('sh', ['-c', UNTIL_INPUT_ENDS, 'sh', join(valueOf('daemon_directory'), 'master'), config], {
    env: { PATH },
    detached: true,
  });
  const ended = once(shell, 'exit').then(() => (hasEnded = true));
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (said += text));
  const log = (): string =>
    said + (existsSync(join(directory, 'log')) ? readFileSync(join(directory, 'log'), 'utf8') : '');
  shell.stdin.on('error', () => undefined);
  t.teardown(async () => {
    shell.stdin.end();
    await ended;
  });
  await eventually('Postfix greets', () => {
    if (hasEnded) throw new Error(`Postfix ended: ${log()}`);
    return greets(port);
  });
  return { version: valueOf('mail_version'), url: `smtp://127.0.0.1:${port}`, log };
};

const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', (greeting) => end(greeting.toString('latin1').startsWith('220 ')));
    socket.once('close', () => end(false));
    socket.on('error', () => end(false));
  });
