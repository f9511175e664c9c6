/** Sends an email again as a new one: from what was pinned, with its variables and files, and changes of the call. */
import type { SendEmailRequest, SendEmailResponse } from '../../api/email.js';
import type { ResendEmailRequest } from '../../api/email-content.js';
import { isAllowed } from '../../domain/access/permissions.js';
import { DomainError, FileDamaged } from '../../domain/core/errors.js';
import { emailStream, type EmailId } from '../../domain/core/ids.js';
import { emailDecider, emailNotFound } from '../../domain/email/decider.js';
import type { EmailContent } from '../../domain/email/events.js';
import { addressedIn, type Email } from '../../domain/email/state.js';
import { changeableBy, type Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { loadAttachments, type ReadyAttachment } from '../documents/attachments.js';
import type { StoredBytes } from './acceptance.js';
import type { EmailNeeds } from './needs.js';
import { sendOnce, type SendOrder } from './send.js';
import { sourceOf } from './source.js';

/**
 * Resolves when the copy is durable. `to` of the call replaces all recipients, `variables` those of the same names.
 * Rejects with EMAIL_NOT_FOUND, FORBIDDEN for callers who may not send, CONTENT_CONFIDENTIAL, CONTENT_GONE where its
 * content or a file of it is destroyed, EMAIL_NOT_RESENDABLE for mails that came by SMTP, and with the codes of the send
 * call, having written nothing.
 */
export const resendEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  id: EmailId,
  changes: ResendEmailRequest,
  idempotency?: Idempotency,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailResponse>> => {
  const { state } = await requireEmail(deps, caller, id);
  if (!isAllowed(caller.permissions, 'emails:send'))
    throw new DomainError('FORBIDDEN', 'A copy is a new email, which needs the permission `emails:send` too.', {
      relatedInfo: { requiredPermission: 'emails:send' },
    });
  if (state.accepted.confidential === true)
    throw new DomainError(
      'CONTENT_CONFIDENTIAL',
      'This mail contains a link or code that signs somebody in; it is sent to its recipient alone.',
    );
  const orderOf = async (): Promise<SendOrder> => ({ ...(await copyOf(deps, id, state, changes)), storedBytes });
  return sendOnce(deps, caller, `POST /api/emails/${id}/resend`, orderOf, idempotency);
};

const requireEmail = async (deps: EmailNeeds, caller: Caller, id: EmailId): Promise<Readonly<{ state: Email }>> => {
  const loaded = await loadState(deps.eventLog, emailStream(id), emailDecider);
  changeableBy(caller, emailNotFound)(loaded);
  return { state: loaded.state! };
};

const gone = (message: string): DomainError => new DomainError('CONTENT_GONE', message);

/** The order of the copy. */
const copyOf = async (
  deps: EmailNeeds,
  id: EmailId,
  email: Email,
  changes: ResendEmailRequest,
): Promise<Omit<SendOrder, 'storedBytes'>> => {
  const { accepted, content } = email;
  if (content === undefined)
    throw gone('The content of this email is destroyed: it is archived, or its personal data was erased.');
  if (content.message !== undefined)
    throw new DomainError(
      'EMAIL_NOT_RESENDABLE',
      'This mail came by SMTP, and leaves as it came: the program that handed it over sends it again.',
    );
  const recipients = changes.to === undefined ? ofOriginal(email) : { to: changes.to };
  if (Object.values(recipients).every(({ length }) => length === 0))
    throw gone('The recipients of this email are erased; name others in `to`.');
  const { subjectOverride, replyTo, locale, timeZone } = content;
  const request: SendEmailRequest = {
    ...recipients,
    from: content.from,
    ...(replyTo !== undefined && { replyTo }),
    ...(subjectOverride !== undefined && { subject: subjectOverride }),
    variables: { ...content.variables, ...changes.variables },
    headers: content.headers,
    metadata: content.metadata,
    priority: accepted.priority,
    tags: accepted.tags,
    ...(locale !== undefined && { locale }),
    ...(timeZone !== undefined && { timeZone }),
    tracking: { opens: accepted.tracking?.opens === true, clicks: accepted.tracking?.clicks === true },
    attachments: (await filesOf(deps, id, content)).map(({ filename, contentType, contentId, bytes }) => ({
      filename,
      contentType,
      ...(contentId !== undefined && { contentId }),
      content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    })),
  };
  const settled = {
    source: sourceOf(accepted, content),
    unsubscribeList: accepted.unsubscribeList,
    from: content.from,
    tracking: undefined,
  };
  return { request, settled, resentFrom: id };
};

const ofOriginal = (email: Email): Pick<SendEmailRequest, 'to' | 'cc' | 'bcc'> => ({
  to: [...addressedIn(email, 'to')],
  cc: [...addressedIn(email, 'cc')],
  bcc: [...addressedIn(email, 'bcc')],
});

/** The files of the call and its documents; pictures of the gallery come with the template again. */
const filesOf = async (
  { eventLog, files }: EmailNeeds,
  id: EmailId,
  { attachments }: Pick<EmailContent, 'attachments'>,
): Promise<readonly ReadyAttachment[]> => {
  if (attachments.length === 0) return [];
  const key = await eventLog.existingKey(emailStream(id));
  const loaded = key && (await unlessDamaged(loadAttachments(files, key, attachments)));
  if (loaded === undefined)
    throw gone('An attachment of this email is not kept any longer: generated documents are kept for seven days.');
  return loaded.filter((_, place) => attachments[place]?.ofTemplate !== true);
};

const unlessDamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | undefined> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return undefined;
    throw fault;
  });
