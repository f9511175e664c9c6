/**
 * Pictures as grids of the mean colours of small squares. Another version of what draws them smooths letters in another
 * way, which changes a mean a little; a line that moved, wrapped or got another colour changes it much.
 */
import { deflateSync, inflateSync } from 'node:zlib';
import { chunk, headerChunk, SIGNATURE } from './png-samples.js';

/** Red, green and blue of each pixel, row by row. */
export type Picture = Readonly<{ width: number; height: number; rgb: Buffer }>;

/** In: a picture, the side of a square. Out: one pixel for each whole square. */
export const gridOf = ({ width, height, rgb }: Picture, side: number): Picture => {
  const [columns, rows] = [Math.floor(width / side), Math.floor(height / side)];
  const out = Buffer.alloc(columns * rows * 3);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      for (let channel = 0; channel < 3; channel += 1) {
        let sum = 0;
        for (let y = row * side; y < (row + 1) * side; y += 1)
          for (let x = column * side; x < (column + 1) * side; x += 1) sum += rgb[(y * width + x) * 3 + channel] ?? 0;
        out[(row * columns + column) * 3 + channel] = Math.round(sum / side ** 2);
      }
  return { width: columns, height: rows, rgb: out };
};

/** In: a PPM file (P6, 8 bits), as poppler writes it. */
export const readPpm = (file: Buffer): Picture => {
  const [head = '', width, height] = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(file.toString('latin1', 0, 64)) ?? [];
  if (head === '') throw new Error('not a PPM of 8 bits');
  return { width: Number(width), height: Number(height), rgb: file.subarray(head.length) };
};

/** Without a filter and with the best compression, so that the same grid is the same file. */
export const writePng = ({ width, height, rgb }: Picture): Buffer => {
  const rows = Array.from({ length: height }, (_, row) => [
    Buffer.of(0),
    rgb.subarray(row * width * 3, (row + 1) * width * 3),
  ]).flat();
  const header = headerChunk({ colorType: 2, bitDepth: 8, width, height });
  return Buffer.concat([
    SIGNATURE,
    header,
    chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

const paeth = (a: number, b: number, c: number): number => {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (pa <= pb && pa <= pc) return a;
  return pb <= pc ? b : c;
};

/** In: a PNG of 8 bits in true colour, with or without transparency, not interlaced, as browsers write screenshots. */
export const readPng = (file: Buffer): Picture => {
  const [width, height, depth, colorType] = [file.readUInt32BE(16), file.readUInt32BE(20), file[24], file[25]];
  if (depth !== 8 || (colorType !== 2 && colorType !== 6) || file[28] !== 0)
    throw new Error('not a PNG of 8 bits in true colour');
  const parts: Buffer[] = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  const [step, data] = [colorType === 2 ? 3 : 4, inflateSync(Buffer.concat(parts))];
  const stride = width * step;
  const lines = Buffer.alloc(height * stride);
  const rgb = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const left = x < step ? 0 : (lines[y * stride + x - step] ?? 0);
      const up = y === 0 ? 0 : (lines[(y - 1) * stride + x] ?? 0);
      const corner = x < step || y === 0 ? 0 : (lines[(y - 1) * stride + x - step] ?? 0);
      const before = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      const value = ((data[y * (stride + 1) + 1 + x] ?? 0) + before) & 255;
      lines[y * stride + x] = value;
      if (x % step < 3) rgb[(y * width + Math.floor(x / step)) * 3 + (x % step)] = value;
    }
  }
  return { width, height, rgb };
};

/**
 * Levels of 256: up to the first a square differs by smoothing alone; beyond the second something else stands there,
 * which counts as many.
 */
const [LEVELS, OTHER, WEIGHT] = [28, 100, 20];

/** In: two grids. Out: the share of squares that differ by more than smoothing does, 1 where the sizes differ. */
export const differenceOf = (a: Picture, b: Picture): number => {
  if (a.width !== b.width || a.height !== b.height) return 1;
  let different = 0;
  for (let at = 0; at < a.rgb.length; at += 3) {
    const most = Math.max(
      ...[0, 1, 2].map((channel) => Math.abs((a.rgb[at + channel] ?? 0) - (b.rgb[at + channel] ?? 0))),
    );
    if (most > LEVELS) different += most > OTHER ? WEIGHT : 1;
  }
  return Math.min(1, different / (a.width * a.height));
};
