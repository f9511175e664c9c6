/**
 * Requests of hostile sizes for every endpoint of an API description: large, deep, wide, repeated and unclosed values
 * at every place of its bodies, queries, paths and headers. An endpoint that is new is among them by itself.
 */
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { isJsonObject } from '../../src/domain/core/json.js';
import { kitchenSink, sinkVariables } from '../support/kitchen-sink.js';
import type { Random } from '../support/random.js';

export type HostileRequest = Readonly<{
  /** Says endpoint, place and value, so that a fault can be told. */
  name: string;
  endpoint: string;
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer | undefined;
}>;

/** A value as it stands in a JSON text, of about that many bytes. */
type Fragment = Readonly<{ name: string; text: (sizeBytes: number, original: string) => string }>;

const text = (name: string, unit: string, head = '', tail = ''): Fragment => ({
  name,
  text: (sizeBytes) => `"${head}${unit.repeat(Math.max(1, Math.floor(sizeBytes / Buffer.byteLength(unit))))}${tail}"`,
});

/** How many members of that size there are in so many bytes. */
const members = (sizeBytes: number, unitBytes: number, membersMax = Infinity): number =>
  Math.max(1, Math.min(Math.floor(sizeBytes / unitBytes), membersMax));
const READ_AT_ALL = 500_000;
const NAMES_READ_AT_ALL = 98_000;

const wide = (name: string, unit: string, membersMax = READ_AT_ALL): Fragment => ({
  name,
  text: (sizeBytes) =>
    `[${Array.from({ length: members(sizeBytes, unit.length + 1, membersMax) }, () => unit).join(',')}]`,
});

const object = (name: string, member: (at: number) => string, membersMax = NAMES_READ_AT_ALL): Fragment => ({
  name,
  text: (sizeBytes) =>
    `{${Array.from({ length: members(sizeBytes, member(1_000).length + 1, membersMax) }, (_, at) => member(at)).join(',')}}`,
});

const nested = (name: string, open: string, close: string, depthMax: number): Fragment => ({
  name,
  text: (sizeBytes) => {
    const depth = members(sizeBytes, open.length + close.length, depthMax);
    return `${open.repeat(depth)}1${close.repeat(depth)}`;
  },
});

/** A reader that decodes the long name for each of its members takes a square of the size. */
const longNameOfPrototypes: Fragment = {
  name: 'prototypes of a long name',
  text: (sizeBytes) =>
    `{"${'a'.repeat(Math.max(1, Math.floor(sizeBytes / 2)))}":{${Array.from({ length: members(sizeBytes / 2, 14, READ_AT_ALL) }, () => '"prototype":1').join(',')}}}`,
};

export const fragments: readonly Fragment[] = [
  longNameOfPrototypes,
  text('letters', 'x'),
  text('angles', '<'),
  text('ampersands', '&'),
  text('entities', '&amp;'),
  text('placeholders', '{{s}}'),
  text('open placeholders', '{{'),
  text('conditional placeholders', '{{s ? s : s}}'),
  text('open tags', '<b>'),
  text('breaks', '<br>'),
  text('paragraphs', '<p>'),
  text('spans', '<span>a</span>'),
  text('cells', '<td>'),
  text('attributes', 'a=1 ', '<a ', '>x</a>'),
  text('styles', 'color:red;', `<p style='`, `'>x</p>`),
  text('links', `<a href='https://example.com/{{s}}'>x</a>`),
  text('pictures', `<img src='https://example.com/x.png'>`),
  text('comments', '<!--'),
  text('parentheses', '('),
  text('sums', '1+'),
  text('paths', 'a.'),
  text('blanks', ' '),
  text('words', 'long word '),
  text('commas', 'a,'),
  text('dots', '.'),
  text('ats', '@'),
  text('emoji', '😀'),
  text('combining', 'e\u0301'),
  text('right to left', 'שלום '),
  text('controls', '\\u0001'),
  text('lone surrogates', '\\ud800'),
  text('escapes', '\\n'),
  text('percents', '%'),
  text('quotes', '\\"'),
  { name: 'digits', text: (sizeBytes) => '1'.repeat(sizeBytes) },
  { name: 'a large exponent', text: (sizeBytes) => `1e${'9'.repeat(sizeBytes)}` },
  wide('an array of numbers', '1'),
  wide('an array of decimals', '1.123456789'),
  wide('an array of texts', '"a"'),
  wide('an array of objects', '{}', READ_AT_ALL / 2),
  wide('an array of arrays', '[[]]', READ_AT_ALL / 3),
  wide('an array beyond what is read', '1', Infinity),
  {
    name: 'what stood there, repeated',
    text: (sizeBytes, original) => wide('', original, Infinity).text(sizeBytes, original),
  },
  {
    name: 'what stood there, repeated up to what is read',
    text: (sizeBytes, original) => wide('', original, READ_AT_ALL / membersIn(original)).text(sizeBytes, original),
  },
  object('an object of many members', (at) => `"k${at}":${at}`),
  object('an object of long names', (at) => `"${'n'.repeat(90)}${at}":""`),
  object('an object beyond what is read', (at) => `"k${at}":1`, Infinity),
  object('an object of more names than are read', (at) => `"k${at}":1`, READ_AT_ALL),
  object('one member again and again', () => `"a":1`, READ_AT_ALL),
  wide('an array of objects with the same names', '{"a":1,"b":"b"}', READ_AT_ALL / 3),
  object('a member of prototypes', (at) => `"constructor${at}":{"prototype":1}`, NAMES_READ_AT_ALL / 2),
  nested('deep arrays', '[', ']', 60),
  nested('arrays deeper than is read', '[', ']', Infinity),
  nested('deep objects', '{"a":', '}', 60),
  nested('objects deeper than is read', '{"a":', '}', Infinity),
  { name: 'open arrays', text: (sizeBytes) => '['.repeat(sizeBytes) },
  { name: 'an open text', text: (sizeBytes) => `"${'x'.repeat(sizeBytes)}` },
  { name: 'blank space', text: (sizeBytes) => `1${' '.repeat(sizeBytes)}` },
  { name: 'commas alone', text: (sizeBytes) => ','.repeat(sizeBytes) },
];

const membersIn = (json: string): number => 1 + (json.match(/[,{[]/g)?.length ?? 0);

const MARK = '\u0000place\u0000';
const MARKED = JSON.stringify(MARK);

/** In: a body. Out: for each place in it the text before, what stands there, and the text behind. */
const placesOf = (
  body: Json,
): readonly Readonly<{ path: string; before: string; original: string; after: string }>[] => {
  const places: { path: string; before: string; original: string; after: string }[] = [];
  const visit = (value: Json, path: string, around: (inner: Json) => Json): void => {
    const [before = '', after = ''] = JSON.stringify(around(MARK)).split(MARKED);
    places.push({ path, before, original: JSON.stringify(value), after });
    if (Array.isArray(value)) {
      (value as readonly Json[]).forEach((element, at) =>
        visit(element, `${path}[${at}]`, (inner) => around((value as readonly Json[]).with(at, inner))),
      );
    } else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (member !== undefined)
          visit(member, path === '' ? name : `${path}.${name}`, (inner) => around({ ...value, [name]: inner }));
      }
    }
  };
  visit(body, '', (inner) => inner);
  return places;
};

type Operation = Readonly<{
  method: string;
  path: string;
  parameters: readonly JsonObject[];
  bodies: readonly Json[];
  uploads: boolean;
}>;

const asObject = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Every operation of the description, with the example bodies that it shows. */
export const operationsOf = (document: JsonObject): readonly Operation[] => {
  const shared = asObject(asObject(document['components'])['parameters']);
  const resolved = (parameter: Json): JsonObject => {
    const reference = asObject(parameter)['$ref'];
    return asObject(typeof reference === 'string' ? shared[reference.split('/').at(-1)!] : parameter);
  };
  return Object.entries(asObject(document['paths'])).flatMap(([path, item]) =>
    Object.entries(asObject(item)).map(([method, written]) => {
      const operation = asObject(written);
      const content = asObject(asObject(operation['requestBody'])['content']);
      const examples = Object.values(asObject(asObject(content['application/json'])['examples']));
      return {
        method: method.toUpperCase(),
        path,
        parameters: ((operation['parameters'] ?? []) as readonly Json[]).map(resolved),
        bodies: examples.map((example) => asObject(example)['value'] ?? null),
        uploads: content['multipart/form-data'] !== undefined,
      };
    }),
  );
};

/**
 * The largest that a header may be, and that all of a URL may be, is far below that of a body; a little more is tried.
 */
const URL_BYTES_MAX = 20_000;

const short = (fragment: Fragment, sizeBytes: number): string =>
  encodeURIComponent(fragment.text(Math.min(sizeBytes, URL_BYTES_MAX), '1')).slice(
    0,
    Math.min(sizeBytes, URL_BYTES_MAX),
  );

export type HostileOptions = Readonly<{
  random: Random;
  sizesBytes: readonly number[];
}>;

/** One hostile request for the operation: the random numbers choose its place, value and size. */
export const hostileRequest = (operation: Operation, fragment: Fragment, options: HostileOptions): HostileRequest => {
  const { random, sizesBytes } = options;
  const sizeBytes = random.pick(sizesBytes);
  const path = operation.path.replace(/\{[a-z]+\}/gi, () => idOf(operation.path));
  const endpoint = `${operation.method} ${operation.path}`;
  const base = { endpoint, method: operation.method, path, headers: {}, body: undefined };
  const named = (place: string): string => `${endpoint} ${place}: ${fragment.name}, ${sizeBytes} bytes`;
  const bodies = [...operation.bodies, ...moreBodies(operation)];
  if (bodies.length > 0 && random.chance(0.85)) {
    const { path: place, before, original, after } = random.pick(placesOf(random.pick(bodies)));
    const body = Buffer.from(`${before}${fragment.text(sizeBytes, original)}${after}`);
    return { ...base, name: named(`body ${place}`), headers: { 'content-type': 'application/json' }, body };
  }
  const others = [
    ...operation.parameters.map((parameter) => [String(parameter['in']), String(parameter['name'])] as const),
    ...everywhere,
  ];
  const [where, name] = random.pick(others);
  const value = short(fragment, sizeBytes);
  switch (where) {
    case 'path':
      return {
        ...base,
        name: named('path'),
        path: operation.path.replace(/\{[a-z]+\}/i, value).replace(/\{[a-z]+\}/gi, '0'),
      };
    case 'query':
      return { ...base, name: named(`query ${name}`), path: `${path}?${name === '' ? value : `${name}=${value}`}` };
    case 'repeated query':
      return { ...base, name: named('repeated query'), path: `${path}?${'a=1&'.repeat(Math.floor(value.length / 4))}` };
    default:
      return { ...base, name: named(`header ${name}`), headers: { [name]: value } };
  }
};

/** Bodies beside those of the description: they reach more of the program. */
const moreBodies = ({ path, method }: Operation): readonly Json[] => {
  if (method === 'POST' && path === '/api/templates')
    return [{ name: 'Everything', ...kitchenSink() } as unknown as Json];
  return path === '/api/emails/send'
    ? [{ templateId: 'order-confirmation', to: [{ email: 'a@example.com' }], variables: sinkVariables }]
    : [];
};

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
/** The value of `{id}` in a path. */
const idOf = (path: string): string =>
  path.startsWith('/api/templates/attachment/')
    ? 'invoice'
    : path.endsWith('/preview') || path.includes('versions')
      ? 'order-confirmation'
      : UNKNOWN;

const everywhere = [
  ['query', ''],
  ['repeated query', ''],
  ['header', 'x-request-id'],
  ['header', 'authorization'],
  ['header', 'content-type'],
  ['header', 'accept'],
] as const;
