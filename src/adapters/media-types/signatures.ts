/** Media types by signature, from the file-type package. */
import { fileTypeFromBuffer } from 'file-type';
import type { MediaTypes } from '../../domain/ports/media-types.js';

export const signatureMediaTypes = (): MediaTypes => ({
  of: async (bytes) => {
    try {
      return (await fileTypeFromBuffer(bytes))?.mime;
    } catch {
      // It follows lengths and offsets that the bytes themselves give.
      return undefined;
    }
  },
});
