/** How the parts of a running service are brought to rest. */
import type { FastifyInstance } from 'fastify';
import type { Worker } from './domain/ports/worker.js';
import type { Supervisor } from './supervisor.js';

/** Deliveries end first, and what they wrote is projected before the projections end. */
export const stopWorkers = async (
  supervisor: Supervisor,
  processing: readonly Worker[],
  cutOff: AbortController,
  deadline: AbortSignal,
): Promise<void> => {
  await supervisor.stop(
    processing.map(({ name }) => name),
    deadline,
  );
  cutOff.abort();
  await supervisor.stop(undefined, deadline);
};

/** Answers the requests under way. Node checks no time-outs once a server closes, so what a client never ends is cut off here. */
export const closeServer = async (server: FastifyInstance, withinMs: number): Promise<void> => {
  const cut = setTimeout(() => server.server.closeAllConnections(), withinMs);
  await server.close();
  clearTimeout(cut);
};
