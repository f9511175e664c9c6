/**
 * The dashboard over a million emails, in Chromium on a whole service: first rows, filters, seven tabs of one browser, and
 * a minute in which 200 events arrive each second.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { openSqliteReadModels } from '../src/adapters/read-models/sqlite.js';
import { assertDefined, parseTeamId, uuidV5 } from '../src/domain/core/ids.js';
import { DAY_MS } from '../src/domain/core/time.js';
import { emailsProjection } from '../src/projections/bulk/emails.js';
import { fillDocuments } from './support/email-documents.js';
import type { Life } from './support/email-life.js';
import { percentile } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { startProgram, type Program } from './support/programs.js';
import { report, type Figure } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService } from './support/service.js';

const { emails: EMAILS } = numbersGiven({ emails: 1_000_000 });
const DAYS = 29;
const SEED = 4;
const TAGS = 50;
const FIRST_ROWS_TARGET_MS = 300;
const FILTER_TARGET_MS = 500;
const SEVENTH_TAB_TARGET_MS = 1_000;
const LONG_TASK_MS = 50;
const API_TARGET_MS = 100;
const OPENINGS = 10;
const REPEATS = 4;
const SETTLE_MS = 400;
const API_CALLS = 60;
const LIVE_S = 60;
/** Each email that the built-in receiver takes makes four events. */
const EMAILS_PER_S = 50;
const WAIT_MS = 30_000;

const team = assertDefined(parseTeamId(uuidV5('team', 'first')), 'team id');
const bin = fileURLToPath(new URL('../../bin/sealpost.js', import.meta.url));

/** All of one team, with tags of their own. */
const ofFirstTeam = ({ events, cause, ...life }: Life, n: number): Life => ({
  ...life,
  cause: { ...cause, teamId: team },
  events: events.map((event) =>
    event.type === 'EmailQueued' ? { ...event, data: { ...event.data, tags: ['bench', `tag-${n % TAGS}`] } } : event,
  ),
});

const fill = async (dataDir: string): Promise<void> => {
  const readModels = openSqliteReadModels({ file: join(dataDir, 'documents.db') });
  try {
    const { name, collections } = emailsProjection({ retentionMs: DAY_MS, archiveMs: DAY_MS });
    const { position } = await (await readModels.projection(name, collections)).checkpoint();
    await fillDocuments(readModels, {
      ...{ emails: EMAILS, startMs: Date.now() - (DAYS + 0.01) * DAY_MS, days: DAYS, seed: SEED },
      ...{ changed: ofFirstTeam, head: position },
    });
  } finally {
    await readModels.close();
  }
};

type Running = Readonly<{ program: Program; base: string; link: string }>;

const startAgain = async (dataDir: string): Promise<Running> => {
  const program = startProgram({
    command: bin,
    args: ['serve'],
    env: { PORT: '0', SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'warn' },
    side: 'system',
  });
  const base = assertDefined((await program.saw(/sealpost is running on (http:\/\/\S+)/))[1], 'address');
  const link = assertDefined((await program.saw(/Dashboard\s+(http\S+)/))[1], 'link');
  return { program, base, link };
};

/**
 * Runs in each page. `firstRows` resolves when the first rows of the list are painted, with the time since the navigation
 * began; `searched` with the time from now until the answer of the list is painted. `longTasks`: those above 50 ms.
 */
const instruments = `
  window.bench = { longTasks: [], waiting: undefined };
  const afterPaint = (done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
  const rowsAreThere = () => document.querySelectorAll('[role=grid][aria-label=Emails] [role=row]').length > 1;
  window.bench.firstRows = new Promise((done) => {
    new MutationObserver((_, observer) => {
      if (!rowsAreThere()) return;
      observer.disconnect();
      afterPaint(done);
    }).observe(document, { childList: true, subtree: true });
  });
  new PerformanceObserver((list) => {
    for (const { duration, startTime } of list.getEntries()) window.bench.longTasks.push({ duration, startTime });
  }).observe({ type: 'longtask', buffered: true });
  const plain = window.fetch;
  window.fetch = async (...given) => {
    const answer = await plain(...given);
    const address = new URL(typeof given[0] === 'string' ? given[0] : given[0].href ?? given[0].url, location.href);
    const { waiting } = window.bench;
    if (waiting === undefined || !address.pathname.endsWith('/api/emails')) return answer;
    window.bench.waiting = undefined;
    const text = answer.text.bind(answer);
    answer.text = async () => { const read = await text(); setTimeout(() => afterPaint(waiting)); return read; };
    return answer;
  };
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    const began = performance.now();
    window.bench.searched = new Promise((done) => { window.bench.waiting = (at) => done(at - began); });
  }, true);
`;

const openContext = async (browser: Browser): Promise<BrowserContext> => {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, locale: 'en-GB' });
  context.setDefaultTimeout(WAIT_MS);
  await context.addInitScript(instruments);
  return context;
};

const firstRowsOf = async (page: Page, base: string): Promise<number> => {
  await page.goto(`${base}/app/emails`);
  return page.evaluate<number>('window.bench.firstRows');
};

/** The words of the search box, by the kind of their filter; none twice, for the page keeps answers for seconds. */
const searches: readonly (readonly [what: string, words: (n: number) => string])[] = [
  ['status', (n) => ['status:bounced', 'status:failed', 'status:delivered', 'status:failed,bounced'][n % 4]!],
  ['to', (n) => `to:ada.hopper${n * 991}@example.com`],
  ['template', (n) => `template:018f0000-0000-7000-8000-00000000010${n % 8}`],
  ['tag', (n) => `tag:tag-${n * 7}`],
  ['text', (n) => ['hopper', 'roastery', 'NW-12345', 'zzqq'][n % 4]!],
  ['from', (n) => `from:${['northwind.example', 'other.example', 'mail.northwind.example', 'shop.example'][n % 4]!}`],
  ['text and status', (n) => `${['hopper', 'roastery', 'knuth', 'order'][n % 4]!} status:bounced`],
];

const filterTimes = async (page: Page, { program }: Running): Promise<readonly Figure[]> => {
  const all: number[] = [];
  const figures: Figure[] = [];
  const box = page.getByRole('searchbox');
  for (const [what, words] of searches) {
    const times: number[] = [];
    const cpuUs = program.cpuUs();
    for (let n = 0; n < REPEATS; n += 1) {
      await box.fill(words(n));
      await box.press('Enter');
      times.push(await page.evaluate<number>('window.bench.searched'));
      // The counts of the tabs come after the rows.
      await page.waitForTimeout(SETTLE_MS);
    }
    all.push(...times);
    figures.push({
      what: `filter ${what}: slowest`,
      value: Math.max(...times),
      unit: 'ms',
      note: `${medianOf(times)}, CPU of the service ${((program.cpuUs() - cpuUs) / REPEATS / 1_000).toFixed(1)} ms each`,
    });
  }
  return [
    {
      what: 'filter, all kinds: P95',
      value: p95(all),
      unit: 'ms',
      target: { atMost: FILTER_TARGET_MS },
      note: medianOf(all),
    },
    ...figures,
  ];
};

const sorted = (times: readonly number[]): Float64Array => Float64Array.from(times).sort();
const p95 = (times: readonly number[]): number => percentile(sorted(times), 0.95);
const medianOf = (times: readonly number[]): string => `median ${percentile(sorted(times), 0.5).toFixed(0)} ms`;

const queries: readonly (readonly [what: string, query: (n: number) => string])[] = [
  ['list', () => 'emails?limit=50'],
  ['list, status', () => 'emails?limit=50&status=bounced'],
  ['list, recipient', (n) => `emails?limit=50&recipient=ada.hopper${n * 991}@example.com`],
  ['list, template', (n) => `emails?limit=50&templateId=018f0000-0000-7000-8000-00000000010${n % 8}`],
  ['list, tag', (n) => `emails?limit=50&tag=tag-${n % TAGS}`],
  ['list, text', (n) => `emails?limit=50&search=${['hopper', 'roastery', 'knuth', `NW-${n}`][n % 4]!}`],
  ['counts', () => 'emails/counts'],
  ['counts, status', () => 'emails/counts?status=bounced'],
  ['counts, tag', (n) => `emails/counts?tag=tag-${n % TAGS}`],
  ['counts, text', (n) => `emails/counts?search=${['hopper', 'roastery', 'knuth'][n % 3]!}`],
];

const apiTimes = async ({ base, program }: Running, authorization: string): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const [what, query] of queries) {
    const times: number[] = [];
    const cpuUs = program.cpuUs();
    for (let n = 0; n < API_CALLS; n += 1) {
      const began = performance.now();
      const answer = await fetch(`${base}/api/${query(n)}`, { headers: { authorization } });
      const text = await answer.text();
      times.push(performance.now() - began);
      if (!answer.ok) throw new Error(`${query(n)}: ${answer.status} ${text}`);
    }
    figures.push({
      what: `API, ${what}: P95`,
      value: p95(times),
      unit: 'ms',
      target: { atMost: API_TARGET_MS },
      note: `${medianOf(times)}, CPU ${((program.cpuUs() - cpuUs) / API_CALLS / 1_000).toFixed(1)} ms a call`,
    });
  }
  return figures;
};

/** Sends at an even rate, and answers how many were sent. */
const sendFor = async (base: string, authorization: string, seconds: number): Promise<number> => {
  const until = performance.now() + seconds * 1_000;
  const under = new Set<Promise<void>>();
  let sent = 0;
  for (let next = performance.now(); next < until; next += 1_000 / EMAILS_PER_S) {
    const wait = next - performance.now();
    if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    const body = JSON.stringify({
      content: { subject: `Live ${sent}`, html: '<p>Hello</p>' },
      to: [{ email: `success+${sent}@simulator.sealpost` }],
    });
    sent += 1;
    const one = fetch(`${base}/api/emails/send`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body,
    }).then(async (answer) => {
      if (answer.status !== 201) throw new Error(`a send was answered ${answer.status}: ${await answer.text()}`);
      await answer.arrayBuffer();
    });
    under.add(one);
    void one.finally(() => under.delete(one)).catch(() => undefined);
  }
  await Promise.all(under);
  return sent;
};

type Task = Readonly<{ duration: number; startTime: number }>;

const liveMinute = async (page: Page, base: string, authorization: string): Promise<readonly Figure[]> => {
  await firstRowsOf(page, base);
  await page.getByText('Live', { exact: true }).waitFor();
  const from = await page.evaluate<number>('performance.now()');
  const began = performance.now();
  const sent = await sendFor(base, authorization, LIVE_S);
  const seconds = (performance.now() - began) / 1_000;
  await page.getByRole('button', { name: /\d.* new$/ }).waitFor();
  const tasks = (await page.evaluate<readonly Task[]>('window.bench.longTasks')).filter(
    ({ startTime }) => startTime > from,
  );
  return [
    { what: 'events a second while the list is open', value: (4 * sent) / seconds, unit: '/s' },
    {
      what: `tasks above ${LONG_TASK_MS} ms in ${LIVE_S} s`,
      value: tasks.length,
      unit: '',
      target: { atMost: 0 },
      note: `longest ${Math.max(0, ...tasks.map(({ duration }) => duration)).toFixed(0)} ms`,
    },
  ];
};

/** A long run says what it has found so far. */
const told = (figures: readonly Figure[]): readonly Figure[] => {
  for (const { what, value, unit, note } of figures)
    console.log(`${what}: ${value.toFixed(1)} ${unit}${note === undefined ? '' : ` (${note})`}`);
  return figures;
};

const measure = async (running: Running, authorization: string): Promise<readonly Figure[]> => {
  const { base, link } = running;
  const browser = await chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const context = await openContext(browser);
    const page = await context.newPage();
    await page.goto(link);
    await page.getByRole('link', { name: 'Later' }).click();
    await page.locator('main#page').waitFor();
    const rows = await rowTimes(page, base);
    const filters = told(await filterTimes(page, running));
    const tabs = await tabTimes(context, page, base);
    const api = told(await apiTimes(running, authorization));
    const live = told(await liveMinute(page, base, authorization));
    return [...rows, ...filters, ...tabs, ...live, ...api];
  } finally {
    await browser.close();
  }
};

const rowTimes = async (page: Page, base: string): Promise<readonly Figure[]> => {
  const cold = await firstRowsOf(page, base);
  const times: number[] = [];
  for (let n = 0; n < OPENINGS; n += 1) times.push(await firstRowsOf(page, base));
  const again = 'first rows, as the page is opened again: P95';
  return told([
    { what: 'first rows, the first time', value: cold, unit: 'ms' },
    { what: again, value: p95(times), unit: 'ms', target: { atMost: FIRST_ROWS_TARGET_MS }, note: medianOf(times) },
  ]);
};

const tabTimes = async (context: BrowserContext, page: Page, base: string): Promise<readonly Figure[]> => {
  for (let n = 1; n < 6; n += 1) await firstRowsOf(await context.newPage(), base);
  const value = await firstRowsOf(await context.newPage(), base);
  for (const other of context.pages()) if (other !== page) await other.close();
  return told([{ what: 'the seventh tab: first rows', value, unit: 'ms', target: { atMost: SEVENTH_TAB_TARGET_MS } }]);
};

const figures = await withDirectory(async (directory) => {
  const dataDir = join(directory, 'data');
  const first = await startService({ directory });
  const { authorization } = first;
  await first.stop();
  console.log(`writing ${EMAILS} documents …`);
  await fill(dataDir);
  const running = await startAgain(dataDir);
  try {
    return await measure(running, authorization);
  } finally {
    await running.program.stop();
  }
});
report({
  name: 'dashboard',
  figures,
  machine: machineWithDisk(),
  details: {
    emails: EMAILS,
    load: loadavg()
      .map((load) => load.toFixed(1))
      .join(' '),
  },
});
