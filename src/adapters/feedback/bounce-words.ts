/** Bounces that follow no standard: what they say in words, before the mail that they return. */
import type { Email } from 'postal-mime';
import { classifyBounce } from '../../domain/email/bounce-rules.js';
import type { ReportedRecipient } from '../../domain/ports/reported-recipient.js';

/** A plain address anywhere in a text; its parts are bounded, so that no text makes it slow. */
export const ADDRESS = /[\w.!#$%&'*+/?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}/;

const WORDS_CHARS_MAX = 8_000;
const TEXT_CHARS_MAX = 2_000;
const ADDRESSES_MAX = 100;

/** Where the mail begins that came back. */
const RETURNED =
  /^[\s*>#|=-]{0,80}(original message|returned (message|mail)|unsent message|copy of (the|your) message|message headers? follow|start of returned|received: )/im;

/** Who writes bounces. */
const DAEMON = /mailer-?daemon|postmaster|mail ?delivery|mail administrator|^$/i;

const DELAYED =
  /warning (message )?only|this is (just )?a warning|delivery attempts will continue|has been (delayed|postponed)|not yet been delivered|will continue to (attempt|try)|message.{0,20}delayed/i;

const FAILED =
  /could not be (delivered|reached)|(not|n't|unable|un) ?(been |able to |to )?deliver|un-?deliverable|deliver(y|ed)? .{0,40}fail|failed recipient|failed addresses|returned mail|has been returned|did not reach|permanent (error|fatal)|fatal error|user unknown|unknown user|no such user|did not (receive|exactly match)|not accepting mail|delivery (status notification|failure)|mail delivery failed|automatically rejected|n'a pas pu|can ?not be delivered|error detail|invalid mailbox|final delivery userid|unknown recipient|quota|no mailbox here|delivery has failed|mailbox unavailable|(is |was )?unavailable: |could not be reached|was not accepted|not been delivered|invalid recipient|sorry it didn.t work out/i;

/** An answer of a machine for its user says so. */
const answersByMachine = ({ headers, subject }: Email): boolean =>
  headers.some(
    ({ key, value }) =>
      (key === 'auto-submitted' && /auto-replied/i.test(value)) ||
      ((key === 'precedence' || key === 'x-precedence') && /auto_reply/i.test(value)),
  ) || /^(auto(matic)? ?-?reply|out of (the )?office|vacation)/i.test(subject ?? '');

/** In: a message and its text. Out: what it says of a recipient; undefined where it is no bounce. */
export const bounceInWords = (mail: Email, text: string): ReportedRecipient | undefined => {
  const beginning = text.slice(0, WORDS_CHARS_MAX);
  const cut = RETURNED.exec(beginning);
  const words = cut === null || cut.index < 20 ? beginning : beginning.slice(0, cut.index);
  const subject = (mail.subject ?? '').slice(0, TEXT_CHARS_MAX);
  const isDelayed = DELAYED.test(words) || DELAYED.test(subject);
  const isFromDaemon = DAEMON.test(`${mail.from?.address ?? ''}`) || DAEMON.test(mail.from?.name ?? 'person');
  // Some mail systems call their bounces an automatic reply.
  if (!isFromDaemon && answersByMachine(mail)) return undefined;
  if (!isDelayed && !FAILED.test(words) && !(isFromDaemon && FAILED.test(subject))) return undefined;
  const addresses = [...new Set([...words.matchAll(new RegExp(ADDRESS, 'g'))].slice(0, ADDRESSES_MAX).map(([address]) => address))];
  const reason = classifyBounce({ status: /#?\b([45]\.\d\.\d{1,3})\b/.exec(words)?.[1] ?? null, text: words });
  const action = isDelayed ? ('delayed' as const) : ('failed' as const);
  return { addresses, action, ...reason, enhancedCode: null, text: words.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARS_MAX) };
};
