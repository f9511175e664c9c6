/** What replies of the wild mean: every rule is reached, and known wordings get the right verdict. */
import t from 'tap';
import { classifyReply, enhancedCodeOf, replyRules, type ReplyStage } from '../../../src/domain/email/bounce-rules.js';
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
  ['mail', '550 5.1.0 sender rejected', 'refused', 'sender-refused'],
  ['mail', '553 5.1.8 domain of sender address does not exist', 'refused', 'sender-refused'],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', 'refused', 'authentication-required'],
  ['mail', '552 message size exceeds limit', 'refused', 'message-too-large'],
  ['mail', '554 5.3.4 too big', 'refused', 'message-too-large'],
  ['rcpt', '550 5.1.8 sender domain not found', 'refused', 'sender-refused'],
  // The recipient
  ['rcpt', '550 5.1.1 The email account that you tried to reach does not exist', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550-5.1.1 The email account that you tried to reach\n550 5.1.1 does not exist', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 5.7.1 <x@example.org>: Recipient address rejected: user unknown', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 No such user here', 'bounced', 'mailbox-unknown'],
  ['rcpt', '550 Requested action not taken: mailbox unavailable', 'bounced', 'mailbox-unknown'],
  ['message', "554 delivery error: dd This user doesn't have a yahoo.com account (x@yahoo.com)", 'bounced', 'mailbox-unknown'],
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
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied', 'bounced', 'recipient-refused'],
  ['message', '550 5.2.4 list expansion problem', 'bounced', 'list-or-mailbox-refused'],
  ['rcpt', '552 too many recipients', 'deferred', 'too-many-recipients'],
  ['rcpt', '550 5.5.3 that is enough', 'deferred', 'too-many-recipients'],
  // Us, or the message
  ['rcpt', '554 5.7.1 <x@example.org>: Relay access denied', 'refused', 'relay-denied'],
  ['rcpt', '550 relaying not permitted', 'refused', 'relay-denied'],
  ['rcpt', '530 5.7.0 authentication required', 'refused', 'authentication-required'],
  ['rcpt', '550 5.7.1 Client host blocked using zen.spamhaus.org', 'refused', 'spam-suspected'],
  ['message', '554 5.7.1 message content rejected as spam', 'refused', 'spam-suspected'],
  ['message', '550 5.7.26 this mail is unauthenticated: DMARC', 'refused', 'sender-not-authenticated'],
  ['message', '550 5.7.0 not wanted', 'refused', 'policy-refused'],
  ['message', '554 5.6.0 bad content', 'refused', 'content-refused'],
  ['message', '552 5.3.4 message too big', 'refused', 'message-too-large'],
  ['message', '552 message exceeds fixed maximum size', 'refused', 'message-too-large'],
  ['message', '554 your message is too large', 'refused', 'message-too-large'],
  ['message', '552 no', 'refused', 'message-too-large'],
  ['data', '554 5.5.1 no valid recipients', 'refused', 'protocol-refused'],
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
      if (replyCode !== 503) t.ok(result === 'bounced' || result === 'refused', `${stage} ${replyCode}`);
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
  for (const part of ['user ', 'exceed ', ' ']) {
    const classify = (size: number) => classifyReply({ stage: 'rcpt', replyCode: 550, text: `550 ${part.repeat(size / part.length)}` });
    t.ok(await growsLinearly(classify, 1_000_000), part);
  }
});
