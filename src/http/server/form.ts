/** Forms as the endpoints of OAuth take them. */
import type { App } from './context.js';

export const FORM_BYTES_MAX = 16_384;
const FIELDS_MAX = 30;

/** In: a scope of routes. They read forms of at most so many bytes, and nothing else. */
export const readForms = (scope: App, bytesMax = FORM_BYTES_MAX): void => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: bytesMax }, (_request, body, done) =>
    done(null, body),
  );
};

/** Out: each field once; undefined where one is given twice (RFC 6749, section 3.2) or there are too many. */
export const fieldsOf = (body: unknown): Readonly<Record<string, string>> | undefined => {
  const entries = [...new URLSearchParams(typeof body === 'string' ? body : '')];
  const fields = Object.fromEntries(entries);
  return entries.length > FIELDS_MAX || Object.keys(fields).length !== entries.length ? undefined : fields;
};
