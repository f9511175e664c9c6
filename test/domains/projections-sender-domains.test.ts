/** The timers of sender domains: one for each team, at its earliest look-up; the same however a write is torn. */
import t from 'tap';
import { DAY_MS } from '../../src/domain/core/time.js';
import type { SenderDomainEvent } from '../../src/domain/domains/events.js';
import {
  SENDER_DOMAIN_TIMERS,
  SENDER_DOMAINS,
  senderDomainsProjection,
} from '../../src/projections/domains/sender-domains.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { DOMAIN_ID, keysNamed, lookedUp, privateKeysOf } from '../support/sender-domains.js';

const OTHER = '0198f000-0000-7000-8000-0000000000d2';
const stream = `senderDomains-${TEAM_ID}`;

const added = (id: string, domain: string, nextS: number): SenderDomainEvent => ({
  type: 'SenderDomainAdded',
  data: { at: T0, id, domain, keys: keysNamed(domain), nextCheckAt: at(nextS) },
  sealed: { privateKeys: privateKeysOf(keysNamed(domain)) },
});
const story: readonly SenderDomainEvent[] = [
  added(DOMAIN_ID, 'a.test', 100),
  added(OTHER, 'b.test', 110),
  {
    type: 'SenderDomainsChecked',
    data: { at: at(100), checks: [{ ...lookedUp({ 'a.test': 'right' }), nextCheckAt: at(200) }] },
  },
  { type: 'SenderDomainVerified', data: { at: at(100), id: DOMAIN_ID } },
];
const deleted = (id: string): SenderDomainEvent => ({ type: 'SenderDomainDeleted', data: { at: at(300), id } });

void t.test('a timer stands at the earliest look-up, and goes with the last domain', async (t) => {
  const { append, recorded } = openLogOfTest();
  await append(stream, story);
  const whole = openDocuments(t);
  await projectIn(whole, senderDomainsProjection(30 * DAY_MS), await recorded());
  const before = await documentsOf(whole, senderDomainsProjection(30 * DAY_MS));
  t.match(before[SENDER_DOMAIN_TIMERS], [{ id: TEAM_ID, kind: 'check', key: stream, dueAt: at(110), team: TEAM_ID }]);
  t.match(before[SENDER_DOMAINS], [{ id: TEAM_ID, domains: [{ status: 'verified' }, { status: 'pending' }] }]);
  t.notMatch(JSON.stringify(before), /private/);
  await append(stream, [deleted(OTHER)]);
  await projectIn(whole, senderDomainsProjection(30 * DAY_MS), await recorded());
  t.match((await documentsOf(whole, senderDomainsProjection(30 * DAY_MS)))[SENDER_DOMAIN_TIMERS], [{ dueAt: at(200) }]);
  await append(stream, [deleted(DOMAIN_ID)]);
  const events = await recorded();
  await projectIn(whole, senderDomainsProjection(30 * DAY_MS), events);
  const expected = await documentsOf(whole, senderDomainsProjection(30 * DAY_MS));
  t.same(expected[SENDER_DOMAIN_TIMERS], []);
  for (const count of [1, 2]) {
    const torn = openDocuments(t);
    await tearWrite(torn, senderDomainsProjection(30 * DAY_MS), events.slice(0, -1), count);
    await projectIn(torn, senderDomainsProjection(30 * DAY_MS), events, { sizes: [2], forgetful: true });
    t.strictSame(await documentsOf(torn, senderDomainsProjection(30 * DAY_MS)), expected, `torn after ${count}`);
  }
});

void t.test('of two domains one is deleted: both timers stand', async (t) => {
  const { append, recorded } = openLogOfTest();
  await append(stream, [...story, { type: 'SenderDomainTrashed', data: { at: at(150), id: OTHER } }]);
  const readModels = openDocuments(t);
  await projectIn(readModels, senderDomainsProjection(30 * DAY_MS), await recorded());
  t.match(
    (await documentsOf(readModels, senderDomainsProjection(30 * DAY_MS)))[SENDER_DOMAIN_TIMERS]?.map(
      ({ kind }) => kind,
    ).sort(),
    ['check', 'removal'],
  );
});
