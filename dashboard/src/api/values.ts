/** Values that the service writes into the page. */

type Values = Readonly<{ csrfCookie: string; hasMailbox: boolean; version: string }>;

const read = (): Values => {
  const content = document.querySelector<HTMLMetaElement>('meta[name=sealpost]')?.content;
  return JSON.parse(content ?? '') as Values;
};

export const values: Values = read();

/** The address of the dashboard, with a slash at its end; the service is one step above. */
export const dashboardUrl = new URL(document.baseURI);
export const serviceUrl = new URL('../', dashboardUrl);

/** In: a path of the service. Out: the path by which the browser reaches it. */
export const ownPath = (path: string): string => new URL(path.replace(/^\//, ''), serviceUrl).pathname;

/**
 * The name under which the browser keeps something of this service: storage, locks and channels are shared by all pages
 * of an origin, and a proxy may serve other instances below other paths of it.
 */
export const keptName = (name: string): string => `sealpost${serviceUrl.pathname}${name}`;
