/**
 * The names that may stand between braces at a place of a template: declared variables with their members, the items
 * of the loops around, and constants.
 */
import type { Constant } from '../../service.js';
import { isObject, type Json, type Parent, propsOf, typeOf } from './place.js';

/** `path`: as one writes it. `format`: how the service writes the value, in words. */
export type Name = Readonly<{
  path: string;
  type: string;
  about?: string;
  format?: string;
  sample?: string;
}>;

/** The facts that are known of a value. */
export type Shape = Readonly<{
  type: string;
  about?: string;
  format?: string;
  members: ReadonlyMap<string, Shape>;
  item?: Shape;
  sample?: unknown;
}>;

const constants: Readonly<Record<Constant, string>> = {
  __CURRENT_DATE__: 'The day of sending',
  __CURRENT_YEAR__: 'The year of sending',
  __CURRENT_MONTH__: 'The month of sending, a number',
  __CURRENT_DAY__: 'The day of the month',
  __CURRENT_DAY_NAME__: 'The day of the week',
  __LANGUAGE__: 'The language of the mail',
  __LOCALE__: 'The language with its region',
  __COMPANY_NAME__: 'Your company',
  __COMPANY_LEGAL_NAME__: 'Your company, by its legal name',
  __COMPANY_EMAIL__: 'Address of your company',
  __COMPANY_PHONE__: 'Telephone of your company',
  __COMPANY_WEBSITE__: 'Website of your company',
  __COMPANY_ADDRESS_LINE1__: 'Street of your company',
  __COMPANY_CITY__: 'City of your company',
  __COMPANY_STATE__: 'State of your company',
  __COMPANY_POSTAL_CODE__: 'Postal code of your company',
  __COMPANY_COUNTRY__: 'Country of your company',
  __BRAND_LOGO__: 'Logo of your team',
  __BRAND_ACCENT__: 'Colour of links and buttons of your team',
  __BRAND_TEXT__: 'Text colour of your team',
  __BRAND_BACKGROUND__: 'Background of your team',
  __UNSUBSCRIBE_URL__: 'Where this recipient unsubscribes',
};

const constantShapes: readonly (readonly [string, Shape])[] = Object.entries(constants).map(([name, about]) => [
  name,
  { type: 'constant', about, members: new Map() },
]);

/** Names of one list that are offered; more are found by typing. */
const NAMES_MAX = 500;
const DEPTH_MAX = 8;
const NAME = /^[\p{L}_][\p{L}\p{N}_-]{0,99}$/u;

const typeOfValue = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (value === null || value === undefined) return 'any';
  return typeof value;
};

const words = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** In: a format of a variable. Out: it in words. */
const formatIn = (format: unknown): string | undefined => {
  if (!isObject(format)) return undefined;
  const detail = words(format['currency']) ?? words(format['pattern']) ?? words(format['dateStyle']);
  return [words(format['style']), detail].filter((one) => one !== undefined).join(', ') || undefined;
};

/** In: the definition of a variable or a member, and a value that it may have. */
const shapeOf = (definition: Json, sample: unknown, depth = 0): Shape => {
  const type = words(definition['type']) ?? typeOfValue(sample);
  const schema = isObject(definition['schema']) ? definition['schema'] : definition;
  const declared = isObject(schema['properties']) ? schema['properties'] : {};
  const given = isObject(sample) ? sample : {};
  const members = new Map<string, Shape>();
  if (depth < DEPTH_MAX)
    for (const name of new Set([...Object.keys(declared), ...Object.keys(given)]).keys())
      members.set(name, shapeOf(isObject(declared[name]) ? declared[name] : {}, given[name], depth + 1));
  const about = words(definition['description']);
  const format = formatIn(definition['format']);
  return {
    type,
    members,
    sample,
    ...(about === undefined ? {} : { about }),
    ...(format === undefined ? {} : { format }),
    ...(type === 'array' && depth < DEPTH_MAX ? { item: itemShape(definition, schema, sample, depth) } : {}),
  };
};

const itemShape = (definition: Json, schema: Json, sample: unknown, depth: number): Shape => {
  const itemSchema = isObject(schema['itemSchema']) ? schema['itemSchema'] : {};
  const type = words(definition['itemType']);
  return shapeOf(
    { ...(type === undefined ? {} : { type }), ...itemSchema },
    Array.isArray(sample) ? (sample as readonly unknown[])[0] : undefined,
    depth + 1,
  );
};

export type Scope = ReadonlyMap<string, Shape>;

/**
 * In: the template, the values that its preview uses, and the components around the place. `own`: the component itself,
 * whose items its texts read.
 */
export const scopeAt = (content: Json, samples: Json, parents: readonly Parent[], own?: Json): Scope => {
  const scope = new Map<string, Shape>();
  const declared = Array.isArray(content['variables']) ? (content['variables'] as readonly unknown[]) : [];
  for (const definition of declared) {
    const name = isObject(definition) ? words(definition['name']) : undefined;
    if (!isObject(definition) || name === undefined) continue;
    scope.set(name, shapeOf(definition, samples[name] ?? definition['defaultValue']));
  }
  for (const [name, value] of Object.entries(samples)) if (!scope.has(name)) scope.set(name, shapeOf({}, value));
  for (const { node, branch } of parents) if (typeOf(node) === 'loop' && branch === 'children') addItems(scope, node);
  if (own !== undefined && typeOf(own) !== 'loop') addItems(scope, own);
  for (const [name, shape] of constantShapes) scope.set(name, shape);
  return scope;
};

const addItems = (scope: Map<string, Shape>, node: Json): void => {
  const props = propsOf(node);
  const source = words(props['dataSource']);
  if (source === undefined) return;
  const item = shapeAt(scope, source)?.item;
  const index = words(props['indexVariable']);
  scope.set(words(props['itemVariable']) ?? 'item', item ?? { type: 'any', members: new Map() });
  if (index !== undefined)
    scope.set(index, { type: 'number', about: 'The place in the list, from 0', members: new Map() });
  if (words(props['groupBy']) !== undefined)
    scope.set('group', {
      type: 'object',
      about: 'The group of the rows',
      members: new Map<string, Shape>([
        ['key', { type: 'any', about: 'What the rows have in common', members: new Map() }],
        ['count', { type: 'number', about: 'How many rows it has', members: new Map() }],
        ['sum', { type: 'object', about: 'Sums of the rows', members: numbersOf(item) }],
      ]),
    });
};

const numbersOf = (shape: Shape | undefined): ReadonlyMap<string, Shape> =>
  new Map([...(shape?.members ?? [])].filter(([, { type }]) => type === 'number'));

/** The steps of a path, with or without braces; undefined where it is none. */
export const stepsOf = (text: string): readonly (string | number)[] | undefined => {
  const path = text.trim().replace(/^\{\{\s*([^{}]*?)\s*\}\}$/, '$1');
  const steps: (string | number)[] = [];
  const STEP =
    /(?:^|\.)([\p{L}_][\p{L}\p{N}_-]*)|\[(\d{1,6})\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]|\[\s*'((?:[^'\\]|\\.)*)'\s*\]/uy;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null) return undefined;
    const [, name, place, double, single] = found;
    steps.push(place === undefined ? (name ?? unescaped(double ?? single ?? '')) : Number(place));
  }
  return steps.length === 0 ? undefined : steps;
};

const unescaped = (key: string): string =>
  key.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, code: string | undefined, sign: string | undefined) =>
    code === undefined ? (sign ?? '') : String.fromCharCode(parseInt(code, 16)),
  );

const stepInto = (shape: Shape | undefined, step: string | number): Shape | undefined =>
  typeof step === 'number' ? shape?.item : shape?.members.get(step);

/** In: a path with or without braces. Out: what is known of the value there. */
export const shapeAt = (scope: Scope, text: string): Shape | undefined => {
  const [root, ...steps] = stepsOf(text) ?? [];
  return typeof root !== 'string' ? undefined : steps.reduce<Shape | undefined>(stepInto, scope.get(root));
};

const written = (before: string, name: string): string => {
  if (NAME.test(name)) return before === '' ? name : `${before}.${name}`;
  const key = JSON.stringify(name).replace(
    /[{}<>&\x7f-\x9f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `${before}[${key}]`;
};

const SAMPLE_CHARS_MAX = 40;

const sampleOf = ({ sample }: Shape): string | undefined => {
  if (Array.isArray(sample)) return `${sample.length} items`;
  if (sample === undefined || sample === null || typeof sample === 'object') return undefined;
  const text = String(sample as string | number | boolean);
  return text.length > SAMPLE_CHARS_MAX ? `${text.slice(0, SAMPLE_CHARS_MAX - 1)}…` : text;
};

const nameOf = (path: string, shape: Shape): Name => {
  const sample = sampleOf(shape);
  return {
    path,
    type: shape.type,
    ...(shape.about === undefined ? {} : { about: shape.about }),
    ...(shape.format === undefined ? {} : { format: shape.format }),
    ...(sample === undefined ? {} : { sample }),
  };
};

function* namesIn(before: string, members: Iterable<readonly [string, Shape]>, depth: number): Generator<Name> {
  for (const [name, shape] of members) {
    const path = written(before, name);
    yield nameOf(path, shape);
    if (shape.type === 'array') yield { path: `${path}.length`, type: 'number', about: 'How many it has' };
    if (depth < DEPTH_MAX) yield* namesIn(path, shape.members, depth + 1);
  }
}

const firstOf = (names: Iterable<Name>): readonly Name[] => {
  const found: Name[] = [];
  for (const name of names) if (found.push(name) >= NAMES_MAX) break;
  return found;
};

/** The names as they are offered: nearer ones first. */
export const namesOf = (scope: Scope): readonly Name[] => firstOf(namesIn('', scope, 0));

/** Lists alone, for what repeats. */
export const listsOf = (scope: Scope): readonly Name[] => namesOf(scope).filter(({ type }) => type === 'array');

/** In: the data source of a table or a chart. Out: the members of its items. */
export const fieldsOf = (scope: Scope, dataSource: unknown): readonly Name[] => {
  const source = words(dataSource);
  const item = source === undefined ? undefined : shapeAt(scope, source)?.item;
  return item === undefined ? [] : firstOf(namesIn('', item.members, 0)).filter(({ type }) => type !== 'array');
};
