/** Which addresses a mail or a document may link to or show. The same rule judges what an author wrote and what a variable brought. */

/** What browsers drop or skip inside an address (WHATWG URL, section 4.4), and other invisible characters used to hide a scheme. */
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

/** The same for pictures: http, https, or a PNG, JPEG, GIF or WebP as data URI. */
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

/** Pictures of documents: those of mails, assets, and SVG as data URI, for no browser is there that could run what it holds. */
export const safeDocumentImage = (text: string): string | undefined => {
  const address = withoutInvisible(text);
  if (ASSET.test(address)) return address.toLowerCase();
  return WEB.test(address) || DATA_IMAGE.test(address) || DATA_SVG.test(address) ? address : undefined;
};

/** Spaces inside become %20, as browsers do; spaces around and everything invisible goes. */
const withoutInvisible = (text: string): string => {
  const trimmed = text.trim();
  return CLEAN.test(trimmed) ? trimmed : trimmed.replaceAll(' ', '%20').replace(INVISIBLE, '');
};
const CLEAN = /^[\x21-\x7e]*$/;
