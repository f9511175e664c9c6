/**
 * The credits and quotas of teams: reserved before an email or a batch is appended, returned if it is not created or is
 * cancelled. For a team that is not metered nothing is read or appended.
 */
import { DomainError, WrongExpectedRevision, AppendUnknown, StoreAway } from '../../domain/core/errors.js';
import {
  advanceCredits,
  noCredits,
  reservationOf,
  withReturned,
  type CreditsState,
  type Reservation,
  isEmailReference,
  creditsOf,
  monthOf,
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
import type { Loaded } from '../core/ports.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import type { EndedBefore } from '../../domain/email/milestones.js';
import { countsFrom, endingsAfter } from '../../domain/email/milestones.js';
import { endsForFree } from '../../domain/email/status.js';
import type { Recorded } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import { termsOf, type TeamState } from '../../domain/teams/state.js';
import type { Caller } from '../core/caller.js';
import type { TeamUseState } from '../../domain/billing/team-use.js';
import type { CorePorts, Load } from '../core/ports.js';

export type BillingNeeds = CorePorts &
  Readonly<{
    /** The credits and quotas of each team. */
    credits: CreditsAccounts;
    /** Whether the account of a metered team is in use. */
    teamUse: Load<TeamUseState>;
  }>;

/** `limit` and `remaining` are null if there is no limit. */
export type Quota = Readonly<{ used: number; limit: number | null; remaining: number | null }>;

export type QuotaStatus = Readonly<{
  /** False: all figures are 0 or null, and the usage is in the read models. */
  isMetered: boolean;
  /** The month that is counted, as `2026-11`. */
  month: string;
  emailQuota: Quota;
  attachmentQuota: Quota;
  /** null: the team is not billed by credits. */
  creditsRemaining: number | null;
  /** Emails of the month beyond the quota, and what each costs in millionths of a dollar (null: as agreed). */
  overage: Readonly<{ emails: number; microsPerEmail: number | null }>;
  /** The refusal of a reservation at this moment; undefined: it would be made. */
  wouldRefuse: (cost: Cost) => DomainError | undefined;
}>;

/** The cancellation of an email; `position`: of its event in the log. */
type Cancellation = Readonly<{ part: string; fact: StreamName; position: number }>;

/** When a bulk send was called while its team was unmetered, and when it was cancelled. */
type UnmeteredBatch = Readonly<{ calledAt: string; cancelledAt: string }>;

export type CreditsAccounts = Readonly<{
  /**
   * Resolves when the reservation for the stream `reference` is durable; that stream is created afterwards. Out: what
   * its emails store as `charged`, so that a cancellation returns its part; undefined for a team that is not metered. A
   * second call with the same reference gets the same reservation. Rejects with QUOTA_EXCEEDED.
   */
  reserve: (teamId: TeamId, reference: StreamName, cost: Cost, cause: Cause) => Promise<Charged | undefined>;
  /** Reserves for all streams as `reserve` does, or for none. Rejects with QUOTA_EXCEEDED, which tells the sum. */
  reserveAll: (
    teamId: TeamId,
    all: readonly Readonly<{ stream: StreamName; cost: Cost }>[],
    cause: Cause,
  ) => Promise<readonly Charged[] | undefined>;
  /**
   * Returns the cost of emails that were not created, once for each part of a reference, and at most what is left. For
   * cancelled emails `returnCancelled` does it. `unmetered`: nothing was reserved; `cost` is what `UnmeteredUseCounted`
   * may have of them.
   */
  giveBack: (
    teamId: TeamId,
    reference: StreamName,
    part: string,
    cost: Cost,
    cause: Cause,
    unmetered?: UnmeteredBatch,
  ) => Promise<void>;
  /**
   * Returns what was charged for a cancelled email. Calls come one after the other, in the order of the log; repeating
   * one changes nothing.
   */
  returnCancelled: (teamId: TeamId, charged: Charged, cancellation: Cancellation, cause: Cause) => Promise<void>;
  /**
   * Counts what a team used of the month before it was metered. `used`: all of the month of `cause.at`, metered or not;
   * what is counted already is not counted again. `terms`: those that hold from now on.
   */
  countUse: (teamId: TeamId, used: Cost, terms: Terms, cause: Cause) => Promise<void>;
  /** Quota and credits at this moment. */
  quote: (teamId: TeamId) => Promise<QuotaStatus>;
  /**
   * Checks open reservations: closes those whose stream exists, returns those whose stream can no longer be created.
   */
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
  team: (stream: StreamName) => Promise<Loaded<TeamState>>;
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
    reserveAll: async (teamId, all, cause) => {
      const terms = await termsFor(teamId);
      return terms && reserveAll(ledger, terms, { teamId, all, cause });
    },
    giveBack: async (teamId, reference, part, cost, cause, unmetered) => {
      if ((await termsFor(teamId)) === undefined && (await eventLog.last(creditsStream(teamId))) === undefined) return;
      const stream = creditsStream(teamId);
      const command = { type: 'GiveBack' as const, at: cause.at, reference, part, cost };
      const make = async ({ open }: CreditsState): Promise<CreditsCommand> =>
        open.has(reference)
          ? command
          : {
              ...command,
              reservation: await findReservation(eventLog, stream, reference, unmetered && { ...unmetered, cost }),
            };
      await ledger.decide(stream, make, cause);
    },
    returnCancelled: returningCancelled(eventLog, ledger),
    countUse: async (teamId, used, terms, cause) => {
      await ledger.decide(creditsStream(teamId), () => ({ type: 'CountUse', at: cause.at, used, terms }), cause);
    },
    quote: async (teamId) => {
      const terms = await termsFor(teamId);
      return terms === undefined ? unmetered(clock) : quoteOf(ledger, clock, teamId, terms);
    },
    settle: (teamId, cause) => settleReservations({ eventLog, ledger }, teamId, cause),
    change: async (teamId, command, cause) => {
      if ((await termsFor(teamId)) === undefined)
        throw new DomainError(
          'TEAM_NOT_METERED',
          'This team is not metered, so it has no credits; set its billing first.',
        );
      await ledger.decide(creditsStream(teamId), () => command, cause);
    },
  };
};

const reserve = async (
  ledger: CreditsLedger,
  terms: Terms,
  { teamId, reference, cost, cause }: Readonly<{ teamId: TeamId; reference: StreamName; cost: Cost; cause: Cause }>,
): Promise<Charged> => {
  const command = { type: 'Reserve' as const, at: cause.at, reference, cost, terms };
  const { refusal, reserved } = await ledger.decide(creditsStream(teamId), () => command, cause);
  if (refusal !== undefined) throw quotaExceeded(refusal);
  const { month, isByCredits } = reserved!;
  return { reference, month, isByCredits, ...cost };
};

type AllWanted = Readonly<{ teamId: TeamId; all: Parameters<CreditsAccounts['reserveAll']>[1]; cause: Cause }>;

const reserveAll = async (
  ledger: CreditsLedger,
  terms: Terms,
  { teamId, all, cause }: AllWanted,
): Promise<readonly Charged[]> => {
  const wanted = all.map(({ stream, cost }) => ({ reference: stream, cost }));
  const command = { type: 'ReserveAll' as const, at: cause.at, all: wanted, terms };
  const { refusal, reservedAll } = await ledger.decide(creditsStream(teamId), () => command, cause);
  if (refusal !== undefined) throw quotaExceeded(refusal);
  return wanted.map(({ reference, cost }, place) => {
    const { month, isByCredits } = reservedAll![place]!;
    return { reference, month, isByCredits, ...cost };
  });
};

/** The first moment of the next month. */
export const monthAfter = (month: string): string => {
  const [year, number] = month.split('-').map(Number);
  return isoTime(Date.UTC(year!, number!, 1));
};

const quotaExceeded = ({ of, needed, remaining, limit, month }: Refusal): DomainError => {
  if (of === 'credits') {
    const message = `This takes ${needed} ${needed === 1 ? 'credit' : 'credits'} and ${remaining} are left. Nothing was accepted; add credits, or send less.`;
    return new DomainError('QUOTA_EXCEEDED', message, {
      relatedInfo: { of, needed, remaining, limit, resetsAt: null },
    });
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

const quoteOf = async (
  ledger: CreditsLedger,
  clock: CreditsPorts['clock'],
  teamId: TeamId,
  terms: Terms,
): Promise<QuotaStatus> => {
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
 * Finds a reservation that may be closed, by reading the whole stream; undefined: there is none. `unmetered`: without
 * one, a count of unmetered use between call and cancellation stands for it.
 */
const findReservation = async (
  eventLog: Pick<EventLog, 'load'>,
  stream: StreamName,
  reference: string,
  unmetered: (UnmeteredBatch & Readonly<{ cost: Cost }>) | undefined,
): Promise<Reservation | undefined> => {
  let found: Reservation | undefined;
  for (const { event, revision } of await eventLog.load(stream)) {
    if (event.type === 'CreditsReserved' && event.data.reference === reference)
      found = reservationOf(event.data, revision);
    if (event.type === 'UnmeteredUseCounted' && unmetered !== undefined && found === undefined) {
      const { at, month } = event.data;
      if (month === monthOf(unmetered.calledAt) && unmetered.calledAt <= at && at <= unmetered.cancelledAt)
        found = { revision, at, month, isByCredits: false, left: unmetered.cost, parts: [] };
    }
    if (event.type === 'CreditsReturned' && event.data.reference === reference)
      found = found && withReturned(reference, found, event.data);
  }
  return found;
};

/**
 * Cancellations are returned in the order of the log, so one is new if its position is after that of the last returned
 * one. That position is read from the email's stream and not stored: positions change when the log is moved to another
 * engine.
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
    const make = async ({ sums }: CreditsState): Promise<CreditsCommand> => {
      const isNews = position > (sums.lastFact === null ? 0 : await positionOf(teamId, sums.lastFact));
      return { type: 'ReturnCancelled', at: cause.at, charged, part, fact, isNews };
    };
    await ledger.decide(creditsStream(teamId), make, cause);
  };
};

/**
 * The event by which an email became free (its cancellation, or the suppression of its last recipient), and what was
 * charged for it. undefined: the email is not free, or its team's credits and quota have nothing of it.
 */
export const findFreedCredits = async (
  eventLog: Pick<EventLog, 'load'>,
  recorded: readonly Recorded[],
): Promise<Readonly<{ position: number; charged: Charged }> | undefined> => {
  const ending = recorded.findLast(
    ({ event }) => event.type === 'EmailCancelled' || event.type === 'RecipientsSuppressed',
  );
  if (ending === undefined) return undefined;
  let email: EmailState;
  let endedBefore: EndedBefore | undefined;
  for (const { event } of recorded) {
    if (event.type === 'EmailRetried' && email !== undefined) endedBefore = endingsAfter(email.status, endedBefore);
    email = emailDecider.evolve(email, event as EmailEvent);
  }
  if (email === undefined || !endsForFree(email, ending.event as EmailEvent, endedBefore !== undefined))
    return undefined;
  const charged = email.accepted.charged ?? (await countedAsUnmetered(eventLog, email, recorded[0]!, ending));
  return charged && { position: ending.position, charged };
};

/**
 * Amount that `UnmeteredUseCounted` holds for an email that was accepted unmetered and became free later in the same
 * month; undefined if it was not counted there. A defined amount does not change.
 */
const countedAsUnmetered = async (
  eventLog: Pick<EventLog, 'load'>,
  { accepted }: Email,
  first: Recorded,
  { event, position, stream, metadata }: Recorded,
): Promise<Charged | undefined> => {
  const calledAt = countsFrom(accepted);
  const month = monthOf(calledAt);
  if (accepted.test === true || accepted.confidential === true || monthOf(event.data.at) !== month) return undefined;
  const counts = await eventLog.load(creditsStream(metadata.teamId as TeamId), 0, []);
  // An email of a bulk send counts from that call on, which may be long before its own first event.
  const isCounted = counts.some(
    ({ event: count, position: at }) =>
      count.type === 'UnmeteredUseCounted' &&
      count.data.month === month &&
      at < position &&
      (first.position < at || (accepted.batch !== undefined && calledAt <= count.data.at)),
  );
  const { pdf, excel } = accepted.generated ?? { pdf: 0, excel: 0 };
  return isCounted ? { reference: stream, month, isByCredits: false, emails: 1, attachments: pdf + excel } : undefined;
};

/** The position in this log at which an email became free; 0: it did not. */
export const freedAt = async (eventLog: Pick<EventLog, 'load'>, stream: StreamName): Promise<number> =>
  (await findFreedCredits(eventLog, await eventLog.load(stream)))?.position ?? 0;

/**
 * Checks before documents are generated that the team can pay for one email with at least so many documents. The
 * reservation afterwards has the real number. Rejects with QUOTA_EXCEEDED.
 */
export const assertAffordable = async (
  deps: Pick<BillingNeeds, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  attachments: number,
): Promise<void> => {
  if (attachments === 0) return;
  const refusal = (await deps.credits.quote(teamId)).wouldRefuse({ emails: 1, attachments });
  if (refusal !== undefined) throw refusal;
};

/**
 * Reserves for the stream that is appended next. If the result of the reservation is unknown, the call fails and that
 * stream is not created; the processor `settle-credits` then returns a reservation that was written.
 */
export const reserveFor = async (
  deps: Pick<BillingNeeds, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  { stream, cost, cause }: Readonly<{ stream: StreamName; cost: Cost; cause: Cause }>,
): Promise<Charged | undefined> => {
  try {
    return await deps.credits.reserve(teamId, stream, cost, cause);
  } catch (fault) {
    throw fault instanceof AppendUnknown ? new StoreAway('the credits could not be reserved', { cause: fault }) : fault;
  }
};

/** As `reserveFor`, for all streams together, or for none of them. */
export const reserveForAll = async (
  deps: Pick<BillingNeeds, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  all: Parameters<CreditsAccounts['reserveAll']>[1],
  cause: Cause,
): Promise<readonly Charged[] | undefined> => {
  if (all.length === 0) return [];
  try {
    return await deps.credits.reserveAll(teamId, all, cause);
  } catch (fault) {
    throw fault instanceof AppendUnknown ? new StoreAway('the credits could not be reserved', { cause: fault }) : fault;
  }
};

/**
 * Returns a reservation after another fault, which the caller reports. If this fails, the processor `settle-credits`
 * returns it later.
 */
export const giveBackQuietly = async (
  deps: Pick<BillingNeeds, 'credits'>,
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

type Log = Pick<EventLog, 'load' | 'append' | 'last'>;

/** Makes the command from the state at that moment; it may read more of the log. */
type MakeCommand = (state: CreditsState) => CreditsCommand | Promise<CreditsCommand>;

/**
 * Decides on the streams of credits: caches their state, and decides waiting commands together in one append. A refusal
 * always rests on a state that was read after the call.
 */
type CreditsLedger = Readonly<{
  /** Resolves when the events are durable. Rejects as an append does; the cached state is then dropped. */
  decide: (stream: StreamName, make: MakeCommand, cause: Cause) => Promise<Decision>;
  /** The state, read from the log; the caller must not change it. */
  read: (stream: StreamName) => Promise<CreditsState>;
}>;

/** Cached states. */
const STATES_MAX = 1_000;
/** Commands of one append. */
const ROUND_MAX = 500;
/** Appends of other processes in between before a command is refused with CONFLICT. */
const CONFLICTS_MAX = 100;

type LoadedCredits = { readonly state: CreditsState; version: StreamVersion };
type Waiting = Readonly<{
  make: MakeCommand;
  cause: Cause;
  done: (decision: Decision) => void;
  failed: (fault: unknown) => void;
}>;

const openCreditsLedger = (eventLog: Log): CreditsLedger => {
  const states = boundedCache<StreamName, LoadedCredits>({ entriesMax: STATES_MAX });
  const queues = new Map<StreamName, Waiting[]>();

  const work = async (stream: StreamName, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const taken = queue.splice(0, ROUND_MAX);
      try {
        const decisions = await decideTogether(eventLog, states, stream, taken);
        taken.forEach(({ done }, index) => done(decisions[index]!));
      } catch (fault) {
        // The append may have succeeded, so the cached state is not trusted.
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

type States = Readonly<{
  get: (stream: StreamName) => LoadedCredits | undefined;
  set: (stream: StreamName, loaded: LoadedCredits) => void;
}>;

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
    // Without events there is no append that would notice a stale state, so the log is read first.
    if (!isFresh && decisions.some((decision) => decision.events.length === 0)) {
      await readNews(eventLog, stream, loaded);
      isFresh = true;
      continue;
    }
    const [first, ...rest] = causes.map((index) => waiting[index]!.cause);
    if (first === undefined) return decisions;
    try {
      // Not by `handle`: the decisions of several waiting calls share one append, because all sends of a team write to
      // this stream.
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

/** Reads from the last CreditsCarried on, or from the oldest open reservation if that is earlier. */
const loadCredits = async (eventLog: Log, stream: StreamName): Promise<LoadedCredits> => {
  const last = await eventLog.last(stream);
  const loaded: LoadedCredits = { state: noCredits(), version: startOf(stream) };
  if (last === undefined) return loaded;
  const carriedAt = last.revision - (last.revision % CARRY_EVERY);
  const recorded = await eventLog.load(stream, carriedAt);
  const first = recorded[0]?.event;
  const openFrom = first?.type === 'CreditsCarried' ? first.data.openFrom : carriedAt;
  return fold(loaded, openFrom < carriedAt ? await eventLog.load(stream, openFrom) : recorded);
};

const readNews = async (eventLog: Log, stream: StreamName, loaded: LoadedCredits): Promise<void> => {
  fold(loaded, await eventLog.load(stream, loaded.version.revision + 1));
};

const fold = (loaded: LoadedCredits, recorded: Awaited<ReturnType<EventLog['load']>>): LoadedCredits => {
  const { state } = loaded;
  const first = recorded[0];
  if (first === undefined) return loaded;
  state.sums.events = first.revision;
  for (const { event } of recorded) advanceCredits(state, event as CreditsEvent);
  loaded.version = versionOf(recorded.at(-1)!);
  return loaded;
};

type SettlingDeps = Readonly<{ eventLog: Pick<EventLog, 'append' | 'last'>; ledger: CreditsLedger }>;

/** Reservations that one call checks, and how many at a time. */
const LOOKED_AT_MAX = 1_000;
const AT_ONCE = 32;

const tombstones = namesOf(['EmailDeleted']);

/** Whether the stream begins with EmailDeleted: the email was given up before it was created. */
const isGivenUp = ({ revision, storedType }: Readonly<{ revision: number; storedType: string }>): boolean =>
  revision === 0 && tombstones.has(storedType);

/**
 * Checks open reservations. One whose email does not exist is returned only when the email can no longer be created:
 * its stream then begins with EmailDeleted, which refuses every append that is still under way.
 */
const settleReservations = async (deps: SettlingDeps, teamId: TeamId, cause: Cause): Promise<void> => {
  const stream = creditsStream(teamId);
  const nowMs = Date.parse(cause.at);
  const { open } = await deps.ledger.read(stream);
  const emails = duePart(open, isEmailReference, isoTime(nowMs - SETTLED_AFTER_MS));
  const others = duePart(open, (reference) => !isEmailReference(reference), isoTime(nowMs - OTHERS_SETTLED_AFTER_MS));
  const lostEmails = await missingOf(emails, (reference) => isMissingEmail(deps, reference as StreamName, cause));
  const lost = new Set(
    await missingOf(others, async (reference) => (await deps.eventLog.last(reference as StreamName)) === undefined),
  );
  // A stream that may still be created is checked again, and all reservations after it too.
  const waits = others.findIndex(
    ([reference, { at }]) => lost.has(reference) && at > isoTime(nowMs - OTHERS_MISSING_AFTER_MS),
  );
  const settled = waits < 0 ? others : others.slice(0, waits);
  if (emails.length + settled.length === 0) return;
  const missing = [...lostEmails, ...settled.flatMap(([reference]) => (lost.has(reference) ? [reference] : []))];
  const upTo = emails.at(-1)?.[1].revision ?? -1;
  const othersUpTo = settled.at(-1)?.[1].revision ?? -1;
  await deps.ledger.decide(stream, () => ({ type: 'Settle', at: cause.at, upTo, othersUpTo, missing }), cause);
};

type Entry = readonly [string, Reservation];

/** The oldest reservations, without a gap, that were made by that moment. */
const duePart = (
  open: ReadonlyMap<string, Reservation>,
  isIncluded: (reference: string) => boolean,
  madeBy: string,
): readonly Entry[] => {
  const due: Entry[] = [];
  for (const entry of open) {
    if (!isIncluded(entry[0])) continue;
    if (entry[1].at > madeBy || due.length === LOOKED_AT_MAX) return due;
    due.push(entry);
  }
  return due;
};

const missingOf = async (
  entries: readonly Entry[],
  isMissing: (reference: string) => Promise<boolean>,
): Promise<readonly string[]> => {
  const missing: string[] = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const part = entries.slice(from, from + AT_ONCE).map(([reference]) => reference);
    const found = await Promise.all(part.map(isMissing));
    missing.push(...part.filter((_, index) => found[index]));
  }
  return missing;
};

/** If the email does not exist, blocks its stream so that it cannot be created. Rejects if that is uncertain. */
const isMissingEmail = async ({ eventLog }: SettlingDeps, stream: StreamName, cause: Cause): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last !== undefined) return isGivenUp(last);
  try {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    await eventLog.append(stream, startOf(stream), [{ type: 'EmailDeleted', data: { at: cause.at } }], cause);
    return true;
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    return isGivenUp((await eventLog.last(stream))!);
  }
};
