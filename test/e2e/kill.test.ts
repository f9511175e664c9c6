/** The kill test in its short form. */
import t from 'tap';
import { killTest } from './kill.js';

const ROUNDS = 5;
/**
 * A machine that does much else beside kills at other moments: more rounds, until one kill has fallen into a dialogue.
 */
const ROUNDS_MAX = 20;
/** Fixed, so that every run makes the same choices; `npm run test:kill` takes another each time. */
const SEED = 20_260_101;

t.setTimeout(900_000);

await t.test(`${ROUNDS} kills lose nothing and double only what was in a dialogue`, { timeout: 900_000 }, async (t) => {
  const { counts, faults } = await killTest({
    rounds: ROUNDS,
    roundsMax: ROUNDS_MAX,
    seed: SEED,
    print: (line) => t.comment(line),
  });
  t.same(faults, []);
  const { 'emails answered 201': accepted = 0, 'in a dialogue at a kill': caught = 0 } = counts;
  t.ok(accepted > ROUNDS, 'emails were accepted all along');
  t.ok(caught > 0, 'kills fell into dialogues');
});
