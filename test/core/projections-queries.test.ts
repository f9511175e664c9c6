/**
 * The queries behind the lists: totals from counts with cut days, every filter, pages and cursors, and no team sees
 * another's.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { ApprovalStatus } from '../../src/domain/approvals/decider.js';
import type { ApprovalEvent } from '../../src/domain/approvals/events.js';
import { emailStatuses, type EmailStatus } from '../../src/domain/email/status.js';
import { assertDefined, parseTeamId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { ApiKeyEvent } from '../../src/domain/keys/events.js';
import type { AttachmentDraft, EmailDraft, TemplateEvent } from '../../src/domain/templates/events.js';
import type { Queries } from '../../src/projections/query-types.js';
import type { EmailFilter } from '../../src/projections/email/emails.js';
import type { Paging } from '../../src/projections/core/pages.js';
import { keysWithImpliedDelete } from '../../src/projections/keys/api-keys.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeQueries } from '../../src/projections/queries.js';
import { accepted, at, attempted, content, sent, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { refusedWith } from '../support/given.js';
import { openDocuments, openLogOfTest, projectIn, type LogOfTest } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const team = assertDefined(parseTeamId(TEAM_ID), 'team id');
const OTHER = '22222222-2222-4222-8222-222222222222';
const other = assertDefined(parseTeamId(OTHER), 'team id');
const [WELCOME, ORDER] = ['0198f000-0000-7000-8000-00000000000d', '0198f000-0000-7000-8000-00000000000e'];

type Row = Readonly<{
  at: string;
  templateId: string;
  status: EmailStatus;
  subject: string;
  email: string;
  team: string;
}>;
const row = (more: Partial<Row> & Pick<Row, 'at'>): Row => ({
  templateId: WELCOME,
  status: 'queued',
  subject: 'Hello',
  email: 'ann@example.org',
  team: TEAM_ID,
  ...more,
});
const idOf = (index: number): string => `0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`;

const eventsOf = ({ at: when, templateId, status, subject, email }: Row): EmailEvent[] => {
  const data = { ...accepted, at: when, templateId, roles: ['to' as const] };
  const sealed = { ...content, subject, recipients: [{ email, name: 'Zoë Ångström' }] };
  const queued: EmailEvent = { type: 'EmailQueued', data, sealed };
  if (status === 'queued') return [queued];
  if (status === 'scheduled') return [{ type: 'EmailScheduled', data: { ...data, scheduledAt: at(1e6) }, sealed }];
  if (status === 'cancelled') return [queued, { type: 'EmailCancelled', data: { at: when } }];
  return [queued, attempted(1, when), sent(1, when, [0, 'accepted'])];
};

type Listed = Readonly<{
  readModels: ReturnType<typeof openDocuments>;
  queries: Queries;
  world: LogOfTest;
  add: (...rows: readonly Row[]) => Promise<void>;
  project: () => Promise<void>;
}>;

const listed = async (t: Test, rows: readonly Row[] = []): Promise<Listed> => {
  const world = openLogOfTest();
  const readModels = openDocuments(t);
  let count = 0;
  const projections = makeProjections(defaultLimits);
  const project = async (): Promise<void> => {
    const recorded = await world.recorded();
    for (const projection of projections) await projectIn(readModels, projection, recorded);
  };
  const add = async (...more: readonly Row[]): Promise<void> => {
    for (const one of more) await world.append(`email-${idOf((count += 1))}`, eventsOf(one), one.team);
    await project();
  };
  await add(...rows);
  return {
    world,
    readModels,
    add,
    project,
    queries: makeQueries({
      keys: memoryKeys(),
      readModels,
      clock: fakeClock(Date.parse(T0)),
      limits: defaultLimits,
      awaitOwnWrites: async () => {},
    }),
  };
};

const first: Paging = { page: 1, limit: 100 };

void t.test('nothing is a page too', async (t) => {
  const { queries } = await listed(t);
  const empty = {
    data: [],
    meta: { page: 1, limit: 100, total: 0, totalPages: 0, totalIsLowerBound: false, nextCursor: null },
  };
  t.strictSame(await queries.listEmails(team, {}, first), empty);
  t.strictSame(await queries.listEmails(team, { search: 'ann' }, first), empty);
  t.strictSame(await queries.listTemplates(team, {}, first), empty);
  t.strictSame(await queries.listApiKeys(team, first), empty);
  t.same(await queries.emailIds(team, {}, 10), []);
});

void t.test('a row of the list has every field', async (t) => {
  const { queries } = await listed(t, [row({ at: T0, status: 'sent' })]);
  t.strictSame((await queries.listEmails(team, {}, first)).data, [
    {
      id: idOf(1),
      status: 'sent',
      archived: false,
      emailTemplateName: 'Order confirmation',
      templateId: WELCOME,
      subject: 'Hello',
      to: { email: 'ann@example.org', name: 'Zoë Ångström' },
      recipientCount: 1,
      failedRecipients: 0,
      attachmentCount: 0,
      tags: ['order'],
      batchId: null,
      failureReason: null,
      relay: null,
      createdAt: T0,
      sentAt: T0,
      deliveredAt: null,
      test: false,
    },
  ]);
});

const moments = [
  '2029-12-31T23:59:59.999Z',
  '2030-01-01T00:00:00.000Z',
  '2030-01-01T00:00:00.001Z',
  '2030-01-01T12:00:00.000Z',
  '2030-01-01T23:59:59.999Z',
  '2030-01-02T00:00:00.000Z',
  '2030-01-02T06:00:00.000Z',
  '2030-01-03T23:59:59.998Z',
  '2030-01-03T23:59:59.999Z',
  '2030-02-01T00:00:00.000Z',
];
const statuses = ['queued', 'scheduled', 'sent', 'cancelled'] as const;
const words = ['Hello Ann', 'Order 17: 50% off', 'Ürgent "quote"', 'no_thing\\here'];

void t.test(
  'every filter finds what a look at each row finds, and the total counts it without reading rows',
  async (t) => {
    const rows = moments.flatMap((when, index) =>
      statuses.map((status, other_) =>
        row({
          at: when,
          status,
          templateId: index % 2 === 0 ? WELCOME : ORDER,
          subject: words[(index + other_) % 4]!,
          email: `r${index}@example.org`,
          team: index === 4 ? OTHER : TEAM_ID,
        }),
      ),
    );
    const { queries } = await listed(t, rows);
    const matches = (one: Row, { status, templateId, startDate, endDate, search }: EmailFilter, of: string): boolean =>
      one.team === of &&
      (status === undefined || [status].flat().includes(one.status)) &&
      (templateId === undefined || one.templateId === templateId) &&
      (startDate === undefined || Date.parse(one.at) >= Date.parse(startDate)) &&
      (endDate === undefined || Date.parse(one.at) <= Date.parse(endDate)) &&
      (search === undefined ||
        `${one.subject}\n${one.email} Zoë Ångström`.toLowerCase().includes(search.toLowerCase()));
    const when = fc.constantFrom(
      ...moments,
      '2030-01-01T14:00:00+02:00',
      '2030-01-02',
      '2030-01-01T11:59:59.999Z',
      '2035-01-01T00:00:00.000Z',
    );
    const parts = {
      status: fc.oneof(fc.constantFrom(...statuses), fc.subarray([...statuses], { minLength: 2 })),
      templateId: fc.constantFrom(WELCOME, ORDER),
      startDate: when,
      endDate: when,
    };
    const search = fc.constantFrom(
      'hello',
      'order 17',
      '50%',
      'ürgent',
      '"quote"',
      'no_thing\\',
      'r3@',
      'EXAMPLE.org',
      'ångs',
      'nowhere',
    );
    const filter: fc.Arbitrary<EmailFilter> = fc.oneof(
      fc.record({ startDate: when, endDate: when }, { requiredKeys: [] }),
      fc.record(parts, { requiredKeys: [] }),
      fc.record({ ...parts, search }, { requiredKeys: ['search'] }),
    );
    let found = 0;
    await fc.assert(
      fc.asyncProperty(filter, fc.boolean(), async (wanted, theirs) => {
        const expected = rows.flatMap((one, index) =>
          matches(one, wanted, theirs ? OTHER : TEAM_ID) ? [idOf(index + 1)] : [],
        );
        found += expected.length;
        const { data, meta } = await queries.listEmails(theirs ? other : team, wanted, first);
        t.same(data.map(({ id }) => id).sort(), expected, JSON.stringify(wanted));
        t.equal(meta.total, expected.length, JSON.stringify(wanted));
        const { counts, lowerBounds } = await queries.countEmails(theirs ? other : team, wanted);
        const named = wanted.status === undefined ? emailStatuses : [wanted.status].flat();
        const byStatus = named.map((status) => [
          status,
          rows.filter((one) => one.status === status && matches(one, wanted, theirs ? OTHER : TEAM_ID)).length,
        ]);
        t.strictSame({ ...counts }, Object.fromEntries(byStatus), JSON.stringify(wanted));
        t.same(lowerBounds, []);
        t.same([...(await queries.emailIds(theirs ? other : team, wanted, 1_000))].sort(), expected);
      }),
      { numRuns: 300 },
    );
    t.ok(found > 500, `${found} rows were found in all`);
  },
);

void t.test('newest first, in pages by number, with what comes after', async (t) => {
  const { queries } = await listed(
    t,
    Array.from({ length: 7 }, (_, index) => row({ at: at(index) })),
  );
  const pages = await Promise.all([1, 2, 3, 4].map((page) => queries.listEmails(team, {}, { page, limit: 3 })));
  t.same(
    pages.map(({ data }) => data.map(({ createdAt }) => createdAt)),
    [[at(6), at(5), at(4)], [at(3), at(2), at(1)], [at(0)], []],
  );
  t.same(
    pages.map(({ meta }) => [meta.page, meta.limit, meta.total, meta.totalPages, meta.nextCursor !== null]),
    [
      [1, 3, 7, 3, true],
      [2, 3, 7, 3, true],
      [3, 3, 7, 3, false],
      [4, 3, 7, 3, false],
    ],
  );
  t.equal(
    (await queries.listEmails(team, {}, { page: 1, limit: 7 })).meta.nextCursor,
    null,
    'a last page that is full is the last',
  );
  t.equal((await queries.emailIds(team, {}, 2)).length, 2);
  t.same(await queries.emailIds(team, {}, 2), [idOf(7), idOf(6)]);
});

/** All ids from the first page on, by cursor; between pages something may happen. */
const walk = async (
  queries: Queries,
  filter: EmailFilter,
  limit: number,
  between: () => Promise<void> = async () => {},
): Promise<string[]> => {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 100; page += 1) {
    const { data, meta }: Awaited<ReturnType<Queries['listEmails']>> = await queries.listEmails(team, filter, {
      page: 1,
      limit,
      ...(cursor === null ? {} : { cursor }),
    });
    ids.push(...data.map(({ id }) => id));
    cursor = meta.nextCursor;
    if (cursor === null) return ids;
    await between();
  }
  throw new Error('the pages never end');
};

void t.test('a cursor stays in its place while rows arrive and go, those of one moment too', async (t) => {
  const { queries, add, world, project } = await listed(
    t,
    Array.from({ length: 20 }, (_, index) =>
      row({ at: at(Math.floor(index / 5)), status: index % 3 === 0 ? 'sent' : 'queued' }),
    ),
  );
  const all = Array.from({ length: 20 }, (_, index) => idOf(20 - index));
  for (const limit of [1, 3, 5, 7, 20]) t.same(await walk(queries, {}, limit), all, `pages of ${limit}`);
  t.same(await walk(queries, { search: 'hello' }, 3), all, 'a search too');
  t.same(
    await walk(queries, { status: 'sent' }, 2),
    all.filter((_, index) => (19 - index) % 3 === 0),
  );

  let arrived = 0;
  const seen = await walk(queries, {}, 3, async () => {
    await add(row({ at: at(100 + (arrived += 1)) }));
    // A row that was shown already goes: the later pages do not move.
    if (arrived === 2) {
      await world.append(`email-${idOf(20)}`, [
        { type: 'EmailCancelled', data: { at: at(100) } },
        { type: 'EmailDeleted', data: { at: at(100) } },
      ]);
      await project();
    }
  });
  t.same(seen, all);
});

void t.test('a cursor that is not of this list is refused', async (t) => {
  const { queries, world, project } = await listed(
    t,
    Array.from({ length: 5 }, (_, index) => row({ at: at(index) })),
  );
  for (let index = 0; index < 3; index += 1)
    await world.append(`template-${idOf(100 + index)}`, templateEvents(`slug-${index}`));
  await project();
  const ofEmails = (await queries.listEmails(team, {}, { page: 1, limit: 2 })).meta.nextCursor!;
  const ofSearch = (await queries.listEmails(team, { search: 'hello' }, { page: 1, limit: 2 })).meta.nextCursor!;
  const ofTemplates = (await queries.listTemplates(team, {}, { page: 1, limit: 2 })).meta.nextCursor!;
  const with_ = (cursor: string): Paging => ({ page: 1, limit: 2, cursor });
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = [
    '',
    'x',
    'null',
    encode(null),
    encode({}),
    encode([]),
    encode(['emails', 'createdAt', T0]),
    encode(['emails', 'createdAt', T0, '5']),
    encode(['emails', 'createdAt', null, 5]),
    encode(['emails', 'createdAt', [], 5]),
    encode(['emails', 'team', TEAM_ID, 5]),
    encode(['emails', 'createdAt', T0, 1.5]),
    encode(['emails', 'createdAt', T0, 5, 6]),
    `${ofEmails}x`.slice(3),
  ];
  for (const cursor of [...forged, ofSearch, ofTemplates])
    await refusedWith(t, queries.listEmails(team, {}, with_(cursor)), 'INVALID_CURSOR');
  await refusedWith(t, queries.listEmails(team, { search: 'hello' }, with_(ofEmails)), 'INVALID_CURSOR');
  await refusedWith(t, queries.listApiKeys(team, with_(ofTemplates)), 'INVALID_CURSOR');
  t.equal((await queries.listEmails(team, {}, with_(ofEmails))).data.length, 2);
  t.equal((await queries.listTemplates(team, {}, with_(ofTemplates))).data.length, 1);
  t.equal(
    (await queries.listEmails(other, {}, with_(ofEmails))).data.length,
    0,
    'a cursor of another team shows nothing of it',
  );
});

const draft: EmailDraft = {
  name: 'Welcome',
  description: 'Greets people',
  subject: 'Hi',
  from: null,
  variables: [{ name: 'x' }],
  schema: { sections: [] },
  locale: 'en-US',
  timeZone: 'UTC',
};
const templateEvents = (slug: string, name = 'Welcome'): TemplateEvent[] => [
  { type: 'TemplateCreated', data: { at: T0, slug, kind: 'email' } },
  { type: 'TemplateDraftSaved', data: { at: T0, revision: 1, draft: { ...draft, name } } },
];

void t.test('templates: newest first, found by name, slug and description, gone when deleted', async (t) => {
  const { queries, world, project } = await listed(t);
  const stream = (index: number) => `template-${idOf(index)}`;
  await world.append(stream(1), templateEvents('first', 'Invoice'));
  await world.append(stream(2), templateEvents('second'));
  await world.append(stream(3), templateEvents('third'), OTHER);
  await world.append(stream(2), [
    { type: 'TemplatePublished', data: { at: at(1), version: 1, revision: 1 } },
    { type: 'TemplateSlugChanged', data: { at: at(2), slug: 'renamed' } },
  ]);
  await world.append(stream(4), [{ type: 'TemplateCreated', data: { at: T0, slug: 'half' } }]);
  await project();
  const { data, meta } = await queries.listTemplates(team, {}, first);
  t.strictSame(data, [
    {
      id: idOf(2),
      slug: 'renamed',
      name: 'Welcome',
      description: 'Greets people',
      type: 'email',
      subject: 'Hi',
      from: null,
      unsubscribeList: null,
      status: 'published',
      version: 1,
      publishedVersion: 1,
      locale: 'en-US',
      timeZone: 'UTC',
      createdAt: T0,
      updatedAt: at(2),
      updatedBy: null,
      sent30d: 0,
      lastSentOn: null,
    },
    {
      id: idOf(1),
      slug: 'first',
      name: 'Invoice',
      description: 'Greets people',
      type: 'email',
      subject: 'Hi',
      from: null,
      unsubscribeList: null,
      status: 'draft',
      version: 1,
      publishedVersion: null,
      locale: 'en-US',
      timeZone: 'UTC',
      createdAt: T0,
      updatedAt: T0,
      updatedBy: null,
      sent30d: 0,
      lastSentOn: null,
    },
  ]);
  t.match(meta, { total: 2, totalIsLowerBound: false });
  const search = async (text: string) =>
    (await queries.listTemplates(team, { search: text }, first)).data.map(({ slug }) => slug);
  t.same(await search('INVO'), ['first']);
  t.same(await search('renam'), ['renamed']);
  t.same(await search('second'), []);
  t.same(await search('greets'), ['renamed', 'first']);
  await world.append(stream(2), [{ type: 'TemplateDeleted', data: { at: at(3) } }]);
  await project();
  t.same(
    (await queries.listTemplates(team, {}, first)).data.map(({ id }) => id),
    [idOf(1)],
  );
  t.equal((await queries.listTemplates(team, {}, first)).meta.total, 1);
});

void t.test(
  'attachment templates: a list of their own, with short id and formats, without what is large',
  async (t) => {
    const { queries, world, project } = await listed(t);
    const document: AttachmentDraft = {
      name: 'Invoice',
      description: 'Of an order',
      variables: [{ name: 'x' }],
      schema: { outputFormats: ['excel', 'pdf'], pages: [{}] },
      locale: 'de-CH',
      timeZone: 'UTC',
    };
    const made = (slug: string, shortId: string, name = 'Invoice'): TemplateEvent[] => [
      { type: 'TemplateCreated', data: { at: T0, slug, kind: 'attachment', shortId } },
      { type: 'TemplateDraftSaved', data: { at: T0, revision: 1, draft: { ...document, name } } },
    ];
    await world.append(`attachmentTemplate-${idOf(1)}`, made('first', 'atpl_0000000001', 'Delivery note'));
    await world.append(`attachmentTemplate-${idOf(2)}`, made('second', 'atpl_0000000002'));
    await world.append(`attachmentTemplate-${idOf(3)}`, made('third', 'atpl_0000000003'), OTHER);
    await world.append(`template-${idOf(4)}`, templateEvents('email'));
    await world.append(`attachmentTemplate-${idOf(2)}`, [
      { type: 'TemplatePublished', data: { at: at(1), version: 1, revision: 1 } },
    ]);
    await project();
    const { data, meta } = await queries.listAttachmentTemplates(team, {}, first);
    const common = {
      description: 'Of an order',
      type: 'attachment',
      outputFormats: ['excel', 'pdf'],
      locale: 'de-CH',
      timeZone: 'UTC',
      createdAt: T0,
    };
    t.strictSame(data, [
      {
        ...common,
        id: idOf(2),
        shortId: 'atpl_0000000002',
        slug: 'second',
        name: 'Invoice',
        status: 'published',
        version: 1,
        publishedVersion: 1,
        updatedAt: at(1),
        updatedBy: null,
      },
      {
        ...common,
        id: idOf(1),
        shortId: 'atpl_0000000001',
        slug: 'first',
        name: 'Delivery note',
        status: 'draft',
        version: 1,
        publishedVersion: null,
        updatedAt: T0,
        updatedBy: null,
      },
    ]);
    t.match(meta, { total: 2, totalIsLowerBound: false });
    t.same(
      (await queries.listTemplates(team, {}, first)).data.map(({ slug }) => slug),
      ['email'],
      'emails are listed by themselves',
    );
    t.same(
      (await queries.listAttachmentTemplates(team, { search: 'DELIV' }, first)).data.map(({ slug }) => slug),
      ['first'],
    );
    const cursor = (await queries.listAttachmentTemplates(team, {}, { page: 1, limit: 1 })).meta.nextCursor!;
    t.same(
      (await queries.listAttachmentTemplates(team, {}, { page: 1, limit: 1, cursor })).data.map(({ slug }) => slug),
      ['first'],
    );
    await refusedWith(t, queries.listTemplates(team, {}, { page: 1, limit: 1, cursor }), 'INVALID_CURSOR');
    await world.append(`attachmentTemplate-${idOf(2)}`, [{ type: 'TemplateDeleted', data: { at: at(3) } }]);
    await project();
    t.same(
      (await queries.listAttachmentTemplates(team, {}, first)).data.map(({ slug }) => slug),
      ['first'],
    );
  },
);

void t.test('API keys: newest first, with their state of now, never their hash', async (t) => {
  const { queries, world, project } = await listed(t);
  const key = (index: number) => `key_${String(index).padStart(22, 'A')}`;
  const created = (expiresAt: string | null): ApiKeyEvent => ({
    type: 'ApiKeyCreated',
    data: {
      at: at(-10),
      name: 'Shop',
      description: null,
      permissions: ['emails:send'],
      rateLimit: null,
      expiresAt,
      hash: 'f'.repeat(64),
      start: 'abcd',
      end: 'wxyz',
    },
  });
  await world.append(`apiKey-${key(1)}`, [created(null), { type: 'ApiKeyUsed', data: { at: at(-5) } }]);
  await world.append(`apiKey-${key(2)}`, [created(T0)]);
  await world.append(`apiKey-${key(3)}`, [created(null)], OTHER);
  await world.append(`apiKey-${key(1)}`, [{ type: 'ApiKeyRevoked', data: { at: at(-1) } }]);
  await project();
  const { data, meta } = await queries.listApiKeys(team, first);
  t.same(
    data.map(({ id, status, lastUsedAt }) => [id, status, lastUsedAt]),
    [
      [key(2), 'expired', null],
      [key(1), 'revoked', at(-5)],
    ],
  );
  t.equal(meta.total, 2);
  t.notOk(JSON.stringify(data).includes('ffff'));
});

void t.test(
  'API keys: revoked with their maker, on another page too; those that may delete as before are known',
  async (t) => {
    const { queries, world, project, readModels } = await listed(t);
    const key = (index: number) => `key_${String(index).padStart(22, 'A')}`;
    const created = (more: Partial<Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data']>): ApiKeyEvent => ({
      type: 'ApiKeyCreated',
      data: {
        at: at(-10),
        name: 'Shop',
        description: null,
        permissions: ['emails:send'],
        rateLimit: null,
        expiresAt: null,
        hash: 'f'.repeat(64),
        start: 'abcd',
        end: 'wxyz',
        ...more,
      },
    });
    await world.append(`apiKey-${key(1)}`, [created({})]);
    await world.append(`apiKey-${key(2)}`, [created({ separateDelete: true, madeBy: [key(1)] })]);
    await world.append(`apiKey-${key(3)}`, [created({ separateDelete: true, madeBy: [key(2), key(1)] })]);
    for (const [index, more] of [{}, { expiresAt: T0 }, { permissions: ['emails:read'] }].entries())
      await world.append(`apiKey-${key(4 + index)}`, [created(more)]);
    await project();
    t.same([...(await keysWithImpliedDelete(readModels, T0, 10))].sort(), [key(1), key(4)]);
    await world.append(`apiKey-${key(1)}`, [{ type: 'ApiKeyRevoked', data: { at: at(-1), withMade: true } }]);
    await project();
    t.same(await keysWithImpliedDelete(readModels, T0, 10), [key(4)]);
    const rows = (await queries.listApiKeys(team, first)).data.map(({ id, status, madeBy }) => [id, status, madeBy]);
    t.same(rows.slice(-3), [
      [key(3), 'revoked', key(2)],
      [key(2), 'revoked', key(1)],
      [key(1), 'revoked', null],
    ]);
    const single = await queries.listApiKeys(team, { ...first, limit: 1, page: 4 });
    t.match(single.data, [{ id: key(3), status: 'revoked', revokedAt: at(-1) }]);
  },
);

void t.test('what a search finds is counted up to a bound, and says so', async (t) => {
  const world = openLogOfTest();
  for (let index = 0; index < 12; index += 1)
    await world.append(`email-${idOf(index)}`, eventsOf(row({ at: at(index) })));
  const readModels = openDocuments(t);
  for (const projection of makeProjections(defaultLimits))
    await projectIn(readModels, projection, await world.recorded());
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: { ...defaultLimits, searchTotalMax: 10 },
    awaitOwnWrites: async () => {},
  });
  t.match((await queries.listEmails(team, { search: 'hello' }, { page: 1, limit: 5 })).meta, {
    total: 10,
    totalPages: 2,
    totalIsLowerBound: true,
  });
  t.match(
    (await queries.listEmails(team, { search: 'hello' }, { page: 2, limit: 5 })).meta,
    { total: 11, totalIsLowerBound: true },
    'what was seen is counted',
  );
  t.match(
    (await queries.listEmails(team, { search: 'hello' }, { page: 3, limit: 5 })).meta,
    { total: 12, totalPages: 3, totalIsLowerBound: false },
    'the last page knows',
  );
  t.match((await queries.listEmails(team, { search: 'hello' }, { page: 9, limit: 5 })).meta, {
    total: 12,
    totalIsLowerBound: false,
  });
  const { nextCursor: cursor } = (await queries.listEmails(team, { search: 'hello' }, { page: 2, limit: 5 })).meta;
  t.match((await queries.listEmails(team, { search: 'hello' }, { page: 1, limit: 5, cursor: cursor! })).meta, {
    total: 10,
    totalIsLowerBound: true,
  });
  t.match((await queries.listEmails(team, {}, { page: 1, limit: 5 })).meta, { total: 12, totalIsLowerBound: false });
  t.match(await queries.countEmails(team, { search: 'hello' }), {
    counts: { queued: 10, sent: 0 },
    lowerBounds: ['queued'],
  });
  t.match(await queries.countEmails(team, {}), { counts: { queued: 12 }, lowerBounds: [] });
});

void t.test('approvals: one ends at its last moment, in every list and count, before an event says so', async (t) => {
  const { queries, world, project } = await listed(t);
  const data = {
    ...{ at: T0, askedBy: 'apiKey:key_AAAAAAAAAAAAAAAAAAAAAA', askedByName: 'assistant', digest: 'cd', documents: [] },
    ...{ templateId: 'inline', templateName: 'inline', templateRevision: 0, templateVersion: null },
    ...{ recipientCount: 1, cost: { emails: 1, attachments: 0 }, scheduledAt: null },
  };
  const sealed = {
    ...{ from: { email: 'desk@example.com' }, recipients: [{ email: 'ann@example.org', role: 'to' as const }] },
    ...{ subject: 'Hello', attachments: [], warnings: [], request: {} },
  };
  const ask = (index: number, expiresAt: string, more: readonly ApprovalEvent[] = [], of = TEAM_ID) =>
    world.append(
      `approval-${idOf(index)}`,
      [{ type: 'ApprovalRequested', data: { ...data, expiresAt }, sealed }, ...more],
      of,
    );
  await ask(1, at(-1));
  await ask(2, T0);
  await ask(3, new Date(Date.parse(T0) + 1).toISOString());
  await ask(4, at(60), [{ type: 'ApprovalExpired', data: { at: T0 } }]);
  await ask(5, at(60), [{ type: 'ApprovalWithdrawn', data: { at: T0, withdrawnBy: 'user:1' } }]);
  await ask(6, at(60));
  await ask(7, at(60), [], OTHER);
  await project();
  const listOf = async (status?: ApprovalStatus) => {
    const page = await queries.listApprovals(team, status === undefined ? {} : { status }, { page: 1, limit: 2 });
    const rest = await queries.listApprovals(team, status === undefined ? {} : { status }, { page: 2, limit: 2 });
    const all = [...page.data, ...rest.data];
    for (const one of all) if (status !== undefined) t.equal(one.status, status);
    for (const { status: shown, proposal } of all) t.equal(proposal !== null, shown === 'requested');
    return [page.meta.total, all.map(({ id }) => id)];
  };
  t.strictSame(await listOf('requested'), [2, [idOf(6), idOf(3)]]);
  t.strictSame(await listOf('expired'), [3, [idOf(4), idOf(2), idOf(1)]]);
  t.strictSame(await listOf('withdrawn'), [1, [idOf(5)]]);
  t.strictSame(await listOf('approved'), [0, []]);
  t.strictSame(await listOf(), [6, [idOf(6), idOf(5), idOf(4), idOf(3)]]);
  t.equal(await queries.openApprovals(team), 2);
  t.equal(await queries.openApprovals(other), 1);
});
