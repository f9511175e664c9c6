/**
 * Shape of a variable's value by its definition: type, members, items and format, as one tree that checks and renderers
 * share.
 */
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { variableTypes, type ValueFormat, type VariableDefinition, type VariableType } from './definitions.js';
import { isConstant, constantFormat } from './constants.js';
import { substitutionOf, type Substitution } from '../fill/shown-value.js';
import type { Path } from './path.js';

export type Shape = Readonly<{
  /** undefined: anything may stand there. */
  type: VariableType | undefined;
  required: boolean;
  format: ValueFormat | undefined;
  members: ReadonlyMap<string, Shape>;
  item: Shape | undefined;
  /** Text that is shown in place of the value. */
  substitution?: Substitution;
  /** The expression of a calculated member. */
  expression?: string;
}>;

/** Shape of an `indexVariable`: the place of an item in its list. */
export const indexShape: Shape = {
  type: 'number',
  required: true,
  format: undefined,
  members: new Map(),
  item: undefined,
};

export const isVariableType = (value: unknown): value is VariableType => variableTypes.some((type) => type === value);

const anything: Shape = { type: undefined, required: false, format: undefined, members: new Map(), item: undefined };

const known = new WeakMap<VariableDefinition, Shape>();

/**
 * In: a checked definition, which does not change. Out: its tree, from `schema` and `itemType`, as deep as the
 * definition goes, made once.
 */
export const shapeOf = (definition: VariableDefinition): Shape => {
  const shape = known.get(definition) ?? treeOf(definition);
  known.set(definition, shape);
  return shape;
};

const treeOf = (definition: VariableDefinition): Shape => ({
  ...describe({ ...definition.schema, type: definition.type }, definition.itemType),
  required: definition.required === true,
  format: definition.format,
  ...substitutionPart(definition),
});

const substitutionPart = (
  node: Readonly<{ fallback?: unknown; filters?: unknown }>,
): Readonly<{ substitution?: Substitution }> => {
  const substitution = substitutionOf(node);
  return substitution === undefined ? {} : { substitution };
};

/** The shape at the end of a path that begins with a variable; undefined where the definitions are silent. */
export const shapeAt = (root: Shape | undefined, path: Path): Shape | undefined => {
  let shape = root;
  for (let at = 1; at < path.length && shape !== undefined; at += 1) {
    const segment = path[at]!;
    shape = typeof segment === 'number' ? shape.item : shape.members.get(segment);
  }
  return shape;
};

/** The format that a path is written with, by its definition; constants have their own. */
export const formatAt = (root: Shape | undefined, path: Path): ValueFormat | undefined => {
  const [name] = path;
  if (path.length === 1 && typeof name === 'string' && isConstant(name)) return constantFormat(name);
  return shapeAt(root, path)?.format;
};

const describe = (node: JsonObject, itemType?: string): Shape => ({
  type: isVariableType(node['type']) ? node['type'] : undefined,
  required: node['required'] === true,
  format: isJsonObject(node['format']) ? (node['format'] as ValueFormat) : undefined,
  members: membersOf(node['properties']),
  item: itemOf(node, itemType),
  ...substitutionPart(node),
  ...(node['isCalculated'] === true && typeof node['expression'] === 'string' && { expression: node['expression'] }),
});

const membersOf = (properties: JsonObject[string] | undefined): ReadonlyMap<string, Shape> =>
  isJsonObject(properties)
    ? new Map(
        Object.entries(properties).map(([name, member]) => [name, isJsonObject(member) ? describe(member) : anything]),
      )
    : new Map();

const itemOf = (node: JsonObject, outerItemType: string | undefined): Shape | undefined => {
  const itemType = node['itemType'] ?? outerItemType;
  const itemSchema = node['itemSchema'];
  if (itemType === undefined && !isJsonObject(itemSchema)) return undefined;
  const described = describe(isJsonObject(itemSchema) ? itemSchema : {});
  const type = isVariableType(itemType)
    ? itemType
    : (described.type ?? (described.members.size > 0 ? 'object' : undefined));
  return { ...described, type };
};
