/**
 * Methods that expressions may call on texts, numbers, booleans, dates and arrays. Methods do not change their array:
 * `sort` and `reverse` answer new ones.
 */
import {
  concat,
  numberOf,
  textOf,
  ExpressionError,
  charge,
  checkItems,
  checkTextSize,
  costOfText,
  madeText,
  type Run,
  type Value,
  isObject,
  isTruthy,
  joined,
  placeAt,
  isList,
  type Step,
} from './values.js';
import { collatorOf } from '../scope/formats.js';

/** `at` is the place of the call in the source. The call itself is charged by the caller, the work by the method. */
export type Method<Receiver> = (receiver: Receiver, args: readonly Value[], run: Run, at: number) => Value;

type TextMethod = Method<string>;

const optionalNumber = (run: Run, value: Value, at: number): number | undefined =>
  value === undefined ? undefined : numberOf(run, value, at);

/** Methods that only reach into the text: what they answer is charged, not what they come from. */
const cut =
  (apply: (text: string, first: number | undefined, second: number | undefined) => string | undefined): TextMethod =>
  (text, [first, second], run, at) => {
    const made = apply(text, optionalNumber(run, first, at), optionalNumber(run, second, at));
    return made === undefined ? undefined : madeText(run, made, at);
  };

/** Methods that go over the whole text. */
const over =
  (apply: (text: string) => string): TextMethod =>
  (text, _args, run, at) => {
    charge(run, costOfText(text.length), at);
    checkTextSize(run, text.length, at);
    return madeText(run, apply(text), at);
  };

const code =
  (apply: (text: string, place: number) => number | undefined): TextMethod =>
  (text, [place], run, at) =>
    apply(text, numberOf(run, place ?? 0, at));

const STEPS_PER_OPERATION = 65_536;

/** Finding one text in another takes at worst the product of their lengths. */
const chargeSearch = (run: Run, text: string, part: string, at: number): void =>
  charge(run, costOfText(text.length) + Math.floor((text.length * part.length) / STEPS_PER_OPERATION), at);

const search =
  <T extends Value>(apply: (text: string, part: string, from: number | undefined) => T): TextMethod =>
  (text, [wanted, from], run, at) => {
    const part = textOf(run, wanted, at);
    chargeSearch(run, text, part, at);
    return apply(text, part, optionalNumber(run, from, at));
  };

const pad =
  (apply: (text: string, length: number, filler: string) => string): TextMethod =>
  (text, [wanted, filling], run, at) => {
    const length = numberOf(run, wanted, at);
    const filler = filling === undefined ? ' ' : textOf(run, filling, at);
    if (length > text.length) checkTextSize(run, length, at);
    return madeText(run, apply(text, length, filler), at);
  };

const repeat: TextMethod = (text, [wanted], run, at) => {
  const count = Math.trunc(numberOf(run, wanted, at)) || 0;
  if (count < 0 || count === Infinity)
    throw new ExpressionError('WRONG_ARGUMENT', 'calls "repeat" with a count that is negative or endless', at);
  checkTextSize(run, text.length * count, at);
  return madeText(run, text.repeat(text === '' ? 0 : count), at);
};

const split: TextMethod = (text, [separator, most], run, at) => {
  const itemsMax = run.limits.expressionItemsMax;
  const limit = most === undefined ? undefined : numberOf(run, most, at) >>> 0;
  if (separator === undefined) return limit === 0 ? [] : [text];
  const part = textOf(run, separator, at);
  chargeSearch(run, text, part, at);
  const pieces = text.split(part, Math.min(limit ?? Infinity, itemsMax + 1));
  checkItems(run, pieces.length, at);
  charge(run, pieces.length, at);
  return pieces;
};

/** A dollar sign in the replacement is a dollar sign: there are no groups that it could stand for. */
const replace =
  (all: boolean): TextMethod =>
  (text, [wanted, put], run, at) => {
    const part = textOf(run, wanted, at);
    const replacement = textOf(run, put, at);
    checkTextSize(run, text.length, at);
    chargeSearch(run, text, part, at);
    const places = all ? placesOf(text, part) : Number(text.includes(part));
    checkTextSize(run, text.length + places * (replacement.length - part.length), at);
    return madeText(run, all ? text.replaceAll(part, () => replacement) : text.replace(part, () => replacement), at);
  };

/** How often the part stands in the text; the empty part stands before each character and at the end. */
const placesOf = (text: string, part: string): number => (part === '' ? text.length + 1 : text.split(part).length - 1);

const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'];

const normalize: TextMethod = (text, [wanted], run, at) => {
  const form = wanted === undefined ? 'NFC' : textOf(run, wanted, at);
  if (!forms.includes(form))
    throw new ExpressionError('WRONG_ARGUMENT', `calls "normalize" with another form than ${forms.join(', ')}`, at);
  return over((whole) => whole.normalize(form))(text, [], run, at);
};

/**
 * `a.localeCompare(b)`, and `a.localeCompare(b, undefined, { numeric: true })`, by which "item 9" stands before "item
 * 10".
 */
const localeCompare: TextMethod = (text, [other, language, options, ...more], run, at) => {
  const isKnown =
    options === undefined ||
    (isObject(options) && Object.keys(options).join() === 'numeric' && typeof options['numeric'] === 'boolean');
  if (language !== undefined || !isKnown || more.length > 0)
    throw new ExpressionError(
      'WRONG_ARGUMENT',
      'calls "localeCompare" with more than the other text, undefined, and { numeric: true }: it orders by the language of the mail',
      at,
    );
  const right = textOf(run, other, at);
  charge(run, costOfText(text.length + right.length), at);
  // The language itself may say so: `de-u-kn`.
  return collatorOf(run.locale, isObject(options) && options['numeric'] === true).compare(text, right);
};

/** The case of letters as the language of the mail has it: `i` is `İ` in Turkish. */
const localeCase =
  (change: (text: string, locale: string) => string): TextMethod =>
  (text, args, run, at) => {
    if (args.length > 0)
      throw new ExpressionError(
        'WRONG_ARGUMENT',
        'changes the case of letters by the language of the mail, and takes no argument',
        at,
      );
    return over((whole) => change(whole, run.locale))(text, [], run, at);
  };

/** Methods of text: none takes a regular expression or a function. Text is UTF-16, as in JavaScript. */
export const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ...Object.entries<TextMethod>({
    at: cut((text, place) => text.at(place ?? 0)),
    charAt: cut((text, place) => text.charAt(place ?? 0)),
    charCodeAt: code((text, place) => text.charCodeAt(place)),
    codePointAt: code((text, place) => text.codePointAt(place)),
    concat: (text, args, run, at) =>
      args.reduce<string>((made, arg) => concat(run, made, textOf(run, arg, at), at), text),
    endsWith: search((text, part, end) => text.endsWith(part, end)),
    includes: search((text, part, from) => text.includes(part, from)),
    indexOf: search((text, part, from) => text.indexOf(part, from)),
    lastIndexOf: search((text, part, from) => text.lastIndexOf(part, from)),
    localeCompare,
    normalize,
    padEnd: pad((text, length, filler) => text.padEnd(length, filler)),
    padStart: pad((text, length, filler) => text.padStart(length, filler)),
    repeat,
    replace: replace(false),
    replaceAll: replace(true),
    slice: cut((text, from, to) => text.slice(from, to)),
    split,
    startsWith: search((text, part, from) => text.startsWith(part, from)),
    substring: cut((text, from, to) => text.substring(from ?? 0, to)),
    toLocaleLowerCase: localeCase((text, locale) => text.toLocaleLowerCase(locale)),
    toLocaleUpperCase: localeCase((text, locale) => text.toLocaleUpperCase(locale)),
    toLowerCase: over((text) => text.toLowerCase()),
    toUpperCase: over((text) => text.toUpperCase()),
    trim: over((text) => text.trim()),
    trimEnd: over((text) => text.trimEnd()),
    trimStart: over((text) => text.trimStart()),
  }),
  ['toString', (text) => text],
  ['valueOf', (text) => text],
]);

const DIGITS_MAX = 100;

/** A whole number within bounds, where JavaScript would throw a RangeError of its own. */
const wholeArgument = (
  name: string,
  value: Value,
  range: Readonly<{ min: number; max: number; run: Run; at: number }>,
): number => {
  const { min, max, run, at } = range;
  const whole = Math.trunc(numberOf(run, value, at)) || 0;
  if (whole < min || whole > max)
    throw new ExpressionError('WRONG_ARGUMENT', `calls "${name}" with a number that is not from ${min} to ${max}`, at);
  return whole;
};

const digits =
  (name: string, min: number, write: (value: number, digits: number | undefined) => string): Method<number> =>
  (value, [wanted], run, at) =>
    write(value, wanted === undefined ? undefined : wholeArgument(name, wanted, { min, max: DIGITS_MAX, run, at }));

export const numberMethods: ReadonlyMap<string, Method<number>> = new Map<string, Method<number>>([
  ...Object.entries<Method<number>>({
    toExponential: digits('toExponential', 0, (value, places) => value.toExponential(places)),
    toFixed: digits('toFixed', 0, (value, places) => value.toFixed(places)),
    toPrecision: digits('toPrecision', 1, (value, places) => value.toPrecision(places)),
  }),
  [
    'toString',
    (value, [radix], run, at) =>
      value.toString(radix === undefined ? 10 : wholeArgument('toString', radix, { min: 2, max: 36, run, at })),
  ],
  ['valueOf', (value) => value],
]);

export const booleanMethods: ReadonlyMap<string, Method<boolean>> = new Map<string, Method<boolean>>([
  ['toString', (value) => String(value)],
  ['valueOf', (value) => value],
]);

const parts: Readonly<Record<string, (date: Date) => number>> = {
  FullYear: (date) => date.getUTCFullYear(),
  Month: (date) => date.getUTCMonth(),
  Date: (date) => date.getUTCDate(),
  Day: (date) => date.getUTCDay(),
  Hours: (date) => date.getUTCHours(),
  Minutes: (date) => date.getUTCMinutes(),
  Seconds: (date) => date.getUTCSeconds(),
  Milliseconds: (date) => date.getUTCMilliseconds(),
};

/** `getMonth` and `getUTCMonth` are the same: the process's own time zone is nobody's. */
const getters = Object.entries(parts).flatMap(([name, read]): [string, Method<Date>][] => [
  [`get${name}`, read],
  [`getUTC${name}`, read],
]);

const iso: Method<Date> = (date, _args, run, at) => {
  if (Number.isNaN(date.getTime())) throw new ExpressionError('WRONG_VALUE', 'asks an invalid date for its text', at);
  return textOf(run, date, at);
};

/** Methods of dates, which show the clock and calendar of UTC. */
export const dateMethods: ReadonlyMap<string, Method<Date>> = new Map<string, Method<Date>>([
  ...getters,
  ['getTime', (date) => date.getTime()],
  ['valueOf', (date) => date.getTime()],
  ['toISOString', iso],
  ['toJSON', (date, args, run, at) => (Number.isNaN(date.getTime()) ? null : iso(date, args, run, at))],
  ['toString', (date, _args, run, at) => textOf(run, date, at)],
]);

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
  const texts = made(run, list, at).map((item) => ({
    item,
    text: item === undefined ? undefined : textOf(run, item, at),
  }));
  texts.sort((a, b) => {
    if (a.text === undefined || b.text === undefined)
      return Number(a.text === undefined) - Number(b.text === undefined);
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
    join: (list, [separator], run, at) =>
      joined(run, list, separator === undefined ? ',' : textOf(run, separator, at), at),
    lastIndexOf: find((list, wanted, from) =>
      from === undefined ? list.lastIndexOf(wanted) : list.lastIndexOf(wanted, from),
    ),
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
type Walk = (
  list: List,
  callback: Callback,
  context: Readonly<{ run: Run; at: number; start: Step | undefined }>,
) => Value;

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
  for (let place = start === undefined ? 1 : 0; place < list.length; place += 1)
    sum = callback(run, sum, list[place], place, list);
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
    findLastIndex: (list, callback, { run }) =>
      list.findLastIndex((item, place) => isTruthy(callback(run, item, place, list))),
    flatMap,
    map,
    reduce,
    some: (list, callback, { run }) => list.some((item, place) => isTruthy(callback(run, item, place, list))),
    sort: sortBy,
    toSorted: sortBy,
  }),
);
