/** Time as it is injected: nothing else in the program knows what time it is. */

export type Clock = Readonly<{
  /**
   * The time of day as the machine has it, where `now` may differ from it. Use it for times that others compare with
   * their own clocks.
   */
  machineNow?: () => number;
  /**
   * The time of day in milliseconds since the Unix epoch, for facts only: somebody may set it back or forward at any
   * moment.
   */
  now: () => number;
  /**
   * Milliseconds that have elapsed since a moment that every process of this machine shares, for pauses and deadlines.
   * It never goes back, and setting the time of day does not change it.
   */
  monotonic: () => number;
  /** Milliseconds like `monotonic`, but also counted while the machine sleeps; may be coarse. */
  uptime: () => number;
  /** Resolves when that many milliseconds have elapsed by `monotonic()`, or when the signal aborts; never rejects. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}>;

/** A clock whose time of day goes on as before where somebody sets that of the machine. */
export type ContinuedClock = Clock &
  Readonly<{
    /**
     * How far the machine's time of day is ahead of this one; negative where it is behind, 0 while nobody has set it.
     */
    leapMs: () => number;
    /** How often it was set since this clock began. */
    leaps: () => number;
    /** Goes on with the machine's time of day. */
    believe: () => void;
    /** The time of day as the machine has it. */
    machineNow: () => number;
  }>;
