/**
 * The output of commands that call a service elsewhere: text of mails without control characters, tables, JSON, and
 * faults with their codes.
 */
import { SealpostError } from '../../../packages/sdk/src/index.js';
import { ConfigError } from '../../service/settings/config.js';
import { explain, print, printFault, withoutKeys } from '../core/output.js';

/** Options of every command from afar. */
export type RemoteOptions = Readonly<{
  url?: string;
  key?: string;
  profile?: string;
  json?: boolean;
  color?: boolean;
}>;

export type CliCode =
  | 'NOT_CONNECTED'
  | 'PROFILE_UNKNOWN'
  | 'PROFILES_UNSAFE'
  | 'KEY_REFUSED'
  | 'SIGN_IN_FAILED'
  | 'OPTION_INVALID'
  | 'FILE_INVALID'
  | 'NOT_FOUND'
  | 'CHANGED_MEANWHILE'
  | 'NOT_PUSHED'
  | 'TEMPLATE_INVALID'
  | 'SETTING_INVALID';

/** A fault that this side found, with its code. */
export class CliFault extends Error {
  override readonly name = 'CliFault';
  readonly code: CliCode;

  constructor(code: CliCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Control characters, and marks that change the direction of text: a subject must not steer the terminal. */
const STEERING = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

/** In: text of a mail, of a template or of a host. Out: one line that is safe on a terminal. */
export const safe = (text: string): string => text.replace(STEERING, ' ');

/** JSON leaves C1 control characters as they are, and terminals act on them. */
const escaped = (json: string): string =>
  json.replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Prints one JSON document. */
export const printJson = (value: unknown): void => print(escaped(JSON.stringify(value, undefined, 2)));

/** Prints one JSON value as a line. */
export const printJsonLine = (value: unknown): void => print(escaped(JSON.stringify(value)));

const colors = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;
export type Paint = (color: keyof typeof colors, text: string) => string;

/** In: whether colours are wanted. Out: a function that colours text for a terminal, and leaves it alone elsewhere. */
export const paintOf = (isWanted: boolean): Paint =>
  isWanted && process.stdout.isTTY ? (color, text) => `\u001b[${colors[color]}m${text}\u001b[0m` : (_, text) => text;

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Columns that a character takes on a terminal. */
const columnsOf = (sign: string): number => (/[\p{M}\p{Cf}]/u.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1);

const widthOf = (text: string): number => [...text].reduce((sum, sign) => sum + columnsOf(sign), 0);

/** In: a text. Out: its beginning that fits into so many columns. */
export const shortened = (text: string, columnsMax: number): string => {
  if (widthOf(text) <= columnsMax) return text;
  let [begun, width] = ['', 0];
  for (const sign of text) {
    width += columnsOf(sign);
    if (width > columnsMax - 1) break;
    begun += sign;
  }
  return `${begun}…`;
};

/** In: a text. Out: what fits into so many columns, filled up to them. */
export const fitted = (text: string, columns: number): string => {
  const part = shortened(text, columns);
  return part + ' '.repeat(columns - widthOf(part));
};

/** Columns of a pipe, in which programs look for a whole name, and for an id on the line of its email. */
const PIPE_COLUMNS = 160;

/** Columns of the terminal, or of a pipe. */
export const terminalColumns = (): number => Math.max(process.stdout.columns ?? PIPE_COLUMNS, 80);

/** In: rows of safe cells, the first of them the titles. Out: lines whose columns are as wide as their widest cell. */
export const tableOf = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => fitted(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};

const codeOf = (fault: unknown): string =>
  fault instanceof SealpostError || fault instanceof CliFault
    ? fault.code
    : fault instanceof ConfigError
      ? 'SETTING_INVALID'
      : 'FAILED';

/** Prints a fault on standard error: a sentence, or with `--json` an object with its code. The command ends with 1. */
export const tellFault = (fault: unknown, isJson: boolean): void => {
  process.exitCode = 1;
  const message = withoutKeys(explain(fault));
  if (!isJson) {
    const code = fault instanceof SealpostError ? ` (${fault.code})` : '';
    printFault(`sealpost: ${safe(message)}${code}`);
    if (fault instanceof SealpostError)
      for (const { field, message: why } of fault.errors.slice(1)) printFault(`  ${safe(`${field} ${why}`)}`);
    return;
  }
  const details =
    fault instanceof SealpostError
      ? {
          status: fault.status,
          ...(fault.errors.length === 0 ? {} : { errors: fault.errors }),
          ...(fault.requestId === undefined ? {} : { requestId: fault.requestId }),
        }
      : {};
  printFault(escaped(JSON.stringify({ error: { code: codeOf(fault), message, ...details } })));
};

/** In: an option, its text and the choices. Throws OPTION_INVALID. */
export const chosenOf = <Choice extends string>(option: string, text: string, choices: readonly Choice[]): Choice => {
  const choice = choices.find((one) => one === text);
  if (choice === undefined)
    throw new CliFault('OPTION_INVALID', `${option} ${text} is not one of ${choices.join(', ')}`);
  return choice;
};

/** Throws OPTION_INVALID. */
export const numberOf = (option: string, text: string, max: number): number => {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max)
    throw new CliFault('OPTION_INVALID', `${option} ${text} is not a whole number from 1 to ${max}`);
  return number;
};
