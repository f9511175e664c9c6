/** The process that stands ready while no other is there: it has done a first job, for all that it loads. */
import type { Clock } from '../../../domain/ports/clock.js';
import type { LogFields } from '../../../domain/ports/logger.js';
import type { Child } from './child.js';

/** A process that stands ready: started before its first job is there, so that this one need not wait for what is loaded. */
export type ReadyOptions = Readonly<{
  /** The job that a process does first of all, for all that it loads. */
  job: unknown;
  /** How long after the last call of `prepare` one stands ready. */
  forMs: number;
}>;

/** A process at its first job. */
type Preparing = Readonly<{ child: Child; /** Whether it can take jobs now. */ done: Promise<boolean> }>;

export type ReserveDeps = Readonly<{
  ready?: ReadyOptions;
  clock: Pick<Clock, 'monotonic'>;
  start: () => Child;
  /** Keeps a process that has nothing to do, for so long. */
  rest: (child: Child, forMs: number) => void;
  /** Whether there is no process at all. */
  isNeeded: () => boolean;
  /** The first job ended its process. */
  onFault: (trace: LogFields) => void;
}>;

export type Reserve = Readonly<{
  /** Jobs are expected from now on, for the time of the options. */
  expect: () => void;
  /** Starts a process where jobs are expected and there is none. */
  fill: () => void;
  /** The process that is being prepared, once it is, for who asks first; the signal kills it. */
  take: (signal: AbortSignal) => Promise<Child | undefined>;
}>;

/** No process is started before jobs are expected. */
export const openReserve = ({ ready, clock, start, rest, isNeeded, onFault }: ReserveDeps): Reserve => {
  let untilMs = -Infinity;
  let preparing: Preparing | undefined;
  const fill = (): void => {
    const forMs = untilMs - clock.monotonic();
    if (ready === undefined || forMs <= 0 || !isNeeded()) return;
    const child = start();
    const begun: Preparing = {
      child,
      done: child.run(ready.job).then((end) => {
        const isTaken = preparing !== begun;
        if (!isTaken) preparing = undefined;
        if (end.kind === 'died') onFault(end.trace);
        if (end.kind === 'done' && !isTaken) rest(child, forMs);
        return end.kind === 'done';
      }),
    };
    preparing = begun;
  };
  return {
    fill,
    expect: () => {
      untilMs = clock.monotonic() + (ready?.forMs ?? 0);
      fill();
    },
    take: async (signal) => {
      if (preparing === undefined) return undefined;
      const { child, done } = preparing;
      preparing = undefined;
      const kill = (): void => void child.kill();
      signal.addEventListener('abort', kill, { once: true });
      const isReady = await done.finally(() => signal.removeEventListener('abort', kill));
      return isReady ? child : undefined;
    },
  };
};
