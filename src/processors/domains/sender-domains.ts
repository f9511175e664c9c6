/** The signing keys of sender domains, and the processor that looks up their DNS records every day. */
import { handle, loadState } from '../../commands/core/handle.js';
import { domainOfRow, domainSides } from '../../domain/email/recipient-domains.js';
import type { CountedMilestone } from '../../domain/email/milestones.js';
import type { Worker } from '../../domain/ports/worker.js';
import { nextTurn } from '../../shared/concurrency.js';
import { underLease, type LeaseDeps } from '../core/lease.js';
import type { DomainNeeds } from '../../commands/domains/needs.js';
import { KeyMissing } from '../../domain/core/errors.js';
import {
  assertDefined,
  domainKeysStream,
  parseSenderDomainId,
  parseTeamId,
  senderDomainsStream,
  teamStream,
  type StreamName,
} from '../../domain/core/ids.js';
import type { SigningKey } from '../../domain/ports/mailer.js';
import {
  domainKeysDecider,
  dueDomains,
  isAnswered,
  senderDomainDecider,
  type DomainRate,
  type LookedUp,
} from '../../domain/domains/decider.js';
import { verifiedDomainOf, type SenderDomain } from '../../domain/domains/state.js';
import { boundedCache } from '../../shared/cache.js';
import { claimProved, lookUpDomain } from '../../commands/domains/sender-domains.js';
import { dayOf, isoTime } from '../../domain/core/time.js';
import type { LogLine, Processor } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

/** The keys of the verified domain that equals the sender's domain or is a parent of it; undefined: there is none. */
export type DomainKeys = (teamId: string, senderDomain: string) => Promise<readonly SigningKey[] | undefined>;

/** Domains whose decrypted keys are cached. */
const OPENED_MAX = 500;

/** Caches decrypted keys. The keys that sign are chosen by the team's state for each mail. */
export const openDomainKeys = ({
  eventLog,
  senderDomains,
}: Pick<DomainNeeds, 'eventLog' | 'senderDomains'>): DomainKeys => {
  const opened = boundedCache<string, Promise<readonly SigningKey[]>>({ entriesMax: OPENED_MAX });
  return async (teamId, senderDomain) => {
    const stream = senderDomainsStream(assertDefined(parseTeamId(teamId), 'team id'));
    const { state } = await senderDomains(stream);
    const domain = state && verifiedDomainOf(state, senderDomain);
    if (domain === undefined) return undefined;
    const name = [stream, domain.id, ...domain.signing.map(({ selector }) => selector)].join(' ');
    const keys = opened.getOrMake(name, () => openKeys(eventLog, stream, domain));
    keys.catch(() => opened.delete(name));
    return keys;
  };
};

/** Rejects with KeyMissing if the event with the keys cannot be decrypted. */
const openKeys = async (
  eventLog: DomainNeeds['eventLog'],
  stream: StreamName,
  { id, domain, signing }: SenderDomain,
): Promise<readonly SigningKey[]> => {
  const own = await loadState(
    eventLog,
    domainKeysStream(assertDefined(parseSenderDomainId(id), 'sender domain id')),
    domainKeysDecider,
  );
  const privateKeys = new Map(own.state.privateKeys.map(({ selector, privateKey }) => [selector, privateKey]));
  // The keys of a domain that an older version added stand in the stream of the team.
  if (signing.some(({ selector }) => !privateKeys.has(selector))) await addTeamKeys(eventLog, stream, id, privateKeys);
  return signing.map(({ selector }) => {
    const privateKey = privateKeys.get(selector);
    if (privateKey === undefined) throw new KeyMissing(stream);
    return { domain, selector, privateKey };
  });
};

const addTeamKeys = async (
  eventLog: DomainNeeds['eventLog'],
  stream: StreamName,
  id: string,
  privateKeys: Map<string, string>,
): Promise<void> => {
  for (const { event } of await eventLog.load(stream)) {
    if (event.type !== 'SenderDomainAdded' && event.type !== 'SenderDomainKeysAdded') continue;
    if (event.data.id !== id) continue;
    for (const { selector, privateKey } of event.sealed?.privateKeys ?? []) privateKeys.set(selector, privateKey);
  }
};

type CheckDeps = Parameters<typeof claimProved>[0] &
  Pick<DomainNeeds, 'clock' | 'dns' | 'limits' | 'spfMechanisms' | 'feedback'>;

/** Look-ups have shorter deadlines of their own. */
const DEADLINE_MS = 120_000;

/** Looks up at most `senderDomainsCheckedAtOnce` domains of a team; if more are due, the timer stays due. */
export const checkSenderDomains = (deps: CheckDeps): Processor =>
  makeProcessor({
    name: 'check-sender-domains',
    kind: 'senderDomains',
    decider: senderDomainDecider,
    timers: [{ kind: 'check', read: 'due', seldom: true }],
    deadlineMs: DEADLINE_MS,
    act: async ({ state, cause: { fence: _fence, ...cause }, signal }) => {
      const { clock, limits } = deps;
      const due = dueDomains(state, isoTime(clock.now())).slice(0, limits.senderDomainsCheckedAtOnce);
      if (due.length === 0) return {};
      const checks = await Promise.all(due.map((domain) => lookUpDomain(deps, domain, signal)));
      // Teams share the streams of claims, so the lease of one team's stream is not named there.
      const closed = await claimProved(deps, state, checks, cause);
      return { command: { type: 'RecordChecks', at: isoTime(clock.now()), checks, closed }, ...lineOf(checks) };
    },
  });

const lineOf = (checks: readonly LookedUp[]): Readonly<{ line?: LogLine }> => {
  const unanswered = checks.filter((check) => !isAnswered(check)).length;
  if (unanswered === 0) return {};
  const fields = { domains: checks.length, unanswered };
  return {
    line: {
      level: 'warn',
      fields,
      message: 'DNS servers did not answer for records of sender domains; looked up again in an hour',
    },
  };
};

/** Recipients of a team on a day, by the row of a domain. */
export type DomainsOfTeam = Readonly<{
  team: string;
  domains?: Readonly<Record<string, Readonly<Partial<Record<CountedMilestone, number>>>>>;
}>;

type WatchRatesDeps = Pick<DomainNeeds, 'clock' | 'eventLog' | 'senderDomains' | 'team' | 'limits'> &
  Readonly<{
    /** The teams with figures by domain on a day, some at a time. */
    domainsOfDay: (day: string) => AsyncIterable<readonly DomainsOfTeam[]>;
    /** Called for each alert; absent if nobody counts them. */
    alerted?: (side: DomainRate['side'], measure: DomainRate['measure']) => void;
  }>;

const WATCHER = 'watch-domain-rates';
const WATCHED_EVERY_MS = 60_000;

/** Tells, by an event of the team, that the bounces or complaints of a domain have crossed their bound today. */
export const watchDomainRatesWorker = (deps: WatchRatesDeps & LeaseDeps): Worker => ({
  name: WATCHER,
  run: (stop) =>
    underLease(deps, WATCHER, stop, async ({ signal }) => {
      while (!signal.aborted) {
        await watchDomainRates(deps, signal);
        await deps.clock.sleep(WATCHED_EVERY_MS, signal);
      }
    }),
});

/** Looks once at the figures of today. */
export const watchDomainRates = async (deps: WatchRatesDeps, signal: AbortSignal): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const { bounceAlertPerMille: bounce, complaintAlertPerMille: complaint } = deps.limits;
  const bounds = { bounce, complaint, recipientsMin: deps.limits.rateAlertRecipientsMin };
  for await (const teams of deps.domainsOfDay(dayOf(at))) {
    for (const { team, domains = {} } of teams) {
      if (signal.aborted) return;
      const seen = ratesOf(domains).filter(({ recipients }) => recipients >= bounds.recipientsMin);
      if (seen.length === 0) continue;
      const teamId = assertDefined(parseTeamId(team), 'team id');
      const { state: known } = await deps.team(teamStream(teamId));
      if (known === undefined || known.deletedAt !== undefined) continue;
      const stream = senderDomainsStream(teamId);
      const command = { type: 'WatchRates' as const, at, day: dayOf(at), seen, bounds };
      // Most days nothing crosses: that is decided by the state in memory.
      if (senderDomainDecider.decide(command, (await deps.senderDomains(stream)).state).length === 0) continue;
      const actor = `processor:${WATCHER}`;
      const cause = { teamId, actor, correlationId: WATCHER, causationId: WATCHER, at };
      const { events } = await handle(deps.eventLog, stream, senderDomainDecider, command, cause);
      for (const event of events)
        if (event.type === 'DomainRateCrossed' && event.data.isAbove)
          deps.alerted?.(event.data.side, event.data.measure);
    }
    await nextTurn();
  }
};

/** The shares of each domain: bounces of the recipients whose host answered, complaints of those who got the mail. */
const ratesOf = (domains: NonNullable<DomainsOfTeam['domains']>): readonly DomainRate[] =>
  Object.entries(domains).flatMap(([row, counts]) =>
    domainSides.flatMap((side): readonly DomainRate[] => {
      const domain = domainOfRow(side, row);
      if (domain === undefined) return [];
      const { sent = 0, bounced = 0, failed = 0, returned = 0, complained = 0 } = counts;
      const answered = Math.max(sent + bounced + failed - returned, bounced);
      return [
        { side, domain, measure: 'bounce', recipients: answered, hits: bounced },
        { side, domain, measure: 'complaint', recipients: Math.max(sent, complained), hits: complained },
      ];
    }),
  );
