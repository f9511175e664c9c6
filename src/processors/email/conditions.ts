/**
 * Conditions checked before an attempt: the team is not deleted, recipients are not suppressed, and the host takes
 * sessions.
 */
import type { EmailNeeds } from '../../commands/email/needs.js';
import { deletedAtOf } from '../../commands/core/caller.js';
import type { EmailCommand } from '../../domain/email/decider.js';
import { type Email, pendingRecipients } from '../../domain/email/state.js';
import { hasIt } from '../../domain/email/status.js';
import { isoTime } from '../../domain/core/time.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Gate } from '../core/declaration.js';
import { suppressedPlaces } from '../../commands/recipients/suppression-check.js';
import { assertDefined, parseTeamId } from '../../domain/core/ids.js';
import type { Mailer } from '../../domain/ports/mailer.js';

const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 30_000;

type HostBreakerOptions = Readonly<{
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  logger: Logger;
  host: string;
  /** The name of the relay; absent: it has none. */
  relay?: string;
  /** Opens a session and ends it. Out: whether the host took it. */
  probe: (signal: AbortSignal) => Promise<boolean>;
}>;

export type HostBreaker = Gate &
  Readonly<{
    /** A session was open, whatever the result of the message. */
    answered: () => void;
    /**
     * An attempt that began at that moment (monotonic clock) could open no session. Out: false if another attempt has
     * had a session since: the host may only limit concurrent sessions.
     */
    away: (begunMs: number) => boolean;
    /** `half-open`: it is being probed whether the host takes sessions again. */
    state: () => BreakerState;
  }>;

export type BreakerState = 'closed' | 'open' | 'half-open';

type Withdraw = Extract<EmailCommand, { type: 'WithdrawEmail' }>;

type Deps = Pick<EmailNeeds, 'eventLog' | 'keys' | 'team' | 'clock'> & Readonly<{ mailer: Pick<Mailer, 'final'> }>;

type Suppress = Extract<EmailCommand, { type: 'SuppressRecipients' }>;

/**
 * The command instead of an attempt if the team is deleted; an email that some recipients have goes on to the others.
 */
export const withdrawalOf = async (
  deps: Pick<EmailNeeds, 'team' | 'clock'>,
  teamId: string,
  email: Email,
): Promise<Withdraw | undefined> => {
  const deletedAt = await deletedAtOf(deps, teamId);
  return deletedAt === undefined || email.recipientStatuses.some(hasIt)
    ? undefined
    : { type: 'WithdrawEmail', at: isoTime(deps.clock.now()), cancelledAt: deletedAt, endsBrokenOff: true };
};

/** The command instead of an attempt if waiting recipients are suppressed; undefined: none is. */
export const suppressionOf = async (deps: Deps, teamId: string, email: Email): Promise<Suppress | undefined> => {
  const { content } = email;
  if (content === undefined) return undefined;
  const pending = pendingRecipients(email);
  const places = await suppressedPlaces(
    deps,
    assertDefined(parseTeamId(teamId), 'team id'),
    pending.map((index) => content.recipients[index]!),
    email.accepted.unsubscribeList,
  );
  if (places.length === 0) return undefined;
  return {
    type: 'SuppressRecipients',
    at: isoTime(deps.clock.now()),
    recipients: places.map((place) => pending[place]!),
    final: deps.mailer.final,
  };
};

/**
 * A circuit breaker: while the host takes no session, no mail is attempted, and a probe asks again with growing pauses.
 */
export const openHostBreaker = ({ clock, logger, host, relay, probe }: HostBreakerOptions): HostBreaker => {
  const named = relay === undefined ? { host } : { host, relay };
  let awaySinceMs: number | undefined;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let change = new AbortController();
  let pausedMs = PAUSE_FIRST_MS;
  let urge = new AbortController();
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let isProbing = false;

  const signalChange = (): void => {
    const before = change;
    change = new AbortController();
    before.abort();
  };

  const answered = (): void => {
    answeredAtMs = clock.monotonic();
    if (awaySinceMs === undefined) return;
    logger.info(
      { ...named, awayMs: Math.round(answeredAtMs - awaySinceMs) },
      'the host takes sessions again; held mail is sent',
    );
    awaySinceMs = undefined;
    signalChange();
  };

  /** Probes until the host answers. */
  const ask = async (signal: AbortSignal): Promise<void> => {
    for (let pauseMs = PAUSE_FIRST_MS; awaySinceMs !== undefined; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      pausedMs = pauseMs;
      urge = new AbortController();
      await clock.sleep(pauseMs, AbortSignal.any([signal, change.signal, urge.signal]));
      if (signal.aborted) return;
      askedAtMs = clock.monotonic();
      if (awaySinceMs === undefined) return;
      isProbing = true;
      const isTaken = await probe(signal).catch(() => false);
      isProbing = false;
      if (isTaken) answered();
    }
  };

  return {
    isOpen: () => awaySinceMs === undefined,
    state: () => (awaySinceMs === undefined ? 'closed' : isProbing ? 'half-open' : 'open'),
    pauseMs: () => (awaySinceMs === undefined ? 0 : pausedMs),
    changed: () => change.signal,
    // However many mails are pushed by hand, the host is probed at most once per first pause.
    ask: () => {
      if (clock.monotonic() - askedAtMs >= PAUSE_FIRST_MS) urge.abort();
    },
    watch: async (signal) => {
      while (!signal.aborted) {
        if (awaySinceMs === undefined) await aborted(AbortSignal.any([signal, change.signal]));
        else await ask(signal);
      }
    },
    answered,
    away: (begunMs) => {
      if (answeredAtMs >= begunMs) return false;
      if (awaySinceMs !== undefined) return true;
      awaySinceMs = clock.monotonic();
      pausedMs = PAUSE_FIRST_MS;
      logger.warn(named, 'the host takes no sessions; mail is held and spends no attempts until it does');
      signalChange();
      return true;
    },
  };
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
