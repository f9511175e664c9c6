/**
 * Checks the variable definitions of a template: names, types, schemas, formats, default values, fallbacks and filters.
 */
import { holdsControls, isLonger } from '../../../shared/text.js';
import { FALLBACK_CHARS_MAX, FILTERS_MAX, filterNames, isFilter, TRUNCATE_MAX } from '../fill/shown-value.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import type { Faults } from './faults.js';
import type { Limits } from '../../core/limits.js';
import { variableTypes, type VariableDefinition } from '../scope/definitions.js';
import { checkFormat, isPlainObject } from './format.js';
import { isKey, KEY_CHARS_MAX, shorten, isConstantName, variableField, writePath, writeSteps } from '../scope/path.js';
import { isVariableType } from '../scope/shapes.js';
import type { Json } from '../../core/json.js';
import { uuidV5 } from '../../core/ids.js';
import { orderCalculated } from '../expression/calculated.js';
import { compileVariableCheck } from '../fill/variables.js';
import { DomainError } from '../../core/errors.js';

export const MEMBERS_MAX = 500;

/** Fields of a node of `schema`. */
export const memberFields = [
  'type',
  'description',
  'required',
  'isCalculated',
  'expression',
  'format',
  'fallback',
  'filters',
  'properties',
  'itemType',
  'itemSchema',
] as const;

type Tools = Readonly<{ faults: Faults; limits: Limits }>;

export const DESCRIPTION_CHARS_MAX = 2_000;
export const VARIABLE_ID_CHARS_MAX = 100;

/** Fields of a definition. */
export const definitionFields = [
  'id',
  'name',
  'type',
  'required',
  'description',
  'defaultValue',
  'isCalculated',
  'expression',
  'schema',
  'itemType',
  'format',
  'fallback',
  'filters',
] as const;

/**
 * In: what stands under `variables`. Out: the definitions, an `id` derived from the name where none is given; what is
 * wrong is added to the faults under `variables[…]`.
 */
export const checkVariables = (input: unknown, tools: Tools): readonly VariableDefinition[] => {
  const { faults, limits } = tools;
  if (input === undefined) return [];
  if (!Array.isArray(input)) {
    const wrapped = isPlainObject(input) && Object.hasOwn(input, 'variables');
    faults.add(
      'variables',
      wrapped
        ? 'must be a plain array, not an object with a "variables" key: move the array up by one level'
        : 'must be an array of definitions, each with name and type',
    );
    return [];
  }
  if (input.length > limits.templateVariablesMax) {
    faults.add('variables', `has ${input.length} variables, the maximum is ${limits.templateVariablesMax}`);
    return [];
  }
  const names = new Map<string, number>();
  const ids = new Map<string, number>();
  input.forEach((definition, at) => {
    checkDefinition(definition, `variables[${at}]`, tools);
    if (!isPlainObject(definition)) return;
    checkUnique(definition['name'], names, at, `variables[${at}].name`, faults);
    checkUnique(definition['id'], ids, at, `variables[${at}].id`, faults);
  });
  // The variables that an expression may read, and their order, are known only once every name is valid.
  if (faults.count() > 0) return [];
  const definitions = (input as VariableDefinition[]).map((definition) => ({
    ...definition,
    id: definition.id ?? uuidV5('variable', definition.name),
  }));
  for (const { field, message } of orderCalculated(definitions, limits).faults)
    faults.add(`${field}.expression`, message);
  return definitions;
};

const checkUnique = (value: unknown, seen: Map<string, number>, at: number, field: string, faults: Faults): void => {
  if (typeof value !== 'string') return;
  const first = seen.get(value);
  if (first === undefined) seen.set(value, at);
  else faults.add(field, `"${shorten(value)}" is already taken by variables[${first}]`);
};

const checkDefinition = (definition: unknown, field: string, tools: Tools): void => {
  const { faults, limits } = tools;
  if (!isPlainObject(definition)) return faults.add(field, 'must be an object');
  const before = faults.count();
  refuseUnknown(definition, definitionFields, field, faults, inDefinitions);
  const { id, name, type, required, description, defaultValue } = definition;
  checkName(name, `${field}.name`, faults);
  if (!isVariableType(type)) faults.add(`${field}.type`, `must be one of ${variableTypes.join(', ')}${meantBy(type)}`);
  if (id !== undefined && (typeof id !== 'string' || id === '' || isLonger(id, VARIABLE_ID_CHARS_MAX)))
    faults.add(`${field}.id`, `must be text of 1 to ${VARIABLE_ID_CHARS_MAX} characters`);
  if (required !== undefined && typeof required !== 'boolean') faults.add(`${field}.required`, 'must be true or false');
  if (description !== undefined && (typeof description !== 'string' || isLonger(description, DESCRIPTION_CHARS_MAX))) {
    faults.add(`${field}.description`, `must be text of at most ${DESCRIPTION_CHARS_MAX} characters`);
  }
  checkCalculated(definition, field, faults);
  if (definition['format'] !== undefined) checkFormat(definition['format'], `${field}.format`, faults, limits);
  checkDisplayFormat(definition, field, faults);
  checkItemType(definition['itemType'], `${field}.itemType`, faults);
  checkParts({ itemType: definition['itemType'] }, type, field, faults);
  if (definition['schema'] !== undefined)
    checkSchema(definition['schema'], `${field}.schema`, { depth: 1, type, itemType: definition['itemType'] }, tools);
  if (
    isPlainObject(definition['schema']) &&
    definition['schema']['type'] !== undefined &&
    definition['schema']['type'] !== type
  ) {
    faults.add(`${field}.schema.type`, `must be the variable's own type, ${String(type)}`);
  }
  if (faults.count() === before)
    checkDefault(definition as VariableDefinition, defaultValue, `${field}.defaultValue`, tools);
};

const checkCalculated = (
  { isCalculated, expression }: Readonly<Record<string, unknown>>,
  field: string,
  faults: Faults,
): void => {
  if (isCalculated !== undefined && typeof isCalculated !== 'boolean')
    return faults.add(`${field}.isCalculated`, 'must be true or false');
  if (isCalculated !== true) {
    if (expression !== undefined)
      faults.add(
        `${field}.expression`,
        'belongs to a calculated variable: set isCalculated to true, or leave the expression out',
      );
  } else if (typeof expression !== 'string' || expression.trim() === '') {
    faults.add(
      `${field}.expression`,
      expression === undefined || typeof expression === 'string'
        ? 'is required where isCalculated is true'
        : 'must be text',
    );
  }
};

const checkName = (name: unknown, field: string, faults: Faults): void => {
  if (typeof name !== 'string' || name === '') return faults.add(field, 'is required');
  if (isConstantName(name)) return faults.add(field, `"${shorten(name)}" has the form of a global constant (__NAME__)`);
  if (!isKey(name))
    faults.add(field, `"${shorten(name)}" is not a name: 1 to ${KEY_CHARS_MAX} characters, not all of them blanks`);
};

/** A default that would be refused in a call is refused here. */
const checkDefault = (
  definition: VariableDefinition,
  value: unknown,
  field: string,
  { faults, limits }: Tools,
): void => {
  if (value === undefined || value === null) return;
  if (!isJson(value, limits.jsonDepthMax))
    return faults.add(field, `must be JSON, nested at most ${limits.jsonDepthMax} deep`);
  try {
    compileVariableCheck([{ ...definition, required: true }])({ [definition.name]: value });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    for (const { field: at, message } of error.details.errors ?? []) {
      faults.add(field + at.slice(variableField(writePath([definition.name])).length), message);
    }
  }
};

/** Walks without recursion, for the caller chooses the depth. */
const isJson = (root: unknown, depthMax: number): root is Json => {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (value === null || typeof value === 'string' || typeof value === 'boolean') continue;
    if (typeof value === 'number' ? !Number.isFinite(value) : typeof value !== 'object') return false;
    if (depth >= depthMax) return false;
    if (typeof value === 'object')
      for (const member of Object.values(value)) open.push({ value: member, depth: depth + 1 });
  }
  return true;
};

/** Names of JSON Schema, or of another level, and what is meant by them here. */
const inDefinitions: Readonly<Record<string, string>> = {
  properties: 'write it into schema',
  itemSchema: 'write it into schema',
  items: 'what items consist of is schema.itemSchema',
  default: 'use defaultValue',
  label: 'use description',
};
/** Types of other languages. */
const otherTypes: Readonly<Record<string, string>> = {
  currency: 'an amount is a number with a format of style currency',
  percent: 'a share is a number with a format of style percent',
  integer: 'use number',
  decimal: 'use number',
  float: 'use number',
  text: 'use string',
  bool: 'use boolean',
  datetime: 'use date',
  list: 'use array',
};

const meantBy = (type: unknown): string =>
  typeof type === 'string' && Object.hasOwn(otherTypes, type) ? `: ${otherTypes[type]}` : '';

/** The type of the items of an array. */
const checkItemType = (itemType: unknown, field: string, faults: Faults): void => {
  if (itemType !== undefined && !isVariableType(itemType))
    faults.add(field, `must be one of ${variableTypes.join(', ')}`);
};

/**
 * Type and depth that a node has from outside; `inItem`: below the items of an array; `isMember`: it has a name there.
 */
type Outside = Readonly<{ depth: number; type?: unknown; itemType?: unknown; inItem?: boolean; isMember?: boolean }>;

/**
 * Checks a node of `schema`, which says what a value consists of: adds what is wrong to the faults, each with its path.
 */
const checkSchema = (
  node: unknown,
  field: string,
  { depth, inItem = false, isMember = false, ...outer }: Outside,
  tools: Tools,
): void => {
  const { faults, limits } = tools;
  if (!isPlainObject(node)) return faults.add(field, 'must be an object');
  if (depth > limits.nestingDepthMax)
    return faults.add(field, `is nested ${depth} deep, the maximum is ${limits.nestingDepthMax}`);
  refuseUnknown(node, memberFields, field, faults, inSchemas);
  const { type, required, properties, itemType, itemSchema, format, description } = node;
  if (type !== undefined && !isVariableType(type))
    faults.add(`${field}.type`, `must be one of ${variableTypes.join(', ')}`);
  if (required !== undefined && typeof required !== 'boolean') faults.add(`${field}.required`, 'must be true or false');
  if (description !== undefined && typeof description !== 'string') faults.add(`${field}.description`, 'must be text');
  if (inItem && isMember) checkCalculated(node, field, faults);
  else if (node['isCalculated'] !== undefined || node['expression'] !== undefined)
    faults.add(
      `${field}.${node['expression'] === undefined ? 'isCalculated' : 'expression'}`,
      'belongs to a member of items, in the properties of an itemSchema; any other value is calculated as a variable of its own',
    );
  if (format !== undefined) checkFormat(format, `${field}.format`, faults, limits);
  checkDisplayFormat(node, field, faults);
  checkItemType(itemType, `${field}.itemType`, faults);
  checkParts(node, type ?? outer.type, field, faults);
  if (itemSchema !== undefined)
    checkSchema(
      itemSchema,
      `${field}.itemSchema`,
      { depth: depth + 1, type: itemType ?? outer.itemType, inItem: true },
      tools,
    );
  if (properties === undefined) return;
  if (!isPlainObject(properties)) return faults.add(`${field}.properties`, 'must be an object of name to {type}');
  const members = Object.entries(properties);
  if (members.length > MEMBERS_MAX)
    return faults.add(`${field}.properties`, `has ${members.length} members, the maximum is ${MEMBERS_MAX}`);
  for (const [name, member] of members) {
    if (!isKey(name)) faults.add(`${field}.properties`, `"${shorten(name)}" is not a name`);
    else
      checkSchema(
        member,
        `${field}.properties${writeSteps([name])}`,
        { depth: depth + 1, inItem, isMember: true },
        tools,
      );
  }
};

/** Members belong to objects, items to arrays. */
const checkParts = (node: Readonly<Record<string, unknown>>, type: unknown, field: string, faults: Faults): void => {
  if (!isVariableType(type)) return;
  if (node['properties'] !== undefined && type !== 'object')
    faults.add(
      `${field}.properties`,
      type === 'array'
        ? 'belongs to an object: the members of the items of an array are itemSchema.properties'
        : `belongs to an object, and the type is ${type}`,
    );
  for (const name of ['itemType', 'itemSchema'])
    if (node[name] !== undefined && type !== 'array')
      faults.add(`${field}.${name}`, `belongs to an array, and the type is ${type}`);
};

/** Names of JSON Schema, or of another level, and what is meant by them here. */
const inSchemas: Readonly<Record<string, string>> = {
  items: 'what items consist of is itemSchema',
  default: 'only a variable itself has a defaultValue',
  defaultValue: 'only a variable itself has one',
};

/** `elsewhere` says of names that are not known here what is meant. */
const refuseUnknown = (
  node: Readonly<Record<string, unknown>>,
  names: readonly string[],
  field: string,
  faults: Faults,
  elsewhere: Readonly<Record<string, string>>,
): void => {
  for (const name of Object.keys(node)) {
    if (names.includes(name)) continue;
    const hint = Object.hasOwn(elsewhere, name) ? ` here: ${elsewhere[name]}` : '';
    faults.add(`${field}.${shorten(name)}`, `is not known${hint}; known are ${names.join(', ')}`);
  }
};

/**
 * Checks the `fallback` and the `filters` of a variable or a member: adds what is wrong to the faults, each with its
 * path.
 */
export const checkDisplayFormat = (
  { fallback, filters }: Readonly<Record<string, unknown>>,
  field: string,
  faults: Faults,
): void => {
  if (fallback !== undefined) {
    const fault = fallbackFault(fallback);
    if (fault !== undefined) faults.add(`${field}.fallback`, fault);
  }
  if (filters === undefined) return;
  if (!Array.isArray(filters)) return faults.add(`${field}.filters`, `must be an array of ${EXPECTED}`);
  if (filters.length > FILTERS_MAX)
    return faults.add(`${field}.filters`, `has ${filters.length} filters, the maximum is ${FILTERS_MAX}`);
  filters.forEach((filter: unknown, at) => {
    if (!isFilter(filter)) faults.add(`${field}.filters[${at}]`, `must be one of ${EXPECTED}`);
  });
};

const EXPECTED = `${filterNames.map((name) => `"${name}"`).join(', ')} or {"truncate": N} with N from 1 to ${TRUNCATE_MAX}`;

const fallbackFault = (fallback: unknown): string | undefined => {
  if (typeof fallback !== 'string' || fallback.trim() === '' || isLonger(fallback, FALLBACK_CHARS_MAX))
    return `must be text of 1 to ${FALLBACK_CHARS_MAX} characters, not all of them blanks`;
  if (hasPlaceholder(fallback)) return 'cannot hold {{…}}: it is the text for a value that is not there';
  return holdsControls(fallback) ? 'must be a single line' : undefined;
};
