/**
 * Makes the HTML part of a mail fit to be shown in a frame: inline images put in place, links that leave the frame,
 * dark or light.
 */
import type { Mailbox, MailboxMessage } from '../../domain/ports/mailbox.js';
import { contentPolicy } from './headers.js';

/** Content policy of a mail's page: images and its own styles. No scripts, no forms, no frames, no origin. */
export const MAIL_CSP = contentPolicy(
  {
    'img-src': 'data: https: http:',
    'style-src': "'unsafe-inline' https:",
    'font-src': 'data: https:',
    'media-src': 'data: https:',
  },
  { framedBy: "'self'", sandbox: 'allow-popups allow-popups-to-escape-sandbox' },
);

const INLINE_BYTES_MAX = 10 * 1024 * 1024;
/** An image that is shown again counts again. */
const SHOWN_CHARS_MAX = 2 * INLINE_BYTES_MAX;
const IMAGE_TYPE = /^image\/[a-z0-9.+-]+$/i;

const CID = /\bcid:([^"'\s)>]{1,500})/gi;

/** In: a message with HTML. Out: the page for the frame; it is served with MAIL_CSP. */
export const mailHtml = async (mailbox: Mailbox, message: MailboxMessage, dark: boolean): Promise<string> => {
  const images = await inlineImages(
    message.attachments,
    async (index) => (await mailbox.attachment(message.id, index))?.content,
  );
  return framed(withImages(message.html ?? '', images), dark);
};

/** Puts the images in the place of their Content-IDs, as far as the page does not grow too long by repeated ones. */
export const withImages = (html: string, images: ReadonlyMap<string, string>): string => {
  let left = SHOWN_CHARS_MAX;
  return html.replace(CID, (whole, id: string) => {
    const image = images.get(bare(decoded(id)));
    if (image === undefined || image.length > left) return whole;
    left -= image.length;
    return image;
  });
};

/** In: the HTML of a mail. Out: a page whose links open elsewhere, and whose media queries get the scheme. */
export const framed = (html: string, dark: boolean): string => {
  const scheme = dark ? '<style>:root{color-scheme:dark}</style>' : '<style>:root{color-scheme:light}</style>';
  const head = `<base target="_blank">${scheme}`;
  const shown = withScheme(html, dark);
  const at = /<head[^>]*>/i.exec(shown);
  return at === null
    ? `${head}${shown}`
    : `${shown.slice(0, at.index + at[0].length)}${head}${shown.slice(at.index + at[0].length)}`;
};

type ListedImage = Readonly<{ contentId: string | null; contentType: string; sizeBytes: number }>;

/**
 * In: the files of a mail, and what reads one by its place. Out: data URIs by Content-ID for the images that the HTML
 * may refer to (RFC 2392).
 */
export const inlineImages = async (
  files: readonly ListedImage[],
  read: (index: number) => Promise<Buffer | undefined>,
): Promise<ReadonlyMap<string, string>> => {
  const images = new Map<string, string>();
  let total = 0;
  for (const [index, { contentId, contentType, sizeBytes }] of files.entries()) {
    if (contentId === null || !IMAGE_TYPE.test(contentType) || total + sizeBytes > INLINE_BYTES_MAX) continue;
    const bytes = await read(index);
    if (bytes === undefined) continue;
    total += sizeBytes;
    images.set(bare(contentId), `data:${contentType};base64,${bytes.toString('base64')}`);
  }
  return images;
};

const bare = (contentId: string): string => contentId.replace(/^<|>$/g, '').toLowerCase();

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/**
 * A frame cannot be told which colour scheme to prefer, so the mail's own media queries are answered in its text:
 * `(prefers-color-scheme: dark)` becomes a condition that always holds, or never.
 */
const withScheme = (html: string, dark: boolean): string =>
  html
    .replace(/\(\s*prefers-color-scheme\s*:\s*dark\s*\)/gi, dark ? '(min-width:0)' : '(max-width:0)')
    .replace(/\(\s*prefers-color-scheme\s*:\s*light\s*\)/gi, dark ? '(max-width:0)' : '(min-width:0)');
