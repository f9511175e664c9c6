/**
 * Makes the message of an email from what was pinned at acceptance: one for all recipients, or a copy for each. The
 * delivery composes it to send it; readers of the log get it again.
 */
import type { DocumentNeeds } from '../documents/needs.js';
import type { RecipientNeeds } from '../recipients/needs.js';
import { loadAttachments, type ReadyAttachment } from '../documents/attachments.js';
import { linkBaseOf, unsubscribeUrl } from '../recipients/unsubscribe.js';
import { compiledSource, sourceOf } from './source.js';
import { KeyMissing } from '../../domain/core/errors.js';
import { assertDefined, type EmailId, type StreamName, type TeamId } from '../../domain/core/ids.js';
import type { StoredMessage } from '../../domain/core/stored-schemas.js';
import type { JsonObject } from '../../domain/core/json.js';
import { CLOCKS_APART_MS, isoTime, outwardNow } from '../../domain/core/time.js';
import { addressedIn, type Email } from '../../domain/email/state.js';
import type { EmailContent } from '../../domain/email/events.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { MessageAttachment, MessageToCompose } from '../../domain/mime/compose.js';
import { customField } from '../../domain/mime/header.js';
import { withTexts } from '../../domain/mime/read.js';
import { filledHead } from '../../domain/mime/submitted.js';
import type { Clock } from '../../domain/ports/clock.js';
import {
  assetOfContentId,
  type CompiledEmail,
  type EmailInput,
  type InlineImage,
} from '../../domain/ports/renderer.js';
import { type PictureSize, shownSize } from '../../domain/rendering/pictures.js';
import { escapeHtml } from '../../domain/rendering/fill/compile.js';
import { UNSUBSCRIBE_CONSTANT, type Company, type RenderEnvironment } from '../../domain/rendering/scope/constants.js';

type RenderDeps = Pick<DocumentNeeds, 'eventLog' | 'renderer' | 'limits'>;

/** The parts of a copy that differ by recipient: unsubscribe links, pixel and tracked links. */
export type CopyParts = Readonly<{
  /** Added after the headers of the call. */
  headers: readonly Readonly<{ name: string; value: string }>[];
  /** Added to the render environment. */
  environment: Pick<RenderEnvironment, 'unsubscribeUrl'>;
  /** Added to the input of rendering. */
  rendering: Pick<EmailInput, 'marksUntracked'>;
  /** Turns the rendered HTML into that of the copy. */
  html: (rendered: string) => string;
}>;

/** Parts of the message of an email. `attachments`: those of the call, and pictures of the template. */
export type RenderedSource = Readonly<{
  email: Email;
  content: EmailContent;
  render: CompiledEmail;
  attachments: readonly ReadyAttachment[];
}>;

/** The compiled mail of an accepted email. Rejects where its template cannot be compiled. */
export const compiledMail = (deps: RenderDeps, { accepted }: Email, content: EmailContent): Promise<CompiledEmail> =>
  compiledSource(deps, sourceOf(accepted, content), content);

/**
 * The stored attachments of an email, opened with its key; undefined where one is gone. Rejects with KeyMissing and
 * FileDamaged.
 */
export const storedAttachments = async (
  { eventLog, files }: Pick<DocumentNeeds, 'eventLog' | 'files'>,
  stream: StreamName,
  { attachments }: Pick<EmailContent, 'attachments'>,
): Promise<readonly ReadyAttachment[] | undefined> => {
  if (attachments.length === 0) return [];
  const key = await eventLog.existingKey(stream);
  if (key === undefined) throw new KeyMissing(stream);
  return loadAttachments(files, key, attachments);
};

/** The message, ready to be composed. `parts`: of one recipient's copy; undefined: the mail for all. */
export const messageOf = (
  clock: Pick<Clock, 'now' | 'machineNow'>,
  { email, content, render, attachments }: RenderedSource,
  parts: CopyParts | undefined,
): MessageToCompose => {
  const { accepted } = email;
  const leapMs = outwardNow(clock) - clock.now();
  const date =
    email.scheduledAt ?? (Math.abs(leapMs) < CLOCKS_APART_MS ? accepted.at : isoTime(Date.parse(accepted.at) + leapMs));
  // Rendered with the call's subject, as at acceptance: the HTML title has it, and the template's own subject may lack
  // variables.
  const { html, text, inline } = render({
    variables: content.variables as JsonObject,
    ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
    environment: { at: date, company: accepted.company as Company, ...parts?.environment },
    ...(attachments.length === 0 ? {} : { pictures: sizesOf(attachments) }),
    ...parts?.rendering,
  });
  const addresses = (role: 'to' | 'cc') =>
    addressedIn(email, role).map(({ email: address, name }) => ({ address, name }));
  const headers = Object.entries(content.headers).map(([name, value]) => ({ name, value }));
  return {
    from: { address: content.from.email, name: content.from.name },
    to: addresses('to'),
    cc: addresses('cc'),
    replyTo: replyToOf(content).map(({ email: address, name }) => ({ address, name })),
    subject: content.subject,
    date,
    messageId: accepted.messageId,
    headers: parts === undefined ? headers : [...headers, ...parts.headers],
    html: parts === undefined ? html : parts.html(html),
    text,
    attachments: [
      ...attachments.map(({ filename, contentType, contentId, bytes }) => ({
        filename,
        contentType,
        contentId,
        content: bytes,
      })),
      ...inline.flatMap(drawn),
    ],
    priority: accepted.priority,
  };
};

const replyToOf = ({ replyTo = [] }: EmailContent): readonly Recipient[] =>
  typeof replyTo === 'string' ? [{ email: replyTo }] : replyTo;

/** The sizes of pictures that are attached to the mail. */
const sizesOf = (attachments: readonly ReadyAttachment[]): ReadonlyMap<string, PictureSize> => {
  const sizes = new Map<string, PictureSize>();
  for (const { contentId, contentType, bytes } of attachments) {
    const size = contentId === undefined ? undefined : shownSize(bytes, contentType);
    if (contentId !== undefined && size !== undefined)
      sizes.set(assetOfContentId(contentId) ?? `cid:${contentId}`, size);
  }
  return sizes;
};

/**
 * Images that the rendering drew or decoded. Those of the gallery and of the call are among the attachments since
 * acceptance.
 */
const drawn = (image: InlineImage): readonly MessageAttachment[] => {
  if (!('bytes' in image)) return [];
  const { contentType, contentId, bytes } = image;
  const name = contentId.startsWith('picture-') ? 'picture' : 'qr-code';
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [{ filename: `${name}.${contentType.slice('image/'.length)}`, contentType, contentId, content }];
};

/** A message that came by SMTP, with the addresses of the recipients whose data is not destroyed. */
export const filledMessage = (
  content: EmailContent,
  { head, body }: StoredMessage,
  [file]: readonly ReadyAttachment[],
): Buffer => {
  const written = content.recipients.map((recipient) => (recipient === null ? undefined : (recipient.written ?? [])));
  const bytes = body === undefined ? assertDefined(file, 'body of a message').bytes : Buffer.from(body, 'latin1');
  return Buffer.concat([Buffer.from(`${filledHead(head, written)}\r\n`, 'latin1'), bytes]);
};

/** A message that came by SMTP, with the fields, links and pixel of one recipient. A text larger than HTML may be stays as it is. */
export const copyOfMessage = (
  { limits }: Pick<DocumentNeeds, 'limits'>,
  whole: Buffer,
  { headers, environment: { unsubscribeUrl }, html }: CopyParts,
): Buffer => {
  const changed = withTexts(whole, (text, type) => {
    if (text.length > limits.htmlSizeBytesMax) return undefined;
    const own = unsubscribeUrl === undefined ? text : withUnsubscribeUrl(text, unsubscribeUrl, type);
    return type === 'text/html' ? html(own) : own;
  });
  if (headers.length === 0) return changed;
  return Buffer.concat([
    Buffer.from(headers.map(({ name, value }) => customField(name, value)).join(''), 'latin1'),
    changed,
  ]);
};

const UNSUBSCRIBE_PLACEHOLDER = new RegExp(`\\{\\{\\s*${UNSUBSCRIBE_CONSTANT}\\s*\\}\\}`, 'g');

const withUnsubscribeUrl = (text: string, url: string, type: 'text/html' | 'text/plain'): string =>
  text.replace(UNSUBSCRIBE_PLACEHOLDER, () => (type === 'text/html' ? escapeHtml(url) : url));

/** The recipient of a copy, by the place in the email, whose content must be present. */
export type CopyOf = Readonly<{ teamId: TeamId; emailId: EmailId; recipient: number }>;

/** The unsubscribe link of a recipient, in the headers and for the HTML; empty for an email without a list. */
export const unsubscribing = (
  deps: Pick<RecipientNeeds, 'keys' | 'linkBase'>,
  { accepted: { unsubscribeList: list, linksUrl }, content }: Email,
  { teamId, emailId, recipient }: CopyOf,
): Pick<CopyParts, 'headers' | 'environment'> => {
  if (list === undefined) return { headers: [], environment: {} };
  const address = content!.recipients[recipient]!.email;
  const url = unsubscribeUrl(deps, linksUrl ?? linkBaseOf(deps), { teamId, emailId, recipient, address, list });
  const headers = [
    { name: 'List-Unsubscribe', value: `<${url}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ];
  return { headers, environment: { unsubscribeUrl: url } };
};
