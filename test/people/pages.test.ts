/** The pages about accounts in the languages of their readers, and in the look of the team. */
import { HtmlValidate } from 'html-validate';
import t from 'tap';
import { words as appWords } from '../../src/http/apps/texts.js';
import { filledIn, isTold, words } from '../../src/http/people/texts.js';
import { pageLanguages } from '../../src/http/server/forms.js';
import { bearer, INVITATION_TOKEN, openServer, OTHER_TEAM } from '../http/server.js';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Tree = Readonly<{ [name: string]: string | Tree | undefined }>;

/** The texts of a language by their paths. */
const flat = (tree: Tree, path = ''): readonly (readonly [string, string])[] =>
  Object.entries(tree).flatMap(([name, value]) =>
    value === undefined
      ? []
      : typeof value === 'string'
        ? [[`${path}${name}`, value] as const]
        : flat(value, `${path}${name}.`),
  );

const namesIn = (text: string): readonly string[] => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted();

void t.test('every language has each text, with the same names to fill in, and none is left in English', (t) => {
  for (const catalogue of [words, appWords] as unknown as readonly Readonly<Record<string, Tree>>[]) {
    const english = new Map(flat(catalogue['en'] ?? {}));
    for (const language of pageLanguages) {
      const own = flat(catalogue[language] ?? {});
      for (const [path, text] of own) {
        const source = english.get(path);
        t.not(text.trim(), '', `${language} ${path}`);
        if (source === undefined) t.ok(path.startsWith('faults.'), `${language} ${path}`);
        else {
          t.same(namesIn(text), namesIn(source), `${language} ${path}`);
          if (language !== 'en' && !/^scopes|name/i.test(path)) t.not(text, source, `${language} ${path}`);
        }
      }
      t.same(
        own.map(([path]) => path).filter((path) => !path.startsWith('faults.')),
        [...english.keys()].filter((path) => !path.startsWith('faults.')),
      );
    }
  }
  t.same([isTold('LINK_INVALID'), isTold('NOT_FOUND')], [true, false]);
  t.equal(filledIn('de', 'Weiter zu {provider}', { provider: '{email} $&' }), 'Weiter zu {email} $&');
  t.equal(filledIn('ar', '{provider}', { provider: 'Ö' }), '\u2068Ö\u2069');
  t.end();
});

void t.test('each page is in the language of the browser', async (t) => {
  const { app } = await openServer(t);
  const validator = new HtmlValidate({
    extends: ['html-validate:recommended'],
    rules: { 'doctype-style': ['error', { style: 'lowercase' }] },
  });
  const ask = (url: string, language: string, payload?: string) =>
    app.inject({
      url,
      ...(payload === undefined ? {} : { method: 'POST' as const, payload }),
      headers: { 'accept-language': language, ...(payload === undefined ? {} : FORM) },
    });
  const invitation = `/account/invitation?token=${INVITATION_TOKEN}`;
  for (const language of pageLanguages) {
    const said = words[language];
    const pages = [
      [await ask('/account', language), 200, [said.account, said.forgotten, said.email]],
      [
        await ask('/account', language, `ask=password&email=kim-${language}%40example.com`),
        200,
        [said.lookIntoMails, said.onlyNewest],
      ],
      [await ask('/account/verify', language), 404, [said.notWhole, said.askAnother]],
      [await ask('/account/reset?token=gone', language), 400, [said.doesNotWork]],
      [await ask(invitation, language), 200, [said.hasAccount, said.signInAndJoin, said.notKnown]],
      [await ask('/account/link/nobody', language), 404, [said.notSignedIn, said.beginAnew]],
    ] as const;
    for (const [{ statusCode, body }, status, texts] of pages) {
      t.equal(statusCode, status, `${language} ${texts[0]}`);
      t.match(body, language === 'ar' ? '<html lang="ar" dir="rtl">' : `<html lang="${language}">`);
      for (const text of texts) t.ok(body.includes(text.replaceAll("'", '&#39;')), `${language}: ${text}`);
      const { results } = await validator.validateString(body);
      t.same(
        results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => `${ruleId} ${message}`)),
        [],
      );
    }
    const { faults } = said;
    if (faults !== undefined) {
      t.match(pages[3][0].body, faults.LINK_INVALID, language);
      t.match(pages[5][0].body, faults.SIGN_IN_PROVIDER_UNKNOWN, language);
      const wrong = await ask('/account/invitation', language, `token=${INVITATION_TOKEN}&password=a+wrong+one`);
      t.ok(
        [faults.INVALID_CREDENTIALS, faults.LOGIN_PAUSED].some((text) => wrong.body.includes(text)),
        `${language} ${wrong.statusCode}`,
      );
    }
  }
  t.match((await ask('/account', 'ja')).body, '<html lang="en">');
});

void t.test('the page of an invitation has the look of its team', async (t) => {
  const { app } = await openServer(t);
  await app.inject({
    method: 'PATCH',
    url: `/api/teams/${OTHER_TEAM}`,
    headers: bearer('role=owner@other'),
    payload: { brand: { accent: '#0044cc' }, company: { name: 'Ann & Söhne <AG>', email: 'hello@shop.example' } },
  });
  const { body, headers } = await app.inject({ url: `/account/invitation?token=${INVITATION_TOKEN}` });
  t.match(body, '<p class="brand">Ann &amp; Söhne &lt;AG&gt;</p>');
  t.match(body, 'hello@shop.example</div></footer>');
  t.match(headers['content-security-policy'], /style-src 'sha256-[^']+' 'sha256-[^']+'/);
});
