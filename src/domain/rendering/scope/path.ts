/** Paths into the variables (`customer.name`, `order.items[0].name`): their grammar, and how one is read without ever touching a prototype. */
import type { Json } from '../../core/json.js';

/** A name first, then names (members of objects) and numbers (places in arrays). */
export type Path = readonly (string | number)[];

export type ParsedPath = Readonly<{ ok: true; path: Path }> | Readonly<{ ok: false; message: string }>;

export const NAME_CHARS_MAX = 100;
export const PATH_NAME = /^[\p{L}_][\p{L}\p{N}_-]*$/u;
const INDEX = /^[0-9]{1,6}$/;

/** True for what may be the name of a variable or of a member: a letter or `_`, then letters, digits, `_`, `-`; at most 100 characters. */
export const isName = (text: string): boolean => text.length <= NAME_CHARS_MAX && text !== '__proto__' && PATH_NAME.test(text);

/** True for the form of a global constant, `__NAME__`; no variable may have such a name. */
export const isConstantName = (text: string): boolean => text.startsWith('__') && text.endsWith('__') && text.length > 4;

/**
 * In: the text of a path without braces, and how many segments it may have.
 * Out: its segments, or a sentence that says what is wrong with it.
 */
export const parsePath = (text: string, segmentsMax: number): ParsedPath => {
  const path: (string | number)[] = [];
  let rest = text;
  let first = true;
  while (first || rest !== '') {
    const step = first ? parseName(rest, text) : parseStep(rest, text);
    if (typeof step === 'string') return { ok: false, message: step };
    path.push(step.segment);
    rest = step.rest;
    first = false;
    if (path.length > segmentsMax) return { ok: false, message: `"${shorten(text)}" has more than ${segmentsMax} segments` };
  }
  return { ok: true, path };
};

/** Reads own members only: a missing step, a primitive on the way or an inherited name gives undefined. */
export const readPath = (root: Json | undefined, path: Path): Json | undefined => {
  let value = root;
  for (const segment of path) {
    value = readStep(value, segment);
    if (value === undefined) return undefined;
  }
  return value;
};

/** One step of a path. An array has its places and its `length`, an object its own members; nothing else has anything. */
export const readStep = (value: Json | undefined, segment: string | number): Json | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (isArray(value)) {
    if (typeof segment === 'number') return value[segment];
    return segment === 'length' ? value.length : undefined;
  }
  return typeof segment === 'string' && Object.hasOwn(value, segment) ? value[segment] : undefined;
};

/** The path as one writes it: `order.items[0].name`. */
export const writePath = (path: Path): string =>
  path.map((segment, at) => (typeof segment === 'number' ? `[${segment}]` : at === 0 ? segment : `.${segment}`)).join('');

/** `Array.isArray` that also narrows arrays that may not be changed. */
export const isArray = (value: unknown): value is readonly Json[] => Array.isArray(value);

/** Cuts text for a message. */
export const shorten = (text: string, charsMax = 60): string => (text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`);

type Step = Readonly<{ segment: string | number; rest: string }>;

const parseName = (rest: string, whole: string): Step | string => {
  const end = rest.search(/[.[]/);
  const name = end < 0 ? rest : rest.slice(0, end);
  if (name === '') return `"${shorten(whole)}" lacks a name where one is expected`;
  if (!isName(name)) {
    return `"${shorten(name)}" is not a name: names are letters, digits, "_" and "-", and do not begin with a digit`;
  }
  return { segment: name, rest: end < 0 ? '' : rest.slice(end) };
};

const parseStep = (rest: string, whole: string): Step | string => {
  if (rest.startsWith('.')) return parseName(rest.slice(1), whole);
  if (!rest.startsWith('[')) return `"${shorten(whole)}" goes on after "]" with something other than "." or "["`;
  const close = rest.indexOf(']');
  if (close < 0) return `"${shorten(whole)}" has a "[" without its "]"`;
  const index = rest.slice(1, close);
  if (!INDEX.test(index)) return `"[${shorten(index)}]" is not an index: a number from 0 to 999999 is expected`;
  return { segment: Number(index), rest: rest.slice(close + 1) };
};
