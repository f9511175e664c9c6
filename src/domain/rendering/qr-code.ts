/** How much a QR code holds (ISO/IEC 18004, version 40). */
import { invalidAt } from '../errors.js';

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
