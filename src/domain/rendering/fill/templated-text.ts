/** Text that holds `{{paths}}`: how it is taken apart, what is wrong with it, and the placeholders of page numbers. */
import { isConstantName, parsePath, shorten, type Path } from '../scope/path.js';
import { isConstant } from '../scope/constants.js';
import { directionOfText, holdsRightToLeft, type Direction, type Surroundings } from '../direction.js';
import { blockTags, sectionTags } from '../html.js';

export type Placeholder = Readonly<{
  path: Path;
  /** The inside of the braces, trimmed. */
  source: string;
  /** Told by `withSurroundings`. */
  around?: Surroundings;
}>;
export type TextPart = string | Placeholder;
export type TemplatedText = readonly TextPart[];

/** `faults` holds a sentence for everything wrong; `parts` is whole only where it is empty. */
type ParsedText = Readonly<{ parts: TemplatedText; faults: readonly string[] }>;

const FAULTS_MAX = 10;

/** In: any text, and how many segments a path may have. Out: its literals and placeholders in order, and what is wrong. */
export const parseTemplatedText = (text: string, segmentsMax: number): ParsedText => {
  const parts: TextPart[] = [];
  const faults: string[] = [];
  let at = 0;
  while (at < text.length && faults.length < FAULTS_MAX) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    if (open > at) parts.push(text.slice(at, open));
    const close = text.indexOf('}}', open + 2);
    if (close < 0) {
      faults.push(`"{{" at character ${open + 1} is never closed by "}}"`);
      return { parts, faults };
    }
    const inside = text.slice(open + 2, close);
    const placeholder = parsePlaceholder(inside, segmentsMax);
    if (typeof placeholder === 'string') faults.push(placeholder);
    else parts.push(placeholder);
    at = close + 2;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts, faults };
};

const NEW_LINE = new RegExp(`</?(?:${[...blockTags, ...sectionTags, 'br', 'td', 'th', 'tr'].join('|')})\\b`, 'i');
const NOT_TEXT = /^[^<>]*>|<[^>]*>?|&[a-z0-9#]{1,8};/gi;
const END_OF_PHRASE = /[.,;:!?\u060c\u061b\u061f\u06d4]/;
/** A line rarely has more before its last letter. */
const LINE_CHARS = 400;

/** In: a text or HTML, taken apart. Out: the same, each placeholder with what the author wrote around it. */
export const withSurroundings = (text: TemplatedText): TemplatedText => {
  if (!text.some((part) => typeof part !== 'string')) return text;
  const turns = text.some((part) => typeof part === 'string' && holdsRightToLeft(part)) ? { holdsRightToLeft: true as const } : {};
  let before: Direction | undefined;
  return text.map((part) => {
    if (typeof part !== 'string') return { ...part, around: { ...turns, ...(before === undefined ? {} : { before }) } };
    const line = part.slice(-LINE_CHARS).split(NEW_LINE);
    if (line.length > 1) before = undefined;
    const phrases = (line.at(-1) ?? '').replace(NOT_TEXT, ' ').split(END_OF_PHRASE);
    if (phrases.length > 1) before = undefined;
    before = lastDirection(phrases.at(-1) ?? '') ?? before;
    return part;
  });
};

/** The direction of the last letter; undefined where there is none. */
const lastDirection = (text: string): Direction | undefined => directionOfText([...text].reverse().join(''));

/** True where the text holds at least one `{{`. */
export const hasPlaceholder = (text: string): boolean => text.includes('{{');

/** A path written with or without braces (`items`, `{{items}}`), as data sources and conditions may be. */
export const parsePathText = (text: string, segmentsMax: number): ReturnType<typeof parsePath> => {
  const trimmed = text.trim();
  if (!trimmed.includes('{{')) {
    const fault = faultOf(trimmed);
    return fault === undefined ? parsePath(trimmed, segmentsMax) : { ok: false, message: fault };
  }
  const { parts, faults } = parseTemplatedText(trimmed, segmentsMax);
  if (faults[0] !== undefined) return { ok: false, message: faults[0] };
  const [only] = parts;
  if (parts.length !== 1 || only === undefined || typeof only === 'string') {
    return { ok: false, message: `"${shorten(trimmed)}" must be one path such as {{items}} and nothing beside it` };
  }
  return { ok: true, path: only.path };
};

/** Every path in the text. */
export const pathsOf = (text: TemplatedText): readonly Path[] => text.flatMap((part) => (typeof part === 'string' ? [] : [part.path]));

const parsePlaceholder = (inside: string, segmentsMax: number): Placeholder | string => {
  const source = withoutQuoteReferences(inside.trim());
  const fault = faultOf(source);
  if (fault !== undefined) return fault;
  const parsed = parsePath(source, segmentsMax);
  return parsed.ok ? { path: parsed.path, source } : `in {{${shorten(source)}}}: ${parsed.message}`;
};

/** `a > 10`, `a && b`, as rich text may write them too. */
const COMPARISON = /\s(?:[<>]=?|[!=]==?|&&|\|\||(?:&lt;|&gt;)=?|&amp;&amp;)\s/;

const QUOTE_REFERENCES = /&(?:quot|#34|#x22|apos|#39|#x27);/gi;

/** Editors of rich text write quotation marks as references. */
const withoutQuoteReferences = (source: string): string =>
  source.includes('[') && source.includes('&')
    ? source.replace(QUOTE_REFERENCES, (reference) => (/q|34|22/i.test(reference) ? '"' : "'"))
    : source;

/**
 * HTML whose placeholders have references in place of quotation marks, which would end an attribute to a reader of HTML:
 * `<a href="{{shop["order page"]}}">`.
 */
export const withQuoteReferences = (html: string): string =>
  /\[\s*["']/.test(html)
    ? html.replace(/\{\{[^{}]*\}\}/g, (placeholder) => placeholder.replaceAll('"', '&quot;').replaceAll("'", '&#39;'))
    : html;

const KEY_IN_BRACKETS = /\[\s*(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')\s*\]/g;

/** The mistakes that authors make most, each with its own sentence. */
const faultOf = (written: string): string | undefined => {
  const shown = shorten(written);
  const source = written.replace(KEY_IN_BRACKETS, '[0]');
  if (source === '') return '"{{}}" is empty: a variable name is expected between the braces';
  if (source.includes('{')) return `"{{${shown}" opens a brace inside braces: write {{name}} with exactly two on each side`;
  if (/^[#/^!>&]/.test(source)) {
    return `{{${shown}}} is a block or a directive, which the syntax does not have: use a conditional or a loop component`;
  }
  if (COMPARISON.test(source)) {
    return `{{${shown}}} is not a path: what is compared stands in a conditional component, which has condition, operator and value of its own`;
  }
  if (source.includes('<') || source.includes('&')) {
    return `{{${shown}}} holds markup between its braces: format the text around it, not inside`;
  }
  if (/\[\s*["']/.test(source))
    return `{{${shown}}} has a key in brackets that does not end with its quotation mark and "]"; braces in a key are written \\u007b and \\u007d`;
  if (/\[\s*[“”„‘’«»]/.test(source))
    return `{{${shown}}} has curly quotation marks: a key in brackets stands in straight ones, ["1st item"]`;
  if (/[\s()|?+*=,"'`]/.test(source)) {
    return `{{${shown}}} is not a path: only names, ".", "[index]" and '["key"]' may stand between the braces; ${
      source.includes('|')
        ? 'format, filters and fallback are fields of the variable'
        : 'what is calculated is a variable of its own, with isCalculated and expression'
    }`;
  }
  const root = source.split(/[.[]/, 1)[0] ?? '';
  if (isConstantName(root) && !isConstant(root)) return `{{${shown}}} is not a global constant that exists`;
  return undefined;
};

/** The two placeholders that only the header and the footer of a page know: their values exist once the pages are laid out. */
export const pageMarks = ['pageNumber', 'totalPages'] as const;
export type PageMark = (typeof pageMarks)[number];

/** Other words for them, in small letters and without marks between. */
const otherWords: Readonly<Record<PageMark, readonly string[]>> = {
  pageNumber: ['page', 'pageno', 'pagenum', 'currentpage', 'pageindex'],
  totalPages: ['pages', 'pagecount', 'pagescount', 'numpages', 'numberofpages', 'pagetotal', 'pagestotal', 'lastpage'],
};

/** The placeholder that a name may stand for. */
export const pageMarkMeantBy = (name: string): PageMark | undefined => {
  const word = name.toLowerCase().replaceAll(/[-_]/g, '');
  return pageMarks.find((mark) => otherWords[mark].includes(word));
};

export const isPageMark = (name: unknown): name is PageMark => pageMarks.some((mark) => mark === name);
