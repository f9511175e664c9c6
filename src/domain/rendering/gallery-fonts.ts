/** The files of the fonts that an attachment template brings. */
import { fontStyles, type AttachmentSchema } from './document-content.js';

/** In: a checked schema. Out: the address of each file with its path in the template; the first one where several name the same file. */
export const fontFilesOf = ({ fonts = [] }: Pick<AttachmentSchema, 'fonts'>): ReadonlyMap<string, string> => {
  const files = new Map<string, string>();
  fonts.forEach((font, at) => {
    for (const style of fontStyles) {
      const address = font[style];
      if (address !== undefined && !files.has(address)) files.set(address, `schema.fonts[${at}].${style}`);
    }
  });
  return files;
};
