/**
 * Scope of a document: the variables, the constants and the variables of the loops around, while it is compiled and
 * while it is expanded.
 */
import type { OutputFormat } from '../content.js';
import type { Direction } from '../direction.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { isConstant } from './constants.js';
import { collatorOf, type Language } from './formats.js';
import { documentTooLong, tooManyImages, tooManyItems, tooManyIterations } from '../budget.js';
import { isArray, parsePath, readPath, readStep, writePath, type Path } from './path.js';
import { decimal, toNumber } from './conditions.js';
import { indexShape, shapeAt, type Shape } from './shapes.js';
import { parsePathText, parseTemplatedText, pathsOf } from '../fill/templated-text.js';
import { notAnArray } from '../fill/variables.js';

/** One expansion: what it reads, and what it has made so far, for the limits. */
export type State = {
  readonly values: JsonObject;
  readonly constants: Readonly<Record<string, string | number>>;
  readonly format: OutputFormat;
  /** The values of loop variables, by their slot. */
  readonly locals: (Json | undefined)[];
  /**
   * Addresses of pictures that came whole from variables, and what they are called by then; undefined for the empty
   * one.
   */
  readonly judged: Map<string, string | undefined>;
  components: number;
  images: number;
  /** Rows in the tables of a workbook. */
  rows: number;
  /** Items that data sources gave. */
  items: number;
  chars: number;
  /** Set where a value is missing, or may be none that can be used where it stands. */
  lost: boolean;
};

/** A variable of a loop. */
type Local = Readonly<{ slot: number; shape: Shape | undefined }>;

export type Scope = Readonly<{
  limits: Limits;
  language: Language;
  shapes: ReadonlyMap<string, Shape>;
  locals: ReadonlyMap<string, Local>;
  /** Slots that the loops around have taken. */
  slots: number;
  /** True in the header and the footer of a page. */
  inMargin: boolean;
  /** Line breaks in values of text are kept. */
  keepsLines: boolean;
  /** How the text of the page or the component runs; from the left, each paragraph may run its own way. */
  direction: Direction;
}>;

/** The scope within a component: `keepLines` is one of its props. */
export const withLines = (scope: Scope, props: JsonObject | undefined): Scope =>
  props?.['keepLines'] === true ? { ...scope, keepsLines: true } : scope;

export type Read = (state: State) => Json | undefined;

/** Compiles `readPath` for one path: its root is looked up once. */
export const compileRead = (path: Path, { locals }: Scope): Read => {
  const name = String(path[0]);
  const local = locals.get(name);
  const rest = path.slice(1);
  const [step] = rest;
  if (local === undefined) {
    if (isConstant(name)) return rest.length > 0 ? () => undefined : (state) => state.constants[name];
    return rest.length > 0 ? (state) => readPath(state.values, path) : (state) => readStep(state.values, name);
  }
  const { slot } = local;
  if (step === undefined) return (state) => state.locals[slot];
  return rest.length === 1
    ? (state) => readStep(state.locals[slot], step)
    : (state) => readPath(state.locals[slot], rest);
};

/** The definition of the variable that a path begins with, as a shape. */
export const rootShape = (path: Path, { locals, shapes }: Scope): Shape | undefined => {
  const name = String(path[0]);
  const local = locals.get(name);
  return local === undefined ? shapes.get(name) : local.shape;
};

/** The path of a data source or a condition, as checked. */
export const pathOf = (value: Json | undefined, { limits }: Scope): Path => {
  const parsed = parsePathText(String(value), limits.pathSegmentsMax);
  if (!parsed.ok) throw new Error(`a path that was checked does not parse: ${parsed.message}`);
  return parsed.path;
};

const NONE: readonly Json[] = [];

/** A data source: its items, the scope in which one of them is in reach, and how one is put there. */
export type Source = Readonly<{
  /** As the author wrote it, for messages. */
  name: string;
  itemShape: Shape | undefined;
  /**
   * All items; none where the variable is missing. Throws VALIDATION_ERROR where it is no array. No limit is checked.
   */
  all: (state: State) => readonly Json[];
  /** All items, within the limits of a loop: throws ERR_LIMIT_007 beyond them. */
  items: (state: State) => readonly Json[];
  inside: Scope;
  enter: (state: State, item: Json, index: number) => void;
}>;

/**
 * A name for a data source that means the same wherever it stands; undefined where the source begins at a variable of a
 * loop.
 */
export const steadySource = (props: JsonObject, scope: Scope): string | undefined => {
  if (props['dataSource'] === undefined) return undefined;
  const path = pathOf(props['dataSource'], scope);
  return scope.locals.has(String(path[0])) ? undefined : writePath(path);
};

/** In: props with `dataSource`, `itemVariable` (default `item`) and `indexVariable` (counts from 0). */
export const compileSource = (props: JsonObject, scope: Scope): Source => {
  const { limits, locals, slots } = scope;
  const path = pathOf(props['dataSource'], scope);
  const name = writePath(path);
  const read = compileRead(path, scope);
  const itemShape = shapeAt(rootShape(path, scope), path)?.item;
  const inner = new Map(locals).set(nameOf(props['itemVariable'], 'item'), { slot: slots, shape: itemShape });
  const indexed = props['indexVariable'] !== undefined;
  if (indexed) inner.set(nameOf(props['indexVariable'], 'index'), { slot: slots + 1, shape: indexShape });
  const all = (state: State): readonly Json[] => {
    const value = read(state);
    if (value === undefined || value === null) {
      state.lost = true;
      return NONE;
    }
    if (!isArray(value)) throw notAnArray(name, value);
    return value;
  };
  return {
    name,
    itemShape,
    all,
    items: (state) => {
      const items = all(state);
      if (items.length > limits.loopIterationsMax)
        throw tooManyIterations(name, items.length, limits.loopIterationsMax);
      state.items += items.length;
      if (state.items > limits.documentItemsMax) throw tooManyItems(state.items, limits.documentItemsMax);
      return items;
    },
    inside: { ...scope, locals: inner, slots: slots + 2 },
    enter: (state, item, index) => {
      state.locals[slots] = item;
      if (indexed) state.locals[slots + 1] = index;
    },
  };
};

const nameOf = (value: Json | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);

/** Counts text that the document keeps; answers it. */
export const charge = (text: string, state: State, limits: Limits): string => {
  countChars(text.length, state, limits);
  return text;
};

export const countChars = (chars: number, state: State, { documentTextCharsMax }: Limits): void => {
  state.chars += chars;
  if (state.chars > documentTextCharsMax) throw documentTooLong(state.chars, documentTextCharsMax);
};

/** A PDF has a limit of pictures, each counted as often as it is shown. */
export const countImages = (count: number, state: State, { pdfImagesMax }: Limits): void => {
  state.images += count;
  if (state.format === 'pdf' && state.images > pdfImagesMax) throw tooManyImages(state.images, pdfImagesMax);
};

/** The name by which cells between the items of a table read their group. */
export const GROUP = 'group';

/** How the items of a table are grouped; `sums` are the members that cells ask the sum of. */
export type Grouping = Readonly<{
  by: Path;
  /** As their first items stand; by name in the language of the document; as the values of `by` stand here. */
  order: 'given' | 'name' | readonly (string | number)[];
  sums: readonly Path[];
}>;

/** The columns of a table that show something above or below the items of a group. */
type GroupCells = 'groupHeader' | 'groupFooter';

/** In: the props of a checked table. Out: how its items are grouped; undefined where they are not. */
export const groupingOf = (props: JsonObject, segmentsMax: number): Grouping | undefined => {
  const by = typeof props['groupBy'] === 'string' ? parsePath(props['groupBy'].trim(), segmentsMax) : undefined;
  if (by?.ok !== true) return undefined;
  const sums = new Map<string, Path>();
  const cells: readonly GroupCells[] = ['groupHeader', 'groupFooter'];
  for (const column of Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [])
    for (const name of cells) {
      const text = isJsonObject(column) ? column[name] : undefined;
      for (const path of typeof text === 'string' ? pathsOf(parseTemplatedText(text, segmentsMax).parts) : [])
        if (path[0] === GROUP && path[1] === 'sum' && path.length > 2) sums.set(writePath(path), path.slice(2));
    }
  const order = props['groupOrder'];
  return {
    by: by.path,
    order: isArray(order) ? (order as readonly (string | number)[]) : order === 'name' ? 'name' : 'given',
    sums: [...sums.values()],
  };
};

/**
 * The items of a group in their order, and what its cells read as `group`: `key`, `count`, and the sums of members
 * under `sum`.
 */
export type Group = Readonly<{ items: readonly Json[]; value: JsonObject }>;

/** Groups items by a member. Items without a value there are the last group, unless the order is as given. */
export const groupItems = (items: readonly Json[], { by, order, sums }: Grouping, locale: string): readonly Group[] => {
  const found = new Map<string, { key: Json; items: Json[] }>();
  for (const item of items) {
    const key = readPath(item, by) ?? null;
    const id = JSON.stringify(key);
    const group = found.get(id);
    if (group === undefined) found.set(id, { key, items: [item] });
    else group.items.push(item);
  }
  const groups = [...found.values()];
  if (order === 'name') {
    const { compare } = collatorOf(locale, true);
    groups.sort((one, other) => blankLast(one.key, other.key) || compareKeys(one.key, other.key, compare));
  } else if (order !== 'given') {
    const ranks = new Map(order.map((key, at) => [String(key), at] as const));
    const rankOf = (key: Json): number => (typeof key === 'object' ? undefined : ranks.get(String(key))) ?? ranks.size;
    groups.sort((one, other) => rankOf(one.key) - rankOf(other.key) || blankLast(one.key, other.key));
  }
  return groups.map((group) => ({
    items: group.items,
    value: { key: group.key, count: group.items.length, sum: sumsOf(group.items, sums) },
  }));
};

const blankLast = (one: Json, other: Json): number =>
  Number(one === null || one === '') - Number(other === null || other === '');

const compareKeys = (one: Json, other: Json, compare: (a: string, b: string) => number): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : compare(textOfKey(one), textOfKey(other));

const textOfKey = (key: Json): string => (typeof key === 'object' ? JSON.stringify(key) : String(key));

const sumsOf = (items: readonly (Json | undefined)[], paths: readonly Path[]): JsonObject =>
  Object.fromEntries(
    [...new Set(paths.map(([name]) => name))].flatMap((name): [string, Json][] => {
      if (name === undefined) return [];
      const values = items.map((item) => readStep(item, name));
      const inner = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
      const sum = inner.some(({ length }) => length === 0) ? sumOf(values) : sumsOf(values, inner);
      return sum === undefined ? [] : [[String(name), sum]];
    }),
  );

/** The sum; missing values count as nothing. Undefined if there are no values or one is not a number. */
const sumOf = (values: readonly (Json | undefined)[]): number | undefined => {
  let sum: number | undefined;
  for (const value of values) {
    if (value === undefined || value === null) continue;
    const number = toNumber(value);
    if (number === undefined) return undefined;
    sum = decimal((sum ?? 0) + number);
  }
  return sum;
};

const anything: Shape = { type: undefined, required: false, format: undefined, members: new Map(), item: undefined };

/** Known shape of `group` in a table whose items have this shape. */
export const groupShape = (item: Shape | undefined, by: Path): Shape => {
  const sum: Shape = { ...anything, type: 'object', members: item?.members ?? new Map<string, Shape>() };
  const key = shapeAt(item, [GROUP, ...by]) ?? anything;
  return {
    ...anything,
    type: 'object',
    members: new Map([
      ['key', key],
      ['count', indexShape],
      ['sum', sum],
    ]),
  };
};
