/**
 * The owner of a domain: the team that verified it first, or verified a domain above it. Only the owner sends from it.
 */
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  domainClaimsStream,
  parseTeamId,
  senderDomainsStream,
  teamStream,
  type StreamName,
} from '../../domain/core/ids.js';
import {
  domainsAbove,
  evolveDomainClaims,
  noClaims,
  type ClaimPlaces,
  type DomainClaim,
  type DomainClaims,
  type SenderDomain,
  type SenderDomainsState,
} from '../../domain/domains/state.js';
import { senderDomainDecider } from '../../domain/domains/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import type { DomainNeeds } from './needs.js';
import { emptyLoaded, foldOnto, loadState } from '../core/handle.js';
import { memoized } from '../core/memoize.js';

export const domainClaimsFold = { evolve: evolveDomainClaims, initialState: noClaims };

const PLACES_MAX = 1_000;

const CONFLICTS_MAX = 8;

/** Remembers the places of the domains asked for last, because every send needs those of its sender. */
export const openClaimPlaces = ({ keys }: Pick<DomainNeeds, 'keys'>): ((domain: string) => ClaimPlaces | undefined) => {
  const hmac = (name: string): string => keys.fingerprint('domain claim', name);
  const placesOf = memoized(
    PLACES_MAX,
    (domain: string) => domain,
    (domain: string): ClaimPlaces => {
      const names = domainsAbove(domain);
      return {
        stream: domainClaimsStream(hmac(assertDefined(names.at(-1), 'domain of two labels'))),
        names: names.map(hmac),
      };
    },
  );
  return (domain) => (domain.includes('.') ? placesOf(domain) : undefined);
};

type OwnerDeps = Pick<DomainNeeds, 'claimPlaces' | 'domainClaims' | 'senderDomains' | 'team'>;

/**
 * The team that alone may send from the domain; undefined if no team has verified it or a domain above it. Served from
 * memory.
 */
export const domainOwner = async (deps: OwnerDeps, domain: string): Promise<string | undefined> => {
  const places = deps.claimPlaces(domain);
  if (places === undefined) return undefined;
  const { state } = await deps.domainClaims(places.stream);
  return ownerBy(deps, state, places, async (stream) => (await deps.senderDomains(stream)).state);
};

/**
 * Claims the domain for a team that has proved that it controls it; call it before the domain is recorded as verified.
 * Out: false if another team is the owner. A claim whose domain is not verified, because it was given up or its records
 * are gone, is taken over.
 */
export const claimDomain = async (
  deps: OwnerDeps & Pick<DomainNeeds, 'eventLog'>,
  { domain, id }: Pick<SenderDomain, 'domain' | 'id'>,
  cause: Cause,
): Promise<boolean> => {
  const { teamId } = cause;
  const places = assertDefined(deps.claimPlaces(domain), 'places of a sender domain');
  const [name] = places.names;
  // Read from the log: the state in memory may lack a verification of the last second.
  const domainsOf = async (stream: StreamName): Promise<SenderDomainsState> =>
    foldOnto(
      senderDomainDecider,
      emptyLoaded(stream, senderDomainDecider.initialState),
      await deps.eventLog.load(stream, 0, []),
    ).state;
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
    const { state, version } = await loadState(deps.eventLog, places.stream, domainClaimsFold);
    const owner = await ownerBy(deps, state, places, domainsOf);
    if (owner !== undefined && owner !== teamId) return false;
    const claimed = state.get(name!);
    if (claimed?.teamId === teamId && claimed.id === id) return true;
    try {
      // Not by `handle`: whether the claim holds depends on streams of other teams, which are read again after a
      // conflict.
      await deps.eventLog.append(
        places.stream,
        version,
        [{ type: 'DomainClaimed', data: { at: cause.at, name: name!, teamId, id } }],
        cause,
      );
      return true;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
    }
  }
  throw new DomainError(
    'CONFLICT',
    'Other teams verify domains of the same name at the same time, and each time they were faster. Try again.',
  );
};

/** The team of the nearest claim that counts. */
const ownerBy = async (
  deps: Pick<DomainNeeds, 'team'>,
  claims: DomainClaims,
  { names }: ClaimPlaces,
  domainsOf: (stream: StreamName) => Promise<SenderDomainsState>,
): Promise<string | undefined> => {
  if (claims.size === 0) return undefined;
  for (const name of names) {
    const claim = claims.get(name);
    if (claim !== undefined && (await counts(deps, claim, domainsOf))) return claim.teamId;
  }
  return undefined;
};

const counts = async (
  deps: Pick<DomainNeeds, 'team'>,
  { teamId, id }: DomainClaim,
  domainsOf: (stream: StreamName) => Promise<SenderDomainsState>,
): Promise<boolean> => {
  const team = assertDefined(parseTeamId(teamId), 'team id');
  const state = await domainsOf(senderDomainsStream(team));
  if (state?.domains.some((one) => one.id === id && one.status === 'verified') !== true) return false;
  const { state: ofTeam } = await deps.team(teamStream(team));
  return ofTeam !== undefined && ofTeam.deletedAt === undefined;
};
