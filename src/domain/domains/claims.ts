/** Which team has verified a domain first, so that the domain and all names below it are closed to the other teams. */
import type { StreamName } from '../core/ids.js';
import type { DomainClaimsEvent } from './events.js';

/** Where the claims on a domain stand: their stream, and the HMACs of the domain and of those above it, the longest first. */
export type ClaimPlaces = Readonly<{ stream: StreamName; names: readonly string[] }>;

/** A claim counts while the sender domain `id` of the team is verified; otherwise another team takes it over. */
export type DomainClaim = Readonly<{ teamId: string; id: string }>;

/** By an HMAC of the domain. */
export type DomainClaims = ReadonlyMap<string, DomainClaim>;

export const noClaims: DomainClaims = new Map();

export const evolveDomainClaims = (claims: DomainClaims, { data: { name, teamId, id } }: DomainClaimsEvent): DomainClaims =>
  new Map(claims).set(name, { teamId, id });

/** The domain itself and those above it, the longest first. A name of one label is no sender domain, so it is left out. */
export const domainsAbove = (domain: string): readonly string[] => {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_, from) => labels.slice(from).join('.'));
};
