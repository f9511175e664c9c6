/**
 * A process of its own whose files may not grow beyond a limit: appends until a write fails, lifts the limit, appends
 * again.
 */
import { execFileSync } from 'node:child_process';
import { openSqliteEventStore } from '../../../src/adapters/event-store/sqlite.js';
import { anEvent } from '../../contracts/event-store-suite.js';

const [file = ''] = process.argv.slice(2);
const store = openSqliteEventStore({ file });
const codes: string[] = [];
let stored = 0;
while (codes.length === 0 && stored < 3_000) {
  const results = await Promise.allSettled(
    [0, 1].map((index) => store.append(`email-${stored + index}`, -1, [anEvent('z'.repeat(10_000))])),
  );
  for (const result of results) {
    if (result.status === 'rejected') codes.push((result.reason as { code?: string }).code ?? String(result.reason));
    else stored += 1;
  }
}
const headAfterFailure = await store.head();
execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']);
const recovered = await store.append('email-after', -1, [anEvent('a')]);
await store.close();
console.log(JSON.stringify({ codes, headAfterFailure, stored, recovered }));
