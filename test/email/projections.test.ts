/** Lists of emails with filters, the queue in numbers, the use of attachments. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { assertDefined, parseTeamId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { foldForSearch, isSearchable } from '../../src/domain/core/search-text.js';
import type { EmailContent, EmailEvent } from '../../src/domain/email/events.js';
import { recipientStatuses, type RecipientStatus } from '../../src/domain/email/status.js';
import { waitingSince } from '../../src/projections/bulk/batches.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { ATTACHMENT_USAGE } from '../../src/projections/email/attachment-usage.js';
import type { EmailFilter } from '../../src/projections/email/emails.js';
import { queueStats } from '../../src/projections/email/queue.js';
import { makeQueries } from '../../src/projections/queries.js';
import type { Queries } from '../../src/projections/query-types.js';
import {
  accepted,
  at,
  attempted,
  bounced,
  content,
  PERIODS,
  sent,
  T0,
  TEAM_ID,
  type Result,
  cancelled,
  deferred,
  DAY_MS,
} from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryKeys } from '../support/memory-ports.js';
import { openDocuments, openLogOfTest, projectIn, documentsOf } from '../support/projected.js';

// Filters and searches of the list of emails find the same emails as a look at each email, whichever index they use.

const team = assertDefined(parseTeamId(TEAM_ID), 'team id');
const OTHER = '22222222-2222-4222-8222-222222222222';
const idOf = (index: number): string => `0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`;

type Mail = Readonly<{
  subject?: string;
  recipients?: EmailContent['recipients'];
  tags?: readonly string[];
  metadata?: Readonly<Record<string, unknown>>;
  results?: readonly Result[];
  team?: string;
  from?: string;
  batch?: string | undefined;
  actor?: string;
}>;

const given = {
  subject: 'Hello',
  recipients: [{ email: 'ann@example.org' }] as EmailContent['recipients'],
  tags: [] as readonly string[],
  metadata: {} as Readonly<Record<string, unknown>>,
  results: [] as readonly Result[],
  team: TEAM_ID,
  from: 'shop@example.com',
  batch: undefined as string | undefined,
  actor: 'test',
};
const whole = (mail: Mail): typeof given => ({ ...given, ...mail });

const eventsOf = (mail: Mail, when: string): EmailEvent[] => {
  const { subject, recipients, tags, metadata, results, from, batch } = whole(mail);
  const data = {
    ...accepted,
    at: when,
    tags: [...tags],
    roles: recipients.map(() => 'to' as const),
    ...(batch === undefined ? {} : { batch: { id: batch, index: 0 } }),
  };
  const queued: EmailEvent = {
    type: 'EmailQueued',
    data,
    sealed: { ...content, from: { email: from }, subject, recipients, metadata: { ...metadata } },
  };
  if (results.length === 0) return [queued];
  const outcomes = results.map((result, recipient) => [recipient, result] as const);
  const end = results.every((result) => result === 'bounced')
    ? bounced(1, when, ...outcomes)
    : sent(1, when, ...outcomes);
  return [queued, attempted(1, when), end];
};

/** The queries over these mails, whose ids count from 1, the newest last. */
const listed = async (t: Test, mails: readonly Mail[]): Promise<Queries> => {
  const world = openLogOfTest();
  for (const [index, mail] of mails.entries())
    await world.append(`email-${idOf(index + 1)}`, eventsOf(mail, at(index)), whole(mail).team, whole(mail).actor);
  const readModels = openDocuments(t);
  await projectIn(readModels, emailsProjection(PERIODS), await world.recorded());
  return makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
};

const all = { page: 1, limit: 5_000 };
const found = async (queries: Queries, filter: EmailFilter): Promise<number[]> =>
  (await queries.listEmails(team, filter, all)).data.map(({ id }) => Number(id.slice(-12)));

void t.test('a search finds what people take for the same', async (t) => {
  const queries = await listed(t, [
    { subject: 'Rechnung für die Hauptstraße 5' },
    { subject: 'ΟΔΟΣ ΕΡΜΟΥ' },
    { subject: 'İSTANBUL’da kış' },
    { subject: '東京の天気' },
    { recipients: [{ email: 'info@xn--bcher-kva.example', name: 'Zoe\u0308 Müller' }] },
    { recipients: [{ email: 'x@example.org' }], subject: 'a😀b' },
  ]);
  for (const [search, expected] of [
    ['HAUPTSTRASSE', [1]],
    ['hauptstraße', [1]],
    ['οδος ερμου', [2]],
    ['istanbul', [3]],
    ['KIŞ', [3]],
    ['京', [4]],
    ['京都', []],
    ['天気', [4]],
    ['bücher', [5]],
    ['BU\u0308CHER.example', [5]],
    ['xn--bcher', [5]],
    ['zoë', [5]],
    ['@xn--bcher-kva.example ZOË', [5]],
    ['😀b', [6]],
    ['5', []],
    ['x@', [6]],
    ['example.org\nHello', []],
  ] as const)
    t.same(await found(queries, { search }), expected, search);
});

void t.test('a recipient, a tag and metadata are found whole', async (t) => {
  const queries = await listed(t, [
    {
      recipients: [{ email: 'ann@example.org', name: 'bob@example.org' }],
      tags: ['vip', 'order'],
      metadata: { id: 4711, shop: 'a' },
    },
    {
      recipients: [{ email: 'Ann@example.org' }, { email: 'joann@example.org' }],
      tags: ['VIP'],
      metadata: { id: '4711', shop: null },
    },
    {
      recipients: [{ email: 'bob@example.org' }],
      tags: ['vip2'],
      metadata: { id: true, 'a"b\nc': 'x"y', nested: { id: 1 }, long: 'x'.repeat(256) },
    },
    {
      recipients: [{ email: 'info@xn--bcher-kva.example' }],
      metadata: Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n])),
    },
    { team: OTHER, recipients: [{ email: 'ann@example.org' }], tags: ['vip'], metadata: { id: 4711 } },
  ]);
  const cases: readonly (readonly [EmailFilter, readonly number[]])[] = [
    [{ recipient: 'ann@example.org' }, [2, 1]],
    [{ recipient: 'bob@example.org' }, [3]],
    [{ recipient: 'info@xn--bcher-kva.example' }, [4]],
    [{ recipient: 'ann@example.or' }, []],
    [{ tag: 'vip' }, [1]],
    [{ tag: 'VIP' }, [2]],
    [{ metadataKey: 'id' }, [3, 2, 1]],
    [{ metadataKey: 'shop' }, [2, 1]],
    [{ metadata: { shop: 'null' } }, []],
    [{ metadata: { id: '4711' } }, [2, 1]],
    [{ metadata: { id: '4711', shop: 'a' } }, [1]],
    [{ metadata: { id: 'true' } }, [3]],
    [{ metadata: { 'a"b\nc': 'x"y' } }, [3]],
    [{ metadataKey: 'nested' }, [3]],
    [{ metadata: { nested: '[object Object]' } }, []],
    [{ metadataKey: 'long' }, [3]],
    [{ metadata: { long: 'x'.repeat(256) } }, []],
    [{ metadata: { k49: '49' } }, [4]],
    [{ metadataKey: 'k50' }, []],
    [{ tag: 'vip', recipient: 'ann@example.org', metadata: { shop: 'a' }, search: 'bob@', status: 'queued' }, [1]],
    [{ tag: 'vip', status: 'sent' }, []],
    [{ recipient: 'ann@example.org', startDate: at(1) }, [2]],
    [{ recipient: 'ann@example.org', endDate: at(0) }, [1]],
  ];
  for (const [filter, expected] of cases) {
    t.same(await found(queries, filter), expected, JSON.stringify(filter));
    t.equal(
      (await queries.listEmails(team, filter, { page: 1, limit: 1 })).meta.total,
      expected.length,
      JSON.stringify(filter),
    );
  }
});

void t.test(
  'a bulk send, who sent it and the domain of the sender are found whole, among several statuses',
  async (t) => {
    const [ONE, TWO] = [idOf(901), idOf(902)];
    const queries = await listed(t, [
      { batch: ONE, actor: 'apiKey:key_A', from: 'shop@shop.example' },
      { batch: ONE, actor: 'apiKey:key_A', from: 'shop@mail.shop.example', results: ['accepted'] },
      { batch: TWO, actor: 'user:1', from: 'shop@shop.example', results: ['bounced'] },
      { actor: 'apiKey:key_A', tags: [ONE, 'from:shop.example'], metadata: { batch: ONE } },
      { team: OTHER, batch: ONE, actor: 'apiKey:key_A', from: 'shop@shop.example' },
    ]);
    const cases: readonly (readonly [EmailFilter, readonly number[]])[] = [
      [{ batchId: ONE }, [2, 1]],
      [{ batchId: TWO }, [3]],
      [{ batchId: idOf(903) }, []],
      [{ createdBy: 'apiKey:key_A' }, [4, 2, 1]],
      [{ createdBy: 'apiKey:key_a' }, []],
      [{ createdBy: 'user:1' }, [3]],
      [{ senderDomain: 'shop.example' }, [3, 1]],
      [{ senderDomain: 'mail.shop.example' }, [2]],
      [{ senderDomain: 'example' }, []],
      [{ batchId: ONE, senderDomain: 'shop.example' }, [1]],
      [{ status: ['sent', 'bounced'] }, [3, 2]],
      [{ status: ['sent', 'bounced'], createdBy: 'apiKey:key_A' }, [2]],
      [{ status: ['queued', 'sent'], batchId: ONE, search: 'ann@' }, [2, 1]],
      [{ status: ['queued', 'sent'], recipientStatus: 'sent' }, [2]],
      [{ status: ['queued', 'sent'], recipientStatus: 'bounced' }, []],
      [{ status: [] }, []],
    ];
    for (const [filter, expected] of cases) {
      const what = JSON.stringify(filter);
      t.same(await found(queries, filter), expected, what);
      t.equal((await queries.listEmails(team, filter, { page: 1, limit: 1 })).meta.total, expected.length, what);
      const { counts, lowerBounds } = await queries.countEmails(team, filter);
      t.equal(
        Object.values(counts).reduce((sum, count) => sum + count, 0),
        expected.length,
        what,
      );
      t.same(lowerBounds, []);
    }
    const [last, , sentOne] = (await queries.listEmails(team, {}, all)).data;
    t.match(last, { batchId: null, tags: [ONE, 'from:shop.example'], failureReason: null });
    t.match(sentOne, { batchId: ONE, to: { email: 'ann@example.org', name: null } });
    t.match((await queries.listEmails(team, { status: 'bounced' }, all)).data, [{ failureReason: 'bounced' }]);
  },
);

void t.test('who did not get it is found, whatever became of the email', async (t) => {
  const two = [{ email: 'ann@example.org' }, { email: 'bob@example.org' }];
  const queries = await listed(t, [
    { recipients: two },
    { recipients: two, results: ['accepted', 'accepted'] },
    { recipients: two, results: ['accepted', 'bounced'] },
    { recipients: two, results: ['bounced', 'bounced'] },
    { recipients: two, results: ['accepted', 'refused'], tags: ['vip'] },
    { recipients: two, results: ['bounced', 'refused'] },
    { team: OTHER, results: ['bounced'] },
  ]);
  const cases: readonly (readonly [EmailFilter, readonly number[]])[] = [
    [{ recipientStatus: 'queued' }, [1]],
    [{ recipientStatus: 'sent' }, [5, 3, 2]],
    [{ recipientStatus: 'bounced' }, [6, 4, 3]],
    [{ recipientStatus: 'failed' }, [6, 5]],
    [{ recipientStatus: 'delivered' }, []],
    [{ recipientStatus: 'bounced', status: 'bounced' }, [4]],
    [{ recipientStatus: 'bounced', search: 'bob' }, [6, 4, 3]],
    [{ recipientStatus: 'failed', tag: 'vip' }, [5]],
    [{ recipientStatus: 'bounced', startDate: at(3) }, [6, 4]],
  ];
  for (const [filter, expected] of cases) {
    t.same(await found(queries, filter), expected, JSON.stringify(filter));
    t.equal((await queries.listEmails(team, filter, { page: 1, limit: 1 })).meta.total, expected.length);
  }
  let cursor: string | null = null;
  const walked: string[] = [];
  do {
    const page: Awaited<ReturnType<Queries['listEmails']>> = await queries.listEmails(
      team,
      { recipientStatus: 'bounced' },
      { page: 1, limit: 1, ...(cursor === null ? {} : { cursor }) },
    );
    walked.push(...page.data.map(({ id }) => id));
    cursor = page.meta.nextCursor;
  } while (cursor !== null);
  t.same(walked, [6, 4, 3].map(idOf));
});

/**
 * Few characters, so that many searches find something: of several scripts, of two forms, with what an index could take
 * for its own.
 */
const characters = [
  'a',
  'b',
  'A',
  'B',
  'e\u0301',
  'é',
  'ß',
  'S',
  's',
  'Σ',
  'ς',
  'İ',
  'i',
  '漢',
  '字',
  'カ',
  'ｶ',
  '가',
  '😀',
  ' ',
  '"',
  '*',
  '\\',
  '%',
  '_',
  ':',
  '-',
  '(',
  'NOT ',
];
const words = fc.string({ unit: fc.constantFrom(...characters), minLength: 0, maxLength: 8 });
const addresses = fc.constantFrom(
  'a@bcher.example',
  'ab@xn--bcher-kva.example',
  'b@example.org',
  'Ba@example.org',
  'ss@xn--r8jz45g.example',
);
const mails = fc.record({
  subject: words,
  recipients: fc.array(fc.record({ email: addresses, name: words }, { requiredKeys: ['email'] }), {
    minLength: 1,
    maxLength: 3,
  }),
  tags: fc.subarray(['x', 'y', 'X']),
  metadata: fc.dictionary(fc.constantFrom('k', 'l', '__proto__', 'k"'), fc.constantFrom('v', 1, true, null, 'w"'), {
    noNullPrototype: false,
  }),
  results: fc.constantFrom<readonly Result[]>([], ['accepted'], ['bounced'], ['refused', 'accepted']),
  team: fc.constantFrom(TEAM_ID, TEAM_ID, OTHER),
  from: fc.constantFrom('a@x.example', 'a@b.x.example'),
  batch: fc.constantFrom(undefined, idOf(901), idOf(902)),
  actor: fc.constantFrom('apiKey:a', 'apiKey:b'),
});

/** The domain in the form that it has not. */
const inUnicode = (email: string): string => email.replace('xn--bcher-kva', 'bücher').replace('xn--r8jz45g', '例え');

const statusesOf = ({ recipients, results }: typeof given): readonly RecipientStatus[] => {
  const named = {
    accepted: 'sent',
    bounced: 'bounced',
    refused: 'failed',
    blocked: 'failed',
    deferred: 'queued',
  } as const;
  return recipients.map((_, index) => (results[index] === undefined ? 'queued' : named[results[index]]));
};

const matches = (
  mail: Mail,
  {
    search,
    recipient,
    tag,
    batchId,
    createdBy,
    senderDomain,
    metadataKey,
    metadata = {},
    recipientStatus,
    status,
  }: EmailFilter,
): boolean => {
  const one = whole(mail);
  const recipients = one.recipients.flatMap((recipient) => recipient ?? []);
  const lines = [
    one.subject,
    ...recipients.map(({ email, name }) => (name === undefined ? email : `${email} ${name}`)),
    ...recipients.map(({ email }) => inUnicode(email)),
  ].map(foldForSearch);
  const wanted = search === undefined ? undefined : foldForSearch(search);
  const has = (key: string): boolean => Object.hasOwn(one.metadata, key);
  return (
    one.team === TEAM_ID &&
    (wanted === undefined || (isSearchable(wanted) && lines.some((line) => line.includes(wanted)))) &&
    (recipient === undefined || recipients.some(({ email }) => email.toLowerCase() === recipient.toLowerCase())) &&
    (tag === undefined || one.tags.includes(tag)) &&
    (batchId === undefined || one.batch === batchId) &&
    (createdBy === undefined || one.actor === createdBy) &&
    (senderDomain === undefined || one.from.endsWith(`@${senderDomain}`)) &&
    (metadataKey === undefined || has(metadataKey)) &&
    Object.entries(metadata).every(
      ([key, value]) => has(key) && one.metadata[key] !== null && String(one.metadata[key]) === value,
    ) &&
    (recipientStatus === undefined || statusesOf(one).includes(recipientStatus)) &&
    (status === undefined || (one.results.length === 0) === (status === 'queued'))
  );
};

void t.test('random mails, random filters: what is found is what a look at each mail finds', async (t) => {
  const sample = fc.sample(mails, { numRuns: 1_400, seed: 20_261_122 });
  const queries = await listed(t, sample);
  const filters: fc.Arbitrary<EmailFilter> = fc.record(
    {
      search: fc.oneof(
        words,
        fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 3 }),
        fc.constantFrom('bücher', '例', 'XN--', '@例え.ex'),
      ),
      recipient: addresses,
      tag: fc.constantFrom('x', 'y', 'X', 'z'),
      metadataKey: fc.constantFrom('k', 'k"', 'm', '__proto__'),
      metadata: fc.dictionary(fc.constantFrom('k', 'l', 'k"'), fc.constantFrom('v', '1', 'true', 'w"'), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      recipientStatus: fc.constantFrom(...recipientStatuses),
      status: fc.constantFrom('queued' as const),
      batchId: fc.constantFrom(idOf(901), idOf(902), idOf(903)),
      createdBy: fc.constantFrom('apiKey:a', 'apiKey:b'),
      senderDomain: fc.constantFrom('x.example', 'b.x.example'),
    },
    { requiredKeys: [] },
  );
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        filters,
        filters.map(({ search = 'ab' }) => ({ search })),
      ),
      async (filter) => {
        const expected = sample.flatMap((mail, index) => (matches(mail, filter) ? [index + 1] : [])).reverse();
        hits += expected.length === 0 ? 0 : 1;
        const what = JSON.stringify(filter);
        t.same(await found(queries, filter), expected, what);
        const page = await queries.listEmails(team, filter, { page: 2, limit: 3 });
        t.same(
          page.data.map(({ id }) => id),
          expected.slice(3, 6).map(idOf),
          what,
        );
        t.ok(
          page.meta.totalIsLowerBound ? page.meta.total <= expected.length : page.meta.total === expected.length,
          what,
        );
      },
    ),
    { numRuns: 400 },
  );
  t.ok(hits > 80, `${hits} filters found something`);
});

// The queue of a team: number of waiting emails, time of the oldest, and rate of sending, from the read models alone.

const projection = emailsProjection(PERIODS);
const streamOf = (n: number): string => `email-0192f0c1-2f6e-7c3a-9d1b-${String(n).padStart(12, '0')}`;
const T0_MS = Date.parse(T0);

type Priority = 'high' | 'normal' | 'low';
const one = { ...accepted, roles: ['to' as const] };
const queuedAt = (priority: Priority, when = T0): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...one, priority, at: when },
  sealed: content,
});
const scheduledFor = (priority: Priority, scheduledAt: string): EmailEvent => ({
  type: 'EmailScheduled',
  data: { ...one, priority, scheduledAt },
  sealed: content,
});
const nothing = {
  depth: 0,
  oldestQueuedAt: null,
  oldestAgeSeconds: null,
  ratePerMinute: 0,
  estimatedSeconds: 0,
  deferred: 0,
  held: 0,
  scheduled: 0,
};

void t.test('each priority by itself, and all together; another team counts for nothing', async (t) => {
  const { append, recorded } = openLogOfTest();
  const readModels = openDocuments(t);
  const stats = async (seconds: number, team = TEAM_ID) => {
    await projectIn(readModels, projection, await recorded());
    return queueStats(readModels, team, T0_MS + seconds * 1_000, waitingSince(readModels));
  };
  t.same(await stats(0), { asOf: T0, ...nothing, priorities: { high: nothing, normal: nothing, low: nothing } });
  let count = 0;
  const add = async (events: readonly EmailEvent[], team = TEAM_ID): Promise<void> =>
    append(streamOf((count += 1)), events, team);
  await add([queuedAt('high', at(2))]);
  await add([queuedAt('low', at(1))]);
  await add([queuedAt('low', at(0)), attempted(1, at(3))]);
  await add([queuedAt('low', at(5))]);
  await add([scheduledFor('normal', at(500))]);
  await add([queuedAt('normal'), attempted(1, at(1)), deferred(1, at(2), at(62), [0, 'deferred'])]);
  await add([queuedAt('normal', at(0))], OTHER);
  for (let n = 0; n < 10; n += 1) await add([queuedAt('low'), attempted(1, at(1)), sent(1, at(30), [0, 'accepted'])]);
  await add([queuedAt('high'), cancelled(at(30))]);
  const found = await stats(60);
  t.match(found, {
    depth: 4,
    deferred: 1,
    held: 0,
    scheduled: 1,
    oldestQueuedAt: at(1),
    oldestAgeSeconds: 59,
    ratePerMinute: 12,
  });
  t.equal(found.estimatedSeconds, 20, '4 at 12 a minute');
  t.match(found.priorities, {
    high: { depth: 1, oldestQueuedAt: at(2), ratePerMinute: 1, estimatedSeconds: 60 },
    normal: { depth: 0, oldestQueuedAt: null, ratePerMinute: 1, estimatedSeconds: 0, deferred: 1, scheduled: 1 },
    low: { depth: 3, oldestQueuedAt: at(1), ratePerMinute: 10, estimatedSeconds: 18 },
  });
  t.match(await stats(120), { ratePerMinute: 6, estimatedSeconds: 40 }, 'what has stopped becomes less');
  t.match(await stats(600), { ratePerMinute: 0, estimatedSeconds: null }, 'and is not known after five minutes');
  t.match(await stats(60, OTHER), { depth: 1, scheduled: 0, ratePerMinute: 0, estimatedSeconds: null });
});

void t.test('however many wait, a bounded number of documents is read', async (t) => {
  const { append, recorded } = openLogOfTest();
  const readModels = openDocuments(t);
  for (let n = 0; n < 300; n += 1) await append(streamOf(n), [queuedAt('low', at(300 - n))]);
  await projectIn(readModels, projection, await recorded());
  let read = 0;
  const counting = {
    get: readModels.get,
    find: async (...args: Parameters<typeof readModels.find>) => {
      const found = await readModels.find(...args);
      read += found.length;
      return found;
    },
  };
  t.match(await queueStats(counting, TEAM_ID, T0_MS + 600_000, waitingSince(counting)), {
    depth: 300,
    oldestQueuedAt: at(1),
  });
  t.ok(read <= 3, `${read} documents read`);
});

// The stored attachment bytes of each team: accepted emails add to them; deletion, archiving and age take them off.

const stream = (n: number): string => `email-0192f0c1-2f6e-7c3a-9d1b-00000000000${n}`;
const later = (days: number): string => new Date(Date.parse(T0) + days * DAY_MS).toISOString();

const withAttachments = (lasting: number, temporary: number, until = later(7)): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...accepted, attachmentBytes: { lasting, temporary, temporaryUntil: until } },
  sealed: content,
});
const without: EmailEvent = { type: 'EmailQueued', data: accepted, sealed: content };
const deleted: EmailEvent = { type: 'EmailDeleted', data: { at: later(1) } };
const archived: EmailEvent = { type: 'EmailArchived', data: { at: later(1) } };

const story = async (): Promise<ReturnType<typeof openLogOfTest>> => {
  const test = openLogOfTest();
  await test.append(stream(1), [withAttachments(1_000, 0)]);
  await test.append(stream(2), [withAttachments(20, 300)]);
  await test.append(stream(3), [withAttachments(4, 0)], OTHER);
  await test.append(stream(4), [withAttachments(0, 50, later(9))]);
  await test.append(stream(5), [without]);
  return test;
};

void t.test('a team has what its own emails keep, as long as they keep it', async (t) => {
  const { append, recorded } = await story();
  const readModels = openDocuments(t);
  const clock = fakeClock(Date.parse(T0));
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock,
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
  const stored = async (...teams: readonly string[]): Promise<readonly number[]> => {
    await projectIn(readModels, projection, await recorded());
    return Promise.all(
      teams.map(async (team) => (await queries.storedAttachmentBytes(assertDefined(parseTeamId(team), 'team'))).bytes),
    );
  };
  t.same(await stored(TEAM_ID, OTHER), [1_370, 4], 'one team’s use never counts against another');
  await clock.advance(7 * DAY_MS);
  t.same(await stored(TEAM_ID), [1_370], 'through their last day');
  await clock.advance(DAY_MS);
  t.same(await stored(TEAM_ID), [1_070], 'generated files go by themselves');
  await append(stream(1), [archived]);
  t.same(await stored(TEAM_ID, OTHER), [70, 4]);
  await append(stream(2), [deleted, archived]);
  t.same(await stored(TEAM_ID), [50], 'once, and what had gone by itself is not taken off again');
  await append(stream(4), [deleted]);
  await append(stream(3), [deleted], OTHER);
  t.same(await stored(TEAM_ID, OTHER), [0, 0]);
});

void t.test('an email that is given another time keeps its generated files for longer', async (t) => {
  const { append, recorded } = openLogOfTest();
  const [readModels, single] = [openDocuments(t), openDocuments(t)];
  const attachmentBytes = { lasting: 20, temporary: 300, temporaryUntil: later(9) };
  await append(stream(1), [
    { type: 'EmailScheduled', data: { ...accepted, attachmentBytes, scheduledAt: later(2) }, sealed: content },
  ]);
  await append(stream(2), [withAttachments(0, 50, later(9))]);
  await append(stream(1), [
    {
      type: 'EmailRescheduled',
      data: { at: later(1), scheduledAt: later(30), temporaryUntil: later(37) },
      sealed: { subject: 'S' },
    },
  ]);
  await append(stream(2), [{ type: 'EmailCancelled', data: { at: later(1) } }]);
  await projectIn(readModels, projection, await recorded());
  const days = (name: number): string => later(name).slice(0, 10);
  const usage = (await documentsOf(readModels, projection))[ATTACHMENT_USAGE];
  t.match(usage, [{ lasting: 20, days: { [days(9)]: 50, [days(37)]: 300 } }]);
  await append(stream(1), [{ type: 'EmailDeleted', data: { at: later(3) } }]);
  await projectIn(readModels, projection, await recorded());
  const after = await documentsOf(readModels, projection);
  t.match(after[ATTACHMENT_USAGE], [{ lasting: 0, days: { [days(9)]: 50, [days(37)]: undefined } }]);
  await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
  t.strictSame(await documentsOf(single, projection), after);
});

void t.test(
  'the documents are the same however the events are cut, and an email without attachments has none',
  async (t) => {
    const { append, recorded } = await story();
    await append(stream(2), [deleted]);
    const [whole, single] = [openDocuments(t), openDocuments(t)];
    await projectIn(whole, projection, await recorded());
    await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
    const found = await documentsOf(whole, projection);
    t.strictSame(await documentsOf(single, projection), found);
    t.match(found[ATTACHMENT_USAGE], [
      { id: TEAM_ID, lasting: 1_000, days: { [later(9).slice(0, 10)]: 50 } },
      { id: OTHER, lasting: 4, days: {} },
    ]);
    const plain = openLogOfTest();
    await plain.append(stream(1), [without]);
    const documents = openDocuments(t);
    await projectIn(documents, projection, await plain.recorded());
    t.same((await documentsOf(documents, projection))[ATTACHMENT_USAGE], []);
  },
);
