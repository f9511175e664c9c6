/** Checks the variable definitions of a template: names, types, schemas, formats, default values. */
import { isLonger } from '../../../shared/text.js';
import type { Json } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { uuidV5 } from '../../core/ids.js';
import { variableTypes, type VariableDefinition } from '../scope/definitions.js';
import { checkFormat, isPlainObject } from './format.js';
import { checkItemType, checkParts, checkSchema, refuseUnknown } from './members.js';
import { checkShowing } from './showing.js';
import { orderCalculated } from '../expression/calculated.js';
import type { Faults } from './faults.js';
import { isConstantName, isName, shorten } from '../scope/path.js';
import { isVariableType } from '../scope/shapes.js';
import { compileVariableCheck } from '../fill/variables.js';
import { DomainError } from '../../core/errors.js';

export const DESCRIPTION_CHARS_MAX = 2_000;
export const VARIABLE_ID_CHARS_MAX = 100;
/** What a definition may have. */
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
type Tools = Readonly<{ faults: Faults; limits: Limits }>;

/**
 * In: what stands under `variables`. Out: the definitions, an `id` derived from the name where none is given; what is wrong
 * is added to the faults under `variables[…]`.
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
  // What an expression may read, and in which order, is known only once every name is.
  if (faults.count() > 0) return [];
  const definitions = (input as VariableDefinition[]).map((definition) => ({
    ...definition,
    id: definition.id ?? uuidV5('variable', definition.name),
  }));
  for (const { index, message } of orderCalculated(definitions, limits).faults) faults.add(`variables[${index}].expression`, message);
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
  checkShowing(definition, field, faults);
  checkItemType(definition['itemType'], `${field}.itemType`, faults);
  checkParts({ itemType: definition['itemType'] }, type, field, faults);
  if (definition['schema'] !== undefined)
    checkSchema(definition['schema'], `${field}.schema`, { depth: 1, type, itemType: definition['itemType'] }, tools);
  if (isPlainObject(definition['schema']) && definition['schema']['type'] !== undefined && definition['schema']['type'] !== type) {
    faults.add(`${field}.schema.type`, `must be the variable's own type, ${String(type)}`);
  }
  if (faults.count() === before) checkDefault(definition as VariableDefinition, defaultValue, `${field}.defaultValue`, tools);
};

const checkCalculated = ({ isCalculated, expression }: Readonly<Record<string, unknown>>, field: string, faults: Faults): void => {
  if (isCalculated !== undefined && typeof isCalculated !== 'boolean') return faults.add(`${field}.isCalculated`, 'must be true or false');
  if (isCalculated !== true) {
    if (expression !== undefined)
      faults.add(`${field}.expression`, 'belongs to a calculated variable: set isCalculated to true, or leave the expression out');
  } else if (typeof expression !== 'string' || expression.trim() === '') {
    faults.add(
      `${field}.expression`,
      expression === undefined || typeof expression === 'string' ? 'is required where isCalculated is true' : 'must be text',
    );
  }
};

const checkName = (name: unknown, field: string, faults: Faults): void => {
  if (typeof name !== 'string' || name === '') return faults.add(field, 'is required');
  if (isConstantName(name)) return faults.add(field, `"${shorten(name)}" has the form of a global constant (__NAME__)`);
  if (!isName(name))
    faults.add(field, `"${shorten(name)}" is not a name: letters, digits, "_" and "-", not beginning with a digit, at most 100 characters`);
};

/** A default that would be refused in a call is refused here. */
const checkDefault = (definition: VariableDefinition, value: unknown, field: string, { faults, limits }: Tools): void => {
  if (value === undefined || value === null) return;
  if (!isJson(value, limits.jsonDepthMax)) return faults.add(field, `must be JSON, nested at most ${limits.jsonDepthMax} deep`);
  try {
    compileVariableCheck([{ ...definition, required: true }])({ [definition.name]: value });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    for (const { field: at, message } of error.details.errors ?? []) {
      faults.add(field + at.slice(`variables.${definition.name}`.length), message);
    }
  }
};

/** Walks without recursion, for the depth is the caller's. */
const isJson = (root: unknown, depthMax: number): root is Json => {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (value === null || typeof value === 'string' || typeof value === 'boolean') continue;
    if (typeof value === 'number' ? !Number.isFinite(value) : typeof value !== 'object') return false;
    if (depth >= depthMax) return false;
    if (typeof value === 'object') for (const member of Object.values(value)) open.push({ value: member, depth: depth + 1 });
  }
  return true;
};

/** Where members belong that JSON Schema, or another level, has at this place. */
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

const meantBy = (type: unknown): string => (typeof type === 'string' && Object.hasOwn(otherTypes, type) ? `: ${otherTypes[type]}` : '');
