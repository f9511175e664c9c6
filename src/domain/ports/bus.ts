/**
 * Pointers to work, a hint only: a bus that loses everything delays work and loses none, for due work is found again;
 * one that repeats a pointer does no harm, for the stream says what is left to do.
 */

export type Priority = 'high' | 'normal' | 'low';
export const priorities: readonly Priority[] = ['high', 'normal', 'low'];

/**
 * While work of several priorities waits, each is given about this share of what is taken: the higher comes sooner, and
 * none starves. It is no order: neither between priorities nor within one. Within a priority a bus may let teams take
 * turns, within a team its sources, and within a source its senders.
 */
export const priorityShares: Readonly<Record<Priority, number>> = { high: 8, normal: 3, low: 1 };

/**
 * `id` is a hint against doubles: a bus may refuse to take a pointer whose id it knows, and may forget the id too soon
 * or remember it too long. A caller that needs a pointer to be taken again gives it a new id. `source` names the
 * publisher, for example a kind of timer: a source with many pointers does not delay all others. `sender` names a
 * sender within the team, for example an API key. A pointer without `source` or `sender` counts under the empty name.
 */
export type Pointer = Readonly<{
  id: string;
  stream: string;
  priority: Priority;
  team?: string;
  source?: string;
  sender?: string;
}>;

/**
 * The room that a pointer takes; a bus may also give one room to all sources of a priority. With a team: the room of
 * that team, which a bus may keep a share for where others fill the whole.
 */
export type Room = Pick<Pointer, 'priority' | 'source' | 'team'>;

export type Work = Readonly<{
  pointer: Pointer;
  /** 1 on the first delivery; at least that, where the bus cannot count exactly. */
  deliveries: number;
  /**
   * The work is done; exactly one of the three is called, once. Each resolves when the bus has heard of it, and rejects
   * where the bus cannot be reached: then the pointer comes again by itself.
   */
  ack: () => Promise<void>;
  /**
   * Deliver the pointer again at that time (milliseconds since the epoch): after the pause that lies between now and
   * then.
   */
  retryAt: (atMs: number) => Promise<void>;
  /** Never deliver it again, unless it is released or its timer finds it; the reason goes to the log. */
  park: (reason: string) => Promise<void>;
}>;

/** Work that was parked, as an operator is shown it. */
export type Parked = Readonly<{
  processor: string;
  pointer: Pointer;
  deliveries: number;
  reason: string;
  parkedAtMs: number;
}>;

/** Parked work that the bus keeps. */
export type ParkedWork = Readonly<{
  /**
   * The oldest first. Lists for each id of a processor the last time it was parked; a bus may forget the oldest if
   * there are very many.
   */
  list: () => AsyncIterable<Parked>;
  /**
   * Delivers it again, as published anew, and keeps it no longer. Out: false where there is no such work, or no room
   * for it now.
   */
  release: (parked: Pick<Parked, 'processor'> & Readonly<{ id: string }>) => Promise<boolean>;
}>;

export type Bus = Readonly<{
  /**
   * Takes the pointers for `processor` and answers those it had no room for (bounded read-ahead per priority and
   * source); one that it took for a double counts as taken.
   */
  publish: (processor: string, pointers: readonly Pointer[]) => Promise<readonly Pointer[]>;
  /**
   * Resolves when at least half of that room is free, of all teams or of the one that is named, or the signal aborts.
   */
  whenRoom: (processor: string, room: Room, signal: AbortSignal) => Promise<void>;
  /**
   * Work for `processor`, at least once each, at most `maxInFlight` not yet acknowledged. Ends when the signal aborts;
   * what was given out may still be acknowledged after that. Work that nobody acknowledges comes again, to whoever
   * consumes then.
   */
  consume: (processor: string, options: Readonly<{ maxInFlight: number; signal: AbortSignal }>) => AsyncIterable<Work>;
  /** Pointers waiting or in flight. */
  depth: (processor: string) => Promise<number>;
  /** Undefined where the bus keeps nothing of what was parked: it is found again by its timer. */
  parked: ParkedWork | undefined;
  close: () => Promise<void>;
}>;
