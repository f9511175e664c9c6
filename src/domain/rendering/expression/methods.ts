/** The methods of arrays that expressions have. None changes its array: `sort` and `reverse` answer new ones. */
import { isTruthy, joined, numberOf, textOf } from './convert.js';
import { ExpressionError } from './errors.js';
import { placeAt } from './members.js';
import { charge, checkItems, costOfText, isList, type Run, type Step, type Value } from './values.js';
import type { Method } from './text-methods.js';

type List = readonly Value[];
type ListMethod = Method<List>;

const find =
  (apply: (list: List, wanted: Value, from: number | undefined) => Value): ListMethod =>
  (list, [wanted, from], run, at) => {
    // Each item may be as long a text as the one that is looked for.
    charge(run, list.length * (1 + (typeof wanted === 'string' ? costOfText(wanted.length) : 0)), at);
    return apply(list, wanted, from === undefined ? undefined : numberOf(run, from, at));
  };

const made = (run: Run, list: List, at: number): List => {
  checkItems(run, list.length, at);
  charge(run, list.length, at);
  return list;
};

const slice: ListMethod = (list, [from, to], run, at) => {
  const first = from === undefined ? 0 : numberOf(run, from, at);
  return made(run, list.slice(first, to === undefined ? undefined : numberOf(run, to, at)), at);
};

const concatLists: ListMethod = (list, args, run, at) => {
  const parts = [list, ...args];
  const items = parts.reduce<number>((sum, part) => sum + (isList(part) ? part.length : 1), 0);
  checkItems(run, items, at);
  charge(run, items, at);
  return parts.flatMap((part) => (isList(part) ? part : [part]));
};

const flat: ListMethod = (list, [wanted], run, at) => {
  const depth = wanted === undefined ? 1 : numberOf(run, wanted, at);
  const flattened: Value[] = [];
  flattenInto(flattened, list, { depth, run, at });
  return flattened;
};

type Flattening = Readonly<{ depth: number; run: Run; at: number }>;

const flattenInto = (target: Value[], list: List, { depth, run, at }: Flattening): void => {
  for (const item of list) {
    charge(run, 1, at);
    if (isList(item) && depth >= 1) {
      flattenInto(target, item, { depth: depth - 1, run, at });
    } else {
      checkItems(run, target.length + 1, at);
      target.push(item);
    }
  }
};

/** Without a function, items are ordered as texts, undefined ones last. */
const sortAsText: ListMethod = (list, _args, run, at) => {
  const texts = made(run, list, at).map((item) => ({ item, text: item === undefined ? undefined : textOf(run, item, at) }));
  texts.sort((a, b) => {
    if (a.text === undefined || b.text === undefined) return Number(a.text === undefined) - Number(b.text === undefined);
    return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
  });
  return texts.map(({ item }) => item);
};

const reverse: ListMethod = (list, _args, run, at) => [...made(run, list, at)].reverse();

export const listMethods: ReadonlyMap<string, ListMethod> = new Map<string, ListMethod>([
  ...Object.entries<ListMethod>({
    at: (list, [wanted], run, at) => {
      const place = Math.trunc(numberOf(run, wanted ?? 0, at)) || 0;
      return placeAt(list, place < 0 ? list.length + place : place);
    },
    concat: concatLists,
    flat,
    includes: find((list, wanted, from) => list.includes(wanted, from)),
    indexOf: find((list, wanted, from) => list.indexOf(wanted, from)),
    join: (list, [separator], run, at) => joined(run, list, separator === undefined ? ',' : textOf(run, separator, at), at),
    lastIndexOf: find((list, wanted, from) => (from === undefined ? list.lastIndexOf(wanted) : list.lastIndexOf(wanted, from))),
    reverse,
    slice,
    sort: sortAsText,
    toReversed: reverse,
    toSorted: sortAsText,
  }),
  ['toString', (list, _args, run, at) => textOf(run, list, at)],
]);

/** A call of an arrow function: item, place, array; for reduce the sum so far, item, place, array. Charges itself. */
export type Callback = (run: Run, first: Value, second: Value, third: Value, fourth?: Value) => Value;

/** `start` is the second argument of reduce, where one is written. */
export type Walk = (list: List, callback: Callback, context: Readonly<{ run: Run; at: number; start: Step | undefined }>) => Value;

const map: Walk = (list, callback, { run, at }) => {
  checkItems(run, list.length, at);
  return list.map((item, place) => callback(run, item, place, list));
};

const filter: Walk = (list, callback, { run, at }) => {
  const kept = list.filter((item, place) => isTruthy(callback(run, item, place, list)));
  checkItems(run, kept.length, at);
  return kept;
};

const reduce: Walk = (list, callback, { run, at, start }) => {
  if (start === undefined && list.length === 0)
    throw new ExpressionError(
      'WRONG_ARGUMENT',
      'calls "reduce" on an empty array without a start: give one, such as 0, after the function',
      at,
    );
  let sum = start === undefined ? list[0] : start(run);
  for (let place = start === undefined ? 1 : 0; place < list.length; place += 1) sum = callback(run, sum, list[place], place, list);
  return sum;
};

const flatMap: Walk = (list, callback, { run, at }) => {
  const flattened: Value[] = [];
  list.forEach((item, place) => {
    const answer = callback(run, item, place, list);
    const more = isList(answer) ? answer : [answer];
    charge(run, more.length, at);
    checkItems(run, flattened.length + more.length, at);
    flattened.push(...more);
  });
  return flattened;
};

const sortBy: Walk = (list, callback, { run, at }) => {
  checkItems(run, list.length, at);
  charge(run, list.length, at);
  return [...list].sort((a, b) => numberOf(run, callback(run, a, b, undefined), at));
};

/** The methods that take an arrow function; of these only sort and toSorted may be called without one. */
export const walks: ReadonlyMap<string, Walk> = new Map(
  Object.entries<Walk>({
    every: (list, callback, { run }) => list.every((item, place) => isTruthy(callback(run, item, place, list))),
    filter,
    find: (list, callback, { run }) => list.find((item, place) => isTruthy(callback(run, item, place, list))),
    findIndex: (list, callback, { run }) => list.findIndex((item, place) => isTruthy(callback(run, item, place, list))),
    findLast: (list, callback, { run }) => list.findLast((item, place) => isTruthy(callback(run, item, place, list))),
    findLastIndex: (list, callback, { run }) => list.findLastIndex((item, place) => isTruthy(callback(run, item, place, list))),
    flatMap,
    map,
    reduce,
    some: (list, callback, { run }) => list.some((item, place) => isTruthy(callback(run, item, place, list))),
    sort: sortBy,
    toSorted: sortBy,
  }),
);
