/**
 * Formulas as an author writes them, with words for the rows of a table, and the values that formulas compute with:
 * numbers (dates are serial numbers), texts, truth values, blanks, errors, areas of cells.
 */

import { TABLE_COLUMN } from '../../../../domain/rendering/column-rules.js';

/** Rows of the sheet, from 1: the formula's own, the first and the last of the table's data. */
export type FormulaRows = Readonly<{ row: number; first: number; last: number }>;

/** The cells of a column of a table by its id, `'Lines'!$D$2:$D$9`; undefined where there is none with data. */
export type RangeOf = (table: string, column: string) => string | undefined;

/**
 * In: a formula of the template. Out: the same with the cells of other tables, `=SUM({lines.D})`; undefined where one
 * of them has no data.
 */
export const withRanges = (formula: string, rangeOf: RangeOf): string | undefined => {
  let isWhole = true;
  const filled = formula.replace(TABLE_COLUMN, (_, table: string, column: string) => {
    const range = rangeOf(table, column);
    isWhole &&= range !== undefined;
    return range ?? '';
  });
  return isWhole ? filled : undefined;
};

/**
 * In: a formula as the template has it, `=B{row}*C{row}` or `=SUM(D{first}:D{last})`. Out: the formula for that place,
 * without the equals sign; undefined where it is none to write: there is no data to sum up, or it would start a program
 * (DDE).
 */
export const formulaAt = (written: string, { row, first, last }: FormulaRows, rangeOf: RangeOf): string | undefined => {
  const formula = withRanges(written, rangeOf);
  if (formula === undefined) return undefined;
  const body = formula.trim().replace(/^=\s*/, '');
  if (body === '' || callsProgram(body)) return undefined;
  if (last < first && /\{(?:first|last)\}/.test(body)) return undefined;
  const rows: Readonly<Record<string, number>> = { row, first, last };
  return body.replace(/\{(row|first|last)\}/g, (_, name: string) => String(rows[name]));
};

/**
 * Functions that came after ECMA-376, as [MS-XLSX] 2.2.2 lists them: files name them with a prefix that no reader
 * shows.
 */
const LATER_FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'ACOT ACOTH AGGREGATE ARABIC ARRAYTOTEXT BASE BETA.DIST BETA.INV BINOM.DIST BINOM.DIST.RANGE BINOM.INV BITAND BITLSHIFT BITOR BITRSHIFT ' +
    'BITXOR BYCOL BYROW CEILING.MATH CEILING.PRECISE CHISQ.DIST CHISQ.DIST.RT CHISQ.INV CHISQ.INV.RT CHISQ.TEST CHOOSECOLS CHOOSEROWS COMBINA ' +
    'CONCAT CONFIDENCE.NORM CONFIDENCE.T COT COTH COVARIANCE.P COVARIANCE.S CSC CSCH DAYS DECIMAL DROP ERF.PRECISE ERFC.PRECISE EXPAND ' +
    'EXPON.DIST F.DIST F.DIST.RT F.INV F.INV.RT F.TEST FIELDVALUE FILTERXML FLOOR.MATH FLOOR.PRECISE FORECAST.ETS FORECAST.ETS.CONFINT ' +
    'FORECAST.ETS.SEASONALITY FORECAST.ETS.STAT FORECAST.LINEAR FORMULATEXT GAMMA GAMMA.DIST GAMMA.INV GAMMALN.PRECISE GAUSS GROUPBY HSTACK ' +
    'HYPGEOM.DIST IFNA IFS IMAGE IMCOSH IMCOT IMCSC IMCSCH IMSEC IMSECH IMSINH IMTAN ISFORMULA ISOMITTED ISOWEEKNUM LAMBDA LET LOGNORM.DIST ' +
    'LOGNORM.INV MAKEARRAY MAP MAXIFS MINIFS MODE.MULT MODE.SNGL MUNIT NEGBINOM.DIST NORM.DIST NORM.INV NORM.S.DIST NORM.S.INV NUMBERVALUE ' +
    'PDURATION PERCENTILE.EXC PERCENTILE.INC PERCENTOF PERCENTRANK.EXC PERCENTRANK.INC PERMUTATIONA PHI PIVOTBY POISSON.DIST QUARTILE.EXC ' +
    'QUARTILE.INC QUERYSTRING RANDARRAY RANK.AVG RANK.EQ REDUCE REGEXEXTRACT REGEXREPLACE REGEXTEST RRI SCAN SEC SECH SEQUENCE SHEET SHEETS ' +
    'SINGLE SKEW.P SORTBY STDEV.P STDEV.S STOCKHISTORY SWITCH T.DIST T.DIST.2T T.DIST.RT T.INV T.INV.2T T.TEST TAKE TEXTAFTER TEXTBEFORE ' +
    'TEXTJOIN TEXTSPLIT TOCOL TOROW TRIMRANGE UNICHAR UNICODE UNIQUE VALUETOTEXT VAR.P VAR.S VSTACK WEBSERVICE WEIBULL.DIST WRAPCOLS ' +
    'WRAPROWS XLOOKUP XMATCH XOR Z.TEST'
  ).split(' '),
);
/** Functions with a second prefix. */
const LATER_SHEET_FUNCTIONS: ReadonlySet<string> = new Set(['FILTER', 'SORT']);

/** Texts and names of sheets in quotation marks, or the name of a function. */
const QUOTED_OR_CALLED = /"[^"]*"|'[^']*'|(?<![\w.])[A-Za-z][\w.]*(?=\s*\()/g;

/** In: a formula for its place. Out: the formula as the file of a workbook spells it. */
export const spelledInFile = (formula: string): string =>
  formula.replace(QUOTED_OR_CALLED, (found) => {
    const name = found.toUpperCase();
    if (LATER_FUNCTIONS.has(name)) return `_xlfn.${name}`;
    return LATER_SHEET_FUNCTIONS.has(name) ? `_xlfn._xlws.${name}` : found;
  });

/** `|` outside of quotation marks is no operator: it parts a program from what it is asked to do. */
const callsProgram = (formula: string): boolean => formula.replace(/"[^"]*"/g, '').includes('|');

export type FormulaError = Readonly<{ error: '#DIV/0!' | '#VALUE!' | '#N/A' | '#NUM!' }>;
export type Scalar = number | string | boolean | null | FormulaError;
/** Cells from the upper left one, counted from 0. */
export type Area = Readonly<{
  rows: number;
  columns: number;
  at: (row: number, column: number) => Scalar;
  /** As `at`, but blank where the formula of the cell is a subtotal itself. */
  withoutSubtotals?: Area['at'];
}>;
export type Value = Scalar | Area;

/** Thrown where only a real sheet can tell: the cell gets no value, and the workbook asks to be worked out. */
export const NOT_COMPUTED = new Error('the formula is not computed here');
export const notComputed = (): never => {
  throw NOT_COMPUTED;
};

export const DIVISION: FormulaError = { error: '#DIV/0!' };
export const VALUE: FormulaError = { error: '#VALUE!' };
export const NUMBER: FormulaError = { error: '#NUM!' };
export const NONE: FormulaError = { error: '#N/A' };

export const isArea = (value: Value): value is Area => typeof value === 'object' && value !== null && 'at' in value;
export const isError = (value: Value): value is FormulaError =>
  typeof value === 'object' && value !== null && 'error' in value;

/** One value; an area of one cell is that cell, any other would spill over its neighbours. */
export const scalarOf = (value: Value): Scalar => {
  if (!isArea(value)) return value;
  return value.rows === 1 && value.columns === 1 ? value.at(0, 0) : notComputed();
};

const PLAIN_NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\s*$/;

/**
 * A number, or the error that the value is or makes. The meaning of a text with digits depends on the language of the
 * reader's program.
 */
export const numberOf = (value: Value): number | FormulaError => {
  const scalar = scalarOf(value);
  if (typeof scalar === 'number') return scalar;
  if (scalar === null) return 0;
  if (typeof scalar === 'boolean') return scalar ? 1 : 0;
  if (isError(scalar)) return scalar;
  if (PLAIN_NUMBER.test(scalar)) return scalar.includes('.') ? notComputed() : Number(scalar);
  return /\d/.test(scalar) ? notComputed() : VALUE;
};

export const textOf = (value: Value): string | FormulaError => {
  const scalar = scalarOf(value);
  if (typeof scalar === 'string') return scalar;
  if (scalar === null) return '';
  // Numbers and truth values are written in the reader's language, whole ones alike in all.
  if (typeof scalar === 'number')
    return Number.isSafeInteger(scalar) && Math.abs(scalar) < 1e11 ? String(scalar) : notComputed();
  return typeof scalar === 'boolean' ? notComputed() : scalar;
};

/** Longest text of a cell. */
const TEXT_CHARS_MAX = 32_767;

/** Joins two texts; a text that is longer than a cell holds is left to the sheet. */
export const joinedText = (a: string, b: string): string =>
  a.length + b.length > TEXT_CHARS_MAX ? notComputed() : a + b;

export const truthOf = (value: Value): boolean | FormulaError => {
  const scalar = scalarOf(value);
  if (typeof scalar === 'boolean') return scalar;
  if (typeof scalar === 'number') return scalar !== 0;
  if (scalar === null) return false;
  return isError(scalar) ? scalar : VALUE;
};

/** A result as a cell can hold it. */
export const finite = (value: number): number | FormulaError => (Number.isFinite(value) ? value : NUMBER);

/**
 * -1, 0 or 1: numbers come before texts, texts before truth values; a blank is like the empty value of the other's
 * kind.
 */
export const compare = (left: Scalar, right: Scalar): -1 | 0 | 1 | FormulaError => {
  if (isError(left)) return left;
  if (isError(right)) return right;
  const [a, b] = [left ?? blankLike(right), right ?? blankLike(left)];
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  const [x, y] = typeof a === 'string' && typeof b === 'string' ? [a.toLowerCase(), b.toLowerCase()] : [a, b];
  if (x === y) return 0;
  // The order of letters is the reader's language's.
  if (typeof x === 'string' && !(/^[\x20-\x7e]*$/.test(x) && /^[\x20-\x7e]*$/.test(String(y)))) return notComputed();
  return x < y ? -1 : 1;
};

const blankLike = (other: Scalar): number | string | boolean =>
  typeof other === 'string' ? '' : typeof other === 'boolean' ? false : 0;
const rankOf = (value: number | string | boolean): number =>
  typeof value === 'number' ? 0 : typeof value === 'string' ? 1 : 2;
