/** PNG files of every colour type, depth and interlacing, written by the book (W3C PNG) for what reads them. */
import { crc32, deflateSync } from 'node:zlib';

export type PngSample = Readonly<{
  colorType: 0 | 2 | 3 | 4 | 6;
  bitDepth: 1 | 2 | 4 | 8 | 16;
  interlaced?: boolean;
  /** The bytes of tRNS. */ transparency?: readonly number[];
  /** A palette beside true colours, which is only advice. */ palette?: boolean;
  /** gAMA, in 100,000ths. */ gamma?: number;
  width?: number;
  height?: number;
}>;

const channelsOf = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 } as const;
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** The value of a sample: each pixel another, the same for every way of storing it. */
export const sampleAt = (x: number, y: number, channel: number, bitDepth: number): number =>
  (x * 7 + y * 13 + channel * 29) & ((1 << Math.min(bitDepth, 8)) - 1);

export const chunk = (type: string, body: Buffer): Buffer => {
  const out = Buffer.alloc(12 + body.length);
  out.writeUInt32BE(body.length, 0);
  out.write(type, 4, 'latin1');
  body.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
};

export const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export const headerChunk = ({ colorType, bitDepth, interlaced = false, width = 13, height = 9 }: PngSample): Buffer => {
  const body = Buffer.alloc(13);
  body.writeUInt32BE(width, 0);
  body.writeUInt32BE(height, 4);
  body.set([bitDepth, colorType, 0, 0, interlaced ? 1 : 0], 8);
  return chunk('IHDR', body);
};

const rowOf = (columns: readonly number[], y: number, { colorType, bitDepth }: PngSample): Buffer => {
  const channels = channelsOf[colorType];
  const row = Buffer.alloc(1 + Math.ceil((columns.length * channels * bitDepth) / 8));
  columns.forEach((x, at) => {
    for (let channel = 0; channel < channels; channel++) {
      const value = sampleAt(x, y, channel, bitDepth);
      const bit = (at * channels + channel) * bitDepth;
      if (bitDepth === 16) row.writeUInt16BE(value * 257, 1 + bit / 8);
      else row[1 + (bit >> 3)] = (row[1 + (bit >> 3)] ?? 0) | (value << (8 - bitDepth - (bit & 7)));
    }
  });
  return row;
};

/** Each row by the filter of its number, so that all five occur. */
const filtered = (rows: readonly Buffer[], step: number): Buffer =>
  Buffer.concat(
    rows.map((row, y) => {
      const filter = y % 5;
      const out = Buffer.alloc(row.length);
      out[0] = filter;
      for (let i = 1; i < row.length; i++) {
        const left = i > step ? (row[i - step] ?? 0) : 0;
        const above = rows[y - 1]?.[i] ?? 0;
        const corner = i > step ? (rows[y - 1]?.[i - step] ?? 0) : 0;
        const estimate = left + above - corner;
        const nearest = [left, above, corner].reduce((best, one) =>
          Math.abs(estimate - one) < Math.abs(estimate - best) ? one : best,
        );
        const predicted = [0, left, above, (left + above) >> 1, nearest][filter] ?? 0;
        out[i] = ((row[i] ?? 0) - predicted) & 0xff;
      }
      return out;
    }),
  );

const colorAt = (at: number): number => (at * 5) & 0xff;

/** Red, green, blue and alpha from 0 to 255 as a browser shows them. */
export const shownAt = (
  x: number,
  y: number,
  { colorType, bitDepth, transparency, gamma }: PngSample,
): readonly number[] => {
  const channels = Array.from({ length: channelsOf[colorType] }, (_, channel) => sampleAt(x, y, channel, bitDepth));
  const most = 2 ** Math.min(bitDepth, 8) - 1;
  const corrected = (share: number): number => {
    if (gamma === undefined || gamma === 45_455) return Math.round(255 * share);
    const light = share ** (100_000 / gamma);
    return Math.round(255 * (light < 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055));
  };
  const [first = 0] = channels;
  if (colorType === 3)
    return [...[0, 1, 2].map((at) => corrected(colorAt(3 * first + at) / 255)), transparency?.[first] ?? 255];
  const isGray = colorType === 0 || colorType === 4;
  const colors = isGray ? [first, first, first] : channels.slice(0, 3);
  const key = Array.from(
    { length: (transparency?.length ?? 0) / 2 },
    (_, at) => (transparency?.[2 * at + 1] ?? 0) & most,
  );
  const isKey = key.length > 0 && key.every((value, at) => value === channels[at]);
  const alpha = colorType === 4 || colorType === 6 ? (channels.at(-1) ?? 0) / most : isKey ? 0 : 1;
  return [...colors.map((sample) => corrected(sample / most)), Math.round(255 * alpha)];
};

export const pngSample = (sample: PngSample): Buffer => {
  const {
    colorType,
    bitDepth,
    interlaced = false,
    transparency,
    palette = colorType === 3,
    gamma,
    width = 13,
    height = 9,
  } = sample;
  const step = Math.max((channelsOf[colorType] * bitDepth) >> 3, 1);
  const range = (from: number, to: number, by: number): number[] =>
    Array.from({ length: Math.max(Math.ceil((to - from) / by), 0) }, (_, at) => from + at * by);
  const data = (interlaced ? adam7 : [[0, 0, 1, 1] as const]).map(([x, y, dx, dy]) => {
    const columns = range(x, width, dx);
    return columns.length === 0
      ? Buffer.alloc(0)
      : filtered(
          range(y, height, dy).map((at) => rowOf(columns, at, sample)),
          step,
        );
  });
  return Buffer.concat([
    SIGNATURE,
    headerChunk(sample),
    ...(gamma === undefined ? [] : [chunk('gAMA', Buffer.of(gamma >> 24, gamma >> 16, gamma >> 8, gamma))]),
    ...(palette
      ? [chunk('PLTE', Buffer.from(Array.from({ length: 3 << Math.min(bitDepth, 8) }, (_, at) => colorAt(at))))]
      : []),
    ...(transparency === undefined ? [] : [chunk('tRNS', Buffer.from(transparency))]),
    chunk('IDAT', deflateSync(Buffer.concat(data))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};
