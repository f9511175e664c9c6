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

/** In: text as it is read, and the length from which a word may break on a small screen. Out: HTML, escaped; longer than `htmlCharsMax` where it is not whole. */
export const breakWords = (text: string, chars: number, htmlCharsMax = Infinity): string => {
  if (text.length <= chars || text.length > htmlCharsMax) return escapeHtml(text, htmlCharsMax);
  let html = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    while (at < text.length && isLetter(text.charCodeAt(at))) at += 1;
    if (at - start <= chars) continue;
    html += escapeHtml(text.slice(from, start));
    html += `${at - start > LONG_CHARS ? BREAKS : BREAKS_IF_NARROW}${escapeHtml(text.slice(start, at), htmlCharsMax)}</span>`;
    from = at;
    if (html.length > htmlCharsMax) return html;
  }
  return from === 0 ? escapeHtml(text, htmlCharsMax) : html + escapeHtml(text.slice(from), htmlCharsMax);
};

/** `break-all` is what Outlook knows; the class is one of the rules for small screens. */
const BREAKS = '<span style="word-break:break-all">';
const BREAKS_IF_NARROW = '<span class="w">';
