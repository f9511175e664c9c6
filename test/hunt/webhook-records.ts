/** The read models show the deliveries of the log, compared without the code that makes them. */
import { splitStream, webhookOfStream } from '../../src/domain/core/ids.js';
import type { WebhookOutcome } from '../../src/domain/webhooks/events.js';
import { decodeEvent } from '../../src/event-log/codec.js';
import type { Finding } from './oracles.js';
import type { World } from './world.js';

type Attempts = Readonly<{
  items: readonly Readonly<{ eventId: string; attempt: number; status: string; nextRetryAt?: string }>[];
}>;
type Failure = Readonly<{ attempt: number; dueAt?: string }>;
type Wanted = Readonly<{
  attempts: Map<string, string>;
  failures: Map<string, Readonly<{ text: string; part: string }>>;
}>;

const said = ({ number, key, attempt, result, nextRetryAt }: WebhookOutcome): string =>
  `evt_${number.toString(36)}_${key} ${attempt} ${result} ${nextRetryAt}`;

/** The expected deliveries, from the log. Deliveries of a removed part are not expected. */
const wantedOf = ({ events }: World): Wanted => {
  const wanted: Wanted = { attempts: new Map(), failures: new Map() };
  for (const { stream, revision, type, data } of events.events) {
    if (splitStream(stream).kind !== 'webhookOutcome') continue;
    const event = decodeEvent(type, data, undefined);
    const part = splitStream(stream).id;
    const idOf = (number: number): string => `${webhookOfStream(stream)}.${number.toString(36)}`;
    if (event.type === 'WebhookAttempted') {
      wanted.attempts.set(`${part}.${revision}`, event.data.outcomes.map(said).join());
      for (const { number, attempt, result, nextRetryAt } of event.data.outcomes) {
        if (result === 'success') wanted.failures.delete(idOf(number));
        else wanted.failures.set(idOf(number), { text: `${attempt} ${nextRetryAt}`, part });
      }
    }
    if (event.type === 'WebhookRetryAsked')
      wanted.failures.set(idOf(event.data.sent.number), { text: `${event.data.attempt} ${event.data.at}`, part });
    if (event.type !== 'WebhookOutcomesRemoved') continue;
    for (const id of wanted.attempts.keys()) if (id.startsWith(`${part}.`)) wanted.attempts.delete(id);
    for (const [id, failure] of wanted.failures) if (failure.part === part) wanted.failures.delete(id);
  }
  return wanted;
};

/** In: the documents of a collection by their id, as the server of the read models has them. */
const shown = <Shape>(
  world: World,
  collection: string,
  text: (document: Shape) => string,
): ReadonlyMap<string, string> => {
  const kept = world.models.projections.get('webhooks')?.live.collections.get(collection);
  return new Map(
    [...(kept ?? [])].flatMap(([id, { document }]) => (document === undefined ? [] : [[id, text(document as Shape)]])),
  );
};

const differences = (
  name: string,
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): Finding[] =>
  [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((id) => wanted.get(id) !== found.get(id))
    .map((id) => ({
      oracle: 'webhook-records',
      message: `${name} ${id}: the log says ${wanted.get(id)}, shown is ${found.get(id)}`,
    }));

export const webhookRecordFindings = (world: World): readonly Finding[] => {
  if (!world.hasWebhooks) return [];
  const { attempts, failures } = wantedOf(world);
  const items = ({ items }: Attempts): string =>
    items.map(({ eventId, attempt, status, nextRetryAt }) => `${eventId} ${attempt} ${status} ${nextRetryAt}`).join();
  return [
    ...differences('attempts', attempts, shown(world, 'webhookAttempts', items)),
    ...differences(
      'failure',
      new Map([...failures].map(([id, { text }]) => [id, text])),
      shown(world, 'webhookFailures', ({ attempt, dueAt }: Failure) => `${attempt} ${dueAt}`),
    ),
  ];
};
