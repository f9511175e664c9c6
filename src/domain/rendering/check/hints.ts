/** What an author should know of addresses in rich text that lead nowhere: a mail and a document have no address of their own to which another could be relative. */
import type { FieldError } from '../../core/errors.js';
import { addressesIn, type HtmlAddress } from '../html-addresses.js';
import type { Media } from '../media.js';
import { linkAddress, mayBeAddress } from '../props.js';
import { shorten } from '../scope/path.js';
import { visitTexts, type Texts } from './schema-texts.js';

/** Enough to work with. */
const WARNINGS_MAX = 20;
const CHARS_SHOWN = 60;

/** In: a checked template with its translations. Out: a warning for each link and each picture in its texts whose address can never be one. */
export const addressWarnings = (template: Texts, { image, noun }: Media): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('<')) return;
    for (const found of addressesIn(text)) {
      if (mayBeAddress(found.address, found.tag === 'a' ? linkAddress : image)) continue;
      warnings.push({ field, message: messages[found.tag](found, { image, noun }) });
      if (warnings.length >= WARNINGS_MAX) return;
    }
  };
  visitTexts(template, look);
  return warnings;
};

const messages: Readonly<Record<HtmlAddress['tag'], (found: HtmlAddress, media: Pick<Media, 'image' | 'noun'>) => string>> = {
  a: ({ address }, { noun }) =>
    `has a link to "${shorten(address, CHARS_SHOWN)}", which leads nowhere from ${article[noun]}: it must be ${linkAddress.expected}`,
  img: ({ address }, { image, noun }) =>
    `has a picture "${shorten(address, CHARS_SHOWN)}", which ${article[noun]} does not show: it must be ${image.expected}`,
};

const article = { email: 'an email', document: 'a document' } as const;
