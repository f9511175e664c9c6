/** How a stop goes on when a part of the service hangs. */

type Part = Readonly<{ close: () => Promise<void> }>;

/** Resolves when the work is done or the signal aborts; rejects if the work does so before. */
export const within = async (signal: AbortSignal, work: Promise<unknown>): Promise<void> => {
  let release = (): void => {};
  const over = new Promise<void>((resolve) => (release = resolve));
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  // A rejection that comes after the signal is nobody's to handle.
  work.catch(() => {});
  try {
    await Promise.race([work, over]);
  } finally {
    signal.removeEventListener('abort', release);
  }
};

/**
 * Closes the parts in their order. A part that fails or hangs does not keep the others from closing: once the signal has aborted, each
 * is told to close and not waited for. Out: what did not close, by name, with the message of its fault if it has one.
 */
export const closeAll = async (parts: Readonly<Record<string, Part>>, signal: AbortSignal): Promise<readonly string[]> => {
  const open = new Map(Object.keys(parts).map((name) => [name, name]));
  for (const [name, { close }] of Object.entries(parts)) {
    const closed = (async () => {
      try {
        await close();
        open.delete(name);
      } catch (fault) {
        open.set(name, `${name} (${fault instanceof Error ? fault.message : 'unknown fault'})`);
      }
    })();
    await within(signal, closed);
  }
  return [...open.values()];
};
