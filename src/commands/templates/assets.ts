/**
 * Commands on the gallery: upload, read, delete, restore. The bytes of an asset are sealed under its own key, and
 * destroyed with it.
 */
import { hash } from 'node:crypto';
import { type Caller, ownedBy, ownedState, causeOf } from '../core/caller.js';
import type { TemplateNeeds } from './needs.js';
import { handle, loadState } from '../core/handle.js';
import { eraseStream, type EraseDeps, removableBefore, restorableSince } from '../core/erase.js';
import { withStorage } from '../billing/plan-limits.js';
import type { Deleted, DeleteQuery } from '../../api/core/common.js';
import {
  checkAssetSizes,
  isFont,
  kindOf,
  type AssetKind,
  nameFor,
  type AssetUsage,
  assetDecider,
  assetNotFound,
  assetListing,
  type AssetState,
} from '../../domain/templates/asset.js';
import type { AssetUploaded } from '../../domain/templates/events.js';
import type { AssetRecord } from '../../api/templates/templates.js';
import { AppendUnknown, DomainError, invalid } from '../../domain/core/errors.js';
import { startOf, type Cause } from '../../event-log/event-log.js';
import { NO_NAME_LEFT, safeFilename } from '../../domain/mime/attachment.js';
import { nameFault } from '../../shared/text.js';
import {
  assetStream,
  assertDefined,
  parseAssetId,
  teamStream,
  type AssetId,
  type TeamId,
} from '../../domain/core/ids.js';

/** The sealed bytes are bound to this context. */
const CONTEXT = 'asset';

export type LoadedAsset = Readonly<{ bytes: Buffer; contentType: string; filename: string }>;

/**
 * In: an id as somebody wrote it. Out: the team's living asset with its bytes, or undefined: another team's is never
 * told apart from an unknown one.
 */
export const loadAsset = async (
  deps: Pick<TemplateNeeds, 'eventLog' | 'files'>,
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

const living = async (deps: Pick<TemplateNeeds, 'eventLog'>, teamId: TeamId, id: AssetId) => {
  const asset = ownedState(teamId, await loadState(deps.eventLog, assetStream(id), assetDecider));
  return asset?.description === undefined || asset.deletedAt !== null
    ? undefined
    : { ...asset, description: asset.description };
};

/**
 * In: an id as somebody wrote it. Out: the media type of the team's living asset, or undefined: another team's is never
 * told apart from an unknown one.
 */
export const findAssetType = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  teamId: TeamId,
  reference: string,
): Promise<string | undefined> => {
  const id = parseAssetId(reference);
  return (id && (await living(deps, teamId, id)))?.contentType;
};

/** The size and the media type of the team's living asset; undefined: it has none with this id. */
export const findAsset = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
  teamId: TeamId,
  reference: string,
): Promise<Readonly<{ sizeBytes: number; contentType: string }> | undefined> => {
  const id = parseAssetId(reference);
  return id && (await living(deps, teamId, id));
};

export const getAsset = async (deps: TemplateNeeds, caller: Caller, id: AssetId): Promise<AssetRecord> => {
  const asset = await living(deps, caller.teamId, id);
  if (asset === undefined) throw assetNotFound();
  return assetListing(id, asset, asset.description);
};

export const assetContent = async (deps: TemplateNeeds, caller: Caller, id: AssetId): Promise<LoadedAsset> => {
  const asset = await loadAsset(deps, caller.teamId, id);
  if (asset === undefined) throw assetNotFound();
  return asset;
};

/** A file as it came, under the name that the caller gave it. */
export type Upload = Readonly<{ filename: string; bytes: Buffer }>;

/** `usage`: what the team's gallery holds; the route asks the read model first. */
export const uploadAsset = async (
  deps: TemplateNeeds,
  caller: Caller,
  { filename: given, bytes }: Upload,
  usage: AssetUsage,
): Promise<AssetRecord> => {
  if (bytes.byteLength === 0) throw invalid('upload', 'file', 'is empty');
  checkAssetSizes(bytes.byteLength, usage, deps.limits);
  const named = safeFilename(given);
  const fault = nameFault(given) ?? (named === '' ? NO_NAME_LEFT : undefined);
  if (fault !== undefined) throw invalid('upload', 'filename', fault);
  const { contentType, size } = await kindOf(bytes, await deps.mediaTypes.of(bytes), named);
  // A signal that never aborts: the time of the check is bounded.
  if (isFont(contentType))
    await deps.generator.checkFont({ teamId: caller.teamId, bytes }, new AbortController().signal);
  const description = {
    filename: nameFor(named, contentType, deps.limits.filenameCharsMax),
    sha256: hash('sha256', bytes),
  };

  const id = assertDefined(parseAssetId(deps.ids.uuid()), 'UUID');
  const stored = { sizeBytes: usage.sizeBytes, position: usage.position ?? 0 };
  const toStore = {
    id,
    sizeBytes: bytes.byteLength,
    stored,
    positionOf: (key: string) => positionOf(deps, key as AssetId),
  };
  return withStorage(deps, caller, toStore, () => store(deps, caller, { id, bytes, contentType, size, description }));
};

const positionOf = async ({ eventLog }: TemplateNeeds, id: AssetId): Promise<number | undefined> =>
  (await eventLog.load(assetStream(id), 0, []))[0]?.position;

type ToStore = Readonly<{
  id: AssetId;
  bytes: Buffer;
  contentType: string;
  size: AssetKind['size'];
  description: NonNullable<AssetUploaded['sealed']>;
}>;

const store = async (
  deps: TemplateNeeds,
  caller: Caller,
  { id, bytes, contentType, size, description }: ToStore,
): Promise<AssetRecord> => {
  const cause = causeOf(deps, caller);
  const { id: keyId, key } = await deps.eventLog.newKey();
  const file = await deps.files.put(key.seal(bytes, CONTEXT));
  const data: AssetUploaded['data'] = { at: cause.at, contentType, sizeBytes: bytes.byteLength, ...size, file };
  const events = assetDecider.decide(
    { type: 'UploadAsset', uploaded: { type: 'AssetUploaded', data, sealed: description } },
    undefined,
  );
  try {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    await deps.eventLog.append(assetStream(id), startOf(assetStream(id), keyId), events, cause);
  } catch (fault) {
    // If the asset was certainly not created, its file belongs to nothing; if that is unknown, the file may be the
    // asset's.
    if (!(fault instanceof AppendUnknown)) await deps.files.delete(file);
    throw fault;
  }
  return assetListing(id, events.reduce(assetDecider.evolve, undefined as AssetState)!, description);
};

/**
 * Deletes an asset, which can be restored for some days. `permanently`: its bytes are destroyed now, whether it was
 * deleted before or not.
 */
export const deleteAsset = async (
  deps: TemplateNeeds,
  caller: Caller,
  id: AssetId,
  { permanently = false }: DeleteQuery = {},
): Promise<Deleted> => {
  const stream = assetStream(id);
  const cause = causeOf(deps, caller);
  await assertNoLogo(deps, caller.teamId, id);
  const guard = permanently ? leftOf(caller.teamId) : ownedBy(caller.teamId, assetNotFound);
  await handle(
    deps.eventLog,
    stream,
    assetDecider,
    { type: permanently ? 'DeleteAsset' : 'TrashAsset', at: cause.at },
    cause,
    guard,
  );
  // If the program dies before this, the erase worker does it.
  if (permanently) await eraseStream(deps, stream);
  // A member may have made it the logo meanwhile.
  else
    await assertNoLogo(deps, caller.teamId, id).catch(async (fault: unknown) => {
      await restoreAsset(deps, caller, id);
      throw fault;
    });
  return { id, deleted: true };
};

/** Throws ASSET_IN_USE for the logo of the team: mails that show it could not be accepted any more. */
const assertNoLogo = async (deps: TemplateNeeds, teamId: TeamId, id: AssetId): Promise<void> => {
  if ((await deps.team(teamStream(teamId))).state?.brand?.logo !== id) return;
  throw new DomainError(
    'ASSET_IN_USE',
    'The picture is the logo of the team. Choose another logo, or none, before you delete it.',
  );
};

/**
 * Takes a deleted asset back; a living one stays as it is. Rejects with ASSET_NOT_FOUND where the days for it are over.
 */
export const restoreAsset = async (deps: TemplateNeeds, caller: Caller, id: AssetId): Promise<AssetRecord> => {
  const cause = causeOf(deps, caller);
  const command = { type: 'RestoreAsset' as const, at: cause.at, deletedSince: restorableSince(deps) };
  const { state } = await handle(deps.eventLog, assetStream(id), assetDecider, command, cause, leftOf(caller.teamId));
  if (state?.description === undefined) throw assetNotFound();
  return assetListing(id, state, state.description);
};

/** Guards what may be done with a deleted asset: one that is unknown, gone or another team's is refused alike. */
const leftOf =
  (teamId: TeamId) =>
  ({ state, teamId: owner }: Readonly<{ state: AssetState; teamId: string | undefined }>): void => {
    if (state === undefined || owner !== teamId || state.isGone) throw assetNotFound();
  };

/** Removes an asset for good that was deleted so long ago that nobody can take it back. Safe to repeat. */
export const removeAsset = async (
  deps: EraseDeps & Pick<TemplateNeeds, 'clock' | 'limits'>,
  id: AssetId,
  cause: Cause,
): Promise<void> => {
  const stream = assetStream(id);
  const command = { type: 'RemoveAsset' as const, at: cause.at, deletedSince: removableBefore(deps) };
  const { state } = await handle(deps.eventLog, stream, assetDecider, command, cause);
  if (state?.isGone === true) await eraseStream(deps, stream);
};

/** Removes an asset for good, living or deleted, because its team is gone. */
export const removeAssetNow = async (deps: EraseDeps, id: AssetId, cause: Cause): Promise<void> => {
  await handle(deps.eventLog, assetStream(id), assetDecider, { type: 'DeleteAsset', at: cause.at }, cause);
  await eraseStream(deps, assetStream(id));
};
