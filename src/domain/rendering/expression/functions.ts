/**
 * The functions and constants that expressions have: Number(…), Math.round(…), Date.now(), Object.keys(…) and their
 * like.
 */
import {
  isTruthy,
  numberOf,
  textOf,
  ExpressionError,
  memberNames,
  charge,
  checkItems,
  costOfText,
  isDate,
  isList,
  isObject,
  type Run,
  type Value,
} from './values.js';
import { addToDate, parseDate, type DateUnit } from '../scope/dates.js';

export type StaticFunction = (args: readonly Value[], run: Run, at: number) => Value;
type Functions = Readonly<Record<string, StaticFunction>>;

const mapOf = (functions: Functions): ReadonlyMap<string, StaticFunction> => new Map(Object.entries(functions));

const ofNumber =
  (apply: (value: number) => Value): StaticFunction =>
  ([value], run, at) =>
    apply(numberOf(run, value, at));
const ofNumbers =
  (apply: (...values: number[]) => number): StaticFunction =>
  (args, run, at) =>
    apply(...args.map((arg) => numberOf(run, arg, at)));
const ofTwo =
  (apply: (first: number, second: number) => number): StaticFunction =>
  ([first, second], run, at) =>
    apply(numberOf(run, first, at), numberOf(run, second, at));

const numberText = (run: Run, value: Value, at: number): string => {
  const text = textOf(run, value, at);
  charge(run, costOfText(text.length), at);
  return text;
};

const parseFloatOf: StaticFunction = ([value], run, at) => parseFloat(numberText(run, value, at));
const parseIntOf: StaticFunction = ([value, radix], run, at) =>
  parseInt(numberText(run, value, at), radix === undefined ? undefined : numberOf(run, radix, at));

const ROUND_DIGITS_MAX = 15;

/**
 * To so many decimals, as formats write them: half away from zero, and by the decimal that a number is written as
 * (1.005 is 1.01).
 */
const roundOf: StaticFunction = ([value, digits], run, at) => {
  const number = numberOf(run, value, at);
  const places = digits === undefined ? 0 : numberOf(run, digits, at);
  if (!Number.isInteger(places) || places < 0 || places > ROUND_DIGITS_MAX)
    throw new ExpressionError('WRONG_ARGUMENT', `calls "round" with other digits than 0 to ${ROUND_DIGITS_MAX}`, at);
  const moved = (by: number, power: number): number => {
    const [mantissa = '', exponent = '0'] = String(by).split('e');
    return Number(`${mantissa}e${Number(exponent) + power}`);
  };
  const size = Math.abs(number);
  const rounded = Number.isFinite(size) ? moved(Math.round(moved(size, places)), -places) : size;
  return number < 0 && rounded !== 0 ? -rounded : rounded;
};

/** Asking the clock of a time zone takes about as long. */
const CLOCK_OPERATIONS = 10;

/**
 * `addDays(date, count)` and its like: a text answers a text, an instant an instant, and a date that is missing stays
 * so. The time on the clock of the mail's time zone stays the same.
 */
const addOf =
  (name: string, unit: DateUnit): StaticFunction =>
  ([date, count], run, at) => {
    if (date === undefined || date === null) return undefined;
    const instant = isDate(date)
      ? { epochMs: date.getTime(), dateOnly: false }
      : typeof date === 'string'
        ? parseDate(date)
        : undefined;
    if (instant === undefined || Number.isNaN(instant.epochMs))
      throw new ExpressionError(
        'WRONG_ARGUMENT',
        `calls "${name}" with something that is no date: ISO 8601 text such as 2026-11-21`,
        at,
      );
    const whole = count === undefined || count === null ? NaN : numberOf(run, count, at);
    if (!Number.isInteger(whole))
      throw new ExpressionError(
        'WRONG_ARGUMENT',
        `calls "${name}" with something that is no whole number of ${unit}`,
        at,
      );
    if (!instant.dateOnly && run.timeZone !== 'UTC') charge(run, CLOCK_OPERATIONS, at);
    const added = addToDate(instant, { unit, count: whole }, run.timeZone);
    if (added === undefined) throw new ExpressionError('TOO_LARGE', `calls "${name}" beyond the years 0 to 9999`, at);
    if (isDate(date)) return added;
    return instant.dateOnly ? added.toISOString().slice(0, 10) : added.toISOString();
  };

/** Called as `name(…)`. */
export const globalFunctions = mapOf({
  addDays: addOf('addDays', 'days'),
  addMonths: addOf('addMonths', 'months'),
  addYears: addOf('addYears', 'years'),
  Boolean: ([value]) => isTruthy(value),
  isFinite: ofNumber(Number.isFinite),
  isNaN: ofNumber(Number.isNaN),
  Number: (args, run, at) => (args.length === 0 ? 0 : numberOf(run, args[0], at)),
  parseFloat: parseFloatOf,
  parseInt: parseIntOf,
  round: roundOf,
  String: (args, run, at) => (args.length === 0 ? '' : textOf(run, args[0], at)),
});

const {
  abs,
  acos,
  asin,
  atan,
  atan2,
  cbrt,
  ceil,
  cos,
  exp,
  expm1,
  floor,
  hypot,
  log,
  log10,
  log1p,
  log2,
  max,
  min,
  round,
  sign,
  sin,
  sqrt,
  tan,
  trunc,
} = Math;

const mathFunctions = mapOf({
  ...Object.fromEntries(
    Object.entries({
      abs,
      acos,
      asin,
      atan,
      cbrt,
      ceil,
      cos,
      exp,
      expm1,
      floor,
      log,
      log10,
      log1p,
      log2,
      round,
      sign,
      sin,
      sqrt,
      tan,
      trunc,
    }).map(([name, apply]) => [name, ofNumber(apply)]),
  ),
  atan2: ofTwo(atan2),
  hypot: ofNumbers(hypot),
  max: ofNumbers(max),
  min: ofNumbers(min),
  pow: ofTwo((base, exponent) => base ** exponent),
});

const check =
  (holds: (value: unknown) => boolean): StaticFunction =>
  ([value]) =>
    holds(value);

const numberFunctions = mapOf({
  isFinite: check(Number.isFinite),
  isInteger: check(Number.isInteger),
  isNaN: check(Number.isNaN),
  isSafeInteger: check(Number.isSafeInteger),
  parseFloat: parseFloatOf,
  parseInt: parseIntOf,
});

/** Years 0 to 99 mean 1900 to 1999, as in JavaScript. */
const utcMs = (args: readonly Value[], run: Run, at: number): number => {
  const [year = NaN, month = 0, day = 1, hour = 0, minute = 0, second = 0, ms = 0] = args.map((arg) =>
    numberOf(run, arg, at),
  );
  return Date.UTC(year, month, day, hour, minute, second, ms);
};

/** Texts are read as everywhere in templates: ISO 8601, UTC where no offset stands. */
const msOfText = (text: string): number => parseDate(text)?.epochMs ?? NaN;

const nowMs = ({ at }: Run): number => Date.parse(at);

const dateFunctions = mapOf({
  now: (_args, run) => nowMs(run),
  parse: ([value], run, at) => msOfText(textOf(run, value, at)),
  UTC: utcMs,
});

/** `new Date(…)`: the pinned instant, an ISO text, milliseconds, another instant, or the parts of a date in UTC. */
export const newDate: StaticFunction = (args, run, at) => {
  const [first] = args;
  if (args.length === 0) return new Date(nowMs(run));
  if (args.length > 1) return new Date(utcMs(args, run, at));
  return new Date(typeof first === 'string' ? msOfText(first) : numberOf(run, first, at));
};

/** Answers something for each own member of an object or place of an array. */
const eachMember =
  (answer: (name: string, value: Value) => Value): StaticFunction =>
  ([value], run, at) => {
    if (!isObject(value) && !isList(value))
      throw new ExpressionError(
        'WRONG_ARGUMENT',
        'asks for the members of something that is neither an object nor an array',
        at,
      );
    const names = memberNames(value);
    checkItems(run, names.length, at);
    charge(run, names.length, at);
    return names.map((name) => answer(name, isList(value) ? value[Number(name)] : value[name]));
  };

/** Called as `Namespace.name(…)`. */
export const namespaces: ReadonlyMap<string, ReadonlyMap<string, StaticFunction>> = new Map([
  ['Array', mapOf({ isArray: ([value]) => isList(value) })],
  ['Date', dateFunctions],
  ['Math', mathFunctions],
  ['Number', numberFunctions],
  [
    'Object',
    mapOf({
      entries: eachMember((name, value) => [name, value]),
      keys: eachMember((name) => name),
      values: eachMember((_name, value) => value),
    }),
  ],
]);

const { E, LN10, LN2, LOG10E, LOG2E, PI, SQRT1_2, SQRT2 } = Math;
const { EPSILON, MAX_SAFE_INTEGER, MAX_VALUE, MIN_SAFE_INTEGER, MIN_VALUE } = Number;

/** Read as `Namespace.NAME`. */
export const namespaceConstants: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map([
  ['Math', new Map(Object.entries({ E, LN10, LN2, LOG10E, LOG2E, PI, SQRT1_2, SQRT2 }))],
  ['Number', new Map(Object.entries({ EPSILON, MAX_SAFE_INTEGER, MAX_VALUE, MIN_SAFE_INTEGER, MIN_VALUE }))],
]);

/** Names that stand for a value by themselves. */
export const valueNames: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['undefined', undefined],
  ['NaN', NaN],
  ['Infinity', Infinity],
]);

/** True for names that mean something only when they are called. */
export const isFunctionName = (name: string): boolean => globalFunctions.has(name) || namespaces.has(name);

/** The functions that may stand where an arrow function is expected, as in `filter(Boolean)`. */
export const callbackFunctions: ReadonlySet<string> = new Set(['Boolean', 'Number', 'String']);
