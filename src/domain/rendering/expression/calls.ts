/** Compiles calls: functions by their name, methods of values, methods of arrays that take a function, and `new Date(…)`. */
import type { CallExpression, Expression, MemberExpression, NewExpression, Super } from 'acorn';
import { missingMember, noSuper, plainName } from './access.js';
import { callbackOf } from './callbacks.js';
import { listStep, notAllowed, type Context } from './context.js';
import { ExpressionError } from './errors.js';
import { globalFunctions, namespaces, newDate, type StaticFunction } from './functions.js';
import { listMethods, walks } from './methods.js';
import { refuseBarred } from './members.js';
import { booleanMethods, dateMethods, numberMethods } from './plain-methods.js';
import { charge, isDate, isList, kindOf, SKIPPED, type Run, type Step, type Value } from './values.js';
import { textMethods, type Method } from './text-methods.js';

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
  if (callee.type !== 'MemberExpression' || callee.computed || callee.object.type !== 'Identifier' || callee.property.type !== 'Identifier')
    return undefined;
  return locals.has(callee.object.name) ? undefined : namespaces.get(callee.object.name)?.get(callee.property.name);
};

const staticStep = (apply: StaticFunction, { arguments: nodes, start }: CallExpression | NewExpression, context: Context): Step => {
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
    throw new ExpressionError('UNKNOWN_METHOD', `calls "${name}", which is not a method that expressions have${hintOf(name)}`, at);
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
