/** The operators of expressions, with JavaScript's meaning. */
import type { BinaryOperator, UnaryOperator } from 'acorn';
import { concat, isTruthy, numberOf, primitiveOf, textOf } from './convert.js';
import { ExpressionError } from './errors.js';
import { hasMember } from './members.js';
import { charge, costOfText, type Run, type Step, type Value } from './values.js';

type Binary = (run: Run, left: Value, right: Value, at: number) => Value;

/** The step of `left operator right`; `at` is its place in the source. Throws NOT_ALLOWED for instanceof. */
export const binaryStep = (operator: BinaryOperator, left: Step, right: Step, at: number): Step => {
  const apply = binaryOf(operator, at);
  return (run) => {
    const a = left(run);
    const b = right(run);
    charge(run, 1, at);
    return apply(run, a, b, at);
  };
};

const binaryOf = (operator: BinaryOperator, at: number): Binary => {
  if (operator !== 'instanceof') return binaries[operator];
  throw new ExpressionError('NOT_ALLOWED', 'uses "instanceof", which expressions do not have; "typeof" and Array.isArray(…) are there', at);
};

const arithmetic =
  (apply: (a: number, b: number) => number): Binary =>
  (run, left, right, at) =>
    typeof left === 'number' && typeof right === 'number' ? apply(left, right) : apply(numberOf(run, left, at), numberOf(run, right, at));

const add: Binary = (run, left, right, at) => {
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  const a = primitiveOf(run, left, 'default', at);
  const b = primitiveOf(run, right, 'default', at);
  if (typeof a === 'string' || typeof b === 'string') return concat(run, textOf(run, a, at), textOf(run, b, at), at);
  return numberOf(run, a, at) + numberOf(run, b, at);
};

const ordered =
  (texts: (a: string, b: string) => boolean, numbers: (a: number, b: number) => boolean): Binary =>
  (run, left, right, at) => {
    if (typeof left === 'number' && typeof right === 'number') return numbers(left, right);
    const a = primitiveOf(run, left, 'number', at);
    const b = primitiveOf(run, right, 'number', at);
    if (typeof a !== 'string' || typeof b !== 'string') return numbers(numberOf(run, a, at), numberOf(run, b, at));
    charge(run, costOfText(Math.min(a.length, b.length)), at);
    return texts(a, b);
  };

/** Texts of one length are compared letter by letter; of two lengths they are known to differ. */
const strictlyEqual: Binary = (run, left, right, at) => {
  if (typeof left === 'string' && typeof right === 'string' && left.length === right.length) charge(run, costOfText(left.length), at);
  return left === right;
};

/** The abstract equality of ECMA-262. */
const looselyEqual: Binary = (run, left, right, at) => {
  if (left === null || left === undefined || right === null || right === undefined) return (left ?? undefined) === (right ?? undefined);
  if (typeof left === 'object' && typeof right === 'object') return left === right;
  const a = primitiveOf(run, left, 'default', at);
  const b = primitiveOf(run, right, 'default', at);
  return typeof a === typeof b ? strictlyEqual(run, a, b, at) : numberOf(run, a, at) === numberOf(run, b, at);
};

const binaries: Readonly<Record<Exclude<BinaryOperator, 'instanceof'>, Binary>> = {
  '+': add,
  '-': arithmetic((a, b) => a - b),
  '*': arithmetic((a, b) => a * b),
  '/': arithmetic((a, b) => a / b),
  '%': arithmetic((a, b) => a % b),
  '**': arithmetic((a, b) => a ** b),
  '&': arithmetic((a, b) => a & b),
  '|': arithmetic((a, b) => a | b),
  '^': arithmetic((a, b) => a ^ b),
  '<<': arithmetic((a, b) => a << b),
  '>>': arithmetic((a, b) => a >> b),
  '>>>': arithmetic((a, b) => a >>> b),
  '===': strictlyEqual,
  '!==': (run, a, b, place) => !strictlyEqual(run, a, b, place),
  '==': looselyEqual,
  '!=': (run, a, b, place) => !looselyEqual(run, a, b, place),
  '<': ordered(
    (a, b) => a < b,
    (a, b) => a < b,
  ),
  '<=': ordered(
    (a, b) => a <= b,
    (a, b) => a <= b,
  ),
  '>': ordered(
    (a, b) => a > b,
    (a, b) => a > b,
  ),
  '>=': ordered(
    (a, b) => a >= b,
    (a, b) => a >= b,
  ),
  in: (run, a, b, place) => hasMember(run, textOf(run, a, place), b, place),
};

/** The step of `operator argument`. Throws NOT_ALLOWED for void and delete. */
export const unaryStep = (operator: UnaryOperator, argument: Step, at: number): Step => {
  const apply = unaryOf(operator, at);
  return (run) => {
    const value = argument(run);
    charge(run, 1, at);
    return apply(run, value, at);
  };
};

const unaryOf = (operator: UnaryOperator, at: number): ((run: Run, value: Value, at: number) => Value) => {
  switch (operator) {
    case '-':
      return (run, value, place) => -numberOf(run, value, place);
    case '+':
      return numberOf;
    case '~':
      return (run, value, place) => ~numberOf(run, value, place);
    case '!':
      return (_run, value) => !isTruthy(value);
    case 'typeof':
      return (_run, value) => typeof value;
    case 'void':
      throw new ExpressionError('NOT_ALLOWED', 'uses "void", which expressions do not have; "undefined" is there', at);
    case 'delete':
      throw new ExpressionError('NOT_ALLOWED', 'uses "delete": an expression cannot change values', at);
  }
};
