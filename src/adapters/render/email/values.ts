/** Compiles paths and templated text to expressions: direct access to own members, written out with the format of their definition. */
import type { Json } from '../../../domain/core/json.js';
import { isConstant } from '../../../domain/rendering/scope/constants.js';
import type { Path } from '../../../domain/rendering/scope/path.js';
import { formatAt, shapeAt, type Shape } from '../../../domain/rendering/scope/shapes.js';
import { showingAt, type Showing } from '../../../domain/rendering/scope/showing.js';
import {
  hasPlaceholder,
  parsePathText,
  parseTemplatedText,
  type TemplatedText,
  type TextPart,
} from '../../../domain/rendering/fill/templated-text.js';
import type { Substitution } from '../../../domain/rendering/fill/shown-value.js';
import { withoutControls } from '../../../domain/rendering/scope/values.js';
import { concat, js, literalOf, quote, type Term } from './code.js';
import { WORD_CHARS, type Context } from './context.js';
import { escapeHtml } from './escape.js';
import { breakWords } from './long-words.js';

/** Names that every object or array inherits: only these need the slow way that asks for own members. */
const isInherited = (name: string): boolean => name in Object.prototype || name in Array.prototype;

/** The expression that reads a path; the same meaning as `readPath` of the domain, without its loop. */
export const rawOf = (path: Path, context: Context): string => {
  const { code } = context;
  let value = '';
  path.forEach((segment, at) => {
    if (at === 0) value = rootOf(String(segment), context);
    else if (typeof segment === 'number') value = code.remember(`Array.isArray(${value})?${value}[${segment}]:void 0`);
    else if (isInherited(segment)) value = code.remember(`STEP(${value},${quote(segment)})`);
    else value = code.remember(`typeof ${value}==="object"&&${value}!==null?${value}[${quote(segment)}]:void 0`);
  });
  return value;
};

const rootOf = (name: string, { code, locals }: Context): string => {
  const local = locals.get(name);
  if (local !== undefined) return local.js;
  if (isConstant(name)) return code.remember(`c[${quote(name)}]`);
  return code.remember(isInherited(name) ? `STEP(v,${quote(name)})` : `v[${quote(name)}]`);
};

/** The expression of a path's value as people read it: by its definition, and by the column that it stands in. */
export const stringOf = (path: Path, context: Context, column?: Showing): string =>
  shown(showingAt(rootShape(path, context), path, column), path, context);

/** The same for addresses and for what a program reads: as it came, but for a format that its definition gives. */
export const plainStringOf = (path: Path, context: Context): string => {
  const format = formatAt(rootShape(path, context), path);
  return shown(format && { format }, path, context);
};

const shown = (showing: Showing | undefined, path: Path, context: Context): string => {
  const raw = filteredOf(rawOf(path, context), shapeAt(rootShape(path, context), path)?.substitution, context);
  return context.code.remember(showing === undefined ? `S(${raw})` : written(showing, raw, context));
};

/** The value with the filters and the fallback of its definition. */
const filteredOf = (raw: string, instead: Substitution | undefined, { code, language }: Context): string =>
  instead === undefined ? raw : code.remember(`${code.constant(`SHOW(${quoteJson(instead)},${quote(language.locale)})`)}(${raw})`);

/** The shape of the items that a path's array holds. */
export const itemShapeAt = (path: Path, context: Context): Shape | undefined => shapeAt(rootShape(path, context), path)?.item;

/** What the definitions say of the variable that a path begins with. */
export const rootShape = (path: Path, { locals, shapes }: Context): Shape | undefined => {
  const name = String(path[0]);
  const local = locals.get(name);
  return local === undefined ? shapes.get(name) : local.shape;
};

const written = (showing: Showing, raw: string, context: Context): string => {
  const { code, language } = context;
  const currency = showing.format?.currency;
  const where = `${quote(language.locale)},${quote(language.timeZone)}`;
  if (currency !== undefined && hasPlaceholder(currency)) {
    const inCurrency = code.constant(`IN_CURRENCY(${quoteJson(showing)},${where})`);
    return `${code.remember(`${inCurrency}(${plainOf(templated(currency, context), context)})`)}(${raw})`;
  }
  return `${code.constant(`SHOWN(${quoteJson(showing)},${where})`)}(${raw})`;
};

/** Text that was checked when the template was saved, taken apart. */
export const templated = (text: string, { limits }: Context): TemplatedText =>
  parseTemplatedText(withoutControls(text), limits.pathSegmentsMax).parts;

/** Terms for text or a quoted attribute of HTML: every value and every literal escaped. */
export const htmlOf = (text: TemplatedText, context: Context, column?: Showing): readonly Term[] =>
  text.map((part) => (typeof part === 'string' ? escapeHtml(part) : js(`E(${stringOf(part.path, context, column)})`)));

/** Terms for text between tags, where no word is wider than the screen: whatever stands together without a blank is one word. */
export const shownOf = (text: TemplatedText, context: Context, column?: Showing): readonly Term[] => {
  const { wordChars } = context;
  const place = wordChars === WORD_CHARS ? '' : `,${wordChars}`;
  return wordsOf(text).map((word) => {
    const literal = literalOf(word.filter((part) => typeof part === 'string'));
    if (literal !== undefined && word.every((part) => typeof part === 'string')) return breakWords(literal, wordChars);
    const terms = word.map((part): Term => (typeof part === 'string' ? part : js(stringOf(part.path, context, column))));
    return js(`W(${concat(terms)}${place})`);
  });
};

/** Pieces that end where a word ends, so that each can be looked at by itself. */
const wordsOf = (text: TemplatedText): readonly TemplatedText[] => {
  const pieces: TextPart[][] = [[]];
  const last = (): TextPart[] => pieces.at(-1) ?? [];
  for (const part of text) {
    if (typeof part !== 'string') {
      last().push(part);
      continue;
    }
    const first = part.search(/\s/);
    const end = first < 0 ? 0 : lastBlankOf(part) + 1;
    if (end === 0) {
      last().push(part);
      continue;
    }
    if (first > 0) last().push(part.slice(0, first));
    pieces.push([part.slice(first, end)], []);
    if (end < part.length) last().push(part.slice(end));
  }
  return pieces
    .filter(({ length }) => length > 0)
    .map(withoutShortEnds)
    .flat();
};

const lastBlankOf = (text: string): number => {
  let at = text.length - 1;
  while (at >= 0 && !/\s/.test(text.charAt(at))) at -= 1;
  return at;
};

/** A few signs beside a single value make no long word of it: they stay literals. */
const SHORT_END_CHARS = 4;
const withoutShortEnds = (word: readonly TextPart[]): readonly TemplatedText[] => {
  const literals = word.filter((part) => typeof part === 'string');
  const isShort = word.length - literals.length === 1 && literals.join('').length <= SHORT_END_CHARS;
  return isShort ? word.map((part) => [part]) : [word];
};

/** Terms for the text part. */
export const textOf = (text: TemplatedText, context: Context, column?: Showing): readonly Term[] =>
  text.map((part) => (typeof part === 'string' ? part : js(`T(${stringOf(part.path, context, column)})`)));

/** The expression of the whole text, nothing escaped: for what a program judges, and what is escaped afterwards. */
export const plainOf = (text: TemplatedText, context: Context): string => concat(rawTermsOf(text, context));

/** Terms for what a program reads. */
export const rawTermsOf = (text: TemplatedText, context: Context): readonly Term[] =>
  text.map((part) => (typeof part === 'string' ? part : js(`T(${plainStringOf(part.path, context)})`)));

/** The expression of a JSON value; a string that is one placeholder is the value behind it, with its type. */
export const jsonOf = (value: Json | undefined, context: Context): string => {
  if (typeof value !== 'string') return value === undefined ? 'void 0' : quoteJson(value);
  const parts = templated(value, context);
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && typeof only !== 'string') return rawOf(only.path, context);
  return plainOf(parts, context);
};

/** The path of a data source or a condition, as checked. */
export const pathOf = (value: Json | undefined, { limits }: Context): Path => {
  const parsed = parsePathText(String(value), limits.pathSegmentsMax);
  if (!parsed.ok) throw new Error(`a path that was checked does not parse: ${parsed.message}`);
  return parsed.path;
};

const quoteJson = (value: unknown): string => JSON.stringify(value).replaceAll('<%', '\\u003c%').replaceAll('%>', '%\\u003e');
