/** The eleven operators of a conditional, and what "equal" and "less" mean between values that came as JSON. */
import type { Json } from '../../core/json.js';
import { parseDate } from './dates.js';
import { isArray } from './path.js';

export const operators = [
  '==',
  '!=',
  '>',
  '<',
  '>=',
  '<=',
  'contains',
  'startsWith',
  'endsWith',
  'exists',
  'isEmpty',
] as const;
export type Operator = (typeof operators)[number];

export const isOperator = (text: unknown): text is Operator => operators.some((operator) => operator === text);

/** The operators that look at one value only; the others need `value`. */
export const isUnary = (operator: Operator): boolean => operator === 'exists' || operator === 'isEmpty';

/**
 * Coercion, the same for all outputs:
 * - a number meets a numeric text as numbers (`"10" == 10`, `"9" < "10"`);
 * - two ISO dates meet as instants;
 * - a boolean meets the texts "true" and "false";
 * - anything else meets as text where both are text, else the comparison is false (and `!=` true);
 * - a missing value and null are the same.
 */
export const holds = (operator: Operator, left: Json | undefined, right: Json | undefined): boolean => {
  switch (operator) {
    case '==':
      return looselyEqual(left, right);
    case '!=':
      return !looselyEqual(left, right);
    case '>':
      return order(left, right) === 1;
    case '<':
      return order(left, right) === -1;
    case '>=':
      return atLeast(order(left, right), 1);
    case '<=':
      return atLeast(order(left, right), -1);
    case 'contains':
      return contains(left, right);
    case 'startsWith':
      return bothText(left, right, (whole, part) => whole.startsWith(part));
    case 'endsWith':
      return bothText(left, right, (whole, part) => whole.endsWith(part));
    case 'exists':
      return left !== undefined && left !== null;
    case 'isEmpty':
      return isEmpty(left);
  }
};

/** Missing, null, "", [] and {}; 0 and false are values. */
export const isEmpty = (value: Json | undefined): boolean => {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object') return false;
  return isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
};

/** Decimal notation only: "0x10", "" and " " are text, not numbers. */
const NUMERIC = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\s*$/;

const DIGITS_MAX = 15;
const SCALE = 1e6;
const SCALED_MAX = 1e15;

/**
 * The number with the 15 digits that a double holds for certain, so that 0.1 + 0.2 is 0.3. Numbers of at most six
 * decimals, as amounts are, have them already.
 */
export const decimal = (value: number): number => {
  const scaled = Math.round(value * SCALE);
  if (Number.isInteger(value) || (Math.abs(scaled) < SCALED_MAX && scaled / SCALE === value) || !Number.isFinite(value))
    return value;
  return Number(value.toPrecision(DIGITS_MAX));
};

/** In: any value. Out: the number it is or spells, or undefined. */
export const toNumber = (value: Json | undefined): number | undefined => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.length <= 400 && NUMERIC.test(value) ? Number(value) : undefined;
};

const looselyEqual = (left: Json | undefined, right: Json | undefined): boolean => {
  if (left === undefined || left === null) return right === undefined || right === null;
  if (right === undefined || right === null) return false;
  if (left === right) return true;
  if (typeof left === 'number' || typeof right === 'number') {
    const [a, b] = [toNumber(left), toNumber(right)];
    return a !== undefined && b !== undefined && decimal(a) === decimal(b);
  }
  if (typeof left === 'boolean' || typeof right === 'boolean')
    return typeof left !== 'object' && typeof right !== 'object' && String(left) === String(right);
  if (typeof left === 'string' && typeof right === 'string') {
    const [a, b] = [parseDate(left), parseDate(right)];
    return a !== undefined && b !== undefined && a.epochMs === b.epochMs;
  }
  return false;
};

/** -1, 0 or 1; undefined where the two have no order. */
const order = (left: Json | undefined, right: Json | undefined): -1 | 0 | 1 | undefined => {
  const [a, b] = [toNumber(left), toNumber(right)];
  if (a !== undefined && b !== undefined) return sign(decimal(a), decimal(b));
  if (typeof left !== 'string' || typeof right !== 'string') return undefined;
  const [from, to] = [parseDate(left), parseDate(right)];
  if (from !== undefined && to !== undefined) return sign(from.epochMs, to.epochMs);
  return sign(left, right);
};

const sign = <T extends number | string>(a: T, b: T): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0);

const atLeast = (found: -1 | 0 | 1 | undefined, side: -1 | 1): boolean => found === 0 || found === side;

const contains = (whole: Json | undefined, part: Json | undefined): boolean =>
  isArray(whole)
    ? whole.some((item) => looselyEqual(item, part))
    : bothText(whole, part, (text, piece) => text.includes(piece));

const bothText = (
  whole: Json | undefined,
  part: Json | undefined,
  test: (whole: string, part: string) => boolean,
): boolean => {
  const [text, piece] = [toText(whole), toText(part)];
  return text !== undefined && piece !== undefined && test(text, piece);
};

const toText = (value: Json | undefined): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;
