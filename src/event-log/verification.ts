/**
 * Verifies the log: finds the first event that was changed, removed, moved or slipped in, and all events that cannot be
 * read.
 */
import { UnknownEvent, type Codec } from './codec.js';
import { type Unreadable, isUnreadable } from './decode.js';
import { EventUnknown, type EventPlace } from '../domain/core/errors.js';
import type { EventStore, StoredEvent, Position } from '../domain/ports/event-store.js';
import type { EventLog } from './event-log.js';
import { type StreamName, LEDGER_STREAM } from '../domain/core/ids.js';
import { chainHash, chainStart, hasHashLength, plainHash, readableMetadata } from './hash-chain.js';
import {
  evolveLedger,
  openProofChecks,
  readLedger,
  sealOf,
  type LedgerState,
  type Proof,
  type ProofChecks,
  type Seal,
} from './ledger.js';
import type { Sealing } from '../domain/ports/keys.js';

export type Finding = Readonly<{
  kind: 'changed' | 'removed' | 'moved' | 'inserted' | 'seal-broken' | 'cut-off';
  position: number;
  stream: string;
  message: string;
}>;

export type Verification = Readonly<{
  events: number;
  streams: number;
  seals: number;
  head: number;
  seal: Seal | undefined;
  /** The hashes of the events after the last seal. */
  unsealed: readonly string[];
  finding: Finding | undefined;
  /** Proof by the seal keys; undefined if the log was verified without them. */
  proof: Proof | undefined;
}>;

/** A root that was noted elsewhere: what proves that nothing was cut off the end, or rewritten with all its seals. */
export type NotedRoot = Readonly<{ position: number; root: string }>;

/** Several of them, the root by position. */
type NotedRoots = ReadonlyMap<number, string>;

/** How a log is verified otherwise than as a whole, and what is told on the way. */
type VerifyOptions = Readonly<{
  onProgress?: (events: number) => void;
  /** With them tags and seals must be those of the seal keys. */
  seals?: Pick<Sealing, 'keys' | 'lost' | 'isSet'>;
}>;

type Progress = {
  readonly isDense: boolean;
  readonly proving: ProofChecks | undefined;
  readonly versions: Map<string, { revision: number; hash: string }>;
  position: Position;
  events: number;
  seals: number;
  ledger: LedgerState;
  /** Hashes after the last seal, by position; a seal takes its part of them. */
  unsealed: { position: number; hash: string }[];
};

/** Below every position that a store can hold. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/**
 * The first event below position 1, where no append puts one. No reader obeys it; that it is there means that somebody
 * changed the log.
 */
export const eventOutsideLog = async (store: Pick<EventStore, 'readAll'>): Promise<StoredEvent | undefined> => {
  for await (const { events } of store.readAll(BEFORE_ALL, { batchSize: 1 }))
    if (events[0] !== undefined) return events[0].position < 1 ? events[0] : undefined;
  return undefined;
};

/** Reads the whole log once. `onProgress` gets the number of events so far. */
export const verifyLog = async (
  store: Pick<EventStore, 'readAll' | 'positions'>,
  noted: NotedRoot | NotedRoots | undefined,
  options: VerifyOptions = {},
): Promise<Verification> => {
  const { onProgress = () => {}, seals } = options;
  const proving = seals && openProofChecks(await seals.keys(), seals);
  const progress: Progress = {
    isDense: store.positions === 'dense',
    proving,
    versions: new Map(),
    position: 0,
    events: 0,
    seals: 0,
    ledger: undefined,
    unsealed: [],
  };
  const wanted: NotedRoots =
    noted === undefined ? new Map() : 'root' in noted ? new Map([[noted.position, noted.root]]) : noted;
  const seen = new Map<number, boolean>();
  const result = (finding: Finding | undefined): Verification => ({
    events: progress.events,
    streams: progress.versions.size,
    seals: progress.seals,
    head: progress.position,
    seal: progress.ledger,
    unsealed: progress.unsealed.map(({ hash }) => hash),
    finding,
    proof: proving?.proof(progress.events),
  });
  // Readers of the whole log begin after position 0 and would pass over what was slipped in before it.
  for await (const { events } of store.readAll(BEFORE_ALL)) {
    for (const event of events) {
      const finding = step(progress, event);
      if (finding !== undefined) return result(finding);
      if (event.stream !== LEDGER_STREAM) continue;
      const root = progress.ledger && wanted.get(progress.ledger.position);
      if (root !== undefined)
        seen.set(
          progress.ledger!.position,
          seen.get(progress.ledger!.position) === true || progress.ledger!.root === root,
        );
    }
    onProgress(progress.events);
  }
  const unsigned = await proving?.finish();
  if (unsigned !== undefined) return result({ kind: 'seal-broken', stream: LEDGER_STREAM, ...unsigned });
  return result(checkNoted(wanted, seen, progress.position));
};

const checkNoted = (wanted: NotedRoots, seen: ReadonlyMap<number, boolean>, head: number): Finding | undefined => {
  const stream = LEDGER_STREAM;
  for (const position of [...wanted.keys()].sort((one, other) => one - other)) {
    if (seen.get(position) === undefined) {
      const message = `the log has no seal at position ${position}, but one was noted there: its end was cut off at ${head}`;
      return { kind: 'cut-off', position: head, stream, message };
    }
    if (seen.get(position) === false) {
      const message = `the seal at position ${position} is not the one that was noted: the log before it was rewritten`;
      return { kind: 'seal-broken', position, stream, message };
    }
  }
  return undefined;
};

const step = (progress: Progress, event: StoredEvent): Finding | undefined => {
  const at = (kind: Finding['kind'], message: string): Finding => ({
    kind,
    position: event.position,
    stream: event.stream,
    message,
  });
  const misplaced = checkPosition(progress, event, at);
  if (misplaced !== undefined) return misplaced;
  const version = progress.versions.get(event.stream) ?? { revision: -1, hash: chainStart(event.stream) };
  const broken = checkChain(version, event, at) ?? checkId(event, at);
  if (broken !== undefined) return broken;
  progress.versions.set(event.stream, { revision: event.revision, hash: event.hash });
  const untagged = progress.proving?.event(event);
  if (untagged !== undefined) return at('inserted', untagged);
  progress.position = event.position;
  progress.events += 1;
  progress.unsealed.push({ position: event.position, hash: event.hash });
  return event.stream === LEDGER_STREAM ? checkSeal(progress, event, at) : undefined;
};

/** In a dense log a gap is a removed event; in any other only the order tells. */
const checkPosition = ({ isDense, position }: Progress, event: StoredEvent, at: At): Finding | undefined => {
  const what = `${event.position} (${event.stream} revision ${event.revision})`;
  if (event.position < 1)
    return at('inserted', `position ${what} was slipped in: the first event of a log stands at position 1 or later`);
  if (isDense && event.position > position + 1)
    return at('removed', `position ${position + 1} is missing: the log goes on with ${what}`);
  if (event.position <= position) return at('moved', `position ${what} stands after position ${position}`);
  return undefined;
};

type At = (kind: Finding['kind'], message: string) => Finding;

const checkChain = (version: { revision: number; hash: string }, event: StoredEvent, at: At): Finding | undefined => {
  const where = `position ${event.position} (${event.stream} revision ${event.revision})`;
  if (event.revision <= version.revision)
    return at('inserted', `${where} repeats a revision: it was slipped in or moved`);
  if (event.revision > version.revision + 1)
    return at('removed', `${where} follows revision ${version.revision}: what stood between was removed or moved`);
  const isAsWritten = chainHash(version.hash, event.stream, event.revision, event) === plainHash(event.hash);
  if (isAsWritten && hasHashLength(event.hash)) return undefined;
  return at('changed', `${where} is not what its hash says: it was changed, moved here, or slipped in`);
};

/**
 * The chain covers the id in the metadata; stores may keep it a second time beside, where appends whose answer was lost
 * look for it.
 */
const checkId = (event: StoredEvent, at: At): Finding | undefined => {
  const id = readableMetadata(event)?.eventId;
  if (id === undefined || id === event.eventId) return undefined;
  return at(
    'changed',
    `position ${event.position} (${event.stream} revision ${event.revision}) stands under an id that is not that of its metadata`,
  );
};

const checkSeal = (progress: Progress, event: StoredEvent, at: At): Finding | undefined => {
  const decoded = readLedger(event);
  if (decoded === undefined)
    return at('inserted', `the ledger holds a ${event.type}, which is neither a seal nor a heartbeat`);
  if (decoded.type === 'InstanceSeen') return undefined;
  const { position, count, root } = decoded.data;
  const from = progress.ledger?.position ?? 0;
  // By their number and not by their positions: in a log that was copied from another engine a seal names the positions
  // of that one.
  const covered = progress.unsealed.slice(0, count);
  if (
    sealOf(
      progress.ledger,
      covered.map(({ hash }) => hash),
      position,
    ).root !== root ||
    covered.length !== count
  ) {
    return at(
      'seal-broken',
      `the events after position ${from} up to ${position} are not those that the seal at position ${event.position} covers: their chain was rewritten`,
    );
  }
  progress.ledger = evolveLedger(progress.ledger, decoded);
  progress.unsealed = progress.unsealed.slice(count);
  const unproved = progress.proving?.seal(
    decoded.data,
    event.position,
    progress.events - progress.unsealed.length,
    progress.seals === 0,
  );
  progress.seals += 1;
  return unproved === undefined ? undefined : at('seal-broken', unproved);
};

/** Counts the events that readers could not read, for health and for messages at start. */
export type LogFaults = Readonly<{
  note: (event: Unreadable) => void;
  /** How many damaged events were met since the start, up to a bound. */
  unreadable: () => number;
  /** The first event of a newer program that was met; undefined where none was. */
  unknown: () => EventPlace | undefined;
}>;

/** Damaged events that are counted; there may be more. */
const COUNTED_MAX = 10_000;

export const openLogFaults = (): LogFaults => {
  const damaged = new Set<number>();
  let unknown: EventPlace | undefined;
  return {
    note: (event) => {
      if (event.unreadable instanceof UnknownEvent) {
        if (unknown === undefined || event.position < unknown.position) unknown = event;
      } else if (damaged.size < COUNTED_MAX) damaged.add(event.position);
    },
    unreadable: () => damaged.size,
    unknown: () => unknown,
  };
};

/**
 * The first of the noted types of the log that this program does not know, as the error that says so; undefined where
 * it knows all.
 */
export const unknownTypeIn = async (
  store: Pick<EventStore, 'types' | 'readAll'>,
  codec: Codec,
): Promise<EventUnknown | undefined> => {
  const [first] = [...(await store.types())].filter(([type]) => !codec.knows(type)).sort(([, a], [, b]) => a - b);
  if (first === undefined) return undefined;
  const [storedType, position] = first;
  const event = await eventAt(store, position);
  return new EventUnknown({ stream: event?.stream ?? 'unknown', revision: event?.revision ?? 0, position, storedType });
};

/** Positions are opaque, so the event is the last of those up to its position. */
const eventAt = async (store: Pick<EventStore, 'readAll'>, position: number): Promise<StoredEvent | undefined> => {
  for await (const { events } of store.readAll(position - 1, { batchSize: 1 }))
    for (const event of events) return event.position === position ? event : undefined;
  return undefined;
};

/**
 * Finds every event that cannot be read: reads the whole log and decrypts what has a key. `onProgress` is called with
 * the position reached. Parts that are missing because a stream is being erased are no fault, so each event is checked
 * again in its stream.
 */
export async function* unreadableEvents(
  eventLog: Pick<EventLog, 'readAll' | 'inspect'>,
  onProgress: (position: number) => void = () => {},
): AsyncGenerator<Unreadable> {
  for await (const { unreadable, position } of eventLog.readAll(0, { unknown: 'listed' })) {
    for (const event of unreadable) {
      const inStream = await eventLog.inspect(event.stream as StreamName);
      if (inStream.some((one) => one.position === event.position && isUnreadable(one))) yield event;
    }
    onProgress(position);
  }
}
