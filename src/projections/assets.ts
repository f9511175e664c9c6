/** The list of assets, and what the gallery of each team holds. */
import type { AssetEvent } from '../domain/asset/events.js';
import { assetDecider, assetListing, type AssetListing, type AssetUsage } from '../domain/asset/state.js';
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import { eventByEvent, eventsRead, type Change, type Find, type Projection } from './projection.js';

export const ASSETS = 'assets';
export const ASSET_USAGE = 'assetUsage';

/** `text`: the file name, for searches. */
export type AssetDocument = Document & Readonly<{ team: string; text: string; item: AssetListing }>;
/** Its id is that of the team. */
export type AssetUsageDocument = Document & Readonly<{ usage: AssetUsage }>;

export const assetsProjection: Projection = {
  name: 'assets',
  // Usage stands first: where writes are not atomic, an asset that is written says that it is counted.
  collections: [
    { name: ASSET_USAGE, version: 1, fields: [], indexes: [] },
    { name: ASSETS, version: 1, fields: ['team'], indexes: [['team']], search: { field: 'text', within: 'team' } },
  ],
  ...eventsRead('asset', {
    AssetUploaded: 'envelope',
    AssetDeleted: 'data',
  }),
  reads: (batch) =>
    batch.flatMap(({ stream, metadata }) => [
      { collection: ASSET_USAGE, id: metadata.teamId },
      { collection: ASSETS, id: splitStream(stream).id },
    ]),
  fold: eventByEvent((recorded, find) => {
    const { stream, position, metadata } = recorded;
    const { id } = splitStream(stream);
    const before = find(ASSETS, id) as AssetDocument | undefined;
    const item = itemOf(id, recorded);
    const document: AssetDocument | undefined = item && { id, seq: position, position, team: metadata.teamId, text: item.filename, item };
    return [...usageAfter(recorded, find, before?.item, item), { collection: ASSETS, id, position, document }];
  }),
};

/** What lists show of it; an asset whose key is destroyed is shown no more, recorded as deleted or not. */
const itemOf = (id: string, { event }: Recorded): AssetListing | undefined => {
  const asset = assetDecider.evolve(undefined, event as AssetEvent);
  return asset?.description === undefined ? undefined : assetListing(id, asset, asset.description);
};

/** Counts what comes and what goes; its position moves with each event, however little of that the rebuilding still sees. */
const usageAfter = (
  { metadata, position }: Recorded,
  find: Find,
  before: AssetListing | undefined,
  after: AssetListing | undefined,
): readonly Change[] => {
  const id = metadata.teamId;
  const known = find(ASSET_USAGE, id) as AssetUsageDocument | undefined;
  // Where writes are not atomic, usage may have been written without its assets: those events have counted already.
  if (known !== undefined && known.position >= position) return [];
  const usage: AssetUsage = {
    count: (known?.usage.count ?? 0) + (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
    sizeBytes: (known?.usage.sizeBytes ?? 0) + (after?.sizeBytes ?? 0) - (before?.sizeBytes ?? 0),
  };
  const document: AssetUsageDocument = { id, seq: known?.seq ?? position, position, usage };
  return [{ collection: ASSET_USAGE, id, position, document }];
};
