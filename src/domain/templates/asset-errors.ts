/** The bounds of the gallery, and the errors of who crosses them: each states the actual value and the maximum. */
import { DomainError } from '../core/errors.js';
import type { Limits } from '../core/limits.js';
import type { AssetUsage } from './asset.js';

const written = new Intl.NumberFormat('en-US');

/**
 * Throws ASSET_TOO_LARGE or STORAGE_LIMIT_EXCEEDED. `usage` may be behind by what is uploaded at the same moment: the bound
 * of a gallery may be passed by as much, never by more.
 */
export const checkAssetSizes = (
  sizeBytes: number,
  usage: AssetUsage,
  { assetSizeBytesMax, assetStorageBytesMax, assetsMax }: Limits,
): void => {
  if (sizeBytes > assetSizeBytesMax) throw assetTooLarge(sizeBytes, assetSizeBytesMax);
  if (usage.count >= assetsMax) {
    throw new DomainError(
      'STORAGE_LIMIT_EXCEEDED',
      `The gallery holds ${written.format(usage.count)} assets, the maximum is ${written.format(assetsMax)}. Delete what is not used any more.`,
      {
        relatedInfo: { actualAssets: usage.count, maxAssets: assetsMax },
      },
    );
  }
  const storedBytes = usage.sizeBytes + sizeBytes;
  if (storedBytes > assetStorageBytesMax) {
    throw new DomainError(
      'STORAGE_LIMIT_EXCEEDED',
      `With this file the gallery would hold ${written.format(storedBytes)} bytes, the maximum is ${written.format(assetStorageBytesMax)}. Delete what is not used any more.`,
      { relatedInfo: { actualSizeBytes: storedBytes, maxSizeBytes: assetStorageBytesMax } },
    );
  }
};

/** `actual` is undefined where the reading was stopped at the maximum. */
export const assetTooLarge = (actual: number | undefined, max: number): DomainError =>
  new DomainError(
    'ASSET_TOO_LARGE',
    `The file has ${actual === undefined ? `more than ${written.format(max)}` : written.format(actual)} bytes, the maximum is ${written.format(max)}.`,
    {
      relatedInfo: { ...(actual === undefined ? {} : { actualSizeBytes: actual }), maxSizeBytes: max },
    },
  );
