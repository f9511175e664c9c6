/**
 * Accepts SVG that only draws: whole, without scripts, without anything that would load another document. A program
 * that shows the accepted SVG need not check it again.
 */
import type { PictureSize } from '../rendering/pictures.js';
import { nextTurn } from '../../shared/concurrency.js';

/** `fault`: a sentence part that says what is not allowed. `size`: in pixels, where the root element says so. */
type SvgFinding = Readonly<{ fault: string }> | Readonly<{ size: PictureSize | undefined }>;

const DEPTH_MAX = 256;
/** Most pieces of one drawing: tags, comments, attributes, character references, and addresses in styles. */
export const SVG_PIECES_MAX = 200_000;
/** Pieces that are read in one turn of the event loop. */
const PIECES_AT_ONCE = 2_000;
// These patterns are sticky: nothing may be awaited between setting and reading their `lastIndex`.
const NAME = '[A-Za-z_][\\w.:-]*';
const OPEN = new RegExp(`<(${NAME})`, 'y');
const CLOSE = new RegExp(`</(${NAME})\\s*>`, 'y');
const ATTRIBUTE = new RegExp(`\\s+(${NAME})\\s*=\\s*(?:"([^"<]*)"|'([^'<]*)')`, 'y');
const TAG_END = /\s*(\/?)>/y;

/**
 * Elements that are refused, by local name, for a prefix may stand for any namespace. Animations can change a link into
 * a script.
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'script',
  'foreignobject',
  'iframe',
  'embed',
  'object',
  'audio',
  'video',
  'canvas',
  'handler',
  'listener',
  'link',
  'meta',
  'base',
  'form',
  'animate',
  'animatecolor',
  'animatemotion',
  'animatetransform',
  'set',
  'discard',
]);
const OTHER_VOCABULARIES = /w3\.org\/(?:1999\/xhtml|1998\/Math)/i;
const EMBEDDED = /^data:image\/(?:png|jpe?g|gif|webp)[;,]/i;
const EMBEDDED_IN_STYLE =
  /^(?:#|data:(?:image\/(?:png|jpe?g|gif|webp)|font\/[a-z0-9-]+|application\/(?:x-)?font-[a-z0-9-]+)[;,])/i;
const LOADING_STYLE = /@import|image-set\s*\(|\bsrc\s*\(|\bimage\s*\(/i;
const URL_IN_STYLE = /\burl\(\s*["']?\s*/gi;

class Fault extends Error {}

/** The pieces that were read. */
type Work = { pieces: number };

/**
 * Counts a piece. Out: whether others are due a turn of the event loop. Throws Fault if the drawing has too many
 * pieces.
 */
const spend = (work: Work): boolean => {
  work.pieces += 1;
  if (work.pieces > SVG_PIECES_MAX)
    throw new Fault(
      `has more than ${SVG_PIECES_MAX} tags, comments, attributes, character references and addresses in styles`,
    );
  return work.pieces % PIECES_AT_ONCE === 0;
};

/**
 * In: text. Out: undefined where its root element is not `svg`. The event loop serves others between the pieces of a
 * large drawing.
 */
export const readSvg = async (text: string): Promise<SvgFinding | undefined> => {
  const work: Work = { pieces: 0 };
  try {
    return (await rootNameOf(text, work)) === 'svg' ? { size: await walk(text, work) } : undefined;
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message };
    throw error;
  }
};

const rootNameOf = async (text: string, work: Work): Promise<string | undefined> => {
  const at = await skipProlog(text, work);
  OPEN.lastIndex = at;
  return localName(OPEN.exec(text)?.[1] ?? '');
};

/** The place of the first element. */
const skipProlog = async (text: string, work: Work): Promise<number> => {
  for (let at = 0; ;) {
    if (spend(work)) await nextTurn();
    const next = text.indexOf('<', at);
    if (next < 0) return text.length;
    if (text.startsWith('<!--', next)) at = endAfter(text, '-->', next + 4);
    else if (text.startsWith('<?', next) || text.startsWith('<!', next)) at = endAfter(text, '>', next);
    else return next;
  }
};

const endAfter = (text: string, mark: string, from: number): number => {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
};

/** Goes over the whole text once; throws Fault. */
const walk = async (text: string, work: Work): Promise<PictureSize | undefined> => {
  const open: string[] = [];
  let size: PictureSize | undefined;
  let ended = false;
  let style = '';
  for (let at = text.startsWith('\ufeff') ? 1 : 0; at < text.length;) {
    if (spend(work)) await nextTurn();
    const next = text.indexOf('<', at);
    const between = text.slice(at, next < 0 ? text.length : next);
    if (open.length === 0 && between.trim() !== '') throw new Fault('has text outside its root element');
    if (open.at(-1) === 'style') style += decoded(between, work);
    if (next < 0) break;
    if (text.startsWith('<!', next) || text.startsWith('<?', next)) {
      const part = special(text, next, open.length > 0 || ended);
      if (open.at(-1) === 'style') style += part.content;
      at = part.end;
      continue;
    }
    if (text.startsWith('</', next)) {
      const name = close(text, next);
      if (open.pop() !== name) throw new Fault('has tags that do not match');
      if (localName(name) === 'style') {
        checkStyle(style, work);
        style = '';
      }
      ended = open.length === 0;
      at = CLOSE.lastIndex;
      continue;
    }
    if (ended) throw new Fault('has more than one root element');
    const { name, attributes, empty, end } = await openTag(text, next, work);
    if (open.length === 0) size = sizeOf(attributes);
    if (!empty) open.push(name);
    else ended = open.length === 0;
    if (open.length > DEPTH_MAX) throw new Fault(`is nested deeper than ${DEPTH_MAX} levels`);
    at = end;
  }
  if (!ended) throw new Fault('ends too early');
  return size;
};

const special = (text: string, at: number, inside: boolean): Readonly<{ end: number; content: string }> => {
  const upTo = (mark: string, from: number): number => {
    const end = text.indexOf(mark, from);
    if (end < 0) throw new Fault('ends too early');
    return end;
  };
  if (text.startsWith('<!--', at)) return { end: upTo('-->', at + 4) + 3, content: '' };
  if (text.startsWith('<![CDATA[', at) && inside) {
    const end = upTo(']]>', at + 9);
    return { end: end + 3, content: text.slice(at + 9, end) };
  }
  if (/^<\?xml\s/.test(text.slice(at, at + 6)) && !inside) return { end: upTo('?>', at) + 2, content: '' };
  if (/^<!doctype\s/i.test(text.slice(at, at + 10)) && !inside) {
    const end = upTo('>', at);
    if (text.slice(at, end).includes('[')) throw new Fault('declares entities of its own');
    return { end: end + 1, content: '' };
  }
  throw new Fault('holds processing instructions or declarations');
};

const close = (text: string, at: number): string => {
  CLOSE.lastIndex = at;
  const found = CLOSE.exec(text);
  if (found === null) throw new Fault('has a broken tag');
  return found[1]!;
};

type OpenTag = Readonly<{ name: string; attributes: ReadonlyMap<string, string>; empty: boolean; end: number }>;

const openTag = async (text: string, at: number, work: Work): Promise<OpenTag> => {
  OPEN.lastIndex = at;
  const name = OPEN.exec(text)?.[1];
  if (name === undefined) throw new Fault('has a broken tag');
  if (FORBIDDEN.has(localName(name))) throw new Fault(`holds the element <${name.slice(0, 40)}>`);
  const attributes = new Map<string, string>();
  let end = OPEN.lastIndex;
  for (;;) {
    ATTRIBUTE.lastIndex = end;
    const found = ATTRIBUTE.exec(text);
    if (found === null) break;
    end = ATTRIBUTE.lastIndex;
    if (spend(work)) await nextTurn();
    const attribute = found[1]!;
    if (attributes.has(attribute)) throw new Fault(`has the attribute ${attribute.slice(0, 40)} twice`);
    const value = decoded(found[2] ?? found[3] ?? '', work);
    checkAttribute(attribute, value, work);
    attributes.set(attribute, value);
  }
  TAG_END.lastIndex = end;
  const ending = TAG_END.exec(text);
  if (ending === null) throw new Fault('has a broken tag');
  return { name, attributes, empty: ending[1] === '/', end: TAG_END.lastIndex };
};

const localName = (name: string): string => name.slice(name.indexOf(':') + 1).toLowerCase();

const checkAttribute = (name: string, value: string, work: Work): void => {
  const local = localName(name);
  const shown = name.slice(0, 40);
  if (local.startsWith('on')) throw new Fault(`holds the script attribute ${shown}`);
  if (OTHER_VOCABULARIES.test(value) && name.toLowerCase().startsWith('xmlns'))
    throw new Fault('holds elements of HTML or MathML');
  if (name.toLowerCase() === 'xml:base') throw new Fault('changes the base of its links');
  const link = value.trim();
  if ((local === 'href' || local === 'src') && link !== '' && !link.startsWith('#') && !EMBEDDED.test(link)) {
    throw new Fault(`refers to something outside itself (${shown})`);
  }
  // Attributes with a prefix are notes of drawing programs, which nobody reads as style.
  if (!name.includes(':'))
    checkStyle(value, work, !/^(?:style|fill|stroke|filter|mask|marker.*|clip-path|cursor)$/.test(local));
};

/** `isPlain`: text that is style only where it holds a function; a backslash may stand in it. */
const checkStyle = (style: string, work: Work, isPlain = false): void => {
  if (!isPlain && style.includes('\\')) throw new Fault('hides parts of its style behind backslashes');
  if (LOADING_STYLE.test(style) && !isPlain) throw new Fault('loads something from its style');
  for (const { index, 0: found } of style.matchAll(URL_IN_STYLE)) {
    spend(work);
    const target = style.slice(index + found.length, index + found.length + 64);
    if (!EMBEDDED_IN_STYLE.test(target)) throw new Fault('refers to something outside itself (url)');
  }
};

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Replaces character references; there are no others, for none can be declared. */
const decoded = (text: string, work: Work): string =>
  text.includes('&')
    ? text.replace(
        /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,4}));|&/g,
        (_whole, decimal?: string, hex?: string, name?: string) => {
          spend(work);
          const character =
            name !== undefined
              ? NAMED[name]
              : codePoint(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal));
          if (character === undefined) throw new Fault('holds a broken character reference');
          return character;
        },
      )
    : text;

const codePoint = (code: number): string | undefined =>
  code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;

const LENGTH = /^\s*(\d{1,6}(?:\.\d{1,9})?)(?:px)?\s*$/;

const sizeOf = (attributes: ReadonlyMap<string, string>): PictureSize | undefined => {
  const [, , boxWidth, boxHeight] = (attributes.get('viewBox') ?? '').trim().split(/[\s,]+/);
  const width = pixels(attributes.get('width')) ?? pixels(boxWidth);
  const height = pixels(attributes.get('height')) ?? pixels(boxHeight);
  return width === undefined || height === undefined ? undefined : { width, height };
};

const pixels = (text: string | undefined): number | undefined => {
  const value = Math.round(Number(LENGTH.exec(text ?? '')?.[1]));
  return value > 0 ? value : undefined;
};
