/** The work that met a fault of ours and waits to be tried again: what health tells of it. */

export type StuckWork = Readonly<{
  note: (worker: string, stream: string, fault: unknown) => void;
  /** The work was done, or there was none. */
  clear: (worker: string, stream: string) => void;
  /** How many streams wait, and the code or name of the newest fault. */
  of: (worker: string) => Readonly<{ count: number; fault: string }> | undefined;
}>;

/** Beyond it more streams may wait than are counted. */
const STREAMS_MAX = 10_000;

export const openStuckWork = (): StuckWork => {
  const workers = new Map<string, Map<string, string>>();
  return {
    note: (worker, stream, fault) => {
      const streams = workers.get(worker) ?? new Map<string, string>();
      workers.set(worker, streams);
      // Taken out first, so that the newest fault stands last.
      streams.delete(stream);
      if (streams.size < STREAMS_MAX) streams.set(stream, nameOf(fault));
    },
    clear: (worker, stream) => void workers.get(worker)?.delete(stream),
    of: (worker) => {
      const streams = workers.get(worker);
      if (streams === undefined || streams.size === 0) return undefined;
      return { count: streams.size, fault: [...streams.values()].at(-1)! };
    },
  };
};

/** What a fault is called without its message, which may quote what is personal. */
export const nameOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'not an Error';
  return 'code' in fault ? String(fault.code) : fault.name;
};
