/** What the query of a request may be: well-formed everywhere, and empty where an endpoint takes none. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError, invalid } from '../../domain/core/errors.js';

const BROKEN_PERCENT =
  'The query of the URL holds a percent sign that is not followed by two hexadecimal digits of UTF-8 (a percent sign itself is written %25).';

const isDecodable = (query: string): boolean => {
  try {
    decodeURIComponent(query);
    return true;
  } catch {
    return false;
  }
};

/**
 * A hook for every endpoint that needs a key. An endpoint with a schema for its query has unknown parameters refused by it;
 * where there is none, a parameter that does nothing must not look as if it did.
 */
export const checkQuery = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  const { config, schema } = request.routeOptions;
  const url = request.raw.url ?? '';
  const start = url.indexOf('?');
  if (start < 0 || config.access === undefined || config.access === 'public') return done();
  const query = url.slice(start + 1);
  if (query.includes('%') && !isDecodable(query)) return done(new DomainError('MALFORMED_REQUEST', BROKEN_PERCENT));
  const [name] = schema?.querystring === undefined ? Object.keys(request.query as object) : [];
  done(name === undefined ? undefined : invalid('query', name, 'is not known; this endpoint takes no query parameters'));
};
