/** The documents of many emails, as the projection makes them of made-up events, written as a rebuild writes them. */
import { defaultLimits } from '../../src/domain/core/limits.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import type { Recorded } from '../../src/domain/events.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { openUnitOfWork } from '../../src/projections/core/unit-of-work.js';
import { type Life, lifeOf } from './email-life.js';
import { seeded } from './pairs.js';

const BATCH = 5_000;
/** The events of one email. */
const EVENTS_MAX = 4;

type Options = Readonly<{
  emails: number;
  /** The emails are spread over this time. */
  startMs: number;
  days: number;
  seed: number;
  /** Changes the life of the n-th email. */
  changed?: (life: Life, n: number) => Life;
  /**
   * The position of the log that the documents stand for. Absent: the events are counted, and the store belongs to no
   * log.
   */
  head?: number;
}>;

/** In: read models without documents of emails. `each` is called with the life of each email. */
export const fillDocuments = async (
  readModels: ReadModels,
  { emails, startMs, days, seed, changed = (life) => life, head }: Options,
  each: (life: Life) => void = () => {},
): Promise<void> => {
  const projection = emailsProjection({
    retentionMs: defaultLimits.retentionDays * DAY_MS,
    archiveMs: defaultLimits.archiveDays * DAY_MS,
  });
  await readModels.projection(projection.name, projection.collections);
  const rebuild = await readModels.rebuild(projection.name);
  const random = seeded(seed);
  const work = openUnitOfWork(projection, rebuild.store);
  let checkpoint = await rebuild.store.checkpoint();
  let position = 0;
  // The documents have places of their own, before those of the log.
  const base = head === undefined ? 0 : head - EVENTS_MAX * emails;
  for (let first = 0; first < emails; first += BATCH) {
    const recorded: Recorded[] = [];
    for (let n = first; n < Math.min(first + BATCH, emails); n += 1) {
      const atMs = startMs + Math.floor((n / emails) * days * DAY_MS);
      const life = changed(lifeOf({ n, atMs, random, allDelivered: false }), n);
      each(life);
      const { stream, events, cause } = life;
      events.forEach((event, revision) => {
        position += 1;
        recorded.push({
          event,
          stream,
          revision,
          position: base + position,
          hash: '',
          metadata: { ...cause, eventId: `${n}-${revision}`, occurredAt: cause.at },
        });
      });
    }
    await work.fold(recorded);
    checkpoint = await work.write(checkpoint, head ?? position);
  }
  await rebuild.commit();
};
