/** Where people are sent back to: what may be registered, so that what is compared later is one exact text (RFC 9700, section 4.1). */

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Out: what is wrong with an address that an app wants to register; undefined where nothing is. */
export const redirectUriFault = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'must be an absolute URL, such as https://app.example.com/callback';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname))) {
    return 'must begin with https://, or with http:// for a program on the same machine (localhost, 127.0.0.1, [::1])';
  }
  if (url.username !== '' || url.password !== '') return 'must hold no user name and no password';
  if (text.includes('#')) return 'must have no fragment';
  if (text.includes('*')) return 'must be one address: a * stands for nothing';
  // Whatever a browser would read otherwise than it is written (case, dots, encoded characters, a standard port) is written as it is read.
  if (url.href !== text) return `must be written as browsers read it: ${url.href}`;
  return undefined;
};
