/** What is truncated in a log of many rows is in no file any more, whatever is appended and truncated around it. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { openSqliteEventStore } from '../../../src/adapters/event-store/sqlite.js';
import type { EventToStore } from '../../../src/domain/ports/event-store.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { seededRandom } from '../../support/random.js';
import { traces } from '../../support/traces.js';
import { eventually } from '../../support/wait.js';

const WORD = 'Zanzibarian';

void t.test('of thousands of rows of all sizes nothing stays', async (t) => {
  const directory = temporaryDirectory(t);
  const store = openSqliteEventStore({ file: join(directory, 'events.db') });
  t.teardown(() => store.close());
  const { next: random } = seededRandom(7);
  const anEvent = (mark: string): EventToStore => ({
    eventId: random() < 0.5 ? randomUUID() : `${mark} ${randomUUID()}`,
    type: 'EmailQueued.v1',
    data: JSON.stringify({ text: `${mark} Grüße `.repeat(1 + Math.floor(random() ** 6 * 900)) }),
    metadata: JSON.stringify({ actor: mark, name: `${mark} ü` }),
    sealed: random() < 0.3 ? undefined : Buffer.from(`${mark} sealed `.repeat(1 + Math.floor(random() ** 4 * 300))),
    hash: randomUUID(),
  });
  const streams: string[] = [];
  for (let index = 0; index < 1_500; index += 1) {
    const stream = `email-${randomUUID()}`;
    streams.push(stream);
    await store.append(stream, -1, [anEvent(WORD), anEvent(WORD)]);
    await store.append(stream, 1, [anEvent('Kept')]);
    if (index > 200 && random() < 0.2) await store.truncate(streams[Math.floor(random() * index)]!, 2);
  }
  const before = (await store.readStream(streams[3]!)).at(-1);
  t.ok(traces(directory, WORD).length > 0);
  for (const stream of streams.toSorted(() => random() - 0.5)) await store.truncate(stream, 2);
  await eventually('nothing is left in any file', () => traces(directory, WORD).length === 0);
  t.same(traces(directory, WORD), []);
  t.same(await store.readStream(streams[3]!), [before]);
  let count = 0;
  for await (const { events } of store.readAll(0)) count += events.length;
  t.equal(count, streams.length);
});
