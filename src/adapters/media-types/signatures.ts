/** Media types by signature, from the file-type package. */
import type { MediaTypes } from '../../domain/ports/media-types.js';

export const signatureMediaTypes = (): MediaTypes => ({
  of: async (bytes) => {
    // Loaded with the first file: it knows more formats than most services ever see.
    const { fileTypeFromBuffer } = await import('file-type');
    try {
      return (await fileTypeFromBuffer(bytes))?.mime;
    } catch {
      // It follows lengths and offsets that the bytes themselves give.
      return undefined;
    }
  },
});
