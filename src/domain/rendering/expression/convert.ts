/** How values become texts, numbers and primitives: JavaScript's rules, but no method of a value is ever called for it. */
import { charge, checkTextSize, costOfText, isDate, isList, type Run, type Value } from './values.js';

/** `Boolean(value)`. */
export const isTruthy = (value: Value): boolean => Boolean(value);

/** `String(value)`; an instant is its ISO text, wherever the process runs. */
export const textOf = (run: Run, value: Value, at: number): string => {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (isList(value)) return joined(run, value, ',', at);
  return isDate(value) ? isoOf(value) : '[object Object]';
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

/** Two texts in a row. The shorter one counts: the engine does not copy the longer one. */
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

/** What an operator sees of a value; an instant is a number where things are ordered, a text elsewhere. */
export const primitiveOf = (run: Run, value: Value, hint: 'number' | 'default', at: number): Primitive => {
  if (typeof value !== 'object' || value === null) return value;
  return hint === 'number' && isDate(value) ? value.getTime() : textOf(run, value, at);
};
