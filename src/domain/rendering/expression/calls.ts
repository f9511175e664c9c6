/**
 * Compiles what expressions read and call: names, members, functions, methods of values, `new Date(…)`, and the arrow
 * functions that methods of arrays take.
 */
import type {
  Expression,
  SpreadElement,
  ArrowFunctionExpression,
  Identifier,
  ObjectPattern,
  Pattern,
  MemberExpression,
  PrivateIdentifier,
  Super,
  CallExpression,
  NewExpression,
} from 'acorn';
import { shorten, nearestName, isConstantName } from '../scope/path.js';
import {
  ExpressionError,
  charge,
  checkItems,
  isList,
  type Run,
  type Step,
  type Value,
  ownMember,
  refuseBarred,
  kindOf,
  textOf,
  placeAt,
  SKIPPED,
  isDate,
} from './values.js';
import type { ExpressionLimits } from '../../core/limits.js';
import {
  callbackFunctions,
  globalFunctions,
  isFunctionName,
  namespaceConstants,
  valueNames,
  namespaces,
  newDate,
  type StaticFunction,
} from './functions.js';
import {
  type Callback,
  listMethods,
  walks,
  booleanMethods,
  dateMethods,
  numberMethods,
  textMethods,
  type Method,
} from './methods.js';

/** Context that the parts of the compiler share while one expression is compiled. */
export type Context = Readonly<{
  source: string;
  limits: ExpressionLimits;
  /** The variables and constants that may be read. */
  names: ReadonlySet<string>;
  /** Parameters of the arrow functions around, by the place of their value in `Run.locals`. */
  locals: ReadonlyMap<string, number>;
  /** Collected while compiling; `depth` is that of the current node. */
  found: { locals: number; depth: number; operations: number; readonly reads: Set<string> };
  /** Compiles one node and what is below it. */
  step: (node: Expression, context: Context) => Step;
}>;

/** Throws NOT_ALLOWED; `what` is what the expression does, in words. */
export const notAllowed = (what: string, { start }: Readonly<{ start: number }>): never => {
  throw new ExpressionError('NOT_ALLOWED', what, start);
};

/** `Number(x)`, `Math.round(x)`, `text.trim()`, `items.map(item => item.price)`. */
export const callStep = (node: CallExpression, context: Context): Step => {
  const { callee, start } = node;
  if (node.optional) return notAllowed('calls with "?.(": put the "?." before the method\'s name', node);
  const known = staticOf(callee, context);
  if (known !== undefined) return staticStep(known, node, context);
  if (callee.type === 'MemberExpression') return methodStep(node, callee, context);
  if (callee.type === 'Identifier') {
    throw new ExpressionError(
      'UNKNOWN_METHOD',
      `calls "${callee.name}", which is not a function that expressions have: ${[...globalFunctions.keys()].join(', ')}, and those of ${[...namespaces.keys()].join(', ')}`,
      start,
    );
  }
  return notAllowed('calls something that is not a method or a function by its name', node);
};

const staticOf = (callee: Expression | Super, { locals }: Context): StaticFunction | undefined => {
  if (callee.type === 'Identifier') return locals.has(callee.name) ? undefined : globalFunctions.get(callee.name);
  if (
    callee.type !== 'MemberExpression' ||
    callee.computed ||
    callee.object.type !== 'Identifier' ||
    callee.property.type !== 'Identifier'
  )
    return undefined;
  return locals.has(callee.object.name) ? undefined : namespaces.get(callee.object.name)?.get(callee.property.name);
};

const staticStep = (
  apply: StaticFunction,
  { arguments: nodes, start }: CallExpression | NewExpression,
  context: Context,
): Step => {
  const args = listStep(nodes, context);
  const cost = Math.max(1, nodes.length);
  return (run) => {
    charge(run, cost, start);
    return apply(args(run), run, start);
  };
};

/** Only dates are made with `new`. */
export const newStep = (node: NewExpression, context: Context): Step => {
  const { callee } = node;
  if (callee.type !== 'Identifier' || callee.name !== 'Date' || context.locals.has('Date'))
    return notAllowed('makes something with "new"; only "new Date(…)" is there', node);
  return staticStep(newDate, node, context);
};

const methodStep = (node: CallExpression, callee: MemberExpression, context: Context): Step => {
  if (callee.computed) return notAllowed('calls a method by a name in brackets: write it after a dot', callee);
  const name = plainName(callee.property);
  const at = callee.property.start;
  refuseBarred(name, at);
  const object = context.step(noSuper(callee.object), context);
  const call = walks.has(name) ? walkCall({ name, at }, node, context) : plainCall({ name, at }, node, context);
  const missing = missingMember(callee, context);
  return (run) => {
    const receiver = object(run);
    if (receiver === SKIPPED) return SKIPPED;
    if (receiver !== null && receiver !== undefined) return call(run, receiver);
    if (callee.optional) return SKIPPED;
    throw missing(receiver);
  };
};

/** Calls a method of a value that is there. */
type Call = (run: Run, receiver: Value) => Value;
type Called = Readonly<{ name: string; at: number }>;

const plainCall = ({ name, at }: Called, { arguments: nodes }: CallExpression, context: Context): Call => {
  const [text, list, number, boolean, date] = [
    textMethods.get(name),
    listMethods.get(name),
    numberMethods.get(name),
    booleanMethods.get(name),
    dateMethods.get(name),
  ];
  if ((text ?? list ?? number ?? boolean ?? date) === undefined) {
    throw new ExpressionError(
      'UNKNOWN_METHOD',
      `calls "${name}", which is not a method that expressions have${hintOf(name)}`,
      at,
    );
  }
  const args = listStep(nodes, context);
  const cost = Math.max(1, nodes.length);
  const apply = <Receiver extends Value>(method: Method<Receiver> | undefined, receiver: Receiver, run: Run): Value => {
    if (method === undefined) throw wrongReceiver(name, receiver, at);
    return method(receiver, args(run), run, at);
  };
  return (run, receiver) => {
    charge(run, cost, at);
    if (typeof receiver === 'string') return apply(text, receiver, run);
    if (typeof receiver === 'number') return apply(number, receiver, run);
    if (typeof receiver === 'boolean') return apply(boolean, receiver, run);
    if (isList(receiver)) return apply(list, receiver, run);
    if (isDate(receiver)) return apply(date, receiver, run);
    throw wrongReceiver(name, receiver, at);
  };
};

const walkCall = ({ name, at }: Called, node: CallExpression, context: Context): Call => {
  const [first, second, ...more] = node.arguments;
  if (first === undefined && listMethods.has(name)) return plainCall({ name, at }, node, context);
  const walk = walks.get(name);
  const callback = callbackOf(first, context);
  if (walk === undefined || callback === undefined) {
    throw new ExpressionError(
      'WRONG_ARGUMENT',
      `calls "${name}" without a function: write one with an arrow, as in items.${name}(${name.startsWith('reduce') ? '(sum, item) => sum + item.price, 0' : 'item => item.price'})`,
      at,
    );
  }
  if (more.length > 0 || second?.type === 'SpreadElement' || (second !== undefined && name !== 'reduce')) {
    throw new ExpressionError('WRONG_ARGUMENT', `calls "${name}" with too many arguments`, at);
  }
  const start = second === undefined ? undefined : context.step(second, context);
  return (run, receiver) => {
    charge(run, 1, at);
    if (!isList(receiver)) throw wrongReceiver(name, receiver, at);
    return walk(receiver, callback, { run, at, start });
  };
};

const wrongReceiver = (name: string, receiver: Value, at: number): ExpressionError =>
  new ExpressionError('WRONG_VALUE', `calls "${name}" on ${kindOf(receiver)}, which has no such method`, at);

const changing = /^(?:set[A-Z].*|push|pop|shift|unshift|splice|fill|copyWithin)$/;
const hints: Readonly<Record<string, string>> = {
  forEach: '; "map" and "reduce" answer something',
  match: '; there are no regular expressions',
  matchAll: '; there are no regular expressions',
  search: '; there are no regular expressions',
  toLocaleString: '; give the variable a "format" instead',
  toLocaleDateString: '; give the variable a "format" instead',
  toLocaleTimeString: '; give the variable a "format" instead',
  toDateString: '; give the variable a "format" instead',
};

const hintOf = (name: string): string =>
  changing.test(name) ? ': an expression cannot change values' : Object.hasOwn(hints, name) ? (hints[name] ?? '') : '';

/** A parameter, a variable or constant, or undefined, NaN, Infinity; a variable without a value is undefined. */
export const nameStep = (node: Identifier, context: Context): Step => {
  const { name, start } = node;
  const place = context.locals.get(name);
  if (place !== undefined) return (run) => run.locals[place];
  if (valueNames.has(name)) {
    const value = valueNames.get(name);
    return () => value;
  }
  if (!context.names.has(name)) throw unknownName(name, start, context);
  context.found.reads.add(name);
  if (isConstantName(name)) return ({ constants }) => (Object.hasOwn(constants, name) ? constants[name] : undefined);
  return ({ scope }) => (Object.hasOwn(scope, name) ? scope[name] : undefined);
};

/**
 * With more names than this, no near one is suggested, so that a template of very many expressions takes no longer to
 * check.
 */
const COMPARED_MAX = 150;

const unknownName = (name: string, at: number, { names, locals }: Context): ExpressionError => {
  if (isFunctionName(name))
    return new ExpressionError(
      'NOT_ALLOWED',
      `uses "${name}" as a value; it is only there to be called, with what stands behind it`,
      at,
    );
  const dashed = [...names].find((known) => known.startsWith(`${name}-`));
  const near = names.size > COMPARED_MAX ? undefined : nearestName(name, [...locals.keys(), ...names]);
  const hint =
    dashed !== undefined
      ? `; a variable with "-" in its name, such as "${dashed}", cannot be read by an expression`
      : near === undefined
        ? ''
        : `; did you mean "${near}"?`;
  return new ExpressionError(
    'UNKNOWN_NAME',
    `uses "${name}", which is neither a variable of the template nor a function that expressions have${hint}`,
    at,
  );
};

/** `a.b`, `a[b]`, `a?.b`; and constants such as Math.PI. */
export const memberStep = (node: MemberExpression, context: Context): Step => {
  const constant = constantOf(node, context);
  if (constant !== undefined) return () => constant;
  const { property, computed, optional, start } = node;
  const object = context.step(noSuper(node.object), context);
  const missing = missingMember(node, context);
  if (computed)
    return placeStep(object, context.step(expressionOf(property), context), { optional, missing, at: start });
  const name = plainName(property);
  refuseBarred(name, property.start);
  return (run) => {
    const value = object(run);
    if (value === SKIPPED) return SKIPPED;
    if (value !== null && value !== undefined) return ownMember(value, name);
    if (optional) return SKIPPED;
    throw missing(value);
  };
};

type Access = Readonly<{ optional: boolean; missing: (value: Value) => ExpressionError; at: number }>;

const placeStep =
  (object: Step, key: Step, { optional, missing, at }: Access): Step =>
  (run) => {
    const value = object(run);
    if (value === SKIPPED) return SKIPPED;
    if (value === null || value === undefined) {
      if (optional) return SKIPPED;
      throw missing(value);
    }
    const place = key(run);
    charge(run, 1, at);
    if (typeof place === 'number' && isList(value)) return placeAt(value, place);
    const name = textOf(run, place, at);
    refuseBarred(name, at);
    return ownMember(value, name);
  };

/** Makes the sentence for a member of something that is missing, only when it is needed. */
const missingMember = (node: MemberExpression, context: Context): ((value: Value) => ExpressionError) => {
  const object = sourceOf(context, node.object);
  const rest = sourceOf(context, { start: node.object.end, end: node.end }).trim();
  const optional = node.computed ? `${object}?.${rest}` : `${object}?${rest}`;
  return (value) =>
    new ExpressionError(
      'WRONG_VALUE',
      `reads "${rest}" of "${object}", which is ${kindOf(value)}; write "${optional}" if it may be missing`,
      node.start,
    );
};

/** `a?.b` ends as undefined where `a` is missing. */
export const chainStep =
  (chain: Step): Step =>
  (run) => {
    const value = chain(run);
    return value === SKIPPED ? undefined : value;
  };

const constantOf = ({ object, property, computed }: MemberExpression, { locals }: Context): number | undefined =>
  object.type === 'Identifier' && !computed && property.type === 'Identifier' && !locals.has(object.name)
    ? namespaceConstants.get(object.name)?.get(property.name)
    : undefined;

/** A name after a dot. Private names cannot be read without a class around, so the parser has refused them. */
const plainName = (property: Expression | PrivateIdentifier): string => {
  if (property.type === 'Identifier') return property.name;
  return notAllowed('reads a private name', property);
};

const expressionOf = (property: Expression | PrivateIdentifier): Expression =>
  property.type === 'PrivateIdentifier' ? notAllowed('reads a private name', property) : property;

const noSuper = (node: Expression | Super): Expression =>
  node.type === 'Super' ? notAllowed('uses "super"', node) : node;

/** The source of a node, cut for a message. */
const sourceOf = ({ source }: Context, { start, end }: Readonly<{ start: number; end: number }>): string =>
  shorten(source.slice(start, end), 40);

/**
 * The elements of an array or the arguments of a call. A spread array is charged by its items; the rest is charged by
 * whoever uses the list, for its length is known before.
 */
export const listStep = (nodes: readonly (Expression | SpreadElement)[], context: Context): ((run: Run) => Value[]) => {
  const parts = nodes.map((node) => {
    const spread = node.type === 'SpreadElement';
    return { spread, at: node.start, step: context.step(spread ? node.argument : node, context) };
  });
  const [first, second] = parts;
  if (first === undefined) return () => [];
  if (parts.every(({ spread }) => !spread)) {
    if (second === undefined) return (run) => [first.step(run)];
    return (run) => parts.map(({ step }) => step(run));
  }
  return (run) => {
    const values: Value[] = [];
    for (const { spread, at, step } of parts) {
      const value = step(run);
      if (!spread) {
        values.push(value);
        continue;
      }
      if (!isList(value)) throw new ExpressionError('WRONG_VALUE', 'spreads something that is not an array', at);
      charge(run, value.length, at);
      checkItems(run, values.length + value.length, at);
      values.push(...value);
    }
    return values;
  };
};

/** Puts a value, or what it is taken apart into, where the body finds it. */
type Bind = (run: Run, value: Value) => void;

/** In: the first argument of a method such as map. Out: its function; undefined where the argument is no function. */
const callbackOf = (node: Expression | SpreadElement | undefined, context: Context): Callback | undefined => {
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

/** Compiles an arrow function: parameters, simple destructuring, one expression. */
const arrowOf = (node: ArrowFunctionExpression, context: Context): Callback => {
  const { params, body, start } = node;
  if (node.async || node.generator) return notAllowed('holds an async function', node);
  if (body.type === 'BlockStatement')
    return notAllowed(
      'holds a function with statements: write one expression after "=>", and an object in parentheses',
      body,
    );
  if (params.length > PARAMETERS_MAX)
    return notAllowed(`holds a function with more than ${PARAMETERS_MAX} parameters`, node);
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
      for (const property of pattern.properties)
        if (property.type === 'Property') declare(property.value, locals, context);
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
  if (depth > context.limits.expressionDepthMax)
    throw new ExpressionError('TOO_DEEP', 'is nested too deep', pattern.start);
  switch (pattern.type) {
    case 'Identifier': {
      const place = context.locals.get(pattern.name) ?? 0;
      return (run, value) => void (run.locals[place] = value);
    }
    case 'ObjectPattern':
      return membersBind(pattern, context, depth);
    case 'ArrayPattern': {
      const { start } = pattern;
      const binds = pattern.elements.map((element) =>
        element === null ? undefined : bindOf(element, context, depth + 1),
      );
      return (run, value) => {
        if (!isList(value))
          throw new ExpressionError(
            'WRONG_VALUE',
            `takes an item apart as an array, and the item is ${kindOf(value)}`,
            start,
          );
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
    if (property.type === 'RestElement')
      return notAllowed('holds a function with "..." among its parameters', property);
    const { key, computed, value } = property;
    if (computed || key.type !== 'Identifier')
      return notAllowed('holds a function that takes an item apart by something else than plain names', property);
    refuseBarred(key.name, key.start);
    return { name: key.name, bind: bindOf(value, context, depth + 1) };
  });
  return (run, value) => {
    if (value === undefined || value === null)
      throw new ExpressionError(
        'WRONG_VALUE',
        `takes an item apart as an object, and the item is ${kindOf(value)}`,
        start,
      );
    charge(run, members.length, start);
    for (const { name, bind } of members) bind(run, ownMember(value, name));
  };
};
