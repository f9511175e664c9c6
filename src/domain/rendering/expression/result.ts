/** Turns what an expression came to into JSON of its own, within a size. */
import type { Json } from '../../json.js';
import { ExpressionError } from './errors.js';
import { memberNames } from './members.js';
import { isDate, isList, type Value } from './run.js';

/** What is left of the size of the results of one call; shared by its calculated variables. */
export type ResultSize = { charsLeft: number };

type Bounds = Readonly<{ size: ResultSize; depthMax: number }>;

/**
 * Instants become ISO texts; undefined is left out of objects and becomes null in arrays, as JSON.stringify has it. Throws
 * NO_JSON for NaN, Infinity and invalid dates, TOO_LARGE beyond the size (an array that stands in two places counts twice) or
 * the depth.
 */
export const toJson = (value: Value, bounds: Bounds): Json | undefined => {
  switch (typeof value) {
    case 'undefined': return undefined;
    case 'string': return take(value, value.length, bounds);
    case 'number': return take(finite(value), 1, bounds);
    case 'boolean': return take(value, 1, bounds);
  }
  return nested(value, bounds, 1);
};

const nested = (value: Value, bounds: Bounds, depth: number): Json | undefined => {
  if (typeof value !== 'object') return toJson(value, bounds);
  take(value, 1, bounds);
  if (value === null) return null;
  if (isDate(value)) return isoText(value);
  if (depth > bounds.depthMax) throw new ExpressionError('TOO_LARGE', `results in something nested deeper than ${bounds.depthMax}, which is the maximum`, 0);
  if (isList(value)) return value.map((item) => nested(item, bounds, depth + 1) ?? null);
  const members: [string, Json][] = [];
  for (const name of memberNames(value)) {
    const member = nested(value[name], bounds, depth + 1);
    if (member !== undefined) members.push([take(name, name.length, bounds), member]);
  }
  return Object.fromEntries(members);
};

const take = <T>(value: T, chars: number, { size }: Bounds): T => {
  size.charsLeft -= chars;
  if (size.charsLeft < 0) throw new ExpressionError('TOO_LARGE', 'results in more than calculated variables may hold together', 0);
  return value;
};

/** JSON knows no -0 either. */
const finite = (value: number): number => {
  if (Number.isFinite(value)) return value === 0 ? 0 : value;
  throw new ExpressionError('NO_JSON', `results in ${value}, which is not a number that can be written; a value may be missing, or a division may be by 0`, 0);
};

const isoText = (date: Date): string => {
  if (Number.isNaN(date.getTime())) throw new ExpressionError('NO_JSON', 'results in an invalid date: dates are read from ISO 8601 text such as 2026-11-21T09:30:00Z', 0);
  return date.toISOString();
};
