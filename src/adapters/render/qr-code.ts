/** QR codes (ISO/IEC 18004) as PNG: twice as dense as their size in CSS pixels, with a quiet zone of four modules. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { create, QRCodeSegment } from 'qrcode';
import { pixels } from '../../domain/rendering/css.js';
import { readableColors, writePng } from './code-picture.js';

type Library = Readonly<{ create: typeof create }>;
let loaded: Library | undefined;
/** Loads the core of the library only; its drawing code is not used. */
const library = (): Library => (loaded ??= createRequire(import.meta.url)('qrcode/lib/core/qrcode.js') as Library);

export const errorCorrections = ['l', 'm', 'q', 'h'] as const;
type Level = 'L' | 'M' | 'Q' | 'H';

/** As props give it: CSS values and a letter. */
export type QrLook = Readonly<{ size: string; level: string; color: string; background: string }>;

export type QrCode = Readonly<{ modules: number; isDark: (column: number, row: number) => boolean }>;

/** The rest of a sentence that begins with the code. */
type QrFault = Readonly<{ fault: string }>;

const SIZE_PX = 160;
const QUIET_MODULES = 4;
const DENSITY = 2;
/** No mail is wider than this: a code beyond it is drawn at less density. */
const SIDE_PX_MAX = 1_600;
/** This many bytes fit into 85 modules at every level, whatever the text is. */
const FEW_BYTES = 200;
const FEW_MODULES = 85 + 2 * QUIET_MODULES;

/** CSS pixels of a side; percentages and fonts mean nothing to a picture that is drawn before the page. */
export const qrSizePx = (size: string): number => Math.round(pixels(size) ?? SIZE_PX);

/** The level of a letter; any other text means M. */
export const qrLevel = (level: string): Level => {
  const upper = level.toUpperCase();
  return upper === 'L' || upper === 'Q' || upper === 'H' ? upper : 'M';
};

const ALT_CHARS_MAX = 100;

/** The alternative text of the picture. */
export const qrAlt = (value: string): string =>
  value.length <= ALT_CHARS_MAX && !/[\r\n]/.test(value) ? value : 'QR code';

/** True where it is certain, without laying a module, that the code can be made. */
export const surelyFitsQr = (value: string, { size }: QrLook): boolean =>
  Buffer.byteLength(value) <= FEW_BYTES && qrSizePx(size) >= FEW_MODULES;

/** The capacity of the largest code (version 40). */
const room: Readonly<Record<'numeric' | 'alphanumeric' | 'byte' | 'utf8', Readonly<Record<Level, number>>>> = {
  numeric: { L: 7_089, M: 5_596, Q: 3_993, H: 3_057 },
  alphanumeric: { L: 4_296, M: 3_391, Q: 2_420, H: 1_852 },
  byte: { L: 2_953, M: 2_331, Q: 1_663, H: 1_273 },
  utf8: { L: 2_952, M: 2_330, Q: 1_662, H: 1_272 },
};
const units: Readonly<Record<keyof typeof room, string>> = {
  numeric: 'digits',
  alphanumeric: 'characters',
  byte: 'bytes',
  utf8: 'bytes',
};

/**
 * A segment as the library lays it: a mode indicator, a count of `ccBits` by the size of the code, and the bits that
 * `write` appends.
 */
type Segment = Readonly<{
  mode: Readonly<{ bit: number; ccBits: readonly [number, number, number] }>;
  getLength: () => number;
  getBitsLength: () => number;
  write: (buffer: Readonly<{ put: (bits: number, length: number) => void }>) => void;
}>;

/**
 * Says that UTF-8 follows (ISO/IEC 18004, 7.4.2; assignment 26 of ECI). The library writes the assignment in the place
 * of a count.
 */
const utf8Follows: Segment = {
  mode: { bit: 7, ccBits: [8, 8, 8] },
  getLength: () => 26,
  getBitsLength: () => 0,
  write: () => {},
};

const bytesSegment = (data: Buffer): Segment => ({
  mode: { bit: 4, ccBits: [8, 16, 16] },
  getLength: () => data.length,
  getBitsLength: () => data.length * 8,
  write: (buffer) => {
    for (const byte of data) buffer.put(byte, 8);
  },
});

/** The library makes its segments by `reduce` of the list that it is given; this list has them already. */
const prepared = (segments: readonly Segment[]): QRCodeSegment[] => {
  const list: Segment[] = Object.assign([...segments], { reduce: () => list });
  return list as unknown as QRCodeSegment[];
};

/**
 * Segments of the densest mode that holds the whole text: the library's search for the best mixture of modes takes a
 * quarter of a second where a text is made for it. A text with characters beyond ASCII says that it is UTF-8, for
 * readers guess otherwise.
 */
const segmentsOf = (value: string): Readonly<{ mode: keyof typeof room; units: number; segments: QRCodeSegment[] }> => {
  if (/^\d+$/.test(value))
    return { mode: 'numeric', units: value.length, segments: [{ data: value, mode: 'numeric' }] };
  if (/^[0-9A-Z $%*+./:-]+$/.test(value))
    return { mode: 'alphanumeric', units: value.length, segments: [{ data: value, mode: 'alphanumeric' }] };
  const data = Buffer.from(value);
  return data.length === value.length
    ? { mode: 'byte', units: data.length, segments: [{ data, mode: 'byte' }] }
    : { mode: 'utf8', units: data.length, segments: prepared([utf8Follows, bytesSegment(data)]) };
};

/** Lays the modules; a fault where the text does not fit, or the modules would be smaller than a pixel. */
export const layQrCode = (value: string, { size, level }: QrLook): QrCode | QrFault => {
  const errorCorrectionLevel = qrLevel(level);
  const { mode, units: actual, segments } = segmentsOf(value);
  const max = room[mode][errorCorrectionLevel];
  if (actual > max)
    return {
      fault: `holds ${actual} ${units[mode]}, the maximum at error correction ${errorCorrectionLevel} is ${max}`,
    };
  const { modules } = library().create(segments, { errorCorrectionLevel });
  const side = modules.size + 2 * QUIET_MODULES;
  const sizePx = qrSizePx(size);
  if (sizePx < side)
    return {
      fault: `holds ${actual} ${units[mode]}, which take ${side} by ${side} modules: at a size of ${sizePx} pixels no camera can tell them apart, make it ${side} or more`,
    };
  return { modules: modules.size, isDark: (column, row) => modules.get(row, column) === 1 };
};

/** Equal codes in equal looks give equal bytes. Modules are whole pixels; what is left over widens the quiet zone. */
export const drawQrCode = ({ modules, isDark }: QrCode, look: QrLook): Buffer => {
  const sidePx = Math.min(qrSizePx(look.size) * DENSITY, Math.max(SIDE_PX_MAX, modules + 2 * QUIET_MODULES));
  const modulePx = Math.max(1, Math.floor(sidePx / (modules + 2 * QUIET_MODULES)));
  const from = Math.floor((sidePx - modules * modulePx) / 2);
  const [foreground, background] = readableColors(look);
  const place = (px: number): number => Math.floor((px - from) / modulePx);
  const isSet = (x: number, y: number): boolean => {
    const [column, row] = [place(x), place(y)];
    return column >= 0 && row >= 0 && column < modules && row < modules && isDark(column, row);
  };
  const repeats = (y: number): boolean => y > 0 && place(y) === place(y - 1);
  return writePng({ widthPx: sidePx, heightPx: sidePx, isSet, repeats, foreground, background });
};

/** Named by what it shows: the same code in the same look is one picture of the mail. */
export const qrContentId = (value: string, { size, level, color, background }: QrLook): string =>
  `qr-${createHash('sha256')
    .update(JSON.stringify([value, size, level, color, background]))
    .digest('hex')
    .slice(0, 24)}@sealpost`;

const pageLook: QrLook = { size: '256px', level: 'm', color: '#000000', background: '#ffffff' };

/** The PNG of a short text for a page of the service. Throws where the text does not fit. */
export const qrCodePng = (text: string): Buffer => {
  const code = layQrCode(text, pageLook);
  if ('fault' in code) throw new Error(`the QR code ${code.fault}`);
  return drawQrCode(code, pageLook);
};
