/** Warns of what a template names of the gallery and would not find there. */
import { findAssetType } from './assets.js';
import type { CommandDeps } from '../core/deps.js';
import { isFont } from '../../domain/templates/asset-kind.js';
import type { FieldError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import { assetReferencesOf, type AssetReference } from '../../domain/rendering/check/asset-references.js';
import type { Texts } from '../../domain/rendering/check/schema-texts.js';

/** So many are looked up; a template that names more is told of the first ones. */
const ASSETS_MAX = 100;
const AT_ONCE = 10;
/** Enough to work with. */
const WARNINGS_MAX = 20;

/** In: a checked template. Out: a warning for each asset that it names and that is not in the gallery of its team, or is of another kind than it is used as. */
export const assetWarnings = async (
  deps: Pick<CommandDeps, 'eventLog'>,
  teamId: TeamId,
  template: Texts,
): Promise<readonly FieldError[]> => {
  const references = assetReferencesOf(template).slice(0, ASSETS_MAX);
  const warnings: FieldError[] = [];
  for (let from = 0; from < references.length && warnings.length < WARNINGS_MAX; from += AT_ONCE) {
    const some = references.slice(from, from + AT_ONCE);
    const types = await Promise.all(some.map(({ assetId }) => findAssetType(deps, teamId, assetId)));
    for (const [at, reference] of some.entries()) {
      const message = messageFor(reference, types[at]);
      if (message !== undefined) warnings.push({ field: reference.field, message });
    }
  }
  return warnings.slice(0, WARNINGS_MAX);
};

const messageFor = ({ assetId, use }: AssetReference, contentType: string | undefined): string | undefined => {
  if (contentType === undefined)
    return `names the asset ${assetId}, which is not in the gallery: what shows it cannot be sent until it names another. GET /api/assets lists yours`;
  const isUsable = use === 'font' ? isFont(contentType) : contentType.startsWith('image/');
  return isUsable ? undefined : `names the asset ${assetId} as a ${use}, and it is none (${contentType})`;
};
