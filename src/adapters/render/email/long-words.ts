/** Words that are wider than a screen may break: a long link or number would push the whole mail out of it. */
import { escapeHtml } from './escape.js';

/** Longer than this, a word may break anywhere and in every client; it is hardly one that is read. */
const LONG_CHARS = 30;

/** Letters of scripts that break nowhere but at blanks. What joins or stands on a letter before it is left alone with its script. */
const LETTERS = '[!-~\\xa1-\\xac\\xae-\\u02ff\\u0370-\\u058f\\u1e00-\\u1fff]';

const patterns = new Map<number, RegExp>();

const longerThan = (chars: number): RegExp => {
  const known = patterns.get(chars);
  if (known !== undefined) return known;
  const made = new RegExp(`${LETTERS}{${chars + 1},}`, 'g');
  patterns.set(chars, made);
  return made;
};

/** In: text as it is read, and the length from which a word may break on a small screen. Out: HTML, escaped. */
export const breakWords = (text: string, chars: number, htmlCharsMax?: number): string => {
  if (text.length <= chars) return escapeHtml(text, htmlCharsMax);
  const pattern = longerThan(chars);
  let html = '';
  let from = 0;
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    const [word] = found;
    html += escapeHtml(text.slice(from, found.index));
    html += `${word.length > LONG_CHARS ? BREAKS : BREAKS_IF_NARROW}${escapeHtml(word)}</span>`;
    from = found.index + word.length;
    if (htmlCharsMax !== undefined && html.length > htmlCharsMax) return html;
  }
  return from === 0 ? escapeHtml(text, htmlCharsMax) : html + escapeHtml(text.slice(from), htmlCharsMax);
};

/** `break-all` is what Outlook knows; the class is one of the rules for small screens. */
const BREAKS = '<span style="word-break:break-all">';
const BREAKS_IF_NARROW = '<span class="w">';
