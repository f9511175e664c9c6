/**
 * Compiles what an author wrote (paths, text with placeholders, rich text, conditions) to JavaScript expressions, in
 * the context that a component stands in.
 */
import { parseDocument } from 'htmlparser2';
import type { Limits } from '../../../domain/core/limits.js';
import type { LinkRules } from '../../../domain/rendering/addresses.js';
import type { Component } from '../../../domain/rendering/content.js';
import type { VariableDefinition } from '../../../domain/rendering/scope/definitions.js';
import { apartIn, type ApartValues, type Direction } from '../../../domain/rendering/direction.js';
import { type Language, withoutControls } from '../../../domain/rendering/scope/formats.js';
import { shapeOf, type Shape, formatAt, shapeAt } from '../../../domain/rendering/scope/shapes.js';
import { type Code, type Js, type Term, concat, joinedBy, js, literalOf, quote } from './code.js';
import type { DarkColors, Surface } from './dark-colors.js';
import type { Json } from '../../../domain/core/json.js';
import { isConstant } from '../../../domain/rendering/scope/constants.js';
import type { Path } from '../../../domain/rendering/scope/path.js';
import { displayFormatAt, type DisplayFormat } from '../../../domain/rendering/scope/display-format.js';
import {
  hasPlaceholder,
  parsePathText,
  parseTemplatedText,
  withTextAround,
  type Placeholder,
  type TemplatedText,
  type TextPart,
} from '../../../domain/rendering/fill/templated-text.js';
import type { Substitution } from '../../../domain/rendering/fill/shown-value.js';
import { breakWords, escapeHtml } from './escape.js';
import { optionalLinesOf, type OptionalHtml, type When } from '../../../domain/rendering/rich-text.js';
import { sanitized, tagsOf, type RichMode } from '../rich-tree.js';
import { decidingPaths } from '../../../domain/rendering/paths/walk.js';

type RichTexts = Map<string, readonly RichNode[]>;

/** A variable of a loop: the name of the constant that holds it, and what is known of its values. */
export type Local = Readonly<{ js: string; shape: Shape | undefined }>;

/** `isNamed`: the template names it, so that it gives way only where it can hardly be seen. */
type ColorAround = Readonly<{ term: Term; isNamed: boolean }>;

/** Text as it stands in its surroundings; every value is CSS. */
export type Typography = Readonly<{
  color: Term;
  linkColor: Term;
  /**
   * The colours of text and links around. On a background where they cannot be read, `color` and `linkColor` differ
   * from them.
   */
  around: Readonly<{ color: ColorAround; linkColor: ColorAround }>;
  fontFamily: Term;
  fontSize: Term;
  lineHeight: Term;
  align: Term;
}>;

/** `wordChars` in a single column: a longer word of a heading may be wider than a small screen. */
export const WORD_CHARS = 18;

/** The context of a component while a template is compiled. A parent hands a changed copy to its children. */
export type Context = Readonly<{
  code: Code;
  limits: Limits;
  language: Language;
  /** Direction of the text around. Outlook and Gmail do not inherit it into tables, so each table states it again. */
  direction: Direction;
  shapes: ReadonlyMap<string, Shape>;
  locals: ReadonlyMap<string, Local>;
  dark: DarkColors;
  /** Pixels that a component has from side to side. */
  widthPx: number;
  /** The background of the component: a known surface, or an expression for it. */
  surface: Surface | Js;
  type: Typography;
  /** Pixels that it has on a phone of 360 pixels. */
  phonePx: number;
  /** The colour of buttons that have none of their own. */
  accent: Term;
  /** Pixels below a component: 0 for the last one, for its surroundings have padding of their own. */
  gapPx: number;
  /** Parsed rich texts of the template, shared by its outputs. */
  richTexts: RichTexts;
  /** Words longer than this may break on a small screen. */
  wordChars: number;
  /** Line breaks in values of text are kept. */
  keepsLines: boolean;
  /** QR codes of the template that are known to fit. */
  checkedCodes: Set<string>;
  /** The addresses that the template allows. */
  links: LinkRules;
  /** Attribute of the row that a component begins with: its id, in a marked preview; else empty. */
  mark: string;
  /** Ids of the components around that have no element of their own; undefined: the mail is not marked. */
  within: readonly string[] | undefined;
  /** Writes components one below the other, each as a row of the table that is open. */
  rows: (components: readonly Component[], context: Context) => void;
}>;

/** Writes one component as rows of the table that is open, and as paragraphs of the text part. */
export type ComponentRenderer = (component: Component, context: Context) => void;

export const shapesOf = (definitions: readonly VariableDefinition[]): ReadonlyMap<string, Shape> =>
  new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));

/** The context inside a loop, where its variables are in reach. */
export const withLocals = (context: Context, locals: readonly (readonly [string, Local])[]): Context => ({
  ...context,
  locals: new Map([...context.locals, ...locals]),
});

/**
 * Names that every object or array inherits, and places of arrays as text: only these need the slow way that asks for
 * own members.
 */
const isInherited = (name: string): boolean => name in Object.prototype || name in Array.prototype || /^\d/.test(name);

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
const stringOf = (path: Path, context: Context, column?: DisplayFormat): string =>
  shown(displayFormatAt(rootShape(path, context), path, column), path, context);

/** `stringOf` for addresses and for what a program reads: the value as it is, unless its definition gives a format. */
export const plainStringOf = (path: Path, context: Context): string => {
  const format = formatAt(rootShape(path, context), path);
  return shown(format && { format }, path, context);
};

const shown = (displayFormat: DisplayFormat | undefined, path: Path, context: Context): string => {
  const raw = filteredOf(rawOf(path, context), shapeAt(rootShape(path, context), path)?.substitution, context);
  return context.code.remember(displayFormat === undefined ? `S(${raw})` : written(displayFormat, raw, context));
};

/** The value with the filters and the fallback of its definition. */
const filteredOf = (raw: string, instead: Substitution | undefined, { code, language }: Context): string =>
  instead === undefined
    ? raw
    : code.remember(`${code.constant(`SHOW(${quoteJson(instead)},${quote(language.locale)})`)}(${raw})`);

/** The shape of the items that a path's array holds. */
export const itemShapeAt = (path: Path, context: Context): Shape | undefined =>
  shapeAt(rootShape(path, context), path)?.item;

/** The shape of the variable that a path begins with, from the definitions. */
export const rootShape = (path: Path, { locals, shapes }: Context): Shape | undefined => {
  const name = String(path[0]);
  const local = locals.get(name);
  return local === undefined ? shapes.get(name) : local.shape;
};

const written = (displayFormat: DisplayFormat, raw: string, context: Context): string => {
  const { code, language } = context;
  const currency = displayFormat.format?.currency;
  const where = `${quote(language.locale)},${quote(language.timeZone)}`;
  if (currency !== undefined && hasPlaceholder(currency)) {
    const inCurrency = code.constant(`IN_CURRENCY(${quoteJson(displayFormat)},${where})`);
    return `${code.remember(`${inCurrency}(${plainOf(templated(currency, context), context)})`)}(${raw})`;
  }
  return `${code.constant(`SHOWN(${quoteJson(displayFormat)},${where})`)}(${raw})`;
};

/** Text that was checked when the template was saved, taken apart. */
export const templated = (text: string, { limits }: Context): TemplatedText =>
  withTextAround(parseTemplatedText(withoutControls(text), limits.pathSegmentsMax).parts);

/** Terms for text or a quoted attribute of HTML: every value and every literal escaped. */
export const htmlOf = (text: TemplatedText, context: Context, column?: DisplayFormat): readonly Term[] =>
  text.map((part) => (typeof part === 'string' ? escapeHtml(part) : js(`E(${stringOf(part.path, context, column)})`)));

type Apart = ApartValues<Placeholder>;
const isApart = (part: string | Placeholder | Apart): part is Apart => typeof part !== 'string' && 'values' in part;

/**
 * The pieces of a text with the values that are set apart from it, so that each keeps its own order. In text from the
 * left only the values tell whether they need it, and those that stand alone are asked one by one (`I`, `B`): their
 * text stays as it is.
 */
const apartOf = (text: TemplatedText, context: Context): readonly (string | Placeholder | Apart)[] => {
  if (text.every((part) => typeof part === 'string')) return text;
  const parts = apartIn(text);
  if (!text.some((part) => isTurned(part, context))) {
    return parts
      .flatMap((part) => (isApart(part) && !isOfNames(part) ? [part.head, ...partsOf(part), part.tail] : part))
      .filter(isPart);
  }
  return parts;
};

const isPart = (part: string | Placeholder | Apart): boolean => part !== '';
const isOfNames = ({ between, head, tail }: Apart): boolean =>
  between.length > 0 && between.every((joint) => /^\s+$/.test(joint)) && head === '' && tail === '';
const partsOf = ({ values, between }: Apart): TemplatedText =>
  values.flatMap((value, at) => (at === 0 || between[at - 1] === '' ? [value] : [between[at - 1] ?? '', value]));

/** True for a value with text around that runs from the right. */
const isTurned = (part: TextPart, { direction }: Context): boolean =>
  typeof part !== 'string' && (direction === 'rtl' || part.around?.holdsRightToLeft === true);

/** The term of values that are set apart by that function of the runtime. */
const apartTerm = (
  by: 'APART' | 'ISOLATED',
  { values, ...joints }: Apart,
  context: Context,
  column: DisplayFormat | undefined,
): Js => {
  const { direction, code, wordChars } = context;
  const around =
    direction === 'rtl'
      ? quote(direction)
      : values.some((value) => isTurned(value, context))
        ? 'void 0'
        : quote(direction);
  const before = values[0]?.around?.before;
  const mark = before === undefined || before === direction ? 'void 0' : quote(before);
  const made = code.constant(`${by}(${quoteJson(joints)},${around},${mark}${by === 'APART' ? `,${wordChars}` : ''})`);
  const valueOf = by === 'APART' ? shownValue : textValue;
  const shown = `${made}(${values.map((value) => valueOf(value.path, context, column)).join(',')})`;
  return by === 'APART' ? withBreaks(shown, context) : js(shown);
};

/**
 * Terms for text between tags, where no word is wider than the screen: whatever stands together without a blank is one
 * word.
 */
export const shownOf = (text: TemplatedText, context: Context, column?: DisplayFormat): readonly Term[] => {
  const terms: Term[] = [];
  let words: TextPart[] = [];
  for (const part of apartOf(text, context)) {
    if (!isApart(part)) {
      words.push(part);
      continue;
    }
    terms.push(...wordTerms(words, context, column), apartTerm('APART', part, context, column));
    words = [];
  }
  return [...terms, ...wordTerms(words, context, column)];
};

const wordTerms = (text: TemplatedText, context: Context, column: DisplayFormat | undefined): readonly Term[] => {
  const { wordChars } = context;
  const place = wordChars === WORD_CHARS ? '' : `,${wordChars}`;
  return wordsOf(text).map((word) => {
    const literal = literalOf(word.filter((part) => typeof part === 'string'));
    if (literal !== undefined && word.every((part) => typeof part === 'string')) return breakWords(literal, wordChars);
    const terms = word.map((part): Term =>
      typeof part === 'string' ? part : js(shownValue(part.path, context, column)),
    );
    return withBreaks(`B(${joinedBy('WORD', terms)}${place})`, context);
  });
};

const shownValue = (path: Path, context: Context, column: DisplayFormat | undefined): string =>
  context.keepsLines ? `KEPT_LINES(${stringOf(path, context, column)})` : stringOf(path, context, column);

/** The value where no markup makes a blank of its line breaks. */
const textValue = (path: Path, context: Context, column: DisplayFormat | undefined): string =>
  context.keepsLines ? shownValue(path, context, column) : `ON_ONE_LINE(${stringOf(path, context, column)})`;

const withBreaks = (html: string, { keepsLines }: Context): Js => js(keepsLines ? `WITH_BREAKS(${html})` : html);

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

/** Terms for texts without markup, such as the text part and the subject. */
export const textOf = (text: TemplatedText, context: Context, column?: DisplayFormat): readonly Term[] =>
  apartOf(text, context).map((part): Term => {
    if (typeof part === 'string') return part;
    if (isApart(part)) return apartTerm('ISOLATED', part, context, column);
    return js(`I(${textValue(part.path, context, column)})`);
  });

/** `textOf` between tags, for text that is shown where markup is not. */
export const isolatedOf = (text: TemplatedText, context: Context): readonly Term[] =>
  textOf(text, context).map((term) => (typeof term === 'string' ? escapeHtml(term) : js(`E(${term.js})`)));

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

/** A JSON value as an expression. */
export const quoteJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll('<%', '\\u003c%').replaceAll('%>', '%\\u003e');

type RichText = Readonly<{ kind: 'text'; text: TemplatedText }>;
export type RichElement = Readonly<{
  kind: 'element';
  tag: string;
  attributes: ReadonlyMap<string, TemplatedText>;
  children: readonly RichNode[];
  /** The condition under which it is shown; absent: always. */
  when?: When;
}>;
export type RichNode = RichText | RichElement;

/**
 * In: HTML as the author wrote it, its placeholders checked. Out: its elements in order. Scripts, styles, forms,
 * frames, event handlers, comments and unknown elements are gone (unknown ones leave their text); addresses are judged
 * where they are written.
 */
export const parseRichText = (content: string, mode: RichMode, context: Context): readonly RichNode[] => {
  return once(`${mode} ${content}`, context, () => parsed(content, mode, context));
};

/** `parseRichText` for a block with `hideWhenEmpty: lines`: each line has the condition under which it is shown. */
export const parseOptionalLines = (content: string, context: Context): readonly RichNode[] =>
  once(`lines ${content}`, context, () => {
    const whens: When[] = [];
    const attribute = `data-${unusedMark(content)}`;
    const html = optionalLinesOf(content, context.limits.pathSegmentsMax).map((part) =>
      markedHtml(part, attribute, whens),
    );
    return parsed(html.join(''), 'block', context, { attribute, whens });
  });

const once = (key: string, { richTexts }: Context, make: () => readonly RichNode[]): readonly RichNode[] => {
  const known = richTexts.get(key);
  if (known !== undefined) return known;
  const nodes = make();
  richTexts.set(key, nodes);
  return nodes;
};

/** `attribute` marks an element; its value is the index of the condition in `whens`. */
type Marks = Readonly<{ attribute: string; whens: readonly When[] }>;

/** The HTML of a part with its condition marked on its element; a part without an element becomes a span. */
const markedHtml = (part: OptionalHtml, attribute: string, whens: When[]): string => {
  if (typeof part === 'string') return part;
  const mark = ` ${attribute}="${whens.push(part.when) - 1}"`;
  const children = part.children.map((child) => markedHtml(child, attribute, whens)).join('');
  if (part.open === '') return `<span${mark}>${children}</span>`;
  return part.open.replace(/^<[^\s/>]+/, (tag) => tag + mark) + children + part.close;
};

const tagSets = { inline: new Set(tagsOf.inline), block: new Set(tagsOf.block), fragment: new Set(tagsOf.fragment) };

const parsed = (content: string, mode: RichMode, context: Context, marks?: Marks): readonly RichNode[] => {
  const parts = templated(content, context);
  if (!/[<&]/.test(content)) return [{ kind: 'text', text: parts }];
  const mark = unusedMark(content);
  // Placeholders become words without any meaning in HTML, so that no reader of HTML takes offence at them.
  const marked = parts.map((part, at) => (typeof part === 'string' ? part : `${mark}${at}z`)).join('');
  const clean = sanitized(marked, mode, [mark, ...context.links.schemes], marks?.attribute);
  const places = new RegExp(`${mark}(\\d+)z`, 'g');
  const restore = (text: string): TemplatedText =>
    text.includes(mark) ? restored(text, places, parts) : text === '' ? [] : [text];
  return parseDocument(clean).children.flatMap((node) => convert(node, { restore, tags: tagSets[mode], marks }));
};

const unusedMark = (content: string): string => {
  const lower = content.toLowerCase();
  let mark = 'qzv';
  while (lower.includes(mark)) mark += 'v';
  return mark;
};

const restored = (text: string, marks: RegExp, parts: TemplatedText): TemplatedText => {
  const out: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(marks)) {
    const placeholder = parts[Number(match[1])];
    if (placeholder === undefined) continue;
    if (match.index > end) out.push(text.slice(end, match.index));
    out.push(placeholder);
    end = match.index + match[0].length;
  }
  if (end < text.length) out.push(text.slice(end));
  return out;
};

type DomNode = ReturnType<typeof parseDocument>['children'][number];

type Conversion = Readonly<{
  restore: (text: string) => TemplatedText;
  tags: ReadonlySet<string>;
  marks: Marks | undefined;
}>;

const convert = (node: DomNode, conversion: Conversion): readonly RichNode[] => {
  const { restore, tags, marks } = conversion;
  if (node.type === 'text' && 'data' in node) return [{ kind: 'text', text: restore(node.data) }];
  if (!('attribs' in node)) return [];
  const children = node.children.flatMap((child) => convert(child, conversion));
  if (!tags.has(node.name)) return children;
  const when = marks === undefined ? undefined : marks.whens[Number(node.attribs[marks.attribute])];
  const own = Object.entries(node.attribs).filter(([name]) => name !== marks?.attribute);
  const attributes = new Map(own.map(([name, value]) => [name, restore(value)] as const));
  return [{ kind: 'element', tag: node.name, attributes, children, ...(when === undefined ? {} : { when }) }];
};

const hasFallback = (path: Path, context: Context): boolean =>
  shapeAt(rootShape(path, context), path)?.substitution?.fallback !== undefined;

/** The condition that one of the paths has a value; undefined: it always holds. */
export const anyShown = (paths: readonly Path[], context: Context): string | undefined => {
  if (paths.length === 0 || paths.some((path) => hasFallback(path, context))) return undefined;
  return `!(${[...new Set(paths.map((path) => `BLANK(${rawOf(path, context)})`))].join('&&')})`;
};

/** The condition under which a component is shown; undefined: always. */
export const shownConditionOf = (component: Component, context: Context): string | undefined => {
  const hides = component.props?.['hideWhenEmpty'];
  return hides === true || hides === 'lines'
    ? anyShown(decidingPaths(component, context.limits.pathSegmentsMax), context)
    : undefined;
};

/** The condition under which an element is shown; undefined: always. */
export const whenOf = (when: When, context: Context): string | undefined => {
  const groups = when.flatMap((group) => anyShown(group, context) ?? []);
  return groups.length === 0 ? undefined : groups.join('&&');
};
