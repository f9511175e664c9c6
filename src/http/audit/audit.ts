/** Routes of the audit log: its list, and its export. */
import { Readable } from 'node:stream';
import { AuditEntrySchema, AuditExportQuerySchema, AuditQuerySchema, type AuditQuery } from '../../api/audit.js';
import { idParams, pageOf } from '../../api/core/common.js';
import { auditEntryNotFound } from '../../commands/audit/entries.js';
import type { AuditFilter } from '../../projections/audit/audit.js';
import { DomainError } from '../../domain/core/errors.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { disposition } from '../server/headers.js';
import { coerceQuery } from '../server/validation.js';
import { momentOf, pagingOf } from '../server/query.js';

const tags = ['Audit log'];
const access = 'audit:read';

const filterOf = ({
  category,
  action,
  actorType,
  actor,
  targetType,
  target,
  result,
  from,
  to,
}: AuditQuery): AuditFilter => ({
  ...(category === undefined ? {} : { category }),
  ...(action === undefined ? {} : { action }),
  ...(actorType === undefined ? {} : { actorType }),
  ...(actor === undefined ? {} : { actorId: actor }),
  ...(targetType === undefined ? {} : { targetType }),
  ...(target === undefined ? {} : { targetId: target }),
  ...(result === undefined ? {} : { result }),
  ...(from === undefined ? {} : { from: momentOf('from', from, 'start') }),
  ...(to === undefined ? {} : { to: momentOf('to', to, 'end') }),
});

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'exportAudit'>;

/** Registers the routes under /api/audit-logs. */
export const auditRoutes = (app: App, deps: Deps): void => {
  exportRoute(app, deps);
  const { commands, queries } = deps;
  app.get(
    '/api/audit-logs',
    {
      config: { access, command: 'readAudit', codes: ['INVALID_CURSOR', 'VALIDATION_ERROR'] },
      preValidation: coerceQuery(AuditQuerySchema),
      schema: {
        summary: 'List the audit log',
        description:
          'Newest first: sign-ins, API keys, changes of the team, reads of content, apps and settings, each with who, on what, from where and with which result. For owners and admins; no API key and no app is let in.',
        operationId: 'listAuditLogs',
        tags,
        querystring: AuditQuerySchema,
        response: { 200: pageOf(AuditEntrySchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      const { data, meta } = await queries.listAudit(teamId, filterOf(request.query), pagingOf(request.query));
      return { data: await commands.readAudit(teamId, data), meta };
    },
  );

  app.get(
    '/api/audit-logs/:id',
    {
      config: { access, command: 'readAudit', unknownId: 'AUDIT_ENTRY_NOT_FOUND' },
      schema: {
        summary: 'Read one entry of the audit log',
        operationId: 'getAuditLog',
        tags,
        params: idParams('Id of the entry'),
        response: { 200: AuditEntrySchema },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const entry = await queries.auditEntry(teamId, request.params.id.toLowerCase());
      const [record] = entry === undefined ? [] : await commands.readAudit(teamId, [entry]);
      if (record === undefined) throw auditEntryNotFound();
      return record;
    },
  );
};

const mediaOf = { jsonl: 'application/x-ndjson', csv: 'text/csv' } as const;

/** Exports at once in one process: each reads the whole log of its period. */
const EXPORTS_MAX = 2;
const RETRY_AFTER_S = 30;

/** A slow reader slows the export down: each piece is made when the one before it is taken. */
const exportRoute = (app: App, { exportAudit, commands }: Deps): void => {
  let running = 0;

  async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* lines;
    } finally {
      running -= 1;
    }
  }

  app.get(
    '/api/audit-logs/export',
    {
      config: {
        access,
        command: 'recordAuditExport',
        codes: ['VALIDATION_ERROR', 'AUDIT_EXPORT_TOO_LARGE'],
        media: [mediaOf.jsonl, mediaOf.csv],
        audited: { action: 'audit_log.export_begun' },
      },
      schema: {
        summary: 'Export the audit log',
        description:
          'JSON lines or CSV, the oldest first, up to the newest seal of the ledger, which is made every minute. Each entry stands with its event, and the proof that the event is in the log follows: `sealpost verify --export FILE` checks the file without this service. In CSV a cell that begins like a formula has an apostrophe before it.',
        operationId: 'exportAuditLogs',
        tags,
        querystring: AuditExportQuerySchema,
      },
    },
    async (request, reply) => {
      const { format = 'jsonl', from, to } = request.query;
      const caller = callerOf(request);
      const period = {
        ...(from === undefined ? {} : { from: momentOf('from', from, 'start') }),
        ...(to === undefined ? {} : { to: momentOf('to', to, 'end') }),
      };
      if (running >= EXPORTS_MAX)
        throw new DomainError(
          'RATE_LIMIT_EXCEEDED',
          `${EXPORTS_MAX} exports are under way. Try again in ${RETRY_AFTER_S} seconds.`,
          {
            retryAfterS: RETRY_AFTER_S,
          },
        );
      running += 1;
      try {
        const lines = await exportAudit({ teamId: caller.teamId, format }, period, (exported) =>
          commands.recordAuditExport(caller, { format, ...period }, exported),
        );
        return reply
          .header('content-type', `${mediaOf[format]}; charset=utf-8`)
          .header('content-disposition', disposition('attachment', `audit-log.${format}`))
          .send(Readable.from(counted(lines), { objectMode: false }));
      } catch (fault) {
        running -= 1;
        throw fault;
      }
    },
  );
};
