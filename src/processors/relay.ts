/**
 * Turns events into pointers on the bus, and finds open work again that the bus had no room for or has lost.
 * It follows the log from the moment of its start; what was open before comes from the read model of open work.
 */
import type { Recorded } from '../domain/events.js';
import type { EmailTimerKind } from '../domain/email/timers.js';
import { priorities, type Pointer, type Priority } from '../domain/ports/bus.js';
import type { Worker } from '../domain/ports/worker.js';
import { DELIVER_EMAIL, type ProcessorDeps, type WorkDocument } from './deps.js';

const SCAN_PAGE = 500;
const SCAN_AGAIN_MS = 50;

/** Work on one email at one place of the log: the same work found twice has the same id. */
export const pointerOf = (stream: string, position: number, priority: string): Pointer => ({
  id: `${stream}@${position}`,
  stream,
  priority: priorities.find((known) => known === priority) ?? 'normal',
});

export const relayWorker = (deps: ProcessorDeps): Worker => ({
  name: 'relay',
  run: async (signal) => {
    const start = await deps.eventLog.head();
    const missed = new Map<Priority, boolean>(priorities.map((priority) => [priority, true]));
    const stopped = new AbortController();
    const both = AbortSignal.any([signal, stopped.signal]);
    try {
      await Promise.all([follow(deps, start, missed, both), ...priorities.map((priority) => refill(deps, priority, start, missed, both))]);
    } finally {
      stopped.abort();
    }
  },
});

/** The tail of the log: new work goes straight to the bus; what finds no room there is noted as missed. */
const follow = async (deps: ProcessorDeps, after: number, missed: Map<Priority, boolean>, signal: AbortSignal): Promise<void> => {
  for await (const { events } of deps.eventLog.subscribeAll(after, { kinds: ['email'], signal })) {
    const pointers = events.flatMap((recorded) => pointersOf(recorded));
    if (pointers.length === 0) continue;
    for (const { priority } of await deps.bus.publish(DELIVER_EMAIL, pointers)) missed.set(priority, true);
  }
};

const pointersOf = ({ event, stream, position }: Recorded): readonly Pointer[] =>
  event.type === 'EmailQueued' || event.type === 'EmailReleased' || event.type === 'EmailRetried'
    ? [pointerOf(stream, position, event.data.priority)]
    : [];

/** Scans open work of one priority from the oldest on whenever some of it was missed, as the bus has room. */
const refill = async (
  deps: ProcessorDeps,
  priority: Priority,
  start: number,
  missed: Map<Priority, boolean>,
  signal: AbortSignal,
): Promise<void> => {
  await deps.workCaughtUp(start, signal);
  // Where no other run can hold a dialogue, every dialogue of before the start was cut off: it is taken up at once.
  if (deps.exclusive) await scan(deps, 'processing', priority, signal);
  while (!signal.aborted) {
    if (missed.get(priority) === true) {
      missed.set(priority, false);
      await deps.workCaughtUp(await deps.eventLog.head(), signal);
      await scan(deps, 'deliver', priority, signal);
    }
    await deps.clock.sleep(SCAN_AGAIN_MS, signal);
  }
};

const scan = async (deps: ProcessorDeps, phase: EmailTimerKind, priority: Priority, signal: AbortSignal): Promise<void> => {
  let afterSeq = 0;
  while (!signal.aborted) {
    await deps.bus.whenRoom(DELIVER_EMAIL, priority, signal);
    const found = (await deps.documents.find(deps.workCollection, {
      where: { phase: { eq: phase }, priority: { eq: priority } },
      sort: { field: 'seq', direction: 'asc' },
      after: { value: afterSeq, seq: afterSeq },
      limit: SCAN_PAGE,
    })) as readonly WorkDocument[];
    if (found.length === 0) return;
    const refused = await deps.bus.publish(
      DELIVER_EMAIL,
      found.map(({ stream, position }) => pointerOf(stream, position, priority)),
    );
    const first = refused[0];
    const next = first === undefined ? found.at(-1) : found[found.findIndex(({ stream }) => stream === first.stream) - 1];
    afterSeq = next?.seq ?? afterSeq;
  }
};
