/**
 * Warnings about an email or attachment template that the service, not the template alone, can give: assets that are
 * not in the gallery, and mails so large that Gmail cuts them off.
 */
import { findAssetType } from './assets.js';
import type { TemplateNeeds } from './needs.js';
import { isFont } from '../../domain/templates/asset.js';
import { type FieldError, DomainError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import { assetReferencesOf, type AssetReference, type Texts } from '../../domain/rendering/check/hints.js';
import { openBudget, type Budget } from '../../domain/rendering/budget.js';
import type { CompiledEmail, EmailInput } from '../../domain/ports/renderer.js';

/** Most assets that are looked up; a template that names more is warned of the first ones. */
const ASSETS_MAX = 100;

const AT_ONCE = 10;

/** Enough to work with. */
const WARNINGS_MAX = 20;

/**
 * In: a checked template. Out: a warning for each asset that it names and that is not in the gallery of its team, or is
 * of another kind than it is used as.
 */
export const assetWarnings = async (
  deps: Pick<TemplateNeeds, 'eventLog'>,
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

/** Gmail cuts off what stands beyond, and shows a link to it. */
const CLIPPED_FROM_BYTES = 102 * 1024;

/** Values are longer than samples, and links grow when they are tracked. */
const WARNED_FROM_BYTES = 92 * 1024;

const written = new Intl.NumberFormat('en-US');

/** In: the size of the HTML. Out: a warning where Gmail would cut the mail off. */
export const clippingWarnings = (htmlBytes: number): readonly FieldError[] =>
  htmlBytes < WARNED_FROM_BYTES
    ? []
    : [
        {
          field: 'schema',
          message: `makes a mail whose HTML has ${written.format(htmlBytes)} bytes; Gmail shows the first ${written.format(CLIPPED_FROM_BYTES)} of it, and a link to the rest`,
        },
      ];

/** Budget for measuring mails: a share of the budget of a call. */
export const measuringBudget = ({ limits }: Pick<TemplateNeeds, 'limits'>): Budget => {
  const { workCharsMax, workElementsMax, workOperationsMax, workModulesMax, previewInlineShare } = limits;
  return openBudget({
    workCharsMax: workCharsMax / previewInlineShare,
    workElementsMax: workElementsMax / previewInlineShare,
    workOperationsMax: workOperationsMax / previewInlineShare,
    workModulesMax: workModulesMax / previewInlineShare,
  });
};

/**
 * In: a compiled template and what it is filled with. Out: the warnings about the size of that mail; none where it
 * cannot be rendered within the budget.
 */
export const sizeWarnings = (compiled: CompiledEmail, email: EmailInput, budget: Budget): readonly FieldError[] => {
  try {
    return clippingWarnings(Buffer.byteLength(compiled({ ...email, budget }).html));
  } catch (fault) {
    // A mail that cannot be rendered with these values is refused when it is sent.
    if (fault instanceof DomainError) return [];
    throw fault;
  }
};
