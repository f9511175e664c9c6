/**
 * Entries of the audit log expire by a fact, and call origins by the destruction of their key; a rebuild brings none
 * back.
 */
import t from 'tap';
import { auditProjection, overdueAudit } from '../../src/projections/audit/audit.js';
import { callOrigin } from '../../src/domain/access/origins.js';
import { auditOriginsStream } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { forgetAuditWorker } from '../../src/processors/audit/ledger.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { Recorded } from '../../src/domain/events.js';
import { caller, openWorld, TEAM, type World } from '../support/command-world.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { documentsOf, openDocuments, projectIn } from '../support/projected.js';
import { eventually } from '../support/wait.js';

const DAYS = 731;
const who: Caller = { ...caller, calledFrom: () => callOrigin('192.0.2.7', 'curl') };

const recordedOf = async ({ deps }: World): Promise<readonly Recorded[]> => {
  const all: Recorded[] = [];
  for await (const { events } of deps.eventLog.readAll(0)) all.push(...events);
  return all;
};

void t.test('after two years', async (t) => {
  const world = await openWorld();
  const projection = auditProjection(DAYS);
  const readModels = openDocuments(t);
  const project = async (): Promise<void> => projectIn(readModels, projection, await recordedOf(world));
  await world.commands.createApiKey(who, { name: 'old', permissions: ['emails:send'] });
  const month = new Date(world.clock.now()).toISOString().slice(0, 7);
  const stream = auditOriginsStream(TEAM, month);
  const logger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const run = async (): Promise<void> => {
    const stop = new AbortController();
    const worker = forgetAuditWorker({
      ...world.deps,
      leases: leaseKeeper(world.clock).open(),
      worker: 'w1',
      logger: logger as never,
      mayDestroy: () => true,
      overdue: (now, upTo, limit) => overdueAudit(readModels, now, upTo, limit),
      auditCaughtUp: project,
    });
    const sleeping = world.clock.waiting();
    const running = worker.run(stop.signal);
    await eventually('it has looked', () => world.clock.waiting() > sleeping + 1);
    stop.abort();
    await running;
  };
  await run();
  t.equal((await documentsOf(readModels, projection))['audit']?.length, 3, 'nothing is over yet');
  await world.clock.advance((DAYS + 40) * DAY_MS);
  await world.commands.createApiKey(who, { name: 'new', permissions: ['emails:send'] });
  await run();
  await project();
  const left = await documentsOf(readModels, projection);
  t.match(left['audit'], [{ action: 'api_key.created' }]);
  t.equal(left['audit']?.length, 1);
  t.equal(left['auditOrigins']?.length, 1, 'that of this month');
  t.equal(await world.deps.eventLog.existingKey(stream), undefined, 'the key of the month is destroyed');
  const again = openDocuments(t);
  await projectIn(again, projection, await recordedOf(world));
  t.strictSame(await documentsOf(again, projection), left, 'a rebuild gives the same');
  await run();
  t.equal((await recordedOf(world)).filter(({ event }) => event.type === 'AuditEntriesForgotten').length, 1, 'once');
});
