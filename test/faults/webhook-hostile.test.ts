/** Endpoints that mean no good, in the short form of `npm run test:faults -- --only webhooks-hostile`. */
import t from 'tap';
import { webhookHostileTest } from './webhook-hostile.js';

t.setTimeout(900_000);

const lacks = process.platform === 'linux' ? false : 'memory is measured on Linux';

await t.test('each ends as failed, in little memory', { timeout: 900_000, skip: lacks }, async (t) => {
  const { counts, faults } = await webhookHostileTest({ rounds: 1, print: (line) => t.comment(line) });
  t.same(faults, []);
  t.ok(counts['hostile endpoints']! > 12);
});
