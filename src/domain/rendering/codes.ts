/** What each kind of code of the qr-code component may hold: digits, letters, lengths. Drawing is an adapter's. */
import { codePointOf } from '../../shared/text.js';
import type { Json } from '../core/json.js';
import { epcPayment, type CodeContent, type CodeFault, type EpcFields } from './epc.js';

export const codeKinds = ['qr', 'ean13', 'code128', 'datamatrix', 'epc'] as const;
export type CodeKind = (typeof codeKinds)[number];
export type BarKind = Exclude<CodeKind, 'qr' | 'epc'>;

/** How a bar code is drawn; `height` in the output's unit, undefined: the usual one. */
export type BarLook<Length> = Readonly<{ kind: BarKind; height: Length | undefined; showText: boolean; gs1: boolean }>;

export const codeKindOf = (value: Json | undefined): CodeKind => codeKinds.find((kind) => kind === value) ?? 'qr';
export const isBarKind = (kind: CodeKind): kind is BarKind => kind !== 'qr' && kind !== 'epc';

/** Props of a payment, whose text the code puts together. */
export const epcProps = ['name', 'iban', 'bic', 'amount', 'purpose', 'reference', 'text'] as const satisfies readonly (keyof EpcFields)[];

export type CodeText = Readonly<{ text: string }>;

const CODE128_CHARS_MAX = 80;
const DATA_MATRIX_BYTES_MAX = 800;
/** Of all that one code says, an element string of GS1 included. */
const GS1_128_CHARS_MAX = 48;

/** The text as the code holds it; a fault where it cannot. */
export const barCodeText = (value: string, { kind, gs1 }: Pick<BarLook<unknown>, 'kind' | 'gs1'>): CodeText | CodeFault => {
  const fault = (text: string): CodeFault => ({ prop: 'value', fault: text });
  switch (kind) {
    case 'ean13':
      return ean13Text(value);
    case 'code128': {
      const max = gs1 ? GS1_128_CHARS_MAX : CODE128_CHARS_MAX;
      const data = gs1 ? value.replace(/[()]/g, '') : value;
      const odd = /[^\x20-\x7e]/u.exec(value)?.[0];
      if (odd !== undefined) return fault(`holds ${nameOf(odd)}; a Code 128 holds the letters, digits and signs of ASCII`);
      if (data.length > max) return fault(`has ${data.length} characters, a ${gs1 ? 'GS1-128' : 'Code 128'} holds ${max}`);
      return gs1 ? gs1Text(value) : { text: value };
    }
    case 'datamatrix': {
      const bytes = Buffer.byteLength(value);
      if (bytes > DATA_MATRIX_BYTES_MAX) return fault(`has ${bytes} bytes, a Data Matrix holds ${DATA_MATRIX_BYTES_MAX} here`);
      return gs1 ? gs1Text(value) : { text: value };
    }
  }
};

const nameOf = (character: string): string => (/\p{L}/u.test(character) ? `"${character}"` : `the character ${codePointOf(character)}`);

/** Whether each part is right for its identifier is judged where the code is laid. */
const gs1Text = (value: string): CodeText | CodeFault =>
  /^(?:\(\d{2,4}\)[^()]+)+$/.test(value)
    ? { text: value }
    : { prop: 'value', fault: 'must be parts of GS1, each with its identifier in brackets, such as (01)09521234543213(10)ABC123' };

/** Twelve digits get their check digit; thirteen must have the right one. Blanks and hyphens between digits are left out. */
export const ean13Text = (value: string): CodeText | CodeFault => {
  const digits = value.replace(/[\s-]/g, '');
  if (!/^\d{12,13}$/.test(digits)) {
    const fault = /^\d+$/.test(digits)
      ? `has ${digits.length} digits; an EAN-13 has 13, or 12 and the check digit is added`
      : 'must be the 12 or 13 digits of an EAN-13';
    return { prop: 'value', fault };
  }
  const right = digits.slice(0, 12) + checkDigit(digits);
  if (digits.length === 13 && digits !== right)
    return {
      prop: 'value',
      fault: `ends in ${digits.slice(12)}, but the check digit of ${digits.slice(0, 12)} is ${right.slice(12)}: ${right}`,
    };
  return { text: right };
};

const checkDigit = (digits: string): number => {
  let sum = 0;
  for (let at = 0; at < 12; at += 1) sum += Number(digits[at]) * (at % 2 === 0 ? 1 : 3);
  return (10 - (sum % 10)) % 10;
};

/** What is drawn for a component; undefined: it says nothing. */
export const codeContent = (kind: CodeKind, gs1: boolean, value: string, payment: () => EpcFields): CodeContent | CodeFault | undefined => {
  if (kind === 'epc') return epcPayment(payment());
  if (value === '') return undefined;
  if (kind === 'qr') return { text: value, alt: undefined };
  const made = barCodeText(value, { kind, gs1 });
  return 'fault' in made ? made : { text: made.text, alt: undefined };
};

/** About how many modules of a QR code the work for a bar code is worth, by its text alone. */
export const barModules = (kind: BarKind, text: string): number => (kind === 'datamatrix' ? 1_000 + 60 * text.length : 500);
