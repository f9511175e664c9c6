/** What a cell of a table holds: a number, a date, a truth value or text, with the code of its format. */
import type { Cell, ExpandedColumn, Html } from '../../../domain/rendering/expand/expanded.js';
import type { Json } from '../../../domain/json.js';
import { toNumber } from '../../../domain/rendering/scope/conditions.js';
import { parseDate } from '../../../domain/rendering/scope/dates.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import type { ValueFormat } from '../../../domain/template/schema.js';
import { dateCode, numberCode, type NumberCode } from './number-formats.js';

export type TypedValue = Readonly<{
  value: number | Date | boolean;
  /** Undefined: as the sheet shows such values by itself. */ code: string | undefined;
}>;

/** Undefined: the cell is text. */
export type Typed = (cell: Cell) => TypedValue | undefined;

type Kind = 'number' | 'date' | 'boolean' | 'string' | 'seen';

/**
 * In: a column and its cells. Out: the function that gives the typed value of each. The author's `type` decides, then the `format`;
 * where both are silent, numbers and booleans are what they are, and a column of nothing but ISO dates is one of dates.
 */
export const typedCells = (column: Pick<ExpandedColumn, 'type' | 'format'>, cells: Iterable<Cell>, language: Language): Typed => {
  const codes = createCodes(language);
  const allDates = column.type === undefined && column.format === undefined && onlyDates(cells);
  return (cell) => {
    const format = cell.format ?? column.format;
    const kind: Kind = column.type ?? kindOf(format) ?? (allDates ? 'date' : 'seen');
    return typed(cell, kind, format, codes);
  };
};

/** What a format is for; undefined: there is none. */
export const kindOf = (format: ValueFormat | undefined): Kind | undefined => {
  switch (format?.style) {
    case undefined:
      return undefined;
    case 'number':
    case 'currency':
    case 'percent':
      return 'number';
    case 'date':
    case 'time':
    case 'datetime':
      return 'date';
  }
};

const onlyDates = (cells: Iterable<Cell>): boolean => {
  let found = false;
  for (const { value, format } of cells) {
    if (value === null || value === undefined || value === '') continue;
    if (format !== undefined || typeof value !== 'string' || parseDate(value) === undefined) return false;
    found = true;
  }
  return found;
};

const typed = (cell: Cell, kind: Kind, format: ValueFormat | undefined, codes: Codes): TypedValue | undefined => {
  const { value } = cell;
  switch (kind) {
    case 'string':
      return undefined;
    case 'boolean':
      return truth(value ?? cell.html);
    case 'number':
      return numeric(value ?? cell.html, codes.number(format));
    case 'date':
      return dated(value ?? cell.html, format, codes);
    case 'seen':
      return typeof value === 'boolean' ? truth(value) : typeof value === 'number' ? numeric(value, codes.number(format)) : undefined;
  }
};

const truth = (value: Json | Html): TypedValue | undefined =>
  value === true || value === 'true'
    ? { value: true, code: TRUTH_CODE }
    : value === false || value === 'false'
      ? { value: false, code: TRUTH_CODE }
      : undefined;

/** Excel writes truth values in the reader's language whatever the code; others would show them as 1 and 0. */
const TRUTH_CODE = '"TRUE";"TRUE";"FALSE"';

const numeric = (given: Json, code: NumberCode | undefined): TypedValue | undefined => {
  // A sheet keeps 15 digits: a longer number written as text would lose its last ones.
  if (typeof given === 'string' && given.replace(/\D/g, '').replace(/^0+/, '').length > 15) return undefined;
  const value = toNumber(given);
  return value === undefined || !Number.isFinite(value) ? undefined : { value, code: code?.(value) };
};

/** Sheets know no day before this one; the days up to 1 March 1900 have another number in Excel than elsewhere. */
const FIRST_DAY_MS = Date.UTC(1900, 2, 1);

const dated = (given: Json, format: ValueFormat | undefined, codes: Codes): TypedValue | undefined => {
  const instant =
    typeof given === 'string'
      ? parseDate(given)
      : typeof given === 'number' && Math.abs(given) <= 8.64e15
        ? { epochMs: given, dateOnly: false }
        : undefined;
  if (instant === undefined) return undefined;
  const wallMs = instant.dateOnly ? instant.epochMs : codes.wallClock(instant.epochMs, format);
  if (wallMs < FIRST_DAY_MS || wallMs >= Date.UTC(10_000, 0, 1)) return undefined;
  return { value: new Date(wallMs), code: codes.date(format, instant.dateOnly) };
};

type Codes = Readonly<{
  number: (format: ValueFormat | undefined) => NumberCode | undefined;
  date: (format: ValueFormat | undefined, dateOnly: boolean) => string | undefined;
  /** What clocks and calendars of the format's time zone show, as if that were UTC: a sheet has no time zones. */
  wallClock: (epochMs: number, format: ValueFormat | undefined) => number;
}>;

const DAY: ValueFormat = { style: 'date' };
const MOMENT: ValueFormat = { style: 'datetime' };

/** Codes and clocks once for each format: Intl's objects cost a thousand times what a call to them does. */
const createCodes = (language: Language): Codes => {
  const kept = <T>(make: (format: ValueFormat) => T): ((format: ValueFormat) => T) => {
    const made = new Map<string, T>();
    let last: readonly [ValueFormat, T] | undefined;
    return (format) => {
      if (last?.[0] === format) return last[1];
      const key = JSON.stringify(format);
      const value = made.has(key) ? (made.get(key) as T) : make(format);
      made.set(key, value);
      last = [format, value];
      return value;
    };
  };
  const numbers = kept((format) => numberCode(format, language));
  const dates = kept((format) => dateCode(format, language));
  const clocks = kept((format) => wallClockOf(format.timeZone ?? language.timeZone));
  return {
    number: (format) => (format === undefined ? undefined : numbers(format)),
    date: (format, dateOnly) => dates(isDateStyle(format) ? format : dateOnly ? DAY : MOMENT) ?? 'yyyy-mm-dd',
    wallClock: (epochMs, format) => clocks(format ?? MOMENT)(epochMs),
  };
};

const isDateStyle = (format: ValueFormat | undefined): format is ValueFormat => kindOf(format) === 'date';

const wallClockOf = (timeZone: string): ((epochMs: number) => number) => {
  if (timeZone === 'UTC') return (epochMs) => epochMs;
  const intl = clockIn(timeZone);
  if (intl === undefined) return (epochMs) => epochMs;
  const offsets = new Map<number, number>();
  return (epochMs) => {
    const quarter = Math.floor(epochMs / QUARTER_MS);
    const known = offsets.get(quarter);
    if (known !== undefined) return epochMs + known;
    const wallMs = shown(intl, epochMs);
    if (offsets.size < OFFSETS_MAX) offsets.set(quarter, wallMs - epochMs);
    return wallMs;
  };
};

/** Clocks are put forward and back at full quarters of an hour only. */
const QUARTER_MS = 15 * 60_000;
const OFFSETS_MAX = 10_000;

const shown = (intl: Intl.DateTimeFormat, epochMs: number): number => {
  const found = new Map(intl.formatToParts(epochMs).map(({ type, value }) => [type, Number(value)] as const));
  const of = (type: Intl.DateTimeFormatPartTypes): number => found.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) + (((epochMs % 1_000) + 1_000) % 1_000);
};

const clockIn = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
