/**
 * Paths into the variables (`customer.name`, `order.items[0].name`, `order["1st item"]`): their grammar, how one is
 * read without ever touching a prototype, and which declared name a misspelt one may mean.
 */
import type { Json } from '../../core/json.js';

/** A name first, then names (members of objects) and numbers (places in arrays). */
export type Path = readonly (string | number)[];

type ParsedPath = Readonly<{ ok: true; path: Path }> | Readonly<{ ok: false; message: string }>;

export const NAME_CHARS_MAX = 100;
export const PATH_NAME = /^[\p{L}_][\p{L}\p{N}_-]*$/u;
const INDEX = /^[0-9]{1,6}$/;

/**
 * True for what may be the name of a variable or of a member: a letter or `_`, then letters, digits, `_`, `-`; at most
 * 100 characters.
 */
export const isName = (text: string): boolean =>
  text.length <= NAME_CHARS_MAX && text !== '__proto__' && PATH_NAME.test(text);

export const KEY_CHARS_MAX = 200;

/**
 * True for what may be the name of a variable or the key of a member: a name, or any other text, which stands in
 * brackets in a path.
 */
export const isKey = (text: string): boolean =>
  text.length <= KEY_CHARS_MAX && text.trim() !== '' && text !== '__proto__';

/** True for the form of a global constant, `__NAME__`; no variable may have such a name. */
export const isConstantName = (text: string): boolean =>
  text.startsWith('__') && text.endsWith('__') && text.length > 4;

/**
 * In: the text of a path without braces, and how many segments it may have.
 * Out: its segments, or a sentence that says what is wrong with it.
 */
export const parsePath = (text: string, segmentsMax: number): ParsedPath => {
  const path: (string | number)[] = [];
  let rest = text;
  let first = true;
  while (first || rest !== '') {
    const step = first && !QUOTED_FIRST.test(rest) ? parseName(rest, text) : parseStep(rest, text);
    if (typeof step === 'string') return { ok: false, message: step };
    path.push(step.segment);
    rest = step.rest;
    first = false;
    if (path.length > segmentsMax)
      return { ok: false, message: `"${shorten(text)}" has more than ${segmentsMax} segments` };
  }
  return { ok: true, path };
};

/**
 * Reads own members only: a missing step, a primitive on the way or an inherited name gives undefined. The segments
 * before `from` are passed over.
 */
export const readPath = (root: Json | undefined, path: Path, from = 0): Json | undefined => {
  let value = root;
  for (let at = from; at < path.length; at += 1) {
    value = readStep(value, path[at]!);
    if (value === undefined) return undefined;
  }
  return value;
};

/**
 * One step of a path. An array has its places and its `length`, an object its own members; nothing else has anything.
 */
export const readStep = (value: Json | undefined, segment: string | number): Json | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (isArray(value)) {
    if (typeof segment === 'number') return value[segment];
    return segment === 'length' ? value.length : undefined;
  }
  return typeof segment === 'string' && Object.hasOwn(value, segment) ? value[segment] : undefined;
};

/** The path as one writes it, one way for each: `order.items[0].name`, `order["1st item"]`. */
export const writePath = (path: Path): string => writeSteps(path).replace(/^\./, '');

/** In: a path as one writes it. Out: the field that errors name: `variables.order.items`, `variables["First name"]`. */
export const variableField = (written: string): string => `variables${written.startsWith('[') ? '' : '.'}${written}`;

/** Steps behind the beginning of a path: `.name`, `[0]`, `["1st item"]`. */
export const writeSteps = (steps: Path): string =>
  steps
    .map((step) => (typeof step === 'number' ? `[${step}]` : isName(step) ? `.${step}` : `[${quoted(step)}]`))
    .join('');

/** A key in quotation marks, without the characters that would end a placeholder or begin a tag. */
const quoted = (key: string): string =>
  JSON.stringify(key).replace(/[{}<>&\x7f-\x9f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);

/** `Array.isArray` that also narrows arrays that may not be changed. */
export const isArray = (value: unknown): value is readonly Json[] => Array.isArray(value);

/** Cuts text for a message. */
export const shorten = (text: string, charsMax = 60): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;

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
  if (QUOTED_FIRST.test(rest)) return parseKey(rest, whole);
  const close = rest.indexOf(']');
  if (close < 0) return `"${shorten(whole)}" has a "[" without its "]"`;
  const index = rest.slice(1, close);
  if (!INDEX.test(index)) return `"[${shorten(index)}]" is not an index: a number from 0 to 999999 is expected`;
  return { segment: Number(index), rest: rest.slice(close + 1) };
};

const QUOTED_FIRST = /^\[\s*["']/;
const QUOTED = /^\[\s*(?:"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)')\s*\]/;
const ESCAPE = /\\(u[0-9a-fA-F]{4}|[^])/g;
const ESCAPED: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  "'": "'",
  '/': '/',
  '\\': '\\',
};

/** A key in brackets and quotation marks, with the escapes of JSON. */
const parseKey = (rest: string, whole: string): Step | string => {
  const found = QUOTED.exec(rest);
  if (found === null)
    return `"${shorten(whole)}" has a key in brackets that does not end with its quotation mark and "]"`;
  const source = found[1] ?? found[2] ?? '';
  const bare = /[{}<>&]/.exec(source)?.[0];
  if (bare !== undefined)
    return `"${shorten(source)}" has "${bare}" in a key: write it as \\u00${bare.charCodeAt(0).toString(16)}, for it has a meaning in texts`;
  let wrong: string | undefined;
  const key = source.replace(ESCAPE, (escape, code: string) => {
    if (code.length === 5) return String.fromCharCode(parseInt(code.slice(1), 16));
    if (!Object.hasOwn(ESCAPED, code)) wrong ??= escape;
    return ESCAPED[code] ?? '';
  });
  if (wrong !== undefined)
    return `"${shorten(source)}" has "${wrong}", which is no escape: a backslash is written twice`;
  if (!isKey(key))
    return `"${shorten(source)}" is not a key: a key has 1 to ${KEY_CHARS_MAX} characters, not all of them blanks`;
  return { segment: key, rest: rest.slice(found[0].length) };
};

/**
 * The fewest letters that must be put in, left out, replaced or swapped with their neighbour to make one name of the
 * other (optimal string alignment); `max + 1` where they are more than `max`. The work grows with the length and with
 * `max`, not with the square of the length.
 */
export const editDistance = (one: string, other: string, max: number): number => {
  if (Math.abs(one.length - other.length) > max) return max + 1;
  if (one === other) return 0;
  const [a, b] = withoutCommonEnds(one, other);
  const far = max + 1;
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => Math.min(at, far))];
  for (let i = 1; i <= a.length; i += 1) {
    // Further from the diagonal than `max` every distance is larger.
    const [first, end] = [Math.max(1, i - max), Math.min(b.length, i + max)];
    const row: number[] = [];
    row[first - 1] = first === 1 ? Math.min(i, far) : far;
    let smallest = row[first - 1]!;
    for (let j = first; j <= end; j += 1) {
      const replaced = (last[j - 1] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(far, replaced, (last[j] ?? far) + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? far) + 1);
      row[j] = least;
      smallest = Math.min(smallest, least);
    }
    if (smallest > max) return far;
    [before, last] = [last, row];
  }
  return Math.min(last[b.length] ?? far, far);
};

/** Cuts off what two texts begin and end with alike, which makes no difference. */
const withoutCommonEnds = (a: string, b: string): readonly [string, string] => {
  const length = Math.min(a.length, b.length);
  let start = 0;
  while (start < length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)];
};

const DISTANCE_MAX = 2;

/**
 * Most letters that two names may differ by. Short names are near each other by chance: names of two letters never
 * match, names of three and four may differ by one letter.
 */
const distanceMaxOf = (name: string): number => (name.length < 3 ? 0 : name.length < 5 ? 1 : DISTANCE_MAX);

/** Names differ in nothing but the case of their letters, which no chance brings about. */
const isSameButCase = (a: string, b: string): boolean => a !== b && a.toLowerCase() === b.toLowerCase();

/** In: a name that nothing declares. Out: the declared one that is nearest to it, if one is near enough to be meant. */
export const nearestName = (name: string, declared: Iterable<string>): string | undefined => {
  let nearest: string | undefined;
  let least = Infinity;
  for (const known of declared) {
    if (Math.abs(name.length - known.length) > DISTANCE_MAX) continue;
    const max = Math.min(distanceMaxOf(name), distanceMaxOf(known));
    const distance = isSameButCase(name, known) ? 0 : editDistance(name, known, max);
    if (distance <= max && distance < least) [nearest, least] = [known, distance];
  }
  return nearest;
};
