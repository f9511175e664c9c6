/** Apps: redirect URIs, lists of tokens, authorizations, grants. */
import t from 'tap';
import { redirectUriFault, type OAuthApp } from '../../src/domain/apps/app.js';
import { readAuthorization, redirectTo, type AuthorizationParams } from '../../src/domain/apps/authorization.js';
import { grantDecider } from '../../src/domain/apps/grant.js';
import {
  accessTokensMax,
  emptyTokenList,
  evolveTokenList,
  isCounted,
  refreshTokensMax,
  hashOf,
} from '../../src/domain/apps/tokens.js';
import { scopes } from '../../src/domain/access/permissions.js';
import { words } from '../../src/http/apps/texts.js';
import { at } from '../support/email-facts.js';
import { specs } from '../support/given.js';

// Addresses to which apps may send people back.

void t.test('https anywhere, http on the same machine', async (t) => {
  for (const good of [
    'https://shop.example.com/callback',
    'https://shop.example.com/',
    'https://shop.example.com:8443/callback?tenant=1',
    'http://localhost:3000/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:9000/',
  ]) {
    t.equal(redirectUriFault(good), undefined, good);
  }
});

void t.test('nothing that could be read in two ways', async (t) => {
  for (const [bad, message] of [
    ['/callback', /absolute URL/],
    ['', /absolute URL/],
    ['http://shop.example.com/callback', /https/],
    ['http://127.0.0.1.example.com/', /https/],
    ['javascript:alert(1)', /https/],
    ['data:text/html,hello', /https/],
    ['com.example.app:/callback', /https/],
    ['https://user@shop.example.com/', /user name/],
    ['https://shop.example.com@evil.example/', /user name/],
    ['https://:secret@shop.example.com/', /user name/],
    ['https://shop.example.com/callback#part', /fragment/],
    ['https://shop.example.com/callback#', /fragment/],
    ['https://*.example.com/callback', /\*/],
    ['https://SHOP.example.com/callback', /must be written as browsers read it: https:\/\/shop/],
    ['https://shop.example.com:443/callback', /must be written as browsers read it/],
    ['https://shop.example.com/a/../callback', /must be written as browsers read it/],
    ['https://shop.example.com\\@evil.example/', /must be written as browsers read it|user name/],
    ['https://%73hop.example.com/', /must be written as browsers read it/],
    ['https://shop.example.com', /must be written as browsers read it/],
    [' https://shop.example.com/', /must be written as browsers read it/],
  ] as const) {
    t.match(redirectUriFault(bad), message, bad);
  }
});

// How many tokens of one person are in use.

const counted = (
  second: number,
  grantId: string,
  number: number,
  accessS = 3_600,
  refreshS: number | null = 30 * 86_400,
  clientId = 'app one',
) => ({
  type: 'OAuthTokensCounted' as const,
  data: {
    at: at(second),
    clientId,
    grantId,
    number,
    accessExpiresAt: at(second + accessS),
    refreshExpiresAt: refreshS === null ? null : at(second + refreshS),
  },
});

void t.test('the newest 50 access tokens and the newest 10 refresh tokens count', async (t) => {
  const events = Array.from({ length: 60 }, (_, index) => counted(index, `grant ${index}`, 1));
  const list = events.reduce(evolveTokenList, emptyTokenList);
  t.equal(list.access.length, accessTokensMax.ofApp);
  t.equal(list.refresh.length, refreshTokensMax.ofApp);
  t.notOk(isCounted(list.access, 'grant 9', 1));
  t.ok(isCounted(list.access, 'grant 10', 1));
  t.notOk(isCounted(list.refresh, 'grant 49', 1));
  t.ok(isCounted(list.refresh, 'grant 50', 1));
  t.notOk(isCounted(list.access, 'grant 10', 2), 'a token is one of its grant, by its number');
});

void t.test('an app with many tokens ends none of another app of the same person', async (t) => {
  const other = counted(0, 'grant of another', 1, 3_600, 86_400, 'app two');
  const many = Array.from({ length: 100 }, (_, index) => counted(1 + index, `grant ${index}`, 1));
  const list = [other, ...many].reduce(evolveTokenList, emptyTokenList);
  t.ok(isCounted(list.access, 'grant of another', 1));
  t.ok(isCounted(list.refresh, 'grant of another', 1));
  t.equal(list.access.length, accessTokensMax.ofApp + 1);
  const apps = Array.from({ length: 20 }, (_, app) =>
    many.map(({ data }) => counted(200, `${app} ${data.grantId}`, 1, 3_600, 86_400, `app ${app}`)),
  );
  const crowded = apps.flat().reduce(evolveTokenList, list);
  t.equal(crowded.access.length, accessTokensMax.ofAll, 'apps share a bound, too');
  t.equal(crowded.refresh.length, refreshTokensMax.ofAll);
  t.ok(isCounted(crowded.access, 'grant of another', 1), 'the app that has most gives way');
});

void t.test(
  'a refreshed grant takes one place among the refresh tokens, and what has expired takes none',
  async (t) => {
    const refreshed = Array.from({ length: 20 }, (_, index) => counted(index, 'one', index + 1)).reduce(
      evolveTokenList,
      emptyTokenList,
    );
    t.strictSame(
      refreshed.refresh.map(({ number }) => number),
      [20],
    );
    t.equal(refreshed.access.length, 20);
    const later = evolveTokenList(refreshed, counted(4_000, 'two', 1, 3_600, null));
    t.strictSame(
      later.access.map(({ grantId }) => grantId),
      ['two'],
    );
    t.equal(later.refresh.length, 1);
  },
);

// Checks of the request with which an app sends a person here for authorization.

const app: OAuthApp = {
  kind: 'confidential',
  name: 'Shop',
  description: null,
  homepage: null,
  redirectUris: ['https://shop.example.com/callback', 'https://shop.example.com/other?x=1'],
  scopes: ['emails:send', 'emails:read'],
  createdAt: '2030-01-01T12:00:00.000Z',
  updatedAt: '2030-01-01T12:00:00.000Z',
  secret: null,
  deviceFlow: false,
  deletedAt: null,
};
const service = 'https://mail.example.com';
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const good = {
  response_type: 'code',
  client_id: 'app_AAAAAAAAAAAAAAAAAAAAAA',
  redirect_uri: 'https://shop.example.com/callback',
  code_challenge: challenge,
  code_challenge_method: 'S256',
} as const;

void t.test('what is right is read', async (t) => {
  t.strictSame(readAuthorization(app, { ...good, scope: 'emails:read', state: 'a b' }, service), {
    resource: 'service',
    redirectUri: good.redirect_uri,
    scopes: ['emails:read'],
    state: 'a b',
    challenge,
  });
  t.match(
    readAuthorization(app, good, service),
    { scopes: app.scopes, state: undefined },
    'without scope all that the app has',
  );
});

void t.test('nobody is sent to an address that is not registered letter by letter', async (t) => {
  for (const redirect_uri of [
    undefined,
    'https://shop.example.com/callback/',
    'https://shop.example.com/callback?x',
    'https://shop.example.com/callback#x',
    'https://shop.example.com/callback/../evil',
    'https://shop.example.com:443/callback',
    'https://SHOP.example.com/callback',
    'https://shop.example.com.evil.example/callback',
    'https://shop.example.com@evil.example/callback',
    'http://shop.example.com/callback',
    'https://shop.example.com/%63allback',
    'https://shop.example.com/other',
    'javascript:alert(1)',
  ]) {
    const { redirect_uri: _registered, ...others } = good;
    const params: AuthorizationParams = redirect_uri === undefined ? others : { ...others, redirect_uri };
    t.match(readAuthorization(app, params, service), { refusal: /./ }, redirect_uri ?? 'none');
  }
  t.match(readAuthorization(undefined, good, service), { refusal: /./ }, 'an unknown app');
});

void t.test('the rest is told to the app, with its state', async (t) => {
  const refused = (more: AuthorizationParams) => readAuthorization(app, { ...good, state: 's', ...more }, service);
  const sent = { redirectUri: good.redirect_uri, state: 's' };
  t.match(refused({ response_type: 'token' }), { ...sent, error: 'unsupported_response_type' });
  t.match(refused({ response_type: 'code token' }), { ...sent, error: 'unsupported_response_type' });
  t.match(refused({ code_challenge_method: 'plain' }), { ...sent, error: 'invalid_request' }, 'no downgrade of PKCE');
  t.match(refused({ code_challenge: 'short' }), { ...sent, error: 'invalid_request' });
  t.match(
    refused({ scope: 'emails:read webhooks:write' }),
    { ...sent, error: 'invalid_scope' },
    'a scope that the app has not',
  );
  t.match(refused({ scope: 'everything' }), { ...sent, error: 'invalid_scope' });
  const { code_challenge: _challenge, ...withoutPkce } = good;
  t.match(
    readAuthorization(app, withoutPkce, service),
    { redirectUri: good.redirect_uri, error: 'invalid_request' },
    'PKCE is not optional',
  );
  const { code_challenge_method: _method, ...withoutMethod } = good;
  t.match(
    readAuthorization(app, withoutMethod, service),
    { redirectUri: good.redirect_uri, error: 'invalid_request' },
    'the method that is left out is plain (RFC 7636)',
  );
  t.match(refused({ state: 'x'.repeat(1_001) }), {
    redirectUri: good.redirect_uri,
    state: undefined,
    error: 'invalid_request',
  });
});

void t.test('the redirect carries what came, encoded, and who answers', async (t) => {
  const issuer = 'https://mail.example.com';
  t.equal(
    redirectTo('https://shop.example.com/other?x=1', { code: 'c', state: 'a&b=c#d', issuer }),
    'https://shop.example.com/other?x=1&code=c&state=a%26b%3Dc%23d&iss=https%3A%2F%2Fmail.example.com',
  );
  t.equal(
    redirectTo('https://shop.example.com/', { error: 'access_denied', message: 'no', state: undefined, issuer }),
    'https://shop.example.com/?error=access_denied&error_description=no&iss=https%3A%2F%2Fmail.example.com',
  );
});

// A grant: its code, its tokens, its end.

const { given } = specs(grantDecider)(t);
const userId = '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21';

const grantGiven = {
  type: 'OAuthGrantGiven' as const,
  data: { at: at(0), clientId: 'app_AAAAAAAAAAAAAAAAAAAAAA', userId, scopes: ['emails:read', 'no scope of ours'] },
};
const code = {
  at: at(0),
  hash: hashOf('code'),
  challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  redirectUri: 'https://shop.example.com/',
  expiresAt: at(600),
};
const codeIssued = { type: 'OAuthCodeIssued' as const, data: code };
const codeUsed = { type: 'OAuthCodeUsed' as const, data: { at: at(1) } };
const tokens = (second: number, name: string) => ({
  at: at(second),
  accessHash: hashOf(`access ${name}`),
  accessExpiresAt: at(second + 3_600),
  scopes: ['emails:read'],
  refreshHash: hashOf(`refresh ${name}`),
  refreshExpiresAt: at(second + 86_400),
});
const issued = (second: number, name: string, number: number) => ({
  type: 'OAuthTokensIssued' as const,
  data: { ...tokens(second, name), number },
});
const ended = (second: number, reason: 'code-reused' | 'refresh-token-reused' | 'by-person') => ({
  type: 'OAuthGrantEnded' as const,
  data: { at: at(second), reason },
});

void t.test('a grant begins with its code, once', async (t) => {
  const { given: of } = { given: specs(grantDecider)(t).given };
  of().when({ type: 'GiveGrant', given: grantGiven.data, code }).then(grantGiven, codeIssued);
  of(grantGiven, codeIssued).when({ type: 'GiveGrant', given: grantGiven.data, code }).nothing();
  t.strictSame(of(grantGiven).state?.scopes, ['emails:read'], 'a scope that the program does not know opens nothing');
});

void t.test('a code is good once and for ten minutes; the second use ends all', async () => {
  given(grantGiven, codeIssued)
    .when({ type: 'UseCode', at: at(1), hash: hashOf('code') })
    .then(codeUsed);
  given(grantGiven, codeIssued)
    .when({ type: 'UseCode', at: at(600), hash: hashOf('code') })
    .nothing();
  given(grantGiven, codeIssued)
    .when({ type: 'UseCode', at: at(1), hash: hashOf('another') })
    .nothing();
  given(grantGiven, codeIssued, codeUsed, issued(1, 'a', 1))
    .when({ type: 'UseCode', at: at(2), hash: hashOf('code') })
    .then(ended(2, 'code-reused'));
  given(grantGiven)
    .when({ type: 'UseCode', at: at(2), hash: hashOf('code') })
    .nothing();
});

void t.test('a refresh token is replaced by its use; one that was replaced ends all', async (t) => {
  const refresh = (second: number, old: string, name: string) => ({
    type: 'RefreshTokens' as const,
    hash: hashOf(`refresh ${old}`),
    tokens: tokens(second, name),
  });
  const first = [grantGiven, codeIssued, codeUsed, issued(1, 'a', 1)];
  given(...first)
    .when(refresh(10, 'a', 'b'))
    .then(issued(10, 'b', 2));
  given(...first, issued(10, 'b', 2))
    .when(refresh(20, 'a', 'c'))
    .then(ended(20, 'refresh-token-reused'));
  given(...first, issued(10, 'b', 2))
    .when(refresh(20, 'unknown', 'c'))
    .nothing();
  given(...first)
    .when(refresh(86_401, 'a', 'b'))
    .nothing();
  given(...first, issued(10, 'b', 2))
    .when(refresh(86_402, 'a', 'c'))
    .nothing();
  const { state } = given(...first, issued(10, 'b', 2), ended(20, 'by-person'));
  t.match(state, { access: [], refresh: undefined, superseded: [], ended: { reason: 'by-person' } });
  given(...first, ended(20, 'by-person'))
    .when(refresh(21, 'a', 'b'))
    .nothing();
  given(...first, ended(20, 'by-person'))
    .when({ type: 'EndGrant', at: at(21), reason: 'by-app' })
    .nothing();
});

void t.test('one access token can be revoked alone, and those that expired are forgotten', async (t) => {
  const two = [grantGiven, issued(1, 'a', 1), issued(10, 'b', 2)];
  given(...two)
    .when({ type: 'RevokeAccessToken', at: at(11), number: 1 })
    .then({ type: 'OAuthAccessTokenRevoked', data: { at: at(11), number: 1 } });
  given(...two)
    .when({ type: 'RevokeAccessToken', at: at(11), number: 3 })
    .nothing();
  const { state } = given(...two, issued(3_605, 'c', 3));
  t.strictSame(
    state?.access.map(({ number }) => number),
    [2, 3],
  );
});

void t.test('what a person reads of a scope promises nothing that another scope gives', async (t) => {
  const contents = /content|inhalt|contenu|contenid|conteúdo|محتو/i;
  for (const [language, { scopes: said }] of Object.entries(words)) {
    t.equal(new Set(Object.values(said)).size, scopes.length, `${language}: a sentence for each`);
    t.notMatch(said['emails:read'], contents, `${language}: contents need emails:content`);
  }
});
