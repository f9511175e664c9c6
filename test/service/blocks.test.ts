/**
 * Log lines about domains that block our mail: one for each domain and reason of a delivery, under a bounded number of
 * names.
 */
import t from 'tap';
import type { Mailer, OutgoingMessage, RecipientOutcome } from '../../src/domain/ports/mailer.js';
import { openDomainLabels, watchedForBlocks } from '../../src/service/observe/metrics.js';

const outcome = (result: RecipientOutcome['result'], rule: string): RecipientOutcome => ({
  result,
  rule,
  replyCode: 550,
  enhancedCode: null,
  text: '550',
});

const mailer: Mailer = {
  final: false,
  host: 'mx.example.net',
  probe: async () => true,
  close: async () => {},
  lend: async (_wanted, use) => {
    const recipients = [
      outcome('blocked', 'host-refused'),
      outcome('blocked', 'host-refused'),
      outcome('blocked', 'sending-limit'),
      outcome('bounced', 'mailbox-unknown'),
      outcome('accepted', 'accepted'),
    ];
    return { kind: 'used', result: await use(async () => ({ host: 'mx.example.net', durationMs: 1, recipients })) };
  },
};

void t.test(
  'a delivery tells each domain and reason once, with the number of recipients, and no address',
  async (t) => {
    const noted: unknown[] = [];
    const { signal } = new AbortController();
    const message: OutgoingMessage = {
      envelope: {
        from: 'a@example.com',
        to: ['b@One.example', 'c@one.example', 'd@one.example', 'e@two.example', 'f@three.example'],
      },
      messageId: '<1@example.com>',
      raw: Buffer.from(''),
    };
    const watched = watchedForBlocks(mailer, (...block) => void noted.push(block));
    await watched.lend({ priority: 'normal', signal }, (send) => send(message, signal));
    t.same(noted, [
      ['one.example', 'host-refused', 2],
      ['one.example', 'sending-limit', 1],
    ]);
    t.equal(watchedForBlocks(mailer, undefined), mailer, 'nobody counts');
  },
);

void t.test('200 domains are named, and all others together', async (t) => {
  const labelOf = openDomainLabels();
  const labels = Array.from({ length: 300 }, (_, index) => labelOf(`${index}.example`));
  t.equal(new Set(labels).size, 201);
  t.equal(labels[299], 'other');
  t.equal(labelOf('7.example'), '7.example');
});
