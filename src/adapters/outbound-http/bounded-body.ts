/** The body of an answer, decoded and bounded: what is larger is refused as soon as that shows, and the rest is not read. */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { OutboundFault } from '../../domain/ports/outbound-http.js';

type BodyOptions = Readonly<{ encoding: string | undefined; length: string | undefined; sizeBytesMax: number; signal: AbortSignal }>;

const written = new Intl.NumberFormat('en-US');

const tooLarge = (sizeBytesMax: number): OutboundFault =>
  new OutboundFault('too-large', `The file is larger than ${written.format(sizeBytesMax)} bytes, the maximum. Give a smaller one.`);

/** Nothing but identity is asked for, but some servers hand out what they keep compressed. */
const decoderOf = (encoding: string) => {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
  }
  throw new OutboundFault('unreachable', 'The server answered in a compression that is not read. Give the URL of an uncompressed file.');
};

/** Resolves with the decoded bytes, at most `sizeBytesMax`; the stream is destroyed in any case. `length`: what the server announced. */
export const readBody = async (
  body: Readable,
  { encoding = 'identity', length, sizeBytesMax, signal }: BodyOptions,
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  let excess: OutboundFault | undefined;
  const collect = async (source: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of source) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > sizeBytesMax) throw (excess = tooLarge(sizeBytesMax));
      chunks.push(chunk);
    }
  };
  try {
    if (Number(length ?? 0) > sizeBytesMax) throw tooLarge(sizeBytesMax);
    const name = encoding.trim().toLowerCase();
    if (name === 'identity' || name === '') await pipeline(body, collect, { signal });
    else await pipeline(body, decoderOf(name), collect, { signal });
  } catch (error) {
    // Of the streams that end together, another may have spoken first.
    throw excess ?? error;
  } finally {
    discard(body);
  }
  return Buffer.concat(chunks, sizeBytes);
};

/** Ends the connection of an answer whose body, or the rest of it, nobody wants. */
export const discard = (body: Readable): void => {
  if (body.destroyed) return;
  body.on('error', () => {});
  body.destroy();
};
