/**
 * Takes out of the HTML of a mail what would act or load something while it is looked at: scripts, forms, frames, links,
 * addresses of other hosts. The policy and the sandbox of its page refuse these anyway; without them in the text the
 * browser has nothing to report, resolves no name, and asks before it follows a link.
 */
import { contentPolicy } from './headers.js';

/** `pictures`: whether what other hosts have is loaded. `linkOf`: what a link leads to. In: an address of the web. */
export type Quiet = Readonly<{ pictures: boolean; linkOf: (address: string) => string }>;

/** Content policy of such a page. A link may open another tab, which is a page of the service. */
export const quietPolicy = (pictures: boolean): string => {
  const web = pictures ? ' https: http:' : '';
  return contentPolicy(
    {
      'img-src': `data:${web}`,
      'style-src': `'unsafe-inline'${pictures ? ' https:' : ''}`,
      'font-src': `data:${pictures ? ' https:' : ''}`,
    },
    { framedBy: "'self'", sandbox: 'allow-popups allow-popups-to-escape-sandbox' },
  );
};

/** Elements that go with all that is in them. A parser reads what is in them as text. */
const DROPPED_WHOLE: ReadonlySet<string> = new Set(['script', 'iframe', 'noembed', 'noframes', 'title']);

/** Elements whose tags go, and whose content stays. */
const DROPPED_TAGS: ReadonlySet<string> = new Set([
  ...['base', 'link', 'meta', 'object', 'embed', 'applet', 'frame', 'frameset', 'param', 'portal', 'form'],
  ...['audio', 'video', 'track', 'plaintext', 'noscript', 'template', 'dialog'],
]);

/** Elements whose content a parser reads as text. */
const TEXT_ONLY: ReadonlySet<string> = new Set([...DROPPED_WHOLE, 'style', 'textarea', 'xmp']);

const DROPPED_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['srcdoc', 'ping', 'nonce', 'target', 'rel', 'action', 'formaction', 'autofocus', 'autoplay', 'http-equiv'],
  ...['popovertarget', 'popover', 'contenteditable', 'accesskey', 'download', 'is', 'slot', 'attributionsrc'],
]);

/** Attributes that make a browser load something. */
const LOADING: ReadonlySet<string> = new Set([
  ...['src', 'srcset', 'imagesrcset', 'background', 'poster', 'data', 'lowsrc', 'dynsrc', 'href', 'xlink:href'],
]);

const LINKS: ReadonlySet<string> = new Set(['a', 'area']);

/** In: the HTML of a mail, of any length and shape; each character is read once. Out: HTML in which nothing acts. */
export const quietHtml = (html: string, quiet: Quiet): string => {
  let out = '';
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) return out + html.slice(at);
    out += html.slice(at, open);
    const next = html[open + 1] ?? '';
    if (/[A-Za-z]/.test(next)) {
      const tag = readTag(html, open + 1);
      // A tag that the end of the text cuts off is none.
      if (tag === undefined) return out;
      at = tag.end;
      const isText = TEXT_ONLY.has(tag.name);
      const end = isText ? endOfText(html, at, tag.name) : at;
      const isDropped = DROPPED_WHOLE.has(tag.name);
      if (!isDropped && !DROPPED_TAGS.has(tag.name)) out += written(tag, quiet);
      if (isText && !isDropped) {
        const text = html.slice(at, end);
        // Inside of SVG and MathML a parser reads tags there.
        out +=
          tag.name === 'style'
            ? quietCss(text, quiet.pictures).replace(/<(?=[a-z/!?])/gi, '')
            : text.replaceAll('<', '&lt;');
      }
      at = end;
    } else if (next === '/' && /[A-Za-z]/.test(html[open + 2] ?? '')) {
      const tag = readTag(html, open + 2);
      if (tag === undefined) return out;
      at = tag.end;
      if (!DROPPED_WHOLE.has(tag.name) && !DROPPED_TAGS.has(tag.name)) out += `</${tag.name}>`;
    } else if (html.startsWith('<!--', open)) {
      at = endOfComment(html, open + 4);
    } else if (next === '!' || next === '?' || next === '/') {
      const end = html.indexOf('>', open);
      const declaration = html.slice(open, end < 0 ? html.length : end + 1);
      if (/^<!doctype\b/i.test(declaration)) out += '<!doctype html>';
      at = end < 0 ? html.length : end + 1;
    } else {
      out += '&lt;';
      at = open + 1;
    }
  }
  return out;
};

type Attribute = Readonly<{ name: string; value: string | undefined }>;
type Tag = Readonly<{ name: string; attributes: readonly Attribute[]; end: number }>;

const NAME = /[^\t\n\f\r />]*/y;
const GAP = /[\t\n\f\r /]*/y;
const ATTRIBUTE_NAME = /=?[^\t\n\f\r />=]*/y;
const EQUALS = /[\t\n\f\r ]*=[\t\n\f\r ]*/y;
const BARE = /[^\t\n\f\r >]*/y;

const read = (pattern: RegExp, html: string, from: number): string => {
  pattern.lastIndex = from;
  return pattern.exec(html)?.[0] ?? '';
};

/** Reads a tag from its name on, as a parser does (HTML, section 13.2.5); undefined: the text ends in it. */
const readTag = (html: string, from: number): Tag | undefined => {
  const name = read(NAME, html, from);
  const attributes: Attribute[] = [];
  let at = from + name.length;
  for (;;) {
    at += read(GAP, html, at).length;
    if (at >= html.length) return undefined;
    if (html[at] === '>') return { name: plainName(name), attributes, end: at + 1 };
    const attribute = read(ATTRIBUTE_NAME, html, at);
    at += attribute.length;
    const equals = read(EQUALS, html, at);
    at += equals.length;
    if (equals === '') {
      attributes.push({ name: plainName(attribute), value: undefined });
      continue;
    }
    const quote = html[at];
    if (quote === '"' || quote === "'") {
      const close = html.indexOf(quote, at + 1);
      if (close < 0) return undefined;
      attributes.push({ name: plainName(attribute), value: html.slice(at + 1, close) });
      at = close + 1;
    } else {
      const value = read(BARE, html, at);
      attributes.push({ name: plainName(attribute), value });
      at += value.length;
    }
  }
};

/** Letters of ASCII alone have two cases in names. */
const plainName = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

const endOfText = (html: string, from: number, name: string): number => {
  const close = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi');
  close.lastIndex = from;
  return close.exec(html)?.index ?? html.length;
};

const endOfComment = (html: string, from: number): number => {
  if (html[from] === '>') return from + 1;
  if (html.startsWith('->', from)) return from + 2;
  const close = /--!?>/g;
  close.lastIndex = from;
  return close.exec(html) === null ? html.length : close.lastIndex;
};

/** A name or attribute that cannot be written again safely is left out. */
const SAFE_NAME = /^[a-z][a-z0-9:._-]*$/;

const written = ({ name, attributes }: Tag, quiet: Quiet): string => {
  if (!SAFE_NAME.test(name)) return '';
  let out = `<${name}`;
  const seen = new Set<string>();
  for (const { name: attribute, value } of attributes) {
    if (!SAFE_NAME.test(attribute) || seen.has(attribute)) continue;
    seen.add(attribute);
    const kept = quietAttribute(name, attribute, value, quiet);
    if (kept !== undefined)
      out += kept === '' && value === undefined ? ` ${attribute}` : ` ${attribute}="${quoted(kept)}"`;
  }
  return `${out}>`;
};

/** Out: the value as it stands in HTML, with its character references; undefined: the attribute goes. */
const quietAttribute = (
  element: string,
  name: string,
  value: string | undefined,
  { pictures, linkOf }: Quiet,
): string | undefined => {
  if (name.startsWith('on') || DROPPED_ATTRIBUTES.has(name)) return undefined;
  if (value === undefined) return '';
  if (LINKS.has(element) && (name === 'href' || name === 'xlink:href')) return quietLink(decoded(value), linkOf);
  if (LOADING.has(name)) return isLoadable(decoded(value), name, pictures) ? value : undefined;
  // Colours and effects of SVG refer to other places by url(…).
  if (name === 'style' || /url|image|src|@|\\|&/i.test(value)) return escaped(quietCss(decoded(value), pictures));
  return value;
};

/** A place in the same mail is no address. */
const quietLink = (address: string, linkOf: Quiet['linkOf']): string | undefined => {
  const bare = address.replace(/[\t\n\r]/g, '').trim();
  if (bare.startsWith('#')) return undefined;
  return /^(?:https?:\/\/|mailto:|tel:)/i.test(bare) ? escaped(linkOf(bare)) : undefined;
};

const isLoadable = (value: string, name: string, pictures: boolean): boolean => {
  const bare = value.replace(/[\t\n\r]/g, '').trim();
  if (/^data:image\/[a-z0-9.+-]+[;,]/i.test(bare) && !/srcset/.test(name)) return true;
  if (name.endsWith('href')) return bare.startsWith('#');
  return pictures && /^https?:\/\//i.test(bare);
};

const CSS_LOADS = /url\s*\(|image(?:-set)?\s*\(|src\s*\(|@import|@charset|@namespace|expression\s*\(|-moz-binding/i;
const CSS_URL = /url\(\s{0,9}(?:"([^"\\]*)"|'([^'\\]*)'|([^\s"'()\\]*))\s{0,9}\)/gi;

/**
 * In: declarations or a sheet. Escaped letters are resolved first, for they may spell `url(`. What other hosts have goes,
 * unless `pictures`; what is written in a form that this does not know goes whole.
 */
const quietCss = (css: string, pictures: boolean): string => {
  const plain = cssPlain(css);
  if (!CSS_LOADS.test(plain)) return css;
  if (pictures) return css;
  const quiet = plain
    .replace(/@(?:import|charset|namespace)\b[^;{}]*;?/gi, '')
    .replace(CSS_URL, (whole: string, double?: string, single?: string, bare?: string) =>
      /^(?:data:(?:image|font)\/|#)/i.test((double ?? single ?? bare ?? '').trim()) ? whole : 'none',
    );
  const left = quiet.replace(CSS_URL, '');
  return CSS_LOADS.test(left) ? '' : quiet;
};

const cssPlain = (css: string): string =>
  css
    .replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' ')
    .replace(
      /\\(?:([0-9a-f]{1,6})(?:\r\n|[\t\n\f\r ])?|([g-z@]))/gi,
      (whole: string, code?: string, letter?: string) => {
        if (letter !== undefined) return letter;
        const point = parseInt(code ?? '', 16);
        // Only what could spell a name is resolved; a quote or a bracket stays escaped.
        return /^[\w@-]$/.test(point <= 0x7f ? String.fromCharCode(point) : '') ? String.fromCharCode(point) : whole;
      },
    );

const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', colon: ':', sol: '/', bsol: '\\' },
  ...{ lpar: '(', rpar: ')', period: '.', comma: ',', semi: ';', commat: '@', num: '#', quest: '?', equals: '=' },
  ...{ Tab: '\t', NewLine: '\n', lowbar: '_', hyphen: '\u2010', percnt: '%', excl: '!', ast: '*', plus: '+' },
};

/** Resolves the character references that can spell an address; others stay as they are. */
const decoded = (value: string): string =>
  value.replace(
    /&(?:#(\d{1,9})|#x([0-9a-f]{1,8})|([a-z]{2,9}));?/gi,
    (whole: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return (Object.hasOwn(NAMED, name) ? NAMED[name] : undefined) ?? whole;
      const code = hex === undefined ? Number(decimal) : parseInt(hex, 16);
      return code > 0x10ffff || code === 0 ? '\ufffd' : String.fromCodePoint(code);
    },
  );

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const quoted = (value: string): string => value.replaceAll('"', '&quot;');
