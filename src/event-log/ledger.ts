/** The ledger: seals over the total order of the log, how they are made and checked, and proofs that single events are under a seal. */
import { merkleLeaf, merkleNode, FIRST_SEAL, merkleRoot, sealRoot } from './hash-chain.js';
import { LEDGER_STREAM } from '../domain/core/ids.js';
import type { EventStore } from '../domain/ports/event-store.js';
import type { LedgerEvent } from '../domain/teams/events.js';

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

/** The known nodes one level up. `sibling` answers the neighbours that are not known, in order; undefined if one is missing. */
const climb = (known: Level, width: number, sibling: (place: number) => string | undefined): Map<number, string> | undefined => {
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

const inOrder = (leaves: readonly ProvenLeaf[]): Level => new Map(leaves.map(([place, hash]) => [place, merkleLeaf(hash)]));

/** In: all leaves of the tree, and the places to be proven, rising. Out: the hashes that the proof needs beside them, in the order of its use. */
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

/** The root that the leaves have in a tree of so many; undefined where the proof does not fit them. In: leaves in rising order of their places. */
export const rootByProof = (count: number, leaves: readonly ProvenLeaf[], siblings: readonly string[]): string | undefined => {
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
  leaves.every(([place], index) => Number.isSafeInteger(place) && place > (leaves[index - 1]?.[0] ?? -1) && place < count);
