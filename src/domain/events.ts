/** All events of the program by kind of stream, and what their definitions say of each type. */
import type { EventDefinition, EventDefinitions, EventsOf, Notice, RecordedEvent } from './core/event.js';
import { appStreams } from './apps/events.js';
import { approvalStreams } from './approvals/events.js';
import { auditStreams } from './audit/events.js';
import { type AuditEntry, auditEntryBy, type AuditSource } from './audit/entry.js';
import { billingStreams } from './billing/events.js';
import { bulkStreams } from './bulk/events.js';
import { domainStreams } from './domains/events.js';
import { emailStreams } from './email/events.js';
import { keyStreams } from './keys/events.js';
import { peopleStreams } from './people/events.js';
import { privacyStreams } from './privacy/events.js';
import { recipientStreams } from './recipients/events.js';
import { teamStreams } from './teams/events.js';
import { templateStreams } from './templates/events.js';
import { webhookStreams } from './webhooks/events.js';

/** The events of each kind of stream; a kind is the part of a stream's name before the first hyphen. */
const streams = {
  ...emailStreams,
  ...bulkStreams,
  ...templateStreams,
  ...keyStreams,
  ...teamStreams,
  ...billingStreams,
  ...domainStreams,
  ...recipientStreams,
  ...webhookStreams,
  ...privacyStreams,
  ...approvalStreams,
  ...appStreams,
  ...peopleStreams,
  ...auditStreams,
};

type ByKind = { readonly [Kind in keyof typeof streams]: EventsOf<(typeof streams)[Kind]> };
/** By name, so that the compiler does not take the events of a kind apart where the kind is a parameter. */
interface EventsByKind extends ByKind {}
export type StreamKind = keyof EventsByKind;
export type EventOfKind<Kind extends StreamKind> = EventsByKind[Kind];

export type DomainEvent = EventOfKind<StreamKind>;
export type EventType = DomainEvent['type'];

/** An event as it was recorded: what happened, where it stands, who caused it. */
export type Recorded<Event extends DomainEvent = DomainEvent> = RecordedEvent<Event>;

export const eventDefinitions: Readonly<Record<EventType, EventDefinition>> = Object.assign(
  {},
  ...Object.values(streams),
) as Readonly<Record<EventType, EventDefinition>>;

export const eventTypes = Object.keys(eventDefinitions) as readonly EventType[];

const typesWith = (fact: keyof EventDefinition): readonly EventType[] =>
  eventTypes.filter((type) => eventDefinitions[type][fact] !== undefined);

/** The kinds of stream that may hold an event of one of those types. */
export const kindsWith = (types: readonly string[]): readonly StreamKind[] =>
  (Object.entries(streams) as [StreamKind, EventDefinitions][]).flatMap(([kind, events]) =>
    types.some((type) => Object.hasOwn(events, type)) ? [kind] : [],
  );

/** After one of these no personal data of the stream may be left. */
export const erasingEvents = typesWith('erases');

/** The types of event that the audit log may list. */
export const auditedTypes = typesWith('audit');

/** The types of event that notify subscriptions. */
export const notifyingTypes = typesWith('webhooks');

/** The types of event that the list of a team's changes shows. */
export const activityTypes = typesWith('activity');

/** The audit entry of an event; undefined if it is not listed. */
export const auditEntryOf = (source: AuditSource & Readonly<{ event: DomainEvent }>): AuditEntry | undefined =>
  auditEntryBy(eventDefinitions[source.event.type].audit, source);

/** The notices that webhooks get of an event, in order. */
export const noticesOf = ({ type, data }: DomainEvent): readonly Notice[] => {
  const { webhooks } = eventDefinitions[type];
  if (webhooks === undefined) return [];
  return typeof webhooks === 'string' ? [{ kind: webhooks }] : webhooks(data as never);
};
