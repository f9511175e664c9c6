/** The list of assets, and what the gallery of each team holds. */
import type { AssetEvent, AssetUploaded } from '../../domain/templates/asset-events.js';
import { assetDecider, assetListing, type AssetListing, type AssetUsage } from '../../domain/templates/asset.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import { timersOf } from '../../domain/core/timers.js';
import { declareProjection, type Handler, type Projection, type Step } from '../core/projection.js';
import { removalSteps, type RemovalEffect } from '../core/removals.js';
import { timersSpec } from '../core/timers.js';

export const ASSETS = 'assets';
export const ASSET_USAGE = 'assetUsage';
const ASSET_TIMERS = timersOf('asset');

/** `text`: the file name, for searches. Of a deleted asset there is `deletedOf` in place of `team` and `text`: each list finds its own by one field. */
export type AssetDocument = Document &
  Readonly<{ team?: string; text?: string; deletedOf?: string; deletedAt?: string; item: AssetListing }>;
/** Its id is that of the team. */
export type AssetUsageDocument = Document & Readonly<{ usage: AssetUsage }>;

/** An asset whose key is destroyed is shown no more, recorded as deleted or not. */
const step: Handler<AssetEvent> = (recorded, document) => {
  const { id } = splitStream(recorded.stream);
  const before = document as AssetDocument | undefined;
  const after = documentAfter(id, recorded, before);
  return [usageStep(recorded, before?.item, after?.item), { collection: ASSETS, id, next: () => after }];
};

const documentAfter = (
  id: string,
  { event, position, metadata: { teamId } }: Recorded<AssetEvent>,
  before: AssetDocument | undefined,
): AssetDocument | undefined => {
  const item = event.type === 'AssetUploaded' ? itemOf(id, event) : before?.item;
  if (item === undefined) return undefined;
  const common = { id, seq: before?.seq ?? position, position, item };
  switch (event.type) {
    case 'AssetUploaded':
    case 'AssetRestored':
      return { ...common, team: teamId, text: foldForSearch(item.filename) };
    case 'AssetTrashed':
      return { ...common, deletedOf: teamId, deletedAt: event.data.at };
    case 'AssetDeleted':
      return undefined;
  }
};

/** `restoreMs`: for how long a deleted asset can be restored. */
export const assetsProjection = (restoreMs: number): Projection => {
  const handler: Handler<AssetEvent> = (recorded, document) => [
    ...removalSteps(ASSET_TIMERS, recorded, restoreMs, effects[recorded.event.type]),
    ...step(recorded, document),
  ];
  return declareProjection({
    name: 'assets',
    collections: [
      timersSpec(ASSET_TIMERS),
      { name: ASSET_USAGE, version: 2, fields: [], indexes: [] },
      {
        name: ASSETS,
        version: 4,
        fields: ['team', 'deletedOf', 'deletedAt'],
        indexes: [['team'], ['deletedOf', 'deletedAt']],
        search: { field: 'text', within: 'team' },
        personal: ['item', 'text'],
      },
    ],
    main: ASSETS,
    kinds: ['asset'],
    decrypts: ['AssetUploaded'],
    related: ({ metadata }) => [{ collection: ASSET_USAGE, id: metadata.teamId }],
    on: { AssetUploaded: handler, AssetTrashed: handler, AssetRestored: handler, AssetDeleted: handler },
  });
};

const effects: Readonly<Record<AssetEvent['type'], RemovalEffect>> = {
  AssetUploaded: 'none',
  AssetTrashed: 'begins',
  AssetRestored: 'ends',
  AssetDeleted: 'ends',
};

const itemOf = (id: string, event: AssetUploaded): AssetListing | undefined => {
  const asset = assetDecider.evolve(undefined, event);
  return asset?.description === undefined ? undefined : assetListing(id, asset, asset.description);
};

/** Counts what comes and what goes for good: what can be restored takes room. Its position moves with each event, however little of that the rebuilding still sees. */
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
