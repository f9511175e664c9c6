/** API keys and the networks that they are for. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';
import {
  admitApiKey,
  apiKeyDecider,
  formatApiKey,
  readApiKey,
  type ApiKeyCommand,
  apiKeyListing,
} from '../../src/domain/keys/decider.js';
import type { ApiKeyEvent } from '../../src/domain/keys/events.js';
import { isFrom, outside, readNetwork } from '../../src/domain/keys/networks.js';
import { at, T0 } from '../support/email-facts.js';
import { specs } from '../support/given.js';

// API keys: their form, creation, use noted now and then, revocation, expiry.

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

// Networks of keys: how they are written, what lies in them, and which lie in which.

const formOf = (typed: string): string | undefined => {
  const read = readNetwork(typed);
  return read.ok ? read.network : undefined;
};

void t.test('a network has one form, however it is typed', async (t) => {
  for (const [typed, form] of [
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8:0::1', '2001:db8::1/128'],
    ['2001:db8:0:0:0:0:0:0/32', '2001:db8::/32'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::ffff:10.0.0.1', '10.0.0.1/32'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221/128'],
  ] as const)
    t.equal(formOf(typed), form, typed);
});

void t.test('what is no network, and what names an address inside one, is refused', async (t) => {
  for (const typed of [
    '',
    'x',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4/33',
    '1.2.3.4/08',
    '1.2.3.4/',
    '1.2.3.4/-1',
    ' 1.2.3.4',
    '1.2.3.4/24/24',
  ])
    t.match(readNetwork(typed), { ok: false, reason: /is no network/ }, typed);
  for (const typed of [
    '::1/129',
    ':::',
    '1::2::3',
    '[::1]',
    '1:2:3:4:5:6:7',
    '12345::',
    'fe80::1%eth0',
    '2001:db8::/032',
    '::1.2.3',
    'example.com',
  ])
    t.match(readNetwork(typed), { ok: false, reason: /is no network/ }, typed);
  t.match(readNetwork('192.0.2.7/24'), { ok: false, reason: /the network is 192\.0\.2\.0\/24$/ });
  t.match(readNetwork('2001:db8::1/64'), { ok: false, reason: /the network is 2001:db8::\/64$/ });
});

void t.test('an address lies in a network by its first bits; IPv4 in IPv6 is IPv4', async (t) => {
  for (const [network, address, lies] of [
    ['192.0.2.0/24', '192.0.2.0', true],
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.0/25', '192.0.2.128', false],
    ['192.0.2.0/24', '::ffff:192.0.2.3', true],
    ['192.0.2.0/24', '::ffff:c000:203', true],
    ['192.0.2.0/24', '::192.0.2.3', false],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '192.0.2.1', false],
    ['2001:db8::/33', '2001:db8:7fff:ffff::1', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['192.0.2.1/32', '', false],
    ['192.0.2.1/32', 'unix:', false],
  ] as const)
    t.equal(isFrom([network], address), lies, `${address} in ${network}`);
  t.notOk(isFrom(['of a later form', '192.0.2.0/24'], '198.51.100.1'));
  t.ok(isFrom(['of a later form', '192.0.2.0/24'], '192.0.2.1'));
});

void t.test('a network lies in another with all its addresses', async (t) => {
  t.same(outside(['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/7', '11.0.0.0/8', '::/128'], ['10.0.0.0/8']), [
    '10.0.0.0/7',
    '11.0.0.0/8',
    '::/128',
  ]);
  t.same(outside(['2001:db8:1::/48'], ['10.0.0.0/8', '2001:db8::/32']), []);
  t.same(outside([], ['10.0.0.0/8']), []);
  t.same(outside(['10.0.0.1/32'], []), ['10.0.0.1/32']);
});

void t.test(
  'for any address and prefix: its network holds it, and every narrower network of it lies inside',
  async () => {
    const bits = (text: string): string =>
      text
        .split('.')
        .map((part) => Number(part).toString(2).padStart(8, '0'))
        .join('');
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (one, other, prefix) => {
        const number = Number.parseInt(bits(one).slice(0, prefix).padEnd(32, '0'), 2);
        const network = `${[24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join('.')}/${prefix}`;
        return (
          formOf(network) === network &&
          isFrom([network], one) &&
          isFrom([network], other) === (bits(other).slice(0, prefix) === bits(one).slice(0, prefix)) &&
          outside([`${one}/32`], [network]).length === 0
        );
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => formOf(address) !== undefined && isFrom([formOf(address)!], address)),
    );
  },
);
