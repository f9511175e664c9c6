/** Numbers as JSON writes them, and whether a double keeps their digits. */

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

const isExponentSign = (byte: number | undefined): boolean => byte === LOWER_E || byte === UPPER_E;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
const isOfNumber = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === DOT || byte === MINUS || byte === PLUS || isExponentSign(byte);

/** True for the byte that a number begins with. */
export const beginsNumber = (byte: number): boolean => byte === MINUS || isDigit(byte);

/** In: the offset of the first byte of a number. Out: the offset behind its last. */
export const endOfNumber = (bytes: Buffer, from: number): number => {
  let end = from + 1;
  while (isOfNumber(bytes[end])) end += 1;
  return end;
};

/** Every decimal of so few characters comes back from a double as it was written, unless it has an exponent. */
const SAFE_NUMBER_CHARS = 15;
/** No double is written with so many digits; a number of millions of them is not worth looking into. */
const NUMBER_CHARS_MAX = 2_000;
const SAFE_INTEGER_MAX = 2 ** 53;

/** In: a number as JSON or JavaScript writes it. Out: its significant digits and the power of ten behind the last of them. */
const digitsOf = (number: string): string => {
  const [mantissa = '', exponent = '0'] = number.replace('-', '').toLowerCase().replace('e-', 'e~').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start += 1;
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  return `${digits.slice(start, end)}e${Number(exponent.replace('~', '-')) - fraction.length + (digits.length - end)}`;
};

/** True where a double cannot hold the number, or where it is a whole number beyond 2^53, near which doubles skip whole numbers. */
export const losesDigits = (number: string): boolean => {
  const value = Number(number);
  if (!Number.isFinite(value)) return true;
  if (Math.abs(value) > SAFE_INTEGER_MAX && /^-?\d+$/.test(number)) return true;
  return digitsOf(number) !== digitsOf(String(value));
};

/** In: where a number stands in a text. Out: true where it is short and has no exponent, as nearly all are: `isLossy` is false for it. */
export const isSurelyExact = (text: string, from: number): boolean => {
  let end = from + 1;
  let code = text.charCodeAt(end);
  while (isOfNumber(code) && end - from <= SAFE_NUMBER_CHARS) {
    if (isExponentSign(code)) return false;
    end += 1;
    code = text.charCodeAt(end);
  }
  return end - from <= SAFE_NUMBER_CHARS;
};

/** In: where a number stands. Out: true where reading it loses digits. */
export const isLossy = (bytes: Buffer, from: number, end: number): boolean => {
  if (end - from > NUMBER_CHARS_MAX) return true;
  let plain = end - from <= SAFE_NUMBER_CHARS;
  for (let at = from; plain && at < end; at += 1) plain = !isExponentSign(bytes[at]);
  return !plain && losesDigits(bytes.toString('latin1', from, end));
};
