/**
 * The trace of an email: every event of it and every attempt to tell an endpoint of it, in one order, and nothing of
 * anybody else.
 */
import t from 'tap';
import { archiveEmail } from '../../src/commands/email/emails.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { suppressAddress } from '../../src/commands/recipients/suppressions.js';
import { timelinePage, type TimelinePage } from '../../src/domain/email/timeline.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import type { Document, ReadModels } from '../../src/domain/ports/read-models.js';
import { eventKey, webhookEventId, placedAttempt } from '../../src/domain/webhooks/delivery.js';
import { TRAIL_FACTS_MAX, webhookTrail } from '../../src/projections/webhooks/reads.js';
import { DAY_MS, outcome } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { caller, stranger, TEAM } from '../support/command-world.js';
import { answering, openWebhookWorld, type WebhookWorld } from '../support/webhook-world.js';

const all = { limit: 1_000, cursor: undefined };

const traced = async (
  world: WebhookWorld,
  id: EmailId,
  paging: Parameters<typeof timelinePage>[1] = all,
): Promise<TimelinePage> => {
  const { placed, told } = await world.commands.emailTrace(caller, id);
  const { attempts, isComplete } = await world.queries.webhookTrail(TEAM, told);
  if (!isComplete) throw new Error('it was not looked through');
  return timelinePage([...placed, ...attempts.map(placedAttempt)], paging);
};

void t.test('from the call to the answers of endpoints, each with its cause', async (t) => {
  const world = await openWebhookWorld(t);
  const [flaky, sound] = [
    await world.subscribe('/flaky', { events: ['email.queued', 'email.delivered'] }),
    await world.subscribe('/sound', { events: ['email.delivered'] }),
  ];
  world.endpoint('/flaky', answering(500));
  world.start('worker-1');
  const id = await world.accept();
  const other = await world.accept();
  await world.passes(2_000);
  await world.deliver(id);
  await world.deliver(other);
  await world.passes(2_000);
  world.endpoint('/flaky', answering(202));
  await world.passes(600_000, 10_000);
  const { data, meta } = await traced(world, id);
  const [queued, ...rest] = data;
  t.match(queued, {
    kind: 'EmailQueued',
    stream: emailStream(id),
    actor: caller.actor,
    cause: { kind: 'request', id: caller.correlationId },
    requestId: caller.correlationId,
    sinceMs: null,
    durationMs: null,
    details: { templateName: 'Welcome', priority: 'normal' },
  });
  t.notOk('subject' in queued!.details, 'what it says is in its record');
  const delivered = rest.find(({ kind }) => kind === 'EmailDelivered')!;
  t.match(delivered.recipients, [{ place: 0, role: 'to', email: 'ann@example.org' }]);
  const attempts = rest.filter(({ kind }) => kind === 'WebhookAttempted');
  t.same(
    attempts
      .map(({ stream, cause, details }) => [
        stream,
        cause.id,
        details['event'],
        details['attempt'],
        details['statusCode'],
      ])
      .toSorted(),
    [
      [`webhook-${flaky}`, queued!.id, 'email.queued', 1, 500],
      [`webhook-${flaky}`, queued!.id, 'email.queued', 2, 202],
      [`webhook-${flaky}`, delivered.id, 'email.delivered', 1, 500],
      [`webhook-${flaky}`, delivered.id, 'email.delivered', 2, 202],
      [`webhook-${sound}`, delivered.id, 'email.delivered', 1, 200],
    ].toSorted(),
  );
  t.match(attempts[0], {
    durationMs: Number,
    requestId: caller.correlationId,
    details: { status: 'failed', nextRetryAt: String, deliveryId: /^del_/ },
  });
  t.match(attempts.find(({ cause }) => cause.id === delivered.id)!.recipients, [
    { place: 0, email: 'ann@example.org' },
  ]);
  t.equal(new Set(data.map((entry) => entry.id)).size, data.length, 'each has an id of its own');
  t.equal(meta.total, data.length);

  const paged: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await traced(world, id, { limit: 2, cursor });
    t.ok(page.data.length <= 2);
    paged.push(...page.data);
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.same(paged, data, 'pages hold the same, the time since the entry before included');
  for (const wrong of [
    'nonsense',
    '',
    Buffer.from('timeline 1').toString('base64url'),
    Buffer.from('other 1 1').toString('base64url'),
  ])
    t.throws(() => timelinePage([], { limit: 2, cursor: wrong }), { code: 'INVALID_CURSOR' });

  await refusedWith(t, world.commands.emailTrace(stranger, id), 'EMAIL_NOT_FOUND');
});

void t.test(
  'attempts of a dialogue, a suppression because of it, and nothing personal once it is archived',
  async (t) => {
    const world = await openWebhookWorld(t);
    const id = await world.accept();
    const cause = causeOf(world.deps, caller);
    const stream = emailStream(id);
    const { version } = await (async () => {
      const recorded = await world.deps.eventLog.load(stream);
      const last = recorded.at(-1)!;
      return { version: { revision: last.revision, hash: last.hash, keyId: last.metadata.keyId } };
    })();
    const at = cause.at;
    const one = outcome(0, 'bounced');
    await world.deps.eventLog.append(
      stream,
      version,
      [
        { type: 'DeliveryAttempted', data: { attempt: 1, at, host: 'mx.example', worker: 'w', deadlineAt: at } },
        {
          type: 'EmailBounced',
          data: {
            attempt: 1,
            at,
            host: 'mx.example',
            durationMs: 42.5,
            bounceType: 'hard',
            outcomes: [{ recipient: 0, result: 'bounced', replyCode: 550, enhancedCode: '5.1.1', rule: one.rule }],
          },
          sealed: { replies: ['ann@example.org is not here'] },
        },
      ],
      cause,
    );
    await suppressAddress(world.deps, {
      teamId: TEAM,
      email: 'ann@example.org',
      reason: 'hard-bounce',
      cause,
      emailId: id,
    });
    await suppressAddress(world.deps, {
      teamId: TEAM,
      email: 'bob@example.org',
      reason: 'hard-bounce',
      cause,
      emailId: id,
    });
    const { data } = await traced(world, id);
    t.same(
      data.map(({ kind }) => kind),
      ['EmailQueued', 'DeliveryAttempted', 'EmailBounced', 'AddressSuppressed'],
    );
    t.match(data[1]!.details, { attempt: 1, host: 'mx.example', worker: 'w' });
    t.match(data[2], {
      durationMs: 42.5,
      details: { bounceType: 'hard' },
      recipients: [
        {
          email: 'ann@example.org',
          result: 'bounced',
          replyCode: 550,
          enhancedCode: '5.1.1',
          reply: 'ann@example.org is not here',
        },
      ],
    });
    t.match(data[3], {
      details: { reason: 'hard-bounce', emailId: id },
      recipients: [{ place: 0, email: 'ann@example.org' }],
    });
    t.notOk('address' in data[3]!.details);

    await world.clock.advance(40 * DAY_MS);
    t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), true);
    const archived = await traced(world, id);
    t.same(
      archived.data.map(({ kind }) => kind),
      ['EmailQueued', 'DeliveryAttempted', 'EmailBounced', 'EmailArchived'],
    );
    t.notMatch(JSON.stringify(archived), /ann@|not here/);
    t.match(archived.data[2], { recipients: [{ place: 0, email: null, result: 'bounced', replyCode: 550 }] });
    await world.commands.deleteEmail(caller, id);
    await refusedWith(t, world.commands.emailTrace(caller, id), 'EMAIL_NOT_FOUND');
  },
);

void t.test(
  'of what a busy endpoint was sent only so much is looked through, retries are looked for where they were due, and it says so',
  async (t) => {
    const webhook = 'wh_AAAAAAAAAAAAAAAAAAAAAA';
    const startMs = Date.parse('2030-01-01T12:00:00.000Z');
    const iso = (ms: number): string => new Date(ms).toISOString();
    const key = eventKey(webhook as never, 'event-1', undefined);
    const item = (number: number, of: string, more: object) => ({
      id: `del_${number}`,
      eventId: webhookEventId(number, of),
      event: 'email.queued',
      responseTime: 5,
      ...more,
    });
    const noise = 'B'.repeat(22);
    // A fact each second; the first attempt is in the third, the next, two hours later, far behind what is looked
    // through at once.
    const facts = Array.from({ length: 20_000 }, (_, second): Document => {
      const at = iso(startMs + second * 1_000);
      const attempt =
        second === 2
          ? item(7, key, {
              status: 'failed',
              attempt: 1,
              attemptedAt: at,
              statusCode: 500,
              nextRetryAt: iso(startMs + 7_200_000),
            })
          : second === 7_203
            ? item(7, key, { status: 'success', attempt: 2, attemptedAt: at, statusCode: 200 })
            : item(second, noise, { status: 'success', attempt: 1, attemptedAt: at });
      return {
        id: `${second}`,
        seq: second + 1,
        position: second + 1,
        webhook,
        at,
        items: [attempt],
      } as unknown as Document;
    });
    let looked = 0;
    const find: ReadModels['find'] = async (collection, { where, limit, after }) => {
      if (collection === 'webhooks') return [{ id: webhook, seq: 1, position: 1 }];
      const found = facts
        .filter(({ at, seq }) => String(at) >= String(where['at']!.gte) && (after === undefined || seq > after.seq))
        .slice(0, limit);
      looked += found.length;
      return found;
    };
    const told = [{ eventId: 'event-1', requestId: 'r', at: iso(startMs), recipients: [] }];
    const { attempts, isComplete } = await webhookTrail({ find }, TEAM, told);
    t.same(
      attempts.map(({ item: { attempt } }) => attempt),
      [1, 2],
    );
    t.equal(isComplete, false);
    t.ok(looked <= TRAIL_FACTS_MAX + 200, `${looked} facts were read`);
  },
);
