/**
 * The properties of each type of event, as one table: how it is stored and sealed, and its effect on the audit log, on
 * webhooks and on a team's list.
 */
import t from 'tap';
import { recipientPartsOf } from '../../src/domain/email/recipient-parts.js';
import { auditEntryOf, eventDefinitions, eventTypes, noticesOf, type EventType } from '../../src/domain/events.js';
import { activityOf } from '../../src/domain/teams/activity.js';
import { current } from '../../src/event-log/codec.js';
import { matchesGolden } from '../support/golden.js';
import { goldenEvent } from '../support/golden-events.js';

const TEAM = '11111111-1111-4111-8111-111111111111';

/** Stream of the thing that an event is about, in the audit log and the list of a team. */
const stream = 'thing-1';

const metadata = (actor: string) => ({
  eventId: 'e1',
  teamId: TEAM,
  occurredAt: '2030-01-01T12:00:00.000Z',
  actor,
  correlationId: 'request-1',
  causationId: 'request-1',
});

const fieldsOf = (schema: object | undefined): readonly string[] =>
  schema !== undefined && 'properties' in schema ? Object.keys(schema.properties as object) : [];

/** The fields that lists read stand before the bar. */
const sealedOf = (type: EventType): string | undefined => {
  const { sealed, envelope } = eventDefinitions[type];
  if (sealed === undefined) return undefined;
  const first = fieldsOf(envelope);
  const rest = fieldsOf(sealed).filter((field) => !first.includes(field));
  return [...(first.length === 0 ? [] : [first.join(', ')]), rest.join(', ')].join(' | ');
};

const keyOf = (type: EventType): string => {
  const parts = recipientPartsOf(type);
  if (parts === undefined) return 'of the stream';
  return parts.field === undefined ? 'of the recipient' : `of the stream, and of each recipient for its ${parts.field}`;
};

/** As of the golden event of the type. */
const auditOf = (type: EventType): string | undefined => {
  const source = { event: goldenEvent(current[type]), stream };
  const entry = auditEntryOf({ ...source, metadata: metadata('apiKey:key_1') });
  if (entry === undefined) return undefined;
  const { category, action, target, code, count, detail } = entry;
  const ofAll = auditEntryOf({ ...source, metadata: metadata('processor:p') }) === undefined ? ' (of callers)' : '';
  const facts = [target && `${target.type} ${target.id}`, code, count === 1 ? null : `${count} times`, detail].map(
    (one) => one ?? '–',
  );
  const line = eventDefinitions[type].audit!;
  const made = Object.entries(line).flatMap(([name, part]) => (typeof part === 'function' ? [name] : []));
  return `${category} ${action}${ofAll}: ${facts.join(', ')}${made.length === 0 ? '' : ` [from the data: ${made.join(', ')}]`}`;
};

const webhooksOf = (type: EventType): string | undefined => {
  if (eventDefinitions[type].webhooks === undefined) return undefined;
  const notices = noticesOf(goldenEvent(current[type]));
  return notices
    .map(({ kind, recipient }) => (recipient === undefined ? kind : `${kind} of recipient ${recipient}`))
    .join(', ');
};

const activityTold = (type: EventType): string | undefined => {
  const line = eventDefinitions[type].activity;
  if (line === undefined) return undefined;
  const recorded = {
    event: goldenEvent(current[type]),
    stream,
    revision: 0,
    position: 0,
    hash: '',
    metadata: metadata('cli'),
  };
  const { kind, id, role } = activityOf(line, recorded);
  return [kind, id, ...(role === undefined ? [] : [role])].join(' ');
};

const told = (type: EventType): string => {
  const sealed = sealedOf(type);
  const facts = [
    ['sealed', sealed],
    ['key', sealed === undefined ? undefined : keyOf(type)],
    ['erases', eventDefinitions[type].erases ? 'what is sealed in the stream' : undefined],
    ['audit', auditOf(type)],
    ['webhooks', webhooksOf(type)],
    ['activity', activityTold(type)],
  ] as const;
  return [current[type], ...facts.flatMap(([name, fact]) => (fact === undefined ? [] : [`  ${name}: ${fact}`]))].join(
    '\n',
  );
};

void t.test('what is true of each event is what was looked at', async (t) => {
  t.ok(eventTypes.length > 150);
  matchesGolden(t, 'events.txt', `${eventTypes.toSorted().map(told).join('\n')}\n`);
});
