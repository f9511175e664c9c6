/** Tells beside a file which paths of its template stayed empty, and which characters no font has. */
import type { FastifyReply } from 'fastify';

const ITEMS_MAX = 50;
const HEADER_CHARS_MAX = 2_000;
/** They have no encoding. */
const LONE_SURROGATES = /\p{Cs}/gu;

/** Sets `X-Empty-Paths`: the paths, percent-encoded and separated by commas; absent where there are none. */
export const tellEmptyPaths = (reply: FastifyReply, paths: readonly string[]): FastifyReply => told(reply, 'x-empty-paths', paths);

/** Sets `X-Replaced-Characters` in the same way. */
export const tellReplaced = (reply: FastifyReply, characters: readonly string[]): FastifyReply =>
  told(reply, 'x-replaced-characters', characters);

const told = (reply: FastifyReply, name: string, items: readonly string[]): FastifyReply => {
  let value = '';
  for (const item of items.slice(0, ITEMS_MAX)) {
    const next = `${value}${value === '' ? '' : ','}${encodeURIComponent(item.replace(LONE_SURROGATES, '\ufffd'))}`;
    if (next.length > HEADER_CHARS_MAX) break;
    value = next;
  }
  return value === '' ? reply : reply.header(name, value);
};
