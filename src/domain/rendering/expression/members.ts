/** Members of values: own ones only, and never the names that lead to the machinery behind them. */
import { ExpressionError } from './errors.js';
import { isDate, isList, isObject, type Run, type Value, type ValueObject } from './values.js';

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
  if (barred.has(name)) throw new ExpressionError('NOT_ALLOWED', `uses "${name}", a name that expressions do not have`, at);
};

/** A member by a name that is not barred. The value is neither null nor undefined. An array and a text have `length` and their places. */
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

const listPlace = (list: readonly Value[], name: string): Value => (PLACE.test(name) ? placeAt(list, Number(name)) : undefined);

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
