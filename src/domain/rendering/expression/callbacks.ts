/** Compiles the arrow functions that methods of arrays take: parameters, simple destructuring, one expression. */
import type { ArrowFunctionExpression, Expression, Identifier, ObjectPattern, Pattern, SpreadElement } from 'acorn';
import { notAllowed, type Context } from './context.js';
import { ExpressionError } from './errors.js';
import { callbackFunctions, globalFunctions } from './functions.js';
import type { Callback } from './methods.js';
import { ownMember, refuseBarred } from './members.js';
import { charge, isList, kindOf, type Run, type Value } from './values.js';

/** Puts a value, or what it is taken apart into, where the body finds it. */
type Bind = (run: Run, value: Value) => void;

/** In: the first argument of a method such as map. Out: its function; undefined where the argument is no function. */
export const callbackOf = (node: Expression | SpreadElement | undefined, context: Context): Callback | undefined => {
  if (node?.type === 'ParenthesizedExpression') return callbackOf(node.expression, context);
  if (node?.type === 'ArrowFunctionExpression') return arrowOf(node, context);
  if (node?.type === 'FunctionExpression')
    return notAllowed('holds a function: write it with an arrow, as in items.map(item => item.price)', node);
  if (node?.type === 'Identifier' && !context.locals.has(node.name)) return namedOf(node);
  return undefined;
};

/** `filter(Boolean)`, `map(Number)`, `map(String)`: only the item reaches the function. */
const namedOf = ({ name, start }: Identifier): Callback | undefined => {
  const apply = callbackFunctions.has(name) ? globalFunctions.get(name) : undefined;
  if (apply === undefined) return undefined;
  return (run, item) => {
    charge(run, 1, start);
    return apply([item], run, start);
  };
};

const PARAMETERS_MAX = 4;

const arrowOf = (node: ArrowFunctionExpression, context: Context): Callback => {
  const { params, body, start } = node;
  if (node.async || node.generator) return notAllowed('holds an async function', node);
  if (body.type === 'BlockStatement')
    return notAllowed('holds a function with statements: write one expression after "=>", and an object in parentheses', body);
  if (params.length > PARAMETERS_MAX) return notAllowed(`holds a function with more than ${PARAMETERS_MAX} parameters`, node);
  const locals = new Map(context.locals);
  for (const param of params) declare(param, locals, context);
  const inner: Context = { ...context, locals };
  const [first, second, third, fourth] = params.map((param) => bindOf(param, inner, 0));
  const step = context.step(body, inner);
  return (run, a, b, c, d) => {
    charge(run, 1, start);
    first?.(run, a);
    second?.(run, b);
    third?.(run, c);
    fourth?.(run, d);
    return step(run);
  };
};

/** Gives each name of a pattern its place. */
const declare = (pattern: Pattern, locals: Map<string, number>, context: Context): void => {
  switch (pattern.type) {
    case 'Identifier':
      locals.set(pattern.name, context.found.locals);
      context.found.locals += 1;
      return;
    case 'ObjectPattern':
      for (const property of pattern.properties) if (property.type === 'Property') declare(property.value, locals, context);
      return;
    case 'ArrayPattern':
      for (const element of pattern.elements) if (element !== null) declare(element, locals, context);
      return;
    case 'AssignmentPattern':
      return declare(pattern.left, locals, context);
    case 'RestElement':
    case 'MemberExpression':
      return notAllowed('holds a function with "..." among its parameters', pattern);
  }
};

const bindOf = (pattern: Pattern, context: Context, depth: number): Bind => {
  if (depth > context.limits.expressionDepthMax) throw new ExpressionError('TOO_DEEP', 'is nested too deep', pattern.start);
  switch (pattern.type) {
    case 'Identifier': {
      const place = context.locals.get(pattern.name) ?? 0;
      return (run, value) => void (run.locals[place] = value);
    }
    case 'ObjectPattern':
      return membersBind(pattern, context, depth);
    case 'ArrayPattern': {
      const { start } = pattern;
      const binds = pattern.elements.map((element) => (element === null ? undefined : bindOf(element, context, depth + 1)));
      return (run, value) => {
        if (!isList(value))
          throw new ExpressionError('WRONG_VALUE', `takes an item apart as an array, and the item is ${kindOf(value)}`, start);
        charge(run, binds.length, start);
        binds.forEach((bind, place) => bind?.(run, value[place]));
      };
    }
    case 'AssignmentPattern': {
      const bind = bindOf(pattern.left, context, depth + 1);
      const fallback = context.step(pattern.right, context);
      return (run, value) => bind(run, value === undefined ? fallback(run) : value);
    }
    case 'RestElement':
    case 'MemberExpression':
      return notAllowed('holds a function with "..." among its parameters', pattern);
  }
};

const membersBind = ({ properties, start }: ObjectPattern, context: Context, depth: number): Bind => {
  const members = properties.map((property) => {
    if (property.type === 'RestElement') return notAllowed('holds a function with "..." among its parameters', property);
    const { key, computed, value } = property;
    if (computed || key.type !== 'Identifier')
      return notAllowed('holds a function that takes an item apart by something else than plain names', property);
    refuseBarred(key.name, key.start);
    return { name: key.name, bind: bindOf(value, context, depth + 1) };
  });
  return (run, value) => {
    if (value === undefined || value === null)
      throw new ExpressionError('WRONG_VALUE', `takes an item apart as an object, and the item is ${kindOf(value)}`, start);
    charge(run, members.length, start);
    for (const { name, bind } of members) bind(run, ownMember(value, name));
  };
};
