/** Variables that a template reads. Nothing here needs a browser. */
import type { Content } from './content.js';

export type Declared = Readonly<{
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
  format: unknown;
  defaultValue: unknown;
  isCalculated: boolean;
  definition: Content;
}>;

export type Used = Readonly<{
  declared: readonly Declared[];
  /** By variable the paths that are shown, each with its count. */
  paths: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Variables that are read and not declared. */
  undeclared: readonly string[];
}>;

const PLACEHOLDER = /\{\{\s{0,20}([^{}]{1,400}?)\s{0,20}\}\}/g;

/** Props that hold a path without braces. */
const PATH_PROPS: ReadonlySet<string> = new Set(['dataSource', 'condition']);

/** Props that name a value for the parts below. */
const NAMING_PROPS: ReadonlySet<string> = new Set(['itemVariable', 'indexVariable']);

/** The first step of a path: a name, or a key in brackets. */
const rootOf = (path: string): string => {
  const quoted = /^\["((?:[^"\\]|\\.)*)"\]/.exec(path)?.[1];
  return quoted ?? path.split(/[.[]/, 1)[0] ?? '';
};

const isObject = (value: unknown): value is Content =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const declaredIn = (variables: unknown): readonly Declared[] =>
  (Array.isArray(variables) ? (variables as readonly unknown[]) : []).flatMap((one) =>
    !isObject(one) || typeof one['name'] !== 'string'
      ? []
      : [
          {
            name: one['name'],
            type: typeof one['type'] === 'string' ? one['type'] : 'string',
            isRequired: one['required'] === true,
            description: typeof one['description'] === 'string' ? one['description'] : '',
            format: one['format'],
            defaultValue: one['defaultValue'],
            isCalculated: one['isCalculated'] === true,
            definition: one,
          },
        ],
  );

/** In: a content as it is typed. */
export const usedIn = (content: Content): Used => {
  const paths = new Map<string, Map<string, number>>();
  const named = new Set<string>();
  const add = (path: string): void => {
    const root = rootOf(path);
    if (root === '' || /^__.*__$/.test(root)) return;
    const known = paths.get(root) ?? new Map<string, number>();
    known.set(path, (known.get(path) ?? 0) + 1);
    paths.set(root, known);
  };
  const walk = (value: unknown, name: string): void => {
    if (typeof value === 'string') {
      if (NAMING_PROPS.has(name)) named.add(value);
      else if (PATH_PROPS.has(name)) add(value.trim());
      else for (const [, path = ''] of value.matchAll(PLACEHOLDER)) add(path.trim());
    } else if (Array.isArray(value)) for (const one of value) walk(one, name);
    else if (isObject(value)) for (const [member, one] of Object.entries(value)) walk(one, member);
  };
  walk(content['subject'], 'subject');
  walk(content['name'], 'name');
  walk(content['schema'], 'schema');
  const declared = declaredIn(content['variables']);
  const known = new Set(declared.map((one) => one.name));
  const undeclared = [...paths.keys()].filter((name) => !known.has(name) && !named.has(name));
  return { declared, paths, undeclared };
};

/** The beginning of sample data for a type, as JSON that can be filled. */
export const exampleOf = ({ type, definition }: Declared): unknown => {
  const ofObject = (schema: unknown): Content =>
    isObject(schema) && isObject(schema['properties'])
      ? Object.fromEntries(
          Object.entries(schema['properties']).flatMap(([name, member]) =>
            !isObject(member) || member['isCalculated'] === true ? [] : [[name, ofMember(member)]],
          ),
        )
      : {};
  const ofMember = (member: Content): unknown => {
    const kind = member['type'];
    if (kind === 'number') return 1;
    if (kind === 'boolean') return true;
    if (kind === 'date') return '2026-11-21';
    if (kind === 'object') return ofObject(member);
    if (kind !== 'array') return 'Text';
    return member['itemType'] === 'object'
      ? [ofObject(member['itemSchema'])]
      : [ofMember({ type: member['itemType'] ?? 'string' })];
  };
  const { schema, itemType } = definition;
  if (type === 'object') return ofObject(schema);
  if (type === 'array')
    return itemType === 'object'
      ? [ofObject(isObject(schema) ? (schema['itemSchema'] ?? schema) : undefined)]
      : [ofMember({ type: itemType ?? 'string' })];
  return ofMember({ type });
};
