/** The pieces that JSON schemas of templates are put together from. */
import type { Json, JsonObject } from '../../domain/core/json.js';

/** In: the name of a definition. Out: what stands where it is used. */
export type Refer = (name: string) => JsonObject;

/** An object of these members and no others. A member of `required` must be there. */
export const closedObject = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

export const words = (values: readonly (string | boolean)[]): JsonObject => ({ enum: values });

export const described = (schema: JsonObject, description: string): JsonObject => ({ ...schema, description });

export const text = (charsMax?: number): JsonObject => ({
  type: 'string',
  minLength: 1,
  ...(charsMax === undefined ? {} : { maxLength: charsMax }),
});

/** A text that is more than blanks. */
export const VISIBLE = '\\S';

/** A text with `{{…}}`: what it comes to is known when it is rendered. */
export const templated: JsonObject = { type: 'string', pattern: '\\{\\{' };

/** The schema, or a text with `{{…}}` in its place. */
export const orTemplated = (...schemas: readonly JsonObject[]): JsonObject => ({ anyOf: [...schemas, templated] });

/** One of several patterns, with blanks around it. Each is without its anchors. */
export const trimmed = (...patterns: readonly string[]): JsonObject => ({ type: 'string', pattern: `^\\s*(?:${patterns.join('|')})\\s*$` });

/**
 * The source of an expression without its anchors, for a pattern of JSON Schema, which knows no flags: where it takes letters of both cases, each
 * letter becomes both. Such an expression may hold no letters in brackets.
 */
export const sourceOf = ({ source, ignoreCase }: RegExp): string => {
  const inner = source.replace(/^\^/, '').replace(/\$$/, '');
  if (!ignoreCase) return inner;
  return inner.replace(/\\.|[a-z]/gi, (part) => (part.length > 1 ? part : `[${part.toLowerCase()}${part.toUpperCase()}]`));
};

/** Where a member has this value. */
export const where = (member: string, value: JsonObject): JsonObject => ({ properties: { [member]: value }, required: [member] });

/** Where it has this value, that holds; else the other. */
export const given = (condition: JsonObject, then: JsonObject, otherwise?: JsonObject): JsonObject => ({
  if: condition,
  then,
  ...(otherwise === undefined ? {} : { else: otherwise }),
});

/** None of these members. */
export const without = (names: readonly string[]): JsonObject => ({
  properties: Object.fromEntries(names.map((name): [string, Json] => [name, false])),
});
