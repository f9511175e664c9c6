/** A mail as it is shown outside a mail: the pictures that travel inside stand in its HTML themselves. */
import type { InlineImage } from '../domain/ports/renderer.js';

type Picture = Readonly<{ contentType: string; bytes: Uint8Array }>;

type Source = Readonly<{
  /** Answers a picture of the gallery. */ loadAsset: (assetId: string) => Promise<Picture | undefined>;
  totalSizeBytesMax: number;
}>;

/** In: the HTML and its pictures. Out: the HTML with a data URI for each that there is, as far as they are not too large together. */
export const withInlineImages = async (
  html: string,
  inline: readonly InlineImage[],
  { loadAsset, totalSizeBytesMax }: Source,
): Promise<string> => {
  if (inline.length === 0) return html;
  const uris = new Map<string, string>();
  let sizeBytes = 0;
  for (const image of inline) {
    const picture = 'bytes' in image ? image : await loadAsset(image.assetId);
    if (picture === undefined || sizeBytes + picture.bytes.length > totalSizeBytesMax) continue;
    sizeBytes += picture.bytes.length;
    uris.set(image.contentId, `data:${picture.contentType};base64,${Buffer.from(picture.bytes).toString('base64')}`);
  }
  return html.replace(/\bcid:([A-Za-z0-9-]{1,100}@sealpost)/g, (address, contentId: string) => uris.get(contentId) ?? address);
};
