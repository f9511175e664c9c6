/**
 * Holds answers against the API description: each has a media type that is named for its status, and JSON is what the
 * schema says.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../src/http/server/openapi/reference.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import type { App } from '../../src/service/app.js';

type Server = App['server'];

const ID = 'description';

/** As RFC 3339, RFC 9562 and the like have them: what readers of the description check. */
export const formats: Readonly<Record<string, RegExp | true>> = {
  'date-time':
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  email: /^[^\s@]+@[^\s@]+$/,
  uri: /^[a-z][a-z\d+.-]*:\S+$/i,
  binary: true,
};

/** `type`: the Content-Type header. */
type Answered = Readonly<{ method: string; path: string; status: number; type: unknown; body: string }>;

type Check = (answered: Answered) => string | undefined;

/** The description of the answers of one status. */
type Response = Readonly<{ types: readonly string[]; check: ValidateFunction | undefined }>;

const made = new WeakMap<object, Check>();

/** Out: undefined where the answer is as described, or the path is not; else what differs. */
export const differenceOf = (server: Server, answered: Answered): string | undefined => {
  const check = made.get(server) ?? checkBy(openApiDocument(server));
  made.set(server, check);
  return check(answered);
};

const checkBy = (document: JsonObject): Check => {
  // Keywords of OpenAPI, such as `example`, stand beside those of JSON Schema.
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    formats: { ...formats },
    allErrors: true,
    addUsedSchema: false,
  });
  ajv.addSchema({ ...document, $id: ID });
  const responses = new Map<string, Response | undefined>();
  const patterns = Object.keys(object(document['paths'])).map((pattern) => ({
    pattern,
    fits: new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

  const readResponse = (at: string): Response | undefined => {
    const response = resolved(document, at);
    if (response === undefined) return undefined;
    const reference = object(response)['$ref'];
    const place = typeof reference === 'string' ? reference : at;
    const content = object(object(resolved(document, place))['content']);
    const isJson = content['application/json'] !== undefined;
    return {
      types: Object.keys(content),
      check: isJson ? ajv.compile({ $ref: `${ID}${place}/content/application~1json/schema` }) : undefined,
    };
  };

  const responseAt = (at: string): Response | undefined => {
    if (!responses.has(at)) responses.set(at, readResponse(at));
    return responses.get(at);
  };

  return ({ method, path, status, type, body }) => {
    // As a client of HTTP sends it, without dots.
    const target = new URL(path, 'http://service.test').pathname;
    const pattern = (patterns.find((one) => one.pattern === target) ?? patterns.find(({ fits }) => fits.test(target)))
      ?.pattern;
    if (
      pattern === undefined ||
      resolved(document, `#/paths/${escaped(pattern)}/${method.toLowerCase()}`) === undefined
    )
      return undefined;
    const name = `${method} ${pattern} ${status}`;
    const response = responseAt(`#/paths/${escaped(pattern)}/${method.toLowerCase()}/responses/${status}`);
    if (response === undefined) return `${name} is not described`;
    const media = String(type).split(';')[0] ?? '';
    if (!response.types.includes(media) && !response.types.includes('*/*'))
      return `${name} is ${media}, and described as ${response.types.join(', ')}`;
    if (media !== 'application/json' || response.check === undefined || response.check(JSON.parse(body)))
      return undefined;
    const faults = response.check.errors ?? [];
    return `${name}: ${faults.map(({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`).join('; ')}`;
  };
};

const object = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

const escaped = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

const resolved = (document: JsonObject, reference: string): Json | undefined =>
  reference
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((found, part) => object(found)[unescaped(part)], document);
