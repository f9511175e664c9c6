/**
 * The log of the stand-in for EventStoreDB: streams, expected revisions, ids, deletion and metadata as a server of
 * version 22.10.5 has them.
 */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export type Proposed = Readonly<{ id: string; type: string; contentType: string; data: Uint8Array; meta: Uint8Array }>;
export type Written = Proposed & Readonly<{ stream: string; revision: number; position: number; createdMs: number }>;
export type Expected = 'any' | 'no_stream' | 'exists' | number;
export type Place = Readonly<{ revision: number; position: number }>;
export type AppendResult =
  | Readonly<{ kind: 'done' } & Place>
  | Readonly<{ kind: 'wrong'; actual: number | undefined }>
  | Readonly<{ kind: 'deleted' }>;

type Stream = { events: Written[]; isGone: boolean };
type Metadata = Readonly<{ $tb?: number; $maxCount?: number; $maxAge?: number }>;

export type ServerLog = Readonly<{
  all: readonly Written[];
  stream: (name: string) => Readonly<{ events: readonly Written[]; isGone: boolean }> | undefined;
  /** All or nothing; what stands there already by its ids is done. */
  append: (stream: string, expected: Expected, proposed: readonly Proposed[]) => AppendResult;
  remove: (stream: string, isHard: boolean) => Place;
  isDeleted: (stream: string) => boolean;
  isVisible: (event: Written) => boolean;
  /** The index of the event at that very position; -1 where a record begins elsewhere. */
  indexAt: (position: number) => number;
  /** Tells of each write. */
  news: EventEmitter;
}>;

const FOREVER = 2n ** 63n - 1n;
/** Bytes of a record beside its texts, its name, its type and its ids. */
const RECORD_BYTES = 82;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** In: a file that keeps the log over the end of the process; where absent, it is in memory alone. */
export const openServerLog = ({ file }: Readonly<{ file?: string }> = {}): ServerLog => {
  const all: Written[] = [];
  const streams = new Map<string, Stream>();
  const news = new EventEmitter().setMaxListeners(0);
  let end = 0;

  const streamOf = (name: string): Stream => {
    const known = streams.get(name) ?? { events: [], isGone: false };
    streams.set(name, known);
    return known;
  };
  const metadataOf = (name: string): Metadata => {
    const last = streams.get(`$$${name}`)?.events.at(-1);
    try {
      return last === undefined ? {} : (JSON.parse(textOf(last.data)) as Metadata);
    } catch {
      return {};
    }
  };
  const isDeleted = (name: string): boolean => (metadataOf(name).$tb ?? 0) >= Number(FOREVER);

  const add = (event: Written): void => {
    streamOf(event.stream).events.push(event);
    all.push(event);
    end =
      event.position +
      RECORD_BYTES +
      event.stream.length +
      event.type.length +
      event.data.byteLength +
      event.meta.byteLength;
  };
  const write = (name: string, proposed: readonly Proposed[]): Place => {
    const { events } = streamOf(name);
    const written: Written[] = [];
    for (const one of proposed) {
      const event = { ...one, stream: name, revision: events.length, position: end, createdMs: Date.now() };
      add(event);
      written.push(event);
    }
    if (file !== undefined) appendFileSync(file, `${JSON.stringify({ written: written.map(plain) })}\n`);
    if (written.length > 0) queueMicrotask(() => news.emit('more'));
    return { revision: events.length - 1, position: events.at(-1)?.position ?? 0 };
  };

  const standing = (events: readonly Written[], from: number, proposed: readonly Proposed[]): Place | undefined => {
    if (from < 0 || proposed.length === 0) return undefined;
    if (proposed.some(({ id }, index) => events[from + index]?.id !== id)) return undefined;
    const last = events[from + proposed.length - 1]!;
    return { revision: last.revision, position: last.position };
  };

  const append: ServerLog['append'] = (name, expected, proposed) => {
    const { events, isGone } = streamOf(name);
    if (isGone) return { kind: 'deleted' };
    const last = events.length - 1;
    const isSoft = isDeleted(name);
    if (expected === 'any') {
      const there = standing(
        events,
        events.findIndex(({ id }) => id === proposed[0]?.id),
        proposed,
      );
      if (there !== undefined) return { kind: 'done', ...there };
    } else {
      const isThere = last >= 0 && !isSoft;
      const wanted = expected === 'no_stream' ? -1 : expected === 'exists' ? (isThere ? last : undefined) : expected;
      if (wanted === undefined || (wanted !== last && !(isSoft && wanted === -1))) {
        const there = wanted === undefined ? undefined : standing(events, wanted + 1, proposed);
        return there === undefined ? { kind: 'wrong', actual: isThere ? last : undefined } : { kind: 'done', ...there };
      }
    }
    if (isSoft) write(`$$${name}`, [metadataEvent({ ...metadataOf(name), $tb: last + 1 })]);
    return { kind: 'done', ...write(name, proposed) };
  };

  const isVisible: ServerLog['isVisible'] = ({ stream, revision, createdMs }) => {
    const { $tb, $maxCount, $maxAge } = metadataOf(stream);
    const last = streamOf(stream).events.length - 1;
    if ($tb !== undefined && revision < $tb) return false;
    if ($maxCount !== undefined && revision <= last - $maxCount) return false;
    return $maxAge === undefined || Date.now() - createdMs <= $maxAge * 1_000;
  };

  if (file !== undefined && existsSync(file)) for (const event of keptIn(file)) add(event);
  if (all.length === 0)
    for (const name of ['$users', '$user-admin', '$stats-127.0.0.1:2113']) write(name, [metadataEvent({})]);

  return {
    all,
    stream: (name) => streams.get(name),
    append,
    remove: (name, isHard) => {
      if (isHard) streamOf(name).isGone = true;
      if (isHard) return write(name, [{ ...metadataEvent({}), type: '$streamDeleted' }]);
      return write(`$$${name}`, [metadataEvent({ ...metadataOf(name), $tb: Number(FOREVER) })]);
    },
    isDeleted,
    isVisible,
    indexAt: (position) => indexOf(all, position),
    news,
  };
};

const metadataEvent = (metadata: Metadata): Proposed => ({
  id: randomUUID(),
  type: '$metadata',
  contentType: 'application/json',
  // The largest revision is larger than what a number holds exactly.
  data: Buffer.from(JSON.stringify(metadata).replace(String(Number(FOREVER)), String(FOREVER))),
  meta: new Uint8Array(0),
});

const indexOf = (all: readonly Written[], position: number): number => {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.position < position) low = middle + 1;
    else high = middle;
  }
  return all[low]?.position === position ? low : -1;
};

const plain = (event: Written) => ({
  ...event,
  data: Buffer.from(event.data).toString('base64'),
  meta: Buffer.from(event.meta).toString('base64'),
});

/** The last line may be torn, where the process was killed while it wrote: nobody was told that it is durable. */
const keptIn = (file: string): readonly Written[] => {
  const kept: Written[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
    const { written } = JSON.parse(line) as { written: ReturnType<typeof plain>[] };
    for (const one of written)
      kept.push({ ...one, data: Buffer.from(one.data, 'base64'), meta: Buffer.from(one.meta, 'base64') });
  }
  return kept;
};
