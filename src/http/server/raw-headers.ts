/** Headers as they came: of some that came twice Node keeps the first, others it joins. */
import type { FastifyRequest } from 'fastify';

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
