/** The list of assets, and what the gallery of each team holds. */
import type { AssetEvent } from '../domain/asset/events.js';
import { assetDecider, assetListing, type AssetListing, type AssetUsage } from '../domain/asset/state.js';
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import { foldForSearch } from '../domain/search-text.js';
import { declareProjection, type Handler, type Step } from './projection.js';

export const ASSETS = 'assets';
export const ASSET_USAGE = 'assetUsage';

/** `text`: the file name, for searches. */
export type AssetDocument = Document & Readonly<{ team: string; text: string; item: AssetListing }>;
/** Its id is that of the team. */
export type AssetUsageDocument = Document & Readonly<{ usage: AssetUsage }>;

/** An asset whose key is destroyed is shown no more, recorded as deleted or not. */
const step: Handler<AssetEvent> = (recorded, document) => {
  const { stream, position, metadata } = recorded;
  const { id } = splitStream(stream);
  const before = document as AssetDocument | undefined;
  const item = itemOf(id, recorded);
  const after: AssetDocument | undefined = item && {
    id,
    seq: position,
    position,
    team: metadata.teamId,
    text: foldForSearch(item.filename),
    item,
  };
  return [usageStep(recorded, before?.item, item), { collection: ASSETS, id, next: () => after }];
};

export const assetsProjection = declareProjection({
  name: 'assets',
  collections: [
    { name: ASSET_USAGE, version: 1, fields: [], indexes: [] },
    { name: ASSETS, version: 2, fields: ['team'], indexes: [['team']], search: { field: 'text', within: 'team' } },
  ],
  main: ASSETS,
  kinds: ['asset'],
  decrypts: ['AssetUploaded'],
  related: ({ metadata }) => [{ collection: ASSET_USAGE, id: metadata.teamId }],
  on: { AssetUploaded: step, AssetDeleted: step },
});

const itemOf = (id: string, { event }: Recorded<AssetEvent>): AssetListing | undefined => {
  const asset = assetDecider.evolve(undefined, event);
  return asset?.description === undefined ? undefined : assetListing(id, asset, asset.description);
};

/** Counts what comes and what goes; its position moves with each event, however little of that the rebuilding still sees. */
const usageStep = ({ metadata, position }: Recorded, before: AssetListing | undefined, after: AssetListing | undefined): Step => {
  const id = metadata.teamId;
  const next = (document: Document | undefined): AssetUsageDocument => {
    const known = document as AssetUsageDocument | undefined;
    const usage: AssetUsage = {
      count: (known?.usage.count ?? 0) + (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
      sizeBytes: (known?.usage.sizeBytes ?? 0) + (after?.sizeBytes ?? 0) - (before?.sizeBytes ?? 0),
    };
    return { id, seq: known?.seq ?? position, position, usage };
  };
  return { collection: ASSET_USAGE, id, next };
};
