/** Issues the command of every timer that is due. Timers come from a read model; the command looks at the stream and is safe to repeat. */
import { archiveEmail } from '../commands/emails.js';
import { handle } from '../commands/command-handler.js';
import { emailDecider } from '../domain/email/decider.js';
import { assertDefined, parseEmailId, splitStream, type StreamName } from '../domain/ids.js';
import type { EmailTimerKind } from '../domain/email/timers.js';
import { isoTime } from '../domain/ports/clock.js';
import type { Worker } from '../domain/ports/worker.js';
import { causeOfWork, DELIVER_EMAIL, type ProcessorDeps, type WorkDocument } from './deps.js';
import { pointerOf } from './relay.js';

const LOOK_EVERY_MS = 500;
const TIMERS_PER_LOOK = 500;
const HELD_MAX = 10_000;
/** A timer that led to nothing (the read model lags, a mail is still open) is not looked at again for this long. */
const HOLD_MS = 5_000;

/** The phases that wait for a moment, `dueAt`. */
const timedPhases = ['scheduled', 'deferred', 'processing', 'archive'] as const satisfies readonly EmailTimerKind[];
type TimedPhase = (typeof timedPhases)[number];

export const wakeWorker = (deps: ProcessorDeps): Worker => ({
  name: 'wake',
  run: async (signal) => {
    const held = new Map<TimedPhase, Map<string, number>>(timedPhases.map((phase) => [phase, new Map()]));
    while (!signal.aborted) {
      const nowMs = deps.clock.monotonic();
      let more = false;
      for (const [phase, keys] of held) {
        for (const [key, untilMs] of keys) if (untilMs <= nowMs) keys.delete(key);
        if ((await wakePhase(deps, phase, keys, signal)) === TIMERS_PER_LOOK) more = true;
      }
      if (!more) await deps.clock.sleep(LOOK_EVERY_MS, signal);
    }
  },
});

/** Out: how many timers were fired, at most as many as one look takes. */
const wakePhase = async (deps: ProcessorDeps, phase: TimedPhase, held: Map<string, number>, signal: AbortSignal): Promise<number> => {
  if (held.size >= HELD_MAX) return 0;
  const nowMs = deps.clock.now();
  // Rows of this phase that are held may fill a page, so the page is larger by as many.
  const due = (await deps.documents.find(deps.workCollection, {
    where: { phase: { eq: phase }, dueAt: { lte: isoTime(nowMs) } },
    sort: { field: 'dueAt', direction: 'asc' },
    limit: TIMERS_PER_LOOK + held.size,
  })) as readonly WorkDocument[];
  let fired = 0;
  for (const timer of due) {
    if (signal.aborted || fired === TIMERS_PER_LOOK) break;
    const key = `${timer.id}@${timer.position}`;
    if (held.has(key)) continue;
    held.set(key, deps.clock.monotonic() + HOLD_MS);
    fired += 1;
    try {
      await fire(deps, phase, timer);
    } catch (fault) {
      deps.logger.error(
        { stream: timer.stream, phase, err: fault instanceof Error ? fault : new Error('not an Error') },
        'timer fault, will be tried again',
      );
    }
  }
  return fired;
};

const fire = async (deps: ProcessorDeps, phase: TimedPhase, timer: WorkDocument): Promise<void> => {
  const stream = timer.stream as StreamName;
  const cause = causeOfWork(deps, 'wake', { teamId: timer.owner, correlationId: timer.id, causationId: timer.id });
  switch (phase) {
    case 'scheduled':
      await handle(deps.eventLog, stream, emailDecider, { type: 'ReleaseEmail', at: cause.at }, cause);
      return;
    case 'archive':
      await archiveEmail(deps, assertDefined(parseEmailId(splitStream(stream).id), 'email id'), cause);
      return;
    case 'deferred':
    case 'processing':
      await deps.bus.publish(DELIVER_EMAIL, [pointerOf(stream, timer.position, timer.priority)]);
  }
};
