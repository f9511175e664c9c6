/**
 * Where the streams end that are asked for again and again: a request wants to know whether anything came after what it has
 * seen, and nearly always nothing did. Whether another process has committed since is asked in each turn of the event loop.
 */
import type { LogTable } from './log-table.js';

const STREAMS_MAX = 10_000;

export type StreamEnds = Readonly<{
  /** True where the stream surely ends with that revision. */
  endsAt: (stream: string, revision: number) => boolean;
  /** The stream was read to its end, or this process wrote its last event. */
  note: (stream: string, revision: number) => void;
  /** This process wrote to the stream: what is known of it goes along. */
  wrote: (stream: string, revision: number) => void;
}>;

export const createStreamEnds = (table: Pick<LogTable, 'foreignCommits'>): StreamEnds => {
  const ends = new Map<string, number>();
  let version = table.foreignCommits();
  let isFresh = false;

  /** One look serves all that the event loop has taken in together with what asked first. */
  const look = (): void => {
    if (isFresh) return;
    isFresh = true;
    setImmediate(() => (isFresh = false));
    const now = table.foreignCommits();
    if (now === version) return;
    version = now;
    ends.clear();
  };

  return {
    endsAt: (stream, revision) => {
      look();
      return ends.get(stream) === revision;
    },
    note: (stream, revision) => {
      if (ends.size >= STREAMS_MAX && !ends.has(stream)) ends.delete(ends.keys().next().value!);
      ends.set(stream, revision);
    },
    wrote: (stream, revision) => {
      if (ends.has(stream)) ends.set(stream, revision);
    },
  };
};
