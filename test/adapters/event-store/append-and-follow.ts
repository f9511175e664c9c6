/** A process of its own for the test of several processes on one file: appends, follows, and prints what it saw. */
import { openSqliteEventStore } from '../../../src/adapters/event-store/sqlite.js';
import { anEvent, takeEvents } from '../../contracts/event-store-suite.js';

const [file = '', name = ''] = process.argv.slice(2);
const store = openSqliteEventStore({ file });
const alive = setInterval(() => undefined, 1_000);
const following = takeEvents(store.subscribeAll(0, { signal: AbortSignal.timeout(60_000) }), 4_000);
const appended: number[] = [];
let next = 0;
const appendSome = async (): Promise<void> => {
  while (next < 2_000) {
    next += 1;
    const outcome = await store.append(`email-${name}${next}`, -1, [anEvent(name)]);
    if (outcome.kind === 'done') appended.push(outcome.position);
  }
};
await Promise.all(Array.from({ length: 8 }, appendSome));
const seen = (await following).map((event) => `${event.position} ${event.stream}`);
await store.close();
clearInterval(alive);
console.log(JSON.stringify({ appended, seen }));
