/**
 * The links of mails about accounts, on a whole service: a program that opens a link changes nothing, its form does,
 * and no key reads a link.
 */
import t, { type Test } from 'tap';
import type { LightMyRequestResponse } from 'fastify';
import type { CreatedApiKey } from '../../src/api/keys.js';
import type { SignedIn } from '../../src/api/people.js';
import { mailboxTokenOf } from '../../src/service/mailbox.js';
import { readConfig } from '../../src/service/settings/config.js';
import { firstUserToken } from '../../src/commands/people/registration.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { PASSWORD } from '../support/people.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const NOBODY = { authorization: '' };
const OTHER = 'seven otters at the weir';
const ada = { email: 'ada@example.com', password: PASSWORD, name: 'Ada Example' };

type Mail = Readonly<{ id: string; subject: string; text: string; token: string; page: string }>;

type Service = TestApp &
  Readonly<{
    /** Ada becomes the owner of the first team. */
    registerFirst: () => Promise<void>;
    /** The newest mail to that address with that subject, as whoever opened the mailbox by its link reads it. */
    mailTo: (address: string, subject: RegExp) => Promise<Mail>;
    open: (path: string) => Promise<LightMyRequestResponse>;
    fill: (path: string, form: Readonly<Record<string, string>>) => Promise<LightMyRequestResponse>;
    logIn: (email: string, password?: string) => Promise<number>;
    signedIn: (email: string, password?: string) => Promise<Readonly<{ authorization: string }>>;
  }>;

const start = async (t: Test, settings: Readonly<Record<string, string>> = {}): Promise<Service> => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ isFounded: true, dataDir, settings: { SEALPOST_TRUST_PROXY: 'true', ...settings } });
  t.teardown(app.stop);
  const link = mailboxTokenOf(readConfig({ PORT: '0', SEALPOST_DATA_DIR: dataDir }));
  const opened = await app.server.inject({ url: `/mailbox?token=${link}` });
  const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? '';
  const mailTo: Service['mailTo'] = (address, subject) =>
    eventually(`a mail to ${address}`, async () => {
      type Listed = { data: { id: string; subject: string; to: { address: string }[] }[] };
      const listed = (await app.server.inject({ url: '/mailbox/messages', headers: { cookie } })).json<Listed>();
      const found = listed.data.find((mail) => mail.to[0]?.address === address && subject.test(mail.subject));
      if (found === undefined) throw new Error('there is none');
      const { text } = (await app.server.inject({ url: `/mailbox/messages/${found.id}`, headers: { cookie } })).json<{
        text: string;
      }>();
      const [, page = '', token = ''] = /\/account\/([a-z]+)\?token=([\w-]+)/.exec(text) ?? [];
      return { id: found.id, subject: found.subject, text, token, page };
    });
  let from = 0;
  // Attempts are counted by network: each call comes from another.
  const network = () => ({ 'x-forwarded-for': `198.51.${Math.floor((from += 1) / 200)}.${(from % 200) + 1}` });
  const credentials = (email: string, password = PASSWORD) =>
    app.call<SignedIn>('POST', '/api/auth/login', { email, password }, { ...NOBODY, ...network() });
  return {
    ...app,
    registerFirst: async () => {
      const { status } = await app.call(
        'POST',
        '/api/auth/register',
        { ...ada, token: firstUserToken(app.engine.keys) },
        NOBODY,
      );
      if (status !== 201) throw new Error(`the first user was answered ${status}`);
    },
    mailTo,
    open: (path) => app.server.inject({ url: path }),
    fill: (path, form) =>
      app.server.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...network() },
        payload: new URLSearchParams(form).toString(),
      }),
    logIn: async (email, password) => (await credentials(email, password)).status,
    signedIn: async (email, password) => ({
      authorization: `Bearer ${(await credentials(email, password)).body.accessToken}`,
    }),
  };
};

const text = ({ body }: LightMyRequestResponse): string =>
  body
    .replace(/<style>.*?<\/style>/s, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

/** A link that is no longer good shows no form. */
const ended = async (t: Test, service: Service, path: string): Promise<void> => {
  const page = await service.open(path);
  t.equal(page.statusCode, 400, path.replace(/=.*/, ''));
  t.match(text(page), /This does not work This link was used before, has expired.*Ask for another link/);
  t.notMatch(page.body, /<form|<input/);
};

/** Opens the link as programs do that look into mails, in every way that is safe. */
const scan = async (t: Test, { server }: TestApp, path: string): Promise<void> => {
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    const { statusCode, headers, body } = await server.inject({ method, url: path });
    t.equal(statusCode, 200, `${method} ${path.replace(/=.*/, '')}`);
    t.match(
      headers['content-security-policy'],
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    );
    t.match(headers, { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store', 'x-frame-options': 'DENY' });
    t.equal(headers['set-cookie'], undefined);
    t.notMatch(body, /<script| on[a-z]+=|(?:src|href)="(?:https?:)?\/\//);
  }
};

void t.test('where everybody may register: register, mail, verify, sign in', async (t) => {
  const service = await start(t, { SEALPOST_REGISTRATION: 'open' });
  await service.registerFirst();
  const bea = { ...ada, email: 'bea@example.com', name: 'Bea' };
  t.equal((await service.call('POST', '/api/auth/register', bea, NOBODY)).status, 201);
  const { page, token } = await service.mailTo(bea.email, /Verify/);
  const path = `/account/${page}?token=${token}`;
  await scan(t, service, path);
  t.equal(await service.logIn(bea.email), 403, 'to look at it does nothing');
  t.equal(
    (await service.open(`/account/verify?token=${token}&utm_source=mail`)).statusCode,
    200,
    'whatever a mail program adds',
  );
  const given = { token, password: OTHER, again: OTHER };
  for (const [form, told] of [
    [{ token }, /must have at least 12/],
    [{ token, password: OTHER, again: PASSWORD }, /not the same/],
  ] as const) {
    const refused = await service.fill('/account/verify', form);
    t.equal(refused.statusCode, 400);
    t.match(text(refused), told);
    t.match(refused.body, token, 'and the form is worth another try');
  }
  t.match(text(await service.fill('/account/verify', given)), /Your address is verified/);
  t.equal(await service.logIn(bea.email), 401, "the password of a registration that may be anybody's is none");
  t.equal(await service.logIn(bea.email, OTHER), 200);
  const again = await service.fill('/account/verify', given);
  t.equal(again.statusCode, 400);
  t.match(text(again), /used before.*Ask for another link/);
  await ended(t, service, path);
  for (const cut of ['', '?token=', '?token=a%20b', `?token=${'a'.repeat(300)}`, `?token=${token}&token=${token}`])
    t.equal((await service.open(`/account/verify${cut}`)).statusCode, 404, cut.slice(0, 30));
  t.equal((await service.fill('/account/verify', {})).statusCode, 400);
});

void t.test('a forgotten password: the page that asks for the link, and the one that it leads to', async (t) => {
  const service = await start(t);
  await service.registerFirst();
  const session = await service.signedIn(ada.email);
  await scan(t, service, '/account');
  const [known, unknown] = [
    await service.fill('/account', { ask: 'password', email: ada.email }),
    await service.fill('/account', { ask: 'password', email: 'nobody@example.com' }),
  ];
  t.equal(known.statusCode, 200);
  t.equal(known.body, unknown.body, 'whether somebody has the address is not told');
  const { token } = await service.mailTo(ada.email, /password/);
  await scan(t, service, `/account/reset?token=${token}`);
  const differing = await service.fill('/account/reset', { token, password: OTHER, again: PASSWORD });
  t.equal(differing.statusCode, 400);
  t.match(text(differing), /not the same/);
  t.notMatch(differing.body, OTHER, 'no password is shown again');
  t.match(
    text(await service.fill('/account/reset', { token, password: 'password2026', again: 'password2026' })),
    /tried first/,
  );
  t.equal(await service.logIn(ada.email, OTHER), 401);
  t.match(
    text(await service.fill('/account/reset', { token, password: OTHER, again: OTHER })),
    /Your password is changed/,
  );
  t.equal(await service.logIn(ada.email), 401);
  t.equal(await service.logIn(ada.email, OTHER), 200);
  t.match(await service.call('GET', '/api/users/me', undefined, session), {
    status: 401,
    body: { code: 'SESSION_ENDED' },
  });
  t.equal(
    (await service.fill('/account/reset', { token, password: PASSWORD, again: PASSWORD })).statusCode,
    400,
    'once',
  );
  await ended(t, service, `/account/reset?token=${token}`);
  await ended(t, service, '/account/reset?token=guessed');
  await ended(t, service, `/account/reset?token=${token.slice(0, -2)}`);
  const longest = Array.from({ length: 1_024 }, (_, index) =>
    String.fromCodePoint(0x1f300 + ((index * index) % 251)),
  ).join('');
  const most = { token, password: longest, again: longest };
  t.match(text(await service.fill('/account/reset', most)), /used before/, 'the longest form is read');
  t.equal(
    (await service.fill('/account/reset', { token, password: 'x'.repeat(40_000), again: '' })).statusCode,
    400,
    'a longer one is not',
  );
});

void t.test('what is sent is the account template as it is published, and never its draft', async (t) => {
  const service = await start(t);
  await service.registerFirst();
  const slug = 'account-reset-password';
  const { body: template } = await service.call<{ schema: Record<string, unknown> }>('GET', `/api/templates/${slug}`);
  const edited = (subject: string) => {
    const schema = JSON.parse(
      JSON.stringify(template.schema).replaceAll('follow this link', 'seven otters wave: follow this link'),
    ) as unknown;
    return service.call('PATCH', `/api/templates/${slug}`, { subject, schema });
  };
  const asked = async (): Promise<Mail> => {
    t.equal((await service.fill('/account', { ask: 'password', email: ada.email })).statusCode, 200);
    return service.mailTo(ada.email, /password|otters/);
  };
  t.equal((await edited('Draft otters')).status, 200);
  t.match((await asked()).subject, /^Choose another password/, "a draft is nobody else's");
  t.equal((await edited('{{name}}, the otters have your link')).status, 200);
  t.equal((await service.call('POST', `/api/templates/${slug}/publish`)).status, 200);
  const {
    subject,
    text: body,
    token,
  } = await eventually('the edited mail', async () => {
    await asked();
    return service.mailTo(ada.email, /otters/);
  });
  t.equal(subject, 'Ada Example, the otters have your link');
  t.match(body, /seven otters wave: follow this link/);
  t.match(
    text(await service.fill('/account/reset', { token, password: OTHER, again: OTHER })),
    /Your password is changed/,
  );
});

void t.test('an invitation: a new person registers on its page, and one who has an account signs in', async (t) => {
  const service = await start(t);
  await service.registerFirst();
  const ofAda = await service.signedIn(ada.email);
  const teamId = (await firstTeam(service.engine))!;
  const invite = (email: string) =>
    service.call('POST', `/api/teams/${teamId}/invitations`, { email, role: 'member' }, ofAda);
  await invite('bea@example.com');
  const { token } = await service.mailTo('bea@example.com', /An invitation to a team/);
  await scan(t, service, `/account/invitation?token=${token}`);
  t.match(
    text(await service.open(`/account/invitation?token=${token}`)),
    /invited to First team.*Ada Example invites you.*role member/,
  );
  const form = { token, name: 'Bea <b>', password: OTHER, again: OTHER };
  t.match(text(await service.fill('/account/invitation', { ...form, name: ' ' })), /name is missing/);
  const short = await service.fill('/account/invitation', { ...form, password: 'short', again: 'short' });
  t.match(text(short), /password must have at least 12/);
  t.match(short.body, 'value="Bea &lt;b&gt;"');
  t.match(
    text(await service.fill('/account/invitation', { ...form, email: 'eve@example.com' })),
    /You are a member of First team.*bea@example.com/,
  );
  const ofBea = await service.signedIn('bea@example.com', OTHER);
  t.match((await service.call('GET', '/api/teams', undefined, ofBea)).body, { data: [{ id: teamId, role: 'member' }] });
  t.equal(await service.logIn('eve@example.com', OTHER), 401, 'who sends another address changes nothing');
  t.equal((await service.open(`/account/invitation?token=${token}`)).statusCode, 404);

  const other = await service.call<{ id: string }>(
    'POST',
    '/api/teams',
    { name: 'Other', defaultFrom: { email: 'x@example.com' } },
    ofAda,
  );
  await service.call(
    'POST',
    `/api/teams/${other.body.id}/invitations`,
    { email: 'bea@example.com', role: 'viewer' },
    ofAda,
  );
  const second = await eventually('the invitation into the other team', async () => {
    const mail = await service.mailTo('bea@example.com', /An invitation to a team/);
    t.notMatch(mail.subject, /Other|Ada/, 'nothing that people wrote stands in the subject');
    if (!/the\s+team\s+Other/.test(mail.text)) throw new Error('it is the one before');
    return mail;
  });
  const signIn = { token: second.token, password: PASSWORD };
  t.equal((await service.fill('/account/invitation', signIn)).statusCode, 401);
  t.match(text(await service.fill('/account/invitation', { ...signIn, password: OTHER })), /You are a member of Other/);
  t.equal((await service.call<{ data: unknown[] }>('GET', '/api/teams', undefined, ofBea)).body.data.length, 2);
});

void t.test('another address: the link makes the change, by its page or by the API', async (t) => {
  const service = await start(t);
  await service.registerFirst();
  const ofAda = await service.signedIn(ada.email);
  const change = (email: string, password = PASSWORD) =>
    service.call('POST', '/api/auth/email/change', { email, password }, ofAda);
  t.match(await change('ada@new.example', 'a wrong one for sure'), {
    status: 401,
    body: { code: 'INVALID_CREDENTIALS' },
  });
  t.equal((await change('ada@new.example')).status, 200);
  t.match((await service.mailTo(ada.email, /Another address/)).text, /choose\s+another\s+password\s+at\s+once/);
  const { token } = await service.mailTo('ada@new.example', /Confirm/);
  await scan(t, service, `/account/address?token=${token}`);
  for (const password of ['', OTHER]) {
    const refused = await service.fill('/account/address', { token, password });
    t.equal(refused.statusCode, 401);
    t.match(text(refused), /The password is wrong/);
  }
  t.match(text(await service.fill('/account/address', { token, password: PASSWORD })), /sign in by ada@new\.example/);
  t.strictSame([await service.logIn(ada.email), await service.logIn('ada@new.example')], [401, 200]);
  t.match(await service.call('GET', '/api/users/me', undefined, ofAda), {
    status: 200,
    body: { email: 'ada@new.example' },
  });
  t.match(await service.call('POST', '/api/auth/email/confirm', { token, password: PASSWORD }, NOBODY), {
    status: 400,
    body: { code: 'LINK_INVALID' },
  });
  await ended(t, service, `/account/address?token=${token}`);
});

void t.test('a key that reads emails of the first team reads no link, wherever it looks', async (t) => {
  const service = await start(t);
  await service.registerFirst();
  const ofAda = await service.signedIn(ada.email);
  const teamId = (await firstTeam(service.engine))!;
  await service.call('POST', `/api/teams/${teamId}/invitations`, { email: 'bea@example.com', role: 'owner' }, ofAda);
  const { id: messageId, token } = await service.mailTo('bea@example.com', /An invitation to a team/);
  const request = {
    name: 'reader',
    permissions: ['emails:read', 'privacy:manage', 'templates:read', 'analytics:read'],
  };
  const { key } = (await service.call<CreatedApiKey>('POST', '/api/api-keys', request)).body;
  await service.whenCaughtUp();
  for (const headers of [{ authorization: `Bearer ${key}` }, ofAda]) {
    const look = (path: string) => service.call<Record<string, unknown>>('GET', path, undefined, headers);
    const { data } = (await look('/api/emails?search=bea')).body as { data: { id: string }[] };
    const [email] = data;
    const record = await look(`/api/emails/${email!.id}`);
    t.match(record, {
      status: 200,
      body: { confidential: true, status: 'delivered', metadata: { variables: {}, attachments: [] } },
    });
    const timeline = await look(`/api/emails/${email!.id}/timeline`);
    const events = (timeline.body as { data: { id: string }[] }).data;
    t.ok(events.length > 2);
    const seen = [
      record,
      timeline,
      await look('/api/emails'),
      await look(`/mailbox/messages`),
      await look(`/mailbox/messages/${messageId}`),
    ];
    for (const { id } of events) seen.push(await look(`/api/emails/${email!.id}?asOf=${id}`));
    for (const part of ['raw', 'html', 'attachments/0']) {
      const answer = await look(`/mailbox/messages/${messageId}/${part}`);
      t.equal(answer.status, 404, part);
      seen.push(answer);
    }
    seen.push(await service.call('POST', '/api/privacy/export', { email: 'bea@example.com' }, headers));
    for (const { text } of seen) t.notMatch(text, token.slice(-20));
  }
});
