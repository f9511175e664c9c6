/** Stores the time between two runs of the program. */

/** In milliseconds since the Unix epoch. */
export type AwayTime = Readonly<{ fromMs: number; toMs: number }>;

export type ClockMark = Readonly<{
  /** The time of day of the machine, and what the machine had counted since its start. */
  nowMs: number;
  uptimeMs: number;
  /** For how long nothing was to be destroyed yet, counted from then. */
  waitMs: number;
  /** The confirmation that was followed last. */
  confirmation: string;
  /** The newest times in which the program did not run, the oldest first. */
  away: readonly AwayTime[];
}>;

export type ClockRecord = Readonly<{
  read: () => ClockMark | undefined;
  write: (mark: ClockMark) => void;
  /** The newest confirmation of an operator; empty before the first. */
  confirmation: () => string;
  /** Leaves a confirmation, which differs from all before, for whoever runs or starts next. */
  confirm: (confirmation: string) => void;
}>;
