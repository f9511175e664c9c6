/** Sender domains by command: keys and records, verification, rotation, and from where a team may send. */
import t from 'tap';
import {
  assertDefined,
  domainKeysStream,
  parseSenderDomainId,
  type SenderDomainId,
} from '../../src/domain/core/ids.js';
import type { DomainRecord } from '../../src/api/domains.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { destroyDomainKeys } from '../../src/commands/domains/sender-domains.js';
import { bulk } from '../support/bulk.js';
import { caller, openWorld, simple, stranger, withTemplate } from '../support/command-world.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { publish } from '../support/sender-domains.js';

const idOf = ({ id }: Pick<DomainRecord, 'id'>): SenderDomainId => assertDefined(parseSenderDomainId(id), 'id');
const from = (email: string) => ({ from: { email } });

void t.test('a domain is added with two keys, of which the private ones are sealed', async (t) => {
  const world = await openWorld();
  const { commands } = world;
  const added = await commands.addDomain(caller, { domain: 'Münster.Example' });
  t.match(added, {
    domain: 'xn--mnster-3ya.example',
    status: 'pending',
    createdAt: T0,
    verifiedAt: null,
    checkedAt: null,
  });
  t.same(
    added.records.map(({ purpose, required, found, key }) => [purpose, required, found, key?.algorithm, key?.use]),
    [
      ['dkim', true, 'unknown', 'rsa', 'signing'],
      ['dkim', true, 'unknown', 'ed25519', 'signing'],
      ['spf', false, 'unknown', undefined, undefined],
      ['dmarc', false, 'unknown', undefined, undefined],
    ],
  );
  t.match(added.records[0]!.name, /^sp[0-9a-f]{12}-rsa\._domainkey\.xn--mnster-3ya\.example$/);
  t.match(added.records[0]!.value, /^v=DKIM1; k=rsa; p=MIIBIjAN[A-Za-z0-9+/]{380,}={0,2}$/);
  t.match(added.records[1]!.value, /^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/);
  t.match(added.records[2], { name: added.domain, value: 'v=spf1 mx ~all' });
  t.match(added.records[3], { name: `_dmarc.${added.domain}`, value: 'v=DMARC1; p=none' });
  t.strictSame(await commands.getDomain(caller, idOf(added)), added);
  t.strictSame(await commands.listDomains(caller), { data: [added] });
  t.strictSame(await commands.listDomains(stranger), { data: [] });
  const stored = JSON.stringify(world.store.events.map(({ data, metadata }) => [String(data), String(metadata)]));
  t.notMatch(stored, /PRIVATE/);
  const [event] = await world.events(domainKeysStream(idOf(added)));
  t.match(event, {
    sealed: { privateKeys: [{ privateKey: /BEGIN PRIVATE KEY/ }, { privateKey: /BEGIN PRIVATE KEY/ }] },
  });
  await refusedWith(t, commands.addDomain(caller, { domain: 'xn--mnster-3ya.example' }), 'DOMAIN_EXISTS');
  for (const domain of [
    'localhost',
    'simulator.sealpost',
    'mail.simulator.sealpost',
    'a b.example',
    'shop@example.com',
    '-.example',
    '192.0.2.1',
  ])
    await refusedWith(t, commands.addDomain(caller, { domain }), 'VALIDATION_ERROR');
  t.equal(
    (await commands.addDomain(stranger, { domain: 'xn--mnster-3ya.example' })).status,
    'pending',
    'two teams may add it',
  );
});

void t.test('another team knows no domain but its own', async (t) => {
  const { commands } = await openWorld();
  const id = idOf(await commands.addDomain(caller, { domain: 'example.com' }));
  await commands.addDomain(stranger, { domain: 'example.net' });
  for (const command of [
    commands.getDomain,
    commands.verifyDomain,
    commands.rotateDomainKeys,
    commands.deleteDomain,
    commands.restoreDomain,
  ])
    await refusedWith(t, command(stranger, id), 'DOMAIN_NOT_FOUND');
});

void t.test('a domain is verified by the records that are shown, and not while nobody answers', async (t) => {
  const world = await openWorld();
  const { commands, dns } = world;
  const added = await commands.addDomain(caller, { domain: 'example.com' });
  const id = idOf(added);
  const missing = await commands.verifyDomain(caller, id);
  t.same(
    [missing.status, missing.records.map(({ found }) => found)],
    ['pending', ['missing', 'missing', 'missing', 'missing']],
  );
  publish(dns, added);
  dns.set(added.records[1]!.name, { kind: 'failed' });
  const events = world.store.events.length;
  t.match(await refusedWith(t, commands.verifyDomain(caller, id), 'DNS_LOOKUP_FAILED'), {
    details: { retryAfterS: 30 },
  });
  t.equal(world.store.events.length, events);
  publish(dns, added);
  const verified = await commands.verifyDomain(caller, id);
  t.same(
    [verified.status, verified.verifiedAt, verified.records.map(({ found }) => found)],
    ['verified', T0, ['right', 'right', 'right', 'right']],
  );
  t.equal(verified.nextCheckAt, at(DAY_MS / 1_000));
});

void t.test('where a team has verified domains it sends from these alone, by every call', async (t) => {
  const world = await withTemplate();
  const { commands, dns } = world;
  const added = await commands.addDomain(caller, { domain: 'shop.test' });
  t.ok(await commands.sendEmail(caller, simple()), 'a pending domain binds nobody');
  publish(dns, added);
  await commands.verifyDomain(caller, idOf(added));
  const before = world.store.events.length;
  const { details } = await refusedWith(t, commands.sendEmail(caller, simple()), 'SENDER_NOT_ALLOWED');
  t.match(details.errors, [{ field: 'from', message: /example\.com is none/ }]);
  await refusedWith(t, commands.sendEmail(caller, simple(from('a@badshop.test'))), 'SENDER_NOT_ALLOWED');
  await refusedWith(t, commands.sendBulk(caller, bulk(2)), 'SENDER_NOT_ALLOWED');
  t.match(await commands.dryRunBulk(caller, bulk(2)), {
    valid: false,
    warnings: [/^from must be an address of a verified sender domain/],
  });
  t.equal(world.store.events.length, before, 'nothing is written');
  t.ok(await commands.sendEmail(caller, simple(from('a@Shop.test'))));
  t.ok(await commands.sendEmail(caller, simple(from('a@mail.shop.test'))));
  t.ok(await commands.sendBulk(caller, bulk(2, from('a@shop.test'))));
  t.match(await commands.dryRunBulk(caller, bulk(2, from('a@shop.test'))), { valid: true });
  await commands.deleteDomain(caller, idOf(added));
  t.ok(await commands.sendEmail(caller, simple()), 'without a verified domain all may send');
});

void t.test('a send reads nothing of domains from the log, whether the team has some or not', async (t) => {
  const world = await withTemplate();
  const { commands, deps, store } = world;
  const stopping = new AbortController();
  const following = deps.followStates(stopping.signal);
  await new Promise((resolve) => setImmediate(resolve));
  const readsOfSend = async (): Promise<number> => {
    await commands.sendEmail(caller, simple());
    const before = store.reads();
    await commands.sendEmail(caller, simple());
    return store.reads() - before;
  };
  t.equal(await readsOfSend(), 0, 'none');
  await commands.addDomain(caller, { domain: 'example.com' });
  t.equal(await readsOfSend(), 0, 'one');
  stopping.abort();
  await following;
});

void t.test('new keys stand beside those that sign until their records are seen', async (t) => {
  const { commands, dns } = await openWorld();
  const added = await commands.addDomain(caller, { domain: 'example.com' });
  const id = idOf(added);
  publish(dns, added);
  await commands.verifyDomain(caller, id);
  const rotated = await commands.rotateDomainKeys(caller, id);
  const uses = ({ records }: DomainRecord) => records.flatMap(({ key }) => key?.use ?? []);
  t.same(uses(rotated), ['signing', 'signing', 'next', 'next']);
  await refusedWith(t, commands.rotateDomainKeys(caller, id), 'DKIM_ROTATION_UNDER_WAY');
  t.same(uses(await commands.verifyDomain(caller, id)), ['signing', 'signing', 'next', 'next']);
  publish(dns, rotated, 'next');
  const changed = await commands.verifyDomain(caller, id);
  t.same(
    [uses(changed), changed.status, changed.keysRetireAt],
    [['signing', 'signing', 'retiring', 'retiring'], 'verified', at((7 * DAY_MS) / 1_000)],
  );
  t.same(changed.records[0]!.name, rotated.records[2]!.name);
  await refusedWith(t, commands.rotateDomainKeys(caller, id), 'DKIM_ROTATION_UNDER_WAY');
});

void t.test('a deleted domain comes back with its keys, and signs when its records are seen', async (t) => {
  const { commands, dns, clock, keys } = await openWorld();
  const added = await commands.addDomain(caller, { domain: 'example.com' });
  const id = idOf(added);
  publish(dns, added);
  await commands.verifyDomain(caller, id);
  await commands.deleteDomain(caller, id);
  t.same(await commands.listDomains(caller), { data: [] });
  t.match(await commands.listDomains(caller, { deleted: true }), {
    data: [{ id, domain: 'example.com', deletedAt: T0 }],
  });
  t.same(await commands.listDomains(stranger, { deleted: true }), { data: [] });
  await clock.advance(30 * DAY_MS);
  t.match(await commands.restoreDomain(caller, id), {
    id,
    status: 'unverified',
    records: added.records.map(({ value }) => ({ value })),
  });
  t.match(await commands.verifyDomain(caller, id), { status: 'verified' });
  await commands.deleteDomain(caller, id);
  await clock.advance(30 * DAY_MS + 1);
  await refusedWith(t, commands.restoreDomain(caller, id), 'DOMAIN_NOT_FOUND');
  t.same(await commands.listDomains(caller, { deleted: true }), { data: [] });
  const held = keys.ids().length;
  await commands.deleteDomain(caller, id, { permanently: true });
  t.equal(keys.ids().length, held - 1, 'its private keys are destroyed');
  await refusedWith(t, commands.deleteDomain(caller, id, { permanently: true }), 'DOMAIN_NOT_FOUND');
});

void t.test('a domain whose keys were destroyed before a crash is not taken back without them', async (t) => {
  const { commands, deps } = await openWorld();
  const id = idOf(await commands.addDomain(caller, { domain: 'example.com' }));
  await commands.deleteDomain(caller, id);
  await destroyDomainKeys(deps, id, causeOf(deps, caller));
  await refusedWith(t, commands.restoreDomain(caller, id), 'DOMAIN_NOT_FOUND');
});
