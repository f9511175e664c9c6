/**
 * The sender domains of a team: their state, which of them a sender address belongs to, and the claims that close a
 * domain to other teams.
 */
import type { StreamName } from '../core/ids.js';
import type { DomainClaimsEvent, Check, Found, PublicKey, SenderDomainEvent } from './events.js';

/**
 * Place of the claims on a domain: their stream, and the HMACs of the domain and of its parent domains, the longest
 * first.
 */
export type ClaimPlaces = Readonly<{ stream: StreamName; names: readonly string[] }>;

/** A claim counts while the sender domain `id` of the team is verified; otherwise another team takes it over. */
export type DomainClaim = Readonly<{ teamId: string; id: string }>;

/** By an HMAC of the domain. */
export type DomainClaims = ReadonlyMap<string, DomainClaim>;

export const noClaims: DomainClaims = new Map();

export const evolveDomainClaims = (
  claims: DomainClaims,
  { data: { name, teamId, id } }: DomainClaimsEvent,
): DomainClaims => new Map(claims).set(name, { teamId, id });

/**
 * The domain itself and those above it, the longest first. A name of one label is no sender domain, so it is left out.
 */
export const domainsAbove = (domain: string): readonly string[] => {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_, from) => labels.slice(from).join('.'));
};

/** `pending`: never verified yet. `unverified`: it was, but its records were missing or wrong on several
 * days, it was deleted and restored, or another team is its owner. */
type SenderDomainStatus = 'pending' | 'verified' | 'unverified';

export type SenderDomain = Readonly<{
  id: string;
  domain: string;
  status: SenderDomainStatus;
  createdAt: string;
  verifiedAt: string | null;
  /** The last look-up, whether it was answered or not. */
  checkedAt: string | null;
  nextCheckAt: string;
  /** The keys that sign while the domain is verified. */
  signing: readonly PublicKey[];
  /** New keys, which sign once their records are seen. */
  next: readonly PublicKey[];
  /** The keys that signed before; their records are needed until `until`. */
  retiring: Readonly<{ keys: readonly PublicKey[]; until: string }> | null;
  /** By selector. */
  dkim: Readonly<Record<string, Found>>;
  spf: Found;
  dmarc: Found;
  /** Absent if the return path was never looked up. */
  returnPath?: Readonly<{ mx: Found; spf: Found }>;
  /** The domain of links in its mails, and whether its record leads to the service; absent: none is set. */
  tracking?: Readonly<{ domain: string; found: Found }>;
  /**
   * The number of days in a row on which the records of the signing keys were missing or wrong, and the last of these
   * days.
   */
  failing: Readonly<{ days: number; last: string }> | null;
}>;

/** A deleted domain that can be restored. */
export type TrashedDomain = SenderDomain & Readonly<{ deletedAt: string }>;

/**
 * `domains` in the order of addition, `trash` in the order of deletion; absent if empty. JSON, because a read model
 * stores it.
 */
export type SenderDomains = Readonly<{
  domains: readonly SenderDomain[];
  trash?: readonly TrashedDomain[];
  /** By side, domain and measure: the last day with an alert, and whether the share has stayed high; absent: none. */
  alerts?: Readonly<Record<string, DomainAlert>>;
}>;
export type DomainAlert = Readonly<{ day: string; isAbove: boolean }>;
export type SenderDomainsState = SenderDomains | undefined;

/** The result for several keys together: right if all are, else the worst that is known. */
export const foundOfKeys = (keys: readonly PublicKey[], dkim: Readonly<Record<string, Found>>): Found => {
  const found = keys.map(({ selector }) => dkim[selector] ?? 'unknown');
  if (found.every((one) => one === 'right')) return 'right';
  if (found.includes('missing')) return 'missing';
  return found.includes('wrong') ? 'wrong' : 'unknown';
};

export const evolveSenderDomains = (state: SenderDomainsState, event: SenderDomainEvent): SenderDomainsState => {
  if (event.type === 'DomainRateCrossed') return { ...(state ?? { domains: [] }), alerts: alertsAfter(state, event) };
  const after = evolveDomains(state, event);
  return state?.alerts === undefined ? after : { ...after, alerts: state.alerts };
};

type RateCrossed = Extract<SenderDomainEvent, { type: 'DomainRateCrossed' }>;

export const alertKey = ({ side, domain, measure }: Pick<RateCrossed['data'], 'side' | 'domain' | 'measure'>): string =>
  `${side}:${domain}:${measure}`;

const alertsAfter = (state: SenderDomainsState, { data }: RateCrossed): NonNullable<SenderDomains['alerts']> => {
  const key = alertKey(data);
  const day = data.isAbove ? data.day : (state?.alerts?.[key]?.day ?? data.day);
  return { ...state?.alerts, [key]: { day, isAbove: data.isAbove } };
};

const evolveDomains = (
  state: SenderDomainsState,
  event: Exclude<SenderDomainEvent, { type: 'DomainRateCrossed' }>,
): SenderDomains => {
  const { domains, trash = [] } = state ?? { domains: [] };
  const { data } = event;
  switch (event.type) {
    case 'SenderDomainAdded':
      return stateOf([...domains, addedDomain(event.data)], trash);
    case 'SenderDomainsChecked':
      return stateOf(
        domains.map((domain) => afterCheck(domain, event.data)),
        trash,
      );
    case 'SenderDomainTrashed': {
      const { at: deletedAt, id } = event.data;
      const [gone, left] = [domains.filter((one) => one.id === id), domains.filter((one) => one.id !== id)];
      return stateOf(left, [...trash, ...gone.map((domain) => ({ ...domain, deletedAt }))]);
    }
    case 'SenderDomainRestored': {
      const { at, id } = event.data;
      const back = trash.filter((one) => one.id === id).map((domain) => restored(domain, at));
      return stateOf([...domains, ...back], without(trash, id));
    }
    case 'SenderDomainDeleted':
      return stateOf(without(domains, event.data.id), without(trash, event.data.id));
    case 'SenderDomainVerified':
    case 'SenderDomainUnverified':
    case 'SenderDomainKeysAdded':
    case 'SenderDomainKeysChanged':
    case 'SenderDomainKeysRetired':
    case 'SenderDomainTrackingSet':
      return stateOf(
        domains.map((domain) => ('id' in data && domain.id === data.id ? afterChange(domain, event) : domain)),
        trash,
      );
  }
};

const stateOf = (domains: readonly SenderDomain[], trash: readonly TrashedDomain[]): SenderDomains => ({
  domains,
  ...(trash.length === 0 ? {} : { trash }),
});

const without = <Domain extends SenderDomain>(domains: readonly Domain[], id: string): readonly Domain[] =>
  domains.filter((one) => one.id !== id);

/** A restored domain is verified again before it signs: its records may have changed meanwhile. */
const restored = ({ deletedAt: _deletedAt, ...domain }: TrashedDomain, at: string): SenderDomain => ({
  ...domain,
  status: domain.status === 'pending' ? 'pending' : 'unverified',
  nextCheckAt: at,
  failing: null,
});

type Added = Extract<SenderDomainEvent, { type: 'SenderDomainAdded' }>['data'];

const addedDomain = ({ at, id, domain, keys, nextCheckAt }: Added): SenderDomain => ({
  id,
  domain,
  status: 'pending',
  createdAt: at,
  verifiedAt: null,
  checkedAt: null,
  nextCheckAt,
  signing: keys,
  next: [],
  retiring: null,
  dkim: {},
  spf: 'unknown',
  dmarc: 'unknown',
  failing: null,
});

const returnPathAfter = (
  { returnPath: before }: SenderDomain,
  { returnPath: seen }: Check,
): Pick<SenderDomain, 'returnPath'> => {
  if (seen === undefined) return {};
  const known = (found: Found, one: Found | undefined): Found => (found === 'unknown' ? (one ?? found) : found);
  return { returnPath: { mx: known(seen.mx, before?.mx), spf: known(seen.spf, before?.spf) } };
};

/** A look-up of an earlier tracking domain tells nothing of the present one. */
const trackingAfter = ({ tracking }: SenderDomain, { tracking: seen }: Check): Pick<SenderDomain, 'tracking'> =>
  tracking === undefined || seen === undefined || seen.name !== tracking.domain || seen.found === 'unknown'
    ? {}
    : { tracking: { ...tracking, found: seen.found } };

const afterCheck = (
  domain: SenderDomain,
  { at, checks }: Readonly<{ at: string; checks: readonly Check[] }>,
): SenderDomain => {
  const check = checks.find(({ id }) => id === domain.id);
  if (check === undefined) return domain;
  const dkim = { ...domain.dkim };
  // A record that could not be looked up keeps its last result.
  for (const { selector, found } of check.dkim) if (found !== 'unknown') dkim[selector] = found;
  const seen = Object.fromEntries(check.dkim.map(({ selector, found }) => [selector, found]));
  return {
    ...domain,
    checkedAt: at,
    nextCheckAt: check.nextCheckAt,
    dkim,
    spf: check.spf === 'unknown' ? domain.spf : check.spf,
    dmarc: check.dmarc === 'unknown' ? domain.dmarc : check.dmarc,
    ...returnPathAfter(domain, check),
    ...trackingAfter(domain, check),
    failing: failingAfter(domain, foundOfKeys(domain.signing, seen), at.slice(0, 10)),
  };
};

const failingAfter = ({ failing }: SenderDomain, found: Found, day: string): SenderDomain['failing'] => {
  switch (found) {
    case 'right':
      return null;
    case 'unknown':
      return failing;
    case 'missing':
    case 'wrong':
      return failing?.last === day ? failing : { days: (failing?.days ?? 0) + 1, last: day };
  }
};

type Change = Exclude<
  SenderDomainEvent,
  {
    type:
      | 'SenderDomainAdded'
      | 'SenderDomainsChecked'
      | 'SenderDomainTrashed'
      | 'SenderDomainRestored'
      | 'SenderDomainDeleted'
      | 'DomainRateCrossed';
  }
>;

const afterChange = (domain: SenderDomain, event: Change): SenderDomain => {
  switch (event.type) {
    case 'SenderDomainVerified':
      return { ...domain, status: 'verified', verifiedAt: event.data.at, failing: null };
    case 'SenderDomainUnverified':
      return { ...domain, status: 'unverified' };
    case 'SenderDomainKeysAdded':
      return { ...domain, next: event.data.keys };
    case 'SenderDomainKeysChanged':
      return {
        ...domain,
        signing: domain.next,
        next: [],
        retiring: { keys: domain.signing, until: event.data.retireAt },
        failing: null,
      };
    case 'SenderDomainTrackingSet': {
      const { tracking: _before, ...others } = domain;
      const { trackingDomain } = event.data;
      return trackingDomain === null ? others : { ...others, tracking: { domain: trackingDomain, found: 'unknown' } };
    }
    case 'SenderDomainKeysRetired':
      return { ...domain, retiring: null, dkim: withoutKeys(domain.dkim, domain.retiring?.keys ?? []) };
  }
};

const withoutKeys = (dkim: SenderDomain['dkim'], keys: readonly PublicKey[]): SenderDomain['dkim'] =>
  Object.fromEntries(Object.entries(dkim).filter(([selector]) => !keys.some((key) => key.selector === selector)));

/**
 * In: the domain of a sender's address, in lower case. Out: the verified domain that equals it or is a parent of it,
 * the longest of several; undefined: there is none.
 */
export const verifiedDomainOf = (state: SenderDomainsState, senderDomain: string): SenderDomain | undefined => {
  let found: SenderDomain | undefined;
  for (const one of state?.domains ?? []) {
    if (one.status !== 'verified' || (found !== undefined && found.domain.length >= one.domain.length)) continue;
    if (senderDomain === one.domain || senderDomain.endsWith(`.${one.domain}`)) found = one;
  }
  return found;
};

/**
 * In: as `verifiedDomainOf`. Out: the domain to which links in mails of the sender lead; undefined: that of the service.
 */
export const linkDomainOf = (state: SenderDomainsState, senderDomain: string): string | undefined => {
  const tracking = verifiedDomainOf(state, senderDomain)?.tracking;
  return tracking?.found === 'right' ? tracking.domain : undefined;
};

/** Whether links of the team may lead to that domain. */
export const hasLinkDomain = (state: SenderDomainsState, name: string): boolean =>
  state?.domains.some(
    ({ status, tracking }) => status === 'verified' && tracking?.domain === name && tracking.found === 'right',
  ) === true;

/** Whether the team may send from that domain. A team without a verified domain may send from any. */
export const maySendFrom = (state: SenderDomainsState, senderDomain: string): boolean =>
  state === undefined ||
  verifiedDomainOf(state, senderDomain) !== undefined ||
  !state.domains.some(({ status }) => status === 'verified');

/** All keys whose DNS records are needed. */
export const publishedKeys = ({ signing, next, retiring }: SenderDomain): readonly PublicKey[] => [
  ...signing,
  ...next,
  ...(retiring?.keys ?? []),
];
