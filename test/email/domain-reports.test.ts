/** Reports about an email after it has left: its states, and the return path that names it. */
import { createHmac } from 'node:crypto';
import t from 'tap';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { ReportedRecipient } from '../../src/domain/ports/report-reader.js';
import { openReturnPath } from '../../src/domain/email/feedback.js';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import { at, attempted, content, EMAIL_ID, queued, queuedFor, sent } from '../support/email-facts.js';
import { specs } from '../support/given.js';

const told = (action: ReportedRecipient['action'], ...addresses: readonly string[]): ReportedRecipient => ({
  addresses,
  action,
  bounceType: 'hard',
  bounceSubType: 'no-such-mailbox',
  enhancedCode: '5.1.1',
  text: '550 5.1.1 no such user',
});
const report = (...recipients: readonly ReportedRecipient[]) => ({
  type: 'RecordReport' as const,
  at: at(60),
  recipients,
});
const complaint = (...addresses: readonly string[]) => ({
  type: 'RecordComplaint' as const,
  at: at(60),
  feedbackType: 'abuse',
  addresses,
});
const bounce = (...recipients: readonly number[]) => ({
  type: 'EmailBounceReported' as const,
  data: {
    at: at(60),
    bounces: recipients.map((recipient) => ({
      recipient,
      bounceType: 'hard' as const,
      bounceSubType: 'no-such-mailbox',
      enhancedCode: '5.1.1',
    })),
  },
  sealed: { replies: recipients.map(() => '550 5.1.1 no such user') },
});
const one = [queuedFor('to'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])] as const;
const three = [queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'accepted'])] as const;
const { given } = specs(emailDecider)(t);

void t.test('sent and delivered become bounced, sent becomes delivered, both become complained', async (t) => {
  const { given } = specs(emailDecider)(t);
  const addressed = { ...queuedFor('to'), sealed: { ...content, recipients: [{ email: 'ann@example.org' }] } };
  const only = [addressed, ...one.slice(1)] as unknown as typeof one;
  const bounced = given(...only)
    .when(report(told('failed', 'ANN@example.org')))
    .then(bounce(0));
  t.match(bounced, {
    status: 'bounced',
    failureReason: 'bounced',
    recipientStatuses: ['bounced'],
    replies: [{ bounceType: 'hard', rule: 'no-such-mailbox' }],
  });
  const delivered = { type: 'EmailDelivered' as const, data: { at: at(60), recipients: [0] } };
  t.match(
    given(...only)
      .when(report(told('delivered', 'ann@example.org')))
      .then(delivered),
    { status: 'delivered', deliveredAt: at(60) },
  );
  given(...only, delivered)
    .when(report(told('delivered', 'ann@example.org')))
    .nothing();
  t.equal(
    given(...only, delivered)
      .when(report(told('failed', 'forwarded@example.net')))
      .then(bounce(0))?.status,
    'bounced',
  );
  for (const action of ['delayed', 'relayed', 'expanded'] as const)
    given(...only)
      .when(report(told(action, 'ann@example.org')))
      .nothing();
  const complained = { type: 'EmailComplained' as const, data: { at: at(60), feedbackType: 'abuse', recipients: [0] } };
  t.match(
    given(...only)
      .when(complaint())
      .then(complained),
    { status: 'complained', complainedAt: at(60), recipientStatuses: ['complained'] },
  );
  given(...only, complained)
    .when(complaint('ann@example.org'))
    .nothing();
  given(...only, complained)
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
  given(...only, bounce(0))
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
});

void t.test('an email to several stands where the furthest stands that all have reached', async (t) => {
  const { given } = specs(emailDecider)(t);
  const state = given(...three)
    .when(report(told('failed', 'bob@example.org'), told('delivered', 'ann@example.org')))
    .then({ type: 'EmailDelivered', data: { at: at(60), recipients: [0] } }, bounce(1));
  t.match(state, { status: 'sent', recipientStatuses: ['delivered', 'bounced', 'sent'] });
  t.match(
    given(...three, bounce(1))
      .when(report(told('delivered', 'ann@example.org'), told('failed', 'cyd@example.org')))
      .then({ type: 'EmailDelivered', data: { at: at(60), recipients: [0] } }, bounce(2)),
    { status: 'delivered', deliveredAt: at(60) },
  );
  given(...three)
    .when(report(told('failed', 'nobody@example.org')))
    .nothing();
  t.match(
    given(...three)
      .when(complaint('cyd@example.org'))
      .then({ type: 'EmailComplained', data: { at: at(60), feedbackType: 'abuse', recipients: [2] } }),
    { status: 'sent', complainedAt: at(60) },
  );
  const unnamed = { type: 'EmailComplained' as const, data: { at: at(60), feedbackType: 'abuse', recipients: [] } };
  given(...three)
    .when(complaint())
    .then(unnamed);
  given(...three, unnamed)
    .when(complaint())
    .nothing();
});

void t.test('an archived or deleted email records nothing; one whose dialogue is under way is told later', async () => {
  given(...three, { type: 'EmailDeleted', data: { at: at(3) } })
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
  given(...three, { type: 'EmailArchived', data: { at: at(3) } })
    .when(complaint('ann@example.org'))
    .nothing();
  given(queued, attempted(1, at(1)))
    .when(report(told('failed', 'ann@example.org')))
    .refused('EMAIL_IN_PROGRESS');
});

void t.test('a return path names its email to who has the key, and to nobody else', async (t) => {
  const keys = (secret: string) => ({
    fingerprint: (purpose: string, text: string | Uint8Array) =>
      createHmac('sha256', secret).update(purpose).update(text).digest('hex'),
  });
  const path = openReturnPath('bounces.example.com', keys('a'));
  const id = assertDefined(parseEmailId(EMAIL_ID), 'email id');
  const sender = path.senderOf(id);
  t.match(sender, /^bounce\+[a-z2-7]{52}@bounces\.example\.com$/);
  t.ok(sender.indexOf('@') <= 64);
  t.equal(path.emailOf(sender), id);
  t.equal(path.emailOf(`<${sender.toUpperCase()}>`), id);
  const [local = ''] = sender.split('@');
  for (let at = 7; at < local.length; at += 1) {
    const other = local[at] === 'a' ? 'b' : 'a';
    t.equal(
      path.emailOf(`${local.slice(0, at)}${other}${local.slice(at + 1)}@bounces.example.com`),
      undefined,
      `another letter at ${at}`,
    );
    t.equal(path.emailOf(`${local.slice(0, at)}@bounces.example.com`), undefined, `cut short at ${at}`);
  }
  t.equal(path.emailOf(`${local}@example.com`), undefined);
  t.equal(path.emailOf(`${local}a@bounces.example.com`), undefined);
  t.equal(openReturnPath('bounces.example.com', keys('b')).emailOf(sender), undefined, 'another instance');
});
