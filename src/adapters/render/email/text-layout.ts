/** Lays out the text part: paragraphs wrapped at 78 columns (RFC 5322, section 2.1.1), headings underlined, tables in columns. */
import { safeLink, type LinkRules } from '../../../domain/rendering/addresses.js';
import { isolatesByLine, withoutIsolates, type Direction } from '../../../domain/rendering/direction.js';
import { progressOf, type Progress } from '../../../domain/rendering/expand/expanded.js';

const TEXT_COLUMNS = 78;

/** What lines begin with leaves at least half of the line to the text, however deep lists and quotations are nested. */
const PREFIX_COLUMNS = TEXT_COLUMNS / 2;
const LABEL_COLUMNS = TEXT_COLUMNS;

/** A blank that an author wrote as one (`&nbsp;`): wrapping and `tidy` keep it, `finish` makes it a blank. Values hold no controls. */
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
 * In: the words of a link, and its address. Out: the words with the address in brackets; the words alone where they say the address or there
 * is nowhere to go; the address alone where there are no words, and where they are the address without its scheme.
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

/** An address as people read it: numbers and mailboxes without scheme, subject and body; nothing for a place in the mail itself. */
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
 * In: a text that HTML raises (`sup`) or lowers (`sub`). Out: digits and signs as Unicode has them; letters above the line as they are, for
 * they are the ends of words (1st, Mme); other short texts behind `^` or `_`.
 */
export const raised = (text: string, tag: 'sup' | 'sub'): string => {
  const core = withoutIsolates(text).trim();
  if (core === '' || core.length > RAISED_MAX) return text;
  const put = (shown: string): string => text.replace(core, () => shown);
  if (tag === 'sup' && Object.hasOwn(MARKS_OF_TRADE, core)) return put(MARKS_OF_TRADE[core] ?? core);
  if (!/[\p{N}]/u.test(core)) {
    return tag === 'sup' || !/^\p{L}+$/u.test(core) ? text : put(`_${core}`);
  }
  const signs = [...core].map((char) => [...RAISED_SIGNS[tag]][[...PLAIN_SIGNS].indexOf(char)] ?? (/[\s,*†‡[\]]/.test(char) ? char : ''));
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

/** What an item of a list begins with. `type` is that of HTML: `1`, `a`, `A`, `i`, `I`. */
export const mark = (number: number, type: string): string => {
  const isRoman = /^i$/i.test(type) && number > 0 && number <= ROMAN_MAX;
  const isLetter = /^a$/i.test(type) && number > 0;
  const sign = isRoman ? romanOf(number) : isLetter ? lettersOf(number) : String(number);
  return `${type === 'A' || type === 'I' ? sign.toUpperCase() : sign}. `;
};

/** The whole number that an attribute holds, or `otherwise`. */
export const integer = (text: string, otherwise: number): number => (/^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : otherwise);

/** A heading over a line of its own length. */
export const heading = (text: string, mark: string): string => {
  const title = wrap(text);
  const longest = title.split('\n').reduce((columns, line) => Math.max(columns, columnsOf(line)), 0);
  return longest === 0 ? '' : `${title}\n${mark.repeat(Math.min(longest, TEXT_COLUMNS))}`;
};

const MARKS: Readonly<Record<Progress, string>> = { completed: '[x] ', current: '[>] ', pending: '[ ] ', other: '- ', none: '- ' };

/** One step of a timeline: its mark, title, date and status on the first line, its description below. */
export const moment = (title: string, date: string, status: string, description: string): string => {
  const progress = progressOf(withoutIsolates(status));
  const mark = MARKS[progress];
  const indent = ' '.repeat(mark.length);
  const head = [title, date, progress === 'other' ? status : ''].filter((part) => part !== '').join(' - ');
  return wrap(head, mark, indent) + (description === '' ? '' : `\n${wrap(description, indent)}`);
};

type TextTable = Readonly<{
  /** One character for each column: l, c, r. */
  aligns: string;
  header: readonly string[] | undefined;
  footer: readonly string[] | undefined;
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
    : [cell];

/** Rows in aligned columns where they fit into the line, else each row as lines of `label: value`. */
export const table = (rows: readonly (readonly string[])[], { aligns, header, footer }: TextTable): string => {
  const cells = (row: readonly string[]): readonly (readonly string[])[] => row.map(cellLines);
  const [head, body, foot] = [header && cells(header), rows.map(cells), footer && cells(footer)];
  const widths: number[] = new Array<number>(aligns.length).fill(0);
  for (const row of [head ?? [], ...body, foot ?? []])
    row.forEach((lines, column) => {
      for (const line of lines) widths[column] = Math.max(widths[column] ?? 0, columnsOf(line));
    });
  let total = GAP * (widths.length - 1);
  for (const width of widths) total += width;
  if (total > TEXT_COLUMNS) return labelled(rows, header, footer);
  // Amounts at the right end stand below each other from table to table.
  if (total < TABLE_COLUMNS && aligns.endsWith('r')) {
    const wide = Math.max(aligns.indexOf('l'), 0);
    widths[wide] = (widths[wide] ?? 0) + TABLE_COLUMNS - total;
    total = TABLE_COLUMNS;
  }
  const rule = '-'.repeat(total);
  let out = head === undefined ? '' : `${aligned(head, widths, aligns)}${rule}\n`;
  for (const row of body) out += aligned(row, widths, aligns);
  if (foot !== undefined) out += `${rule}\n${aligned(foot, widths, aligns)}`;
  return out.slice(0, -1);
};

const SPACES = ' '.repeat(TEXT_COLUMNS);

/** One row: as many lines as its highest cell has. */
const aligned = (row: readonly (readonly string[])[], widths: readonly number[], aligns: string): string => {
  let height = 1;
  for (const lines of row) height = Math.max(height, lines.length);
  let out = '';
  for (let at = 0; at < height; at += 1) out += `${alignedLine(row, at, widths, aligns)}\n`;
  return out;
};

const alignedLine = (row: readonly (readonly string[])[], at: number, widths: readonly number[], aligns: string): string => {
  let line = '';
  const last = widths.length - 1;
  for (let column = 0; column <= last; column += 1) {
    const cell = row[column]?.[at] ?? '';
    const spare = (widths[column] ?? 0) - columnsOf(cell);
    const side = aligns.charCodeAt(column);
    const left = side === 114 ? spare : side === 99 ? spare >> 1 : 0;
    if (column > 0) line += '  ';
    line += SPACES.slice(0, left) + cell;
    if (column < last) line += SPACES.slice(0, spare - left);
  }
  return line.trimEnd();
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

/** Each row as lines of `label: value`. */
export const labelled = (
  rows: readonly (readonly string[])[],
  header: readonly string[] | undefined,
  footer: readonly string[] | undefined,
): string => {
  const lines = (row: readonly string[]): string =>
    row
      .flatMap((cell, column) => {
        if (cell === '') return [];
        // It stands in every row, so its length counts as often as there are rows.
        const label = oneLine(isolatesByLine(header?.[column]?.slice(0, LABEL_COLUMNS) ?? ''));
        return [wrap(label === '' ? cell : `${label}: ${cell}`, '', '  ')];
      })
      .join('\n');
  return [...rows, ...(footer === undefined ? [] : [footer])]
    .map(lines)
    .filter((block) => block !== '')
    .join('\n\n');
};

/** The last touch: no trailing blanks, never two empty lines in a row, one line break at the end. */
export const finish = (text: string, direction: Direction = 'ltr'): string => {
  const trimmed = text.replaceAll(HARD_BLANK, ' ').trim();
  const spaced = trimmed.includes('\n\n\n') ? trimmed.replace(/\n{3,}/g, '\n\n') : trimmed;
  const whole = isolatesByLine(spaced);
  return `${direction === 'rtl' ? marked(whole) : whole}\n`;
};

const RIGHT_TO_LEFT_MARK = '\u200f';

/** Readers of plain text take the direction of each line from its first letter, which may be of a name, a number or a link. */
const marked = (text: string): string => text.replace(/^(?=[^\n])/gm, RIGHT_TO_LEFT_MARK);
