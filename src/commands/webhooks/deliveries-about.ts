/** The records of deliveries that are about given recipients of emails: of one subscription, the oldest first, part by part. */
import type { CommandDeps } from '../core/deps.js';
import { outcomesOf } from './outcome-parts.js';
import { firstKeptPart } from './records.js';
import type { ExportedDelivery } from '../../api/privacy.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream, webhookOutcomeStream, type WebhookId } from '../../domain/core/ids.js';
import { deliveryListing } from '../../domain/webhooks/delivery.js';
import type { WebhookOutcome, WebhookOutcomeEvent } from '../../domain/webhooks/events.js';

/** By the id of an email: the places at which the address is its recipient, and whether it has no other. */
export type Places = ReadonlyMap<string, Readonly<{ places: readonly number[]; isOnly: boolean }>>;

type Facts = readonly Recorded<WebhookOutcomeEvent>[];

export async function* deliveriesAbout(
  { eventLog }: Pick<CommandDeps, 'eventLog'>,
  webhook: WebhookId,
  about: Places,
): AsyncGenerator<readonly ExportedDelivery[]> {
  const { part: last } = await outcomesOf(eventLog, webhook);
  for (let part = await firstKeptPart(eventLog, webhook, last); part <= last; part += 1) {
    const stream = webhookOutcomeStream(webhook, part);
    // Answers are decrypted only where there are some of these.
    const told = (await eventLog.load(stream, 0, [])) as Facts;
    const isAbout = told.some(({ event }) => event.type === 'WebhookAttempted' && event.data.outcomes.some((one) => isOf(one, about)));
    yield isAbout ? ((await eventLog.load(stream)) as Facts).flatMap((fact) => deliveriesIn(fact, webhook, about)) : [];
  }
}

const isOf = ({ stream, recipient }: WebhookOutcome, about: Places): boolean => {
  const { kind, id } = splitStream(stream);
  const known = kind === 'email' ? about.get(id) : undefined;
  return known !== undefined && (recipient === undefined || known.places.includes(recipient));
};

const deliveriesIn = ({ event }: Facts[number], webhook: WebhookId, about: Places): readonly ExportedDelivery[] => {
  if (event.type !== 'WebhookAttempted') return [];
  const { data, sealed } = event;
  return data.outcomes.flatMap((outcome, at) => {
    if (!isOf(outcome, about)) return [];
    const emailId = splitStream(outcome.stream).id;
    // What an endpoint answers to an event of the whole email may be about any recipient.
    const isOwn = outcome.recipient !== undefined || about.get(emailId)?.isOnly === true;
    return [{ webhookId: webhook, emailId, ...deliveryListing(outcome, isOwn ? sealed?.answers[at] : null) }];
  });
};
