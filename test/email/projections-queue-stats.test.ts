/**
 * The queue of a team: number of waiting emails, time of the oldest, and rate of sending, from the read models alone.
 */
import t from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { waitingSince } from '../../src/projections/bulk/batches.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { queueStats } from '../../src/projections/email/queue.js';
import {
  accepted,
  at,
  attempted,
  cancelled,
  content,
  deferred,
  PERIODS,
  sent,
  T0,
  TEAM_ID,
} from '../support/email-facts.js';
import { openDocuments, openLogOfTest, projectIn } from '../support/projected.js';

const OTHER = '22222222-2222-4222-8222-222222222222';
const projection = emailsProjection(PERIODS);
const streamOf = (n: number): string => `email-0192f0c1-2f6e-7c3a-9d1b-${String(n).padStart(12, '0')}`;
const T0_MS = Date.parse(T0);

type Priority = 'high' | 'normal' | 'low';
const one = { ...accepted, roles: ['to' as const] };
const queuedAt = (priority: Priority, when = T0): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...one, priority, at: when },
  sealed: content,
});
const scheduledFor = (priority: Priority, scheduledAt: string): EmailEvent => ({
  type: 'EmailScheduled',
  data: { ...one, priority, scheduledAt },
  sealed: content,
});
const nothing = {
  depth: 0,
  oldestQueuedAt: null,
  oldestAgeSeconds: null,
  ratePerMinute: 0,
  estimatedSeconds: 0,
  deferred: 0,
  held: 0,
  scheduled: 0,
};

void t.test('each priority by itself, and all together; another team counts for nothing', async (t) => {
  const { append, recorded } = openLogOfTest();
  const readModels = openDocuments(t);
  const stats = async (seconds: number, team = TEAM_ID) => {
    await projectIn(readModels, projection, await recorded());
    return queueStats(readModels, team, T0_MS + seconds * 1_000, waitingSince(readModels));
  };
  t.same(await stats(0), { asOf: T0, ...nothing, priorities: { high: nothing, normal: nothing, low: nothing } });
  let count = 0;
  const add = async (events: readonly EmailEvent[], team = TEAM_ID): Promise<void> =>
    append(streamOf((count += 1)), events, team);
  await add([queuedAt('high', at(2))]);
  await add([queuedAt('low', at(1))]);
  await add([queuedAt('low', at(0)), attempted(1, at(3))]);
  await add([queuedAt('low', at(5))]);
  await add([scheduledFor('normal', at(500))]);
  await add([queuedAt('normal'), attempted(1, at(1)), deferred(1, at(2), at(62), [0, 'deferred'])]);
  await add([queuedAt('normal', at(0))], OTHER);
  for (let n = 0; n < 10; n += 1) await add([queuedAt('low'), attempted(1, at(1)), sent(1, at(30), [0, 'accepted'])]);
  await add([queuedAt('high'), cancelled(at(30))]);
  const found = await stats(60);
  t.match(found, {
    depth: 4,
    deferred: 1,
    held: 0,
    scheduled: 1,
    oldestQueuedAt: at(1),
    oldestAgeSeconds: 59,
    ratePerMinute: 12,
  });
  t.equal(found.estimatedSeconds, 20, '4 at 12 a minute');
  t.match(found.priorities, {
    high: { depth: 1, oldestQueuedAt: at(2), ratePerMinute: 1, estimatedSeconds: 60 },
    normal: { depth: 0, oldestQueuedAt: null, ratePerMinute: 1, estimatedSeconds: 0, deferred: 1, scheduled: 1 },
    low: { depth: 3, oldestQueuedAt: at(1), ratePerMinute: 10, estimatedSeconds: 18 },
  });
  t.match(await stats(120), { ratePerMinute: 6, estimatedSeconds: 40 }, 'what has stopped becomes less');
  t.match(await stats(600), { ratePerMinute: 0, estimatedSeconds: null }, 'and is not known after five minutes');
  t.match(await stats(60, OTHER), { depth: 1, scheduled: 0, ratePerMinute: 0, estimatedSeconds: null });
});

void t.test('however many wait, a bounded number of documents is read', async (t) => {
  const { append, recorded } = openLogOfTest();
  const readModels = openDocuments(t);
  for (let n = 0; n < 300; n += 1) await append(streamOf(n), [queuedAt('low', at(300 - n))]);
  await projectIn(readModels, projection, await recorded());
  let read = 0;
  const counting = {
    get: readModels.get,
    find: async (...args: Parameters<typeof readModels.find>) => {
      const found = await readModels.find(...args);
      read += found.length;
      return found;
    },
  };
  t.match(await queueStats(counting, TEAM_ID, T0_MS + 600_000, waitingSince(counting)), {
    depth: 300,
    oldestQueuedAt: at(1),
  });
  t.ok(read <= 3, `${read} documents read`);
});
