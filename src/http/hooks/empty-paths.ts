/** Tells beside a file which paths of its template stayed empty. */
import type { FastifyReply } from 'fastify';

const PATHS_MAX = 50;
const HEADER_CHARS_MAX = 2_000;

/** Sets `X-Empty-Paths`: the paths, percent-encoded and separated by commas; absent where there are none. */
export const tellEmptyPaths = (reply: FastifyReply, paths: readonly string[]): FastifyReply => {
  let value = '';
  for (const path of paths.slice(0, PATHS_MAX)) {
    const next = `${value}${value === '' ? '' : ','}${encodeURIComponent(path)}`;
    if (next.length > HEADER_CHARS_MAX) break;
    value = next;
  }
  return value === '' ? reply : reply.header('x-empty-paths', value);
};
