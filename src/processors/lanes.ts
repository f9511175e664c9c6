/**
 * A fixed number of lanes, each an actor's mailbox: work on one stream runs one after the other, work on different lanes side by side.
 * One lane per stream would leak; closing idle ones would break the order. The source bounds what is in flight, for RxJS has no back-pressure.
 */
import { catchError, concatMap, EMPTY, from, groupBy, lastValueFrom, mergeMap } from 'rxjs';

/** FNV-1a over the UTF-16 units: cheap, and the same in every run. */
export const laneOf = (key: string, lanes: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % lanes;
};

export type LaneOptions<Item> = Readonly<{
  keyOf: (item: Item) => string;
  lanes: number;
  /** Handles one item; a rejection is given to `onFault` and the lane goes on. */
  handle: (item: Item) => Promise<void>;
  /** Awaited before the lane goes on; it must not reject. */
  onFault: (item: Item, fault: unknown) => Promise<void> | void;
}>;

/** Runs until the source ends or fails and every lane is drained, then rejects where the source itself failed. */
export const runLanes = async <Item>(source: AsyncIterable<Item>, options: LaneOptions<Item>): Promise<void> => {
  const { keyOf, lanes, handle, onFault } = options;
  const handled = async (item: Item): Promise<void> => {
    try {
      await handle(item);
    } catch (fault) {
      // Caught here, inside the lane: outside it one poisoned item would end them all.
      await onFault(item, fault);
    }
  };
  let broken: Readonly<{ fault: unknown }> | undefined;
  const work = from(source).pipe(
    // The lanes still have work: who hears of the fault before they have done it may start a second pool beside them.
    catchError((fault: unknown) => {
      broken = { fault };
      return EMPTY;
    }),
    groupBy((item) => laneOf(keyOf(item), lanes)),
    mergeMap((lane) => lane.pipe(concatMap(handled))),
  );
  await lastValueFrom(work, { defaultValue: undefined });
  if (broken !== undefined) throw broken.fault;
};
