/** Load, fold, decide, append: what happens when two decide at once. */
import t from 'tap';
import { handle, loadState } from '../../src/commands/core/handle.js';
import { DomainError, WrongExpectedRevision } from '../../src/domain/core/errors.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { LedgerEvent } from '../../src/domain/teams/events.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { T0, TEAM_ID } from '../support/email-facts.js';
import { openWorld } from '../support/command-world.js';

/** A counter that may not go beyond 20: the smallest decider that can be wrong. */
const counter = {
  decide: (by: number, count: number): readonly LedgerEvent[] => {
    if (count + by > 20) throw new DomainError('CONFLICT', 'full');
    return by === 0 ? [] : [{ type: 'LedgerSealed', data: { at: T0, position: by, count: 0, root: '' } }];
  },
  evolve: (count: number, event: LedgerEvent) => (event.type === 'LedgerSealed' ? count + event.data.position : count),
  initialState: 0,
};
const stream = 'counter-1' as StreamName;
const cause = { teamId: TEAM_ID, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };

void t.test('whoever loses decides again on what the other wrote', async (t) => {
  const { deps } = await openWorld();
  const results = await Promise.allSettled(
    Array.from({ length: 7 }, () => handle(deps.eventLog, stream, counter, 3, cause)),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 6);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { code: 'CONFLICT' } },
    'the seventh would be too much',
  );
  t.equal((await loadState(deps.eventLog, stream, counter)).state, 18);
});

void t.test('the answer is the state after, with its end, its team and its events', async (t) => {
  const { deps } = await openWorld();
  const first = await handle(deps.eventLog, stream, counter, 5, cause);
  t.match(first, { state: 5, version: { revision: 0 }, teamId: TEAM_ID, events: [{ data: { position: 5 } }] });
  t.match(await handle(deps.eventLog, stream, counter, 0, { ...cause, teamId: 'other' }), {
    state: 5,
    version: { revision: first.version.revision, hash: first.version.hash },
    teamId: TEAM_ID,
    events: [],
  });
  t.match(
    await handle(deps.eventLog, stream, counter, 2, { ...cause, teamId: 'other' }),
    { state: 7, version: { revision: 1 }, teamId: TEAM_ID },
    'a stream belongs to the team of its first event',
  );
});

void t.test('the guard looks before each decision', async (t) => {
  const { deps, store } = await openWorld();
  await handle(deps.eventLog, stream, counter, 1, cause);
  const seen: number[] = [];
  store.beforeAppend(async () => {
    store.beforeAppend(undefined);
    await handle(deps.eventLog, stream, counter, 1, cause);
  });
  await handle(deps.eventLog, stream, counter, 1, cause, ({ state }) => void seen.push(state));
  t.same(seen, [1, 2]);
  await t.rejects(
    handle(deps.eventLog, stream, counter, 1, cause, () => {
      throw new DomainError('FORBIDDEN', 'no');
    }),
    { code: 'FORBIDDEN' },
  );
  t.equal((await loadState(deps.eventLog, stream, counter)).state, 3);
});

void t.test('it gives up where others are faster every time, and passes on what is no conflict', async (t) => {
  const { deps } = await openWorld();
  let appends = 0;
  const losing = (fault: Error): EventLog => ({
    ...deps.eventLog,
    append: () => {
      appends += 1;
      return Promise.reject(fault);
    },
  });
  await t.rejects(handle(losing(new WrongExpectedRevision(stream, -1, 0)), stream, counter, 1, cause), {
    code: 'CONFLICT',
  });
  t.equal(appends, 9);
  appends = 0;
  await t.rejects(handle(losing(new Error('disk full')), stream, counter, 1, cause), { message: 'disk full' });
  t.equal(appends, 1);
});
