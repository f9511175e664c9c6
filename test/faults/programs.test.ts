/** The programs of `npm run test:faults` in their short form; `kill` and `sizes` have tests of their own. */
import t from 'tap';
import { clocksTest } from './clocks.js';
import { diskTest } from './disk.js';
import { outageTest } from './outage.js';
import { faultyRelays, relaysTest } from './relays.js';

/** Fixed, so that every run makes the same choices; `npm run test:faults` takes another each time. */
const SEED = 20_261_122;
const options = (rounds: number) => ({ rounds, seed: SEED, print: (line: string) => t.comment(line) });

t.setTimeout(900_000);

await t.test('relays that misbehave', async (t) => {
  const { counts, faults } = await relaysTest({ ...options(1), share: 0.25 });
  t.same(faults, []);
  t.ok(counts['faulty relays']! > 8, `${counts['faulty relays']} of ${faultyRelays.length}`);
});

await t.test('full disks and failing syncs', async (t) => {
  const { counts, faults } = await diskTest(options(2));
  t.same(faults, []);
  t.ok(counts['appends refused']! > 5);
  t.ok(counts['appends whose answer was lost']! > 5);
});

await t.test('clocks that are set', async (t) => {
  const { counts, faults } = await clocksTest(options(6));
  t.same(faults, []);
  t.ok(counts['steps back']! > 0 && counts['steps forward']! > 0);
});

await t.test('a relay that is away and is back', async (t) => {
  const { counts, faults } = await outageTest({ ...options(1), mails: 300, judgesTime: false });
  t.same(faults, []);
  t.equal(counts['mails while it was away (worst)'], 300);
});
