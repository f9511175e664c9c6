/**
 * The events that this process wrote last, as they are in the domain: relay, processors and projections all read what was just
 * written, and need not decrypt and parse it each for itself. An event is found by its hash, so another's is never taken for ours.
 */
import type { DomainEvent, EventMetadata, Recorded } from '../domain/events.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import { boundedCache } from '../shared/bounded-cache.js';

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

const SIZE_BYTES_MAX = 4 * 1024 * 1024;
/** A larger event is read again by each of its readers. */
const EVENT_SIZE_BYTES_MAX = 16 * 1024;
const STREAMS_MAX = 4_096;
const EVENTS_PER_STREAM_MAX = 8;
/** What an event takes beside its parts. */
const OVERHEAD_BYTES = 512;

export const openDecodedCache = (): DecodedCache => {
  const streams = boundedCache<string, readonly Decoded[]>({
    entriesMax: STREAMS_MAX,
    size: { max: SIZE_BYTES_MAX, of: (events) => events.reduce((sum, { sizeBytes }) => sum + sizeBytes + OVERHEAD_BYTES, 0) },
  });
  let forgotten = 0;
  return {
    find: ({ stream, revision, position, hash }) => {
      const known = streams.get(stream)?.find((one) => one.hash === hash);
      return known && { event: known.event, stream, revision, position, hash, metadata: known.metadata };
    },
    keep: (stream, decoded) => {
      if (decoded.sizeBytes > EVENT_SIZE_BYTES_MAX) return;
      const known = streams.get(stream);
      streams.set(stream, known === undefined ? [decoded] : [...known.slice(1 - EVENTS_PER_STREAM_MAX), decoded]);
    },
    forget: (stream) => {
      forgotten += 1;
      streams.delete(stream);
    },
    forgotten: () => forgotten,
  };
};
