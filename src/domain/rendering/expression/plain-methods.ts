/** The methods of numbers, booleans and instants that expressions have. An instant shows the clock and calendar of UTC. */
import { numberOf, textOf } from './convert.js';
import { ExpressionError } from './errors.js';
import type { Run, Value } from './values.js';
import type { Method } from './text-methods.js';

const DIGITS_MAX = 100;

/** A whole number within bounds, where JavaScript would throw a RangeError of its own. */
const wholeArgument = (name: string, value: Value, range: Readonly<{ min: number; max: number; run: Run; at: number }>): number => {
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
    (value, [radix], run, at) => value.toString(radix === undefined ? 10 : wholeArgument('toString', radix, { min: 2, max: 36, run, at })),
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

export const dateMethods: ReadonlyMap<string, Method<Date>> = new Map<string, Method<Date>>([
  ...getters,
  ['getTime', (date) => date.getTime()],
  ['valueOf', (date) => date.getTime()],
  ['toISOString', iso],
  ['toJSON', (date, args, run, at) => (Number.isNaN(date.getTime()) ? null : iso(date, args, run, at))],
  ['toString', (date, _args, run, at) => textOf(run, date, at)],
]);
