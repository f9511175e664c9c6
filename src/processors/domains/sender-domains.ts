/** The signing keys of sender domains, and the processor that looks up their DNS records every day. */
import { loadState } from '../../commands/core/handle.js';
import type { DomainNeeds } from '../../commands/domains/needs.js';
import { KeyMissing } from '../../domain/core/errors.js';
import {
  assertDefined,
  domainKeysStream,
  parseSenderDomainId,
  parseTeamId,
  senderDomainsStream,
  type StreamName,
} from '../../domain/core/ids.js';
import type { SigningKey } from '../../domain/ports/mailer.js';
import {
  domainKeysDecider,
  dueDomains,
  isAnswered,
  senderDomainDecider,
  type LookedUp,
} from '../../domain/domains/decider.js';
import { verifiedDomainOf, type SenderDomain } from '../../domain/domains/state.js';
import { boundedCache } from '../../shared/cache.js';
import { claimProved, lookUpDomain } from '../../commands/domains/sender-domains.js';
import { isoTime } from '../../domain/core/time.js';
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
