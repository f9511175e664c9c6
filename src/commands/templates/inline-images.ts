/** A mail as it is shown outside a mail: the pictures that travel inside stand in its HTML themselves. */
import { shownSize } from '../../domain/rendering/drawn-picture.js';
import type { PictureSize } from '../../domain/rendering/pictures.js';
import type { InlineImage } from '../../domain/ports/renderer.js';

type Picture = Readonly<{ contentType: string; bytes: Uint8Array }>;

type Source = Readonly<{
  /** Those of the gallery. */ pictures: ReadonlyMap<string, Picture>;
  totalSizeBytesMax: number;
}>;

/** In: the pictures of a mail. Out: those of the gallery among them that there are, by their assets' ids. */
export const picturesOf = async (
  inline: readonly InlineImage[],
  loadAsset: (assetId: string) => Promise<Picture | undefined>,
): Promise<ReadonlyMap<string, Picture>> => {
  const pictures = new Map<string, Picture>();
  for (const image of inline) {
    const picture = 'assetId' in image ? await loadAsset(image.assetId) : undefined;
    if ('assetId' in image && picture !== undefined) pictures.set(image.assetId, picture);
  }
  return pictures;
};

/** In: pictures by their ids. Out: how large each is shown by itself. */
export const sizesOfPictures = (pictures: ReadonlyMap<string, Picture>): ReadonlyMap<string, PictureSize> =>
  new Map(
    [...pictures].flatMap(([assetId, { bytes, contentType }]) => {
      const size = shownSize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType);
      return size === undefined ? [] : [[assetId, size] as const];
    }),
  );

/** In: the HTML and its pictures. Out: the HTML with a data URI for each that there is, as far as they are not too large together. */
export const withInlineImages = (html: string, inline: readonly InlineImage[], { pictures, totalSizeBytesMax }: Source): string => {
  if (inline.length === 0) return html;
  const uris = new Map<string, string>();
  let sizeBytes = 0;
  for (const image of inline) {
    const picture = 'bytes' in image ? image : pictures.get(image.assetId);
    if (picture === undefined || sizeBytes + picture.bytes.length > totalSizeBytesMax) continue;
    sizeBytes += picture.bytes.length;
    uris.set(image.contentId, `data:${picture.contentType};base64,${Buffer.from(picture.bytes).toString('base64')}`);
  }
  return html.replace(/\bcid:([A-Za-z0-9-]{1,100}@sealpost)/g, (address, contentId: string) => uris.get(contentId) ?? address);
};
