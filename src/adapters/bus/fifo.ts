/** A first-in, first-out queue whose both ends cost the same however long it is. */

export type Fifo<Item> = Readonly<{
  push: (item: Item) => void;
  /** The oldest item, taken out; undefined where there is none. */
  shift: () => Item | undefined;
  isEmpty: () => boolean;
}>;

/** Taken items leave a gap at the front, which is cut off when it is this long and half of the whole. */
const gapMax = 1_024;

export const fifo = <Item>(): Fifo<Item> => {
  let items: (Item | undefined)[] = [];
  let head = 0;
  return {
    isEmpty: () => head === items.length,
    push: (item) => void items.push(item),
    shift: () => {
      if (head === items.length) return undefined;
      const item = items[head];
      items[head] = undefined;
      head += 1;
      if (head === items.length || (head >= gapMax && head * 2 >= items.length)) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
};
