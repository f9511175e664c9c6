/** Commands on the gallery: upload, read, delete. The bytes are sealed under the asset's own key and go with it. */
import { hash } from 'node:crypto';
import type { Caller } from './caller.js';
import { causeOf, type CommandDeps } from './deps.js';
import { handle, loadState } from './command-handler.js';
import { eraseStream } from './erase.js';
import { ownedBy, ownedState } from './owned-by.js';
import type { Deleted } from '../api/common.js';
import { checkAssetSizes } from '../domain/asset/errors.js';
import type { AssetUploaded } from '../domain/asset/events.js';
import { kindOf, nameFor } from '../domain/asset/kind.js';
import type { AssetRecord } from '../api/assets.js';
import type { AssetUsage } from '../domain/asset/state.js';
import { assetDecider, assetNotFound, assetListing, type AssetState } from '../domain/asset/state.js';
import { AppendUnknown, invalid } from '../domain/errors.js';
import { startOf } from '../event-log/event-log.js';
import { NO_NAME_LEFT, safeFilename } from '../domain/filename.js';
import { nameFault } from '../shared/characters.js';
import { assetStream, assertDefined, parseAssetId, type AssetId, type TeamId } from '../domain/ids.js';

/** What the sealed bytes are bound to. */
const CONTEXT = 'asset';

export type LoadedAsset = Readonly<{ bytes: Buffer; contentType: string; filename: string }>;

/** In: an id as somebody wrote it. Out: the team's living asset with its bytes, or undefined: another team's is never told apart from an unknown one. */
export const loadAsset = async (
  deps: Pick<CommandDeps, 'eventLog' | 'files'>,
  teamId: TeamId,
  reference: string,
): Promise<LoadedAsset | undefined> => {
  const id = parseAssetId(reference);
  const asset = id && (await living(deps, teamId, id));
  if (id === undefined || asset === undefined) return undefined;
  const key = await deps.eventLog.existingKey(assetStream(id));
  const sealed = key && (await deps.files.get(asset.file));
  // Deleted meanwhile.
  if (key === undefined || sealed === undefined) return undefined;
  return { bytes: key.open(sealed, CONTEXT), contentType: asset.contentType, filename: asset.description.filename };
};

const living = async (deps: Pick<CommandDeps, 'eventLog'>, teamId: TeamId, id: AssetId) => {
  const asset = ownedState(teamId, await loadState(deps.eventLog, assetStream(id), assetDecider));
  return asset?.description === undefined || asset.deletedAt !== null ? undefined : { ...asset, description: asset.description };
};

export const getAsset = async (deps: CommandDeps, caller: Caller, id: AssetId): Promise<AssetRecord> => {
  const asset = await living(deps, caller.teamId, id);
  if (asset === undefined) throw assetNotFound();
  return assetListing(id, asset, asset.description);
};

export const assetContent = async (deps: CommandDeps, caller: Caller, id: AssetId): Promise<LoadedAsset> => {
  const asset = await loadAsset(deps, caller.teamId, id);
  if (asset === undefined) throw assetNotFound();
  return asset;
};

/** A file as it came, under the name that the caller gave it. */
export type Upload = Readonly<{ filename: string; bytes: Buffer }>;

/** `usage`: what the team's gallery holds; the route asks the read model first. */
export const uploadAsset = async (
  deps: CommandDeps,
  caller: Caller,
  { filename: given, bytes }: Upload,
  usage: AssetUsage,
): Promise<AssetRecord> => {
  if (bytes.byteLength === 0) throw invalid('upload', 'file', 'is empty');
  checkAssetSizes(bytes.byteLength, usage, deps.limits);
  const named = safeFilename(given);
  const fault = nameFault(given) ?? (named === '' ? NO_NAME_LEFT : undefined);
  if (fault !== undefined) throw invalid('upload', 'filename', fault);
  const { contentType, size } = kindOf(bytes, await deps.mediaTypes.of(bytes), named);
  const description = { filename: nameFor(named, contentType, deps.limits.filenameCharsMax), sha256: hash('sha256', bytes) };

  const id = assertDefined(parseAssetId(deps.ids.uuid()), 'UUID');
  const cause = causeOf(deps, caller);
  const { id: keyId, key } = await deps.eventLog.newKey();
  const file = await deps.files.put(key.seal(bytes, CONTEXT));
  const data: AssetUploaded['data'] = { at: cause.at, contentType, sizeBytes: bytes.byteLength, ...size, file };
  const events = assetDecider.decide({ type: 'UploadAsset', uploaded: { type: 'AssetUploaded', data, sealed: description } }, undefined);
  try {
    await deps.eventLog.append(assetStream(id), startOf(assetStream(id), keyId), events, cause);
  } catch (fault) {
    // What was put for an asset that certainly did not come to be belongs to nobody; where that is not known, it may be the asset's.
    if (!(fault instanceof AppendUnknown)) await deps.files.delete(file);
    throw fault;
  }
  return assetListing(id, events.reduce(assetDecider.evolve, undefined as AssetState)!, description);
};

/** Records the deletion, then destroys the bytes and the key. Where the program dies in between, the erase worker does the rest. */
export const deleteAsset = async (deps: CommandDeps, caller: Caller, id: AssetId): Promise<Deleted> => {
  const stream = assetStream(id);
  const cause = causeOf(deps, caller);
  const owned = ownedBy(caller.teamId, assetNotFound);
  await handle(deps.eventLog, stream, assetDecider, { type: 'DeleteAsset', at: cause.at }, cause, owned);
  await eraseStream(deps, stream);
  return { id, deleted: true };
};
