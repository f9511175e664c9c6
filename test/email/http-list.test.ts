/** The list of emails over HTTP: emails of a template, by its id or slug. */
import t from 'tap';
import { bearer, openServer, own, sendBody } from '../http/server.js';

void t.test('emails are found by the id or the slug of their template', async (t) => {
  const { app } = await openServer(t);
  const ask = async (path: string, token = 'role=owner') =>
    (await app.inject({ url: `/api/emails${path}`, headers: bearer(token) })).json();
  const content = { subject: 'Hi', html: '<p>Hi</p>' };
  for (const payload of [sendBody, { to: sendBody.to, content }])
    await app.inject({ method: 'POST', url: '/api/emails/send', headers: bearer('unlimited'), payload });
  const ids = async (query: string, token?: string): Promise<readonly string[]> =>
    (await ask(`?${query}`, token)).data.map(({ templateId }: Readonly<{ templateId: string }>) => templateId);
  const all = await ids('limit=100');
  const { id } = own.template;
  const ofTemplate = all.filter((one) => one === id);
  t.ok(ofTemplate.length > 0 && ofTemplate.length < all.length, 'the team has emails of other templates, too');
  t.same(await ids(`templateId=${id}`), ofTemplate);
  t.same(await ids('templateId=welcome'), ofTemplate);
  t.same(await ids('templateId=no-such-template'), []);
  t.same(
    await ids('templateId=inline'),
    all.filter((one) => one === 'inline'),
  );
  const sum = async (query: string): Promise<number> =>
    (Object.values((await ask(`/counts?${query}`)).counts) as readonly number[]).reduce((total, one) => total + one, 0);
  t.equal(await sum('templateId=welcome'), ofTemplate.length);
  t.equal(await sum('templateId=no-such-template'), 0);
  const others = await ids('templateId=welcome', 'role=owner@other');
  t.notOk(others.includes(id), 'the slug is that of the team that asks');
  for (const bad of ['Welcome%20mail', 'a_b', '-a', 'x'.repeat(101), 'kim%40example.com'])
    t.match(await ask(`?templateId=${bad}`), { statusCode: 400, code: 'VALIDATION_ERROR' }, bad);
});
