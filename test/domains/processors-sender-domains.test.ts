/** Sender domains are looked up every day, and mails leave with the keys that sign at that moment. */
import t from 'tap';
import { assertDefined, parseSenderDomainId, senderDomainsStream } from '../../src/domain/core/ids.js';
import type { SenderDomainId } from '../../src/domain/core/ids.js';
import { caller, TEAM } from '../support/command-world.js';
import { at, DAY_MS } from '../support/email-facts.js';
import {
  openProcessorWorld,
  timersAndTheirWork,
  until,
  workersOf,
  type ProcessorWorld,
} from '../support/processor-world.js';
import { makeProcessors } from '../../src/processors/index.js';
import { publish } from '../support/sender-domains.js';

const typesOf = async (world: ProcessorWorld): Promise<readonly string[]> =>
  (await world.events(senderDomainsStream(TEAM))).map(({ type }) => type);

const withDomain = async (world: ProcessorWorld) => {
  const added = await world.commands.addDomain(caller, { domain: 'shop.test' });
  return { added, id: assertDefined(parseSenderDomainId(added.id), 'id') };
};

const untilEvents = (world: ProcessorWorld, count: number): Promise<void> =>
  until(async () => {
    await world.clock.advance(500);
    return (await typesOf(world)).length >= count;
  }, `${count} events of domains`);

const day = (world: ProcessorWorld, number: number): Promise<void> =>
  world.clock.set(Date.parse(at(0)) + number * DAY_MS + 60_000 * number);

void t.test('every day the records are looked up, and what changes is a fact', async (t) => {
  const world = await openProcessorWorld(t);
  const { dns } = world;
  const { added } = await withDomain(world);
  publish(dns, added);
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await day(world, 1);
  await untilEvents(world, 3);
  t.same((await typesOf(world)).slice(1), ['SenderDomainsChecked', 'SenderDomainVerified']);
  dns.clear();
  for (const number of [2, 3, 4]) {
    t.equal((await world.commands.listDomains(caller)).data[0]!.status, 'verified');
    await world.settled();
    await day(world, number);
    await untilEvents(world, number === 4 ? 7 : 2 + number);
  }
  t.same((await typesOf(world)).slice(3), [
    'SenderDomainsChecked',
    'SenderDomainsChecked',
    'SenderDomainsChecked',
    'SenderDomainUnverified',
  ]);
  for (const { name } of added.records) dns.set(name, { kind: 'failed' });
  await world.settled();
  await day(world, 5);
  await untilEvents(world, 8);
  const [domain] = (await world.commands.listDomains(caller)).data;
  t.equal(domain!.status, 'unverified');
  t.ok(world.logger.lines.some(({ message }) => message.includes('DNS servers did not answer')));
});

const signedBy = async (world: ProcessorWorld, from: string): Promise<readonly string[] | undefined> => {
  const before = world.mailer.sent.length;
  const id = await world.send({ from: { email: from } });
  await world.reaches(id, 'sent');
  return world.mailer.sent[before]?.signWith?.map(({ domain, selector }) => `${selector} ${domain}`);
};

void t.test(
  'a mail leaves with the keys of its domain: of the newest rotation, of a subdomain too, and with none once it is deleted',
  async (t) => {
    const world = await openProcessorWorld(t);
    const { commands, dns } = world;
    const verify = (id: SenderDomainId) => commands.verifyDomain(caller, id);
    world.run(workersOf(world.processing, makeProcessors(world.processing)));
    t.equal(await signedBy(world, 'a@shop.test'), undefined);
    const { added, id } = await withDomain(world);
    t.equal(await signedBy(world, 'a@shop.test'), undefined, 'a pending domain does not sign');
    publish(dns, added);
    await verify(id);
    const names = (use: string, records: typeof added.records) =>
      records.flatMap(({ key }) => (key?.use === use ? [`${key.selector} shop.test`] : []));
    t.same(await signedBy(world, 'a@shop.test'), names('signing', added.records));
    t.same(await signedBy(world, 'a@mail.shop.test'), names('signing', added.records));
    const keys = world.mailer.sent.slice(-2).map(({ signWith }) => signWith);
    t.equal(keys[0], keys[1], 'keys are opened once');
    const rotated = await commands.rotateDomainKeys(caller, id);
    t.same(await signedBy(world, 'a@shop.test'), names('signing', added.records));
    publish(dns, rotated);
    await verify(id);
    t.same(await signedBy(world, 'a@shop.test'), names('next', rotated.records));
    await commands.deleteDomain(caller, id);
    t.equal(await signedBy(world, 'a@shop.test'), undefined);
  },
);
