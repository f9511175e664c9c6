/** Words that are wider than a screen may break: a long link or number would push the whole mail out of it. */
import { escapeHtml } from './escape.js';

/** Longer than this, a word may break anywhere and in every client; it is hardly one that is read. */
const LONG_CHARS = 30;

/** True for letters of scripts that break nowhere but at blanks. What joins or stands on a letter before it is left alone with its script. */
const isLetter = (code: number): boolean =>
  (code > 0x20 && code < 0x7f) ||
  (code > 0xa0 && code < 0x300 && code !== 0xad) ||
  (code > 0x36f && code < 0x590) ||
  (code > 0x1dff && code < 0x2000);

/** How many characters the markup around long words may have in one mail. What is beyond is written without: no mail is refused for it. */
export const BREAKS_CHARS_MAX = 256 * 1024;
export type BreaksLeft = { breaksLeft: number };

/**
 * In: text as it is read, the length from which a word may break on a small screen, and what is left for the markup, which is taken from it.
 * Out: HTML, escaped; longer than `htmlCharsMax` where it is not whole.
 */
export const breakWords = (text: string, chars: number, htmlCharsMax = Infinity, left: BreaksLeft = { breaksLeft: Infinity }): string => {
  if (text.length <= chars || text.length > htmlCharsMax) return escapeHtml(text, htmlCharsMax);
  let html = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    while (at < text.length && isLetter(text.charCodeAt(at))) at += 1;
    const open = at - start > LONG_CHARS ? BREAKS : BREAKS_IF_NARROW;
    const markup = open.length + '</span>'.length;
    if (at - start <= chars || markup > left.breaksLeft) continue;
    left.breaksLeft -= markup;
    html += escapeHtml(text.slice(from, start));
    html += `${open}${escapeHtml(text.slice(start, at), htmlCharsMax)}</span>`;
    from = at;
    if (html.length > htmlCharsMax) return html;
  }
  return from === 0 ? escapeHtml(text, htmlCharsMax) : html + escapeHtml(text.slice(from), htmlCharsMax);
};

/** `break-all` is what Outlook knows; the class is one of the rules for small screens. */
const BREAKS = '<span style="word-break:break-all">';
const BREAKS_IF_NARROW = '<span class="w">';
