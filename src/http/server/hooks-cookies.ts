/** Cookies as browsers send them, and whether a browser sends a request for a page of our own. */
import type { FastifyRequest } from 'fastify';

/** The value of a cookie in the header `Cookie` (RFC 6265, section 4.2). */
export const cookieOf = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/** False where the browser says that a page of another site, or of another host of the same site, sends it. */
export const isSameOrigin = (request: Pick<FastifyRequest, 'headers'>, publicOrigin: string): boolean => {
  const site = request.headers['sec-fetch-site'];
  const { origin, host = '' } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}` || origin === publicOrigin;
};
