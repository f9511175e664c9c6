/** The answers to calls on emails, made from their events and state. */
import { isoTime } from '../../domain/core/time.js';
import type {
  CancelEmailResponse,
  RescheduleEmailResponse,
  EmailRecord,
  RetryEmailResponse,
  SendEmailResponse,
} from '../../api/email.js';
import type { EmailAccepted } from '../../domain/email/events.js';
import { addressedIn, messageIdOf, type Engagement, type Email } from '../../domain/email/state.js';
import { type RecipientRole, failedRecipientsOf, isErased } from '../../domain/email/status.js';
import { assertDefined, type EmailId } from '../../domain/core/ids.js';
import { lossMessage } from '../../domain/rendering/paths/losses.js';

/** Time from the queue to the host at normal load. */
export const TYPICAL_DELIVERY_MS = 5_000;

const answerOf = (
  id: EmailId,
  event: EmailAccepted,
  status: 'queued' | 'scheduled',
  dueAt: string,
): SendEmailResponse => {
  const answer: SendEmailResponse = {
    id,
    messageId: messageIdOf(event),
    status,
    recipientCount: event.data.roles.length,
    attachmentCount: event.data.attachmentCount,
    queuedAt: event.data.at,
    estimatedDeliveryAt: isoTime(Date.parse(dueAt) + (event.data.expectedWaitMs ?? TYPICAL_DELIVERY_MS)),
  };
  const warnings = warningsOf(event.data);
  if (warnings !== undefined) answer.warnings = warnings;
  return answer;
};

/** Losses of the email; undefined if it has none. */
export const warningsOf = ({ losses }: Pick<EmailAccepted['data'], 'losses'>): SendEmailResponse['warnings'] =>
  losses?.map((loss) => ({ ...loss, message: lossMessage(loss) }));

/** The answer to the send call, made from its event alone, so that a replay always gives the same bytes. */
export const sendResponse = (id: EmailId, event: EmailAccepted): SendEmailResponse => {
  switch (event.type) {
    case 'EmailQueued':
      return answerOf(id, event, 'queued', event.data.at);
    case 'EmailScheduled':
      return answerOf(id, event, 'scheduled', event.data.scheduledAt);
  }
};

/** The answer to a retry call, made from that retry alone. */
export const retryResponse = (
  id: EmailId,
  retry: Readonly<{ retryCount: number; at: string }>,
): RetryEmailResponse => ({
  id,
  status: 'queued',
  message: 'The email is queued again and will be sent with the same Message-ID.',
  retryCount: retry.retryCount,
  queuedAt: retry.at,
});

/** The answer to a reschedule call, made from the state after it. */
export const rescheduleResponse = (id: EmailId, email: Pick<Email, 'scheduledAt'>): RescheduleEmailResponse => {
  const scheduledAt = assertDefined(email.scheduledAt ?? undefined, 'time of a scheduled email');
  return {
    id,
    status: 'scheduled',
    message: 'The email leaves at its new time.',
    scheduledAt,
    estimatedDeliveryAt: isoTime(Date.parse(scheduledAt) + TYPICAL_DELIVERY_MS),
  };
};

/** The answer to a cancel call, made from that call alone. */
export const cancelResponse = (id: EmailId, { at }: Readonly<{ at: string }>): CancelEmailResponse => ({
  id,
  status: 'cancelled',
  message: 'The email is cancelled: it does not leave.',
  cancelledAt: at,
});

/** The whole record; personal fields are null or empty once the key is destroyed. */
export const emailRecord = (id: EmailId, email: Email): EmailRecord => {
  const { accepted, content } = email;
  const byRole = (role: RecipientRole) => [...addressedIn(email, role)];
  return {
    id,
    messageId: content?.message?.messageId ?? accepted.messageId,
    status: email.status,
    archived: email.archivedAt !== null,
    emailTemplateName: accepted.templateName,
    templateId: accepted.templateId,
    templateVersion: accepted.templateVersion,
    subject: content?.subject ?? null,
    from: content?.from ?? null,
    replyTo: content?.replyTo ?? null,
    priority: accepted.priority,
    locale: content?.locale ?? null,
    timeZone: content?.timeZone ?? null,
    tags: accepted.tags,
    recipientCount: accepted.roles.length,
    failedRecipients: failedRecipientsOf(email),
    attachmentCount: accepted.attachmentCount,
    batchId: accepted.batch?.id ?? null,
    test: accepted.test === true,
    ...(accepted.resentFrom === undefined ? {} : { resentFrom: accepted.resentFrom }),
    ...(accepted.approval === undefined ? {} : { approval: accepted.approval }),
    ...(accepted.confidential === undefined ? {} : { confidential: accepted.confidential }),
    retryCount: email.retries.length,
    failureReason: email.failureReason,
    scheduledAt: email.scheduledAt,
    queuedAt: email.queuedAt,
    processingAt: email.processingAt,
    nextAttemptAt: email.nextAttemptAt,
    sentAt: email.sentAt,
    deliveredAt: email.deliveredAt,
    openedAt: email.openedAt ?? null,
    clickedAt: email.clickedAt ?? null,
    cancelledAt: email.cancelledAt ?? null,
    ...complaintOf(email),
    archivedAt: email.archivedAt,
    createdAt: email.createdAt,
    updatedAt: email.updatedAt,
    recipients: recipientsOf(email),
    attempts: attemptsOf(email),
    tracking: trackingOf(email),
    metadata: {
      recipients: { to: byRole('to'), cc: byRole('cc'), bcc: byRole('bcc') },
      ...contentOf(email),
    },
  };
};

/** Variables, attachments and metadata of the call; empty for a confidential email. */
const contentOf = ({ accepted, content }: Email): Omit<EmailRecord['metadata'], 'recipients'> => {
  const shown = accepted.confidential === true ? undefined : content;
  const warnings = warningsOf(accepted);
  return {
    variables: shown?.variables ?? {},
    attachments:
      shown?.message?.files ??
      shown?.attachments.flatMap(({ filename, contentType, sizeBytes, ofTemplate }) =>
        ofTemplate ? [] : [{ filename, contentType, sizeBytes }],
      ) ??
      [],
    omittedAttachments: shown?.omitted ?? [],
    ...(shown?.replaced === undefined ? {} : { replacedCharacters: shown.replaced }),
    ...(warnings === undefined ? {} : { warnings }),
    custom: shown?.metadata ?? {},
  };
};

const recipientsOf = (email: Email): EmailRecord['recipients'] =>
  email.accepted.roles.map((role, index) => ({
    email: email.content?.recipients[index]?.email ?? null,
    name: email.content?.recipients[index]?.name ?? null,
    role,
    status: email.recipientStatuses[index]!,
    ...(isErased(email, index) ? { erased: true as const } : {}),
    ...email.replies[index]!,
    openedAt: firstOf(email, 'opened', index),
    clickedAt: firstOf(email, 'clicked', index),
  }));

const complaintOf = ({ complainedAt, feedbackType }: Email): Pick<EmailRecord, 'complainedAt' | 'feedbackType'> => ({
  ...(complainedAt === undefined ? {} : { complainedAt }),
  ...(feedbackType === undefined ? {} : { feedbackType }),
});

const attemptsOf = ({ attempts }: Email): EmailRecord['attempts'] =>
  attempts.map(({ attempt, startedAt, host, relay, ended }) => ({
    attempt,
    startedAt,
    endedAt: ended?.at ?? null,
    host,
    ...(relay === undefined ? {} : { relay }),
    durationMs: ended?.durationMs ?? null,
    outcome: ended?.outcome ?? null,
    replyCode: ended?.replyCode ?? null,
    reply: ended?.reply ?? null,
    nextAttemptAt: ended?.nextAttemptAt ?? null,
  }));

/** When that recipient first opened the email, or followed a link, as a person. */
const firstOf = ({ engagements = [] }: Email, wanted: Engagement['type'], place: number): string | null =>
  engagements.find(({ type, recipient, machine }) => type === wanted && recipient === place && machine === null)?.at ??
  null;

const trackingOf = ({ accepted: { tracking }, engagements = [] }: Email): EmailRecord['tracking'] => ({
  opens: tracking?.opens ?? false,
  clicks: tracking?.clicks ?? false,
  events: engagements.map(({ type, at, recipient, times, machine, url, userAgent, ipAddress }) => ({
    type,
    at,
    recipient,
    times,
    machine: machine !== null,
    rule: machine === '' ? null : machine,
    url,
    userAgent,
    ipAddress,
  })),
});
