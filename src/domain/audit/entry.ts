/**
 * Audit entries: one for each event whose definition has a line for it, made from the recorded event alone; and the
 * memberships by which a team is told what its members did to their own accounts.
 */
import type { TeamEvent } from '../teams/events.js';
import { NO_TEAM, splitStream } from '../core/ids.js';
import type { AnyEvent, AuditCategory, AuditLine, AuditTarget, EventMetadata } from '../core/event.js';

export const auditActors = ['user', 'api_key', 'app', 'operator', 'system'] as const;
export type AuditActorType = (typeof auditActors)[number];

type AuditActor = Readonly<{ type: AuditActorType; id: string | null }>;

export const auditResults = ['success', 'denied'] as const;
export type AuditResult = (typeof auditResults)[number];

export type AuditEntry = Readonly<{
  /** The id of the event. */
  id: string;
  /** The team, or the person if the event belongs to no team. */
  scope: string;
  at: string;
  category: AuditCategory;
  action: string;
  actor: AuditActor;
  target: AuditTarget | null;
  result: AuditResult;
  code: string | null;
  count: number;
  detail: string | null;
  requestId: string;
  /** The reference to the origin of the call. */
  origin: string | null;
}>;

/** The parts of a recorded event that an entry is made of. */
export type AuditSource = Readonly<{ event: AnyEvent; stream: string; metadata: EventMetadata }>;

/** The names of things in the API, by kind of stream, if they differ. */
const targetTypes: Readonly<Record<string, string>> = {
  attachmentTemplate: 'attachment_template',
  apiKey: 'api_key',
  oauthClient: 'app',
  oauthGrant: 'grant',
  oauthDevice: 'device',
};

const DETAIL_CHARS_MAX = 500;

const prefixes: readonly (readonly [string, AuditActorType])[] = [
  ['user:', 'user'],
  ['apiKey:', 'api_key'],
  ['grant:', 'app'],
];

/** In: the actor in the metadata of an event. */
export const auditActorOf = (actor: string): AuditActor => {
  for (const [prefix, type] of prefixes) if (actor.startsWith(prefix)) return { type, id: actor.slice(prefix.length) };
  return { type: actor === 'cli' ? 'operator' : 'system', id: null };
};

/** The audit log to which an event belongs: the team's or the person's; undefined if neither. */
export const auditScopeOf = (
  stream: string,
  { teamId, actor }: Pick<EventMetadata, 'teamId' | 'actor'>,
): string | undefined => {
  const { kind, id } = splitStream(stream);
  if (kind === 'team' || kind === 'user') return id;
  if (teamId !== NO_TEAM) return teamId === '' ? undefined : teamId;
  const { type, id: person } = auditActorOf(actor);
  return type === 'user' && person !== null ? person : undefined;
};

/** In: the line of the event's definition. Out: the audit entry; undefined if the event is not listed. */
export const auditEntryBy = (
  line: AuditLine<never> | undefined,
  { event, stream, metadata }: AuditSource,
): AuditEntry | undefined => {
  const scope = line && auditScopeOf(stream, metadata);
  if (line === undefined || scope === undefined) return undefined;
  const actor = auditActorOf(metadata.actor);
  if (line.ofCallers === true && actor.type === 'system') return undefined;
  // A line takes the data of an event of its own type.
  const data = event.data as never;
  const { kind, id } = splitStream(stream);
  const code = line.code?.(data) ?? null;
  const detail = line.detail?.(data) ?? null;
  return {
    id: metadata.eventId,
    scope,
    at: metadata.occurredAt,
    category: typeof line.category === 'string' ? line.category : line.category(data),
    action: typeof line.action === 'string' ? line.action : line.action(data),
    actor,
    target: line.target === undefined ? { type: targetTypes[kind] ?? kind, id } : line.target(data, id),
    result: code === null ? 'success' : 'denied',
    code,
    count: line.count?.(data) ?? 1,
    detail: detail === null ? null : detail.slice(0, DETAIL_CHARS_MAX),
    requestId: metadata.correlationId,
    origin: metadata.origin ?? null,
  };
};

/** When a person was in a team; `until` is absent while the person is in it. */
export type AuditMembership = Readonly<{ user: string; from: string; until?: string }>;

/** Memberships that are kept for one team, those that began last. */
const MEMBERSHIPS_MAX = 200;

type Change = Extract<TeamEvent, { type: 'MemberAdded' | 'MemberRemoved' }>;

export const changesMemberships = (event: AnyEvent): event is Change =>
  event.type === 'MemberAdded' || event.type === 'MemberRemoved';

export const membershipsAfter = (
  spells: readonly AuditMembership[],
  { type, data: { userId: user, at } }: Change,
): readonly AuditMembership[] => {
  const ended = spells.map((spell) =>
    spell.user === user && spell.until === undefined ? { ...spell, until: at } : spell,
  );
  return type === 'MemberAdded' ? [...ended, { user, from: at }].slice(-MEMBERSHIPS_MAX) : ended;
};

/** True if an entry about a person falls into the membership. */
export const isWithinMembership = (
  { user, from, until }: AuditMembership,
  { scope, at }: Readonly<{ scope: string; at: string }>,
): boolean => scope === user && from <= at && (until === undefined || at < until);
