/** Which answers are written by code compiled from their schema, and which by JSON.stringify. */
import type { TSchema } from '@sinclair/typebox';

const PLAIN_TYPES = new Set(['string', 'integer', 'boolean']);

/**
 * True where a serialiser compiled from the schema writes exactly the value: a closed object whose members are all
 * required texts, whole numbers and booleans. Unions, optional members and free-form values go through JSON.stringify,
 * for there a compiled serialiser would choose a branch, or leave something out, without a word.
 */
export const isPlain = (schema: TSchema): boolean => {
  const properties = schema['properties'] as Readonly<Record<string, TSchema>> | undefined;
  const required = schema['required'] as readonly string[] | undefined;
  if (schema['type'] !== 'object' || schema['additionalProperties'] !== false || properties === undefined) return false;
  const names = Object.keys(properties);
  return (
    required?.length === names.length &&
    names.every((name) => PLAIN_TYPES.has(String(properties[name]?.['type'])) && properties[name]?.['const'] === undefined)
  );
};

/** The serialiser of everything that is not plain, in the shape in which Fastify asks for it. */
export const stringify =
  () =>
  (value: unknown): string =>
    JSON.stringify(value);
