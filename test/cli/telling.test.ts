/** Commands that tell and push, beside a running server on the same data directory; and what each refuses. */
import { spawn } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { assertMayFound } from '../../src/cli/core/engine.js';
import { openRate } from '../../src/cli/core/output.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { makeProjections } from '../../src/projections/index.js';
import { readConfig } from '../../src/service/settings/config.js';
import { programDirectory } from '../../src/service/version.js';
import { sendBody } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { environmentOf, finished, mainFile, runCommand, runProcess } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

const { dataDir, settings, server, base, firstKey, run, call } = await openCliWorld(t);

/** The commands that the help of the program lists, with their groups. */
const commandTree = async (words: readonly string[] = []): Promise<readonly string[]> => {
  const { stdout } = await run(...words, '--help');
  const names = [...(stdout.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(
    ([, name]) => name!,
  );
  const found: string[] = names.length === 0 ? [words.join(' ')] : [];
  for (const name of names) if (name !== 'help') found.push(...(await commandTree([...words, name])));
  return found;
};
const commands = await commandTree();

await t.test('replay: a stream, all, from a position, as text and as JSON', async (t) => {
  const { body } = await call(
    firstKey,
    'POST',
    '/api/emails/send',
    sendBody({ to: [{ email: 'replayed@example.com' }] }),
  );
  const id = String(body['id']);
  await eventually(
    'it is delivered',
    async () => (await call(firstKey, 'GET', `/api/emails/${id}`)).body['status'] === 'delivered',
  );
  const text = await run('replay', `email-${id}`);
  t.equal(text.code, 0);
  t.match(text.stdout, /EmailQueued/);
  t.match(text.stdout, /sealed .*replayed@example\.com/);
  const lines = (await run('replay', id, '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  t.same(
    lines.map(({ type }) => type),
    ['EmailQueued', 'DeliveryAttempted', 'EmailSent', 'EmailDelivered'],
  );
  t.same(
    lines.map(({ revision }) => revision),
    [0, 1, 2, 3],
  );
  t.match(lines[0], {
    stream: `email-${id}`,
    position: Number,
    hash: /^[0-9a-f]{96}$/,
    sealed: { recipients: [{ email: 'replayed@example.com' }] },
    metadata: { actor: /^apiKey:key_/ },
  });

  const position = Number(lines[0]!['position']);
  const all = (await run('replay', '--all', '--json', '--from', String(position))).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { position: number });
  t.equal(all[0]!.position, position);
  t.same(
    all.map((line) => line.position),
    all.map((_, index) => position + index),
    'the total order has no gaps',
  );

  t.equal((await call(firstKey, 'DELETE', `/api/emails/${id}`)).status, 200);
  const destroyed = await run('replay', `email-${id}`);
  t.notMatch(destroyed.stdout, 'replayed@example.com');
  t.match(destroyed.stdout, /sealed destroyed/);
  t.match((await run('replay', id, '--json')).stdout, /"sealed":"destroyed"/);

  const { stdout: named } = await run('replay', id, '--json');
  for (const typed of [id.toUpperCase(), `email-${id.toUpperCase()}`]) {
    t.same(await run('replay', typed, '--json'), { code: 0, signal: null, stdout: named, stderr: '' }, typed);
    t.match(await run('show', typed), { code: 0 }, typed);
  }

  t.match(await run('replay'), { code: 1, stderr: /name one stream .*, or --all/ });
  t.match(await run('replay', 'ledger', '--all'), { code: 1, stderr: /or --all/ });
  t.match(await run('replay', 'email-nothing'), { code: 1, stderr: /there is no stream email-nothing/ });
  t.match(await run('replay', '--all', '--from', '0'), { code: 1, stderr: /--from 0 is not a position/ });
});

await t.test('show: what a stream adds up to, now and at a moment of the past', async (t) => {
  const { body } = await call(firstKey, 'POST', '/api/emails/send', sendBody({ to: [{ email: 'shown@example.com' }] }));
  const id = String(body['id']);
  await eventually(
    'it is delivered',
    async () => (await call(firstKey, 'GET', `/api/emails/${id}`)).body['status'] === 'delivered',
  );
  const shown = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run('show', ...args);
    t.equal(code, 0, stderr);
    return JSON.parse(stdout) as {
      upTo: { eventId: string; revision: number; occurredAt: string };
      state: Record<string, unknown>;
    };
  };
  const now = await shown(`email-${id}`);
  t.match(now, { stream: `email-${id}`, upTo: { type: 'EmailDelivered', revision: 3 } });
  t.same(now.state, (await call(firstKey, 'GET', `/api/emails/${id}`)).body);
  const events = (await run('replay', id, '--json')).stdout.trim().split('\n');
  const { metadata } = JSON.parse(events[0]!) as { metadata: { eventId: string } };
  const first = await shown(id, '--as-of', metadata.eventId);
  t.match(first, {
    upTo: { type: 'EmailQueued', revision: 0 },
    state: { status: 'queued', recipients: [{ email: 'shown@example.com' }] },
  });
  t.same((await call(firstKey, 'GET', `/api/emails/${id}?asOf=${metadata.eventId}`)).body, first.state);
  t.same(await shown(id, '--as-of', now.upTo.occurredAt), now);

  const all = (await run('replay', '--all', '--json')).stdout.trim().split('\n');
  const streams = new Set(all.map((line) => (JSON.parse(line) as { stream: string }).stream));
  for (const kind of ['team', 'template', 'templateSlug', 'apiKey', 'instance']) {
    const stream = [...streams].find((name) => name.split('-')[0] === kind)!;
    const { state } = await shown(stream);
    t.ok(state, stream);
    t.notMatch(JSON.stringify(state), /"hash":"[0-9a-f]{8}/);
  }

  for (const [args, sentence] of [
    [['email-nobody'], /there is no stream email-nobody/],
    [['nothing-1'], /there is no stream nothing-1/],
    [[id, '--as-of', 'yesterday'], /--as-of yesterday is neither/],
    [[id, '--as-of', '2001-01-01'], /has no event up to 2001-01-01; it began later/],
    [[id, '--as-of', id], /is the id of no event of email-/],
  ] as const)
    t.match(await run('show', ...args), { code: 1, stderr: sentence }, args.join(' '));

  t.equal((await call(firstKey, 'DELETE', `/api/emails/${id}`)).status, 200);
  const destroyed = await shown(id, '--as-of', metadata.eventId);
  t.match(destroyed, { state: { status: 'queued', recipients: [{ email: null }] } });
  t.notMatch(JSON.stringify(destroyed), /shown@example/);
});

await t.test('timeline: a line for each event, as a table and as JSON', async (t) => {
  const { body } = await call(
    firstKey,
    'POST',
    '/api/emails/send',
    sendBody({ to: [{ email: 'traced@example.com' }] }),
  );
  const id = String(body['id']);
  await eventually(
    'it is delivered',
    async () => (await call(firstKey, 'GET', `/api/emails/${id}`)).body['status'] === 'delivered',
  );
  const { code, stdout } = await run('timeline', id);
  t.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.match(lines[0], /^TIME +SINCE +KIND +TOOK +TO +WHAT +BY +CAUSE +ID$/);
  const column = lines[0]!.indexOf('KIND');
  t.same(
    lines.slice(1).map((line) => /^\w+/.exec(line.slice(column))?.[0]),
    ['EmailQueued', 'DeliveryAttempted', 'EmailSent', 'EmailDelivered'],
  );
  t.match(lines[1], /apiKey:key_\S+ +request /);
  t.match(lines[3], / ms +traced@example\.com +accepted 250/);
  const told = (await run('timeline', `email-${id}`, '--json')).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  t.same(told, (await call(firstKey, 'GET', `/api/emails/${id}/timeline`)).body['data']);
  t.match(await run('timeline', 'nonsense'), { code: 1, stderr: /nonsense is not the id of an email/ });
  t.match(await run('timeline', '99999999-9999-4999-8999-999999999999'), { code: 1, stderr: /no email with this id/ });
});

await t.test('a reader that closes early ends a command quietly', async (t) => {
  // The reader is gone before the first line is written, whichever command it is: none of them ends with a fault of its
  // own.
  const program = `"${process.execPath}" "${mainFile}"`;
  for (const words of [
    'replay --all --json',
    'retention',
    'retention --json',
    'schema email',
    '--help',
    'doctor 2>&1',
  ]) {
    const script = `{ ${program} ${words}; echo "ended with $?" >&2; } | true`;
    const child = spawn('sh', ['-c', script], { env: environmentOf(settings), stdio: ['ignore', 'pipe', 'pipe'] });
    t.match(await finished(child), { stderr: /^ended with 0\n$/ }, words);
  }
});

await t.test('email gives a scheduled one another time, cancels it, and says why it cannot', async (t) => {
  const later = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  const { body } = await call(firstKey, 'POST', '/api/emails/send', { ...sendBody(), scheduledAt: later(1) });
  const { id } = body as { id: string };
  const time = later(2);
  t.match(await run('email', 'reschedule', id, time), {
    code: 0,
    stdout: new RegExp(`^Email ${id} leaves at ${time}\\.`),
  });
  t.match(await call(firstKey, 'GET', `/api/emails/${id}`), { body: { status: 'scheduled', scheduledAt: time } });
  t.match(await run('email', 'reschedule', id, later(-1)), { code: 1, stderr: /scheduledAt: lies in the past/ });
  t.match(await run('email', 'reschedule', id, '2030-01-31T09:30:00'), {
    code: 1,
    stderr: /is not an ISO 8601 time with a zone/,
  });
  t.match(await run('email', 'cancel', id), { code: 0, stdout: new RegExp(`^Email ${id} is cancelled`) });
  t.match(await call(firstKey, 'GET', `/api/emails/${id}`), { body: { status: 'cancelled' } });
  t.match(await run('email', 'cancel', id), { code: 1, stderr: /is cancelled already/ });
  t.match(await run('email', 'cancel', 'welcome'), { code: 1, stderr: /is not the id of an email/ });
});

await t.test('retry pushes on by hand, and refuses what is no time, no domain and no template', async (t) => {
  t.match(await run('retry', '--domain', 'nobody.example'), {
    code: 0,
    stdout: /^0 emails are due now; 0 wait for the relay, which is asked now\.\n$/,
  });
  t.match(await run('retry', '--failed', '--template', '00000000-0000-4000-8000-000000000000'), {
    code: 0,
    stdout: /^0 emails/,
  });
  t.match(await run('retry', '--since', 'yesterday'), { code: 1, stderr: /--since yesterday is not an ISO 8601 time/ });
  t.match(await run('retry', '--until', '2026-02-30'), {
    code: 1,
    stderr: /--until 2026-02-30 is not an ISO 8601 time/,
  });
  t.match(await run('retry', '--domain', '@example.com'), {
    code: 1,
    stderr: /--domain @example.com is not a domain such as example.com/,
  });
  t.match(await run('retry', '--template', 'welcome'), {
    code: 1,
    stderr: /--template welcome is not the id of a template/,
  });
});

await t.test('parked: a bus within the service keeps nothing, and says so', async (t) => {
  const nothing = { code: 0, stdout: /^The bus of this service is in its own process .* keeps no parked work/ };
  t.match(await run('parked', 'list'), nothing);
  t.match(await run('parked', 'release', '--all'), nothing);
  t.match(await run('parked', 'release'), {
    code: 1,
    stderr: /name the ids that `sealpost parked list` shows, or say --all/,
  });
  t.match(await run('parked', 'release', 'x', '--all'), { code: 1, stderr: /name the ids/ });
});

await t.test('mailbox prints the link again, and it opens the page', async (t) => {
  const { port } = new URL(base);
  const { code, stdout } = await runCommand(['mailbox'], { ...settings, PORT: port });
  t.equal(code, 0);
  const [, printed = ''] = await server.printed(/^ {2}Mailbox +(\S+)$/m);
  t.equal(stdout, `${printed}\n`);
  t.match(await fetch(stdout.trim(), { redirect: 'manual' }), { status: 303 });
  t.match(await runCommand(['mailbox'], { ...settings, SEALPOST_SMTP_URL: 'smtp://127.0.0.1:2525' }), {
    code: 1,
    stdout: '',
    stderr: /SEALPOST_SMTP_URL names a relay: mail goes there, and there is no mailbox/,
  });
  t.match(await runCommand(['mailbox'], { SEALPOST_DATA_DIR: join(dataDir, 'none') }), {
    code: 1,
    stderr: /there is no data directory/,
  });
});

await t.test('openapi prints the description that the server serves', async (t) => {
  const printed = await runCommand(['openapi'], { ...settings, SEALPOST_PUBLIC_URL: 'https://mail.example.com' });
  t.equal(printed.code, 0, printed.stderr);
  const described = JSON.parse(printed.stdout) as { openapi: string; paths: Record<string, unknown>; servers: unknown };
  t.match(described, { openapi: /^3\.1\./, servers: [{ url: 'https://mail.example.com' }] });
  const served = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, unknown> };
  t.same(
    Object.keys(described.paths)
      .filter((path) => !path.startsWith('/mailbox'))
      .sort(),
    Object.keys(served.paths)
      .filter((path) => !path.startsWith('/mailbox'))
      .sort(),
  );
});

await t.test('schema prints the JSON schema of each kind of template', async (t) => {
  for (const kind of ['email', 'attachment']) {
    const printed = await runCommand(['schema', kind], {});
    t.equal(printed.code, 0, printed.stderr);
    t.equal(printed.stdout, readFileSync(new URL(`../../../schemas/${kind}-template.json`, import.meta.url), 'utf8'));
  }
  t.match(await runCommand(['schema', 'mail'], {}), {
    code: 1,
    stdout: '',
    stderr: /"mail" is no kind of template: it must be one of email, attachment/,
  });
});

await t.test('--help on each, and --version', async (t) => {
  for (const command of [
    [],
    ['serve'],
    ['key'],
    ['key', 'create'],
    ['key', 'revoke'],
    ['team'],
    ['team', 'show'],
    ['team', 'set'],
    ['template'],
    ['template', 'import'],
    ['rebuild'],
    ['retry'],
    ['mailbox'],
    ['replay'],
    ['parked', 'list'],
    ['parked', 'release'],
    ['verify'],
    ['openapi'],
    ['schema'],
  ]) {
    const { code, stdout } = await run(...command, '--help');
    t.equal(code, 0, command.join(' '));
    t.match(stdout, `Usage: sealpost${command.length === 0 ? '' : ' '}${command.join(' ')}`);
  }
  t.match(await runProcess(['--version'], settings), { code: 0, stdout: /^\d+\.\d+\.\d+/ });
  t.match(await runProcess(['fly'], settings), { code: 1, stderr: /unknown command 'fly'/ });
});

await t.test('commands without a first start say what to do', async (t) => {
  const empty = { SEALPOST_DATA_DIR: join(temporaryDirectory(t), 'new') };
  t.match(await runCommand(['key', 'create', '--name', 'x'], empty), { code: 1, stderr: /or start the service once/ });
});

await t.test('no command makes anything where there is no instance, and each says so once', async (t) => {
  const id = '0198c7a0-0000-7000-8000-000000000000';
  const key = 'key_AAAAAAAAAAAAAAAAAAAAAA';
  const args: Readonly<Record<string, readonly string[]>> = {
    'key create': ['--name', 'x'],
    'key change': [key, '--name', 'x'],
    'key revoke': [key],
    'user erase': ['ada@example.com'],
    'user link': ['ada@example.com'],
    'user operator': ['ada@example.com'],
    'team add-member': ['ada@example.com', '--role', 'owner'],
    'team remove-member': ['ada@example.com'],
    'credits grant': ['1'],
    'credits buy': ['1'],
    'template import': ['absent.json'],
    'template pull': ['welcome'],
    'template preview': ['welcome'],
    'bulk send': ['absent.csv', '--template', 'welcome'],
    'bulk status': [id],
    'bulk cancel': [id],
    'bulk results': [id],
    'email cancel': [id],
    'email reschedule': [id, '2030-01-01T00:00:00Z'],
    'parked release': ['--all'],
    migrate: ['--from', 'absent', '--to', 'absent.env'],
    replay: ['--all'],
    show: [id],
    timeline: [id],
    retention: ['--dry-run'],
    backup: ['copy'],
    restore: ['absent'],
    repair: ['log'],
    'templates preview': ['welcome'],
    'templates send-test': ['welcome'],
    'templates convert': ['absent.html'],
    'emails show': [id],
    profiles: ['absent'],
  };
  // `doctor` tells in lines of its own; `openapi`, `schema` and `completion` need no instance; `serve` makes one.
  const others = ['doctor', 'openapi', 'schema', 'completion', 'serve'];
  t.same(
    Object.keys(args).filter((command) => !commands.includes(command)),
    [],
  );
  const place = temporaryDirectory(t);
  t.match(await runCommand(['retention'], { SEALPOST_DATA_DIR: join(place, 'absent') }), {
    code: 1,
    stderr: /there is no data directory/,
  });
  const foreign = join(place, 'foreign');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'thesis.txt'), 'x');
  for (const command of commands.filter((one) => !others.includes(one)))
    for (const dataDir of ['verify', 'restore', 'repair', 'key create'].includes(command)
      ? [join(place, 'absent'), foreign]
      : [foreign]) {
      const words = [...command.split(' '), ...(args[command] ?? [])].map((word) =>
        /^(?:absent|copy)/.test(word) ? join(place, word) : word,
      );
      const said = await runCommand(words, { SEALPOST_DATA_DIR: dataDir, XDG_CONFIG_HOME: join(place, 'absent') });
      t.match(said, { code: 1, stdout: '', stderr: /^sealpost: [^\n]+\n$/ }, `${command} in ${dataDir}`);
      t.notMatch(said.stderr, /ENOENT|Cannot open database/, command);
      t.same([readdirSync(place), readdirSync(foreign)], [['foreign'], ['thesis.txt']], `${command} makes nothing`);
    }
  t.match(await runCommand(['doctor'], { SEALPOST_DATA_DIR: foreign }), { code: 2 });
  t.same(readdirSync(foreign), ['thesis.txt']);
});

await t.test(
  'root is refused beside stores, or in a directory, of another user',
  { skip: process.getuid?.() !== 0 },
  async (t) => {
    const place = temporaryDirectory(t);
    const file = join(place, 'events.db');
    const refused = {
      code: 1,
      stdout: '',
      stderr: /^sealpost: \S+ belongs to uid 54321, .*run this as that user \(sudo -u '#54321' …\)\n$/,
    };
    for (const made of [[], ['events.db']]) {
      if (made.length > 0) writeFileSync(file, '');
      // The owner of the stores counts before that of the directory.
      chownSync(made.length > 0 ? file : place, 54_321, 54_321);
      if (made.length > 0) chownSync(place, 0, 0);
      for (const words of [
        'serve',
        'rebuild',
        'verify',
        'clock confirm',
        'key create --name x',
        'repair read-models',
        `backup ${place}/copy`,
      ]) {
        t.match(await runCommand(words.split(' '), { SEALPOST_DATA_DIR: place }), refused, words);
        t.same(readdirSync(place), made, words);
      }
      t.match(await runCommand(['doctor'], { SEALPOST_DATA_DIR: place }), {
        code: 2,
        stdout: /^FAULT +data: \S+ belongs to uid 54321, /m,
      });
      t.same(readdirSync(place), made);
    }
  },
);

await t.test('serve makes no data beside files of others, unless it is told where', async (t) => {
  const place = temporaryDirectory(t);
  const serve = () =>
    finished(
      spawn(process.execPath, [mainFile, 'serve'], {
        cwd: place,
        env: environmentOf({ NODE_OPTIONS: '', PORT: '0' }),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  mkdirSync(join(place, 'data'));
  writeFileSync(join(place, 'data', 'points.csv'), 'x');
  t.match(await serve(), {
    code: 1,
    stdout: '',
    stderr: /^sealpost: SEALPOST_DATA_DIR is not set, and \S+data has files that .* \(points\.csv\)/,
  });
  rmSync(join(place, 'data'), { recursive: true });
  writeFileSync(join(place, 'thesis.txt'), 'x');
  t.match(await serve(), {
    code: 1,
    stdout: '',
    stderr: /^sealpost: SEALPOST_DATA_DIR is not set, and .* has files that .* \(thesis\.txt\)/,
  });
  t.same(readdirSync(place), ['thesis.txt']);
  t.equal(process.cwd(), programDirectory);
  t.doesNotThrow(() => assertMayFound(readConfig({})), 'the directory of the program is one of ours');
});

await t.test('a fault is said once, and in words', async (t) => {
  const absent = join(temporaryDirectory(t), 'absent.json');
  for (const words of [
    ['bulk', 'send', absent, '--template', 'order-confirmation'],
    ['template', 'import', absent],
    ['template', 'preview', 'order-confirmation', '--variables', absent],
    ['verify', '--export', absent],
  ])
    t.match(
      await run(...words),
      { code: 1, stdout: '', stderr: `sealpost: ${absent}: it is not there\n` },
      words.join(' '),
    );
  t.match(await run('team', 'set', '--from', 'nobody'), {
    code: 1,
    stderr: /^sealpost: from is not a valid email address: the address has no @\n$/,
  });
});

await t.test('a rate is told from the first second on, of what was done since the first count', (t) => {
  let nowMs = 0;
  const rate = openRate(() => nowMs);
  t.equal(rate(5_000), '–', 'what was done before says nothing');
  nowMs = 500;
  t.equal(rate(5_100), '–');
  nowMs = 2_000;
  t.equal(rate(9_000), '2,000');
  t.end();
});

await t.test('the help of rebuild names every read model, and its page every command', async (t) => {
  const { stdout } = await run('rebuild', '--help');
  const names = makeProjections(defaultLimits).map(({ name }) => name);
  t.match(stdout.replaceAll(/\s+/g, ' '), `${names.join(', ')} (default: all)`);
  const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
  const shown = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...line.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, words]) => words!));
  const isOf = (words: string, command: string): boolean => words === command || words.startsWith(`${command} `);
  t.same(
    commands.filter((command) => !shown.some((words) => isOf(words, command))),
    [],
    'every command is listed',
  );
  t.same(
    shown.filter((words) => !commands.some((command) => isOf(words, command))),
    [],
    'what is listed is a command',
  );
});

await t.test('a wrong setting stops each command with the sentence', async (t) => {
  for (const command of [['serve'], ['verify'], ['key', 'create', '--name', 'x'], ['openapi']]) {
    const { code, stderr, stdout } = await runCommand(command, { ...settings, SEALPOST_DATADIR: 'x' });
    t.equal(code, 1, command.join(' '));
    t.match(stderr, /^sealpost: SEALPOST_DATADIR is not a setting of sealpost\. Did you mean SEALPOST_DATA_DIR\?/);
    t.equal(stdout, '');
  }
  t.match(await runProcess(['verify'], { ...settings, SEALPOST_MASTER_KEY: Buffer.alloc(32).toString('base64') }), {
    code: 1,
    stderr: /master key/i,
  });
});
