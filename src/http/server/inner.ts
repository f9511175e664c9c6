/**
 * Calls a route of this server from within another, over no connection: with the credential of the outer call, so that
 * admission, rates, permissions, audit log and log of calls are those of the route itself.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';

export type InnerCall = Readonly<{
  method: 'GET' | 'POST' | 'PATCH';
  /** With its query, percent-encoded. */
  url: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}>;

/** `body`: the JSON of the answer, undefined if it is none. */
export type InnerAnswer = Readonly<{ status: number; body: unknown }>;

/** The headers of the outer call that say who calls, and for which team. */
const passedOn = ['authorization', 'x-team-id', 'user-agent'] as const;

const inner = new AsyncLocalStorage<true>();

/** Whether the request at hand is an inner call. The transport of the outer one was checked when it was admitted. */
export const isInnerCall = (): boolean => inner.getStore() === true;

/** The call has the request id of the outer one, and comes from its address. */
export const callRoute = (
  server: Pick<FastifyInstance, 'inject'>,
  outer: FastifyRequest,
  { method, url, body, headers = {} }: InnerCall,
): Promise<InnerAnswer> =>
  inner.run(true, async () => {
    const response = await server.inject({
      method,
      url,
      remoteAddress: outer.ip,
      headers: {
        ...Object.fromEntries(
          passedOn.flatMap((name) => (outer.headers[name] === undefined ? [] : [[name, outer.headers[name]]])),
        ),
        host: outer.host,
        'x-request-id': outer.id,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return { status: response.statusCode, body: jsonOf(response.body) };
  });

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
