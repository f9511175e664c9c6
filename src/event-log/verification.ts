/** Finds what was done to the log behind its back: the first event that was changed, removed, moved or slipped in. */
import { chainHash, chainStart } from './hash-chain.js';
import { evolveLedger, sealOf, type LedgerState, type Seal } from './ledger.js';
import { LEDGER_STREAM } from '../domain/ids.js';
import { decodeEvent } from './codec.js';
import type { EventStore, StoredEvent } from '../domain/ports/event-store.js';
import type { LedgerEvent } from '../domain/team/events.js';

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
  finding: Finding | undefined;
}>;

/** A root that was noted elsewhere: what proves that nothing was cut off the end, or rewritten with all its seals. */
export type NotedRoot = Readonly<{ position: number; root: string }>;

type Walk = {
  readonly tails: Map<string, { revision: number; hash: string }>;
  position: number;
  events: number;
  seals: number;
  ledger: LedgerState;
  /** Hashes after the last seal, by position; a seal takes its part of them. */
  unsealed: { position: number; hash: string }[];
};

/** Reads the whole log once. `onProgress` gets the number of events so far. */
export const verifyLog = async (
  store: Pick<EventStore, 'readAll' | 'head'>,
  noted: NotedRoot | undefined,
  onProgress: (events: number) => void = () => {},
): Promise<Verification> => {
  const walk: Walk = { tails: new Map(), position: 0, events: 0, seals: 0, ledger: undefined, unsealed: [] };
  let seen: Seal | undefined;
  const result = (finding: Finding | undefined): Verification => ({
    events: walk.events,
    streams: walk.tails.size,
    seals: walk.seals,
    head: walk.position,
    seal: walk.ledger,
    finding,
  });
  for await (const batch of store.readAll(0)) {
    for (const event of batch.events) {
      const finding = step(walk, event);
      if (finding !== undefined) return result(finding);
      if (noted !== undefined && walk.ledger?.position === noted.position) seen = walk.ledger;
    }
    onProgress(walk.events);
  }
  return result(noted === undefined ? undefined : checkNoted(noted, seen, walk.position));
};

const checkNoted = (noted: NotedRoot, seen: Seal | undefined, head: number): Finding | undefined => {
  if (seen?.root === noted.root) return undefined;
  const stream = LEDGER_STREAM;
  return seen === undefined
    ? {
        kind: 'cut-off',
        position: head,
        stream,
        message: `the log has no seal at position ${noted.position}, but one was noted there: its end was cut off at ${head}`,
      }
    : {
        kind: 'seal-broken',
        position: noted.position,
        stream,
        message: `the seal at position ${noted.position} is not the one that was noted: the log before it was rewritten`,
      };
};

const step = (walk: Walk, event: StoredEvent): Finding | undefined => {
  const at = (kind: Finding['kind'], message: string): Finding => ({ kind, position: event.position, stream: event.stream, message });
  if (event.position !== walk.position + 1) {
    return at(
      'removed',
      `position ${walk.position + 1} is missing: the log goes on with ${event.position} (${event.stream} revision ${event.revision})`,
    );
  }
  const tail = walk.tails.get(event.stream) ?? { revision: -1, hash: chainStart(event.stream) };
  const broken = checkChain(tail, event, at);
  if (broken !== undefined) return broken;
  walk.tails.set(event.stream, { revision: event.revision, hash: event.hash });
  walk.position = event.position;
  walk.events += 1;
  walk.unsealed.push({ position: event.position, hash: event.hash });
  return event.stream === LEDGER_STREAM ? checkSeal(walk, event, at) : undefined;
};

type At = (kind: Finding['kind'], message: string) => Finding;

const checkChain = (tail: { revision: number; hash: string }, event: StoredEvent, at: At): Finding | undefined => {
  const place = `position ${event.position} (${event.stream} revision ${event.revision})`;
  if (event.revision <= tail.revision) return at('inserted', `${place} repeats a revision: it was slipped in or moved`);
  if (event.revision > tail.revision + 1)
    return at('removed', `${place} follows revision ${tail.revision}: what stood between was removed or moved`);
  if (chainHash(tail.hash, event.stream, event.revision, event) === event.hash) return undefined;
  return at('changed', `${place} is not what its hash says: it was changed, moved here, or slipped in`);
};

const checkSeal = (walk: Walk, event: StoredEvent, at: At): Finding | undefined => {
  const decoded = readSeal(event);
  if (decoded === undefined) return at('inserted', `the ledger holds a ${event.type} that is no seal`);
  const { position, count, root } = decoded.data;
  const from = walk.ledger?.position ?? 0;
  const covered = walk.unsealed.filter((entry) => entry.position <= position);
  if (
    sealOf(
      walk.ledger,
      covered.map(({ hash }) => hash),
      position,
    ).root !== root ||
    covered.length !== count
  ) {
    return at(
      'seal-broken',
      `the events from ${from + 1} to ${position} are not those that the seal at position ${event.position} covers: their chain was rewritten`,
    );
  }
  walk.ledger = evolveLedger(walk.ledger, decoded);
  walk.unsealed = walk.unsealed.filter((entry) => entry.position > position);
  walk.seals += 1;
  return undefined;
};

/** undefined where the event is no seal, or none that can be read: the program writes nothing else into the ledger. */
const readSeal = (event: StoredEvent): LedgerEvent | undefined => {
  try {
    const decoded = decodeEvent(event.type, event.data, undefined);
    return decoded.type === 'LedgerSealed' ? decoded : undefined;
  } catch {
    return undefined;
  }
};
