/** API keys: their form, creation, use noted now and then, revocation, expiry. */
import t from 'tap';
import { createHash } from 'node:crypto';
import {
  admitApiKey,
  apiKeyDecider,
  formatApiKey,
  readApiKey,
  type ApiKeyCommand,
  apiKeyListing,
} from '../../src/domain/keys/decider.js';
import type { ApiKeyEvent } from '../../src/domain/keys/events.js';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';
import { specs } from '../support/given.js';
import { at, T0 } from '../support/email-facts.js';

const apiKey = specs(apiKeyDecider);
const random = Buffer.alloc(32, 7);
const key = formatApiKey(random);
const { id, hash } = readApiKey(key)!;
const data: Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>['data'] = {
  at: T0,
  name: 'Shop',
  description: null,
  permissions: ['emails:send'],
  rateLimit: 60,
  expiresAt: at(86_400),
  hash,
  start: 'BwcH',
  end: 'BwcH',
  separateDelete: true,
};
const created: ApiKeyEvent = { type: 'ApiKeyCreated', data };
const used = (seconds: number): ApiKeyEvent => ({ type: 'ApiKeyUsed', data: { at: at(seconds) } });
const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: { at: at(9) } };
const use = (seconds: number): ApiKeyCommand => ({ type: 'UseApiKey', at: at(seconds) });

void t.test(
  'a key is a prefix and 256 random bits; its id follows from its hash and tells nothing of it',
  async (t) => {
    t.match(key, /^sealpost_sk_[A-Za-z0-9_-]{43}$/);
    t.equal(hash, createHash('sha256').update(key).digest('hex'));
    t.match(id, /^key_[A-Za-z0-9_-]{22}$/);
    t.not(readApiKey(formatApiKey(Buffer.alloc(32, 8)))!.id, id);
    t.strictSame(readApiKey(key), { id, hash });
    for (const wrong of [
      '',
      'x',
      key.slice(0, -1),
      `${key}A`,
      key.replace('sealpost_sk_', 'sealpost_pk_'),
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
      `${key.slice(0, -1)}=`,
    ]) {
      t.equal(readApiKey(wrong), undefined, JSON.stringify(wrong));
    }
  },
);

void t.test('created once', async (t) => {
  const { given } = apiKey(t);
  const state = given().when({ type: 'CreateApiKey', created: data }).then(created);
  const { separateDelete: _, ...shown } = data;
  t.strictSame(state, {
    ...shown,
    madeBy: [],
    networks: null,
    test: false,
    impliedDelete: false,
    lastUsedAt: null,
    revokedAt: null,
    madeRevokedAt: null,
  });
  given(created)
    .when({ type: 'CreateApiKey', created: { ...data, name: 'Other' } })
    .nothing();
});

void t.test('its use is noted every five minutes at most', async (t) => {
  const { given } = apiKey(t);
  given().when(use(0)).nothing();
  const state = given(created)
    .when(use(1))
    .then({ type: 'ApiKeyUsed', data: { at: at(1) } });
  t.equal(state!.lastUsedAt, at(1));
  given(created, used(1)).when(use(300.999)).nothing();
  given(created, used(1)).when(use(301)).then(used(301));
});

void t.test('changed in what is another than it was', async (t) => {
  const { given } = apiKey(t);
  const change = (changes: Extract<ApiKeyCommand, { type: 'ChangeApiKey' }>['changes']): ApiKeyCommand => ({
    type: 'ChangeApiKey',
    at: at(9),
    changes,
  });
  const changed = (of: object): ApiKeyEvent => ({ type: 'ApiKeyChanged', data: { at: at(9), ...of } });
  given()
    .when(change({ name: 'x' }))
    .refused('API_KEY_UNKNOWN');
  given(created).when(change({})).nothing();
  given(created)
    .when(change({ name: 'Shop', description: null, rateLimit: 60, networks: null }))
    .nothing();
  const state = given(created)
    .when(change({ name: 'Other', description: null, rateLimit: null, networks: ['192.0.2.0/24'] }))
    .then(changed({ name: 'Other', rateLimit: null, networks: ['192.0.2.0/24'] }));
  t.match(state, {
    name: 'Other',
    description: null,
    rateLimit: null,
    networks: ['192.0.2.0/24'],
    permissions: ['emails:send'],
  });
  given(created, changed({ networks: ['192.0.2.0/24'] }))
    .when(change({ networks: ['192.0.2.0/24'] }))
    .nothing();
  given(created, changed({ networks: ['192.0.2.0/24'] }))
    .when(change({ networks: null }))
    .then(changed({ networks: null }));
  given(created, changed({ networks: ['192.0.2.0/24'] }))
    .when(change({ networks: ['192.0.2.0/25'] }))
    .then(changed({ networks: ['192.0.2.0/25'] }));
});

void t.test('revoked once; an unknown key is not', async (t) => {
  const { given } = apiKey(t);
  given()
    .when({ type: 'RevokeApiKey', at: at(9) })
    .refused('API_KEY_UNKNOWN');
  const state = given(created)
    .when({ type: 'RevokeApiKey', at: at(9) })
    .then({ type: 'ApiKeyRevoked', data: { at: at(9) } });
  t.equal(state!.revokedAt, at(9));
  given(created, revoked)
    .when({ type: 'RevokeApiKey', at: at(10) })
    .nothing();
});

const admission = (events: readonly ApiKeyEvent[], given: string, when: string): ErrorCode | 'admitted' => {
  try {
    admitApiKey(events.reduce(apiKeyDecider.evolve, apiKeyDecider.initialState), given, when);
    return 'admitted';
  } catch (fault) {
    if (fault instanceof DomainError) return fault.code;
    throw fault;
  }
};

void t.test('admission: known, of the same hash in all its bits, not revoked, not expired', async (t) => {
  t.equal(admission([created], hash, T0), 'admitted');
  t.equal(admission([], hash, T0), 'API_KEY_NOT_FOUND');
  t.equal(admission([created], hash, at(86_399.999)), 'admitted');
  t.equal(admission([created], hash, at(86_400)), 'API_KEY_EXPIRED');
  t.equal(admission([created, revoked], hash, T0), 'API_KEY_REVOKED');
  t.equal(
    admission([created, revoked], hash, at(90_000)),
    'API_KEY_REVOKED',
    'who revoked it is told so after its end too',
  );
  t.equal(admission([{ ...created, data: { ...data, expiresAt: null } } as ApiKeyEvent], hash, at(1e9)), 'admitted');
  for (let bit = 0; bit < 256; bit += 1) {
    const other = Buffer.from(hash, 'hex');
    other[bit >> 3]! ^= 1 << (bit & 7);
    if (admission([created, revoked], other.toString('hex'), at(90_000)) !== 'API_KEY_NOT_FOUND')
      t.fail(`bit ${bit} of the hash is not compared`);
  }
});

void t.test('the record shows its state and never its hash', async (t) => {
  const recordOf = (events: readonly ApiKeyEvent[], now: string) =>
    apiKeyListing(
      id,
      { key: events.reduce(apiKeyDecider.evolve, apiKeyDecider.initialState)!, createdBy: 'cli' },
      [],
      now,
    );
  t.strictSame(recordOf([created, used(1)], at(2)), {
    id,
    name: 'Shop',
    description: null,
    permissions: ['emails:send'],
    rateLimit: 60,
    status: 'active',
    start: 'BwcH',
    end: 'BwcH',
    createdAt: T0,
    expiresAt: at(86_400),
    lastUsedAt: at(1),
    revokedAt: null,
    madeBy: null,
    createdBy: 'cli',
    networks: null,
    test: false,
  });
  t.equal(recordOf([created], at(86_400)).status, 'expired');
  t.equal(recordOf([created, revoked], at(86_400)).status, 'revoked');
});

void t.test('a key of before with emails:send may delete; a key of today may where it was given that', async (t) => {
  const permissionsOf = (event: ApiKeyEvent) => apiKeyDecider.evolve(undefined, event)!.permissions;
  const { separateDelete: _, ...before } = data;
  t.same(permissionsOf(created), ['emails:send']);
  t.same(permissionsOf({ type: 'ApiKeyCreated', data: before }), ['emails:send', 'emails:delete']);
  t.same(permissionsOf({ type: 'ApiKeyCreated', data: { ...before, permissions: ['emails:read'] } }), ['emails:read']);
  t.same(permissionsOf({ type: 'ApiKeyCreated', data: { ...data, permissions: ['emails:delete'] } }), [
    'emails:delete',
  ]);
});

void t.test('what it made is revoked with it, once, before or after it is revoked itself', async (t) => {
  const { given } = apiKey(t);
  const withMade: ApiKeyCommand = { type: 'RevokeApiKey', at: at(9), withMade: true };
  const both: ApiKeyEvent = { type: 'ApiKeyRevoked', data: { at: at(9), withMade: true } };
  given(created).when(withMade).then(both);
  given(created, { type: 'ApiKeyRevoked', data: { at: at(3) } })
    .when(withMade)
    .then(both);
  given(created, both).when(withMade).nothing();
  const key = [created, { type: 'ApiKeyRevoked', data: { at: at(3) } } as ApiKeyEvent, both].reduce(
    apiKeyDecider.evolve,
    undefined as never,
  )!;
  t.match(key, { revokedAt: at(3), madeRevokedAt: at(9) });
});
