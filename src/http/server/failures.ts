/**
 * Answers every failure with the error body of the API: failures of a handler, of the framework, and of the bare
 * connection.
 */
import { STATUS_CODES, type IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { appendingOnce } from '../../commands/index.js';
import type { ErrorCode } from '../../domain/core/errors.js';
import type { HttpDeps } from './context.js';
import { errorBody, failureOf, outcomeUnknown, pathOf, statusOf, type Failure } from './errors.js';
import { countFailed, setCommonHeaders, setRateHeadersUnknown } from './admission.js';
import { auditDenial, type RequestIds } from './hooks.js';
import { windowsOfAddress } from './rates.js';

type Deps = Pick<HttpDeps, 'settings' | 'limits' | 'clock' | 'logger' | 'limiter' | 'positions' | 'audit'>;

type ClientError = Error & { readonly code?: string; readonly rawPacket?: unknown };

const JSON_TYPE = 'application/json; charset=utf-8';

const REQUEST_LINE = /^[A-Z]+ (\S+)/;
const REQUEST_ID = /\r\nx-request-id:[ \t]*([^\r\n]*?)[ \t]*\r\n/i;

/** Handles the errors that are thrown while a request is handled, and those that the router finds. */
export const errorHandler =
  (deps: Deps) =>
  (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const found = failureOfRequest(deps, error, request);
    const nowMs = deps.clock.now();
    request.trace?.failed(found.code);
    request.refusedWith = found.code;
    auditDenial(deps.audit, request, found, error);
    if (found.status >= 500) logFault(deps, found, request);
    settleConnection(request, reply, deps.limits.bodySizeBytesMax);
    setRateHeadersUnknown(reply, nowMs);
    if (found.details.retryAfterS !== undefined) reply.header('retry-after', found.details.retryAfterS);
    if (found.status === 401) reply.header('www-authenticate', challengeOf(request));
    return reply
      .code(found.status)
      .header('content-type', JSON_TYPE)
      .send(errorBody(found, { nowMs, path: pathOf(request.raw.url ?? ''), requestId: request.id }));
  };

const challengeOf = ({ routeOptions }: FastifyRequest): string =>
  ['Bearer realm="sealpost"', routeOptions.config?.challenge].filter((part) => part !== undefined).join(', ');

const failureOfRequest = (deps: Deps, error: unknown, request: FastifyRequest): Failure => {
  const found = failureOf(error, bodyMaxOf(deps, error, request));
  return found.code === 'STORE_AWAY' && mayHaveWritten(deps, request) ? outcomeUnknown(error) : found;
};

/** A route may bound its bodies otherwise. The router refuses requests that have no route yet. */
const bodyMaxOf = ({ limits }: Deps, error: unknown, request: FastifyRequest): number =>
  error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
    ? (request.routeOptions.bodyLimit ?? limits.bodySizeBytesMax)
    : limits.bodySizeBytesMax;

/**
 * Whether a command that appends more than once may have begun. Writes of others in the team meanwhile count as its
 * own.
 */
const mayHaveWritten = ({ positions }: Deps, { caller, writtenBefore, routeOptions }: FastifyRequest): boolean => {
  const { command } = routeOptions.config;
  if (caller === null || writtenBefore === undefined || (command !== undefined && appendingOnce.has(command)))
    return false;
  return positions.written(caller.teamId) > writtenBefore;
};

const logFault = ({ logger }: Deps, { cause, code, status }: Failure, request: FastifyRequest): void => {
  const fields = {
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url,
    error: asError(cause),
  };
  if (code === 'OUTCOME_UNKNOWN') logger.error(fields, 'whether a request was recorded is not known');
  else if (status === 500) logger.error(fields, 'a request failed by a fault of ours');
  else logger.warn(fields, 'a request was refused, for a server or a disk does not answer');
};

/** The log writes an error without its message, which may quote what a caller sent. */
const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new TypeError(`a ${typeof thrown} was thrown`);

/**
 * If an error is answered before the body was read, Node reads and drops the rest of the body, so that the caller gets
 * the answer instead of a reset. That is done only for a body of known and bounded length; otherwise the connection
 * ends.
 */
const settleConnection = (request: FastifyRequest, reply: FastifyReply, bodySizeBytesMax: number): void => {
  const { 'content-length': length, 'transfer-encoding': transfer }: IncomingHttpHeaders = request.raw.headers;
  const bounded = transfer === undefined && Number(length ?? 0) <= 4 * bodySizeBytesMax;
  if (request.raw.complete || bounded) keepOpen(request, reply);
  else reply.header('connection', 'close');
};

/** Fastify ends the connection after every fault of a body; a caller that made one mistake need not connect again. */
const keepOpen = (request: FastifyRequest, reply: FastifyReply): void => {
  if (reply.hasHeader('connection') && request.raw.headers.connection?.toLowerCase() !== 'close')
    reply.header('connection', 'keep-alive');
};

/** Handles what the router refuses before any hook has run. */
export const routerErrorHandler = (deps: Deps) => {
  const answer = errorHandler(deps);
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    setCommonHeaders(request, reply, deps.settings.tls !== undefined);
    countFailed(deps, request, reply).then(
      () => void answer(error, request, reply),
      (refused: FastifyError) => void answer(refused, request, reply),
    );
  };
};

/** Answers what Node's parser cannot read: bytes that are no HTTP, headers beyond the bound, a request that stalls. */
export const clientErrorHandler = (deps: Deps, requestIdOf: RequestIds) => {
  const answer = async (
    error: ClientError,
    socket: Duplex & { readonly remoteAddress?: string | undefined },
  ): Promise<void> => {
    const { target, id } = readable(error, deps.limits.urlSizeBytesMax);
    const requestId = requestIdOf(id);
    const found = clientFailure(error, target, deps);
    const [window] = windowsOfAddress(socket.remoteAddress ?? '', 'failed');
    const rate = window === undefined ? undefined : await deps.limiter.hit([window]);
    const nowMs = deps.clock.now();
    const path = pathOf(target).slice(0, deps.limits.urlSizeBytesMax);
    const body = errorBody(found, { nowMs, path, requestId });
    if (!socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const head = [
      `HTTP/1.1 ${found.status} ${STATUS_CODES[found.status]}`,
      `Content-Type: ${JSON_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Date: ${new Date(nowMs).toUTCString()}`,
      `X-Request-Id: ${requestId}`,
      `X-RateLimit-Limit: ${rate?.limit ?? 0}`,
      `X-RateLimit-Remaining: ${rate?.remaining ?? 0}`,
      `X-RateLimit-Reset: ${Math.ceil((rate?.resetAtMs ?? nowMs) / 1_000)}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  };
  return (error: ClientError, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    answer(error, socket).catch((cause: unknown) => {
      deps.logger.error({ error: asError(cause) }, 'a malformed request could not be answered');
      socket.destroy();
    });
  };
};

/** The target and the request id, as far as bytes that are no HTTP request tell them. */
const readable = (error: ClientError, bytesMax: number): Readonly<{ target: string; id: string | undefined }> => {
  const head = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.subarray(0, 2 * bytesMax).toString('latin1') : '';
  return { target: REQUEST_LINE.exec(head)?.[1] ?? '', id: REQUEST_ID.exec(head)?.[1] };
};

const clientFailure = (error: ClientError, target: string, deps: Deps): Failure => {
  const made = (code: ErrorCode, message: string): Failure => ({ code, status: statusOf[code], message, details: {} });
  const { urlSizeBytesMax, headerSizeBytesMax } = deps.limits;
  if (error.code === 'HPE_HEADER_OVERFLOW' && target.length > urlSizeBytesMax) {
    return made('URL_TOO_LONG', `The URL is longer than ${urlSizeBytesMax} bytes, the most that is read.`);
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return made(
      'MALFORMED_REQUEST',
      `The header section of the request is larger than ${headerSizeBytesMax} bytes, the most that is read.`,
    );
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return made('MALFORMED_REQUEST', 'The request did not arrive whole in time.');
  return made('MALFORMED_REQUEST', 'The bytes sent are not a well-formed HTTP/1.1 request.');
};

/** True if an answer is on its way over this connection: nothing may be written into it. */
const isAnswering = (socket: Duplex): boolean => {
  const { _httpMessage: message } = socket as Duplex & {
    readonly _httpMessage?: { readonly headersSent: boolean } | null;
  };
  return message?.headersSent === true;
};
