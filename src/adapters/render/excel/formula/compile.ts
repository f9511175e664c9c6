/**
 * Compiles formulas to functions: parsed once for a column, computed for each row. Precedence is that of sheets: a
 * minus binds tighter than a power.
 */
import {
  type FormulaRows,
  compare,
  DIVISION,
  finite,
  isArea,
  isError,
  joinedText,
  notComputed,
  numberOf,
  scalarOf,
  textOf,
  type Area,
  type Scalar,
  type Value,
} from './values.js';
import { functions } from './functions.js';

/** A row as the template writes it: fixed, or one of those that only the sheet knows. */
type RowMark = number | 'row' | 'first' | 'last';
type Token =
  | Readonly<{ kind: 'number'; value: number }>
  | Readonly<{ kind: 'mark'; mark: Exclude<RowMark, number> }>
  | Readonly<{ kind: 'text'; value: string }>
  /** `sheet` undefined: the formula's own. */
  | Readonly<{ kind: 'cell'; sheet: string | undefined; column: number; row: RowMark }>
  | Readonly<{ kind: 'name'; name: string }>
  | Readonly<{ kind: 'sign'; sign: string }>;

/**
 * The rows of a formula, and the cells that it can read. `read` throws NOT_COMPUTED for a cell that is not known here.
 */
type FormulaContext = Readonly<{
  rows: FormulaRows;
  read: (sheet: string | undefined, row: number, column: number, skipsSubtotals?: boolean) => Scalar;
}>;
export type Compiled = (context: FormulaContext) => Value;

type Cursor = Readonly<{
  /** Takes the next token where it is one of these signs. */
  sign: (signs: readonly string[]) => string | undefined;
  take: () => Token | undefined;
  isAtEnd: () => boolean;
}>;

type Rule = (cursor: Cursor, depth: number) => Compiled | undefined;

type Corner = Extract<Token, { kind: 'cell' }>;

const DEPTH_MAX = 40;

const PIECE =
  /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)(?![A-Za-z_{])|"((?:[^"]|"")*)"|(?:('(?:[^']|'')+'|[A-Za-z_][\w.]*)!)?\$?([A-Za-z]{1,3})\$?(\d{1,7}|\{(?:row|first|last)\})(?![\w({.])|\{(row|first|last)\}|([A-Za-z_][\w.]*)(?=\s*\()|(TRUE|FALSE)\b|(<=|>=|<>|[-+*/^&=<>%(),:]))/iy;

/** Undefined if the formula holds something that is not computed here. */
export const compileFormula = (formula: string): Compiled | undefined => {
  const tokens = tokensOf(formula.trim().replace(/^=\s*/, ''));
  if (tokens === undefined) return undefined;
  const cursor = openCursor(tokens);
  const compiled = comparison(cursor, 0);
  return cursor.isAtEnd() ? compiled : undefined;
};

/**
 * Splits a formula into numbers, texts, names, references and operators; undefined where something is not known here.
 */
const tokensOf = (formula: string): readonly Token[] | undefined => {
  const tokens: Token[] = [];
  let at = 0;
  const end = formula.trimEnd().length;
  while (at < end) {
    PIECE.lastIndex = at;
    const found = PIECE.exec(formula);
    if (found === null) return undefined;
    at = PIECE.lastIndex;
    tokens.push(tokenOf(found));
  }
  return tokens;
};

const tokenOf = ([, number, text, sheet, column, row, mark, called, truth, sign]: RegExpExecArray): Token => {
  if (number !== undefined) return { kind: 'number', value: Number(number) };
  if (text !== undefined) return { kind: 'text', value: text.replaceAll('""', '"') };
  if (column !== undefined && row !== undefined)
    return { kind: 'cell', sheet: sheetOf(sheet), column: columnOf(column), row: rowOf(row) };
  if (mark !== undefined) return { kind: 'mark', mark: markOf(mark) };
  const name = called ?? truth;
  return name === undefined ? { kind: 'sign', sign: sign ?? '' } : { kind: 'name', name: name.toUpperCase() };
};

const sheetOf = (written: string | undefined): string | undefined =>
  written?.startsWith("'") === true ? written.slice(1, -1).replaceAll("''", "'") : written;
const rowOf = (written: string): RowMark => (written.startsWith('{') ? markOf(written.slice(1, -1)) : Number(written));
const markOf = (written: string): Exclude<RowMark, number> =>
  written === 'first' || written === 'last' ? written : 'row';

/** A is 1. */
const columnOf = (letters: string): number =>
  [...letters.toUpperCase()].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);

const openCursor = (tokens: readonly Token[]): Cursor => {
  let at = 0;
  return {
    sign: (signs) => {
      const token = tokens[at];
      if (token?.kind !== 'sign' || !signs.includes(token.sign)) return undefined;
      at += 1;
      return token.sign;
    },
    take: () => tokens[at++],
    isAtEnd: () => at === tokens.length,
  };
};

/** Operators of one precedence, from left to right. */
const chain =
  (signs: readonly string[], next: Rule): Rule =>
  (cursor, depth) => {
    let left = next(cursor, depth);
    for (let found = cursor.sign(signs); left !== undefined && found !== undefined; found = cursor.sign(signs)) {
      const [before, right, operator] = [left, next(cursor, depth), found];
      if (right === undefined) return undefined;
      left = (context) => operate(operator, before(context), right(context));
    }
    return left;
  };

const signed: Rule = (cursor, depth) => {
  const found = cursor.sign(['-', '+']);
  if (found === undefined) return primary(cursor, depth);
  const operand = depth > DEPTH_MAX ? undefined : signed(cursor, depth + 1);
  if (operand === undefined || found === '+') return operand;
  return (context) => {
    const value = numberOf(operand(context));
    return typeof value === 'number' ? -value : value;
  };
};

const percent: Rule = (cursor, depth) => {
  let value = signed(cursor, depth);
  while (value !== undefined && cursor.sign(['%']) !== undefined) {
    const whole = value;
    value = (context) => operate('/', whole(context), 100);
  }
  return value;
};

const comparison = [['^'], ['*', '/'], ['+', '-'], ['&'], ['=', '<>', '<', '>', '<=', '>=']].reduce<Rule>(
  (next, signs) => chain(signs, next),
  percent,
);

const primary: Rule = (cursor, depth) => {
  if (depth > DEPTH_MAX) return undefined;
  const token = cursor.take();
  switch (token?.kind) {
    case undefined:
      return undefined;
    case 'number':
    case 'text':
      return () => token.value;
    case 'mark':
      return ({ rows }) => rows[token.mark];
    case 'cell':
      return reference(token, cursor);
    case 'name':
      return call(token.name, cursor, depth);
    case 'sign': {
      const inner = token.sign === '(' ? comparison(cursor, depth + 1) : undefined;
      return cursor.sign([')']) === undefined ? undefined : inner;
    }
  }
};

const reference = (from: Corner, cursor: Cursor): Compiled | undefined => {
  if (cursor.sign([':']) === undefined) return ({ rows, read }) => read(from.sheet, rowAt(from.row, rows), from.column);
  const to = cursor.take();
  if (to?.kind !== 'cell' || (to.sheet !== undefined && to.sheet !== from.sheet)) return undefined;
  return (context) => areaOf(from, to, context);
};

const call = (name: string, cursor: Cursor, depth: number): Compiled | undefined => {
  if (name === 'TRUE' || name === 'FALSE') {
    if (cursor.sign(['(']) !== undefined && cursor.sign([')']) === undefined) return undefined;
    return () => name === 'TRUE';
  }
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined || cursor.sign(['(']) === undefined) return undefined;
  const given: Compiled[] = [];
  if (cursor.sign([')']) === undefined) {
    do {
      const argument = comparison(cursor, depth + 1);
      if (argument === undefined) return undefined;
      given.push(argument);
    } while (cursor.sign([',']) !== undefined);
    if (cursor.sign([')']) === undefined) return undefined;
  }
  if (given.length < known.least || given.length > known.most) return undefined;
  return (context) => known.run(given.map((argument) => () => argument(context)));
};

const rowAt = (mark: RowMark, rows: FormulaRows): number => (typeof mark === 'number' ? mark : rows[mark]);

const areaOf = (from: Corner, to: Corner, { rows, read }: FormulaContext): Area => {
  const [top, bottom] = sorted(rowAt(from.row, rows), rowAt(to.row, rows));
  const [left, right] = sorted(from.column, to.column);
  return {
    rows: bottom - top + 1,
    columns: right - left + 1,
    at: (row, column) => read(from.sheet, top + row, left + column),
    withoutSubtotals: (row, column) => read(from.sheet, top + row, left + column, true),
  };
};

const sorted = (a: number, b: number): readonly [number, number] => (a <= b ? [a, b] : [b, a]);

const operate = (operator: string, left: Value, right: Value): Scalar => {
  if (isArea(left) || isArea(right)) return operate(operator, scalarOf(left), scalarOf(right));
  if (operator === '&') {
    const [a, b] = [textOf(left), textOf(right)];
    return typeof a !== 'string' ? a : typeof b !== 'string' ? b : joinedText(a, b);
  }
  if (/[=<>]/.test(operator)) {
    const order = compare(left, right);
    return typeof order === 'number' ? holds(operator, order) : order;
  }
  const [a, b] = [numberOf(left), numberOf(right)];
  if (isError(a)) return a;
  if (isError(b)) return b;
  switch (operator) {
    case '+':
      return finite(nearZero(a + b, a, b));
    case '-':
      return finite(nearZero(a - b, a, b));
    case '*':
      return finite(a * b);
    case '/':
      return b === 0 ? DIVISION : finite(a / b);
    case '^':
      return finite(a ** b);
    default:
      return notComputed();
  }
};

/** Sheets take a difference that is lost in the last digits for nothing. */
const nearZero = (result: number, a: number, b: number): number =>
  Math.abs(result) < Math.max(Math.abs(a), Math.abs(b)) * 1e-15 ? 0 : result;

const holds = (operator: string, order: -1 | 0 | 1): boolean => {
  switch (operator) {
    case '=':
      return order === 0;
    case '<>':
      return order !== 0;
    case '<':
      return order < 0;
    case '>':
      return order > 0;
    case '<=':
      return order <= 0;
    default:
      return order >= 0;
  }
};
