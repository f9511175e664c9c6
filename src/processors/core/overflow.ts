/** Of which work the relay could not tell the bus: the reader of timers finds it again. */
import type { Priority } from '../../domain/ports/bus.js';

export type Overflow = Readonly<{
  note: (processor: string, priority: Priority) => void;
  /** True where something was noted since the last `take`. */
  isNoted: (processor: string, priority: Priority) => boolean;
  /** The same, and forgets it. */
  take: (processor: string, priority: Priority) => boolean;
  /** Calls back when something is noted, until the next listener takes its place. */
  onNoted: (wake: () => void) => void;
}>;

export const openOverflow = (): Overflow => {
  const noted = new Set<string>();
  let listener = (): void => {};
  const keyOf = (processor: string, priority: Priority): string => `${processor}\n${priority}`;
  return {
    note: (processor, priority) => {
      noted.add(keyOf(processor, priority));
      listener();
    },
    isNoted: (processor, priority) => noted.has(keyOf(processor, priority)),
    take: (processor, priority) => noted.delete(keyOf(processor, priority)),
    onNoted: (wake) => {
      listener = wake;
    },
  };
};
