/** Writes of a stopped writer may arrive while its successor runs: the successor's documents are right all the same. */
import t from 'tap';
import { EMAIL_COUNTS, EMAILS } from '../../src/projections/email/emails.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { openUnitOfWork } from '../../src/projections/core/unit-of-work.js';
import type { Recorded } from '../../src/domain/events.js';
import { attempted, deferred, queued, PERIODS, sent, T0 } from '../support/email-facts.js';
import { scriptedFaults } from '../support/distant/faults.js';
import { openDistantReadModels, readModelServer } from '../support/distant/read-models.js';
import { makeScheduler, machineNamed } from '../support/distant/scheduler.js';
import { documentsOf, openLogOfTest, projectIn } from '../support/projected.js';

const projection = emailsProjection(PERIODS);
const streamOf = (index: number): string => `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`;

/** Read models whose `lost`-th move of the checkpoint never arrives; the documents of that write are there. */
const openModels = (lost: number) => {
  const scheduler = makeScheduler({ seed: 1, selfDriven: true });
  const faults = scriptedFaults([{ operation: 'read-models.checkpoint', call: lost, fate: 'request-lost' }]);
  return openDistantReadModels(readModelServer(), { scheduler, faults, machine: machineNamed('test') });
};

const story = async (): Promise<readonly Recorded[]> => {
  const world = openLogOfTest();
  const nothing: readonly [number, 'accepted'] = [0, 'accepted'];
  await world.append(streamOf(1), [queued]);
  await world.append(streamOf(2), [queued]);
  await world.append(streamOf(1), [attempted(1, T0)]);
  await world.append(streamOf(1), [sent(1, T0, nothing, [1, 'accepted'], [2, 'accepted'])]);
  await world.append(streamOf(2), [attempted(1, T0)]);
  await world.append(streamOf(2), [deferred(1, T0, T0, [0, 'deferred'], [1, 'deferred'], [2, 'deferred'])]);
  return world.recorded();
};

void t.test('documents that lie ahead are met with the counts that belong to them', async (t) => {
  const recorded = await story();
  const models = openModels(3);
  const store = await models.projection(projection.name, projection.collections);
  const positions = recorded.map(({ position }) => position);
  const first = openUnitOfWork(projection, store);
  await first.fold(recorded.slice(0, 1));
  const begun = await first.write(await store.checkpoint(), positions[0]!);

  const successor = openUnitOfWork(projection, store);
  await successor.fold(recorded.slice(1, 2));
  const checkpoint = await successor.write(begun, positions[1]!);
  await first.fold(recorded.slice(1, 4));
  await t.rejects(first.write(begun, positions[3]!), 'its documents arrive, its checkpoint never');

  await successor.fold(recorded.slice(2));
  await successor.write(checkpoint, positions.at(-1)!);

  const honest = openModels(0);
  await projectIn(honest, projection, recorded);
  const [found, expected] = [await documentsOf(models, projection), await documentsOf(honest, projection)];
  t.same(found[EMAIL_COUNTS], expected[EMAIL_COUNTS]);
  t.same(found[EMAILS], expected[EMAILS]);
});
