/** Checks of the request with which an app sends a person here for authorization. */
import t from 'tap';
import type { OAuthApp } from '../../src/domain/apps/app.js';
import { readAuthorization, redirectTo, type AuthorizationParams } from '../../src/domain/apps/authorization.js';

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
  deletedAt: null,
};
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const good = {
  response_type: 'code',
  client_id: 'app_AAAAAAAAAAAAAAAAAAAAAA',
  redirect_uri: 'https://shop.example.com/callback',
  code_challenge: challenge,
  code_challenge_method: 'S256',
} as const;

void t.test('what is right is read', async (t) => {
  t.strictSame(readAuthorization(app, { ...good, scope: 'emails:read', state: 'a b' }), {
    redirectUri: good.redirect_uri,
    scopes: ['emails:read'],
    state: 'a b',
    challenge,
  });
  t.match(readAuthorization(app, good), { scopes: app.scopes, state: undefined }, 'without scope all that the app has');
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
    t.match(readAuthorization(app, params), { refusal: /./ }, redirect_uri ?? 'none');
  }
  t.match(readAuthorization(undefined, good), { refusal: /./ }, 'an unknown app');
});

void t.test('the rest is told to the app, with its state', async (t) => {
  const refused = (more: AuthorizationParams) => readAuthorization(app, { ...good, state: 's', ...more });
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
    readAuthorization(app, withoutPkce),
    { redirectUri: good.redirect_uri, error: 'invalid_request' },
    'PKCE is not optional',
  );
  const { code_challenge_method: _method, ...withoutMethod } = good;
  t.match(
    readAuthorization(app, withoutMethod),
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
