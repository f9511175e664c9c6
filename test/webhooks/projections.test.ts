/** Attempts to deliver to a subscription, as the read models show them. */
import t from 'tap';
import { DAY_MS } from '../../src/domain/core/time.js';
import type { WebhookId } from '../../src/domain/core/ids.js';
import { webhookOutcomeStream, webhookStream } from '../../src/domain/core/ids.js';
import type { WebhookOutcome, WebhookOutcomeEvent } from '../../src/domain/webhooks/events.js';
import { webhooksProjection, WEBHOOKS, type WebhookDocument } from '../../src/projections/webhooks/webhooks.js';
import { dueFailures, listDeliveries } from '../../src/projections/webhooks/reads.js';
import { T0 } from '../support/email-facts.js';
import { openDocuments, openLogOfTest, projectIn } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const id = 'wh_AAAAAAAAAAAAAAAAAAAAAA' as WebhookId;
const later = '2030-01-01T10:01:00.000Z';

const outcome = (number: number, result: WebhookOutcome['result'], attempt = 1): WebhookOutcome => ({
  ...{
    number,
    previous: null,
    stream: 'email-018c0000-0000-7000-8000-000000000001',
    revision: 0,
    at: T0,
    kind: 'email.queued',
  },
  ...{ key: 'AAAAAAAAAAAAAAAAAAAAAA', attempt, attemptedAt: T0, result, responseMs: 1 },
  ...(result === 'failed' ? { nextRetryAt: later } : {}),
});

const attempted = (...outcomes: WebhookOutcome[]): WebhookOutcomeEvent => ({
  type: 'WebhookAttempted',
  data: { at: T0, since: T0, progress: { reached: 3, failingSince: null }, outcomes },
  sealed: { answers: outcomes.map(() => null) },
});

for (const sizes of [[1], [100]])
  void t.test(`failures that one fact tells of are each tried again, in batches of ${sizes.join()}`, async (t) => {
    const log = openLogOfTest();
    const readModels = openDocuments(t);
    const due = async () => (await dueFailures(readModels, id, 10)).map(({ sent, attempt }) => [sent.number, attempt]);
    const tell = async (...events: WebhookOutcomeEvent[]): Promise<void> => {
      await log.append(webhookOutcomeStream(id, 0), events);
      await projectIn(readModels, webhooksProjection(30 * DAY_MS), await log.recorded(), { sizes });
    };
    await tell(attempted(outcome(0, 'failed'), outcome(1, 'success'), outcome(2, 'failed'), outcome(3, 'failed')));
    t.same(await due(), [[0, 1], [2, 1], [3, 1]]); // prettier-ignore
    await tell(attempted(outcome(2, 'failed', 2), outcome(0, 'success', 2)), attempted(outcome(4, 'failed')));
    t.same((await due()).sort(), [[2, 2], [3, 1], [4, 1]]); // prettier-ignore
    const { deliveries } = await listDeliveries({ readModels, keys: memoryKeys() }, id, T0, {
      limit: 100,
      cursor: undefined,
    });
    t.equal(deliveries.length, 7);
  });

void t.test('attempts are listed by result and kind, page by page, however far apart they are', async (t) => {
  const log = openLogOfTest();
  const readModels = openDocuments(t);
  const all = Array.from({ length: 60 }, (_, number) => ({
    ...outcome(number, number % 20 === 3 ? 'failed' : 'success'),
    kind: number % 2 === 0 ? ('email.queued' as const) : ('email.sent' as const),
  }));
  await log.append(
    webhookOutcomeStream(id, 0),
    Array.from({ length: 20 }, (_, fact) => attempted(...all.slice(fact * 3, fact * 3 + 3))),
  );
  await projectIn(readModels, webhooksProjection(30 * DAY_MS), await log.recorded(), { sizes: [100] });
  const listed = async (limit: number, filter: Parameters<typeof listDeliveries>[4]) => {
    const seen: string[] = [];
    let cursor: Parameters<typeof listDeliveries>[3]['cursor'];
    for (let pages = 0; ; pages += 1) {
      const page = await listDeliveries({ readModels, keys: memoryKeys() }, id, T0, { limit, cursor }, filter);
      t.ok(page.deliveries.length <= limit && pages < 100);
      seen.push(...page.deliveries.map(({ eventId, status, event }) => `${eventId} ${status} ${event}`));
      if (page.next === undefined) return seen;
      cursor = page.next;
    }
  };
  const whole = await listed(100, {});
  t.equal(whole.length, 60);
  for (const limit of [1, 2, 7, 100]) {
    t.same(await listed(limit, {}), whole, `all by ${limit}`);
    for (const filter of [
      { status: 'failed' },
      { event: 'email.queued' },
      { status: 'success', event: 'email.sent' },
    ] as const) {
      const wanted = whole.filter((line) => Object.values(filter).every((part) => line.includes(part)));
      t.ok(wanted.length > 2);
      t.same(await listed(limit, filter), wanted, `${JSON.stringify(filter)} by ${limit}`);
    }
  }
  t.same(await listed(7, { event: 'email.opened' }), []);
});

void t.test('a secret that is rotated leaves what lists show as it is, wherever the event was written', async (t) => {
  const log = openLogOfTest();
  const readModels = openDocuments(t);
  const url = 'https://shop.example/hooks';
  await log.append(webhookStream(id), [
    {
      type: 'WebhookCreated',
      data: { at: T0, events: ['email.sent'], enabled: true },
      sealed: { url, description: 'Shop', secret: 'whsec_1' },
    },
    { type: 'WebhookSecretRotated', data: { at: T0, overlapUntil: later }, sealed: { secret: 'whsec_2' } },
    { type: 'WebhookChanged', data: { at: T0, enabled: false }, sealed: {} },
  ]);
  const projection = webhooksProjection(30 * DAY_MS);
  const { decrypts } = projection;
  // Another process has nothing at hand but what the projection asks for.
  const recorded = (await log.recorded()).map((one) =>
    decrypts?.includes(one.event.type) === true
      ? one
      : { ...one, event: { type: one.event.type, data: one.event.data } as typeof one.event },
  );
  await projectIn(readModels, projection, recorded, { sizes: [1] });
  const document = (await readModels.get(WEBHOOKS, id)) as WebhookDocument;
  t.same(document.shown, { url, description: 'Shop' });
  t.same([document.webhook?.overlapUntil, document.webhook?.enabled], [later, false]);
});
