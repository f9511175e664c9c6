/** When what was deleted and can be restored is to be removed for good: a timer that stands from the deletion until then. */
import { CLOCKS_APART_MS } from '../../domain/core/restore-period.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Step } from './projection.js';
import type { TimerDocument } from './timers.js';

/** What an event does to the timer of its stream: with it the time to restore begins, or is over, or it has nothing to do with it. */
export type RemovalEffect = 'begins' | 'ends' | 'none';

/** At the last millisecond of those days it can still be restored, by a clock that is somewhat behind too. */
export const removalDueAt = (deletedAt: string, restoreMs: number): string =>
  isoTime(Date.parse(deletedAt) + restoreMs + CLOCKS_APART_MS + 1);

export const removalSteps = (
  collection: string,
  { event, stream, position, metadata }: Recorded,
  restoreMs: number,
  effect: RemovalEffect,
): readonly Step[] => {
  const { id } = splitStream(stream);
  switch (effect) {
    case 'none':
      return [];
    case 'ends':
      return [{ collection, id, document: undefined }];
    case 'begins': {
      const dueAt = removalDueAt(event.data.at, restoreMs);
      const { teamId: team } = metadata;
      const timer: TimerDocument = { id, seq: position, position, kind: 'removal', key: stream, dueAt, priority: 'low', team };
      return [{ collection, id, document: timer }];
    }
  }
};
