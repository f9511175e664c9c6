/** Checks the display format of a variable or a column, and the language of a template, against what Intl takes. */
import type { Limits } from '../../core/limits.js';
import type { ValueFormat } from '../scope/definitions.js';
import type { Faults } from './faults.js';
import { datePatternFault, numberPatternFault } from './patterns.js';
import { shorten } from '../scope/path.js';
import { hasPlaceholder, parseTemplatedText } from '../fill/templated-text.js';

export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const formatStyles = ['number', 'currency', 'percent', 'date', 'time', 'datetime'] as const;
export const dateLengths = ['full', 'long', 'medium', 'short'] as const;
export const PATTERN_CHARS_MAX = 100;
export const DIGITS_MAX = 20;
export const CURRENCY = /^[A-Za-z]{3}$/;
/** Of a language tag, and of the name of a time zone. */
export const LANGUAGE_CHARS_MAX = 100;

type Check = (value: unknown, limits: Limits) => string | undefined;

const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.some((known) => known === value) ? undefined : `must be one of ${values.join(', ')}`;

const digits: Check = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= DIGITS_MAX
    ? undefined
    : `must be a whole number from 0 to ${DIGITS_MAX}`;

/** A currency code may come from a variable, for an order knows its own. */
const currency: Check = (value, limits) => {
  if (typeof value !== 'string') return 'must be a currency code such as EUR';
  if (hasPlaceholder(value)) return parseTemplatedText(value, limits.pathSegmentsMax).faults[0];
  return CURRENCY.test(value) ? undefined : `must be a currency code of three letters such as EUR, got "${shorten(value)}"`;
};

const fields: Readonly<Record<keyof ValueFormat, Check>> = {
  style: oneOf(formatStyles),
  currency,
  minimumFractionDigits: digits,
  maximumFractionDigits: digits,
  dateStyle: oneOf(dateLengths),
  timeStyle: oneOf(dateLengths),
  pattern: (value) =>
    typeof value === 'string' && value !== '' && value.length <= PATTERN_CHARS_MAX
      ? undefined
      : `must be a pattern of at most ${PATTERN_CHARS_MAX} characters such as "yyyy-MM-dd"`,
  locale: (value) => localeFault(value),
  timeZone: (value) => timeZoneFault(value),
};

const isField = (name: string): name is keyof ValueFormat => Object.hasOwn(fields, name);

/** Adds what is wrong with a `format` to the faults, each with its path. */
export const checkFormat = (format: unknown, field: string, faults: Faults, limits: Limits): void => {
  if (!isPlainObject(format))
    return faults.add(
      field,
      'must be an object such as {"style": "currency", "currency": "EUR"} or {"style": "date", "dateStyle": "long"}',
    );
  for (const [name, value] of Object.entries(format)) {
    const check = isField(name) ? fields[name] : undefined;
    const fault = check === undefined ? `is not known; known are ${Object.keys(fields).join(', ')}` : check(value, limits);
    if (fault !== undefined) faults.add(`${field}.${shorten(name)}`, fault);
  }
  checkPattern(format, field, faults);
  if (format['style'] === undefined) faults.add(`${field}.style`, `is required: one of ${formatStyles.join(', ')}`);
  if (format['style'] === 'currency' && format['currency'] === undefined)
    faults.add(`${field}.currency`, 'is required where style is currency');
  const { minimumFractionDigits: min, maximumFractionDigits: max } = format;
  if (typeof min === 'number' && typeof max === 'number' && min > max) {
    faults.add(`${field}.minimumFractionDigits`, `is ${min}, more than maximumFractionDigits, which is ${max}`);
  }
};

/** What a pattern may hold depends on the style. */
const checkPattern = ({ style, pattern }: Readonly<Record<string, unknown>>, field: string, faults: Faults): void => {
  if (typeof pattern !== 'string' || pattern.length > PATTERN_CHARS_MAX) return;
  const isDate = style === 'date' || style === 'time' || style === 'datetime';
  const isNumber = style === 'number' || style === 'currency' || style === 'percent';
  const fault = isDate ? datePatternFault(pattern) : isNumber ? numberPatternFault(pattern) : undefined;
  if (fault !== undefined) faults.add(`${field}.pattern`, fault);
};

/** undefined where Intl takes the language tag (BCP 47). */
export const localeFault = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= LANGUAGE_CHARS_MAX && accepted(() => Intl.getCanonicalLocales(value)) && hasCode(value)
    ? undefined
    : 'must be a language tag (BCP 47) such as en-US or de-DE';

/** No language has a code of more than three letters, but a word such as "german" has the form of one. */
const hasCode = (tag: string): boolean => new Intl.Locale(tag).language.length <= 3;

/** undefined where Intl knows the time zone (IANA). */
export const timeZoneFault = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= LANGUAGE_CHARS_MAX && accepted(() => new Intl.DateTimeFormat('en-US', { timeZone: value }))
    ? undefined
    : 'must be the IANA name of a time zone such as UTC or Europe/Berlin';

const accepted = (attempt: () => unknown): boolean => {
  try {
    attempt();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};
