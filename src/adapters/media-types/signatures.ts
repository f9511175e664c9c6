/** Media types by signature, from the file-type package. */
import type { MediaTypes } from '../../domain/ports/media-types.js';

export const signatureMediaTypes = (): MediaTypes => ({
  of: async (bytes) => {
    // Loaded with the first file, because most services need it rarely.
    const { fileTypeFromBuffer } = await import('file-type');
    try {
      return (await fileTypeFromBuffer(bytes))?.mime;
    } catch {
      // The package follows lengths and offsets given in the bytes, which may be wrong.
      return undefined;
    }
  },
});
