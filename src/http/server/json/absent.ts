/** `null` in an optional field is the same as leaving the field out. Such members leave a body before anything else sees it. */
import type { TSchema } from '@sinclair/typebox';

type Container = Readonly<Record<string, unknown>> | readonly unknown[];
type Remove = (value: Container) => void;

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

const branchesOf = (schema: TSchema): readonly TSchema[] => (schema['anyOf'] as readonly TSchema[] | undefined) ?? [];

/** Only what names `null` takes it: a field of any type means something, and `null` says nothing. */
const takesNull = (schema: TSchema): boolean => schema['type'] === 'null' || branchesOf(schema).some(takesNull);

type Fields = Readonly<{ optional: ReadonlySet<string>; inner: ReadonlyMap<string, Remove> }>;

const fieldsOf = (schema: TSchema): Fields => {
  const required = (schema['required'] as readonly string[] | undefined) ?? [];
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, TSchema>>);
  return {
    optional: new Set(properties.filter(([name, field]) => !required.includes(name) && !takesNull(field)).map(([name]) => name)),
    inner: new Map(
      properties.flatMap(([name, field]) => {
        const remove = compile(field);
        return remove === undefined ? [] : [[name, remove] as const];
      }),
    ),
  };
};

/** Goes by the members that are there, which are fewer than those that could be. */
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
    if (Array.isArray(value)) for (const element of value as readonly unknown[]) if (isContainer(element)) remove(element);
  };

/** undefined where the schema has no field that `null` could leave out. Members of free-form objects are values, not fields. */
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

const compiled = new WeakMap<TSchema, Remove>();

const NOTHING: Remove = () => undefined;

/**
 * In: the schema of a body, and a value that JSON.parse made. Takes `null` out of the optional fields of the value. Only the
 * fields of the schema are looked at, so that what a body carries in its free-form parts costs nothing here.
 */
export const leaveOutNulls = (schema: TSchema, value: unknown): void => {
  if (!isContainer(value)) return;
  let remove = compiled.get(schema);
  if (remove === undefined) {
    remove = compile(schema) ?? NOTHING;
    compiled.set(schema, remove);
  }
  remove(value);
};
