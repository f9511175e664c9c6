/**
 * The decider of a team's credits: reserve, return, grant, buy, reset, count, settle. It decides several commands in
 * one round.
 */
import type { CreditsEvent } from './events.js';
import { type Plan, CURRENCY, priceOf, SIGNUP_CREDITS } from './plans.js';
import { isoTime } from '../core/time.js';
import {
  addToSums,
  balanceOf,
  creditsOf,
  isEmailReference,
  monthOf,
  reservationOf,
  withReturned,
  type Cost,
  type CreditsState,
  type CreditsSums,
  type Reservation,
} from './credits.js';

/** How the team is billed. `quota`: emails a month; null: no limit. */
export type Terms = Readonly<{ isByCredits: boolean; quota: number | null; overage: Plan['overage'] }>;

export type CreditsCommand =
  | Readonly<{ type: 'Reserve'; at: string; reference: string; cost: Cost; terms: Terms }>
  /** Reserves for all, or for none. */
  | Readonly<{ type: 'ReserveAll'; at: string; all: readonly Wanted[]; terms: Terms }>
  /** `reservation`: found in the whole stream, if it is no longer open. */
  | Readonly<{
      type: 'GiveBack';
      at: string;
      reference: string;
      part: string;
      cost: Cost;
      reservation?: Reservation | undefined;
    }>
  /** `charged`: from the email's own events. `isNews`: its cancellation comes after that of `lastFact` in the log. */
  | Readonly<{ type: 'ReturnCancelled'; at: string; charged: Charged; part: string; fact: string; isNews: boolean }>
  | Readonly<{ type: 'Grant'; at: string; credits: number; note?: string }>
  | Readonly<{ type: 'Buy'; at: string; blocks: number; note?: string }>
  | Readonly<{ type: 'Reset'; at: string }>
  | Readonly<{ type: 'OpenAccount'; at: string }>
  /**
   * `used`: all that the team was accepted in the month of `at`, metered or not. `terms`: those that hold from now on.
   */
  | Readonly<{ type: 'CountUse'; at: string; used: Cost; terms: Terms }>
  /** `missing`: open reservations whose stream does not exist and can no longer be created. */
  | Readonly<{ type: 'Settle'; at: string; upTo: number; othersUpTo: number; missing: readonly string[] }>;

/** The reservation that one stream needs. */
export type Wanted = Readonly<{ reference: string; cost: Cost }>;

/** The reservation of an email, as the email's own events store it. */
export type Charged = Cost & Readonly<{ reference: string; month: string; isByCredits: boolean }>;

/** Why a reservation was refused: too few credits, or too few emails left in the month. */
export type Refusal = Readonly<{
  of: 'credits' | 'quota';
  needed: number;
  remaining: number;
  limit: number | null;
  month: string;
}>;

/** `reservedAll`: in the order of `ReserveAll`. */
export type Decision = Readonly<{
  events: readonly CreditsEvent[];
  refusal?: Refusal;
  reserved?: Reservation;
  reservedAll?: readonly Reservation[];
}>;

/** Every event at a multiple of this revision is CreditsCarried. */
export const CARRY_EVERY = 1_000;
const THRESHOLDS = [80, 100] as const;

/** An email's reservation is checked after this time, when nearly every send call has ended. */
export const SETTLED_AFTER_MS = 60_000;
/** Other reservations are checked after this time: parts of a batch may be returned for a while. */
export const OTHERS_SETTLED_AFTER_MS = 60 * 60_000;
/** Other reservations whose stream does not exist after this time are returned. */
export const OTHERS_MISSING_AFTER_MS = 24 * 60 * 60_000;

const nothing: Decision = { events: [] };

/**
 * Decides commands in order, each on the state after the ones before it. Out: one decision for each, and all events in
 * order, with CreditsCarried wherever it is due; `causes`: for each event the index of its command. `state` is not
 * changed.
 */
export const decideCredits = (
  commands: readonly CreditsCommand[],
  state: CreditsState,
): Readonly<{ decisions: readonly Decision[]; events: readonly CreditsEvent[]; causes: readonly number[] }> => {
  const round = openRound(state);
  const decisions = commands.map((command, index) => {
    round.begin(index);
    return decideOne(command, round);
  });
  return { decisions, events: round.events, causes: round.causes };
};

/** The sums while commands are decided, and the reservations that this round has changed. */
type Round = Readonly<{
  sums: CreditsSums;
  events: CreditsEvent[];
  /** For each event the index of its command. */
  causes: number[];
  begin: (command: number) => void;
  find: (reference: string) => Reservation | undefined;
  note: (reference: string, reservation: Reservation | undefined) => void;
  add: (event: CreditsEvent) => void;
  /** The reservations that are open now. */
  open: () => Iterable<readonly [string, Reservation]>;
}>;

const openRound = (state: CreditsState): Round => {
  const sums = { ...state.sums };
  const changed = new Map<string, Reservation | undefined>();
  const events: CreditsEvent[] = [];
  const causes: number[] = [];
  let command = 0;
  let openFrom: number | undefined = firstOf(state.open)?.revision;
  const append = (event: CreditsEvent): void => {
    if (event.type === 'CreditsReserved') openFrom ??= sums.events;
    addToSums(sums, event);
    events.push(event);
    causes.push(command);
  };
  return {
    sums,
    events,
    causes,
    begin: (index) => {
      command = index;
    },
    find: (reference) => (changed.has(reference) ? changed.get(reference) : state.open.get(reference)),
    note: (reference, reservation) => void changed.set(reference, reservation),
    add: (event) => {
      if (sums.events > 0 && sums.events % CARRY_EVERY === 0)
        append(carried(sums, event.data.at, openFrom ?? sums.events));
      append(event);
    },
    open: () => openNow(state.open, changed),
  };
};

function* openNow(
  open: CreditsState['open'],
  changed: ReadonlyMap<string, Reservation | undefined>,
): Generator<readonly [string, Reservation]> {
  for (const entry of open) if (!changed.has(entry[0])) yield entry;
  for (const [reference, reservation] of changed) if (reservation !== undefined) yield [reference, reservation];
}

const firstOf = (open: CreditsState['open']): Reservation | undefined => {
  for (const reservation of open.values()) return reservation;
  return undefined;
};

const carried = ({ events: _events, ...sums }: CreditsSums, at: string, openFrom: number): CreditsEvent => ({
  type: 'CreditsCarried',
  data: { at, openFrom, ...sums },
});

const decideOne = (command: CreditsCommand, round: Round): Decision => {
  const from = round.events.length;
  const done = (): Decision => ({ events: round.events.slice(from) });
  switch (command.type) {
    case 'Reserve':
      return reserve(command, round);
    case 'ReserveAll':
      return reserveAll(command, round);
    case 'GiveBack':
      return giveBack(command, round);
    case 'ReturnCancelled':
      return returnCancelled(command, round);
    case 'Grant':
      round.add({ type: 'CreditsGranted', data: { ...noted(command), credits: command.credits, reason: 'operator' } });
      return done();
    case 'Buy': {
      const { credits, priceCents, tiers } = priceOf(command.blocks);
      const bought = { blocks: command.blocks, credits, priceCents, currency: CURRENCY, tiers: [...tiers] };
      round.add({ type: 'CreditsBought', data: { ...noted(command), ...bought } });
      return done();
    }
    case 'Reset': {
      const credits = balanceOf(round.sums);
      if (credits <= 0) return nothing;
      round.add({ type: 'CreditsReset', data: { at: command.at, credits } });
      return done();
    }
    case 'OpenAccount':
      signUp(round, command.at);
      return done();
    case 'CountUse':
      countUse(command, round);
      return done();
    case 'Settle':
      return settle(command, round);
  }
};

type CommandOf<Type extends CreditsCommand['type']> = Extract<CreditsCommand, { type: Type }>;

const noted = ({ at, note }: Readonly<{ at: string; note?: string }>) => (note === undefined ? { at } : { at, note });

/** Grants the credits that every team begins with, once. */
const signUp = (round: Round, at: string): void => {
  if (!round.sums.hadSignup)
    round.add({ type: 'CreditsGranted', data: { at, credits: SIGNUP_CREDITS, reason: 'signup' } });
};

const reserve = ({ at, reference, cost, terms }: CommandOf<'Reserve'>, round: Round): Decision => {
  const known = round.find(reference);
  if (known !== undefined) return { events: [], reserved: known };
  const { sums } = round;
  const refusal = refusalOf(sums, { at, cost, terms });
  if (refusal !== undefined) return { events: [], refusal };
  const from = round.events.length;
  const reserved = addReservation({ reference, cost }, { at, terms }, round);
  return { events: round.events.slice(from), reserved };
};

/** Reservations of an earlier call that was cut off are not made again. */
const reserveAll = ({ at, all, terms }: CommandOf<'ReserveAll'>, round: Round): Decision => {
  const cost = { emails: 0, attachments: 0 };
  for (const wanted of all) {
    if (round.find(wanted.reference) !== undefined) continue;
    cost.emails += wanted.cost.emails;
    cost.attachments += wanted.cost.attachments;
  }
  const refusal = creditsOf(cost) === 0 ? undefined : refusalOf(round.sums, { at, cost, terms });
  if (refusal !== undefined) return { events: [], refusal };
  const from = round.events.length;
  const reservedAll = all.map((wanted) => round.find(wanted.reference) ?? addReservation(wanted, { at, terms }, round));
  return { events: round.events.slice(from), reservedAll };
};

/** Adds a reservation that the team can pay. */
const addReservation = (
  { reference, cost }: Wanted,
  { at, terms }: Readonly<{ at: string; terms: Terms }>,
  round: Round,
): Reservation => {
  if (terms.isByCredits) signUp(round, at);
  beginMonth(round, at, terms);
  const { month } = round.sums;
  const credits = terms.isByCredits ? creditsOf(cost) : 0;
  const data = { at, month, reference, emails: cost.emails, attachments: cost.attachments, credits };
  round.add({ type: 'CreditsReserved', data });
  const reserved = reservationOf(data, round.sums.events - 1);
  round.note(reference, reserved);
  tellThresholds(round, at, terms);
  return reserved;
};

/** Begins the month of the clock at its first reservation. If the clock is set back, the later month goes on. */
const beginMonth = (round: Round, at: string, { quota, overage }: Terms): void => {
  const { month, emails, attachments } = round.sums;
  if (monthOf(at) <= month) return;
  const over = quota === null ? 0 : Math.max(0, emails - quota);
  const closed =
    month === '' ? null : { month, emails, attachments, overage: over, overageMicrosPerEmail: overage.microsPerEmail };
  round.add({ type: 'QuotaMonthBegan', data: { at, month: monthOf(at), closed } });
};

/** Raises the counts of the month to `used`, so that what was sent without a reservation is in them, once. */
const countUse = ({ at, used, terms }: CommandOf<'CountUse'>, round: Round): void => {
  if (creditsOf(used) === 0) return;
  beginMonth(round, at, terms);
  const { month } = round.sums;
  // After the clock was set back, a later month goes on, which `used` says nothing about.
  if (month !== monthOf(at)) return;
  const emails = Math.max(0, used.emails - round.sums.emails);
  const attachments = Math.max(0, used.attachments - round.sums.attachments);
  if (emails + attachments === 0) return;
  round.add({ type: 'UnmeteredUseCounted', data: { at, month, emails, attachments } });
  tellThresholds(round, at, terms);
};

/** The usage of the month at that moment, and the balance; the signup credits count even before they are granted. */
export const usableAt = (
  sums: CreditsSums,
  at: string,
): Readonly<{ month: string; emails: number; attachments: number; balance: number }> => {
  const isNewMonth = monthOf(at) > sums.month;
  return {
    month: isNewMonth ? monthOf(at) : sums.month,
    emails: isNewMonth ? 0 : sums.emails,
    attachments: isNewMonth ? 0 : sums.attachments,
    balance: balanceOf(sums) + (sums.hadSignup ? 0 : SIGNUP_CREDITS),
  };
};

/** Why that cost would be refused; undefined: it would not. */
export const refusalOf = (
  sums: CreditsSums,
  { at, cost, terms }: Readonly<{ at: string; cost: Cost; terms: Terms }>,
): Refusal | undefined => {
  const { month, emails, balance } = usableAt(sums, at);
  const needed = creditsOf(cost);
  if (terms.isByCredits && balance < needed) return { of: 'credits', needed, remaining: balance, limit: null, month };
  const { quota, overage } = terms;
  if (quota !== null && !overage.isAllowed && emails + cost.emails > quota)
    return { of: 'quota', needed: cost.emails, remaining: Math.max(0, quota - emails), limit: quota, month };
  return undefined;
};

const tellThresholds = (round: Round, at: string, { isByCredits, quota }: Terms): void => {
  const { sums } = round;
  const tell = (of: 'credits' | 'quota', used: number, limit: number): void => {
    for (const percent of THRESHOLDS) {
      const reached = of === 'credits' ? sums.reachedOfCredits : sums.reachedOfQuota;
      if (percent <= reached || used * 100 < limit * percent) continue;
      round.add({ type: 'QuotaThresholdReached', data: { at, month: sums.month, of, percent, used, limit } });
    }
  };
  if (isByCredits && sums.toppedUp > 0) tell('credits', sums.toppedUp - balanceOf(sums), sums.toppedUp);
  if (quota !== null) tell('quota', sums.emails, quota);
};

/** Returns at most what is left of the reservation. */
const giveBack = ({ at, reference, part, cost, reservation }: CommandOf<'GiveBack'>, round: Round): Decision => {
  const known = round.find(reference) ?? reservation;
  if (known === undefined || known.parts.includes(part)) return nothing;
  const emails = Math.min(cost.emails, known.left.emails);
  const attachments = Math.min(cost.attachments, known.left.attachments);
  if (emails + attachments === 0) return nothing;
  const from = round.events.length;
  round.note(reference, withReturned(reference, known, { part, emails, attachments }));
  const { month, isByCredits } = known;
  const credits = isByCredits ? emails + attachments : 0;
  round.add({ type: 'CreditsReturned', data: { at, month, reference, part, emails, attachments, credits } });
  return { events: round.events.slice(from) };
};

/** Notes the part in the open reservation too, so that GiveBack does not return it again. */
const returnCancelled = ({ at, charged, part, fact, isNews }: CommandOf<'ReturnCancelled'>, round: Round): Decision => {
  const { reference, month, emails, attachments, isByCredits } = charged;
  const known = round.find(reference);
  if (!isNews || known?.parts.includes(part) === true) return nothing;
  const from = round.events.length;
  if (known !== undefined) round.note(reference, withReturned(reference, known, { part, emails, attachments }));
  const credits = isByCredits ? emails + attachments : 0;
  round.add({ type: 'CreditsReturned', data: { at, month, reference, part, emails, attachments, credits, fact } });
  return { events: round.events.slice(from) };
};

/** The name of the part when a whole reservation is returned. */
export const WHOLE = 'whole';

const settle = ({ at, upTo, othersUpTo, missing }: CommandOf<'Settle'>, round: Round): Decision => {
  const from = round.events.length;
  for (const reference of missing) {
    const known = round.find(reference);
    if (known !== undefined) giveBack({ type: 'GiveBack', at, reference, part: WHOLE, cost: known.left }, round);
  }
  let nextMs = Infinity;
  for (const [reference, reservation] of [...round.open()]) {
    if (reservation.revision <= (isEmailReference(reference) ? upTo : othersUpTo)) {
      round.note(reference, undefined);
      continue;
    }
    nextMs = Math.min(nextMs, Math.max(lookAtMs(reference, reservation.at), Date.parse(at)));
  }
  round.add({
    type: 'ReservationsSettled',
    data: { at, upTo, othersUpTo, nextAt: nextMs === Infinity ? null : isoTime(nextMs) },
  });
  return { events: round.events.slice(from) };
};

/** When a reservation of that moment is checked. */
export const lookAtMs = (reference: string, at: string): number =>
  Date.parse(at) + (isEmailReference(reference) ? SETTLED_AFTER_MS : OTHERS_SETTLED_AFTER_MS);
