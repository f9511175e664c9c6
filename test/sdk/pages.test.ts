/**
 * The pages of the documentation once more, in fresh installations: each `ts` block stands in place of the curls before
 * it. And every curl to an operation of the client has such a form.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createClient } from '../../packages/sdk/src/index.js';
import { startTestApp } from '../support/app.js';
import { callAll } from '../support/client-calls.js';
import { compilePrograms, installClient, programOf, runProgram } from '../support/client-forms.js';
import { temporaryDirectory } from '../support/data-directory.js';
import {
  isRefusal,
  lackingPrograms,
  pagesOfPeople,
  readerDirectory,
  registerAda,
  relayPages,
  relaySettings,
  shownOf,
  topics,
  type Reader,
  type Shown,
} from '../support/documented-pages.js';
import { freePort } from '../support/free-port.js';
import type { Settings } from '../support/server-process.js';

t.setTimeout(900_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));

type Part = Readonly<{
  page: string;
  blocks: readonly Shown[];
  settings?: () => Promise<Settings>;
  waiting?: string;
  needsAda?: boolean;
}>;

const part = (page: string): Part => ({ page, blocks: shownOf(page) });
const firstMail = shownOf('docs/first-mail.md');
const refused = firstMail.findIndex(isRefusal);

/** Parts of pages that one reader follows on one installation. A part with settings of its own restarts it. */
const readers: readonly Readonly<{ parts: readonly Part[]; settings?: Settings }>[] = [
  {
    parts: [
      { page: 'docs/first-mail.md', blocks: firstMail.slice(0, refused) },
      part('docs/attachments.md'),
      part('docs/api.md'),
      { ...part('docs/templates.md'), needsAda: true },
      part('docs/blocks.md'),
      {
        page: 'docs/first-mail.md, a host that refuses',
        blocks: firstMail.slice(refused),
        settings: async () => ({
          SEALPOST_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
          SEALPOST_RETRY_DELAYS: '1,1',
        }),
        waiting: 'yes',
      },
    ],
  },
  { parts: topics.map(part) },
  { parts: [part('docs/users.md')] },
  { parts: pagesOfPeople.map(part) },
  { parts: relayPages.map(part), settings: relaySettings() },
];

const hasForms = ({ blocks }: Part): boolean => blocks.some(({ client }) => client !== undefined);
const fileOf = ({ page }: Part): string => `${page.replace(/\W+/g, '-')}.ts`;

const follow = async (
  t: Test,
  programs: string,
  { parts, settings: more }: (typeof readers)[number],
): Promise<void> => {
  const { directory, settings } = await readerDirectory(t, more);
  const dataDir = settings.SEALPOST_DATA_DIR;
  mkdirSync(dataDir);
  const start = async (more: Settings) => {
    const all = { ...settings, ...more };
    const app = await startTestApp({ dataDir, settings: all, isFounded: true });
    const base = await app.server.listen({ host: '127.0.0.1', port: 0 });
    return { app, reader: { base, key: app.key, directory, settings: all } satisfies Reader };
  };
  let { app, reader } = await start({});
  t.teardown(() => app.stop());
  // The call that the first start prints.
  const printed = readFileSync(join(root, 'samples/calls/emails/order-confirmation.json'), 'utf8');
  t.equal((await app.call('POST', '/api/emails/send', printed)).status, 201);
  for (const part of parts) {
    if (part.settings !== undefined) {
      await app.stop();
      ({ app, reader } = await start(await part.settings()));
    }
    if (part.needsAda === true) await registerAda(t, reader.base);
    const program = join(programs, fileOf(part).replace('.ts', '.js'));
    await t.test(part.page, (t) => runProgram(t, part.blocks, { reader, program, waiting: part.waiting ?? '' }));
  }
};

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages by the client',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const programs = temporaryDirectory(t);
    await installClient(programs);
    const parts = readers.flatMap(({ parts }) => parts).filter(hasForms);
    const said = await compilePrograms(
      programs,
      Object.fromEntries(parts.map((part) => [fileOf(part), programOf(part.blocks)])),
    );
    t.equal(said, '', 'the programs have no type error');
    for (const reader of readers)
      if (reader.parts.some(hasForms)) await follow(t, programs, { ...reader, parts: reader.parts.filter(hasForms) });
  },
);

/** Operations that the client calls: `GET /api/emails/{id}`. */
const operationsOfClient = async (): Promise<readonly string[]> => {
  const called = new Set<string>();
  const client = createClient({
    url: 'http://service.example',
    key: 'sealpost_sk_test',
    fetch: (input, init = {}) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      called.add(`${init.method ?? 'GET'} ${decodeURIComponent(pathname)}`);
      return Promise.resolve(Response.json({ data: [], deliveries: [] }));
    },
  });
  await callAll(client, '*');
  return [...called];
};

/** The calls of the API in a block of commands: `POST /api/emails/send`. */
const callsOf = (command: string): readonly string[] =>
  command
    .replaceAll(/\$\((?!curl)[^()]*\)|\$\{?\w+\}?/g, 'x')
    .split(/\bcurl /)
    .slice(1)
    .flatMap((curl) => {
      const [, path] = /http:\/\/127\.0\.0\.1:3000(\/[^\s"'?]*)/.exec(curl) ?? [];
      if (path === undefined) return [];
      const [, method = / (?:-d|-F|--data\S*) /.test(curl) && !/^-\w*G/.test(curl) ? 'POST' : 'GET'] =
        /-X (\w+)/.exec(curl) ?? [];
      return [`${method} ${decodeURIComponent(path)}`];
    });

/** Curls to operations of the client that have no form, and why. */
const withoutForm: Readonly<Record<string, string>> = {
  'docs/bulk.md: Recipients from a file': 'the file goes to the service as it is; a program has rows',
  'docs/users.md: Follow what changes': 'the stream is followed while the call is made',
  'docs/vps.md: Install': 'a probe of an installation',
};

void t.test('every curl to an operation of the client has its form', async (t) => {
  const operations = await operationsOfClient();
  t.ok(operations.length > 100);
  const isCovered = (call: string): boolean =>
    operations.includes(call) ||
    operations.some((operation) => new RegExp(`^${operation.replaceAll('*', '[^/]+')}$`).test(call));
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const run = new Set(readers.flatMap(({ parts }) => parts).map(({ page }) => page.split(',')[0]));
  const exempted = new Set<string>();
  let forms = 0;
  for (const page of pages)
    for (const { heading, command, client } of shownOf(page)) {
      if (client !== undefined) forms += 1;
      if (client !== undefined && !run.has(page)) t.fail(`${page} has a form for the client and is not run`);
      const covered = callsOf(command).filter(isCovered);
      if (covered.length === 0 || client !== undefined) continue;
      const place = `${page}: ${heading}`;
      if (Object.hasOwn(withoutForm, place)) exempted.add(place);
      else t.fail(`${place}: ${covered.join(', ')} has no form for the client`);
    }
  t.same(Object.keys(withoutForm).sort(), [...exempted].sort(), 'no exemption is left over');
  t.ok(forms > 80, `${forms} forms`);
});

void t.test('the pages that have forms say which client they mean', (t) => {
  for (const part of readers.flatMap(({ parts }) => parts).filter(hasForms)) {
    const [page = ''] = part.page.split(',');
    t.match(readFileSync(join(root, page), 'utf8'), /\[the client\]\((?:\.\.\/)?(?:docs\/)?sdk\.md/, page);
  }
  t.end();
});
