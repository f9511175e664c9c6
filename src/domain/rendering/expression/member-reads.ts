/**
 * Finds which members of declared values an expression reads: what is known of a value goes along through names, items
 * and methods of arrays.
 */
import type {
  ArrowFunctionExpression,
  ConditionalExpression,
  Expression,
  MemberExpression,
  Pattern,
  PrivateIdentifier,
  SpreadElement,
  Super,
} from 'acorn';
import { writeSteps } from '../scope/path.js';
import type { Shape } from '../scope/shapes.js';
import { walks } from './methods.js';
import { parseSource } from './compile.js';

/** A value that something is known of; `name` is what messages call it, `itemName` an item of it. */
export type Known = Readonly<{ name: string; shape: Shape; itemName?: string }>;

type Names = ReadonlyMap<string, Known | undefined>;
type Reading = Readonly<{ found: (owner: Known, member: string) => void; names: Names }>;

/**
 * In: an expression that compiles, and the known shapes of the variables. Calls `found` for each member that it reads
 * of a value of known shape, with that shape. Members of other values, such as objects that the expression itself
 * makes, are not reported.
 */
export const readMembers = (source: string, shapes: ReadonlyMap<string, Shape>, found: Reading['found']): void => {
  const names = new Map([...shapes].map(([name, shape]): [string, Known] => [name, { name, shape }]));
  knownOf(parseSource(source, { expressionCharsMax: source.length }), { found, names });
};

type Node = Expression | Super | PrivateIdentifier | SpreadElement | null;

/** Goes through a node and says what is known of its value. */
const knownOf = (node: Node, reading: Reading): Known | undefined => {
  if (node === null) return undefined;
  const all = (nodes: readonly Node[]): undefined => void nodes.forEach((one) => knownOf(one, reading));
  switch (node.type) {
    case 'Identifier':
      return reading.names.get(node.name);
    case 'ParenthesizedExpression':
    case 'ChainExpression':
      return knownOf(node.expression, reading);
    case 'MemberExpression':
      return member(node, reading);
    case 'CallExpression':
      return call(node.callee, node.arguments, reading);
    case 'ConditionalExpression':
      return choice(node, reading);
    case 'LogicalExpression': {
      const [left, right] = [knownOf(node.left, reading), knownOf(node.right, reading)];
      // `items ?? []` answers what is known of `items`; `a && b.c` answers only what is known of `b.c`.
      return node.operator === '&&' ? right : (left ?? right);
    }
    case 'ArrowFunctionExpression':
      return arrow(node, [], reading);
    case 'BinaryExpression':
      return all([node.left, node.right]);
    case 'UnaryExpression':
    case 'SpreadElement':
      return all([node.argument]);
    case 'ArrayExpression':
      return all(node.elements);
    case 'TemplateLiteral':
      return all(node.expressions);
    case 'NewExpression':
      return all(node.arguments);
    case 'ObjectExpression':
      return all(node.properties.map((property) => (property.type === 'Property' ? property.value : property)));
    // Literals have no known shape, and other kinds do not compile.
    case 'Literal':
    case 'PrivateIdentifier':
    case 'Super':
    case 'AssignmentExpression':
    case 'AwaitExpression':
    case 'ClassExpression':
    case 'FunctionExpression':
    case 'ImportExpression':
    case 'MetaProperty':
    case 'SequenceExpression':
    case 'TaggedTemplateExpression':
    case 'ThisExpression':
    case 'UpdateExpression':
    case 'YieldExpression':
      return undefined;
  }
};

const choice = ({ test, consequent, alternate }: ConditionalExpression, reading: Reading): Known | undefined => {
  knownOf(test, reading);
  const [one, other] = [knownOf(consequent, reading), knownOf(alternate, reading)];
  return one?.shape === other?.shape ? one : undefined;
};

const member = ({ object, property, computed }: MemberExpression, reading: Reading): Known | undefined => {
  const owner = knownOf(object, reading);
  if (!computed) return property.type === 'Identifier' ? memberOf(owner, property.name, reading) : undefined;
  knownOf(property, reading);
  if (property.type === 'Literal' && typeof property.value === 'string')
    return memberOf(owner, property.value, reading);
  return itemOf(owner);
};

const memberOf = (owner: Known | undefined, name: string, { found }: Reading): Known | undefined => {
  if (owner === undefined) return undefined;
  found(owner, name);
  const shape = owner.shape.members.get(name);
  return shape === undefined ? undefined : { name: owner.name + writeSteps([name]), shape };
};

const itemOf = (list: Known | undefined): Known | undefined =>
  list?.shape.item === undefined
    ? undefined
    : { name: list.itemName ?? `an item of ${list.name}`, shape: list.shape.item };

const call = (
  callee: Expression | Super,
  args: readonly (Expression | SpreadElement)[],
  reading: Reading,
): Known | undefined => {
  const method =
    callee.type === 'MemberExpression' && !callee.computed && callee.property.type === 'Identifier'
      ? callee.property.name
      : '';
  const owner = callee.type === 'MemberExpression' ? knownOf(callee.object, reading) : undefined;
  const list = owner?.shape.type === 'array' || owner?.shape.item !== undefined ? owner : undefined;
  const [first, ...rest] = args;
  const others = rest.map((argument) => knownOf(argument, reading));
  const item = itemOf(list);
  const given =
    method === 'reduce'
      ? [others[0], item, undefined, list]
      : method === 'sort' || method === 'toSorted'
        ? [item, item]
        : [item, undefined, list];
  const callback = walks.has(method) ? functionOf(first) : undefined;
  const answer = callback === undefined ? void knownOf(first ?? null, reading) : arrow(callback, given, reading);
  switch (method) {
    case 'filter':
    case 'sort':
    case 'toSorted':
    case 'slice':
    case 'reverse':
    case 'toReversed':
      return list;
    case 'find':
    case 'findLast':
    case 'at':
      return item;
    case 'map':
      return answer === undefined || list === undefined
        ? undefined
        : { name: list.name, shape: { ...list.shape, item: answer.shape }, itemName: answer.name };
    case 'flatMap':
      return answer?.shape.item === undefined ? undefined : answer;
    default:
      return undefined;
  }
};

const functionOf = (node: Expression | SpreadElement | undefined): ArrowFunctionExpression | undefined => {
  if (node?.type === 'ParenthesizedExpression') return functionOf(node.expression);
  return node?.type === 'ArrowFunctionExpression' ? node : undefined;
};

/** Known shape of the answer of a function that is called with these values. */
const arrow = (
  { params, body }: ArrowFunctionExpression,
  given: readonly (Known | undefined)[],
  reading: Reading,
): Known | undefined => {
  const names = new Map(reading.names);
  const inner: Reading = { ...reading, names };
  params.forEach((param, at) => bind(param, given[at], inner, names));
  return body.type === 'BlockStatement' ? undefined : knownOf(body, inner);
};

const bind = (
  pattern: Pattern,
  value: Known | undefined,
  reading: Reading,
  names: Map<string, Known | undefined>,
): void => {
  switch (pattern.type) {
    case 'Identifier':
      names.set(pattern.name, value);
      return;
    case 'AssignmentPattern':
      knownOf(pattern.right, reading);
      return bind(pattern.left, value, reading, names);
    case 'ObjectPattern':
      for (const property of pattern.properties)
        if (property.type === 'Property' && property.key.type === 'Identifier')
          bind(property.value, memberOf(value, property.key.name, reading), reading, names);
      return;
    case 'ArrayPattern':
      for (const element of pattern.elements) if (element !== null) bind(element, itemOf(value), reading, names);
      return;
    case 'RestElement':
    case 'MemberExpression':
      return;
  }
};
