/** Whoever can write the log cuts the last event off a living stream, and says by a stream of their own that it has left the log. */
import t from 'tap';
import { teamStream } from '../../src/domain/core/ids.js';
import { chainHash } from '../../src/event-log/hash-chain.js';
import { truncateRetired } from '../../src/event-log/retirement.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { openWorld, TEAM } from '../support/command-world.js';
import { addMember, signedIn } from '../support/people.js';

const never = new AbortController().signal;

for (const [what, mark, kind] of [
  ['of its own making', { mark: 'c'.repeat(64) }, 'inserted'],
  ['of none', {}, 'removed'],
] as const)
  void t.test(`it is found, with a mark ${what}`, async (t) => {
    const { deps, store, clock } = await openWorld();
    const { userId } = await signedIn(deps);
    await addMember(deps, TEAM, userId, 'member');
    const seal = () => sealOnce({ eventLog: deps.eventLog, store, limits: deps.limits, clock }, never);
    await seal();
    const { keys } = deps;
    const before = await verifyLog(store, undefined, { keys });
    t.equal(before.finding, undefined);
    const noted = { position: before.seal!.position, root: before.seal!.root };
    const at = store.events.findLastIndex(({ stream }) => stream === teamStream(TEAM));
    const victim = store.events[at]!;
    t.match(victim.type, /^MemberAdded/);
    const last = store.events.at(-1)!;
    const stream = 'email-00000000-0000-4000-8000-000000000000';
    const forged = {
      ...last,
      stream,
      revision: 1,
      position: last.position + 1,
      eventId: '00000000-0000-4000-8000-000000000001',
      type: 'EmailRetired.v1',
      sealed: undefined,
      metadata: JSON.stringify({ ...JSON.parse(String(last.metadata)), eventId: '00000000-0000-4000-8000-000000000001' }),
      data: JSON.stringify({
        at: '2036-01-01T12:00:00.000Z',
        createdAt: '2030-01-01T12:00:00.000Z',
        priority: 'normal',
        position: victim.position,
        used: [],
        documents: 0,
        hasAttachments: false,
        ended: [],
        ordinals: [at + 1],
        hashes: [victim.hash],
        ...mark,
      }),
    };
    store.events.splice(at, 1);
    store.events.push({ ...forged, hash: chainHash(victim.hash, stream, 1, forged) });
    t.match(
      (await verifyLog(store, noted, { keys })).finding,
      kind === 'inserted' ? { kind, stream, position: forged.position } : { kind },
    );
    const truncated: string[] = [];
    await truncateRetired({ ...store, truncate: async (name) => void truncated.push(name) }, keys, stream);
    t.same(truncated, [], 'nor is it obeyed');
  });
