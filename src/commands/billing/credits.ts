/**
 * The credits and quotas of teams: reserved before what they are for is appended, given back where it does not come to be or is cancelled.
 * Of a team that is not metered nothing is read or appended here.
 */
import { findReservation, openCreditsLedger, type CreditsLedger } from './ledger.js';
import { settleReservations } from './settling.js';
import type { Loaded } from '../core/handle.js';
import { refusalOf, usableAt, type Charged, type CreditsCommand, type Refusal, type Terms } from '../../domain/billing/decider.js';
import { creditsOf, type Cost } from '../../domain/billing/credits.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { EmailState } from '../../domain/email/state.js';
import { endsForFree } from '../../domain/email/status.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import { creditsStream, teamStream, type StreamName, type TeamId } from '../../domain/core/ids.js';
import type { MaybePromise } from '../../domain/core/maybe-promise.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { termsOf, type TeamState } from '../../domain/teams/state.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';

export type { Cost } from '../../domain/billing/credits.js';
export type { Charged } from '../../domain/billing/decider.js';

/** A limit of null is none; `remaining` is then null too. */
export type Quota = Readonly<{ used: number; limit: number | null; remaining: number | null }>;

export type QuotaStatus = Readonly<{
  /** Whether its sends are counted here. Of a team that is not metered all figures are 0 or null; its usage is in the read models. */
  isMetered: boolean;
  /** The month that is counted, as `2026-11`. */
  month: string;
  emailQuota: Quota;
  attachmentQuota: Quota;
  /** null where the team is not billed by credits. */
  creditsRemaining: number | null;
  /** Emails of the month beyond the quota, and what each costs in millionths of a dollar (null: as agreed). */
  overage: Readonly<{ emails: number; microsPerEmail: number | null }>;
  /** The refusal of a reservation at this moment; undefined where it would be made. */
  wouldRefuse: (cost: Cost) => DomainError | undefined;
}>;

/** The cancellation of an email that stands in the log at that position. */
export type Cancellation = Readonly<{ part: string; fact: StreamName; position: number }>;

export type CreditsAccounts = Readonly<{
  /**
   * Resolves when the reservation for the stream `reference`, which does not exist yet, is durable; with what an email of it keeps as
   * `charged`, so that its cancellation gives its part back; undefined, at once, for a team that is not metered. The same reference again is the
   * same reservation. Rejects with QUOTA_EXCEEDED.
   */
  reserve: (teamId: TeamId, reference: StreamName, cost: Cost, cause: Cause) => Promise<Charged | undefined>;
  /**
   * Gives back what never came to be; once for each part of a reference, and never more than is left. Emails that are cancelled are given
   * back because of their `EmailCancelled`, and not here.
   */
  giveBack: (teamId: TeamId, reference: StreamName, part: string, cost: Cost, cause: Cause) => Promise<void>;
  /** Gives back what was charged for a cancelled email; told in the order of the log, one after the other, as often as one likes. */
  returnCancelled: (teamId: TeamId, charged: Charged, cancellation: Cancellation, cause: Cause) => Promise<void>;
  /** What the team may use now. */
  quote: (teamId: TeamId) => Promise<QuotaStatus>;
  /** Returns open reservations whose stream does not exist and cannot come to be any more, and forgets those that it does exist of. */
  settle: (teamId: TeamId, cause: Cause) => Promise<void>;
  /** Any other change of a metered team's credits. */
  change: (
    teamId: TeamId,
    command: Extract<CreditsCommand, { type: 'Grant' | 'Buy' | 'Reset' | 'OpenAccount' }>,
    cause: Cause,
  ) => Promise<void>;
}>;

export type CreditsPorts = Readonly<{
  eventLog: EventLog;
  team: (stream: StreamName) => MaybePromise<Loaded<TeamState>>;
  clock: Pick<Clock, 'now'>;
}>;

export const openCreditsAccounts = ({ eventLog, team, clock }: CreditsPorts): CreditsAccounts => {
  const ledger = openCreditsLedger(eventLog);
  const termsFor = async (teamId: TeamId): Promise<Terms | undefined> => {
    const { state } = await team(teamStream(teamId));
    return state && termsOf(state);
  };
  return {
    reserve: async (teamId, reference, cost, cause) => {
      const terms = await termsFor(teamId);
      return terms && reserve(ledger, terms, { teamId, reference, cost, cause });
    },
    giveBack: async (teamId, reference, part, cost, cause) => {
      if ((await termsFor(teamId)) === undefined && (await eventLog.last(creditsStream(teamId))) === undefined) return;
      const stream = creditsStream(teamId);
      const given = { type: 'GiveBack' as const, at: cause.at, reference, part, cost };
      const make = async ({ open }: Parameters<Parameters<CreditsLedger['decide']>[1]>[0]): Promise<CreditsCommand> =>
        open.has(reference) ? given : { ...given, reservation: await findReservation(eventLog, stream, reference) };
      await ledger.decide(stream, make, cause);
    },
    returnCancelled: returningCancelled(eventLog, ledger),
    quote: async (teamId) => {
      const terms = await termsFor(teamId);
      return terms === undefined ? unmetered(clock) : quoteOf(ledger, clock, teamId, terms);
    },
    settle: (teamId, cause) => settleReservations({ eventLog, ledger }, teamId, cause),
    change: async (teamId, command, cause) => {
      if ((await termsFor(teamId)) === undefined)
        throw new DomainError('TEAM_NOT_METERED', 'This team is not metered, so it has no credits; set its billing first.');
      await ledger.decide(creditsStream(teamId), () => command, cause);
    },
  };
};

type ToReserve = Readonly<{ teamId: TeamId; reference: StreamName; cost: Cost; cause: Cause }>;

const reserve = async (ledger: CreditsLedger, terms: Terms, { teamId, reference, cost, cause }: ToReserve): Promise<Charged> => {
  const command = { type: 'Reserve' as const, at: cause.at, reference, cost, terms };
  const { refusal, reserved } = await ledger.decide(creditsStream(teamId), () => command, cause);
  if (refusal !== undefined) throw quotaExceeded(refusal);
  const { month, isByCredits } = reserved!;
  return { reference, month, isByCredits, ...cost };
};

/** The first moment of the month after. */
export const monthAfter = (month: string): string => {
  const [year, number] = month.split('-').map(Number);
  return isoTime(Date.UTC(year!, number!, 1));
};

const quotaExceeded = ({ of, needed, remaining, limit, month }: Refusal): DomainError => {
  if (of === 'credits') {
    const message = `This takes ${needed} ${needed === 1 ? 'credit' : 'credits'} and ${remaining} are left. Nothing was accepted; add credits, or send less.`;
    return new DomainError('QUOTA_EXCEEDED', message, { relatedInfo: { of, needed, remaining, limit, resetsAt: null } });
  }
  const resetsAt = monthAfter(month);
  const message = `This takes ${needed} of the monthly quota of ${limit} emails, of which ${remaining} are left until ${resetsAt}. Nothing was accepted; wait until then, or change the plan.`;
  return new DomainError('QUOTA_EXCEEDED', message, { relatedInfo: { of, needed, remaining, limit, resetsAt } });
};

const unmetered = (clock: CreditsPorts['clock']): QuotaStatus => ({
  isMetered: false,
  month: isoTime(clock.now()).slice(0, 7),
  emailQuota: { used: 0, limit: null, remaining: null },
  attachmentQuota: { used: 0, limit: null, remaining: null },
  creditsRemaining: null,
  overage: { emails: 0, microsPerEmail: null },
  wouldRefuse: () => undefined,
});

const quoteOf = async (ledger: CreditsLedger, clock: CreditsPorts['clock'], teamId: TeamId, terms: Terms): Promise<QuotaStatus> => {
  const { sums } = await ledger.read(creditsStream(teamId));
  const at = isoTime(clock.now());
  const { month, emails, attachments, balance } = usableAt(sums, at);
  const { quota, overage, isByCredits } = terms;
  return {
    isMetered: true,
    month,
    emailQuota: { used: emails, limit: quota, remaining: quota === null ? null : Math.max(0, quota - emails) },
    attachmentQuota: { used: attachments, limit: null, remaining: null },
    creditsRemaining: isByCredits ? balance : null,
    overage: { emails: quota === null ? 0 : Math.max(0, emails - quota), microsPerEmail: overage.microsPerEmail },
    wouldRefuse: (cost) => {
      const refusal = creditsOf(cost) === 0 ? undefined : refusalOf(sums, { at, cost, terms });
      return refusal && quotaExceeded(refusal);
    },
  };
};

/**
 * Cancellations are returned in the order of the log, so the last that was returned tells of every one whether it was. Its place is looked
 * up in its own stream: a position holds in one log alone, and a log may be moved to another engine.
 */
const returningCancelled = (eventLog: EventLog, ledger: CreditsLedger): CreditsAccounts['returnCancelled'] => {
  const known = new Map<TeamId, Readonly<{ fact: string; position: number }>>();
  const positionOf = async (teamId: TeamId, fact: string | null): Promise<number> => {
    const last = known.get(teamId);
    if (fact === null || last?.fact === fact) return last?.position ?? 0;
    const position = await freedAt(eventLog, fact as StreamName);
    known.set(teamId, { fact, position });
    return position;
  };
  return async (teamId, charged, { part, fact, position }, cause) => {
    const make = async ({ sums }: Parameters<Parameters<CreditsLedger['decide']>[1]>[0]): Promise<CreditsCommand> => {
      const isNews = position > (sums.lastFact === null ? 0 : await positionOf(teamId, sums.lastFact));
      return { type: 'ReturnCancelled', at: cause.at, charged, part, fact, isNews };
    };
    await ledger.decide(creditsStream(teamId), make, cause);
  };
};

/**
 * By which event an email came to cost nothing, and what was charged for it: its cancellation, or that its last recipient turned out to be
 * suppressed. undefined: it is paid for, or nothing was charged.
 */
export const whatIsFreed = (recorded: readonly Recorded[]): Readonly<{ position: number; charged: Charged }> | undefined => {
  const ending = recorded.findLast(({ event }) => event.type === 'EmailCancelled' || event.type === 'RecipientsSuppressed');
  const email = recorded.reduce<EmailState>((state, { event }) => emailDecider.evolve(state, event as EmailEvent), undefined);
  if (ending === undefined || email?.accepted.charged === undefined) return undefined;
  const isFree = endsForFree(email, ending.event as EmailEvent, email.retries.length > 0);
  return isFree ? { position: ending.position, charged: email.accepted.charged } : undefined;
};

/** Where in this log an email came to cost nothing; 0 where it did not. */
export const freedAt = async (eventLog: Pick<EventLog, 'load'>, stream: StreamName): Promise<number> =>
  whatIsFreed(await eventLog.load(stream))?.position ?? 0;
