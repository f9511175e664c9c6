/** Addresses of pages of the dashboard. */

/** In: a path of the dashboard, and parameters of its query. The team of the address goes on with it. */
export const pagePath = (path: string, query: Readonly<Record<string, string>> = {}): string => {
  const parameters = new URLSearchParams(query);
  const team = new URLSearchParams(window.location.search).get('team');
  if (team !== null) parameters.set('team', team);
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
};

export const emailPath = (id: string): string => pagePath(`/emails/${encodeURIComponent(id)}`);

export const recipientPath = (address: string): string => pagePath(`/recipients/${encodeURIComponent(address)}`);
