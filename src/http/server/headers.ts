/** Entity tags (RFC 9110, section 8.8): each answer with a record tells its revision, and `If-Match` makes a change for that revision only. */
import type { FastifyRequest, FastifyReply, HookHandlerDoneFunction } from 'fastify';
import type { CalledFrom } from '../../commands/people/sessions.js';
import type { Answer, Idempotency } from '../../commands/core/idempotency.js';
import { DomainError } from '../../domain/core/errors.js';
import type { ExpectedRevisions } from '../../commands/templates/answers.js';

/** What a browser says of itself is shown to its owner; more of it says nothing. */
const USER_AGENT_CHARS_MAX = 256;

type Asked = Readonly<{ id: string; ip: string; headers: Readonly<Record<string, string | string[] | undefined>> }>;

/** From where a call comes, as its owner sees it in the list of sessions. */
export const calledFrom = ({ id, ip, headers }: Asked): CalledFrom => ({
  requestId: id,
  ipAddress: ip,
  userAgent: String(headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
});

/* How a browser is told to show or to save a file, and under which name. */

/** `Content-Disposition` with the name in both forms (RFC 6266, section 5). */
export const disposition = (type: 'attachment' | 'inline', filename: string): string => {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename.replace(/\p{Surrogate}/gu, '_')).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${plain}"; filename*=UTF-8''${encoded}`;
};

/* Headers as they came: of some that came twice Node keeps the first, others it joins. */

/** In: the name of a header in lower case. Out: true where the request has it more than once. */
export const isRepeated = (request: FastifyRequest, name: string): boolean => {
  const { rawHeaders } = request.raw;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!;
    if (sent.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count > 1;
};

/* The Idempotency-Key header: checked before the body is read, handed to the command with the body. */

const HEADER = 'idempotency-key';

/** A hook for routes that take the header: 1 to `charsMax` printable ASCII characters, or none at all. */
export const checkIdempotencyKey = (charsMax: number) => {
  const fit = new RegExp(`^[\\x20-\\x7e]{1,${charsMax}}$`);
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const header = request.headers[HEADER];
    const repeated = header !== undefined && isRepeated(request, HEADER);
    if (!repeated && (header === undefined || (typeof header === 'string' && fit.test(header)))) return done();
    const message = repeated ? 'must be sent once' : `must have 1 to ${charsMax} printable ASCII characters`;
    done(
      new DomainError('VALIDATION_ERROR', `The header Idempotency-Key ${message}.`, { errors: [{ field: 'Idempotency-Key', message }] }),
    );
  };
};

/** The key and what it stands for, where the caller sent one. */
export const idempotencyOf = (request: FastifyRequest): Idempotency | undefined => {
  const key = request.headers[HEADER];
  if (typeof key !== 'string') return undefined;
  const { canonicalBody: canonical } = request;
  return { key, body: request.body ?? null, ...(canonical === undefined ? {} : { canonical }) };
};

/** Unwraps an answer and marks a replayed one. */
export const answered = <T>(reply: FastifyReply, answer: Answer<T>): T => {
  if (answer.replayed) reply.header('idempotency-replayed', 'true');
  return answer.body;
};

/* For routes whose body may be absent: then it is an empty object. */

export const bodyMayBeAbsent = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  request.body ??= {};
  done();
};

/** Gives the answer the tag of its record. */
export const tagged = <Answer extends Readonly<{ revision: number }>>(reply: FastifyReply, record: Answer): Answer => {
  reply.header('etag', `"${record.revision}"`);
  return record;
};

/** One tag of a list, or nothing between two commas; `W/` makes it weak. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(,|$)/y;

const malformed = (): DomainError => {
  const message = 'must be * or a list of entity tags as `ETag` gave them, e.g. "7"';
  return new DomainError('VALIDATION_ERROR', `The header If-Match ${message}.`, { errors: [{ field: 'If-Match', message }] });
};

/**
 * The revisions that the header names, or undefined where it is absent or `*`: a template that is found is one of any. The comparison
 * is the strong one, so a weak tag names none (RFC 9110, section 13.1.1). Throws VALIDATION_ERROR.
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
