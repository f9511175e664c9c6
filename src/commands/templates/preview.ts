/** Previews of an email template: small ones are rendered here, large ones in a document process. */
import { shownSize, type PictureSize } from '../../domain/rendering/pictures.js';
import type { ApartEmail } from '../../domain/ports/generator.js';
import type { InlineImage, EmailInput, RenderedEmail } from '../../domain/ports/renderer.js';
import {
  type AttachmentTemplateContent,
  DEFAULT_LOCALE,
  DEFAULT_TIME_ZONE,
  type EmailTemplateContent,
} from '../../domain/rendering/content.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { JsonObject, Json } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/constants.js';
import { compilePreparation } from '../../domain/rendering/fill/compile.js';
import {
  compileLosses,
  lossesWithin,
  lossWarning,
  pathsOfLosses,
  type Loss,
} from '../../domain/rendering/paths/losses.js';
import { partsOfDocument, partsOfEmail } from '../../domain/rendering/paths/walk.js';
import { causeOf, type Caller } from '../core/caller.js';
import { loadAsset } from './assets.js';
import { requireLanguage } from './language.js';
import type { TemplateNeeds } from './needs.js';
import { emailWithBlocks, pinBlocks } from './blocks.js';
import { compiledTemplate, contentOf, draftAt, emailTemplates, templateCacheKey } from './email-templates.js';
import { attachmentTemplates } from './attachment-templates.js';
import { isoTime } from '../../domain/core/time.js';
import { openReaderTokens, type ReaderTokens } from '../../domain/recipients/tracking.js';
import { assetWarnings, clippingWarnings } from './warnings.js';
import { withoutSvg } from './svg.js';
import { exampleUnsubscribeUrl } from '../recipients/unsubscribe.js';
import type { PreviewRequest, PreviewResponse } from '../../api/templates/templates.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import { emailInLanguage } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { mailWarnings } from '../../domain/rendering/check/email.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { companyOf } from '../../domain/teams/state.js';
import { findVersion } from '../../domain/templates/decider.js';
import { templateRules } from '../../domain/templates/email-template.js';

/**
 * Rejects with what the renderer rejects with, and where the preview is large with what the generator does when it is
 * busy or late.
 */
export const previewTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  reference: string,
  { variables, version, ...spoken }: PreviewRequest,
  signal: AbortSignal,
): Promise<PreviewResponse> => {
  const { id, template } = await emailTemplates.mustFind(deps, caller, reference);
  const {
    revision,
    shown: { blocks: named },
  } = findVersion(templateRules, template, version ?? 'draft');
  const draft = await draftAt(deps, id, revision);
  const language = requireLanguage(spoken);
  const blocks = await pinBlocks(deps, caller.teamId, named);
  const content = await emailWithBlocks(deps, emailInLanguage(contentOf(draft), language), blocks);
  const pinned = { id, revision, blocks };
  const rendered = renderedWhereItFits(
    deps,
    {
      job: { teamId: caller.teamId, content, cacheKey: templateCacheKey(pinned, language) },
      compiled: () => compiledTemplate(deps, pinned, language),
    },
    signal,
  );
  const unsubscribes = draft.unsubscribeList !== undefined;
  return previewOf(deps, caller, { content, variables: (variables ?? {}) as JsonObject, unsubscribes, rendered });
};

/** Renders a template with these values. */
type RenderPreview = (email: EmailInput) => Promise<RenderedEmail>;

/**
 * In: a checked template with its blocks in the language of the mail. `unsubscribes`: the mail has a link for it. `company`: default: that of the team, with its brand. Out:
 * its preview. Rejects with what `rendered` rejects with.
 */
export const previewOf = async (
  deps: TemplateNeeds,
  caller: Caller,
  {
    content,
    variables,
    unsubscribes,
    rendered,
    company: given,
  }: Readonly<{
    content: EmailTemplateContent;
    variables: JsonObject;
    unsubscribes: boolean;
    rendered: RenderPreview;
    company?: RenderEnvironment['company'];
  }>,
): Promise<PreviewResponse> => {
  const company = given ?? companyOf((await deps.team(teamStream(caller.teamId))).state);
  const email: EmailInput = {
    variables: previewVariables(content.variables, variables),
    environment: {
      at: causeOf(deps, caller).at,
      company,
      ...(unsubscribes && { unsubscribeUrl: exampleUnsubscribeUrl(deps.linkBase) }),
    },
  };
  const first = await rendered(email);
  const pictures = await picturesOf(first.inline, async (assetId) => {
    const asset = await loadAsset(deps, caller.teamId, assetId);
    return asset && (await withoutSvg(deps, caller.teamId, asset));
  });
  // The sizes of pictures are known only once they are loaded.
  const { subject, html, text, inline } =
    pictures.size === 0 ? first : await rendered({ ...email, pictures: sizesOfPictures(pictures) });
  const shown = withInlineImages(html, inline, {
    pictures,
    totalSizeBytesMax: deps.limits.attachmentsTotalSizeBytesMax,
  });
  const losses = lossesIn(content, deps.limits)(email.variables, email.environment);
  const sizeBytes = Buffer.byteLength(html);
  const warnings = [
    ...lossWarnings(losses),
    ...mailWarnings(content),
    ...deps.renderer.dropped(content),
    ...(await assetWarnings(deps, caller.teamId, content)),
    ...clippingWarnings(sizeBytes),
    ...attachedWarnings(inline),
  ];
  return { subject, html: shown, text, sizeBytes, emptyPaths: pathsOfLosses(losses), warnings };
};

const LINK_MS = 15 * 60_000;

/** Content of a link: `request` is the body of the preview. */
export type PreviewLink = Readonly<{
  teamId: TeamId;
  kind: 'email' | 'document';
  /** Id of the template. */
  id: string;
  request: JsonObject;
}>;

const openedTokens = new WeakMap<TemplateNeeds['keys'], ReaderTokens>();

const tokensOf = (keys: TemplateNeeds['keys']): ReaderTokens => {
  const tokens = openedTokens.get(keys) ?? openReaderTokens(keys, 'preview');
  openedTokens.set(keys, tokens);
  return tokens;
};

/**
 * A token that shows one preview of one template for 15 minutes, to everybody who has it. The preview is not stored:
 * its content is encrypted in the token.
 */
export const makePreviewLink = async (
  deps: TemplateNeeds,
  caller: Caller,
  { kind, reference, request }: Readonly<{ kind: PreviewLink['kind']; reference: string; request: JsonObject }>,
): Promise<Readonly<{ token: string; expiresAt: string }>> => {
  const { id } = await (kind === 'email' ? emailTemplates : attachmentTemplates).mustFind(deps, caller, reference);
  requireLanguage(request as CallLanguage);
  const expiresAt = deps.clock.now() + LINK_MS;
  const sealed = JSON.stringify([expiresAt, { teamId: caller.teamId, kind, id, request } satisfies PreviewLink]);
  return { token: tokensOf(deps.keys).seal(Buffer.from(sealed)), expiresAt: isoTime(expiresAt) };
};

/** undefined if the token is not one of ours, its time is over, or its team is deleted. */
export const openPreviewLink = async (deps: TemplateNeeds, token: string): Promise<PreviewLink | undefined> => {
  const sealed = tokensOf(deps.keys).open(token);
  if (sealed === undefined) return undefined;
  const [expiresAt, link] = JSON.parse(sealed.toString()) as readonly [number, PreviewLink];
  if (expiresAt <= deps.clock.now()) return undefined;
  const { state: team } = await deps.team(teamStream(link.teamId));
  return team === undefined || team.deletedAt !== undefined ? undefined : link;
};

type Compiled = Awaited<ReturnType<typeof compiledTemplate>>;

/** `job`: for a document process; `compiled`: the template for this one. */
type Previewed = Readonly<{ job: Omit<ApartEmail, 'email'>; compiled: () => Promise<Compiled> }>;

const renderedWhereItFits =
  (deps: TemplateNeeds, { job, compiled }: Previewed, signal: AbortSignal): RenderPreview =>
  async (email) => {
    const isSmall = isSizeWithin([job.content, email.variables] as unknown as Json, deps.limits.previewInlineCharsMax);
    const here = isSmall ? await renderedHere(deps, compiled, email) : undefined;
    return here ?? deps.generator.renderEmail({ ...job, email }, signal);
  };

/**
 * Renders a checked template that is not saved, and keeps nothing of it. With `marks` the HTML names each component.
 * Rejects as the preview of a saved one does.
 */
export const renderedUnsaved = (
  deps: TemplateNeeds,
  { teamId, content, marks }: Readonly<{ teamId: TeamId; content: EmailTemplateContent; marks: boolean }>,
  signal: AbortSignal,
): RenderPreview => {
  let made: Promise<Compiled> | undefined;
  const compiled = (): Promise<Compiled> => (made ??= deps.renderer.compileEmailInTurns(content, marks));
  return renderedWhereItFits(deps, { job: { teamId, content, cacheKey: undefined, marks }, compiled }, signal);
};

/**
 * Renders in this process, within its share of the budget of a call; undefined where that does not suffice. A document
 * process gives the same result, up to the whole budget.
 */
const renderedHere = async (
  { limits }: TemplateNeeds,
  compiled: Previewed['compiled'],
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

const inlineShareOf = ({
  workCharsMax,
  workElementsMax,
  workOperationsMax,
  workModulesMax,
  previewInlineShare,
}: Limits) => ({
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

export type LossesIn = (variables: JsonObject, environment: RenderEnvironment) => readonly Loss[];

/**
 * In: a checked template. Out: a function from the variables of a call to the content that a reader would not see,
 * computed within a share of the call's budget. Empty if the variables are refused, because no mail is made then.
 */
export const lossesIn = (content: EmailTemplateContent | AttachmentTemplateContent, limits: Limits): LossesIn => {
  const { variables: definitions, locale = DEFAULT_LOCALE, timeZone = DEFAULT_TIME_ZONE } = content;
  const parts = isDocument(content) ? partsOfDocument(content) : partsOfEmail(content);
  const prepare = compilePreparation(definitions, { locale, timeZone }, limits);
  const find = compileLosses(parts, { definitions, locale, limits });
  return (variables, environment) => {
    try {
      return lossesWithin(find, prepare(variables, environment, openBudget(limits)), { limits });
    } catch (fault) {
      if (fault instanceof DomainError) return [];
      throw fault;
    }
  };
};

/** Warnings about what is lost; what has no value is among the empty paths. */
export const lossWarnings = (losses: readonly Loss[]): readonly FieldError[] =>
  losses.filter(({ kind }) => kind !== 'missing').map(lossWarning);

const isDocument = (content: EmailTemplateContent | AttachmentTemplateContent): content is AttachmentTemplateContent =>
  !('subject' in content);

type Picture = Readonly<{ contentType: string; bytes: Uint8Array }>;

type Source = Readonly<{
  /** Pictures of the gallery. */ pictures: ReadonlyMap<string, Picture>;
  totalSizeBytesMax: number;
}>;

/** In: the pictures of a mail. Out: those that exist in the gallery, by their assets' ids. */
const picturesOf = async (
  inline: readonly InlineImage[],
  loadAsset: (assetId: string) => Promise<Picture | undefined>,
): Promise<ReadonlyMap<string, Picture>> => {
  const pictures = new Map<string, Picture>();
  for (const image of inline) {
    const picture = 'assetId' in image ? await loadAsset(image.assetId) : undefined;
    if ('assetId' in image && picture !== undefined) pictures.set(image.assetId, picture);
  }
  return pictures;
};

/** In: pictures by their ids. Out: how large each is shown by itself. */
const sizesOfPictures = (pictures: ReadonlyMap<string, Picture>): ReadonlyMap<string, PictureSize> =>
  new Map(
    [...pictures].flatMap(([assetId, { bytes, contentType }]) => {
      const size = shownSize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType);
      return size === undefined ? [] : [[assetId, size] as const];
    }),
  );

/** A warning for each picture that the call has to attach. */
const attachedWarnings = (inline: readonly InlineImage[]): readonly FieldError[] =>
  inline.flatMap((image) =>
    'isAttached' in image
      ? [
          {
            field: 'schema',
            message: `shows cid:${image.contentId}, for which a preview has a frame: each send call has to attach a file with the contentId "${image.contentId}"`,
          },
        ]
      : [],
  );

/** Stands in for a picture that the call attaches: a frame with its name. */
const frameOf = (contentId: string): string => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80" viewBox="0 0 240 80">' +
    '<rect x="1" y="1" width="238" height="78" fill="#f3f4f6" stroke="#9ca3af" stroke-dasharray="6 4"/>' +
    `<text x="120" y="45" text-anchor="middle" font-family="sans-serif" font-size="14" fill="#4b5563">cid:${contentId}</text></svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
};

/**
 * Shows pictures that travel inside a mail where there is no mail. In: the HTML and its pictures. Out: the HTML with a
 * data URI for each picture that exists, as far as they are not too large together, and a frame for each that the call
 * attaches.
 */
const withInlineImages = (
  html: string,
  inline: readonly InlineImage[],
  { pictures, totalSizeBytesMax }: Source,
): string => {
  if (inline.length === 0) return html;
  const uris = new Map<string, string>();
  let sizeBytes = 0;
  for (const image of inline) {
    if ('isAttached' in image) uris.set(image.contentId, frameOf(image.contentId));
    const picture = 'bytes' in image ? image : 'assetId' in image ? pictures.get(image.assetId) : undefined;
    if (picture === undefined || sizeBytes + picture.bytes.length > totalSizeBytesMax) continue;
    sizeBytes += picture.bytes.length;
    uris.set(image.contentId, `data:${picture.contentType};base64,${Buffer.from(picture.bytes).toString('base64')}`);
  }
  // Only addresses are replaced: a text of the mail may say cid: too.
  return html.replace(
    /(src="|background="|url\((?:'|&#39;)?)cid:([A-Za-z0-9._-]{1,100}(?:@sealpost)?)/g,
    (address, before: string, contentId: string) => {
      const uri = uris.get(contentId);
      return uri === undefined ? address : before + uri;
    },
  );
};
