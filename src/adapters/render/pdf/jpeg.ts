/** The size of a JPEG from its frame header (ITU T.81), turned as its camera was held (Exif 2.3, 4.6.4 A). */

/**
 * Out: pixels as they are seen, or undefined for a file that a PDF cannot show: no frame of the baseline, extended or progressive
 * kind, no scan, or cut off.
 */
export const jpegSize = (bytes: Buffer): Readonly<{ width: number; height: number }> | undefined => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  let size: Readonly<{ width: number; height: number }> | undefined;
  let isTurned = false;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const length = bytes.readUInt16BE(at + 2);
    const body = bytes.subarray(at + 4, at + 2 + length);
    if (length < 2 || body.length !== length - 2) return undefined;
    if (marker >= 0xc0 && marker <= 0xc2) size = frameSize(body);
    else if (marker === 0xe1) isTurned = isTurned || turnedBy(body) > 4;
    else if (marker === 0xda) {
      const isWhole = bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > at;
      return size === undefined || !isWhole ? undefined : isTurned ? { width: size.height, height: size.width } : size;
    }
    at += 2 + length;
  }
  return undefined;
};

const frameSize = (body: Buffer): Readonly<{ width: number; height: number }> | undefined => {
  if (body.length < 6) return undefined;
  const [bits, height, width, channels] = [body.readUInt8(0), body.readUInt16BE(1), body.readUInt16BE(3), body.readUInt8(5)];
  return bits === 8 && height > 0 && width > 0 && [1, 3, 4].includes(channels) ? { width, height } : undefined;
};

const ORIENTATION = 0x0112;

/** 1 to 8; from 5 on width and height change places. */
const turnedBy = (body: Buffer): number => {
  if (body.length < 14 || body.toString('latin1', 0, 6) !== 'Exif\0\0') return 1;
  const tiff = body.subarray(6);
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const u16 = (at: number): number => (at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const count = Math.min(u16(directory), 100);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (u16(at) === ORIENTATION) return u16(at + 8);
  }
  return 1;
};
