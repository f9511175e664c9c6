/** Waiting for a condition with a deadline, instead of sleeping and hoping. */

const POLL_MS = 5;

/**
 * Asks until the answer is neither undefined nor false, and gives it. Throws naming `what` where that takes longer than
 * `withinMs`; the last fault of `ask` is its cause.
 */
export const eventually = async <Value>(
  what: string,
  ask: () => Promise<Value | undefined | false> | Value | undefined | false,
  withinMs = 240_000,
): Promise<Value> => {
  const deadline = performance.now() + withinMs;
  let fault: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      fault = undefined;
    } catch (error) {
      fault = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`, { cause: fault });
    await pause(POLL_MS);
  }
};

/** The pause between two looks, and the seeded pause of a load generator; never what a test relies on. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
