/**
 * The runtime of a check: everything that can refuse an email is done (variables, lists, limits), what only changes how a value
 * is written is left out. The text that comes of it is no mail; its length tells how large the mail can be at most.
 */
import type { Limits } from '../../../domain/core/limits.js';
import type { Formatter } from '../../../domain/rendering/scope/formats.js';
import { inCurrency, isDated, writerOf, type Showing } from '../../../domain/rendering/scope/showing.js';
import { writeValue } from '../../../domain/rendering/scope/values.js';
import { assetAddress } from '../../../domain/rendering/urls.js';
import { NO_IMAGE } from './escape.js';
import { addCode } from './codes.js';
import { addAsset, addQrCode } from './inline.js';
import { openMeter, runtimeOf, type Meter, type Runtime } from './runtime.js';

/** Escaping makes of one UTF-16 unit at most the nine bytes of a percent-encoded character; references, and what is written around long words, are shorter. */
const bytesPerUnitMax = 9;

/** True where a text of that many units, as written by this runtime, can become no larger mail than allowed. */
export const surelyFits = (chars: number, { htmlSizeBytesMax }: Limits): boolean => chars * bytesPerUnitMax <= htmlSizeBytesMax;

/** Thrown where only the finished mail can tell. */
export const UNDECIDED = new Error('the size is not certain');

const asItIs = (text: string): string => text;

/** What is longer than a mail may be is for the finished mail to refuse. */
const measured = (text: string, meter: Meter): string => {
  meter.htmlLeft -= text.length;
  if (meter.htmlLeft < 0) throw UNDECIDED;
  return text;
};

export const checkingRuntimeOf = (limits: Limits, meter: Meter = openMeter()): Runtime => ({
  ...runtimeOf(limits, meter),
  E: (text) => measured(text, meter),
  W: (text) => measured(text, meter),
  SHOWN: (showing, locale, timeZone) => longestOf(showing, writerOf(showing, { locale, timeZone })),
  IN_CURRENCY: (showing, locale, timeZone) => {
    const longest = longestOf(showing, writerOf(inCurrency(showing, 'USD'), { locale, timeZone }));
    return () => longest;
  },
  LINK: (address) => measured(address, meter),
  IMAGE: (address, inline) => {
    const asset = assetAddress(address);
    return asset === undefined ? measured(address, meter) + NO_IMAGE : addAsset(inline, asset, limits);
  },
  QR: (value, inline, options) => addQrCode(inline, value, options, { limits, draws: false, budget: meter.budget }),
  CODE: (fields, inline, options) => addCode(inline, fields, options, { limits, draws: false, budget: meter.budget }),
  COMPONENT: asItIs,
  PATH: asItIs,
  QUERY: asItIs,
  ADDRESS: asItIs,
  TOO_LARGE: () => {
    throw UNDECIDED;
  },
});

/** The longest that one letter of a pattern stands for: a month, a weekday or the name of a time zone. */
const longestPerLetter = 64;
/** No number below this has more than 21 digits and their marks before the fraction, and no currency a longer name than the rest. */
const plainBelow = 1e15;
const longNumber = 128;
const longDate = 192;
const fractionDigitsFew = 20;

/** Instead of formatting: the value as it is, and as many blanks as its formatted text can have at most. */
const longestOf = (showing: Showing, exact: Formatter): Formatter => {
  const { format, type } = showing;
  if ((format?.minimumFractionDigits ?? 0) > fractionDigitsFew || (format?.maximumFractionDigits ?? 0) > fractionDigitsFew) return exact;
  const isDate = type === 'date' || (type === undefined && isDated(format));
  const blanks = ' '.repeat((isDate ? longDate : longNumber) + longestPerLetter * (format?.pattern?.length ?? 0));
  const dateBlanks = ' '.repeat(longDate);
  return (value) => {
    if (typeof value === 'number') return isDate || Math.abs(value) < plainBelow ? blanks : exact(value);
    if (typeof value !== 'string') return writeValue(value);
    // What only may be a date is one where it begins as one.
    return value + (showing.isWhole === true && format === undefined && type === undefined ? (value[4] === '-' ? dateBlanks : '') : blanks);
  };
};
