/**
 * Sets up how Ajv checks requests, and turns its findings into sentences with the path of the field and what would be
 * right.
 */
import { AjvCompiler, type BuildCompilerFromPool } from '@fastify/ajv-compiler';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest, FastifySchemaValidationError, HookHandlerDoneFunction } from 'fastify';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import { isJsonObject, type Json } from '../../domain/core/json.js';
import { parseTime } from '../../domain/core/time.js';
import { NAME, nameFault, TEXT, editDistance } from '../../shared/text.js';
import { childPath } from './json/body.js';

type Finding = FastifySchemaValidationError & {
  readonly parentSchema?: Json;
  readonly schema?: Json;
  readonly data?: unknown;
};

type Formats = Readonly<{
  addFormat: (name: string, format: Readonly<{ validate: (text: string) => boolean }>) => unknown;
}>;

/** The most faults that one answer lists. */
const FAULTS_MAX = 50;
/** More than faults, because each branch of a union is among the findings. */
const FINDINGS_MAX = 4 * FAULTS_MAX;

/** Longer names get no guess at what was meant. */
const GUESSED_CHARS_MAX = 40;

const INTEGER = /^-?(?:0|[1-9]\d{0,14})$/;

/**
 * In: the code of a check that Ajv has made. Out: code that ends at `FINDINGS_MAX` findings. Findings of a branch of a
 * union count even if another branch fits: in requests, at most one branch of a union is an object and one an array,
 * and plain values have few findings.
 */
const endingEarly = (code: string): string => {
  const name = /\bfunction (validate\d+)\(/.exec(code)?.[1];
  if (name === undefined) return code;
  const end = `if(errors>=${FINDINGS_MAX}){${name}.errors=vErrors;return false;}`;
  return code.replaceAll(/\berrors(?:\+\+| = vErrors\.length);/g, (counted) => counted + end);
};

/**
 * In: the code of a check that Ajv has made. Out: code that counts the characters of a text only if its length leaves
 * open which side of the limit they are on: a character takes one or two units of UTF-16.
 */
const countingLess = (code: string): string =>
  code.replaceAll(
    /\bif\((func\d+)\((data\d*)\) ([<>]) (\d+)\)/g,
    (_, count: string, text: string, sign: string, limit: string) => {
      const isOpen = sign === '>' ? `> ${limit}` : `< ${2 * Number(limit)}`;
      return `if(${text}.length ${isOpen} && ${count}(${text}) ${sign} ${limit})`;
    },
  );

/**
 * All faults of a body are reported at once, up to `FINDINGS_MAX`, and the number of values that are looked at is
 * bounded before: the body parser refuses more than `jsonMembersMax`. `verbose` puts the schema beside each finding,
 * for the message.
 */
export const ajvOptions = {
  allErrors: true,
  verbose: true,
  removeAdditional: false,
  useDefaults: false,
  coerceTypes: false,
  code: { process: (code: string) => endingEarly(countingLess(code)) },
} as const;

/**
 * Makes each check of a request when the first request needs it: the checks of all routes together take a third of a
 * second and some 10 MB, and most services call few routes.
 */
export const validatorsOnDemand: BuildCompilerFromPool = (schemas, options) => {
  const compile = AjvCompiler()(schemas, options);
  type Check = ReturnType<typeof compile>;
  return (schema, meta) => {
    let check: Check | undefined;
    const validate = (data: unknown) => {
      check ??= compile(schema, meta);
      const outcome = check(data);
      validate.errors = check.errors;
      return outcome;
    };
    validate.errors = undefined as Check['errors'];
    return validate as Check;
  };
};

const typeNames: Readonly<Record<string, string>> = {
  object: 'a JSON object',
  array: 'an array',
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
};

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID, e.g. 0192f0c1-2f6e-7c3a-9d1b-5e8a7c6b4d21',
  email: 'an email address, e.g. jane@example.com',
  'date-time': 'an ISO 8601 time with a zone, e.g. 2030-01-31T09:30:00Z',
};

const places: Readonly<Record<string, string>> = {
  body: 'request body',
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};

/** Sentences that say how to correct a value, by the keyword of JSON Schema that was broken. */
const sentences: Readonly<Record<string, (finding: Finding) => string>> = {
  type: (finding) => `must be ${typeNames[textParam(finding, 'type')] ?? textParam(finding, 'type')}`,
  required: () => 'is required',
  additionalProperties: (finding) => unknownField(textParam(finding, 'additionalProperty'), finding.parentSchema),
  enum: (finding) => {
    const allowed = finding.params['allowedValues'];
    return `must be one of ${Array.isArray(allowed) ? allowed.map(String).join(', ') : 'the known values'}`;
  },
  const: (finding) => `must be ${JSON.stringify(finding.params['allowedValue'])}`,
  format: (finding) =>
    `must be ${formatNames[textParam(finding, 'format')] ?? `of the format ${textParam(finding, 'format')}`}`,
  pattern: (finding) => {
    const pattern = textParam(finding, 'pattern');
    if (pattern === NAME) return nameFault(String(finding.data)) ?? 'is no name';
    if (pattern === TEXT) return 'must not hold control characters other than tabs and line breaks';
    const described = isJsonObject(finding.parentSchema) ? finding.parentSchema['description'] : undefined;
    return `must match ${pattern}${typeof described === 'string' ? ` (${described.toLowerCase()})` : ''}`;
  },
  minLength: (finding) => `must have at least ${plural(textParam(finding, 'limit'), 'character')}`,
  maxLength: (finding) => `must have at most ${plural(textParam(finding, 'limit'), 'character')}`,
  minItems: (finding) => `must have at least ${plural(textParam(finding, 'limit'), 'element')}`,
  maxItems: (finding) => `must have at most ${plural(textParam(finding, 'limit'), 'element')}`,
  maxProperties: (finding) => `must have at most ${plural(textParam(finding, 'limit'), 'field')}`,
  minProperties: (finding) => `must have at least ${plural(textParam(finding, 'limit'), 'field')}`,
  minimum: (finding) => `must be at least ${textParam(finding, 'limit')}`,
  maximum: (finding) => `must be at most ${textParam(finding, 'limit')}`,
  uniqueItems: (finding) =>
    `must not hold the same element twice (elements ${textParam(finding, 'j')} and ${textParam(finding, 'i')})`,
  anyOf: (finding) => `must be ${alternatives(finding.schema)}`,
};

/** In: the findings of Ajv for one part of a request. Out: the error to answer. */
export const validationError = (findings: readonly FastifySchemaValidationError[], part: string): DomainError => {
  const place = places[part] ?? part;
  // A fault of a name has a finding of its own.
  const shown = withoutBranches(findings.slice(0, FINDINGS_MAX)).filter(({ keyword }) => keyword !== 'propertyNames');
  const errors = shown.slice(0, FAULTS_MAX).map((finding) => fieldErrorOf(finding, part));
  const first = errors[0];
  if (first?.field === '' && first.message === 'must be a JSON object') {
    const whole = { field: '', message: 'must be a JSON object, sent with the header Content-Type: application/json' };
    return new DomainError('VALIDATION_ERROR', `The ${place} ${whole.message}.`, { errors: [whole] });
  }
  const more =
    findings.length > 1
      ? ` All faults are listed in \`errors\`${shown.length > FAULTS_MAX || findings.length >= FINDINGS_MAX ? `, up to ${FAULTS_MAX}` : ''}.`
      : '';
  const subject = first === undefined || first.field === '' ? 'it' : `\`${first.field}\``;
  const fault = first?.message ?? 'is invalid';
  const end = fault.endsWith('?') ? '' : '.';
  return new DomainError('VALIDATION_ERROR', `The ${place} is invalid: ${subject} ${fault}${end}${more}`, { errors });
};

const fieldErrorOf = (finding: Finding, part: string): FieldError => {
  const path = pathOf(finding, part);
  const name = textParam(finding, finding.keyword === 'required' ? 'missingProperty' : 'additionalProperty');
  return {
    field: name === '' ? path : childPath(path, name),
    message: sentenceOfQuery(finding, part) ?? sentences[finding.keyword]?.(finding) ?? finding.message ?? 'is invalid',
  };
};

/** The list of a query is one parameter, whichever of its elements is wrong. */
const pathOf = ({ instancePath }: Finding, part: string): string => {
  const path = fieldOf(instancePath);
  return part === 'querystring' ? path.replace(/\[\d+\]$/, '') : path;
};

/** The sentence of a finding that differs for a query; undefined if the keyword says the same as for a body. */
const sentenceOfQuery = (finding: Finding, part: string): string | undefined => {
  if (isWithoutKey(finding, part)) {
    const name = fieldOf(finding.instancePath);
    return `must be written ${name}[key]=value, with a key between the brackets, such as ${name}[orderId]=4711`;
  }
  return isRepeated(finding, part) ? 'is given more than once; give it once' : undefined;
};

/** A parameter of a query that is given twice becomes an array, which few take. */
const isRepeated = ({ keyword, data, parentSchema }: Finding, part: string): boolean =>
  part === 'querystring' &&
  keyword !== 'additionalProperties' &&
  Array.isArray(data) &&
  !(isJsonObject(parentSchema) && parentSchema['type'] === 'array');

/** An object in a query that is written without the name of its member. */
const isWithoutKey = ({ keyword, schemaPath, params }: Finding, part: string): boolean =>
  part === 'querystring' &&
  ((keyword === 'type' && params['type'] === 'object') || schemaPath.endsWith('/propertyNames/minLength'));

/**
 * Ajv reports every branch of a union. If a branch had the right type and failed inside, its faults are shown; if none
 * had, one sentence names the types.
 */
const withoutBranches = (findings: readonly Finding[]): readonly Finding[] => {
  const unions = findings.filter((finding) => finding.keyword === 'anyOf');
  if (unions.length === 0) return findings;
  const dropped = new Set<Finding>();
  for (const union of unions) {
    const branches = findings.filter(
      (finding) =>
        finding !== union &&
        finding.schemaPath.startsWith(`${union.schemaPath}/`) &&
        finding.instancePath.startsWith(union.instancePath),
    );
    const inside = branches.filter(
      (finding) => finding.keyword !== 'type' || finding.instancePath !== union.instancePath,
    );
    for (const branch of branches) if (inside.length === 0 || !inside.includes(branch)) dropped.add(branch);
    if (inside.length > 0) dropped.add(union);
  }
  return findings.filter((finding) => !dropped.has(finding));
};

/** In: a JSON pointer of Ajv. Out: the same as `to[2].email`. */
const fieldOf = (pointer: string): string => {
  let path = '';
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path = childPath(path, /^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) : key);
  }
  return path;
};

const textParam = (finding: Finding, name: string): string => {
  const value = finding.params[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

const unknownField = (name: string, parentSchema: Json | undefined): string => {
  const properties = isJsonObject(parentSchema) ? parentSchema['properties'] : undefined;
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  if (known.length === 0) return 'is not a known field';
  const near =
    name.length > GUESSED_CHARS_MAX
      ? undefined
      : known.find((candidate) => editDistance(name.toLowerCase(), candidate.toLowerCase()) <= 2);
  return near === undefined
    ? `is not a known field; known are ${known.join(', ')}`
    : `is not a known field; did you mean \`${near}\`?`;
};

const alternatives = (schema: Json | undefined): string => {
  const branches = Array.isArray(schema) ? (schema as readonly Json[]) : [];
  const names = branches.map((branch) => {
    const type = isJsonObject(branch) ? branch['type'] : undefined;
    return typeof type === 'string' ? (typeNames[type] ?? type) : 'one of the known shapes';
  });
  return [...new Set(names)].join(' or ');
};

const plural = (count: string, unit: string): string => `${count} ${unit}${count === '1' ? '' : 's'}`;

/** Times of bodies are read as everywhere else: what passes here is what `parseTime` reads. */
export const ownFormats = (ajv: Formats): void => {
  ajv.addFormat('date-time', { validate: (text) => parseTime(text) !== undefined });
};

/**
 * A hook that turns the texts of a query into the numbers, booleans, lists and objects that its schema asks for. Only
 * plain decimal digits become numbers; everything else stays a text, and the check says what would be right. A list is
 * given with commas, by repeating the parameter, or both.
 */
export const coerceQuery = (schema: TSchema) => {
  const typed: readonly (readonly [string, unknown])[] = Object.entries(
    (schema['properties'] ?? {}) as Readonly<Record<string, TSchema>>,
  ).map(([name, property]) => [name, property['type']] as const);
  const objects = typed.filter(([, type]) => type === 'object').map(([name]) => name);
  return (request: FastifyRequest, _reply: unknown, done: HookHandlerDoneFunction): void => {
    const query = request.query as Record<string, unknown>;
    for (const name of objects) gatherObject(query, name);
    for (const [name, type] of typed) {
      const value = query[name];
      if (type === 'array') query[name] = listOf(value);
      else if (typeof value === 'string' && type !== 'string') query[name] = coerced(value, type);
    }
    done();
  };
};

/** Collects the parameters `name[key]=value` into an object under that name. */
const gatherObject = (query: Record<string, unknown>, name: string): void => {
  const gathered: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  let count = 0;
  for (const [parameter, value] of Object.entries(query)) {
    if (!parameter.startsWith(`${name}[`) || !parameter.endsWith(']')) continue;
    gathered[parameter.slice(name.length + 1, -1)] = value;
    delete query[parameter];
    count += 1;
  }
  // A plain value under the name itself stays, and the check refuses it.
  if (count > 0 && query[name] === undefined) query[name] = gathered;
};

const listOf = (value: unknown): unknown => {
  if (typeof value === 'string') return value.split(',');
  return Array.isArray(value)
    ? value.flatMap((one: unknown) => (typeof one === 'string' ? one.split(',') : [one]))
    : value;
};

const coerced = (text: string, type: unknown): unknown => {
  if ((type === 'integer' || type === 'number') && INTEGER.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
};
