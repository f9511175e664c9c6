/**
 * The ledger: seals over the total order of the log, how they are made and checked, and proofs that single events are
 * under a seal.
 */
import { merkleLeaf, merkleNode, FIRST_SEAL, merkleRoot, plainHash, sealRoot, tagOf } from './hash-chain.js';
import { decodeEvent } from './codec.js';
import type { SealedUnder } from './encode.js';
import { LEDGER_STREAM } from '../domain/core/ids.js';
import { HOUR_MS } from '../domain/core/time.js';
import type { EventStore, StoredEvent } from '../domain/ports/event-store.js';
import type { LedgerEvent } from '../domain/teams/events.js';
import type { SealKey, Sealing, SignedSeal } from '../domain/ports/keys.js';

export type Seal = Readonly<{ position: number; count: number; root: string }>;
/** The newest seal; undefined before the first. */
export type LedgerState = Seal | undefined;

export const evolveLedger = (state: LedgerState, event: LedgerEvent): LedgerState => {
  switch (event.type) {
    case 'InstanceSeen':
      return state;
    case 'LedgerSealed':
      return { position: event.data.position, count: event.data.count, root: event.data.root };
  }
};

/** The seal over a segment: its events' hashes in the total order, bound to the seal before. */
export const sealOf = (previous: LedgerState, hashes: readonly string[], position: number): Seal => ({
  position,
  count: hashes.length,
  root: sealRoot(previous?.root ?? FIRST_SEAL, merkleRoot(hashes)),
});

/**
 * The seals due over all events after `last`, each over at most `eventsMax`. A stretch that holds nothing but seals
 * is left for the next time, or sealing would never end.
 */
export async function* sealSegments(
  store: Pick<EventStore, 'readAll' | 'head'>,
  last: LedgerState,
  eventsMax: number,
  signal: AbortSignal,
): AsyncIterable<Seal> {
  const head = await store.head();
  let previous = last;
  let hashes: string[] = [];
  let position = last?.position ?? 0;
  let work = false;
  for await (const batch of store.readAll(position, { signal })) {
    for (const event of batch.events) {
      if (event.position > head) break;
      hashes.push(event.hash);
      position = event.position;
      work ||= event.stream !== LEDGER_STREAM;
      if (hashes.length < eventsMax) continue;
      previous = sealOf(previous, hashes, position);
      yield previous;
      hashes = [];
      work = false;
    }
    if (position >= head) break;
  }
  if (work && !signal.aborted) yield sealOf(previous, hashes, position);
}

/** A leaf by its place, from 0, and its hash. */
export type ProvenLeaf = readonly [place: number, hash: string];

type Level = ReadonlyMap<number, string>;

/**
 * The known nodes one level up. `sibling` answers the neighbours that are not known, in order; undefined if one is
 * missing.
 */
const climb = (
  known: Level,
  width: number,
  sibling: (place: number) => string | undefined,
): Map<number, string> | undefined => {
  const above = new Map<number, string>();
  for (const [place, hash] of known) {
    const parent = place >> 1;
    if (above.has(parent)) continue;
    const other = place ^ 1;
    if (other >= width) {
      above.set(parent, hash);
      continue;
    }
    const beside = known.get(other) ?? sibling(other);
    if (beside === undefined) return undefined;
    above.set(parent, place < other ? merkleNode(hash, beside) : merkleNode(beside, hash));
  }
  return above;
};

const inOrder = (leaves: readonly ProvenLeaf[]): Level =>
  new Map(leaves.map(([place, hash]) => [place, merkleLeaf(hash)]));

/**
 * In: all leaves of the tree, and the places to be proven, rising. Out: the hashes that the proof needs beside them, in
 * the order of its use.
 */
export const merkleProof = (all: readonly string[], places: readonly number[]): readonly string[] => {
  const siblings: string[] = [];
  let level = all.map(merkleLeaf);
  let known: Level = inOrder(places.map((place) => [place, all[place]!]));
  while (level.length > 1) {
    const here = level;
    known = climb(known, here.length, (place) => {
      siblings.push(here[place]!);
      return here[place];
    })!;
    level = [];
    for (let place = 0; place < here.length; place += 2)
      level.push(here[place + 1] === undefined ? here[place]! : merkleNode(here[place]!, here[place + 1]!));
  }
  return siblings;
};

/**
 * The root that the leaves have in a tree of so many; undefined where the proof does not fit them. In: leaves in rising
 * order of their places.
 */
export const rootByProof = (
  count: number,
  leaves: readonly ProvenLeaf[],
  siblings: readonly string[],
): string | undefined => {
  if (leaves.length === 0 || !areRising(leaves, count)) return undefined;
  let used = 0;
  let known: Level = inOrder(leaves);
  for (let width = count; width > 1; width = (width + 1) >> 1) {
    const above = climb(known, width, () => siblings[used++]);
    if (above === undefined) return undefined;
    known = above;
  }
  return used === siblings.length ? known.get(0) : undefined;
};

const areRising = (leaves: readonly ProvenLeaf[], count: number): boolean =>
  leaves.every(
    ([place], index) => Number.isSafeInteger(place) && place > (leaves[index - 1]?.[0] ?? -1) && place < count,
  );

/** All that a seal says, as the seal key signs it. */
export const signedText = ({
  at,
  position,
  count,
  root,
}: Pick<SignedSeal, 'at' | 'position' | 'count' | 'root'>): string =>
  `sealpost seal\n${at}\n${position}\n${count}\n${root}`;

/** Signs a seal. Without a key it stays as it is. */
export const signSeal = async (
  key: SealKey | undefined,
  at: string,
  { position, count, root }: Seal,
): Promise<SignedSeal> => {
  const seal = { at, position, count, root };
  return key === undefined ? seal : { ...seal, key: key.id, mac: await key.sign(signedText(seal)) };
};

/**
 * undefined where the event is neither a seal nor a heartbeat, or cannot be read: the program writes nothing else into
 * the ledger.
 */
export const readLedger = (event: Pick<StoredEvent, 'type' | 'data'>): LedgerEvent | undefined => {
  try {
    const decoded = decodeEvent(event.type, event.data, undefined);
    return decoded.type === 'LedgerSealed' || decoded.type === 'InstanceSeen' ? decoded : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Heartbeats may stand behind the newest seal: so many events of the ledger are looked at first, then four times as
 * many.
 */
const LOOK_BACK = 64;

/** The newest seal of the log; undefined before the first. */
export const newestSeal = async (
  store: Pick<EventStore, 'readLast' | 'readStream'>,
): Promise<SignedSeal | undefined> => {
  const last = await store.readLast(LEDGER_STREAM);
  if (last === undefined) return undefined;
  for (let back = LOOK_BACK; ; back *= 4) {
    for (const event of (await store.readStream(LEDGER_STREAM, Math.max(0, last.revision - back))).toReversed()) {
      const read = readLedger(event);
      if (read?.type === 'LedgerSealed') return read.data;
    }
    if (back >= last.revision) return undefined;
  }
};

/** The log is sealed under a key that is not given, so nothing may be appended to it. */
export class SealKeyMissing extends Error {
  override readonly name = 'SealKeyMissing';
  constructor(id: string) {
    super(
      `the log is sealed under the seal key ${id}, which is not given: set SEALPOST_SEAL_KEY (or _FILE, or SEALPOST_SEAL_COMMAND) as it was, ` +
        `a new key before it and separated by a comma if it is to be replaced; if it is lost, say so by SEALPOST_SEAL_KEYS_LOST=${id}`,
    );
  }
}

/** The key of tags and new seals. Rejects with SealKeyMissing, and then looks again at the next call. */
export const openSealedUnder = (
  store: Pick<EventStore, 'readLast' | 'readStream'>,
  { keys, lost }: Pick<Sealing, 'keys' | 'lost'>,
): SealedUnder => {
  let known: SealKey | undefined;
  let looking: Promise<SealKey> | undefined;
  const look = async (): Promise<SealKey> => {
    const given = await keys();
    const id = (await newestSeal(store))?.key;
    if (id !== undefined && !lost.includes(id) && !given.some((key) => key.id === id)) throw new SealKeyMissing(id);
    return (known = given[0]!);
  };
  return async () =>
    known ??
    (looking ??= look().finally(() => {
      looking = undefined;
    }));
};

/** Events that bear no tag of a key, and where the first of them stands. */
type Untagged = Readonly<{ events: number; first: number }>;

export type Proof = Readonly<{
  /** The id of the key that made the newest proved seal; undefined if no seal is proved. */
  key: string | undefined;
  /** The position up to which the first seal under that key reaches; 0 if it is the first of the log. */
  from: number;
  /** How many events follow the newest proved seal; all if none is proved. */
  unproved: number;
  /**
   * Events under proved seals that bear no tag, written while the key came into use or under a key that is not given.
   */
  untagged: Untagged | undefined;
  /** The keys that are not given and not said to be lost, each with the position of its first seal. */
  missing: ReadonlyMap<string, number>;
  /**
   * Whether the newest seal is under a key that is set where one is set; a log without any seal needs a tag at each
   * event.
   */
  isAsSet: boolean;
}>;

export type ProofChecks = Readonly<{
  /** Takes the next event. Out: what is wrong with it. */
  event: (event: StoredEvent) => string | undefined;
  /**
   * Takes the seal that the event at `position` holds; `covered`: how many events are under seals then. Out: what is
   * wrong with it.
   */
  seal: (seal: SignedSeal, position: number, covered: number, isFirst: boolean) => string | undefined;
  /** Asks signers outside for the seals that are left to be checked. */
  finish: () => Promise<Readonly<{ position: number; message: string }> | undefined>;
  proof: (events: number) => Proof;
}>;

/** Processes get a new key one after the other: so long after its first seal events may bear no tag of it. */
const GRACE_MS = HOUR_MS;

/** Keys that are not given; more are not told apart. */
const MISSING_MAX = 100;

type ToCheck = Readonly<{ key: SealKey; seal: SignedSeal; position: number }>;

const notSigned = (position: number, id: string): string =>
  `the seal at position ${position} is not signed by the seal key ${id}: somebody without the key made it`;

/**
 * Seal keys prove the seals that they signed, and the tags of the events after the last seal. Without a key one can
 * compute every hash and every root of the log, but neither seals nor tags. In: the keys from strong to weak. Each seal
 * may be under the key of the one before or a stronger one.
 */
export const openProofChecks = (
  keys: readonly SealKey[],
  { lost, isSet }: Pick<Sealing, 'lost' | 'isSet'>,
): ProofChecks => {
  let rank: number | undefined;
  let first = 0;
  let covered = 0;
  let graceUntilMs = Infinity;
  /** No seal yet, or none that a given key made since the last of a key that is not given. */
  let state: 'unsealed' | 'unproved' | 'proved' = 'unsealed';
  let untagged: Untagged | undefined;
  /** As `untagged`, of a log without a seal, where a tag of the derived key counts. */
  let withoutAny: Untagged | undefined;
  const weakest = keys.length - 1;
  /** Keys that are not given, behind whose seals one of a given key stands: nothing more may be under them. */
  const closed = new Set<string>();
  const open = new Set<string>();
  const missing = new Map<string, number>();
  const outside = new Map<string, ToCheck>();

  const oneMore = (so: Untagged | undefined, position: number): Untagged => ({
    events: (so?.events ?? 0) + 1,
    first: so?.first ?? position,
  });

  const hasTag = ({ hash }: StoredEvent, upTo: number): boolean => {
    const [tag, plain] = [tagOf(hash), plainHash(hash)];
    return tag !== '' && keys.some((key, index) => index <= upTo && key.tag(plain) === tag);
  };

  const unknown = (id: string, position: number): string | undefined => {
    if (closed.has(id) || (lost.includes(id) && isSet && rank === 0))
      return `the seal at position ${position} is under the seal key ${id}, which was replaced before: somebody without the key made it`;
    if (!lost.includes(id) && missing.size < MISSING_MAX && !missing.has(id)) missing.set(id, position);
    if (open.size < MISSING_MAX) open.add(id);
    state = 'unproved';
    return undefined;
  };

  return {
    event: (event) => {
      if (state === 'unproved' && rank === undefined) return undefined;
      if (state === 'unsealed' && !hasTag(event, weakest)) withoutAny = oneMore(withoutAny, event.position);
      if (hasTag(event, rank ?? (isSet ? weakest - 1 : weakest))) return undefined;
      if (state === 'proved' && graceUntilMs === 0)
        return `position ${event.position} (${event.stream} revision ${event.revision}) bears no tag of the seal key: somebody without the key appended it`;
      untagged = oneMore(untagged, event.position);
      return undefined;
    },
    seal: (seal, position, coveredNow, isFirst) => {
      const { key: id, mac } = seal;
      if (id === undefined || mac === undefined) {
        if (rank !== undefined)
          return `the seal at position ${position} is under no seal key, and those before it are: somebody without the key made it`;
        [state, untagged] = ['unproved', undefined];
        return undefined;
      }
      const index = keys.findIndex((key) => key.id === id);
      const key = keys[index];
      if (key === undefined) return unknown(id, position);
      // Each seal covers all before it, so of a signer outside the last one is enough.
      if (key.isOutside === true) outside.set(id, { key, seal, position });
      else if (key.sign(signedText(seal)) !== mac) return notSigned(position, id);
      if (rank !== undefined && index > rank)
        return `the seal at position ${position} is under the seal key ${id}, and those before it are under ${keys[rank]!.id}: the service ran without that key, or somebody without it made the seal`;
      if (state === 'unsealed' && index === weakest) untagged = withoutAny;
      for (const other of open) closed.add(other);
      open.clear();
      const atMs = Date.parse(seal.at);
      if (index !== rank || state !== 'proved') {
        [rank, first] = [index, index === rank || isFirst ? first : seal.position];
        graceUntilMs = isFirst ? 0 : atMs + GRACE_MS;
      } else if (graceUntilMs !== 0 && atMs >= graceUntilMs) graceUntilMs = 0;
      [state, covered] = ['proved', coveredNow];
      return undefined;
    },
    finish: async () => {
      for (const { key, seal, position } of outside.values())
        if ((await key.sign(signedText(seal))) !== seal.mac)
          return { position, message: `${notSigned(position, key.id)}, or one before it` };
      return undefined;
    },
    proof: (events) => ({
      key: rank === undefined ? undefined : keys[rank]!.id,
      from: first,
      // The seal itself follows what it covers.
      unproved: Math.max(0, events - covered - (rank === undefined ? 0 : 1)),
      untagged,
      missing,
      isAsSet:
        missing.size === 0 &&
        (!isSet || (rank === undefined ? state === 'unsealed' && untagged === undefined : rank < weakest)),
    }),
  };
};
