/** Two years after a team was removed its streams leave the log: nothing is left of what it has called or written, and a rebuild gives the same. */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { causeOf } from '../../src/commands/core/deps.js';
import { removeTeam } from '../../src/commands/teams/removal.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { Recorded } from '../../src/domain/events.js';
import { AUDIT_RETENTION_STREAM, teamStream, type StreamName } from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { teamDecider } from '../../src/domain/teams/decider.js';
import { startOf } from '../../src/event-log/event-log.js';
import { oldTeamStreams } from '../../src/event-log/retirement.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { retireAll, type RetireStreamsDeps } from '../../src/processors/retention/retirement.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { AUDIT } from '../../src/projections/audit/audit.js';
import { makeProjections } from '../../src/projections/index.js';
import { caller, schemaSaying, stranger, TEAM, welcome, withTemplate, type World } from '../support/command-world.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { memoryLog } from '../support/memory-ports.js';
import { documentsOf, openDocuments, projectIn } from '../support/projected.js';

const DAYS = 731;
const MARK = 'Zanzibarian';
const never = new AbortController().signal;

const fill = async ({ commands }: World, by: Caller, mark: string): Promise<void> => {
  await commands.createTemplate(by, { ...welcome, slug: 'second', name: mark, schema: schemaSaying(mark) });
  await commands.createAttachmentTemplate(by, {
    slug: 'invoice',
    name: mark,
    variables: [],
    schema: { outputFormats: ['pdf'], pages: [{ pageId: 'p', pageName: 'P', sections: schemaSaying(mark).sections }] },
  });
  await commands.addDomain(by, { domain: `${mark.toLowerCase()}.example` });
  await commands.createApiKey(by, { name: mark, permissions: ['emails:send'] });
  await commands.createOAuthApp(by, { name: mark, redirectUris: [`https://${mark.toLowerCase()}.example/`], scopes: ['emails:read'] });
};

const openYears = async (t: Test) => {
  const world = await withTemplate();
  const { eventLog, limits } = world.deps;
  await world.commands.createTemplate(stranger, welcome);
  await fill(world, caller, MARK);
  await fill(world, stranger, 'Ouagadougou');
  const readModels = openDocuments(t);
  const projections = makeProjections(limits);
  const recorded = async (): Promise<readonly Recorded[]> => {
    const all: Recorded[] = [];
    for await (const { events } of eventLog.readAll(0)) all.push(...events);
    return all;
  };
  const project = async (): Promise<void> => {
    const events = await recorded();
    for (const projection of projections) await projectIn(readModels, projection, events);
  };
  const seal = (): Promise<number> => sealOnce({ ...world.deps, store: world.store }, never);
  const cause = causeOf(world.deps, { ...caller, actor: 'cli' });
  const team = { type: 'DeleteTeam' as const, at: isoTime(world.clock.now()), by: 'operator' as const, firstTeam: false };
  await handle(eventLog, teamStream(TEAM), teamDecider, team, cause);
  await world.clock.advance(30 * DAY_MS + 61_000);
  await removeTeam({ ...world.deps, logger: memoryLog() }, TEAM, causeOf(world.deps, { ...caller, actor: 'processor:test' }), never);
  await project();
  const deps: RetireStreamsDeps = {
    ...world.deps,
    leases: leaseKeeper(world.clock).open(),
    worker: 'w1',
    logger: memoryLog(),
    mayDestroy: () => true,
    store: world.store,
    isFull: async () => false,
    due: async () => [],
    dueWhole: async () => [],
    emailsCaughtUp: async () => {},
  };
  const old = async (): Promise<readonly StreamName[]> =>
    (await oldTeamStreams(world.deps, world.clock.now(), { limit: 100 })).over.map(({ stream }) => stream);
  /** As the worker of the audit log does it. */
  const forget = async (): Promise<void> => {
    const ids = (await readModels.find(AUDIT, { where: { at: { lte: isoTime(world.clock.now() - DAYS * DAY_MS) } }, limit: 1_000 })).map(
      ({ id }) => id,
    );
    const at = isoTime(world.clock.now());
    const data = { at, ids };
    await eventLog.append(AUDIT_RETENTION_STREAM, startOf(AUDIT_RETENTION_STREAM), [{ type: 'AuditEntriesForgotten', data }], {
      ...cause,
      at,
    });
  };
  const sound = async (t: Test, when: string): Promise<void> => {
    t.equal((await verifyLog(world.store, undefined, { keys: world.deps.keys })).finding, undefined, `${when}: the log verifies`);
    await project();
    const again = openDocuments(t);
    const events = await recorded();
    for (const projection of projections) {
      await projectIn(again, projection, events);
      const [live, rebuilt] = [await documentsOf(readModels, projection), await documentsOf(again, projection)];
      t.same(rebuilt, live, `${when}: ${projection.name} equals a rebuild`);
    }
  };
  const marks = (mark: string): readonly string[] => [
    ...new Set(
      world.store.events
        .filter((event) => `${event.data}${event.metadata}`.toLowerCase().includes(mark.toLowerCase()))
        .map(({ stream }) => stream.split('-')[0]!),
    ),
  ];
  return { world, deps, readModels, projections, seal, old, forget, sound, marks };
};

void t.test('two years later nothing is left of what it has called or written', async (t) => {
  const { world, deps, readModels, projections, seal, old, forget, sound, marks } = await openYears(t);
  t.same([...marks(MARK)].sort(), ['apiKey', 'attachmentTemplate', 'oauthClient', 'senderDomains', 'template']);
  await seal();
  await world.clock.advance(DAYS * DAY_MS - 120_000);
  t.same(await old(), [], 'not yet');
  await world.clock.advance(DAY_MS);
  await forget();
  await seal();
  const first = await old();
  t.equal(first.includes(teamStream(TEAM)), false, 'that of the team goes last');
  t.equal(await retireAll(deps, new Set(first), never), first.length);
  await sound(t, 'without its things');
  t.same(marks(MARK), []);
  t.same(await old(), [teamStream(TEAM)]);
  await seal();
  t.equal(await retireAll(deps, new Set(await old()), never), 1);
  t.same(await old(), []);
  await sound(t, 'without the team');
  const left = world.store.events.filter(({ stream }) => [...first, teamStream(TEAM)].includes(stream as StreamName));
  t.same([...new Set(left.map(({ type }) => type))], ['StreamRetired.v1']);
  for (const projection of projections) t.notMatch(JSON.stringify(await documentsOf(readModels, projection)), MARK, projection.name);
  t.ok(marks('Ouagadougou').length === 5, 'of another team all is there');
});

void t.test('of a team that lives, or that the audit log still tells of, nothing goes', async (t) => {
  const { world, deps, seal, marks } = await openYears(t);
  await seal();
  const all = [...new Set(world.store.events.map(({ stream }) => stream as StreamName))].filter((stream) =>
    /^(team|template|attachmentTemplate|apiKey|senderDomains|oauthClient|user|suppression|credits)-/.test(stream),
  );
  t.equal(await retireAll(deps, new Set(all), never), 0);
  await world.clock.advance(DAYS * DAY_MS + DAY_MS);
  await seal();
  await retireAll(deps, new Set(all), never);
  t.same(marks(MARK), [], 'after two years those of the removed one go');
  t.equal(marks('Ouagadougou').length, 5, 'and of the living one none');
});
