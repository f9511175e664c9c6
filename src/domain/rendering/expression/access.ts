/** Compiles names and members: what an expression reads. */
import type { Expression, Identifier, MemberExpression, PrivateIdentifier, Super } from 'acorn';
import { nearestName } from '../scope/distance.js';
import { isConstantName } from '../scope/path.js';
import { notAllowed, sourceOf, type Context } from './context.js';
import { textOf } from './convert.js';
import { ExpressionError } from './errors.js';
import { isFunctionName, namespaceConstants, valueNames } from './functions.js';
import { ownMember, placeAt, refuseBarred } from './members.js';
import { charge, isList, kindOf, SKIPPED, type Step, type Value } from './values.js';

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

/** Of more names none is looked for, so that a template of very many expressions takes no longer to check. */
const COMPARED_MAX = 150;

const unknownName = (name: string, at: number, { names, locals }: Context): ExpressionError => {
  if (isFunctionName(name))
    return new ExpressionError('NOT_ALLOWED', `uses "${name}" as a value; it is only there to be called, with what stands behind it`, at);
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
  if (computed) return placeStep(object, context.step(expressionOf(property), context), { optional, missing, at: start });
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

/** Made where it is needed: the sentence for a member of something that is not there. */
export const missingMember = (node: MemberExpression, context: Context): ((value: Value) => ExpressionError) => {
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
export const plainName = (property: Expression | PrivateIdentifier): string => {
  if (property.type === 'Identifier') return property.name;
  return notAllowed('reads a private name', property);
};

const expressionOf = (property: Expression | PrivateIdentifier): Expression =>
  property.type === 'PrivateIdentifier' ? notAllowed('reads a private name', property) : property;

export const noSuper = (node: Expression | Super): Expression => (node.type === 'Super' ? notAllowed('uses "super"', node) : node);
