/** Completes the raw description that is made from the routes: references, errors, headers, security, examples. */
import { type Json, type JsonObject, isJsonObject } from '../../../domain/core/json.js';
import { commandCodes } from '../../../commands/index.js';
import type { ErrorCode } from '../../../domain/core/errors.js';
import { statusOf, type ErrorStatus } from '../errors.js';
import type { Access } from '../context.js';
import { permissionOfKey } from '../../../domain/access/permissions.js';
import { components } from '../../../api/components.js';
import { webhookBodies } from '../../../api/webhooks.js';
import { bodyMembers, templateDefinitions } from '../../../api/templates/json-schema.js';
import type { Commands } from '../../../commands/index.js';

/** The parts of a registered route that the description needs. */
export type DescribedRoute = Readonly<{
  method: string;
  /** The pattern, with `:id`. */
  path: string;
  access: Access;
  idempotent: boolean;
  takesBody: boolean;
  bodyMayBeAbsent: boolean;
  /** The answer carries an `ETag`, and the route takes `If-Match`. */
  etag: boolean;
  conditional: boolean;
  /** The command that it calls, and the codes that it may answer beside those of the command. */
  command: keyof Commands | undefined;
  codes: readonly ErrorCode[];
  unknownId: ErrorCode | undefined;
  /** Takes a file as multipart/form-data too; an object describes further fields of the form. */
  uploads: boolean | Readonly<Record<string, Readonly<{ description: string; required: boolean }>>>;
  /** The cookie of the mailbox's link serves in place of a key. */
  mailbox: boolean;
  /** The answer tells where in the log what was written stands. */
  writes: boolean;
  /** The media type of the body where it is no JSON. */
  reads: string | undefined;
  /** The media types that the answer may have where it is no JSON. */
  media: string | readonly string[] | undefined;
  examples: Readonly<Record<string, Readonly<{ summary: string; value: unknown }>>> | undefined;
}>;

/** The names of the cookies of a session and of the mailbox. */
export type CookieNames = Readonly<{ access: string; mailbox: string }>;

/** On every answer. */
const rateHeaders: JsonObject = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'X-RateLimit-Limit': { $ref: '#/components/headers/RateLimitLimit' },
  'X-RateLimit-Remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'X-RateLimit-Reset': { $ref: '#/components/headers/RateLimitReset' },
};

/** The codes that every endpoint may answer before it does anything. */
const requestCodes: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'MALFORMED_JSON',
  'JSON_TOO_COMPLEX',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_CONTENT_TYPE',
  'URL_TOO_LONG',
  'MALFORMED_REQUEST',
  'HTTPS_REQUIRED',
  'RATE_LIMIT_EXCEEDED',
  'STORE_AWAY',
  'INTERNAL_ERROR',
];
/** More codes of the endpoints that take a body. */
const bodyCodes: readonly ErrorCode[] = ['TOO_MANY_LARGE_BODIES'];
/** More codes of the endpoints that read the stores: each that needs a key reads at least the key. */
const storedCodes: readonly ErrorCode[] = ['EVENT_UNREADABLE', 'EVENT_UNKNOWN'];
const keyCodes: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  ...commandCodes.authenticate,
  'API_KEY_NETWORK_NOT_ALLOWED',
  'CSRF_REJECTED',
  'FORBIDDEN',
  ...storedCodes,
];

const names: Readonly<Record<ErrorStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  410: 'Gone',
  429: 'TooManyRequests',
  500: 'ServerError',
  503: 'ServiceUnavailable',
};

const sentences: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is wrong',
  401: 'No good API key',
  403: 'The key lacks the permission, the call comes from a network that the key may not come from, or by a cookie and from another page, or plain HTTP is used where HTTPS is required',
  404: 'Unknown, malformed, or another team’s',
  410: 'It existed and is destroyed',
  429: 'Too many requests, or too much at once',
  500: 'A fault of the service',
  503: 'A server or a disk that the service needs is away',
};

const statuses = [400, 401, 403, 404, 410, 429, 500, 503] as const satisfies readonly ErrorStatus[];

const general = new Set([...requestCodes, ...keyCodes]);

const successDescriptions: Readonly<Record<string, string>> = { 200: 'Done.', 201: 'Created.', 503: 'Not ready.' };

const binary: JsonObject = { schema: { type: 'string', format: 'binary' } };

/**
 * In: what @fastify/swagger made of the routes, the routes, and the names of the cookies. Out: the whole document
 * (OpenAPI 3.1).
 */
export const completeDocument = (raw: unknown, routes: readonly DescribedRoute[], cookies: CookieNames): JsonObject => {
  const document = object(asJson(raw));
  const byOperation = new Map(
    routes.map((route) => [`${route.method} ${route.path.replace(/:([A-Za-z]+)/g, '{$1}')}`, route]),
  );
  const forms: Record<string, Json> = {};
  const paths = mapObject(object(document['paths']), (item, path) =>
    mapObject(object(item), (entry, method) => {
      const route = byOperation.get(`${method.toUpperCase()} ${path}`);
      if (route === undefined) return entry;
      const raw = object(withReferences(tidy(entry)));
      if (route.uploads !== false) forms[formName(raw)] = formOf(route.uploads, raw);
      return operation(raw, route);
    }),
  );
  const webhooks = webhookOperations();
  const shared = sharedParts(cookies.access, routes.some(({ mailbox }) => mailbox) ? cookies.mailbox : undefined);
  const schemas = { ...usedSchemas([paths, webhooks, shared]), ...forms };
  return { ...document, paths, webhooks, components: { ...shared, schemas } };
};

/** The schemas that these parts of the document refer to, and those that they refer to in turn, by name. */
const usedSchemas = (parts: readonly Json[]): JsonObject => {
  const schemas = allSchemas();
  const used = new Set<string>();
  const visit = (value: Json): void => {
    if (Array.isArray(value)) return (value as readonly Json[]).forEach(visit);
    if (!isJsonObject(value)) return;
    const name = typeof value['$ref'] === 'string' ? componentOf(value['$ref']) : undefined;
    if (name !== undefined && !used.has(name)) {
      used.add(name);
      visit(schemas[name] ?? null);
    }
    Object.values(value).forEach(visit);
  };
  parts.forEach(visit);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
};

const operation = (raw: JsonObject, route: DescribedRoute): JsonObject => {
  const parameters = [
    ...(Array.isArray(raw['parameters']) ? (raw['parameters'] as readonly Json[]) : []).map(withStyle),
    ...(route.idempotent ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(route.access === 'public' || route.mailbox ? [] : [{ $ref: '#/components/parameters/Position' }]),
    ...(route.conditional ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
  ];
  return {
    ...raw,
    description: description(raw, route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(raw, route),
    // A route that describes its own 503 (health) keeps it.
    responses: { ...errorResponses(route), ...successResponses(object(raw['responses']), route) },
    security:
      route.access === 'public' ? [] : [{ apiKey: [] }, { browser: [] }, ...(route.mailbox ? [{ mailbox: [] }] : [])],
  };
};

const description = (raw: JsonObject, route: DescribedRoute): string => {
  const own = typeof raw['description'] === 'string' ? `${raw['description']}\n\n` : '';
  if (route.access === 'public') return `${own}Needs no API key.`;
  return `${own}Needs the permission \`${permissionOfKey(route.access)}\`${route.mailbox ? ', or the cookie of the link that opens the mailbox' : ''}.`;
};

/** An object in a query is written `name[key]=value`. */
const withStyle = (parameter: Json): Json => {
  const { in: place, schema } = object(parameter);
  return place === 'query' && object(schema)['type'] === 'object'
    ? { ...object(parameter), style: 'deepObject', explode: true }
    : parameter;
};

const successResponses = (raw: JsonObject, route: DescribedRoute): JsonObject =>
  mapObject(raw, (response, status) => ({
    ...object(response),
    ...(route.media === undefined
      ? {}
      : { content: Object.fromEntries([route.media].flat().map((type) => [type, contentOf(type, object(response))])) }),
    description: successDescriptions[status] ?? 'Done.',
    headers: {
      ...rateHeaders,
      ...(route.etag ? { ETag: { $ref: '#/components/headers/ETag' } } : {}),
      ...(route.writes ? { 'X-Sealpost-Position': { $ref: '#/components/headers/Position' } } : {}),
      ...(route.idempotent ? { 'Idempotency-Replayed': { $ref: '#/components/headers/IdempotencyReplayed' } } : {}),
    },
  }));

/** The schema of a stream describes the data of an event, as generators of clients take it. */
const contentOf = (type: string, response: JsonObject): JsonObject =>
  type === 'text/event-stream' ? object(object(response['content'])['application/json']) : binary;

/** The posts to endpoints of webhook subscriptions: one operation for each kind of event (OpenAPI 3.1, `webhooks`). */
const webhookOperations = (): JsonObject =>
  Object.fromEntries(
    webhookBodies.map(({ kind, name, when, example }): [string, Json] => [
      kind,
      {
        post: {
          operationId: `receive${name}`,
          summary: when,
          description: `Posted to the endpoints of webhook subscriptions for \`${kind}\`. The same event may be posted several times, with the same id.`,
          tags: ['Webhooks'],
          parameters: webhookHeaders.map((header) => ({ $ref: `#/components/parameters/${header}` })),
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: toComponent(name),
                examples: { event: { summary: when, value: asJson(example) } },
              },
            },
          },
          responses: {
            '2XX': { description: 'Received: any status from 200 to 299.' },
            '410': { description: 'The endpoint is gone: the subscription is disabled.' },
            default: { description: 'Not received: posted again after each pause of `SEALPOST_WEBHOOK_RETRY_DELAYS`.' },
          },
          security: [],
        },
      },
    ]),
  );

const webhookHeaders = [
  'WebhookEventId',
  'WebhookEventType',
  'WebhookPreviousEventId',
  'WebhookTimestamp',
  'WebhookSignature',
  'StandardWebhookId',
  'StandardWebhookTimestamp',
  'StandardWebhookSignature',
];

const requestBody = (raw: JsonObject, route: DescribedRoute): JsonObject => {
  const shown = route.examples === undefined ? {} : { examples: asJson(route.examples) };
  if (route.reads !== undefined)
    return { requestBody: { required: true, content: { [route.reads]: { ...binary, ...shown } } } };
  const form = route.uploads === false ? {} : { 'multipart/form-data': { schema: toComponent(formName(raw)) } };
  const body = raw['requestBody'];
  if (!isJsonObject(body)) return route.uploads === false ? {} : { requestBody: { required: true, content: form } };
  const content = object(object(body['content'])['application/json']);
  return {
    requestBody: {
      required: !route.bodyMayBeAbsent,
      content: { 'application/json': { ...content, ...shown }, ...form },
    },
  };
};

/** The name of the component that describes the form of an operation: `importSuppressions` takes `ImportSuppressionsForm`. */
const formName = ({ operationId }: JsonObject): string => {
  const id = String(operationId);
  return `${id.charAt(0).toUpperCase()}${id.slice(1)}Form`;
};

/** A file and further fields, as multipart/form-data. */
const formOf = (uploads: Exclude<DescribedRoute['uploads'], false>, { summary }: JsonObject): JsonObject => {
  const fields = Object.entries(uploads === true ? {} : uploads);
  return {
    type: 'object',
    description: `${String(summary)}: the form with the file.`,
    properties: {
      ...Object.fromEntries(
        fields.map(([name, { description: text }]) => [name, { type: 'string', description: text }]),
      ),
      file: { type: 'string', format: 'binary', description: 'The one file, with its name' },
    },
    required: [...fields.flatMap(([name, { required }]) => (required ? [name] : [])), 'file'],
    additionalProperties: false,
  };
};

const sharedParts = (accessName: string, mailboxName: string | undefined): JsonObject => ({
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key, or an access token: `Authorization: Bearer <API_KEY>`',
    },
    browser: {
      type: 'apiKey',
      in: 'cookie',
      name: accessName,
      description:
        'The session of a page in a browser: set by `POST /api/auth/login` with `"session": "cookie"`. What changes something needs the header `X-CSRF-Token`, too. A person in several teams names the team of a call in the header `X-Team-Id`, or, of a GET, in the query parameter `team`',
    },
    ...(mailboxName === undefined
      ? {}
      : {
          mailbox: {
            type: 'apiKey',
            in: 'cookie',
            name: mailboxName,
            description: 'Set by the link that `sealpost mailbox` prints',
          },
        }),
  },
  headers: {
    RequestId: stringHeader('The id of the request: the caller’s own `X-Request-Id`, or a fresh one'),
    RateLimitLimit: integerHeader('Requests admitted per window'),
    RateLimitRemaining: integerHeader('Requests left in the window'),
    RateLimitReset: integerHeader('When the window ends, in seconds since 1970'),
    RetryAfter: integerHeader('Seconds to wait'),
    ETag: stringHeader('The revision of the record, for `If-Match`'),
    Position: stringHeader(
      'Up to where in the log the write stands: sent with the next read, that shows it, whichever process answers',
    ),
    IdempotencyReplayed: stringHeader('`true` where this is the stored answer of an earlier request with the same key'),
  },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Makes the call safe to repeat: the same key with the same body gets the stored answer, nothing is done twice. With another body: 400 `IDEMPOTENCY_KEY_REUSED`.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
    },
    Position: {
      name: 'X-Sealpost-Position',
      in: 'header',
      required: false,
      description:
        'Value of the same header in an earlier answer. The request waits, at most 250 ms, until the process that answers it shows everything up to there.',
      schema: { type: 'string', pattern: '^[0-9]{1,16}$' },
    },
    WebhookEventId: webhookHeader(
      'X-Service-Event-Id',
      'Id of the event (`evt_…`): equal for every attempt and replay',
    ),
    WebhookEventType: webhookHeader('X-Service-Event-Type', 'The kind of event'),
    WebhookPreviousEventId: webhookHeader(
      'X-Service-Previous-Event-Id',
      'Id of the event before in the same subscription; absent on the first',
      false,
    ),
    WebhookTimestamp: webhookHeader('X-Service-Timestamp', 'Time of this attempt, in seconds since 1970'),
    WebhookSignature: webhookHeader(
      'X-Service-Signature',
      '`v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<body>`, with the secret as the key; during a rotation with the old one',
    ),
    StandardWebhookId: webhookHeader('webhook-id', 'As Standard Webhooks has it'),
    StandardWebhookTimestamp: webhookHeader('webhook-timestamp', 'As Standard Webhooks has it'),
    StandardWebhookSignature: webhookHeader('webhook-signature', 'As Standard Webhooks has it'),
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      required: false,
      description:
        'The `ETag` of what the change is made to, several of them, or `*`. Of another revision: 400 `REVISION_MISMATCH`, and nothing is done.',
      schema: { type: 'string' },
    },
  },
  responses: sharedResponses(),
});

const webhookHeader = (name: string, text: string, required = true): JsonObject => ({
  name,
  in: 'header',
  required,
  description: text,
  schema: { type: 'string' },
});

const integerHeader = (text: string): JsonObject => ({ description: text, schema: { type: 'integer' } });
const stringHeader = (text: string): JsonObject => ({ description: text, schema: { type: 'string' } });

/** The error responses of one endpoint: a reference if it has the shared codes only. */
const errorResponses = (route: DescribedRoute): JsonObject => {
  const codes = codesOfRoute(route);
  return Object.fromEntries(
    statuses.flatMap((status) => {
      const own = ofStatus(codes, status);
      if (own.length === 0) return [];
      const isShared = own.length === ofStatus(general, status).length && own.every((code) => general.has(code));
      return [[status, isShared ? { $ref: `#/components/responses/${names[status]}` } : errorResponse(status, own)]];
    }),
  );
};

/** Every code that an endpoint may answer, each once. */
export const codesOfRoute = ({
  access,
  takesBody,
  command,
  codes,
  unknownId,
}: DescribedRoute): ReadonlySet<ErrorCode> =>
  new Set([
    ...requestCodes,
    ...(access === 'public' ? [] : keyCodes),
    ...(takesBody ? bodyCodes : []),
    ...(command === undefined ? [] : commandCodes[command]),
    ...codes,
    ...(unknownId === undefined ? [] : [unknownId]),
  ]);

/** The error responses that most endpoints share, by status. */
const sharedResponses = (): JsonObject =>
  Object.fromEntries(
    statuses.flatMap((status) => {
      const codes = ofStatus(general, status);
      return codes.length === 0 ? [] : [[names[status], errorResponse(status, codes)]];
    }),
  );

/**
 * The form that every error has, with the codes that `code` may be. The codes stand beside the reference (JSON Schema
 * 2020-12, section 8.2.3.1): a check goes by both, and a generated client has one type for all errors.
 */
const errorResponse = (status: ErrorStatus, codes: readonly ErrorCode[]): JsonObject => {
  const schema: Json = { ...toComponent('ApiError'), properties: { code: { enum: [...codes] } } };
  return {
    description: `${sentences[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: {
      ...rateHeaders,
      ...(status === 429 || status === 503 ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: { 'application/json': { schema } },
  };
};

const ofStatus = (codes: Iterable<ErrorCode>, status: ErrorStatus): readonly ErrorCode[] =>
  [...codes].filter((code) => statusOf[code] === status);

const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

const object = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

const mapObject = (value: JsonObject, change: (member: Json, key: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member, key)]));

/**
 * Writes free-form objects as `additionalProperties`: TypeBox writes them as a pattern for every name, which API
 * readers show badly.
 */
const tidy = (value: Json): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map(tidy);
  if (!isJsonObject(value)) return value;
  const { patternProperties, ...rest } = value;
  const every = isJsonObject(patternProperties) ? patternProperties['^(.*)$'] : undefined;
  return mapObject(every === undefined ? value : { ...rest, additionalProperties: every }, tidy);
};

/** A text that is equal for equal schemas, whatever the order of their members. */
const textOf = (value: Json): string =>
  JSON.stringify(value, (_key, member: Json) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );

/** Made when somebody first reads the description: a service starts without it. */
const onFirstUse = <Value>(make: () => Value): (() => Value) => {
  let made: Readonly<{ value: Value }> | undefined;
  return () => (made ??= { value: make() }).value;
};

const definitions = onFirstUse((): JsonObject =>
  mapObject(Object.fromEntries(Object.entries(components).map(([name, { schema }]) => [name, asJson(schema)])), tidy),
);

/**
 * Adds the schemas of the parts of a template to the description. Requests are not validated by them: the domain checks
 * templates and names faults better. `$schema`, which editors write, is described as a pattern: in some languages a
 * generated client would have one name for it and for `schema`.
 */
const withTemplateParts = (schema: Json, name: string): JsonObject => {
  const kind = components[name]?.template;
  const body = object(schema);
  if (kind === undefined) return body;
  const { $schema: ofEditor, ...properties } = object(body['properties']);
  return {
    ...body,
    properties: { ...properties, ...bodyMembers(kind, toComponent) },
    ...(ofEditor === undefined ? {} : { patternProperties: { '^\\$schema$': ofEditor } }),
  };
};

/** Puts the description of the component before that of its schema. */
const described = (schema: Json, name: string): JsonObject => {
  const own = object(schema)['description'];
  return {
    ...object(schema),
    description: [components[name]?.description, ...(typeof own === 'string' ? [`${own}.`] : [])].join(' '),
  };
};

/** The names of the components by the text of their schemas, to recognise them as subtrees. */
const named = onFirstUse(() => new Map(Object.entries(definitions()).map(([name, schema]) => [textOf(schema), name])));

const SCHEMAS = '#/components/schemas/';

const toComponent = (name: string): JsonObject => ({ $ref: `${SCHEMAS}${name}` });

/** The name of the component that a reference leads to; undefined where it is no schema. */
const componentOf = (reference: string): string | undefined =>
  reference.startsWith(SCHEMAS) ? reference.slice(SCHEMAS.length) : undefined;

/** Replaces every subtree that equals a named component, except the component's own definition, by a reference. */
const withReferences = (value: Json, isDefinition = false): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map((element) => withReferences(element));
  if (!isJsonObject(value)) return value;
  const name = isDefinition ? undefined : named().get(textOf(value));
  if (name !== undefined) return toComponent(name);
  return mapObject(value, (member) => withReferences(member));
};

const allSchemas = onFirstUse((): JsonObject => ({
  ...mapObject(definitions(), (schema, name) => described(withTemplateParts(withReferences(schema, true), name), name)),
  ...templateDefinitions(toComponent),
}));
