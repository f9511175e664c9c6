/** Audit entries as auditors see them, with the origin of each call while it is kept. */
import { causeOf, type Caller } from '../core/caller.js';
import type { AccessNeeds } from '../access/needs.js';
import type { AuditEntryRecord, AuditFormat } from '../../api/audit.js';
import type { AuditEntry } from '../../domain/audit/entry.js';
import type { AuditEvent } from '../../domain/audit/events.js';
import { monthOf, type CallOrigin } from '../../domain/access/origins.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import { auditStream } from '../../domain/core/ids.js';
import { startOf, versionOf } from '../../event-log/event-log.js';

/** In: entries of which a team is told. */
export const readAudit = async (
  { origins }: Pick<AccessNeeds, 'origins'>,
  teamId: string,
  entries: readonly AuditEntry[],
): Promise<AuditEntryRecord[]> => {
  const known = await origins.read(entries.flatMap(({ origin }) => origin ?? []));
  return entries.map((entry) =>
    auditRecordOf(teamId, entry, entry.origin === null ? undefined : known.get(entry.origin)),
  );
};

/** `from`: undefined where it is not kept. */
export const auditRecordOf = (teamId: string, entry: AuditEntry, from: CallOrigin | undefined): AuditEntryRecord => {
  const { id, at, scope, category, action, actor, target, result, code, count, detail, requestId } = entry;
  return {
    id,
    at,
    scope: scope === teamId ? 'team' : 'person',
    category,
    action,
    actor: { ...actor },
    target: target === null ? null : { ...target },
    result,
    code,
    count,
    detail,
    network: from?.ipAddress ?? null,
    agent: from?.userAgent ?? null,
    requestId,
  };
};

/** The log says who took what away, before they have the end of it. */
export const recordAuditExport = async (
  deps: Pick<AccessNeeds, 'eventLog' | 'clock'>,
  caller: Caller,
  { format, from, to }: Readonly<{ format: AuditFormat; from?: string | undefined; to?: string | undefined }>,
  exported: Readonly<{ entries: number; upTo: number; root: string }>,
): Promise<void> => {
  const cause = causeOf(deps, caller);
  const event: AuditEvent = {
    type: 'AuditLogExported',
    data: { at: cause.at, format, from: from ?? null, to: to ?? null, ...exported },
  };
  const stream = auditStream(caller.teamId, monthOf(cause.at));
  for (let conflicts = 0; ; conflicts += 1) {
    const last = await deps.eventLog.last(stream);
    const [recorded] = last === undefined ? [] : await deps.eventLog.load(stream, last.revision);
    try {
      // Not by `handle`: the event notes an export, and nothing about it is decided.
      await deps.eventLog.append(
        stream,
        recorded === undefined ? startOf(stream) : versionOf(recorded),
        [event],
        cause,
      );
      return;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision) || conflicts >= CONFLICTS_MAX) throw fault;
    }
  }
};

const CONFLICTS_MAX = 8;

export const auditEntryNotFound = (): DomainError =>
  new DomainError(
    'AUDIT_ENTRY_NOT_FOUND',
    'The team is told of no entry of the audit log with this id. GET /api/audit-logs lists them.',
  );
