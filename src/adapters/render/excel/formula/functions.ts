/**
 * The functions of sheets that are computed here; any other leaves the cell to the sheet. The table in
 * docs/attachments.md lists them.
 */
import {
  compare,
  isError,
  notComputed,
  type Scalar,
  isArea,
  numberOf,
  type Area,
  type FormulaError,
  type Value,
  finite,
  scalarOf,
  VALUE,
  joinedText,
  textOf,
  DIVISION,
  NONE,
  NUMBER,
  truthOf,
} from './values.js';

/** Parses the criterion of SUMIF, COUNTIF and AVERAGEIF: a value, or a text such as `>=100`, `<>`, `open`. */
const criterionOf = (wanted: Scalar): ((cell: Scalar) => boolean) => {
  if (isError(wanted)) return notComputed();
  if (typeof wanted !== 'string') return (cell) => typeof cell === typeof wanted && cell === wanted;
  const [, operator = '', rest = ''] = /^(<=|>=|<>|=|<|>)?(.*)$/s.exec(wanted) ?? [];
  const number = /^[+-]?\d+$/.test(rest) ? Number(rest) : undefined;
  // How a fraction or a date is textFunction is the reader's language's.
  if (number === undefined && /\d/.test(rest))
    return isPlainText(rest) && operator === '' ? equals(rest) : notComputed();
  switch (operator) {
    case '':
    case '=':
      return number === undefined ? equals(rest) : (cell) => cell === number;
    case '<>':
      return number === undefined ? (cell) => !equals(rest)(cell) : (cell) => cell !== number;
    default: {
      if (number === undefined) return notComputed();
      return (cell) => {
        if (typeof cell !== 'number') return false;
        const order = compare(cell, number);
        if (typeof order !== 'number') return false;
        return operator === '<'
          ? order < 0
          : operator === '>'
            ? order > 0
            : operator === '<='
              ? order <= 0
              : order >= 0;
      };
    }
  }
};

/** A letter among the digits: no number and no date of any language. */
const isPlainText = (text: string): boolean => /^[A-Za-z]{4,}/.test(text);

/** Compares texts, letter case apart. Wildcards are left to the sheet. */
const equals = (text: string): ((cell: Scalar) => boolean) => {
  if (text === '') return (cell) => cell === null || cell === '';
  if (/[*?~]/.test(text)) return notComputed();
  const wanted = text.toLowerCase();
  return (cell) => typeof cell === 'string' && cell.toLowerCase() === wanted;
};

/** Computed when the function asks for it. */
type Argument = () => Value;
type SheetFunction = Readonly<{ least: number; most: number; run: (given: readonly Argument[]) => Value }>;

const MANY = 255;

/**
 * Numbers of all arguments: in areas only what is a number counts, a value that is textFunction out counts as one. An
 * error ends it.
 */
const numbersOf = (given: readonly Argument[]): readonly number[] | FormulaError => {
  const numbers: number[] = [];
  for (const argument of given) {
    const value = argument();
    if (!isArea(value)) {
      if (value === null) continue;
      const number = numberOf(value);
      if (isError(number)) return number;
      numbers.push(number);
      continue;
    }
    for (const cell of cellsOf(value)) {
      if (isError(cell)) return cell;
      if (typeof cell === 'number') numbers.push(cell);
    }
  }
  return numbers;
};

function* cellsOf(area: Area): Iterable<Scalar> {
  for (let row = 0; row < area.rows; row += 1)
    for (let column = 0; column < area.columns; column += 1) yield area.at(row, column);
}

/** SUMIF and its kin: `values` beside the cells that meet the criterion, the cells themselves where there are none. */
const conditional = (
  least: number,
  most: number,
  compute: (numbers: readonly number[], count: number) => number | FormulaError,
): SheetFunction => ({
  least,
  most,
  run: ([where, criterion, values]) => {
    const area = where?.() ?? null;
    const other = values?.() ?? area;
    if (!isArea(area) || !isArea(other) || other.rows !== area.rows || other.columns !== area.columns)
      return notComputed();
    const meets = criterionOf(scalarOf(criterion?.() ?? null));
    const numbers: number[] = [];
    let count = 0;
    for (let row = 0; row < area.rows; row += 1) {
      for (let column = 0; column < area.columns; column += 1) {
        if (!meets(area.at(row, column))) continue;
        count += 1;
        const cell = other.at(row, column);
        if (isError(cell)) return cell;
        if (typeof cell === 'number') numbers.push(cell);
      }
    }
    return compute(numbers, count);
  },
});

const products: SheetFunction = {
  least: 1,
  most: MANY,
  run: (given) => {
    const areas = given.map((argument) => argument());
    const [first] = areas;
    if (first === undefined || !isArea(first)) return notComputed();
    let total = 0;
    for (let row = 0; row < first.rows; row += 1) {
      for (let column = 0; column < first.columns; column += 1) {
        let product = 1;
        for (const area of areas) {
          if (!isArea(area) || area.rows !== first.rows || area.columns !== first.columns) return VALUE;
          const cell = area.at(row, column);
          if (isError(cell)) return cell;
          product *= typeof cell === 'number' ? cell : 0;
        }
        total += product;
      }
    }
    return finite(total);
  },
};

const counted = (counts: (cell: Scalar) => boolean): SheetFunction => ({
  least: 1,
  most: MANY,
  run: (given) => {
    let count = 0;
    for (const argument of given) {
      const value = argument();
      for (const cell of isArea(value) ? cellsOf(value) : [value]) if (counts(cell)) count += 1;
    }
    return count;
  },
});

const textFunction = (
  compute: (text: string, ...numbers: readonly number[]) => string | number | FormulaError,
  least = 1,
  most = 1,
): SheetFunction => ({
  least,
  most,
  run: ([first, ...rest]) => {
    const text = textOf(first?.() ?? null);
    if (typeof text !== 'string') return text;
    const numbers: number[] = [];
    for (const argument of rest) {
      const number = numberOf(argument());
      if (isError(number)) return number;
      numbers.push(Math.trunc(number));
    }
    return compute(text, ...numbers);
  },
});

const joined: SheetFunction = {
  least: 1,
  most: MANY,
  run: (given) => {
    let all = '';
    for (const argument of given) {
      const text = textOf(argument());
      if (typeof text !== 'string') return text;
      all = joinedText(all, text);
    }
    return all;
  },
};

const ofNumbers = (compute: (numbers: readonly number[]) => number | FormulaError): SheetFunction => ({
  least: 1,
  most: MANY,
  run: (given) => {
    const numbers = numbersOf(given);
    if (!Array.isArray(numbers)) return numbers as FormulaError;
    const result = compute(numbers as readonly number[]);
    return typeof result === 'number' ? finite(result) : result;
  },
});

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const average = (numbers: readonly number[]): number | FormulaError =>
  numbers.length === 0 ? DIVISION : sum(numbers) / numbers.length;
const smallest = (numbers: readonly number[]): number =>
  numbers.reduce((least, number) => Math.min(least, number), numbers[0] ?? 0);
const largest = (numbers: readonly number[]): number =>
  numbers.reduce((most, number) => Math.max(most, number), numbers[0] ?? 0);
const median = (numbers: readonly number[]): number | FormulaError => {
  const ordered = [...numbers].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  if (ordered.length === 0) return NUMBER;
  const upper = ordered[middle] ?? 0;
  return ordered.length % 2 === 1 ? upper : ((ordered[middle - 1] ?? 0) + upper) / 2;
};

/** A function of `least` to `most` numbers. */
const numberFunction = (
  least: number,
  most: number,
  compute: (...numbers: readonly number[]) => number | FormulaError,
): SheetFunction => ({
  least,
  most,
  run: (given) => {
    const numbers: number[] = [];
    for (const argument of given) {
      const number = numberOf(argument());
      if (isError(number)) return number;
      numbers.push(number);
    }
    const result = compute(...numbers);
    return typeof result === 'number' ? finite(result) : result;
  },
});

/** Halves go away from zero, as people round; a value that floats a hair below a half is taken for it, as sheets do. */
const rounded = (value: number, digits: number, way: 'nearest' | 'up' | 'down'): number => {
  const places = Math.trunc(digits);
  if (Math.abs(places) > 15) return notComputed();
  const factor = 10 ** Math.abs(places);
  const scaled = Number((places >= 0 ? Math.abs(value) * factor : Math.abs(value) / factor).toPrecision(15));
  const whole = way === 'nearest' ? Math.floor(scaled + 0.5) : way === 'up' ? Math.ceil(scaled) : Math.floor(scaled);
  return Math.sign(value) * (places >= 0 ? whole / factor : whole * factor) || 0;
};

const truths = (compute: (truths: readonly boolean[]) => boolean): SheetFunction => ({
  least: 1,
  most: MANY,
  run: (given) => {
    const found: boolean[] = [];
    for (const argument of given) {
      const value = argument();
      for (const cell of isArea(value) ? cellsOf(value) : [value]) {
        // Texts and blanks in areas do not count.
        if (isArea(value) && (typeof cell === 'string' || cell === null)) continue;
        const truth = truthOf(cell);
        if (typeof truth !== 'boolean') return truth;
        found.push(truth);
      }
    }
    return found.length === 0 ? VALUE : compute(found);
  },
});

/** Days are counted from the end of 1899; no day before 1 March 1900 is a date here. */
const EPOCH_MS = Date.UTC(1899, 11, 30);
const DAY_MS = 86_400_000;
const FIRST_DAY = 61;
const dayPart = (part: (date: Date) => number): SheetFunction =>
  numberFunction(1, 1, (serial = 0) => {
    if (serial < FIRST_DAY || serial > 2_958_465) return notComputed();
    return part(new Date(EPOCH_MS + Math.floor(serial) * DAY_MS));
  });

const serialOf = (year: number, month: number, day: number): number => {
  const serial = (Date.UTC(year, month - 1, day) - EPOCH_MS) / DAY_MS;
  return year < 1901 || year > 9_999 || serial < FIRST_DAY ? notComputed() : serial;
};

/** An area as SUBTOTAL sees it: cells that are subtotals themselves are blank. */
const ofItems =
  (argument: Argument): Argument =>
  () => {
    const value = argument();
    return isArea(value) && value.withoutSubtotals !== undefined ? { ...value, at: value.withoutSubtotals } : value;
  };

const totals: Readonly<Record<number, string>> = {
  1: 'AVERAGE',
  2: 'COUNT',
  3: 'COUNTA',
  4: 'MAX',
  5: 'MIN',
  6: 'PRODUCT',
  9: 'SUM',
};

export const functions: Readonly<Record<string, SheetFunction>> = {
  SUM: ofNumbers(sum),
  AVERAGE: ofNumbers(average),
  MIN: ofNumbers(smallest),
  MAX: ofNumbers(largest),
  MEDIAN: ofNumbers(median),
  PRODUCT: ofNumbers((numbers) =>
    numbers.length === 0 ? 0 : numbers.reduce((product, number) => product * number, 1),
  ),
  COUNT: counted((cell) => typeof cell === 'number'),
  COUNTA: counted((cell) => cell !== null),
  COUNTBLANK: counted((cell) => cell === null || cell === ''),
  SUMPRODUCT: products,
  SUMIF: conditional(2, 3, (numbers) => finite(sum(numbers))),
  COUNTIF: conditional(2, 2, (_, count) => count),
  AVERAGEIF: conditional(2, 3, average),
  SUBTOTAL: {
    least: 2,
    most: MANY,
    run: ([which, ...given]) => {
      const number = numberOf(which?.() ?? null);
      const name = typeof number === 'number' ? totals[number > 100 ? number - 100 : number] : undefined;
      return name === undefined ? notComputed() : (functions[name]?.run(given.map(ofItems)) ?? notComputed());
    },
  },
  ROUND: numberFunction(2, 2, (value = 0, digits = 0) => rounded(value, digits, 'nearest')),
  ROUNDUP: numberFunction(2, 2, (value = 0, digits = 0) => rounded(value, digits, 'up')),
  ROUNDDOWN: numberFunction(2, 2, (value = 0, digits = 0) => rounded(value, digits, 'down')),
  INT: numberFunction(1, 1, (value = 0) => Math.floor(value)),
  ABS: numberFunction(1, 1, (value = 0) => Math.abs(value)),
  SIGN: numberFunction(1, 1, (value = 0) => Math.sign(value)),
  SQRT: numberFunction(1, 1, (value = 0) => (value < 0 ? NUMBER : Math.sqrt(value))),
  POWER: numberFunction(2, 2, (base = 0, exponent = 0) => base ** exponent),
  MOD: numberFunction(2, 2, (value = 0, divisor = 0) =>
    divisor === 0 ? DIVISION : value - divisor * Math.floor(value / divisor),
  ),
  IF: {
    least: 2,
    most: 3,
    run: ([condition, then, otherwise]) => {
      const truth = truthOf(condition?.() ?? null);
      if (typeof truth !== 'boolean') return truth;
      return truth ? (then?.() ?? null) : otherwise === undefined ? false : otherwise();
    },
  },
  IFERROR: {
    least: 2,
    most: 2,
    run: ([value, otherwise]) => {
      const tried = scalarOf(value?.() ?? null);
      return isError(tried) ? (otherwise?.() ?? null) : tried;
    },
  },
  AND: truths((found) => found.every(Boolean)),
  OR: truths((found) => found.some(Boolean)),
  NOT: {
    least: 1,
    most: 1,
    run: ([value]) => {
      const truth = truthOf(value?.() ?? null);
      return typeof truth === 'boolean' ? !truth : truth;
    },
  },
  ISBLANK: { least: 1, most: 1, run: ([value]) => scalarOf(value?.() ?? null) === null },
  ISNUMBER: { least: 1, most: 1, run: ([value]) => typeof scalarOf(value?.() ?? null) === 'number' },
  NA: { least: 0, most: 0, run: () => NONE },
  CONCATENATE: joined,
  LEN: textFunction((text) => text.length),
  UPPER: textFunction((text) => text.toUpperCase()),
  LOWER: textFunction((text) => text.toLowerCase()),
  TRIM: textFunction((text) => text.replace(/ +/g, ' ').replace(/^ | $/g, '')),
  LEFT: textFunction((text, count = 1) => (count < 0 ? VALUE : text.slice(0, count)), 1, 2),
  RIGHT: textFunction((text, count = 1) => (count < 0 ? VALUE : count === 0 ? '' : text.slice(-count)), 1, 2),
  MID: textFunction(
    (text, from = 1, count = 0) => (from < 1 || count < 0 ? VALUE : text.slice(from - 1, from - 1 + count)),
    3,
    3,
  ),
  YEAR: dayPart((date) => date.getUTCFullYear()),
  MONTH: dayPart((date) => date.getUTCMonth() + 1),
  DAY: dayPart((date) => date.getUTCDate()),
  DATE: numberFunction(3, 3, (year = 0, month = 0, day = 0) =>
    serialOf(Math.trunc(year), Math.trunc(month), Math.trunc(day)),
  ),
};
