/** A queue in which groups take turns, and within each group its subgroups; within the last group the oldest item comes first. */
import { fifo, type Fifo } from './fifo.js';

export type GroupOf<Item> = (item: Item) => string;

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
