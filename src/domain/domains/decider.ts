/** Deciders of a team's sender domains, and of the private keys of one domain. */
import type { Decider } from '../core/decider.js';
import { DomainError, invalid } from '../core/errors.js';
import { defaultLimits } from '../core/limits.js';
import { isoTime, DAY_MS, HOUR_MS, dayNumber, dayOfNumber } from '../core/time.js';
import type { Check, Found, PrivateKeys, PublicKey, SenderDomainEvent, DomainKeysEvent } from './events.js';
import {
  evolveSenderDomains,
  foundOfKeys,
  type SenderDomain,
  type SenderDomainsState,
  type TrashedDomain,
  alertKey,
} from './state.js';

/** The result of one look-up of a domain's records. */
export type LookedUp = Omit<Check, 'nextCheckAt'>;

/** `hits`: recipients that bounced, or complained. */
export type DomainRate = Readonly<{
  side: 'recipient' | 'sender';
  domain: string;
  measure: 'bounce' | 'complaint';
  recipients: number;
  hits: number;
}>;

/** In per mille; a share of fewer recipients than `recipientsMin` tells nothing. */
export type RateBounds = Readonly<{ bounce: number; complaint: number; recipientsMin: number }>;

export type SenderDomainCommand =
  /** `keys`: the private keys were recorded in the domain's own stream before. */
  | Readonly<{ type: 'AddDomain'; at: string; id: string; domain: string; keys: PublicKey[] }>
  /** `closed`: ids of domains whose records are right, but which belong to another team that verified them first. */
  | Readonly<{ type: 'RecordChecks'; at: string; checks: readonly LookedUp[]; closed: readonly string[] }>
  /** `trackingDomain`: null removes it. */
  | Readonly<{ type: 'SetTrackingDomain'; at: string; id: string; trackingDomain: string | null }>
  /** The shares of a day, and the bounds. */
  | Readonly<{ type: 'WatchRates'; at: string; day: string; seen: readonly DomainRate[]; bounds: RateBounds }>
  | Readonly<{ type: 'RotateKeys'; at: string; id: string; keys: PublicKey[] }>
  | Readonly<{ type: 'TrashDomain'; at: string; id: string }>
  /** A domain that was deleted before `deletedSince` cannot be restored. */
  | Readonly<{ type: 'RestoreDomain'; at: string; id: string; deletedSince: string }>
  /** Deletes for good, from the trash too; unknown ids are skipped. */
  | Readonly<{ type: 'DeleteDomains'; at: string; ids: readonly string[] }>;

/**
 * The old keys' records stay needed this long after new keys sign: mails signed with the old ones may be on their way,
 * or verified again.
 */
const OVERLAP_DAYS = 7;
/** A verified domain whose records are missing or wrong on this many days in a row becomes unverified. */
const FAILING_DAYS_MAX = 3;

const CHECKED_EVERY_MS = DAY_MS;
/** The next look-up after one that was not answered. */
const CHECKED_AGAIN_MS = HOUR_MS;

/** Most deleted domains that a team can restore; the oldest beyond are removed early. */
export const TRASHED_DOMAINS_MAX = 100;

export const domainNotFound = (): DomainError =>
  new DomainError('DOMAIN_NOT_FOUND', 'There is no sender domain with this id. GET /api/domains lists yours.');

const decide = (command: SenderDomainCommand, state: SenderDomainsState): readonly SenderDomainEvent[] => {
  switch (command.type) {
    case 'AddDomain': {
      const { at, id, domain, keys } = command;
      assertAddable(state, domain);
      return [
        {
          type: 'SenderDomainAdded',
          data: { at, id, domain, keys, nextCheckAt: later(at, CHECKED_EVERY_MS) },
          sealed: ELSEWHERE,
        },
      ];
    }
    case 'RecordChecks':
      return recordChecks(command, state);
    case 'RotateKeys': {
      const { at, id, keys } = command;
      assertRotatable(domainOf(state, id));
      return [{ type: 'SenderDomainKeysAdded', data: { at, id, keys }, sealed: ELSEWHERE }];
    }
    case 'SetTrackingDomain': {
      const { at, id, trackingDomain } = command;
      const before = domainOf(state, id).tracking?.domain ?? null;
      return before === trackingDomain ? [] : [{ type: 'SenderDomainTrackingSet', data: { at, id, trackingDomain } }];
    }
    case 'WatchRates':
      return crossings(command, state);
    case 'TrashDomain':
      domainOf(state, command.id);
      return [{ type: 'SenderDomainTrashed', data: { at: command.at, id: command.id } }];
    case 'RestoreDomain':
      return restore(command, state);
    case 'DeleteDomains':
      return [...(state?.domains ?? []), ...(state?.trash ?? [])]
        .filter(({ id }) => command.ids.includes(id))
        .map(({ id }): SenderDomainEvent => ({ type: 'SenderDomainDeleted', data: { at: command.at, id } }));
  }
};

/**
 * A domain is alerted once a day at most. While its share stays above half of the bound, it is alerted again only after a
 * day without an alert.
 */
const crossings = (
  { at, day, seen, bounds }: Extract<SenderDomainCommand, { type: 'WatchRates' }>,
  state: SenderDomainsState,
): readonly SenderDomainEvent[] => {
  const yesterday = dayOfNumber(dayNumber(day) - 1);
  return seen.flatMap((rate): readonly SenderDomainEvent[] => {
    const { recipients, hits, measure } = rate;
    const [before, bound] = [state?.alerts?.[alertKey(rate)], bounds[measure]];
    if (recipients < bounds.recipientsMin) return [];
    const perMille = (hits * 1_000) / recipients;
    const data = { at, day, ...rate, bound };
    if (perMille >= bound) {
      const isKnown = before !== undefined && (before.day === day || (before.isAbove && before.day >= yesterday));
      return isKnown ? [] : [{ type: 'DomainRateCrossed', data: { ...data, isAbove: true } }];
    }
    const hasFallen = before?.isAbove === true && perMille <= bound / 2;
    return hasFallen ? [{ type: 'DomainRateCrossed', data: { ...data, isAbove: false } }] : [];
  });
};

/** Events of this stream hold no private keys; earlier versions stored them here. */
const ELSEWHERE: Readonly<{ privateKeys: PrivateKeys }> = { privateKeys: [] };

const recordChecks = (
  { at, checks, closed }: Extract<SenderDomainCommand, { type: 'RecordChecks' }>,
  state: SenderDomainsState,
): readonly SenderDomainEvent[] => {
  // A domain may be deleted while its records are looked up.
  const known = checks.filter(({ id }) => state?.domains.some((domain) => domain.id === id) === true);
  if (known.length === 0) return [];
  const recorded: Check[] = known.map((check) => ({
    ...check,
    nextCheckAt: later(at, isAnswered(check) ? CHECKED_EVERY_MS : CHECKED_AGAIN_MS),
  }));
  const checked: SenderDomainEvent = { type: 'SenderDomainsChecked', data: { at, checks: recorded } };
  const after = evolveSenderDomains(state, checked);
  return [
    checked,
    ...known.flatMap((check) => changesOf(domainOf(after, check.id), check, at, closed.includes(check.id))),
  ];
};

/** Whether every DKIM record was answered. */
export const isAnswered = ({ dkim }: LookedUp): boolean => dkim.every(({ found }) => found !== 'unknown');

/** In: a domain after SenderDomainsChecked. Out: the further events that the check causes. */
const changesOf = (
  domain: SenderDomain,
  check: LookedUp,
  at: string,
  isClosed: boolean,
): readonly SenderDomainEvent[] => {
  const { id, status, next, retiring, failing } = domain;
  const seen = seenIn(check);
  const changes: SenderDomainEvent[] = [];
  const arrived = next.length > 0 && foundOfKeys(next, seen) === 'right';
  if (arrived)
    changes.push({ type: 'SenderDomainKeysChanged', data: { at, id, retireAt: later(at, OVERLAP_DAYS * DAY_MS) } });
  if (status !== 'verified' && !isClosed && provesControl(domain, check))
    changes.push({ type: 'SenderDomainVerified', data: { at, id } });
  const hasFailed = !arrived && failing !== null && failing.days >= FAILING_DAYS_MAX;
  if (status === 'verified' && (isClosed || hasFailed))
    changes.push({ type: 'SenderDomainUnverified', data: { at, id } });
  if (retiring !== null && retiring.until <= at) changes.push({ type: 'SenderDomainKeysRetired', data: { at, id } });
  return changes;
};

const seenIn = ({ dkim }: LookedUp): Readonly<Record<string, Found>> =>
  Object.fromEntries(dkim.map(({ selector, found }) => [selector, found]));

/** Whether the records of the keys that sign, or of the new ones, are right, so that the team controls the domain. */
export const provesControl = ({ signing, next }: SenderDomain, check: LookedUp): boolean => {
  const seen = seenIn(check);
  return foundOfKeys(signing, seen) === 'right' || (next.length > 0 && foundOfKeys(next, seen) === 'right');
};

const later = (at: string, ms: number): string => isoTime(Date.parse(at) + ms);

const restore = (
  { at, id, deletedSince }: Extract<SenderDomainCommand, { type: 'RestoreDomain' }>,
  state: SenderDomainsState,
): readonly SenderDomainEvent[] => {
  if (state?.domains.some((one) => one.id === id) === true) return [];
  const trashed = trashedDomain(state, id);
  if (trashed.deletedAt < deletedSince) throw domainNotFound();
  assertAddable(state, trashed.domain);
  return [{ type: 'SenderDomainRestored', data: { at, id } }];
};

export const senderDomainDecider: Decider<SenderDomainCommand, SenderDomainEvent, SenderDomainsState> = {
  decide,
  evolve: evolveSenderDomains,
  initialState: undefined,
};

type DomainKeysState = Readonly<{ isDestroyed: boolean; privateKeys: PrivateKeys }>;

type DomainKeysCommand =
  Readonly<{ type: 'KeepKeys'; at: string; privateKeys: PrivateKeys }> | Readonly<{ type: 'DestroyKeys'; at: string }>;

/**
 * The private keys of one sender domain: made when it is added and at each rotation, destroyed when it is deleted for
 * good.
 */
export const domainKeysDecider: Decider<DomainKeysCommand, DomainKeysEvent, DomainKeysState> = {
  decide: (command, { isDestroyed }) => {
    const { at } = command;
    switch (command.type) {
      case 'KeepKeys': {
        if (isDestroyed) throw domainNotFound();
        const { privateKeys } = command;
        return [
          {
            type: 'DomainKeysMade',
            data: { at, selectors: privateKeys.map(({ selector }) => selector) },
            sealed: { privateKeys },
          },
        ];
      }
      case 'DestroyKeys':
        return isDestroyed ? [] : [{ type: 'DomainKeysDestroyed', data: { at } }];
    }
  },
  evolve: (state, event) => {
    switch (event.type) {
      case 'DomainKeysMade':
        return { ...state, privateKeys: [...state.privateKeys, ...(event.sealed?.privateKeys ?? [])] };
      case 'DomainKeysDestroyed':
        return { isDestroyed: true, privateKeys: [] };
    }
  },
  initialState: { isDestroyed: false, privateKeys: [] },
};

/** Throws DOMAIN_NOT_FOUND. */
export const trashedDomain = (state: SenderDomainsState, id: string): TrashedDomain => {
  const domain = state?.trash?.find((one) => one.id === id);
  if (domain === undefined) throw domainNotFound();
  return domain;
};

/** Deleted domains to remove for good: deleted before that moment, or the oldest beyond TRASHED_DOMAINS_MAX. */
export const domainsToRemove = (state: SenderDomainsState, deletedBefore: string): readonly TrashedDomain[] => {
  const trash = state?.trash ?? [];
  return trash.filter(({ deletedAt }, at) => deletedAt < deletedBefore || trash.length - at > TRASHED_DOMAINS_MAX);
};

/** Throws DOMAIN_NOT_FOUND. */
export const domainOf = (state: SenderDomainsState, id: string): SenderDomain => {
  const domain = state?.domains.find((one) => one.id === id);
  if (domain === undefined) throw domainNotFound();
  return domain;
};

/** Throws DOMAIN_EXISTS or DOMAIN_LIMIT_EXCEEDED. */
export const assertAddable = (state: SenderDomainsState, domain: string): void => {
  const known = state?.domains.find((one) => one.domain === domain);
  if (known !== undefined)
    throw new DomainError(
      'DOMAIN_EXISTS',
      `The team has the sender domain ${domain} already; GET /api/domains/${known.id} shows its records.`,
    );
  const max = defaultLimits.senderDomainsMax;
  if ((state?.domains.length ?? 0) >= max)
    throw new DomainError(
      'DOMAIN_LIMIT_EXCEEDED',
      `The team has ${max} sender domains; more are not allowed. Delete one that is not used.`,
    );
};

/** Throws DKIM_ROTATION_UNDER_WAY. */
export const assertRotatable = ({ domain, next, retiring }: SenderDomain): void => {
  if (next.length > 0)
    throw new DomainError(
      'DKIM_ROTATION_UNDER_WAY',
      `New keys of ${domain} wait for their DNS records; set these, then POST …/verify. No others are made before.`,
    );
  if (retiring !== null)
    throw new DomainError(
      'DKIM_ROTATION_UNDER_WAY',
      `The keys of ${domain} have changed; those before retire at ${retiring.until}, then new ones can be made.`,
    );
};

/** Domains to look up at that moment, the longest waiting first. */
export const dueDomains = (state: SenderDomainsState, at: string): readonly SenderDomain[] =>
  (state?.domains ?? [])
    .filter(({ nextCheckAt }) => nextCheckAt <= at)
    .sort((a, b) => (a.nextCheckAt < b.nextCheckAt ? -1 : 1));

/** VALIDATION_ERROR for a text that cannot be a sender domain. */
export const invalidDomain = (reason: string): DomainError =>
  invalid('request body', 'domain', `is no domain of a sender: ${reason}`);
