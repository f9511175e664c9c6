/** Checks what a value of a variable consists of, as its definition says: the members of an object, the items of an array. */
import type { Limits } from '../../core/limits.js';
import { variableTypes } from '../scope/definitions.js';
import { checkFormat, isPlainObject } from './format.js';
import { checkShowing } from './showing.js';
import type { Faults } from './faults.js';
import { isName, shorten } from '../scope/path.js';
import { isVariableType } from '../scope/shapes.js';

export const MEMBERS_MAX = 500;
/** What a node of its `schema` may have. */
export const memberFields = [
  'type',
  'description',
  'required',
  'format',
  'fallback',
  'filters',
  'properties',
  'itemType',
  'itemSchema',
] as const;

type Tools = Readonly<{ faults: Faults; limits: Limits }>;

/** The type of the items of an array. */
export const checkItemType = (itemType: unknown, field: string, faults: Faults): void => {
  if (itemType !== undefined && !isVariableType(itemType)) faults.add(field, `must be one of ${variableTypes.join(', ')}`);
};

/** What is known of a node before it is looked at. */
type Outside = Readonly<{ depth: number; type?: unknown; itemType?: unknown }>;

/** Adds what is wrong with a node of `schema` to the faults, each with its path. */
export const checkSchema = (node: unknown, field: string, { depth, ...outer }: Outside, tools: Tools): void => {
  const { faults, limits } = tools;
  if (!isPlainObject(node)) return faults.add(field, 'must be an object');
  if (depth > limits.nestingDepthMax) return faults.add(field, `is nested ${depth} deep, the maximum is ${limits.nestingDepthMax}`);
  refuseUnknown(node, memberFields, field, faults, inSchemas);
  const { type, required, properties, itemType, itemSchema, format, description } = node;
  if (type !== undefined && !isVariableType(type)) faults.add(`${field}.type`, `must be one of ${variableTypes.join(', ')}`);
  if (required !== undefined && typeof required !== 'boolean') faults.add(`${field}.required`, 'must be true or false');
  if (description !== undefined && typeof description !== 'string') faults.add(`${field}.description`, 'must be text');
  if (format !== undefined) checkFormat(format, `${field}.format`, faults, limits);
  checkShowing(node, field, faults);
  checkItemType(itemType, `${field}.itemType`, faults);
  checkParts(node, type ?? outer.type, field, faults);
  if (itemSchema !== undefined)
    checkSchema(itemSchema, `${field}.itemSchema`, { depth: depth + 1, type: itemType ?? outer.itemType }, tools);
  if (properties === undefined) return;
  if (!isPlainObject(properties)) return faults.add(`${field}.properties`, 'must be an object of name to {type}');
  const members = Object.entries(properties);
  if (members.length > MEMBERS_MAX)
    return faults.add(`${field}.properties`, `has ${members.length} members, the maximum is ${MEMBERS_MAX}`);
  for (const [name, member] of members) {
    if (!isName(name)) faults.add(`${field}.properties`, `"${shorten(name)}" is not a name`);
    else checkSchema(member, `${field}.properties.${name}`, { depth: depth + 1 }, tools);
  }
};

/** Members belong to objects, items to arrays. */
export const checkParts = (node: Readonly<Record<string, unknown>>, type: unknown, field: string, faults: Faults): void => {
  if (!isVariableType(type)) return;
  if (node['properties'] !== undefined && type !== 'object')
    faults.add(
      `${field}.properties`,
      type === 'array'
        ? 'belongs to an object: the members of the items of an array are itemSchema.properties'
        : `belongs to an object, and the type is ${type}`,
    );
  for (const name of ['itemType', 'itemSchema'])
    if (node[name] !== undefined && type !== 'array') faults.add(`${field}.${name}`, `belongs to an array, and the type is ${type}`);
};

/** Where members belong that JSON Schema, or another level, has at this place. */
const inSchemas: Readonly<Record<string, string>> = {
  items: 'what items consist of is itemSchema',
  default: 'only a variable itself has a defaultValue',
  defaultValue: 'only a variable itself has one',
};

/** `elsewhere` says of names that are not known here what is meant. */
export const refuseUnknown = (
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
