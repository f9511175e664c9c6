/** Tells whether the body of a mail shows anything at all: a letter that can be seen, or a picture. */

/** The page around the components ends its head and its preheader here. */
const BODY_BEGINS = '<div role="article"';

/** Elements that show something without any text in them. */
const SHOWN = /^<(?:img|svg|video|audio|canvas|object|input)\b/i;

/** References to blanks and to characters that take no room. */
const BLANK_REFERENCE = /^&(?:nbsp|ensp|emsp|thinsp|shy|zwj|zwnj|lrm|rlm|#(?:32|160|173|847|8199|820[3-7]|8232|8288|65279));/i;
const BLANK = /\u034f|[\s\u00ad\u200b-\u200f\u2060\ufeff]/;
const REFERENCE_CHARS_MAX = 12;

/** In: the HTML of a whole mail. It ends at the first thing that shows, which most mails have right behind the head. */
export const showsAnything = (html: string): boolean => {
  let at = Math.max(html.indexOf(BODY_BEGINS), 0);
  while (at < html.length) {
    const char = html[at]!;
    if (char === '<') {
      if (SHOWN.test(html.slice(at, at + REFERENCE_CHARS_MAX))) return true;
      at = endOfMarkup(html, at);
    } else if (BLANK.test(char)) {
      at += 1;
    } else {
      const reference = char === '&' ? BLANK_REFERENCE.exec(html.slice(at, at + REFERENCE_CHARS_MAX)) : null;
      if (reference === null) return true;
      at += reference[0].length;
    }
  }
  return false;
};

/** The place behind a tag or a comment; a comment for one mail program shows nothing that the others are not shown as well. */
const endOfMarkup = (html: string, at: number): number => {
  const [end, length] = html.startsWith('<!--', at) ? [html.indexOf('-->', at + 4), 3] : [html.indexOf('>', at + 1), 1];
  return end < 0 ? html.length : end + length;
};
