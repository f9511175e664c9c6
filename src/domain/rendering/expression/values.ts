/**
 * Values that expressions compute with: their conversions, members and JSON; and the budget, the state and the errors
 * of one evaluation. Conversions follow JavaScript's rules, but never call a method of a value.
 */
import type { Json, JsonObject } from '../../core/json.js';
import type { ExpressionLimits } from '../../core/limits.js';

/** Faults of an expression, when it is read and when it is evaluated. */
export type ExpressionReason =
  /** The source is not JavaScript. */
  | 'SYNTAX'
  /** The source is JavaScript that expressions do not have. */
  | 'NOT_ALLOWED'
  | 'UNKNOWN_NAME'
  | 'UNKNOWN_METHOD'
  | 'WRONG_ARGUMENT'
  /** A member of something missing, a method that a value of this type does not have. */
  | 'WRONG_VALUE'
  | 'TOO_LONG'
  | 'TOO_DEEP'
  | 'TOO_MANY_OPERATIONS'
  /** A text, an array or a result beyond its bound. */
  | 'TOO_LARGE'
  /** The result cannot be written as JSON: NaN, Infinity, an invalid date. */
  | 'NO_JSON';

/**
 * `message` is the rest of a sentence that begins with the expression; it holds text of the expression, never values.
 */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly reason: ExpressionReason;
  /** Place in the source, in UTF-16 units from 0. */
  readonly at: number;

  constructor(reason: ExpressionReason, message: string, at: number) {
    super(message);
    this.reason = reason;
    this.at = at;
  }
}

/**
 * JSON, undefined, and instants. Functions are never values, so nothing that can be called can be reached through a
 * value.
 */
export type Value = Json | undefined | Date | readonly Value[] | ValueObject;
type ValueObject = { readonly [name: string]: Value };

/** One evaluation under way. */
export type Run = {
  readonly scope: JsonObject;
  readonly constants: Readonly<Record<string, Json>>;
  /** The pinned instant (ISO time): what "now" is. */
  readonly at: string;
  /** The language of the mail, by whose rules `localeCompare` orders. */
  readonly locale: string;
  /** The time zone of the mail, by whose clock days, months and years are added. */
  readonly timeZone: string;
  readonly limits: ExpressionLimits;
  readonly operationsMax: number;
  operationsLeft: number;
  /**
   * Parameters of arrow functions. A function is never a value, so none can run inside itself and each has places of
   * its own.
   */
  readonly locals: Value[];
  /** Something that is no text was joined to one: what is missing, null, no number, or an object. */
  lacks: boolean;
  /** Parts of texts are set apart from the words around. */
  readonly setsApart: boolean;
};

/** A compiled part of an expression. */
export type Step = (run: Run) => Value;

/** Marks "the chain ended early" between the steps of `a?.b.c`; never leaves the chain. */
export const SKIPPED: ValueObject = Object.freeze({});

const written = new Intl.NumberFormat('en-US');
const n = (value: number): string => written.format(value);

/**
 * Takes operations off the budget; throws TOO_MANY_OPERATIONS where it does not suffice. One each: an operator, a call
 * (or one for each argument where there are more), a call of an arrow function, an access by `[…]`, a part of a
 * template, an array or an object, an item that a method without a function goes over; and one for every 256 characters
 * that are read, compared or made. Literals, names and `.name` are free: the depth of the tree bounds how many stand
 * under one operation.
 */
export const charge = (run: Run, operations: number, at: number): void => {
  run.operationsLeft -= operations;
  if (run.operationsLeft >= 0) return;
  throw new ExpressionError(
    'TOO_MANY_OPERATIONS',
    `takes more than ${n(run.operationsMax)} operations, which is the maximum`,
    at,
  );
};

const CHARS_PER_OPERATION = 256;

/** The operations that reading or writing so many characters counts as. */
export const costOfText = (chars: number): number => Math.floor(chars / CHARS_PER_OPERATION);

/** Accounts for a text that was made. */
export const madeText = (run: Run, text: string, at: number): string => {
  checkTextSize(run, text.length, at);
  if (text.length >= CHARS_PER_OPERATION) charge(run, costOfText(text.length), at);
  return text;
};

/** Call before making a text of a size that the author chooses. */
export const checkTextSize = ({ limits }: Run, chars: number, at: number): void => {
  const max = limits.expressionTextCharsMax;
  if (!(chars <= max))
    throw new ExpressionError('TOO_LARGE', `makes a text of ${n(chars)} characters, the maximum is ${n(max)}`, at);
};

/** Call before an array or an object grows to this size. */
export const checkItems = ({ limits }: Run, items: number, at: number): void => {
  const max = limits.expressionItemsMax;
  if (!(items <= max))
    throw new ExpressionError(
      'TOO_LARGE',
      `makes an array or object of at least ${n(items)} items, the maximum is ${n(max)}`,
      at,
    );
};

/** `Array.isArray` that narrows as values need it. */
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isDate = (value: Value): value is Date => value instanceof Date;

/** An object that is neither an array nor an instant. */
export const isObject = (value: Value): value is ValueObject =>
  typeof value === 'object' && value !== null && !isList(value) && !isDate(value);

/** Names the kind of a value for a message; never the value itself. */
export const kindOf = (value: Value): string => {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (isList(value)) return 'an array';
  if (isDate(value)) return 'a date';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'a number' : 'a boolean';
};

/** `Boolean(value)`. */
export const isTruthy = (value: Value): boolean => Boolean(value);

/** `String(value)`; an instant is its ISO text, wherever the process runs. */
export const textOf = (run: Run, value: Value, at: number): string => {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (isList(value)) return joined(run, value, ',', at);
  return isDate(value) ? isoOf(value) : '[object Object]';
};

/** `textOf` for a part of a longer text; notes a part that says nothing to a reader. */
export const partOf = (run: Run, value: Value, at: number): string => {
  if (
    value === undefined ||
    value === null ||
    isObject(value) ||
    (typeof value === 'number' && !Number.isFinite(value))
  )
    run.lacks = true;
  return textOf(run, value, at);
};

const isoOf = (date: Date): string => (Number.isNaN(date.getTime()) ? 'Invalid Date' : date.toISOString());

/** `list.join(separator)`, each item counted, nested arrays included. */
export const joined = (run: Run, list: readonly Value[], separator: string, at: number): string => {
  let text = '';
  list.forEach((item, place) => {
    charge(run, 1, at);
    if (place > 0) text = concat(run, text, separator, at);
    if (item !== null && item !== undefined) text = concat(run, text, textOf(run, item, at), at);
  });
  return text;
};

/** Joins two texts. The shorter one is charged: the engine does not copy the longer one. */
export const concat = (run: Run, left: string, right: string, at: number): string => {
  checkTextSize(run, left.length + right.length, at);
  const cost = costOfText(Math.min(left.length, right.length));
  if (cost > 0) charge(run, cost, at);
  return left + right;
};

/** `Number(value)`; an instant is its milliseconds since 1970. */
export const numberOf = (run: Run, value: Value, at: number): number => {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return numberFromText(run, value, at);
  if (isDate(value)) return value.getTime();
  if (isList(value)) return numberFromText(run, textOf(run, value, at), at);
  return value === null ? 0 : typeof value === 'boolean' ? Number(value) : NaN;
};

const numberFromText = (run: Run, text: string, at: number): number => {
  charge(run, costOfText(text.length), at);
  return Number(text);
};

type Primitive = null | undefined | boolean | number | string;

/** The primitive that an operator works with; a date is a number where things are ordered, a text elsewhere. */
export const primitiveOf = (run: Run, value: Value, hint: 'number' | 'default', at: number): Primitive => {
  if (typeof value !== 'object' || value === null) return value;
  return hint === 'number' && isDate(value) ? value.getTime() : textOf(run, value, at);
};

/** Names that lead to the machinery behind a value. */
const barred: ReadonlySet<string> = new Set([
  '__proto__',
  'constructor',
  'prototype',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
]);

/** Throws NOT_ALLOWED for names that are refused even where a value has a member of that name. */
export const refuseBarred = (name: string, at: number): void => {
  if (barred.has(name))
    throw new ExpressionError('NOT_ALLOWED', `uses "${name}", a name that expressions do not have`, at);
};

/**
 * A member by a name that is not barred. The value is neither null nor undefined. An array and a text have `length` and
 * their places.
 */
export const ownMember = (value: Value, name: string): Value => {
  if (typeof value === 'string') return name === 'length' ? value.length : textPlace(value, name);
  if (typeof value !== 'object' || value === null || isDate(value)) return undefined;
  if (isList(value)) return name === 'length' ? value.length : listPlace(value, name);
  return Object.hasOwn(value, name) ? value[name] : undefined;
};

/** A place by its number: quicker than by its name, and the same. */
export const placeAt = (list: readonly Value[], place: number): Value =>
  Number.isInteger(place) && place >= 0 && place < list.length ? list[place] : undefined;

const PLACE = /^(?:0|[1-9]\d{0,9})$/;

const listPlace = (list: readonly Value[], name: string): Value =>
  PLACE.test(name) ? placeAt(list, Number(name)) : undefined;

const textPlace = (text: string, name: string): Value => (PLACE.test(name) ? text[Number(name)] : undefined);

/** `name in value`: own members, places and `length` only. */
export const hasMember = (run: Run, name: string, value: Value, at: number): boolean => {
  refuseBarred(name, at);
  if (isObject(value)) return Object.hasOwn(value, name);
  if (isList(value)) return name === 'length' || (PLACE.test(name) && Number(name) < value.length);
  throw new ExpressionError('WRONG_VALUE', '"in" needs an object or an array on its right', at);
};

/** The names of an object's members, or an array's places. `__proto__`, which JSON can hold, is left out. */
export const memberNames = (value: ValueObject | readonly Value[]): readonly string[] => {
  const names = Object.keys(value);
  return names.includes('__proto__') ? names.filter((name) => name !== '__proto__') : names;
};

/** Size that is left for the results of one call; its calculated variables share it. */
export type ResultSize = { charsLeft: number };

type Bounds = Readonly<{ size: ResultSize; depthMax: number }>;

/**
 * Turns the result of an expression into JSON of its own, within a size. Dates become ISO texts; undefined is left out
 * of objects and becomes null in arrays, as JSON.stringify has it. Throws NO_JSON for NaN, Infinity and invalid dates,
 * TOO_LARGE beyond the size (an array that stands in two places counts twice) or the depth.
 */
export const toJson = (value: Value, bounds: Bounds): Json | undefined => nested(value, bounds, 1);

const nested = (value: Value, bounds: Bounds, depth: number): Json | undefined => {
  // Charged first: a value that adds nothing to the result has been walked all the same.
  take(typeof value === 'string' ? value.length + VALUE_CHARS : VALUE_CHARS, bounds);
  if (value === undefined || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return finite(value);
  if (value === null) return null;
  if (isDate(value)) return isoText(value);
  if (depth > bounds.depthMax)
    throw new ExpressionError(
      'TOO_LARGE',
      `results in something nested deeper than ${bounds.depthMax}, which is the maximum`,
      0,
    );
  if (isList(value)) return value.map((item) => nested(item, bounds, depth + 1) ?? null);
  // Copied as a whole, which is far quicker than member by member; most members stay what they are.
  const members = { ...value } as Record<string, Json>;
  for (const name of Object.keys(value)) {
    const member = name === '__proto__' ? undefined : nested(value[name], bounds, depth + 1);
    if (member === undefined) {
      delete members[name];
      continue;
    }
    take(name.length, bounds);
    if (!Object.is(member, value[name])) members[name] = member;
  }
  return members;
};

/** Characters that each value counts beside its text, for holding and walking it. */
const VALUE_CHARS = 8;

const take = (chars: number, { size }: Bounds): void => {
  size.charsLeft -= chars;
  if (size.charsLeft < 0)
    throw new ExpressionError('TOO_LARGE', 'results in more than calculated variables may hold together', 0);
};

/** JSON knows no -0 either. */
const finite = (value: number): number => {
  if (Number.isFinite(value)) return value === 0 ? 0 : value;
  throw new ExpressionError(
    'NO_JSON',
    `results in ${value}, which is not a number that can be written; a value may be missing, or a division may be by 0`,
    0,
  );
};

const isoText = (date: Date): string => {
  if (Number.isNaN(date.getTime()))
    throw new ExpressionError(
      'NO_JSON',
      'results in an invalid date: dates are read from ISO 8601 text such as 2026-11-21T09:30:00Z',
      0,
    );
  return date.toISOString();
};
