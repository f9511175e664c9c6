/** The audit log over HTTP: who is let in, what it is told of reads and refusals, and from where. */
import t from 'tap';
import { NO_TEAM } from '../../src/domain/core/ids.js';
import {
  AUDIT_ENTRY,
  bearer,
  BOUND_KEY_ID,
  KEY_ID,
  OAUTH_GRANT,
  openServer,
  others,
  own,
  OWNER,
  sendBody,
  TEAM,
  USER,
} from '../http/server.js';

const EMAIL = own.email;

void t.test('owners and admins read it; a viewer, a member, a key, an app and strangers do not', async (t) => {
  const { app } = await openServer(t);
  const statuses = async (url: string): Promise<readonly number[]> => {
    const found: number[] = [];
    for (const token of [
      'role=owner',
      'role=admin',
      'role=member',
      'role=viewer',
      'key=emails:read',
      'scope=profile:read',
      'nobody',
    ])
      found.push((await app.inject({ url, headers: { ...bearer(token), 'x-team-id': TEAM } })).statusCode);
    return found;
  };
  for (const url of ['/api/audit-logs', `/api/audit-logs/${AUDIT_ENTRY}`, '/api/audit-logs/export'])
    t.strictSame(await statuses(url), [200, 200, 403, 403, 403, 403, 404], url);
  const foreign = await app.inject({ url: `/api/audit-logs/${AUDIT_ENTRY}`, headers: bearer('role=owner@other') });
  t.match(foreign.json(), { statusCode: 404, code: 'AUDIT_ENTRY_NOT_FOUND' }, 'that of another team');
  const unknown = await app.inject({ url: `/api/audit-logs/${EMAIL}`, headers: bearer('role=owner') });
  t.strictSame({ ...foreign.json(), path: '', requestId: '' }, { ...unknown.json(), path: '', requestId: '' });
});

void t.test('filters are read as they stand in the query, and what is none is refused', async (t) => {
  const { app, calls } = await openServer(t);
  const query = `category=oauth&action=grant.given&actorType=user&actor=${OWNER}&targetType=grant&target=${OAUTH_GRANT}&result=success&from=2029-12-31&to=2030-01-01T14:00:00%2B01:00&limit=5`;
  const answer = await app.inject({ url: `/api/audit-logs?${query}`, headers: bearer('role=admin') });
  t.equal(answer.statusCode, 200);
  t.match(answer.json().data, [{ scope: 'team', target: { id: OAUTH_GRANT }, network: null, agent: null }]);
  t.equal(answer.json().data.length, 1);
  t.strictSame(calls.find(([name]) => name === 'listAudit')?.slice(1), [
    TEAM,
    {
      category: 'oauth',
      action: 'grant.given',
      actorType: 'user',
      actorId: OWNER,
      targetType: 'grant',
      targetId: OAUTH_GRANT,
      result: 'success',
      from: '2029-12-31T00:00:00.000Z',
      to: '2030-01-01T13:00:00.000Z',
    },
    { page: 1, limit: 5 },
  ]);
  for (const bad of [
    'category=mails',
    'from=soon',
    'limit=101',
    'colour=red',
    `actor=${'x'.repeat(300)}`,
    'result=maybe',
  ])
    t.equal((await app.inject({ url: `/api/audit-logs?${bad}`, headers: bearer('role=admin') })).statusCode, 400, bad);
});

void t.test('reads of content and refusals are told, a mail that is sent is not', async (t) => {
  const { app, audited } = await openServer(t);
  const ask = (method: 'GET' | 'POST' | 'DELETE', url: string, token: string, payload?: object) =>
    app.inject({ method, url, headers: bearer(token), ...(payload === undefined ? {} : { payload }) });
  await ask('POST', '/api/emails/send', 'full', sendBody);
  await ask('GET', '/api/emails', 'role=viewer');
  await ask('GET', `/api/emails/${others.email}`, 'role=viewer');
  t.strictSame(audited, [], 'neither that, nor a list, nor what is not there');
  await ask('GET', `/api/emails/${EMAIL}`, 'role=viewer');
  await ask('GET', `/api/emails/${EMAIL}/timeline`, 'full');
  await ask('DELETE', `/api/emails/${EMAIL}`, 'role=admin');
  await ask('POST', '/api/api-keys', 'role=viewer', {});
  await ask('POST', '/api/emails/send', 'key=emails:read', sendBody);
  t.match(audited, [
    [
      'read',
      { teamId: TEAM, actor: `user:${USER}`, ipAddress: '127.0.0.1', userAgent: 'lightMyRequest' },
      'email.read',
      `email:${EMAIL}`,
    ],
    ['read', { actor: `apiKey:${KEY_ID}` }, 'email.timeline_read', `email:${EMAIL}`],
    ['read', { actor: /^user:/ }, 'email.deleted', `email:${EMAIL}`],
    ['denied', { teamId: TEAM, actor: `user:${USER}` }, 'POST /api/api-keys', 'FORBIDDEN', null],
    ['denied', { actor: /^apiKey:key_/ }, 'POST /api/emails/send', 'FORBIDDEN', null],
  ]);
  t.equal(audited.length, 5);
  await ask('GET', '/api/recipients/jane%40example.com', 'role=viewer');
  t.match(audited.slice(5), [['read', { actor: `user:${USER}` }, 'recipient.read', /^recipient:[0-9a-f-]{36}$/]]);
  t.notMatch(JSON.stringify(audited), /jane/);
});

void t.test('a key from a network that it may not come from, and a person whose sign-in fails', async (t) => {
  const { app, audited } = await openServer(t);
  await app.inject({ url: `/api/emails/${EMAIL}`, headers: bearer('bound') });
  t.match(audited, [
    [
      'denied',
      { teamId: TEAM, actor: `apiKey:${BOUND_KEY_ID}` },
      'GET /api/emails/:id',
      'API_KEY_NETWORK_NOT_ALLOWED',
      null,
    ],
  ]);
  const login = (email: string) =>
    app.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password: 'wrong wrong wrong' } });
  const nobody = await login('not.here@example.com');
  t.equal(audited.length, 1, 'nobody is told of where nobody is known');
  const somebody = await login('role.viewer@example.com');
  t.match(audited[1], [
    'denied',
    { teamId: NO_TEAM, actor: `user:${USER}` },
    'POST /api/auth/login',
    'INVALID_CREDENTIALS',
    null,
  ]);
  t.strictSame(
    { ...somebody.json(), requestId: '' },
    { ...nobody.json(), requestId: '' },
    'the answer says nothing of it',
  );
  await app.inject({ url: '/api/emails', headers: bearer('revoked') });
  t.equal(audited.length, 2);
});

void t.test('X-Forwarded-For is believed of trusted proxies alone', async (t) => {
  const headers = {
    ...bearer('role=viewer'),
    'x-forwarded-for': '203.0.113.66',
    'user-agent': `evil\u0085${'x'.repeat(9_000)}`,
  };
  const seen = async (trustProxy: boolean | readonly string[]): Promise<unknown> => {
    const { app, audited } = await openServer(t, { settings: { trustProxy } });
    await app.inject({ url: `/api/emails/${EMAIL}`, headers });
    const { ipAddress, userAgent } = audited[0]![1] as Readonly<Record<string, string>>;
    t.equal(userAgent?.length, 256);
    t.notMatch(userAgent, /\p{C}/u);
    return ipAddress;
  };
  t.equal(await seen(false), '127.0.0.1');
  t.equal(await seen(['198.51.100.0/24']), '127.0.0.1');
  t.equal(await seen(['127.0.0.1']), '203.0.113.66');
});

void t.test('no more exports than two at once, and each is noted', async (t) => {
  const made = await openServer(t);
  const { app, calls, audited } = made;
  const url = '/api/audit-logs/export?format=csv&from=2029-12-01';
  const answer = await app.inject({ url, headers: bearer('role=owner') });
  t.match(answer.headers, { 'content-type': /^text\/csv/, 'content-disposition': /audit-log\.csv/ });
  t.match(
    calls.find(([name]) => name === 'recordAuditExport'),
    ['recordAuditExport', { teamId: TEAM }, { format: 'csv', from: '2029-12-01T00:00:00.000Z' }],
  );
  t.match(audited, [['read', { teamId: TEAM }, 'audit_log.export_begun', null]]);
  for (let n = 0; n < 4; n += 1) await app.inject({ url, headers: bearer('role=owner') });
  t.equal(
    (await app.inject({ url, headers: bearer('role=admin') })).statusCode,
    200,
    'the place of one that has ended is free',
  );
});
