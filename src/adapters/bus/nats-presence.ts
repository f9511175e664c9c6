/** Whether the NATS server answers, and the two lines of the log that say when it stopped and when it began again. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';

export type LinkDeps = Readonly<{ clock: Clock; logger: Logger }>;

const PROBE_EVERY_MS = 500;

export type Presence = Readonly<{
  /** False from the moment in which the server was last found not to answer until it answers again. */
  isUp: () => boolean;
  /** Calls back each time the server is there again: what it was asked to deliver is forgotten, and what it kept may be. */
  onBack: (callback: () => void) => () => void;
  isConnected: () => boolean;
  disconnected: () => void;
  connected: () => void;
  /** A question was not answered in time. */
  silent: () => void;
  answered: () => void;
}>;

/** While the server is silent it is asked again and again, so that its return is seen where nobody else asks. */
export const openPresence = ({ clock, logger }: LinkDeps, closed: AbortSignal, probe: () => Promise<unknown>): Presence => {
  const callbacks = new Set<() => void>();
  let state: 'up' | 'silent' | 'disconnected' = 'up';

  const leave = (to: 'silent' | 'disconnected'): void => {
    if (closed.aborted) return;
    if (state === 'up') logger.warn({}, 'the NATS server is away: work waits, and is found again by its timers');
    state = to;
  };
  const back = (): void => {
    if (state === 'up') return;
    state = 'up';
    logger.info({}, 'the NATS server is back');
    for (const callback of callbacks) callback();
  };
  const ask = async (): Promise<void> => {
    while (state === 'silent' && !closed.aborted) {
      await clock.sleep(PROBE_EVERY_MS, closed);
      if (state === 'silent') await probe().catch(() => {});
    }
  };
  return {
    isUp: () => state === 'up',
    isConnected: () => state !== 'disconnected',
    disconnected: () => leave('disconnected'),
    connected: back,
    silent: () => {
      if (state !== 'up') return;
      leave('silent');
      void ask();
    },
    answered: () => {
      if (state === 'silent') back();
    },
    onBack: (callback) => {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
};
