/** Compiles literals, templates, arrays and objects. */
import type { ArrayExpression, Literal, ObjectExpression, Property, TemplateLiteral } from 'acorn';
import { concat, textOf } from './convert.js';
import { listStep, notAllowed, type Context } from './context.js';
import { ExpressionError } from './errors.js';
import { memberNames, refuseBarred } from './members.js';
import { charge, checkItems, isList, isObject, type Run, type Step, type Value } from './values.js';

export const literalStep = (node: Literal): Step => {
  const value = literalOf(node);
  return () => value;
};

const literalOf = (node: Literal): null | undefined | boolean | number | string => {
  const { value, regex, bigint } = node;
  if (regex !== undefined || value instanceof RegExp) return notAllowed('holds a regular expression, which expressions do not have', node);
  if (bigint !== undefined || typeof value === 'bigint')
    return notAllowed('holds a BigInt, which expressions do not have: leave out the "n"', node);
  return value;
};

/** Each value between the texts counts as one operation. */
export const templateStep = ({ quasis, expressions, start }: TemplateLiteral, context: Context): Step => {
  const texts = quasis.map(({ value }) => value.cooked ?? '');
  const steps = expressions.map((expression) => context.step(expression, context));
  return (run) => {
    charge(run, steps.length, start);
    let made = texts[0] ?? '';
    steps.forEach((step, place) => {
      made = concat(run, made, textOf(run, step(run), start), start);
      made = concat(run, made, texts[place + 1] ?? '', start);
    });
    return made;
  };
};

/** Each element counts as one operation, the array itself where it has none. */
export const arrayStep = (node: ArrayExpression, context: Context): Step => {
  const { elements, start } = node;
  const list = listStep(
    elements.map((element) => element ?? notAllowed('leaves a place of an array empty', node)),
    context,
  );
  const cost = Math.max(1, elements.length);
  return (run) => {
    charge(run, cost, start);
    const made = list(run);
    checkItems(run, made.length, start);
    return made;
  };
};

type Put = (run: Run, target: Map<string, Value>) => void;

/** Each member counts as one operation, the object itself where it has none. */
export const objectStep = ({ properties, start }: ObjectExpression, context: Context): Step => {
  const puts = properties.map((property): Put => {
    if (property.type === 'Property') return memberPut(property, context);
    const spread = context.step(property.argument, context);
    return (run, target) => putAll(spread(run), target, run, property.start);
  });
  const cost = Math.max(1, properties.length);
  return (run) => {
    charge(run, cost, start);
    const members = new Map<string, Value>();
    for (const put of puts) put(run, members);
    checkItems(run, members.size, start);
    // Own members, whatever their names are: nothing is assigned, so no setter of a prototype is met.
    return Object.fromEntries(members);
  };
};

const memberPut = (property: Property, context: Context): Put => {
  const { key, value, kind, method, computed, start } = property;
  if (kind !== 'init' || method) return notAllowed('holds an object with a method, a getter or a setter', property);
  const step = context.step(value, context);
  if (!computed) {
    const name = nameOf(property);
    return (run, target) => void target.set(name, step(run));
  }
  const keyStep = context.step(key, context);
  return (run, target) => {
    charge(run, 1, start);
    const name = textOf(run, keyStep(run), start);
    refuseBarred(name, start);
    target.set(name, step(run));
  };
};

const nameOf = ({ key }: Property): string => {
  if (key.type !== 'Identifier' && key.type !== 'Literal')
    throw new Error('a name of a member that is not computed is an identifier or a literal');
  const name = key.type === 'Identifier' ? key.name : String(literalOf(key));
  refuseBarred(name, key.start);
  return name;
};

/** A missing value adds nothing, an array its places, as in JavaScript. */
const putAll = (value: Value, target: Map<string, Value>, run: Run, at: number): void => {
  if (value === undefined || value === null) return;
  if (!isObject(value) && !isList(value))
    throw new ExpressionError('WRONG_VALUE', 'spreads into an object something that is not an object', at);
  const names = memberNames(value);
  charge(run, names.length, at);
  checkItems(run, target.size + names.length, at);
  for (const name of names) target.set(name, isList(value) ? value[Number(name)] : value[name]);
};
