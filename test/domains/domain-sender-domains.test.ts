/**
 * The decisions about sender domains: verification, its loss, rotation with an overlap; and what is read of DNS
 * records.
 */
import t from 'tap';
import { domainsToRemove, dueDomains, senderDomainDecider } from '../../src/domain/domains/decider.js';
import { dkimFound, dkimRecord, dmarcFound, spfFound } from '../../src/domain/domains/dns.js';
import type { Found, SenderDomainEvent } from '../../src/domain/domains/events.js';
import { maySendFrom, verifiedDomainOf, type SenderDomainsState } from '../../src/domain/domains/state.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { specs } from '../support/given.js';
import { DOMAIN_ID as id, keysNamed, lookedUp, privateKeysOf } from '../support/sender-domains.js';

const DAY_S = DAY_MS / 1_000;
const domains = specs(senderDomainDecider);
const keys = keysNamed('old');
const added: SenderDomainEvent = {
  type: 'SenderDomainAdded',
  data: { at: T0, id, domain: 'example.com', keys, nextCheckAt: at(DAY_S) },
  sealed: { privateKeys: privateKeysOf(keys) },
};
const checked = (seconds: number, found: Readonly<Record<string, Found>>, nextInS = DAY_S): SenderDomainEvent => ({
  type: 'SenderDomainsChecked',
  data: { at: at(seconds), checks: [{ ...lookedUp(found), nextCheckAt: at(seconds + nextInS) }] },
});
const check = (seconds: number, found: Readonly<Record<string, Found>>) =>
  ({ type: 'RecordChecks', at: at(seconds), checks: [lookedUp(found)], closed: [] }) as const;
const verified = (seconds: number): SenderDomainEvent => ({
  type: 'SenderDomainVerified',
  data: { at: at(seconds), id },
});
const newKeys = keysNamed('new');
const rotated: SenderDomainEvent = {
  type: 'SenderDomainKeysAdded',
  data: { at: at(20), id, keys: newKeys },
  sealed: { privateKeys: [] },
};
const rotate = { type: 'RotateKeys', at: at(20), id, keys: newKeys } as const;

void t.test('a domain is added once, and deleted', async (t) => {
  const { given } = domains(t);
  const add = { type: 'AddDomain', at: T0, id, domain: 'example.com', keys } as const;
  const addedNow: SenderDomainEvent = { ...added, sealed: { privateKeys: [] } };
  given().when(add).then(addedNow);
  given(added).when(add).refused('DOMAIN_EXISTS');
  const trash = { type: 'TrashDomain', at: at(5), id } as const;
  const trashed: SenderDomainEvent = { type: 'SenderDomainTrashed', data: { at: at(5), id } };
  given(added).when(trash).then(trashed);
  given(added, trashed).when(trash).refused('DOMAIN_NOT_FOUND');
  given(added, trashed).when(add).then(addedNow);
  given(added, trashed)
    .when(check(9, { old: 'right' }))
    .nothing();
  const many = Array.from({ length: 100 }, (_, n): SenderDomainEvent => ({
    ...added,
    data: { ...added.data, domain: `d${n}.example` },
  }));
  given(...many)
    .when(add)
    .refused('DOMAIN_LIMIT_EXCEEDED');
});

void t.test('a domain that another team owns is not verified, and unverified where it was', async (t) => {
  const { given } = domains(t);
  const closed = { ...check(9, { old: 'right' }), closed: [id] };
  given(added)
    .when(closed)
    .then(checked(9, { old: 'right' }));
  given(added, verified(5))
    .when(closed)
    .then(checked(9, { old: 'right' }), { type: 'SenderDomainUnverified', data: { at: at(9), id } });
});

void t.test('a deleted domain is restored for some days, and is gone after them', async (t) => {
  const { given } = domains(t);
  const trashed: SenderDomainEvent = { type: 'SenderDomainTrashed', data: { at: at(5), id } };
  const restored: SenderDomainEvent = { type: 'SenderDomainRestored', data: { at: at(9), id } };
  const gone: SenderDomainEvent = { type: 'SenderDomainDeleted', data: { at: at(9), id } };
  const restore = { type: 'RestoreDomain', at: at(9), id, deletedSince: at(5) } as const;
  const remove = { type: 'DeleteDomains', at: at(9), ids: [id] } as const;
  given(added).when(restore).nothing();
  given(added, trashed).when(restore).then(restored);
  given(added, trashed)
    .when({ ...restore, deletedSince: at(6) })
    .refused('DOMAIN_NOT_FOUND');
  given(added, trashed, { ...added, data: { ...added.data, id: 'another' } })
    .when(restore)
    .refused('DOMAIN_EXISTS');
  given(added).when(remove).then(gone);
  given(added, trashed).when(remove).then(gone);
  given(added, trashed, gone).when(remove).nothing();
  given(added, trashed, gone).when(restore).refused('DOMAIN_NOT_FOUND');
  const back = [added, checked(1, { old: 'right' }), verified(1), trashed, restored].reduce(
    (state: SenderDomainsState, event) => senderDomainDecider.evolve(state, event),
    undefined,
  );
  t.match(
    back,
    { domains: [{ id, status: 'unverified', nextCheckAt: at(9) }], trash: undefined },
    'its records may be gone, so they are looked up',
  );
  t.equal(verifiedDomainOf(back, 'example.com'), undefined);
  const many = Array.from({ length: 101 }, (_, n) => [
    { ...added, data: { ...added.data, id: `d${n}` } },
    { type: 'SenderDomainTrashed' as const, data: { at: at(n), id: `d${n}` } },
  ]).flat();
  const full = many.reduce((state: SenderDomainsState, event) => senderDomainDecider.evolve(state, event), undefined);
  t.same(
    domainsToRemove(full, at(0)).map((one) => one.id),
    ['d0'],
    'of too many the oldest goes',
  );
  t.same(
    domainsToRemove(full, at(3)).map((one) => one.id),
    ['d0', 'd1', 'd2'],
  );
});

void t.test(
  'it is verified when the records of all its keys are right, and no longer when they are not on three days',
  async (t) => {
    const { given } = domains(t);
    given(added)
      .when(check(9, { old: 'missing' }))
      .then(checked(9, { old: 'missing' }));
    given(added)
      .when(check(9, { old: 'right' }))
      .then(checked(9, { old: 'right' }), verified(9));
    const is = [added, checked(9, { old: 'right' }), verified(9)];
    given(...is)
      .when(check(DAY_S, { old: 'right' }))
      .then(checked(DAY_S, { old: 'right' }));
    const failed = (...days: number[]) => days.map((day) => checked(day * DAY_S, { old: 'missing' }));
    const lost = (day: number): SenderDomainEvent => ({
      type: 'SenderDomainUnverified',
      data: { at: at(day * DAY_S), id },
    });
    given(...is, ...failed(1))
      .when(check(2 * DAY_S, { old: 'wrong' }))
      .then(checked(2 * DAY_S, { old: 'wrong' }));
    given(...is, ...failed(1, 2))
      .when(check(3 * DAY_S, { old: 'missing' }))
      .then(...failed(3), lost(3));
    given(...is, checked(60, { old: 'missing' }), checked(61, { old: 'missing' }))
      .when(check(62, { old: 'missing' }))
      .then(checked(62, { old: 'missing' }));
    given(...is, ...failed(1, 2), checked(2.5 * DAY_S, { old: 'right' }))
      .when(check(3 * DAY_S, { old: 'missing' }))
      .then(...failed(3));
    given(...is, ...failed(1, 2), ...failed(3), lost(3))
      .when(check(4 * DAY_S, { old: 'right' }))
      .then(checked(4 * DAY_S, { old: 'right' }), verified(4 * DAY_S));
  },
);

void t.test('a look-up that nobody answered changes nothing, and is made again in an hour', async (t) => {
  const { given } = domains(t);
  const is = [
    added,
    checked(9, { old: 'right' }),
    verified(9),
    checked(DAY_S, { old: 'missing' }),
    checked(2 * DAY_S, { old: 'missing' }),
  ];
  const unanswered = checked(3 * DAY_S, { old: 'unknown' }, 3_600);
  const after = given(...is)
    .when(check(3 * DAY_S, { old: 'unknown' }))
    .then(unanswered);
  const [before] = given(...is).state!.domains;
  t.strictSame(after!.domains, [{ ...before, checkedAt: at(3 * DAY_S), nextCheckAt: at(3 * DAY_S + 3_600) }]);
  t.strictSame(dueDomains(after, at(3 * DAY_S + 3_599)), []);
  t.equal(dueDomains(after, at(3 * DAY_S + 3_600)).length, 1);
});

void t.test('new keys sign once their records are seen, and those before retire after the overlap', async (t) => {
  const { given } = domains(t);
  const is = [added, checked(9, { old: 'right' }), verified(9)];
  given(...is)
    .when(rotate)
    .then(rotated);
  given(...is, rotated)
    .when(rotate)
    .refused('DKIM_ROTATION_UNDER_WAY');
  given(...is, rotated)
    .when(check(30, { old: 'right', new: 'missing' }))
    .then(checked(30, { old: 'right', new: 'missing' }));
  t.same(given(...is, rotated, checked(30, { old: 'right', new: 'missing' })).state!.domains[0]!.signing, keys);
  const changed: SenderDomainEvent = {
    type: 'SenderDomainKeysChanged',
    data: { at: at(40), id, retireAt: at(40 + 7 * DAY_S) },
  };
  const seen = checked(40, { old: 'right', new: 'right' });
  const after = given(...is, rotated)
    .when(check(40, { old: 'right', new: 'right' }))
    .then(seen, changed)!.domains[0]!;
  t.same([after.signing, after.next, after.retiring], [newKeys, [], { keys, until: at(40 + 7 * DAY_S) }]);
  const inOverlap = [...is, rotated, seen, changed];
  given(...inOverlap)
    .when(rotate)
    .refused('DKIM_ROTATION_UNDER_WAY');
  given(...inOverlap)
    .when(check(6 * DAY_S, { old: 'missing', new: 'right' }))
    .then(checked(6 * DAY_S, { old: 'missing', new: 'right' }));
  const retired: SenderDomainEvent = { type: 'SenderDomainKeysRetired', data: { at: at(8 * DAY_S), id } };
  const end = given(...inOverlap)
    .when(check(8 * DAY_S, { old: 'right', new: 'right' }))
    .then(checked(8 * DAY_S, { old: 'right', new: 'right' }), retired)!.domains[0]!;
  t.same(
    [end.status, end.retiring, Object.keys(end.dkim)],
    ['verified', null, newKeys.map(({ selector }) => selector)],
  );
  given(added, rotated)
    .when(check(40, { old: 'missing', new: 'right' }))
    .then(checked(40, { old: 'missing', new: 'right' }), changed, verified(40));
});

void t.test(
  'a sender is of the longest verified domain that it lies below; without any verified all may send',
  async (t) => {
    const [domain] = domains(t).given(added).state!.domains;
    const state = (
      ...of: readonly (readonly [string, 'pending' | 'verified' | 'unverified'])[]
    ): SenderDomainsState => ({
      domains: of.map(([name, status]) => ({ ...domain!, domain: name, status })),
    });
    t.ok(maySendFrom(undefined, 'a.test'));
    t.ok(maySendFrom(state(['example.com', 'pending'], ['b.test', 'unverified']), 'a.test'));
    const some = state(['example.com', 'verified'], ['mail.example.com', 'verified'], ['b.test', 'pending']);
    for (const name of ['a.test', 'b.test', 'badexample.com', 'com', 'example.com.evil.test'])
      t.notOk(maySendFrom(some, name), name);
    t.equal(verifiedDomainOf(some, 'example.com')?.domain, 'example.com');
    t.equal(verifiedDomainOf(some, 'x.example.com')?.domain, 'example.com');
    t.equal(verifiedDomainOf(some, 'x.mail.example.com')?.domain, 'mail.example.com');
  },
);

void t.test('records are right, missing, wrong, or not known', async (t) => {
  const [key] = keys;
  const of = (...texts: string[]) => ({ kind: 'found', texts }) as const;
  const { value } = dkimRecord('example.com', key!);
  t.equal(value, 'v=DKIM1; k=rsa; p=old+rsa=');
  for (const [texts, found] of [
    [[value], 'right'],
    [['p=old+rsa='], 'right'],
    [['v=DKIM1;p= old+ rsa= ;h=sha1:sha256; t=s; s=email'], 'right'],
    [['something else', value], 'right'],
    [['something else'], 'missing'],
    [['v=DKIM1; k=rsa; p='], 'wrong'],
    [['v=DKIM1; k=ed25519; p=old+rsa='], 'wrong'],
    [['v=DKIM1; h=sha1; p=old+rsa='], 'wrong'],
    [['v=DKIM1; s=tlsrpt; p=old+rsa='], 'wrong'],
    [[value, 'v=DKIM1; p=other'], 'wrong'],
  ] as const)
    t.equal(dkimFound(key!, of(...texts)), found, texts.join(' and '));
  t.equal(dkimFound(key!, { kind: 'none' }), 'missing');
  t.equal(dkimFound(key!, { kind: 'failed' }), 'unknown');
  t.equal(spfFound('mx', of('v=spf1 a MX -all')), 'right');
  t.equal(spfFound('mx include:_spf.example.net', of('v=spf1 include:_spf.example.net +mx ~all')), 'right');
  t.equal(spfFound('mx include:_spf.example.net', of('v=spf1 mx ~all')), 'wrong');
  t.equal(spfFound('mx', of('v=spf1 mx ~all', 'v=spf1 a ~all')), 'wrong');
  t.equal(spfFound('mx', of('v=spf10 mx')), 'missing');
  t.equal(dmarcFound(of('v=DMARC1; p=Reject; rua=mailto:a@b.test')), 'right');
  t.equal(dmarcFound(of('v=DMARC1; p=whatever')), 'wrong');
  t.equal(dmarcFound(of('x')), 'missing');
});

void t.test('a domain is alerted once a day, and again after its share has fallen to half of the bound', async (t) => {
  const { given } = domains(t);
  const bounds = { bounce: 50, complaint: 3, recipientsMin: 200 };
  const rate = { side: 'recipient', domain: 'gmail.com', measure: 'bounce' } as const;
  const day = (number: number): string => at(number * DAY_S).slice(0, 10);
  const watch = (number: number, hits: number, recipients = 1_000) =>
    ({
      ...({ type: 'WatchRates', at: at(number * DAY_S), day: day(number), bounds } as const),
      seen: [{ ...rate, recipients, hits }],
    }) as const;
  const crossed = (number: number, hits: number, isAbove: boolean, recipients = 1_000): SenderDomainEvent => ({
    type: 'DomainRateCrossed',
    data: { at: at(number * DAY_S), day: day(number), ...rate, isAbove, recipients, hits, bound: 50 },
  });
  given().when(watch(0, 49)).then();
  given()
    .when(watch(0, 150, 199))
    .then();
  given()
    .when(watch(0, 50))
    .then(crossed(0, 50, true));
  given()
    .when(watch(0, 10, 200))
    .then(crossed(0, 10, true, 200));
  const high = crossed(0, 50, true);
  given(high).when(watch(0, 90)).then();
  given(high).when(watch(0, 26)).then();
  given(high)
    .when(watch(0, 25))
    .then(crossed(0, 25, false));
  const fallen = crossed(0, 25, false);
  given(high, fallen).when(watch(0, 90)).then();
  given(high, fallen)
    .when(watch(1, 90))
    .then(crossed(1, 90, true));
  given(high).when(watch(1, 90)).then();
  given(high)
    .when(watch(2, 90))
    .then(crossed(2, 90, true));
  given(added, high).when(watch(0, 90)).then();
  given(high, added).when(watch(0, 90)).then();
  const complaint = { ...rate, measure: 'complaint' } as const;
  const seen = [{ ...complaint, recipients: 1_000, hits: 3 }];
  given(high)
    .when({ ...watch(0, 0), seen })
    .then({
      type: 'DomainRateCrossed',
      data: { ...crossed(0, 3, true).data, ...complaint, bound: 3 },
    } as SenderDomainEvent);
});
