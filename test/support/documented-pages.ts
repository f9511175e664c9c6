/** Runs what a page of the documentation shows against a fresh start: every command, in order, as one reader would. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { isJsonObject } from '../../src/domain/core/json.js';
import { temporaryDirectory } from './data-directory.js';
import { openDnsServer } from './dns-server.js';
import { copyFounded } from './founded.js';
import { png } from './pictures.js';
import { environmentOf, finished, startServer, type ServerProcess, type Settings } from './server-process.js';

/** Compiled tests lie two folders deep in the output: build/test. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** `client`: the `ts` block directly after the commands, which does the same by the client. */
export type Shown = Readonly<{
  heading: string;
  command: string;
  client: string | undefined;
  answer: string | undefined;
}>;

/**
 * The shell blocks of a page in order, each with its form for the client and the JSON that the page shows as its
 * answer; without those that the test does itself.
 */
export const shownOf = (page: string): readonly Shown[] => {
  const shown: Shown[] = [];
  let heading = '';
  // A block that begins at this offset stands directly after the last commands.
  let next = -1;
  for (const { 0: whole, 1: title, 2: language, 3: inside = '', index } of readFileSync(
    join(root, page),
    'utf8',
  ).matchAll(/^#+ (.*)$|^```(\w*)\n([^]*?)^```$/gm)) {
    const last = shown.at(-1);
    if (title !== undefined) heading = title;
    else if (language === 'sh') {
      shown.push({ heading, command: inside, client: undefined, answer: undefined });
      next = index + whole.length + 2;
    } else if (language === 'ts' && last !== undefined && index === next)
      shown[shown.length - 1] = { ...last, client: inside };
    else if (language === 'json' && last?.heading === heading && last.answer === undefined)
      shown[shown.length - 1] = { ...last, answer: inside };
  }
  return shown.filter(isRun);
};

/** Starts and installs are what the test does itself. */
const isRun = ({ command }: Shown): boolean => !/\bnpm (ci|start|test)\b|^export API_KEY/m.test(command);

const mark = '==block==';

export type Reader = Readonly<{ base: string; key: string; directory: string; settings: Settings }>;

/** The pages show one; a test has another, so that two can run beside each other. */
const smtpPortOf = ({ SEALPOST_SMTP_URL: url }: Settings): string => (url === undefined ? '2525' : new URL(url).port);

/** The commands of each block as a reader of the test runs them, and last what ends the programs that they started. */
export const commandsOf = (blocks: readonly Shown[], { base, settings }: Reader): readonly string[] => [
  ...blocks.map(({ command }) =>
    command
      .replaceAll('http://127.0.0.1:3000', base)
      .replaceAll('2525', smtpPortOf(settings))
      .replace(
        /^(npx sealpost webhooks listen)$/m,
        '$1 >listen.log & listener=$!; until grep -q arrive listen.log; do /bin/sleep 0.05; done',
      )
      .replace(/^node (.*)$/m, 'unset WAITING; node $1 >host.log & echo $! >>children')
      .trim(),
  ),
  [
    // The listener hears of a whole mail before it is stopped.
    'if [ -n "$listener" ]; then until [ "$(grep -c " evt_" listen.log)" -ge 3 ]; do /bin/sleep 0.05; done; kill $listener; wait $listener; fi',
    'kill $(cat children 2>/dev/null) 2>/dev/null; true',
  ].join('\n'),
];

/** One shell runs all commands of a page, as a reader does: what one sets, the next one sees. */
const script = (blocks: readonly Shown[], reader: Reader): string => {
  const commands = commandsOf(blocks, reader);
  return [
    // All that is set is exported: the programs on the path look at the mail that the page calls $id.
    'set -a -o pipefail',
    ...commands.slice(0, -1).map((command) => `{ ${command}\n}\necho; echo "${mark} $?"; quiet`),
    commands.at(-1),
  ].join('\n');
};

/**
 * Programs on the reader's path: `npx sealpost` is this build, and pauses wait for what they wait for instead of for
 * time.
 */
export const equip = ({ base, key, directory, settings }: Reader): NodeJS.ProcessEnv => {
  const programs = {
    npx: `[ "$1" = sealpost ] && shift\nexec '${process.execPath}' '${join(root, 'bin/sealpost.js')}' "$@"`,
    quiet: `while status=$(newest '.status'); [ "$status" = queued ] || [ "$status" = processing ]; do [ -n "$WAITING" ] && exit; /bin/sleep 0.05; done`,
    newest: [
      `[ -n "$id" ] || id=$(curl -s '${base}/api/emails?limit=1' -H 'Authorization: Bearer ${key}' | jq -r '.data[0].id // empty')`,
      `[ -z "$id" ] || curl -s "${base}/api/emails/$id" -H 'Authorization: Bearer ${key}' | jq -r "$1"`,
    ].join('\n'),
    // If a host refuses, a short pause waits for the next attempt and a long one for the last; elsewhere there is one
    // pause.
    sleep: `[ -n "$WAITING" ] || exec /bin/sleep "$1"; if [ "$1" -gt 5 ]; then until [ "$(newest '.status')" = failed ]; do /bin/sleep 0.05; done; else until [ "$(newest '.recipients[0].rule')" != null ]; do /bin/sleep 0.05; done; fi`,
  };
  const child = environmentOf({ ...settings, API_KEY: key });
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  return { ...child, PATH: `${directory}:${child['PATH'] ?? ''}`, NODE_OPTIONS: '' };
};

export const shell = (line: string, cwd: string, env: NodeJS.ProcessEnv) =>
  finished(spawn('bash', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), 120_000);

/**
 * The JSON values of a text, one below the other, whole or a line each; what a page shortens with `…` counts as open.
 */
const valuesOf = (text: string): readonly JsonObject[] => {
  const whole = text
    .replace(/\{…\}/g, '{}')
    .replace(/\[…\]/g, '[]')
    .replace(/,? … ?(?=\}|")/g, ', "…": 0 ')
    .replace(/"…": 0 "/g, '"…": 0, "');
  const parsed = (part: string): readonly Json[] => {
    try {
      return [JSON.parse(part) as Json];
    } catch {
      return [];
    }
  };
  const values = parsed(whole);
  return (values.length > 0 ? values : whole.replaceAll('}{', '}\n{').split('\n').flatMap(parsed)).filter(isJsonObject);
};

/** Fields whose values are the same for every reader. */
const telling = [
  'status',
  'failureReason',
  'outcome',
  'subject',
  'slug',
  'version',
  'deleted',
  'attachmentCount',
  'rule',
  'replyCode',
];

/** `isPart`: what is printed may have more fields than the page shows. */
export const compareAnswers = (
  t: Test,
  name: string,
  { answer, shown, isPart = false }: Readonly<{ answer: string; shown: string; isPart?: boolean }>,
): void => {
  const found = valuesOf(answer);
  const wanted = valuesOf(shown);
  t.ok(wanted.length > 0, `${name}: the page shows JSON`);
  wanted.forEach((want, index) => {
    const got = found[index];
    if (got === undefined) return void t.fail(`${name}: answer ${index + 1} is missing`, { answer });
    const keys = Object.keys(want).filter((key) => key !== '…');
    const hasMore = isPart || '…' in want;
    t.same(
      hasMore ? keys.filter((key) => !(key in got)) : Object.keys(got).sort(),
      hasMore ? [] : keys.sort(),
      `${name}: fields`,
    );
    for (const key of telling) if (key in want) t.same(got[key], want[key], `${name}: ${key}`);
  });
};

export const runPage = async (t: Test, blocks: readonly Shown[], reader: Reader, waiting = ''): Promise<void> => {
  const env = { ...equip(reader), WAITING: waiting };
  const { stdout, stderr } = await shell(script(blocks, reader), reader.directory, env);
  const answers = stdout.split(new RegExp(`\n${mark} (\\d+)\n`));
  blocks.forEach(({ heading, command, answer }, index) => {
    const name = `${heading}: ${command.split('\n')[0]?.slice(0, 60)}`;
    const text = answers[index * 2] ?? '';
    t.equal(answers[index * 2 + 1], '0', name, { text, stderr });
    t.notMatch(text, /"error":|"statusCode":/, name);
    if (answer !== undefined) compareAnswers(t, name, { answer: text, shown: answer });
  });
};

export const serve = (t: Test, settings: Settings): ServerProcess => {
  const server = startServer({ SEALPOST_LOG_LEVEL: 'error', ...settings });
  t.teardown(() => server.end('SIGKILL'));
  return server;
};

/** The programs that the pages use; in CI they must be installed. */
export const lackingPrograms = (t: Test): readonly string[] => {
  const lacking = ['bash', 'curl', 'jq', 'openssl'].filter(
    (program) => spawnSync(program, ['--version']).error !== undefined,
  );
  if (process.env['CI'] === '1') t.same(lacking, [], 'the programs that the pages use are needed in CI');
  return lacking;
};

/** Pages about single topics, in the order in which one reader follows them on one installation. */
export const topics = [
  'docs/credits.md',
  'docs/domains.md',
  'docs/schedules.md',
  'docs/bulk.md',
  'docs/suppressions.md',
  'docs/privacy.md',
  'docs/unsubscribe.md',
  'docs/import.md',
  'docs/webhooks.md',
  'docs/tracking.md',
  'docs/analytics.md',
  'docs/bounces.md',
  'docs/api-keys.md',
  'docs/oauth.md',
  'docs/mcp.md',
  'README.md',
];

/**
 * Pages on which a person signs in, for a reader of their own: one address signs in five times a minute, and the pages
 * above use that up.
 */
export const pagesOfPeople = ['docs/audit.md', 'docs/approvals.md', 'docs/teams.md'];

const relayFolder = 'docs/relays';
export const relayPages = readdirSync(join(root, relayFolder))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join(relayFolder, name));

/** The settings by which the pages about mail providers have the calls of their providers authenticated. */
export const relaySettings = (): Settings =>
  Object.fromEntries(
    relayPages.map((page) => {
      const [, name = '', value = ''] =
        /^(SEALPOST_(?:SES_TOPICS|[A-Z]+_(?:TOKEN|SIGNING_KEY|VERIFICATION_KEY)))=(\S+)$/m.exec(
          readFileSync(join(root, page), 'utf8'),
        ) ?? [];
      return [name, value];
    }),
  );

/** The first user, whom some pages assume; docs/users.md makes her itself. */
export const registerAda = async (t: Test, base: string): Promise<void> => {
  const answer = await fetch(`${base}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.com', password: 'a pelican in the rain', name: 'Ada Example' }),
  });
  t.equal(answer.status, 201);
};

/** The first block of docs/first-mail.md whose mails go to a host that refuses. */
export const isRefusal = ({ heading }: Shown): boolean => heading.startsWith('When the host refuses');

export type Followed = Readonly<{ reader: Reader; server: ServerProcess }>;

/** The directory in which a reader works, and the settings that the pages assume. */
export const readerDirectory = async (t: Test, more: Settings = {}) => {
  const directory = temporaryDirectory(t);
  // Its zone is empty: no page sets the records that it shows.
  const dns = await openDnsServer(t);
  writeFileSync(join(directory, 'logo.png'), png);
  writeFileSync(
    join(directory, 'legal-footer.json'),
    /^```json\n([^]*?)^```$/m.exec(readFileSync(join(root, 'docs/blocks.md'), 'utf8'))?.[1] ?? '',
  );
  for (const folder of ['node_modules', 'samples']) symlinkSync(join(root, folder), join(directory, folder));
  return {
    directory,
    settings: {
      SEALPOST_DATA_DIR: join(directory, 'data'),
      SEALPOST_DNS_SERVERS: dns.address,
      SEALPOST_RETURN_PATH_DOMAIN: 'bounces.example.com',
      ...more,
    },
  };
};

/**
 * A fresh start for a reader, as the pages assume it; a copy of one where the reader looks at no output of the start.
 * `more`: settings that the pages show.
 */
export const followPages = async (
  t: Test,
  { isFounded = false, more = {} }: Readonly<{ isFounded?: boolean; more?: Settings }> = {},
): Promise<Followed> => {
  const { directory, settings } = await readerDirectory(t, more);
  const copied = isFounded ? await copyFounded(settings.SEALPOST_DATA_DIR) : undefined;
  const server = serve(t, settings);
  const base = await server.listening;
  return { server, reader: { base, key: copied ?? (await server.firstKey()), directory, settings } };
};
