/**
 * A domain that one team has verified is closed to all others: at send, bulk send and dry run, and for another
 * verification.
 */
import t, { type Test } from 'tap';
import type { DomainRecord } from '../../src/api/domains.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { domainOwner } from '../../src/commands/domains/claims.js';
import {
  assertDefined,
  parseSenderDomainId,
  senderDomainsStream,
  teamStream,
  type SenderDomainId,
} from '../../src/domain/core/ids.js';
import { bulk } from '../support/bulk.js';
import {
  caller,
  OTHER_TEAM,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
  type World,
} from '../support/command-world.js';
import { DAY_MS } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { publish } from '../support/sender-domains.js';

const idOf = ({ id }: Pick<DomainRecord, 'id'>): SenderDomainId => assertDefined(parseSenderDomainId(id), 'id');
const from = (email: string) => ({ from: { email } });

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
