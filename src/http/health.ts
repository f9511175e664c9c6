/** For load balancers and people on call: whether the process lives, and whether it should be given requests. */
import { LiveSchema, ReadySchema } from '../api/core/health.js';
import { readinessOf } from '../domain/core/readiness.js';
import type { App, HttpDeps } from './server/context.js';

type Deps = Pick<HttpDeps, 'health' | 'version'>;

/** Registers /health/live and /health/ready. */
export const healthRoutes = (app: App, deps: Deps): void => {
  const tags = ['Health'];
  app.get(
    '/health/live',
    {
      config: { access: 'public' },
      schema: { summary: 'Is the process alive?', operationId: 'live', tags, response: { 200: LiveSchema } },
    },
    () => ({ status: 'live' as const, version: deps.version }),
  );

  app.get(
    '/health/ready',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Should it be given requests?',
        description: '200 where it should, 503 where it should not, with the reasons and the state of every worker.',
        operationId: 'ready',
        tags,
        response: { 200: ReadySchema, 503: ReadySchema },
      },
    },
    async (_request, reply) => {
      const workers = deps.health
        .workers()
        .map(({ name, state, restarts, lastFault, stuckWork = 0 }) => ({ name, state, restarts, lastFault, stuckWork }));
      const log = deps.health.log();
      const { status, reasons } = readinessOf({ accepting: deps.health.accepting(), workers, log, noted: deps.health.noted() });
      reply.code(status === 'unavailable' || status === 'stopping' ? 503 : 200);
      return { status, reasons: [...reasons], workers, log };
    },
  );
};
