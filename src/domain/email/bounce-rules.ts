/** Classifies SMTP replies (RFC 5321, section 4.2; RFC 3463; RFC 7505) and bounce reports, by rules that are data. */
import type { RecipientResult } from '../ports/mailer.js';
import type { BounceType } from './status.js';

/**
 * Stage that the reply answered: the session (greeting, EHLO, STARTTLS, AUTH, a server that closes), MAIL, RCPT, the
 * DATA command, or the message after its last dot.
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
  /** Tested on the words of the reply: without addresses, paths of links and line ends. */
  text?: RegExp;
  /** A sentence or a code about the sender, which wins over what a report says besides. */
  isBlame?: true;
}>;

const permanent = [500, 599] as const;
const transient = [400, 499] as const;

/** Says that a session has had as many messages as it may have, for whatever code. */
export const SESSION_FULL =
  /\b(messages?|mails?|e-?mails?|mail commands|transactions?)(\/| (limit )?(sent )?((allowed )?(per|in|on|over|for|of|within) )?(an? |one |this |the |single |same |current )*)(connection|session)\b|\b(connection|session) (messages?|mails?|transactions?) (limit|count)|\bplease re-?connect\b/i;

/**
 * Sentences about the sender: its address, host, rate, reputation or login. They decide before the codes, because many
 * hosts send them with the code of an unknown mailbox. The first that matches decides.
 */
const blames: readonly Readonly<{ rule: string; text: RegExp }>[] = [
  {
    rule: 'sender-refused',
    text: /\bsender\b(?!-| ?id\b).{0,60}?\b(reject|refus|den(y|ied)|fail|block|ban|black|invalid|not (found|allowed|exist|valid|permitted|accepted|verified|authori[sz]ed|resolv)|unknown|unverif|unrout|could not|can ?not|can't|does(n't| not) (exist|resolve|have))/i,
  },
  {
    rule: 'sender-refused',
    text: /\b(bad|invalid|unknown|forged|unverified|blocked|banned|unrout(e)?able|illegal|empty|null|not accept\w* (mail|messages?|e-?mails?) from|reject\w*|domain of) (the |this |your )?(envelope )?(sender|return[- ]path|from address|mail ?from)\b|\bbad(mail|sender|helo)\w*|envelope sender|return[- ]path .{0,40}\b(reject|refus|invalid|not )|mail ?from (address|domain|command rejected)/i,
  },
  {
    rule: 'sender-refused',
    text: /(?<!recipient )(?<!recipient address )(verif(y|ication)|call-?(back|out)) .{0,40}?(fail|could not|not complete)|(could not|unable to|while) .{0,30}(verify(ing)?\b|call-?(back|out))(?! recipient)/i,
  },
  {
    rule: 'sender-refused',
    text: /\bsend-?as|SendAsDenied|STOREDRV\.Submission|\b(not|n't) (allowed|permitted|authori[sz]ed|able) to (send|submit|post)|(right|permission) to (send|submit|post)|members[- ]only|outbound sender|domain mismatch/i,
  },
  {
    rule: 'sending-limit',
    text: /\bat a rate\b|\brate[- ]?(limit|control|exceed)|throttl|too many (messages|e-?mails?|mails|connections|sessions|posts|requests|complaints)|(hourly|daily|sending|submission|outgoing|outbound|message rate|recipient rate) (\w+ )?(limit|quota|rate)s?\b|(exceed|reach|over)\w* .{0,60}\b(hourly|daily|(sending|outgoing|outbound|submission) (limit|quota|rate))|\b(this|(with)?in (an?|one)|per|last) (second|minute|hour|day)\b|too (fast|quickly|frequent)/i,
  },
  { rule: 'sending-limit', text: SESSION_FULL },
  {
    rule: 'host-refused',
    text: /\b(client|connecting|sending|your|sender'?s?|source) (smtp |mail |e-?mail )?(host|hostname|host name|ip|server|network|mta|domain|system|isp|country|dns)\b.{0,80}?\b(reject|refus|den(y|ied)|block|black|ban|listed|list|reputation|resol|suspicious|not (found|allowed|accepted|permitted|welcome)|no (ptr|reverse|rdns|access)|must have|requires?|does(n't| not) (have|match|exist))/i,
  },
  {
    rule: 'host-refused',
    text: /\b(helo|ehlo)\b|reverse[- ](dns|lookup|address|mapping)|\br?dns (record|entry|name|lookup)|\b(ptr|rdns)\b|(find|resolve) your\b|dynamic ips?\b|open (proxy|relay)|\b(mail|messages?|connections?) from \[?\d[\d.]{6,20}\]?.{0,20}\b(refus|reject|den(y|ied)|block|not accept)|\b(ip|ipv[46])( address(es)?)?\b.{0,60}?\b(block|ban|black|listed|list|reject|den(y|ied)|refus|reputation|not allowed|invalid|suspicious)|\b(bad|banned|blocked|blacklisted|denied|refused|invalid|reputation of the|not accept\w* .{0,20}from) (sending |sender |your )?ips?\b/i,
  },
  {
    rule: 'relay-denied',
    text: /relay(ing)? ?(access |attempt )?(is |was )?(denied|prohibit\w*|refused|not (allowed|permitted))|(unable|not (allowed|permitted)|do(es)? not) (to )?relay|rcpthosts/i,
  },
  {
    rule: 'sender-not-authenticated',
    text: /\b(spf|dkim|dmarc|sender ?id|unauthenticated|(not|un|n't) ?(be )?authenticated)\b|sender policy framework/i,
  },
  {
    rule: 'authentication-required',
    text: /authentication (is )?required|(must|please) (authenticate|issue a starttls)|without (smtp )?auth|smtp auth\w* (is )?required/i,
  },
];

/** Sentences that blame the sender unless a sentence before names the recipient's mailbox. */
const suspicions: typeof blames = [
  {
    rule: 'spam-suspected',
    text: /spam|junk|unsolicited|bulk mail|block(ed|ing|list| list)|black-?list|deny-?list|reputation|\brbl\b|dnsbl|barracuda|sorbs|\babus(e|ive|ing)\b|(virus|malware|phish)|suspicious|\blisted (at|in|on|by)\b|complaints/i,
  },
  {
    rule: 'policy-refused',
    text: /\bpolic(y|ies)\b|prohibit|access (is |was )?denied|administrative|security (reason|violation)|(not|n't|refus\w*|reject\w*|denied) (currently )?(accept\w* )?(the |your |this |any )?(mail|messages?|e-?mails?|connections?) from\b|go away|local (rule|filter)|restricted/i,
  },
];

const blameRules = (from: typeof blames): readonly ReplyRule[] =>
  from.map(({ rule, text }) => ({
    rule,
    result: 'blocked',
    stages: ['rcpt', 'data', 'message'],
    codes: permanent,
    text,
    isBlame: true,
  }));

/**
 * Without a reason: it may be the mailbox, or a block that does not say so. One such refusal proves nothing of the
 * address.
 */
const RECIPIENT_REFUSED = 'recipient-refused';

/** The first rule that matches decides. */
export const replyRules: readonly ReplyRule[] = [
  // About the server or the session, not this message: try again, whatever the code. The operator corrects a wrong
  // password while mail waits.
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
  {
    rule: 'too-many-recipients',
    result: 'deferred',
    stages: ['rcpt'],
    codes: permanent,
    text: /^[\d. ]*(error: |sorry, )?too many recipients(?!.{0,40}\b(hour|day|minute)\b)/i,
  },

  // 5xx to MAIL is about us or the size we named, whatever its code says of addresses.
  { rule: 'authentication-required', result: 'blocked', stages: ['mail'], codes: [530, 538] },
  { rule: 'message-too-large', result: 'refused', stages: ['mail'], codes: [552, 552] },
  { rule: 'message-too-large', result: 'refused', stages: ['mail'], codes: permanent, enhanced: ['5.2.3', '5.3.4'] },
  { rule: 'sender-refused', result: 'blocked', stages: ['mail'], codes: permanent, isBlame: true },

  // 5xx by codes that can mean nothing but the sender, or nothing but the recipient.
  {
    rule: 'sender-refused',
    result: 'blocked',
    codes: permanent,
    enhanced: ['5.1.7', '5.1.8', '5.1.9', '5.1.20', '5.2.252', '5.7.27'],
    isBlame: true,
  },
  {
    rule: 'sending-limit',
    result: 'blocked',
    codes: permanent,
    enhanced: ['5.1.90', '5.4.5', '5.7.28'],
    isBlame: true,
  },
  {
    rule: 'authentication-required',
    result: 'blocked',
    codes: permanent,
    enhanced: ['5.7.8', '5.7.13', '5.7.14'],
    isBlame: true,
  },
  { rule: 'domain-takes-no-mail', result: 'bounced', codes: permanent, enhanced: ['5.1.10'] },
  { rule: 'domain-takes-no-mail', result: 'bounced', stages: ['rcpt'], codes: [556, 556] },
  {
    rule: 'domain-takes-no-mail',
    result: 'bounced',
    stages: ['rcpt'],
    codes: [521, 521],
    text: /(host|server|domain) (does not|doesn't|never) accepts? (any )?(e-?)?mail(?! from)/i,
  },
  { rule: 'domain-unknown', result: 'bounced', codes: permanent, enhanced: ['5.7.18'] },
  { rule: 'mailbox-moved', result: 'bounced', codes: permanent, enhanced: ['5.7.17'] },
  // Exchange Online refuses unknown recipients so, after "Access denied".
  {
    rule: 'mailbox-unknown',
    result: 'bounced',
    codes: permanent,
    enhanced: ['5.4.1'],
    text: /recipient address rejected/i,
  },

  // A sentence that blames us wins over codes of addresses and mailboxes.
  ...blameRules(blames),
  {
    rule: 'mailbox-disabled',
    result: 'bounced',
    codes: permanent,
    text: /(mailbox|account|user|recipient|address)\b.{0,40}\b(disabled|inactiv(e|ity)|suspended|closed|deactivated|discontinued)/i,
  },
  ...blameRules(suspicions),

  // 5xx by what the code itself says.
  { rule: 'domain-unknown', result: 'bounced', codes: permanent, enhanced: ['5.1.2', '5.4.4'] },
  { rule: 'mailbox-moved', result: 'bounced', codes: permanent, enhanced: ['5.1.6'] },
  { rule: 'mailbox-unknown', result: 'bounced', codes: permanent, enhanced: ['5.1.1', '5.1.3', '5.1.4'] },
  {
    rule: 'mailbox-disabled',
    result: 'bounced',
    codes: permanent,
    enhanced: ['5.2.1'],
    text: /mailbox|account|user|recipient|address/i,
  },
  { rule: 'mailbox-full', result: 'bounced', codes: permanent, enhanced: ['5.2.2'] },
  { rule: 'message-too-large', result: 'refused', codes: permanent, enhanced: ['5.2.3', '5.3.4'] },
  { rule: 'content-refused', result: 'blocked', codes: permanent, enhanced: ['5.6.*'] },

  // Words come before the vaguer codes: many servers answer an unknown mailbox with 5.7.1, 5.4.1, 5.0.0 or with no
  // enhanced code at all.
  {
    rule: 'mailbox-unknown',
    result: 'bounced',
    codes: permanent,
    text: /user (is )?unknown|unknown (e-?mail )?(user|recipient|mailbox|address|local[- ]?part)|no such (user|person|recipient|mailbox|address|account)|(user|recipient|mailbox|account|address|mail ?box)( address)? (was |is |could )?(not (be )?(found|known|active|listed|local)|unknown|invalid|no longer|unavailable|does(n't| not) exist)|(?<!\bdomain\b.{0,60})does(n't| not) exist|no (mailbox|account|user) (here|by that name|found|with)|no one at this address|not a (valid|known|local|current) (user|mailbox|recipient|address)|not our customer|invalid (recipient|mailbox|address)|(bad|undeliverable|unrout(e)?able|misspelled|non-?existent|nonexistent) (destination|recipient|mailbox|address|user)|mailbox name not allowed|bad ?rcpt ?to|Recip(ient)?NotFound|(doesn't|does not) have an? .{0,40}account/i,
  },
  {
    rule: 'mailbox-full',
    result: 'bounced',
    codes: permanent,
    text: /(mailbox|inbox|account|user)\b.{0,40}\bfull|over (its |the )?(disk |storage )?quota|quota (is )?exceeded|exceed\w* .{0,40}\bquota/i,
  },
  // Other codes of addresses and mailboxes: the host refuses this recipient, and its words do not say why.
  { rule: RECIPIENT_REFUSED, result: 'bounced', codes: permanent, enhanced: ['5.1.*'] },
  { rule: RECIPIENT_REFUSED, result: 'bounced', stages: ['rcpt'], codes: permanent, enhanced: ['5.4.1', '5.2.*'] },
  { rule: 'list-or-mailbox-refused', result: 'bounced', codes: permanent, enhanced: ['5.2.*'] },
  {
    rule: 'message-too-large',
    result: 'refused',
    codes: permanent,
    text: /(message|mail|size)\b.{0,40}\b(too (large|big)|exceed\w*)/i,
  },
  { rule: 'relay-denied', result: 'blocked', codes: permanent, text: /relay/i },
  { rule: 'authentication-required', result: 'blocked', codes: [530, 538] },
  { rule: 'policy-refused', result: 'blocked', codes: permanent, enhanced: ['5.7.*'] },
  { rule: 'protocol-refused', result: 'blocked', codes: permanent, enhanced: ['5.5.*'] },
  { rule: 'system-refused', result: 'refused', codes: permanent, enhanced: ['5.3.*', '5.4.*'] },

  // 5xx by the bare code (RFC 5321, section 4.2.3): at RCPT it is hard for this mail, elsewhere it is about us or the
  // message.
  { rule: 'mailbox-full', result: 'bounced', stages: ['rcpt'], codes: [552, 552] },
  { rule: RECIPIENT_REFUSED, result: 'bounced', stages: ['rcpt'], codes: [521, 521] },
  { rule: RECIPIENT_REFUSED, result: 'bounced', stages: ['rcpt'], codes: [550, 559] },
  { rule: 'message-too-large', result: 'refused', codes: [552, 552] },
  { rule: 'command-refused', result: 'refused', codes: [500, 504] },
  { rule: 'refused', result: 'refused', codes: permanent },
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
  const { result, rule } = ruleOf({ stage, replyCode, text });
  return { result, rule, enhancedCode: enhancedCodeOf(text) };
};

/** A code that is no answer to the command, e.g. 2xx instead of 354. */
const PROTOCOL_ERROR: ReplyRule = { rule: 'protocol-error', result: 'deferred', codes: [0, 999] };

const ruleOf = ({
  stage,
  replyCode,
  text,
}: Readonly<{ stage: ReplyStage; replyCode: number; text: string }>): ReplyRule => {
  const enhancedCode = enhancedCodeOf(text);
  const words = wordsOf(text.slice(0, textCharsJudged));
  const fits = (one: ReplyRule): boolean =>
    replyCode >= one.codes[0] &&
    replyCode <= one.codes[1] &&
    (one.stages === undefined || one.stages.includes(stage)) &&
    (one.enhanced === undefined || one.enhanced.some((pattern) => enhancedFits(pattern, enhancedCode))) &&
    (one.text === undefined || one.text.test(words));
  return replyRules.find(fits) ?? PROTOCOL_ERROR;
};

/** Enough for any reply that people read; it bounds the work of the patterns. */
const textCharsJudged = 2_000;

/**
 * Without what is no sentence and may hold any word: the codes of further lines, addresses, and what follows the host
 * of a link.
 */
const wordsOf = (text: string): string =>
  text
    .replace(/\r?\n(\d{3}[ -](#?[245]\.\d{1,3}\.\d{1,3} )?)?/g, ' ')
    .replace(/[^\s<>"'(),;:[\]]{1,320}@[^\s<>"'(),;:[\]]{1,255}/g, '')
    .replace(/(https?:\/\/[^\s/]{1,255})\/\S*/gi, '$1');

/** RFC 2034: the enhanced code follows the reply code on each line of a reply. */
const ENHANCED = /^(?:\d{3}[ -])?#?([245]\.\d{1,3}\.\d{1,3})(?:\s|$)/m;

export const enhancedCodeOf = (text: string): string | null => ENHANCED.exec(text)?.[1] ?? null;

const enhancedFits = (pattern: string, code: string | null): boolean =>
  code !== null && (pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern);

type BounceClass = Readonly<{ bounceType: BounceType; bounceSubType: string }>;

/** A report about one recipient: its text, and the enhanced status code that it gives. */
type BounceWords = Readonly<{
  status: string | null;
  text: string;
  /** The text is the reply of a host, not prose around it. */ isReply?: true;
}>;

const hard = (bounceSubType: string): BounceClass => ({ bounceType: 'hard', bounceSubType });
const soft = (bounceSubType: string): BounceClass => ({ bounceType: 'soft', bounceSubType });
const ours = (bounceSubType: string): BounceClass => ({ bounceType: 'blocked', bounceSubType });

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
  {
    class: soft('too-large'),
    text: /exceed\w* (the )?(maximum )?.{0,20}(message|mail) size|message (is )?too (large|big|long)/i,
  },
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
  [RECIPIENT_REFUSED]: hard(RECIPIENT_REFUSED),
  'list-or-mailbox-refused': soft('mailbox-refused'),
  'mailbox-full': soft('mailbox-full'),
  greylisted: soft('greylisted'),
  'rate-limited': soft('rate-limited'),
  'too-many-recipients': soft('rate-limited'),
  'message-too-large': soft('too-large'),
  'sending-limit': ours('sending-limit'),
  'host-refused': ours('reputation'),
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

/**
 * Evidence of one bounce against the address. `proved`: it names the recipient. `unproved`: the host refused the
 * recipient without a reason; a second mail that ends so proves it. `none`: no evidence, or a temporary fault.
 */
export type BounceSign = 'proved' | 'unproved' | 'none';

/** In: the class of a report, or the rule that decided a reply. */
export const signOfBounce = (
  bounce: Readonly<{ rule: string | null; bounceType?: BounceType | undefined }>,
): BounceSign => {
  const bounceType = bounce.bounceType ?? classOfReplyRule[bounce.rule ?? '']?.bounceType;
  if (bounceType !== 'hard') return 'none';
  return bounce.rule === RECIPIENT_REFUSED ? 'unproved' : 'proved';
};

/**
 * In: a report about a recipient to whom the mail could not be delivered. Out: the reason, as far as the report tells.
 */
export const classifyBounce = ({ status, text, isReply }: BounceWords): BounceClass => {
  const words = text.slice(0, WORDS_CHARS_MAX).replace(/\s+/g, ' ');
  const { reply, isBlame } = replyClass(status, words, isReply === true);
  // A reply that blames us often mentions an address or a quota too, so it wins over the word rules.
  if (isBlame) return reply ?? UNDETERMINED;
  const said = wordRules.find((rule) => rule.text.test(words))?.class;
  return said ?? reply ?? classOfStatus[status?.slice(2) ?? ''] ?? UNDETERMINED;
};

/** How much of a prose text after a reply code is taken for its sentence. */
const SENTENCE_CHARS_MAX = 500;

/** Commands whose refusal is about the sender, as bounces name them. */
const AFTER_MAIL = /(reply to|after) (the )?(MAIL FROM|HELO|EHLO)\b/i;

/** `reply` is undefined if there is no reply code, no specific status and no reply about the sender. */
const replyClass = (
  status: string | null,
  words: string,
  isReply: boolean,
): Readonly<{ reply: BounceClass | undefined; isBlame: boolean }> => {
  const found = REPLY_CODE.exec(words);
  const isVague = status === null || status.endsWith('.0.0');
  const replyCode = Number(found?.[1] ?? (status?.startsWith('4') === true ? 450 : 550));
  const said = found === null ? words : words.slice(found.index).replace(/^[^45]/, '');
  const hasOwn = /^\d{3}[ -]#?[245]\.\d+\.\d+/.test(said);
  const sentence = isReply ? said : said.slice(0, SENTENCE_CHARS_MAX);
  const text = hasOwn || isVague ? sentence : `${replyCode} ${status} ${sentence}`;
  const stage = AFTER_MAIL.test(words) ? 'mail' : /RCPT/.test(words) ? 'rcpt' : 'message';
  const judged = ruleOf({ stage, replyCode, text });
  const isCoded = found !== null || (isReply && !isVague);
  const isBlame = judged.isBlame === true && (isCoded || isReply);
  return { reply: isCoded || !isVague || isBlame ? classOfReplyRule[judged.rule] : undefined, isBlame };
};
