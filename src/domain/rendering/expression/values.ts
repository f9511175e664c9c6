/** The values that expressions compute with, the state of one evaluation, and the budget that it works against. */
import type { Json, JsonObject } from '../../core/json.js';
import { ExpressionError } from './errors.js';
import type { ExpressionLimits } from '../../core/expression-limits.js';

/** JSON, undefined, and instants. Functions are never values, so nothing that can be called can be reached through a value. */
export type Value = Json | undefined | Date | readonly Value[] | ValueObject;
export type ValueObject = { readonly [name: string]: Value };

/** One evaluation under way. */
export type Run = {
  readonly scope: JsonObject;
  readonly constants: Readonly<Record<string, Json>>;
  /** The pinned instant (ISO time): what "now" is. */
  readonly at: string;
  readonly limits: ExpressionLimits;
  readonly operationsMax: number;
  operationsLeft: number;
  /** Parameters of arrow functions. A function is never a value, so none can run inside itself and each has places of its own. */
  readonly locals: Value[];
};

/** A compiled part of an expression. */
export type Step = (run: Run) => Value;

/** Stands for "the chain ended early" between the steps of `a?.b.c`; never leaves the chain. */
export const SKIPPED: ValueObject = Object.freeze({});

const written = new Intl.NumberFormat('en-US');
const n = (value: number): string => written.format(value);

/**
 * Takes operations off the budget; throws TOO_MANY_OPERATIONS where it does not suffice. One each: an operator, a call (or one
 * for each argument where there are more), a call of an arrow function, an access by `[…]`, a part of a template, an array or
 * an object, an item that a method without a function goes over; and one for every 256 characters that are read, compared or made.
 * Literals, names and `.name` are free: the depth of the tree bounds how many stand under one operation.
 */
export const charge = (run: Run, operations: number, at: number): void => {
  run.operationsLeft -= operations;
  if (run.operationsLeft >= 0) return;
  throw new ExpressionError('TOO_MANY_OPERATIONS', `takes more than ${n(run.operationsMax)} operations, which is the maximum`, at);
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

/** To be asked before a text of a size that the author chooses is made. */
export const checkTextSize = ({ limits }: Run, chars: number, at: number): void => {
  const max = limits.expressionTextCharsMax;
  if (!(chars <= max)) throw new ExpressionError('TOO_LARGE', `makes a text of ${n(chars)} characters, the maximum is ${n(max)}`, at);
};

/** To be asked before an array or an object grows to this size. */
export const checkItems = ({ limits }: Run, items: number, at: number): void => {
  const max = limits.expressionItemsMax;
  if (!(items <= max))
    throw new ExpressionError('TOO_LARGE', `makes an array or object of at least ${n(items)} items, the maximum is ${n(max)}`, at);
};

/** `Array.isArray` that narrows as values need it. */
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isDate = (value: Value): value is Date => value instanceof Date;

/** An object that is neither an array nor an instant. */
export const isObject = (value: Value): value is ValueObject =>
  typeof value === 'object' && value !== null && !isList(value) && !isDate(value);

/** What a value is, for a message; never the value itself. */
export const kindOf = (value: Value): string => {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (isList(value)) return 'an array';
  if (isDate(value)) return 'a date';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'a number' : 'a boolean';
};
