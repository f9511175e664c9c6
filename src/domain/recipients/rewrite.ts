/** Puts the pixel and the tracked links into the HTML of one recipient's mail. The text part is left as it is. */
import type { EmailId } from '../core/ids.js';
import type { PinnedTracking } from './settings.js';
import { LINKS_MAX, type TrackingTokens } from './tracking.js';

export type Tracked = Readonly<{
  tokens: TrackingTokens;
  tracking: PinnedTracking;
  emailId: EmailId;
  /** The place of the one who gets this mail. */
  recipient: number;
  /** No HTML becomes larger by it. */
  sizeBytesMax: number;
}>;

/** The renderer writes it on links that are not to be tracked, where it is asked to; it never leaves. */
export const UNTRACKED_ATTRIBUTE = ' data-sealpost-track="off"';

/** Beyond it Gmail shows a mail cut off, so one that is smaller stays so. */
export const GMAIL_CLIPS_AT_BYTES = 102_000;
/** A longer address is left as it is: browsers and proxies cut what is longer than 2,000 characters. */
const URL_CHARS_MAX = 1_400;

/** An opening tag of ours: attributes in double quotes, in which `<` and `>` are references. */
const ANCHOR = /<a(?=\s)[^>]*>/g;
const HREF = / href="(https?:\/\/[^"]*)"/i;

export const trackHtml = (html: string, { tokens, tracking, emailId, recipient, sizeBytesMax }: Tracked): string => {
  const pixel = tracking.opens ? pixelOf(`${tracking.url}/t/o/${tokens.sealOpen({ emailId, recipient })}`) : '';
  const sizeBytes = Buffer.byteLength(html);
  let leftBytes =
    (sizeBytes <= GMAIL_CLIPS_AT_BYTES ? Math.min(GMAIL_CLIPS_AT_BYTES, sizeBytesMax) : sizeBytesMax) - sizeBytes - pixel.length;
  const hasPixel = pixel !== '' && leftBytes >= 0;
  let link = 0;
  const rewritten = html.replace(ANCHOR, (tag) => {
    if (tag.includes(UNTRACKED_ATTRIBUTE)) return tag.replaceAll(UNTRACKED_ATTRIBUTE, '');
    const found = tracking.clicks ? HREF.exec(tag) : null;
    const url = found === null ? undefined : locationOf(unescaped(found[1]!));
    if (found === null || url === undefined || url.length > URL_CHARS_MAX || isOurs(url, tracking.url) || link > LINKS_MAX) return tag;
    const href = ` href="${tracking.url}/t/c/${tokens.sealClick({ emailId, recipient, link, url })}"`;
    const grownBytes = href.length - Buffer.byteLength(found[0]);
    if (grownBytes > leftBytes) return tag;
    leftBytes -= grownBytes;
    link += 1;
    return tag.slice(0, found.index) + href + tag.slice(found.index + found[0].length);
  });
  return hasPixel ? withPixel(rewritten, pixel) : rewritten;
};

/** Links to the service itself: to unsubscribe, for one, must work whatever becomes of the tracking. */
const isOurs = (url: string, publicUrl: string): boolean => url === publicUrl || url.startsWith(`${publicUrl}/`);

const pixelOf = (src: string): string =>
  `<img src="${src}" alt="" width="1" height="1" style="display:block;width:1px;height:1px;border:0;margin:0;padding:0">`;

/** Last in the body. */
const withPixel = (html: string, pixel: string): string => {
  const end = html.lastIndexOf('</body>');
  return end < 0 ? html + pixel : html.slice(0, end) + pixel + html.slice(end);
};

const ASCII = /^[\x21-\x7e]+$/;

/** As a header may hold it. */
const locationOf = (url: string | undefined): string | undefined => {
  if (url === undefined || ASCII.test(url)) return url;
  return URL.canParse(url) ? new URL(url).href : undefined;
};

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The references that the renderer writes; undefined where there is another, whose meaning is not known here. */
const unescaped = (text: string): string | undefined => {
  if (!text.includes('&')) return text;
  let isKnown = true;
  const plain = text.replace(/&(?:#(\d{1,7})|([a-z]+));|&/gi, (_, code: string | undefined, name: string | undefined) => {
    const character = code === undefined ? (name === undefined ? undefined : NAMED[name]) : characterOf(Number(code));
    isKnown &&= character !== undefined;
    return character ?? '';
  });
  return isKnown ? plain : undefined;
};

const characterOf = (code: number): string | undefined => (code > 0x10ffff ? undefined : String.fromCodePoint(code));
