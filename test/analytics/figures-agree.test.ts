/** After any events in any order, usage, analytics, queue, dashboard, lists and quota equal a plain fold of the log. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { usedInMonth } from '../../src/cli/billing.js';
import { fanOut } from '../../src/commands/bulk/batches.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { Recorded } from '../../src/domain/events.js';
import { assertDefined, parseBatchId, parseEmailId, type BatchId, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { waitingSince } from '../../src/projections/bulk/batches.js';
import { queueFigures } from '../../src/projections/email/queue.js';
import { makeQueries } from '../../src/projections/queries.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM } from '../support/command-world.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  until,
  type ProcessorWorld,
} from '../support/processor-world.js';

// Only what hangs is cut off.
t.setTimeout(900_000);

const FROM = '2030-01-01';
const TO = '2030-01-31';
const RANGE = { startDate: FROM, endDate: TO, days: 31 };
const HOUR_MS = 3_600_000;
const NO_SIGNAL = new AbortController().signal;

const kinds = [
  'send',
  'sendLater',
  'bulk',
  'bulkLater',
  'part',
  'deliver',
  'cancel',
  'delete',
  'retry',
  'cancelBatch',
  'wait',
] as const;
const results = ['accepted', 'deferred', 'bounced', 'refused'] as const;
const step = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...kinds) },
    { weight: 2, arbitrary: fc.constantFrom('deliver', 'part') },
  ),
  which: fc.nat(200),
  size: fc.integer({ min: 1, max: 130 }),
  results: fc.tuple(fc.constantFrom(...results), fc.constantFrom(...results)),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const causeNow = ({ clock }: ProcessorWorld) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(clock.now()),
});

const logOf = async ({ deps }: ProcessorWorld): Promise<readonly Recorded[]> => {
  const all: Recorded[] = [];
  for await (const { events } of deps.eventLog.readAll(0)) all.push(...events);
  return all;
};

const idsOf = (log: readonly Recorded[], kind: string): readonly string[] => [
  ...new Set(log.flatMap(({ stream }) => (stream.startsWith(`${kind}-`) ? [stream.slice(kind.length + 1)] : []))),
];

const does = async (world: ProcessorWorld, { kind, which, size, results: [one, other] }: Step): Promise<void> => {
  const { commands, clock } = world;
  const log = await logOf(world);
  const emails = idsOf(log, 'email').map((id) => assertDefined(parseEmailId(id), 'email id'));
  const batches = idsOf(log, 'batch').map((id) => assertDefined(parseBatchId(id), 'batch id'));
  const [email, batch]: [EmailId | undefined, BatchId | undefined] = [
    emails[which % emails.length],
    batches[which % batches.length],
  ];
  const scheduledAt = isoTime(clock.now() + HOUR_MS * 30);
  const to = [{ email: 'ann@example.org' }, { email: 'bob@example.org' }].slice(0, (size % 2) + 1);
  switch (kind) {
    case 'send':
    case 'sendLater':
      return void (await world.send({ to, tags: ['may'], ...(kind === 'send' ? {} : { scheduledAt }) }));
    case 'bulk':
    case 'bulkLater':
      return void (await acceptBulk(world, bulk(size, { tags: ['may'], ...(kind === 'bulk' ? {} : { scheduledAt }) })));
    case 'part':
      return batch && fanOut(world.deps, { id: batch, cause: causeNow(world), signal: NO_SIGNAL });
    case 'deliver': {
      if (email === undefined) return;
      const attempts = async (): Promise<number> => (await commands.getEmail(caller, email)).attempts.length;
      const before = await commands.getEmail(caller, email);
      if (before.status !== 'queued' || before.nextAttemptAt !== null) return;
      world.mailer.next.push(answers(one, other));
      const worker = world.run(deliverEmailWorker(world.processing));
      await world.publish(email);
      await until(async () => (await attempts()) > before.attempts.length, 'it is attempted');
      await worker.stop();
      return;
    }
    case 'cancel':
      return void (email && (await commands.cancelEmail(caller, email)));
    case 'delete':
      return void (email && (await commands.deleteEmail(caller, email)));
    case 'retry':
      return void (email && (await commands.retryEmail(caller, email)));
    case 'cancelBatch':
      return void (batch && (await commands.cancelBatch(caller, batch)));
    case 'wait':
      return clock.advance(HOUR_MS * (which % 20));
  }
};

type Totals = Record<'accepted' | 'sent' | 'bounced' | 'failed' | 'cancelled', number>;
const nothing = (): Totals => ({ accepted: 0, sent: 0, bounced: 0, failed: 0, cancelled: 0 });

/** The plain fold: each email by itself, each bulk send for those of its emails that have no stream. */
const foldOf = (log: readonly Recorded[]) => {
  const days = new Map<string, Totals & { used: number }>();
  const add = (at: string, what: keyof Totals | 'used', by = 1): void => {
    const day = days.get(at.slice(0, 10)) ?? { ...nothing(), used: 0 };
    day[what] += by;
    days.set(at.slice(0, 10), day);
  };
  const queue = { ready: 0, deferred: 0, held: 0, scheduled: 0 };
  const listed: Record<string, number> = {};
  const madeOf = new Map<string, number>();
  const unmade: Record<string, number> = {};
  for (const id of idsOf(log, 'email')) {
    let [status, isDeferred, isDeleted, isPaid, called] = ['', false, false, false, ''];
    const reached = new Set<string>();
    for (const { event } of log.filter(({ stream }) => stream === `email-${id}`)) {
      isDeferred = false;
      const isTaken = 'outcomes' in event.data && event.data.outcomes.some(({ result }) => result === 'accepted');
      isPaid ||= isTaken;
      const { type } = event;
      if (type === 'EmailQueued' || type === 'EmailScheduled') {
        status = type === 'EmailQueued' ? 'queued' : 'scheduled';
        called = event.data.calledAt ?? event.data.at;
        add(called, 'accepted');
        add(called, 'used');
        const { batch } = event.data;
        if (batch !== undefined) madeOf.set(batch.id, (madeOf.get(batch.id) ?? 0) + 1);
      } else if (type === 'DeliveryAttempted') status = 'processing';
      else if (type === 'EmailDeferred') [status, isDeferred] = ['queued', true];
      else if (type === 'EmailReleased' || type === 'EmailRetried') status = 'queued';
      else if (type === 'EmailSent' || type === 'EmailFailed' || type === 'EmailBounced') {
        const end = ({ EmailSent: 'sent', EmailFailed: 'failed', EmailBounced: 'bounced' } as const)[type];
        if (!reached.has(end)) add(event.data.at, end);
        reached.add(end);
        [status, isPaid] = [end, true];
      } else if (type === 'EmailCancelled') {
        status = 'cancelled';
        add(event.data.at, 'cancelled');
        if (!isPaid) add(called, 'used', -1);
      } else if (type === 'EmailDeleted') isDeleted = true;
      else if (type !== 'EmailArchived') throw new Error(`the fold knows no ${type}`);
    }
    if (status === 'queued') queue[isDeferred ? 'deferred' : 'ready'] += 1;
    if (status === 'scheduled') queue.scheduled += 1;
    if (!isDeleted) listed[status] = (listed[status] ?? 0) + 1;
  }
  for (const id of idsOf(log, 'batch')) {
    let [left, called, wait]: [number, string, 'ready' | 'scheduled'] = [0, '', 'ready'];
    for (const { event } of log.filter(({ stream }) => stream === `batch-${id}`)) {
      if (event.type === 'BatchQueued' || event.type === 'BatchScheduled') {
        [left, called] = [event.data.total - (madeOf.get(id) ?? 0), event.data.at];
        wait = event.type === 'BatchScheduled' ? 'scheduled' : 'ready';
        add(called, 'accepted', left);
        add(called, 'used', left);
      }
      if (event.type === 'BatchStarted') wait = 'ready';
      if (event.type === 'BatchCancelled') {
        add(event.data.at, 'cancelled', left);
        add(called, 'used', -left);
        left = 0;
      }
    }
    queue[wait] += left;
    unmade[id] = left;
  }
  return { days, queue, listed, unmade };
};

const figuresOf = async (world: ProcessorWorld) => {
  const { deps, readModels, clock } = world;
  const queries = makeQueries({ ...deps, keys: world.keys, readModels, clock, awaitOwnWrites: async () => {} });
  const { depth, deferred, held, scheduled, priorities, oldestQueuedAt } = await queries.queueStats(TEAM);
  const byPriority = Object.values(priorities).map((one) => [one.depth, one.deferred, one.held, one.scheduled]);
  const { data: series } = await queries.analyticsTimeSeries(
    TEAM,
    { range: RANGE, interval: 'day', metrics: ['accepted', 'sent', 'bounced', 'failed', 'cancelled'] },
    {},
  );
  const rows = { range: RANGE, sort: 'accepted' as const, page: 1, limit: 10 };
  const dashboard = await queries.dashboardSummary(TEAM);
  const { data: batches } = await queries.listBatches(TEAM, { page: 1, limit: 100 } as never);
  const listed: Record<string, number> = {};
  for (const status of ['queued', 'scheduled', 'processing', 'sent', 'failed', 'bounced', 'cancelled'] as const) {
    const { meta } = await queries.listEmails(TEAM, { status }, { page: 1, limit: 1 } as never);
    if (meta.total > 0) listed[status] = meta.total;
  }
  return {
    used: await queries.usedByDay(TEAM, FROM, TO),
    series,
    overview: (await queries.analyticsOverview(TEAM, RANGE, {})).totals,
    templates: (await queries.analyticsTemplates(TEAM, rows)).data.map(({ totals }) => totals),
    tags: (await queries.analyticsTags(TEAM, rows)).data.map(({ totals }) => totals),
    dashboard,
    queue: { ready: depth, deferred, held, scheduled },
    byPriority,
    monitored: await queueFigures(readModels, waitingSince(readModels)),
    oldestQueuedAt,
    listed,
    batches,
  };
};

const compare = async (t: Test, world: ProcessorWorld, isMetered: boolean): Promise<void> => {
  await world.settled();
  const { days, queue, listed, unmade } = foldOf(await logOf(world));
  const figures = await figuresOf(world);
  const sum = nothing();
  let used = 0;
  for (const day of days.values()) {
    for (const what of Object.keys(sum) as (keyof Totals)[]) sum[what] += day[what];
    used += day.used;
  }
  const expected = [...days]
    .sort()
    .flatMap(([day, { used: emails }]) => (emails === 0 ? [] : [{ day, emails, documents: 0 }]));
  t.strictSame(
    figures.used.filter(({ emails, documents }) => emails !== 0 || documents !== 0),
    expected,
    'usage by day',
  );
  for (const { startDate, endDate: _endDate, ...point } of figures.series) {
    const { used: _used, ...totals } = days.get(startDate) ?? { ...nothing(), used: 0 };
    t.strictSame(point, totals, `the series on ${startDate}`);
  }
  const all = [figures.overview, figures.dashboard.last30Days.totals, ...figures.templates, ...figures.tags];
  for (const totals of all) t.match(totals, sum, 'overview, dashboard, templates and tags');
  t.strictSame(figures.queue, queue, 'the queue');
  t.strictSame(figures.dashboard.queue, queue, 'the queue of the dashboard');
  t.strictSame(
    figures.byPriority.reduce((all, one) => all.map((sum, at) => sum + one[at]!), [0, 0, 0, 0]),
    [queue.ready, queue.deferred, queue.held, queue.scheduled],
    'the priorities add up',
  );
  const monitored = (field: 'queued' | 'deferred' | 'held'): number =>
    figures.monitored.reduce((total, one) => total + one[field], 0);
  t.strictSame(
    [monitored('queued'), monitored('deferred'), monitored('held')],
    [queue.ready, queue.deferred, queue.held],
    'the metrics',
  );
  const [oldestDueAt] = figures.monitored.flatMap((one) => one.oldestDueAt ?? []).sort();
  t.equal(oldestDueAt ?? null, figures.oldestQueuedAt, 'the age of the queue in the metrics');
  t.equal(figures.oldestQueuedAt === null, queue.ready === 0, 'what waits has waited since some time');
  t.strictSame(figures.listed, listed, 'lists');
  for (const { batchId, totalEmails, queued, processing, sent, failed, cancelled } of figures.batches) {
    t.equal(queued + processing + sent + failed + cancelled, totalEmails, 'a bulk send adds up');
    t.ok(queued >= unmade[batchId]!, 'what is not made yet is queued');
  }
  if (!isMetered) return;
  const worker = world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
  const quota = async (): Promise<number> => (await world.elsewhere().credits.quote(TEAM)).emailQuota.used;
  await until(async () => (await quota()) === used, `the quota says ${used}`).catch(async (fault: Error) =>
    t.equal(await quota(), used, fault.message),
  );
  await worker.stop();
};

void t.test('all figures are those of a plain fold of the log', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 30 }), fc.nat(40), async (steps, meteredAt) => {
      const world = await openProcessorWorld(t);
      const meter = async (): Promise<void> => {
        await world.settled();
        const { eventLog, limits } = world.deps;
        const used = usedInMonth(
          { eventLog, limits, readModels: world.readModels, keys: world.keys, clock: world.clock },
          TEAM,
        );
        await changeBilling(world.deps, TEAM, { billing: 'plan', plan: 'pro' }, causeNow(world), used);
      };
      for (const [index, one] of steps.entries()) {
        if (index === meteredAt) await meter();
        try {
          await does(world, one);
        } catch (fault) {
          if (!(fault instanceof DomainError)) throw fault;
        }
      }
      await compare(t, world, meteredAt < steps.length);
      return t.passing();
    }),
    { numRuns: 8, endOnFailure: true },
  );
});
