/**
 * Each fault that is planted by hand is found: the recorded seed is played first, and the seeds after it where the code
 * has changed since.
 */
import t from 'tap';
import { foundingWorld } from './founding.js';
import { playHistory } from './history.js';
import { plants, type PlantName } from './plants.js';
import { recorded } from './recorded.js';

/**
 * A change of the code may shift what happens under a seed; a fault that so many histories do not show is no longer
 * found.
 */
const HISTORIES_MAX = 1_500;
/** Only what hangs is cut off. */
const TIMEOUT_MS = 890_000;

void t.test('every planted fault has its seed', async (t) =>
  t.same(Object.keys(recorded).sort(), Object.keys(plants).sort()),
);

for (const [name, { seed: first, oracles }] of Object.entries(recorded)) {
  void t.test(`${name}: found`, { timeout: TIMEOUT_MS }, async (t) => {
    const onUnhandled = (): void => {};
    process.on('unhandledRejection', onUnhandled);
    t.teardown(() => process.off('unhandledRejection', onUnhandled));
    const base = await foundingWorld();
    const isNamed = ({ oracle }: Readonly<{ oracle: string }>): boolean => oracles.includes(oracle);
    for (let seed = first; seed < first + HISTORIES_MAX; seed += 1) {
      const found = (await playHistory(base, seed, plants[name as PlantName])).findings.find(isNamed);
      if (found === undefined) continue;
      t.same((await playHistory(base, seed)).findings, [], 'without it the same history breaks nothing');
      t.pass(`seed ${seed}: ${found.message.slice(0, 200)}`);
      return;
    }
    t.fail(`not found in ${HISTORIES_MAX} histories from seed ${first} on`);
  });
}
