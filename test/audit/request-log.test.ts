/** The log of calls: what is noted of a call, when it is written, who reads it, and when it goes. */
import t from 'tap';
import type { RequestLogEntryRecord } from '../../src/api/audit.js';
import { loggedPath, openRequestLogRecorder, type AnsweredCall } from '../../src/commands/audit/request-log.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { callIdAt, LAST_CALL_MS, type LoggedCall } from '../../src/domain/ports/request-log.js';
import { bearer, KEY_ID, openServer, OTHER_TEAM, others, own, sendBody, TEAM } from '../http/server.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryLog, memoryRequestLog } from '../support/memory-ports.js';

const answered = (n: number): AnsweredCall => ({
  team: TEAM,
  actor: { type: 'api_key', id: KEY_ID },
  method: 'GET',
  route: '/api/emails/:id',
  params: { id: own.email },
  status: 200,
  code: null,
  requestId: `request-${n}`,
  durationMs: 1,
});

type Fault = Error | undefined;

const openRecorder = (days = 7) => {
  const [clock, logger, kept] = [fakeClock(), memoryLog(), memoryRequestLog()];
  const batches: (readonly LoggedCall[])[] = [];
  const expired: number[] = [];
  const fault: { next: Fault; mayDestroy: boolean } = { next: undefined, mayDestroy: true };
  const requestLog = {
    write: async (calls: readonly LoggedCall[]): Promise<void> => {
      if (fault.next !== undefined) throw fault.next;
      batches.push(calls);
      await kept.write(calls);
    },
    expire: async (beforeMs: number): Promise<void> => void expired.push(beforeMs),
  };
  const recorder = openRequestLogRecorder({
    ...{ requestLog, clock, logger, ids: countingIds(), limits: { requestLogDays: days } },
    mayDestroy: () => fault.mayDestroy,
  });
  /** Notes the call, and lets the worker hear of it. */
  const note = async (call: AnsweredCall): Promise<void> => {
    recorder.note(call);
    await clock.advance(0);
  };
  const end = new AbortController();
  const running = recorder.worker.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  return { recorder, note, clock, logger, kept, batches, expired, fault, stop };
};

void t.test('calls of a second are one batch, and nothing is done while nobody calls', async (t) => {
  const { recorder, note, clock, batches, stop } = openRecorder();
  await clock.advance(60_000);
  t.same(batches, []);
  t.equal(clock.waiting(), 1, 'the worker sleeps until a call or the next hour');
  await note(answered(1));
  await clock.advance(400);
  await note(answered(2));
  await clock.advance(500);
  t.same(batches, []);
  await clock.advance(100);
  t.same(
    batches.map((batch) => batch.map(({ requestId, path }) => [requestId, path])),
    [
      [
        ['request-1', `/api/emails/${own.email}`],
        ['request-2', `/api/emails/${own.email}`],
      ],
    ],
  );
  const [first, second] = batches[0]!;
  t.ok(first!.id < second!.id && first!.id.startsWith(callIdAt(clock.now() - 1_000)), 'ids sort by the time of calls');
  recorder.note(answered(3));
  await recorder.flush();
  t.equal(batches.length, 2, 'somebody who reads waits for nothing');
  recorder.note(answered(4));
  await stop();
  t.same(
    batches[2]?.map(({ requestId }) => requestId),
    ['request-4'],
    'a stop writes the rest',
  );
});

void t.test('many calls do not wait for the end of the second', async (t) => {
  const { recorder, clock, batches, stop } = openRecorder();
  for (let n = 0; n < 1_000; n += 1) recorder.note(answered(n));
  await clock.advance(0);
  t.same(
    batches.map(({ length }) => length),
    [1_000],
  );
  await stop();
});

void t.test('calls wait for a store that is away, as many as memory has room for', async (t) => {
  const { recorder, note, clock, kept, logger, fault, stop } = openRecorder();
  fault.next = new StoreAway('away');
  for (let n = 0; n < 30_000; n += 1) recorder.note(answered(n));
  await clock.advance(0);
  await clock.advance(3_000);
  t.same(
    logger.lines.map(({ message }) => message),
    ['calls cannot be logged in time; some are not'],
  );
  fault.next = undefined;
  await clock.advance(1_000);
  t.equal(await kept.count(TEAM, {}, 100_000), 20_000);
  t.match(await kept.find(TEAM, { requestId: 'request-0' }, { limit: 1 }), [{ status: 200 }]);
  fault.next = new Error('a fault of the store');
  await note(answered(40_000));
  await clock.advance(1_000);
  fault.next = undefined;
  await note(answered(40_001));
  await clock.advance(1_000);
  t.same(await kept.find(TEAM, { requestId: 'request-40000' }, { limit: 1 }), [], 'that batch is lost, and told');
  t.match(logger.lines.at(-1), { message: 'calls could not be logged' });
  t.match(await kept.find(TEAM, { requestId: 'request-40001' }, { limit: 1 }), [{ status: 200 }], 'and it goes on');
  await stop();
});

void t.test('old calls go each hour, while the clock is believed; with no days all go', async (t) => {
  const { clock, expired, fault, stop } = openRecorder(3);
  await clock.advance(0);
  t.same(expired, [clock.now() - 3 * DAY_MS], 'at the start');
  fault.mayDestroy = false;
  await clock.advance(3_600_000);
  t.equal(expired.length, 1);
  fault.mayDestroy = true;
  await clock.advance(3_600_000);
  t.same(expired.slice(1), [clock.now() - 3 * DAY_MS]);
  await stop();
  const none = openRecorder(0);
  await none.clock.advance(0);
  t.same(none.expired, [LAST_CALL_MS]);
  await none.stop();
});

void t.test('a path has the ids of the service alone', (t) => {
  const shown: readonly (readonly [route: string, params: Record<string, string>, path: string])[] = [
    ['/api/emails/send', {}, '/api/emails/send'],
    ['/api/emails/:id/attachments/:index', { id: own.email, index: '3' }, `/api/emails/${own.email}/attachments/3`],
    ['/api/emails/:id', { id: own.email.toUpperCase() }, `/api/emails/${own.email.toUpperCase()}`],
    ['/api/api-keys/:id', { id: KEY_ID }, `/api/api-keys/${KEY_ID}`],
    ['/api/recipients/:address', { address: 'kim@example.com' }, '/api/recipients/:address'],
    ['/api/templates/:id/preview', { id: 'kim-jones-4711' }, '/api/templates/:id/preview'],
    ['/api/emails/:id', { id: 'ep_live_secret' }, '/api/emails/:id'],
    ['/api/emails/:id', { id: '4917612345678' }, '/api/emails/:id'],
    ['/api/emails/:id', { id: `${own.email}kim` }, '/api/emails/:id'],
    ['/api/emails/:id', {}, '/api/emails/:id'],
  ];
  for (const [route, params, path] of shown) t.equal(loggedPath(route, params), path);
  t.end();
});

type Listed = Readonly<{ data: readonly RequestLogEntryRecord[]; meta: Readonly<Record<string, unknown>> }>;

void t.test('each call of a key or app is listed, without its query, body and addresses', async (t) => {
  const { app } = await openServer(t);
  const asked = async (method: 'GET' | 'POST', url: string, token: string, payload?: object, requestId = '') =>
    app.inject({
      ...{ method, url, headers: { ...bearer(token), ...(requestId === '' ? {} : { 'x-request-id': requestId }) } },
      ...(payload === undefined ? {} : { payload }),
    });
  const log = async (query = '', token = 'role=owner'): Promise<Listed> =>
    (await asked('GET', `/api/request-logs${query}`, token)).json();
  t.same((await log()).data, [], 'the calls of people are in the audit log');
  await asked('POST', '/api/emails/send', 'unlimited', sendBody, 'my-request-1');
  await asked('GET', '/api/emails?recipient=kim%40example.com&search=secret', 'unlimited');
  await asked('GET', '/api/recipients/kim%40example.com', 'unlimited');
  await asked('GET', `/api/emails/${own.email}`, 'key=templates:read');
  await asked('POST', '/api/emails/send', 'unlimited', { templateId: 'welcome', to: 'kim@example.com' });
  await asked('GET', `/api/emails/${others.email}`, 'scope=emails:read');
  await asked('GET', '/api/emails', 'role=viewer');
  await asked('GET', '/api/emails', 'nobody');
  await asked('GET', '/api/no-such', 'unlimited');

  const { data, meta } = await log();
  t.same(
    data.map(({ method, path, status, code, actor }) => [method, path, status, code, actor.type]),
    [
      ['GET', `/api/emails/${others.email}`, 404, 'EMAIL_NOT_FOUND', 'app'],
      ['POST', '/api/emails/send', 400, 'VALIDATION_ERROR', 'api_key'],
      ['GET', `/api/emails/${own.email}`, 403, 'FORBIDDEN', 'api_key'],
      ['GET', '/api/recipients/:address', 200, null, 'api_key'],
      ['GET', '/api/emails', 200, null, 'api_key'],
      ['POST', '/api/emails/send', 201, null, 'api_key'],
    ],
  );
  t.match(meta, { total: 6, totalIsLowerBound: false, nextCursor: null });
  t.match(data.at(-1), { requestId: 'my-request-1', actor: { name: /./ }, route: '/api/emails/send' });
  t.match(data[0], { actor: { id: /^app_/, name: /./ }, route: '/api/emails/:id' });
  t.notMatch(JSON.stringify(data), /kim|secret|jane|welcome/, 'nothing personal');

  const paths = async (query: string) => (await log(query)).data.map(({ status }) => status);
  t.same(await paths('?status=4xx'), [404, 400, 403]);
  t.same(await paths('?status=201'), [201]);
  t.same(await paths('?code=FORBIDDEN'), [403]);
  t.same(await paths('?method=POST'), [400, 201]);
  t.same(await paths('?requestId=my-request-1'), [201]);
  t.same(await paths(`?actor=${data[0]!.actor.id}`), [404]);
  t.same(await paths(`?actor=${data[1]!.actor.id}&status=2xx`), [200, 200, 201]);
  t.same(await paths(`?from=${data[0]!.at}&to=${data[0]!.at}`), [404, 400, 403, 200, 200, 201], 'in one moment');
  t.same(await paths('?to=2029-01-01'), []);

  const first = await log('?limit=4');
  t.match(first.meta, { total: 6, totalPages: 2, totalIsLowerBound: false });
  const second = await log(`?limit=4&cursor=${String(first.meta['nextCursor'])}`);
  t.same([...first.data, ...second.data], data);
  t.equal(second.meta['nextCursor'], null);
  t.same((await log('?limit=4&page=2')).data, second.data);
  for (const [query, code] of [
    ['cursor=abc', 'INVALID_CURSOR'],
    [`cursor=${Buffer.from('calls:zz').toString('base64url')}`, 'INVALID_CURSOR'],
    ['status=6xx', 'VALIDATION_ERROR'],
    ['status=4x', 'VALIDATION_ERROR'],
    ['from=soon', 'VALIDATION_ERROR'],
    ['method=BREW', 'VALIDATION_ERROR'],
    ['path=/api', 'VALIDATION_ERROR'],
  ] as const)
    t.match((await asked('GET', `/api/request-logs?${query}`, 'role=owner')).json(), { code }, query);
});

void t.test('those who manage keys read it, each of their own team', async (t) => {
  const { app } = await openServer(t);
  const status = async (token: string): Promise<number> =>
    (await app.inject({ url: '/api/request-logs', headers: { ...bearer(token), 'x-team-id': TEAM } })).statusCode;
  await app.inject({ url: '/api/emails', headers: bearer('unlimited') });
  for (const [token, expected] of [
    ['role=owner', 200],
    ['role=admin', 200],
    ['role=member', 403],
    ['role=viewer', 403],
    ['key=api-keys:manage', 200],
    ['key=emails:read', 403],
    ['scope=emails:read', 403],
    ['nobody', 404],
  ] as const)
    t.equal(await status(token), expected, token);
  const foreign = await app.inject({
    ...{ url: '/api/request-logs', headers: { ...bearer('role=owner@other'), 'x-team-id': OTHER_TEAM } },
  });
  t.same(foreign.json().data, []);
});
