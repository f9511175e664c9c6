/** What the events of one asset add up to, and the decisions about it. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { AssetDescription, AssetEvent, AssetUploaded } from './asset-events.js';

/** `description` is undefined once the key is destroyed: what is left has no name and no bytes. `isGone`: it cannot be taken back. */
export type Asset = Omit<AssetUploaded['data'], 'at'> &
  Readonly<{ createdAt: string; deletedAt: string | null; isGone: boolean; description: AssetDescription | undefined }>;
export type AssetState = Asset | undefined;

export type AssetCommand =
  | Readonly<{ type: 'UploadAsset'; uploaded: AssetUploaded }>
  | Readonly<{ type: 'TrashAsset'; at: string }>
  /** What was deleted before `deletedSince` cannot be taken back. */
  | Readonly<{ type: 'RestoreAsset'; at: string; deletedSince: string }>
  /** For good, whether it was deleted before or not. */
  | Readonly<{ type: 'DeleteAsset'; at: string }>
  /** Nothing happens to an asset that lives, or that was deleted at `deletedSince` or later. */
  | Readonly<{ type: 'RemoveAsset'; at: string; deletedSince: string }>;

export const assetNotFound = (): DomainError =>
  new DomainError('ASSET_NOT_FOUND', 'There is no asset with this id. GET /api/assets lists yours.');

const decide = (command: AssetCommand, asset: AssetState): readonly AssetEvent[] => {
  if (command.type === 'UploadAsset') return asset === undefined ? [command.uploaded] : [];
  if (asset === undefined) throw assetNotFound();
  const { at } = command;
  const gone: AssetEvent = { type: 'AssetDeleted', data: { at } };
  switch (command.type) {
    case 'TrashAsset':
      return asset.deletedAt === null ? [{ type: 'AssetTrashed', data: { at } }] : [];
    case 'RestoreAsset':
      if (asset.isGone || (asset.deletedAt !== null && asset.deletedAt < command.deletedSince)) throw assetNotFound();
      return asset.deletedAt === null ? [] : [{ type: 'AssetRestored', data: { at } }];
    case 'DeleteAsset':
      return asset.isGone ? [] : [gone];
    case 'RemoveAsset':
      return asset.isGone || asset.deletedAt === null || asset.deletedAt >= command.deletedSince ? [] : [gone];
  }
};

export const assetDecider: Decider<AssetCommand, AssetEvent, AssetState> = {
  decide,
  evolve: (asset, event) => {
    switch (event.type) {
      case 'AssetUploaded': {
        const { at, ...data } = event.data;
        return { ...data, createdAt: at, deletedAt: null, isGone: false, description: event.sealed };
      }
      case 'AssetTrashed':
        return asset && { ...asset, deletedAt: event.data.at };
      case 'AssetRestored':
        return asset && { ...asset, deletedAt: null };
      case 'AssetDeleted':
        return asset && { ...asset, deletedAt: asset.deletedAt ?? event.data.at, isGone: true };
    }
  },
  initialState: undefined,
};

/** What a team's gallery holds. */
/** `position`: of the newest event that is counted; absent for none. */
export type AssetUsage = Readonly<{ count: number; sizeBytes: number; position?: number }>;

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
  { contentType, sizeBytes, width, height, createdAt }: Omit<Asset, 'description' | 'isGone'>,
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
