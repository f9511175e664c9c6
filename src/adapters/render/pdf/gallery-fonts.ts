/** The families that a template brings from the gallery of its team. */
import { hash } from 'node:crypto';
import { fontStyles, type FontStyleName, type GalleryFont } from '../../../domain/rendering/document-content.js';
import { assertDefined } from '../../../domain/core/ids.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import { bringFonts, type FontFamily, type FontFiles } from './font-files.js';

const fileStyles: Readonly<Record<FontStyleName, keyof FontFiles>> = {
  regular: 'normal',
  bold: 'bold',
  italic: 'italics',
  boldItalic: 'bolditalics',
};

/** By the content: the same file is parsed once, whichever asset it is. */
const nameOf = (bytes: Uint8Array): string => `gallery:${hash('sha256', bytes)}`;

/** In: the fonts of a template, and their files by their addresses. One document at a time may be made with what is answered. */
export const familiesOf = (
  fonts: readonly GalleryFont[],
  files: ReadonlyMap<string, Pick<LoadedImage, 'bytes'>>,
): readonly FontFamily[] => {
  const brought = new Map<string, Uint8Array>();
  const fileOf = (address: string): string => {
    const { bytes } = assertDefined(files.get(address), 'the file of a font');
    const name = nameOf(bytes);
    brought.set(name, bytes);
    return name;
  };
  const families = fonts.map((font): FontFamily => {
    const own: Partial<Record<keyof FontFiles, string>> = {};
    for (const style of fontStyles) {
      const address = font[style];
      if (address !== undefined) own[fileStyles[style]] = fileOf(address);
    }
    // Another name than that of a family of the service, which stays what it is for all other texts.
    return { name: `${font.family} (gallery)`, alias: font.family, files: { ...own, normal: fileOf(font.regular) } };
  });
  bringFonts(brought);
  return families;
};
