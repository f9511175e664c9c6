/**
 * A generator that makes no document and notes what it was asked for: the "document" says which pictures it was given.
 * It converts in this process.
 */
import type { DocumentInput, DocumentMetadata, Generator, LoadedImage } from '../../src/domain/ports/generator.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { convertTemplate } from '../../src/domain/rendering/import/convert.js';
import type { OutputFormat } from '../../src/domain/rendering/content.js';

export type Made = Readonly<{
  input: DocumentInput;
  format: OutputFormat;
  images: ReadonlyMap<string, LoadedImage>;
  metadata: DocumentMetadata;
}>;

export type RecordingGenerator = Generator & Readonly<{ made: Made[] }>;

/** `sources`: the addresses of the pictures that each document shows. */
export const recordingGenerator = (sources: readonly string[] = []): RecordingGenerator => {
  const made: Made[] = [];
  return {
    made,
    imageSources: async () => sources,
    check: async () => [],
    make: async (input, format, images, metadata) => {
      made.push({ input, format, images, metadata });
      return { bytes: Buffer.from(`${format}: ${[...images.keys()].join(' ')}`), replaced: [], warnings: [] };
    },
    renderEmail: async () => {
      throw new Error('this generator renders no mails');
    },
    drawSvg: async () => undefined,
    checkFont: async () => {},
    convertTemplate: async ({ source }) => convertTemplate(source, defaultLimits),
    prepare: () => {},
    close: async () => {},
  };
};
