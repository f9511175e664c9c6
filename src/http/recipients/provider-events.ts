/**
 * Route of the events that mail providers post. A call has no API key: the secret or the signature of the provider
 * authenticates it. Few calls are recorded at a time, so that a flood of events leaves the API its turn.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from '@sinclair/typebox';
import { providerEventExamples } from '../../api/examples.js';
import { ProviderEventsResponseSchema } from '../../api/recipients.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { feedbackProviders } from '../../domain/ports/provider-feedback.js';
import { addressBucket } from '../../shared/addresses.js';
import { openFairSlots } from '../../shared/concurrency.js';
import { countFailed } from '../server/admission.js';
import type { App, HttpDeps } from '../server/context.js';

type Deps = Pick<HttpDeps, 'commands' | 'limits' | 'limiter'>;

const ParamsSchema = Type.Object({
  provider: Type.String({ description: `The provider: ${feedbackProviders.join(', ')}` }),
});

/** SNS sends JSON as text/plain. */
const MEDIA_TYPES = /^(application|text)\/[\w.+-]+/;
const READS = 'application/json';

/** Registers POST /api/feedback/:provider. */
export const providerEventRoutes = (app: App, deps: Deps): void => {
  const slots = openFairSlots({
    slotsMax: deps.limits.providerCallsAtOnceMax,
    shareMax: deps.limits.networkProviderCallsAtOnceMax,
    queueMax: deps.limits.providerCallsMax,
  });
  const hasRoom = roomFor(deps.limits);
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      MEDIA_TYPES,
      { parseAs: 'buffer', bodyLimit: deps.limits.providerCallBytesMax },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      '/api/feedback/:provider',
      {
        // Providers send from few networks, as often as they have events.
        config: {
          access: 'public',
          forReaders: true,
          command: 'recordProviderEvents',
          reads: READS,
          examples: providerEventExamples,
        },
        bodyLimit: deps.limits.providerCallBytesMax,
        onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
          const { provider } = request.params as { provider: string };
          await orFailed(deps, request, reply, deps.commands.refuseProvider(provider, request.headers));
          hasRoom(request, reply);
        },
        schema: {
          summary: 'Take the events of a mail provider',
          description:
            'Takes deliveries, bounces, complaints and unsubscribing as the provider posts them, with its own secret or signature and without an API key. An event that comes again changes nothing.',
          operationId: 'recordProviderEvents',
          tags: ['Feedback'],
          params: ParamsSchema,
          response: { 200: ProviderEventsResponseSchema },
        },
      },
      async (request, reply) => {
        const { body } = request as { body: unknown };
        const network = addressBucket(request.ip ?? '');
        const how = await slots.acquire(network, gone(reply));
        if (how !== 'acquired') throw full(deps.limits);
        try {
          const call = { headers: request.headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) };
          const given = { name: request.params.provider, call, requestId: request.id };
          return await orFailed(deps, request, reply, deps.commands.recordProviderEvents(given));
        } finally {
          slots.release(network);
        }
      },
    );
  });
};

/** A call that is refused counts against its network, as a request with a wrong key does. */
const orFailed = async <Answer>(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Promise<Answer>,
): Promise<Answer> => {
  try {
    return await answer;
  } catch (fault) {
    const isRefused =
      fault instanceof DomainError &&
      ['FEEDBACK_REFUSED', 'FEEDBACK_PROVIDER_NOT_SET_UP', 'NOT_FOUND'].includes(fault.code);
    if (isRefused) await countFailed(deps, request, reply);
    throw fault;
  }
};

/** A signal that aborts when the caller goes away. */
const gone = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  if (reply.raw.destroyed) controller.abort();
  else reply.raw.once('close', () => controller.abort());
  return controller.signal;
};

/**
 * Bounds the calls whose bodies are read or wait for their turn, of all networks and of one. Throws RATE_LIMIT_EXCEEDED
 * if there are too many.
 */
const roomFor = (limits: Pick<Limits, 'providerCallsMax' | 'networkProviderCallsMax'>) => {
  const calls = new Map<string, number>();
  let all = 0;
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const network = addressBucket(request.ip ?? '');
    const own = calls.get(network) ?? 0;
    if (all >= limits.providerCallsMax || own >= limits.networkProviderCallsMax) throw full(limits);
    if (reply.raw.destroyed) return;
    all += 1;
    calls.set(network, own + 1);
    reply.raw.once('close', () => {
      all -= 1;
      const left = calls.get(network)! - 1;
      if (left === 0) calls.delete(network);
      else calls.set(network, left);
    });
  };
};

const full = ({ providerCallsMax }: Pick<Limits, 'providerCallsMax'>): DomainError =>
  new DomainError(
    'RATE_LIMIT_EXCEEDED',
    `As many calls of providers wait as may wait: ${providerCallsMax}. Try again in 5 seconds.`,
    { retryAfterS: 5 },
  );
