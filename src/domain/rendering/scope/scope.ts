/**
 * Scope of a document: the variables, the constants and the variables of the loops around, while it is compiled and while it is expanded.
 */
import type { OutputFormat } from '../content.js';
import type { Direction } from '../direction.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { isConstant } from './constants.js';
import type { Language } from './formats.js';
import { documentTooLong, tooManyImages, tooManyItems, tooManyIterations } from '../budget.js';
import { isArray, readPath, readStep, writePath, type Path } from './path.js';
import { indexShape, shapeAt, type Shape } from './shapes.js';
import { parsePathText } from '../fill/templated-text.js';
import { notAnArray } from '../fill/variables.js';

/** One expansion: what it reads, and what it has made so far, for the limits. */
export type State = {
  readonly values: JsonObject;
  readonly constants: Readonly<Record<string, string | number>>;
  readonly format: OutputFormat;
  /** The values of loop variables, by their slot. */
  readonly locals: (Json | undefined)[];
  /** Addresses of pictures that came whole from variables, and what they are called by then; undefined for the empty one. */
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
  return rest.length === 1 ? (state) => readStep(state.locals[slot], step) : (state) => readPath(state.locals[slot], rest);
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
  /** All items; none where the variable is missing. Throws VALIDATION_ERROR where it is no array. No limit is checked. */
  all: (state: State) => readonly Json[];
  /** All items, within the limits of a loop: throws ERR_LIMIT_007 beyond them. */
  items: (state: State) => readonly Json[];
  inside: Scope;
  enter: (state: State, item: Json, index: number) => void;
}>;

/** A name for a data source that means the same wherever it stands; undefined where the source begins at a variable of a loop. */
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
      if (items.length > limits.loopIterationsMax) throw tooManyIterations(name, items.length, limits.loopIterationsMax);
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
