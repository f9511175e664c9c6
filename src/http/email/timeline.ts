/** What happened to one email, from the call to the answers of webhook endpoints. */
import { idParams } from '../../api/core/common.js';
import { TimelineQuerySchema, TimelineSchema } from '../../api/timeline.js';
import { timelinePage } from '../../domain/email/timeline.js';
import { placedAttempt } from '../../domain/webhooks/trail.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';
import { emailIdOf } from './emails.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits'>;

export const emailTimelineRoute = (app: App, { commands, queries, limits }: Deps): void => {
  app.get(
    '/api/emails/:id/timeline',
    {
      config: {
        audited: { action: 'email.timeline_read', target: 'email' },
        access: 'emails:read',
        command: 'emailTrace',
        unknownId: 'EMAIL_NOT_FOUND',
        codes: ['INVALID_CURSOR'],
      },
      preValidation: coerceQuery(TimelineQuerySchema),
      schema: {
        summary: 'Trace an email',
        description:
          'Everything that was recorded of it, in the order of the log: the call, every delivery attempt, what came back, and every attempt to tell a webhook endpoint of it. Once archived without what is personal.',
        operationId: 'getEmailTimeline',
        tags: ['Emails'],
        params: idParams('Email log id'),
        querystring: TimelineQuerySchema,
        response: { 200: TimelineSchema },
      },
    },
    async (request) => {
      const { limit = limits.pageSizeDefault, cursor } = request.query;
      const caller = callerOf(request);
      const { placed, told } = await commands.emailTrace(caller, emailIdOf(request.params.id));
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const { attempts, isComplete } = await queries.webhookTrail(caller.teamId, told);
      const { data, meta } = timelinePage([...placed, ...attempts.map(placedAttempt)], { limit, cursor });
      return { data, meta: { ...meta, webhooksComplete: isComplete } };
    },
  );
};
