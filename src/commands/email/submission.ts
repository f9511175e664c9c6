/** Accepts a message that a program handed over by SMTP: one email to the recipients of its envelope. */
import type { SendEmailRequest, SendEmailResponse } from '../../api/email.js';
import { WrongExpectedRevision, DomainError } from '../../domain/core/errors.js';
import { emailIdOfFingerprint, emailStream, assertDefined, parseEmailId, type EmailId } from '../../domain/core/ids.js';
import { DAY_MS, isoTime } from '../../domain/core/time.js';
import type { EmailAccepted } from '../../domain/email/events.js';
import { requireAddress } from '../../domain/mime/address.js';
import { fold } from '../../domain/mime/header.js';
import { contentOf, type MessagePart } from '../../domain/mime/read.js';
import { readSubmitted, type RoledRecipient, type SubmittedMessage } from '../../domain/mime/submitted.js';
import { isTest, type Caller } from '../core/caller.js';
import { fingerprintOf, type Answer } from '../core/idempotency.js';
import type { StoredBytes } from './acceptance.js';
import { sendResponse } from './answers.js';
import type { EmailNeeds } from './needs.js';
import { accept, type MessageOrder } from './send.js';

export type Submission = Readonly<{
  /** The sender of the envelope; undefined for the null sender. */
  sender: string | undefined;
  /** The recipients of the envelope. */
  to: readonly string[];
  raw: Buffer;
  /** Our name, and how the message came (RFC 3848), for the trace. */
  by: string;
  with: string;
}>;

/** A larger body is stored as a file, so that whoever reads the email need not read it. */
const BODY_IN_EVENT_BYTES_MAX = 64 * 1024;

/**
 * Resolves when the email is durable. A message of the same key with a Message-ID and recipients of the last day is the
 * same mail, and answered with its email. Rejects with the codes of the send call, having written nothing.
 */
export const submitEmail = async (
  deps: EmailNeeds,
  caller: Caller,
  submission: Submission,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailResponse>> => {
  const to = submission.to.map((address, place) => requireAddress(address, `RCPT TO ${place + 1}`));
  const read = readSubmitted(submission.raw, to, deps);
  const order = { request: requestOf(read), storedBytes, message: messageOrderOf(submission, read) };
  if (read.messageId === undefined) {
    const id = assertDefined(parseEmailId(deps.ids.uuid()), 'UUID');
    return { body: await accept(deps, caller, id, order), replayed: false };
  }
  const named = { caller, messageId: read.messageId, to };
  const [today, yesterday] = idsFor(deps, named);
  // A mail that is sent again has the sender and the subject of the first; another may have its Message-ID by mistake.
  const fingerprint = fingerprintOf(deps.keys, { key: '', body: [read.from.email, read.subject] });
  const { answer, joined } = await deps.joinSends(today, fingerprint, async () => {
    for (const id of [yesterday, today]) {
      const earlier = await acceptedWithin(deps, id);
      if (earlier !== undefined) return again(id, earlier, fingerprint);
    }
    try {
      return { body: await accept(deps, caller, today, order, fingerprint), replayed: false };
    } catch (fault) {
      // Another process has accepted it meanwhile.
      const earlier = fault instanceof WrongExpectedRevision ? await acceptedWithin(deps, today) : undefined;
      if (earlier === undefined) throw fault;
      return again(today, earlier, fingerprint);
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

type Named = Readonly<{ caller: Caller; messageId: string; to: readonly string[] }>;

/** The ids of the email with that Message-ID from that key to those recipients, accepted today or yesterday (UTC). */
const idsFor = ({ keys, clock }: EmailNeeds, { caller, messageId, to }: Named): readonly [EmailId, EmailId] => {
  const today = Math.floor(clock.now() / DAY_MS);
  const recipients = to.length === 1 ? [to[0]!.toLowerCase()] : [...new Set(to.map((one) => one.toLowerCase()))].sort();
  const parts = [caller.teamId, isTest(caller) ? 'SMTP (test)' : 'SMTP', caller.actor, messageId, recipients];
  const text = JSON.stringify(parts).slice(0, -1);
  const of = (day: number): EmailId => emailIdOfFingerprint(keys.fingerprint('email id', `${text},${day}]`));
  return [of(today), of(today - 1)];
};

const acceptedWithin = async (deps: EmailNeeds, id: EmailId): Promise<EmailAccepted | undefined> => {
  const first = (await deps.eventLog.load(emailStream(id)))[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return undefined;
  return first.data.at > isoTime(deps.clock.now() - DAY_MS) ? first : undefined;
};

const again = (id: EmailId, earlier: EmailAccepted, fingerprint: string): Answer<SendEmailResponse> => {
  if (earlier.data.fingerprint === fingerprint) return { body: sendResponse(id, earlier), replayed: true };
  throw new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'A mail with this Message-ID and these recipients but another sender or subject was taken within a day; give each mail a Message-ID of its own.',
  );
};

/** The fields of the send call that the message and its instructions stand for. */
const requestOf = ({
  instructions,
  from,
  replyTo,
  subject,
  recipients,
  raw,
  whole,
}: SubmittedMessage): SendEmailRequest => {
  const { template, variables, tags, metadata, scheduledAt, tracking } = instructions;
  const all = (role: RoledRecipient['role']) =>
    recipients
      .filter((one) => one.role === role)
      .map(({ email, name }) => ({ email, ...(name !== undefined && { name }) }));
  return {
    from,
    to: all('to'),
    cc: all('cc'),
    bcc: all('bcc'),
    ...(replyTo.length > 0 && { replyTo: [...replyTo] }),
    ...(tags !== undefined && { tags: [...tags] }),
    ...(metadata !== undefined && { metadata: { ...metadata } }),
    ...(scheduledAt !== undefined && { scheduledAt }),
    ...(tracking !== undefined && { tracking }),
    ...(template !== undefined && {
      templateId: template,
      variables: { ...variables },
      ...(subject !== '' && { subject }),
      attachments: attachmentsOf(raw, whole),
    }),
  };
};

/** The files of a message whose texts come from a template. */
const attachmentsOf = (raw: Buffer, part: MessagePart): NonNullable<SendEmailRequest['attachments']> => {
  if (part.parts.length > 0) return part.parts.flatMap((one) => attachmentsOf(raw, one));
  if (!part.isAttachment) return [];
  const filename = part.filename === undefined || part.filename === '' ? 'attachment' : part.filename;
  return [{ filename, contentType: part.type, content: contentOf(raw, part).toString('base64') }];
};

/** undefined: the message names a template, so its own texts do not leave. */
const messageOrderOf = ({ sender, by, with: how }: Submission, read: SubmittedMessage): MessageOrder | undefined => {
  const { instructions, from, head, body, files, subject, hasDate, ownsUnsubscribing, recipients } = read;
  if (instructions.template !== undefined) return undefined;
  if (instructions.unsubscribeList !== undefined && ownsUnsubscribing)
    throw new DomainError(
      'VALIDATION_ERROR',
      'The field List-Unsubscribe is set by the service, for the mail has an X-Sealpost-Unsubscribe-List; leave it out.',
      {
        errors: [{ field: 'List-Unsubscribe', message: 'is set by the service, for the mail has an unsubscribe list' }],
      },
    );
  const envelope = sender === undefined ? undefined : requireAddress(sender, 'MAIL FROM');
  const isLarge = body.length > BODY_IN_EVENT_BYTES_MAX;
  return {
    unsubscribeList: instructions.unsubscribeList,
    senders: [...new Set([envelope, read.sender].filter((one) => one !== undefined && one !== from.email))] as string[],
    written: recipients.map(({ written }) => written),
    source: (id, at) => {
      const messageId = read.messageId ?? `<${id}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`;
      const date = new Date(instructions.scheduledAt ?? at).toUTCString().replace('GMT', '+0000');
      const trace = fold('Received', [
        `by ${by}`,
        `with ${how}`,
        `id ${id};`,
        new Date(at).toUTCString().replace('GMT', '+0000'),
      ]);
      const added = [
        ...(read.messageId === undefined ? [fold('Message-ID', [messageId])] : []),
        ...(hasDate ? [] : [fold('Date', [date])]),
      ];
      return {
        kind: 'message',
        subject,
        message: {
          head: `${trace}${head}${added.join('')}`,
          ...(!isLarge && { body: body.toString('latin1') }),
          messageId,
          ...(envelope !== undefined && envelope !== from.email && { sender: envelope }),
          files: files.map((file) => ({ ...file })),
        },
        ...(isLarge && { body }),
      };
    },
  };
};
