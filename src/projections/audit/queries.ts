/** Lists of the audit log, of one team: of its own events, and of what its members did to their accounts while they were in it. */
import type { AuditEntry } from '../../domain/audit/entry.js';
import { isToldBySpell, type AuditSpell } from '../../domain/audit/spells.js';
import { auditOriginsStreamOf, type StreamName, type TeamId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Query, ReadModels } from '../../domain/ports/read-models.js';
import { DAY_MS } from '../../domain/core/time.js';
import { AUDIT, auditEntryIn, AUDIT_ORIGINS, AUDIT_PEOPLE, type AuditDocument, type AuditPeopleDocument } from './audit.js';
import { readPage } from '../core/paging.js';
import type { AuditFilter, AuditQueries } from './filters.js';

type Deps = Readonly<{ readModels: ReadModels; clock: Pick<Clock, 'now'>; limits: Pick<Limits, 'listTotalMax' | 'auditDays'> }>;

/** Of what is older nothing is shown, though it be there. */
const keptSince = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.auditDays * DAY_MS);

const spellsOf = async ({ readModels }: Deps, teamId: TeamId): Promise<readonly AuditSpell[]> => {
  const found = (await readModels.get(AUDIT_PEOPLE, teamId)) as AuditPeopleDocument | undefined;
  return found?.spells ?? [];
};

type Alternative = NonNullable<Query['anyOf']>[number];

const alternativesOf = (teamId: TeamId, spells: readonly AuditSpell[], since: string): readonly Alternative[] => [
  { scope: { eq: teamId } },
  ...spells
    .filter(({ until }) => until === undefined || until > since)
    .map(({ user, from, until }) => ({ scope: { eq: user }, at: { gte: from, ...(until === undefined ? {} : { lt: until }) } })),
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
    const anyOf = alternativesOf(teamId, await spellsOf(deps, teamId), since);
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
    return (await spellsOf(deps, teamId)).some((spell) => isToldBySpell(spell, found)) ? auditEntryIn(found) : undefined;
  },
});

/** What is over by then, and of entries those up to a moment, the oldest first. */
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
