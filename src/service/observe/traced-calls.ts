/** Spans of the calls that the API answers. */
import type { Ids } from '../../domain/ports/ids.js';
import type { CallTraces } from '../../http/server/context.js';
import { idsOfTraceparent, spanIdOf, traceIdOf } from './trace-ids.js';
import { endScope, newScope } from './trace-scope.js';
import type { TracingDeps } from './traced.js';

/**
 * The trace is that of the request id, as that of the events is. Where the caller names a span of the same trace, the call is its child;
 * a span of another trace becomes a link. A request id of the caller's own may come again, so the id of its span is drawn.
 */
export const tracedCalls = ({ tracer, scopes, nowMs }: TracingDeps, ids: Pick<Ids, 'bytes'>): CallTraces => ({
  begin: (requestId, { isOwn, traceparent }) => {
    const traceId = traceIdOf(requestId);
    if (!tracer.samples(traceId)) return undefined;
    const from = idsOfTraceparent(traceparent);
    const isContinued = from?.traceId === traceId;
    const spanId = isOwn ? ids.bytes(8).toString('hex') : spanIdOf(requestId);
    const scope = newScope('call', { traceId, spanId, parent: isContinued ? from.spanId : undefined });
    let code: string | undefined;
    return {
      run: (next) => scopes.run(scope, next),
      failed: (failure) => (code = failure),
      end: ({ method, route, status, seconds }) => {
        const endMs = nowMs();
        const attributes = {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          ...(code === undefined ? {} : { 'error.type': code }),
        };
        endScope(tracer, scope, {
          name: `${method} ${route}`,
          kind: 'server',
          startMs: endMs - seconds * 1_000,
          endMs,
          attributes,
          link: isContinued ? undefined : from,
          isError: status >= 500,
        });
      },
    };
  },
});
