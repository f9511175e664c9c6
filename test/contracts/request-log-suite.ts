/** The contract of every log of calls. */
import type { Test } from 'tap';
import {
  callIdAt,
  LAST_CALL_MS,
  timeOfCall,
  type LoggedCall,
  type RequestLog,
} from '../../src/domain/ports/request-log.js';

export type RequestLogHarness = Readonly<{
  /** One more client of that store; the first makes it. `callsMax` is the same for every client. */
  open: (store: string, callsMax: number) => Promise<RequestLog>;
}>;

const BEGIN_MS = Date.now() - 3_600_000;
const TEAM = '0192f3c0-0000-7000-8000-000000000001';
const OTHER = '0192f3c0-0000-7000-8000-000000000002';

/** The call of that number, a second after the one before. */
const call = (n: number, more: Partial<LoggedCall> = {}): LoggedCall => ({
  id: `${callIdAt(BEGIN_MS + n * 1_000)}0a0b0c0d${n.toString(16).padStart(6, '0')}`,
  team: TEAM,
  actor: { type: 'api_key', id: 'key_AAAAAAAAAAAAAAAAAAAAAA' },
  method: 'GET',
  route: '/api/emails/:id',
  path: `/api/emails/0192f3c0-0000-7000-8000-${n.toString().padStart(12, '0')}`,
  status: 200,
  code: null,
  requestId: `request-${n}`,
  durationMs: 1.5,
  ...more,
});

const calls = (from: number, to: number, more: Partial<LoggedCall> = {}): readonly LoggedCall[] =>
  Array.from({ length: to - from }, (_, n) => call(from + n, more));

const numbers = (found: readonly LoggedCall[]): readonly number[] =>
  found.map(({ requestId }) => Number(requestId.split('-')[1]));

export const requestLogSuite = (t: Test, { open }: RequestLogHarness): void => {
  let stores = 0;
  const fresh = async (t: Test, callsMax = 1_000): Promise<readonly [RequestLog, RequestLog]> => {
    stores += 1;
    const [one, other] = [await open(`calls-${stores}`, callsMax), await open(`calls-${stores}`, callsMax)];
    t.teardown(() => Promise.all([one.close(), other.close()]));
    return [one, other];
  };

  void t.test('every client finds what was written, whole, the newest first, of the asked team alone', async (t) => {
    const [one, other] = await fresh(t);
    t.same(await one.find(TEAM, {}, { limit: 10 }), []);
    t.equal(await one.count(TEAM, {}, 10), 0);
    await one.write([]);
    const failed = { route: '/api/emails/send', path: '/api/emails/send', status: 400, code: 'VALIDATION_ERROR' };
    const ofApp = call(2, { actor: { type: 'app', id: 'app_AAAAAAAAAAAAAAAAAAAAAA' }, durationMs: 1_234 });
    await one.write([call(1, failed), ofApp]);
    await other.write([call(3, { team: OTHER }), call(4, { path: '/api/recipients/:address', requestId: "o'$--4" })]);
    for (const client of [one, other]) {
      t.same(await client.find(TEAM, {}, { limit: 10 }), [
        call(4, { path: '/api/recipients/:address', requestId: "o'$--4" }),
        ofApp,
        call(1, failed),
      ]);
      t.same(await client.find(OTHER, {}, { limit: 10 }), [call(3, { team: OTHER })]);
      t.equal(await client.count(TEAM, {}, 10), 3);
    }
    t.equal(timeOfCall(ofApp.id), BEGIN_MS + 2_000);
  });

  void t.test('a call that is written again is there once', async (t) => {
    const [one, other] = await fresh(t);
    await one.write(calls(0, 5));
    await other.write(calls(3, 8));
    await one.write(calls(0, 8));
    t.same(numbers(await one.find(TEAM, {}, { limit: 100 })), [7, 6, 5, 4, 3, 2, 1, 0]);
    t.equal(await other.count(TEAM, {}, 100), 8);
  });

  void t.test('filters, pages and times', async (t) => {
    const [one] = await fresh(t);
    const key = { type: 'api_key', id: 'key_BBBBBBBBBBBBBBBBBBBBBB' } as const;
    await one.write([
      ...calls(0, 10),
      ...calls(10, 14, { status: 404, code: 'EMAIL_NOT_FOUND' }),
      ...calls(14, 16, { method: 'POST', status: 429, code: 'RATE_LIMIT_EXCEEDED', actor: key }),
      call(16, { status: 503, code: 'STORE_AWAY' }),
    ]);
    const found = async (...given: Parameters<RequestLog['find']>) => numbers(await one.find(...given));
    const page = { limit: 100 };
    t.same(await found(TEAM, { status: { first: 400, last: 499 } }, page), [15, 14, 13, 12, 11, 10]);
    t.same(await found(TEAM, { status: { first: 503, last: 503 } }, page), [16]);
    t.same(await found(TEAM, { method: 'POST' }, page), [15, 14]);
    t.same(await found(TEAM, { actorId: key.id }, page), [15, 14]);
    t.same(await found(TEAM, { code: 'EMAIL_NOT_FOUND', requestId: 'request-12' }, page), [12]);
    t.same(await found(TEAM, { code: 'EMAIL_NOT_FOUND', method: 'POST' }, page), []);
    t.same(await found(TEAM, { actorId: "' OR 1 --" }, page), []);
    const at = (n: number): number => BEGIN_MS + n * 1_000;
    t.same(await found(TEAM, { fromMs: at(3), toMs: at(5) }, page), [5, 4, 3], 'both ends are included');
    t.same(await found(TEAM, { fromMs: at(3) + 1, toMs: at(5) - 1 }, page), [4]);
    t.same(await found(TEAM, { fromMs: at(5), toMs: at(3) }, page), []);
    t.same(await found(TEAM, {}, { limit: 3 }), [16, 15, 14]);
    t.same(await found(TEAM, {}, { limit: 3, skip: 3 }), [13, 12, 11]);
    t.same(await found(TEAM, {}, { limit: 3, before: call(14).id }), [13, 12, 11]);
    t.same(await found(TEAM, { fromMs: at(9), toMs: at(12) }, { limit: 9, before: call(11).id }), [10, 9]);
    t.same(await found(TEAM, { fromMs: at(9), toMs: at(12) }, { limit: 1, before: call(14).id }), [12]);
    t.equal(await one.count(TEAM, { status: { first: 400, last: 499 } }, 100), 6);
    t.equal(await one.count(TEAM, { status: { first: 400, last: 499 } }, 4), 4, 'counted up to a bound');
    t.equal(await one.count(TEAM, {}, 4), 4);
    t.equal(await one.count(OTHER, {}, 4), 0);
  });

  void t.test('a team keeps its newest calls, and takes no room of another', async (t) => {
    const [one, other] = await fresh(t, 100);
    await one.write(calls(0, 50, { team: OTHER }));
    for (let from = 100; from < 1_100; from += 50) await (from % 100 === 0 ? one : other).write(calls(from, from + 50));
    const kept = numbers(await one.find(TEAM, {}, { limit: 1_000 }));
    t.ok(kept.length >= 100 && kept.length <= 105, `${kept.length} are kept`);
    t.same(
      kept,
      Array.from({ length: kept.length }, (_, n) => 1_099 - n),
      'the newest',
    );
    t.equal(await one.count(OTHER, {}, 1_000), 50);
    await one.write(calls(2_000, 3_000, { team: OTHER }));
    t.ok((await other.count(OTHER, {}, 10_000)) <= 105, 'also in one batch');
    t.equal((await other.find(OTHER, {}, { limit: 1 })).at(0)?.requestId, 'request-2999');
  });

  void t.test('old calls of all teams go', async (t) => {
    const [one, other] = await fresh(t, 10_000);
    await one.write(calls(0, 2_500));
    await one.write(
      calls(0, 20, { team: OTHER }).map((one) => ({ ...one, id: one.id.replace('0a0b0c0d', '0a0b0c0e') })),
    );
    await other.expire(BEGIN_MS + 10 * 1_000);
    t.same(numbers(await one.find(OTHER, {}, { limit: 100 })), [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]);
    t.equal(await one.count(TEAM, {}, 10_000), 2_490);
    await other.expire(BEGIN_MS + 2_490 * 1_000);
    t.equal(await one.count(TEAM, {}, 10_000), 10);
    t.equal(await one.count(OTHER, {}, 10_000), 0);
    await other.expire(LAST_CALL_MS);
    t.same(await one.find(TEAM, {}, { limit: 10 }), []);
    await one.write(calls(5_000, 5_001));
    t.equal(await other.count(TEAM, {}, 10), 1);
  });
};
