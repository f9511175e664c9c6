/**
 * Codes of the qr-code component (QR codes, bar codes, payment codes): what each kind may hold, the text that it is
 * drawn from, and how many modules drawing costs. Drawing itself is done by the adapters.
 */
import { invalidAt } from '../core/errors.js';
import type { Json } from '../core/json.js';
import { toNumber } from './scope/conditions.js';
import { codePointOf } from '../../shared/text.js';

export const codeKinds = ['qr', 'ean13', 'code128', 'datamatrix', 'epc'] as const;
export type CodeKind = (typeof codeKinds)[number];
export type BarKind = Exclude<CodeKind, 'qr' | 'epc'>;

/** Look of a bar code; `height` in the output's unit, undefined for the usual one. */
export type BarLook<Length> = Readonly<{ kind: BarKind; height: Length | undefined; showText: boolean; gs1: boolean }>;

export const codeKindOf = (value: Json | undefined): CodeKind => codeKinds.find((kind) => kind === value) ?? 'qr';
export const isBarKind = (kind: CodeKind): kind is BarKind => kind !== 'qr' && kind !== 'epc';

/** Props of a payment, whose text the code puts together. */
export const epcProps = [
  'name',
  'iban',
  'bic',
  'amount',
  'purpose',
  'reference',
  'text',
] as const satisfies readonly (keyof EpcFields)[];

/** The text of a code, and the text that is read in place of the picture where that is another. */
type CodeContent = Readonly<{ text: string; alt: string | undefined }>;
/** The rest of a sentence that begins with the place of a prop. */
type CodeFault = Readonly<{ prop: string; fault: string }>;

/** Fields of a payment as the props of a call give them. */
export type EpcFields = Readonly<{
  name: string;
  iban: string;
  bic: string;
  /** Euros; empty: the payer writes it. */ amount: Json | undefined;
  purpose: string;
  /** Structured (ISO 11649, "RF…"), instead of `text`. */ reference: string;
  text: string;
}>;

type CodeText = Readonly<{ text: string }>;

/** Answers what is drawn for a component; undefined where the component says nothing. */
export const codeContent = (
  kind: CodeKind,
  gs1: boolean,
  value: string,
  payment: () => EpcFields,
): CodeContent | CodeFault | undefined => {
  if (kind === 'epc') return epcPayment(payment());
  if (value === '') return undefined;
  if (kind === 'qr') return { text: value, alt: undefined };
  const made = barCodeText(value, { kind, gs1 });
  return 'fault' in made ? made : { text: made.text, alt: undefined };
};

type ErrorCorrection = 'L' | 'M' | 'Q' | 'H';

type Capacity = Readonly<Record<ErrorCorrection, number>>;

/** How much a QR code holds (ISO/IEC 18004, version 40). */
const digitsMax: Capacity = { L: 7_089, M: 5_596, Q: 3_993, H: 3_057 };
const alphanumericMax: Capacity = { L: 4_296, M: 3_391, Q: 2_420, H: 1_852 };
const bytesMax: Capacity = { L: 2_953, M: 2_331, Q: 1_663, H: 1_273 };
/** A code with characters beyond ASCII says first that it is UTF-8. */
const utf8BytesMax: Capacity = { L: 2_952, M: 2_330, Q: 1_662, H: 1_272 };

/**
 * Throws VALIDATION_ERROR where the text is more than the largest code holds at that level. `field` is the component's
 * place in the template.
 */
export const fitsQrCode = (text: string, level: ErrorCorrection, field: string): void => {
  const [actual, max, unit] = measure(text, level);
  if (actual <= max) return;
  const at = `${field}.props.value`;
  const message = `has ${actual} ${unit}, a QR code of error correction ${level} holds ${max}`;
  throw invalidAt(at, message, { actual, max });
};

const measure = (text: string, level: ErrorCorrection): readonly [number, number, string] => {
  if (/^[0-9]*$/.test(text)) return [text.length, digitsMax[level], 'digits'];
  if (/^[0-9A-Z $%*+./:-]*$/.test(text)) return [text.length, alphanumericMax[level], 'characters'];
  const bytes = Buffer.byteLength(text);
  return [bytes, (bytes === text.length ? bytesMax : utf8BytesMax)[level], 'bytes'];
};

/** Bits of a code for each of the text, by what error correction adds. */
const share: Readonly<Record<ErrorCorrection, number>> = { L: 1.3, M: 1.6, Q: 2.2, H: 2.9 };
/** The marks of a code, and the least of its versions. */
const FIXED_MODULES = 441;

/** About how many modules the code of a text has: known from its length alone, before they are laid. */
export const qrModules = (text: string, level: ErrorCorrection): number =>
  Math.round(FIXED_MODULES + 8 * Math.min(Buffer.byteLength(text), bytesMax[level]) * share[level]);

const NAME_CHARS_MAX = 70;
const REFERENCE_CHARS_MAX = 25;
const TEXT_CHARS_MAX = 140;
const AMOUNT = { min: 0.01, max: 999_999_999.99 } as const;
const PAYLOAD_BYTES_MAX = 331;

/**
 * The text of a payment code (GiroCode): EPC069-12 version 2.1, "Quick Response Code: Guidelines to Enable Data Capture
 * for the Initiation of a SEPA Credit Transfer", version 002 of the data elements in UTF-8. Undefined where the payment
 * has neither a name nor an account: then there is nothing to pay.
 */
export const epcPayment = (given: EpcFields): CodeContent | CodeFault | undefined => {
  const [name, text] = [given.name, given.text].map((value) => value.replace(/\s+/g, ' ').trim()) as [string, string];
  const [iban, bic, reference, purpose] = [given.iban, given.bic, given.reference, given.purpose].map((value) =>
    value.replace(/\s+/g, '').toUpperCase(),
  ) as [string, string, string, string];
  if (name === '' && iban === '') return undefined;
  const amount = amountOf(given.amount);
  const fault =
    nameFault(name) ??
    ibanFault(iban) ??
    bicFault(bic) ??
    (typeof amount === 'string' ? undefined : amount) ??
    (purpose === '' || /^[A-Z0-9]{1,4}$/.test(purpose)
      ? undefined
      : at('purpose', 'must be a code of up to four letters, such as GDDS')) ??
    referenceFault(reference) ??
    (reference !== '' && text !== ''
      ? at('text', 'cannot stand beside reference: a payment has one of the two')
      : undefined) ??
    (charsOf(text) > TEXT_CHARS_MAX
      ? at('text', `has ${charsOf(text)} characters, a payment holds ${TEXT_CHARS_MAX}`)
      : undefined);
  if (fault !== undefined || typeof amount !== 'string') return fault;
  const money = amount === '' ? '' : `EUR${amount}`;
  const payload = ['BCD', '002', '1', 'SCT', bic, name, iban, money, purpose, reference, text]
    .join('\n')
    .replace(/\n+$/, '');
  const bytes = Buffer.byteLength(payload);
  if (bytes > PAYLOAD_BYTES_MAX)
    return at('text', `makes a payment of ${bytes} bytes, its code holds ${PAYLOAD_BYTES_MAX}: shorten text or name`);
  const shown = [name, iban.replace(/(.{4})(?=.)/g, '$1 '), amount === '' ? '' : `EUR ${amount}`, reference || text];
  return { text: payload, alt: shown.filter((part) => part !== '').join(', ') };
};

const at = (prop: string, fault: string): CodeFault => ({ prop, fault });

const charsOf = (text: string): number => [...text].length;

const nameFault = (name: string): CodeFault | undefined => {
  if (name === '') return at('name', 'is empty: a payment names who is paid');
  return charsOf(name) > NAME_CHARS_MAX
    ? at('name', `has ${charsOf(name)} characters, a payment holds ${NAME_CHARS_MAX}`)
    : undefined;
};

/** ISO 13616: two letters, two check digits, then up to thirty; the whole gives 1 modulo 97. */
const ibanFault = (iban: string): CodeFault | undefined => {
  if (iban === '') return at('iban', 'is empty: a payment needs the account that is paid');
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban))
    return at('iban', 'must be an IBAN such as DE89 3704 0044 0532 0130 00');
  return modulo97(iban) === 1
    ? undefined
    : at('iban', 'is no IBAN: its check digits are wrong, so a digit is missing or mistaken');
};

const modulo97 = (account: string): number => {
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
};

const bicFault = (bic: string): CodeFault | undefined =>
  bic === '' || /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/.test(bic)
    ? undefined
    : at('bic', 'must be a BIC of 8 or 11 characters, or empty');

const referenceFault = (reference: string): CodeFault | undefined => {
  if (reference === '') return undefined;
  if (!/^RF\d{2}[A-Z0-9]+$/.test(reference) || reference.length > REFERENCE_CHARS_MAX)
    return at(
      'reference',
      'must be a creditor reference of ISO 11649 such as RF18 5390 0754 7034; give any other as text',
    );
  return modulo97(reference) === 1
    ? undefined
    : at('reference', 'is no creditor reference: its check digits are wrong');
};

/** Rounded to cents as amounts are printed. */
const cents = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  useGrouping: false,
});

const amountOf = (value: Json | undefined): string | CodeFault => {
  if (value === undefined || value === null || value === '') return '';
  const euros = toNumber(value);
  if (euros === undefined || !Number.isFinite(euros)) return at('amount', 'must be a number of euros such as 119.90');
  const written = cents.format(euros);
  if (Number(written) < AMOUNT.min || Number(written) > AMOUNT.max)
    return at('amount', `is ${written}, a payment is of 0.01 to 999999999.99 euros`);
  return written;
};

const CODE128_CHARS_MAX = 80;
const DATA_MATRIX_BYTES_MAX = 800;

/** Longest element string of GS1 in one Code 128, identifiers included. */
const GS1_128_CHARS_MAX = 48;

/** The text as the code holds it; a fault where it cannot. */
export const barCodeText = (
  value: string,
  { kind, gs1 }: Pick<BarLook<unknown>, 'kind' | 'gs1'>,
): CodeText | CodeFault => {
  const fault = (text: string): CodeFault => ({ prop: 'value', fault: text });
  switch (kind) {
    case 'ean13':
      return ean13Text(value);
    case 'code128': {
      const max = gs1 ? GS1_128_CHARS_MAX : CODE128_CHARS_MAX;
      const data = gs1 ? value.replace(/[()]/g, '') : value;
      const odd = /[^\x20-\x7e]/u.exec(value)?.[0];
      if (odd !== undefined)
        return fault(`holds ${nameOf(odd)}; a Code 128 holds the letters, digits and signs of ASCII`);
      if (data.length > max)
        return fault(`has ${data.length} characters, a ${gs1 ? 'GS1-128' : 'Code 128'} holds ${max}`);
      return gs1 ? gs1Text(value) : { text: value };
    }
    case 'datamatrix': {
      const bytes = Buffer.byteLength(value);
      if (bytes > DATA_MATRIX_BYTES_MAX)
        return fault(`has ${bytes} bytes, a Data Matrix holds ${DATA_MATRIX_BYTES_MAX} here`);
      return gs1 ? gs1Text(value) : { text: value };
    }
  }
};

const nameOf = (character: string): string =>
  /\p{L}/u.test(character) ? `"${character}"` : `the character ${codePointOf(character)}`;

/** Splits an element string; whether each part is right for its identifier is checked where the code is drawn. */
const gs1Text = (value: string): CodeText | CodeFault =>
  /^(?:\(\d{2,4}\)[^()]+)+$/.test(value)
    ? { text: value }
    : {
        prop: 'value',
        fault: 'must be parts of GS1, each with its identifier in brackets, such as (01)09521234543213(10)ABC123',
      };

/**
 * Twelve digits get their check digit; thirteen must have the right one. Blanks and hyphens between digits are left
 * out.
 */
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

/** About how many modules of a QR code the work for a bar code is worth, by its text alone. */
export const barModules = (kind: BarKind, text: string): number =>
  kind === 'datamatrix' ? 1_000 + 60 * text.length : 500;
