/**
 * Answers of a JSON schema about a place: names and values that may stand there, and what a name means. The file reads what the
 * schemas of templates use: `$ref`, `oneOf`, `anyOf`, `allOf`, `const`, `enum`. Nothing here needs a browser.
 */

export type Schema = Readonly<{
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema | boolean>>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  definitions?: Readonly<Record<string, Schema>>;
}>;

/** `insert`: the value that a name begins with, as JSON. */
export type Suggestion = Readonly<{ label: string; detail: string; info: string; insert: string; isRequired: boolean }>;

const REFERENCES_MAX = 20;

const resolved = (root: Schema, schema: Schema): Schema => {
  let at = schema;
  for (let count = 0; at.$ref !== undefined && count < REFERENCES_MAX; count += 1) {
    const { $ref, ...own } = at;
    const name = /^#\/definitions\/(.+)$/.exec($ref)?.[1] ?? '';
    at = { ...root.definitions?.[name], ...own };
  }
  return at;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schemas that a value may have; of several kinds those whose constants it has, if any has. */
const choicesOf = (root: Schema, schema: Schema, value: unknown): readonly Schema[] => {
  const own = resolved(root, schema);
  const others = own.oneOf ?? own.anyOf;
  if (others === undefined) return [own];
  const { oneOf: _, anyOf: __, ...rest } = own;
  const all = others
    .flatMap((one) => choicesOf(root, one, value))
    .map((one) => ({ ...rest, ...one, ...describedBy(one.description ?? rest.description) }));
  const fitting = all.filter((one) => fits(root, one, value));
  return fitting.length > 0 ? fitting : all;
};

const describedBy = (description: string | undefined): Pick<Schema, 'description'> =>
  description === undefined ? {} : { description };

const constantsOf = (root: Schema, schema: Schema): readonly (readonly [string, unknown])[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const constant = typeof one === 'boolean' ? undefined : resolved(root, one).const;
    return constant === undefined ? [] : [[name, constant] as const];
  });

const fits = (root: Schema, schema: Schema, value: unknown): boolean => {
  if (value === undefined) return true;
  if (isObject(value))
    return (
      (schema.properties !== undefined ||
        schema.type === 'object' ||
        typeof schema.additionalProperties === 'object') &&
      constantsOf(root, schema).every(([name, constant]) => value[name] === constant)
    );
  if (Array.isArray(value)) return schema.items !== undefined || schema.type === 'array';
  return schema.properties === undefined && schema.items === undefined;
};

/** The schemas of the place at the steps. In: the whole value as far as it can be read. */
export const schemasAt = (root: Schema, steps: readonly (string | number)[], whole: unknown): readonly Schema[] => {
  let schemas = choicesOf(root, root, whole);
  let value = whole;
  for (const step of steps) {
    value =
      typeof value === 'object' && value !== null
        ? (value as Readonly<Record<string | number, unknown>>)[step]
        : undefined;
    schemas = schemas.flatMap((schema): readonly Schema[] => {
      const below =
        typeof step === 'number'
          ? schema.items
          : (schema.properties?.[step] ??
            (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined));
      return below === undefined || typeof below === 'boolean' ? [] : choicesOf(root, below, value);
    });
  }
  return schemas;
};

const typeOf = (root: Schema, schema: Schema): string => {
  const own = resolved(root, schema);
  if (own.const !== undefined) return JSON.stringify(own.const);
  if (own.enum !== undefined) return own.enum.map((one) => JSON.stringify(one)).join(' | ');
  const choices = own.oneOf ?? own.anyOf;
  if (choices !== undefined && own.type === undefined)
    return [...new Set(choices.map((one) => typeOf(root, one)))].slice(0, 4).join(' | ');
  return own.type === undefined ? '' : String(own.type);
};

/** The value that a name begins with, so that what follows can be typed into it. */
const beginningOf = (root: Schema, schema: Schema): string => {
  const choices = choicesOf(root, schema, undefined);
  // A text that may be any is typed between quotation marks, also where some are named.
  const own = choices.find((one) => one.type === 'string' && one.enum === undefined) ?? choices[0];
  if (own === undefined) return '';
  if (own.const !== undefined) return JSON.stringify(own.const);
  const type = Array.isArray(own.type) ? (own.type as readonly string[])[0] : own.type;
  return type === 'object' ? '{}' : type === 'array' ? '[]' : type === 'string' && own.enum === undefined ? '""' : '';
};

/** Names that may still stand in the object at the steps; required ones first. */
export const namesAt = (root: Schema, steps: readonly (string | number)[], whole: unknown): readonly Suggestion[] => {
  const found = new Map<string, Suggestion>();
  for (const schema of schemasAt(root, steps, whole))
    for (const [label, one] of Object.entries(schema.properties ?? {})) {
      if (typeof one === 'boolean' || found.has(label)) continue;
      const isRequired = schema.required?.includes(label) === true;
      const detail = `${typeOf(root, one)}${isRequired ? ', required' : ''}`;
      const info = resolved(root, one).description ?? '';
      found.set(label, { label, detail, info, insert: beginningOf(root, one), isRequired });
    }
  return [...found.values()].sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
};

/** Values that may stand at the steps, as JSON: constants, choices, true and false. */
export const valuesAt = (root: Schema, steps: readonly (string | number)[], whole: unknown): readonly Suggestion[] => {
  const found = new Map<string, Suggestion>();
  const add = (value: unknown, info: string): void => {
    const label = JSON.stringify(value);
    if (!found.has(label)) found.set(label, { label, detail: '', info, insert: label, isRequired: false });
  };
  // The value that is typed decides nothing.
  const parent = schemasAt(root, steps.slice(0, -1), withoutValueAt(whole, steps));
  const step = steps.at(-1);
  for (const schema of parent) {
    const below = typeof step === 'number' ? schema.items : step === undefined ? undefined : schema.properties?.[step];
    if (below === undefined || typeof below === 'boolean') continue;
    for (const { const: constant, enum: choices, type, description = '' } of choicesOf(root, below, undefined)) {
      if (constant !== undefined) add(constant, schema.description ?? description);
      for (const choice of choices ?? []) add(choice, description);
      if (type === 'boolean') for (const choice of [true, false]) add(choice, description);
    }
  }
  return [...found.values()];
};

const withoutValueAt = (whole: unknown, [step, ...others]: readonly (string | number)[]): unknown => {
  if (step === undefined || typeof whole !== 'object' || whole === null) return whole;
  if (Array.isArray(whole))
    return whole.map((one: unknown, place) =>
      place !== step ? one : others.length === 0 ? undefined : withoutValueAt(one, others),
    );
  const { [step]: value, ...rest } = whole as Readonly<Record<string | number, unknown>>;
  return others.length === 0 ? rest : { ...rest, [step]: withoutValueAt(value, others) };
};

/** The type of the place and the sentence of the schema about it; undefined: it has none. */
export const explanationAt = (
  root: Schema,
  steps: readonly (string | number)[],
  whole: unknown,
): Readonly<{ type: string; text: string }> | undefined => {
  const found = schemasAt(root, steps, whole);
  const text = [...new Set(found.map(({ description }) => description ?? ''))].filter((one) => one !== '').join(' · ');
  const type = [...new Set(found.map((one) => typeOf(root, one)))].filter((one) => one !== '').join(' | ');
  return text === '' && type === '' ? undefined : { type, text };
};
