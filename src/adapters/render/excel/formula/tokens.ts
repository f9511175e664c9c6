/** A formula of a template taken apart: numbers, texts, names, places of cells, operators. */

/** A row as the template writes it: fixed, or one of those that only the sheet knows. */
export type RowMark = number | 'row' | 'first' | 'last';
export type Token =
  | Readonly<{ kind: 'number'; value: number }>
  | Readonly<{ kind: 'mark'; mark: Exclude<RowMark, number> }>
  | Readonly<{ kind: 'text'; value: string }>
  /** `sheet` undefined: the formula's own. */
  | Readonly<{ kind: 'cell'; sheet: string | undefined; column: number; row: RowMark }>
  | Readonly<{ kind: 'name'; name: string }>
  | Readonly<{ kind: 'sign'; sign: string }>;

const PIECE =
  /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)(?![A-Za-z_{])|"((?:[^"]|"")*)"|(?:('(?:[^']|'')+'|[A-Za-z_][\w.]*)!)?\$?([A-Za-z]{1,3})\$?(\d{1,7}|\{(?:row|first|last)\})(?![\w({.])|\{(row|first|last)\}|([A-Za-z_][\w.]*)(?=\s*\()|(TRUE|FALSE)\b|(<=|>=|<>|[-+*/^&=<>%(),:]))/iy;

/** Undefined where there is something that is not known here. */
export const tokensOf = (formula: string): readonly Token[] | undefined => {
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
  if (column !== undefined && row !== undefined) return { kind: 'cell', sheet: sheetOf(sheet), column: columnOf(column), row: rowOf(row) };
  if (mark !== undefined) return { kind: 'mark', mark: markOf(mark) };
  const name = called ?? truth;
  return name === undefined ? { kind: 'sign', sign: sign ?? '' } : { kind: 'name', name: name.toUpperCase() };
};

const sheetOf = (written: string | undefined): string | undefined =>
  written?.startsWith("'") === true ? written.slice(1, -1).replaceAll("''", "'") : written;
const rowOf = (written: string): RowMark => (written.startsWith('{') ? markOf(written.slice(1, -1)) : Number(written));
const markOf = (written: string): Exclude<RowMark, number> => (written === 'first' || written === 'last' ? written : 'row');

/** A is 1. */
const columnOf = (letters: string): number =>
  [...letters.toUpperCase()].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
