/** How a value is written out where no format is asked for. */
import type { Json } from '../../core/json.js';
import { isArray } from './path.js';

/** Control characters, which no mail needs and some readers trip over; tab and line breaks stay. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Text without control characters other than tab, LF and CR. */
export const withoutControls = (text: string): string => (CONTROL.test(text) ? text.replace(CONTROLS, '') : text);

/**
 * Text as it is (without control characters), numbers and booleans in JavaScript's way but without the noise of binary fractions,
 * nothing for null and undefined, an array of simple values joined by commas, anything else as JSON.
 */
export const writeValue = (value: Json | undefined): string => {
  if (typeof value === 'string') return withoutControls(value);
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return writeNumber(value);
  if (typeof value !== 'object') return String(value);
  if (isArray(value) && value.every((item) => typeof item !== 'object' || item === null)) return value.map(writeValue).join(', ');
  return JSON.stringify(value);
};

/** Fractions keep the 15 digits that a double holds for certain: 0.1 + 0.2 is 0.3. */
export const writeNumber = (value: number): string => {
  const text = String(value);
  return text.length <= DIGITS_MAX || Number.isInteger(value) ? text : String(Number(value.toPrecision(DIGITS_MAX)));
};

const DIGITS_MAX = 15;
