/**
 * A whole service behind a proxy that serves it below /mail: a session in cookies, and the links of mails, all by the
 * public URL alone.
 */
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { firstUserToken } from '../../src/commands/people/registration.js';
import { mailsIn } from '../support/account-world.js';
import { startTestApp } from '../support/app.js';
import { PASSWORD } from '../support/people.js';
import { prefixProxy } from '../support/prefix-proxy.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const ada = { email: 'ada@example.com', password: PASSWORD };

await t.test('a browser signs in, reads and changes, and follows the links of mails', async (t) => {
  const { publicUrl, missed, leadTo } = await prefixProxy(t);
  const app = await startTestApp({
    isFounded: true,
    dataDir: t.testdir(),
    settings: { SEALPOST_PUBLIC_URL: publicUrl, SEALPOST_SMTP_URL: 'mailbox:' },
  });
  t.teardown(() => app.stop());
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  leadTo((app.server.server.address() as AddressInfo).port);

  const cookies = new Map<string, string>();
  const { port, origin } = new URL(publicUrl);
  const browse = async (method: string, url: string, body?: object | URLSearchParams): Promise<Response> => {
    const isForm = body instanceof URLSearchParams;
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        accept: isForm ? 'text/html' : 'application/json',
        ...(cookies.size === 0 ? {} : { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }),
        ...(method === 'GET' ? {} : { origin, 'x-csrf-token': cookies.get(`sealpost_csrf_${port}_mail`) ?? '' }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    for (const line of answer.headers.getSetCookie()) {
      t.match(line, /; Path=\/mail\//, line);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return answer;
  };
  const call = (method: string, path: string, body?: object) => browse(method, `${publicUrl}${path}`, body);

  const token = firstUserToken(app.engine.keys);
  t.equal((await call('POST', '/api/auth/register', { ...ada, name: 'Ada', token })).status, 201);
  t.equal((await call('POST', '/api/auth/login', { ...ada, session: 'cookie' })).status, 200);
  t.strictSame(
    [...cookies.keys()].sort(),
    ['access', 'csrf', 'refresh'].map((use) => `sealpost_${use}_${port}_mail`),
  );
  t.equal((await call('GET', '/api/emails')).status, 200);
  t.equal((await call('PATCH', '/api/users/me', { name: 'Ada E.' })).status, 200);
  t.equal((await call('POST', '/api/auth/refresh')).status, 200);

  const template = {
    slug: 'offers',
    name: 'Offers',
    subject: 'Offers',
    unsubscribeList: 'offers',
    publish: true,
    schema: {
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            {
              id: 'text',
              type: 'rich-text',
              content:
                '<p><a href="https://shop.example.com/a">Shop</a> <a href="{{__UNSUBSCRIBE_URL__}}">Stop</a></p>',
            },
          ],
        },
      ],
    },
  };
  t.equal((await call('POST', '/api/templates', template)).status, 201);
  const sent = await call('POST', '/api/emails/send', {
    templateId: 'offers',
    to: [{ email: 'bob@example.org' }],
    variables: {},
    tracking: { opens: true, clicks: true },
  });
  t.equal(sent.status, 201);
  const { id } = (await sent.json()) as { id: string };
  await app.whenStatus(id, 'delivered');
  const source = await browse('GET', `${publicUrl}/mailbox?token=${app.mailboxToken}`);
  t.equal(source.headers.get('location'), '/mail/mailbox');
  const { data } = (await (await call('GET', '/mailbox/messages?limit=1')).json()) as { data: { id: string }[] };
  const mail = (await (await call('GET', `/mailbox/messages/${data[0]!.id}`)).json()) as { html: string };
  const links = [...mail.html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );
  t.ok(links.length >= 3, links.join(' '));
  for (const link of links) t.ok(link.startsWith(`${publicUrl}/`), link);
  const answers = await Promise.all(links.map((link) => browse('GET', link)));
  t.ok(
    answers.some((answer) => answer.headers.get('location') === 'https://shop.example.com/a'),
    'the tracked link',
  );
  t.ok(
    answers.some((answer) => answer.headers.get('content-type') === 'image/gif'),
    'the pixel',
  );
  const unsubscribe = links.find((link) => link.startsWith(`${publicUrl}/u/`)) ?? '';
  t.equal((await browse('POST', unsubscribe, new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }))).status, 200);

  t.equal((await call('POST', '/api/auth/password/forgot', { email: ada.email })).status, 200);
  const { token: reset } = await eventually('the mail with the link', async () =>
    (await mailsIn(app.engine.eventLog)).find(({ page }) => page === 'reset'),
  );
  const page = await (await browse('GET', `${publicUrl}/account/reset?token=${reset}`)).text();
  const action = /action="([^"]+)"/.exec(page)?.[1];
  t.equal(action, '/mail/account/reset');
  const form = new URLSearchParams({ token: reset, password: 'two herons on a roof', again: 'two herons on a roof' });
  t.match(await (await browse('POST', `${origin}${action}`, form)).text(), /Your password is changed/);
  t.equal((await call('POST', '/api/auth/login', { ...ada, password: 'two herons on a roof' })).status, 200);
  t.strictSame(missed, [], 'nothing leads outside of /mail');

  const unstripped = await app.call('GET', '/mail/api/emails');
  t.match(unstripped, { status: 404, body: { code: 'NOT_FOUND', message: /the proxy must remove \/mail/ } });
});
