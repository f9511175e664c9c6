/** The state of a team's credits, folded from its events: the sums, and the open reservations. */
import type { CreditsEvent } from './events.js';

/** A number of emails, and of documents that are made for them. Each costs one credit. */
export type Cost = Readonly<{ emails: number; attachments: number }>;

/** A reservation whose stream is not yet known to exist. `left`: the part that was not returned. */
export type Reservation = Readonly<{
  revision: number;
  at: string;
  month: string;
  isByCredits: boolean;
  left: Cost;
  /** The parts that were returned. */
  parts: readonly string[];
}>;

/** Scalars only, so that a copy is cheap. */
export type CreditsSums = {
  /** The number of events in the stream. */
  events: number;
  granted: number;
  bought: number;
  /** Costs that were reserved, less those that were returned. */
  used: number;
  reset: number;
  hadSignup: boolean;
  /** The month that `emails` and `attachments` count; empty before the first. */
  month: string;
  emails: number;
  attachments: number;
  /** The balance after the last grant or purchase. */
  toppedUp: number;
  reachedOfCredits: number;
  reachedOfQuota: number;
  /** The stream of the cancelled email whose credits were returned last. */
  lastFact: string | null;
};

/** `open` is in the order of the reservations. */
export type CreditsState = Readonly<{ sums: CreditsSums; open: Map<string, Reservation> }>;

export const noCredits = (): CreditsState => ({
  sums: {
    events: 0,
    granted: 0,
    bought: 0,
    used: 0,
    reset: 0,
    hadSignup: false,
    month: '',
    emails: 0,
    attachments: 0,
    toppedUp: 0,
    reachedOfCredits: 0,
    reachedOfQuota: 0,
    lastFact: null,
  },
  open: new Map(),
});

export const balanceOf = ({ granted, bought, used, reset }: CreditsSums): number => granted + bought - used - reset;

export const creditsOf = ({ emails, attachments }: Cost): number => emails + attachments;

/** In: ISO 8601 in UTC. Out: its month, as `2026-11`. */
export const monthOf = (at: string): string => at.slice(0, 7);

export const isEmailReference = (reference: string): boolean => reference.startsWith('email-');

/** Adds an event to sums that the caller owns. */
export const addToSums = (sums: CreditsSums, event: CreditsEvent): void => {
  sums.events += 1;
  switch (event.type) {
    case 'CreditsGranted':
      sums.granted += event.data.credits;
      sums.hadSignup ||= event.data.reason === 'signup';
      return topUp(sums);
    case 'CreditsBought':
      sums.bought += event.data.credits;
      return topUp(sums);
    case 'CreditsReserved':
      sums.used += event.data.credits;
      return countInMonth(sums, event.data, 1);
    case 'CreditsReturned':
      sums.used -= event.data.credits;
      sums.lastFact = event.data.fact ?? sums.lastFact;
      return countInMonth(sums, event.data, -1);
    case 'UnmeteredUseCounted':
      return countInMonth(sums, event.data, 1);
    case 'CreditsReset':
      sums.reset += event.data.credits;
      return topUp(sums);
    case 'QuotaMonthBegan':
      sums.month = event.data.month;
      sums.emails = 0;
      sums.attachments = 0;
      sums.reachedOfQuota = 0;
      return;
    case 'QuotaThresholdReached':
      if (event.data.of === 'credits') sums.reachedOfCredits = event.data.percent;
      else sums.reachedOfQuota = event.data.percent;
      return;
    case 'ReservationsSettled':
      return;
    case 'CreditsCarried': {
      const { at: _at, openFrom: _openFrom, ...carried } = event.data;
      Object.assign(sums, carried);
      return;
    }
  }
};

const topUp = (sums: CreditsSums): void => {
  sums.toppedUp = balanceOf(sums);
  sums.reachedOfCredits = 0;
};

/** Adds to the counts of the current month; a change of an earlier month does not count. */
const countInMonth = (
  sums: CreditsSums,
  { month, emails, attachments }: Cost & Readonly<{ month: string }>,
  sign: 1 | -1,
): void => {
  if (month !== sums.month) return;
  sums.emails += sign * emails;
  sums.attachments += sign * attachments;
};

/** Adds an event to a state that the caller owns. */
export const advanceCredits = ({ sums, open }: CreditsState, event: CreditsEvent): void => {
  const revision = sums.events;
  addToSums(sums, event);
  switch (event.type) {
    case 'CreditsReserved':
      open.set(event.data.reference, reservationOf(event.data, revision));
      return;
    case 'CreditsReturned': {
      const { reference } = event.data;
      const known = open.get(reference);
      if (known === undefined) return;
      const after = withReturned(reference, known, event.data);
      if (after === undefined) open.delete(reference);
      else open.set(reference, after);
      return;
    }
    case 'ReservationsSettled':
      return settle(open, event.data);
    case 'CreditsGranted':
    case 'CreditsBought':
    case 'CreditsReset':
    case 'QuotaMonthBegan':
    case 'UnmeteredUseCounted':
    case 'QuotaThresholdReached':
    case 'CreditsCarried':
      return;
  }
};

type Reserved = Extract<CreditsEvent, { type: 'CreditsReserved' }>['data'];

export const reservationOf = (
  { at, month, emails, attachments, credits }: Reserved,
  revision: number,
): Reservation => ({
  revision,
  at,
  month,
  isByCredits: credits > 0,
  left: { emails, attachments },
  parts: [],
});

/**
 * The reservation after a return; undefined if an email's has nothing left. A batch's is kept, so that a part returned
 * twice is recognised.
 */
export const withReturned = (
  reference: string,
  reservation: Reservation,
  { part, emails, attachments }: Cost & Readonly<{ part: string }>,
): Reservation | undefined => {
  const left = { emails: reservation.left.emails - emails, attachments: reservation.left.attachments - attachments };
  if (isEmailReference(reference) && creditsOf(left) <= 0) return undefined;
  return { ...reservation, left, parts: [...reservation.parts, part] };
};

const settle = (
  open: Map<string, Reservation>,
  { upTo, othersUpTo }: Readonly<{ upTo: number; othersUpTo: number }>,
): void => {
  const last = Math.max(upTo, othersUpTo);
  for (const [reference, { revision }] of open) {
    if (revision > last) return;
    if (revision <= (isEmailReference(reference) ? upTo : othersUpTo)) open.delete(reference);
  }
};
