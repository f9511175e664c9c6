/**
 * Relays that have names: which of them may get a mail, in which order, and how many mails a new one may get on each
 * day. The days are counted in the relay's own stream, so that the count survives restarts and all processes share it.
 */
import type { Decider } from '../core/decider.js';
import { dayOf } from '../core/time.js';
import type { Priority } from '../ports/bus.js';
import type { RelayEvent } from './events.js';
import type { Email } from './state.js';

/** The name of the one relay that is set by its URL alone; events do not repeat it. */
export const DEFAULT_RELAY = 'default';

/**
 * Relays for mails that meet all of the conditions, in the order in which they are tried. `senderDomain`: domains in
 * lower case; `*.example.com` stands for all subdomains of example.com. `tag`: at least one of the mail's tags is among
 * them.
 */
export type RelayRule = Readonly<{
  team?: readonly string[];
  senderDomain?: readonly string[];
  tag?: readonly string[];
  priority?: readonly Priority[];
  test?: boolean;
  relays: readonly string[];
}>;

/** The facts of a mail that rules ask for. */
export type RoutedMail = Readonly<{
  team: string;
  /** In lower case. */
  senderDomain: string;
  tags: readonly string[];
  priority: Priority;
  test: boolean;
}>;

/** The relays of the first rule that the mail meets; none if it meets no rule. */
export const relaysFor = (rules: readonly RelayRule[], mail: RoutedMail): readonly string[] =>
  rules.find((rule) => meets(rule, mail))?.relays ?? [];

const meets = ({ team, senderDomain, tag, priority, test }: RelayRule, mail: RoutedMail): boolean =>
  (team === undefined || team.includes(mail.team)) &&
  (senderDomain === undefined || senderDomain.some((wanted) => isWithin(mail.senderDomain, wanted))) &&
  (tag === undefined || tag.some((wanted) => mail.tags.includes(wanted))) &&
  (priority === undefined || priority.includes(mail.priority)) &&
  (test === undefined || test === mail.test);

const isWithin = (domain: string, wanted: string): boolean =>
  wanted.startsWith('*.') ? domain.endsWith(wanted.slice(1)) : domain === wanted;

/**
 * The relay that may have the mail already: it got content in an attempt and answered nothing for it, or the program
 * died during the attempt. Later attempts go to that relay alone, because no other could know that it has the mail.
 */
export const relayWithContent = ({ attempts, retries }: Pick<Email, 'attempts' | 'retries'>): string | undefined => {
  const since = retries.at(-1)?.at ?? '';
  const attempt = attempts.findLast(
    ({ startedAt, ended }) =>
      startedAt >= since && (ended === null || ended.outcome === 'interrupted' || ended.mayHaveIt === true),
  );
  return attempt && (attempt.relay ?? DEFAULT_RELAY);
};

/** The relays that have just failed one after the other, before they got any content. */
export const failedRelays = ({ attempts }: Pick<Email, 'attempts'>): readonly string[] => {
  const ended = attempts.filter(({ ended: end }) => end !== null);
  const from = ended.findLastIndex(({ ended: end }) => end?.failedOver !== true) + 1;
  return ended.slice(from).flatMap(({ relay }) => relay ?? []);
};

/**
 * The greatest numbers of mails of the first, second, … day on which the relay gets mails; or the number of the first
 * day, and the factor by which it grows, until it has reached `untilPerDay`. After that the relay has no daily maximum.
 */
export type RampUp = readonly number[] | Readonly<{ startPerDay: number; factor: number; untilPerDay: number }>;

/** A day is a date in UTC. `daysBefore`: earlier days with mails. */
export type RelayDays = Readonly<{ day: string; taken: number; daysBefore: number }>;

/** A process takes up to `count` mails of the day. */
export type RelayCommand = Readonly<{ type: 'TakeRelayDay'; at: string; count: number; rampUp: RampUp }>;

/** The greatest number of mails on a day that follows so many days with mails; undefined: the ramp-up is over. */
export const perDayAfter = (rampUp: RampUp, daysBefore: number): number | undefined => {
  if ('startPerDay' in rampUp) {
    const { startPerDay, factor, untilPerDay } = rampUp;
    const perDay = Math.floor(startPerDay * factor ** daysBefore);
    return perDay >= untilPerDay ? undefined : perDay;
  }
  return rampUp[daysBefore];
};

/** The day of that moment. A clock that is set back stays on the last day. */
const atDay = (state: RelayDays, at: string): RelayDays => {
  const day = dayOf(at);
  if (day <= state.day) return state;
  return { day, taken: 0, daysBefore: state.daysBefore + (state.taken > 0 ? 1 : 0) };
};

/** The number of mails that the relay may still get on the day of that moment; undefined: the ramp-up is over. */
export const leftOfDay = (state: RelayDays, at: string, rampUp: RampUp): number | undefined => {
  const { taken, daysBefore } = atDay(state, at);
  const perDay = perDayAfter(rampUp, daysBefore);
  return perDay === undefined ? undefined : Math.max(0, perDay - taken);
};

export const relayDaysDecider: Decider<RelayCommand, RelayEvent, RelayDays> = {
  decide: ({ at, count, rampUp }, state) => {
    const granted = Math.min(count, leftOfDay(state, at, rampUp) ?? 0);
    return granted === 0 ? [] : [{ type: 'RelayDayTaken', data: { at, day: atDay(state, at).day, count: granted } }];
  },
  evolve: (state, { data: { day, count } }) => {
    const today = atDay(state, day);
    return { ...today, taken: today.taken + count };
  },
  initialState: { day: '', taken: 0, daysBefore: 0 },
};
