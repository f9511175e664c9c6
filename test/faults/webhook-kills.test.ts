/** Kills while webhooks are sent, in the short form of `npm run test:faults -- --only webhooks`. */
import t from 'tap';
import { webhookKillsTest } from './webhook-kills.js';

const ROUNDS = 3;
const SENDS = 60;
/** Fixed, so that every run makes the same choices. */
const SEED = 20_261_123;

t.setTimeout(900_000);

await t.test(`${ROUNDS} kills lose no webhook and leave no gap`, { timeout: 900_000 }, async (t) => {
  const { counts, faults } = await webhookKillsTest({
    rounds: ROUNDS,
    sends: SENDS,
    seed: SEED,
    print: (line) => t.comment(line),
  });
  t.same(faults, []);
  t.ok(counts['emails answered 201']! >= SENDS);
  t.ok(counts['events that it took']! > 0 && counts['posts to the one that never answers']! > 0);
});
