/** What the events of one asset add up to, and the decisions about it. */
import type { Decider } from '../decider.js';
import { DomainError } from '../errors.js';
import type { AssetDescription, AssetEvent, AssetUploaded } from './events.js';

/** `description` is undefined once the key is destroyed: what is left has no name and no bytes. */
export type Asset = Omit<AssetUploaded['data'], 'at'> &
  Readonly<{ createdAt: string; deletedAt: string | null; description: AssetDescription | undefined }>;
export type AssetState = Asset | undefined;

export type AssetCommand = Readonly<{ type: 'UploadAsset'; uploaded: AssetUploaded }> | Readonly<{ type: 'DeleteAsset'; at: string }>;

export const assetNotFound = (): DomainError =>
  new DomainError('ASSET_NOT_FOUND', 'There is no asset with this id. GET /api/assets lists yours.');

const decide = (command: AssetCommand, asset: AssetState): readonly AssetEvent[] => {
  switch (command.type) {
    case 'UploadAsset':
      return asset === undefined ? [command.uploaded] : [];
    case 'DeleteAsset':
      if (asset === undefined) throw assetNotFound();
      return asset.deletedAt === null ? [{ type: 'AssetDeleted', data: { at: command.at } }] : [];
  }
};

export const assetDecider: Decider<AssetCommand, AssetEvent, AssetState> = {
  decide,
  evolve: (asset, event) => {
    switch (event.type) {
      case 'AssetUploaded': {
        const { at, ...data } = event.data;
        return { ...data, createdAt: at, deletedAt: null, description: event.sealed };
      }
      case 'AssetDeleted':
        return asset && { ...asset, deletedAt: event.data.at };
    }
  },
  initialState: undefined,
};

/** What a team's gallery holds. */
export type AssetUsage = Readonly<{ count: number; sizeBytes: number }>;

/** What is shown of an asset. */
export type AssetListing = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  /** In pixels; pictures only. */
  width?: number;
  height?: number;
  createdAt: string;
};

export const assetListing = (
  id: string,
  { contentType, sizeBytes, width, height, createdAt }: Omit<Asset, 'description'>,
  { filename, sha256 }: AssetDescription,
): AssetListing => ({
  id,
  filename,
  contentType,
  sizeBytes,
  sha256,
  ...(width === undefined ? {} : { width }),
  ...(height === undefined ? {} : { height }),
  createdAt,
});
