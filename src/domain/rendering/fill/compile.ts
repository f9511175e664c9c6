/**
 * Fills templated texts: prepares the values of a call, and compiles texts, addresses and props to functions that write
 * them, each value escaped for the place where it stands.
 */
import { encodeFor, isSettled, mayRunCode, partAt, withoutInvisible, type AddressKind } from '../addresses.js';
import {
  type TemplatedText,
  hasPlaceholder,
  parseTemplatedText,
  isPageMark,
  withTextAround,
  type Placeholder,
} from './templated-text.js';
import { ADDRESS_CHARS, placesOf, type HtmlPlace } from './places.js';
import {
  apartIn,
  apartText,
  isolatedValues,
  holdsRightToLeft,
  isolatesByLine,
  setApart,
  type ApartValues,
  type Direction,
  type TextAround,
} from '../direction.js';
import { type Budget, documentTooLong, spendChars, spendElements } from '../budget.js';
import type { JsonObject, Json } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { type RenderEnvironment, constantsOf, type Constant } from '../scope/constants.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { calculates, compileCalculation, isCalculated } from '../expression/calculated.js';
import { type Language, writeValue, type Formatter, withoutControls } from '../scope/formats.js';
import { compileVariableCheck } from './variables.js';
import { DomainError } from '../../core/errors.js';
import { readPath, type Path } from '../scope/path.js';
import { shapeAt, shapeOf, formatAt } from '../scope/shapes.js';
import { inCurrency, isCurrency, displayFormatAt, writerOf, type DisplayFormat } from '../scope/display-format.js';
import { isBlank, htmlLines, keptLines, substituterOf, withBreaks } from './shown-value.js';
import { compileRead, countImages, rootShape, type Read, type Scope, type State } from '../scope/scope.js';

export type Fill = (state: State) => string;

const SPECIAL = /[&<>"']/;
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a value in text between tags and in quoted attributes. */
export const escapeHtml = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? '') : text;

/**
 * Escapes a value inside a tag: blanks and equals signs are written as references too, so that it stays one value with
 * or without quotes around it.
 */
const escapeInTag = (text: string): string =>
  escapeHtml(text).replace(/[\s=`]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Escapes a value without quotes, whose first letter could begin the name of a tag. */
const escapeLoose = (text: string): string =>
  escapeInTag(text).replace(/^[A-Za-z/!?]/, (character) => `&#${character.charCodeAt(0)};`);

/** Text that was checked when the template was saved, taken apart. */
export const templated = (text: string, { limits }: Scope): TemplatedText =>
  withTextAround(parseTemplatedText(withoutControls(text), limits.pathSegmentsMax).parts);

/** The placeholder of a text that holds nothing else, blanks aside. */
export const onlyPlaceholder = (parts: TemplatedText): Placeholder | undefined => {
  const some = parts.filter((part) => typeof part !== 'string' || part.trim() !== '');
  const [only] = some;
  return some.length === 1 && typeof only === 'object' ? only : undefined;
};

/**
 * The display format of values in one document, and the function that writes them in it. `displayFormat` is undefined for
 * values that are shown as they are.
 */
export type Writer = Readonly<{ write: Formatter; displayFormat: DisplayFormat | undefined }>;

const plainWriter: Writer = { write: writeValue, displayFormat: undefined };

/** The writer of a place; the currency of its format may come from a variable. */
export const compileWriter = (displayFormat: DisplayFormat | undefined, scope: Scope): ((state: State) => Writer) => {
  if (displayFormat === undefined) return () => plainWriter;
  const { language } = scope;
  const currency = displayFormat.format?.currency;
  if (currency === undefined || !hasPlaceholder(currency)) {
    const fixed: Writer = { write: writerOf(displayFormat, language), displayFormat };
    return () => fixed;
  }
  const currencyOf = compileRaw(currency, scope);
  let last: Readonly<{ currency: string; writer: Writer }> | undefined;
  return (state) => {
    const found = currencyOf(state);
    if (!isCurrency(found)) state.lost = true;
    if (last?.currency === found) return last.writer;
    const known = inCurrency(displayFormat, found);
    const writer: Writer = { write: writerOf(known, language), displayFormat: known };
    last = { currency: found, writer };
    return writer;
  };
};

/** The writer of a path: by its definition, and by the column that it stands in. */
export const writerAt = (path: Path, scope: Scope, column?: DisplayFormat): ((state: State) => Writer) =>
  compileWriter(displayFormatAt(rootShape(path, scope), path, column), scope);

/** The value itself; notes one that is nothing to a reader. */
export const noted = (value: Json | undefined, state: State): Json | undefined => {
  if (typeof value !== 'number' && isBlank(value)) state.lost = true;
  return value;
};

/** The value of a path as it is shown: with the filters and the fallback of its definition. */
export const compileShown = (path: Path, scope: Scope): Read => {
  const read = compileRead(path, scope);
  const substitution = shapeAt(rootShape(path, scope), path)?.substitution;
  const show = substitution === undefined ? undefined : substituterOf(substitution, scope.language.locale);
  return (state) => noted(show === undefined ? read(state) : show(read(state)), state);
};

const valueFill = (path: Path, scope: Scope, column?: DisplayFormat): Fill => {
  const read = compileShown(path, scope);
  const writer = writerAt(path, scope, column);
  return (state) => writer(state).write(read(state));
};

/** Writes a value in an address: as it came, but for a format that its definition gives. */
const addressFill = (path: Path, scope: Scope): Fill => {
  const read = compileShown(path, scope);
  const format = formatAt(rootShape(path, scope), path);
  const writer = compileWriter(format && { format }, scope);
  return (state) => writer(state).write(read(state));
};

/** Compiles text for readers that know no markup. */
export const compilePlain = (text: string, scope: Scope): Fill =>
  joined(
    templated(text, scope).map((part) => (typeof part === 'string' ? part : valueFill(part.path, scope))),
    scope,
  );

/** `compilePlain` for text whose values are set apart in a PDF. */
export const compileText = (text: string, scope: Scope): Fill =>
  fillSetApart(
    templated(text, scope).map((part) =>
      typeof part === 'string'
        ? part
        : { fill: valueFill(part.path, scope), escape: asItIs, isText: true, around: part.around },
    ),
    scope,
  );

const asItIs = (text: string): string => text;

/**
 * Compiles text that a program reads, not a person: a colour, the content of a code, what a condition compares with.
 */
export const compileRaw = (text: string, scope: Scope): Fill =>
  joined(
    templated(text, scope).map((part) => (typeof part === 'string' ? part : addressFill(part.path, scope))),
    scope,
  );

/**
 * Compiles HTML: the author's markup as it is, values escaped. `column`: how the column that it stands in shows its
 * values.
 */
export const compileHtml = (html: string, scope: Scope, column?: DisplayFormat): Fill => {
  const parts = templated(html, scope);
  const places = placesOf(parts);
  let next = 0;
  const pieces = parts.map((part): string | HtmlValue => {
    if (typeof part === 'string') return part;
    const place = places[next] ?? { kind: 'loose' };
    next += 1;
    const [root] = part.path;
    if (scope.inMargin && isPageMark(root) && part.path.length === 1) return `{{${root}}}`;
    const isAddress = place.kind === 'attribute' && isAddressName(place.name);
    const write = isAddress ? addressFill(part.path, scope) : valueFill(part.path, scope, column);
    const fill = place.kind === 'attribute' && mayBeLost(place) ? notedFill(write) : write;
    return { fill, escape: escapeIn(place, scope), isText: place.kind === 'text', around: part.around };
  });
  const fill = fillSetApart(pieces, scope);
  // Values never become elements, so the pictures of a text are those that the template has.
  const images = html.match(/<img\b/gi)?.length ?? 0;
  if (images === 0) return fill;
  return (state) => {
    countImages(images, state, scope.limits);
    return fill(state);
  };
};

type HtmlValue = Readonly<{
  fill: Fill;
  escape: (text: string) => string;
  isText: boolean;
  around: TextAround | undefined;
}>;

const escapeIn = (place: HtmlPlace, { inMargin, keepsLines }: Scope): ((text: string) => string) => {
  const escape = place.kind === 'text' ? (keepsLines ? escapeLines : escapeText) : escapeAt(place);
  // Only the template's own page numbers may be read as such later.
  return inMargin ? (text) => escape(text).replaceAll('{', '&#123;') : escape;
};

const escapedFill =
  ({ fill, escape }: HtmlValue): Fill =>
  (state) =>
    escape(fill(state));

/**
 * The fill of text or HTML whose values are set apart in a PDF: always in text from the right, else where it holds a
 * letter from the right, for a paragraph with one may run from there. A sheet has the values as they are.
 */
const fillSetApart = (pieces: readonly (string | HtmlValue)[], scope: Scope): Fill => {
  const plain = joined(
    pieces.map((piece) => (typeof piece === 'string' ? piece : escapedFill(piece))),
    scope,
  );
  if (!pieces.some((piece) => typeof piece !== 'string' && piece.isText)) return plain;
  const around = scope.direction === 'rtl' ? scope.direction : undefined;
  const apart = joined(
    apartIn(pieces, ({ isText }) => isText).map((piece) =>
      typeof piece === 'string' ? piece : 'values' in piece ? apartFill(piece, around, scope) : escapedFill(piece),
    ),
    scope,
  );
  return (state) => {
    if (state.format !== 'pdf') return plain(state);
    if (around === 'rtl') return apart(state);
    const html = plain(state);
    return holdsRightToLeft(html) ? apart(state) : html;
  };
};

const apartFill = (
  { values, ...joints }: ApartValues<HtmlValue>,
  around: Direction | undefined,
  { keepsLines }: Scope,
): Fill => {
  const escape = values[0]?.escape ?? escapeHtml;
  const before = values[0]?.around?.before;
  const mark = before === around ? undefined : before;
  return (state) => {
    const texts = values.map(({ fill }) => (keepsLines ? keptLines(fill(state)) : fill(state)));
    return escape(apartText(setApart(texts, joints, around), mark));
  };
};

const NO_JOINTS = { between: [], head: '', tail: '' };

/** A value that stands alone in a place of that direction. */
export const aloneIn = (direction: Direction, text: string): string =>
  direction === 'ltr' ? text : apartText(setApart([text], NO_JOINTS, direction), undefined);

const notedFill =
  (fill: Fill): Fill =>
  (state) => {
    state.lost = true;
    return fill(state);
  };

/** Values in a style, and addresses whose beginning is open, are judged where the document is drawn. */
const mayBeLost = ({ name, place }: Extract<HtmlPlace, { kind: 'attribute' }>): boolean =>
  isAddressName(name)
    ? !isSettled(place.start, name === 'href' ? 'link' : 'image')
    : /^(?:style|color|bgcolor)$/.test(name);

const isAddressName = (name: string): name is 'href' | 'src' => name === 'href' || name === 'src';

const escapeText = (text: string): string => escapeHtml(htmlLines(text));

const escapeLines = (text: string): string => withBreaks(escapeHtml(isolatesByLine(keptLines(text))));

/** The function that escapes a value which stands alone in its text. */
export const escapeWhole = ({ keepsLines }: Scope): ((text: string) => string) =>
  keepsLines ? escapeLines : escapeText;

const escapeAt = (place: Exclude<HtmlPlace, { kind: 'text' }>): ((text: string) => string) => {
  switch (place.kind) {
    case 'loose':
      return escapeLoose;
    case 'attribute': {
      if (!isAddressName(place.name)) return escapeInTag;
      const encode = encodeFor[partAt(place.place, place.name === 'href' ? 'link' : 'image')];
      return (text) => escapeInTag(encode(text));
    }
  }
};

/** Compiles an address; each value is encoded for its part. The caller still has to judge the whole address. */
export const compileAddress = (address: string, kind: AddressKind, scope: Scope): Fill => {
  const parts = templated(address, scope);
  const start = typeof parts[0] === 'string' ? parts[0] : '';
  let before = '';
  return joined(
    parts.map((part, at) => {
      if (typeof part === 'string') {
        before += part;
        return part;
      }
      const encode = encodeFor[partAt({ start, before, isLast: at === parts.length - 1 }, kind)];
      const fill = addressFill(part.path, scope);
      return (state: State) => encode(fill(state));
    }),
    scope,
  );
};

/**
 * A JSON value; a string that is one placeholder is the value behind it, with its type: as it is shown, or for a
 * comparison as it is.
 */
export const compileJson = (value: Json | undefined, scope: Scope, see: typeof compileRead = compileShown): Read => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return () => value;
  const parts = templated(value, scope);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return see(only.path, scope);
  return compileRaw(value, scope);
};

/** A prop that must be of a kind: a literal is judged once, what a variable brings each time. */
export const compileKind = <T>(
  value: Json | undefined,
  parse: (value: unknown) => T | undefined,
  scope: Scope,
): ((state: State) => T | undefined) => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    const read = compileJson(value.trim(), scope);
    return (state) => {
      const made = parse(read(state));
      if (made === undefined) state.lost = true;
      return made;
    };
  }
  const literal = value === undefined ? undefined : parse(value);
  return () => literal;
};

/**
 * Throws RENDERED_BODY_TOO_LARGE before a text of several values is longer than all texts of a document together may
 * be.
 */
const joined = (pieces: readonly (string | Fill)[], { limits: { documentTextCharsMax: max } }: Scope): Fill => {
  const [first, second] = pieces;
  if (pieces.every((piece) => typeof piece === 'string')) {
    const literal = pieces.join('');
    return () => literal;
  }
  if (pieces.length === 1 && typeof first === 'function') return first;
  if (pieces.length === 2 && typeof first === 'string' && typeof second === 'function')
    return (state) => first + second(state);
  return (state) => {
    let text = '';
    for (const piece of pieces) {
      const next = typeof piece === 'string' ? piece : piece(state);
      if (text.length + next.length > max) throw documentTooLong(text.length + next.length, max);
      text += next;
    }
    return text;
  };
};

export type PreparedValues = Readonly<{
  /** The call's own values, the defaults of those it left out, and the calculated ones. */
  values: JsonObject;
  constants: Readonly<Record<Constant, string | number>>;
}>;

/** `setsApart`: in calculated texts, for outputs that people read. */
type Preparation = (
  variables: JsonObject,
  environment: RenderEnvironment,
  budget: Budget,
  setsApart?: boolean,
) => PreparedValues;

/**
 * Prepares the values of a call: checked, completed, calculated. In: the definitions of a checked template, its
 * language. Out: a function for its calls. It throws VALIDATION_ERROR with `errors` (`variables.order.total`) where a
 * value is missing or of the wrong type, or a calculation fails. A value that a call gives under the name of a
 * calculated variable is left out. A template that calculates nothing pays nothing for it.
 */
export const compilePreparation = (
  definitions: readonly VariableDefinition[],
  language: Language,
  limits: Limits,
): Preparation => {
  const constantsAt = constantsOf(language);
  if (!definitions.some(calculates)) {
    const check = compileVariableCheck(definitions);
    return (variables, environment) => ({ values: check(variables), constants: constantsAt(environment) });
  }
  const check = compileVariableCheck(definitions.filter((definition) => !isCalculated(definition)));
  const calculate = compileCalculation(definitions, limits);
  return (variables, environment, budget, setsApart = false) => {
    const constants = constantsAt(environment);
    return {
      values: calculate(check(variables), { at: environment.at, ...language, constants, budget, setsApart }),
      constants,
    };
  };
};

type Filling = Readonly<{
  definitions: readonly VariableDefinition[];
  language: Language;
  limits: Limits;
  budget: Budget;
  /** People read the text: its values are set apart from it. */
  direction?: Direction;
}>;

/**
 * Fills a text that is used once: a subject or a file name that came with a call. Texts that are used often are
 * compiled instead. In: the text, the path of its field, the definitions and their values. Throws VALIDATION_ERROR
 * where the text is no templated text, WORK_LIMIT_EXCEEDED before the text is longer than the budget.
 */
export const fillText = (
  text: string,
  field: string,
  { definitions, language, limits, budget, direction }: Filling,
  { values, constants }: PreparedValues,
): string => {
  if (!hasPlaceholder(text)) return text;
  const { parts, faults } = parseTemplatedText(text, limits.pathSegmentsMax);
  refuseFaults(field, faults);
  const shapes = new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));
  const all: JsonObject = { ...values, ...constants };
  const written = (path: Path): string => {
    const shape = shapes.get(String(path[0]));
    const instead = shapeAt(shape, path)?.substitution;
    const read = readPath(all, path);
    const value = instead === undefined ? read : substituterOf(instead, language.locale)(read);
    const displayFormat = displayFormatAt(shape, path, undefined);
    const text =
      displayFormat === undefined
        ? writeValue(value)
        : writerOf(resolved(displayFormat, all, { limits, budget }), language)(value);
    spendChars(budget, text.length);
    return text;
  };
  if (direction === undefined)
    return parts.map((part) => (typeof part === 'string' ? part : written(part.path))).join('');
  return apartIn(
    withTextAround(parts).map((part) => (typeof part === 'string' ? part : { ...part, text: written(part.path) })),
  )
    .map((part) => (typeof part === 'string' ? part : 'values' in part ? isolatedValues(part, direction) : part.text))
    .join('');
};

/**
 * Fills HTML that is used once and leaves as it is but for its placeholders, also those in comments, which some mail
 * programs show. Each value is escaped for the place where it stands. In and out as for `fillText`.
 */
export const fillHtml: typeof fillText = (html, field, { limits, budget }, { values, constants }) => {
  if (!hasPlaceholder(html)) return html;
  const { parts, faults } = parseTemplatedText(html, limits.pathSegmentsMax, true);
  refuseFaults(field, faults);
  spendElements(budget, parts.length);
  const places = placesOf(parts);
  const all: JsonObject = { ...values, ...constants };
  let next = 0;
  let address = '';
  let seen = 0;
  let isJudged = false;
  /** Leaves out a value that gives an address a scheme which may run code. */
  const harmless = (value: string, place: HtmlPlace): string => {
    if (place.kind === 'text' || !ADDRESS_NAMES.test(place.name ?? '')) return value;
    const { before = '', isFirst = true } = place.place ?? {};
    if (isFirst) isJudged = false;
    if (isJudged) return value;
    address = isFirst ? before : address + before.slice(seen);
    seen = before.length;
    const kept = mayRunCode(address + value) ? '' : value;
    address = withoutInvisible(address + kept);
    // No scheme reaches beyond these signs, or is so long.
    isJudged = (/[/?#]/.test(address) || address.length > ADDRESS_CHARS) && !mayRunCode(address);
    return kept;
  };
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const place = places[next++] ?? { kind: 'loose' };
      const written = harmless(writeValue(readPath(all, part.path)), place);
      const escaped = place.kind === 'text' ? escapeHtml(written) : escapeAt(place)(written);
      spendChars(budget, escaped.length);
      return escaped;
    })
    .join('');
};

/** Attributes that hold an address. */
const ADDRESS_NAMES = /^(?:href|src|action|formaction|background|poster|xlink:href)$/;

const refuseFaults = (field: string, faults: readonly string[]): void => {
  const errors = faults.map((message) => ({ field, message }));
  if (errors[0] !== undefined)
    throw new DomainError('VALIDATION_ERROR', `${field} is not valid: ${errors[0].message}`, { errors });
};

/** The currency of a format may come from a variable. */
const resolved = (
  displayFormat: DisplayFormat,
  values: JsonObject,
  { limits, budget }: Pick<Filling, 'limits' | 'budget'>,
): DisplayFormat => {
  const currency = displayFormat.format?.currency;
  if (currency === undefined || !hasPlaceholder(currency)) return displayFormat;
  const written = parseTemplatedText(currency, limits.pathSegmentsMax).parts.map((part) => {
    if (typeof part === 'string') return part;
    const value = writeValue(readPath(values, part.path));
    spendChars(budget, value.length);
    return value;
  });
  return inCurrency(displayFormat, written.join(''));
};
