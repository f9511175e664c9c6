/** Pushing many emails on by hand: what waits is due now, what has failed is tried anew, and all else is left alone. */
import t from 'tap';
import type { SendEmailRequest } from '../../src/api/email.js';
import type { EmailId } from '../../src/domain/core/ids.js';
import { makeQueries } from '../../src/projections/queries.js';
import type { RetryFilter } from '../../src/projections/email/emails.js';
import { caller, stranger } from '../support/command-world.js';
import { answers, deliverEmailWorker, openProcessorWorld, relayAndTimers, until } from '../support/processor-world.js';

/** A world with one mail for each of these results, in that order. */
const openWorld = async (t: Parameters<typeof openProcessorWorld>[0]) => {
  const world = await openProcessorWorld(t, { delaysMs: [3_600_000] });
  world.run(relayAndTimers(world.processing));
  world.run(deliverEmailWorker(world.processing));
  const queries = makeQueries({ ...world.processing, readModels: world.readModels, awaitOwnWrites: async () => {} });
  const send = async (
    result: 'deferred' | 'refused' | 'accepted',
    more: Partial<SendEmailRequest> = {},
  ): Promise<EmailId> => {
    world.mailer.next.push(answers(result));
    const id = await world.send(more);
    const ends = { deferred: 'deferred', refused: 'failed', accepted: 'sent' } as const;
    await until(
      async () => (await world.commands.getEmail(caller, id)).attempts.at(-1)?.outcome === ends[result],
      `it is ${ends[result]}`,
    );
    await world.settled();
    return id;
  };
  const retry = async (filter: RetryFilter, domain?: string) => {
    const found = await queries.emailsToRetry(caller.teamId, filter, undefined);
    return world.commands.retryEmails(caller, {
      status: filter.status,
      ...found,
      ...(domain === undefined ? {} : { domain }),
    });
  };
  return { world, queries, send, retry };
};

const to = (email: string): Partial<SendEmailRequest> => ({ to: [{ email }] });

void t.test(
  'what waits for its next attempt is tried now and keeps its attempts; what has failed only where that is asked',
  async (t) => {
    const { world, send, retry } = await openWorld(t);
    const [later, failed] = [await send('deferred'), await send('refused')];
    await send('accepted');
    t.same(await retry({ status: 'queued' }), { retried: 1, held: 0 });
    await world.reaches(later, 'sent');
    t.match(await world.commands.getEmail(caller, later), {
      retryCount: 0,
      attempts: [{ outcome: 'deferred' }, { outcome: 'sent' }],
    });
    t.equal((await world.commands.getEmail(caller, failed)).status, 'failed');
    t.same(await retry({ status: 'failed' }), { retried: 1, held: 0 });
    await world.reaches(failed, 'sent');
    t.equal((await world.commands.getEmail(caller, failed)).retryCount, 1);
    await world.settled();
    t.same(
      [await retry({ status: 'queued' }), await retry({ status: 'failed' })],
      [
        { retried: 0, held: 0 },
        { retried: 0, held: 0 },
      ],
    );
  },
);

void t.test('of one domain, compared as the DNS does; of one template; of a time', async (t) => {
  const { world, send, retry } = await openWorld(t);
  const [here, there] = [
    await send('deferred', to('a@M\u00fcnchen.example')),
    await send('deferred', to('b@sub.xn--mnchen-3ya.example')),
  ];
  t.same(await retry({ status: 'queued' }, 'other.example'), { retried: 0, held: 0 });
  t.same(await retry({ status: 'queued', templateId: '00000000-0000-4000-8000-000000000000' }), {
    retried: 0,
    held: 0,
  });
  t.same(await retry({ status: 'queued', endDate: '2001-01-01T00:00:00.000Z' }), { retried: 0, held: 0 });
  t.same(await retry({ status: 'queued' }, 'XN--MNCHEN-3YA.example'), { retried: 1, held: 0 });
  await world.reaches(here, 'sent');
  t.equal((await world.commands.getEmail(caller, there)).status, 'queued');
});

void t.test('what has moved on since it was found, and what is of another team, is left alone', async (t) => {
  const { world, queries, send } = await openWorld(t);
  const [later, deleted] = [await send('deferred'), await send('deferred')];
  const found = await queries.emailsToRetry(caller.teamId, { status: 'queued' }, undefined);
  t.same([...found.ids].sort(), [later, deleted].sort());
  t.same(await world.commands.retryEmails(stranger, { status: 'queued', ...found }), { retried: 0, held: 0 });
  await world.commands.deleteEmail(caller, deleted);
  t.same(await world.commands.retryEmails(caller, { status: 'failed', ...found }), { retried: 0, held: 0 });
  t.same(await world.commands.retryEmails(caller, { status: 'queued', ...found }), { retried: 1, held: 0 });
});

void t.test('a call looks at a bounded number of emails and says where the next goes on', async (t) => {
  const { world, queries } = await openWorld(t);
  const documents = Array.from({ length: 2_500 }, (_, at) => ({
    id: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    seq: at + 1,
    position: at + 1,
    createdAt: new Date(1_900_000_000_000 + Math.floor(at / 7)).toISOString(),
    status: 'queued',
    summary: { nextAttemptAt: at % 2 === 0 ? '2031-01-01T00:00:00.000Z' : null },
  }));
  const read: number[] = [];
  const many = makeQueries({
    ...world.processing,
    awaitOwnWrites: async () => {},
    readModels: {
      ...world.readModels,
      find: async (_collection, { after, limit }) => {
        const from = documents.findIndex(({ seq }) => after === undefined || seq > after.seq);
        const page = documents.slice(from, from + limit);
        read.push(page.length);
        return page;
      },
    },
  });
  t.ok(queries);
  const ids: string[] = [];
  let cursor: string | undefined;
  let calls = 0;
  do {
    calls += 1;
    const page = await many.emailsToRetry(caller.teamId, { status: 'queued' }, cursor);
    ids.push(...page.ids);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.equal(calls, 3);
  t.same(read, [...Array.from({ length: 25 }, () => 100), 0], 'a hundred in one turn of the event loop');
  t.same(
    ids,
    documents.filter((_, at) => at % 2 === 0).map(({ id }) => id),
  );
});
