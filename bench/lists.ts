/** Lists over a million emails: a page, a search, a page deep inside by cursor; wall time of the queries behind the list endpoints. */
import { join } from 'node:path';
import { openSqliteDocuments } from '../src/adapters/documents/sqlite.js';
import { defaultLimits } from '../src/domain/limits.js';
import type { Recorded } from '../src/domain/events.js';
import type { Document, Documents } from '../src/domain/ports/documents.js';
import type { EmailFilter, Queries } from '../src/projections/api.js';
import { emailsProjection } from '../src/projections/emails.js';
import { makeQueries } from '../src/projections/queries.js';
import { project } from '../src/projections/runner.js';
import { lifeOf, teamA } from './support/email-life.js';
import { percentile } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { seeded } from './support/pairs.js';
import { report, type Figure } from './support/results.js';
import { withDirectory } from './support/scratch.js';

const EMAILS_IN_LIST = 1_000_000;
const BATCH = 5_000;
const DAY_MS = 86_400_000;
const DAYS = 30;
const START_MS = Date.parse('2026-10-22T00:00:00Z');
const SEED = 4;
const PAGE_TARGET_MS = 5;
const SEARCH_TARGET_MS = 30;
/** A deep page takes at most this many times the first. */
const DEEP_TARGET = 1.25;
const WARM_UP = 50;
const CALLS = 400;
const WALKED_PAGES = 9_000;
const PAGE_SIZE = 100;

/** The documents as the projection makes them of made-up events, written as a rebuild writes them. Answers how many are of team A. */
const fillDocuments = async (documents: Documents): Promise<number> => {
  const projection = emailsProjection(defaultLimits.retentionDays * DAY_MS);
  await documents.projection(projection.name, projection.collections);
  const rebuild = await documents.rebuild(projection.name);
  const random = seeded(SEED);
  const cache = new Map<string, Document>();
  let checkpoint = await rebuild.store.checkpoint();
  let position = 0;
  let ofTeamA = 0;
  for (let first = 0; first < EMAILS_IN_LIST; first += BATCH) {
    const recorded: Recorded[] = [];
    for (let n = first; n < first + BATCH; n += 1) {
      const { stream, events, cause } = lifeOf({ n, atMs: START_MS + Math.floor((n / EMAILS_IN_LIST) * DAYS * DAY_MS), random, allDelivered: false });
      if (cause.teamId === teamA) ofTeamA += 1;
      events.forEach((event, revision) => {
        position += 1;
        recorded.push({ event, stream, revision, position, hash: '', metadata: { ...cause, eventId: `${n}-${revision}`, occurredAt: cause.at } });
      });
    }
    checkpoint = await project(projection, rebuild.store, cache, recorded, checkpoint);
  }
  await rebuild.commit();
  return ofTeamA;
};

type Ask = (n: number) => Promise<Readonly<{ data: readonly unknown[] }>>;

/** The 95th percentile and the median of `CALLS` calls, in ms. `expectRows`: every answer must have some. */
const timesOf = async (ask: Ask, expectRows: boolean): Promise<Readonly<{ p95: number; median: number }>> => {
  const times = new Float64Array(CALLS);
  for (let n = -WARM_UP; n < CALLS; n += 1) {
    const start = performance.now();
    const { data } = await ask(n + WARM_UP);
    if (n >= 0) times[n] = performance.now() - start;
    if (expectRows && data.length === 0) throw new Error('a list that has rows was answered without any');
  }
  times.sort();
  return { p95: percentile(times, 0.95), median: percentile(times, 0.5) };
};

const isoAt = (share: number): string => new Date(START_MS + Math.floor(share * DAYS * DAY_MS)).toISOString();
const templateId = '018f0000-0000-7000-8000-000000000103';

const pages: readonly Readonly<{ what: string; filter: (random: () => number) => EmailFilter }>[] = [
  { what: 'all', filter: () => ({}) },
  { what: 'of one status', filter: () => ({ status: 'bounced' }) },
  { what: 'of one template', filter: () => ({ templateId }) },
  {
    what: 'between two moments',
    filter: (random) => {
      const from = random() * 0.8;
      return { startDate: isoAt(from), endDate: isoAt(from + 0.15) };
    },
  },
];

const searches: readonly Readonly<{ what: string; rows: boolean; filter: (random: () => number) => EmailFilter }>[] = [
  { what: 'a word of every eighth', rows: true, filter: () => ({ search: 'roastery' }) },
  { what: 'a surname', rows: true, filter: (random) => ({ search: ['hopper', 'murphy', 'tanaka', 'knuth'][Math.floor(random() * 4)]! }) },
  { what: 'one order number', rows: false, filter: (random) => ({ search: `NW-${Math.floor(random() * EMAILS_IN_LIST)}` }) },
  { what: 'part of an address', rows: false, filter: (random) => ({ search: `ada.hopper${Math.floor(random() * 100)}` }) },
  { what: 'three letters', rows: true, filter: () => ({ search: 'ord' }) },
  { what: 'nothing found', rows: false, filter: (random) => ({ search: `zzq${Math.floor(random() * 1_000)}` }) },
  { what: 'a surname of one status', rows: true, filter: () => ({ search: 'murphy', status: 'bounced' }) },
  {
    what: 'a surname between two moments',
    rows: true,
    filter: (random) => {
      const from = random() * 0.8;
      return { search: 'knuth', startDate: isoAt(from), endDate: isoAt(from + 0.15) };
    },
  },
];

/** Walks by cursor as far as asked; throws where a row comes twice, out of order, or where the list ends too early. Answers the time of each page. */
const walk = async (queries: Queries): Promise<Float64Array> => {
  const times = new Float64Array(WALKED_PAGES);
  let cursor: string | null = null;
  let last = '~';
  for (let page = 0; page < WALKED_PAGES; page += 1) {
    const start = performance.now();
    const { data, meta } = await queries.listEmails(teamA, {}, { page: 1, limit: PAGE_SIZE, ...(cursor === null ? {} : { cursor }) });
    times[page] = performance.now() - start;
    cursor = meta.nextCursor ?? null;
    if (data.length !== PAGE_SIZE || cursor === null) throw new Error(`the walk ended on page ${page + 1}`);
    for (const { createdAt, id } of data) {
      // Ids rise with the emails here, so both together give the order.
      const place = `${createdAt} ${id}`;
      if (place >= last) throw new Error(`page ${page + 1} of the walk is out of order`);
      last = place;
    }
  }
  return times;
};

const p95 = (times: Float64Array): number => percentile(times.slice().sort(), 0.95);

const measure = async (queries: Queries, emails: number): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  const random = seeded(SEED);
  const first = await queries.listEmails(teamA, {}, { page: 1, limit: 20 });
  if (first.meta.total !== emails) throw new Error(`the list says ${first.meta.total} emails, there are ${emails}`);
  const add = async (what: string, ask: Ask, expectRows: boolean, atMost: number): Promise<void> => {
    const { p95: value, median } = await timesOf(ask, expectRows);
    figures.push({ what: `${what}: P95`, value, unit: 'ms', target: { atMost }, note: `median ${median.toFixed(2)} ms` });
  };
  const paging = { page: 1, limit: 20 };
  for (const { what, filter } of pages) await add(`page, ${what}`, () => queries.listEmails(teamA, filter(random), paging), true, PAGE_TARGET_MS);
  for (const { what, rows, filter } of searches) await add(`search, ${what}`, () => queries.listEmails(teamA, filter(random), paging), rows, SEARCH_TARGET_MS);
  const times = await walk(queries);
  const tenth = WALKED_PAGES / 10;
  const [near, deep] = [p95(times.subarray(0, tenth)), p95(times.subarray(WALKED_PAGES - tenth))];
  figures.push(
    { what: `page of ${PAGE_SIZE} by cursor, first ${tenth}: P95`, value: near, unit: 'ms', target: { atMost: PAGE_TARGET_MS } },
    { what: `page of ${PAGE_SIZE} by cursor, last ${tenth} of ${WALKED_PAGES}: P95`, value: deep, unit: 'ms', target: { atMost: PAGE_TARGET_MS } },
    { what: 'deep page / first page', value: deep / near, unit: '', target: { atMost: DEEP_TARGET } },
  );
  return figures;
};

const figures = await withDirectory(async (directory) => {
  const documents = openSqliteDocuments({ file: join(directory, 'documents.db') });
  try {
    console.log(`writing ${EMAILS_IN_LIST} documents …`);
    const emails = await fillDocuments(documents);
    const clock = { now: () => START_MS + DAYS * DAY_MS, until: () => Promise.resolve() };
    const queries = makeQueries({ documents, clock, limits: defaultLimits, settle: () => Promise.resolve() });
    return await measure(queries, emails);
  } finally {
    await documents.close();
  }
});
report({ name: 'lists', figures, machine: machineWithDisk(), details: { emails: EMAILS_IN_LIST, calls: CALLS } });
