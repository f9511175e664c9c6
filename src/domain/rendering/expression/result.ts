/** Turns what an expression came to into JSON of its own, within a size. */
import type { Json } from '../../core/json.js';
import { ExpressionError } from './errors.js';
import { memberNames } from './members.js';
import { isDate, isList, type Value } from './values.js';

/** What is left of the size of the results of one call; shared by its calculated variables. */
export type ResultSize = { charsLeft: number };

type Bounds = Readonly<{ size: ResultSize; depthMax: number }>;

/**
 * Instants become ISO texts; undefined is left out of objects and becomes null in arrays, as JSON.stringify has it. Throws
 * NO_JSON for NaN, Infinity and invalid dates, TOO_LARGE beyond the size (an array that stands in two places counts twice) or
 * the depth.
 */
export const toJson = (value: Value, bounds: Bounds): Json | undefined => nested(value, bounds, 1);

const nested = (value: Value, bounds: Bounds, depth: number): Json | undefined => {
  // Before anything else: a value that comes to nothing has been walked all the same.
  take(typeof value === 'string' ? value.length + VALUE_CHARS : VALUE_CHARS, bounds);
  if (value === undefined || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return finite(value);
  if (value === null) return null;
  if (isDate(value)) return isoText(value);
  if (depth > bounds.depthMax)
    throw new ExpressionError('TOO_LARGE', `results in something nested deeper than ${bounds.depthMax}, which is the maximum`, 0);
  if (isList(value)) return value.map((item) => nested(item, bounds, depth + 1) ?? null);
  const members: [string, Json][] = [];
  for (const name of memberNames(value)) {
    const member = nested(value[name], bounds, depth + 1);
    if (member === undefined) continue;
    take(name.length, bounds);
    members.push([name, member]);
  }
  return Object.fromEntries(members);
};

/** What a value counts as beside its text: some of what it takes to hold and to walk it. */
const VALUE_CHARS = 8;

const take = (chars: number, { size }: Bounds): void => {
  size.charsLeft -= chars;
  if (size.charsLeft < 0) throw new ExpressionError('TOO_LARGE', 'results in more than calculated variables may hold together', 0);
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
    throw new ExpressionError('NO_JSON', 'results in an invalid date: dates are read from ISO 8601 text such as 2026-11-21T09:30:00Z', 0);
  return date.toISOString();
};
