/**
 * Addresses of links and pictures: which ones a mail or a document may hold, how a value is encoded inside one, and
 * which ones stand in an author's HTML. One rule judges what an author wrote and what a variable brings.
 */
import { withQuoteReferences } from './fill/templated-text.js';

/**
 * Characters that browsers drop or skip inside an address (WHATWG URL, section 4.4), and other invisible characters
 * used to hide a scheme.
 */
const INVISIBLE =
  /\u034f|\u17b4|\u17b5|[\x00-\x20\x7f-\xa0\u00ad\u061c\u115f\u1160\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0]/g;
/** Scheme, then an authority of the characters that hosts are made of (international names included), then its end. */
const WEB = /^https?:\/\/(?:[\p{L}\p{N}._~@-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/iu;
const OTHER = /^(?:mailto:[^\s]|tel:[+\d]|sms:[+\d?&])/i;
const DATA_IMAGE = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/i;

/** The addresses that an email template takes besides those that every mail may hold. */
export type LinkRules = Readonly<{
  /** The address that completes those without scheme and host; one that `isLinkBase` accepts. */
  base?: string | undefined;
  /** Schemes of links, in lower case, each one that `OWN_SCHEME` accepts. */
  schemes: readonly string[];
}>;
export const NO_LINK_RULES: LinkRules = { schemes: [] };

export const LINK_SCHEMES_MAX = 20;
export const LINK_BASE_CHARS_MAX = 500;
export const LINK_BASE = /^https?:\/\/(?:[\p{L}\p{N}.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?(?:\/[^\s?#\\<>"']*)?$/u;

/** A scheme that a template may allow: none that runs code, reads files or shows a page made of the address itself. */
export const OWN_SCHEME =
  /^(?!(?:javascript|jscript|livescript|mocha|vbscript|vbs|data|file|filesystem|blob|about|view-source|jar|mhtml|mk|res|resource|chrome|chrome-extension|moz-extension|ms-msdt|ms-its|search-ms|shell|hcp|cid|mid|asset)$)[a-z][a-z0-9+.-]{0,39}$/;

/** True for an http or https address without credentials, query and fragment. */
export const isLinkBase = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LINK_BASE_CHARS_MAX && LINK_BASE.test(value) && URL.canParse(value);

export const isOwnScheme = (value: unknown): value is string => typeof value === 'string' && OWN_SCHEME.test(value);

/**
 * In: the props of a whole email. Out: what they say of addresses; a value that no check would accept counts as left
 * out.
 */
export const linkRulesOf = (props: Readonly<Record<string, unknown>> | undefined): LinkRules => {
  const { linkBase, linkSchemes } = props ?? {};
  const schemes: readonly unknown[] = Array.isArray(linkSchemes) ? linkSchemes : [];
  return {
    base: isLinkBase(linkBase) ? linkBase : undefined,
    schemes: schemes.filter(isOwnScheme).slice(0, LINK_SCHEMES_MAX),
  };
};

/**
 * In: an address as written. Out: the address without invisible characters where it is http, https, mailto, tel, sms,
 * of a scheme that the rules allow or a place in the mail itself (`#top`); a relative address completed by the base of
 * the rules; else undefined: other schemes can run code, and a relative address means nothing in a mail.
 */
export const safeLink = (text: string, rules: LinkRules = NO_LINK_RULES): string | undefined => {
  const address = withoutInvisible(text);
  if (WEB.test(address) || OTHER.test(address) || (address.startsWith('#') && address.length > 1)) return address;
  const scheme = ownSchemeOf(address, rules);
  if (scheme !== undefined) return address.length > scheme.length + 1 ? address : undefined;
  return completed(address, rules);
};

/**
 * In: the address of a picture as written. Out: the address without invisible characters where it is http, https, or a
 * PNG, JPEG, GIF or WebP as data URI; a relative address completed by the base of the rules; else undefined.
 */
export const safeImage = (text: string, rules: LinkRules = NO_LINK_RULES): string | undefined => {
  const address = withoutInvisible(text);
  return WEB.test(address) || DATA_IMAGE.test(address) ? address : completed(address, rules);
};

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** The scheme of an address where the rules allow it. */
const ownSchemeOf = (address: string, { schemes }: LinkRules): string | undefined => {
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  return scheme !== undefined && schemes.includes(scheme) ? scheme : undefined;
};

/** Text up to the first character that ends a step of a path. */
const STEP = /^[^/?#]*/;
/** The end of a host name (`example.com`, `example.com:8080`); a file name ends like one too. */
const HOST_END = /[^.]\.\p{L}{2,}(?::\d+)?$/u;
const FILE_END = /\.(?:html?|php|aspx?|jsp|png|jpe?g|gif|webp|pdf|txt|csv|ics|vcf|zip|docx?|xlsx?|pptx?)$/i;

/**
 * True for an address without scheme and host. A first step such as `example.com` is the host of an address whose
 * scheme was forgotten.
 */
const isRelative = (address: string): boolean => {
  if (address === '' || address.startsWith('#') || SCHEME.test(address) || /^\/\/|\\/.test(address)) return false;
  const step = STEP.exec(address)?.[0] ?? '';
  if (step.includes('%20') || /^www\./i.test(step)) return false;
  return !HOST_END.test(step) || FILE_END.test(step);
};

/** The relative address at its base, or undefined. */
const completed = (address: string, { base }: LinkRules): string | undefined => {
  if (base === undefined || !isRelative(address)) return undefined;
  const whole = joinedTo(base, address);
  return /\/\.{1,2}(?:[/?#]|$)/.test(whole) ? new URL(whole).href : whole;
};

/** As browsers resolve an address (RFC 3986, section 5.2), but for steps such as `../`. */
const joinedTo = (base: string, address: string): string => {
  const { origin, pathname } = new URL(base);
  if (address.startsWith('/')) return origin + address;
  if (address.startsWith('?')) return origin + pathname + address;
  return origin + pathname.slice(0, pathname.lastIndexOf('/') + 1) + address.replace(/^(?:\.\/)+/, '');
};

/**
 * True for an address, or the beginning of one, with a scheme that may run code or read files; a picture in the mail
 * (`cid:`) or in the address itself does neither.
 */
export const mayRunCode = (text: string): boolean => {
  const address = withoutInvisible(text);
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  return (
    scheme !== undefined &&
    !OWN_SCHEME.test(scheme) &&
    !/^(?:cid:|data:image\/(?:png|jpe?g|gif|webp)[;,])/i.test(address)
  );
};
/** Text that makes an address relative, whatever follows it. */
const RELATIVE_START = /^(?:\/|[^\s:/?#]*[/?#])/;

/**
 * In: the text of an address before its first value. Out: the text at the base of the rules where it settles that the
 * address is relative, else the text itself, and the whole address is judged.
 */
export const completedStart = (start: string, { base }: LinkRules): string => {
  const text = start.trimStart();
  const settles = base !== undefined && RELATIVE_START.test(text) && isRelative(text);
  return settles ? joinedTo(base, text) : start;
};

const ASSET = /^asset:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DATA_SVG = /^data:image\/svg\+xml(?:;base64,[A-Za-z0-9+/]+={0,2}|(?:;(?:charset=)?utf-?8)?,[\x21-\x7e]+)$/i;

/** In: an address as written. Out: `asset:` and the id of an asset (a UUID) in lower case, or undefined. */
export const assetAddress = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  return ASSET.test(address) ? address.toLowerCase() : undefined;
};

/** The `contentId` of a file that the call attaches (RFC 2392). */
const ATTACHED = /^cid:[A-Za-z0-9._-]{1,100}$/i;

/**
 * In: an address as written. Out: that of a picture which travels inside the mail, or undefined: `asset:` and an id,
 * `cid:` and the `contentId` of a file that the call attaches, or a data URI.
 */
export const insideImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  if (ASSET.test(address)) return address.toLowerCase();
  if (ATTACHED.test(address)) return `cid:${address.slice('cid:'.length)}`;
  return DATA_IMAGE.test(address) ? address : undefined;
};

/**
 * In: the address of a picture in a document. Out: what `safeImage` takes, and also assets and SVG as data URI: no
 * browser is there that could run what an SVG holds.
 */
export const safeDocumentImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  if (ASSET.test(address)) return address.toLowerCase();
  return WEB.test(address) || DATA_IMAGE.test(address) || DATA_SVG.test(address) ? address : undefined;
};

/** Spaces inside become %20, as browsers do; spaces around and everything invisible are removed. */
export const withoutInvisible = (text: string): string => {
  const trimmed = text.trim();
  return CLEAN.test(trimmed) ? trimmed : trimmed.replaceAll(' ', '%20').replace(INVISIBLE, '');
};
const CLEAN = /^[\x21-\x7e]*$/;

/** The part of an address that a value stands in. `asIs`: the value is not encoded, and the whole address is judged. */
export type AddressPart = 'component' | 'query' | 'path' | 'mailbox' | 'host' | 'afterHost' | 'asIs';

/** Half a surrogate pair has no place in an address; `encodeURI` would throw at it. */
const wellFormed = (value: string): string => value.replace(/\p{Surrogate}/gu, '\ufffd');

const COMPONENT_SAFE = /^[A-Za-z0-9._~-]*$/;

/** A value inside a query or a fragment: one component, so `&`, `=`, `+` and `/` in it are data. */
export const urlComponent = (value: string): string =>
  COMPONENT_SAFE.test(value) ? value : encodeURIComponent(wellFormed(value)).replaceAll("'", '%27');

const PATH_SAFE = /^[A-Za-z0-9._~!$()*,;:@/%=+-]*$/;

/**
 * A value inside the path of an address: it keeps its slashes and its percent signs, and cannot begin a query by
 * itself.
 */
export const urlPath = (value: string): string =>
  PATH_SAFE.test(value)
    ? value
    : encodeURI(wellFormed(value))
        .replaceAll('%25', '%')
        .replace(/[?#&'[\]]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** A whole query or several components of it, `a=1&b=2`: its structure is kept. */
export const urlQuery = (value: string): string =>
  encodeURI(wellFormed(value)).replaceAll('%25', '%').replaceAll('#', '%23').replaceAll("'", '%27');

/** The address of `mailto:` and the number of `tel:`: no header fields, no second recipient. */
export const urlAddress = (value: string): string => urlComponent(value).replaceAll('%40', '@').replaceAll('%2B', '+');

/** Makes every address refused that has it in or behind its host. */
export const NO_HOST = '::';

/** A host or a part of one; anything else makes an address that is refused. */
export const urlHost = (value: string): string => (/^[A-Za-z0-9.-]+(?::\d{1,5})?$/.test(value) ? value : NO_HOST);

/** A value behind a host that the template names: it cannot change the host. */
export const urlAfterHost = (value: string): string => (/^(?:$|[/?#])/.test(value) ? value : NO_HOST);

export const encodeFor: Readonly<Record<AddressPart, (value: string) => string>> = {
  component: urlComponent,
  query: urlQuery,
  path: urlPath,
  mailbox: urlAddress,
  host: urlHost,
  afterHost: urlAfterHost,
  asIs: (value) => value,
};

export type AddressKind = 'link' | 'image';

/** True where the beginning settles scheme and host, so that no value can change them and nothing is left to judge. */
export const isSettled = (start: string, kind: AddressKind, rules: LinkRules = NO_LINK_RULES): boolean => {
  const text = start.trimStart();
  if (/^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?[/?#]/i.test(text))
    return (kind === 'link' ? safeLink : safeImage)(text) !== undefined;
  if (kind !== 'link') return false;
  return (
    (/^(?:mailto|tel|sms):/i.test(text) || ownSchemeOf(text, rules) !== undefined) &&
    safeLink(`${text}1`, rules) !== undefined
  );
};

/** The place of one value in an address. */
export type Place = Readonly<{
  /** The template's text before the first value. */ start: string;
  /** All of the template's text before this value. */ before: string;
  isLast: boolean;
}>;

export const partAt = (
  { start, before, isLast }: Place,
  kind: AddressKind,
  rules: LinkRules = NO_LINK_RULES,
): AddressPart => (isSettled(start, kind, rules) ? settledPart(before) : openPart(before, isLast));

const settledPart = (before: string): AddressPart => {
  if (!/[?#]/.test(before)) return /^\s*(?:mailto|tel|sms):/i.test(before) ? 'mailbox' : 'path';
  return /[?&#]$/.test(before) && !/^\s*(?:mailto|sms):/i.test(before) ? 'query' : 'component';
};

/**
 * Encodes values of addresses whose scheme or host comes from a value. Values after the first `?` or `#` of the
 * template's own text are components; the others stand as they are, and the whole address is judged.
 */
const openPart = (before: string, isLast: boolean): AddressPart => {
  if (/[?#]/.test(before)) return /[?&#]$/.test(before) ? 'asIs' : 'component';
  if (!/^\s*https?:\/\/[^/?#]*$/i.test(before)) return 'asIs';
  if (before.endsWith('//') && isLast) return 'asIs';
  return /[/.-]$/.test(before) ? 'host' : 'afterHost';
};

export type HtmlAddress = Readonly<{
  tag: 'a' | 'img';
  /** Without entities of the usual kinds. */
  address: string;
  /** True where the element has the attributes `width` and `height`, and neither is blank. */
  isSized: boolean;
}>;

const TAGS = /<!--[^]*?(?:-->|$)|<(a|img)(?=[\s/>])/gi;
const ATTRIBUTE = /[\s/]*(?:([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s>]*)))?|=)/y;

/**
 * In: HTML, however hostile. Out: the `href` of each link and the `src` of each picture, in order. One pass, linear.
 */
export const addressesIn = (source: string): readonly HtmlAddress[] => {
  const found: HtmlAddress[] = [];
  if (!/<(?:a|img)[\s/]/i.test(source)) return found;
  const html = withQuoteReferences(source);
  TAGS.lastIndex = 0;
  for (let match = TAGS.exec(html); match !== null; match = TAGS.exec(html)) {
    const tag = match[1]?.toLowerCase();
    if (tag !== 'a' && tag !== 'img') continue;
    const wanted = tag === 'a' ? 'href' : 'src';
    ATTRIBUTE.lastIndex = TAGS.lastIndex;
    let end = TAGS.lastIndex;
    let address: string | undefined;
    const sides = new Set<string>();
    for (let one = ATTRIBUTE.exec(html); one !== null; one = ATTRIBUTE.exec(html)) {
      end = ATTRIBUTE.lastIndex;
      // The first of two attributes of one name counts, as in browsers.
      const name = one[1]?.toLowerCase();
      const value = one[2] ?? one[3] ?? one[4] ?? '';
      if (name === wanted) address ??= value;
      else if ((name === 'width' || name === 'height') && value.trim() !== '') sides.add(name);
    }
    TAGS.lastIndex = end;
    if (address !== undefined) found.push({ tag, address: withoutEntities(address), isSized: sides.size === 2 });
  }
  return found;
};

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  colon: ':',
  sol: '/',
};

const withoutEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos|colon|sol));/gi,
    (whole, decimal?: string, hex?: string, name?: string) =>
      name === undefined
        ? String.fromCharCode(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal))
        : (entities[name.toLowerCase()] ?? whole),
  );
