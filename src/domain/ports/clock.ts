/** Time as it is injected: nothing else in the program knows what time it is. */

export type Clock = Readonly<{
  /** Milliseconds since the Unix epoch. */
  now: () => number;
  /** Resolves when `now()` has reached `atMs`, or when the signal aborts; never rejects. */
  until: (atMs: number, signal: AbortSignal) => Promise<void>;
}>;

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
};

/** Many ask within one millisecond. */
let lastMs = NaN;
let lastText = '';
