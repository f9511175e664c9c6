/** Values inside addresses: each is encoded for the part where it stands, so that it cannot become another part. */
import { safeImage, safeLink } from './urls.js';

/** What a value is at its place; `asIs` is judged with the whole address. */
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

/** What follows a host that the template names: it cannot make it another host. */
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

/** Where one value stands in an address. */
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
 * Scheme or host come from a value. Values after the first `?` or `#` of the template's own text are components;
 * the others stand as they are, and the judgement looks at the whole.
 */
const openPart = (before: string, isLast: boolean): AddressPart => {
  if (/[?#]/.test(before)) return /[?&#]$/.test(before) ? 'asIs' : 'component';
  if (!/^\s*https?:\/\/[^/?#]*$/i.test(before)) return 'asIs';
  if (before.endsWith('//') && isLast) return 'asIs';
  return /[/.-]$/.test(before) ? 'host' : 'afterHost';
};
