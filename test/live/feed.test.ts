/** Live events without HTTP: what is told, how often, and what a reader that comes back, or reads slowly, is told. */
import t from 'tap';
import { assertDefined, parseUserId, type UserId } from '../../src/domain/core/ids.js';
import { changeOf, openPendingLooks, type LiveTopic } from '../../src/domain/live/changes.js';
import type { Recorded } from '../../src/domain/events.js';
import {
  openLiveFeed,
  STREAMS_MAX,
  STREAMS_OF_PERSON_MAX,
  type LiveMessage,
  type LiveRequest,
} from '../../src/projections/live/feed.js';
import type { LiveItems } from '../../src/projections/live/items.js';
import { OTHER_TEAM, TEAM } from '../support/command-world.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';
import { until } from '../support/processor-world.js';

type Log = Parameters<typeof openLiveFeed>[0]['eventLog'];

const personOf = (count: number): UserId =>
  assertDefined(parseUserId(`00000000-0000-4000-8000-${String(count).padStart(12, '0')}`), 'user id');

const recorded = (stream: string, position: number, teamId: string): Recorded =>
  ({ stream, position, metadata: { teamId } }) as Recorded;

/** A log of which only streams, teams and positions are looked at. Position `n` is that of the n-th event. */
const openLog = () => {
  const events: Recorded[] = [];
  let grown = (): void => {};
  let growth = new Promise<void>((resolve) => (grown = resolve));
  const faults: { next: Error | undefined; reads: number; subscribers: number } = {
    next: undefined,
    reads: 0,
    subscribers: 0,
  };
  const log: Log = {
    head: async () => events.length,
    readAll: async function* (after) {
      faults.reads += 1;
      const position = events.length;
      yield { events: events.slice(after, position), unreadable: [], position };
    } as Log['readAll'],
    subscribeAll: async function* (after: number, { signal }: { signal: AbortSignal }) {
      faults.subscribers += 1;
      try {
        for (let seen = after; !signal.aborted;) {
          if (faults.next !== undefined) {
            const fault = faults.next;
            faults.next = undefined;
            throw fault;
          }
          const position = events.length;
          if (position > seen) yield { events: events.slice(seen, position), unreadable: [], position };
          seen = position;
          if (events.length > seen) continue;
          await Promise.race([
            growth,
            new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
          ]);
        }
      } finally {
        faults.subscribers -= 1;
      }
    } as Log['subscribeAll'],
  };
  const grow = (): void => {
    grown();
    growth = new Promise((resolve) => (grown = resolve));
  };
  return {
    ...{ log, faults },
    append: (stream: string, team: string = TEAM): void => {
      events.push(recorded(stream, events.length + 1, team));
      grow();
    },
    break: (fault: Error): void => {
      faults.next = fault;
      grow();
    },
  };
};

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const open = () => {
  const clock = fakeClock();
  const logger = memoryLog();
  const { log, append, faults, break: breakLog } = openLog();
  const reading = { reads: [] as (readonly string[])[], fault: undefined as Error | undefined, reached: 0 };
  const gone = new Set<string>();
  const items: LiveItems = {
    emails: async (teamId, ids) => {
      if (reading.fault !== undefined) throw reading.fault;
      if (ids.length > 0) reading.reads.push(ids);
      return new Map(
        ids.map((id) => [
          id,
          {
            item: gone.has(id) ? undefined : ({ id, team: teamId } as never),
            batch: id.startsWith('b') ? 'B' : undefined,
          },
        ]),
      );
    },
    batches: async (_, ids) => new Map(ids.map((id) => [id, { batchId: id } as never])),
    webhooks: async (_, ids) => new Map(ids.map((id) => [id, gone.has(id) ? undefined : ({ id } as never)])),
    approvals: async () => new Map(),
    queue: async () => ({ depth: 3 }) as never,
  };
  const feed = openLiveFeed({
    ...{ eventLog: log, items, clock, logger },
    caughtUp: async (_topics, position) => void (reading.reached = position),
  });
  const listen = async (given: Partial<LiveRequest> = {}) => {
    const leaving = new AbortController();
    const told: { atMs: number; message: LiveMessage }[] = [];
    const state = { isReady: true, isAllowed: true, isEnded: false, beats: 0 };
    const opened = await feed.open({
      teamId: TEAM,
      person: personOf(1),
      topics: ['emails'],
      after: undefined,
      isAllowed: async () => state.isAllowed,
      outlet: {
        send: (message) => void told.push({ atMs: clock.monotonic(), message }),
        beat: () => void (state.beats += 1),
        isReady: () => state.isReady,
        end: () => {
          state.isEnded = true;
          leaving.abort();
        },
      },
      gone: leaving.signal,
      ...given,
    });
    const messages = (): readonly LiveMessage[] => told.map(({ message }) => message);
    return {
      ...{ opened, told, state, messages },
      changes: () => messages().flatMap((one) => (one.kind === 'changes' ? [JSON.parse(one.data) as Told] : [])),
      kinds: () => messages().map(({ kind }) => kind),
      leave: () => leaving.abort(),
      last: () => assertDefined(messages().at(-1), 'message'),
    };
  };
  /** Lets that much time pass, and everything run that is ready before and after. */
  const pass = async (ms: number): Promise<void> => {
    await turns();
    for (let passedMs = 0; passedMs < ms; passedMs += 250) {
      await clock.advance(Math.min(250, ms - passedMs));
      await turns();
    }
  };
  return { ...{ feed, clock, logger, append, faults, breakLog, reading, gone, listen, pass } };
};

type Told = Readonly<
  Record<'emails' | 'batches' | 'webhooks', { changed: readonly { id: string }[]; removed: string[] }>
>;

void t.test('an event of the log becomes a change of its team, and each thing waits once', async (t) => {
  t.same(changeOf(recorded('email-x', 4, TEAM)), { team: TEAM, position: 4, kind: 'email', id: 'x' });
  t.same(changeOf(recorded('webhookOutcome-wh_a-b.12', 4, TEAM)), {
    ...{ team: TEAM, position: 4, kind: 'attempts', id: 'wh_a-b' },
  });
  t.equal(changeOf(recorded('user-x', 4, TEAM)), undefined);
  const pending = openPendingLooks(['emails', 'queue'], 4);
  const change = (id: string, position: number) => ({ team: TEAM, kind: 'email' as const, id, position });
  for (const [id, position] of [
    ['x', 10],
    ['y', 11],
    ['x', 12],
    ['z', 13],
  ] as const)
    t.ok(pending.add(change(id, position)));
  t.same(
    pending.take(3, 20),
    {
      looks: [{ kind: 'email', id: 'x' }, { kind: 'queue' }, { kind: 'email', id: 'y' }],
      position: 12,
    },
    'nothing before position 13 is left',
  );
  t.same(pending.take(3, 20), { looks: [{ kind: 'email', id: 'z' }], position: 20 });
  t.equal(pending.size(), 0);
  for (const id of ['a', 'b', 'c']) t.ok(pending.add(change(id, 30)));
  t.notOk(pending.add(change('d', 31)), 'too many');
  const about = (topics: readonly LiveTopic[], kind: 'email' | 'batch' | 'webhook' | 'attempts') => {
    const looks = openPendingLooks(topics, 10);
    looks.add({ team: TEAM, kind, id: 'x', position: 1 });
    return looks.take(10, 1).looks.map((look) => look.kind);
  };
  t.same(about(['batches'], 'email'), ['email'], 'its bulk send may change');
  t.same(about(['webhooks'], 'email'), []);
  t.same(about(['webhooks'], 'attempts'), ['attempts']);
  t.same(about(['emails'], 'batch'), []);
  t.same(about(['queue'], 'batch'), ['queue']);
});

void t.test('two hundred events a second are folded to four messages, each item once in each', async (t) => {
  const { clock, append, listen, reading, pass } = open();
  const stream = await listen();
  const another = await listen({ person: personOf(2) });
  const elsewhere = await listen({ person: personOf(3), teamId: OTHER_TEAM });
  await pass(500);
  t.same(stream.kinds(), ['open']);
  for (let second = 0; second < 5; second += 1)
    for (let event = 0; event < 200; event += 1) {
      append(`email-${second}.${Math.floor(event / 4)}`);
      await clock.advance(5);
    }
  await pass(1_000);
  const changes = stream.told.filter(({ message }) => message.kind === 'changes');
  for (const { atMs } of changes) {
    const within = changes.filter((other) => other.atMs >= atMs && other.atMs < atMs + 1_000);
    t.ok(within.length <= 4, `${within.length} within a second`);
  }
  t.ok(changes.length >= 15, `${changes.length} messages`);
  const ids = stream.changes().map(({ emails }) => emails.changed.map(({ id }) => id));
  for (const one of ids) t.equal(new Set(one).size, one.length);
  t.equal(new Set(ids.flat()).size, 250, 'all are told');
  t.equal(reading.reached, 1_000, 'after the read models have them');
  t.match(stream.last(), { kind: 'changes', position: 1_000 });
  t.same(another.messages(), stream.messages());
  t.equal(reading.reads.length, changes.length, 'items are read once for both');
  t.same(elsewhere.kinds(), ['open'], 'another team hears nothing');
});

void t.test('the topics choose what is told; a bulk send follows its emails', async (t) => {
  const { append, listen, gone, pass } = open();
  const all = await listen({ topics: ['emails', 'batches', 'webhooks', 'queue'] });
  const batches = await listen({ topics: ['batches'], person: personOf(2) });
  const webhooks = await listen({ topics: ['webhooks'], person: personOf(3) });
  await pass(250);
  gone.add('lost').add('wh_gone');
  for (const stream of [
    'email-b1',
    'email-lost',
    'batch-C',
    'webhook-wh_1',
    'webhook-wh_gone',
    'webhookOutcome-wh_1.0',
  ])
    append(stream);
  await pass(250);
  t.same(all.changes(), [
    {
      emails: { changed: [{ id: 'b1', team: TEAM }], removed: ['lost'] },
      batches: { changed: [{ batchId: 'C' }, { batchId: 'B' }], removed: [] },
      webhooks: { changed: [{ id: 'wh_1' }], removed: ['wh_gone'], attempted: ['wh_1'] },
      queue: { depth: 3 },
    },
  ]);
  t.same(batches.changes(), [{ batches: { changed: [{ batchId: 'C' }, { batchId: 'B' }], removed: [] } }]);
  t.same(webhooks.changes(), [{ webhooks: { changed: [{ id: 'wh_1' }], removed: ['wh_gone'], attempted: ['wh_1'] } }]);
  append('email-single');
  await pass(250);
  t.equal(batches.changes().length, 1, 'an email of no bulk send changes none');
});

void t.test(
  'a reader that comes back is told what it has missed, also by a process that has just started',
  async (t) => {
    const first = open();
    const stream = await first.listen();
    for (const id of ['a', 'b']) first.append(`email-${id}`);
    await first.pass(500);
    t.match(stream.last(), { kind: 'changes', position: 2 });
    stream.leave();
    await turns();
    t.equal(first.faults.subscribers, 0, 'nobody follows the log for nobody');
    for (const id of ['c', 'd', 'a']) first.append(`email-${id}`);
    first.append('email-e', OTHER_TEAM);
    const resumed = await first.listen({ after: 2 });
    const fresh = await first.listen({ person: personOf(2) });
    await turns();
    await first.pass(250);
    t.match(resumed.messages()[0], { kind: 'open', position: 2 });
    t.same(
      resumed.changes().flatMap(({ emails }) => emails.changed.map(({ id }) => id)),
      ['c', 'd', 'a'],
    );
    t.match(resumed.last(), { position: 6 });
    t.same(fresh.messages(), [{ kind: 'open', position: 6 }]);
    const reads = first.faults.reads;
    const again = await first.listen({ after: 3, person: personOf(3) });
    await first.pass(500);
    t.same(
      again.changes().flatMap(({ emails }) => emails.changed.map(({ id }) => id)),
      ['d', 'a'],
    );
    t.equal(first.faults.reads, reads, 'what one reader had read serves the next');
  },
);

void t.test('a position that is unknown, of a later log, or too old leads to a reset', async (t) => {
  const cases = { unknown: 'unknown', later: 30_000, old: 5, 'with too many changes since': 19_000 } as const;
  for (const [name, after] of Object.entries(cases)) {
    const { append, listen, pass } = open();
    for (let count = 0; count < 20_010; count += 1) append(`email-${count}`);
    const stream = await listen({ after });
    await pass(500);
    t.same(stream.messages(), [{ kind: 'reset', position: 20_010 }], name);
    append('email-x');
    await pass(500);
    t.match(stream.changes(), [{ emails: { changed: [{ id: 'x' }] } }], `${name}: it goes on from there`);
    t.match(stream.last(), { position: 20_011 });
    stream.leave();
  }
});

void t.test('a slow reader costs a bounded amount, and is told to begin anew', async (t) => {
  const { append, listen, pass, reading } = open();
  const slow = await listen();
  const quick = await listen({ person: personOf(2) });
  await pass(250);
  slow.state.isReady = false;
  for (let count = 0; count < 900; count += 1) append(`email-${count}`);
  await pass(2_000);
  t.equal(quick.changes().flatMap(({ emails }) => emails.changed).length, 900);
  for (const { emails } of quick.changes()) t.ok(emails.changed.length <= 200);
  t.same(slow.kinds(), ['open'], 'nothing is sent to it');
  const reads = reading.reads.length;
  slow.state.isReady = true;
  await pass(2_000);
  append('email-x');
  await pass(2_000);
  t.equal(slow.changes().flatMap(({ emails }) => emails.changed).length, 901, 'few changes are told late');
  t.ok(reading.reads.length > reads);
  slow.state.isReady = false;
  for (let count = 0; count < 1_100; count += 1) append(`email-more${count}`);
  await pass(3_000);
  const before = slow.messages().length;
  slow.state.isReady = true;
  append('email-y');
  await pass(1_000);
  t.same(slow.messages().slice(before), [{ kind: 'reset', position: 2_002 }], 'more than a thousand are not');
  append('email-z');
  await pass(1_000);
  t.match(slow.last(), { kind: 'changes', position: 2_003 });
});

void t.test('a person has two streams, a process two hundred; places come free', async (t) => {
  const { feed, listen, clock, pass } = open();
  const mine = [await listen(), await listen()];
  t.equal(STREAMS_OF_PERSON_MAX, 2);
  t.equal((await listen()).opened, 'full-person');
  mine[0]!.leave();
  t.equal((await listen()).opened, 'opened');
  for (let person = 2; person < STREAMS_MAX; person += 1)
    t.equal((await listen({ person: personOf(person) })).opened, 'opened');
  t.equal((await listen({ person: personOf(999) })).opened, 'full');
  mine[1]!.leave();
  const last = await listen({ person: personOf(999) });
  t.equal(last.opened, 'opened');
  feed.close();
  await pass(250);
  t.match(last.last(), { kind: 'end', reason: 'stopping' });
  t.ok(last.state.isEnded);
  t.equal((await listen({ person: personOf(998) })).opened, 'stopping');
  await turns();
  t.equal(clock.waiting(), 0, 'nothing goes on');
});

void t.test(
  'an idle stream beats every fifteen seconds, and ends when the reader may not listen any more',
  async (t) => {
    const { append, listen, pass } = open();
    const stream = await listen();
    const other = await listen({ person: personOf(2) });
    await pass(60_000);
    t.ok(stream.state.beats === 3 || stream.state.beats === 4, `${stream.state.beats} beats in a minute`);
    stream.state.isAllowed = false;
    append('email-a');
    await pass(250);
    t.same(stream.kinds(), ['open', 'end'], 'nothing is told any more');
    t.match(stream.last(), { reason: 'no-access' });
    t.ok(stream.state.isEnded);
    t.same(other.kinds(), ['open', 'changes']);
    other.state.isAllowed = false;
    await pass(1_000);
    t.same(other.kinds(), ['open', 'changes', 'end'], 'an idle one ends within a second');
  },
);

void t.test(
  'stores that are away: the log is followed on, and items that could not be read lead to a reset',
  async (t) => {
    const { append, listen, pass, reading, logger, breakLog } = open();
    const stream = await listen();
    await pass(250);
    breakLog(new Error('away'));
    await turns();
    append('email-a');
    await pass(2_000);
    await until(() => stream.changes().length === 1, 'it goes on');
    t.match(logger.lines.at(-1), { message: /the log cannot be followed/ });
    reading.fault = new Error('away');
    append('email-b');
    await pass(1_000);
    reading.fault = undefined;
    await pass(1_000);
    t.match(stream.last(), { kind: 'reset', position: 2 });
  },
);
