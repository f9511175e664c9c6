/** The audit log as lists have it: whoever asks, however the events are cut, torn or made again, and after its time. */
import t, { type Test } from 'tap';
import { monthOf } from '../../src/domain/access/origins.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { assertDefined, NO_TEAM, parseTeamId, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { openEventLog, startOf, type StreamVersion } from '../../src/event-log/event-log.js';
import { auditProjection, makeAuditQueries, overdueAudit } from '../../src/projections/audit/audit.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds } from '../support/memory-ports.js';
import { openStoresOfTest } from '../support/ports-of-tests.js';
import { documentsOf, openDocuments, projectIn, tearWrite } from '../support/projected.js';

// Only what hangs is cut off.
t.setTimeout(900_000);

const TEAM = assertDefined(parseTeamId(TEAM_ID), 'team');
const OTHER = assertDefined(parseTeamId('22222222-2222-4222-8222-222222222222'), 'team');
const ann = '00000000-0000-4000-8000-000000000001';
const bea = '00000000-0000-4000-8000-000000000002';
const MONTH = monthOf(T0);

const projection = auditProjection(731);

const openLog = () => {
  const eventLog = openEventLog({
    ...openStoresOfTest(),
    ids: countingIds(),
    clock: fakeClock(),
    limits: defaultLimits,
  });
  const tails = new Map<string, StreamVersion>();
  return {
    append: async (
      name: string,
      event: DomainEvent,
      { actor = `user:${ann}`, teamId = TEAM_ID as string, origin = '' } = {},
    ) => {
      const stream = name as StreamName;
      const cause = {
        teamId,
        actor,
        correlationId: 'request-1',
        causationId: 'c',
        at: event.data.at,
        ...(origin === '' ? {} : { origin }),
      };
      tails.set(name, await eventLog.append(stream, tails.get(name) ?? startOf(stream), [event], cause));
    },
    recorded: async () => {
      const all = [];
      for await (const { events } of eventLog.readAll(0)) all.push(...events);
      return all;
    },
  };
};

const added = (userId: string, minute: number): DomainEvent => ({
  type: 'MemberAdded',
  data: { at: at(minute), userId, role: 'admin' },
});
const removed = (userId: string, minute: number): DomainEvent => ({
  type: 'MemberRemoved',
  data: { at: at(minute), userId, reason: 'left' },
});
const ended = (minute: number): DomainEvent => ({ type: 'SessionEnded', data: { at: at(minute), reason: 'logout' } });
const revoked = (minute: number): DomainEvent => ({ type: 'ApiKeyRevoked', data: { at: at(minute) } });
const read = (minute: number): DomainEvent => ({
  type: 'ContentRead',
  data: { at: at(minute), action: 'email.read', target: 'email:1' },
});
const seen = (minute: number): DomainEvent => ({
  type: 'CallOriginSeen',
  data: { at: at(minute) },
  sealed: { ipAddress: '192.0.2.7', userAgent: 'curl' },
});

/** Ann is in the team from minute 1, Bea from 3 to 6; both sign out before, within and after. */
const story = async () => {
  const log = openLog();
  const personal = (id: string) => ({ actor: `user:${id}`, teamId: NO_TEAM as string });
  await log.append('session-a0', ended(0), personal(ann));
  await log.append(`team-${TEAM_ID}`, added(ann, 1), { actor: 'cli' });
  await log.append(`auditOrigins-${ann}.${MONTH}`, seen(2));
  await log.append('apiKey-key_1', revoked(2), { origin: `${ann}.${MONTH}#0` });
  await log.append('session-b0', ended(2), personal(bea));
  await log.append(`team-${TEAM_ID}`, added(bea, 3), { actor: `user:${ann}` });
  await log.append('session-b1', ended(4), personal(bea));
  await log.append(`audit-${TEAM_ID}.${MONTH}`, read(5), { actor: `user:${bea}` });
  await log.append(`team-${TEAM_ID}`, removed(bea, 6), { actor: `user:${bea}` });
  await log.append('session-b2', ended(7), personal(bea));
  await log.append('session-a1', ended(8), personal(ann));
  await log.append('apiKey-key_2', revoked(9), { teamId: OTHER, actor: 'user:other' });
  return log;
};

const queriesOf = (readModels: ReadModels, nowMs = Date.parse(T0) + DAY_MS) =>
  makeAuditQueries({ readModels, clock: fakeClock(nowMs), limits: { ...defaultLimits, auditDays: 731 } });
const paging = { page: 1, limit: 20 };

const projected = async (t: Test, { recorded }: Awaited<ReturnType<typeof story>>) => {
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await recorded());
  return readModels;
};

void t.test('a team is told of its own, and of its members while they were in it', async (t) => {
  const readModels = await projected(t, await story());
  const { listAudit, auditEntry } = queriesOf(readModels);
  const { data, meta } = await listAudit(TEAM, {}, paging);
  t.strictSame(
    data.map(({ at: moment, action }) => [moment, action]),
    [
      [at(8), 'session.ended'],
      [at(6), 'member.removed'],
      [at(5), 'email.read'],
      [at(4), 'session.ended'],
      [at(3), 'member.added'],
      [at(2), 'api_key.revoked'],
      [at(1), 'member.added'],
    ],
  );
  t.equal(meta.total, 7);
  t.match(data[5], {
    actor: { type: 'user', id: ann },
    target: { type: 'api_key', id: 'key_1' },
    origin: `${ann}.${MONTH}#0`,
    requestId: 'request-1',
  });
  const others = (await listAudit(OTHER, {}, paging)).data;
  t.match(others, [{ target: { id: 'key_2' } }]);
  t.equal(others.length, 1);
  for (const entry of data) t.strictSame(await auditEntry(TEAM, entry.id), entry);
  t.equal(await auditEntry(TEAM, others[0]!.id), undefined, 'that of another team');
  t.equal(await auditEntry(OTHER, data[0]!.id), undefined, 'that of a person of another team');
  t.equal(await auditEntry(TEAM, 'unknown'), undefined);
});

void t.test('filters, pages and cursors', async (t) => {
  const readModels = await projected(t, await story());
  const { listAudit } = queriesOf(readModels);
  const actions = async (filter: Parameters<typeof listAudit>[1]) =>
    (await listAudit(TEAM, filter, paging)).data.map(({ action }) => action);
  t.strictSame(await actions({ category: 'data_access' }), ['email.read']);
  t.strictSame(await actions({ action: 'member.added' }), ['member.added', 'member.added']);
  t.strictSame(await actions({ actorId: bea }), ['member.removed', 'email.read', 'session.ended']);
  t.strictSame(await actions({ actorType: 'operator' }), ['member.added']);
  t.strictSame(await actions({ targetType: 'api_key', targetId: 'key_1' }), ['api_key.revoked']);
  t.strictSame(await actions({ result: 'denied' }), []);
  t.strictSame(await actions({ from: at(5), to: at(7) }), ['member.removed', 'email.read']);
  const first = await listAudit(TEAM, {}, { page: 1, limit: 3 });
  const cursor = first.meta.nextCursor!;
  const second = await listAudit(TEAM, {}, { page: 1, limit: 3, cursor });
  const third = await listAudit(TEAM, {}, { page: 1, limit: 3, cursor: second.meta.nextCursor! });
  t.strictSame([...first.data, ...second.data, ...third.data], (await listAudit(TEAM, {}, paging)).data);
  t.equal(third.meta.nextCursor, null);
  const theirs = await listAudit(OTHER, {}, { page: 1, limit: 3, cursor });
  t.strictSame(
    theirs.data.filter(({ scope }) => scope !== OTHER),
    [],
    'the cursor of another team opens nothing of it',
  );
});

void t.test('the documents are the same however the events are cut, and where a write was torn', async (t) => {
  const log = await story();
  await log.append(`user-${ann}`, { type: 'UserErased', data: { at: at(10) } }, { teamId: NO_TEAM });
  const recorded = await log.recorded();
  const expected = await documentsOf(await projected(t, log), projection);
  t.match(expected['auditOrigins'], [{ scope: ann, forgetAt: at(10) }], 'of an erased person it is over at once');
  for (const sizes of [[1], [2], [3, 1]]) {
    const readModels = openDocuments(t);
    await projectIn(readModels, projection, recorded, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, projection), expected, `cut as ${sizes.join()}`);
  }
  const own = recorded.filter(({ stream }) => (projection.kinds as readonly string[]).includes(stream.split('-')[0]!));
  const writes = await tearWrite(openDocuments(t), projection, own, 0);
  for (let count = 1; count <= writes; count += 1) {
    const readModels = openDocuments(t);
    await tearWrite(readModels, projection, own, count);
    await projectIn(readModels, projection, recorded, { sizes: [2], forgetful: true });
    t.strictSame(await documentsOf(readModels, projection), expected, `torn after ${count}`);
  }
});

void t.test('after two years nothing is shown, and what is forgotten is in no document', async (t) => {
  const log = await story();
  const readModels = await projected(t, log);
  const later = Date.parse(T0) + 732 * DAY_MS;
  const { listAudit, auditEntry } = queriesOf(readModels, later);
  t.strictSame((await listAudit(TEAM, { from: at(0) }, paging)).data, [], 'though it is there');
  const now = new Date(later).toISOString();
  const none = await overdueAudit(
    readModels,
    new Date(later - 60 * DAY_MS).toISOString(),
    new Date(Date.parse(T0) - 1).toISOString(),
    100,
  );
  t.strictSame(none, { origins: [], entries: [] });
  const over = await overdueAudit(readModels, new Date(later + 31 * DAY_MS).toISOString(), now, 100);
  t.strictSame(over.origins, [`auditOrigins-${ann}.${MONTH}`]);
  t.equal(over.entries.length, 11);
  t.equal(await auditEntry(TEAM, over.entries[3]!), undefined);
  await log.append(
    'auditRetention-entries',
    { type: 'AuditEntriesForgotten', data: { at: now, ids: [...over.entries] } },
    { teamId: '', actor: 'system' },
  );
  await log.append(
    over.origins[0]!,
    { type: 'CallOriginsForgotten', data: { at: now } },
    { teamId: '', actor: 'system' },
  );
  await projectIn(readModels, projection, await log.recorded());
  const left = await documentsOf(readModels, projection);
  t.strictSame([left['audit'], left['auditOrigins']], [[], []]);
  t.strictSame(await documentsOf(await projected(t, log), projection), left, 'a rebuild gives the same');
});
