/** Makes the mail of an email from what was pinned at acceptance: the same for all its recipients, or a copy for each. */
import { loadAttachments, type ReadyAttachment } from '../../commands/documents/attachments.js';
import { domainOfAddress } from '../../commands/domains/commands-sender-domains.js';
import { compiledTemplate } from '../../commands/templates/templates.js';
import { shownSize } from '../../domain/rendering/drawn-picture.js';
import type { PictureSize } from '../../domain/rendering/pictures.js';
import type { Email } from '../../domain/email/state.js';
import { DomainError, FileDamaged, KeyMissing } from '../../domain/core/errors.js';
import { assertDefined, parseTemplateId, type StreamName } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import { composeMessage, type MessageAttachment } from '../../domain/mime/compose.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { SigningKey } from '../../domain/ports/mailer.js';
import { assetOfContentId, type CompiledEmail, type InlineImage } from '../../domain/ports/renderer.js';
import type { Company } from '../../domain/rendering/scope/environment.js';
import type { CommandDeps } from '../../commands/core/deps.js';
import { copyPartsOf, type CopyDeps, type CopyParts } from './copies.js';
import type { DomainKeys } from '../domains/domain-keys.js';

export type MessageDeps = Pick<CommandDeps, 'eventLog' | 'files' | 'renderer'> &
  CopyDeps &
  Readonly<{
    clock: Pick<Clock, 'monotonic'>;
    domainKeys: DomainKeys;
    /** Told how long the composing of a message took. */
    composed?: (seconds: number) => void;
  }>;

export type Message = Readonly<{ from: string; raw: Buffer; signWith: readonly SigningKey[] | undefined }>;
export type Damaged = Readonly<{ damaged: FileDamaged }>;
export type Impossible = Readonly<{ reason: 'rendering' | 'content-lost'; text: string }>;

/** What the copies of one attempt share. */
export type Prepared = Readonly<{
  /** `recipient`: of a copy, by its place in the email; undefined: the mail for all. */
  message: (recipient: number | undefined) => Message | Impossible;
}>;

type Addressed = Readonly<{ stream: StreamName; teamId: string }>;

/** Loads what the mail needs; the keys are those that its sender has now. */
export const prepareMessage = async (
  deps: MessageDeps,
  { stream, teamId }: Addressed,
  email: Email,
): Promise<Prepared | Impossible | Damaged> => {
  const { accepted, content } = email;
  if (content === undefined) throw new KeyMissing(stream);
  let attachments: readonly ReadyAttachment[] = [];
  if (content.attachments.length > 0) {
    const key = await deps.eventLog.existingKey(stream);
    if (key === undefined) throw new KeyMissing(stream);
    const loaded = await undamaged(loadAttachments(deps.files, key, content.attachments));
    if (loaded instanceof FileDamaged) return { damaged: loaded };
    if (loaded === undefined) return { reason: 'content-lost', text: 'an attachment of this email is gone' };
    attachments = loaded;
  }
  const signWith = await deps.domainKeys(teamId, domainOfAddress(content.from.email));
  const templateId = assertDefined(parseTemplateId(accepted.templateId), 'template id');
  let render: CompiledEmail;
  try {
    render = await compiledTemplate(deps, templateId, accepted.templateRevision, content);
  } catch (fault) {
    return impossible(fault);
  }
  return {
    message: (recipient) => {
      try {
        const parts = recipient === undefined ? undefined : copyPartsOf(deps, { stream, teamId }, email, recipient);
        return { from: content.from.email, raw: composed(deps, { email, content, render, attachments, parts }), signWith };
      } catch (fault) {
        return impossible(fault);
      }
    },
  };
};

type Composing = Readonly<{
  email: Email;
  content: NonNullable<Email['content']>;
  render: CompiledEmail;
  attachments: readonly ReadyAttachment[];
  parts: CopyParts | undefined;
}>;

const composed = (deps: MessageDeps, { email, content, render, attachments, parts }: Composing): Buffer => {
  const { accepted } = email;
  const date = email.scheduledAt ?? accepted.at;
  // With the call's own subject, as at acceptance: it stands in the HTML's title, and the template's own need not fit.
  const { html, text, inline } = render({
    variables: content.variables as JsonObject,
    ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
    environment: { at: date, company: accepted.company as Company, ...parts?.environment },
    ...(attachments.length === 0 ? {} : { pictures: sizesOf(attachments) }),
    ...parts?.rendering,
  });
  const addresses = (role: 'to' | 'cc') =>
    content.recipients.flatMap((recipient, index) =>
      recipient !== null && accepted.roles[index] === role ? [{ address: recipient.email, name: recipient.name }] : [],
    );
  const beganMs = deps.composed === undefined ? 0 : deps.clock.monotonic();
  const headers = Object.entries(content.headers).map(([name, value]) => ({ name, value }));
  const raw = composeMessage({
    from: { address: content.from.email, name: content.from.name },
    to: addresses('to'),
    cc: addresses('cc'),
    replyTo: content.replyTo === undefined ? undefined : { address: content.replyTo },
    subject: content.subject,
    date,
    messageId: accepted.messageId,
    headers: parts === undefined ? headers : [...headers, ...parts.headers],
    html: parts === undefined ? html : parts.html(html),
    text,
    attachments: [
      ...attachments.map(({ filename, contentType, contentId, bytes }) => ({ filename, contentType, contentId, content: bytes })),
      ...inline.flatMap(drawn),
    ],
    priority: accepted.priority,
  });
  deps.composed?.((deps.clock.monotonic() - beganMs) / 1_000);
  return raw;
};

/** Of the pictures of the gallery that travel in the mail. */
const sizesOf = (attachments: readonly ReadyAttachment[]): ReadonlyMap<string, PictureSize> => {
  const sizes = new Map<string, PictureSize>();
  for (const { contentId, contentType, bytes } of attachments) {
    const assetId = contentId === undefined ? undefined : assetOfContentId(contentId);
    const size = assetId === undefined ? undefined : shownSize(bytes, contentType);
    if (assetId !== undefined && size !== undefined) sizes.set(assetId, size);
  }
  return sizes;
};

const impossible = (fault: unknown): Impossible => {
  if (fault instanceof DomainError) return { reason: 'rendering', text: `${fault.code}: ${fault.message}` };
  throw fault;
};

const undamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | FileDamaged> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return fault;
    throw fault;
  });

/** What the rendering itself has drawn; pictures of the gallery were put among the attachments when the email was accepted. */
const drawn = (image: InlineImage): readonly MessageAttachment[] =>
  'bytes' in image
    ? [{ filename: 'qr-code.png', contentType: image.contentType, contentId: image.contentId, content: Buffer.from(image.bytes) }]
    : [];
