/** The hooks that make a span of each call that needs a permission; registered only where traces are wanted. */
import type { App, CallTraces } from './context.js';

export const traceCalls = (app: App, calls: CallTraces): void => {
  app.decorateRequest('trace', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { access } = request.routeOptions.config;
    if (access !== undefined && access !== 'public') {
      const { 'x-request-id': given, traceparent } = request.headers;
      request.trace = calls.begin(request.id, { isOwn: request.id === given, traceparent });
    }
    done();
  });
  // After the body was read: what reads it runs in the context of the connection.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.trace === undefined) done();
    else request.trace.run(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    request.trace?.end({ method, route: routeOptions.url ?? 'unknown', status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    done();
  });
};
