/** The route of the log of calls. */
import { RequestLogEntrySchema, RequestLogQuerySchema, type RequestLogQuery } from '../../api/audit.js';
import { pageOf } from '../../api/core/common.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { CallFilter, LoggedCall } from '../../domain/ports/request-log.js';
import type { Page, Paging } from '../../projections/core/pages.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { momentOf, pagingOf } from '../server/query.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'requestLog' | 'limits'>;

/** Registers GET /api/request-logs. */
export const requestLogRoutes = (app: App, { commands, requestLog, limits }: Deps): void => {
  app.get(
    '/api/request-logs',
    {
      config: { access: 'api-keys:manage', command: 'nameCalls', codes: ['INVALID_CURSOR', 'VALIDATION_ERROR'] },
      preValidation: coerceQuery(RequestLogQuerySchema),
      schema: {
        summary: 'List calls of the API',
        description:
          'Newest first: each call of an API key or app of the team within the last seven days, as the settings say, with its status and error code. Bodies, queries and addresses are not kept. At most 100,000 calls of a team are kept.',
        operationId: 'listRequestLogs',
        tags: ['API keys'],
        querystring: RequestLogQuerySchema,
        response: { 200: pageOf(RequestLogEntrySchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await requestLog.flush();
      const { data, meta } = await pageOfCalls(
        requestLog,
        limits,
        teamId,
        filterOf(request.query),
        pagingOf(request.query),
      );
      return { data: await commands.nameCalls(data), meta };
    },
  );
};

const filterOf = ({ actor, method, status, code, requestId, from, to }: RequestLogQuery): CallFilter => ({
  ...(actor === undefined ? {} : { actorId: actor }),
  ...(method === undefined ? {} : { method }),
  ...(status === undefined ? {} : { status: statusesOf(status) }),
  ...(code === undefined ? {} : { code }),
  ...(requestId === undefined ? {} : { requestId }),
  ...(from === undefined ? {} : { fromMs: Date.parse(momentOf('from', from, 'start')) }),
  ...(to === undefined ? {} : { toMs: Date.parse(momentOf('to', to, 'end')) }),
});

/** In: a status such as `404`, or `4xx`. */
const statusesOf = (text: string): NonNullable<CallFilter['status']> => ({
  first: Number(text.replace('xx', '00')),
  last: Number(text.replace('xx', '99')),
});

/** A search for few calls reads all of the team, so the total is taken from the page where it shows it. */
const pageOfCalls = async (
  requestLog: Deps['requestLog'],
  { listTotalMax }: Pick<Limits, 'listTotalMax'>,
  team: string,
  filter: CallFilter,
  { page, limit, cursor }: Paging,
): Promise<Page<LoggedCall>> => {
  const skip = (page - 1) * limit;
  const place = cursor === undefined ? { skip } : { before: readCursor(cursor) };
  // One more than the page holds tells whether others follow.
  const found = await requestLog.find(team, filter, { ...place, limit: limit + 1 });
  const isWhole = cursor === undefined && found.length <= limit && (found.length > 0 || skip === 0);
  const total = isWhole ? skip + found.length : await requestLog.count(team, filter, listTotalMax);
  const data = found.slice(0, limit);
  const last = data.at(-1);
  return {
    data,
    meta: {
      page: cursor === undefined ? page : 1,
      limit,
      total,
      totalPages: Math.ceil(total / limit),
      totalIsLowerBound: !isWhole && total >= listTotalMax,
      nextCursor: found.length > limit && last !== undefined ? writeCursor(last.id) : null,
    },
  };
};

const CURSOR = /^calls:([0-9a-f]{26})$/;

const writeCursor = (id: string): string => Buffer.from(`calls:${id}`).toString('base64url');

const readCursor = (cursor: string): string => {
  const id = CURSOR.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (id === undefined)
    throw new DomainError(
      'INVALID_CURSOR',
      'The cursor is not one of this list. Take `meta.nextCursor` of the page before, with the same filter, or leave it out.',
    );
  return id;
};
