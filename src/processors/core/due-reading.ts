/** When a queue of timers is read, from where, and how far: for each way of reading that a processor may declare. */
import { isoTime } from '../../domain/core/iso-time.js';
import type { TimerUse } from './declaration.js';
import type { ProcessorDeps } from './deps.js';
import type { Outlook } from './due-outlook.js';
import { publishDue, type DueQueue } from './due-pages.js';
import type { DueCursor } from './due-senders.js';
import { LEASE_TTL_MS } from './lease.js';
import type { Overflow } from './overflow.js';

/** Timers whose work led to nothing, and those that were set late, are found when the reading begins again from the first. */
const BEGIN_AGAIN_EVERY_MS = 5_000;
/** Work that an event started and that is open this long may have been lost by the bus. */
const LOST_AFTER_MS = 10_000;
const OVERFLOW_EVERY_MS = 50;

export type Reading = Readonly<{
  /** Whether its time to be read has come; asked while it is not. */
  isTime: () => boolean;
  /** Whether something has happened since the last reading began, so that it is to be read without waiting for its time. */
  hasNews: () => boolean;
  /** Publishes what is there to the end of the queue, as the bus has room. */
  read: (signal: AbortSignal) => Promise<void>;
}>;

export type ReadingDeps = ProcessorDeps &
  Readonly<{
    overflow: Overflow;
    /** Whether a queue may have a timer: asked before the queue itself is read, which costs questions to the bus as well. */
    outlook: (asked: Outlook) => Promise<boolean>;
  }>;

type Open = (deps: ReadingDeps, queue: DueQueue) => Reading;

/** Goes on from where it stood at every look, and from the first timer now and then. */
const openDue: Open = (deps, queue) => {
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  const upTo = (): string => isoTime(deps.clock.now());
  let cursor: DueCursor | undefined;
  /** Where something was found the next look goes on at once. */
  let isMoving = false;
  return {
    isTime: () => (queue.timer.destroys !== true || deps.mayDestroy()) && (queue.timer.seldom !== true || isMoving || again.isOver()),
    hasNews: () => false,
    read: async (signal) => {
      const isAgain = again.isOver();
      const from = isAgain ? undefined : cursor;
      const mayHave = isMoving || (await deps.outlook({ queue, upTo: upTo(), from }));
      cursor = mayHave ? await publishDue(deps, queue, { upTo, from }, signal) : from;
      isMoving = cursor !== from;
      if (isAgain) again.begin();
    },
  };
};

/** Reads on where the relay says that some was missed, and now and then what has waited suspiciously long. */
const openStarted: Open = (deps, queue) => {
  const { overflow } = deps;
  const { processor, priority, kind } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let cursor: DueCursor | undefined;
  return {
    isTime: again.isOver,
    hasNews: () => overflow.isNoted(processor, priority),
    read: async (signal) => {
      if (overflow.take(processor, priority)) {
        await deps.timersCaughtUp(kind, await deps.eventLog.head(), signal);
        cursor = await publishDue(deps, queue, { upTo: () => undefined, from: cursor }, signal);
        // While the bus has no room for what comes, much of it is read in one go.
        await deps.clock.sleep(OVERFLOW_EVERY_MS, signal);
      }
      if (!again.isOver()) return;
      const upTo = (): string => isoTime(deps.clock.now() - LOST_AFTER_MS);
      if (await deps.outlook({ queue, upTo: upTo(), from: undefined })) await publishDue(deps, queue, { upTo, from: undefined }, signal);
      again.begin();
    },
  };
};

/** Reads all as soon as the gate is open. While it is not, those whose time has come. */
const openHeld: Open = (deps, queue) => {
  const { gate } = queue;
  const again = openPause(deps, BEGIN_AGAIN_EVERY_MS);
  let seen: AbortSignal | undefined;
  return {
    isTime: again.isOver,
    hasNews: () => seen?.aborted === true,
    read: async (signal) => {
      seen = gate?.changed();
      const isOpen = gate === undefined || gate.isOpen();
      const both = seen === undefined ? signal : AbortSignal.any([signal, seen]);
      const upTo = (): string | undefined => (isOpen ? undefined : isoTime(deps.clock.now()));
      if (await deps.outlook({ queue, upTo: upTo(), from: undefined })) await publishDue(deps, queue, { upTo, from: undefined }, both);
      again.begin();
    },
  };
};

/** Reads all, due or not, as often as leases end. */
const openUnderWay: Open = (deps, queue) => {
  const again = openPause(deps, LEASE_TTL_MS);
  let isFirst = true;
  return {
    isTime: again.isOver,
    hasNews: () => false,
    read: async (signal) => {
      if (isFirst) await deps.timersCaughtUp(queue.kind, await deps.eventLog.head(), signal);
      isFirst = false;
      if (await deps.outlook({ queue, upTo: undefined, from: undefined }))
        await publishDue(deps, queue, { upTo: () => undefined, from: undefined }, signal);
      again.begin();
    },
  };
};

const openBy: Readonly<Record<TimerUse['read'], Open>> = {
  due: openDue,
  started: openStarted,
  held: openHeld,
  'under-way': openUnderWay,
};

export const openReading = (deps: ReadingDeps, queue: DueQueue): Reading => openBy[queue.timer.read](deps, queue);

/** A pause that is over at first; it counts from the end of a reading, so that a long one is not begun again at once. */
const openPause = ({ clock }: Pick<ProcessorDeps, 'clock'>, ms: number): Readonly<{ isOver: () => boolean; begin: () => void }> => {
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    isOver: () => clock.monotonic() >= untilMs,
    begin: () => {
      untilMs = clock.monotonic() + ms;
    },
  };
};
