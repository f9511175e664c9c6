/** Real replies of mail servers: every rule is reached, and known wordings get the right verdict. */
import t from 'tap';
import {
  classifyBounce,
  classifyReply,
  enhancedCodeOf,
  replyRules,
  signOfBounce,
  type BounceSign,
  type ReplyStage,
} from '../../../src/domain/email/bounce-rules.js';
import { growsLinearly } from '../../support/linear.js';

const cases: readonly (readonly [stage: ReplyStage, text: string, result: string, rule: string])[] = [
  // Sessions
  ['session', '535 5.7.8 Username and Password not accepted', 'deferred', 'authentication-failed'],
  ['session', '535 authentication failed', 'deferred', 'authentication-failed'],
  ['session', '554 5.7.1 your address is listed', 'deferred', 'session-refused'],
  ['session', '421 4.7.0 too many connections', 'deferred', 'service-closing'],
  ['session', '454 4.7.0 TLS not available', 'deferred', 'try-later'],
  // 4xx
  ['rcpt', '450 4.2.0 Greylisted, try again in 300 seconds', 'deferred', 'greylisted'],
  ['rcpt', '451 4.7.1 Graylisting in action', 'deferred', 'greylisted'],
  ['rcpt', '452 4.2.2 mailbox full', 'deferred', 'mailbox-full'],
  ['message', '421 4.7.28 unusual rate of mail', 'deferred', 'service-closing'],
  ['message', '450 4.7.28 unusual traffic', 'deferred', 'rate-limited'],
  ['rcpt', '451 Rate limit exceeded', 'deferred', 'rate-limited'],
  ['mail', '452 4.3.1 insufficient system storage', 'deferred', 'try-later'],
  ['rcpt', '450 4.1.1 user unknown, for now', 'deferred', 'try-later'],
  // The sender
  ['mail', '550 5.1.0 sender rejected', 'blocked', 'sender-refused'],
  ['mail', '553 5.1.8 domain of sender address does not exist', 'blocked', 'sender-refused'],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', 'blocked', 'authentication-required'],
  ['mail', '552 message size exceeds limit', 'refused', 'message-too-large'],
  ['mail', '554 5.3.4 too big', 'refused', 'message-too-large'],
  ['rcpt', '550 5.1.8 sender domain not found', 'blocked', 'sender-refused'],
  // The recipient
  ['rcpt', '550 5.1.1 The email account that you tried to reach does not exist', 'bounced', 'mailbox-unknown'],
  [
    'rcpt',
    '550-5.1.1 The email account that you tried to reach\n550 5.1.1 does not exist',
    'bounced',
    'mailbox-unknown',
  ],
  ['rcpt', '550 5.7.1 <x@example.org>: Recipient address rejected: user unknown', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 No such user here', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 Requested action not taken: mailbox unavailable', 'bounced', 'mailbox-unknown'],
  [
    'message',
    "554 delivery error: dd This user doesn't have a yahoo.com account (x@yahoo.com)",
    'bounced',
    'mailbox-unknown',
  ],
  ['rcpt', '551 user not local', 'bounced', 'mailbox-unknown'],
  ['rcpt', '553 mailbox name not allowed', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 5.1.2 bad destination system', 'bounced', 'domain-unknown'],
  ['rcpt', '550 5.4.4 unrouteable', 'bounced', 'domain-unknown'],
  ['rcpt', '556 5.1.10 recipient address has null MX', 'bounced', 'domain-takes-no-mail'],
  ['rcpt', '556 no mail here', 'bounced', 'domain-takes-no-mail'],
  ['rcpt', '521 host does not accept mail', 'bounced', 'domain-takes-no-mail'],
  ['rcpt', '550 5.1.6 recipient no longer on server', 'bounced', 'mailbox-moved'],
  ['rcpt', '550 5.2.1 mailbox disabled', 'bounced', 'mailbox-disabled'],
  ['rcpt', '554 The account has been suspended', 'bounced', 'mailbox-disabled'],
  ['rcpt', '552 5.2.2 over quota', 'bounced', 'mailbox-full'],
  ['rcpt', '552 no more room', 'bounced', 'mailbox-full'],
  ['message', '554 mailbox is full', 'bounced', 'mailbox-full'],
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 5.4.1 no', 'bounced', 'recipient-refused'],
  ['rcpt', '550 no', 'bounced', 'recipient-refused'],
  ['rcpt', '550 5.1.90 daily limit', 'blocked', 'sending-limit'],
  ['message', '550 5.2.4 list expansion problem', 'bounced', 'list-or-mailbox-refused'],
  ['rcpt', '552 too many recipients', 'deferred', 'too-many-recipients'],
  ['rcpt', '550 5.5.3 that is enough', 'deferred', 'too-many-recipients'],
  // Us, or the message
  ['rcpt', '554 5.7.1 <x@example.org>: Relay access denied', 'blocked', 'relay-denied'],
  ['rcpt', '550 relaying not permitted', 'blocked', 'relay-denied'],
  ['rcpt', '530 5.7.0 authentication required', 'blocked', 'authentication-required'],
  ['rcpt', '550 5.7.1 Client host blocked using zen.spamhaus.org', 'blocked', 'host-refused'],
  ['message', '554 5.7.1 message content rejected as spam', 'blocked', 'spam-suspected'],
  ['message', '550 5.7.26 this mail is unauthenticated: DMARC', 'blocked', 'sender-not-authenticated'],
  ['message', '550 5.7.0 not wanted', 'blocked', 'policy-refused'],
  ['message', '554 5.6.0 bad content', 'blocked', 'content-refused'],
  ['message', '552 5.3.4 message too big', 'refused', 'message-too-large'],
  ['message', '552 message exceeds fixed maximum size', 'refused', 'message-too-large'],
  ['message', '554 your message is too large', 'refused', 'message-too-large'],
  ['message', '552 no', 'refused', 'message-too-large'],
  ['data', '554 5.5.1 no valid recipients', 'blocked', 'protocol-refused'],
  ['message', '554 5.3.0 rejected', 'refused', 'system-refused'],
  ['data', '502 not implemented', 'refused', 'command-refused'],
  ['message', '554 transaction failed', 'refused', 'refused'],
  // The dialogue itself
  ['rcpt', '503 5.5.1 bad sequence', 'deferred', 'out-of-sequence'],
  ['data', '250 what?', 'deferred', 'protocol-error'],
  ['message', '', 'deferred', 'protocol-error'],
];

void t.test('known wordings', async (t) => {
  for (const [stage, text, result, rule] of cases) {
    const verdict = classifyReply({ stage, replyCode: Number(text.slice(0, 3)), text });
    t.same([verdict.result, verdict.rule], [result, rule], `${stage}: ${text}`);
  }
});

/**
 * Replies of hosts to RCPT, as their documentation and their users quote them. `blocked`: the sentence is about the
 * sender, whatever its code is. `proved` and `unproved`: the sign that it gives of the address.
 */
const sentences: readonly (readonly [text: string, verdict: 'blocked' | BounceSign])[] = [
  // Rates and limits of the sender
  [
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n550-5.2.1 prevents additional messages from being delivered. For more information, visit\n550 5.2.1  https://support.google.com/mail/?p=ReceivingRatePerm',
    'blocked',
  ],
  [
    '550 5.4.5 Daily user sending limit exceeded. For more information go to https://support.google.com/a/answer/166852',
    'blocked',
  ],
  ["550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients", 'blocked'],
  ['550 5.1.1 Your domain has sent to too many recipients this hour', 'blocked'],
  [
    '550 Domain example.com has exceeded the max emails per hour (100/100 (100%)) allowed. Message discarded.',
    'blocked',
  ],
  ['550 maximum allowed number of messages in a single session exceeded', 'blocked'],
  ['550 5.1.1 Too many transactions in this session', 'blocked'],
  ['550 5.7.1 messages/connection exceeded', 'blocked'],
  // The sender's address
  ['550 5.1.8 <a@example.com>: Sender address rejected: Domain not found', 'blocked'],
  ['550 <a@example.com>: Sender address rejected: Domain not found', 'blocked'],
  ['550 5.1.7 <a>: Sender address rejected: need fully-qualified address', 'blocked'],
  ['550 5.1.1 <a@example.com>: Sender address rejected: User unknown in relay recipient table', 'blocked'],
  ['550 5.1.0 <a@example.com>: Sender address rejected: User unknown', 'blocked'],
  ['550 5.1.1 Sender domain does not exist', 'blocked'],
  ['550-Verification failed for <a@example.com>\n550-No Such User Here\n550 Sender verify failed', 'blocked'],
  ['550 Verification failed for <a@example.com>', 'blocked'],
  ['550 Sender verify failed', 'blocked'],
  ['550 Could not complete sender verify callout', 'blocked'],
  ['553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)', 'blocked'],
  ['554 5.2.252 SendAsDenied; a@example.com not allowed to send as b@example.com', 'blocked'],
  ['550 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process message', 'blocked'],
  ['550 5.1.8 Access denied, bad outbound sender AS(42004)', 'blocked'],
  ['550 5.1.1 you are not allowed to post to this mailing list', 'blocked'],
  // The sender's host
  ['550 5.1.1 Client host rejected: cannot find your hostname, [192.0.2.1]', 'blocked'],
  ['550 5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup', 'blocked'],
  ['550 5.1.1 Fix reverse DNS for 192.0.2.1', 'blocked'],
  ['550 5.1.1 Your IP 192.0.2.1 is on our block list', 'blocked'],
  ['550 5.1.1 Mail from 192.0.2.1 refused: see https://mail.example', 'blocked'],
  ['554 5.7.1 <host.example.com>: Helo command rejected: Host not found', 'blocked'],
  ['550 5.7.606 Access denied, banned sending IP [192.0.2.1]', 'blocked'],
  [
    "550 5.7.1 Unfortunately, messages from [192.0.2.5] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
    'blocked',
  ],
  // Policies
  ['550 Denied by policy', 'blocked'],
  ['550 Access denied', 'blocked'],
  ['550 Administrative prohibition', 'blocked'],
  ['550 Rejected by header based Anti-Spoofing policy', 'blocked'],
  ['550 5.7.705 Access denied, tenant has exceeded threshold', 'blocked'],
  ['550 5.7.13 user account disabled', 'blocked'],
  // No reason
  ['550 rejected', 'unproved'],
  ['554 Requested transaction refused', 'unproved'],
  ['550 5.0.0 rejected', 'unproved'],
  ['550 5.1.0 Address rejected', 'unproved'],
  ['550 5.2.0 rejected', 'unproved'],
  ['521 5.2.1 : (CON:B1) https://postmaster-us.info.aol.com/error-codes#554conb1', 'unproved'],
  ['552 5.2.2 over quota', 'none'],
  // The recipient
  ['550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [x.prod.protection.outlook.com]', 'proved'],
  ['550 5.4.1 [b@example.org]: Recipient address rejected: Access denied', 'proved'],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient b@example.org not found by SMTP address lookup', 'proved'],
  [
    '550 5.1.1 <spam-blocked@policy.example>: Recipient address rejected: User unknown in virtual mailbox table',
    'proved',
  ],
  [
    '550 5.1.1 <b@example.org>: Recipient address rejected: undeliverable address: host mx[192.0.2.1] said: 550 5.1.1 user unknown',
    'proved',
  ],
  ['550 Unrouteable address', 'proved'],
  [
    '550 5.2.1 The email account that you tried to reach is disabled. Learn more at https://support.google.com/mail/?p=DisabledUser',
    'proved',
  ],
  ['550 Mailbox has been blocked due to inactivity', 'proved'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).', 'proved'],
  [
    '550 Requested action not taken: mailbox unavailable. For explanation visit https://mx.example/error?ip=192.0.2.1&c=spam',
    'proved',
  ],
  ['550 5.1.1 Not our Customer', 'proved'],
  ['550 sorry, no mailbox here by that name (#5.1.1 - chkuser)', 'proved'],
];

void t.test(
  'a refusal suppresses an address only where it names the recipient, in a dialogue and in a report',
  async (t) => {
    for (const [text, expected] of sentences) {
      const { result, rule } = classifyReply({ stage: 'rcpt', replyCode: Number(text.slice(0, 3)), text });
      t.equal(result === 'bounced' ? signOfBounce({ rule }) : result, expected, text);
      const reported = classifyBounce({
        status: enhancedCodeOf(text),
        text: `${text} (in reply to RCPT TO command)`,
        isReply: true,
      });
      const { bounceType, bounceSubType } = reported;
      t.equal(
        bounceType === 'blocked' ? bounceType : signOfBounce({ rule: bounceSubType, bounceType }),
        expected,
        `reported: ${text}`,
      );
    }
  },
);

void t.test('no address, link or further line of a reply is taken for its sentence', async (t) => {
  for (const text of [
    '550 5.1.1 <sender-rejected@spam.example> user unknown',
    '550 5.1.1 user unknown, see https://mx.example/blocked/policy?sender=refused',
    '550-5.1.1 The account that you tried\n550-5.1.1 to reach does not\n550 5.1.1 exist',
  ])
    t.equal(classifyReply({ stage: 'rcpt', replyCode: 550, text }).rule, 'mailbox-unknown', text);
});

void t.test('what blames the sender is of the class blocked, in a dialogue and in a report', async (t) => {
  for (const { rule, result } of replyRules) if (result === 'blocked') t.equal(signOfBounce({ rule }), 'none', rule);
});

void t.test('every rule name is reached by a case', async (t) => {
  const reached = new Set(cases.map((one) => one[3]));
  t.same(
    [...new Set(replyRules.map((one) => one.rule))].filter((rule) => !reached.has(rule)),
    [],
  );
});

void t.test('4xx is always tried again, 5xx in a transaction only where the table says so', async (t) => {
  for (const stage of ['mail', 'rcpt', 'data', 'message'] as const) {
    for (let replyCode = 400; replyCode < 500; replyCode += 1)
      t.equal(classifyReply({ stage, replyCode, text: `${replyCode} 5.1.1 no such user, spam` }).result, 'deferred');
    for (let replyCode = 500; replyCode < 600; replyCode += 1) {
      const { result } = classifyReply({ stage, replyCode, text: `${replyCode} no` });
      if (replyCode !== 503)
        t.ok(result === 'bounced' || result === 'refused' || result === 'blocked', `${stage} ${replyCode}`);
      if (stage === 'mail') t.not(result, 'bounced', 'MAIL never blames the recipient');
    }
  }
});

void t.test('enhanced codes', async (t) => {
  t.equal(enhancedCodeOf('550 5.1.1 x'), '5.1.1');
  t.equal(enhancedCodeOf('550-5.7.26 x\n550 5.7.26 y'), '5.7.26');
  t.equal(enhancedCodeOf('5.7.26 x'), '5.7.26');
  t.equal(enhancedCodeOf('550 5.1.1'), '5.1.1');
  t.equal(enhancedCodeOf('550 host 10.5.1.1 refused'), null);
  t.equal(enhancedCodeOf('550 see 5.1.1 x'), null);
  t.equal(enhancedCodeOf('550 5.1.1234 x'), null);
  t.equal(enhancedCodeOf(''), null);
});

void t.test('a hostile reply takes time in proportion', async (t) => {
  for (const part of [
    'user ',
    'exceed ',
    ' ',
    'sender ',
    'your ip ',
    'a@b ',
    'http://a ',
    'domain ',
    'mail from 1',
    '\n550-',
  ]) {
    const classify = (size: number) =>
      classifyReply({ stage: 'rcpt', replyCode: 550, text: `550 ${part.repeat(size / part.length)}` });
    t.ok(await growsLinearly(classify, 1_000_000), part);
  }
});
