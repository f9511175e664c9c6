/**
 * Lays out the text part: paragraphs wrapped at 78 columns (RFC 5322, section 2.1.1), headings underlined, tables in
 * columns.
 */
import { safeLink, type LinkRules } from '../../../domain/rendering/addresses.js';
import { isolatesByLine, withoutIsolates, type Direction } from '../../../domain/rendering/direction.js';
import { progressOf, type Progress } from '../../../domain/rendering/expand/expanded.js';

const TEXT_COLUMNS = 78;

/** Prefixes of lines leave at least half of the line to the text, however deep lists and quotations are nested. */
const PREFIX_COLUMNS = TEXT_COLUMNS / 2;
const LABEL_COLUMNS = TEXT_COLUMNS;

/**
 * A blank that an author wrote as one (`&nbsp;`): wrapping and `tidy` keep it, `finish` makes it a blank. Values hold
 * no controls.
 */
export const HARD_BLANK = '\u0002';

/** A line as HTML shows it: a run of blanks is one, and none stand at the ends. */
const tidy = (line: string): string => (line.includes('  ') ? line.replace(/ {2,}/g, ' ') : line).trim();

const BREAK = /\r\n|[\n\r\u0085\u2028\u2029]/;

/**
 * In: one paragraph (its own line breaks are kept), what its first line and its other lines begin with.
 * Out: lines of at most 78 characters; a word that is longer, such as a link, has a line to itself and stays whole.
 */
export const wrap = (text: string, first = '', rest = first): string => {
  if (rest.length > PREFIX_COLUMNS) return wrap(text, first.slice(-PREFIX_COLUMNS), rest.slice(-PREFIX_COLUMNS));
  return text
    .split(BREAK)
    .map((line, at) => wrapLine(tidy(line), at === 0 ? first : rest, rest))
    .join('\n');
};

const wrapLine = (line: string, first: string, rest: string): string => {
  if (first.length + line.length <= TEXT_COLUMNS) return line === '' ? first.trimEnd() : first + line;
  let out = '';
  let current = first;
  let empty = true;
  for (const word of line.split(' ')) {
    if (!empty && current.length + 1 + word.length > TEXT_COLUMNS) {
      out += `${current}\n`;
      current = rest;
      empty = true;
    }
    current += (empty ? '' : ' ') + word;
    empty = false;
  }
  return out + current;
};

/** The cells of a row that is no table, beside each other. */
export const beside = (cells: readonly string[]): string =>
  cells
    .map(tidy)
    .filter((cell) => cell.replaceAll(HARD_BLANK, '').trim() !== '')
    .join(HARD_BLANK + HARD_BLANK);

/** The lines of a text on one line, for labels and marks: those that hold nothing leave no comma. */
export const oneLine = (text: string): string => {
  const lines = text.split(BREAK);
  return lines.length === 1
    ? text
    : lines
        .map(tidy)
        .filter((line) => line !== '')
        .join(', ');
};

/**
 * In: the words of a link, and its address. Out: the words with the address in brackets; the words alone where they say
 * the address or there is nowhere to go; the address alone where there are no words, and where they are the address
 * without its scheme.
 */
export const linked = (words: string, address: string, rules: LinkRules): string => {
  const safe = safeLink(address, rules);
  const shown = safe === undefined ? '' : shownAddress(safe);
  const label = withoutIsolates(words).trim();
  if (shown === '') return words;
  if (label === '') return shown;
  if (/^https?:/i.test(shown)) {
    if (bareAddress(label) !== bareAddress(shown)) return withTail(words, shown);
    return /^https?:/i.test(label) ? words : words.replace(words.trim(), () => shown);
  }
  return says(label, shown, /^(?:tel|sms):/i.test(safe ?? '')) ? words : withTail(words, shown);
};

const withTail = (words: string, shown: string): string => {
  const label = words.trimEnd();
  return `${label} (${shown})${words.slice(label.length)}`;
};

/** A host and a path as people write them. */
const bareAddress = (address: string): string =>
  address
    .replaceAll(' ', '%20')
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/\/$/, '');

/**
 * An address as people read it: numbers and mailboxes without scheme, subject and body; nothing for a place in the mail
 * itself.
 */
const shownAddress = (address: string): string => {
  const [, scheme, rest = ''] = /^(mailto|tel|sms):([^?;]*)/i.exec(address) ?? [];
  if (scheme === undefined) return address.startsWith('#') ? '' : address;
  return decoded(rest).replace(/,\s*/g, ', ');
};

const decoded = (text: string): string => {
  try {
    const plain = decodeURIComponent(text);
    return /^[^\x00-\x20\x7f:<>()"]+$/.test(plain) ? plain : text;
  } catch {
    return text;
  }
};

/** Fewer digits may be part of anything. */
const NUMBER_DIGITS_MIN = 5;

/** True where the words hold the address; a number also as people of its country dial it. */
const says = (label: string, shown: string, isNumber: boolean): boolean => {
  const number = digitsOf(shown);
  const digits = digitsOf(label);
  if (!isNumber || number === '' || digits === '') return label.toLowerCase().includes(shown.toLowerCase());
  const national = digits.replace(/^0+/, '');
  return digits.includes(number) || (national.length >= NUMBER_DIGITS_MIN && number.endsWith(national));
};

const digitsOf = (text: string): string => text.replaceAll('(0)', '').replace(/\D/g, '');

const RAISED_SIGNS = { sup: '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ', sub: '₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₙᵢ' };
const PLAIN_SIGNS = '0123456789+-−=()ni';
const MARKS_OF_TRADE: Readonly<Record<string, string>> = { TM: '™', SM: '℠' };
const RAISED_MAX = 12;

/**
 * In: a text that HTML raises (`sup`) or lowers (`sub`). Out: digits and signs as Unicode has them; letters above the
 * line as they are, for they are the ends of words (1st, Mme); other short texts behind `^` or `_`.
 */
export const raised = (text: string, tag: 'sup' | 'sub'): string => {
  const core = withoutIsolates(text).trim();
  if (core === '' || core.length > RAISED_MAX) return text;
  const put = (shown: string): string => text.replace(core, () => shown);
  if (tag === 'sup' && Object.hasOwn(MARKS_OF_TRADE, core)) return put(MARKS_OF_TRADE[core] ?? core);
  if (!/[\p{N}]/u.test(core)) {
    return tag === 'sup' || !/^\p{L}+$/u.test(core) ? text : put(`_${core}`);
  }
  const signs = [...core].map(
    (char) => [...RAISED_SIGNS[tag]][[...PLAIN_SIGNS].indexOf(char)] ?? (/[\s,*†‡[\]]/.test(char) ? char : ''),
  );
  if (!signs.includes('')) return put(signs.join(''));
  return /\s/.test(core) ? text : put(`${tag === 'sup' ? '^' : '_'}(${core})`);
};

const ROMAN: readonly (readonly [number, string])[] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
];
const ROMAN_MAX = 3_999;

const romanOf = (number: number): string => {
  let out = '';
  let left = number;
  for (const [value, sign] of ROMAN) {
    out += sign.repeat(Math.floor(left / value));
    left %= value;
  }
  return out;
};

const lettersOf = (number: number): string =>
  (number > 26 ? lettersOf(Math.floor((number - 1) / 26)) : '') + String.fromCharCode(97 + ((number - 1) % 26));

/** The mark of an item of a list. `type` is that of HTML: `1`, `a`, `A`, `i`, `I`. */
export const mark = (number: number, type: string): string => {
  const isRoman = /^i$/i.test(type) && number > 0 && number <= ROMAN_MAX;
  const isLetter = /^a$/i.test(type) && number > 0;
  const sign = isRoman ? romanOf(number) : isLetter ? lettersOf(number) : String(number);
  return `${type === 'A' || type === 'I' ? sign.toUpperCase() : sign}. `;
};

/** The whole number that an attribute holds, or `otherwise`. */
export const integer = (text: string, otherwise: number): number =>
  /^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : otherwise;

/** A heading over a line of its own length. */
export const heading = (text: string, mark: string): string => {
  const title = wrap(text);
  const longest = title.split('\n').reduce((columns, line) => Math.max(columns, columnsOf(line)), 0);
  return longest === 0 ? '' : `${title}\n${mark.repeat(Math.min(longest, TEXT_COLUMNS))}`;
};

const MARKS: Readonly<Record<Progress, string>> = {
  completed: '[x] ',
  current: '[>] ',
  pending: '[ ] ',
  other: '- ',
  none: '- ',
};

/** One step of a timeline: its mark, title, date and status on the first line, its description below. */
export const moment = (title: string, date: string, status: string, description: string): string => {
  const progress = progressOf(withoutIsolates(status));
  const mark = MARKS[progress];
  const indent = ' '.repeat(mark.length);
  const head = [title, date, progress === 'other' ? status : ''].filter((part) => part !== '').join(' - ');
  return wrap(head, mark, indent) + (description === '' ? '' : `\n${wrap(description, indent)}`);
};

/**
 * A cell of a table: its text, the columns that it reaches over, and its side (l, c, r), which is '' where it is that
 * of its column.
 */
export type TextCell = readonly [text: string, span: number, side: string];
export type TextRow = readonly TextCell[];

export type TextTable = Readonly<{
  heads: readonly TextRow[];
  rows: readonly TextRow[];
  feet: readonly TextRow[];
  /** One character for each column: l, c, r, or n, which is r where all values of the column are numbers and else l. */
  aligns: string;
  /** Columns made of blanks stand below each other only where every letter runs the same way. */
  isLabelled: boolean;
  /** The first cell of each row is its head. */
  isKeyed: boolean;
  /** Columns of the line that a table takes at least where its last column stands at the right. */
  least: number;
  /** The prefix of the first line; `rest` is that of the other lines. */
  first: string;
  rest: string;
}>;

const GAP = 2;
const TABLE_COLUMNS = 60;

/** The lines of a cell or an item, without those that hold nothing. */
export const cellLines = (cell: string): readonly string[] =>
  cell.includes('\n')
    ? isolatesByLine(cell)
        .split('\n')
        .map(tidy)
        .filter((line) => line !== '')
    : [tidy(cell)];

/** `columns`: how wide each of the lines is. */
type LaidCell = Readonly<{
  lines: readonly string[];
  columns: readonly number[];
  at: number;
  span: number;
  side: string;
}>;

const laid = (row: TextRow): readonly LaidCell[] => {
  let at = 0;
  return row.map(([text, span, side]) => {
    const lines = cellLines(text);
    const cell = { lines, columns: lines.map(columnsOf), at, span, side };
    at += span;
    return cell;
  });
};

/** Rows in aligned columns where they fit into the line, else each row as lines of `label: value`. */
export const grid = (given: TextTable): string => {
  const [heads, rows, feet] = [given.heads.map(laid), given.rows.map(laid), given.feet.map(laid)];
  const { rest } = given;
  const widths = widthsOf([...heads, ...rows, ...feet], given.aligns.length);
  if (given.isLabelled || rest.length + spread(widths) > TEXT_COLUMNS) return beginning(labelledRows(given), given);
  const wide = Math.max(given.aligns.indexOf('l'), 0);
  if (given.aligns.endsWith('r')) widths[wide] = (widths[wide] ?? 0) + Math.max(given.least - spread(widths), 0);
  const total = spread(widths);
  const sides = [...given.aligns].map((side, column) =>
    side === 'n' ? (holdsNumbers(rows, column) ? 'r' : 'l') : side,
  );
  const rule = rest + '-'.repeat(total);
  const lines = (row: readonly LaidCell[]): readonly string[] =>
    aligned(row, widths, sides).map((line) => (rest + line).trimEnd());
  return beginning(
    [
      ...heads.flatMap(lines),
      ...(heads.length > 0 ? [rule] : []),
      ...rows.flatMap(lines),
      ...(feet.length > 0 ? [rule] : []),
      ...feet.flatMap(lines),
    ].join('\n'),
    given,
  );
};

const beginning = (text: string, { first, rest }: Pick<TextTable, 'first' | 'rest'>): string =>
  text === '' ? '' : first + text.slice(rest.length);

/** Columns of the line that `span` columns of a table from `at` on take; a column without any text takes none. */
const spread = (widths: readonly number[], at = 0, span = widths.length): number => {
  let sum = 0;
  for (let column = at; column < at + span; column += 1) {
    const width = widths[column] ?? 0;
    if (width > 0) sum += width + (sum > 0 ? GAP : 0);
  }
  return sum;
};

const widthsOf = (rows: readonly (readonly LaidCell[])[], count: number): number[] => {
  const widths: number[] = new Array<number>(count).fill(0);
  const widen = (isSpan: boolean): void => {
    for (const row of rows)
      for (const { columns, at, span } of row) {
        if (span > 1 !== isSpan) continue;
        let wide = 0;
        for (const columnsOfLine of columns) wide = Math.max(wide, columnsOfLine);
        const short = wide - spread(widths, at, span);
        if (short <= 0) continue;
        const last = widths.findLastIndex((width, column) => width > 0 && column >= at && column < at + span);
        const column = last < 0 ? at : last;
        widths[column] = (widths[column] ?? 0) + short;
      }
  };
  widen(false);
  widen(true);
  return widths;
};

const NUMBER = /^[(+\-−]?\s*(?:[A-Z]{3}|\p{Sc})?\s*[+\-−]?\d[\d.,'’\s]*(?:[A-Z]{3}|\p{Sc}|%)?\s*\)?$/u;
const DATE = /^\d{1,2}\.\s?\d{1,2}\.(?:\s?\d{2,4})?$/;

/** True for a column with numbers, amounts or shares alone. */
const holdsNumbers = (rows: readonly (readonly LaidCell[])[], column: number): boolean => {
  let isAny = false;
  for (const row of rows)
    for (const { lines, at, span } of row) {
      if (at !== column || span !== 1) continue;
      for (const line of lines) {
        const text = withoutIsolates(line).trim();
        if (text === '') continue;
        if (!NUMBER.test(text) || DATE.test(text)) return false;
        isAny = true;
      }
    }
  return isAny;
};

/** In: the rows of a table component, without spans. */
const tableOf = (
  rows: readonly (readonly string[])[],
  header: readonly string[] | undefined,
  footer: readonly string[] | undefined,
): Omit<TextTable, 'aligns' | 'isLabelled'> => {
  const cells = (row: readonly string[]): TextRow => row.map((text) => [text, 1, '']);
  return {
    heads: header === undefined ? [] : [cells(header)],
    rows: rows.map(cells),
    feet: footer === undefined ? [] : [cells(footer)],
    isKeyed: false,
    // Amounts at the right end stand below each other from table to table.
    least: TABLE_COLUMNS,
    first: '',
    rest: '',
  };
};

/** The table of a component in aligned columns. */
export const table = (
  rows: readonly (readonly string[])[],
  aligns: string,
  header: readonly string[] | undefined,
  footer: readonly string[] | undefined,
): string => grid({ ...tableOf(rows, header, footer), aligns, isLabelled: false });

/** The table of a component, each row as lines of `label: value`. */
export const labelled = (
  rows: readonly (readonly string[])[],
  header: readonly string[] | undefined,
  footer: readonly string[] | undefined,
): string => grid({ ...tableOf(rows, header, footer), aligns: '', isLabelled: true });

const SPACES = ' '.repeat(TEXT_COLUMNS);

/** One row: as many lines as its highest cell has. */
const aligned = (row: readonly LaidCell[], widths: readonly number[], sides: readonly string[]): readonly string[] => {
  let height = 1;
  for (const { lines } of row) height = Math.max(height, lines.length);
  const written: string[] = [];
  for (let line = 0; line < height; line += 1) {
    let out = '';
    let isFirst = true;
    for (const { lines, columns, at, span, side } of row) {
      const width = span === 1 ? widths[at]! : spread(widths, at, span);
      if (width === 0) continue;
      const text = lines[line] ?? '';
      const spare = Math.max(width - (columns[line] ?? 0), 0);
      const place = side === '' ? (span > 1 ? 'l' : sides[at]) : side;
      const left = place === 'r' ? spare : place === 'c' ? spare >> 1 : 0;
      out += `${isFirst ? '' : '  '}${SPACES.slice(0, left)}${text}${SPACES.slice(0, spare - left)}`;
      isFirst = false;
    }
    written.push(out.trimEnd());
  }
  return written;
};

/** Each row as lines of `label: value`; a row of one cell behind its head as one line. */
const labelledRows = ({ heads, rows, feet, isKeyed, rest }: TextTable): string => {
  const labels = labelsOf(heads);
  const line = (label: string, cell: string): string => {
    const name = label.replace(/\s*:$/, '');
    return wrap(name === '' ? cell : `${name}: ${cell}`, rest, `${rest}  `);
  };
  const lines = (row: TextRow): string => {
    const [head, value] = row;
    if (isKeyed && labels.size === 0 && row.length === 2 && head !== undefined && value !== undefined)
      return value[0] === '' ? '' : line(oneLine(isolatesByLine(head[0])), value[0]);
    return laid(row)
      .flatMap(({ at }, index) => {
        const cell = row[index]?.[0] ?? '';
        return cell.trim() === '' ? [] : [line(labels.get(at) ?? '', cell)];
      })
      .join('\n');
  };
  const isOneLine = isKeyed && labels.size === 0;
  return [...rows, ...feet]
    .map(lines)
    .filter((block) => block !== '')
    .join(isOneLine ? '\n' : `\n${rest.trimEnd()}\n`);
};

/** The label of each column: the heads above it, from the last row upwards the first that holds a text. */
const labelsOf = (heads: readonly TextRow[]): ReadonlyMap<number, string> => {
  const labels = new Map<number, string>();
  for (const head of heads) {
    let column = 0;
    for (const [text, span] of head) {
      // It stands in every row, so its length counts as often as there are rows.
      const label = oneLine(isolatesByLine(text.slice(0, LABEL_COLUMNS)));
      for (let at = column; at < column + span; at += 1) if (label.trim() !== '') labels.set(at, label);
      column += span;
    }
  }
  return labels;
};

const NARROW = /^[\x00-\u02ff\u2010-\u2027\u20a0-\u20bf]*$/;
/** Scripts and signs that fixed fonts draw two columns wide (UAX 11), pictures of people and things too. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks and signs that take no room of their own. */
const NO_ROOM = /[\p{Mn}\p{Me}\p{Cf}\ufe0f]/u;

/** Columns that a text takes in a fixed font. */
const columnsOf = (text: string): number => {
  if (NARROW.test(text)) return text.length;
  let columns = 0;
  for (const char of text) columns += NO_ROOM.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return columns;
};

/** The last touch: no trailing blanks, never two empty lines in a row, one line break at the end. */
export const finish = (text: string, direction: Direction = 'ltr'): string => {
  const trimmed = text
    .replaceAll(HARD_BLANK, ' ')
    .replace(/^\s*\n/, '')
    .trimEnd();
  const spaced = trimmed.includes('\n\n\n') ? trimmed.replace(/\n{3,}/g, '\n\n') : trimmed;
  const whole = isolatesByLine(spaced);
  return `${direction === 'rtl' ? marked(whole) : whole}\n`;
};

const RIGHT_TO_LEFT_MARK = '\u200f';

/**
 * Readers of plain text take the direction of each line from its first letter, which may be of a name, a number or a
 * link.
 */
const marked = (text: string): string => text.replace(/^(?=[^\n])/gm, RIGHT_TO_LEFT_MARK);
