/** Compiles an expression once, node by node, to functions that call each other: nothing of it is ever run as code. */
import {
  type ArrayExpression,
  type Literal,
  type ObjectExpression,
  type Property,
  type TemplateLiteral,
  type BinaryOperator,
  type UnaryOperator,
  parseExpressionAt,
  tokenizer,
  tokTypes,
  type Expression,
  type Options,
} from 'acorn';
import {
  concat,
  partOf,
  textOf,
  ExpressionError,
  memberNames,
  refuseBarred,
  charge,
  checkItems,
  isList,
  isObject,
  type Run,
  type Step,
  type Value,
  isTruthy,
  numberOf,
  primitiveOf,
  hasMember,
  costOfText,
  toJson,
  type ResultSize,
} from './values.js';
import { listStep, notAllowed, type Context, chainStep, memberStep, nameStep, callStep, newStep } from './calls.js';
import type { ExpressionLimits } from '../../core/limits.js';
import {
  apartIn,
  holdsRightToLeft,
  isolatedValues,
  type ApartValues,
  type Direction,
  type TextAround,
} from '../direction.js';
import { withTextAround } from '../fill/templated-text.js';
import { decimal } from '../scope/conditions.js';
import { spendOperations, type Budget } from '../budget.js';
import type { Json, JsonObject } from '../../core/json.js';

/** Input of an evaluation beside the variables. */
export type Moment = Readonly<{
  /** The pinned instant (ISO time) that `new Date()` and `Date.now()` answer. */
  at: string;
  /** The language of the mail, by whose rules `localeCompare` orders; English where none is given. */
  locale?: string;
  /**
   * The time zone of the mail (IANA), by whose calendar and clock days, months and years are added; UTC where none is
   * given.
   */
  timeZone?: string;
  /** The values of the global constants (`__COMPANY_NAME__`). */
  constants?: Readonly<Record<string, Json>>;
  /** In place of the limit `expressionRunOperationsMax`. */
  operationsMax?: number;
  /** Shared by several evaluations whose results are kept together. */
  resultSize?: ResultSize;
  /** Budget of the call: each evaluation takes the operations that it needed. */
  budget?: Budget;
  /** A text that was made with something that is none (missing, null, no number, an object) is nothing. */
  isWholeText?: boolean;
  /**
   * The values within a sentence that a template string makes keep their own order (UAX #9), for texts that people
   * read.
   */
  setsApart?: boolean;
}>;

export type CompiledExpression = Readonly<{
  /**
   * Reads own members of the scope only and changes nothing; a variable without a value is undefined. Equal scope and
   * moment give an equal answer on every machine. Throws ExpressionError, and WORK_LIMIT_EXCEEDED where the budget is
   * spent.
   */
  evaluate: (scope: JsonObject, moment: Moment) => Json | undefined;
  /** The variables and constants that it reads. */
  reads: ReadonlySet<string>;
}>;

const NO_CONSTANTS: Readonly<Record<string, Json>> = {};

/**
 * In: the source, and the names of the variables and constants that it may read. Out: the expression, ready to be
 * evaluated any number of times. Throws ExpressionError where it is no expression, uses what expressions do not have,
 * reads an unknown name, is too long or nested too deep. The language is the expressions of ECMA-262 without
 * statements, assignments, regular expressions and functions other than arrows given to methods of arrays; differences
 * in meaning: members are own members only, dates are UTC, `sort` and `reverse` answer new arrays, a `$` in a
 * replacement is a dollar sign.
 */
export const compileExpression = (
  source: string,
  { names, limits }: Readonly<{ names: ReadonlySet<string>; limits: ExpressionLimits }>,
): CompiledExpression => {
  const found = { locals: 0, depth: 0, operations: 0, reads: new Set<string>() };
  const step = compileNode(parseSource(source, limits), {
    source,
    limits,
    names,
    locals: new Map(),
    found,
    step: compileNode,
  });
  const localsCount = found.locals;
  const { expressionRunOperationsMax, expressionResultsCharsMax, expressionResultDepthMax: depthMax } = limits;
  return {
    reads: found.reads,
    evaluate: (
      scope,
      {
        at,
        locale = 'en',
        timeZone = 'UTC',
        constants = NO_CONSTANTS,
        operationsMax = expressionRunOperationsMax,
        resultSize,
        budget,
        isWholeText = false,
        setsApart = false,
      },
    ) => {
      const locals = localsCount === 0 ? [] : new Array<undefined>(localsCount).fill(undefined);
      const run: Run = {
        scope,
        constants,
        at,
        locale,
        timeZone,
        limits,
        operationsMax,
        operationsLeft: operationsMax,
        locals,
        lacks: false,
        setsApart,
      };
      const result = toJson(step(run), { size: resultSize ?? { charsLeft: expressionResultsCharsMax }, depthMax });
      if (budget !== undefined) spendOperations(budget, operationsMax - run.operationsLeft);
      return isWholeText && run.lacks && typeof result === 'string' ? undefined : result;
    },
  };
};

const compileNode = (node: Expression, context: Context): Step => {
  const { limits, found } = context;
  if (found.depth >= limits.expressionDepthMax) {
    throw new ExpressionError(
      'TOO_DEEP',
      `is nested deeper than ${limits.expressionDepthMax}, which is the maximum`,
      node.start,
    );
  }
  if (node.type !== 'Literal' && node.type !== 'Identifier' && node.type !== 'ParenthesizedExpression')
    found.operations += 1;
  if (found.operations > limits.expressionOperationsMax) throw tooComplex(node.start, limits);
  found.depth += 1;
  const made = stepOf(node, context);
  found.depth -= 1;
  return made;
};

const tooComplex = (at: number, { expressionOperationsMax }: ExpressionLimits): ExpressionError =>
  new ExpressionError(
    'TOO_MANY_OPERATIONS',
    `holds more than ${expressionOperationsMax} operations, which is the maximum`,
    at,
  );

/** Forbidden act of an expression with a node of such a kind, for the message that refuses it. */
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

/**
 * Every kind of node is named here: what is not compiled is refused, and a kind that is new to the parser does not
 * type-check.
 */
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
      return notAllowed(
        `assigns a value with "${node.operator}"${node.operator === '=' ? '; to compare, write "==="' : ''}`,
        node,
      );
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

const literalStep = (node: Literal): Step => {
  const value = literalOf(node);
  return () => value;
};

const literalOf = (node: Literal): null | undefined | boolean | number | string => {
  const { value, regex, bigint } = node;
  if (regex !== undefined || value instanceof RegExp)
    return notAllowed('holds a regular expression, which expressions do not have', node);
  if (bigint !== undefined || typeof value === 'bigint')
    return notAllowed('holds a BigInt, which expressions do not have: leave out the "n"', node);
  return value;
};

/** Each value between the texts counts as one operation. */
const templateStep = ({ quasis, expressions, start }: TemplateLiteral, context: Context): Step => {
  const texts = quasis.map(({ value }) => value.cooked ?? '');
  const steps = expressions.map((expression) => context.step(expression, context));
  const sentence = sentenceOf(texts, steps);
  return (run) => {
    charge(run, steps.length, start);
    if (run.setsApart && sentence !== undefined) {
      const part = (piece: SentencePart): string => {
        if (typeof piece === 'string') return piece;
        const textOf = ({ step }: StepPart): string => partOf(run, step(run), start);
        if (!('values' in piece)) return textOf(piece);
        const values = piece.values.map((value) => ({ ...value, text: textOf(value) }));
        return isolatedValues({ ...piece, values }, sentence.direction);
      };
      return sentence.parts.reduce<string>((made, piece) => concat(run, made, part(piece), start), '');
    }
    let made = texts[0] ?? '';
    steps.forEach((step, place) => {
      made = concat(run, made, partOf(run, step(run), start), start);
      made = concat(run, made, texts[place + 1] ?? '', start);
    });
    return made;
  };
};

type StepPart = Readonly<{ step: Step; around?: TextAround }>;
type SentencePart = string | StepPart | ApartValues<StepPart>;

/** The parts of a template that is a sentence; undefined for one that may be a code, a name or an address. */
const sentenceOf = (
  texts: readonly string[],
  steps: readonly Step[],
): Readonly<{ parts: readonly SentencePart[]; direction: Direction }> | undefined => {
  const words = texts.join(' ');
  const isFromRight = holdsRightToLeft(words);
  if (
    steps.length === 0 ||
    words.includes('://') ||
    !(isFromRight || texts.some((text) => /\p{L}\s|\s\p{L}/u.test(text)))
  )
    return undefined;
  const all = texts.flatMap((text, at): readonly (string | StepPart)[] => {
    const step = steps[at];
    return [...(text === '' ? [] : [text]), ...(step === undefined ? [] : [{ step }])];
  });
  return { parts: apartIn(withTextAround(all)), direction: isFromRight ? 'rtl' : 'ltr' };
};

/** Each element counts as one operation, the array itself where it has none. */
const arrayStep = (node: ArrayExpression, context: Context): Step => {
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

/**
 * An object as it is made. A member is assigned, and `__proto__`, the one name whose assignment makes none, is barred.
 * `put` is not less than their number.
 */
type Target = { members: Record<string, Value>; put: number };

type Put = (run: Run, target: Target) => void;

const set = (target: Target, name: string, value: Value): void => {
  target.members[name] = value;
  target.put += 1;
};

/** Members are counted one by one only where there may be too many. */
const checkSize = (run: Run, { members, put }: Target, more: number, at: number): void => {
  if (put + more > run.limits.expressionItemsMax) checkItems(run, Object.keys(members).length + more, at);
};

/** Each member counts as one operation, the object itself where it has none. */
const objectStep = ({ properties, start }: ObjectExpression, context: Context): Step => {
  const puts = properties.map((property): Put => {
    if (property.type === 'Property') return memberPut(property, context);
    const spread = context.step(property.argument, context);
    return (run, target) => putAll(spread(run), target, run, property.start);
  });
  const cost = Math.max(1, properties.length);
  return (run) => {
    charge(run, cost, start);
    const target: Target = { members: {}, put: 0 };
    for (const put of puts) put(run, target);
    checkSize(run, target, 0, start);
    return target.members;
  };
};

const memberPut = (property: Property, context: Context): Put => {
  const { key, value, kind, method, computed, start } = property;
  if (kind !== 'init' || method) return notAllowed('holds an object with a method, a getter or a setter', property);
  const step = context.step(value, context);
  if (!computed) {
    const name = nameOf(property);
    return (run, target) => set(target, name, step(run));
  }
  const keyStep = context.step(key, context);
  return (run, target) => {
    charge(run, 1, start);
    const name = textOf(run, keyStep(run), start);
    refuseBarred(name, start);
    set(target, name, step(run));
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
const putAll = (value: Value, target: Target, run: Run, at: number): void => {
  if (value === undefined || value === null) return;
  if (!isObject(value) && !isList(value))
    throw new ExpressionError('WRONG_VALUE', 'spreads into an object something that is not an object', at);
  const names = memberNames(value);
  charge(run, names.length, at);
  checkSize(run, target, names.length, at);
  if (target.put === 0 && !isList(value) && !Object.hasOwn(value, '__proto__')) {
    target.members = { ...value };
    target.put = names.length;
    return;
  }
  for (const name of names) set(target, name, isList(value) ? value[Number(name)] : value[name]);
};

type Binary = (run: Run, left: Value, right: Value, at: number) => Value;

/**
 * The step of `left operator right` with JavaScript's meaning; `at` is its place in the source. Throws NOT_ALLOWED for
 * instanceof.
 */
const binaryStep = (operator: BinaryOperator, left: Step, right: Step, at: number): Step => {
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
  throw new ExpressionError(
    'NOT_ALLOWED',
    'uses "instanceof", which expressions do not have; "typeof" and Array.isArray(…) are there',
    at,
  );
};

const arithmetic =
  (apply: (a: number, b: number) => number): Binary =>
  (run, left, right, at) =>
    typeof left === 'number' && typeof right === 'number'
      ? apply(left, right)
      : apply(numberOf(run, left, at), numberOf(run, right, at));

const add: Binary = (run, left, right, at) => {
  if (typeof left === 'number' && typeof right === 'number') return decimal(left + right);
  const a = primitiveOf(run, left, 'default', at);
  const b = primitiveOf(run, right, 'default', at);
  if (typeof a === 'string' || typeof b === 'string') {
    if (isObject(left) || isObject(right)) run.lacks = true;
    return concat(run, partOf(run, a, at), partOf(run, b, at), at);
  }
  return decimal(numberOf(run, a, at) + numberOf(run, b, at));
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
  if (typeof left === 'string' && typeof right === 'string' && left.length === right.length)
    charge(run, costOfText(left.length), at);
  return left === right;
};

/** The abstract equality of ECMA-262. */
const looselyEqual: Binary = (run, left, right, at) => {
  if (left === null || left === undefined || right === null || right === undefined)
    return (left ?? undefined) === (right ?? undefined);
  if (typeof left === 'object' && typeof right === 'object') return left === right;
  const a = primitiveOf(run, left, 'default', at);
  const b = primitiveOf(run, right, 'default', at);
  return typeof a === typeof b ? strictlyEqual(run, a, b, at) : numberOf(run, a, at) === numberOf(run, b, at);
};

const binaries: Readonly<Record<Exclude<BinaryOperator, 'instanceof'>, Binary>> = {
  '+': add,
  // Amounts are decimal: what is added, subtracted or multiplied keeps the digits that a double holds for certain.
  '-': arithmetic((a, b) => decimal(a - b)),
  '*': arithmetic((a, b) => decimal(a * b)),
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
const unaryStep = (operator: UnaryOperator, argument: Step, at: number): Step => {
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

// Not strict, so that variables may be called "package" or "public". Parentheses stay in the tree, so that its end is
// known.
const options: Options = { ecmaVersion: 2023, sourceType: 'script', preserveParens: true, allowHashBang: false };

/**
 * Reads the source into acorn's tree: one JavaScript expression and nothing after it. Throws ExpressionError: TOO_LONG,
 * SYNTAX, or TOO_DEEP where the parser itself runs out of stack.
 */
export const parseSource = (
  source: string,
  { expressionCharsMax }: Pick<ExpressionLimits, 'expressionCharsMax'>,
): Expression => {
  if (source.length > expressionCharsMax) {
    throw new ExpressionError(
      'TOO_LONG',
      `has ${source.length} characters, the maximum is ${expressionCharsMax}`,
      expressionCharsMax,
    );
  }
  if (source.trim() === '') throw new ExpressionError('SYNTAX', 'is empty', 0);
  const tree = guarded({ source, from: 0 }, () => parseExpressionAt(source, 0, options));
  const rest = guarded({ source, from: tree.end }, () => restAfter(source, tree.end));
  if (rest !== undefined)
    throw new ExpressionError(
      'SYNTAX',
      `goes on after its end, at character ${rest + 1}; one expression is expected`,
      rest,
    );
  return tree;
};

/**
 * The place of anything but blanks, comments and one semicolon behind the expression; undefined where nothing follows.
 */
const restAfter = (source: string, end: number): number | undefined => {
  const tokens = tokenizer(source.slice(end), options);
  let token = tokens.getToken();
  if (token.type === tokTypes.semi) token = tokens.getToken();
  return token.type === tokTypes.eof ? undefined : end + token.start;
};

const guarded = <T>({ source, from }: Readonly<{ source: string; from: number }>, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError || isOutOfStack(error))
      throw new ExpressionError('TOO_DEEP', 'is nested too deep to be read', from);
    if (!(error instanceof SyntaxError)) throw error;
    const at = from + positionOf(error);
    const what = error.message.replace(/ \(\d+:\d+\)$/, '');
    throw new ExpressionError(
      'SYNTAX',
      `cannot be read as a JavaScript expression: ${what.charAt(0).toLowerCase()}${what.slice(1)} at character ${at + 1}${habitIn(source)}`,
      at,
    );
  }
};

/** Says what to write instead, to authors who know placeholders or workbooks better. */
const habitIn = (source: string): string => {
  if (source.includes('{{')) return '; an expression names variables without braces, as in items.length * 2';
  return source.trimStart().startsWith('=') ? '; an expression begins without "="' : '';
};

/** acorn notices most overflows of its stack and words them so. */
const isOutOfStack = (error: unknown): boolean =>
  error instanceof SyntaxError && error.message.startsWith('Not enough stack space');

const positionOf = (error: SyntaxError): number => ('pos' in error && typeof error.pos === 'number' ? error.pos : 0);
