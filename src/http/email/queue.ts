/** What waits. */
import { QueueStatsSchema } from '../../api/queue.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';

/** Registers GET /api/emails/queue/stats. */
export const queueRoutes = (app: App, { queries }: Pick<HttpDeps, 'queries'>): void => {
  app.get(
    '/api/emails/queue/stats',
    {
      config: { access: 'analytics:read', codes: ['VALIDATION_ERROR'] },
      schema: {
        summary: 'See what waits',
        description:
          'How many emails of the team are due, since when, and how fast they leave, of all and by priority; and what waits for a time.',
        operationId: 'queueStats',
        tags: ['Emails'],
        response: { 200: QueueStatsSchema },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return queries.queueStats(teamId);
    },
  );
};
