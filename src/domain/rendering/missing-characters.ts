/** What becomes of a character that no font of a PDF has: refused, or its number in its place. */
import type { AttachmentSchema } from './document-content.js';

export const missingCharacterRules = ['refuse', 'replace'] as const;
export type MissingCharacterRule = (typeof missingCharacterRules)[number];

/**
 * In: the schema of a checked attachment template. Out: whether a character that no font has is refused. Where the schema says nothing,
 * one that its author wrote is: a label is to be mended before anybody sees it. One that a variable brings is not: no customer's name
 * stops an invoice.
 */
export const refusalOf = (schema: AttachmentSchema): ((character: string) => boolean) => {
  let written: string | undefined;
  const rule: MissingCharacterRule | undefined = schema.missingCharacters;
  switch (rule) {
    case 'refuse':
      return () => true;
    case 'replace':
      return () => false;
    case undefined:
      return (character) => (written ??= JSON.stringify(schema)).includes(character);
  }
};
