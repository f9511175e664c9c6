/**
 * The credits and quotas of teams: reserved before what they are for is appended, given back where it does not come to be or is cancelled.
 * Of a team that is not metered nothing is read or appended here.
 */
import { DomainError, WrongExpectedRevision, AppendUnknown } from '../../domain/core/errors.js';
import {
  advanceCredits,
  noCredits,
  reservationOf,
  withReturned,
  type CreditsState,
  type Reservation,
  isEmailReference,
  creditsOf,
  type Cost,
} from '../../domain/billing/credits.js';
import {
  CARRY_EVERY,
  decideCredits,
  type CreditsCommand,
  type Decision,
  OTHERS_MISSING_AFTER_MS,
  OTHERS_SETTLED_AFTER_MS,
  SETTLED_AFTER_MS,
  refusalOf,
  usableAt,
  type Charged,
  type Refusal,
  type Terms,
  WHOLE,
} from '../../domain/billing/decider.js';
import type { CreditsEvent } from '../../domain/billing/events.js';
import { type StreamName, creditsStream, type TeamId, teamStream } from '../../domain/core/ids.js';
import { startOf, versionOf, type Cause, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';
import { isoTime } from '../../domain/core/time.js';
import { namesOf } from '../../event-log/codec.js';
import type { Loaded } from '../core/handle.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { EmailState } from '../../domain/email/state.js';
import { endsForFree } from '../../domain/email/status.js';
import type { Recorded } from '../../domain/events.js';
import type { MaybePromise } from '../../domain/core/decider.js';
import type { Clock } from '../../domain/ports/clock.js';
import { termsOf, type TeamState } from '../../domain/teams/state.js';
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import type { RequestedAttachment } from '../documents/request.js';

export type { Cost } from '../../domain/billing/credits.js';
export type { Charged } from '../../domain/billing/decider.js';

/*
 * The stream of a team's credits as this process decides on it: its state is kept in memory, commands that wait are decided together and
 * appended at once, and whoever is refused is refused on a state that was read after the call.
 */

type Log = Pick<EventLog, 'load' | 'append' | 'last'>;

/** What is decided, made of the state as it is then; it may look further into the log. */
type MakeCommand = (state: CreditsState) => CreditsCommand | Promise<CreditsCommand>;

type CreditsLedger = Readonly<{
  /** Resolves when what was decided is durable. Rejects as an append does; then nothing of it holds in this process. */
  decide: (stream: StreamName, make: MakeCommand, cause: Cause) => Promise<Decision>;
  /** The state as it stands in the log; the caller does not change it. */
  read: (stream: StreamName) => Promise<CreditsState>;
}>;

/** Of how many teams the state is kept, those used last. */
const STATES_MAX = 1_000;
/** Commands that are appended at once. */
const ROUND_MAX = 500;
/** Each conflict means that another process has gone on. */
const CONFLICTS_MAX = 100;

type LoadedLedger = { readonly state: CreditsState; version: StreamVersion };
type Waiting = Readonly<{ make: MakeCommand; cause: Cause; done: (decision: Decision) => void; failed: (fault: unknown) => void }>;

const openCreditsLedger = (eventLog: Log): CreditsLedger => {
  const states = boundedCache<StreamName, LoadedLedger>({ entriesMax: STATES_MAX });
  const queues = new Map<StreamName, Waiting[]>();

  const work = async (stream: StreamName, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const taken = queue.splice(0, ROUND_MAX);
      try {
        const decisions = await decideTogether(eventLog, states, stream, taken);
        taken.forEach(({ done }, index) => done(decisions[index]!));
      } catch (fault) {
        // What stands in the log now is not known.
        states.delete(stream);
        for (const { failed } of taken) failed(fault);
      }
    }
    queues.delete(stream);
  };

  return {
    decide: (stream, make, cause) =>
      new Promise((done, failed) => {
        const waiting = { make, cause, done, failed };
        const queue = queues.get(stream);
        if (queue !== undefined) return void queue.push(waiting);
        const begun = [waiting];
        queues.set(stream, begun);
        void work(stream, begun);
      }),
    read: async (stream) => (await loadCredits(eventLog, stream)).state,
  };
};

type States = Readonly<{ get: (stream: StreamName) => LoadedLedger | undefined; set: (stream: StreamName, loaded: LoadedLedger) => void }>;

const decideTogether = async (
  eventLog: Log,
  states: States,
  stream: StreamName,
  waiting: readonly Waiting[],
): Promise<readonly Decision[]> => {
  const kept = states.get(stream);
  const loaded = kept ?? (await loadCredits(eventLog, stream));
  let isFresh = kept === undefined;
  for (let conflicts = 0; ; conflicts += 1) {
    const commands: CreditsCommand[] = [];
    for (const { make } of waiting) commands.push(await make(loaded.state));
    const { decisions, events, causes } = decideCredits(commands, loaded.state);
    // An answer that rests on nothing being appended is given on what stands in the log.
    if (!isFresh && decisions.some((decision) => decision.events.length === 0)) {
      await readNews(eventLog, stream, loaded);
      isFresh = true;
      continue;
    }
    const [first, ...rest] = causes.map((index) => waiting[index]!.cause);
    if (first === undefined) return decisions;
    try {
      loaded.version = await eventLog.append(stream, loaded.version, events, [first, ...rest]);
      for (const event of events) advanceCredits(loaded.state, event);
      states.set(stream, loaded);
      return decisions;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      if (conflicts >= CONFLICTS_MAX)
        throw new DomainError(
          'CONFLICT',
          'Others use the credits of this team at the same time, and each time they were faster. Try again.',
        );
      await readNews(eventLog, stream, loaded);
      isFresh = true;
    }
  }
};

/** Of a long stream only what stands behind the last carried sums is read, and the reservations that are open. */
const loadCredits = async (eventLog: Log, stream: StreamName): Promise<LoadedLedger> => {
  const last = await eventLog.last(stream);
  const loaded: LoadedLedger = { state: noCredits(), version: startOf(stream) };
  if (last === undefined) return loaded;
  const carriedAt = last.revision - (last.revision % CARRY_EVERY);
  const recorded = await eventLog.load(stream, carriedAt);
  const first = recorded[0]?.event;
  const openFrom = first?.type === 'CreditsCarried' ? first.data.openFrom : carriedAt;
  return fold(loaded, openFrom < carriedAt ? await eventLog.load(stream, openFrom) : recorded);
};

const readNews = async (eventLog: Log, stream: StreamName, loaded: LoadedLedger): Promise<void> => {
  fold(loaded, await eventLog.load(stream, loaded.version.revision + 1));
};

const fold = (loaded: LoadedLedger, recorded: Awaited<ReturnType<EventLog['load']>>): LoadedLedger => {
  const { state } = loaded;
  const first = recorded[0];
  if (first === undefined) return loaded;
  state.sums.events = first.revision;
  for (const { event } of recorded) advanceCredits(state, event as CreditsEvent);
  loaded.version = versionOf(recorded.at(-1)!);
  return loaded;
};

/** What the whole stream says of a reservation; undefined where there is none. */
const findReservation = async (
  eventLog: Pick<EventLog, 'load'>,
  stream: StreamName,
  reference: string,
): Promise<Reservation | undefined> => {
  let found: Reservation | undefined;
  for (const { event, revision } of await eventLog.load(stream)) {
    if (event.type === 'CreditsReserved' && event.data.reference === reference) found = reservationOf(event.data, revision);
    if (event.type === 'CreditsReturned' && event.data.reference === reference) found = found && withReturned(reference, found, event.data);
  }
  return found;
};

/*
 * Finds out what became of open reservations. One whose email does not exist is returned only when it cannot come to be any more: its
 * stream then begins with `EmailDeleted`, which refuses every append that is still under way.
 */

type SettlingDeps = Readonly<{ eventLog: Pick<EventLog, 'append' | 'last'>; ledger: CreditsLedger }>;

/** Reservations that are looked at by one call, and how many at once. */
const LOOKED_AT_MAX = 1_000;
const AT_ONCE = 32;

const tombstones = namesOf(['EmailDeleted']);

/** Whether a stream begins with its own end: its email was given up before it came to be. */
const isGivenUp = ({ revision, storedType }: Readonly<{ revision: number; storedType: string }>): boolean =>
  revision === 0 && tombstones.has(storedType);

const settleReservations = async (deps: SettlingDeps, teamId: TeamId, cause: Cause): Promise<void> => {
  const stream = creditsStream(teamId);
  const nowMs = Date.parse(cause.at);
  const { open } = await deps.ledger.read(stream);
  const emails = duePart(open, isEmailReference, isoTime(nowMs - SETTLED_AFTER_MS));
  const others = duePart(open, (reference) => !isEmailReference(reference), isoTime(nowMs - OTHERS_SETTLED_AFTER_MS));
  const lostEmails = await missingOf(emails, (reference) => isMissingEmail(deps, reference as StreamName, cause));
  const lost = new Set(await missingOf(others, async (reference) => (await deps.eventLog.last(reference as StreamName)) === undefined));
  // What may still come to be is looked at again, and what stands behind it with it.
  const waits = others.findIndex(([reference, { at }]) => lost.has(reference) && at > isoTime(nowMs - OTHERS_MISSING_AFTER_MS));
  const settled = waits < 0 ? others : others.slice(0, waits);
  if (emails.length + settled.length === 0) return;
  const missing = [...lostEmails, ...settled.flatMap(([reference]) => (lost.has(reference) ? [reference] : []))];
  const upTo = emails.at(-1)?.[1].revision ?? -1;
  const othersUpTo = settled.at(-1)?.[1].revision ?? -1;
  await deps.ledger.decide(stream, () => ({ type: 'Settle', at: cause.at, upTo, othersUpTo, missing }), cause);
};

type Entry = readonly [string, Reservation];

/** The oldest of those that were made by that moment, without a gap. */
const duePart = (open: ReadonlyMap<string, Reservation>, isMeant: (reference: string) => boolean, madeBy: string): readonly Entry[] => {
  const due: Entry[] = [];
  for (const entry of open) {
    if (!isMeant(entry[0])) continue;
    if (entry[1].at > madeBy || due.length === LOOKED_AT_MAX) return due;
    due.push(entry);
  }
  return due;
};

const missingOf = async (entries: readonly Entry[], isMissing: (reference: string) => Promise<boolean>): Promise<readonly string[]> => {
  const missing: string[] = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const part = entries.slice(from, from + AT_ONCE).map(([reference]) => reference);
    const found = await Promise.all(part.map(isMissing));
    missing.push(...part.filter((_, index) => found[index]));
  }
  return missing;
};

/** Where there is no such email, sees to it that there never will be. Rejects where that is not certain. */
const isMissingEmail = async ({ eventLog }: SettlingDeps, stream: StreamName, cause: Cause): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last !== undefined) return isGivenUp(last);
  try {
    await eventLog.append(stream, startOf(stream), [{ type: 'EmailDeleted', data: { at: cause.at } }], cause);
    return true;
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    return isGivenUp((await eventLog.last(stream))!);
  }
};

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
type Cancellation = Readonly<{ part: string; fact: StreamName; position: number }>;

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

type CreditsPorts = Readonly<{
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

/* Credits around the append of what they are for. */

/**
 * Before documents are made: what a call costs at least must be there. The reservation settles what it costs, when they are made.
 * Rejects with QUOTA_EXCEEDED.
 */
export const assertAffordable = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  given: readonly RequestedAttachment[],
): Promise<void> => {
  let attachments = 0;
  // One that does not say its formats has at least one.
  for (const one of given) if (one.kind === 'generated') attachments += one.outputFormats?.length ?? 1;
  if (attachments === 0) return;
  const refusal = (await deps.credits.quote(teamId)).wouldRefuse({ emails: 1, attachments });
  if (refusal !== undefined) throw refusal;
};

type ToReserveReserving = Readonly<{ stream: StreamName; cost: Cost; cause: Cause }>;

/**
 * Reserves for the stream that is appended next. Where it cannot be known whether the reservation was written, that stream is certainly
 * not, and the due work returns what was reserved.
 */
export const reserveFor = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  { stream, cost, cause }: ToReserveReserving,
): Promise<Charged | undefined> => {
  try {
    return await deps.credits.reserve(teamId, stream, cost, cause);
  } catch (fault) {
    throw fault instanceof AppendUnknown ? new Error('the credits could not be reserved', { cause: fault }) : fault;
  }
};

/** The caller is told of the fault that it met first; what cannot be given back now is returned by the due work. */
export const giveBackQuietly = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  charged: Charged,
  cause: Cause,
): Promise<void> => {
  try {
    await deps.credits.giveBack(teamId, charged.reference as StreamName, WHOLE, charged, cause);
  } catch {
    return;
  }
};
