/** The timeline of one email: an entry for each event about it, and the paging of entries. */
import type { EmailContent } from './events.js';
import type { RecipientRole } from './status.js';
import { DomainError } from '../core/errors.js';
import type { RecordedEvent } from '../core/event.js';

type Plain = string | number | boolean | null;

/** `email`: null once it is destroyed. The optional fields are present if the event has them for this recipient. */
export type TimelineRecipient = {
  place: number;
  role: RecipientRole;
  email: string | null;
  result?: string;
  replyCode?: number | null;
  enhancedCode?: string | null;
  reply?: string;
};

export type TimelineEntry = {
  /** The event id; for an attempt of a webhook the delivery id and the number of the attempt. */
  id: string;
  kind: string;
  stream: string;
  at: string;
  actor: string;
  cause: { kind: 'request' | 'event'; id: string };
  requestId: string;
  durationMs: number | null;
  recipients: TimelineRecipient[];
  details: Record<string, Plain>;
};

/** An entry with its place in the log. Later events come after it, so pages do not shift. */
export type Placed = Readonly<{ position: number; index: number; entry: TimelineEntry }>;

/** The recipients of an email; `content` is undefined once its key is destroyed. */
export type Readers = Readonly<{
  roles: readonly RecipientRole[];
  content: Pick<EmailContent, 'recipients'> | undefined;
}>;

export const readersOf = ({ roles, content }: Readers, places: readonly number[]): TimelineRecipient[] =>
  places.flatMap((place) => {
    const role = roles[place];
    return role === undefined ? [] : [{ place, role, email: content?.recipients[place]?.email ?? null }];
  });

/** Fields that the entry has elsewhere, or that are not shown: HMACs, and idempotency keys of callers. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'at',
  'recipient',
  'durationMs',
  'fingerprint',
  'idempotencyKey',
  'address',
  'toldBy',
]);

const plainParts = (data: object): Record<string, Plain> =>
  Object.fromEntries(
    Object.entries(data).filter((entry): entry is [string, Plain] => {
      const [name, value] = entry as [string, unknown];
      return !LEFT_OUT.has(name) && (value === null || ['string', 'number', 'boolean'].includes(typeof value));
    }),
  );

/** In: an event of the email, or of another stream about some of its recipients (`about`). */
export const entryOf = (
  { event, stream, position, metadata }: RecordedEvent,
  email: Readers,
  about: readonly number[] = [],
): Placed => {
  const { eventId, occurredAt, actor, correlationId, causationId } = metadata;
  const sealed = 'sealed' in event ? event.sealed : undefined;
  // The content of the email is shown by its record, not here; later events show their encrypted part.
  const isContent = event.type === 'EmailQueued' || event.type === 'EmailScheduled' || stream.startsWith('batch-');
  const personal = sealed === undefined || isContent ? {} : plainParts(sealed);
  const entry: TimelineEntry = {
    id: eventId,
    kind: event.type,
    stream,
    at: occurredAt,
    actor,
    cause: { kind: causationId === correlationId ? 'request' : 'event', id: causationId },
    requestId: correlationId,
    durationMs: 'durationMs' in event.data && typeof event.data.durationMs === 'number' ? event.data.durationMs : null,
    recipients: about.length > 0 ? readersOf(email, about) : recipientsIn(event.data, sealed, email),
    details: {
      ...plainParts(event.data),
      ...chargedIn(event.data),
      ...passedIn(event.data),
      ...personal,
      ...keptIn(sealed),
    },
  };
  return { position, index: 0, entry };
};

/** The event of a provider that was not understood, as it is kept for its recipient. */
const keptIn = (sealed: object | undefined): Record<string, Plain> => {
  const [payload] =
    sealed !== undefined && 'payloads' in sealed && Array.isArray(sealed.payloads)
      ? (sealed.payloads as readonly unknown[])
      : [];
  return typeof payload === 'string' ? { payload } : {};
};

/** The reserved credits, which the first event of an email has. */
const chargedIn = (data: object): Record<string, Plain> => {
  const charged =
    'charged' in data && typeof data.charged === 'object' && data.charged !== null ? data.charged : undefined;
  if (charged === undefined) return {};
  const { reference, month, emails, attachments } = charged as Readonly<Record<string, Plain>>;
  return { chargedTo: reference!, chargedMonth: month!, chargedEmails: emails!, chargedAttachments: attachments! };
};

/** The relays that were tried before that of an attempt, as one text: `first (connection-refused), second (relay-away)`. */
const passedIn = (data: object): Record<string, Plain> =>
  'passedRelays' in data && Array.isArray(data.passedRelays)
    ? {
        passedRelays: (data.passedRelays as readonly Readonly<{ relay: string; rule: string }>[])
          .map(({ relay, rule }) => `${relay} (${rule})`)
          .join(', '),
      }
    : {};

/** The events of an email name its recipients in four ways. */
const recipientsIn = (data: object, sealed: object | undefined, email: Readers): TimelineRecipient[] => {
  const replies = sealed !== undefined && 'replies' in sealed ? (sealed.replies as readonly Reply[]) : [];
  if ('outcomes' in data) return recipientsOf(data.outcomes as readonly Outcome[], replies, email);
  if ('bounces' in data) return recipientsOf(data.bounces as readonly Outcome[], replies, email);
  if ('recipients' in data && Array.isArray(data.recipients))
    return readersOf(email, data.recipients as readonly number[]);
  return 'recipient' in data && typeof data.recipient === 'number' ? readersOf(email, [data.recipient]) : [];
};

type Outcome = Readonly<{
  recipient: number;
  result?: string;
  bounceType?: string;
  replyCode?: number | null;
  enhancedCode: string | null;
}>;

type Reply = string | null | undefined;

const recipientsOf = (outcomes: readonly Outcome[], replies: readonly Reply[], email: Readers): TimelineRecipient[] =>
  outcomes.flatMap(({ recipient, result, bounceType, replyCode, enhancedCode }, index) => {
    const [reader] = readersOf(email, [recipient]);
    const reply = replies[index];
    return reader === undefined
      ? []
      : [
          {
            ...reader,
            result: result ?? `${bounceType} bounce`,
            replyCode: replyCode ?? null,
            enhancedCode,
            ...(reply === undefined || reply === null ? {} : { reply }),
          },
        ];
  });

/** `sinceMs`: milliseconds since the entry before; null for the first. */
export type TimelinePage = {
  data: (TimelineEntry & { sinceMs: number | null })[];
  meta: { limit: number; total: number; nextCursor: string | null };
};

/** In: the entries in any order. Throws INVALID_CURSOR if the cursor is not one of these pages. */
export const timelinePage = (
  placed: readonly Placed[],
  { limit, cursor }: Readonly<{ limit: number; cursor: string | undefined }>,
): TimelinePage => {
  const ordered = placed.toSorted(byPlace);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const from = after === undefined ? 0 : ordered.findLastIndex((one) => byPlace(one, after) <= 0) + 1;
  const shown = ordered.slice(from, from + limit);
  const last = shown.at(-1);
  const sinceOf = (index: number): number | null => {
    const before = ordered[index - 1];
    return before === undefined
      ? null
      : Math.max(0, Date.parse(ordered[index]!.entry.at) - Date.parse(before.entry.at));
  };
  return {
    data: shown.map(({ entry }, index) => ({ ...entry, sinceMs: sinceOf(from + index) })),
    meta: {
      limit,
      total: ordered.length,
      nextCursor: last !== undefined && from + limit < ordered.length ? writeCursor(last) : null,
    },
  };
};

type Place = Pick<Placed, 'position' | 'index'>;

const byPlace = (one: Place, other: Place): number => one.position - other.position || one.index - other.index;

const writeCursor = ({ position, index }: Place): string =>
  Buffer.from(`timeline ${position} ${index}`).toString('base64url');

const CURSOR = /^timeline (\d{1,15}) (\d{1,9})$/;

const readCursor = (cursor: string): Place => {
  const [, position, index] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (position === undefined)
    throw new DomainError('INVALID_CURSOR', 'The cursor is not one that this list answered; begin again without it.');
  return { position: Number(position), index: Number(index) };
};
