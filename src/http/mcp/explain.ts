/**
 * Turns the record and the timeline of an email into plain words: whether it arrived, what happened, what the answer of
 * the receiving host means, and what to do. Every sentence is ours; texts of others stand beside it as foreign texts.
 */
import type { Static } from '@sinclair/typebox';
import type { EmailRecord, TimelineSchema } from '../../api/email.js';
import { hasIt, type RecipientStatus } from '../../domain/email/status.js';
import { foreign, type Foreign } from './foreign.js';
import { ownName } from './tool.js';

export type Timeline = Static<typeof TimelineSchema>;

type Entry = Timeline['data'][number];
type Recipient = EmailRecord['recipients'][number];

type Words = Readonly<{ means: string; todo: string }>;

const ADDRESS = 'Ask the recipient for the right address by another way; a retry to this one fails again.';
const SENDER =
  'The cause is on the sending side. Look at the answer of the host, at the DNS records of the sender domain (GET /api/domains) and at block lists of the sending address; retry after it is mended.';
const CONTENT = 'Change the content or the size of the mail and send it again.';
const WAIT = 'Nothing to do while attempts are left: the service tries again by itself.';
const OPERATOR =
  'The operator of this service must look at the relay: its address, login and TLS (`sealpost doctor`). Mail waits meanwhile.';

/** Meaning of each rule that classifies an SMTP answer, of the faults without one, and of the classes of bounce reports. */
export const ruleWords: Readonly<Record<string, Words>> = {
  accepted: {
    means: 'The host took the mail.',
    todo: 'Look into the spam folder, then ask the postmaster of the host.',
  },
  'mailbox-unknown': { means: 'There is no such mailbox at that domain.', todo: ADDRESS },
  'no-such-mailbox': { means: 'There is no such mailbox at that domain.', todo: ADDRESS },
  'domain-unknown': { means: 'The domain of the address does not exist.', todo: ADDRESS },
  'no-such-domain': { means: 'The domain of the address does not exist, or takes no mail.', todo: ADDRESS },
  'domain-takes-no-mail': { means: 'The domain of the address takes no mail at all.', todo: ADDRESS },
  'mailbox-moved': { means: 'The mailbox has moved to another address.', todo: ADDRESS },
  'mailbox-disabled': { means: 'The mailbox is closed or disabled.', todo: ADDRESS },
  'recipient-refused': {
    means: 'The host refused the recipient without saying why; most often there is no such mailbox.',
    todo: ADDRESS,
  },
  'list-or-mailbox-refused': {
    means: 'The mailbox or mailing list takes no mail from this sender.',
    todo: 'Ask the owner of the mailbox or list to allow the sender address.',
  },
  'mailbox-refused': {
    means: 'The mailbox takes no mail from this sender.',
    todo: 'Ask the owner of the mailbox to allow the sender address.',
  },
  'mailbox-full': { means: 'The mailbox is full.', todo: 'Ask the recipient to make room, then retry.' },
  greylisted: {
    means: 'The host asks unknown senders to try again later; this is normal for a first mail.',
    todo: WAIT,
  },
  'rate-limited': { means: 'The host takes only so many mails for now.', todo: WAIT },
  'try-later': { means: 'The host asks to try again later.', todo: WAIT },
  'too-many-recipients': { means: 'The host takes fewer recipients for one mail.', todo: WAIT },
  'service-closing': { means: 'The host was closing its service.', todo: WAIT },
  'session-refused': { means: 'The host took no session.', todo: WAIT },
  'out-of-sequence': { means: 'The session was in another state than expected; the mail was not judged.', todo: WAIT },
  'message-too-large': { means: 'The mail is larger than the host takes.', todo: CONTENT },
  'too-large': { means: 'The mail is larger than the host takes.', todo: CONTENT },
  'content-refused': { means: 'The host refused the content of the mail.', todo: CONTENT },
  content: { means: 'The host refused the content of the mail.', todo: CONTENT },
  'spam-suspected': { means: 'The host takes the mail for spam, or the sender for a spammer.', todo: SENDER },
  reputation: { means: 'The host refuses mail of the sending address because of its reputation.', todo: SENDER },
  'host-refused': { means: 'The host refuses the address or the name of the sending server.', todo: SENDER },
  'sender-refused': { means: 'The host refuses the sender address.', todo: SENDER },
  'sender-not-authenticated': { means: 'SPF, DKIM or DMARC of the sender domain do not pass.', todo: SENDER },
  authentication: {
    means: 'SPF, DKIM or DMARC of the sender domain, or the login at the host, do not pass.',
    todo: SENDER,
  },
  'policy-refused': { means: 'A policy of the host forbids the mail.', todo: SENDER },
  policy: { means: 'A policy of the host forbids the mail.', todo: SENDER },
  'sending-limit': {
    means: 'A sending limit of the host or the relay is reached.',
    todo: 'Send more slowly, then retry.',
  },
  'relay-denied': { means: 'The host does not pass on mail to this address.', todo: OPERATOR },
  'authentication-failed': { means: 'The relay did not accept the login of this service.', todo: OPERATOR },
  'authentication-required': { means: 'The host asks for a login.', todo: OPERATOR },
  'command-refused': { means: 'The host refused a command of the session.', todo: OPERATOR },
  'protocol-refused': { means: 'The host refused a command of the session.', todo: OPERATOR },
  protocol: { means: 'The host refused a command of the session.', todo: OPERATOR },
  'protocol-error': { means: 'The host answered against the protocol.', todo: OPERATOR },
  'system-refused': { means: 'The mail system of the host or its network had a fault.', todo: 'Retry later.' },
  refused: { means: 'The host refused the mail for good without naming a reason.', todo: SENDER },
  undetermined: {
    means: 'A report came back that does not say why.',
    todo: 'Retry later, or ask for another address.',
  },
  loop: { means: 'The mail went in circles between hosts.', todo: 'Tell the postmaster of the receiving domain.' },
  expired: { means: 'A host further on tried for days and gave up.', todo: 'Retry later, or ask for another address.' },
  'host-unreachable': { means: 'The host could not be reached.', todo: WAIT },
  'host-not-found': { means: 'The name of the host has no address in the DNS.', todo: OPERATOR },
  'connection-refused': { means: 'The host took no connection.', todo: OPERATOR },
  'connection-lost': { means: 'The connection to the host broke off.', todo: WAIT },
  timeout: { means: 'The host did not answer in time.', todo: WAIT },
  'tls-failed': { means: 'The encrypted connection to the host could not be made.', todo: OPERATOR },
  'send-failed': { means: 'The mail could not be handed over.', todo: OPERATOR },
  'host-away': { means: 'The relay takes no sessions at the moment.', todo: WAIT },
  'relay-away': { means: 'The relay takes no sessions at the moment.', todo: WAIT },
  'relay-day-full': { means: 'The relay has had as many mails today as its ramp-up allows.', todo: WAIT },
  aborted: { means: 'The attempt was cut off, for example by a restart of the service.', todo: WAIT },
  'attachment-damaged': { means: 'A stored attachment is damaged.', todo: 'Send the mail again with its attachment.' },
};

/** Meaning of each `failureReason` of a record that says more than the answers of hosts do. */
const reasonWords: Readonly<Record<string, Words>> = {
  blocked: { means: 'A receiving host refuses mail of this sender, or with this content.', todo: SENDER },
  'attempts-spent': {
    means: 'Every attempt was put off by the host, and none is left.',
    todo: 'Look at the last answer, then retry with POST /api/emails/:id/retry.',
  },
  rendering: {
    means: 'No mail could be made of the template and its values.',
    todo: 'Correct the template or the values (check_template, preview_template), and send again.',
  },
  'content-lost': { means: 'The stored content of the mail is gone.', todo: 'Send it again.' },
  ...(ruleWords['attachment-damaged'] === undefined ? {} : { 'attachment-damaged': ruleWords['attachment-damaged'] }),
};

const statusWords: Readonly<Record<RecipientStatus, Words>> = {
  queued: { means: 'It has not left yet.', todo: WAIT },
  sent: {
    means: 'The receiving host, or a relay before it, took the mail. From there on it is in the hands of that host.',
    todo: 'If it is not in the inbox, look into the spam folder and filters, then give the postmaster of the host the Message-ID and the answer below.',
  },
  delivered: {
    means: 'The receiving side reported that it delivered the mail.',
    todo: 'If it is not in the inbox, look into the spam folder and the filters of the mailbox.',
  },
  bounced: { means: 'The receiving host refused it for good.', todo: ADDRESS },
  failed: { means: 'It could not be delivered.', todo: 'Look at the answer of the host.' },
  cancelled: { means: 'Somebody cancelled it before it left.', todo: 'Send it again if it is wanted.' },
  suppressed: {
    means: 'The address is on the suppression list of the team, so nothing was sent to it.',
    todo: 'check_suppression says why. Remove the address only if its owner wants the mails.',
  },
  complained: {
    means: 'The mail arrived, and the recipient marked it as spam. The address is suppressed since.',
    todo: 'Do not send to this address again without the consent of its owner.',
  },
};

export type Explanation = {
  arrived: 'yes' | 'partly' | 'no' | 'not yet' | 'never sent' | 'unknown';
  summary: string;
  recipients: {
    place: number;
    role: string;
    status: string;
    means: string;
    todo: string;
    rule: string | null;
    replyCode: number | null;
    enhancedCode: string | null;
    foreign: Foreign;
  }[];
  recipientsLeftOut: number;
  steps: { at: string; what: string; foreign?: Foreign }[];
  stepsLeftOut: number;
};

/** Most recipients and steps that one explanation lists. */
const RECIPIENTS_MAX = 20;
const STEPS_MAX = 40;

export const explainEmail = (email: EmailRecord, timeline: Timeline): Explanation => {
  const troubled = email.recipients
    .map((recipient, place) => ({ recipient, place }))
    .toSorted((a, b) => Number(hasIt(a.recipient.status)) - Number(hasIt(b.recipient.status)));
  const steps = timeline.data.slice(-STEPS_MAX);
  return {
    arrived: arrivedOf(email),
    summary: summaryOf(email),
    recipients: troubled.slice(0, RECIPIENTS_MAX).map(({ recipient, place }) => recipientInWords(recipient, place)),
    recipientsLeftOut: Math.max(0, troubled.length - RECIPIENTS_MAX),
    steps: steps.map(stepInWords),
    stepsLeftOut: Math.max(0, timeline.meta.total - steps.length),
  };
};

const isSimulated = ({ test, recipients }: EmailRecord): boolean =>
  test || (recipients.length > 0 && recipients.every(({ simulated }) => simulated === true));

const arrivedOf = (email: EmailRecord): Explanation['arrived'] => {
  if (isSimulated(email)) return 'never sent';
  const statuses = email.recipients.map(({ status }) => status);
  if (statuses.some((status) => status === 'queued')) return 'not yet';
  const having = statuses.filter(hasIt).length;
  if (having === 0) return 'no';
  if (having < statuses.length) return 'partly';
  // `sent` says that the next host has it; only a report says more.
  return statuses.every((status) => status !== 'sent') ? 'yes' : 'unknown';
};

const summaryOf = (email: EmailRecord): string => {
  const sentences = [stateInWords(email)];
  if (email.test) sentences.unshift('It was sent with a test key, so nothing of it has left this service.');
  else if (isSimulated(email))
    sentences.unshift(
      'Its recipients are addresses of the simulator: no host was asked, and the simulator made up the answers.',
    );
  const reason = email.failureReason === null ? undefined : reasonWords[email.failureReason];
  const causes = causesInWords(email.recipients);
  if (reason !== undefined) sentences.push(reason.means);
  sentences.push(...causes.map(({ sentence }) => sentence));
  const todo = reason?.todo ?? causes[0]?.todo;
  if (todo !== undefined) sentences.push(todo);
  if (email.archived) sentences.push('It is archived: addresses, subject and answers of hosts are destroyed.');
  return sentences.join(' ');
};

/** Most causes that a summary names. */
const CAUSES_MAX = 3;

/** The causes for which recipients did not get the mail, the most frequent first: answers of hosts, or suppression. */
const causesInWords = (recipients: readonly Recipient[]): readonly Readonly<{ sentence: string; todo: string }>[] => {
  const found = new Map<string, Readonly<{ count: number; todo: string }>>();
  for (const recipient of recipients) {
    const words = recipient.status === 'suppressed' ? statusWords.suppressed : wordsOfAnswer(recipient);
    if (words === undefined) continue;
    const codes = [recipient.replyCode, enhancedCodeOf(recipient)].filter((code) => code !== null).join(' ');
    const said = codes === '' ? '' : `The host answered ${codes} (its words: \`answerOfHost\`). `;
    const sentence = `${said}${words.means}`;
    found.set(sentence, { count: (found.get(sentence)?.count ?? 0) + 1, todo: words.todo });
  }
  return [...found]
    .toSorted(([, a], [, b]) => b.count - a.count)
    .slice(0, CAUSES_MAX)
    .map(([sentence, { count, todo }]) => ({
      sentence: recipients.length === 1 ? sentence : `${count} of ${recipients.length} recipients: ${sentence}`,
      todo,
    }));
};

const stateInWords = (email: EmailRecord): string => {
  const failed = email.failedRecipients;
  const ofThem = `${failed} of ${email.recipientCount} recipient${email.recipientCount === 1 ? '' : 's'} did not get it.`;
  switch (email.status) {
    case 'scheduled':
      return `It waits for its time, ${email.scheduledAt ?? 'which is not known'}.`;
    case 'queued':
      return email.nextAttemptAt === null
        ? 'It is in the queue and has not left yet.'
        : `An attempt was put off; the next one is at ${email.nextAttemptAt}.`;
    case 'processing':
      return 'A delivery attempt is under way now.';
    case 'sent':
      return failed > 0
        ? `Hosts took it, but ${ofThem}`
        : 'The next host took it; no report of the receiving side says more.';
    case 'delivered':
      return failed > 0 ? `It was delivered, but ${ofThem}` : 'The receiving side reported that it was delivered.';
    case 'bounced':
      return `It bounced: ${ofThem}`;
    case 'failed':
      return `It failed: ${ofThem}`;
    case 'complained':
      return 'It arrived, and a recipient marked it as spam.';
    case 'cancelled':
      return `It was cancelled before it left${email.cancelledAt === null ? '' : `, at ${email.cancelledAt}`}.`;
  }
};

/** A code of RFC 3463. */
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;

const enhancedCodeOf = ({ enhancedCode }: Recipient): string | null =>
  enhancedCode !== null && ENHANCED.test(enhancedCode) ? enhancedCode : null;

/** Words for the answer because of which a recipient has not got the mail; undefined if there is none. */
const wordsOfAnswer = ({ status, rule, bounceSubType, replyCode }: Recipient): Words | undefined =>
  status === 'bounced' || status === 'failed' || status === 'queued'
    ? (ruleWords[bounceSubType ?? ''] ?? ruleWords[rule ?? ''] ?? byCode(replyCode))
    : undefined;

const recipientInWords = (recipient: Recipient, place: number): Explanation['recipients'][number] => {
  const { status, rule, bounceSubType, replyCode, role } = recipient;
  const ofStatus = statusWords[status];
  const ofRule = wordsOfAnswer(recipient);
  return {
    place,
    role,
    status,
    means: ofRule === undefined ? ofStatus.means : `${ofStatus.means} ${ofRule.means}`,
    todo: ofRule?.todo ?? ofStatus.todo,
    rule: ownName(bounceSubType ?? rule),
    replyCode,
    enhancedCode: enhancedCodeOf(recipient),
    foreign: foreign({ address: recipient.email, name: recipient.name, answerOfHost: recipient.reply }),
  };
};

/** Codes without a rule that we know (RFC 5321, section 4.2.1). */
const byCode = (code: number | null): Words | undefined => {
  if (code === null) return undefined;
  if (code >= 500) return ruleWords['refused'];
  return code >= 400 ? ruleWords['try-later'] : undefined;
};

const stepInWords = (entry: Entry): Explanation['steps'][number] => {
  const { recipients, details } = entry;
  const [first] = recipients;
  const host = details['host'];
  const said = foreign({
    host: typeof host === 'string' && host !== '' ? host : undefined,
    answerOfHost: first?.reply,
    fault: typeof details['text'] === 'string' ? details['text'] : undefined,
  });
  return {
    at: entry.at,
    what: whatHappened(entry),
    ...(Object.keys(said).length === 0 ? {} : { foreign: said }),
  };
};

const MOMENT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

const momentIn = (value: unknown): string => (typeof value === 'string' && MOMENT.test(value) ? ` at ${value}` : '');

const whatHappened = (entry: Entry): string => {
  const { kind, details } = entry;
  const [first] = entry.recipients;
  const rule = ruleWords[typeof details['rule'] === 'string' ? details['rule'] : ''];
  const code = typeof first?.replyCode === 'number' ? ` The host answered ${first.replyCode}.` : '';
  const meaning = rule === undefined ? code : `${code} ${rule.means}`;
  switch (kind) {
    case 'EmailQueued':
      return 'The call was accepted.';
    case 'EmailScheduled':
      return `The call was accepted; it was to leave${momentIn(details['scheduledAt'])}.`;
    case 'EmailRescheduled':
      return `Somebody set another time; it was to leave${momentIn(details['scheduledAt'])}.`;
    case 'EmailReleased':
      return 'Its time came.';
    case 'DeliveryAttempted':
      return `Attempt ${typeof details['attempt'] === 'number' ? details['attempt'] : ''} began.`.replace('  ', ' ');
    case 'CopyAnswered':
      return `The host answered for the copy of one recipient.${code}`;
    case 'EmailSent':
      return `The host took it.${code}`;
    case 'EmailDeferred':
      return `The attempt was put off; the next one was to be${momentIn(details['nextAttemptAt'])}.${meaning}`;
    case 'EmailBounced':
      return `The host refused it for good.${meaning}`;
    case 'EmailFailed':
      return `It failed. ${reasonWords[String(details['reason'])]?.means ?? ''}${code}`.trim();
    case 'EmailDelivered':
      return 'The receiving side reported the delivery.';
    case 'EmailBounceReported':
      return 'A report came back: a host further on could not deliver it.';
    case 'EmailComplained':
      return 'A recipient marked it as spam.';
    case 'EmailRetried':
      return 'Somebody had it tried again.';
    case 'EmailCancelled':
      return 'Somebody cancelled it.';
    case 'RecipientsSuppressed':
      return 'Recipients were left out: their addresses are on the suppression list.';
    case 'EmailBouncesNoted':
    case 'AddressSuppressed':
      return 'An address was put on the suppression list.';
    case 'RecipientsErased':
      return 'The data of a recipient was destroyed.';
    case 'EmailOpened':
      return details['machine'] === true ? 'A machine opened it.' : 'It was opened.';
    case 'EmailClicked':
      return 'A link of it was followed.';
    case 'EmailArchived':
      return 'It was archived.';
    case 'WebhookAttempted':
      return `A webhook was told${typeof details['statusCode'] === 'number' ? `; it answered ${details['statusCode']}` : ''}.`;
    default:
      return `Recorded: ${ownName(kind) ?? 'another event'}.`;
  }
};
