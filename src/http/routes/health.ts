/** For load balancers and people on call: whether the process lives, and whether it should be given requests. */
import { LiveSchema, ReadySchema, type Readiness } from '../../api/health.js';
import type { LogHealth, WorkerHealth } from '../../domain/ports/worker.js';
import type { App, HttpDeps } from '../context.js';

type Deps = Pick<HttpDeps, 'health' | 'version'>;

/** A worker that restarts does not take the process out: emails are still accepted durably, and delivered later. */
const readinessOf = (accepting: boolean, workers: readonly WorkerHealth[], log: LogHealth): Readiness => {
  if (!accepting || workers.some(({ state }) => state === 'starting' || state === 'stopped')) return 'unavailable';
  if (log.unreadableEvents > 0 || log.unknownEvent !== null) return 'degraded';
  return workers.some(({ state, stuckWork = 0 }) => state === 'restarting' || stuckWork > 0) ? 'degraded' : 'ready';
};

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
        description: '200 where it should, 503 where it should not, with the state of every worker.',
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
      const status = readinessOf(deps.health.accepting(), workers, log);
      reply.code(status === 'unavailable' ? 503 : 200);
      return { status, workers, log };
    },
  );
};
