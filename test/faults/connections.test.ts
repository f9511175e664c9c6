/**
 * Clients that hold connections and read no answers, in the short form of `npm run test:faults -- --only connections`.
 */
import t from 'tap';
import { connectionsTest } from './connections.js';

t.setTimeout(900_000);

const lacks = process.platform === 'linux' ? false : 'memory is measured on Linux';

await t.test(
  'others are answered, memory is bounded, who reads nothing is ended',
  { timeout: 900_000, skip: lacks },
  async (t) => {
    const { faults } = await connectionsTest({
      rounds: 1,
      addresses: 2,
      unread: 20,
      idle: 600,
      print: (line) => t.comment(line),
    });
    t.same(faults, []);
  },
);
