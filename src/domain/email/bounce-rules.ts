/** Classifies SMTP replies (RFC 5321, section 4.2; RFC 3463; RFC 7505) and bounce reports, by rules that are data. */
import type { RecipientResult } from '../ports/mailer.js';
import type { BounceType } from './status.js';

/**
 * What the reply answered: the session (greeting, EHLO, STARTTLS, AUTH, a server that closes), MAIL, RCPT,
 * the DATA command, or the message after its last dot.
 */
export type ReplyStage = 'session' | 'mail' | 'rcpt' | 'data' | 'message';

type ReplyRule = Readonly<{
  rule: string;
  result: Exclude<RecipientResult, 'accepted'>;
  /** Every condition that is given must hold. */
  stages?: readonly ReplyStage[];
  /** First and last reply code. */
  codes: readonly [number, number];
  /** Enhanced status codes; `5.1.*` stands for any detail. */
  enhanced?: readonly string[];
  text?: RegExp;
}>;

const permanent = [500, 599] as const;
const transient = [400, 499] as const;

/** The first rule that matches decides. */
export const replyRules: readonly ReplyRule[] = [
  // About the server or the session, not this message: try again, whatever the code. The operator corrects a wrong password while mail waits.
  {
    rule: 'authentication-failed',
    result: 'deferred',
    stages: ['session'],
    codes: permanent,
    enhanced: ['5.7.8', '5.7.9', '5.7.11', '5.7.14', '5.7.15'],
  },
  { rule: 'authentication-failed', result: 'deferred', stages: ['session'], codes: [534, 538] },
  { rule: 'session-refused', result: 'deferred', stages: ['session'], codes: permanent },
  { rule: 'service-closing', result: 'deferred', codes: [421, 421] },
  // 503 says that the session was in another state than we thought; the message itself was not judged.
  { rule: 'out-of-sequence', result: 'deferred', codes: [503, 503] },

  // 4xx: all are tried again; the rules only name the reason.
  { rule: 'greylisted', result: 'deferred', codes: transient, text: /gr[ea]y-?list/i },
  { rule: 'mailbox-full', result: 'deferred', codes: transient, enhanced: ['4.2.2'] },
  { rule: 'rate-limited', result: 'deferred', codes: transient, enhanced: ['4.7.28', '4.5.3'] },
  { rule: 'rate-limited', result: 'deferred', codes: transient, text: /rate|too (many|much|fast|frequent)|throttl/i },
  { rule: 'try-later', result: 'deferred', codes: transient },

  // RFC 5321, section 4.5.3.1.10: an old way to say 452 to a long list of recipients.
  { rule: 'too-many-recipients', result: 'deferred', stages: ['rcpt'], codes: permanent, enhanced: ['5.5.3'] },
  { rule: 'too-many-recipients', result: 'deferred', stages: ['rcpt'], codes: permanent, text: /too many recipients/i },

  // 5xx to MAIL is about us or the size we named, whatever its code says of addresses.
  { rule: 'authentication-required', result: 'refused', stages: ['mail'], codes: [530, 538] },
  { rule: 'message-too-large', result: 'refused', stages: ['mail'], codes: [552, 552] },
  { rule: 'message-too-large', result: 'refused', stages: ['mail'], codes: permanent, enhanced: ['5.2.3', '5.3.4'] },
  { rule: 'sender-refused', result: 'refused', stages: ['mail'], codes: permanent },

  // 5xx by what the code itself says.
  { rule: 'sender-refused', result: 'refused', codes: permanent, enhanced: ['5.1.7', '5.1.8', '5.1.9', '5.7.27'] },
  { rule: 'domain-takes-no-mail', result: 'bounced', codes: permanent, enhanced: ['5.1.10'] },
  { rule: 'domain-takes-no-mail', result: 'bounced', stages: ['rcpt'], codes: [556, 556] },
  { rule: 'domain-takes-no-mail', result: 'bounced', stages: ['rcpt'], codes: [521, 521] },
  { rule: 'domain-unknown', result: 'bounced', codes: permanent, enhanced: ['5.1.2', '5.4.4', '5.7.18'] },
  { rule: 'mailbox-moved', result: 'bounced', codes: permanent, enhanced: ['5.1.6', '5.7.17'] },
  { rule: 'mailbox-unknown', result: 'bounced', codes: permanent, enhanced: ['5.1.*'] },
  { rule: 'mailbox-disabled', result: 'bounced', codes: permanent, enhanced: ['5.2.1', '5.7.13'] },
  { rule: 'mailbox-full', result: 'bounced', codes: permanent, enhanced: ['5.2.2'] },
  { rule: 'message-too-large', result: 'refused', codes: permanent, enhanced: ['5.2.3', '5.3.4'] },
  { rule: 'content-refused', result: 'refused', codes: permanent, enhanced: ['5.6.*'] },

  // Words come before the vaguer codes: many servers answer an unknown mailbox with 5.7.1, 5.4.1, 5.0.0 or with no enhanced code at all.
  {
    rule: 'mailbox-unknown',
    result: 'bounced',
    codes: permanent,
    text: /user (is )?unknown|unknown (user|recipient|mailbox|address|local[- ]?part)|no such (user|person|recipient|mailbox|address)|(user|recipient|mailbox|account|address)( address)? (was |is )?(not found|unknown|invalid|does(n't| not) exist)|does(n't| not) exist|no mailbox here|not a (valid|known) (user|mailbox|recipient)|invalid (recipient|mailbox|address)|(doesn't|does not) have an? .{0,40}account/i,
  },
  {
    rule: 'mailbox-disabled',
    result: 'bounced',
    codes: permanent,
    text: /(mailbox|account|user|recipient|address)\b.{0,40}\b(disabled|inactive|suspended|closed|deactivated|discontinued)/i,
  },
  {
    rule: 'mailbox-full',
    result: 'bounced',
    codes: permanent,
    text: /(mailbox|inbox|account|user)\b.{0,40}\bfull|over (its |the )?(disk |storage )?quota|quota (is )?exceeded|exceed\w* .{0,40}\bquota/i,
  },
  { rule: 'recipient-refused', result: 'bounced', stages: ['rcpt'], codes: permanent, enhanced: ['5.4.1', '5.2.*'] },
  { rule: 'list-or-mailbox-refused', result: 'bounced', codes: permanent, enhanced: ['5.2.*'] },
  { rule: 'message-too-large', result: 'refused', codes: permanent, text: /(message|mail|size)\b.{0,40}\b(too (large|big)|exceed\w*)/i },
  {
    rule: 'spam-suspected',
    result: 'refused',
    codes: permanent,
    text: /spam|junk|block(ed|list)|black-?list|reputation|\brbl\b|dnsbl|spamhaus|barracuda/i,
  },
  { rule: 'sender-not-authenticated', result: 'refused', codes: permanent, text: /\b(spf|dkim|dmarc)\b/i },
  { rule: 'relay-denied', result: 'refused', codes: permanent, text: /relay/i },
  { rule: 'authentication-required', result: 'refused', codes: [530, 538] },
  { rule: 'policy-refused', result: 'refused', codes: permanent, enhanced: ['5.7.*'] },
  { rule: 'protocol-refused', result: 'refused', codes: permanent, enhanced: ['5.5.*'] },
  { rule: 'system-refused', result: 'refused', codes: permanent, enhanced: ['5.3.*', '5.4.*'] },

  // 5xx by the bare code (RFC 5321, section 4.2.3): at RCPT it is about this recipient, elsewhere about us or the message.
  { rule: 'mailbox-full', result: 'bounced', stages: ['rcpt'], codes: [552, 552] },
  { rule: 'mailbox-unknown', result: 'bounced', stages: ['rcpt'], codes: [550, 551] },
  { rule: 'mailbox-unknown', result: 'bounced', stages: ['rcpt'], codes: [553, 553] },
  { rule: 'message-too-large', result: 'refused', codes: [552, 552] },
  { rule: 'command-refused', result: 'refused', codes: [500, 504] },
  { rule: 'refused', result: 'refused', codes: permanent },

  // A code that is no answer to the command, e.g. 2xx instead of 354.
  { rule: 'protocol-error', result: 'deferred', codes: [0, 999] },
];

type ReplyVerdict = Readonly<{ result: RecipientResult; rule: string; enhancedCode: string | null }>;

/**
 * In: a reply that was no success, its code and whole text (with or without the code in front).
 * Out: the result for the recipients it is about, the name of the rule, and the enhanced code in it.
 */
export const classifyReply = ({
  stage,
  replyCode,
  text,
}: Readonly<{ stage: ReplyStage; replyCode: number; text: string }>): ReplyVerdict => {
  const enhancedCode = enhancedCodeOf(text);
  const rule = replyRules.find(
    (one) =>
      replyCode >= one.codes[0] &&
      replyCode <= one.codes[1] &&
      (one.stages === undefined || one.stages.includes(stage)) &&
      (one.enhanced === undefined || one.enhanced.some((pattern) => enhancedFits(pattern, enhancedCode))) &&
      (one.text === undefined || one.text.test(text.slice(0, textCharsJudged))),
  );
  return rule === undefined
    ? { result: 'deferred', rule: 'protocol-error', enhancedCode }
    : { result: rule.result, rule: rule.rule, enhancedCode };
};

/** Enough for any reply that people read; it bounds the work of the patterns. */
const textCharsJudged = 2_000;

/** RFC 2034: the enhanced code follows the reply code on each line of a reply. */
const ENHANCED = /^(?:\d{3}[ -])?([245]\.\d{1,3}\.\d{1,3})(?:\s|$)/m;

export const enhancedCodeOf = (text: string): string | null => ENHANCED.exec(text)?.[1] ?? null;

const enhancedFits = (pattern: string, code: string | null): boolean =>
  code !== null && (pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern);

type BounceClass = Readonly<{ bounceType: BounceType; bounceSubType: string }>;

/** A report about one recipient: its text, and the enhanced status code that it gives. */
type BounceWords = Readonly<{ status: string | null; text: string }>;

const hard = (bounceSubType: string): BounceClass => ({ bounceType: 'hard', bounceSubType });
const soft = (bounceSubType: string): BounceClass => ({ bounceType: 'soft', bounceSubType });
const ours = (bounceSubType: string): BounceClass => ({ bounceType: 'infrastructure', bounceSubType });

/** Without any known reason a bounce does not count against the address. */
const UNDETERMINED = soft('undetermined');

type WordRule = Readonly<{ class: BounceClass; text: RegExp }>;

/** Texts of reports without an SMTP code, or with a vague one. The first rule that matches decides. */
const wordRules: readonly WordRule[] = [
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

/** The bounce class of each rule for SMTP replies. */
const classOfReplyRule: Readonly<Record<string, BounceClass>> = {
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

/** The bounce class of network statuses (RFC 3463, section 3.5), without their first digit. */
const classOfStatus: Readonly<Record<string, BounceClass>> = {
  '4.1': soft('host-unreachable'),
  '4.2': soft('host-unreachable'),
  '4.3': soft('host-unreachable'),
  '4.6': soft('loop'),
  '4.7': soft('expired'),
};

/** Enough for any report that people read; it bounds the work of the patterns. */
const WORDS_CHARS_MAX = 4_000;

const REPLY_CODE = /(?:^|[\s:;"(])([45]\d\d)(?=[\s:-])/;

/** In: a report about a recipient to whom the mail could not be delivered. Out: the reason, as far as the report tells. */
export const classifyBounce = ({ status, text }: BounceWords): BounceClass => {
  const words = text.slice(0, WORDS_CHARS_MAX).replace(/\s+/g, ' ');
  const blamed = replyClass(status, words);
  // A reply about our reputation often mentions an address or a quota too, so it wins over the word rules.
  if (blamed?.bounceType === 'infrastructure' && blamed.bounceSubType === 'reputation') return blamed;
  const said = wordRules.find((rule) => rule.text.test(words))?.class;
  return said ?? blamed ?? classOfStatus[status?.slice(2) ?? ''] ?? UNDETERMINED;
};

/** undefined if there is no reply code and no specific status. */
const replyClass = (status: string | null, words: string): BounceClass | undefined => {
  const found = REPLY_CODE.exec(words);
  if (found === null && (status === null || status.endsWith('.0.0'))) return undefined;
  const replyCode = Number(found?.[1] ?? (status?.startsWith('4') === true ? 450 : 550));
  const said = found === null ? words : words.slice(found.index).replace(/^[^45]/, '');
  const hasOwn = /^\d{3}[ -]#?[245]\.\d+\.\d+/.test(said);
  const reply = hasOwn || status === null || status.endsWith('.0.0') ? said : `${replyCode} ${status} ${said}`;
  const stage = /RCPT/.test(words) ? 'rcpt' : 'message';
  return classOfReplyRule[classifyReply({ stage, replyCode, text: reply }).rule];
};
