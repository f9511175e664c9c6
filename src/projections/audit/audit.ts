/**
 * The audit log as a read model: one document for each entry, the memberships of each team, and the months with stored
 * origins; and its lists.
 */
import {
  type AuditActorType,
  type AuditEntry,
  type AuditResult,
  changesMemberships,
  membershipsAfter,
  type AuditMembership,
  isWithinMembership,
} from '../../domain/audit/entry.js';
import type { AuditCategory } from '../../domain/core/event.js';
import { type TeamId, splitStream, auditOriginsStreamOf, type StreamName } from '../../domain/core/ids.js';
import { type Paging, type Page, readPage } from '../core/pages.js';
import { endOfMonth, monthsUpTo } from '../../domain/access/origins.js';
import { auditedTypes, auditEntryOf, kindsWith, type EventType, type Recorded } from '../../domain/events.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { Document, Query, ReadModels } from '../../domain/ports/read-models.js';
import type { Projection, Reference, Step } from '../core/projection.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Limits } from '../../domain/core/limits.js';

/** Each is compared whole; `from` and `to` are moments in UTC. */
export type AuditFilter = Readonly<{
  category?: AuditCategory;
  action?: string;
  actorType?: AuditActorType;
  actorId?: string;
  targetType?: string;
  targetId?: string;
  result?: AuditResult;
  from?: string;
  to?: string;
}>;

export type AuditQueries = Readonly<{
  /** The newest first. Rejects with INVALID_CURSOR where the cursor is not one of ours. */
  listAudit: (teamId: TeamId, filter: AuditFilter, paging: Paging) => Promise<Page<AuditEntry>>;
  /** undefined where the team is told of no such entry. */
  auditEntry: (teamId: TeamId, id: string) => Promise<AuditEntry | undefined>;
}>;

export const AUDIT = 'audit';
const AUDIT_PEOPLE = 'auditPeople';
const AUDIT_ORIGINS = 'auditOrigins';

/** Its id is that of the event. Fields that are null in an entry are absent. */
export type AuditDocument = Document &
  Readonly<{
    scope: string;
    at: string;
    category: AuditCategory;
    action: string;
    actorType: AuditActorType;
    actorId?: string;
    targetType?: string;
    targetId?: string;
    result: AuditResult;
    code?: string;
    count: number;
    detail?: string;
    requestId: string;
    origin?: string;
  }>;

/** Its id is that of the team. */
type AuditPeopleDocument = Document & Readonly<{ spells: readonly AuditMembership[] }>;

/** Its id is that of the stream. `forgetAt`: when its key is to be destroyed. */
type AuditOriginsDocument = Document & Readonly<{ scope: string; forgetAt: string }>;

const documentOf = (entry: AuditEntry, position: number): AuditDocument => {
  const { id, scope, at, category, action, actor, target, result, code, count, detail, requestId, origin } = entry;
  return {
    id,
    seq: position,
    position,
    scope,
    at,
    category,
    action,
    actorType: actor.type,
    ...(actor.id === null ? {} : { actorId: actor.id }),
    ...(target === null ? {} : { targetType: target.type, targetId: target.id }),
    result,
    ...(code === null ? {} : { code }),
    count,
    ...(detail === null ? {} : { detail }),
    requestId,
    ...(origin === null ? {} : { origin }),
  };
};

/** As it was made of its event. */
const auditEntryIn = (document: AuditDocument): AuditEntry => {
  const {
    id,
    scope,
    at,
    category,
    action,
    actorType,
    actorId,
    targetType,
    targetId,
    result,
    code,
    count,
    detail,
    requestId,
    origin,
  } = document;
  return {
    id,
    scope,
    at,
    category,
    action,
    actor: { type: actorType, id: actorId ?? null },
    target: targetType === undefined || targetId === undefined ? null : { type: targetType, id: targetId },
    result,
    code: code ?? null,
    count,
    detail: detail ?? null,
    requestId,
    origin: origin ?? null,
  };
};

const rowSteps = (recorded: Recorded): readonly Step[] => {
  const entry = auditEntryOf(recorded);
  return entry === undefined
    ? []
    : [{ collection: AUDIT, id: entry.id, document: documentOf(entry, recorded.position) }];
};

const membershipStep = (
  { stream, position }: Recorded,
  change: (spells: readonly AuditMembership[]) => readonly AuditMembership[],
): Step => {
  const { id } = splitStream(stream);
  return {
    collection: AUDIT_PEOPLE,
    id,
    next: (document): AuditPeopleDocument => {
      const before = document as AuditPeopleDocument | undefined;
      return { id, seq: before?.seq ?? position, position, spells: change(before?.spells ?? []) };
    },
  };
};

const peopleSteps = (recorded: Recorded): readonly Step[] => {
  const { event } = recorded;
  return changesMemberships(event) ? [membershipStep(recorded, (spells) => membershipsAfter(spells, event))] : [];
};

const originsId = (scope: string, month: string): string => `${scope}.${month}`;

/** Origins of an erased person, or of an erased team, are forgotten at once. */
const erasedOrigins = ({ event, stream }: Recorded, days: number): readonly string[] =>
  event.type === 'UserErased' || event.type === 'TeamErased'
    ? monthsUpTo(event.data.at, days).map((month) => originsId(splitStream(stream).id, month))
    : [];

const originSteps = (recorded: Recorded, days: number): readonly Step[] => {
  const { event, stream, revision, position } = recorded;
  const { id } = splitStream(stream);
  if (event.type === 'CallOriginsForgotten') return [{ collection: AUDIT_ORIGINS, id, document: undefined }];
  if (event.type === 'CallOriginSeen' && revision === 0) {
    const at = id.lastIndexOf('.');
    const forgetAt = isoTime(endOfMonth(id.slice(at + 1)) + days * DAY_MS);
    const document: AuditOriginsDocument = { id, seq: position, position, scope: id.slice(0, at), forgetAt };
    return [{ collection: AUDIT_ORIGINS, id, document }];
  }
  return erasedOrigins(recorded, days).map((erased) => ({
    collection: AUDIT_ORIGINS,
    id: erased,
    next: (document) => document && ({ ...document, position, forgetAt: event.data.at } as AuditOriginsDocument),
  }));
};

const forgottenSteps = ({ event }: Recorded): readonly Step[] =>
  event.type === 'AuditEntriesForgotten'
    ? event.data.ids.map((id) => ({ collection: AUDIT, id, document: undefined }))
    : [];

/** Those that are listed, and those that change what is listed. */
const types: readonly EventType[] = [
  ...auditedTypes,
  'TeamErased',
  'CallOriginSeen',
  'CallOriginsForgotten',
  'AuditEntriesForgotten',
];

/** `days`: how long it is kept. */
export const auditProjection = (days: number): Projection => {
  const handle = (recorded: Recorded): readonly Step[] => [
    ...originSteps(recorded, days),
    ...peopleSteps(recorded),
    ...forgottenSteps(recorded),
    ...rowSteps(recorded),
  ];
  return {
    name: 'audit',
    collections: [
      { name: AUDIT_ORIGINS, version: 1, fields: ['forgetAt'], indexes: [['forgetAt']] },
      { name: AUDIT_PEOPLE, version: 1, fields: [], indexes: [] },
      {
        name: AUDIT,
        version: 1,
        fields: ['scope', 'at', 'category', 'action', 'actorType', 'actorId', 'targetType', 'targetId', 'result'],
        indexes: [
          ['scope', 'at'],
          ['scope', 'category', 'at'],
          ['scope', 'action', 'at'],
          ['scope', 'actorId', 'at'],
          ['scope', 'targetId', 'at'],
          ['scope', 'result', 'at'],
          ['at'],
        ],
      },
    ],
    // No stream has a document there: each line is guarded by its own position.
    main: AUDIT,
    kinds: kindsWith(types),
    decrypts: [],
    related: (recorded): readonly Reference[] => [
      ...(peopleSteps(recorded).length === 0
        ? []
        : [{ collection: AUDIT_PEOPLE, id: splitStream(recorded.stream).id }]),
      ...erasedOrigins(recorded, days).map((id) => ({ collection: AUDIT_ORIGINS, id })),
    ],
    on: Object.fromEntries(types.map((type) => [type, handle])),
  };
};

type Deps = Readonly<{
  readModels: ReadModels;
  clock: Pick<Clock, 'now'>;
  limits: Pick<Limits, 'listTotalMax' | 'auditDays'>;
}>;

/** Time of the oldest entry that is shown, even if older ones are still stored. */
const keptSince = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.auditDays * DAY_MS);

const membershipsOf = async ({ readModels }: Deps, teamId: TeamId): Promise<readonly AuditMembership[]> => {
  const found = (await readModels.get(AUDIT_PEOPLE, teamId)) as AuditPeopleDocument | undefined;
  return found?.spells ?? [];
};

type Alternative = NonNullable<Query['anyOf']>[number];

const alternativesOf = (teamId: TeamId, spells: readonly AuditMembership[], since: string): readonly Alternative[] => [
  { scope: { eq: teamId } },
  ...spells
    .filter(({ until }) => until === undefined || until > since)
    .map(({ user, from, until }) => ({
      scope: { eq: user },
      at: { gte: from, ...(until === undefined ? {} : { lt: until }) },
    })),
];

const whereOf = (filter: AuditFilter, since: string): Query['where'] => {
  const { from, to, ...others } = filter;
  return {
    at: { gte: from === undefined || from < since ? since : from, ...(to === undefined ? {} : { lte: to }) },
    ...Object.fromEntries(Object.entries(others).map(([field, value]) => [field, { eq: value }])),
  };
};

export const makeAuditQueries = (deps: Deps): AuditQueries => ({
  listAudit: async (teamId, filter, paging) => {
    const since = keptSince(deps);
    const where = whereOf(filter, since);
    const anyOf = alternativesOf(teamId, await membershipsOf(deps, teamId), since);
    const max = deps.limits.listTotalMax;
    const total = async () => {
      const count = await deps.readModels.count(AUDIT, { where, anyOf }, max);
      return { total: count, isLowerBound: count >= max };
    };
    const list = { collection: AUDIT, where, anyOf, sortField: 'at', searchTotalMax: max, total };
    return readPage<AuditDocument, AuditEntry>(deps.readModels, list, paging, auditEntryIn);
  },
  auditEntry: async (teamId, id) => {
    const found = (await deps.readModels.get(AUDIT, id)) as AuditDocument | undefined;
    if (found === undefined || found.at < keptSince(deps)) return undefined;
    if (found.scope === teamId) return auditEntryIn(found);
    return (await membershipsOf(deps, teamId)).some((spell) => isWithinMembership(spell, found))
      ? auditEntryIn(found)
      : undefined;
  },
});

/** Origins that have expired by then, and the entries up to a moment, the oldest first. */
export const overdueAudit = async (
  readModels: Pick<ReadModels, 'find'>,
  now: string,
  entriesUpTo: string,
  limit: number,
): Promise<Readonly<{ origins: readonly StreamName[]; entries: readonly string[] }>> => {
  const first = (collection: string, field: string, upTo: string) =>
    readModels.find(collection, { where: { [field]: { lte: upTo } }, sort: { field, direction: 'asc' }, limit });
  const origins = await first(AUDIT_ORIGINS, 'forgetAt', now);
  const entries = await first(AUDIT, 'at', entriesUpTo);
  return { origins: origins.map(({ id }) => auditOriginsStreamOf(id)), entries: entries.map(({ id }) => id) };
};
