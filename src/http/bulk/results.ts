/** The results of a bulk send, one line a recipient. */
import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import { BatchResultsQuerySchema, type BatchResultsQuery, type ResultFormat } from '../../api/bulk-results.js';
import { batchNotFound } from '../../domain/bulk/decider.js';
import { parseBatchId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { disposition } from '../server/disposition.js';
import { coerceQuery } from '../server/validation.js';
import { resultLines, resultWriter } from '../../commands/bulk/result-lines.js';

const mediaTypes: Readonly<Record<ResultFormat, string>> = { jsonl: 'application/x-ndjson', csv: 'text/csv' };

const formatOf = ({ format }: BatchResultsQuery, accept = ''): ResultFormat =>
  format ?? (/\btext\/csv\b/i.test(accept) && !/\bapplication\/(?:x-ndjson|jsonl|json)\b/i.test(accept) ? 'csv' : 'jsonl');

/** Registers the route. What a caller reads slowly is read slowly: a piece is made when the one before it is taken. */
export const bulkResultsRoute = (app: App, deps: Pick<HttpDeps, 'commands'>): void => {
  app.get(
    '/api/emails/batch/:batchId/results',
    {
      config: {
        audited: { action: 'batch.results_exported', target: 'batch' },
        access: 'emails:read',
        command: 'batchResults',
        unknownId: 'BATCH_NOT_FOUND',
        media: [mediaTypes.jsonl, mediaTypes.csv],
      },
      preValidation: coerceQuery(BatchResultsQuerySchema),
      schema: {
        summary: 'What became of each recipient',
        description:
          'One line for each recipient of the call, in its order: `place`, `email`, `status`, `emailId`, `error`, `reply`, `sentAt`, `deliveredAt`. In CSV a cell that begins like a formula has an apostrophe before it.',
        operationId: 'getBatchResults',
        tags: ['Bulk'],
        params: Type.Object({ batchId: Type.String({ description: 'Batch id' }) }),
        querystring: BatchResultsQuerySchema,
      },
    },
    async (request, reply) => {
      const id = parseBatchId(request.params.batchId);
      if (id === undefined) throw batchNotFound();
      const format = formatOf(request.query, request.headers.accept);
      const results = await deps.commands.batchResults(callerOf(request), id, request.query.status);
      const lines = resultLines(results, await resultWriter(format));
      return reply
        .header('content-type', `${mediaTypes[format]}; charset=utf-8`)
        .header('content-disposition', disposition('attachment', `batch-${id}.${format}`))
        .send(Readable.from(lines, { objectMode: false }));
    },
  );
};
