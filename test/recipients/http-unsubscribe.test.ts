/**
 * The page behind the links of mails: it changes nothing by itself, its buttons and mail programs do (RFC 8058), and a
 * bad link tells nothing.
 */
import { HtmlValidate } from 'html-validate';
import t, { type Test } from 'tap';
import { fakeServer } from '../http/fakes.js';

const FORM = 'application/x-www-form-urlencoded';
const ONE_CLICK = 'List-Unsubscribe=One-Click';

const open = async (t: Test) => {
  const server = await fakeServer();
  t.teardown(() => server.app.close());
  const post = (payload: string, type = FORM, token = 'a-token_1') =>
    server.app.inject({ method: 'POST', url: `/u/${token}`, headers: { 'content-type': type }, payload });
  const commands = () => server.calls.map(([name]) => name);
  return { ...server, post, commands };
};

void t.test('GET shows a page with a button and changes nothing', async (t) => {
  const { app, commands } = await open(t);
  const page = await app.inject({ url: '/u/a-token_1' });
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
  const head = await app.inject({ method: 'HEAD', url: '/u/a-token_1' });
  t.equal(head.statusCode, 200);
  t.same(new Set(commands()), new Set(['readSubscription']));
});

void t.test('POST unsubscribes by the form of RFC 8058, of either type; the page subscribes again', async (t) => {
  const { post, calls, commands } = await open(t);
  const done = await post(ONE_CLICK);
  t.equal(done.statusCode, 200);
  t.match(done.body, 'You are unsubscribed');
  t.match(done.body, 'Subscribe again');
  t.same(calls.at(-1)?.slice(0, 2), ['unsubscribe', 'a-token_1']);
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
    const { app, post, calls, commands } = await open(t);
    const part = '--b\nContent-Disposition: form-data; name="List-Unsubscribe"\n\nOne-Click\n--b--\n';
    const url = '/u/a-token_1';
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
    t.same(new Set(calls.map(([, token]) => token)), new Set(['a-token_1']));
    t.equal(calls.length, answers.length);
    calls.length = 0;
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
    t.ok((await app.inject({ method, url: '/u/a-token_1' })).statusCode >= 400, method);
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
  const shown = (token: string, accepted?: string) =>
    app.inject({ url: `/u/${token}`, ...(accepted === undefined ? {} : { headers: { 'accept-language': accepted } }) });
  for (const [accepted, language, title] of [
    [undefined, 'en', 'Unsubscribe?'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de', 'Abmelden?'],
    ['ja, en;q=0.3, fr;q=0.7', 'fr', 'Se désabonner ?'],
    ['fr;q=0, pt-BR', 'pt', 'Cancelar a subscrição?'],
    ['AR', 'ar" dir="rtl', 'هل تريد إلغاء الاشتراك؟'],
    ['*', 'en', 'Unsubscribe?'],
    [';;q=x,-,de'.repeat(3_000), 'en', 'Unsubscribe?'],
  ] as const) {
    const { body } = await shown('a-token_1', accepted);
    t.match(body, `<html lang="${language}">`, accepted?.slice(0, 40) ?? 'no header');
    t.match(body, `<h1>${title}</h1>`);
  }
  t.match((await shown('french', undefined)).body, '<html lang="fr">', 'of the mail');
  t.match((await shown('french', 'ja')).body, '<html lang="fr">', 'the browser speaks none of ours');
  t.match((await shown('french', 'de')).body, '<html lang="de">', 'the browser goes before the mail');
  t.match(
    (await shown('french', 'de')).body,
    /E-Mails der Liste <strong>news<\/strong> von <strong>Ann &amp; Söhne &lt;AG&gt;<\/strong> mehr/,
  );
  t.match((await post(`language=pt&${ONE_CLICK}`)).body, 'A subscrição foi cancelada');
  t.match((await post(`language=xx&${ONE_CLICK}`)).body, 'You are unsubscribed');
  t.match((await shown('bad', 'de')).body, 'Dieser Link ist nicht gültig');
});

void t.test('each page is HTML as it should be', async (t) => {
  const { app, post } = await open(t);
  const validator = new HtmlValidate({
    extends: ['html-validate:recommended'],
    rules: { 'doctype-style': ['error', { style: 'lowercase' }] },
  });
  const pages = [
    await app.inject({ url: '/u/x' }),
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
