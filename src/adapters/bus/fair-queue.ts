/**
 * A queue in which groups take turns, and within each group its subgroups; within the last group the oldest item comes
 * first.
 */

export type Fifo<Item> = Readonly<{
  push: (item: Item) => void;
  /** The oldest item, taken out; undefined where there is none. */
  shift: () => Item | undefined;
  isEmpty: () => boolean;
}>;

type GroupOf<Item> = (item: Item) => string;

/** Each function names the group of an item; taking an item costs the same however many items and groups there are. */
export const turns = <Item>([groupOf, ...within]: readonly GroupOf<Item>[]): Fifo<Item> => {
  if (groupOf === undefined) return fifo();
  /** Groups with items; `order` has each of them once, the next first. */
  const groups = new Map<string, Fifo<Item>>();
  const order = fifo<string>();
  return {
    isEmpty: () => groups.size === 0,
    push: (item) => {
      const name = groupOf(item);
      let group = groups.get(name);
      if (group === undefined) {
        groups.set(name, (group = turns(within)));
        order.push(name);
      }
      group.push(item);
    },
    shift: () => {
      const name = order.shift();
      if (name === undefined) return undefined;
      const group = groups.get(name)!;
      const item = group.shift();
      if (group.isEmpty()) groups.delete(name);
      else order.push(name);
      return item;
    },
  };
};

/** Taken items leave a gap at the front, which is cut off when it is this long and half of the whole. */
const gapMax = 1_024;

/** A first-in, first-out queue: push and shift cost the same however long it is. */
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
