/**
 * Pointers to work, a hint only: a bus that loses everything delays work and loses none,
 * for the relay finds open work again.
 */

export type Priority = 'high' | 'normal' | 'low';
/** In the order in which work is taken. */
export const priorities: readonly Priority[] = ['high', 'normal', 'low'];

/** `id` removes doubles: a pointer whose id is waiting or in work is not taken again. */
export type Pointer = Readonly<{ id: string; stream: string; priority: Priority }>;

export type Work = Readonly<{
  pointer: Pointer;
  /** 1 on the first delivery. */
  deliveries: number;
  /** The work is done; exactly one of the three is called, once. */
  ack: () => void;
  /** Deliver the pointer again at that time (milliseconds since the epoch). */
  retryAt: (atMs: number) => void;
  /** Never deliver it again; the reason goes to the log. */
  park: (reason: string) => void;
}>;

export type Bus = Readonly<{
  /**
   * Takes the pointers for `processor` and answers those it had no room for (bounded read-ahead per priority);
   * a double counts as taken.
   */
  publish: (processor: string, pointers: readonly Pointer[]) => Promise<readonly Pointer[]>;
  /** Resolves when at least half of the room for that priority is free, or the signal aborts. */
  whenRoom: (processor: string, priority: Priority, signal: AbortSignal) => Promise<void>;
  /**
   * Work for `processor`, higher priorities first, at most `maxInFlight` not yet acknowledged.
   * Ends when the signal aborts; what was given out may still be acknowledged after that.
   */
  consume: (processor: string, options: Readonly<{ maxInFlight: number; signal: AbortSignal }>) => AsyncIterable<Work>;
  /** Pointers waiting or in flight. */
  depth: (processor: string) => Promise<number>;
  close: () => Promise<void>;
}>;
