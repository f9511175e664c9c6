/** Compiles an expression once, node by node, to functions that call each other: nothing of it is ever run as code. */
import type { Expression } from 'acorn';
import { spendOperations, type Budget } from '../budget.js';
import type { Json, JsonObject } from '../../core/json.js';
import { chainStep, memberStep, nameStep } from './access.js';
import { callStep, newStep } from './calls.js';
import { notAllowed, type Context } from './context.js';
import { isTruthy } from './convert.js';
import { ExpressionError } from './errors.js';
import type { ExpressionLimits } from '../../core/expression-limits.js';
import { arrayStep, literalStep, objectStep, templateStep } from './literals.js';
import { binaryStep, unaryStep } from './operators.js';
import { parseSource } from './parse.js';
import { toJson, type ResultSize } from './result.js';
import { charge, type Run, type Step } from './values.js';

/** What an evaluation takes from outside, beside the variables. */
export type Moment = Readonly<{
  /** The pinned instant (ISO time) that `new Date()` and `Date.now()` answer. */
  at: string;
  /** The values of the global constants (`__COMPANY_NAME__`). */
  constants?: Readonly<Record<string, Json>>;
  /** Less or more than the limit's `expressionRunOperationsMax`. */
  operationsMax?: number;
  /** Shared by several evaluations whose results are kept together. */
  resultSize?: ResultSize;
  /** Of the call: each evaluation takes the operations that it needed. */
  budget?: Budget;
}>;

export type CompiledExpression = Readonly<{
  /**
   * Reads own members of the scope only and changes nothing; a variable without a value is undefined. The same scope and
   * moment give the same answer on every machine. Throws ExpressionError, and WORK_LIMIT_EXCEEDED where the budget is spent.
   */
  evaluate: (scope: JsonObject, moment: Moment) => Json | undefined;
  /** The variables and constants that it reads. */
  reads: ReadonlySet<string>;
}>;

const NO_CONSTANTS: Readonly<Record<string, Json>> = {};

/**
 * In: the source, and the names of the variables and constants that it may read. Out: the expression, ready to be evaluated
 * any number of times. Throws ExpressionError where it is no expression, uses what expressions do not have, reads an unknown
 * name, is too long or nested too deep. The language is the expressions of ECMA-262 without statements, assignments, regular
 * expressions and functions other than arrows given to methods of arrays; differences in meaning: members are own members
 * only, dates are UTC, `sort` and `reverse` answer new arrays, a `$` in a replacement is a dollar sign.
 */
export const compileExpression = (
  source: string,
  { names, limits }: Readonly<{ names: ReadonlySet<string>; limits: ExpressionLimits }>,
): CompiledExpression => {
  const found = { locals: 0, depth: 0, operations: 0, reads: new Set<string>() };
  const step = compileNode(parseSource(source, limits), { source, limits, names, locals: new Map(), found, step: compileNode });
  const localsCount = found.locals;
  const { expressionRunOperationsMax, expressionResultsCharsMax, expressionResultDepthMax: depthMax } = limits;
  return {
    reads: found.reads,
    evaluate: (scope, { at, constants = NO_CONSTANTS, operationsMax = expressionRunOperationsMax, resultSize, budget }) => {
      const locals = localsCount === 0 ? [] : new Array<undefined>(localsCount).fill(undefined);
      const run: Run = { scope, constants, at, limits, operationsMax, operationsLeft: operationsMax, locals };
      const result = toJson(step(run), { size: resultSize ?? { charsLeft: expressionResultsCharsMax }, depthMax });
      if (budget !== undefined) spendOperations(budget, operationsMax - run.operationsLeft);
      return result;
    },
  };
};

const compileNode = (node: Expression, context: Context): Step => {
  const { limits, found } = context;
  if (found.depth >= limits.expressionDepthMax) {
    throw new ExpressionError('TOO_DEEP', `is nested deeper than ${limits.expressionDepthMax}, which is the maximum`, node.start);
  }
  if (node.type !== 'Literal' && node.type !== 'Identifier' && node.type !== 'ParenthesizedExpression') found.operations += 1;
  if (found.operations > limits.expressionOperationsMax) throw tooComplex(node.start, limits);
  found.depth += 1;
  const made = stepOf(node, context);
  found.depth -= 1;
  return made;
};

const tooComplex = (at: number, { expressionOperationsMax }: ExpressionLimits): ExpressionError =>
  new ExpressionError('TOO_MANY_OPERATIONS', `holds more than ${expressionOperationsMax} operations, which is the maximum`, at);

/** What an expression does that holds a node of a kind that is never compiled. */
const refusals = {
  ArrowFunctionExpression: 'holds a function outside a method of arrays such as map, filter or reduce',
  FunctionExpression: 'holds a function: write it with an arrow, as in items.map(item => item.price)',
  ClassExpression: 'holds a class',
  SequenceExpression: 'holds several expressions with "," between them',
  ThisExpression: 'uses "this"',
  TaggedTemplateExpression: 'calls a function with a template',
  MetaProperty: 'uses "new.target" or "import.meta"',
  ImportExpression: 'uses "import"',
  AwaitExpression: 'uses "await"',
  YieldExpression: 'uses "yield"',
} as const;

/** Every kind of node is named here: what is not compiled is refused, and a kind that is new to the parser does not type-check. */
const stepOf = (node: Expression, context: Context): Step => {
  const { start } = node;
  const step = (child: Expression): Step => compileNode(child, context);
  switch (node.type) {
    case 'Identifier':
      return nameStep(node, context);
    case 'Literal':
      return literalStep(node);
    case 'TemplateLiteral':
      return templateStep(node, context);
    case 'ArrayExpression':
      return arrayStep(node, context);
    case 'ObjectExpression':
      return objectStep(node, context);
    case 'ParenthesizedExpression':
      return step(node.expression);
    case 'ChainExpression':
      return chainStep(step(node.expression));
    case 'MemberExpression':
      return memberStep(node, context);
    case 'CallExpression':
      return callStep(node, context);
    case 'NewExpression':
      return newStep(node, context);
    case 'UnaryExpression':
      return unaryStep(node.operator, step(node.argument), start);
    case 'BinaryExpression': {
      const { left } = node;
      if (left.type === 'PrivateIdentifier') return notAllowed('reads a private name', left);
      return binaryStep(node.operator, step(left), step(node.right), start);
    }
    case 'LogicalExpression':
      return logicalStep(node.operator, step(node.left), step(node.right), start);
    case 'ConditionalExpression':
      return conditionalStep(step(node.test), step(node.consequent), step(node.alternate), start);
    case 'AssignmentExpression':
      return notAllowed(`assigns a value with "${node.operator}"${node.operator === '=' ? '; to compare, write "==="' : ''}`, node);
    case 'UpdateExpression':
      return notAllowed(`changes a value with "${node.operator}"`, node);
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
    case 'ClassExpression':
    case 'SequenceExpression':
    case 'ThisExpression':
    case 'TaggedTemplateExpression':
    case 'MetaProperty':
    case 'ImportExpression':
    case 'AwaitExpression':
    case 'YieldExpression':
      return notAllowed(refusals[node.type], node);
  }
};

const logicalStep = (operator: '||' | '&&' | '??', left: Step, right: Step, at: number): Step => {
  const isAnswer = {
    '||': isTruthy,
    '&&': (value: ReturnType<Step>) => !isTruthy(value),
    '??': (value: ReturnType<Step>) => value !== undefined && value !== null,
  }[operator];
  return (run) => {
    charge(run, 1, at);
    const value = left(run);
    return isAnswer(value) ? value : right(run);
  };
};

const conditionalStep =
  (test: Step, consequent: Step, alternate: Step, at: number): Step =>
  (run) => {
    charge(run, 1, at);
    return isTruthy(test(run)) ? consequent(run) : alternate(run);
  };
