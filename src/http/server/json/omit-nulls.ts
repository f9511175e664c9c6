/**
 * Removes `null` members of optional fields from a request body before anything else sees it: `null` there means that
 * the field is left out.
 */
import type { TSchema } from '@sinclair/typebox';

/** The parts of a schema that lead to fields. Members of free-form objects are values, not fields. */
type Shape = Readonly<{
  properties?: Readonly<Record<string, TSchema>>;
  required?: readonly string[];
  items?: TSchema;
  anyOf?: readonly TSchema[];
}>;

/** In: the schema of a body, and a value that JSON.parse made. Takes `null` out of the optional fields of the value. */
export const omitNulls = (schema: TSchema, value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  const { properties, required, items, anyOf } = schema as Shape;
  if (anyOf !== undefined) for (const branch of anyOf) omitNulls(branch, value);
  if (Array.isArray(value)) {
    if (items !== undefined) for (const element of value as readonly unknown[]) omitNulls(items, element);
  } else if (properties !== undefined) {
    const members = value as Record<string, unknown>;
    for (const name in members) {
      const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (field === undefined) continue;
      if (members[name] !== null) omitNulls(field, members[name]);
      else if (required?.includes(name) !== true && !takesNull(field)) delete members[name];
    }
  }
};

/** Only a schema that names `null` takes it. A field of any type does not: `null` there means that it is left out. */
const takesNull = (schema: TSchema): boolean =>
  schema['type'] === 'null' || (schema as Shape).anyOf?.some(takesNull) === true;
