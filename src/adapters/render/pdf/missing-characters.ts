/** What is said of a character that no font has. */
import { DomainError } from '../../../domain/errors.js';
import { scriptOf } from './scripts.js';

/** `U+170B` */
export const codePointOf = (character: string): string => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

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
