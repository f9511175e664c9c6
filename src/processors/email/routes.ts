/**
 * The relays as deliveries use them: each with its breaker, its rate and the days of its ramp-up, and the order in which
 * a mail tries them.
 */
import { DAY_MS, dayOf, isoTime } from '../../domain/core/time.js';
import { NO_TEAM, relayStream } from '../../domain/core/ids.js';
import type { Email } from '../../domain/email/state.js';
import {
  DEFAULT_RELAY,
  failedRelays,
  leftOfDay,
  relayDaysDecider,
  relaysFor,
  relayWithContent,
  type RampUp,
  type RelayRule,
} from '../../domain/email/relays.js';
import type { Priority } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Limiter } from '../../domain/ports/limiter.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { DeliveryOutcome, Mailer, ReturnPath } from '../../domain/ports/mailer.js';
import { domainOfAddress } from '../../commands/domains/sender-domains.js';
import { handle, loadState } from '../../commands/core/handle.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { Gate } from '../core/declaration.js';
import { openHostBreaker, type BreakerState, type HostBreaker } from './conditions.js';

/** A relay as the settings have it. */
export type NamedRelay = Readonly<{
  name: string;
  mailer: Mailer;
  /** Absent: that of the settings. */
  returnPath?: ReturnPath;
  /** The most mails a second, over all processes that share the limiter; absent: any number. */
  ratePerSecond?: number;
  /** Absent: any number of mails a day. */
  rampUp?: RampUp;
}>;

/** `rules`: the last one has no conditions, so that every mail meets one. */
export type Relays = Readonly<{
  list: readonly NamedRelay[];
  rules: readonly RelayRule[];
  limiter: Pick<Limiter, 'hit'>;
}>;

export type RouteDeps = Readonly<{
  clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  logger: Logger;
  eventLog: EventLog;
  /** The one relay, if `relays` is absent. */
  mailer: Mailer;
  relays?: Relays;
}>;

export type Route = Readonly<{
  /** undefined: the one relay that is set by its URL alone. */
  name: string | undefined;
  mailer: Mailer;
  breaker: HostBreaker;
  returnPath?: ReturnPath | undefined;
  pace?: Pace;
  days?: RelayDayCount;
  /** Tells the breaker how a dialogue has ended. */
  noted: (outcome: DeliveryOutcome) => void;
}>;

/** A relay as this process sees it. `isDayFull`: it gets no more mails today; absent if it has no ramp-up. */
export type RelayState = Readonly<{ relay: string; host: string; state: BreakerState; isDayFull?: boolean }>;

export type Routes = Readonly<{
  /** Open while any relay takes sessions. */
  gate: Gate;
  states: () => readonly RelayState[];
  /** The relays in the order in which the mail tries them; at least one. */
  of: (teamId: string, email: Email) => readonly Route[];
  /**
   * Whether the mail may go to another relay at once, after that relay failed before it got any content: no relay may
   * have the mail already, and another one takes mails and has not failed just now.
   */
  hasOther: (teamId: string, email: Email, current: string) => boolean;
}>;

/** Dialogues in a row that end before the content, after which a relay gets no mail until it takes a session again. */
const FAILURES_MAX = 3;

export const openRoutes = (deps: RouteDeps): Routes => {
  const { relays } = deps;
  if (relays === undefined) {
    const only = unnamedRoute(deps);
    return { gate: only.breaker, states: () => [stateOf(only)], of: () => [only], hasOther: () => false };
  }
  const byName = new Map(relays.list.map((relay) => [relay.name, namedRoute(deps, relays, relay)]));
  const chosen = (teamId: string, email: Email): readonly Route[] =>
    relaysFor(relays.rules, {
      team: teamId,
      senderDomain: email.content === undefined ? '' : domainOfAddress(email.content.from.email).toLowerCase(),
      tags: email.accepted.tags,
      priority: email.accepted.priority,
      test: email.accepted.test === true,
    }).flatMap((name) => byName.get(name) ?? []);
  return {
    gate: gateOf([...byName.values()].map(({ breaker }) => breaker)),
    states: () => [...byName.values()].map(stateOf),
    of: (teamId, email) => {
      const holder = byName.get(relayWithContent(email) ?? '');
      if (holder !== undefined) return [holder];
      const [failed, routes] = [failedRelays(email), chosen(teamId, email)];
      if (failed.length === 0) return routes;
      const hasFailed = ({ name }: Route): boolean => failed.includes(name ?? '');
      return [...routes.filter((route) => !hasFailed(route)), ...routes.filter(hasFailed)];
    },
    hasOther: (teamId, email, current) => {
      const earlier = { ...email, attempts: email.attempts.filter(({ ended }) => ended !== null) };
      if (relayWithContent(earlier) !== undefined) return false;
      const failed = failedRelays(earlier);
      return chosen(teamId, email).some(
        ({ name = '', breaker, days }) =>
          name !== current && !failed.includes(name) && breaker.isOpen() && days?.isFull() !== true,
      );
    },
  };
};

const stateOf = ({ name = DEFAULT_RELAY, mailer: { host }, breaker, days }: Route): RelayState => ({
  relay: name,
  host,
  state: breaker.state(),
  ...(days === undefined ? {} : { isDayFull: days.isFull() }),
});

const unnamedRoute = ({ clock, logger, mailer }: RouteDeps): Route => {
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, probe: (signal) => mailer.probe({ signal }) });
  return {
    name: undefined,
    mailer,
    breaker,
    noted: ({ hostAway }) => {
      if (hostAway === undefined) breaker.answered();
    },
  };
};

const namedRoute = (deps: RouteDeps, { limiter }: Relays, relay: NamedRelay): Route => {
  const { name, mailer, returnPath, ratePerSecond, rampUp } = relay;
  const { clock, logger } = deps;
  const probe = (signal: AbortSignal): Promise<boolean> => mailer.probe({ signal });
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, relay: name, probe });
  let failures = 0;
  return {
    name,
    mailer,
    breaker,
    returnPath,
    ...(ratePerSecond === undefined ? {} : { pace: openPace({ clock, limiter }, name, ratePerSecond) }),
    ...(rampUp === undefined ? {} : { days: openRelayDays(deps, name, rampUp) }),
    noted: (outcome) => {
      if (outcome.hostAway === true) return;
      failures = isFailure(outcome) ? failures + 1 : 0;
      if (failures === 0) return breaker.answered();
      if (failures < FAILURES_MAX) return;
      failures = 0;
      breaker.away(Number.POSITIVE_INFINITY);
    },
  };
};

const SERVICE_CLOSING = 421;

/** The relay hung up or was silent before the content. A refusal of the sender or of one mail says nothing of the relay. */
const isFailure = ({ content, recipients }: DeliveryOutcome): boolean =>
  content === 'none' && recipients.some(({ replyCode }) => replyCode === null || replyCode === SERVICE_CLOSING);

/** One gate for all relays. */
const gateOf = (breakers: readonly HostBreaker[]): Gate => ({
  isOpen: () => breakers.some(({ isOpen }) => isOpen()),
  isPartlyClosed: () => breakers.some(({ isOpen }) => !isOpen()),
  pauseMs: () => Math.min(...breakers.map(({ pauseMs }) => pauseMs())),
  changed: () => AbortSignal.any(breakers.map(({ changed }) => changed())),
  ask: () => breakers.forEach(({ ask }) => ask()),
  watch: async (signal) => {
    await Promise.all(breakers.map(({ watch }) => watch(signal)));
  },
});

/** The rate of a relay. */
export type Pace = Readonly<{
  /**
   * Waits for the mail's turn if it comes soon. Out: 0 if the mail has its turn, else after how many milliseconds it
   * should ask again.
   */
  take: (priority: Priority, signal: AbortSignal) => Promise<number>;
  /** Waits for the turn, however late; resolves when the signal aborts, too. */
  wait: (signal: AbortSignal) => Promise<void>;
}>;

/** How long a mail waits for its turn beside its lane; the more urgent, the longer, so that it gets a turn before others. */
const WAIT_MS: Readonly<Record<Priority, number>> = { high: 1_500, normal: 1_000, low: 500 };
const SECOND_MS = 1_000;

/**
 * Spreads the mails of this process evenly over time, and counts them with those of other processes in windows of the
 * limiter. A mail that would wait long is put back and asks again at a moment of its own, so that it holds no lane.
 */
const openPace = (
  { clock, limiter }: Readonly<{ clock: RouteDeps['clock']; limiter: Pick<Limiter, 'hit'> }>,
  name: string,
  perSecond: number,
): Pace => {
  const limit = Math.max(1, Math.floor(perSecond));
  const windowMs = Math.max(SECOND_MS, Math.ceil(SECOND_MS / perSecond));
  const intervalMs = windowMs / limit;
  const window = { bucket: `relay:${name}`, limit, windowMs };
  let nextMs = Number.NEGATIVE_INFINITY;
  let againMs = Number.NEGATIVE_INFINITY;
  const askAgain = (inMs: number): number => {
    const nowMs = clock.monotonic();
    againMs = Math.max(againMs + intervalMs, nowMs + inMs);
    return againMs - nowMs;
  };
  const take: Pace['take'] = async (priority, signal) => {
    const nowMs = clock.monotonic();
    const turnMs = Math.max(nowMs, nextMs);
    if (turnMs - nowMs > WAIT_MS[priority]) return askAgain(WAIT_MS[priority]);
    nextMs = turnMs + intervalMs;
    if (turnMs > nowMs) await clock.sleep(turnMs - nowMs, signal);
    if (signal.aborted) return SECOND_MS;
    const { admitted, retryAfterS } = await limiter.hit([window]);
    return admitted ? 0 : askAgain(retryAfterS * SECOND_MS);
  };
  return {
    take,
    wait: async (signal) => {
      while (!signal.aborted) {
        const againInMs = await take('high', signal);
        if (againInMs === 0) return;
        await clock.sleep(againInMs, signal);
      }
    },
  };
};

/** The days of a ramp-up, as this process knows them. */
export type RelayDayCount = Readonly<{
  /** Whether it is known that the relay takes no more mails today. */
  isFull: () => boolean;
  /** Counts one mail. Out: false if the relay takes no more mails today. */
  take: () => Promise<boolean>;
}>;

/** A process takes this part of what is left of a day at once; what it has not used when it ends is lost to the day. */
const PART_OF_DAY = 0.05;

const openRelayDays = ({ eventLog, clock }: RouteDeps, name: string, rampUp: RampUp): RelayDayCount => {
  const stream = relayStream(name);
  let own = { day: '', left: 0 };
  let fullDay: string | undefined;
  let isOver = false;
  let last: Promise<unknown> = Promise.resolve();

  const takeMore = async (): Promise<boolean> => {
    const at = isoTime(clock.now());
    if (own.left > 0 && own.day >= dayOf(at)) {
      own.left -= 1;
      return true;
    }
    if (isOver) return true;
    if (fullDay === dayOf(at)) return false;
    const { state } = await loadState(eventLog, stream, relayDaysDecider);
    const left = leftOfDay(state, at, rampUp);
    isOver = left === undefined;
    if (left === undefined) return true;
    const count = Math.max(1, Math.floor(left * PART_OF_DAY));
    const cause = { teamId: NO_TEAM, actor: 'processor:deliver-email', correlationId: stream, causationId: stream, at };
    const { events } = await handle(
      eventLog,
      stream,
      relayDaysDecider,
      { type: 'TakeRelayDay', at, count, rampUp },
      cause,
    );
    const taken = events[0]?.data;
    if (taken === undefined) {
      fullDay = dayOf(at);
      return false;
    }
    own = { day: taken.day, left: taken.count - 1 };
    return true;
  };

  return {
    isFull: () => fullDay !== undefined && fullDay === dayOf(isoTime(clock.now())),
    take: () => {
      // One after the other, so that mails at the same moment share what one of them takes.
      const mine = last.then(takeMore, takeMore);
      last = mine.catch(() => {});
      return mine;
    },
  };
};

/** The first moment of the next day (UTC). */
export const nextDay = (nowMs: number): string => `${dayOf(isoTime(nowMs + DAY_MS))}T00:00:00.000Z`;
