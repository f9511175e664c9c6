/** One result for each recipient of a bulk send, whatever became of its email, at every moment of the batch. */
import t from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { BatchResult, BatchResultStatus } from '../../src/api/bulk.js';
import { makeProcessors } from '../../src/processors/index.js';
import { causeOfWork } from '../../src/processors/core/declaration.js';
import { assertDefined, emailIdInBatch, parseBatchId, type BatchId } from '../../src/domain/core/ids.js';
import { caller, stranger } from '../support/command-world.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';

const resultsOf = async (
  world: ProcessorWorld,
  id: BatchId,
  status?: BatchResultStatus,
): Promise<readonly BatchResult[]> => {
  const all: BatchResult[] = [];
  for await (const some of await world.commands.batchResults(caller, id, status)) {
    if (some.length > 20) throw new Error('more are held than are read at once');
    all.push(...some);
  }
  return all;
};

const recipients = [
  { email: 'r0@example.org', variables: { name: 'N0' } },
  { email: 'no address' },
  { email: 'r1@example.org', variables: { name: 'N1' } },
  { email: 'R0@example.org' },
  { email: 'r2@example.org' },
];

const accept = async (world: ProcessorWorld, given = recipients): Promise<BatchId> => {
  const { body } = await world.commands.sendBulk(caller, { templateId: 'welcome', recipients: given });
  return assertDefined(parseBatchId(body.batchId), 'batch id');
};

void t.test('before, while and after its emails are made', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await accept(world);
  const ids = [0, 1, 2].map((index) => emailIdInBatch(id, index));
  const brief = async (status?: BatchResultStatus) =>
    (await resultsOf(world, id, status)).map(({ place, email, status, emailId }) => [place, email, status, emailId]);
  t.same(await brief(), [
    [0, 'r0@example.org', 'queued', null],
    [1, null, 'skipped', null],
    [2, 'r1@example.org', 'queued', null],
    [3, null, 'duplicate', null],
    [4, 'r2@example.org', 'queued', null],
  ]);
  world.mailer.next.push(answers('accepted'), answers('bounced'));
  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  await until(async () => {
    await world.clock.advance(500);
    return (await brief('queued')).length === 0 && (await brief('processing')).length === 0;
  }, 'all have come to an end');
  const results = await resultsOf(world, id);
  t.same(
    results.map(({ emailId }) => emailId),
    [ids[0], null, ids[1], null, ids[2]],
  );
  t.match(results[4], { email: 'r2@example.org', status: 'failed', error: 'rendering', reply: /name/, sentAt: null });
  t.match(results[1], { error: 'the address has no @' });
  t.match(results[3], { error: 'its address is the address of recipients[0]' });
  t.same(new Set([results[0]?.status, results[2]?.status]), new Set(['sent', 'bounced']));
  t.match(
    results.find(({ status }) => status === 'sent'),
    { error: null, sentAt: String },
  );
  t.match(
    results.find(({ status }) => status === 'bounced'),
    { error: 'bounced', reply: String, sentAt: null },
  );
  t.same(await brief('failed'), [[4, 'r2@example.org', 'failed', ids[2]]]);
  t.same(await brief('duplicate'), [[3, null, 'duplicate', null]]);
  await world.commands.deleteEmail(caller, ids[2]!);
  t.match((await resultsOf(world, id))[4], {
    email: null,
    status: 'failed',
    emailId: null,
    error: 'rendering',
    reply: null,
  });
  await t.rejects(world.commands.batchResults(stranger, id), { code: 'BATCH_NOT_FOUND' });
  const unknown = assertDefined(parseBatchId('99999999-9999-4999-8999-999999999999'), 'batch id');
  await t.rejects(world.commands.batchResults(caller, unknown), { code: 'BATCH_NOT_FOUND' });
});

void t.test('of a cancelled one those that were never made are cancelled, too', async (t) => {
  const world = await openProcessorWorld(t);
  const people = Array.from({ length: 250 }, (_, index) => ({
    email: `r${index}@example.org`,
    variables: { name: `N${index}` },
  }));
  const id = await accept(world, people);
  const cause = causeOfWork(world.processing, 'fan-out-batch', {
    teamId: caller.teamId,
    correlationId: 'request-1',
    causationId: 'x',
  });
  await fanOut(world.deps, { id, cause, signal: new AbortController().signal });
  await world.commands.cancelBatch(caller, id);
  const results = await resultsOf(world, id, 'cancelled');
  t.same(
    results.map(({ place, emailId }) => [place, emailId !== null]),
    people.map((_, place) => [place, place < 200]),
  );
  t.equal(results[0]?.email, 'r0@example.org');
  t.equal(results[249]?.email, null, 'what was personal of it is destroyed');
});
