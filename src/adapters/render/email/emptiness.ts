/** Tells whether the body of a mail shows anything at all: a letter that can be seen, or a picture. */
import type { Component, EmailTemplateContent } from '../../../domain/rendering/content.js';

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

/** Tags whose text is shown as it stands; of others some are taken out with what is in them. */
const OTHER_TAG = /<(?!\/?(?:p|br|b|strong|i|em|u|s|a|span|div|h[1-6]|ul|ol|li|blockquote)[\s/>])/i;
const TAG = /<[^>]*>?/g;
const NOT_TEXT = /\{\{[^}]*\}?\}?|&[^;\s]*;?/g;
const LETTER = /[\p{L}\p{N}]/u;

/**
 * True where a mail of the template shows a letter whatever its variables are: one that stands in the text itself, outside every loop
 * and conditional. Most templates have one, and their mails need not be looked at.
 */
export const alwaysShows = ({ schema }: Pick<EmailTemplateContent, 'schema'>): boolean =>
  schema.sections.some(({ components }) => components.some(hasFixedLetter));

const hasFixedLetter = ({ type, content = '', children = [], props }: Component): boolean => {
  if (type === 'loop' || type === 'conditional' || (props?.['hideWhenEmpty'] ?? false) !== false) return false;
  return (type === 'rich-text' && hasLetter(content)) || children.some(hasFixedLetter);
};

/** False where it is not certain. */
const hasLetter = (html: string): boolean => {
  if (OTHER_TAG.test(html)) return false;
  // An angle within quotes does not end a tag.
  if ((html.match(TAG) ?? []).some((tag) => tag.split('"').length % 2 === 0 || tag.split("'").length % 2 === 0)) return false;
  return LETTER.test(html.replace(TAG, '').replace(NOT_TEXT, ''));
};
