/** The seals over the total order of the log: how they are made, and so how they are checked. */
import { FIRST_SEAL, merkleRoot, sealRoot } from './hash-chain.js';
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
