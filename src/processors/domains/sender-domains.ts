/** Looks up the DNS records of sender domains every day: those of a team that are due, some of them at once. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { lookUpDomain } from '../../commands/domains/commands-sender-domains.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { dueDomains, isAnswered, senderDomainDecider, type LookedUp } from '../../domain/domains/decider.js';
import type { LogLine, Processor, StartedBy } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

type CheckDeps = Pick<CommandDeps, 'clock' | 'dns' | 'limits' | 'spfMechanisms' | 'feedback'>;

const byTimeOnly: StartedBy<'senderDomains'> = {
  SenderDomainAdded: null,
  SenderDomainsChecked: null,
  SenderDomainVerified: null,
  SenderDomainUnverified: null,
  SenderDomainKeysAdded: null,
  SenderDomainKeysChanged: null,
  SenderDomainKeysRetired: null,
  SenderDomainTrashed: null,
  SenderDomainRestored: null,
  SenderDomainDeleted: null,
  StreamRetired: null,
};

/** Look-ups end before by themselves. */
const DEADLINE_MS = 120_000;

/** Those that are due and are not looked up now keep the timer due. */
export const checkSenderDomains = (deps: CheckDeps): Processor =>
  makeProcessor({
    name: 'check-sender-domains',
    kind: 'senderDomains',
    decider: senderDomainDecider,
    startedBy: byTimeOnly,
    timers: [{ kind: 'check', read: 'due', seldom: true }],
    deadlineMs: DEADLINE_MS,
    act: async ({ state, signal }) => {
      const { clock, limits } = deps;
      const due = dueDomains(state, isoTime(clock.now())).slice(0, limits.senderDomainsCheckedAtOnce);
      if (due.length === 0) return {};
      const checks = await Promise.all(due.map((domain) => lookUpDomain(deps, domain, signal)));
      return { command: { type: 'RecordChecks', at: isoTime(clock.now()), checks }, ...lineOf(checks) };
    },
  });

const lineOf = (checks: readonly LookedUp[]): Readonly<{ line?: LogLine }> => {
  const unanswered = checks.filter((check) => !isAnswered(check)).length;
  if (unanswered === 0) return {};
  const fields = { domains: checks.length, unanswered };
  return {
    line: { level: 'warn', fields, message: 'DNS servers did not answer for records of sender domains; looked up again in an hour' },
  };
};
