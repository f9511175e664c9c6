/**
 * The text of a payment code (GiroCode): EPC069-12 version 2.1, "Quick Response Code: Guidelines to Enable Data Capture for the
 * Initiation of a SEPA Credit Transfer", version 002 of the data elements in UTF-8.
 */
import type { Json } from '../core/json.js';
import { toNumber } from './scope/conditions.js';

/** What is drawn: the text of a code, and what is read in the place of the picture where that is another. */
export type CodeContent = Readonly<{ text: string; alt: string | undefined }>;
/** The rest of a sentence that begins with the place of a prop. */
export type CodeFault = Readonly<{ prop: string; fault: string }>;

/** As the props of a call give them. */
export type EpcFields = Readonly<{
  name: string;
  iban: string;
  bic: string;
  /** Euros; empty: the payer writes it. */ amount: Json | undefined;
  purpose: string;
  /** Structured (ISO 11649, "RF…"), instead of `text`. */ reference: string;
  text: string;
}>;

const NAME_CHARS_MAX = 70;
const REFERENCE_CHARS_MAX = 25;
const TEXT_CHARS_MAX = 140;
const AMOUNT = { min: 0.01, max: 999_999_999.99 } as const;
const PAYLOAD_BYTES_MAX = 331;

/** Undefined where the payment has neither a name nor an account: then there is nothing to pay. */
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
    (purpose === '' || /^[A-Z0-9]{1,4}$/.test(purpose) ? undefined : at('purpose', 'must be a code of up to four letters, such as GDDS')) ??
    referenceFault(reference) ??
    (reference !== '' && text !== '' ? at('text', 'cannot stand beside reference: a payment has one of the two') : undefined) ??
    (charsOf(text) > TEXT_CHARS_MAX ? at('text', `has ${charsOf(text)} characters, a payment holds ${TEXT_CHARS_MAX}`) : undefined);
  if (fault !== undefined || typeof amount !== 'string') return fault;
  const money = amount === '' ? '' : `EUR${amount}`;
  const payload = ['BCD', '002', '1', 'SCT', bic, name, iban, money, purpose, reference, text].join('\n').replace(/\n+$/, '');
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
  return charsOf(name) > NAME_CHARS_MAX ? at('name', `has ${charsOf(name)} characters, a payment holds ${NAME_CHARS_MAX}`) : undefined;
};

/** ISO 13616: two letters, two check digits, then up to thirty; the whole gives 1 modulo 97. */
const ibanFault = (iban: string): CodeFault | undefined => {
  if (iban === '') return at('iban', 'is empty: a payment needs the account that is paid');
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return at('iban', 'must be an IBAN such as DE89 3704 0044 0532 0130 00');
  return modulo97(iban) === 1 ? undefined : at('iban', 'is no IBAN: its check digits are wrong, so a digit is missing or mistaken');
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
  bic === '' || /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/.test(bic) ? undefined : at('bic', 'must be a BIC of 8 or 11 characters, or empty');

const referenceFault = (reference: string): CodeFault | undefined => {
  if (reference === '') return undefined;
  if (!/^RF\d{2}[A-Z0-9]+$/.test(reference) || reference.length > REFERENCE_CHARS_MAX)
    return at('reference', 'must be a creditor reference of ISO 11649 such as RF18 5390 0754 7034; give any other as text');
  return modulo97(reference) === 1 ? undefined : at('reference', 'is no creditor reference: its check digits are wrong');
};

/** Rounded to cents as amounts are printed. */
const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2, useGrouping: false });

const amountOf = (value: Json | undefined): string | CodeFault => {
  if (value === undefined || value === null || value === '') return '';
  const euros = toNumber(value);
  if (euros === undefined || !Number.isFinite(euros)) return at('amount', 'must be a number of euros such as 119.90');
  const written = cents.format(euros);
  if (Number(written) < AMOUNT.min || Number(written) > AMOUNT.max)
    return at('amount', `is ${written}, a payment is of 0.01 to 999999999.99 euros`);
  return written;
};
