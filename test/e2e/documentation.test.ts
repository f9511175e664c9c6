/** What the documentation shows is run against a fresh start: every command, in order, and every mail that it sends is read. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { sendExamples } from '../../src/api/examples.js';
import type { Json, JsonObject } from '../../src/domain/json.js';
import { isJsonObject } from '../../src/domain/json.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { openDnsServer } from '../support/dns-server.js';
import { png } from '../support/pictures.js';
import { holesOf } from '../support/prose.js';
import { environmentOf, finished, mainFile, startServer, type ServerProcess, type Settings } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(170_000);

/** Compiled tests lie two folders deep in the output: build/test. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

type Shown = Readonly<{ heading: string; command: string; answer: string | undefined }>;

/** The shell blocks of a page in order, each with the JSON that the page shows as its answer. */
const shownOf = (page: string): readonly Shown[] => {
  const shown: Shown[] = [];
  let heading = '';
  for (const [, title, language, inside = ''] of readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.*)$|^```(\w*)\n([^]*?)^```$/gm)) {
    const last = shown.at(-1);
    if (title !== undefined) heading = title;
    else if (language === 'sh') shown.push({ heading, command: inside, answer: undefined });
    else if (language === 'json' && last?.heading === heading && last.answer === undefined)
      shown[shown.length - 1] = { ...last, answer: inside };
  }
  return shown;
};

/** Starts and installs are what the test does itself. */
const isRun = ({ command }: Shown): boolean => !/\bnpm (ci|start|test)\b|^export API_KEY/m.test(command);

const mark = '==block==';

/** One shell runs all commands of a page, as a reader does: what one sets, the next one sees. */
const script = (blocks: readonly Shown[], base: string): string =>
  [
    // All that is set is exported: the programs on the path look at the mail that the page calls $id.
    'set -a -o pipefail',
    ...blocks.map(({ command }) => {
      const here = command
        .replaceAll('http://127.0.0.1:3000', base)
        .replace(/^node (.*)$/m, 'unset WAITING; node $1 >host.log & echo $! >>children');
      return `{ ${here.trim()}\n}\necho; echo "${mark} $?"; quiet`;
    }),
    'kill $(cat children 2>/dev/null) 2>/dev/null; true',
  ].join('\n');

type Reader = Readonly<{ base: string; key: string; directory: string; settings: Settings }>;

/** Programs on the reader's path: `npx sealpost` is this build, and pauses wait for what they wait for instead of for time. */
const equip = ({ base, key, directory, settings }: Reader): NodeJS.ProcessEnv => {
  const programs = {
    npx: `[ "$1" = sealpost ] && shift\nexec '${process.execPath}' '${mainFile}' "$@"`,
    quiet: `until [ "$(newest '.status')" != queued ] && [ "$(newest '.status')" != processing ]; do [ -n "$WAITING" ] && exit; done`,
    newest: [
      `[ -n "$id" ] || id=$(curl -s '${base}/api/emails?limit=1' -H 'Authorization: Bearer ${key}' | jq -r '.data[0].id // empty')`,
      `[ -z "$id" ] || curl -s "${base}/api/emails/$id" -H 'Authorization: Bearer ${key}' | jq -r "$1"`,
    ].join('\n'),
    // Where a host refuses, a short pause is for what comes of the next attempt, a long one for the last; elsewhere it is one.
    sleep: `[ -n "$WAITING" ] || exec /bin/sleep "$1"; if [ "$1" -gt 5 ]; then until [ "$(newest '.status')" = failed ]; do :; done; else until [ "$(newest '.recipients[0].rule')" != null ]; do :; done; fi`,
  };
  const child = environmentOf({ ...settings, API_KEY: key });
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  return { ...child, PATH: `${directory}:${child['PATH'] ?? ''}`, NODE_OPTIONS: '' };
};

const shell = (line: string, cwd: string, env: NodeJS.ProcessEnv) =>
  finished(spawn('bash', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), 120_000);

/** The JSON values of a text, one below the other, whole or a line each; what a page shortens with `…` counts as open. */
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
const telling = ['status', 'failureReason', 'outcome', 'subject', 'slug', 'version', 'deleted', 'attachmentCount', 'rule', 'replyCode'];

const compare = (t: Test, name: string, answer: string, shown: string): void => {
  const found = valuesOf(answer);
  const wanted = valuesOf(shown);
  t.ok(wanted.length > 0, `${name}: the page shows JSON`);
  wanted.forEach((want, index) => {
    const got = found[index];
    if (got === undefined) return void t.fail(`${name}: answer ${index + 1} is missing`, { answer });
    const keys = Object.keys(want).filter((key) => key !== '…');
    t.same('…' in want ? keys.filter((key) => !(key in got)) : Object.keys(got).sort(), '…' in want ? [] : keys.sort(), `${name}: fields`);
    for (const key of telling) if (key in want) t.same(got[key], want[key], `${name}: ${key}`);
  });
};

const runPage = async (t: Test, blocks: readonly Shown[], reader: Reader, waiting = ''): Promise<void> => {
  const env = { ...equip(reader), WAITING: waiting };
  const { stdout, stderr } = await shell(script(blocks, reader.base), reader.directory, env);
  const answers = stdout.split(new RegExp(`\n${mark} (\\d+)\n`));
  blocks.forEach(({ heading, command, answer }, index) => {
    const name = `${heading}: ${command.split('\n')[0]?.slice(0, 60)}`;
    const text = answers[index * 2] ?? '';
    t.equal(answers[index * 2 + 1], '0', name, { text, stderr });
    t.notMatch(text, /"error":|"statusCode":/, name);
    if (answer !== undefined) compare(t, name, text, answer);
  });
};

/** Every mail in the mailbox, as HTML. */
const readMailbox = async ({ base }: Reader, headers: Settings): Promise<readonly Readonly<{ subject: string; html: string | null }>[]> => {
  const { data } = (await (await fetch(`${base}/mailbox/messages?limit=100`, { headers })).json()) as { data: { id: string }[] };
  return Promise.all(
    data.map(
      async ({ id }) => (await (await fetch(`${base}/mailbox/messages/${id}`, { headers })).json()) as { subject: string; html: string },
    ),
  );
};

const serve = (t: Test, settings: Settings): ServerProcess => {
  const server = startServer({ SEALPOST_LOG_LEVEL: 'error', ...settings });
  t.teardown(() => server.end('SIGKILL'));
  return server;
};

/** What the pages themselves use; in CI it must be there. */
const lacking = ['bash', 'curl', 'jq', 'openssl'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
if (process.env['CI'] === '1') t.same(lacking, [], 'the programs that the pages use are needed in CI');

await t.test('a reader follows the pages', { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` }, async (t) => {
  const directory = temporaryDirectory(t);
  // Its zone is empty: no page sets the records that it shows.
  const dns = await openDnsServer(t);
  const settings = {
    SEALPOST_DATA_DIR: join(directory, 'data'),
    SEALPOST_DNS_SERVERS: dns.address,
    SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1',
    SEALPOST_RETURN_PATH_DOMAIN: 'bounces.example.com',
  };
  writeFileSync(join(directory, 'logo.png'), png);
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const server = serve(t, settings);
  const reader: Reader = { base: await server.listening, key: await server.firstKey(), directory, settings };
  const firstMail = shownOf('docs/first-mail.md').filter(isRun);
  const refused = firstMail.findIndex(({ heading }) => heading.startsWith('When the host refuses'));
  t.ok(refused > 5);

  await t.test('to a mail in the mailbox', async (t) => {
    const [, pasted = ''] = await server.printed(/^(curl .*)$/m);
    t.match(await shell(pasted, directory, equip(reader)), { code: 0, stdout: /"status":"queued"/ });
    await runPage(t, firstMail.slice(0, refused), reader);
    await runPage(t, shownOf('docs/attachments.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/api.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/credits.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/domains.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/schedules.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/bulk.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/suppressions.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/privacy.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/unsubscribe.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/webhooks.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/analytics.md').filter(isRun), reader);
    await runPage(t, shownOf('docs/bounces.md').filter(isRun), reader);
  });

  await t.test('and sends each example of the API description', async (t) => {
    const headers = { authorization: `Bearer ${reader.key}`, 'content-type': 'application/json' };
    for (const [name, { value }] of Object.entries(sendExamples)) {
      const answer = await fetch(`${reader.base}/api/emails/send`, { method: 'POST', headers, body: JSON.stringify(value) });
      t.equal(answer.status, 201, name);
    }
    const cookie = await server.mailboxCookie();
    const mails = await eventually('all mails have arrived', async () => {
      const arrived = await readMailbox(reader, cookie);
      // The copy of the one that the pages delete is deleted with it.
      return arrived.length >= 3 + Object.keys(sendExamples).length && arrived;
    });
    for (const { subject, html } of mails) t.same(holesOf(html ?? ''), [], subject);
    t.ok(mails.some(({ subject }) => subject === 'Your order NW-10482 is confirmed'));
  });
  t.match(await server.end('SIGTERM'), { code: 0 });

  await t.test('to a host that refuses', async (t) => {
    const host = { ...settings, SEALPOST_SMTP_URL: 'smtp://127.0.0.1:2525', SEALPOST_RETRY_DELAYS: '1,1' };
    const again = serve(t, host);
    await runPage(t, firstMail.slice(refused), { ...reader, base: await again.listening, settings: host }, 'yes');
  });
});
