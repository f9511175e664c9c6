/** Entity tags (RFC 9110, section 8.8): each answer with a record tells its revision, and `If-Match` makes a change for that revision only. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ExpectedRevisions } from '../../commands/templates/expectations.js';
import { DomainError } from '../../domain/core/errors.js';

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
