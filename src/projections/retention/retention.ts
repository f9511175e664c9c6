/** Reads expired data that waits for its worker, from read models and files. */
import type { Limits } from '../../domain/core/limits.js';
import { priorities } from '../../domain/ports/bus.js';
import type { ReadModels, Query } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { counted } from '../../shared/text.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../../domain/core/time.js';
import type { Files } from '../../domain/ports/files.js';
import { SESSIONS } from '../people/sessions.js';
import { TEAMS } from '../teams/teams.js';
import { AUDIT, type AuditDocument } from '../audit/audit.js';
import { WEBHOOKS, type WebhookPartDocument } from '../webhooks/webhooks.js';

/**
 * `then`: what happens when its time is over. `due`: how many would go now; `oldest`: when the first of them was due. `next`: when the next one will be; both null
 * where there is none.
 */
type RetentionLine = Readonly<{
  name: string;
  what: string;
  period: string;
  then: string;
  setting: string | null;
  due: number;
  oldest: string | null;
  next: string | null;
}>;

type RetentionDeps = Readonly<{
  readModels: Pick<ReadModels, 'find' | 'count'>;
  files: Pick<Files, 'expired'>;
  limits: Limits;
}>;

type Due = Pick<RetentionLine, 'due' | 'oldest' | 'next'>;

const days = (count: number): string => counted(count, 'day');
const hours = (count: number): string => counted(count, 'hour');

/** Deleted things of each kind, by the kind of their stream. */
const DELETED = {
  template: 'deleted email templates',
  attachmentTemplate: 'deleted attachment templates',
  block: 'deleted blocks',
  asset: 'deleted assets',
  webhook: 'deleted webhook subscriptions',
  senderDomains: 'deleted sender domains',
} as const;

/** Lines that count other things than they are about. */
const COUNTED: Readonly<Record<string, string>> = {
  webhookRecords: 'records of webhook deliveries, in parts',
  'deleted.senderDomains': 'teams with deleted sender domains',
  invitations: 'teams with invitations that nobody accepted',
};

type TableLine = Omit<RetentionLine, keyof Due>;

const DESTROYED = 'destroyed with their keys; before, they can be restored';

/** The table in force. */
export const retentionTable = (limits: Limits): readonly TableLine[] => {
  const line = (name: string, what: string, period: string, setting: string | null, then: string): TableLine => ({
    name,
    what,
    period,
    then,
    setting,
  });
  return [
    line(
      'emails',
      'logs of emails and attachments',
      days(limits.retentionDays),
      'SEALPOST_RETENTION_DAYS',
      'archived: addresses, subject, content and attachments are destroyed; the rest of the record stays',
    ),
    line(
      'archivedEmails',
      'records of archived emails',
      days(limits.archiveDays),
      'SEALPOST_RETENTION_ARCHIVE_DAYS',
      'removed: lists and counts omit them',
    ),
    line(
      'bulkSends',
      'records of bulk sends',
      `${days(limits.retentionDays + limits.archiveDays)} after their end`,
      'SEALPOST_RETENTION_ARCHIVE_DAYS',
      'removed with the records of their emails',
    ),
    line(
      'approvals',
      'records of approvals of sends',
      `${days(limits.retentionDays)} after the decision`,
      'SEALPOST_RETENTION_DAYS',
      'removed; what was proposed is destroyed at once when it is rejected, withdrawn or expired',
    ),
    line(
      'webhookRecords',
      'records of webhook deliveries',
      days(limits.webhookRecordDays),
      'SEALPOST_RETENTION_WEBHOOK_DAYS',
      'removed, and their key is destroyed',
    ),
    line(
      'files',
      'generated files',
      `${days(limits.generatedFileDays)} after the email was due`,
      'SEALPOST_RETENTION_GENERATED_FILE_DAYS',
      'deleted',
    ),
    line(
      'audit',
      'entries of the audit log',
      days(limits.auditDays),
      'SEALPOST_RETENTION_AUDIT_DAYS',
      'removed, and the key for networks and agents of callers is destroyed',
    ),
    line(
      'requestLog',
      'calls of API keys and apps',
      limits.requestLogDays === 0 ? 'none' : days(limits.requestLogDays),
      'SEALPOST_RETENTION_REQUEST_LOG_DAYS',
      'deleted',
    ),
    ...Object.entries(DELETED).map(([kind, what]) =>
      line(`deleted.${kind}`, what, days(limits.restoreDays), 'SEALPOST_RETENTION_DELETED_DAYS', DESTROYED),
    ),
    line('deleted.team', 'deleted teams with all they have', days(limits.teamRestoreDays), null, DESTROYED),
    line(
      'invitations',
      'invitations that nobody accepted',
      days(limits.invitationDays),
      null,
      'the key of their address is destroyed',
    ),
    line(
      'sessions',
      'sessions that nobody refreshes',
      days(limits.sessionUnusedMs / DAY_MS),
      null,
      'ended, and the key of their networks and agents is destroyed',
    ),
    line(
      'temporaryFiles',
      'files whose writing was cut off',
      hours(limits.temporaryFileHours),
      'SEALPOST_RETENTION_TEMPORARY_FILE_HOURS',
      'deleted',
    ),
    line('deletedEmails', 'logs of emails that were deleted', 'none', null, 'destroyed at once'),
    line('summaries', 'daily summaries', 'for ever', null, 'they still count what is archived, deleted or removed'),
  ];
};

/**
 * Reads what is due for removal at that moment; changes nothing. Data that is removed at once, or never, has no line.
 */
export const readRetentionLines = async (deps: RetentionDeps, nowMs: number): Promise<readonly RetentionLine[]> => {
  const now = isoTime(nowMs);
  const due = new Map<string, Due>([
    ['emails', await dueTimers(deps, 'email', 'archive', now)],
    ['archivedEmails', await dueTimers(deps, 'email', 'removal', now)],
    ['bulkSends', await dueTimers(deps, 'batch', 'removal', now)],
    ['approvals', await dueTimers(deps, 'approval', 'removal', now)],
    ['webhookRecords', await dueParts(deps, nowMs)],
    ['audit', await dueEntries(deps, nowMs)],
    ['files', { due: await deps.files.expired(now), oldest: null, next: null }],
  ]);
  for (const kind of Object.keys(DELETED) as (keyof typeof DELETED)[])
    due.set(`deleted.${kind}`, await dueTimers(deps, kind, 'removal', now));
  due.set(
    'deleted.team',
    await dueBy(deps, TEAMS, 'deletedAt', nowMs, deps.limits.teamRestoreDays * DAY_MS + CLOCKS_APART_MS),
  );
  due.set('invitations', await dueBy(deps, TEAMS, 'lapsesAt', nowMs, 0));
  due.set('sessions', await dueBy(deps, SESSIONS, 'expiresAt', nowMs, CLOCKS_APART_MS));
  return retentionTable(deps.limits).flatMap((line) => {
    const found = due.get(line.name);
    return found === undefined ? [] : [{ ...line, what: COUNTED[line.name] ?? line.what, ...found }];
  });
};

type Kind = 'email' | 'batch' | 'approval' | keyof typeof DELETED;

const dueTimers = async ({ readModels }: RetentionDeps, kind: Kind, timer: string, now: string): Promise<Due> => {
  const collection = timersOf(kind);
  const least = (times: readonly (string | undefined)[]): string | null =>
    times.filter((time) => time !== undefined).sort()[0] ?? null;
  const ofEach = <T>(dueAt: Query['where'][string], read: (where: Query['where']) => Promise<T>): Promise<T[]> =>
    Promise.all(priorities.map((priority) => read({ kind: { eq: timer }, priority: { eq: priority }, dueAt })));
  const first = async (where: Query['where']): Promise<string | undefined> => {
    const found = await readModels.find(collection, { where, sort: { field: 'dueAt', direction: 'asc' }, limit: 1 });
    return (found as readonly TimerDocument[])[0]?.dueAt;
  };
  const counts = await ofEach({ lte: now }, (where) =>
    readModels.count(collection, { where }, Number.MAX_SAFE_INTEGER),
  );
  return {
    due: counts.reduce((sum, count) => sum + count, 0),
    oldest: least(await ofEach({ lte: now }, first)),
    next: least(await ofEach({ gte: behind(now) }, first)),
  };
};

/** Times are texts of one form: behind every other of that millisecond. */
const behind = (time: string): string => `${time.slice(0, -1)}~`;

const dueEntries = async ({ readModels, limits }: RetentionDeps, nowMs: number): Promise<Due> => {
  const keptMs = limits.auditDays * DAY_MS;
  const upTo = isoTime(nowMs - keptMs);
  const first = async (at: Query['where'][string]): Promise<string | null> => {
    const [found] = (await readModels.find(AUDIT, {
      where: { at },
      sort: { field: 'at', direction: 'asc' },
      limit: 1,
    })) as readonly AuditDocument[];
    return found === undefined ? null : isoTime(Date.parse(found.at) + keptMs);
  };
  const due = await readModels.count(AUDIT, { where: { at: { lte: upTo } } }, Number.MAX_SAFE_INTEGER);
  return { due, oldest: await first({ lte: upTo }), next: await first({ gte: behind(upTo) }) };
};

/** A part may go when its last fact is old enough; one whose subscription is gone may go at once, and has no time. */
const dueParts = async ({ readModels, limits }: RetentionDeps, nowMs: number): Promise<Due> => {
  const keptMs = limits.webhookRecordDays * DAY_MS;
  const upTo = isoTime(nowMs - keptMs);
  const first = async (removeAfter: Query['where'][string]): Promise<string | null> => {
    const query: Query = { where: { removeAfter }, sort: { field: 'removeAfter', direction: 'asc' }, limit: 1 };
    const [found] = (await readModels.find(WEBHOOKS, query)) as readonly WebhookPartDocument[];
    return found === undefined ? null : isoTime(Date.parse(found.removeAfter) + keptMs);
  };
  const due = await readModels.count(WEBHOOKS, { where: { removeAfter: { lte: upTo } } }, Number.MAX_SAFE_INTEGER);
  return { due, oldest: await first({ gte: '1', lte: upTo }), next: await first({ gte: behind(upTo) }) };
};

/** By a time of theirs, which they outlive by `keptMs`. */
const dueBy = async (
  { readModels }: RetentionDeps,
  collection: string,
  field: string,
  nowMs: number,
  keptMs: number,
): Promise<Due> => {
  const upTo = isoTime(nowMs - keptMs);
  const first = async (range: Query['where'][string]): Promise<string | null> => {
    const found = await readModels.find(collection, {
      where: { [field]: range },
      sort: { field, direction: 'asc' },
      limit: 1,
    });
    const time = found[0]?.[field] as string | undefined;
    return time === undefined ? null : isoTime(Date.parse(time) + keptMs);
  };
  const due = await readModels.count(collection, { where: { [field]: { lte: upTo } } }, Number.MAX_SAFE_INTEGER);
  return { due, oldest: await first({ lte: upTo }), next: await first({ gte: behind(upTo) }) };
};
