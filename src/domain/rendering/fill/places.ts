/** Places of values in HTML: in text, in the value of an attribute, or loose inside a tag. */
import type { Place } from '../addresses.js';
import type { TemplatedText } from './templated-text.js';

export type HtmlPlace =
  | Readonly<{ kind: 'text' }>
  /** A name, or a value without quotes. */
  | Readonly<{ kind: 'loose'; name?: string; place?: ValuePlace }>
  | Readonly<{ kind: 'attribute'; name: string; place: Place & ValuePlace }>;

/** The literal text of the attribute before a value. `isFirst`: no other value stands before it in the attribute. */
type ValuePlace = Readonly<{ before: string; isFirst: boolean }>;

type Reader = {
  at: 'text' | 'comment' | 'tag' | 'loose' | 'unquoted' | '"' | "'";
  name: string;
  start: string | undefined;
  before: string;
};

/**
 * In: HTML, taken apart. Out: the place of each of its placeholders, in order: in text, in the value of an attribute,
 * or loose inside a tag.
 */
export const placesOf = (parts: TemplatedText): readonly HtmlPlace[] => {
  const reader: Reader = { at: 'text', name: '', start: undefined, before: '' };
  const places: HtmlPlace[] = [];
  parts.forEach((part, index) => {
    if (typeof part === 'string') return read(part, reader);
    const next = parts[index + 1];
    places.push(placeIn(reader, typeof next === 'string' ? next : ''));
    if (reader.at === 'tag') reader.at = 'loose';
  });
  return places;
};

const placeIn = (reader: Reader, next: string): HtmlPlace => {
  const { at, name, before } = reader;
  if (at === 'text' || at === 'comment') return { kind: 'text' };
  if (at === 'tag' || at === 'loose') return { kind: 'loose', name };
  const isFirst = reader.start === undefined;
  reader.start ??= before;
  if (at === 'unquoted') return { kind: 'loose', name, place: { before, isFirst } };
  return { kind: 'attribute', name, place: { start: reader.start, before, isLast: next.startsWith(at), isFirst } };
};

/** Moves over literal HTML; one pass, each step at least one character forward. */
const read = (html: string, reader: Reader): void => {
  let from = 0;
  while (from < html.length) {
    switch (reader.at) {
      case 'text':
        from = readText(html, from, reader);
        break;
      case 'comment': {
        const end = html.indexOf('-->', from);
        if (end >= 0) reader.at = 'text';
        from = end < 0 ? html.length : end + 3;
        break;
      }
      case 'tag':
      case 'loose':
        from = readTag(html, from, reader);
        break;
      case 'unquoted': {
        // The value ends at a blank or at the end of the tag, whatever stands between its placeholders.
        const end = from + html.slice(from).search(/[\s>]|$/);
        reader.before = shortened(reader.before + html.slice(from, end));
        if (end < html.length) Object.assign(reader, { at: 'tag', name: '' });
        from = end;
        break;
      }
      case '"':
      case "'": {
        const end = html.indexOf(reader.at, from);
        reader.before = shortened(reader.before + html.slice(from, end < 0 ? html.length : end));
        if (end >= 0) Object.assign(reader, { at: 'tag', name: '' });
        from = end < 0 ? html.length : end + 1;
      }
    }
  }
};

/** No scheme or host of an address is so long. */
export const ADDRESS_CHARS = 1_000;

/**
 * In: the text of an attribute before a value. Out: a text that `partAt` judges in the same way: of what stands between
 * the beginning and the last two characters it keeps the first sign that ends a host or a path. A text may be as long
 * as a mail, and each of its values keeps its own.
 */
const shortened = (before: string): string => {
  if (before.length <= 2 * ADDRESS_CHARS) return before;
  const middle = before.slice(ADDRESS_CHARS, -2);
  const sign = /[?#]/.exec(middle)?.[0] ?? (middle.includes('/') ? '/' : '');
  return before.slice(0, ADDRESS_CHARS) + sign + before.slice(-2);
};

const readText = (html: string, from: number, reader: Reader): number => {
  const open = html.indexOf('<', from);
  if (open < 0) return html.length;
  if (html.startsWith('<!--', open)) {
    reader.at = 'comment';
    return open + 4;
  }
  if (!/[A-Za-z/!?]/.test(html.charAt(open + 1))) {
    // A placeholder right behind "<" could become the name of a tag.
    if (open + 1 === html.length) reader.at = 'loose';
    return open + 1;
  }
  Object.assign(reader, { at: 'tag', name: '' });
  return open + 1;
};

const TOKEN = /([^\s"'<>/=]*)\s*(=?)\s*(["'>]?)/y;

/** Reads one name, with its equals sign and the quote that opens its value. */
const readTag = (html: string, from: number, reader: Reader): number => {
  TOKEN.lastIndex = from;
  const [token = '', name = '', equals = '', end = ''] = TOKEN.exec(html) ?? [];
  if (end === '>') Object.assign(reader, { at: 'text', name: '' });
  else if (end !== '')
    Object.assign(reader, {
      at: end,
      name: (equals === '' ? '' : name || reader.name).toLowerCase(),
      start: undefined,
      before: '',
    });
  else if (equals !== '')
    Object.assign(reader, {
      at: 'unquoted',
      name: (name || reader.name).toLowerCase(),
      start: undefined,
      before: '',
    });
  else if (name !== '') Object.assign(reader, { at: 'tag', name: name.toLowerCase() });
  return from + Math.max(token.length, 1);
};
