/**
 * Runs work in lanes, one for each key with work: work on one stream runs one after the other, work on different
 * streams side by side. A lane ends with its last work. RxJS has no back-pressure, so the source bounds what is in
 * flight.
 */
import { catchError, EMPTY, from, lastValueFrom, mergeMap } from 'rxjs';

export type LaneOptions<Item> = Readonly<{
  keyOf: (item: Item) => string;
  /** Handles one item. After a rejection `onFault` is called and the lane continues. */
  handle: (item: Item) => Promise<void>;
  /** Awaited before the lane continues; must not reject. */
  onFault: (item: Item, fault: unknown) => Promise<void> | void;
}>;

/** Runs until the source ends or fails and every lane is drained, then rejects if the source failed. */
export const runLanes = async <Item>(
  source: AsyncIterable<Item>,
  { keyOf, handle, onFault }: LaneOptions<Item>,
): Promise<void> => {
  const handled = async (item: Item): Promise<void> => {
    try {
      await handle(item);
    } catch (fault) {
      // Caught inside the lane: an error outside would end all lanes.
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
    // The fault is reported only after the lanes are drained, or the caller could start a second pool beside them.
    catchError((fault: unknown) => {
      broken = { fault };
      return EMPTY;
    }),
    mergeMap(inLane),
  );
  await lastValueFrom(work, { defaultValue: undefined });
  if (broken !== undefined) throw broken.fault;
};
