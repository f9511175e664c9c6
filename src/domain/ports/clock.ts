/** Time as it is injected: nothing else in the program knows what time it is. */

export type Clock = Readonly<{
  /** Milliseconds since the Unix epoch. */
  now: () => number;
  /** Resolves when `now()` has reached `atMs`, or when the signal aborts; never rejects. */
  until: (atMs: number, signal: AbortSignal) => Promise<void>;
}>;

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => {
  if (ms === last.ms) return last.text;
  [last, former] = [ms === former.ms ? former : { ms, text: new Date(ms).toISOString() }, last];
  return last.text;
};

/** Many ask for the same two moments, now and a little later, within one millisecond. */
let [last, former] = [
  { ms: NaN, text: '' },
  { ms: NaN, text: '' },
];
