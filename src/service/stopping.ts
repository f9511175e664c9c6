/** How a running service is brought to rest. */
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Limits } from '../domain/core/limits.js';
import type { Worker } from '../domain/ports/worker.js';
import type { Supervisor } from './supervisor.js';

export type Resting = Readonly<{
  supervisor: Supervisor;
  /** What delivers. */
  processing: readonly Worker[];
  server: FastifyInstance;
  limits: Pick<Limits, 'shutdownDeadlineMs' | 'stopNoticeMs'>;
  /** Cuts off the calls that are still under way when the time is over. */
  cutOff: AbortController;
  /** Resolves when the read models have all that is in the log, or the signal aborts. */
  whenProjected: (signal: AbortSignal) => Promise<void>;
}>;

/** So long a service that still delivers goes on answering, so that a balancer sees that it stops before its socket is closed. */
const ANSWERS_WHILE_DELIVERING_MS = 1_000;

const PROJECTED_WITHIN_MS = 5_000;

/**
 * Deliveries end while requests are still answered, for a moment; then the server closes. What was written until then is projected before
 * the projections end, so that the next start shows it at once. All of it within the deadline.
 */
export const bringToRest = async ({ supervisor, processing, server, limits, cutOff, whenProjected }: Resting): Promise<void> => {
  const deadline = AbortSignal.timeout(limits.shutdownDeadlineMs);
  const names = processing.map(({ name }) => name);
  const isListening = server.server.listening;
  if (isListening && limits.stopNoticeMs > 0) await wait(limits.stopNoticeMs, undefined, { signal: deadline }).catch(() => {});
  const delivered = supervisor.stop(names, deadline);
  if (isListening) await Promise.race([delivered, wait(ANSWERS_WHILE_DELIVERING_MS, undefined, { ref: false })]);
  await Promise.all([delivered, closeServer(server, limits.shutdownDeadlineMs / 3)]);
  cutOff.abort();
  // A read model that cannot be written is no reason not to stop.
  await whenProjected(AbortSignal.any([deadline, AbortSignal.timeout(PROJECTED_WITHIN_MS)])).catch(() => {});
  await supervisor.stop(undefined, deadline);
};

/** Answers the requests under way. Node checks no time-outs once a server closes, so what a client never ends is cut off here. */
const closeServer = async (server: FastifyInstance, withinMs: number): Promise<void> => {
  const cut = setTimeout(() => server.server.closeAllConnections(), withinMs);
  await server.close();
  clearTimeout(cut);
};
