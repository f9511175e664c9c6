/** Loads the HTTP client with the first fetch or post: it takes memory that many services never need. */ import type {
  OutboundHttp,
  OutboundPost,
} from '../../domain/ports/outbound-http.js';

export const outboundHttpWhenNeeded = (): OutboundHttp => {
  let opened: Promise<OutboundHttp> | undefined;
  const open = (): Promise<OutboundHttp> => (opened ??= import('./fetch.js').then(({ openOutboundHttp }) => openOutboundHttp()));
  return {
    get: async (url, options) => (await open()).get(url, options),
    close: async () => (await opened)?.close(),
  };
};

export const outboundPostWhenNeeded = (insecureHosts: readonly string[]): OutboundPost => {
  let opened: Promise<OutboundPost> | undefined;
  let now: OutboundPost | undefined;
  const open = (): Promise<OutboundPost> =>
    (opened ??= import('./post.js').then(({ openOutboundPost }) => (now = openOutboundPost({ insecureHosts }))));
  return {
    post: (url, options) => (now === undefined ? open().then((opened) => opened.post(url, options)) : now.post(url, options)),
    forget: (sender) => now?.forget(sender),
    close: async () => (await opened)?.close(),
  };
};
