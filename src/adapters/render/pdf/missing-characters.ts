/** What is said of a character that no font has. */
import { createRequire } from 'node:module';
import { DomainError } from '../../../domain/core/errors.js';
import { codePointOf } from '../../../shared/text.js';
import { scriptOf } from './scripts.js';

/** The names are 1.6 MB, which nearly no document needs. */
const load = createRequire(import.meta.url);
type Names = Readonly<{ unicodeName: (character: string) => string | undefined }>;

/** `TAGALOG LETTER MA`, the name of the character in Unicode; its number where it has none. */
const nameOf = (character: string): string => {
  const first = String.fromCodePoint(character.codePointAt(0)!);
  const name = (load('unicode-name') as Names).unicodeName(first);
  // What is no character has a label such as <private-use-E000>.
  return name === undefined || name.startsWith('<') ? codePointOf(first) : name;
};

/** So many characters of one text are named in full: a name is as long as a line of a narrow column. */
const NAMED_MAX = 20;

/** In: a character, and how many such the text has had with it. Out: what is drawn in its place. */
export const standInFor = (character: string, count: number): string =>
  `[${count <= NAMED_MAX ? nameOf(character) : codePointOf(character)}]`;

/** FONT_MISSING */
export const missing = (character: string, field: string): DomainError => {
  const codePoint = codePointOf(character);
  return new DomainError(
    'FONT_MISSING',
    `No font of this service has the character “${character}” (${codePoint}, ${scriptOf(character)}) of ${field}. ` +
      'Put a font with it (.ttf, .otf or .woff) into the folder that SEALPOST_FONTS_DIR names and start the service again, or leave the character out.',
    {
      relatedInfo: { character, codePoint, script: scriptOf(character) },
      errors: [{ field, message: `no font has ${codePoint} (${scriptOf(character)})` }],
    },
  );
};
