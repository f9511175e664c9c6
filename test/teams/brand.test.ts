/** The brand of a team: its rules, its constants in templates, and the pages of the service that show it. */
import { HtmlValidate } from 'html-validate';
import t, { type Test } from 'tap';
import { unsubscribeUrl } from '../../src/commands/recipients/unsubscribe.js';
import { emailStream, teamStream } from '../../src/domain/core/ids.js';
import { hexContrast, mixedHex } from '../../src/domain/rendering/contrast.js';
import type { Brand } from '../../src/domain/rendering/scope/constants.js';
import { contrastsOf, footOf } from '../../src/domain/teams/brand.js';
import { teamDecider, type TeamChanges } from '../../src/domain/teams/decider.js';
import type { TeamEvent } from '../../src/domain/teams/events.js';
import { companyOf, emptyCompany, evolveTeam, type TeamState } from '../../src/domain/teams/state.js';
import { T0 } from '../support/email-facts.js';
import { specs } from '../support/given.js';
import { memoryKeys } from '../support/memory-ports.js';
import { company, environment, renderTemplate, templateOf } from '../support/rendering.js';
import { bearer, openServer, others, own, sendBody, TEAM } from '../http/server.js';

const settings = { name: 'Shop', defaultFrom: { email: 'hello@example.com' }, company: emptyCompany };
const made: TeamEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } };
const branded = (brand: Brand): TeamEvent => ({
  type: 'TeamBrandChanged',
  data: { at: T0, ...brand },
});
const change = (brand: TeamChanges['brand'], more: TeamChanges = {}) => ({
  type: 'ChangeTeam' as const,
  at: T0,
  by: 'operator' as const,
  changes: { ...more, ...(brand === undefined ? {} : { brand }) },
});

// Rules.

void t.test('a brand is changed part by part, in small letters, and nothing is said twice', (t) => {
  const { given } = specs(teamDecider)(t);
  given(made)
    .when(change({ accent: '#7C3AED' }))
    .then(branded({ accent: '#7c3aed' }));
  const purple = given(made, branded({ accent: '#7c3aed', logo: 'a' }));
  purple.when(change({ accent: '#7c3aed' })).nothing();
  purple.when(change({})).nothing();
  purple.when(change({ text: '#000000' })).then(branded({ logo: 'a', accent: '#7c3aed', text: '#000000' }));
  purple.when(change({ logo: null, accent: null })).then(branded({}));
  given(made)
    .when(change({ logo: null }))
    .nothing();
  const both = given(made).when(change({ accent: '#7c3aed' }, { name: 'Bazaar' }));
  both.then(
    { type: 'TeamSettingsChanged', data: { at: T0, settings: { ...settings, name: 'Bazaar' } } },
    branded({ accent: '#7c3aed' }),
  );
  t.end();
});

void t.test('a text that cannot be read on its background is refused, an accent is not', (t) => {
  const { given } = specs(teamDecider)(t);
  const refused = (brand: TeamChanges['brand']): void =>
    void given(made).when(change(brand)).refused('VALIDATION_ERROR');
  refused({ text: '#777777' });
  refused({ background: '#1f2937' });
  refused({ text: '#ffffff' });
  given(made)
    .when(change({ text: '#ffffff', background: '#000000' }))
    .then(branded({ background: '#000000', text: '#ffffff' }));
  given(made)
    .when(change({ accent: '#ffff00' }))
    .then(branded({ accent: '#ffff00' }));
  const dark = given(made, branded({ background: '#111111', text: '#ffffff' }));
  t.match(dark.when(change({ text: null })).refused('VALIDATION_ERROR').details.errors, [
    { field: 'brand.text', message: /has a contrast of 1\.2:1 to the background/ },
  ]);
  t.strictSame(contrastsOf({}), { text: 14.6, accent: 5.4 });
  t.strictSame(contrastsOf({ text: '#777777' }), { text: 4.4, accent: 5.4 }, '4.47 is not told as 4.5');
  t.equal(hexContrast('#000000', '#ffffff'), 21);
  t.same([mixedHex('#000000', '#ffffff', 0.5), mixedHex('#102030', '#102030', 1)], ['#808080', '#102030']);
  t.end();
});

void t.test('a brand is part of the revision of the team, and none leaves no trace', (t) => {
  const after = (...events: readonly TeamEvent[]): TeamState => events.reduce(evolveTeam, undefined as TeamState);
  t.match(after(made, branded({ accent: '#7c3aed' })), { revision: 2, brand: { accent: '#7c3aed' } });
  t.strictSame(after(made, branded({ accent: '#7c3aed' }), branded({})), { ...after(made), revision: 3 });
  t.strictSame(companyOf(undefined), emptyCompany);
  t.strictSame(companyOf(after(made)), emptyCompany);
  t.strictSame(companyOf(after(made, branded({ text: '#000000' }))), { ...emptyCompany, text: '#000000' });
  t.equal(evolveTeam(undefined, branded({})), undefined);
  t.strictSame(footOf(emptyCompany), []);
  t.strictSame(footOf({ ...company, state: '' }), [
    'Northwind Coffee Lda., Rua do Sol 3, 1200-001 Lisboa, Portugal',
    'hello@northwind.example',
  ]);
  t.end();
});

// Constants.

void t.test('templates name the logo and the colours, and have defaults without them', (t) => {
  const LOGO = '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21';
  const template = templateOf([
    { id: 'logo', type: 'image', props: { src: '{{__BRAND_LOGO__}}', alt: 'Logo', hideWhenEmpty: true } },
    {
      id: 'colors',
      type: 'rich-text',
      content: '<p>{{__BRAND_ACCENT__}} {{__BRAND_BACKGROUND__}} {{__BRAND_TEXT__}}</p>',
    },
    {
      id: 'go',
      type: 'button',
      content: 'Go',
      props: { href: 'https://example.com', backgroundColor: '{{__BRAND_ACCENT__}}' },
    },
  ]);
  const plain = renderTemplate(template);
  t.match(plain.text, '#0f766e #ffffff #1f2937');
  t.same(plain.inline, []);
  const brand = { logo: LOGO, accent: '#7c3aed', background: '#fffbeb', text: '#1e1b4b' };
  const shown = renderTemplate(template, {}, { environment: { ...environment, company: { ...company, ...brand } } });
  t.match(shown.text, '#7c3aed #fffbeb #1e1b4b');
  t.match(shown.html, 'background-color:#7c3aed');
  t.match(shown.inline, [{ assetId: LOGO }]);
  t.end();
});

// Over HTTP.

const admin = bearer('role=admin');
const keys = memoryKeys();
const TEAM_PATH = `/api/teams/${TEAM}`;
const PREVIEW = `${TEAM_PATH}/brand/preview`;

const opened = async (t: Test) => {
  const { app, world } = await openServer(t);
  const patch = (payload: object, headers: Readonly<Record<string, string>> = admin) =>
    app.inject({ method: 'PATCH', url: TEAM_PATH, headers, payload });
  const leave = unsubscribeUrl({ keys }, '', {
    ...{ teamId: TEAM, emailId: own.email, recipient: 0 },
    ...{ address: 'jane@example.com', list: 'news' },
  });
  return { app, world, patch, leave };
};

const styleHashes = /style-src 'sha256-[^']+' 'sha256-[^']+'/;

void t.test('an admin sets the brand with If-Match; a member may not', async (t) => {
  const { app, patch, world } = await opened(t);
  const before = await app.inject({ url: TEAM_PATH, headers: admin });
  t.match(before.json(), {
    brand: { logo: null, accent: null, background: null, text: null, contrast: { text: 14.6, accent: 5.4 } },
  });
  const brand = { logo: own.asset, accent: '#7C3AED' };
  const set = await patch({ brand }, { ...admin, 'if-match': String(before.headers['etag']) });
  t.match(
    [set.statusCode, set.json()],
    [200, { brand: { logo: own.asset, accent: '#7c3aed', contrast: { accent: 5.6 } } }],
  );
  t.match((await patch({ brand: { accent: null } }, { ...admin, 'if-match': String(before.headers['etag']) })).json(), {
    code: 'REVISION_MISMATCH',
  });
  t.equal((await patch({ brand }, bearer('role=member'))).statusCode, 403);
  t.equal((await patch({ brand }, bearer('full'))).statusCode, 403);
  const stored = await world().deps.eventLog.load(teamStream(TEAM));
  t.match(stored.at(-1)?.event, { type: 'TeamBrandChanged', data: { logo: own.asset, accent: '#7c3aed' } });
});

void t.test('what is no logo or no colour is refused at its field', async (t) => {
  const { app, patch } = await opened(t);
  const faultOf = async (brand: object): Promise<string> => {
    const { statusCode, body } = await patch({ brand });
    const { errors } = JSON.parse(body) as Readonly<{ errors?: readonly Readonly<{ field: string }>[] }>;
    return `${statusCode} ${errors?.[0]?.field}`;
  };
  for (const logo of [
    others.asset,
    '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21',
    'javascript:1',
    '../..',
    'https://example.com/a.png',
  ])
    t.equal(await faultOf({ logo }), '400 brand.logo', logo);
  for (const accent of ['red', '#fff', '#12345g', 'url(x)', '#123456;', '#7c3aed}</style><script>'])
    t.equal(await faultOf({ accent }), '400 brand.accent', accent);
  t.equal(await faultOf({ text: '#999999' }), '400 brand.text');
  const text = await app.inject({
    method: 'POST',
    url: '/api/assets',
    headers: { ...admin, 'content-type': 'multipart/form-data; boundary=x' },
    payload: '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n',
  });
  t.equal(text.statusCode, 201);
  t.equal(await faultOf({ logo: text.json<{ id: string }>().id }), '400 brand.logo', 'no picture');
});

void t.test('a logo is not deleted as long as it is one', async (t) => {
  const { app, patch } = await opened(t);
  await patch({ brand: { logo: own.asset } });
  for (const query of ['', '?permanently=true'])
    t.match((await app.inject({ method: 'DELETE', url: `/api/assets/${own.asset}${query}`, headers: admin })).json(), {
      statusCode: 400,
      code: 'ASSET_IN_USE',
    });
  await patch({ brand: { logo: null } });
  t.equal((await app.inject({ method: 'DELETE', url: `/api/assets/${own.asset}`, headers: admin })).statusCode, 200);
});

void t.test('a picture that is deleted while it becomes the logo is there, or is no logo', async (t) => {
  const { app, patch, world } = await opened(t);
  const { eventLog } = world().deps;
  const { append } = eventLog;
  let between: (() => Promise<unknown>) | undefined;
  Object.assign(eventLog, {
    append: async (...given: Parameters<typeof append>) => {
      const act = between;
      between = undefined;
      await act?.();
      return append.apply(eventLog, given);
    },
  });
  const url = `/api/assets/${own.asset}`;
  const choose = () => patch({ brand: { logo: own.asset } });
  const remove = () => app.inject({ method: 'DELETE', url, headers: admin });

  between = choose;
  t.match((await remove()).json(), { statusCode: 400, code: 'ASSET_IN_USE' });
  t.equal((await app.inject({ url: `${url}/content`, headers: admin })).statusCode, 200, 'it is there again');
  await patch({ brand: { logo: null } });

  between = remove;
  t.match((await choose()).json(), { brand: { logo: null } }, 'the team has no logo');
  t.equal((await app.inject({ url: `${url}/content`, headers: admin })).statusCode, 404);
  t.equal(between, undefined, 'both came between');
});

void t.test('an email pins the brand that it was accepted with, and one of a team without brand nothing', async (t) => {
  const { app, patch, world } = await opened(t);
  const send = async () => {
    const sent = await app.inject({
      method: 'POST',
      url: '/api/emails/send',
      headers: bearer('unlimited'),
      payload: sendBody,
    });
    const [first] = await world().deps.eventLog.load(emailStream(sent.json<{ id: typeof own.email }>().id));
    return (first?.event as unknown as Readonly<{ data: Readonly<{ company: object }> }>).data.company;
  };
  const names = Object.keys(emptyCompany);
  t.strictSame(Object.keys(await send()), names);
  await patch({ brand: { accent: '#7c3aed', logo: own.asset } });
  const pinned = await send();
  t.match(pinned, { accent: '#7c3aed', logo: own.asset });
  await patch({ brand: { accent: '#000000', logo: null } });
  t.match(pinned, { accent: '#7c3aed', logo: own.asset });
  t.strictSame(Object.keys(await send()), [...names, 'accent']);
});

void t.test('pages of recipients show the brand as it is, under a policy that allows it alone', async (t) => {
  const { app, patch, leave } = await opened(t);
  const plain = await app.inject({ url: leave });
  t.notMatch(plain.body, /<img|<footer/);
  t.match(plain.headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-[^' ]+'; base/);
  await patch({
    brand: { logo: own.asset, accent: '#ffcc00', background: '#101820', text: '#f5f5f5' },
    company: { name: 'Ann & Söhne <AG>', email: 'ann@example.com', addressLine1: '1 <b>Street</b>', city: 'Bern' },
  });
  const shown = await app.inject({ url: leave });
  t.match(
    shown.body,
    /<p class="brand"><img src="data:image\/png;base64,[A-Za-z0-9+/=]+" alt="Ann &amp; Söhne &lt;AG&gt;"><\/p>/,
  );
  t.match(
    shown.body,
    '<footer><div>Ann &amp; Söhne &lt;AG&gt;, 1 &lt;b&gt;Street&lt;/b&gt;, Bern</div><div>ann@example.com</div></footer>',
  );
  t.match(shown.body, '--main: #ffcc00; --on-main: #1d1d1b');
  t.match(shown.headers['content-security-policy'], styleHashes);
  t.match(shown.headers['content-security-policy'], /img-src data:/);
  const { results } = await new HtmlValidate({
    extends: ['html-validate:recommended'],
    rules: { 'doctype-style': ['error', { style: 'lowercase' }] },
  }).validateString(shown.body);
  t.same(
    results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => `${ruleId} ${message}`)),
    [],
  );
  const done = await app.inject({
    method: 'POST',
    url: leave,
    payload: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  t.match(done.body, /You are unsubscribed[^]*<footer>/);
  await patch({ brand: { logo: null, accent: null, background: null, text: null } });
  t.notMatch((await app.inject({ url: leave })).body, '<img');
});

void t.test('a brand is previewed before it is saved, in a frame of the service alone', async (t) => {
  const { app } = await opened(t);
  const ask = (query: Readonly<Record<string, string>>, headers = admin) =>
    app.inject({ url: `${PREVIEW}?${new URLSearchParams(query).toString()}`, headers });
  const look = { accent: '#7c3aed', background: '#fffbeb', text: '#1e1b4b', name: 'Köln & <Co>', logo: own.asset };
  const mail = await ask(look);
  t.equal(mail.statusCode, 200);
  for (const shown of ['background-color:#7c3aed', 'data:image/png;base64,', 'K&#246;ln &amp; &lt;Co&gt;'])
    t.match(mail.body, shown);
  t.match(mail.headers['content-security-policy'], /frame-ancestors 'self'; sandbox/);
  const page = await ask({ ...look, show: 'unsubscribe', language: 'fr', scheme: 'dark', email: 'a@example.com' });
  t.match(page.body, /<html class="dark" lang="fr">[^]*Se désabonner \?[^]*a@example\.com/);
  t.match(page.headers['content-security-policy'], styleHashes);
  t.match(page.headers['content-security-policy'], /frame-ancestors 'self'; sandbox/);
  t.equal(page.headers['x-frame-options'], undefined);
  t.equal((await ask({ show: 'unsubscribe' })).statusCode, 200, 'a brand of nothing');
  t.equal((await ask({ accent: '#fff;}</style>' })).statusCode, 400);
  t.equal((await ask({ logo: others.asset })).statusCode, 400);
  t.equal((await ask(look, bearer('role=member'))).statusCode, 403);
  t.equal((await ask(look, bearer('role=admin@other'))).statusCode, 404);
  t.equal(
    (await app.inject({ url: TEAM_PATH, headers: admin })).json<{ brand: { accent: null } }>().brand.accent,
    null,
  );
});
