/** Slots that tenants share: none has them all, those that wait take turns, and a full queue takes from the longest. */
import t from 'tap';
import { openFairSlots, type FairSlotsOptions, type SlotRequest } from '../../src/shared/concurrency.js';

const never = new AbortController().signal;

/** Notes in which order requests are served; a request is named by its tenant and a number. */
const opened = (options: FairSlotsOptions) => {
  const slots = openFairSlots(options);
  const served: string[] = [];
  const full: string[] = [];
  const note = (name: string, how: SlotRequest): void => {
    if (how === 'acquired') served.push(name);
    if (how === 'full') full.push(name);
  };
  const ask = (name: string, signal = never): void => {
    const how = slots.acquire(name.slice(0, 1), signal);
    if (typeof how === 'string') note(name, how);
    else void how.then((settled) => note(name, settled));
  };
  /** Gives one slot of the tenant back, and lets those who waited hear of it. */
  const release = async (tenant: string): Promise<void> => {
    slots.release(tenant);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { slots, served, full, ask, release };
};

const numbered = (tenant: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${tenant}${index}`);

void t.test('twelve requests of one tenant leave a slot to another, which waits for none of them', async (t) => {
  const { served, ask, release, slots } = opened({ slotsMax: 2, shareMax: 1, queueMax: 32 });
  for (const name of numbered('a', 12)) ask(name);
  t.same(served, ['a0']);
  t.equal(slots.waiting(), 11);
  ask('b0');
  t.same(served, ['a0', 'b0'], 'served before the second of the twelve');
  await release('b');
  t.same(served, ['a0', 'b0'], 'and its slot goes to none of them');
  ask('b1');
  t.same(served, ['a0', 'b0', 'b1']);
});

void t.test('those that wait take turns, in each tenant in the order in which they came', async (t) => {
  const { served, ask, release } = opened({ slotsMax: 1, shareMax: 1, queueMax: 32 });
  for (const name of [...numbered('a', 4), ...numbered('b', 2), ...numbered('c', 1)]) ask(name);
  for (const holder of ['a', 'a', 'b', 'c', 'a', 'b']) await release(holder);
  t.same(
    served,
    ['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3'],
    'a tenant that came late waits for one turn of each other',
  );
});

void t.test('who holds fewest comes first, and no slot stays free while somebody may have it', async (t) => {
  const { served, ask, release } = opened({ slotsMax: 3, shareMax: 2, queueMax: 32 });
  for (const name of [...numbered('a', 4), ...numbered('b', 3), ...numbered('c', 1)]) ask(name);
  t.same(served, ['a0', 'a1', 'b0']);
  await release('b');
  t.same(served.slice(3), ['b1'], 'b holds none and asked before c');
  await release('b');
  t.same(served.slice(4), ['c0'], 'then it is the turn of c');
  ask('a4');
  await release('a');
  t.same(served.slice(5), ['b2'], 'b holds none, a still one');
  await release('c');
  t.same(served.slice(6), ['a2'], 'nobody else waits');
  await release('b');
  t.same(served.slice(7), [], 'a has its share: the last slot stays free for the others');
  await release('a');
  t.same(served.slice(7), ['a3']);
});

void t.test('a full queue takes from the tenant with the most in it, and from nobody else', async (t) => {
  const { served, full, ask, slots, release } = opened({ slotsMax: 1, shareMax: 1, queueMax: 4 });
  for (const name of numbered('a', 6)) ask(name);
  t.same(full, ['a5'], 'one tenant may fill it, but not more');
  ask('b0');
  ask('b1');
  await Promise.resolve();
  t.same(full, ['a5', 'a4', 'a3'], 'the last of the longest goes');
  ask('b2');
  t.same(full, ['a5', 'a4', 'a3', 'b2'], 'nothing is gained by filling it from the other side');
  t.equal(slots.waiting(), 4);
  for (const holder of ['a', 'a', 'b', 'a']) await release(holder);
  t.same(served, ['a0', 'a1', 'b0', 'a2', 'b1']);
});

void t.test('who gives up leaves the queue; a slot that is not held cannot be given back', async (t) => {
  const { served, ask, release, slots } = opened({ slotsMax: 1, shareMax: 1, queueMax: 4 });
  const left = new AbortController();
  ask('a0');
  ask('b0', left.signal);
  ask('a1');
  left.abort();
  t.equal(slots.waiting(), 1);
  t.equal(slots.acquire('b', left.signal), 'aborted');
  await release('a');
  await release('a');
  t.same(served, ['a0', 'a1']);
  t.throws(() => slots.release('a'), /not held/);
});
