/**
 * Reads and writes header fields that several routes share: Idempotency-Key, ETag and If-Match, Content-Disposition,
 * Content-Security-Policy, what a preview tells its author, and where a call comes from.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type FieldError, DomainError } from '../../domain/core/errors.js';
import type { CalledFrom } from '../../commands/people/sessions.js';
import type { Answer, Idempotency } from '../../commands/core/idempotency.js';
import type { ExpectedRevisions } from '../../commands/templates/answers.js';
import { inPlainAscii } from '../../shared/text.js';

/**
 * Makes every path that a page, a redirect or a cookie names: a proxy may serve the service below the path of the
 * public URL.
 */
export const ownPathOf = (publicUrl: string): ((path: string) => string) => {
  const prefix = (URL.parse(publicUrl)?.pathname ?? '').replace(/\/+$/, '');
  return (path) => `${prefix}${path}`;
};

const ITEMS_MAX = 50;

const HEADER_CHARS_MAX = 2_000;

/** Lone surrogates have no encoding. */
const LONE_SURROGATES = /\p{Cs}/gu;

/** Sets `X-Empty-Paths`: the paths, percent-encoded and separated by commas; absent where there are none. */
export const tellEmptyPaths = (reply: FastifyReply, paths: readonly string[]): FastifyReply =>
  told(reply, 'x-empty-paths', paths);

/** Sets `X-Replaced-Characters` in the same way. */
export const tellReplaced = (reply: FastifyReply, characters: readonly string[]): FastifyReply =>
  told(reply, 'x-replaced-characters', characters);

/** Sets `X-Warnings` in the same way: for each warning its field, a blank and its sentence. */
export const tellWarnings = (reply: FastifyReply, warnings: readonly FieldError[]): FastifyReply =>
  told(
    reply,
    'x-warnings',
    warnings.map(({ field, message }) => `${field} ${message}`),
  );

const told = (reply: FastifyReply, name: string, items: readonly string[]): FastifyReply => {
  let value = '';
  for (const item of items.slice(0, ITEMS_MAX)) {
    const next = `${value}${value === '' ? '' : ','}${encodeURIComponent(item.replace(LONE_SURROGATES, '\ufffd'))}`;
    if (next.length > HEADER_CHARS_MAX) break;
    value = next;
  }
  return value === '' ? reply : reply.header(name, value);
};

type RequestOrigin = Readonly<{
  id: string;
  ip: string;
  hostname: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}>;

/** The part of the User-Agent header that the list of sessions shows. */
const USER_AGENT_CHARS_MAX = 256;

const IDEMPOTENCY_HEADER = 'idempotency-key';

/** One tag of a list, or nothing between two commas; `W/` makes it weak. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(,|$)/y;

type ContentDirectives = Readonly<
  Partial<
    Record<'script-src' | 'style-src' | 'img-src' | 'font-src' | 'media-src' | 'connect-src' | 'frame-src', string>
  >
>;

/**
 * `formAction`, `framedBy` and `baseUri`: 'none' unless given. `sandbox`: what a sandboxed page may do; absent: the page
 * is not sandboxed.
 */
type ContentBounds = Readonly<{ formAction?: string; framedBy?: "'self'"; baseUri?: "'self'"; sandbox?: string }>;

/**
 * The Content-Security-Policy of a page or file: what is not named in `allowed` is not loaded. All policies are made
 * here, because neither frame-ancestors nor form-action falls back on default-src.
 */
export const contentPolicy = (
  allowed: ContentDirectives = {},
  { formAction = "'none'", framedBy, baseUri, sandbox }: ContentBounds = {},
): string =>
  [
    "default-src 'none'",
    ...Object.entries(allowed).map(([name, sources]) => `${name} ${sources}`),
    `base-uri ${baseUri ?? "'none'"}`,
    `form-action ${formAction}`,
    `frame-ancestors ${framedBy ?? "'none'"}`,
    ...(sandbox === undefined ? [] : [`sandbox ${sandbox}`.trimEnd()]),
  ].join('; ');

/** A hook for routes that take the header: 1 to `charsMax` printable ASCII characters, or none at all. */
export const checkIdempotencyKey = (charsMax: number) => {
  const fit = new RegExp(`^[\\x20-\\x7e]{1,${charsMax}}$`);
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const header = request.headers[IDEMPOTENCY_HEADER];
    const repeated = header !== undefined && isRepeated(request, IDEMPOTENCY_HEADER);
    if (!repeated && (header === undefined || (typeof header === 'string' && fit.test(header)))) return done();
    const message = repeated ? 'must be sent once' : `must have 1 to ${charsMax} printable ASCII characters`;
    done(
      new DomainError('VALIDATION_ERROR', `The header Idempotency-Key ${message}.`, {
        errors: [{ field: 'Idempotency-Key', message }],
      }),
    );
  };
};

/** The key that the caller sent, with the body that it stands for; undefined without one. */
export const idempotencyOf = (request: FastifyRequest): Idempotency | undefined => {
  const key = request.headers[IDEMPOTENCY_HEADER];
  if (typeof key !== 'string') return undefined;
  const { canonicalBody: canonical } = request;
  return { key, body: request.body ?? null, ...(canonical === undefined ? {} : { canonical }) };
};

/** Out: the body of an answer. Marks a replayed answer with a header. */
export const answered = <T>(reply: FastifyReply, answer: Answer<T>): T => {
  if (answer.replayed) reply.header('idempotency-replayed', 'true');
  return answer.body;
};

/** Gives the answer the entity tag of its record: the revision (RFC 9110, section 8.8). */
export const tagged = <Answer extends Readonly<{ revision: number }>>(reply: FastifyReply, record: Answer): Answer => {
  reply.header('etag', `"${record.revision}"`);
  return record;
};

/**
 * The revisions that `If-Match` names: the change is made for these only. undefined if the header is absent or `*`,
 * which every revision fits. The comparison is the strong one, so a weak tag names none (RFC 9110, section 13.1.1).
 * Throws VALIDATION_ERROR.
 */
export const expectedRevisions = (request: Pick<FastifyRequest, 'headers'>): ExpectedRevisions => {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return undefined;
  const revisions: number[] = [];
  let tags = 0;
  for (let at = 0; at <= header.length; at = ELEMENT.lastIndex) {
    ELEMENT.lastIndex = at;
    const found = ELEMENT.exec(header);
    if (found === null) throw malformed();
    const [, weak, tag, end] = found;
    if (tag !== undefined) tags += 1;
    if (tag !== undefined && weak === undefined && /^\d{1,15}$/.test(tag)) revisions.push(Number(tag));
    if (end === '') break;
  }
  if (tags === 0) throw malformed();
  return revisions;
};

const malformed = (): DomainError => {
  const message = 'must be * or a list of entity tags as `ETag` gave them, e.g. "7"';
  return new DomainError('VALIDATION_ERROR', `The header If-Match ${message}.`, {
    errors: [{ field: 'If-Match', message }],
  });
};

/**
 * `Content-Disposition` (RFC 6266). A name of plain ASCII stands as `filename` alone. Any other stands as `filename*`
 * first, so that readers that take the first parameter have the whole name, and as `filename` without its accents for
 * those that know no other.
 */
export const disposition = (type: 'attachment' | 'inline', filename: string): string => {
  const plain = inPlainAscii(filename).replaceAll('%', '_');
  if (plain === filename) return `${type}; filename="${plain}"`;
  const encoded = encodeURIComponent(filename.replace(/\p{Surrogate}/gu, '_')).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename*=UTF-8''${encoded}; filename="${plain}"`;
};

/** The address and user agent of a call, as its owner sees them in the list of sessions. */
export const calledFrom = ({ id, ip, hostname, headers }: RequestOrigin): CalledFrom => ({
  requestId: id,
  ipAddress: ip,
  userAgent: String(headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
  isByOtherName: !isLoopbackName(hostname),
});

/** Names that browsers resolve to loopback (RFC 6761, section 6.3), and its addresses. */
export const isLoopbackName = (host: string): boolean =>
  /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/.test(host.toLowerCase());

/**
 * In: the name of a header in lower case. Out: true if the request has it more than once; Node then keeps the first of
 * some and joins others.
 */
export const isRepeated = (request: FastifyRequest, name: string): boolean => {
  const { rawHeaders } = request.raw;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!;
    if (sent.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count > 1;
};

/** A hook for routes whose body may be absent: then it is an empty object. */
export const bodyMayBeAbsent = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  request.body ??= {};
  done();
};
