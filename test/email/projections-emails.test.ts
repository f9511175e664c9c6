/**
 * The list of emails and its counts: from events to documents, in whatever batches they come, as often as they are
 * replayed.
 */
import fc from 'fast-check';
import t from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { Document } from '../../src/domain/ports/read-models.js';
import {
  EMAIL_BACKLOGS,
  EMAIL_COUNTS,
  EMAILS,
  type EmailCountsDocument,
  type EmailDocument,
} from '../../src/projections/email/emails.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild, rebuildProjection } from '../../src/projections/core/rebuild.js';
import {
  accepted,
  ARCHIVE_MS,
  at,
  attempted,
  bounced,
  cancelled,
  content,
  DAY_MS,
  deferred,
  EMAIL_ID,
  failed,
  queued,
  queuedFor,
  released,
  rescheduled,
  retried,
  PERIODS,
  RETENTION_MS,
  scheduled,
  sent,
  T0,
  TEAM_ID,
  TEMPLATE_ID,
} from '../support/email-facts.js';
import { play, story } from '../support/email-stories.js';
import type { BacklogDocument } from '../../src/projections/email/backlogs.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { distantReadModels } from '../support/distant/ports-of-tests.js';

// Only what hangs is cut off.
t.setTimeout(900_000);

const projection = emailsProjection(PERIODS);
const stream = `email-${EMAIL_ID}`;
const OTHER_TEAM = '22222222-2222-4222-8222-222222222222';

/** The documents that these events of one email make, folded twice: from nothing, and again event by event. */
const documentsAfter = async (
  t: Parameters<typeof openDocuments>[0],
  ...events: readonly EmailEvent[]
): Promise<{
  email: EmailDocument | undefined;
  counts: EmailCountsDocument[];
  head: number;
}> => {
  const { append, recorded } = openLogOfTest();
  for (const event of events) await append(stream, [event]);
  const [whole, single] = [openDocuments(t), openDocuments(t)];
  await projectIn(whole, projection, await recorded());
  await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
  const found = await documentsOf(whole, projection);
  t.strictSame(await documentsOf(single, projection), found, 'event by event gives the same');
  return {
    email: found[EMAILS]![0] as EmailDocument | undefined,
    counts: found[EMAIL_COUNTS] as EmailCountsDocument[],
    head: (await recorded()).at(-1)!.position,
  };
};

void t.test('an accepted email: every field of its document', async (t) => {
  const { email, counts, head } = await documentsAfter(t, queued);
  t.strictSame(email, {
    id: EMAIL_ID,
    seq: head,
    position: head,
    team: TEAM_ID,
    owner: TEAM_ID,
    sender: 'test',
    kind: 'deliver',
    key: stream,
    dueAt: T0,
    senderDueAt: `test\n${T0}`,
    status: 'queued',
    templateId: TEMPLATE_ID,
    templateName: 'Order confirmation',
    priority: 'normal',
    createdAt: T0,
    subject: 'Order 17',
    to: 'ann@example.org',
    toName: 'Ann',
    tags: ['order'],
    mixed: 0,
    test: 0,
    text: 'order 17\nann@example.org ann\nbob@example.org\ncyd@example.org',
    terms: [
      'recipient:ann@example.org',
      'recipient:bob@example.org',
      'recipient:cyd@example.org',
      'tag:order',
      'from:example.com',
      'by:test',
      'key:"customer"',
      'value:["customer","4"]',
    ],
    recipientTexts: [
      [1, 15],
      [1, 15],
      [1, 15],
    ],
    summary: {
      status: 'queued',
      recipientStatuses: ['queued', 'queued', 'queued'],
      scheduledAt: null,
      nextAttemptAt: null,
      dialogueDeadlineAt: null,
      createdAt: T0,
      updatedAt: T0,
      queuedAt: T0,
      processingAt: null,
      sentAt: null,
      deliveredAt: null,
      archivedAt: null,
      deletedAt: null,
    },
  });
  t.strictSame(counts, [
    {
      id: `${TEAM_ID}:2030-01-01`,
      seq: head,
      position: head,
      team: TEAM_ID,
      day: '2030-01-01',
      first: head,
      last: head,
      cells: { [`queued|${TEMPLATE_ID}`]: 1 },
      emails: 1,
      documents: 0,
    },
  ]);
});

void t.test('an email that was given up before it came to be leaves nothing in the read models', async (t) => {
  const world = openLogOfTest();
  await world.append(stream, [{ type: 'EmailDeleted', data: { at: at(1) } }]);
  await world.append(stream, [{ type: 'EmailArchived', data: { at: at(2) } }]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await world.recorded());
  t.same(Object.values(await documentsOf(readModels, projection)).flat(), []);
});

void t.test('what is still to be done, and when, after each event', async (t) => {
  const one = queuedFor('to');
  const month = new Date(Date.parse(T0) + RETENTION_MS).toISOString();
  const cases: readonly (readonly [readonly EmailEvent[], string, string | undefined, string | undefined])[] = [
    [[scheduled(at(60))], 'scheduled', 'scheduled', at(60)],
    [[scheduled(at(60)), released(at(61))], 'queued', 'deliver', at(61)],
    [[scheduled(at(60)), rescheduled(at(2), at(90))], 'scheduled', 'scheduled', at(90)],
    [[scheduled(at(60)), cancelled(at(2))], 'cancelled', 'archive', at(2 + RETENTION_MS / 1_000)],
    [[one, cancelled(at(2))], 'cancelled', 'archive', at(2 + RETENTION_MS / 1_000)],
    [[one, attempted(1, at(1), at(600))], 'processing', 'processing', at(600)],
    [[one, attempted(1, at(1)), deferred(1, at(2), at(62), [0, 'deferred'])], 'queued', 'deferred', at(62)],
    [[one, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])], 'sent', 'archive', month],
    [
      [
        one,
        attempted(1, at(1)),
        sent(1, at(2), [0, 'accepted']),
        { type: 'EmailDelivered', data: { at: at(3), recipients: [0] } },
      ],
      'delivered',
      'archive',
      month,
    ],
    [[one, attempted(1, at(1)), bounced(1, at(2), [0, 'bounced'])], 'bounced', 'archive', month],
    [[one, attempted(1, at(1)), failed('refused', 1, at(2), [0, 'refused'])], 'failed', 'archive', month],
    [
      [one, attempted(1, at(1)), failed('refused', 1, at(2), [0, 'refused']), retried(at(9), 1)],
      'queued',
      'deliver',
      at(9),
    ],
    [
      [one, attempted(1, at(1)), sent(1, at(2), [0, 'accepted']), { type: 'EmailArchived', data: { at: month } }],
      'sent',
      'removal',
      new Date(Date.parse(month) + ARCHIVE_MS).toISOString(),
    ],
  ];
  for (const [events, status, phase, dueAt] of cases) {
    const { email, counts } = await documentsAfter(t, ...events);
    t.same([email!.kind, email!.dueAt], [phase, dueAt]);
    t.equal(email!.status, status);
    t.same(
      counts.map(({ cells }) => cells),
      [{ [`${status}|${TEMPLATE_ID}`]: 1 }],
    );
  }
});

void t.test('another time brings its subject into the list and the search', async (t) => {
  const { email } = await documentsAfter(t, scheduled(at(60)), rescheduled(at(2), at(90), 'Der Straße 18'));
  t.match(email, { subject: 'Der Straße 18', summary: { scheduledAt: at(90), updatedAt: at(2) } });
  t.match(email!.text, /^der strasse 18\nann@example.org ann\n/);
});

void t.test(
  'deleted: in no list and no count, yet known until it is archived; archived: nothing personal',
  async (t) => {
    const gone: EmailEvent[] = [
      queued,
      { type: 'EmailCancelled', data: { at: at(5) } },
      { type: 'EmailDeleted', data: { at: at(5) } },
    ];
    const { email, counts } = await documentsAfter(t, ...gone);
    t.match(email, { kind: 'archive', key: stream, owner: TEAM_ID, dueAt: at(5) });
    t.same([email!.team, email!.owner, email!.subject, email!.text], [undefined, TEAM_ID, undefined, undefined]);
    t.same(
      counts.map(({ cells }) => cells),
      [{}],
    );
    const after = await documentsAfter(t, ...gone, { type: 'EmailArchived', data: { at: at(6) } });
    t.match(after.email, { gone: 1, team: undefined, templateName: '', kind: undefined, dueAt: undefined });
    const archived = await documentsAfter(
      t,
      queued,
      attempted(1, at(1)),
      sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'accepted']),
      {
        type: 'EmailArchived',
        data: { at: at(6) },
      },
    );
    t.match(archived.email, {
      team: TEAM_ID,
      status: 'sent',
      subject: undefined,
      text: undefined,
      templateName: 'Order confirmation',
    });
    t.notOk(/ann|Order 17|example\.org/i.test(JSON.stringify(archived.email)));
  },
);

void t.test(
  'the record of an archived email goes whole: no list, no count of now; what was used and what the summaries say stays',
  async (t) => {
    const facts = [queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'accepted'])];
    const archived: EmailEvent = { type: 'EmailArchived', data: { at: at(6) } };
    const removed: EmailEvent = { type: 'EmailRemoved', data: { at: at(6 + ARCHIVE_MS / 1_000) } };
    const before = await documentsAfter(t, ...facts, archived);
    t.match(before.email, {
      kind: 'removal',
      key: stream,
      team: TEAM_ID,
      dueAt: at(6 + ARCHIVE_MS / 1_000),
      senderDueAt: undefined,
    });
    const { email, counts } = await documentsAfter(t, ...facts, archived, removed);
    t.match(email, { gone: 1, team: undefined, templateName: '', kind: undefined, dueAt: undefined });
    t.same([counts[0]!.cells, counts[0]!.emails], [{}, before.counts[0]!.emails]);
    t.equal(counts[0]!.emails, 1);
  },
);

const TEMPLATES_DRAWN = [TEMPLATE_ID, '0198f000-0000-7000-8000-00000000000d'];
const told = fc.record({ story, template: fc.nat(1), team: fc.nat(1), day: fc.nat(2) });
type Told = typeof told extends fc.Arbitrary<infer Value> ? Value : never;

/** Several emails, event by event in turn, as a log holds them. */
const logOf = async (stories: readonly Told[], turns: readonly number[]) => {
  const world = openLogOfTest();
  const open = stories.map(({ story: which, template, team, day }, index) => ({
    stream: `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    team: [TEAM_ID, OTHER_TEAM][team]!,
    events: play(which).map((event) => {
      if (event.type !== 'EmailQueued' && event.type !== 'EmailScheduled') return event;
      const when = new Date(Date.parse(accepted.at) + day * DAY_MS).toISOString();
      return { ...event, data: { ...event.data, at: when, templateId: TEMPLATES_DRAWN[template]! } } as EmailEvent;
    }),
  }));
  for (let turn = 0; open.some(({ events }) => events.length > 0); turn += 1) {
    const waiting = open.filter(({ events }) => events.length > 0);
    const { stream: name, events, team } = waiting[(turns[turn % turns.length] ?? 0) % waiting.length]!;
    await world.append(name, [events.shift()!], team);
  }
  return world;
};

/** The expected counts, from the documents alone. */
const recount = (emails: readonly Document[]): Record<string, Record<string, number>> => {
  const days: Record<string, Record<string, number>> = {};
  for (const { team, owner, createdAt, status, templateId, gone } of emails as EmailDocument[]) {
    if (gone === 1) continue;
    const cells = (days[`${owner}:${createdAt.slice(0, 10)}`] ??= {});
    if (team !== undefined) cells[`${status}|${templateId}`] = (cells[`${status}|${templateId}`] ?? 0) + 1;
  }
  return days;
};

/** The expected open emails of each team, from the documents alone. */
const openAndWaiting = (emails: readonly Document[]): string => {
  const teams: Record<string, { open: number; waiting: number; ready: number; held: number }> = {};
  for (const { owner, status, summary } of emails as EmailDocument[]) {
    const team = (teams[owner] ??= { open: 0, waiting: 0, ready: 0, held: 0 });
    if (status === 'queued' || status === 'processing') team.waiting += 1;
    if (status === 'queued' || status === 'processing' || status === 'scheduled') team.open += 1;
    if (
      status === 'processing' ||
      (status === 'queued' && summary.nextAttemptAt === null && summary.heldUntil === undefined)
    )
      team.ready += 1;
    if (status === 'queued' && summary.heldUntil !== undefined) team.held += 1;
  }
  return JSON.stringify(
    Object.entries(teams)
      .filter(([, { open }]) => open > 0)
      .sort(),
  );
};

/** Asserts that the sums of each backlog over its priorities equal its totals, and its emails. */
const assertSums = (backlogs: readonly Document[], emails: readonly Document[]): void => {
  for (const backlog of backlogs as readonly BacklogDocument[]) {
    const of = Object.entries(backlog.priorities);
    const sum = (...fields: readonly ('scheduled' | 'ready' | 'deferred' | 'held' | 'done')[]): number =>
      of.reduce((all, [, counts]) => fields.reduce((part, field) => part + counts[field], all), 0);
    const sums = [
      sum('scheduled', 'ready', 'deferred', 'held'),
      sum('ready', 'deferred', 'held'),
      sum('ready'),
      sum('held'),
      sum('done'),
    ];
    const { team, open, waiting, ready, held, done } = backlog;
    if (JSON.stringify(sums) !== JSON.stringify([open, waiting, ready, held, done]))
      throw new Error(`the sums of ${team} are ${String(sums)}`);
    const scheduledOf = (emails as readonly EmailDocument[]).filter(
      ({ owner, status, summary }) => owner === team && status === 'scheduled' && summary.deletedAt === null,
    );
    if (scheduledOf.length !== sum('scheduled')) throw new Error(`${scheduledOf.length} of ${team} are scheduled`);
    for (const [priority, { minutes }] of of)
      if (Object.keys(minutes).length > 6)
        throw new Error(`${priority} of ${team} has ${Object.keys(minutes).length} minutes`);
  }
};

const toldOpenAndWaiting = (backlogs: readonly Document[]): string =>
  JSON.stringify(
    (backlogs as readonly BacklogDocument[])
      .filter(({ open }) => open > 0)
      .map(({ team, open, waiting, ready, held }) => [team, { open, waiting, ready, held }])
      .sort(),
  );

void t.test(
  'whatever happens, in whatever batches: the same documents, and the counts are those of the documents',
  async () => {
    const scene = fc.record({
      stories: fc.array(told, { minLength: 1, maxLength: 6 }),
      turns: fc.array(fc.nat(5), { minLength: 1, maxLength: 30 }),
      sizes: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 10 }),
      forgetful: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ stories, turns, sizes, forgetful }) => {
        const { recorded, eventLog } = await logOf(stories, turns);
        const events = await recorded();
        // In memory: what is tested are folds, and they are the same on every engine.
        const readModels = distantReadModels();
        await projectIn(readModels, projection, events, { sizes, forgetful });
        const found = await documentsOf(readModels, projection);
        assertSums(found[EMAIL_BACKLOGS]!, found[EMAILS]!);
        for (const { id, cells } of found[EMAIL_COUNTS] as EmailCountsDocument[]) {
          if (
            JSON.stringify(Object.entries(cells).sort()) !==
            JSON.stringify(Object.entries(recount(found[EMAILS]!)[id] ?? {}).sort())
          )
            throw new Error(`the counts of ${id} are not those of its emails`);
        }
        if (toldOpenAndWaiting(found[EMAIL_BACKLOGS]!) !== openAndWaiting(found[EMAILS]!))
          throw new Error('the backlogs are not those of the emails');
        const compared = await compareWithRebuild(projection, { eventLog, readModels });
        if (compared.difference !== undefined)
          throw new Error(`a rebuild differs: ${JSON.stringify(compared.difference)}`);
        await rebuildProjection(projection, { eventLog, readModels });
        if (JSON.stringify(await documentsOf(readModels, projection)) !== JSON.stringify(found))
          throw new Error('the rebuilt documents are others');
        await readModels.close();
      }),
      { numRuns: 100 },
    );
  },
);

void t.test('a write that was torn anywhere and is made again gives the same', async (t) => {
  const { append, recorded } = openLogOfTest();
  const other = 'email-0198f000-0000-7000-8000-00000000000f';
  await append(stream, [queuedFor('to'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
  await append(other, [
    queued,
    { type: 'EmailCancelled', data: { at: at(5) } },
    { type: 'EmailDeleted', data: { at: at(5) } },
  ]);
  await append(other, [{ type: 'EmailArchived', data: { at: at(6) } }]);
  const events = await recorded();
  const whole = openDocuments(t);
  await projectIn(whole, projection, events);
  const expected = await documentsOf(whole, projection);
  for (let count = 0, all = 1; count <= all; count += 1) {
    const readModels = openDocuments(t);
    all = await tearWrite(readModels, projection, events, count);
    await projectIn(readModels, projection, events, { sizes: [3], forgetful: true });
    t.strictSame(await documentsOf(readModels, projection), expected, `${count} of ${all}`);
  }
});

void t.test('documents of a write that was torn lie ahead of the checkpoint, and are no difference', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  const other = 'email-0198f000-0000-7000-8000-00000000000f';
  await append(stream, [queuedFor('to'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
  await append(other, [
    queued,
    { type: 'EmailCancelled', data: { at: at(5) } },
    { type: 'EmailDeleted', data: { at: at(5) } },
  ]);
  const events = await recorded();
  for (let count = 0, all = 1; count <= all; count += 1) {
    const readModels = openDocuments(t);
    all = await tearWrite(readModels, projection, events, count);
    t.match(
      await compareWithRebuild(projection, { eventLog, readModels }),
      { difference: undefined },
      `${count} of ${all}`,
    );
  }
});

void t.test(
  'a document that was changed behind the back of the projection is found by comparing with a rebuild',
  async (t) => {
    const { append, recorded, eventLog } = openLogOfTest();
    await append(stream, [queued]);
    await append('email-0198f000-0000-7000-8000-00000000000f', [queuedFor('to')]);
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, await recorded());
    const head = await eventLog.head();
    t.match(await compareWithRebuild(projection, { eventLog, readModels }), {
      isThere: true,
      checkpoint: head,
      head,
      documents: projection.collections.map(({ name }) => ({ collection: name })),
      difference: undefined,
      missing: undefined,
    });
    const store = await readModels.projection(projection.name, projection.collections);
    const email = (await store.getMany(EMAILS, [EMAIL_ID])).get(EMAIL_ID)!;
    await store.write(
      [{ collection: EMAILS, put: [{ ...email, position: head + 1, subject: 'Order 18' }], remove: [] }],
      await store.checkpoint(),
      head + 1,
    );
    t.match((await compareWithRebuild(projection, { eventLog, readModels })).difference, {
      collection: EMAILS,
      id: EMAIL_ID,
      live: { subject: 'Order 18' },
      rebuilt: { subject: 'Order 17' },
    });
    await store.write(
      [{ collection: EMAILS, put: [], remove: [{ id: EMAIL_ID, position: head + 2 }] }],
      await store.checkpoint(),
      head + 2,
    );
    t.match((await compareWithRebuild(projection, { eventLog, readModels })).difference, {
      id: EMAIL_ID,
      live: undefined,
      rebuilt: { subject: 'Order 17' },
    });
  },
);

void t.test('what a running service changes and removes while it is compared is no difference', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  const other = 'email-0198f000-0000-7000-8000-00000000000f';
  await append(stream, [queued]);
  await append(other, [queuedFor('to')]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await recorded());
  const before = await eventLog.head();
  // The service goes on once the comparing one has read the log and begins to look at the documents.
  const goingOn = {
    ...readModels,
    inspect: async (...given: Parameters<typeof readModels.inspect>) => {
      const inspection = (await readModels.inspect(...given))!;
      let isLive = true;
      return {
        ...inspection,
        scan: async function* (collection: string, side: 'live' | 'rebuilt') {
          if (isLive) {
            isLive = false;
            await append(stream, [attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
            await append(other, [
              { type: 'EmailCancelled', data: { at: at(5) } },
              { type: 'EmailDeleted', data: { at: at(5) } },
            ]);
            await append(other, [{ type: 'EmailArchived', data: { at: at(6) } }]);
            await projectIn(
              readModels,
              projection,
              (await recorded()).filter(({ position }) => position > before),
            );
          }
          yield* inspection.scan(collection, side);
        },
      };
    },
  };
  t.match(await compareWithRebuild(projection, { eventLog, readModels: goingOn }), {
    checkpoint: before,
    difference: undefined,
    lookupFault: undefined,
  });
  t.ok((await eventLog.head()) > before);
});

void t.test(
  'what a running service changes at each look is no difference, and what is wrong is one all the same',
  async (t) => {
    const { append, recorded, eventLog } = openLogOfTest();
    await append(stream, [queued]);
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, await recorded());
    let mails = 0;
    const goesOn = async (): Promise<void> => {
      const before = await eventLog.head();
      mails += 1;
      await append(`email-0198f000-0000-7000-8000-0000000001${String(mails).padStart(2, '0')}`, [queuedFor('to')]);
      await projectIn(
        readModels,
        projection,
        (await recorded()).filter(({ position }) => position > before),
      );
    };
    const busy = (seen: (document: Document) => Document) => ({
      ...readModels,
      inspect: async (...given: Parameters<typeof readModels.inspect>) => {
        const inspection = (await readModels.inspect(...given))!;
        return {
          ...inspection,
          live: {
            ...inspection.live,
            getMany: async (collection: string, ids: readonly string[]) => {
              await goesOn();
              return new Map(
                [...(await inspection.live.getMany(collection, ids))].map(([id, document]) => [id, seen(document)]),
              );
            },
          },
          scan: async function* (collection: string, side: 'live' | 'rebuilt') {
            if (side === 'live') await goesOn();
            yield* inspection.scan(collection, side);
          },
        };
      },
    });
    const compare = (seen: (document: Document) => Document) =>
      compareWithRebuild(projection, { eventLog, readModels: busy(seen) });
    t.equal((await compare((document) => document)).difference, undefined);
    t.ok(mails > 3, `it looked ${mails} times`);
    t.not((await compare((document) => ({ ...document, wrong: true }))).difference, undefined);
  },
);

void t.test('a checkpoint is held against where the log ends after it was read', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  await append(stream, [queued]);
  const readModels = openDocuments(t);
  const begun = await eventLog.head();
  // The service goes on before the checkpoint is read.
  const goingOn = {
    ...readModels,
    inspect: async (...given: Parameters<typeof readModels.inspect>) => {
      await append(stream, [attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])]);
      await projectIn(readModels, projection, await recorded());
      return readModels.inspect(...given);
    },
  };
  const { checkpoint, head, difference } = await compareWithRebuild(projection, { eventLog, readModels: goingOn });
  t.ok(checkpoint > begun);
  t.ok(checkpoint <= head, 'no checkpoint of a running service lies beyond the log');
  t.equal(difference, undefined);
});

/** The number of events that the readers of a log were given. */
const countingReads = (eventLog: ReturnType<typeof openLogOfTest>['eventLog']) => {
  let events = 0;
  const readAll: typeof eventLog.readAll = async function* (...given) {
    for await (const batch of eventLog.readAll(...given)) {
      events += batch.events.length;
      yield batch;
    }
  };
  return { eventLog: { ...eventLog, readAll }, events: () => events };
};

void t.test(
  'a read model that has nothing of the log, or has lost all, is a difference, found by reading the log a few times',
  async (t) => {
    const { append, recorded, eventLog } = openLogOfTest();
    const mails = 40;
    for (let mail = 0; mail < mails; mail += 1)
      await append(`email-0198f000-0000-7000-8000-0000000001${String(mail).padStart(2, '0')}`, [
        queuedFor('to'),
        attempted(1, at(1)),
        sent(1, at(2), [0, 'accepted']),
      ]);
    const events = await recorded();
    const readModels = openDocuments(t);
    const store = await readModels.projection(projection.name, projection.collections);
    const first = countingReads(eventLog);
    t.match(await compareWithRebuild(projection, { eventLog: first.eventLog, readModels }), {
      checkpoint: 0,
      difference: undefined,
      missing: { streams: mails, id: '0198f000-0000-7000-8000-000000000100', isTail: false },
    });
    t.ok(first.events() <= 3 * events.length, `${first.events()} of ${events.length} events`);

    await projectIn(readModels, projection, events);
    const { position } = await store.checkpoint();
    const emails = (await documentsOf(readModels, projection))[EMAILS]!;
    // Behind the back of the projection: the documents are gone, and the checkpoint is of an earlier time.
    await store.write(
      [{ collection: EMAILS, put: [], remove: emails.map(({ id }) => ({ id, position: position + 1 })) }],
      { ...(await store.checkpoint()) },
      position + 1,
    );
    const ahead = countingReads(eventLog);
    t.match((await compareWithRebuild(projection, { eventLog: ahead.eventLog, readModels })).difference, {
      collection: EMAILS,
      live: undefined,
    });
    t.ok(ahead.events() <= 3 * events.length, `${ahead.events()} of ${events.length} events`);

    const early = {
      inspect: async (...given: Parameters<typeof readModels.inspect>) => {
        const inspection = (await readModels.inspect(...given))!;
        return {
          ...inspection,
          live: { ...inspection.live, checkpoint: async () => ({ position: 0, generation: 1 }) },
        };
      },
    };
    await projectIn(readModels, projection, events);
    const back = countingReads(eventLog);
    t.ok((await compareWithRebuild(projection, { eventLog: back.eventLog, readModels: early })).missing);
    t.ok(back.events() <= 4 * events.length, `${back.events()} of ${events.length} events`);
  },
);

void t.test('what a stop has left unfolded is told, and is no difference', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  await append(stream, [queued]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await recorded());
  await append('email-0198f000-0000-7000-8000-00000000000f', [queuedFor('to')]);
  t.match(await compareWithRebuild(projection, { eventLog, readModels }), {
    difference: undefined,
    missing: { streams: 1, isTail: true },
  });
});

void t.test('a service that catches up while it is compared is not behind', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  await append(stream, [queued]);
  const readModels = openDocuments(t);
  await readModels.projection(projection.name, projection.collections);
  const untilCaughtUp = async (): Promise<void> => projectIn(readModels, projection, await recorded());
  t.equal((await compareWithRebuild(projection, { eventLog, readModels }, { untilCaughtUp })).missing, undefined);
});

void t.test('a rebuild after the keys are destroyed knows nothing personal, and the counts are the same', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  await append(stream, [queued]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await recorded());
  const before = await documentsOf(readModels, projection);
  await eventLog.destroyKey(stream as Parameters<typeof eventLog.destroyKey>[0]);
  const progress: number[] = [];
  t.equal(
    await rebuildProjection(
      projection,
      { eventLog, readModels },
      { onProgress: (position) => progress.push(position) },
    ),
    1,
  );
  const after = await documentsOf(readModels, projection);
  t.match(after[EMAILS], [{ subject: undefined, text: undefined, status: 'queued' }]);
  t.strictSame(after[EMAIL_COUNTS], before[EMAIL_COUNTS]);
  t.same(progress, [await eventLog.head()]);
});

void t.test('erased recipients are found no more, and a rebuild without their keys gives the same', async (t) => {
  const erased: EmailEvent = { type: 'RecipientsErased', data: { at: at(5), recipients: [1, 2], priority: 'normal' } };
  const recipients = [
    { email: 'Ann@bücher.example', name: 'Ann' },
    { email: 'bob@xn--bcher-kva.example', name: 'Bob\nBobson ﬁ' },
    { email: 'bob@XN--BCHER-KVA.example' },
    { email: 'dan@example.org' },
    { email: 'BOB@xn--bcher-kva.example' },
  ];
  const roles = recipients.map(() => 'to' as const);
  const first = { ...queued, data: { ...accepted, roles }, sealed: { ...content, recipients } } as EmailEvent;
  for (const later of [[], [attempted(1, at(6))], [{ type: 'EmailCancelled', data: { at: at(6) } } as EmailEvent]]) {
    const { append, recorded, eventLog } = openLogOfTest();
    await append(stream, [first, attempted(1, at(1)), deferred(1, at(2), at(900), [0, 'accepted'], [3, 'deferred'])]);
    await append(stream, [erased, ...later]);
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, await recorded(), { sizes: [2] });
    const before = await documentsOf(readModels, projection);
    const [email] = before[EMAILS] as EmailDocument[];
    t.equal(
      email!.text,
      'order 17\nann@bücher.example ann\nann@xn--bcher-kva.example\ndan@example.org\nbob@xn--bcher-kva.example\nbob@bücher.example',
    );
    t.same(email!.terms?.slice(0, 4), [
      'recipient:ann@bücher.example',
      'recipient:dan@example.org',
      'recipient:bob@xn--bcher-kva.example',
      'tag:order',
    ]);
    await eventLog.destroyRecipientKeys(stream as Parameters<typeof eventLog.destroyKey>[0], [1, 2]);
    const { difference } = await compareWithRebuild(projection, { eventLog, readModels });
    t.equal(difference, undefined);
    await rebuildProjection(projection, { eventLog, readModels });
    t.strictSame(await documentsOf(readModels, projection), before);
  }
});

void t.test('a key of a recipient that is lost leaves the rest of the document', async (t) => {
  const { append, recorded, eventLog } = openLogOfTest();
  await append(stream, [queued]);
  await eventLog.destroyRecipientKeys(stream as Parameters<typeof eventLog.destroyKey>[0], [0, 1, 2]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await recorded());
  const { [EMAILS]: found } = await documentsOf(readModels, projection);
  t.match(found, [
    {
      text: 'order 17',
      terms: ['tag:order', 'from:example.com', 'by:test', 'key:"customer"', 'value:["customer","4"]'],
    },
  ]);
  t.notOk('to' in found![0]!);
});

void t.test(
  'the list names the first recipient until it is erased, and why an email failed until it is retried',
  async (t) => {
    const { append, recorded, eventLog } = openLogOfTest();
    const readModels = openDocuments(t);
    const shown = async () => {
      await projectIn(readModels, projection, await recorded());
      const {
        to = null,
        toName = null,
        reason = null,
        attachments = 0,
      } = (await documentsOf(readModels, projection))[EMAILS]![0] as EmailDocument;
      return { to, toName, reason, attachments };
    };
    const data = { ...accepted, attachmentCount: 2 };
    await append(stream, [{ type: 'EmailQueued', data, sealed: content }, attempted(1, at(1))]);
    t.same(await shown(), { to: 'ann@example.org', toName: 'Ann', reason: null, attachments: 2 });
    await append(stream, [failed('refused', 1, at(2), [0, 'refused'], [1, 'refused'], [2, 'refused'])]);
    t.match(await shown(), { reason: 'refused' });
    await append(stream, [retried(at(3), 1)]);
    t.match(await shown(), { to: 'ann@example.org', reason: null });
    await append(stream, [{ type: 'RecipientsErased', data: { at: at(4), recipients: [0], priority: 'normal' } }]);
    const erased = await shown();
    t.same(erased, { to: null, toName: null, reason: null, attachments: 2 });
    await eventLog.destroyRecipientKeys(stream as Parameters<typeof eventLog.destroyKey>[0], [0]);
    t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined);
    await append(stream, [attempted(2, at(5)), bounced(2, at(6), [1, 'bounced'], [2, 'bounced'])]);
    await append(stream, [{ type: 'EmailArchived', data: { at: at(7) } }]);
    t.same(await shown(), { to: null, toName: null, reason: 'bounced', attachments: 2 });
  },
);
