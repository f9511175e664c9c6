/**
 * A lane for each key that has work: work on one stream runs one after the other, work on different streams side by side, so that none waits
 * behind a slow dialogue of another. A lane is gone when its last work is done. The source bounds what is in flight, for RxJS has no
 * back-pressure.
 */
import { catchError, EMPTY, from, lastValueFrom, mergeMap } from 'rxjs';

export type LaneOptions<Item> = Readonly<{
  keyOf: (item: Item) => string;
  /** Handles one item; a rejection is given to `onFault` and the lane goes on. */
  handle: (item: Item) => Promise<void>;
  /** Awaited before the lane goes on; it must not reject. */
  onFault: (item: Item, fault: unknown) => Promise<void> | void;
}>;

/** Runs until the source ends or fails and every lane is drained, then rejects where the source itself failed. */
export const runLanes = async <Item>(source: AsyncIterable<Item>, { keyOf, handle, onFault }: LaneOptions<Item>): Promise<void> => {
  const handled = async (item: Item): Promise<void> => {
    try {
      await handle(item);
    } catch (fault) {
      // Caught here, inside the lane: outside it one poisoned item would end them all.
      await onFault(item, fault);
    }
  };
  /** The end of the last work of each lane. */
  const lanes = new Map<string, Promise<void>>();
  const inLane = async (item: Item): Promise<void> => {
    const key = keyOf(item);
    const before = lanes.get(key);
    const done = before === undefined ? handled(item) : before.then(() => handled(item));
    lanes.set(key, done);
    await done;
    if (lanes.get(key) === done) lanes.delete(key);
  };
  let broken: Readonly<{ fault: unknown }> | undefined;
  const work = from(source).pipe(
    // The lanes still have work: who hears of the fault before they have done it may start a second pool beside them.
    catchError((fault: unknown) => {
      broken = { fault };
      return EMPTY;
    }),
    mergeMap(inLane),
  );
  await lastValueFrom(work, { defaultValue: undefined });
  if (broken !== undefined) throw broken.fault;
};
