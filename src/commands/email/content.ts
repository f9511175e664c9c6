/**
 * The mail of an accepted email, read again: its subject, HTML and text, its source, its attachments. It is made again
 * from what was pinned at acceptance, without tracking: opening it records nothing, and its links lead where their
 * author sent them.
 */
import type { SentContent } from '../../api/email-content.js';
import type { ProposedEmail } from './acceptance.js';
import type { EmailNeeds } from './needs.js';
import { type Caller, ownedBy } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import { loadAttachment, type ReadyAttachment } from '../documents/attachments.js';
import {
  compiledMail,
  copyOfMessage,
  type CopyOf,
  type CopyParts,
  filledMessage,
  messageOf,
  storedAttachments,
  unsubscribing,
} from './message.js';
import { DomainError, FileDamaged, invalid, wholeText } from '../../domain/core/errors.js';
import { assertDefined, emailStream, type EmailId, type StreamName } from '../../domain/core/ids.js';
import { emailDecider, emailNotFound } from '../../domain/email/decider.js';
import type { EmailContent } from '../../domain/email/events.js';
import { addressedIn, type Email, evolveEmail, leavesAsCopies } from '../../domain/email/state.js';
import {
  composeMessage,
  headFields,
  type MessageAttachment,
  type MessageToCompose,
} from '../../domain/mime/compose.js';
import { bodyStartOf, fieldsOf, inUtf8, readableOf, valueOf } from '../../domain/mime/read.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { StoredMessage } from '../../domain/core/stored-schemas.js';
import { nextTurn } from '../../shared/concurrency.js';

/** Names the mail that is read. `recipient`: whose copy, by the place in the record; undefined: the first one's. */
export type MailToRead = Readonly<{ id: EmailId; recipient?: number | undefined }>;

export type ReadFile = Readonly<{ filename: string; contentType: string; bytes: Buffer }>;

/**
 * Subject, HTML, text, headers and sizes. Rejects with EMAIL_NOT_FOUND, CONTENT_GONE, CONTENT_CONFIDENTIAL,
 * PUBLIC_URL_REQUIRED, and VALIDATION_ERROR for a recipient that the email does not have.
 */
export const emailContent = async (deps: EmailNeeds, caller: Caller, mail: MailToRead): Promise<SentContent> => {
  const opened = await openMail(deps, caller, mail);
  return contentAnswer(mail.id, opened, await readerOf(deps, opened).content());
};

/** The source of the mail (RFC 5322) as bytes, without the signatures of its delivery. Rejects as `emailContent`. */
export const emailSource = async (deps: EmailNeeds, caller: Caller, mail: MailToRead): Promise<Buffer> =>
  readerOf(deps, await openMail(deps, caller, mail)).source();

/** A file of the mail, by its `index` in the content; undefined: none. Rejects as `emailContent`, and with NOT_FOUND. */
export const emailAttachment = async (
  deps: EmailNeeds,
  caller: Caller,
  mail: MailToRead,
  index: number | undefined,
): Promise<ReadFile> => {
  const reader = readerOf(deps, await openMail(deps, caller, mail));
  const file = index === undefined ? undefined : await reader.attachment(index);
  if (file === undefined)
    throw new DomainError('NOT_FOUND', 'The email has no such attachment; `attachments` of its content lists them.');
  return file;
};

/** The mail of an email that is not accepted, as it would leave to its first recipient, and its files. */
export const proposedMail = async (
  deps: EmailNeeds,
  { teamId }: Pick<Caller, 'teamId'>,
  id: EmailId,
  { event, files }: Pick<ProposedEmail, 'event' | 'files'>,
): Promise<Readonly<{ content: SentContent; files: readonly ReadFile[] }>> => {
  const email = assertDefined(evolveEmail(undefined, event), 'email');
  const content = assertDefined(email.content, 'content of a new email');
  const copy = leavesAsCopies(email) ? { teamId, emailId: id, recipient: 0 } : undefined;
  const render = await compiledMail(deps, email, content);
  await nextTurn();
  const parts = copy === undefined ? undefined : untracked(deps, email, copy);
  const message = messageOf(deps.clock, { email, content, render, attachments: files }, parts);
  const { subject, html, text, attachments = [] } = message;
  const shown = attachments.map(({ filename, contentType, contentId, content: bytes }) => ({
    ...{ filename, contentType, contentId, sizeBytes: bytes.byteLength },
    bytes,
  }));
  const mail = { stream: emailStream(id), email, content, copy };
  const headers = [...headFields(message)];
  return {
    content: contentAnswer(id, mail, { ...addressed(email, content), subject, headers, html, text, files: shown }),
    files: shown,
  };
};

/** A mail that may be shown. `copy`: undefined if all recipients got the same mail. */
type OpenedMail = Readonly<{ stream: StreamName; email: Email; content: EmailContent; copy: CopyOf | undefined }>;

const gone = (message: string): DomainError => new DomainError('CONTENT_GONE', message);

const openMail = async (deps: EmailNeeds, caller: Caller, { id, recipient }: MailToRead): Promise<OpenedMail> => {
  const stream = emailStream(id);
  const loaded = await loadState(deps.eventLog, stream, emailDecider);
  ownedBy(caller.teamId, emailNotFound)(loaded);
  const email = loaded.state!;
  const { accepted, content } = email;
  if (accepted.confidential === true)
    throw new DomainError(
      'CONTENT_CONFIDENTIAL',
      'This mail contains a link or code that signs somebody in; it is shown to its recipient alone.',
    );
  if (recipient !== undefined && recipient >= accepted.roles.length)
    throw invalid('query', 'recipient', `must be below ${accepted.roles.length}, the number of its recipients`);
  if (content === undefined)
    throw gone('The content of this email is destroyed: it is archived, or its personal data was erased.');
  if (!leavesAsCopies(email)) return { stream, email, content, copy: undefined };
  const place = recipient ?? content.recipients.findIndex((one) => one !== null);
  if (place < 0 || content.recipients[place] === null)
    throw gone('The copy of this recipient is destroyed: the personal data of the recipient was erased.');
  return { stream, email, content, copy: { teamId: caller.teamId, emailId: id, recipient: place } };
};

/** A mail as its recipient sees it, with a list of its files. */
type ShownMail = Pick<SentContent, 'replyTo' | 'to' | 'cc' | 'subject'> &
  Readonly<{
    headers: SentContent['headers'];
    html: string | undefined;
    text: string | undefined;
    files: readonly ListedFile[];
  }>;
type ListedFile = Readonly<{ filename: string; contentType: string; contentId: string | undefined; sizeBytes: number }>;

/** How one kind of source answers for the content of its mails. `attachment`: undefined if there is none. */
type MailReader = Readonly<{
  content: () => Promise<ShownMail>;
  source: () => Promise<Buffer>;
  attachment: (index: number) => Promise<ReadFile | undefined>;
}>;

const readerOf = (deps: EmailNeeds, mail: OpenedMail): MailReader =>
  mail.content.message === undefined ? renderedReader(deps, mail) : submittedReader(deps, mail, mail.content.message);

/** Reads a message that came by SMTP. Its files are its parts beside the texts. */
const submittedReader = (deps: EmailNeeds, mail: OpenedMail, message: StoredMessage): MailReader => {
  const { stream, email, content, copy } = mail;
  const source = async (): Promise<Buffer> => {
    const attachments = await unlessDamaged(storedAttachments(deps, stream, content));
    if (attachments === undefined) throw gone('The message of this email is not kept any longer.');
    const whole = filledMessage(content, message, attachments);
    await nextTurn();
    return copy === undefined ? whole : copyOfMessage(deps, whole, untracked(deps, email, copy));
  };
  return {
    source,
    content: async () => {
      const raw = await source();
      const { html, text, files } = readableOf(raw);
      const head = raw.toString('latin1', 0, bodyStartOf(raw)).replace(/(?:\r\n)+$/, '');
      const headers = fieldsOf(head).map((field) => ({
        name: field.text.slice(0, Math.max(0, field.text.indexOf(':'))),
        value: inUtf8(valueOf(field)) ?? valueOf(field),
      }));
      return { ...addressed(email, content), subject: content.subject, headers, html, text, files };
    },
    attachment: async (index) => {
      const file = readableOf(await source()).files[index];
      return file && { filename: file.filename, contentType: file.contentType, bytes: file.bytes() };
    },
  };
};

/** Renders the mail again. Its files are those that were stored at acceptance, then those that the rendering draws. */
const renderedReader = (deps: EmailNeeds, mail: OpenedMail): MailReader => {
  const { stream, email, content } = mail;
  const rendered = async (attachments: readonly ReadyAttachment[]): Promise<MessageToCompose> => {
    const parts = mail.copy === undefined ? undefined : untracked(deps, email, mail.copy);
    try {
      const render = await compiledMail(deps, email, content);
      await nextTurn();
      return messageOf(deps.clock, { email, content, render, attachments }, parts);
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      throw gone(`No mail can be made of this email: ${wholeText(fault)}`);
    }
  };
  const drawnBy = ({ attachments = [] }: MessageToCompose, stored: readonly unknown[]): readonly MessageAttachment[] =>
    attachments.slice(stored.length);
  return {
    content: async () => {
      const pictures = await shownPictures(deps, stream, content);
      const message = await rendered(pictures);
      const files = [
        ...content.attachments.map(({ filename, contentType, contentId, sizeBytes }) => ({
          filename,
          contentType,
          contentId,
          sizeBytes,
        })),
        ...drawnBy(message, pictures).map(({ filename, contentType, contentId, content: { byteLength } }) => ({
          filename,
          contentType,
          contentId,
          sizeBytes: byteLength,
        })),
      ];
      const { subject, html, text } = message;
      return { ...addressed(email, content), subject, headers: [...headFields(message)], html, text, files };
    },
    source: async () => {
      const attachments = await unlessDamaged(storedAttachments(deps, stream, content));
      if (attachments === undefined)
        throw gone('An attachment of this email is not kept any longer; `attachments/:index` has the others.');
      return composeMessage(await rendered(attachments));
    },
    attachment: async (index) => {
      const stored = content.attachments[index];
      if (stored === undefined) {
        const pictures = await shownPictures(deps, stream, content);
        const file = drawnBy(await rendered(pictures), pictures)[index - content.attachments.length];
        return file && { filename: file.filename, contentType: file.contentType, bytes: file.content };
      }
      const key = await deps.eventLog.existingKey(stream);
      const loaded = key && (await unlessDamaged(loadAttachment(deps.files, key, stored, index)));
      if (loaded === undefined)
        throw gone('This attachment is not kept any longer: generated documents are kept for seven days.');
      return loaded;
    },
  };
};

/** The pictures that the HTML shows, whose sizes it needs. They are kept as long as the email. */
const shownPictures = async (
  { eventLog, files }: Pick<EmailNeeds, 'eventLog' | 'files'>,
  stream: StreamName,
  { attachments }: EmailContent,
): Promise<readonly ReadyAttachment[]> => {
  if (!attachments.some(({ contentId }) => contentId !== undefined)) return [];
  const key = await eventLog.existingKey(stream);
  if (key === undefined) throw gone('The content of this email is destroyed.');
  const pictures: ReadyAttachment[] = [];
  for (const [index, attachment] of attachments.entries()) {
    const picture =
      attachment.contentId === undefined
        ? undefined
        : await unlessDamaged(loadAttachment(files, key, attachment, index));
    if (picture !== undefined) pictures.push(picture);
  }
  return pictures;
};

/** A damaged file counts as one that is gone. */
const unlessDamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | undefined> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return undefined;
    throw fault;
  });

/** The parts of a recipient's copy, with the recipient's link to unsubscribe. */
const untracked = (deps: EmailNeeds, email: Email, copy: CopyOf): CopyParts => ({
  ...unsubscribing(deps, email, copy),
  rendering: {},
  html: (rendered) => rendered,
});

/** The mailboxes of the address fields; erased ones are left out. */
const addressed = (email: Email, { replyTo = [] }: EmailContent): Pick<SentContent, 'replyTo' | 'to' | 'cc'> => {
  const mailbox = ({ email: address, name }: Recipient) => ({ email: address, ...(name !== undefined && { name }) });
  return {
    to: addressedIn(email, 'to').map(mailbox),
    cc: addressedIn(email, 'cc').map(mailbox),
    replyTo: (typeof replyTo === 'string' ? [{ email: replyTo }] : replyTo).map(mailbox),
  };
};

const contentAnswer = (
  id: EmailId,
  { email, content, copy }: OpenedMail,
  { html = '', text = '', files, ...shown }: ShownMail,
): SentContent => ({
  id,
  messageId: email.accepted.messageId,
  recipient: copy?.recipient ?? null,
  from: content.from,
  ...shown,
  html,
  text,
  attachments: files.map(({ filename, contentType, contentId = null, sizeBytes }, index) => ({
    index,
    filename,
    contentType,
    contentId,
    sizeBytes,
  })),
  sizes: {
    html: Buffer.byteLength(html),
    text: Buffer.byteLength(text),
    attachments: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  },
});
