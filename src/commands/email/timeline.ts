/** What the log tells of one email: its own events, those of its bulk send, and of addresses that were suppressed because of it. */
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import { ownedBy } from '../core/owned-by.js';
import { suppressionIdOf } from '../recipients/suppression-check.js';
import { withoutErased } from '../../domain/audit/as-of.js';
import type { BatchEvent } from '../../domain/bulk/events.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { evolveEmail, type Email, type EmailState } from '../../domain/email/state.js';
import { entryOf, type Placed } from '../../domain/email/timeline.js';
import { emailNotFound } from '../../domain/email/requests.js';
import type { Recorded } from '../../domain/events.js';
import { batchStream, emailStream, parseBatchId, suppressionStream, teamStream, type EmailId, type TeamId } from '../../domain/core/ids.js';
import { noticesOfEvent, notifyingTypes, type NotifyingEvent } from '../../domain/webhooks/kinds.js';
import type { WebhookCause } from '../../domain/webhooks/trail.js';

/** `told`: what subscriptions may have heard of it, in the order of the log. */
export type EmailTrace = Readonly<{ placed: readonly Placed[]; told: readonly WebhookCause[] }>;

/** Rejects with EMAIL_NOT_FOUND. Of one that is archived nothing personal is told. */
export const emailTrace = async (deps: CommandDeps, caller: Caller, id: EmailId): Promise<EmailTrace> => {
  const recorded = withoutErased(await deps.eventLog.load(emailStream(id)));
  const email = recorded.reduce<EmailState>((state, { event }) => evolveEmail(state, event as EmailEvent), undefined);
  ownedBy(caller.teamId, emailNotFound)({ state: email, teamId: recorded[0]?.metadata.teamId });
  const readers = { roles: email!.accepted.roles, content: email!.content };
  const [ofBatch, suppressed] = await Promise.all([batchEvents(deps, email!), suppressions(deps, caller.teamId, id, email!)]);
  const placed = [
    ...[...ofBatch, ...recorded].map((one) => entryOf(one, readers)),
    ...suppressed.map(({ event, place }) => entryOf(event, readers, [place])),
  ];
  const own = [...recorded, ...suppressed.map(({ event }) => event)].toSorted((one, other) => one.position - other.position);
  return { placed, told: own.flatMap((one) => toldOf(one, readers)) };
};

const notifying: ReadonlySet<string> = new Set(notifyingTypes);

const toldOf = ({ event, metadata }: Recorded, { roles, content }: Parameters<typeof entryOf>[1]): readonly WebhookCause[] =>
  notifying.has(event.type)
    ? noticesOfEvent(event as NotifyingEvent).map(({ recipient }) => ({
        eventId: metadata.eventId,
        requestId: metadata.correlationId,
        at: metadata.occurredAt,
        recipients:
          recipient === undefined || roles[recipient] === undefined
            ? []
            : [{ place: recipient, role: roles[recipient], email: content?.recipients[recipient]?.email ?? null }],
      }))
    : [];

/** What befell the bulk send as a whole before all its emails were made, or kept them from leaving; its parts are no matter of one email. */
const TOLD_OF_BATCH: readonly BatchEvent['type'][] = ['BatchQueued', 'BatchScheduled', 'BatchStarted', 'BatchCancelled', 'BatchStopped'];

const batchEvents = async ({ eventLog }: CommandDeps, { accepted }: Email): Promise<readonly Recorded[]> => {
  const id = accepted.batch && parseBatchId(accepted.batch.id);
  if (id === undefined) return [];
  const recorded = await eventLog.load(batchStream(id), 0, []);
  return recorded.filter(({ event }) => (TOLD_OF_BATCH as readonly string[]).includes(event.type));
};

type OfRecipient = Readonly<{ event: Recorded; place: number }>;

/** A suppression is found by the address: of an archived email none is. */
const suppressions = async (deps: CommandDeps, teamId: TeamId, id: EmailId, email: Email): Promise<readonly OfRecipient[]> => {
  const { state: team } = await deps.team(teamStream(teamId));
  const recipients = email.content?.recipients ?? [];
  if (team?.hasSuppressions !== true) return [];
  const list = email.accepted.unsubscribeList;
  const found = await Promise.all(
    recipients.map(async (_, place) => {
      const address = recipients[place]?.email;
      if (address === undefined) return [];
      const ids = [suppressionIdOf(deps, teamId, address), ...(list === undefined ? [] : [suppressionIdOf(deps, teamId, address, list)])];
      const streams = await Promise.all(ids.map((one) => deps.eventLog.load(suppressionStream(one))));
      return streams.flat().flatMap((event) => (isOfEmail(event, id) ? [{ event, place }] : []));
    }),
  );
  return found.flat();
};

const isOfEmail = ({ event }: Recorded, id: EmailId): boolean => event.type === 'AddressSuppressed' && event.data.emailId === id;
