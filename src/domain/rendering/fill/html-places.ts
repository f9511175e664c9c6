/** Where the placeholders of HTML stand: in text, in the value of an attribute, or loose inside a tag. Values are escaped for their place before anyone reads the HTML. */
import type { Place } from '../addresses.js';
import type { TemplatedText } from './templated-text.js';

export type HtmlPlace =
  | Readonly<{ kind: 'text' }>
  /** A name, or a value without quotes. */
  | Readonly<{ kind: 'loose' }>
  | Readonly<{ kind: 'attribute'; name: string; place: Place }>;

type Reader = { at: 'text' | 'comment' | 'tag' | 'loose' | '"' | "'"; name: string; start: string | undefined; before: string };

/** In: HTML, taken apart. Out: the place of each of its placeholders, in order. */
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
  if (at === 'tag' || at === 'loose') return { kind: 'loose' };
  reader.start ??= before;
  return { kind: 'attribute', name, place: { start: reader.start, before, isLast: next.startsWith(at) } };
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
      case '"':
      case "'": {
        const end = html.indexOf(reader.at, from);
        reader.before += html.slice(from, end < 0 ? html.length : end);
        if (end >= 0) Object.assign(reader, { at: 'tag', name: '' });
        from = end < 0 ? html.length : end + 1;
      }
    }
  }
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

/** One name, with its equals sign and the quote that opens its value. */
const readTag = (html: string, from: number, reader: Reader): number => {
  TOKEN.lastIndex = from;
  const [token = '', name = '', equals = '', end = ''] = TOKEN.exec(html) ?? [];
  if (end === '>') Object.assign(reader, { at: 'text', name: '' });
  else if (end !== '')
    Object.assign(reader, { at: end, name: (equals === '' ? '' : name || reader.name).toLowerCase(), start: undefined, before: '' });
  else if (name !== '') Object.assign(reader, { at: equals === '' ? 'tag' : 'loose', name: name.toLowerCase() });
  return from + Math.max(token.length, 1);
};
