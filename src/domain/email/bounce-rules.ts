/** Judges why a mail came back, by rules that are data: first by what reports say in words, then as a reply of SMTP is judged. */
import { classifyReply } from './reply-rules.js';
import type { BounceType } from './email-status.js';

export type BounceClass = Readonly<{ bounceType: BounceType; bounceSubType: string }>;

/** What has happened to one recipient in the words of a report; `status` is the enhanced status code that it gives beside them. */
export type BounceWords = Readonly<{ status: string | null; text: string }>;

const hard = (bounceSubType: string): BounceClass => ({ bounceType: 'hard', bounceSubType });
const soft = (bounceSubType: string): BounceClass => ({ bounceType: 'soft', bounceSubType });
const ours = (bounceSubType: string): BounceClass => ({ bounceType: 'infrastructure', bounceSubType });

/** Where nothing tells why: it does not count against the address. */
export const UNDETERMINED = soft('undetermined');

type WordRule = Readonly<{ class: BounceClass; text: RegExp }>;

/** The first that fits decides. They are about what servers say in reports, with no code of SMTP or with a vague one. */
export const wordRules: readonly WordRule[] = [
  { class: ours('relay-denied'), text: /unable to relay|relay(ing)? (access )?(denied|not (allowed|permitted))/i },
  { class: soft('loop'), text: /too many hops|loop(s|ing)? (detected|received|\()|message looping|mail loops/i },
  {
    class: soft('mailbox-full'),
    text: /(over|exceed\w*|full|violat\w*|reached) .{0,30}quota|quota .{0,20}(exceed|violat|full|reached)|(mail ?box|mail ?folder|inbox|account)('s)? (is |was )?(full|over ?quota)|(mail ?)?box space not enough/i,
  },
  { class: soft('too-large'), text: /exceed\w* (the )?(maximum )?.{0,20}(message|mail) size|message (is )?too (large|big|long)/i },
  {
    class: hard('mailbox-disabled'),
    text: /account has been (disabled|discontinued|suspended|closed)|does not have a final email delivery point|(mailbox|account|user|address) (is |has been )?(disabled|inactive|suspended|deactivated|discontinued)/i,
  },
  {
    class: hard('no-such-mailbox'),
    text: /(unknown|illegal)( or (unknown|illegal))? (user|recipient|addressee)|(user|recipient|addressee|userid) (is )?(unknown|not known|not found)|no such (user|mailbox|recipient|person)|not listed in|invalid final delivery userid|no mailbox here|not (a )?valid user|address is wrong|did not exactly match|no matches to nameserver|n'existe pas|(does not|doesn't) have an? .{0,60}account|bad destination mailbox|mailbox unavailable|invalid mailbox|not a known user|recipient name is not recognized/i,
  },
  {
    class: hard('no-such-domain'),
    text: /domain does not exist|unknown (host|domain)|(host|domain) (unknown|not found)(?!, try again)|no such (host|domain)|null mx/i,
  },
  {
    class: soft('host-unreachable'),
    text: /host not found, try again|(destination|remote) (computer|host|server) was (unreachable|not reachable)|destination computer was|server unavailable|establish an smtp connection|could not find a gateway|connection (refused|timed out)|no route to host/i,
  },
  {
    class: soft('expired'),
    text: /message timed out|maximum.time.expired|maximum delivery attempts|delivery failed \d+ attempts|in the queue too long|retry (time|timeout) (exceeded|not reached)|(message|delivery time) expired/i,
  },
  { class: ours('policy'), text: /not accepting mail from|not allowed to send|sender (is )?blocked/i },
];

/** What each rule for replies of SMTP means of a mail that came back. */
const ofReplyRule: Readonly<Record<string, BounceClass>> = {
  'mailbox-unknown': hard('no-such-mailbox'),
  'domain-unknown': hard('no-such-domain'),
  'domain-takes-no-mail': hard('no-such-domain'),
  'mailbox-moved': hard('mailbox-moved'),
  'mailbox-disabled': hard('mailbox-disabled'),
  'recipient-refused': hard('recipient-refused'),
  'list-or-mailbox-refused': soft('mailbox-refused'),
  'mailbox-full': soft('mailbox-full'),
  greylisted: soft('greylisted'),
  'rate-limited': soft('rate-limited'),
  'too-many-recipients': soft('rate-limited'),
  'message-too-large': soft('too-large'),
  'spam-suspected': ours('reputation'),
  'sender-not-authenticated': ours('authentication'),
  'authentication-failed': ours('authentication'),
  'authentication-required': ours('authentication'),
  'policy-refused': ours('policy'),
  'sender-refused': ours('sender-refused'),
  'relay-denied': ours('relay-denied'),
  'content-refused': ours('content'),
  'protocol-refused': ours('protocol'),
};

/** The status of a mail that waited in vain, or found no way (RFC 3463, sections 3.4 and 3.5). */
const ofStatus: Readonly<Record<string, BounceClass>> = {
  '4.1': soft('host-unreachable'),
  '4.2': soft('host-unreachable'),
  '4.3': soft('host-unreachable'),
  '4.6': soft('loop'),
  '4.7': soft('expired'),
};

/** Enough for any report that people read; it bounds the work of the patterns. */
const WORDS_CHARS_MAX = 4_000;

const REPLY_CODE = /(?:^|[\s:;"(])([45]\d\d)(?=[\s:-])/;

/** In: what a report says of a recipient to whom the mail could not be delivered. Out: why, as far as that tells. */
export const classifyBounce = ({ status, text }: BounceWords): BounceClass => {
  const words = text.slice(0, WORDS_CHARS_MAX).replace(/\s+/g, ' ');
  const blamed = replyClass(status, words);
  // What is said against our reputation often quotes an address or a quota, too.
  if (blamed?.bounceType === 'infrastructure' && blamed.bounceSubType === 'reputation') return blamed;
  const said = wordRules.find((rule) => rule.text.test(words))?.class;
  return said ?? blamed ?? ofStatus[status?.slice(2) ?? ''] ?? UNDETERMINED;
};

/** undefined where there is neither a code nor a status that tells something. */
const replyClass = (status: string | null, words: string): BounceClass | undefined => {
  const found = REPLY_CODE.exec(words);
  if (found === null && (status === null || status.endsWith('.0.0'))) return undefined;
  const replyCode = Number(found?.[1] ?? (status?.startsWith('4') === true ? 450 : 550));
  const said = found === null ? words : words.slice(found.index).replace(/^[^45]/, '');
  const hasOwn = /^\d{3}[ -]#?[245]\.\d+\.\d+/.test(said);
  const reply = hasOwn || status === null || status.endsWith('.0.0') ? said : `${replyCode} ${status} ${said}`;
  const stage = /RCPT/.test(words) ? 'rcpt' : 'message';
  return ofReplyRule[classifyReply({ stage, replyCode, text: reply }).rule];
};
