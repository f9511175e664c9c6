/** Templated texts as functions: what an author wrote once, filled for each document, each value escaped for the place where it stands. */
import type { Json } from '../../json.js';
import type { ValueFormat } from '../../template/schema.js';
import { encodeFor, partAt, type AddressKind } from '../scope/address.js';
import { formatterOf, type Formatter } from '../scope/formats.js';
import { placesOf, type HtmlPlace } from './html-places.js';
import { isPageMark } from './page-marks.js';
import type { Path } from '../scope/path.js';
import { compileRead, countImages, rootShape, type Read, type Scope, type State } from '../scope/scope.js';
import { formatAt, shapeAt } from '../scope/shapes.js';
import { showerOf } from './shown-value.js';
import { hasPlaceholder, parseTemplatedText, type Placeholder, type TemplatedText } from './templated-text.js';
import { withoutControls, writeValue } from '../scope/values.js';

export type Fill = (state: State) => string;

const SPECIAL = /[&<>"']/;
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** For text between tags and for quoted attributes. */
export const escapeHtml = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? '') : text;

/** For a place inside a tag: blanks and equals signs are written as references too, so that a value is one value with or without quotes around it. */
const escapeInTag = (text: string): string => escapeHtml(text).replace(/[\s=`]/g, (character) => `&#${character.charCodeAt(0)};`);

/** For a place without quotes, where a first letter could begin the name of a tag. */
const escapeLoose = (text: string): string => escapeInTag(text).replace(/^[A-Za-z/!?]/, (character) => `&#${character.charCodeAt(0)};`);

/** Text that was checked when the template was saved, taken apart. */
export const templated = (text: string, { limits }: Scope): TemplatedText =>
  parseTemplatedText(withoutControls(text), limits.pathSegmentsMax).parts;

/** The placeholder of a text that holds nothing else, blanks aside. */
export const onlyPlaceholder = (parts: TemplatedText): Placeholder | undefined => {
  const some = parts.filter((part) => typeof part !== 'string' || part.trim() !== '');
  const [only] = some;
  return some.length === 1 && typeof only === 'object' ? only : undefined;
};

/** A format as it is for one document, and the function that writes values in it. */
export type Writer = Readonly<{ write: Formatter; format: ValueFormat | undefined }>;

const plainWriter: Writer = { write: writeValue, format: undefined };

/** The writer of a format; its currency may come from a variable. */
export const compileWriter = (format: ValueFormat | undefined, scope: Scope): ((state: State) => Writer) => {
  if (format === undefined) return () => plainWriter;
  const { language } = scope;
  if (format.currency === undefined || !hasPlaceholder(format.currency)) {
    const fixed: Writer = { write: formatterOf(format, language), format };
    return () => fixed;
  }
  const currencyOf = compilePlain(format.currency, scope);
  let last: Readonly<{ currency: string; writer: Writer }> | undefined;
  return (state) => {
    const currency = currencyOf(state);
    if (last?.currency === currency) return last.writer;
    const known = /^[A-Za-z]{3}$/.test(currency) ? { ...format, currency } : undefined;
    const writer: Writer = known === undefined ? plainWriter : { write: formatterOf(known, language), format: known };
    last = { currency, writer };
    return writer;
  };
};

/** The format of a path: by its definition, else `fallback`. */
export const writerAt = (path: Path, scope: Scope, fallback?: ValueFormat): ((state: State) => Writer) =>
  compileWriter(formatAt(rootShape(path, scope), path) ?? fallback, scope);

/** The value of a path as it is shown: with the filters and the fallback of its definition. */
export const compileShown = (path: Path, scope: Scope): Read => {
  const read = compileRead(path, scope);
  const showing = shapeAt(rootShape(path, scope), path)?.showing;
  if (showing === undefined) return read;
  const show = showerOf(showing, scope.language.locale);
  return (state) => show(read(state));
};

const valueFill = (path: Path, scope: Scope, fallback?: ValueFormat): Fill => {
  const read = compileShown(path, scope);
  const writer = writerAt(path, scope, fallback);
  return (state) => writer(state).write(read(state));
};

/** Text for what knows no markup. */
export const compilePlain = (text: string, scope: Scope): Fill =>
  joined(templated(text, scope).map((part) => (typeof part === 'string' ? part : valueFill(part.path, scope))));

/** HTML: the author's markup as it is, values escaped. `fallback` is the format of values that have none of their own. */
export const compileHtml = (html: string, scope: Scope, fallback?: ValueFormat): Fill => {
  const parts = templated(html, scope);
  const places = placesOf(parts);
  let next = 0;
  const fill = joined(
    parts.map((part) => {
      if (typeof part === 'string') return part;
      const place = places[next] ?? { kind: 'loose' };
      next += 1;
      const [root] = part.path;
      if (scope.inMargin && isPageMark(root) && part.path.length === 1) return `{{${root}}}`;
      return escaped(valueFill(part.path, scope, fallback), place, scope);
    }),
  );
  // Values never become elements, so the pictures of a text are those that the template has.
  const images = html.match(/<img\b/gi)?.length ?? 0;
  if (images === 0) return fill;
  return (state) => {
    countImages(images, state, scope.limits);
    return fill(state);
  };
};

const escaped = (fill: Fill, place: HtmlPlace, { inMargin }: Scope): Fill => {
  const escape = escapeAt(place);
  // Only the template's own page numbers may be read as such later.
  return inMargin ? (state) => escape(fill(state)).replaceAll('{', '&#123;') : (state) => escape(fill(state));
};

const escapeAt = (place: HtmlPlace): ((text: string) => string) => {
  switch (place.kind) {
    case 'text':
      return escapeHtml;
    case 'loose':
      return escapeLoose;
    case 'attribute': {
      if (place.name !== 'href' && place.name !== 'src') return escapeInTag;
      const encode = encodeFor[partAt(place.place, place.name === 'href' ? 'link' : 'image')];
      return (text) => escapeInTag(encode(text));
    }
  }
};

/** An address of which each value is encoded for its part; the whole is to be judged still. */
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
      const fill = valueFill(part.path, scope);
      return (state: State) => encode(fill(state));
    }),
  );
};

/** A JSON value; a string that is one placeholder is the value behind it, with its type: as it is shown, or for a comparison as it is. */
export const compileJson = (value: Json | undefined, scope: Scope, see: typeof compileRead = compileShown): Read => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return () => value;
  const parts = templated(value, scope);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return see(only.path, scope);
  return compilePlain(value, scope);
};

/** A prop that must be of a kind: a literal is judged once, what a variable brings each time. */
export const compileKind = <T>(
  value: Json | undefined,
  parse: (value: unknown) => T | undefined,
  scope: Scope,
): ((state: State) => T | undefined) => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    const read = compileJson(value.trim(), scope);
    return (state) => parse(read(state));
  }
  const literal = value === undefined ? undefined : parse(value);
  return () => literal;
};

const joined = (pieces: readonly (string | Fill)[]): Fill => {
  const [first, second] = pieces;
  if (pieces.every((piece) => typeof piece === 'string')) {
    const literal = pieces.join('');
    return () => literal;
  }
  if (pieces.length === 1 && typeof first === 'function') return first;
  if (pieces.length === 2 && typeof first === 'string' && typeof second === 'function') return (state) => first + second(state);
  return (state) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : piece(state);
    return text;
  };
};
