/**
 * Addresses of links and pictures: which ones a mail or a document may hold, how a value is encoded inside one, and which ones stand in an
 * author's HTML. One rule judges what an author wrote and what a variable brings.
 */

/**
 * Characters that browsers drop or skip inside an address (WHATWG URL, section 4.4), and other invisible characters used to hide a scheme.
 */
const INVISIBLE =
  /\u034f|\u17b4|\u17b5|[\x00-\x20\x7f-\xa0\u00ad\u061c\u115f\u1160\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0]/g;
/** Scheme, then an authority of the characters that hosts are made of (international names included), then its end. */
const WEB = /^https?:\/\/(?:[\p{L}\p{N}._~@-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/iu;
const OTHER = /^(?:mailto:[^\s]|tel:[+\d])/i;
const DATA_IMAGE = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/i;

/**
 * In: an address as written. Out: the address without invisible characters where it is http, https, mailto, tel or a place
 * in the mail itself (`#top`), else undefined: other schemes can run code, and a relative address means nothing in a mail.
 */
export const safeLink = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  return WEB.test(address) || OTHER.test(address) || (address.startsWith('#') && address.length > 1) ? address : undefined;
};

/**
 * In: the address of a picture as written. Out: the address without invisible characters where it is http, https, or a PNG, JPEG, GIF or
 * WebP as data URI, else undefined.
 */
export const safeImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  return WEB.test(address) || DATA_IMAGE.test(address) ? address : undefined;
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
 * In: an address as written. Out: that of a picture which travels inside the mail, or undefined: `asset:` and an id, `cid:` and the `contentId`
 * of a file that the call attaches, or a data URI.
 */
export const insideImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  if (ASSET.test(address)) return address.toLowerCase();
  if (ATTACHED.test(address)) return `cid:${address.slice('cid:'.length)}`;
  return DATA_IMAGE.test(address) ? address : undefined;
};

/**
 * In: the address of a picture in a document. Out: what `safeImage` takes, and also assets and SVG as data URI: no browser is there that
 * could run what an SVG holds.
 */
export const safeDocumentImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  if (ASSET.test(address)) return address.toLowerCase();
  return WEB.test(address) || DATA_IMAGE.test(address) || DATA_SVG.test(address) ? address : undefined;
};

/** Spaces inside become %20, as browsers do; spaces around and everything invisible are removed. */
const withoutInvisible = (text: string): string => {
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

/** A value inside the path of an address: it keeps its slashes and its percent signs, and cannot begin a query by itself. */
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

/** A host or a part of one; anything else makes an address that is refused. */
export const urlHost = (value: string): string => (/^[A-Za-z0-9.-]+(?::\d{1,5})?$/.test(value) ? value : '/:');

/** A value behind a host that the template names: it cannot change the host. */
export const urlAfterHost = (value: string): string => (/^(?:$|[/?#])/.test(value) ? value : '/:');

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
export const isSettled = (start: string, kind: AddressKind): boolean => {
  const text = start.trimStart();
  if (/^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?[/?#]/i.test(text)) return (kind === 'link' ? safeLink : safeImage)(text) !== undefined;
  return kind === 'link' && /^(?:mailto|tel):/i.test(text) && safeLink(`${text}1`) !== undefined;
};

/** The place of one value in an address. */
export type Place = Readonly<{
  /** The template's text before the first value. */ start: string;
  /** All of the template's text before this value. */ before: string;
  isLast: boolean;
}>;

export const partAt = ({ start, before, isLast }: Place, kind: AddressKind): AddressPart =>
  isSettled(start, kind) ? settledPart(before) : openPart(before, isLast);

const settledPart = (before: string): AddressPart => {
  if (!/[?#]/.test(before)) return /^\s*(?:mailto|tel):/i.test(before) ? 'mailbox' : 'path';
  return /[?&#]$/.test(before) && !/^\s*mailto:/i.test(before) ? 'query' : 'component';
};

/**
 * Encodes values of addresses whose scheme or host comes from a value. Values after the first `?` or `#` of the template's own text are
 * components; the others stand as they are, and the whole address is judged.
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

/** In: HTML, however hostile. Out: the `href` of each link and the `src` of each picture, in order. One pass, linear. */
export const addressesIn = (html: string): readonly HtmlAddress[] => {
  const found: HtmlAddress[] = [];
  if (!/<(?:a|img)[\s/]/i.test(html)) return found;
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

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", colon: ':', sol: '/' };

const withoutEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos|colon|sol));/gi,
    (whole, decimal?: string, hex?: string, name?: string) =>
      name === undefined
        ? String.fromCharCode(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal))
        : (entities[name.toLowerCase()] ?? whole),
  );
