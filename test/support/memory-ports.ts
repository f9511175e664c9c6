/**
 * Small honest ports in memory: they keep the promises of the port files, and hold nothing back from the test that
 * looks into them.
 */
import {
  callIdAt,
  idRangeOf,
  type CallFilter,
  type LoggedCall,
  type RequestLog,
} from '../../src/domain/ports/request-log.js';
import { createHash, createHmac } from 'node:crypto';
import { openSealKeys } from '../../src/adapters/keys/key-files.js';
import { sealingKey } from '../../src/adapters/keys/key-wrap.js';
import { splitStream } from '../../src/domain/core/ids.js';
import type { AppendOutcome, EventBatch, EventStore, StoredEvent } from '../../src/domain/ports/event-store.js';
import type { Files } from '../../src/domain/ports/files.js';
import type { Ids } from '../../src/domain/ports/ids.js';
import type { Keys, LogMark, SealKey } from '../../src/domain/ports/keys.js';
import type { Logger, LogFields } from '../../src/domain/ports/logger.js';

export type MemoryEventStore = EventStore &
  Readonly<{
    /** Everything in the log; a test may tamper with it. */
    events: StoredEvent[];
    /** Called before each append takes effect: a test may hold it back there, or let another be faster. */
    beforeAppend: (hook: ((stream: string) => Promise<void> | void) | undefined) => void;
    /** The next appends have their answer lost, each after its events were written, or without them being. */
    loseAnswers: (deeds: readonly ('written' | 'not written')[]) => void;
    /** The next readings of a stream fail. */
    failReads: (count: number) => void;
    /** How often a stream was read. */
    reads: () => number;
  }>;

const lostAnswer: AppendOutcome = { kind: 'unknown', cause: new Error('the connection was lost') };

export const memoryEventStore = (): MemoryEventStore => {
  const events: StoredEvent[] = [];
  const waiting = new Set<() => void>();
  let hook: ((stream: string) => Promise<void> | void) | undefined;
  let reads = 0;
  let lost: ('written' | 'not written')[] = [];
  let failing = 0;

  const last = (stream: string): StoredEvent | undefined => events.findLast((event) => event.stream === stream);
  /** As many as `size`, and in the end the position up to which all was looked at. */
  const batches = async function* (
    after: number,
    upTo: number,
    kinds: readonly string[] | undefined,
    size: number,
  ): AsyncGenerator<EventBatch> {
    let batch: StoredEvent[] = [];
    let reached = after;
    for (const event of events.filter(({ position }) => position > after && position <= upTo)) {
      if (kinds !== undefined && !kinds.includes(splitStream(event.stream).kind)) continue;
      batch.push(event);
      if (batch.length < size) continue;
      reached = event.position;
      yield { events: batch, position: reached };
      batch = [];
    }
    if (reached < upTo) yield { events: batch, position: upTo };
  };
  const head = (): number => events.at(-1)?.position ?? 0;

  return {
    events,
    reads: () => reads,
    beforeAppend: (next) => {
      hook = next;
    },
    loseAnswers: (deeds) => {
      lost = [...deeds];
    },
    failReads: (count) => {
      failing = count;
    },
    append: async (stream, expectedRevision, toAppend) => {
      if (toAppend.length === 0) throw new RangeError('an append needs at least one event');
      await hook?.(stream);
      const deed = lost.shift();
      if (deed === 'not written') return lostAnswer;
      const actual = last(stream)?.revision ?? -1;
      const standing = events
        .filter((event) => event.stream === stream)
        .slice(expectedRevision + 1, expectedRevision + 1 + toAppend.length);
      if (
        standing.length === toAppend.length &&
        standing.every(({ eventId }, index) => eventId === toAppend[index]!.eventId)
      )
        return { kind: 'done', revision: expectedRevision + toAppend.length, position: standing.at(-1)!.position };
      if (actual !== expectedRevision) return { kind: 'conflict', actualRevision: actual };
      for (const event of toAppend) {
        events.push({ ...event, stream, revision: (last(stream)?.revision ?? -1) + 1, position: head() + 1 });
      }
      for (const wake of [...waiting]) wake();
      return deed === undefined
        ? { kind: 'done', revision: expectedRevision + toAppend.length, position: head() }
        : lostAnswer;
    },
    readStream: async (stream, fromRevision = 0) => {
      reads += 1;
      if (failing > 0) {
        failing -= 1;
        throw new Error('no connection');
      }
      return events.filter((event) => event.stream === stream && event.revision >= fromRevision);
    },
    positions: 'dense',
    readLast: async (stream) => last(stream),
    readAll: async function* (after, { kinds, types, batchSize = 1_000 } = {}) {
      for await (const { events: read, position } of batches(after, head(), kinds, batchSize))
        yield { events: types === undefined ? read : read.filter(({ type }) => types.includes(type)), position };
    },
    subscribeAll: async function* (after, { kinds, batchSize = 1_000, signal }) {
      for (let cursor = after; !signal.aborted;) {
        const upTo = head();
        if (upTo > cursor) {
          for await (const batch of batches(cursor, upTo, kinds, batchSize)) {
            if (signal.aborted) return;
            yield batch;
          }
          cursor = upTo;
          continue;
        }
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            signal.removeEventListener('abort', wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener('abort', wake);
        });
      }
    },
    head: async () => head(),
    types: async () => typesOf(events),
    close: async () => {},
  };
};

/** Each type with the position of its first event. */
export const typesOf = (events: readonly Pick<StoredEvent, 'type' | 'position'>[]): ReadonlyMap<string, number> =>
  new Map(events.toReversed().map(({ type, position }) => [type, position]));

export type MemoryKeys = Keys &
  Readonly<{
    ids: () => readonly string[];
    /** Makes a backup. Out: its number. */
    copy: () => number;
    restore: (number: number) => void;
  }>;

/** Real AES-256-GCM; the keys stand in a map instead of a database. */
/** A seal key of the settings; different texts give different keys. */
export const sealKeyOfTest = async (text = 'seal key'): Promise<SealKey> => {
  const texts = [createHash('sha256').update(text).digest('hex')];
  return (await openSealKeys({ texts, command: undefined }, { fingerprint: () => '00'.repeat(32) })())[0]!;
};

export const memoryKeys = (): MemoryKeys => {
  const keys = new Map<string, Buffer>();
  let made = 0;
  let noted: LogMark | undefined;
  const copies: { keys: ReadonlyMap<string, Buffer>; mark: LogMark | undefined }[] = [];
  return {
    ids: () => [...keys.keys()],
    copy: () => copies.push({ keys: new Map(keys), mark: noted }) - 1,
    restore: (number) => {
      const copy = copies[number]!;
      keys.clear();
      for (const [id, key] of copy.keys) keys.set(id, key);
      noted = copy.mark;
    },
    create: async () => {
      const id = `${(made += 1)}`;
      const key = createHash('sha256').update(`key ${id}`).digest();
      keys.set(id, key);
      return { id, key: sealingKey(key) };
    },
    getMany: async (ids) =>
      new Map(ids.flatMap((id) => (keys.has(id) ? [[id, sealingKey(keys.get(id)!)] as const] : []))),
    destroy: async (ids) => {
      for (const id of ids) keys.delete(id);
      return { journalMs: 0 };
    },
    faults: async () => [],
    mark: async () => noted,
    setMark: async (mark) => {
      noted = mark;
    },
    fingerprint: (purpose, text) => createHmac('sha256', `test ${purpose}`).update(text).digest('hex'),
    close: async () => {},
  };
};

export type MemoryFiles = Files & Readonly<{ stored: Map<string, Buffer> }>;

export const memoryFiles = (): MemoryFiles => {
  const stored = new Map<string, Buffer>();
  const expiry = new Map<string, string>();
  return {
    stored,
    put: async (bytes, { expiresAt } = {}) => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      const known = stored.has(hash);
      stored.set(hash, Buffer.from(bytes));
      if (expiresAt === undefined || (known && !expiry.has(hash))) expiry.delete(hash);
      else expiry.set(hash, expiresAt);
      return hash;
    },
    get: async (hash) => stored.get(hash),
    delete: async (hash) => void stored.delete(hash),
    expired: async (now) => [...expiry].filter(([, at]) => at <= now).length,
    sweep: async (now) => {
      const due = [...expiry].filter(([, at]) => at <= now);
      for (const [hash] of due) {
        stored.delete(hash);
        expiry.delete(hash);
      }
      return due.length;
    },
  };
};

/** Ids that are equal in every run: the n-th after `begun` is n. */
export const countingIds = (begun = 0): Ids => {
  let count = begun;
  return {
    uuid: () => `00000000-0000-7000-8000-${String((count += 1)).padStart(12, '0')}`,
    bytes: (sizeBytes) => {
      const parts: Buffer[] = [];
      for (let made = 0; made < sizeBytes; made += 32)
        parts.push(
          createHash('sha256')
            .update(`bytes ${(count += 1)}`)
            .digest(),
        );
      return Buffer.concat(parts).subarray(0, sizeBytes);
    },
  };
};

export type LogLine = Readonly<{ level: string; fields: LogFields; message: string }>;
export type MemoryLog = Logger & Readonly<{ lines: LogLine[] }>;

export const memoryLog = (): MemoryLog => {
  const lines: LogLine[] = [];
  const make = (common: LogFields): MemoryLog => {
    const line = (level: string) => (fields: LogFields, message: string) =>
      void lines.push({ level, fields: { ...common, ...fields }, message });
    return {
      lines,
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      child: (fields) => make({ ...common, ...fields }),
    };
  };
  return make({});
};

/** A log of calls that keeps exactly the newest of each team. */
export const memoryRequestLog = (callsMax = 100_000): RequestLog => {
  let kept: readonly LoggedCall[] = [];
  const found = (team: string, filter: CallFilter, before?: string): readonly LoggedCall[] => {
    const { first = '', end = 'g' } = idRangeOf(filter, before);
    const { actorId, method, status, code, requestId } = filter;
    return kept.filter(
      (call) =>
        call.team === team &&
        call.id >= first &&
        call.id < end &&
        (actorId === undefined || call.actor.id === actorId) &&
        (method === undefined || call.method === method) &&
        (status === undefined || (call.status >= status.first && call.status <= status.last)) &&
        (code === undefined || call.code === code) &&
        (requestId === undefined || call.requestId === requestId),
    );
  };
  return {
    write: async (calls) => {
      const known = new Map([...kept, ...calls].map((call) => [call.id, call]));
      const counts = new Map<string, number>();
      kept = [...known.values()]
        .toSorted((one, other) => (one.id < other.id ? 1 : -1))
        .filter(({ team }) => {
          counts.set(team, (counts.get(team) ?? 0) + 1);
          return counts.get(team)! <= callsMax;
        });
    },
    find: async (team, filter, { before, skip = 0, limit }) => found(team, filter, before).slice(skip, skip + limit),
    count: async (team, filter, max) => Math.min(max, found(team, filter).length),
    expire: async (beforeMs) => {
      kept = kept.filter(({ id }) => id >= callIdAt(beforeMs));
    },
    close: async () => {},
  };
};
