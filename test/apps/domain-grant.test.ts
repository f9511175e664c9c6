/** A grant: its code, its tokens, its end. */
import t from 'tap';
import { grantDecider } from '../../src/domain/apps/grant.js';
import { hashOf } from '../../src/domain/apps/tokens.js';
import { at } from '../support/email-facts.js';
import { specs } from '../support/given.js';

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
