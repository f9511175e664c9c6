/**
 * Reads delivery reports, complaints and bounces with postal-mime. Only the beginning of a message is read, because the
 * report comes before the returned mail.
 */
import PostalMime, { type Email } from 'postal-mime';
import { classifyBounce } from '../../domain/email/bounce-rules.js';
import {
  type ReportedRecipient,
  REPORT_BYTES_READ_MAX,
  type Report,
  type ReportReader,
} from '../../domain/ports/report-reader.js';

type Fields = ReadonlyMap<string, readonly string[]>;

const PARTS_DEPTH_MAX = 16;
/** The parser takes 50 µs for a line, and more for a part, however short. */
const LINES_MAX = 5_000;
const PARTS_MAX = 200;
const HEADER_BYTES_MAX = 64 * 1024;
/** More than an email has. */
const RECIPIENTS_MAX = 100;

const SENDERS_MAX = 50;

/** The types of RFC 5965, section 3.5, and those registered since. */
const feedbackTypes = ['abuse', 'fraud', 'virus', 'not-spam', 'auth-failure', 'opt-out', 'other'];

const actions: readonly (readonly [RegExp, ReportedRecipient['action']])[] = [
  [/^(fail|error)/i, 'failed'],
  [/^delay/i, 'delayed'],
  [/^deliver/i, 'delivered'],
  [/^relay/i, 'relayed'],
  [/^expand/i, 'expanded'],
];

const STATUS = /[245]\.\d{1,3}\.\d{1,3}/;

/** A plain address anywhere in a text. Its parts are bounded, so that no text makes the match slow. */
const ADDRESS = /[\w.!#$%&'*+/?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}/;

const WORDS_CHARS_MAX = 8_000;
const TEXT_CHARS_MAX = 2_000;
const ADDRESSES_MAX = 100;

/** The beginning of the returned mail. */
const RETURNED =
  /^[\s*>#|=-]{0,80}(original message|returned (message|mail)|unsent message|copy of (the|your) message|message headers? follow|start of returned|received: )/im;

/** Senders of bounces. */
const DAEMON = /mailer-?daemon|postmaster|mail ?delivery|mail administrator|^$/i;

const DELAYED =
  /warning (message )?only|this is (just )?a warning|delivery attempts will continue|has been (delayed|postponed)|not yet been delivered|will continue to (attempt|try)|message.{0,20}delayed/i;

const FAILED =
  /could not be (delivered|reached)|(not|n't|unable|un) ?(been |able to |to )?deliver|un-?deliverable|deliver(y|ed)? .{0,40}fail|failed recipient|failed addresses|returned mail|has been returned|did not reach|permanent (error|fatal)|fatal error|user unknown|unknown user|no such user|did not (receive|exactly match)|not accepting mail|delivery (status notification|failure)|mail delivery failed|automatically rejected|n'a pas pu|can ?not be delivered|error detail|invalid mailbox|final delivery userid|unknown recipient|quota|no mailbox here|delivery has failed|mailbox unavailable|(is |was )?unavailable: |could not be reached|was not accepted|not been delivered|invalid recipient|sorry it didn.t work out/i;

export const openReportReader = (): ReportReader => ({
  read: async (raw) => {
    const mail = await parse(withinBounds(raw));
    return mail === undefined ? { content: { kind: 'other' }, senders: [] } : reportOf(mail);
  },
});

/** Cuts a message after `LINES_MAX` lines or `PARTS_MAX` possible boundaries of parts. */
const withinBounds = (raw: Uint8Array): Uint8Array => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, REPORT_BYTES_READ_MAX));
  return bytes.subarray(0, Math.min(endOfNth(bytes, '\n', LINES_MAX), endOfNth(bytes, '\n--', PARTS_MAX)));
};

const endOfNth = (bytes: Buffer, text: string, count: number): number => {
  let at = -1;
  for (let index = 0; index < count; index += 1) {
    at = bytes.indexOf(text, at + 1);
    if (at < 0) return bytes.length;
  }
  return at + 1;
};

/** Leaves out parts that are cut off or nested too deep. Out: undefined if the message cannot be read at all. */
const parse = (raw: Uint8Array): Promise<Email | undefined> =>
  new PostalMime({
    attachmentEncoding: 'utf8',
    forceRfc822Attachments: true,
    maxNestingDepth: PARTS_DEPTH_MAX,
    maxHeadersSize: HEADER_BYTES_MAX,
  })
    .parse(raw)
    .catch(() => undefined);

const textOf = (mail: Email, mimeType: string): string | undefined => {
  const part = mail.attachments.find((one) => one.mimeType.toLowerCase() === mimeType);
  return part === undefined ? undefined : String(part.content);
};

const reportOf = (mail: Email): Report => {
  const feedback = textOf(mail, 'message/feedback-report');
  const returned =
    textOf(mail, 'message/rfc822') ??
    textOf(mail, 'message/rfc822-headers') ??
    textOf(mail, 'text/rfc822-headers') ??
    returnedAsText(mail);
  const senders = sendersOf(mail, returned, feedback);
  const complainant = complainantOfHotmail(mail, returned);
  if (feedback !== undefined) return { content: complaintOf(feedback, returned, complainant), senders };
  const status = textOf(mail, 'message/delivery-status') ?? textOf(mail, 'message/global-delivery-status');
  const words = wordsOf(mail);
  if (status === undefined && complainant.length > 0)
    return { content: { kind: 'complaint', feedbackType: 'abuse', addresses: complainant }, senders };
  const told = status === undefined ? [] : recipientsOf(status, words);
  if (told.length > 0) return { content: { kind: 'delivery-status', recipients: told }, senders };
  const said = bounceInWords(mail, status === undefined ? words : `${words}\n${status}`);
  return { content: said === undefined ? { kind: 'other' } : { kind: 'delivery-status', recipients: [said] }, senders };
};

/** The text of all parts: some systems give the reason in a text part of another type, or after another mail. */
const wordsOf = (mail: Email): string => {
  const parts = mail.attachments
    .filter(({ mimeType }) => mimeType.toLowerCase().startsWith('text/'))
    .map(({ content }) => String(content));
  return [mail.text ?? stripTags(mail.html ?? ''), ...parts].join('\n');
};

const stripTags = (html: string): string => html.replace(/<[^<>]{0,1000}>/g, ' ').replace(/&nbsp;/g, ' ');

/** One block of header-like fields, with their continuation lines, by name in lower case. */
const fieldsOf = (block: string): Fields => {
  const fields = new Map<string, string[]>();
  for (const line of block.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const values = fields.get(name) ?? [];
    values.push(line.slice(colon + 1).trim());
    fields.set(name, values);
  }
  return fields;
};

const first = (fields: Fields, name: string): string | undefined => fields.get(name)?.[0];

/** `rfc822; user@example.com`, with or without the type, angle brackets and comments. */
const addressIn = (value: string | undefined): readonly string[] => {
  const found = ADDRESS.exec((value ?? '').slice(0, TEXT_CHARS_MAX));
  return found === null ? [] : [found[0]];
};

const recipientsOf = (status: string, words: string): readonly ReportedRecipient[] => {
  const recipients: ReportedRecipient[] = [];
  for (const block of status.split(/\r?\n[ \t]*\r?\n/)) {
    if (recipients.length >= RECIPIENTS_MAX) break;
    const told = recipientOf(fieldsOf(block), words);
    if (told !== undefined) recipients.push(told);
  }
  return recipients;
};

const recipientOf = (fields: Fields, words: string): ReportedRecipient | undefined => {
  const action = actions.find(([pattern]) => pattern.test(first(fields, 'action') ?? ''))?.[1];
  if (action === undefined) return undefined;
  const addresses = ['original-recipient', 'final-recipient', 'x-actual-recipient'].flatMap((name) =>
    addressIn(first(fields, name)),
  );
  const status = first(fields, 'status') ?? '';
  const diagnostic = first(fields, 'diagnostic-code') ?? '';
  const more = first(fields, 'x400-supplementary-info') ?? '';
  const enhancedCode = STATUS.exec(status)?.[0] ?? null;
  const said = [diagnostic.replace(/^[\w-]+\s*;\s*/, ''), status.replace(/^[\d.]+\s*(?=\()/, ''), more]
    .join(' ')
    .trim();
  const own = classifyBounce({ status: enhancedCode, text: said, isReply: true });
  // A report without a reason in its fields often has one in its text.
  const reason = own.bounceSubType === 'undetermined' ? classifyBounce({ status: enhancedCode, text: words }) : own;
  return {
    addresses,
    action,
    ...reason,
    enhancedCode,
    text: (diagnostic === '' ? said : diagnostic).slice(0, TEXT_CHARS_MAX),
  };
};

const complaintOf = (feedback: string, returned: string, complainant: readonly string[]): Report['content'] => {
  const fields = fieldsOf(feedback);
  const type = (first(fields, 'feedback-type') ?? '').toLowerCase();
  // Not a complaint of a recipient: `not-spam` takes one back, `auth-failure` is about the signature of the mail.
  if (type === 'not-spam' || type === 'auth-failure') return { kind: 'other' };
  const named = [...(fields.get('original-rcpt-to') ?? []), ...(fields.get('removal-recipient') ?? [])];
  const to =
    named.length > 0 ? named : complainant.length > 0 ? complainant : (fieldsOf(headOf(returned)).get('to') ?? []);
  const addresses = to.slice(0, RECIPIENTS_MAX).flatMap(addressIn);
  return {
    kind: 'complaint',
    feedbackType: feedbackTypes.includes(type) ? type : 'other',
    addresses: [...new Set(addresses)],
  };
};

const HOTMAIL_RECIPIENT = 'x-hmxmroriginalrecipient';

/**
 * Outlook.com (JMRP) sends a complaint without the parts of RFC 5965: the mail comes back with the recipient in a field
 * of its own, in the head of the report, of the returned mail, or at the beginning of the text.
 */
const complainantOfHotmail = (mail: Email, returned: string): readonly string[] => {
  const own = mail.headers.flatMap(({ key, value }) => (key === HOTMAIL_RECIPIENT ? [value] : []));
  const inside = fieldsOf(headOf(returned)).get(HOTMAIL_RECIPIENT) ?? [];
  return [...new Set([...own, ...inside].slice(0, RECIPIENTS_MAX).flatMap(addressIn))];
};

/** The text of the report if it is the returned mail of Outlook.com with its head; otherwise empty. */
const returnedAsText = ({ text = '' }: Email): string => {
  const returned = text.trimStart();
  return fieldsOf(headOf(returned)).has(HOTMAIL_RECIPIENT) ? returned : '';
};

const headOf = (message: string): string => message.split(/\r?\n\r?\n/, 1)[0] ?? '';

/**
 * The addresses that the report may be for. The address that it was sent to comes first, because its host has checked
 * that one.
 */
const sendersOf = (mail: Email, returned: string, feedback: string | undefined): readonly string[] => {
  const names = ['delivered-to', 'x-original-to', 'envelope-to', 'to', 'return-path'];
  const own = names.flatMap((name) => mail.headers.filter(({ key }) => key === name).map(({ value }) => value));
  const original = fieldsOf(headOf(returned));
  const told = feedback === undefined ? [] : (fieldsOf(feedback).get('original-mail-from') ?? []);
  const all = [...own, ...told, ...(original.get('return-path') ?? []), ...(original.get('x-envelope-from') ?? [])];
  return [...new Set(all.slice(0, SENDERS_MAX).flatMap(addressIn))];
};

/** Whether a message is an automatic reply. */
const answersByMachine = ({ headers, subject }: Email): boolean =>
  headers.some(
    ({ key, value }) =>
      (key === 'auto-submitted' && /auto-replied/i.test(value)) ||
      ((key === 'precedence' || key === 'x-precedence') && /auto_reply/i.test(value)),
  ) || /^(auto(matic)? ?-?reply|out of (the )?office|vacation)/i.test(subject ?? '');

/**
 * Reads a bounce that follows no standard from its words before the returned mail. Out: undefined if the message is no
 * bounce.
 */
const bounceInWords = (mail: Email, text: string): ReportedRecipient | undefined => {
  const beginning = text.slice(0, WORDS_CHARS_MAX);
  const cut = RETURNED.exec(beginning);
  const words = cut === null || cut.index < 20 ? beginning : beginning.slice(0, cut.index);
  const subject = (mail.subject ?? '').slice(0, TEXT_CHARS_MAX);
  const isDelayed = DELAYED.test(words) || DELAYED.test(subject);
  const isFromDaemon = DAEMON.test(`${mail.from?.address ?? ''}`) || DAEMON.test(mail.from?.name ?? 'person');
  // Some mail systems call their bounces an automatic reply.
  if (!isFromDaemon && answersByMachine(mail)) return undefined;
  if (!isDelayed && !FAILED.test(words) && !(isFromDaemon && FAILED.test(subject))) return undefined;
  const addresses = [
    ...new Set([...words.matchAll(new RegExp(ADDRESS, 'g'))].slice(0, ADDRESSES_MAX).map(([address]) => address)),
  ];
  const reason = classifyBounce({ status: /#?\b([45]\.\d\.\d{1,3})\b/.exec(words)?.[1] ?? null, text: words });
  const action = isDelayed ? ('delayed' as const) : ('failed' as const);
  return {
    addresses,
    action,
    ...reason,
    enhancedCode: null,
    text: words.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARS_MAX),
  };
};
