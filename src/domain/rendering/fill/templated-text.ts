/** Text that holds `{{paths}}`: how it is taken apart, what is wrong with it, and the placeholders of page numbers. */
import { isConstantName, parsePath, shorten, type Path } from '../scope/path.js';
import { isConstant } from '../scope/constants.js';
import { directionOfText, holdsRightToLeft, type Direction, type TextAround } from '../direction.js';
import { blockTags, sectionTags } from '../html.js';

export type Placeholder = Readonly<{
  path: Path;
  /** The inside of the braces, trimmed. */
  source: string;
  /** Set by `withTextAround`. */
  around?: TextAround;
}>;
export type TextPart = string | Placeholder;
export type TemplatedText = readonly TextPart[];

/** `faults` holds a sentence for everything wrong; `parts` is whole only where it is empty. */
type ParsedText = Readonly<{ parts: TemplatedText; faults: readonly string[] }>;

const FAULTS_MAX = 10;

/**
 * In: any text, and how many segments a path may have. Out: its literals and placeholders in order, and what is wrong.
 * Comments of HTML are literals, unless `fillsComments`.
 */
export const parseTemplatedText = (text: string, segmentsMax: number, fillsComments = false): ParsedText => {
  const parts: TextPart[] = [];
  const faults: string[] = [];
  const comments = fillsComments ? [] : commentsIn(text);
  let passed = 0;
  let at = 0;
  let from = 0;
  while (at < text.length && faults.length < FAULTS_MAX) {
    const open = text.indexOf('{{', from);
    if (open < 0) break;
    let comment = comments[passed];
    while (comment !== undefined && comment.end <= open) comment = comments[(passed += 1)];
    if (comment !== undefined && comment.start < open) {
      from = comment.end;
      continue;
    }
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
    from = at;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts, faults };
};

const NEW_LINE = new RegExp(`</?(?:${[...blockTags, ...sectionTags, 'br', 'td', 'th', 'tr'].join('|')})\\b`, 'i');
const NOT_TEXT = /^[^<>]*>|<[^>]*>?|&[a-z0-9#]{1,8};/gi;
const END_OF_PHRASE = /[.,;:!?\u060c\u061b\u061f\u06d4]/;
/** A line rarely has more before its last letter. */
const LINE_CHARS = 400;

/** In: a text or HTML, taken apart. Out: the same, each value with what the author wrote around it. */
export const withTextAround = <Value extends object>(
  text: readonly (string | Value)[],
): readonly (string | (Value & { around?: TextAround }))[] => {
  const literals = text.filter((part) => typeof part === 'string');
  if (literals.length === text.length) return literals;
  const turns = literals.some(holdsRightToLeft) ? { holdsRightToLeft: true as const } : {};
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

/** A comment, or a tag, whose attributes may hold what looks like one. */
const MARKUP = /<!--(?:-?>|[^]*?-->)|<\/?[a-z](?:"[^"]*"|'[^']*'|[^"'>])*>?/gi;

type Range = Readonly<{ start: number; end: number }>;

/** The closed comments of HTML in which a placeholder may stand. */
const commentsIn = (text: string): readonly Range[] => {
  const lastEnd = text.includes('<!--') ? text.lastIndexOf('-->') : -1;
  if (lastEnd < 0) return [];
  return [...text.slice(0, lastEnd + 3).matchAll(MARKUP)].flatMap(({ 0: whole, index }) =>
    whole.startsWith('<!--') && whole.includes('{{') ? [{ start: index, end: index + whole.length }] : [],
  );
};

/** HTML without the comments in which a placeholder stands. */
export const withoutComments = (html: string): string => {
  const comments = commentsIn(html);
  const pieces = comments.map(({ start }, at) => html.slice(comments[at - 1]?.end ?? 0, start));
  return comments.length === 0 ? html : pieces.join('') + html.slice(comments.at(-1)?.end);
};

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
export const pathsOf = (text: TemplatedText): readonly Path[] =>
  text.flatMap((part) => (typeof part === 'string' ? [] : [part.path]));

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
 * HTML whose placeholders have references in place of quotation marks, which would end an attribute to a reader of
 * HTML: `<a href="{{shop["order page"]}}">`.
 */
export const withQuoteReferences = (html: string): string =>
  /\[\s*["']/.test(html)
    ? html.replace(/\{\{[^{}]*\}\}/g, (placeholder) => placeholder.replaceAll('"', '&quot;').replaceAll("'", '&#39;'))
    : html;

const KEY_IN_BRACKETS = /\[\s*(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')\s*\]/g;

/** Characters that are hard to see or to tell from others, by what they are called. */
const strangers: readonly (readonly [RegExp, string])[] = [
  [/\u00a0|\u202f/, 'a no-break space'],
  [/\t/, 'a tab'],
  [/[\n\r\u2028\u2029]/, 'a line break'],
  [/[\u200b\ufeff]/, 'a zero-width space'],
  [/\u200c|\u200d|\u2060/, 'a zero-width joiner'],
  [/\u00ad/, 'a soft hyphen'],
  [/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/, 'an invisible mark of direction'],
  [/ /, 'a blank'],
  [/\p{Zs}/u, 'a blank of another width'],
  [/[“”„‟‘’‚‛«»‹›″′]/, 'a curly quotation mark'],
  [/[\u2010-\u2015\u2212\ufe63\uff0d]/, 'a dash that is not "-"'],
  [/[\p{Cc}\p{Cf}]/u, 'an invisible character'],
];
const STRANGE = /[\p{Zs}\p{Cc}\p{Cf}\u2028\u2029“”„‟‘’‚‛«»‹›″′\u2010-\u2015\u2212\ufe63\uff0d]/u;
/** A source with other signs gets a message that names them. */
const OTHER_SIGNS = /^[#/^!>]|[<>()|?+*=,"'`]/;

const REFERENCE =
  /&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(nbsp|ensp|emsp|thinsp|zwnj|zwj|shy|lrm|rlm|ldquo|rdquo|bdquo|lsquo|rsquo|sbquo|laquo|raquo|ndash|mdash));/gi;
const references: Readonly<Record<string, string>> = {
  ...{
    nbsp: '\u00a0',
    ensp: '\u2002',
    emsp: '\u2003',
    thinsp: '\u2009',
    zwnj: '\u200c',
    zwj: '\u200d',
    shy: '\u00ad',
    lrm: '\u200e',
    rlm: '\u200f',
  },
  ...{
    ldquo: '“',
    rdquo: '”',
    bdquo: '„',
    lsquo: '‘',
    rsquo: '’',
    sbquo: '‚',
    laquo: '«',
    raquo: '»',
    ndash: '–',
    mdash: '—',
  },
};

const withoutReferences = (source: string): string =>
  source.replace(REFERENCE, (_, decimal?: string, hex?: string, name?: string) =>
    name === undefined
      ? String.fromCodePoint(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal))
      : (references[name.toLowerCase()] ?? ''),
  );

/** A sentence that names the first character that no name has and that is easily overlooked. */
const strangeIn = (written: string): string | undefined => {
  const source = withoutReferences(written);
  const [character] = STRANGE.exec(source) ?? [];
  if (character === undefined || OTHER_SIGNS.test(source) || COMPARISON.test(source)) return undefined;
  const at = source.indexOf(character);
  const name = strangers.find(([pattern]) => pattern.test(character))?.[1];
  const code = character === ' ' ? '' : ` (U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')})`;
  const place = at === 0 ? 'at its beginning' : `behind "${shorten(source.slice(0, at))}"`;
  return `has ${name}${code} ${place}: names are letters, digits, "_" and "-"; any other key stands in brackets and straight quotation marks, {{order["1st item"]}}`;
};

/** The mistakes that authors make most, each with its own sentence. */
const faultOf = (written: string): string | undefined => {
  const shown = shorten(written);
  const source = written.replace(KEY_IN_BRACKETS, '[0]');
  if (source === '') return '"{{}}" is empty: a variable name is expected between the braces';
  if (source.includes('{'))
    return `"{{${shown}" opens a brace inside braces: write {{name}} with exactly two on each side`;
  const strange = strangeIn(source);
  if (strange !== undefined) return `{{${shown}}} ${strange}`;
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

/**
 * The two placeholders that only the header and the footer of a page know: their values exist once the pages are laid
 * out.
 */
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
