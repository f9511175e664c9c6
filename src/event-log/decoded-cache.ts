/**
 * The events that this process wrote last, as they are in the domain: relay, processors and projections all read what was just
 * written, and need not decrypt and parse it each for itself. An event is found by its hash, so another's is never taken for ours.
 */
import type { DomainEvent, EventMetadata, Recorded } from '../domain/events.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import { boundedCache } from '../shared/cache.js';

/** `hash` is that of the event, and so names its place in the stream too. */
export type Decoded = Readonly<{
  event: DomainEvent;
  metadata: EventMetadata;
  hash: string;
  /** Of its stored parts. */ sizeBytes: number;
}>;

export type DecodedCache = Readonly<{
  find: (stored: StoredEvent) => Recorded | undefined;
  keep: (stream: string, decoded: Decoded) => void;
  /** Removes what is cached of the stream. */
  forget: (stream: string) => void;
  /** How often something was removed so. */
  forgotten: () => number;
}>;

/** A larger event is read again by each of its readers. */
const EVENT_SIZE_BYTES_MAX = 16 * 1024;
/** What an event takes beside its parts. */
const OVERHEAD_BYTES = 512;

/** Streams that were gone on with, or read, last. */
const RECENT_SIZE_BYTES_MAX = 1024 * 1024;
const RECENT_STREAMS_MAX = 4_096;
const EVENTS_PER_STREAM_MAX = 8;

/** Streams that have begun and wait for somebody to go on with them. */
const WAITING_SIZE_BYTES_MAX = 3 * 1024 * 1024;
/** After so many begun streams one that still waits (it is scheduled, or another process has gone on with it) gives way. */
const WAITING_AGE_MAX = 16_384;

const sizeOf = ({ sizeBytes }: Decoded): number => sizeBytes + OVERHEAD_BYTES;

export const openDecodedCache = (): DecodedCache => {
  const recent = boundedCache<string, readonly Decoded[]>({
    entriesMax: RECENT_STREAMS_MAX,
    size: { max: RECENT_SIZE_BYTES_MAX, of: (events) => events.reduce((sum, one) => sum + sizeOf(one), 0) },
  });
  const waiting = openWaiting();
  let forgotten = 0;
  return {
    find: ({ stream, revision, position, hash }) => {
      const begun = waiting.get(stream);
      const known = begun?.hash === hash ? begun : recent.get(stream)?.find((one) => one.hash === hash);
      return known && { event: known.event, stream, revision, position, hash, metadata: known.metadata };
    },
    keep: (stream, decoded) => {
      const begun = waiting.take(stream);
      if (decoded.sizeBytes > EVENT_SIZE_BYTES_MAX) return;
      const known = begun === undefined ? recent.get(stream) : [begun];
      if (known === undefined && waiting.add(stream, decoded)) return;
      recent.set(stream, known === undefined ? [decoded] : [...known.slice(1 - EVENTS_PER_STREAM_MAX), decoded]);
    },
    forget: (stream) => {
      forgotten += 1;
      waiting.take(stream);
      recent.delete(stream);
    },
    forgotten: () => forgotten,
  };
};

type Waiting = Readonly<{
  get: (stream: string) => Decoded | undefined;
  /** Out: false where there is no room. */
  add: (stream: string, decoded: Decoded) => boolean;
  /** Takes the stream out. */
  take: (stream: string) => Decoded | undefined;
}>;

/** The streams that wait longest stay: they are gone on with next, and in a backlog the newest would push out just those. */
const openWaiting = (): Waiting => {
  const begun = new Map<string, Readonly<{ decoded: Decoded; number: number }>>();
  let sizeBytes = 0;
  let count = 0;

  const take = (stream: string): Decoded | undefined => {
    const known = begun.get(stream);
    if (known === undefined) return undefined;
    begun.delete(stream);
    sizeBytes -= sizeOf(known.decoded);
    return known.decoded;
  };

  return {
    get: (stream) => begun.get(stream)?.decoded,
    take,
    add: (stream, decoded) => {
      count += 1;
      const [oldest] = begun;
      if (oldest !== undefined && count - oldest[1].number > WAITING_AGE_MAX) take(oldest[0]);
      if (sizeBytes + sizeOf(decoded) > WAITING_SIZE_BYTES_MAX) return false;
      begun.set(stream, { decoded, number: count });
      sizeBytes += sizeOf(decoded);
      return true;
    },
  };
};
