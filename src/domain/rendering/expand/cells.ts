/** Cells of the tables of a document: their text and, where they are one value, the value; and how much a cell may hold. */
import type { Json } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import type { Cell } from './expanded.js';
import {
  compileHtml,
  compileShown,
  compileWriter,
  escapeHtml,
  onlyPlaceholder,
  templated,
  writerAt,
  type Writer,
} from '../fill/filling.js';
import type { Formatter } from '../scope/formats.js';
import { cellTooLong } from '../limit-errors.js';
import { charge, countChars, type Scope, type State } from '../scope/scope.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { literalValue, type Showing } from '../scope/showing.js';

export type MakeCell = (state: State) => Cell;

/** The table that cells stand in: its place in the template, and what bounds it. */
export type TablePlace = Readonly<{ field: string; limits: Limits }>;

/** One row; `row` counts from 0, for messages. */
export const rowOf = (cells: readonly MakeCell[], row: number, state: State, place: TablePlace): readonly Cell[] => {
  const { excelCellCharsMax } = place.limits;
  const made = new Array<Cell>(cells.length);
  for (let at = 0; at < cells.length; at += 1) {
    const make = cells[at];
    if (make === undefined) continue;
    const cell = make(state);
    const chars = charsOf(cell, state);
    countChars(chars, state, place.limits);
    if (chars > excelCellCharsMax) refuseLong(cell, `the cell in row ${row + 1}, column ${at + 1}`, state, place);
    made[at] = cell;
  }
  return made;
};

/** Numbers, dates and truth are short in every format. */
const SHORT_VALUE_CHARS = 24;

/** At least as many as a reader will see. */
const charsOf = (cell: Cell, state: State): number => {
  const { value } = cell;
  if (state.format !== 'excel' || value === undefined) return cell.html.length;
  return typeof value === 'string' ? value.length : SHORT_VALUE_CHARS;
};

/** Counts the text of a header or a footer, and refuses one that no cell of a sheet can hold. */
export const keepText = (html: string, where: string, state: State, place: TablePlace): void => {
  charge(html, state, place.limits);
  refuseLong({ html, value: undefined }, where, state, place);
};

const refuseLong = ({ html, value }: Pick<Cell, 'html' | 'value'>, where: string, state: State, { field, limits }: TablePlace): void => {
  const { excelCellCharsMax } = limits;
  if (state.format !== 'excel' || html.length <= excelCellCharsMax) return;
  const chars = typeof value === 'string' ? value.length : textLength(html);
  if (chars > excelCellCharsMax) throw cellTooLong(field, where, chars, excelCellCharsMax);
};

/** Characters that are left when the markup is gone. */
const textLength = (html: string): number =>
  html.replace(/<[^<>]*>/g, '').replace(/&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});/gi, '-').length;

const EMPTY: Cell = { html: '', value: undefined, showing: undefined };

/** `column`: how the column shows its values. */
export const compileCell = (content: Json | undefined, column: Showing, scope: Scope): MakeCell => {
  if (content === undefined || content === null) return () => EMPTY;
  const literal = literalValue(content, column);
  if (literal !== undefined) return literalCell(literal, column, scope);
  const text = String(content);
  const placeholder = onlyPlaceholder(templated(text, scope));
  if (placeholder === undefined) return htmlCell(text, column, scope);
  const read = compileShown(placeholder.path, scope);
  const writer = writerAt(placeholder.path, scope, { ...column, isWhole: true });
  return (state) => {
    const value = read(state);
    return value === undefined || value === null ? EMPTY : valueCell(value, writer(state), state);
  };
};

const literalCell = (value: Json, column: Showing, scope: Scope): MakeCell => {
  const writer = compileWriter({ ...column, isWhole: true }, scope);
  return (state) => valueCell(value, writer(state), state);
};

/** A list or an object is no value of a cell: its text stands for it. */
const valueCell = (value: Json, { write, showing }: Writer, state: State): Cell => {
  if (typeof value === 'object') return { html: escapeHtml(write(value)), value: undefined, showing: undefined };
  return state.format === 'excel' ? new SheetCell(value, write, showing) : { html: escapeHtml(write(value)), value, showing };
};

/** A sheet shows the value itself and seldom asks for its text, which costs more than all else of a cell. */
class SheetCell implements Cell {
  readonly value: Json;
  readonly showing: Showing | undefined;
  readonly #write: Formatter;

  constructor(value: Json, write: Formatter, showing: Showing | undefined) {
    this.value = value;
    this.showing = showing;
    this.#write = write;
  }

  get html(): string {
    return escapeHtml(this.#write(this.value));
  }
}

const htmlCell = (content: string, column: Showing, scope: Scope): MakeCell => {
  const fill = compileHtml(content, scope, column);
  const formula = formulaIn(content);
  if (formula !== undefined) {
    const writer = compileWriter(column, scope);
    return (state) => ({ html: fill(state), value: undefined, showing: writer(state).showing, formula });
  }
  return (state) => ({ html: fill(state), value: undefined, showing: undefined });
};

/** A content that begins with an equals sign and holds no placeholder: what a variable brings never becomes part of a formula. */
const formulaIn = (content: string): string | undefined => {
  const formula = content.trim();
  return formula.startsWith('=') && formula.length > 1 && !hasPlaceholder(formula) ? formula : undefined;
};
