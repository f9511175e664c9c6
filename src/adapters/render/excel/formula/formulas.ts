/** Formulas that a template's author wrote: they name rows by words, for only the sheet knows where a table stands. */

/** Rows of the sheet, from 1: the formula's own, the first and the last of the table's data. */
export type FormulaRows = Readonly<{ row: number; first: number; last: number }>;

/**
 * In: a formula as the template has it, `=B{row}*C{row}` or `=SUM(D{first}:D{last})`. Out: the formula for that place, without the
 * equals sign; undefined where it is none to write: there is no data to sum up, or it would start a program (DDE).
 */
export const formulaAt = (formula: string, { row, first, last }: FormulaRows): string | undefined => {
  const body = formula.trim().replace(/^=\s*/, '');
  if (body === '' || callsProgram(body)) return undefined;
  if (last < first && /\{(?:first|last)\}/.test(body)) return undefined;
  const rows: Readonly<Record<string, number>> = { row, first, last };
  return body.replace(/\{(row|first|last)\}/g, (_, name: string) => String(rows[name]));
};

/** `|` outside of quotation marks is no operator: it parts a program from what it is asked to do. */
const callsProgram = (formula: string): boolean => formula.replace(/"[^"]*"/g, '').includes('|');
