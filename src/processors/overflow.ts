/** Of which work the relay could not tell the bus: the reader of timers finds it again. */
import type { Priority } from '../domain/ports/bus.js';

export type Overflow = Readonly<{
  note: (processor: string, priority: Priority) => void;
  /** True where something was noted since the last call. */
  take: (processor: string, priority: Priority) => boolean;
  /** Resolves when `pause` does, or as soon as something is noted. */
  next: (processor: string, priority: Priority, pause: (signal: AbortSignal) => Promise<void>) => Promise<void>;
}>;

export const openOverflow = (): Overflow => {
  const noted = new Set<string>();
  const waiting = new Map<string, AbortController>();
  const keyOf = (processor: string, priority: Priority): string => `${processor}\n${priority}`;
  return {
    note: (processor, priority) => {
      const key = keyOf(processor, priority);
      noted.add(key);
      waiting.get(key)?.abort();
    },
    take: (processor, priority) => noted.delete(keyOf(processor, priority)),
    next: async (processor, priority, pause) => {
      const key = keyOf(processor, priority);
      if (noted.has(key)) return;
      const over = new AbortController();
      waiting.set(key, over);
      await pause(over.signal);
      waiting.delete(key);
    },
  };
};
