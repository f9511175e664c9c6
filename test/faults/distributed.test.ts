/** The program of faults of the distributed engine in its short form: fewer processes, two faults. */
import t from 'tap';
import { distributedTest } from './distributed.js';
import { faultNamed } from './distributed-faults.js';

/** Fixed, so that every run makes the same choices; `npm run test:faults` takes another each time. */
const SEED = 20_261_122;

t.setTimeout(900_000);

await t.test('a killed process and a wiped NATS lose nothing', { timeout: 900_000 }, async (t) => {
  const { counts, faults } = await distributedTest({
    ...{ rounds: 1, seed: SEED, print: (line) => t.comment(line) },
    ...{ roles: ['http', 'process,project', 'process,project'], senders: 2, pauseMs: 1_000, verifiesEach: false },
    faults: ['kill -9 of process 1', 'the data of nats wiped'].flatMap(faultNamed),
  });
  t.same(faults, []);
  if (counts['emails answered 201'] === undefined)
    return void t.pass('needs servers', { skip: 'no NATS, Redis and MongoDB to start' });
  t.match(counts, { 'kills of process': 1, 'wipes of nats': 1 });
  t.ok(counts['emails answered 201'] > 10, 'emails were accepted all along');
});
