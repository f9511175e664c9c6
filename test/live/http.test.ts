/** GET /api/stream: who may open it, what it carries, and when it ends. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { emailStream, parseEmailId, assertDefined } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { readEvents, type EventReader } from '../support/event-stream.js';
import { eventually } from '../support/wait.js';
import { bearer, openServer, OTHER_TEAM, sendBody, TEAM, USER } from '../http/server.js';

type Item = Readonly<{ id: string; to: unknown; status: string; subject: string | null }>;
type Changes = Readonly<Partial<Record<'emails', Readonly<{ changed: readonly Item[]; removed: readonly string[] }>>>>;

const cookieOf = (name: string): Readonly<{ cookie: string }> => ({
  cookie: `sealpost_access_3000=${bearer(name).authorization.slice('Bearer '.length)}`,
});

const open = async (t: Test) => {
  const served = await openServer(t);
  const { app, clock } = served;
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const readers: EventReader[] = [];
  t.teardown(() => readers.forEach(({ close }) => close()));
  const stream = async (name: string, query: string, headers: Readonly<Record<string, string>> = {}) => {
    const reader = await readEvents(`${url}/api/stream?${query}`, { ...cookieOf(name), ...headers });
    readers.push(reader);
    return reader;
  };
  /** As soon as the server has heard that an earlier stream is closed. */
  const freed = (...given: Parameters<typeof stream>): Promise<EventReader> =>
    eventually('a place is free', async () => {
      const reader = await stream(...given);
      return reader.status === 200 && reader;
    });
  /** Lets time pass until that holds. */
  const comes = (what: string, holds: () => boolean): Promise<unknown> =>
    eventually(
      what,
      async () => {
        await clock.advance(250);
        return holds();
      },
      60_000,
    );
  const send = async (name = 'unlimited', body: object = sendBody): Promise<string> =>
    (await app.inject({ method: 'POST', url: '/api/emails/send', headers: bearer(name), payload: body })).json<{
      id: string;
    }>().id;
  const listed = async (): Promise<readonly Item[]> =>
    (await app.inject({ url: '/api/emails?limit=100', headers: bearer('unlimited') })).json<{ data: Item[] }>().data;
  return { ...served, url, stream, freed, comes, send, listed };
};

/** The items that a page has after the events, by id. */
const toldBy = ({ events }: EventReader): ReadonlyMap<string, Item> => {
  const items = new Map<string, Item>();
  for (const { event, data } of events) {
    if (event !== 'changes') continue;
    const { emails } = data as Changes;
    for (const item of emails?.changed ?? []) items.set(item.id, item);
    for (const id of emails?.removed ?? []) items.delete(id);
  }
  return items;
};

const topics = 'topics=emails,batches,queue';

void t.test('only the cookie of a person in the team opens it, for topics that the role may read', async (t) => {
  const { app, stream, clock } = await open(t);
  const refusals: readonly (readonly [string, string, number, string, Record<string, string>?])[] = [
    ['role=owner', `team=${TEAM}`, 400, 'VALIDATION_ERROR'],
    ['role=owner', 'topics=mails', 400, 'VALIDATION_ERROR'],
    ['role=owner', `${topics}&every=1`, 400, 'VALIDATION_ERROR'],
    ['role=owner', `${topics}&team=${OTHER_TEAM}`, 404, 'TEAM_NOT_FOUND'],
    ['ada', topics, 400, 'TEAM_REQUIRED'],
    ['nobody', topics, 400, 'TEAM_REQUIRED'],
    ['role=viewer', 'topics=emails,webhooks', 403, 'FORBIDDEN'],
    ['role=owner', topics, 403, 'CSRF_REJECTED', { 'sec-fetch-site': 'same-site' }],
    ['role=owner', topics, 403, 'CSRF_REJECTED', { origin: 'https://elsewhere.example' }],
    ['role=owner', topics, 403, 'FORBIDDEN', { ...bearer('role=owner') }],
    ['role=owner', topics, 403, 'FORBIDDEN', { ...bearer('unlimited') }],
  ];
  for (const [name, query, status, code, headers] of refusals) {
    const answer = await stream(name, query, headers);
    t.match(answer, { status, refused: { code } }, `${name} ${query} ${JSON.stringify(headers ?? {})}`);
  }
  const anybody = await app.inject({ url: `/api/stream?${topics}` });
  t.match(anybody.json(), { statusCode: 401, code: 'UNAUTHORIZED' });
  const head = await app.inject({ method: 'HEAD', url: `/api/stream?${topics}`, headers: cookieOf('role=owner') });
  t.match(head, { statusCode: 200, body: '' });
  for (const [name, query] of [
    ['role=viewer', topics],
    ['role=owner', 'topics=emails,emails,webhooks'],
    ['ada', `${topics}&team=${TEAM}`],
    ['ada', `${topics}&team=${OTHER_TEAM}`],
  ] as const) {
    const { status, headers } = await stream(name, query);
    t.equal(status, 200, `${name} ${query}`);
    const told: Record<string, string> = {};
    headers.forEach((value, field) => (told[field] = value));
    t.match(told, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-ratelimit-limit': '1200',
    });
  }
  await clock.advance(250);
});

void t.test('it tells the items of the list, each as the list shows it, and what the list shows no more', async (t) => {
  const { app, deps, world, stream, comes, send, listed } = await open(t);
  const reader = await stream('role=viewer', topics);
  const strangers = await stream('role=viewer@other', topics);
  await comes('it is open', () => reader.events.length === 1 && strangers.events.length === 1);
  t.match(reader.events, [{ event: 'open', id: /^\d+$/, data: {} }]);
  const single = await send();
  const two = await send('unlimited', {
    ...sendBody,
    to: [{ email: 'kim@example.com', name: 'Kim' }, { email: 'lee@example.com' }],
  });
  await comes('both are told', () => toldBy(reader).size === 2);
  const itemOf = async (id: string) => (await listed()).find((item) => item.id === id);
  t.same(toldBy(reader).get(single), await itemOf(single));
  t.match(toldBy(reader).get(two), { to: { email: 'kim@example.com', name: 'Kim' } });
  t.same(toldBy(reader).get(two), await itemOf(two));
  t.match(reader.events.at(-1)?.data, { queue: { depth: 3 } }, 'with the email of the founded world');

  const stored = emailStream(assertDefined(parseEmailId(two), 'email id'));
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'x', causationId: 'x', at: isoTime(deps.clock.now()) };
  await handle(
    world().deps.eventLog,
    stored,
    emailDecider,
    { type: 'EraseRecipients', at: cause.at, recipients: [0] },
    cause,
  );
  await comes('the erasure is told', () => toldBy(reader).get(two)?.to === null);
  t.same(toldBy(reader).get(two), await itemOf(two));
  t.notOk(JSON.stringify(toldBy(reader).get(two)).includes('kim@'));
  await app.inject({ method: 'DELETE', url: `/api/emails/${single}`, headers: bearer('unlimited') });
  await comes('the deletion is told', () => !toldBy(reader).has(single));
  t.equal(await itemOf(single), undefined);
  t.same(strangers.events.length, 1, 'another team is told nothing');
});

void t.test('a stream goes on after the last event that another brought, and hostile ids begin anew', async (t) => {
  const { stream, freed, comes, send } = await open(t);
  const first = await stream('role=owner', topics);
  await comes('it is open', () => first.events.length === 1);
  await send();
  await comes('it is told', () => toldBy(first).size === 1);
  const id = assertDefined(first.lastId(), 'id');
  first.close();
  const [missed, also] = [await send(), await send()];
  const resumed = await freed('role=owner', topics, { 'last-event-id': id });
  await comes('what was missed is told', () => toldBy(resumed).size === 2);
  t.match(resumed.events[0], { event: 'open', id });
  t.same([...toldBy(resumed).keys()].sort(), [missed, also].sort());
  resumed.close();
  const byQuery = await freed('role=owner', `${topics}&lastEventId=${id}`);
  await comes('also by the query', () => toldBy(byQuery).size === 2);
  byQuery.close();
  const both = await freed('role=owner', `${topics}&lastEventId=${id}`, { 'last-event-id': resumed.lastId()! });
  await comes('the header comes first', () => both.events.length > 0);
  t.match(both.events, [{ event: 'open', id: resumed.lastId() }]);
  both.close();
  const hostile = [
    '-1',
    '1e3',
    '01',
    '0x10',
    '9007199254740993',
    '99999999999999999999',
    'é',
    "1' OR 1=1",
    '1, 2',
    '{}',
  ];
  for (const given of hostile) {
    const reader = await freed('role=owner', topics, { 'last-event-id': given });
    await comes(`${given}: answered`, () => reader.events.length === 1);
    t.match(reader.events, [{ event: 'reset', id: /^\d+$/ }], given);
    reader.close();
  }
  t.match(await stream('role=owner', `${topics}&lastEventId=${'1'.repeat(101)}`), { status: 400 });
});

void t.test('two streams of a person, seven of seven; none takes the place of a call', async (t) => {
  const { app, stream, comes, send } = await open(t);
  const mine = [await stream('role=owner', topics), await stream('role=owner', 'topics=queue')];
  const third = await stream('role=owner', topics);
  t.match(third, { status: 429, refused: { code: 'RATE_LIMIT_EXCEEDED', message: /2 streams/, retryAfter: 5 } });
  t.equal(third.headers.get('retry-after'), '5');
  const calls = await Promise.all(
    Array.from({ length: 10 }, () => app.inject({ url: '/api/api-keys', headers: bearer('role=owner') })),
  );
  for (const { statusCode } of calls) t.equal(statusCode, 200);
  const names = ['role=admin', 'role=member', 'role=viewer', 'ada', 'role=admin'];
  const others = [];
  for (const name of names) others.push(await stream(name, `${topics}&team=${TEAM}`));
  const all = [mine[0]!, ...others];
  await comes('all are open', () => all.every(({ events }) => events.length === 1));
  const id = await send();
  await comes('all seven are told', () => all.every((reader) => toldBy(reader).has(id)));
  mine[1]!.close();
  await eventually('a place is free', async () => (await stream('role=owner', 'topics=queue')).status === 200);
});

void t.test('it ends with the session, with the role, and with the service', async (t) => {
  const { app, stream, comes, endLive } = await open(t);
  const owner = await stream('role=owner', topics);
  const admin = await stream('role=admin', 'topics=webhooks');
  const viewer = await stream('role=viewer', topics);
  const member = await stream('role=member', topics);
  await comes('all are open', () => [owner, admin, viewer, member].every(({ events }) => events.length === 1));
  const logout = await app.inject({ method: 'POST', url: '/api/auth/logout', headers: bearer('role=member') });
  t.equal(logout.statusCode, 200);
  await comes('it ends', member.isOver);
  t.match(member.events.at(-1), { event: 'end', data: { reason: 'no-access' } });
  t.match(await stream('role=member', topics), { status: 401, refused: { code: 'SESSION_ENDED' } });
  const removed = await app.inject({
    method: 'DELETE',
    url: `/api/teams/${TEAM}/members/${USER}`,
    headers: bearer('role=owner'),
  });
  t.equal(removed.statusCode, 200);
  await comes('it ends with the membership', viewer.isOver);
  t.match(viewer.events.at(-1), { event: 'end', data: { reason: 'no-access' } });
  t.notOk(owner.isOver());
  t.notOk(admin.isOver());
  endLive();
  await comes('all end', () => owner.isOver() && admin.isOver());
  t.match(owner.events.at(-1), { event: 'end', data: { reason: 'stopping' } });
  t.match(await stream('role=owner', topics), { status: 503, refused: { retryAfter: 5 } });
});

void t.test(
  'a role that loses the permission of a topic ends the stream, and so does the age of the session',
  async (t) => {
    const { app, clock, stream, comes } = await open(t);
    const admin = await stream('role=admin', 'topics=webhooks');
    const owner = await stream('role=owner', 'topics=webhooks');
    await comes('both are open', () => [owner, admin].every(({ events }) => events.length === 1));
    const { data } = (await app.inject({ url: `/api/teams/${TEAM}/members`, headers: bearer('role=owner') })).json<{
      data: readonly { userId: string; role: string; name: string }[];
    }>();
    const { userId } = assertDefined(
      data.find(({ name }) => name === 'role=admin'),
      'admin',
    );
    const changed = await app.inject({
      method: 'PATCH',
      url: `/api/teams/${TEAM}/members/${userId}`,
      headers: bearer('role=owner'),
      payload: { role: 'member' },
    });
    t.equal(changed.statusCode, 200);
    await comes('it ends', admin.isOver);
    t.notOk(owner.isOver());
    await clock.advance(31 * 24 * 3_600_000);
    await comes('a session that nobody refreshes', owner.isOver);
    t.match(owner.events.at(-1), { event: 'end', data: { reason: 'no-access' } });
  },
);

void t.test('a reader that takes nothing holds a bounded part of what happens', async (t) => {
  const { url, comes, stream, send, world } = await open(t);
  const path = `${url}/api/stream?${topics}`;
  const paused = await new Promise<IncomingMessage>((resolve, reject) =>
    httpRequest(path, { headers: cookieOf('role=admin') }, resolve)
      .on('error', reject)
      .end(),
  );
  paused.pause();
  const reader = await stream('role=owner', topics);
  await comes('it is open', () => reader.events.length === 1);
  for (let count = 0; count < 30; count += 1) await send();
  await comes('the other is told all', () => toldBy(reader).size === 30);
  t.ok((await world().deps.eventLog.head()) > 30);
  let text = '';
  paused.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  paused.resume();
  await comes('it is told late', () => /event: (?:changes|reset)/.test(text));
  paused.destroy();
});
