/**
 * Headers of a preview that is a page or a file: which paths stayed empty, which characters no font has, and what its author should know.
 */
import type { FastifyReply } from 'fastify';
import type { FieldError } from '../../domain/core/errors.js';

const ITEMS_MAX = 50;

const HEADER_CHARS_MAX = 2_000;

/** Lone surrogates have no encoding. */
const LONE_SURROGATES = /\p{Cs}/gu;

/** Sets `X-Empty-Paths`: the paths, percent-encoded and separated by commas; absent where there are none. */
export const tellEmptyPaths = (reply: FastifyReply, paths: readonly string[]): FastifyReply => told(reply, 'x-empty-paths', paths);

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
