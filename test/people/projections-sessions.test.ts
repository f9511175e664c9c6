/** The sessions of each person, and where a person is known: however the events are cut, torn or made again. */
import t from 'tap';
import {
  assertDefined,
  parseSessionId,
  parseUserId,
  sessionStream,
  type SessionId,
  type UserId,
} from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import type { SessionEvent } from '../../src/domain/people/events.js';
import { makeQueries } from '../../src/projections/queries.js';
import { sessionsProjection, unusedSessions } from '../../src/projections/people/sessions.js';
import { at, T0 } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const user = (n: number): UserId =>
  assertDefined(parseUserId(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`), 'user');
const [ann, bea] = [user(1), user(2)];
const session = (n: number): SessionId =>
  assertDefined(parseSessionId(`ses_${String(n).padStart(22, 'A')}`), 'session');

const started = (userId: UserId, expires: number): SessionEvent => ({
  type: 'SessionStarted',
  data: { at: T0, userId, epoch: 0, hash: 'h', expiresAt: at(expires), secondFactor: false },
  sealed: { ipAddress: '192.0.2.99', userAgent: 'A browser of Ann' },
});
const refreshed = (expires: number): SessionEvent => ({
  type: 'SessionRefreshed',
  data: { at: T0, hash: 'i', expiresAt: at(expires) },
});

/** Ann has three sessions, of which one is refreshed and one ends; Bea has one. */
const story = async () => {
  const test = openLogOfTest();
  await test.append(sessionStream(session(1)), [started(ann, 10), refreshed(40)]);
  await test.append(sessionStream(session(2)), [started(ann, 20)]);
  await test.append(sessionStream(session(3)), [started(bea, 30)]);
  await test.append(sessionStream(session(4)), [
    started(ann, 5),
    { type: 'SessionSecondFactorGiven', data: { at: at(1) } },
  ]);
  await test.append(sessionStream(session(2)), [{ type: 'SessionEnded', data: { at: at(2), reason: 'logout' } }]);
  return test;
};

const queriesOf = (readModels: ReadModels) =>
  makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });

void t.test('a person finds those that are open, and nobody finds none', async (t) => {
  const readModels = openDocuments(t);
  await projectIn(readModels, sessionsProjection, await (await story()).recorded());
  const queries = queriesOf(readModels);
  t.match(await queries.listSessions(ann, { page: 1, limit: 1 }), {
    data: [session(4)],
    meta: { total: 2, totalPages: 2 },
  });
  const { nextCursor: cursor } = (await queries.listSessions(ann, { page: 1, limit: 1 })).meta;
  t.strictSame((await queries.listSessions(ann, { page: 1, limit: 1, cursor: cursor! })).data, [session(1)]);
  t.strictSame((await queries.listSessions(user(9), { page: 1, limit: 10 })).data, []);
  t.strictSame((await queries.listSessions(undefined, { page: 1, limit: 10 })).data, []);
  t.strictSame(await queries.sessionsOfUser(ann), [session(1), session(4)]);
  const documents = JSON.stringify(await documentsOf(readModels, sessionsProjection));
  t.notMatch(documents, /192\.0\.2|browser/, 'from where they are used stays sealed');
});

void t.test('those that were not refreshed in time, the longest first', async (t) => {
  const readModels = openDocuments(t);
  await projectIn(readModels, sessionsProjection, await (await story()).recorded());
  t.strictSame(await unusedSessions(readModels, at(4), 10), []);
  t.strictSame(await unusedSessions(readModels, at(39), 10), [session(4), session(3)]);
  t.strictSame(await unusedSessions(readModels, at(39), 1), [session(4)]);
  t.strictSame(await unusedSessions(readModels, at(40), 10), [session(4), session(3), session(1)]);
});

void t.test('the documents are the same however the events are cut, and where a write was torn', async (t) => {
  const recorded = await (await story()).recorded();
  const whole = openDocuments(t);
  await projectIn(whole, sessionsProjection, recorded);
  const expected = await documentsOf(whole, sessionsProjection);
  t.equal(expected['sessions']?.length, 3);
  for (const sizes of [[1], [2], [3, 1]]) {
    const readModels = openDocuments(t);
    await projectIn(readModels, sessionsProjection, recorded, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, sessionsProjection), expected, `cut as ${sizes.join()}`);
  }
  const writes = await tearWrite(openDocuments(t), sessionsProjection, recorded, 0);
  for (let count = 1; count <= writes; count += 1) {
    const readModels = openDocuments(t);
    await tearWrite(readModels, sessionsProjection, recorded, count);
    await projectIn(readModels, sessionsProjection, recorded, { sizes: [2], forgetful: true });
    t.strictSame(await documentsOf(readModels, sessionsProjection), expected, `torn after ${count}`);
  }
});
