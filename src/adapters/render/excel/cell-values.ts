/** What a cell of a table holds: a number, a date, a truth value or text, with the code of its format. */
import type { Cell } from '../../../domain/rendering/expand/expanded.js';
import type { Instant } from '../../../domain/rendering/scope/dates.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import { isDated, meaningOf, PLAIN_NUMBER } from '../../../domain/rendering/scope/showing.js';
import { writeNumber } from '../../../domain/rendering/scope/values.js';
import { wallClockOf } from '../../../domain/rendering/scope/wall-clock.js';
import type { ValueFormat } from '../../../domain/rendering/scope/definitions.js';
import { dateCode, NO_CODE, numberCode, type NumberCode } from './number-formats.js';

export type TypedValue = Readonly<{
  value: number | Date | boolean;
  /** Undefined: as the sheet shows such values by itself. */ code: string | undefined;
}>;

/** Undefined: the cell is text. */
export type Typed = (cell: Pick<Cell, 'value' | 'showing'>) => TypedValue | undefined;

/** In: the language of a workbook. Out: the function that gives the typed value of a cell, which means what it means in every output. */
export const typedCells = (language: Language): Typed => {
  const codes = createCodes(language);
  return ({ value, showing }) => {
    if (showing === undefined || value === undefined) return undefined;
    const meaning = meaningOf(value, showing);
    switch (meaning.kind) {
      case 'text':
        return undefined;
      case 'boolean':
        return { value: meaning.truth, code: TRUTH_CODE };
      case 'number':
        return {
          value: meaning.number,
          code: isShortPlain(meaning.number, meaning.format) ? undefined : codes.number(meaning.format)?.(meaning.number),
        };
      case 'date':
        return dated(meaning.instant, meaning.format, codes);
    }
  };
};

/** Excel writes truth values in the reader's language whatever the code; others would show them as 1 and 0. */
const TRUTH_CODE = '"TRUE";"TRUE";"FALSE"';

/** A sheet shows so many characters of a number by itself. */
const GENERAL_CHARS_MAX = 11;

/** A number that needs no code: without one, what a reader enters there later is shown as it is too. */
const isShortPlain = (value: number, format: ValueFormat): boolean =>
  format === PLAIN_NUMBER && writeNumber(value).length <= GENERAL_CHARS_MAX;

/** A day in a form that every calendar knows. */
const ISO_DAY = 'yyyy-mm-dd';

/** Sheets know no day before this one; the days up to 1 March 1900 have another number in Excel than elsewhere. */
const FIRST_DAY_MS = Date.UTC(1900, 2, 1);

const dated = ({ epochMs, dateOnly }: Instant, format: ValueFormat, codes: Codes): TypedValue | undefined => {
  const wallMs = dateOnly ? epochMs : codes.wallClock(epochMs, format);
  if (wallMs < FIRST_DAY_MS || wallMs >= Date.UTC(10_000, 0, 1)) return undefined;
  const code = codes.date(format);
  // Of another calendar a cell is the text that mails and PDFs have.
  return code === NO_CODE ? undefined : { value: new Date(wallMs), code };
};

type Codes = Readonly<{
  number: (format: ValueFormat) => NumberCode | undefined;
  date: (format: ValueFormat) => string | typeof NO_CODE;
  /** What clocks and calendars of the format's time zone show, as if that were UTC: a sheet has no time zones. */
  wallClock: (epochMs: number, format: ValueFormat) => number;
}>;

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
  const dates = kept((format) => dateCode(format, language));
  const clocks = kept((format) => clocksOf(format.timeZone ?? language.timeZone));
  return {
    number: kept((format) => numberCode(format, language)),
    date: (format) => dates(format) ?? ISO_DAY,
    wallClock: (epochMs, format) => clocks(format)(epochMs),
  };
};

/** The code for what a formula will give, which nobody knows yet: two digits where the format leaves it open. */
export const resultCodes = (language: Language): ((format: ValueFormat | undefined) => string) => {
  const codes = new Map<ValueFormat | undefined, string>([[undefined, '']]);
  return (format) => {
    const known = codes.get(format);
    if (known !== undefined || format === undefined) return known ?? '';
    const openDigits = format.style === 'percent' ? 0.2525 : 0.25;
    const written = isDated(format) ? dateCode(format, language) : numberCode(format, language)?.(openDigits);
    const code = written === NO_CODE ? ISO_DAY : (written ?? '');
    codes.set(format, code);
    return code;
  };
};

/** The clocks of a zone that nobody knows are those of UTC. */
const clocksOf = (timeZone: string): ((epochMs: number) => number) => {
  try {
    return wallClockOf(timeZone);
  } catch (error) {
    if (error instanceof RangeError) return (epochMs) => epochMs;
    throw error;
  }
};
