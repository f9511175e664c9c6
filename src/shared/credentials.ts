/** Addresses as messages, logs and kept settings may show them. */

/** The text without user and password of the URLs in it, and without what their queries call a password, a secret or a token. */
export const withoutCredentials = (text: string): string =>
  text.replace(/\/\/.*@/, '//…@').replace(/([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*/gi, '$1…');
