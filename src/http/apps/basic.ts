/** The header by which an app shows its id and its secret (RFC 6749, section 2.3.1). */

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** Out: undefined where the header is absent or is none of this kind. Each part is encoded as in a form. */
export const basicCredentials = (header: string | undefined): Readonly<{ id: string; secret: string }> | undefined => {
  const encoded = header === undefined ? undefined : BASIC.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const [id, secret] = at < 0 ? [] : [decoded(text.slice(0, at)), decoded(text.slice(at + 1))];
  return id === undefined || secret === undefined ? undefined : { id, secret };
};
