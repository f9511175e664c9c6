/**
 * Mails whose content came with the call: the HTML leaves as the caller wrote it, placeholders are filled where the
 * call has variables, and a text part is made where none came.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { NO_LINK_RULES } from '../../../domain/rendering/addresses.js';
import { blockTags, droppedTags, sectionTags, voidTags } from '../../../domain/rendering/html.js';
import { finish, HARD_BLANK, heading, integer, linked, mark, wrap } from './text-layout.js';
import { bodyTooLarge, openUnlimitedBudget, subjectTooLong } from '../../../domain/rendering/budget.js';
import { escapeHtml, fillHtml, fillText, type PreparedValues } from '../../../domain/rendering/fill/compile.js';
import { missingIn, type Loss } from '../../../domain/rendering/paths/losses.js';
import { type constantsOf, UNSUBSCRIBE_CONSTANT } from '../../../domain/rendering/scope/constants.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { CompiledEmail, EmailInput, InlineContent } from '../../../domain/ports/renderer.js';
import { charsOf, headerLine, isLonger } from '../../../shared/text.js';

/** `constantsAt`: the constants in that language. */
type Context = Readonly<{ language: Language; constantsAt: ReturnType<typeof constantsOf>; limits: Limits }>;
type Filled = Readonly<{ subject: string; html: string; text: string | undefined; losses: readonly Loss[] }>;

const NO_LOSSES: readonly Loss[] = [];

const UNSUBSCRIBE_PLACEHOLDER = new RegExp(`\\{\\{\\s*${UNSUBSCRIBE_CONSTANT}\\s*\\}\\}`, 'g');
/** A picture that the call attaches, as an element shows it (RFC 2392). */
const ATTACHED_PICTURE = /\ssrc\s*=\s*["']?cid:([^"'\s>]+)/gi;

/**
 * In: content of a call, and the language that constants are written in. Out: its mails; their subject comes with each
 * input. Throws what every rendering throws, and VALIDATION_ERROR for a placeholder that is none.
 */
export const compileInline = (
  { html, text, isFilled }: InlineContent,
  { language, constantsAt, limits }: Context,
): CompiledEmail => {
  const filled = ({ subject = '', variables, environment, budget = openUnlimitedBudget() }: EmailInput): Filled => {
    if (isFilled !== true) {
      const { unsubscribeUrl } = environment;
      const own = (part: string, url: string | undefined): string =>
        url === undefined ? part : part.replace(UNSUBSCRIBE_PLACEHOLDER, () => url);
      return {
        subject: headerLine(subject),
        html: own(html, unsubscribeUrl && escapeHtml(unsubscribeUrl)),
        text: text && own(text, unsubscribeUrl),
        losses: NO_LOSSES,
      };
    }
    const prepared: PreparedValues = { values: variables, constants: constantsAt(environment) };
    const filling = { definitions: [], language, limits, budget };
    const losses: Loss[] = [];
    const fill = (part: string, field: string, write: typeof fillText): string => {
      losses.push(...missingIn(part, field, prepared, limits));
      return write(part, field, filling, prepared);
    };
    return {
      subject: headerLine(fill(subject, 'content.subject', fillText)),
      html: fill(html, 'content.html', fillHtml),
      text: text && fill(text, 'content.text', fillText),
      losses,
    };
  };
  const made = (input: EmailInput): Filled => {
    const mail = filled(input);
    if (isLonger(mail.subject, limits.subjectCharsMax))
      throw subjectTooLong(charsOf(mail.subject), limits.subjectCharsMax);
    for (const part of [mail.html, mail.text ?? '']) {
      const bytes = part.length * 3 <= limits.htmlSizeBytesMax ? 0 : Buffer.byteLength(part);
      if (bytes > limits.htmlSizeBytesMax) throw bodyTooLarge(bytes, limits.htmlSizeBytesMax, true);
    }
    return mail;
  };
  const render = (input: EmailInput) => {
    const mail = made(input);
    return { subject: mail.subject, html: mail.html, text: mail.text ?? textOfHtml(mail.html), inline: [] };
  };
  const check = (input: EmailInput) => {
    const mail = made(input);
    return {
      subject: mail.subject,
      isEmpty: !showsAnything(mail.html) && (mail.text ?? '').trim() === '',
      assetIds: [],
      contentIds: [...mail.html.matchAll(ATTACHED_PICTURE)].map(([, id]) => id!),
      losses: mail.losses,
    };
  };
  return Object.assign(render, { check });
};

// The text part of HTML that we did not write. One token is read after the other and no tree is kept, so that nesting
// costs no more than flat text.

/** Elements that begin and end a line. */
const LINES: ReadonlySet<string> = new Set([...blockTags, ...sectionTags, 'table', 'tr', 'caption', 'form', 'body']);
/** Elements with an empty line before and behind them. */
const PARAGRAPHS: ReadonlySet<string> = new Set([
  ...['p', 'ul', 'ol', 'dl', 'table', 'pre', 'blockquote'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
]);
const DROPPED: ReadonlySet<string> = new Set([...droppedTags, 'head']);
const VOID: ReadonlySet<string> = new Set(voidTags);
/** Attributes that the text depends on. */
const READ: ReadonlySet<string> = new Set(['href', 'alt', 'style', 'hidden', 'start', 'type']);
const HEADING = /^h[1-6]$/;
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
/** Deeper lists and quotations are indented no further. */
const INDENTS_MAX = 10;

type Attributes = Map<string, string>;
type List = { readonly type: string; next: number };

/** In: HTML of any kind. Out: its text in lines of at most 78 characters, links followed by their addresses. */
export const textOfHtml = (html: string): string => {
  const page = emptyPage();
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacksOf(html, page));
  tokenizer.write(html);
  tokenizer.end();
  putUnread(page);
  endLink(page);
  endLine(page);
  return finish(page.lines.join('\n'));
};

const callbacksOf = (html: string, page: Page): TokenizerCallbacks => {
  let tag = '';
  let attribute = '';
  let value: string[] = [];
  let attributes: Attributes = new Map();
  const opened = (): void => openTag(page, tag, attributes);
  const write = (text: string): void => {
    if (page.hidden === undefined) page.unread += text;
  };
  const nothing = (): void => undefined;
  return {
    onopentagname: (start, end) => {
      tag = html.slice(start, end).toLowerCase();
      attributes = new Map();
    },
    onattribname: (start, end) => {
      attribute = html.slice(start, end).toLowerCase();
      value = [];
    },
    onattribdata: (start, end) => void (READ.has(attribute) && value.push(html.slice(start, end))),
    onattribentity: (code) => void (READ.has(attribute) && value.push(String.fromCodePoint(code))),
    onattribend: () => {
      if (READ.has(attribute) && !attributes.has(attribute)) attributes.set(attribute, value.join(''));
    },
    onopentagend: opened,
    onselfclosingtag: opened,
    onclosetag: (start, end) => closeTag(page, html.slice(start, end).toLowerCase()),
    ontext: (start, end) => write(html.slice(start, end)),
    ontextentity: (code) => write(String.fromCodePoint(code)),
    oncdata: nothing,
    oncomment: nothing,
    ondeclaration: nothing,
    onprocessinginstruction: nothing,
    onend: nothing,
  };
};

/** The text while it is made. */
type Page = {
  readonly lines: string[];
  /** The pieces of the line that is being written. */
  line: string[];
  endsBlank: boolean;
  /** Text since the last tag: references and lone angles cut it into many pieces. */
  unread: string;
  readonly lists: List[];
  quotes: number;
  preformatted: number;
  heading: '=' | '-' | undefined;
  /** The mark of a list item, which stands before its first line. */
  bullet: string;
  link: Readonly<{ href: string; from: number; lines: number }> | undefined;
  /** The element that is left out with all that is in it. */
  hidden: { readonly tag: string; depth: number } | undefined;
};

const emptyPage = (): Page => ({
  lines: [],
  line: [],
  endsBlank: true,
  unread: '',
  lists: [],
  quotes: 0,
  preformatted: 0,
  heading: undefined,
  bullet: '',
  link: undefined,
  hidden: undefined,
});

const put = (page: Page, text: string): void => {
  if (text === '') return;
  page.line.push(text);
  page.endsBlank = text.endsWith(' ');
};

const endLine = (page: Page): void => {
  const { lines, lists, quotes, bullet, heading: underline } = page;
  const written = page.line.join('');
  page.line = [];
  page.endsBlank = true;
  if (written.replaceAll(HARD_BLANK, '').trim() === '') return;
  const rest = '> '.repeat(Math.min(quotes, INDENTS_MAX)) + '  '.repeat(Math.min(lists.length, INDENTS_MAX));
  const first = bullet === '' ? rest : rest.slice(0, -2) + bullet;
  page.bullet = '';
  lines.push(underline === undefined ? wrap(written, first, rest) : heading(written, underline));
};

const endParagraph = (page: Page): void => {
  endLine(page);
  if (page.lines.length > 0 && page.lines.at(-1) !== '') page.lines.push('');
};

const endElement = (page: Page, tag: string): void => {
  if (PARAGRAPHS.has(tag) && page.lists.length === 0) endParagraph(page);
  else if (LINES.has(tag)) endLine(page);
};

const endLink = (page: Page): void => {
  if (page.link === undefined) return;
  const { href, from, lines } = page.link;
  page.link = undefined;
  const isOnLine = page.lines.length === lines;
  const words = isOnLine ? page.line.splice(from).join('') : '';
  const shown = linked(words, href, NO_LINK_RULES);
  put(page, isOnLine || shown === '' ? shown : ` (${shown})`);
};

/** Puts the text since the last tag on the line. */
const putUnread = (page: Page): void => {
  if (page.unread === '') return;
  const text = page.unread.replaceAll('\u00a0', HARD_BLANK);
  page.unread = '';
  if (page.preformatted === 0) {
    const blank = text.replace(/[\t\n\f\r ]+/g, ' ');
    return put(page, page.endsBlank ? blank.trimStart() : blank);
  }
  const [first = '', ...others] = text.replaceAll(' ', HARD_BLANK).split(/\r\n|\r|\n/);
  put(page, first);
  for (const other of others) {
    endLine(page);
    put(page, other);
  }
};

const openTag = (page: Page, tag: string, attributes: Attributes): void => {
  putUnread(page);
  if (tag === 'body') page.hidden = undefined;
  if (page.hidden !== undefined) {
    if (page.hidden.tag === tag) page.hidden.depth += 1;
    return;
  }
  const isHidden = attributes.has('hidden') || HIDDEN.test(attributes.get('style') ?? '');
  if ((isHidden || DROPPED.has(tag)) && !VOID.has(tag)) {
    page.hidden = { tag, depth: 1 };
    return;
  }
  endElement(page, tag);
  switch (tag) {
    case 'br':
      return page.line.length === 0 ? endParagraph(page) : endLine(page);
    case 'hr':
      page.lines.push('---');
      break;
    case 'td':
    case 'th':
      if (page.line.length > 0) put(page, HARD_BLANK + HARD_BLANK);
      break;
    case 'img':
      if (!isHidden) put(page, attributes.get('alt')?.trim() ?? '');
      break;
    case 'a':
      endLink(page);
      page.link = { href: attributes.get('href') ?? '', from: page.line.length, lines: page.lines.length };
      break;
    case 'ul':
    case 'ol': {
      const type = tag === 'ul' ? '' : (attributes.get('type') ?? '1');
      page.lists.push({ type, next: integer(attributes.get('start') ?? '', 1) });
      break;
    }
    case 'li':
      openItem(page);
      break;
    case 'blockquote':
      page.quotes += 1;
      break;
    case 'pre':
      page.preformatted += 1;
      break;
    default:
      if (HEADING.test(tag)) page.heading = tag === 'h1' ? '=' : '-';
  }
};

const openItem = (page: Page): void => {
  const list = page.lists.at(-1);
  page.bullet = list === undefined || list.type === '' ? '- ' : mark(list.next, list.type);
  if (list === undefined) page.lists.push({ type: '', next: 1 });
  else list.next += 1;
};

const closeTag = (page: Page, tag: string): void => {
  putUnread(page);
  const { hidden, lists } = page;
  if (hidden !== undefined) {
    if (hidden.tag === tag && (hidden.depth -= 1) === 0) page.hidden = undefined;
    return;
  }
  if (tag === 'a') return endLink(page);
  if (LINES.has(tag)) endElement(page, tag);
  if (tag === 'ul' || tag === 'ol') {
    lists.pop();
    if (lists.length === 0) endParagraph(page);
  } else if (tag === 'blockquote') page.quotes = Math.max(0, page.quotes - 1);
  else if (tag === 'pre') page.preformatted = Math.max(0, page.preformatted - 1);
  else if (HEADING.test(tag)) {
    page.heading = undefined;
    endParagraph(page);
  }
};

/** Head and preheader of the document end here. */
const BODY_BEGINS = '<div role="article"';

/** Elements that show something without any text in them. */
const SHOWN = /^<(?:img|svg|video|audio|canvas|object|input)\b/i;

/** References to blanks and to characters that take no room. */
const BLANK_REFERENCE =
  /^&(?:nbsp|ensp|emsp|thinsp|shy|zwj|zwnj|lrm|rlm|#(?:32|160|173|847|8199|820[3-7]|8232|8288|65279));/i;
const BLANK = /\u034f|[\s\u00ad\u200b-\u200f\u2060\ufeff]/;
const REFERENCE_CHARS_MAX = 12;

/**
 * True where the HTML of a mail shows a letter or a picture. The search ends at the first, which most mails have right
 * behind the head.
 */
export const showsAnything = (html: string): boolean => {
  let at = Math.max(html.indexOf(BODY_BEGINS), 0);
  while (at < html.length) {
    const char = html[at]!;
    if (char === '<') {
      if (SHOWN.test(html.slice(at, at + REFERENCE_CHARS_MAX))) return true;
      at = endOfMarkup(html, at);
    } else if (BLANK.test(char)) {
      at += 1;
    } else {
      const reference = char === '&' ? BLANK_REFERENCE.exec(html.slice(at, at + REFERENCE_CHARS_MAX)) : null;
      if (reference === null) return true;
      at += reference[0].length;
    }
  }
  return false;
};

/**
 * The place behind a tag or a comment; a comment for one mail program shows nothing that the others are not shown as
 * well.
 */
const endOfMarkup = (html: string, at: number): number => {
  const [end, length] = html.startsWith('<!--', at) ? [html.indexOf('-->', at + 4), 3] : [html.indexOf('>', at + 1), 1];
  return end < 0 ? html.length : end + length;
};
