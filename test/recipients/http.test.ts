/** Links in mails over HTTP: tracking, unsubscribing; and the queue of reports. */
import { HtmlValidate } from 'html-validate';
import t, { type Test } from 'tap';
import { addressRateLimits } from '../../src/domain/access/rate-limits.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import { buildServer } from '../../src/http/index.js';
import { openReportQueue } from '../../src/http/recipients/feedback.js';
import { openTrackingTokens } from '../../src/domain/recipients/tracking.js';
import { unsubscribeUrl } from '../../src/commands/recipients/unsubscribe.js';
import { assertDefined, parseEmailId, parseSenderDomainId } from '../../src/domain/core/ids.js';
import { caller as owner, OTHER_TEAM } from '../support/command-world.js';
import { publish } from '../support/sender-domains.js';
import { memoryKeys } from '../support/memory-ports.js';
import type { RecipientSummary } from '../../src/api/privacy.js';
import { bearer, openServer, others, own, sendBody, TEAM, type Call } from '../http/server.js';

/** All keys in memory make the same tokens. */
const keys = memoryKeys();
const tracking = openTrackingTokens(keys);
const opened = { emailId: own.email, recipient: 0 };
const UNKNOWN = assertDefined(parseEmailId('0198f000-0000-7000-8000-0000000fffff'), 'email id');
const PIXEL = tracking.sealOpen(opened);
const LINK = tracking.sealClick({ ...opened, link: 2, url: 'https://shop.example/?a=1&b=2' });

/** The path of the link by which the recipient of an email leaves a list. */
const pathOf = (emailId = own.email): string =>
  unsubscribeUrl({ keys }, '', { teamId: TEAM, emailId, recipient: 0, address: 'jane@example.com', list: 'news' });
const LEAVE = pathOf();
const LEAVE_TOKEN = LEAVE.slice('/u/'.length);

// Pixels and links of mails: what their readers are answered, and what is noted of them.

const served = async (t: Test) => {
  const { app, calls } = await openServer(t);
  const noted = (): readonly Call[] => calls.filter(([name]) => name === 'noteSeen');
  const ask = (url: string, headers: Readonly<Record<string, string>> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url, headers: { 'user-agent': 'Mozilla/5.0 (X11)', ...headers }, remoteAddress: '192.0.2.7' });
  return { app, calls, noted, ask };
};

void t.test('a link leads where its token says, and nowhere else', async (t) => {
  const { ask, noted } = await served(t);
  const answer = await ask(`/t/c/${LINK}`);
  t.equal(answer.statusCode, 302);
  t.match(answer.headers, {
    location: 'https://shop.example/?a=1&b=2',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  t.equal(answer.body, '');
  t.match(noted(), [
    ['noteSeen', { emailId: own.email, recipient: 0, link: 2, userAgent: 'Mozilla/5.0 (X11)', ipAddress: '192.0.2.7' }],
  ]);
  for (const query of ['?url=https://evil.example', '?to=//evil.example', '?redirect=https%3A%2F%2Fevil.example'])
    t.not((await ask(`/t/c/${LINK}${query}`)).headers.location?.includes('evil'), true, query);
});

void t.test('a token that is none gets a page that says so, in words and without a script', async (t) => {
  const { ask, noted } = await served(t);
  for (const token of ['bad', `${LINK}A`, '%00', '..%2f..', 'https:%2f%2fevil.example', 'a'.repeat(3_000)]) {
    const answer = await ask(`/t/c/${token}`);
    t.equal(answer.statusCode, 404, token.slice(0, 30));
    t.match(answer.headers, {
      'content-type': /text\/html/,
      'content-security-policy':
        /^default-src 'none'; style-src 'sha256-[^' ]+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      'x-robots-tag': /noindex/,
    });
    t.match(answer.body, 'This link leads nowhere');
    t.notMatch(answer.body, /<script|evil/);
    t.equal(answer.headers.location, undefined);
  }
  t.same(noted(), []);
});

void t.test('the picture is the same for whatever token', async (t) => {
  const { ask, noted } = await served(t);
  const [good, bad] = [await ask(`/t/o/${PIXEL}`), await ask('/t/o/bad')];
  t.same([good.statusCode, bad.statusCode], [200, 200]);
  t.ok(good.rawPayload.equals(bad.rawPayload));
  t.equal(good.rawPayload.toString('latin1', 0, 6), 'GIF89a');
  t.same([good.rawPayload.readUInt16LE(6), good.rawPayload.readUInt16LE(8)], [1, 1]);
  const { 'x-request-id': _one, date: _date, ...same } = good.headers;
  const { 'x-request-id': _other, date: _later, ...others } = bad.headers;
  t.same(same, others);
  t.match(same, { 'content-type': 'image/gif', 'cache-control': 'no-store' });
  t.equal(noted().length, 1);
});

void t.test('what nobody has seen is not counted', async (t) => {
  const { ask, noted } = await served(t);
  for (const url of [`/t/o/${PIXEL}`, `/t/c/${LINK}`]) {
    const head = await ask(url, {}, 'HEAD');
    t.ok(head.statusCode === 200 || head.statusCode === 302);
    t.equal(head.body, '');
    for (const headers of [
      { purpose: 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
      { 'x-moz': 'prefetch' },
      { 'x-purpose': 'preview' },
    ])
      t.ok((await ask(url, headers as unknown as Record<string, string>)).statusCode < 400);
  }
  t.same(noted(), []);
});

void t.test('readers are answered however many come from one address; who tries tokens is not', async (t) => {
  const { ask } = await served(t);
  for (let count = 0; count < 2 * addressRateLimits.publicPerMinute; count += 1)
    if ((await ask(`/t/o/${PIXEL}`)).statusCode !== 200) t.fail(`request ${count} is not answered`);
  for (let count = 0; count < addressRateLimits.failedPerMinute; count += 1) await ask('/t/c/bad');
  t.equal((await ask('/t/c/bad')).statusCode, 429);
  t.equal((await ask(`/t/c/${LINK}`)).statusCode, 302, 'a good link leads on');
});

void t.test('the setting of the team', async (t) => {
  const { app, calls } = await served(t);
  const headers = { ...bearer('unlimited'), 'content-type': 'application/json' };
  t.same((await app.inject({ url: '/api/tracking', headers: bearer('unlimited') })).json(), {
    opens: false,
    clicks: false,
  });
  const set = await app.inject({
    method: 'PUT',
    url: '/api/tracking',
    headers,
    payload: { opens: true, clicks: false },
  });
  t.same([set.statusCode, set.json()], [200, { opens: true, clicks: false }]);
  t.same(calls.at(-1)?.[2], { opens: true, clicks: false });
  for (const payload of [{}, { opens: true }, { opens: 'yes', clicks: false }, { opens: true, clicks: true, more: 1 }])
    t.equal((await app.inject({ method: 'PUT', url: '/api/tracking', headers, payload })).statusCode, 400);
});

// The page behind the links of mails: it changes nothing by itself, its buttons and mail programs do (RFC 8058), and a
// bad link tells nothing.

const FORM = 'application/x-www-form-urlencoded';
const ONE_CLICK = 'List-Unsubscribe=One-Click';

const open = async (t: Test) => {
  const server = await openServer(t);
  const post = (payload: string, type = FORM, token = LEAVE_TOKEN) =>
    server.app.inject({ method: 'POST', url: `/u/${token}`, headers: { 'content-type': type }, payload });
  /** The look of the page is read beside what it is about. */
  const calls = (): readonly Call[] => server.calls.filter(([name]) => name !== 'brandOfPages');
  const commands = () => calls().map(([name]) => name);
  const forget = (): void => void (server.calls.length = 0);
  return { ...server, calls, forget, post, commands };
};

void t.test('GET shows a page with a button and changes nothing', async (t) => {
  const { app, commands } = await open(t);
  const page = await app.inject({ url: LEAVE });
  t.equal(page.statusCode, 200);
  t.same(commands(), ['readSubscription']);
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  t.match(
    page.headers['content-security-policy'],
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
  );
  t.match(page.headers, {
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
    'cache-control': 'no-store',
  });
  for (const name of ['set-cookie', 'location']) t.equal(page.headers[name], undefined, name);
  t.match(page.body, '<form method="post">');
  t.match(page.body, '<input type="hidden" name="List-Unsubscribe" value="One-Click">');
  t.match(page.body, 'Ann &amp; Söhne &lt;AG&gt;');
  const head = await app.inject({ method: 'HEAD', url: LEAVE });
  t.equal(head.statusCode, 200);
  t.same(new Set(commands()), new Set(['readSubscription']));
});

void t.test('POST unsubscribes by the form of RFC 8058, of either type; the page subscribes again', async (t) => {
  const { post, calls, commands } = await open(t);
  const done = await post(ONE_CLICK);
  t.equal(done.statusCode, 200);
  t.match(done.body, 'You are unsubscribed');
  t.match(done.body, 'Subscribe again');
  t.same(calls().at(-1)?.slice(0, 2), ['unsubscribe', LEAVE_TOKEN]);
  for (const name of ['set-cookie', 'location']) t.equal(done.headers[name], undefined, name);
  const multipart = [
    '--b',
    'Content-Disposition: form-data; name="List-Unsubscribe"',
    '',
    'One-Click',
    '--b--',
    '',
  ].join('\r\n');
  t.equal((await post(multipart, 'multipart/form-data; boundary=b')).statusCode, 200);
  t.equal((await post(`${ONE_CLICK}&utm=1`, `${FORM}; charset=UTF-8`)).statusCode, 200);
  t.same(commands(), ['unsubscribe', 'unsubscribe', 'unsubscribe']);
  t.match((await post('Subscribe=Again')).body, 'You are subscribed');
  t.same(commands().at(-1), 'subscribeAgain');
});

void t.test(
  'POST unsubscribes as mail programs write it: line ends, plain text, no type, no body, a slash at the end',
  async (t) => {
    const { app, post, calls, forget, commands } = await open(t);
    const part = '--b\nContent-Disposition: form-data; name="List-Unsubscribe"\n\nOne-Click\n--b--\n';
    const url = LEAVE;
    const answers = [
      await post(`${ONE_CLICK}\r\n`),
      await post(`${ONE_CLICK}\n`),
      await post(ONE_CLICK, 'text/plain;charset=UTF-8'),
      await post(part, 'multipart/form-data; boundary=b'),
      await post('', FORM),
      await app.inject({ method: 'POST', url, payload: ONE_CLICK, headers: {} }),
      await app.inject({ method: 'POST', url }),
      await app.inject({ method: 'POST', url: `${url}/`, payload: ONE_CLICK, headers: { 'content-type': FORM } }),
    ];
    t.same(
      answers.map(({ statusCode }) => statusCode),
      answers.map(() => 200),
    );
    t.same(new Set(commands()), new Set(['unsubscribe']));
    t.same(new Set(calls().map(([, token]) => token)), new Set([LEAVE_TOKEN]));
    t.equal(calls().length, answers.length);
    forget();
    for (const method of ['GET', 'HEAD'] as const)
      t.equal((await app.inject({ method, url: `${url}/` })).statusCode, 200);
    t.same(new Set(commands()), new Set(['readSubscription']), 'looking changes nothing');
  },
);

void t.test('a form that says something else changes nothing', async (t) => {
  const { app, post, commands } = await open(t);
  for (const [payload, type] of [
    ['List-Unsubscribe=Two-Clicks', FORM],
    ['unsubscribe=One-Click', FORM],
    ['{"List-Unsubscribe":"One-Click"}', 'application/json'],
    [
      '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nOne-Click\r\n--b--\r\n',
      'multipart/form-data; boundary=b',
    ],
  ] as const)
    t.equal((await post(payload, type)).statusCode, 400, payload);
  t.match((await post(`${ONE_CLICK}&${'x'.repeat(5_000)}`)).json(), { code: 'BODY_TOO_LARGE' });
  for (const method of ['PUT', 'DELETE', 'PATCH'] as const)
    t.ok((await app.inject({ method, url: LEAVE })).statusCode >= 400, method);
  t.same(commands(), []);
});

void t.test('a link that is not ours has one answer, whatever is done with it', async (t) => {
  const { app, post } = await open(t);
  const shown = await app.inject({ url: '/u/bad' });
  const answers = [shown, await post(ONE_CLICK, FORM, 'bad'), await post('Subscribe=Again', FORM, 'bad')];
  for (const { statusCode, body } of answers) t.same([statusCode, body], [404, shown.body]);
  t.match(shown.body, 'This link is not valid');
});

void t.test('a page speaks the language of the browser, else that of the mail, and its form keeps to it', async (t) => {
  const { app, post } = await open(t);
  const sent = await app.inject({
    ...{ method: 'POST', url: '/api/emails/send', headers: bearer('unlimited') },
    payload: { ...sendBody, locale: 'fr-CA' },
  });
  const FRENCH = pathOf(sent.json<{ id: typeof own.email }>().id);
  const shown = (url: string, accepted?: string) =>
    app.inject({ url, ...(accepted === undefined ? {} : { headers: { 'accept-language': accepted } }) });
  for (const [accepted, language, title] of [
    [undefined, 'en', 'Unsubscribe?'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de', 'Abmelden?'],
    ['ja, en;q=0.3, fr;q=0.7', 'fr', 'Se désabonner ?'],
    ['fr;q=0, pt-BR', 'pt', 'Cancelar a subscrição?'],
    ['AR', 'ar" dir="rtl', 'هل تريد إلغاء الاشتراك؟'],
    ['*', 'en', 'Unsubscribe?'],
    [';;q=x,-,de'.repeat(3_000), 'en', 'Unsubscribe?'],
  ] as const) {
    const { body } = await shown(LEAVE, accepted);
    t.match(body, `<html lang="${language}">`, accepted?.slice(0, 40) ?? 'no header');
    t.match(body, `<h1>${title}</h1>`);
  }
  t.match((await shown(FRENCH, undefined)).body, '<html lang="fr">', 'of the mail');
  t.match((await shown(FRENCH, 'ja')).body, '<html lang="fr">', 'the browser speaks none of ours');
  t.match((await shown(FRENCH, 'de')).body, '<html lang="de">', 'the browser goes before the mail');
  t.match(
    (await shown(FRENCH, 'de')).body,
    /E-Mails der Liste <strong>news<\/strong> von <strong>Ann &amp; Söhne &lt;AG&gt;<\/strong> mehr/,
  );
  t.match((await post(`language=pt&${ONE_CLICK}`)).body, 'A subscrição foi cancelada');
  t.match((await post(`language=xx&${ONE_CLICK}`)).body, 'You are unsubscribed');
  t.match((await shown('/u/bad', 'de')).body, 'Dieser Link ist nicht gültig');
});

void t.test('each page is HTML as it should be', async (t) => {
  const { app, post } = await open(t);
  const validator = new HtmlValidate({
    extends: ['html-validate:recommended'],
    rules: { 'doctype-style': ['error', { style: 'lowercase' }] },
  });
  const pages = [
    await app.inject({ url: LEAVE }),
    await post(ONE_CLICK),
    await post('Subscribe=Again'),
    await post(''),
    await app.inject({ url: '/u/bad' }),
  ];
  for (const { body } of pages) {
    const { results } = await validator.validateString(body);
    t.same(
      results.flatMap(({ messages }) => messages.map(({ ruleId, message, line }) => `${line} ${ruleId} ${message}`)),
      [],
    );
  }
});

// The link domain of a team.

void t.test('at the link domain of a team nothing is answered but links of its own mails', async (t) => {
  const { app, calls, world } = await openServer(t);
  const { commands, dns } = world();
  const LINKS = 'links.shop.test';
  const domain = await commands.addDomain(owner, { domain: 'shop.test' });
  const id = assertDefined(parseSenderDomainId(domain.id), 'id');
  publish(dns, await commands.setTrackingDomain(owner, id, LINKS));
  const ask = (url: string, host: string, method: 'GET' | 'POST' = 'GET') =>
    app.inject({
      ...{ method, url, headers: { host, 'user-agent': 'Mozilla/5.0 (X11)', ...bearer('full') } },
      ...(method === 'POST' ? { payload: 'List-Unsubscribe=One-Click' } : {}),
    });
  t.equal((await ask('/api/emails', LINKS)).statusCode, 200, 'before it is seen it is a name like any other');
  t.match(await commands.verifyDomain(owner, id), { status: 'verified', trackingDomain: LINKS });

  const foreign = {
    click: tracking.sealClick({ emailId: others.email, recipient: 0, link: 0, url: 'https://evil.example/' }),
    leave: unsubscribeUrl({ keys }, '', {
      ...{ teamId: OTHER_TEAM, emailId: others.email, recipient: 0 },
      ...{ address: 'jane@example.com', list: 'news' },
    }),
  };
  const noted = () => calls.filter(([name]) => name === 'noteSeen').length;
  for (const host of [LINKS, 'LINKS.Shop.test:443', 'links.shop.test.', 'links.shop.test.:443']) {
    for (const url of [
      '/',
      '/api/emails',
      '/health/live',
      '/docs',
      '/openapi.json',
      '/account',
      '/mailbox',
      '/nowhere',
      '/p/x',
    ])
      t.match((await ask(url, host)).json(), { statusCode: 404, code: 'NOT_FOUND' }, `${host}${url}`);
    t.match((await ask('/api/emails', host)).headers, { 'x-content-type-options': 'nosniff', 'x-request-id': /./ });
    t.match(await ask(`/t/c/${LINK}`, host), { statusCode: 302 });
    const before = noted();
    t.match(await ask(`/t/c/${foreign.click}`, host), { statusCode: 404, body: /leads nowhere/ });
    const unknown = tracking.sealClick({ emailId: UNKNOWN, recipient: 0, link: 0, url: 'https://evil.example/' });
    t.match(await ask(`/t/c/${unknown}`, host), { statusCode: 404 });
    t.equal((await ask(`/t/o/${tracking.sealOpen({ emailId: others.email, recipient: 0 })}`, host)).statusCode, 200);
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(noted(), before, 'nothing of another team is noted');
    t.equal((await ask(`/t/o/${PIXEL}`, host)).statusCode, 200);
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(noted(), before + 1);
    t.equal((await ask(LEAVE, host)).statusCode, 200);
    for (const method of ['GET', 'POST'] as const) t.equal((await ask(foreign.leave, host, method)).statusCode, 404);
  }
  for (const host of [
    'other.shop.test',
    'shop.test',
    'localhost',
    '127.0.0.1:3000',
    '[::1]',
    `${'a.'.repeat(200)}test`,
  ])
    t.equal((await ask('/api/emails', host)).statusCode, 200, host);
  t.match(await ask(`/t/c/${foreign.click}`, 'localhost'), { statusCode: 302 }, 'elsewhere links of all teams lead on');
});

void t.test(
  'while the owner of a name cannot be looked up, the service tells that it lives, and leads nowhere',
  async (t) => {
    const { deps } = await openServer(t);
    const linkHostOwner = async (): Promise<never> => {
      throw new StoreAway('the log does not answer');
    };
    const app = await buildServer({ ...deps, commands: { ...deps.commands, linkHostOwner } });
    t.teardown(() => app.close());
    const ask = (url: string) => app.inject({ url, headers: { host: 'sealpost.shop.internal', ...bearer('full') } });
    t.match(await ask('/health/live'), { statusCode: 200 });
    t.equal((await ask('/health/ready')).headers['retry-after'], undefined);
    for (const url of [`/t/c/${LINK}`, '/api/emails', '/health'])
      t.match((await ask(url)).json(), { statusCode: 503, code: 'STORE_AWAY' }, url);
  },
);

// Everything about one address.

void t.test(
  'one address: its emails, suppressions, unsubscribed lists and erasures, of the own team alone',
  async (t) => {
    const { app } = await openServer(t);
    const about = async (address: string, token = 'key=emails:read') => {
      const url = `/api/recipients/${encodeURIComponent(address)}`;
      const answer = await app.inject({ url, headers: bearer(token) });
      return answer.json<RecipientSummary>();
    };
    const nothing = { emails: [], emailsTotal: 0, emailsTotalIsLowerBound: false, suppressions: [], unsubscribes: [] };
    const jane = await about('JANE@Example.com');
    t.equal(jane.email, 'JANE@example.com');
    t.ok(jane.emails.some(({ id }) => id === own.email));
    t.equal(jane.emailsTotal, jane.emails.length);
    t.notOk(jane.emails.some(({ id }) => id === others.email));
    t.match(
      jane.emails.find(({ id }) => id === own.email),
      { to: { email: 'jane@example.com' } },
    );
    t.same([jane.suppressions, jane.unsubscribes, jane.erasures], [[], [], []]);

    const left = await app.inject({ method: 'POST', url: LEAVE, payload: 'List-Unsubscribe=One-Click' });
    t.equal(left.statusCode, 200);
    t.match((await about('jane@example.com')).unsubscribes, [{ email: 'jane@example.com', list: 'news' }]);

    t.match(await about('gone@example.com'), { suppressions: [{ id: own.suppression, reason: 'manual', list: null }] });
    t.match(await about('erased@example.com'), {
      ...nothing,
      erasures: [{ id: own.erasure, requestedAt: String, completedAt: null }],
    });
    t.strictSame(await about('nobody@example.com'), { email: 'nobody@example.com', ...nothing, erasures: [] });
    t.match(await about('erased@example.com', 'role=owner@other'), { erasures: [{ id: others.erasure }] });
    t.match(await about('jane'), { statusCode: 400, code: 'ERR_EMAIL_001', errors: [{ field: 'address' }] });
    t.match(await about(`${'a'.repeat(600)}@example.com`), { statusCode: 400 });
  },
);

// The queue of reports: its order, its bounds, and callers that go away.

const bounds = { reportsAtOnceMax: 2, reportsWaitingMax: 3, teamReportsWaitingMax: 2 };

void t.test('reports wait for their turn in order, up to the bounds of the queue and of one team', async (t) => {
  const queue = openReportQueue(bounds);
  const begun: string[] = [];
  const enter = (name: string, team: string) => {
    const place = queue.enter(team);
    void place?.turn.then(() => begun.push(name));
    return place;
  };
  const [first, second] = [enter('1', 'a'), enter('2', 'a')];
  enter('3', 'a');
  const fourth = enter('4', 'a');
  t.equal(enter('5', 'a'), undefined, 'the team has two that wait');
  enter('6', 'b');
  t.equal(enter('7', 'c'), undefined, 'three wait');
  await Promise.resolve();
  t.same(begun, ['1', '2']);
  fourth?.left();
  t.not(enter('8', 'a'), undefined, 'one that went away makes room');
  first?.left();
  first?.left();
  await Promise.resolve();
  t.same(begun, ['1', '2', '3'], 'leaving twice gives one turn');
  second?.left();
  await Promise.resolve();
  t.same(begun, ['1', '2', '3', '6']);
});
