/** A preview of an email template: small ones are rendered here, what is large is rendered in a document process. */
import type { Caller } from '../core/caller.js';
import { loadAsset } from './assets.js';
import { requireLanguage } from './language.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { emptyPathsIn } from './empty-paths.js';
import { assetWarnings } from './missing-assets.js';
import { picturesOf, sizesOfPictures, withInlineImages } from './inline-images.js';
import { withoutSvg } from './drawings.js';
import { exampleUnsubscribeUrl } from '../recipients/links.js';
import { warningsPart } from './answers.js';
import { compiledTemplate, contentOf, draftAt, mustFindTemplate, templateCacheKey } from './templates.js';
import type { PreviewRequest, PreviewResponse } from '../../api/templates/templates.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { DomainError } from '../../domain/core/errors.js';
import { teamStream, type TeamId, type TemplateId } from '../../domain/core/ids.js';
import type { Json, JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import type { EmailInput, RenderedEmail } from '../../domain/ports/renderer.js';
import { emailInLanguage } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { mailWarnings } from '../../domain/rendering/check/email.js';
import { clippingWarnings } from './clipped-size.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import type { EmailTemplateContent } from '../../domain/rendering/content.js';
import { emptyCompany } from '../../domain/teams/state.js';
import { resolveVersion } from '../../domain/templates/email-template.js';

/** Rejects with what the renderer rejects with, and where the preview is large with what the generator does when it is busy or late. */
export const previewTemplate = async (
  deps: CommandDeps,
  caller: Caller,
  reference: string,
  { variables, version, ...spoken }: PreviewRequest,
  signal: AbortSignal,
): Promise<PreviewResponse> => {
  const { id, template } = await mustFindTemplate(deps, caller, reference);
  const { revision } = resolveVersion(template, version ?? 'draft');
  const draft = await draftAt(deps, id, revision);
  const language = requireLanguage(spoken);
  const content = emailInLanguage(contentOf(draft), language);
  const company = (await deps.team(teamStream(caller.teamId))).state?.settings.company ?? emptyCompany;
  const email: EmailInput = {
    variables: previewVariables(content.variables, (variables ?? {}) as JsonObject),
    environment: {
      at: causeOf(deps, caller).at,
      company,
      ...(draft.unsubscribeList === undefined ? {} : { unsubscribeUrl: exampleUnsubscribeUrl(deps.linkBase) }),
    },
  };
  const rendered = (input: EmailInput): Promise<RenderedEmail> =>
    renderedWhereItFits(deps, { teamId: caller.teamId, id, revision, language, content }, input, signal);
  const first = await rendered(email);
  const pictures = await picturesOf(first.inline, async (assetId) => {
    const asset = await loadAsset(deps, caller.teamId, assetId);
    return asset && (await withoutSvg(deps, caller.teamId, asset));
  });
  // Only with the pictures at hand is known how large they are.
  const { subject, html, text, inline } = pictures.size === 0 ? first : await rendered({ ...email, pictures: sizesOfPictures(pictures) });
  const shown = withInlineImages(html, inline, { pictures, totalSizeBytesMax: deps.limits.attachmentsTotalSizeBytesMax });
  const emptyPaths = [...emptyPathsIn(content, deps.limits)(email.variables, email.environment)];
  const sizeBytes = Buffer.byteLength(html);
  const warnings = [...mailWarnings(content), ...(await assetWarnings(deps, caller.teamId, content)), ...clippingWarnings(sizeBytes)];
  return { subject, html: shown, text, sizeBytes, emptyPaths, ...warningsPart(warnings) };
};

type Previewed = Readonly<{
  teamId: TeamId;
  id: TemplateId;
  revision: number;
  language: CallLanguage | undefined;
  content: EmailTemplateContent;
}>;

const renderedWhereItFits = async (
  deps: CommandDeps,
  { teamId, id, revision, language, content }: Previewed,
  email: EmailInput,
  signal: AbortSignal,
): Promise<RenderedEmail> => {
  const isSmall = isSizeWithin([content, email.variables] as unknown as Json, deps.limits.previewInlineCharsMax);
  const here = isSmall ? await renderedHere(deps, () => compiledTemplate(deps, id, revision, language), email) : undefined;
  return here ?? deps.generator.renderEmail({ teamId, content, cacheKey: templateCacheKey(id, revision, language), email }, signal);
};

/** Undefined where the rendering takes more than its share of the budget of a call; it is the same in a document process, up to the whole budget. */
const renderedHere = async (
  { limits }: CommandDeps,
  compiled: () => ReturnType<typeof compiledTemplate>,
  email: EmailInput,
): Promise<RenderedEmail | undefined> => {
  const render = await compiled();
  try {
    return render({ ...email, budget: openBudget(inlineShareOf(limits)) });
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'WORK_LIMIT_EXCEEDED') return undefined;
    throw fault;
  }
};

const inlineShareOf = ({ workCharsMax, workElementsMax, workOperationsMax, workModulesMax, previewInlineShare }: Limits) => ({
  workCharsMax: workCharsMax / previewInlineShare,
  workElementsMax: workElementsMax / previewInlineShare,
  workOperationsMax: workOperationsMax / previewInlineShare,
  workModulesMax: workModulesMax / previewInlineShare,
});

/** The characters of texts and names, and one for each value. Looks no further than the bound. */
const isSizeWithin = (value: Json, charsMax: number): boolean => {
  const open: Json[] = [value];
  let left = charsMax;
  for (let next = open.pop(); next !== undefined && left >= 0; next = open.pop()) {
    left -= 1;
    if (typeof next === 'string') left -= next.length;
    else if (typeof next === 'object' && next !== null) {
      for (const name in next) {
        const member = (next as Readonly<Record<string, Json | undefined>>)[name];
        left -= Array.isArray(next) ? 0 : name.length;
        if (left < 0) return false;
        if (member !== undefined) open.push(member);
      }
    }
  }
  return left >= 0;
};
