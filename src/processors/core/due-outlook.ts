/** Whether queues of timers hold any: one read answers for all queues that are asked about at once, for most of the time none does. */
import type { StreamKind } from '../../domain/events.js';
import type { Condition } from '../../domain/ports/read-models.js';
import { timersOf } from '../../domain/core/timers.js';
import { gathered } from '../../shared/concurrency.js';
import type { ProcessorDeps } from './deps.js';
import type { DueQueue } from './due-pages.js';
import type { DueCursor } from './due-senders.js';

export type Outlook = Readonly<{
  queue: DueQueue;
  /** Timers of this moment and of those before it; undefined where the time does not matter. */
  upTo: string | undefined;
  from: DueCursor | undefined;
}>;

/** Out: false where the queue has no timer behind the cursor up to that moment; true where it or another that is asked about has. */
export const openOutlook = ({ readModels }: Pick<ProcessorDeps, 'readModels'>): ((asked: Outlook) => Promise<boolean>) => {
  const ofKind = new Map<StreamKind, (asked: readonly Outlook[]) => Promise<boolean>>();
  const first = (kind: StreamKind) =>
    gathered(async (asked: ReadonlySet<Outlook>) => {
      const anyOf = [...asked].map(conditionsOf);
      const found = await readModels.find(timersOf(kind), { where: {}, anyOf, sort: { field: 'dueAt', direction: 'asc' }, limit: 1 });
      return found.length > 0;
    });
  return (asked) => {
    const { kind } = asked.queue;
    const ask = ofKind.get(kind) ?? first(kind);
    ofKind.set(kind, ask);
    return ask([asked]);
  };
};

/** Timers of the moment of the cursor may stand behind it. */
const conditionsOf = ({ queue: { timer, priority }, upTo, from }: Outlook): Readonly<Record<string, Condition>> => ({
  kind: { eq: timer.kind },
  priority: { eq: priority },
  ...(upTo === undefined && from === undefined
    ? {}
    : { dueAt: { ...(from === undefined ? {} : { gte: from.value }), ...(upTo === undefined ? {} : { lte: upTo }) } }),
});
