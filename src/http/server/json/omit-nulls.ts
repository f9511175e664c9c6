/**
 * Removes `null` members of optional fields from a request body before anything else sees it: `null` there means that
 * the field is left out.
 */
import type { TSchema } from '@sinclair/typebox';

type Container = Readonly<Record<string, unknown>> | readonly unknown[];
type Remove = (value: Container) => void;

type Fields = Readonly<{ optional: ReadonlySet<string>; inner: ReadonlyMap<string, Remove> }>;

const NOTHING: Remove = () => undefined;

const compiled = new WeakMap<TSchema, Remove>();

/**
 * In: the schema of a body, and a value that JSON.parse made. Takes `null` out of the optional fields of the value.
 * Only the fields of the schema are looked at, so that what a body carries in its free-form parts costs nothing here.
 */
export const omitNulls = (schema: TSchema, value: unknown): void => {
  if (!isContainer(value)) return;
  let remove = compiled.get(schema);
  if (remove === undefined) {
    remove = compile(schema) ?? NOTHING;
    compiled.set(schema, remove);
  }
  remove(value);
};

/**
 * Out: undefined if the schema has no field that `null` could leave out. Members of free-form objects are values, not
 * fields.
 */
const compile = (schema: TSchema): Remove | undefined => {
  const fields = fieldsOf(schema);
  const items = schema['items'] as TSchema | undefined;
  const inItems = items === undefined ? undefined : compile(items);
  const all = [
    ...(fields.optional.size + fields.inner.size === 0 ? [] : [removeFields(fields)]),
    ...(inItems === undefined ? [] : [removeInElements(inItems)]),
    ...branchesOf(schema)
      .map(compile)
      .filter((remove) => remove !== undefined),
  ];
  if (all.length < 2) return all[0];
  return (value) => {
    for (const remove of all) remove(value);
  };
};

const fieldsOf = (schema: TSchema): Fields => {
  const required = (schema['required'] as readonly string[] | undefined) ?? [];
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, TSchema>>);
  return {
    optional: new Set(
      properties.filter(([name, field]) => !required.includes(name) && !takesNull(field)).map(([name]) => name),
    ),
    inner: new Map(
      properties.flatMap(([name, field]) => {
        const remove = compile(field);
        return remove === undefined ? [] : [[name, remove] as const];
      }),
    ),
  };
};

/** Loops over the members of the value, which are fewer than the fields of the schema. */
const removeFields =
  ({ optional, inner }: Fields): Remove =>
  (value) => {
    const members = value as Record<string, unknown>;
    for (const name in members) {
      const member = members[name];
      if (member === null) {
        if (optional.has(name)) delete members[name];
      } else if (typeof member === 'object') {
        inner.get(name)?.(member as Container);
      }
    }
  };

const removeInElements =
  (remove: Remove): Remove =>
  (value) => {
    if (Array.isArray(value))
      for (const element of value as readonly unknown[]) if (isContainer(element)) remove(element);
  };

/** Only a schema that names `null` takes it. A field of any type does not: `null` there means that it is left out. */
const takesNull = (schema: TSchema): boolean => schema['type'] === 'null' || branchesOf(schema).some(takesNull);

const branchesOf = (schema: TSchema): readonly TSchema[] => (schema['anyOf'] as readonly TSchema[] | undefined) ?? [];

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;
