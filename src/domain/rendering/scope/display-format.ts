/**
 * Decides how a value is shown: as text, a number, a date or a truth value, and in which format. One step, the same for
 * every output.
 */
import { isJsonObject, type Json } from '../../core/json.js';
import type { ValueFormat, VariableType } from './definitions.js';
import { boundedCache } from '../../../shared/cache.js';
import { toNumber } from './conditions.js';
import { parseDate, type Instant } from './dates.js';
import { formatterOf, type Formatter, type Language, writeValue } from './formats.js';
import type { Path } from './path.js';
import { formatAt, indexShape, shapeAt, type Shape } from './shapes.js';

/** Types that an author may give a column. */
export const columnTypes = ['string', 'number', 'boolean', 'date', 'currency', 'percent'] as const;
type ColumnType = (typeof columnTypes)[number];

export const isColumnType = (type: unknown): type is ColumnType => columnTypes.some((known) => known === type);

/** The display format of the values of a place: by the type and the format of its column, or of the variable. */
export type DisplayFormat = Readonly<{
  type?: ColumnType;
  format?: ValueFormat;
  /** The value is alone in its cell: without a type or a format it is taken for what it looks like. */
  isWhole?: true;
}>;

type Meaning =
  | Readonly<{
      kind: 'text';
      /** For what is text by its type and has a format all the same. */ format: ValueFormat | undefined;
    }>
  | Readonly<{ kind: 'number'; number: number; format: ValueFormat }>
  | Readonly<{ kind: 'date'; instant: Instant; format: ValueFormat }>
  | Readonly<{ kind: 'boolean'; truth: boolean }>;

/** Format of numbers whose author gives none; digits are not grouped, for the number need not be a count. */
export const PLAIN_NUMBER: ValueFormat = { style: 'number', pattern: '0.##########' };
const AMOUNT: ValueFormat = { style: 'number', minimumFractionDigits: 2, maximumFractionDigits: 2 };
const PERCENT: ValueFormat = { style: 'percent', maximumFractionDigits: 2 };
const DAY: ValueFormat = { style: 'date' };
const MOMENT: ValueFormat = { style: 'datetime' };

const TEXT: Meaning = { kind: 'text', format: undefined };

/** How the value of a path is shown, by its definition and the column that it stands in; undefined: as it is. */
export const displayFormatAt = (
  root: Shape | undefined,
  path: Path,
  column: DisplayFormat | undefined,
): DisplayFormat | undefined => {
  const format = formatAt(root, path) ?? column?.format;
  const type = column?.type ?? shownType(shapeAt(root, path)?.type);
  if (format === undefined && (type === undefined || type === 'string') && column?.isWhole === undefined)
    return undefined;
  return { ...(type && { type }), ...(format && { format }), ...(column?.isWhole && { isWhole: true }) };
};

const shownType = (type: VariableType | undefined): ColumnType | undefined =>
  type === 'array' || type === 'object' ? undefined : type;

/**
 * True where a column holds numbers, whose digits stand below each other: by what the author says of the column, else
 * by what `root` says of the value at `path` that is alone in its cells. The place of an item is a label, which nobody
 * adds up.
 */
export const holdsNumbers = (
  { type, format }: DisplayFormat,
  root: Shape | undefined,
  path: Path | undefined,
): boolean => {
  if (type !== undefined || format !== undefined) return isNumericType(type) || isNumeric(format);
  const content = path === undefined || root === indexShape ? undefined : displayFormatAt(root, path, undefined);
  return (
    content !== undefined && (isNumericType(content.type) || (content.type === undefined && isNumeric(content.format)))
  );
};

const isNumericType = (type: ColumnType | undefined): boolean =>
  type === 'number' || type === 'currency' || type === 'percent';

/**
 * The value that an author wrote into a cell: a number or a truth value, or the text of one where the column has a type
 * or a format. Undefined: the content is text, or has placeholders or markup.
 */
export const literalValue = (content: Json, { type, format }: DisplayFormat): Json | undefined => {
  if (typeof content === 'number' || typeof content === 'boolean') return content;
  if (typeof content !== 'string' || (type === undefined && format === undefined) || /[{<&]/.test(content))
    return undefined;
  const text = content.trim();
  return meaningOf(text, { ...(type && { type }), ...(format && { format }) }).kind === 'text' ? undefined : text;
};

/**
 * In: a value, and how it is shown. The type decides what it is, then the style of the format; what does not read as
 * that is text.
 */
export const meaningOf = (value: Json | undefined, { type, format, isWhole }: DisplayFormat): Meaning => {
  if (type === undefined) return meaningOfUntyped(value, format, isWhole);
  switch (type) {
    case 'string':
      return format === undefined ? TEXT : { kind: 'text', format };
    case 'number':
      return numeric(value, isNumeric(format) ? format : PLAIN_NUMBER);
    case 'currency':
      return numeric(value, isNumeric(format) ? format : AMOUNT);
    case 'percent':
      return numeric(value, isNumeric(format) ? format : PERCENT);
    case 'date':
      return dated(value, isDated(format) ? format : undefined);
    case 'boolean':
      return truthful(value);
  }
};

/** The format of what a formula will give, whose value nobody knows yet; undefined: as a sheet shows it by itself. */
export const formatOfResult = ({ type, format }: DisplayFormat): ValueFormat | undefined => {
  if (type === 'currency') return isNumeric(format) ? format : AMOUNT;
  if (type === 'percent') return isNumeric(format) ? format : PERCENT;
  return type === 'date' ? (isDated(format) ? format : DAY) : format;
};

const meaningOfUntyped = (
  value: Json | undefined,
  format: ValueFormat | undefined,
  isWhole: true | undefined,
): Meaning => {
  if (isNumeric(format)) return numeric(value, format);
  if (isDated(format)) return dated(value, format);
  return isWhole === true ? seen(value) : TEXT;
};

/** A whole cell that nothing is said about. */
const seen = (value: Json | undefined): Meaning => {
  if (typeof value === 'number') return numeric(value, PLAIN_NUMBER);
  if (typeof value === 'boolean') return truthful(value);
  // Parses only texts that begin like a date: this runs for every text of every table.
  return typeof value === 'string' && value[4] === '-' && value[7] === '-' ? dated(value, undefined) : TEXT;
};

export const isNumeric = (format: ValueFormat | undefined): format is ValueFormat =>
  format?.style === 'number' || format?.style === 'currency' || format?.style === 'percent';

export const isDated = (format: ValueFormat | undefined): format is ValueFormat =>
  format?.style === 'date' || format?.style === 'time' || format?.style === 'datetime';

const DIGITS_MAX = 15;

const numeric = (value: Json | undefined, format: ValueFormat): Meaning => {
  // A longer number in text, of a card or an order, would lose its last digits.
  if (
    typeof value === 'string' &&
    value.length > DIGITS_MAX &&
    value.replace(/\D/g, '').replace(/^0+/, '').length > DIGITS_MAX
  )
    return TEXT;
  const number = toNumber(value);
  return number === undefined ? TEXT : { kind: 'number', number, format };
};

const EPOCH_MS_MAX = 8.64e15;

const dated = (value: Json | undefined, format: ValueFormat | undefined): Meaning => {
  const instant = instantOf(value);
  return instant === undefined ? TEXT : { kind: 'date', instant, format: format ?? (instant.dateOnly ? DAY : MOMENT) };
};

const instantOf = (value: Json | undefined): Instant | undefined => {
  if (typeof value === 'string') return parseDate(value);
  return typeof value === 'number' && Math.abs(value) <= EPOCH_MS_MAX
    ? { epochMs: Math.trunc(value), dateOnly: false }
    : undefined;
};

const truthful = (value: Json | undefined): Meaning => {
  const truth = value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined;
  return truth === undefined ? TEXT : { kind: 'boolean', truth };
};

const CACHE_MAX = 1_000;
const cache = boundedCache<string, Formatter>({ entriesMax: CACHE_MAX });

/** In: how values are shown, and in which language. Out: the function that writes them so. */
export const writerOf = (displayFormat: DisplayFormat, language: Language): Formatter => {
  const key = JSON.stringify([
    displayFormat.type,
    displayFormat.isWhole,
    displayFormat.format,
    language.locale,
    language.timeZone,
  ]);
  return cache.getOrMake(key, () => makeWriter(displayFormat, language));
};

const makeWriter = (displayFormat: DisplayFormat, language: Language): Formatter => {
  const made = new Map<ValueFormat, Formatter>();
  const formatter = (format: ValueFormat): Formatter => {
    const known = made.get(format) ?? formatterOf(format, language);
    made.set(format, known);
    return known;
  };
  return (value) => {
    const meaning = meaningOf(value, displayFormat);
    switch (meaning.kind) {
      case 'number':
        return formatter(meaning.format)(meaning.number);
      case 'date':
        return formatter(meaning.format)(value);
      case 'boolean':
        return String(meaning.truth);
      case 'text':
        return meaning.format === undefined ? writeValue(value) : formatter(meaning.format)(value);
    }
  };
};

/** True for what can be the code of a currency (ISO 4217). */
export const isCurrency = (text: string): boolean => /^[A-Za-z]{3}$/.test(text);

/**
 * Puts the currency that a variable brings into a display format; takes the format out where the variable holds no currency.
 */
export const inCurrency = (displayFormat: DisplayFormat, currency: string): DisplayFormat => {
  if (isCurrency(currency))
    return { ...displayFormat, format: { ...displayFormat.format, style: 'currency', currency } };
  const { format: _format, ...rest } = displayFormat;
  return rest;
};

/** In: a cell of a row, and how its column shows values. Out: its content, and how the cell shows it. */
export const writtenCell = (
  cell: Json | undefined,
  column: DisplayFormat,
): Readonly<{ content: Json | undefined; displayFormat: DisplayFormat }> => {
  if (!isJsonObject(cell)) return { content: cell, displayFormat: column };
  const { content, type, format } = cell;
  if (type === undefined && format === undefined) return { content, displayFormat: column };
  return {
    content,
    displayFormat: {
      ...(isColumnType(type) && { type }),
      ...(isJsonObject(format) && { format: format as ValueFormat }),
    },
  };
};
