/** Route of bounce and complaint reports that a mail host pipes in. */
import { feedbackExamples } from '../../api/examples.js';
import { FeedbackQuerySchema, FeedbackResponseSchema } from '../../api/recipients.js';
import { DomainError } from '../../domain/core/errors.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { uploadSlots } from '../server/upload.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'limits' | 'limiter'>;

const MEDIA_TYPE = 'message/rfc822';

/** Registers POST /api/v1/feedback. */
export const feedbackRoutes = (app: App, deps: Deps): void => {
  // In its own scope: the parser for mails is for this endpoint only.
  app.register(async (scope: App) => {
    scope.addContentTypeParser(MEDIA_TYPE, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post(
      '/api/v1/feedback',
      {
        config: { access: 'feedback:write', command: 'recordFeedback', reads: MEDIA_TYPE, examples: feedbackExamples },
        onRequest: uploadSlots(deps),
        preValidation: coerceQuery(FeedbackQuerySchema),
        schema: {
          summary: 'Report a bounce or a complaint',
          description:
            'Takes the whole report (RFC 5322) as `message/rfc822`, as a mail host has received it. The return path in it tells which email it is about; told twice it changes nothing the second time.',
          operationId: 'reportFeedback',
          tags: ['Feedback'],
          querystring: FeedbackQuerySchema,
          response: { 200: FeedbackResponseSchema },
        },
      },
      (request) => {
        const { body } = request as { body: unknown };
        if (!Buffer.isBuffer(body) || body.length === 0)
          throw new DomainError(
            'UNSUPPORTED_CONTENT_TYPE',
            `The request body must be the report itself, with the header Content-Type: ${MEDIA_TYPE}.`,
          );
        return deps.commands.recordFeedback(callerOf(request), { raw: body, recipient: request.query.recipient });
      },
    );
  });
};
