/**
 * Route of bounce and complaint reports that a mail host pipes in. Few are read at a time; others wait before their
 * body is read.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { feedbackExamples } from '../../api/examples.js';
import { FeedbackQuerySchema, FeedbackResponseSchema } from '../../api/recipients.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'limits'>;

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
        onRequest: waitsItsTurn(deps.limits),
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

type Waiting = Readonly<{ team: string; begin: () => void }>;

type Bounds = Pick<Limits, 'reportsAtOnceMax' | 'reportsWaitingMax' | 'teamReportsWaitingMax'>;

type ReportQueue = Readonly<{
  /**
   * Resolves when it is the report's turn; `left` takes a report that waits out of the queue. undefined if the queue is
   * full.
   */
  enter: (team: string) => Readonly<{ turn: Promise<void>; left: () => void }> | undefined;
}>;

/** First come, first served. Each process has its own. */
export const openReportQueue = ({
  reportsAtOnceMax,
  reportsWaitingMax,
  teamReportsWaitingMax,
}: Bounds): ReportQueue => {
  const waiting = new Set<Waiting>();
  let underWay = 0;
  const goOn = (): void => {
    for (const next of waiting) {
      if (underWay >= reportsAtOnceMax) return;
      waiting.delete(next);
      underWay += 1;
      next.begin();
    }
  };
  return {
    enter: (team) => {
      if (underWay >= reportsAtOnceMax) {
        const ofTeam = [...waiting].filter((one) => one.team === team).length;
        if (waiting.size >= reportsWaitingMax || ofTeam >= teamReportsWaitingMax) return undefined;
      }
      let begin = (): void => {};
      const turn = new Promise<void>((resolve) => (begin = resolve));
      const own: Waiting = { team, begin };
      waiting.add(own);
      goOn();
      let isGone = false;
      const left = (): void => {
        if (isGone) return;
        isGone = true;
        if (!waiting.delete(own)) underWay -= 1;
        goOn();
      };
      return { turn, left };
    },
  };
};

/** A hook before the body is read: waits for the report's turn. Throws RATE_LIMIT_EXCEEDED if the queue is full. */
export const waitsItsTurn = (bounds: Bounds) => {
  const queue = openReportQueue(bounds);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const place = queue.enter(callerOf(request).teamId);
    if (place === undefined) throw full(bounds);
    // `close` also comes where the caller goes away.
    if (reply.raw.destroyed) place.left();
    else reply.raw.once('close', place.left);
    await place.turn;
  };
};

const full = ({ reportsWaitingMax, teamReportsWaitingMax }: Bounds): DomainError =>
  new DomainError(
    'RATE_LIMIT_EXCEEDED',
    `As many reports wait as the service lets wait: ${reportsWaitingMax}, and ${teamReportsWaitingMax} of one team. Try again in 5 seconds.`,
    { retryAfterS: 5 },
  );
