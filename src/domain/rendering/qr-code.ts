/** How much a QR code holds (ISO/IEC 18004, version 40). */
import { invalidAt } from '../core/errors.js';

export type ErrorCorrection = 'L' | 'M' | 'Q' | 'H';

type Capacity = Readonly<Record<ErrorCorrection, number>>;
const digitsMax: Capacity = { L: 7_089, M: 5_596, Q: 3_993, H: 3_057 };
const alphanumericMax: Capacity = { L: 4_296, M: 3_391, Q: 2_420, H: 1_852 };
const bytesMax: Capacity = { L: 2_953, M: 2_331, Q: 1_663, H: 1_273 };

/** Throws VALIDATION_ERROR where the text is more than the largest code holds at that level. `field` is the component's place in the template. */
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
  return [Buffer.byteLength(text), bytesMax[level], 'bytes'];
};

/** Bits of a code for each of the text, by what error correction adds. */
const share: Readonly<Record<ErrorCorrection, number>> = { L: 1.3, M: 1.6, Q: 2.2, H: 2.9 };
/** The marks of a code, and the least of its versions. */
const FIXED_MODULES = 441;

/** About how many modules the code of a text has: known from its length alone, before they are laid. */
export const qrModules = (text: string, level: ErrorCorrection): number =>
  Math.round(FIXED_MODULES + 8 * Math.min(Buffer.byteLength(text), bytesMax[level]) * share[level]);
