/** Sender domains, and domains that are closed. */
import t, { type Test } from 'tap';
import type { DomainRecord } from '../../src/api/domains.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { domainOwner } from '../../src/commands/domains/claims.js';
import { destroyDomainKeys } from '../../src/commands/domains/sender-domains.js';
import {
  assertDefined,
  batchStream,
  domainKeysStream,
  emailStream,
  parseEmailId,
  parseSenderDomainId,
  type SenderDomainId,
  senderDomainsStream,
  teamStream,
} from '../../src/domain/core/ids.js';
import { watchDomainRates } from '../../src/processors/domains/sender-domains.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import {
  caller,
  LINK_BASE,
  openWorld,
  simple,
  stranger,
  withTemplate,
  OTHER_TEAM,
  TEAM,
  welcome,
  type World,
} from '../support/command-world.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { publish } from '../support/sender-domains.js';

// Sender domains by command: keys and records, verification, rotation, and from where a team may send.

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

// A domain that one team has verified is closed to all others: at send, bulk send and dry run, and for another
// verification.

const open = async (): Promise<World> => {
  const world = await withTemplate();
  await world.commands.createTemplate(stranger, welcome);
  return world;
};

/** Adds the domain and sets its records; the other records of the DNS stay. */
const add = async ({ commands, dns }: World, who: Caller, domain: string): Promise<DomainRecord> => {
  const added = await commands.addDomain(who, { domain });
  publish(dns, added);
  return added;
};

const verified = async (world: World, who: Caller, domain: string): Promise<DomainRecord> =>
  world.commands.verifyDomain(who, idOf(await add(world, who, domain)));

const refuses = async (t: Test, { commands }: World, who: Caller, sender: string): Promise<void> => {
  const { details } = await refusedWith(t, commands.sendEmail(who, simple(from(sender))), 'SENDER_NOT_ALLOWED');
  t.match(details.errors, [{ field: 'from', message: /another team has verified/ }]);
  await refusedWith(t, commands.sendBulk(who, bulk(2, from(sender))), 'SENDER_NOT_ALLOWED');
  t.match(await commands.dryRunBulk(who, bulk(2, from(sender))), {
    valid: false,
    warnings: [/another team has verified/],
  });
};

void t.test('a team without a domain sends neither from that of another nor from a name below it', async (t) => {
  const world = await open();
  await verified(world, caller, 'shop.test');
  const before = world.store.events.length;
  for (const sender of ['a@shop.test', 'a@SHOP.test', 'a@mail.shop.test', 'a@x.y.shop.test'])
    await refuses(t, world, stranger, sender);
  t.equal(world.store.events.length, before, 'nothing is written');
  for (const sender of ['a@other.test', 'a@badshop.test'])
    t.ok(await world.commands.sendEmail(stranger, simple(from(sender))), sender);
  t.ok(await world.commands.sendEmail(caller, simple(from('a@mail.shop.test'))));
});

void t.test('the sender of the template and that of the team are closed as that of the call is', async (t) => {
  const world = await open();
  await verified(world, caller, 'example.com');
  await refusedWith(t, world.commands.sendEmail(stranger, simple()), 'SENDER_NOT_ALLOWED');
  const template = { ...welcome, slug: 'own', ...from('a@mail.example.com') };
  await world.commands.createTemplate(stranger, template);
  await refusedWith(t, world.commands.sendEmail(stranger, simple({ templateId: 'own' })), 'SENDER_NOT_ALLOWED');
});

void t.test(
  'the records of another team verify neither the domain nor one below it while the first team has it',
  async (t) => {
    const world = await open();
    const first = await verified(world, caller, 'shop.test');
    for (const domain of ['shop.test', 'mail.shop.test']) {
      const other = await add(world, stranger, domain);
      await refusedWith(t, world.commands.verifyDomain(stranger, idOf(other)), 'DOMAIN_TAKEN');
      const seen = await world.commands.getDomain(stranger, idOf(other));
      t.match([seen.status, seen.records[0]?.found], ['pending', 'right']);
    }
    await refuses(t, world, stranger, 'a@shop.test');
    await world.commands.deleteDomain(caller, idOf(first));
    t.ok(await world.commands.sendEmail(stranger, simple(from('a@shop.test'))), 'a deleted domain is open');
    const [again] = (await world.commands.listDomains(stranger)).data;
    t.equal((await world.commands.verifyDomain(stranger, idOf(again!))).status, 'verified');
    await refuses(t, world, caller, 'a@shop.test');
    await world.commands.restoreDomain(caller, idOf(first));
    await refusedWith(t, world.commands.verifyDomain(caller, idOf(first)), 'DOMAIN_TAKEN');
    t.equal((await world.commands.getDomain(caller, idOf(first))).status, 'unverified');
  },
);

void t.test('a domain above one that another team has verified is verified, and leaves that one closed', async (t) => {
  const world = await open();
  await verified(world, stranger, 'mail.shop.test');
  t.equal((await verified(world, caller, 'shop.test')).status, 'verified');
  t.ok(await world.commands.sendEmail(caller, simple(from('a@shop.test'))));
  t.ok(await world.commands.sendEmail(stranger, simple(from('a@mail.shop.test'))));
  await refuses(t, world, caller, 'a@x.mail.shop.test');
  await refuses(t, world, stranger, 'a@news.shop.test');
});

void t.test('a domain is open again once its records are gone for days', async (t) => {
  const world = await open();
  const first = await verified(world, caller, 'shop.test');
  world.dns.clear();
  for (let day = 0; day < 3; day += 1) {
    await refuses(t, world, stranger, 'a@shop.test');
    await world.clock.advance(DAY_MS);
    await world.commands.verifyDomain(caller, idOf(first));
  }
  t.equal((await world.commands.getDomain(caller, idOf(first))).status, 'unverified');
  t.ok(await world.commands.sendEmail(stranger, simple(from('a@shop.test'))));
  t.equal((await verified(world, stranger, 'shop.test')).status, 'verified');
  publish(world.dns, first);
  await refusedWith(t, world.commands.verifyDomain(caller, idOf(first)), 'DOMAIN_TAKEN');
});

void t.test('the domains of a deleted team are open', async (t) => {
  const world = await open();
  await verified(world, caller, 'shop.test');
  const cause = causeOf(world.deps, caller);
  const deleted = { type: 'TeamDeleted' as const, data: { at: cause.at } };
  await world.deps.eventLog.append(
    teamStream(TEAM),
    (await world.deps.team(teamStream(TEAM))).version,
    [deleted],
    cause,
  );
  t.ok(await world.commands.sendEmail(stranger, simple(from('a@shop.test'))));
  t.equal((await verified(world, stranger, 'shop.test')).status, 'verified');
});

void t.test('of two teams that verify at once one gets the domain, also in two processes', async (t) => {
  const world = await open();
  const [one, other] = [await add(world, caller, 'shop.test'), await add(world, stranger, 'shop.test')];
  const results = await Promise.allSettled([
    world.commands.verifyDomain(caller, idOf(one)),
    world.commands.verifyDomain(stranger, idOf(other)),
  ]);
  const owner = await domainOwner(world.elsewhere(), 'mail.shop.test');
  t.ok(owner === TEAM || owner === OTHER_TEAM, 'a process that begins now knows the owner');
  const loser = owner === TEAM ? stranger : caller;
  t.ok(results.some(({ status }) => status === 'fulfilled'));
  await refuses(t, world, loser, 'a@shop.test');
});

void t.test('a team whose claim was taken over is unverified by its next look-up', async (t) => {
  const world = await open();
  const first = await verified(world, caller, 'shop.test');
  const second = await add(world, stranger, 'shop.test');
  const cause = causeOf(world.deps, stranger);
  const { stream, names } = world.deps.claimPlaces('shop.test')!;
  // The verification of the second team came between the claim and the verification of the first.
  const claim = {
    type: 'DomainClaimed' as const,
    data: { at: cause.at, name: names[0]!, teamId: OTHER_TEAM, id: second.id },
  };
  const { version } = await world.deps.domainClaims(stream);
  await world.deps.eventLog.append(stream, version, [claim], cause);
  const own = await world.deps.senderDomains(senderDomainsStream(OTHER_TEAM));
  const verifies = { type: 'SenderDomainVerified' as const, data: { at: cause.at, id: second.id } };
  await world.deps.eventLog.append(senderDomainsStream(OTHER_TEAM), own.version, [verifies], cause);
  await refuses(t, world, caller, 'a@shop.test');
  await refusedWith(t, world.commands.verifyDomain(caller, idOf(first)), 'DOMAIN_TAKEN');
  t.equal((await world.commands.getDomain(caller, idOf(first))).status, 'unverified');
});

void t.test('the names of claims stand nowhere in clear', async (t) => {
  const world = await open();
  await verified(world, caller, 'shop.test');
  const claims = world.store.events.filter(({ stream }) => stream.startsWith('domainClaims-'));
  t.equal(claims.length, 1);
  t.notMatch(JSON.stringify(claims.map(({ stream, data }) => [stream, String(data)])), /shop/);
});

// Links in mails: the tracking domain of a sender domain.

const LINKS = 'links.shop.test';
const tracked = (email: string) => simple({ ...from(email), tracking: { opens: true, clicks: true } });

void t.test(
  'links lead to the tracking domain while its record leads here, and to the public URL otherwise',
  async (t) => {
    const world = await open();
    const { commands, dns } = world;
    const id = idOf(await add(world, caller, 'shop.test'));
    const urlOf = async (email = 'a@mail.shop.test', who = caller): Promise<string | undefined> => {
      const { body } = await commands.sendEmail(who, tracked(email));
      const [first] = await world.events(emailStream(assertDefined(parseEmailId(body.id), 'email id')));
      return first?.type === 'EmailQueued' ? first.data.tracking?.url : undefined;
    };
    const found = async () =>
      (await commands.verifyDomain(caller, id)).records.find(({ purpose }) => purpose === 'tracking')?.found;
    const set = await commands.setTrackingDomain(caller, id, 'Links.SHOP.test');
    t.equal(set.trackingDomain, LINKS);
    const record = assertDefined(
      set.records.find(({ purpose }) => purpose === 'tracking'),
      'record',
    );
    t.strictSame(record, {
      purpose: 'tracking',
      type: 'CNAME',
      name: LINKS,
      value: 'mail.example.com',
      required: false,
      found: 'unknown',
      key: null,
    });
    t.equal(await found(), 'missing');
    t.equal(await urlOf(), LINK_BASE);
    dns.set(LINKS, { kind: 'found', texts: ['elsewhere.example.com'] });
    t.equal(await found(), 'wrong');
    t.equal(await urlOf(), LINK_BASE);
    t.equal(await commands.linkHostOwner(LINKS), undefined);

    dns.set(LINKS, { kind: 'found', texts: [record.value] });
    t.equal(await found(), 'right');
    t.equal(await urlOf(), `https://${LINKS}`);
    t.equal(await urlOf('a@shop.test'), `https://${LINKS}`);
    t.equal(await commands.linkHostOwner(LINKS), TEAM);
    for (const host of ['shop.test', `x.${LINKS}`, 'links.other.test', 'localhost'])
      t.equal(await commands.linkHostOwner(host), undefined, host);

    const list = { ...welcome, slug: 'news', unsubscribeList: 'news' };
    await commands.createTemplate(caller, list);
    await commands.publishTemplate(caller, 'news');
    const news = simple({ ...from('a@shop.test'), templateId: 'news' });
    const { body } = await commands.sendEmail(caller, news);
    t.match(await world.events(emailStream(assertDefined(parseEmailId(body.id), 'email id'))), [
      { data: { unsubscribeList: 'news', linksUrl: `https://${LINKS}` } },
    ]);
    const batch = await acceptBulk(world, bulk(1, { ...from('a@shop.test'), templateId: 'news' }));
    t.match(await world.events(batchStream(batch)), [{ data: { linksUrl: `https://${LINKS}` } }]);

    dns.set(LINKS, { kind: 'failed' });
    t.equal(await found(), 'right', 'nobody answered');
    dns.delete(LINKS);
    t.equal(await found(), 'missing');
    t.equal(await urlOf(), LINK_BASE);
    t.equal(await commands.linkHostOwner(LINKS), undefined);

    dns.set(LINKS, { kind: 'found', texts: [record.value] });
    t.equal(await found(), 'right');
    await commands.setTrackingDomain(caller, id, `other.${LINKS}`);
    t.equal(await urlOf(), LINK_BASE, 'another name is looked up anew');
    await commands.setTrackingDomain(caller, id, LINKS);
    await found();
    const gone = await commands.setTrackingDomain(caller, id, null);
    t.match(gone, { trackingDomain: null });
    t.notOk(gone.records.some(({ purpose }) => purpose === 'tracking'));
    t.equal(await urlOf(), LINK_BASE);

    await commands.setTrackingDomain(caller, id, LINKS);
    await found();
    t.equal(await urlOf(), `https://${LINKS}`);
    await commands.deleteDomain(caller, id);
    t.equal(await commands.linkHostOwner(LINKS), undefined);
    t.equal(await urlOf(), LINK_BASE, 'a deleted domain has no links');
  },
);

void t.test('a tracking domain lies below its sender domain and belongs to one team', async (t) => {
  const world = await open();
  const { commands } = world;
  const own = idOf(await verified(world, caller, 'shop.test'));
  const below = idOf(await add(world, stranger, 'links.shop.test'));
  await refusedWith(t, commands.setTrackingDomain(stranger, below, 'a.links.shop.test'), 'DOMAIN_TAKEN');
  await refusedWith(t, commands.setTrackingDomain(stranger, own, LINKS), 'DOMAIN_NOT_FOUND');
  for (const name of ['shop.test', 'links.badshop.test', 'links.other.test', 'a b.shop.test', '.shop.test'])
    await refusedWith(t, commands.setTrackingDomain(caller, own, name), 'VALIDATION_ERROR');
  const ofService = idOf(await add(world, caller, 'example.com'));
  await refusedWith(t, commands.setTrackingDomain(caller, ofService, 'mail.example.com'), 'VALIDATION_ERROR');
  const events = world.store.events.length;
  await commands.setTrackingDomain(caller, own, LINKS);
  await commands.setTrackingDomain(caller, own, LINKS);
  t.equal(world.store.events.length, events + 1);
});

void t.test('the figures of today tell of a domain once, as an event of its team', async (t) => {
  const world = await open();
  const alerts: (readonly string[])[] = [];
  let bounced = 10;
  const { signal } = new AbortController();
  const look = () =>
    watchDomainRates(
      {
        ...world.deps,
        domainsOfDay: async function* (day) {
          t.equal(day, T0.slice(0, 10));
          yield [
            { team: TEAM, domains: { 'to:gmail.com': { sent: 190, bounced, failed: 10 }, other: { bounced: 900 } } },
            { team: OTHER_TEAM, domains: { 'from:shop.test': { sent: 400, complained: 2 } } },
            { team: OTHER_TEAM },
          ];
        },
        alerted: (side, measure) => void alerts.push([side, measure]),
      },
      signal,
    );
  const told = async () =>
    (await world.events(senderDomainsStream(caller.teamId))).filter(({ type }) => type === 'DomainRateCrossed');
  await look();
  t.same([await told(), alerts], [[], [['sender', 'complaint']]]);
  bounced = 11;
  await look();
  await look();
  t.match(await told(), [{ data: { domain: 'gmail.com', recipients: 211, hits: 11, isAbove: true } }]);
  t.same(alerts, [
    ['sender', 'complaint'],
    ['recipient', 'bounce'],
  ]);
});
