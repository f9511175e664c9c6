/** JSON values as types, and what may be a name in them. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a JSON object (not null, not an array). */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether JSON can write a text only with an escape: it has a quotation mark, a backslash, a control character or half of a surrogate pair. */
export const needsEscape = (text: string): boolean => JSON.stringify(text).length > text.length + 2;
