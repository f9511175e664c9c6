/** How a value is written out where no format is asked for. */
import type { Json } from '../../json.js';
import { isArray } from './path.js';

/** Control characters, which no mail needs and some readers trip over; tab and line breaks stay. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Text without control characters other than tab, LF and CR. */
export const withoutControls = (text: string): string => (CONTROL.test(text) ? text.replace(CONTROLS, '') : text);

/**
 * Text as it is (without control characters), numbers and booleans in JavaScript's way, nothing for null and undefined,
 * an array of simple values joined by commas, anything else as JSON.
 */
export const writeValue = (value: Json | undefined): string => {
  if (typeof value === 'string') return withoutControls(value);
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (isArray(value) && value.every((item) => typeof item !== 'object' || item === null)) return value.map(writeValue).join(', ');
  return JSON.stringify(value);
};
