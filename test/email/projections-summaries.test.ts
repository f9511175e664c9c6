/** The daily summaries: each email counts once for what it reaches, on the day on which it does, and for ever. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { emailMilestones } from '../../src/domain/email/milestones.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Document, ProjectionStore } from '../../src/domain/ports/read-models.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild, rebuildProjection } from '../../src/projections/core/rebuild.js';
import {
  OTHER,
  SUMMARIES,
  TAG_SUMMARIES,
  TEMPLATE_SUMMARIES,
  type DayRowsDocument,
  type DaySummaryDocument,
} from '../../src/projections/email/summaries.js';
import { openUnitOfWork } from '../../src/projections/core/unit-of-work.js';
import { distantReadModels } from '../support/distant/ports-of-tests.js';
import {
  accepted,
  at,
  attempted,
  bounced,
  content,
  DAY_MS,
  deferred,
  failed,
  released,
  retried,
  PERIODS,
  sent,
  T0,
  TEAM_ID,
  TEMPLATE_ID,
} from '../support/email-facts.js';
import { play, story } from '../support/email-stories.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';

const projection = emailsProjection(PERIODS);
const OTHER_TEAM = '22222222-2222-4222-8222-222222222222';
const NEWS = '0198f000-0000-7000-8000-00000000000d';
const streamOf = (index: number): string => `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const next = DAY_MS / 1_000;

const queuedWith = (tags: readonly string[], when = T0, templateId = TEMPLATE_ID): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...accepted, at: when, templateId, tags: [...tags], roles: ['to'] },
  sealed: content,
});
const delivered = (when: string): EmailEvent => ({ type: 'EmailDelivered', data: { at: when, recipients: [0] } });

type Summaries = Readonly<Record<string, unknown>>;

const summaryCollections = [SUMMARIES, TEMPLATE_SUMMARIES, TAG_SUMMARIES];

/** The documents of the summaries, those of days first. */
const summariesIn = async (readModels: Parameters<typeof documentsOf>[0]): Promise<readonly Document[]> => {
  const found = await documentsOf(readModels, projection);
  return summaryCollections.flatMap((name) => found[name]!);
};

/** The figures of the summaries, by team, day and name. */
const toldOf = (documents: readonly Document[]): Summaries =>
  Object.fromEntries(
    documents.flatMap((document): (readonly [string, unknown])[] => {
      const { team, day, counts, rows } = document as DaySummaryDocument & Partial<DayRowsDocument>;
      const place = `${team === TEAM_ID ? '' : 'other '}${day.slice(5)}`;
      return rows === undefined
        ? [[place, counts]]
        : Object.entries(rows).map(([name, row]) => [`${place} ${name}`, row] as const);
    }),
  );

/** The summaries of these emails, folded twice: at once, and event by event. */
const summariesAfter = async (t: Test, ...emails: readonly (readonly EmailEvent[])[]): Promise<Summaries> => {
  const { append, recorded } = openLogOfTest();
  for (const [index, events] of emails.entries()) for (const event of events) await append(streamOf(index), [event]);
  const [whole, single] = [openDocuments(t), openDocuments(t)];
  await projectIn(whole, projection, await recorded());
  await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
  const found = await summariesIn(whole);
  t.strictSame(await summariesIn(single), found, 'event by event gives the same');
  return toldOf(found);
};

void t.test('each outcome counts on its own day, and how long it took', async (t) => {
  const story = [
    queuedWith(['order', 'order', 'vip']),
    attempted(1, at(2)),
    sent(1, at(5), [0, 'accepted']),
    delivered(at(next + 1)),
  ];
  t.same(await summariesAfter(t, story), {
    '01-01': { accepted: 1, attempted: 1, waitMs: 2_000, sent: 1, sendMs: 5_000 },
    [`01-01 ${TEMPLATE_ID}`]: { accepted: 1, sent: 1 },
    '01-01 tag:order': { accepted: 1, sent: 1 },
    '01-01 tag:vip': { accepted: 1, sent: 1 },
    '01-02': { delivered: 1, deliverMs: next * 1_000 + 1_000 },
    [`01-02 ${TEMPLATE_ID}`]: { delivered: 1 },
    '01-02 tag:order': { delivered: 1 },
    '01-02 tag:vip': { delivered: 1 },
  });
});

void t.test('what is deferred, tried again and retried counts once for each end', async (t) => {
  const one = queuedWith([]);
  const again = [
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'deferred']),
    released(at(62)),
    attempted(2, at(63)),
  ];
  const fails = (attempt: number, seconds: number) => failed('refused', attempt, at(seconds), [0, 'refused']);
  const bounces = (attempt: number, seconds: number) => bounced(attempt, at(seconds), [0, 'bounced']);
  const cases: readonly (readonly [string, readonly EmailEvent[], Summaries])[] = [
    ['deferred', [...again, sent(2, at(64), [0, 'accepted'])], { attempted: 1, waitMs: 1_000, sent: 1, sendMs: 2_000 }],
    [
      'failed twice',
      [attempted(1, at(1)), fails(1, 2), retried(at(9), 1), attempted(2, at(10)), fails(2, 11)],
      { attempted: 1, waitMs: 1_000, failed: 1 },
    ],
    [
      'failed, then bounced, then sent',
      [
        ...[attempted(1, at(1)), fails(1, 2), retried(at(9), 1), attempted(2, at(10)), bounces(2, 11)],
        ...[retried(at(19), 2), attempted(3, at(20)), sent(3, at(21), [0, 'accepted'])],
      ],
      { attempted: 1, waitMs: 1_000, failed: 1, bounced: 1, sent: 1, sendMs: 2_000 },
    ],
    ['cancelled', [{ type: 'EmailCancelled', data: { at: at(5) } }], { cancelled: 1 }],
    [
      'a clock that was set back',
      [attempted(1, at(-10)), sent(1, at(-9), [0, 'accepted'])],
      { attempted: 1, waitMs: 0, sent: 1, sendMs: 0 },
    ],
  ];
  for (const [name, events, counts] of cases)
    t.same((await summariesAfter(t, [one, ...events]))['01-01'], { accepted: 1, ...counts }, name);
});

void t.test(
  'an email that begins with a batch and ends on another day adds to what that day has already',
  async (t) => {
    const { append, recorded } = openLogOfTest();
    await append(streamOf(1), [queuedWith(['order'], at(next))]);
    await append(streamOf(2), [
      queuedWith(['order'], at(next - 50_000)),
      attempted(1, at(next)),
      sent(1, at(next + 1), [0, 'accepted']),
    ]);
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, await recorded(), { sizes: [1, 3], forgetful: true });
    const found = toldOf(await summariesIn(readModels));
    t.match(found, { '01-02': { accepted: 1, sent: 1 }, '01-02 tag:order': { accepted: 1, sent: 1 } });
  },
);

void t.test('a tag for each email: so many have a row of their own, the rest is counted together', async (t) => {
  const { summaryRowsMax } = defaultLimits;
  const names = [
    '__proto__',
    'constructor',
    'other',
    ...Array.from({ length: summaryRowsMax - 3 }, (_, index) => `order-${index}`),
  ];
  const found = await summariesAfter(
    t,
    ...names.map((tag) => [queuedWith([tag])]),
    [queuedWith(['late', 'later', 'order-1']), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])],
    [queuedWith(['latest'])],
  );
  const tags = Object.keys(found).filter((name) => name.startsWith('01-01 tag:'));
  t.equal(tags.length, summaryRowsMax);
  t.same(found['01-01 tag:__proto__'], { accepted: 1 });
  t.same(found['01-01 tag:other'], { accepted: 1 });
  t.same(found['01-01 tag:order-1'], { accepted: 2, sent: 1 });
  t.same(found[`01-01 ${OTHER}`], { accepted: 2, sent: 1 }, 'an email with two of the rest is one');
  t.match(found['01-01'], { accepted: summaryRowsMax + 2 });
});

void t.test(
  'deleted and archived emails stay counted, and a rebuild after their keys are destroyed counts them again',
  async (t) => {
    const { append, recorded, eventLog } = openLogOfTest();
    await append(streamOf(1), [queuedWith(['order']), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
    await append(streamOf(2), [
      queuedWith(['news']),
      { type: 'EmailCancelled', data: { at: at(3) } },
      { type: 'EmailDeleted', data: { at: at(3) } },
    ]);
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, await recorded());
    const before = toldOf(await summariesIn(readModels));
    await append(streamOf(1), [{ type: 'EmailArchived', data: { at: at(30 * next) } }]);
    await append(streamOf(2), [{ type: 'EmailArchived', data: { at: at(4) } }]);
    for (const index of [1, 2]) await eventLog.destroyKey(streamOf(index) as Parameters<typeof eventLog.destroyKey>[0]);
    await projectIn(readModels, projection, await recorded());
    t.same(toldOf(await summariesIn(readModels)), before);
    t.match(before, {
      '01-01': { accepted: 2, sent: 1, cancelled: 1 },
      '01-01 tag:news': { accepted: 1, cancelled: 1 },
    });
    await rebuildProjection(projection, { eventLog, readModels });
    const rebuilt = await summariesIn(readModels);
    t.same(toldOf(rebuilt), before);
    t.notMatch(JSON.stringify(rebuilt), /ann|Order 17|example/);
  },
);

void t.test('a thousand emails of one day are three documents of a write', async (t) => {
  const { append, recorded } = openLogOfTest();
  for (let index = 0; index < 1_000; index += 1) await append(streamOf(index), [queuedWith(['order'])]);
  const store = await openDocuments(t).projection(projection.name, projection.collections);
  let puts = 0;
  const counting: ProjectionStore = {
    ...store,
    write: async (writes, from, to) => {
      for (const { collection, put } of writes) if (summaryCollections.includes(collection)) puts += put.length;
      await store.write(writes, from, to);
    },
  };
  const work = openUnitOfWork(projection, counting);
  const events = await recorded();
  await work.fold(events);
  await work.write(await store.checkpoint(), events.at(-1)!.position);
  t.equal(puts, 3);
});

void t.test('a rebuild reads documents of its new collections once it keeps not all in memory', async (t) => {
  const { append, recorded } = openLogOfTest();
  const TEAMS = 2_100;
  const teamOf = (index: number): string => `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`;
  await Promise.all(
    Array.from({ length: TEAMS }, (_, index) => append(streamOf(index), [queuedWith(['order'])], teamOf(index))),
  );
  for (let index = 0; index < 10; index += 1)
    await append(streamOf(index), [attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])], teamOf(index));
  const events = await recorded();
  const live = openDocuments(t);
  await projectIn(live, projection, events, { sizes: [TEAMS, 1], forgetful: true });
  const rebuilt = openDocuments(t);
  const store = await rebuilt.projection(projection.name, projection.collections);
  const asked: number[] = [];
  const counting: ProjectionStore = {
    ...store,
    getMany: (collection, ids) => {
      asked.push(ids.length);
      return store.getMany(collection, ids);
    },
  };
  const work = openUnitOfWork(projection, counting, { isEmpty: true });
  let checkpoint = await store.checkpoint();
  for (let from = 0; from < events.length; from += 700) {
    const some = events.slice(from, from + 700);
    if (from >= TEAMS) t.same(asked, [], 'nothing is read while all is in memory');
    await work.fold(some);
    checkpoint = await work.write(checkpoint, some.at(-1)!.position);
  }
  t.not(asked.length, 0);
  t.ok(isDeepStrictEqual(await documentsOf(rebuilt, projection), await documentsOf(live, projection)));
});

void t.test('a write that was torn anywhere and is made again gives the same', async (t) => {
  const { append, recorded } = openLogOfTest();
  await append(streamOf(1), [
    queuedWith(['order']),
    attempted(1, at(1)),
    sent(1, at(2), [0, 'accepted']),
    delivered(at(next)),
  ]);
  await append(
    streamOf(2),
    [queuedWith(['news'], at(next), NEWS), { type: 'EmailCancelled', data: { at: at(next) } }],
    OTHER_TEAM,
  );
  await append(streamOf(3), [
    queuedWith(['order']),
    attempted(1, at(1)),
    failed('refused', 1, at(next), [0, 'refused']),
  ]);
  const events = await recorded();
  const whole = openDocuments(t);
  await projectIn(whole, projection, events);
  const expected = await summariesIn(whole);
  for (let count = 0, all = 1; count <= all; count += 1) {
    const readModels = openDocuments(t);
    all = await tearWrite(readModels, projection, events, count);
    await projectIn(readModels, projection, events, { sizes: [2], forgetful: true });
    t.strictSame(await summariesIn(readModels), expected, `${count} of ${all}`);
  }
});

const told = fc.record({
  story,
  template: fc.nat(1),
  team: fc.nat(1),
  tags: fc.uniqueArray(fc.constantFrom('order', 'news', '__proto__'), { maxLength: 2 }),
});
type Told = typeof told extends fc.Arbitrary<infer Value> ? Value : never;

const TEMPLATES_DRAWN = [TEMPLATE_ID, NEWS];
const TEAMS_DRAWN = [TEAM_ID, OTHER_TEAM];
const outcomes: Readonly<Record<string, string>> = {
  EmailBounced: 'bounced',
  EmailFailed: 'failed',
  EmailCancelled: 'cancelled',
};

const eventsOf = ({ story: which, template, tags }: Told): EmailEvent[] =>
  play(which).map((event) =>
    event.type === 'EmailQueued' || event.type === 'EmailScheduled'
      ? ({ ...event, data: { ...event.data, templateId: TEMPLATES_DRAWN[template]!, tags } } as EmailEvent)
      : event,
  );

const isReport = (type: EmailEvent['type']): boolean => type === 'EmailBounceReported' || type === 'EmailComplained';

/** The expected summaries, from the events alone: each outcome and report names a recipient. */
const recount = (stories: readonly Told[]): Record<string, Record<string, number>> => {
  const counts: Record<string, Record<string, number>> = {};
  for (const one of stories) {
    const got = new Map<number, 'sent' | 'delivered' | 'ended'>(one.story.roles.map((_, index) => [index, 'ended']));
    const reached = new Set<string>();
    const count = (what: string, when: string): void => {
      if (reached.has(what)) return;
      reached.add(what);
      const place = `${one.team === 0 ? '' : 'other '}${when.slice(5, 10)}`;
      for (const name of ['', ` ${TEMPLATES_DRAWN[one.template]!}`, ...one.tags.map((tag) => ` tag:${tag}`)]) {
        const row = (counts[`${place}${name}`] ??= {});
        row[what] = (row[what] ?? 0) + 1;
      }
    };
    let [open, isOut] = [0, false];
    const stand = one.story.roles.map(() => 'waiting');
    const erased = new Set<number>();
    for (const { type, data } of eventsOf(one)) {
      if ('outcomes' in data)
        for (const { recipient, result } of data.outcomes)
          stand[recipient] =
            result === 'blocked' || (result === 'deferred' && type !== 'EmailDeferred')
              ? 'refused'
              : result === 'deferred'
                ? 'waiting'
                : result;
      if (type === 'EmailRetried')
        stand.forEach((each, index) => (stand[index] = each === 'refused' && !erased.has(index) ? 'waiting' : each));
      if (type === 'EmailCancelled')
        stand.forEach((each, index) => (stand[index] = each === 'waiting' ? 'cancelled' : each));
      const waited = stand.includes('waiting');
      if (type === 'RecipientsErased')
        for (const index of data.recipients) {
          erased.add(index);
          if (stand[index] === 'waiting') stand[index] = 'cancelled';
        }
      if (type === 'RecipientsSuppressed') for (const index of data.recipients) stand[index] = 'suppressed';
      if (type === 'RecipientsSuppressed' || (type === 'RecipientsErased' && waited)) {
        const isNobody = stand.every((each) => each === 'suppressed' || each === 'cancelled');
        // One that is left to nobody because they are erased is cancelled next.
        if (!stand.includes('waiting') && !(isNobody && type === 'RecipientsErased')) {
          open = 0;
          isOut = stand.includes('accepted');
          if (isOut || stand.includes('complained')) count('sent', data.at);
          else if (isNobody && !reached.has('failed')) count('suppressed', data.at);
          else count(stand.includes('bounced') && !stand.includes('refused') ? 'bounced' : 'failed', data.at);
        }
      }
      if (type === 'EmailQueued' || type === 'EmailScheduled') {
        count('accepted', data.at);
        open = data.roles.length;
      }
      if ('outcomes' in data)
        for (const { recipient, result } of data.outcomes) if (result === 'accepted') got.set(recipient, 'sent');
      if (type === 'EmailBounceReported' || type === 'EmailComplained') {
        const [told, to] =
          type === 'EmailComplained'
            ? [data.recipients, 'complained']
            : [data.bounces.map((one) => one.recipient), 'bounced'];
        for (const index of told) {
          if (stand[index] === 'accepted') stand[index] = to;
          got.set(index, 'ended');
        }
        if (type === 'EmailComplained') count('complained', data.at);
        if (isOut && !stand.includes('accepted')) {
          isOut = false;
          if (!stand.includes('complained'))
            count(stand.includes('bounced') && !stand.includes('refused') ? 'bounced' : 'failed', data.at);
        }
      }
      if (type === 'EmailSent') {
        open = 0;
        isOut = stand.includes('accepted');
        count('sent', data.at);
      }
      if (type === 'EmailRetried') open = 1;
      if (type === 'EmailRetried' || type === 'EmailCancelled') isOut = false;
      if (type === 'EmailBounced' || type === 'EmailFailed') open = 0;
      if (type === 'EmailDelivered')
        for (const index of data.recipients) if (got.get(index) === 'sent') got.set(index, 'delivered');
      const places = [...got.values()];
      if (
        (type === 'EmailSent' ||
          type === 'EmailDelivered' ||
          type === 'RecipientsSuppressed' ||
          (type === 'RecipientsErased' && waited) ||
          (isOut && isReport(type))) &&
        open === 0 &&
        places.includes('delivered') &&
        !places.includes('sent')
      )
        count('delivered', data.at);
      const outcome = outcomes[type];
      if (outcome !== undefined) count(outcome, data.at);
    }
  }
  return counts;
};

/** Without the durations, in one order. */
const inOrder = (summaries: Summaries): string =>
  JSON.stringify(
    Object.entries(summaries)
      .map(
        ([place, row]) => [place, emailMilestones.map((name) => (row as Record<string, number>)[name] ?? 0)] as const,
      )
      .filter(([, row]) => row.some((count) => count > 0))
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );

void t.test(
  'whatever happens, in whatever batches: the summaries are those of the events, and those of a rebuild',
  async () => {
    const scene = fc.record({
      stories: fc.array(told, { minLength: 1, maxLength: 6 }),
      turns: fc.array(fc.nat(5), { minLength: 1, maxLength: 30 }),
      sizes: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 10 }),
      forgetful: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ stories, turns, sizes, forgetful }) => {
        const { append, recorded, eventLog } = openLogOfTest();
        const open = stories.map((one, index) => ({
          name: streamOf(index),
          team: TEAMS_DRAWN[one.team]!,
          events: eventsOf(one),
        }));
        for (let turn = 0; open.some(({ events }) => events.length > 0); turn += 1) {
          const waiting = open.filter(({ events }) => events.length > 0);
          const { name, events, team } = waiting[(turns[turn % turns.length] ?? 0) % waiting.length]!;
          await append(name, [events.shift()!], team);
        }
        const readModels = distantReadModels();
        await projectIn(readModels, projection, await recorded(), { sizes, forgetful });
        const found = inOrder(toldOf(await summariesIn(readModels)));
        const wanted = inOrder(recount(stories));
        if (found !== wanted) throw new Error(`found ${found}, and the events say ${wanted}`);
        const { difference } = await compareWithRebuild(projection, { eventLog, readModels });
        if (difference !== undefined) throw new Error(`a rebuild differs: ${JSON.stringify(difference)}`);
        await readModels.close();
      }),
      { numRuns: 50 },
    );
  },
);

void t.test('recipients count for their provider and for the domain of the sender, each on its way', async (t) => {
  const roles = ['to', 'cc', 'bcc'] as const;
  const domains = ['gmail.com', null, 'gmx.de'];
  const first: EmailEvent = {
    type: 'EmailQueued',
    data: { ...accepted, roles: [...roles], domains, senderDomain: 'shop.example' },
    sealed: content,
  };
  const events: readonly EmailEvent[] = [
    first,
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'accepted'], [1, 'accepted'], [2, 'deferred']),
    attempted(2, at(63)),
    failed('refused', 2, at(64), [2, 'refused']),
    retried(at(70), 1),
    attempted(3, at(71)),
    sent(3, at(72), [2, 'accepted']),
    { type: 'EmailDelivered', data: { at: at(73), recipients: [0] } },
    {
      type: 'EmailBounceReported',
      data: {
        at: at(next),
        bounces: [{ recipient: 2, bounceType: 'hard', bounceSubType: 'mailbox-unknown', enhancedCode: null }],
      },
      sealed: { replies: ['gone'] },
    },
    { type: 'EmailComplained', data: { at: at(next), feedbackType: 'abuse', recipients: [0] } },
  ];
  const { append, recorded, eventLog } = openLogOfTest();
  for (const event of events) await append(streamOf(1), [event]);
  await append(streamOf(2), [
    { type: 'EmailQueued', data: { ...accepted, roles: ['to'], domains: ['gmail.com'], test: true }, sealed: content },
  ]);
  const [readModels, single] = [openDocuments(t), openDocuments(t)];
  await projectIn(readModels, projection, await recorded());
  await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
  const domainsIn = async (documents: typeof readModels) =>
    (await documentsOf(documents, projection))[SUMMARIES]!.map((day) => (day as DaySummaryDocument).domains);
  const expected = [
    {
      'to:gmail.com': { accepted: 1, sent: 1, delivered: 1 },
      'from:shop.example': { accepted: 3, sent: 3, failed: 1, delivered: 1 },
      'to:gmx.de': { accepted: 1, failed: 1, sent: 1 },
    },
    {
      'to:gmx.de': { bounced: 1, returned: 1 },
      'from:shop.example': { bounced: 1, returned: 1, complained: 1 },
      'to:gmail.com': { complained: 1 },
    },
  ];
  t.same(await domainsIn(readModels), expected);
  t.same(await domainsIn(single), expected);
  await eventLog.destroyKey(streamOf(1) as Parameters<typeof eventLog.destroyKey>[0]);
  await rebuildProjection(projection, { eventLog, readModels });
  t.same(await domainsIn(readModels), expected, 'a rebuild without the key of the email counts the same');
});
