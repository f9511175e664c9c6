/** Reads a long stretch of the log in a thread of its own, a few pages ahead of the reader. */
import { Worker } from 'node:worker_threads';
import type { EventBatch, StoredEvent } from '../../domain/ports/event-store.js';
import { idIn, type Filter } from './log-table.js';

export type Stretch = Readonly<{
  file: string;
  after: number;
  upTo: number;
  batchSize: number;
}> &
  Filter;

/**
 * Pages pass between threads as flat lists and one block of bytes, which is far cheaper than an object for each event.
 * `types`: the stored types of the page, which events name by their place. `sizes`: the size of the sealed part of each
 * event, -1 if it has none. `ids`: the event ids that the metadata does not begin with, by the place of the event.
 */
type PackedPage = Readonly<{
  types: readonly string[];
  texts: readonly string[];
  places: readonly number[];
  sizes: readonly number[];
  ids: ReadonlyMap<number, string>;
  sealed: Uint8Array;
  position: number;
}>;

/** Pages that are read before they are asked for. */
export const pagesAheadMax = 3;
const textsPerEvent = 4;
const placesPerEvent = 3;

/**
 * A thread costs 40 MB while it runs. A shorter stretch, such as the appends of a minute of the highest load, is read
 * without one.
 */
export const longFromEvents = 200_000;

/** Positions below 1 are not counted: a sound log has no events there. */
export const isLong = ({ after, upTo }: Readonly<{ after: number; upTo: number }>, fromEvents: number): boolean =>
  upTo - Math.max(after, 0) > fromEvents;

export const pack = ({ events, position: lookedAt }: EventBatch): PackedPage => {
  const types = new Map<string, number>();
  const texts: string[] = [];
  const places: number[] = [];
  const sizes: number[] = [];
  const ids = new Map<number, string>();
  const blocks: Uint8Array[] = [];
  for (const [at, { eventId, stream, revision, position, type, data, metadata, sealed, hash }] of events.entries()) {
    let typeAt = types.get(type);
    if (typeAt === undefined) types.set(type, (typeAt = types.size));
    texts.push(stream, data, metadata, hash);
    places.push(typeAt, revision, position);
    sizes.push(sealed?.byteLength ?? -1);
    if (eventId !== idIn(metadata)) ids.set(at, eventId);
    if (sealed !== undefined) blocks.push(sealed);
  }
  const bytes = new Uint8Array(Buffer.concat(blocks));
  return { types: [...types.keys()], texts, places, sizes, ids, sealed: bytes, position: lookedAt };
};

export const unpack = ({ types, texts, places, sizes, ids, sealed, position }: PackedPage): EventBatch => {
  const events: StoredEvent[] = [];
  let from = 0;
  sizes.forEach((size, index) => {
    const [text, place] = [index * textsPerEvent, index * placesPerEvent];
    const to = from + Math.max(0, size);
    const metadata = texts[text + 2]!;
    events.push({
      eventId: ids.get(index) ?? idIn(metadata)!,
      stream: texts[text]!,
      revision: places[place + 1]!,
      position: places[place + 2]!,
      type: types[places[place]!]!,
      data: texts[text + 1]!,
      metadata,
      sealed: size < 0 ? undefined : sealed.subarray(from, to),
      hash: texts[text + 3]!,
    });
    from = to;
  });
  return { events, position };
};

/** The events of the stretch in batches, in order. Ends when the signal aborts. Rejects if the file cannot be read. */
export const readAhead = async function* (
  stretch: Stretch,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventBatch> {
  const worker = new Worker(new URL('./read-ahead-thread.js', import.meta.url), { workerData: stretch });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const pages: PackedPage[] = [];
  let fault: unknown;
  let wake = (): void => {};
  worker.on('message', (page: PackedPage) => {
    pages.push(page);
    wake();
  });
  const fail = (error: unknown): void => {
    fault ??= error;
    wake();
  };
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('the thread that reads the log has ended')));
  const stop = (): void => wake();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    while (signal?.aborted !== true) {
      const page = pages.shift();
      if (page === undefined) {
        if (fault !== undefined) throw fault;
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      worker.postMessage('more');
      yield unpack(page);
      if (page.position >= stretch.upTo) return;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    worker.postMessage('stop');
    await ended;
  }
};
