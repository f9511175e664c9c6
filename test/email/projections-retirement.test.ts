/** What daily counts and sums say stays the same when the events of emails have left the log, whatever part of it a reader still finds. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { retirementOf } from '../../src/domain/email/retirement.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { openEventLog, startOf, versionOf, type StreamVersion } from '../../src/event-log/event-log.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { ATTACHMENT_USAGE } from '../../src/projections/email/attachment-usage.js';
import { EMAIL_BACKLOGS, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, emailsProjection } from '../../src/projections/email/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { SUMMARIES, TAG_SUMMARIES, TEMPLATE_SUMMARIES } from '../../src/projections/email/summaries.js';
import { accepted, at, DAY_MS, PERIODS, T0, TEAM_ID, TEMPLATE_ID } from '../support/email-facts.js';
import { play, story } from '../support/email-stories.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryEventStore, memoryFiles, memoryKeys } from '../support/memory-ports.js';
import { documentsOf, openDocuments, projectIn } from '../support/projected.js';

// Only what hangs is cut off.
t.setTimeout(900_000);

const projection = emailsProjection(PERIODS);
const TEAMS = [TEAM_ID, '22222222-2222-4222-8222-222222222222'];
const TEMPLATES = [TEMPLATE_ID, '0198f000-0000-7000-8000-00000000000d'];
const never = new AbortController().signal;
const OLD = 400_000_000;

const told = fc.record({
  story,
  template: fc.nat(1),
  team: fc.nat(1),
  day: fc.nat(2),
  tags: fc.subarray(['a', 'b']),
  kind: fc.constantFrom('counted' as const, 'counted' as const, 'test' as const, 'confidential' as const),
  attachments: fc.boolean(),
  /** Whether it goes, and by whom. */
  end: fc.constantFrom('stays' as const, 'removed' as const, 'deleted' as const),
  retires: fc.boolean(),
  /** How much of it a reader still finds: all, the first of its events, or none. */
  left: fc.constantFrom('all' as const, 'some' as const, 'none' as const, 'none' as const),
  some: fc.nat(6),
});
type Told = typeof told extends fc.Arbitrary<infer Value> ? Value : never;

const begun = (event: EmailEvent, { day, template, tags, kind, attachments }: Told): EmailEvent => {
  if (event.type !== 'EmailQueued' && event.type !== 'EmailScheduled') return event;
  const when = new Date(Date.parse(accepted.at) + day * DAY_MS).toISOString();
  const bytes = { attachmentBytes: { lasting: 10, temporary: 5, temporaryUntil: at(8 * 86_400) } };
  const which = kind === 'counted' ? {} : { [kind]: true };
  const data = { ...event.data, at: when, templateId: TEMPLATES[template]!, tags, ...which, ...(attachments ? bytes : {}) };
  return { ...event, data } as EmailEvent;
};

const ending = ({ end }: Told, events: readonly EmailEvent[]): readonly EmailEvent[] => {
  if (end === 'stays') return [];
  const has = (type: EmailEvent['type']): boolean => events.some((event) => event.type === type);
  const archived: EmailEvent[] = has('EmailArchived') ? [] : [{ type: 'EmailArchived', data: { at: at(OLD) } }];
  if (has('EmailDeleted') || has('EmailRemoved')) return archived;
  return end === 'deleted'
    ? [{ type: 'EmailDeleted', data: { at: at(OLD) } }, ...archived]
    : [...archived, { type: 'EmailRemoved', data: { at: at(OLD + 1) } }];
};

const worldOf = async (stories: readonly Told[], turns: readonly number[]) => {
  const store = memoryEventStore();
  const limits = { ...defaultLimits, ledgerSealEveryEvents: 7 };
  const eventLog = openEventLog({ store, keys: memoryKeys(), files: memoryFiles(), ids: countingIds(), clock: fakeClock(), limits });
  const tails = new Map<string, StreamVersion>();
  const append = async (stream: string, events: readonly EmailEvent[], teamId: string): Promise<void> => {
    const cause = { teamId, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };
    tails.set(stream, await eventLog.append(stream as StreamName, tails.get(stream) ?? startOf(stream), events, cause));
  };
  const open = stories.map((one, index) => {
    const events = play(one.story).map((event) => begun(event, one));
    return { stream: `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`, one, events: [...events, ...ending(one, events)] };
  });
  for (let turn = 0; ; turn += 1) {
    const waiting = open.filter(({ events }) => events.length > 0);
    if (waiting.length === 0) break;
    const { stream, events, one } = waiting[(turns[turn % turns.length] ?? 0) % waiting.length]!;
    await append(stream, [events.shift()!], TEAMS[one.team]!);
  }
  await sealOnce({ eventLog, store, limits, clock: fakeClock() }, never);
  const recorded = async () => {
    const all = [];
    for await (const { events } of eventLog.readAll(0)) all.push(...events);
    return all;
  };
  return { store, eventLog, open, recorded };
};

type World = Awaited<ReturnType<typeof worldOf>>;

/** Appends the last events of those that go. Out: where they begin, by stream. */
const retire = async ({ eventLog, open }: World): Promise<ReadonlyMap<string, number>> => {
  const firsts = new Map<string, number>();
  for (const { stream, one } of open) {
    if (one.end === 'stays' || !one.retires) continue;
    const events = await eventLog.load(stream as StreamName);
    const [first, last] = [events[0]!, events.at(-1)!];
    const places = {
      position: first.position,
      // Of this log the positions are the ordinals.
      ordinals: events.map(({ position }) => position),
      hashes: events.map(({ hash }) => hash),
      mark: '',
    };
    const { teamId } = first.metadata;
    const final = retirementOf(
      events.map(({ event }) => event as EmailEvent),
      places,
      at(OLD * 2),
    );
    const { revision, hash } = versionOf(last);
    const cause = { teamId, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };
    await eventLog.append(stream as StreamName, { revision, hash, keyId: undefined }, final!, cause);
    firsts.set(stream, events.length);
  }
  return firsts;
};

const leave = (world: World, firsts: ReadonlyMap<string, number>): void => {
  const { store, open } = world;
  const cuts = new Map(
    open.flatMap(({ stream, one }) => {
      const first = firsts.get(stream);
      if (first === undefined || one.left === 'all') return [];
      return [[stream, { from: one.left === 'none' ? 0 : Math.min(one.some, first), first }] as const];
    }),
  );
  const kept = store.events.filter(({ stream, revision }) => {
    const cut = cuts.get(stream);
    return cut === undefined || revision < cut.from || revision >= cut.first;
  });
  store.events.splice(0, store.events.length, ...kept);
};

/** What is shown, without from where it comes. */
const figuresOf = async (t: Test, readModels: Parameters<typeof documentsOf>[0]) => {
  t.ok(readModels);
  const documents = await documentsOf(readModels, projection);
  const shared = [SUMMARIES, TEMPLATE_SUMMARIES, TAG_SUMMARIES, EMAIL_COUNTS, EMAIL_BACKLOGS];
  return Object.fromEntries(shared.map((name) => [name, documents[name]!.map(({ seq: _seq, position: _position, ...rest }) => rest)]));
};

void t.test('live documents and those of a rebuild are the same, whatever part of the events has left the log', async (t) => {
  let retiredStreams = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(told, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(4), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      async (stories, turns, size) => {
        const world = await worldOf(stories, turns);
        const { eventLog, store } = world;
        const readModels = await openDocuments(t);
        await projectIn(readModels, projection, await world.recorded(), { sizes: [size] });
        const before = await figuresOf(t, readModels);
        const firsts = await retire(world);
        retiredStreams += firsts.size;
        await projectIn(readModels, projection, await world.recorded(), { sizes: [size] });
        const after = await figuresOf(t, readModels);
        if (JSON.stringify(before) !== JSON.stringify(after)) throw new Error(`figures moved: ${JSON.stringify([before, after])}`);
        leave(world, firsts);
        const { difference, lookupFault } = await compareWithRebuild(projection, { eventLog, readModels });
        if (difference !== undefined) throw new Error(JSON.stringify(difference));
        if (lookupFault !== undefined) throw new Error(JSON.stringify(lookupFault));
        const documents = await documentsOf(readModels, projection);
        for (const name of [EMAILS, EMAIL_TIMERS])
          if (documents[name]!.some(({ id }) => firsts.has(`email-${id.slice(0, 36)}`))) throw new Error(`${name} is left`);
        if (![...documents[ATTACHMENT_USAGE]!].every(({ lasting }) => (lasting as number) >= 0)) throw new Error('negative usage');
        const { finding, retired } = await verifyLog(store, undefined);
        if (finding !== undefined) throw new Error(finding.message);
        if (firsts.size === 0 && retired > 0) throw new Error('nothing was retired');
      },
    ),
    { numRuns: 60 },
  );
  t.ok(retiredStreams > 20, `${retiredStreams} streams were retired`);
});
