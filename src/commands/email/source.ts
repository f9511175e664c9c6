/** The source of a mail: a revision of a template, content that came with the call, or a message that came by SMTP. */
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import { assertDefined, parseTemplateId, type TemplateId } from '../../domain/core/ids.js';
import type { CompiledEmail, InlineContent } from '../../domain/ports/renderer.js';
import type { Tracking } from '../../domain/recipients/tracking.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import {
  INLINE,
  SUBMITTED,
  type StoredBlock,
  type StoredInline,
  type StoredMessage,
} from '../../domain/core/stored-schemas.js';
import type { Recipient } from '../../domain/mime/address.js';
import { findVersion } from '../../domain/templates/decider.js';
import { templateRules } from '../../domain/templates/email-template.js';
import { holdsControls } from '../../shared/text.js';
import type { SendEmailRequest } from '../../api/email.js';
import type { Caller } from '../core/caller.js';
import { pinBlocks, type PinnedBlocks } from '../templates/blocks.js';
import { compiledTemplate, emailTemplates } from '../templates/email-templates.js';
import type { TemplateNeeds } from '../templates/needs.js';

/** `version`: null for a draft. */
export type TemplateSource = Readonly<{
  kind: 'template';
  id: TemplateId;
  name: string;
  revision: number;
  version: number | null;
  blocks?: PinnedBlocks;
}>;
type InlineSource = Readonly<{ kind: 'inline'; content: InlineContent }>;
/** A source that is rendered. */
export type MailSource = TemplateSource | InlineSource;
/** `body`: that of a message whose stored form has none, because it is large. */
export type MessageSource = Readonly<{ kind: 'message'; message: StoredMessage; subject: string; body?: Buffer }>;
export type AnySource = MailSource | MessageSource;

/** `unsubscribeList`: the list that its recipients can unsubscribe from. */
export type PinnedSource<Source extends AnySource = MailSource> = Readonly<{
  source: Source;
  unsubscribeList: string | undefined;
}>;

type SourceRequest = Pick<SendEmailRequest, 'templateId' | 'version' | 'content' | 'subject'>;

/** Finds what is wrong with the template and the content of a call together, which a schema cannot say. */
export const sourceFaults = ({ templateId, version, content, subject }: SourceRequest): readonly FieldError[] => {
  if (content === undefined)
    return templateId === undefined
      ? [{ field: 'templateId', message: 'is required, unless `content` holds a subject and HTML' }]
      : [];
  const faults: FieldError[] = [];
  if (templateId !== undefined)
    faults.push({ field: 'content', message: 'stands beside `templateId`; give one of them' });
  if (version !== undefined) faults.push({ field: 'version', message: 'is of a template; `content` has none' });
  if (subject !== undefined)
    faults.push({ field: 'subject', message: 'stands beside `content.subject`; give one of them' });
  if (holdsControls(content.subject))
    faults.push({ field: 'content.subject', message: 'must not hold control characters or line breaks' });
  return faults;
};

/** The source with what the call may say in place of its template. */
export type Settled = PinnedSource & Readonly<{ from: Recipient | null; tracking: Tracking | undefined }>;

/**
 * The source that a checked call names, with the sender and the tracking of its template. Rejects with ERR_TMPL_002 and
 * the codes of versions. `isFilled`: the call has variables.
 */
export const settleSource = async (
  deps: TemplateNeeds,
  caller: Pick<Caller, 'teamId'>,
  { content, templateId, version }: Omit<SourceRequest, 'subject'>,
  isFilled: boolean,
): Promise<Settled> => {
  if (content === undefined) return templateOf(deps, caller, { templateId: templateId ?? '', version });
  const { html, text, unsubscribeList } = content;
  const inline: InlineContent = { html, ...(text !== undefined && { text }), ...(isFilled && { isFilled }) };
  return { source: { kind: 'inline', content: inline }, unsubscribeList, from: null, tracking: undefined };
};

type Named = Readonly<{ templateId: string; version: SendEmailRequest['version'] }>;

const templateOf = async (
  deps: TemplateNeeds,
  { teamId }: Pick<Caller, 'teamId'>,
  { templateId, version: wanted = 'published' }: Named,
): Promise<Settled & Readonly<{ source: TemplateSource }>> => {
  const known = await emailTemplates.find(deps, teamId, templateId);
  if (known === undefined) {
    throw new DomainError(
      'ERR_TMPL_002',
      `There is no email template ${JSON.stringify(templateId)}. GET /api/templates lists yours.`,
      { relatedInfo: { templateId } },
    );
  }
  const { revision, version, shown } = findVersion(templateRules, known.template, wanted);
  const { name, from, unsubscribeList, tracking } = shown;
  const blocks = shown.blocks && (await pinBlocks(deps, teamId, shown.blocks));
  const source = { kind: 'template' as const, id: known.id, name, revision, version, ...(blocks && { blocks }) };
  return { source, from, unsubscribeList, tracking };
};

/** The part of the source that the event of an email or a bulk send has in the open. */
type StoredSource = Readonly<{
  templateId: string;
  templateName: string;
  templateRevision: number;
  templateVersion: number | null;
  blocks?: StoredBlock[];
}>;

export const storedSource = (source: AnySource): StoredSource => {
  switch (source.kind) {
    case 'template':
      return {
        templateId: source.id,
        templateName: source.name,
        templateRevision: source.revision,
        templateVersion: source.version,
        ...(source.blocks && { blocks: [...source.blocks] }),
      };
    case 'inline':
      return withoutTemplate(INLINE);
    case 'message':
      return withoutTemplate(SUBMITTED);
  }
};

const withoutTemplate = (name: string): StoredSource => ({
  templateId: name,
  templateName: name,
  templateRevision: 0,
  templateVersion: null,
});

/** The source of an accepted mail or bulk send that is rendered, from both parts of its event. */
export const sourceOf = (stored: StoredSource, { inline }: Readonly<{ inline?: StoredInline }>): MailSource =>
  inline === undefined
    ? {
        kind: 'template',
        id: assertDefined(parseTemplateId(stored.templateId), 'template id'),
        name: stored.templateName,
        revision: stored.templateRevision,
        version: stored.templateVersion,
        ...(stored.blocks && { blocks: stored.blocks }),
      }
    : { kind: 'inline', content: inline };

/** The compiled mail of a source, in the language of a call. Rejects where a template cannot be compiled. */
export const compiledSource = async (
  deps: Pick<TemplateNeeds, 'eventLog' | 'renderer' | 'limits'>,
  source: MailSource,
  language: CallLanguage | undefined,
): Promise<CompiledEmail> => {
  switch (source.kind) {
    case 'template':
      return compiledTemplate(deps, source, language);
    case 'inline':
      return deps.renderer.inline(source.content, language);
  }
};
