/** Bulk sends under kills, in the short form. */
import t from 'tap';
import { killBulkTest } from './kill-bulk.js';

const ROUNDS = 5;
/** Fixed, so that every run makes the same choices; `npm run test:kill:bulk` takes another each time. */
const SEED = 20_260_112;

t.setTimeout(900_000);

await t.test(
  `${ROUNDS} kills while batches are made, cancelled and delivered: every email once, every count exact`,
  { timeout: 900_000 },
  async (t) => {
    const { counts, faults } = await killBulkTest({ rounds: ROUNDS, seed: SEED, print: (line) => t.comment(line) });
    t.same(faults, []);
    t.ok((counts['emails made'] ?? 0) > 0, 'emails were made');
  },
);
