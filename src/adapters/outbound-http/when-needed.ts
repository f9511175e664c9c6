/** The HTTP client is loaded with the first fetch: it takes memory that most services never need. */
import type { OutboundHttp } from '../../domain/ports/outbound-http.js';

export const outboundHttpWhenNeeded = (): OutboundHttp => {
  let opened: Promise<OutboundHttp> | undefined;
  const open = (): Promise<OutboundHttp> => (opened ??= import('./fetch.js').then(({ openOutboundHttp }) => openOutboundHttp()));
  return {
    get: async (url, options) => (await open()).get(url, options),
    close: async () => (await opened)?.close(),
  };
};
