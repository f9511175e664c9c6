/** Selection of the events for each subscription. */
import t from 'tap';
import { assertDefined, webhookStream, type WebhookId } from '../../src/domain/core/ids.js';
import { openRouter } from '../../src/processors/webhooks/router.js';
import { queued, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';
import { openLogOfTest } from '../support/projected.js';

const ids = ['wh_AAAAAAAAAAAAAAAAAAAAAA', 'wh_BAAAAAAAAAAAAAAAAAAAAA'] as WebhookId[];
const MORE = 40;

void t.test(
  'what is found while facts are appended waits for the next flush, and no subscription for another',
  async (t) => {
    const log = openLogOfTest();
    for (const id of ids) {
      const data = { at: T0, events: ['email.queued' as const], enabled: true };
      await log.append(webhookStream(id), [
        { type: 'WebhookCreated', data, sealed: { url: 'https://shop.example', secret: 'whsec_' } },
      ]);
    }
    const first = (await log.recorded()).length;
    for (let at = 0; at <= MORE; at += 1)
      await log.append(`email-0198f000-0000-7000-8000-0000000000${10 + at}`, [queued]);
    const emails = (await log.recorded()).slice(first);
    const routed: string[] = [];
    const eventLog: typeof log.eventLog = {
      ...log.eventLog,
      append: async (stream, ...rest) => {
        routed.push(stream);
        // The log grows at each append.
        const next = emails.shift();
        if (next !== undefined) await router.look(next);
        return log.eventLog.append(stream, ...rest);
      },
    };
    const router = openRouter({ eventLog, clock: fakeClock(), logger: memoryLog() });
    for (const id of ids) await router.add(id, TEAM_ID, first);
    await router.look(assertDefined(emails.shift(), 'an email'));
    await router.flush(1);
    t.same(routed, ids.map((id) => `webhookRoute-${id}.0`)); // prettier-ignore
    t.ok(router.pending() > 0);
    while (router.pending() > 0) await router.flush(1);
    for (const id of ids) {
      const facts = (await log.recorded()).flatMap(({ stream, event }) =>
        event.type === 'WebhookRouted' && stream.includes(id) ? event.data.entries : [],
      );
      t.same(
        facts.map(({ stream }) => stream.slice(-2)),
        Array.from({ length: MORE + 1 }, (_, at) => String(10 + at)),
        'each once, in the order of the log',
      );
    }
  },
);

void t.test(
  'what was found before a subscription is trashed goes to it, though it is trashed while facts are appended',
  async (t) => {
    const log = openLogOfTest();
    const [id] = ids as [WebhookId];
    const data = { at: T0, events: ['email.queued' as const], enabled: true };
    await log.append(webhookStream(id), [
      { type: 'WebhookCreated', data, sealed: { url: 'https://shop.example', secret: 'whsec_' } },
    ]);
    const email = (at: number) => log.append(`email-0198f000-0000-7000-8000-0000000000${at}`, [queued]);
    const first = (await log.recorded()).length;
    await email(10);
    await email(11);
    await log.append(webhookStream(id), [{ type: 'WebhookTrashed', data: { at: T0 } }]);
    await email(12);
    await log.append(webhookStream(id), [{ type: 'WebhookRestored', data: { at: T0 } }]);
    await email(13);
    const [before, during, trashed, ...later] = (await log.recorded()).slice(first);
    let isFirst = true;
    const eventLog: typeof log.eventLog = {
      ...log.eventLog,
      append: async (stream, ...rest) => {
        if (isFirst) {
          isFirst = false;
          await router.look(assertDefined(during, 'an email'));
          await router.look(assertDefined(trashed, 'the trashing'));
        }
        return log.eventLog.append(stream, ...rest);
      },
    };
    const router = openRouter({ eventLog, clock: fakeClock(), logger: memoryLog() });
    await router.add(id, TEAM_ID, first);
    await router.look(assertDefined(before, 'an email'));
    await router.flush(1);
    for (const recorded of later) await router.look(recorded);
    while (router.pending() > 0) await router.flush(1);
    const routed = (await log.recorded()).flatMap(({ event }) =>
      event.type === 'WebhookRouted' ? event.data.entries : [],
    );
    t.same(
      routed.map(({ stream }) => stream.slice(-2)),
      ['10', '11', '13'],
    );
  },
);
