/** What a picture says of itself in its first bytes: its kind and its size, without decoding it. */

export type PictureSize = Readonly<{ kind: 'png' | 'jpeg' | 'gif'; /** Pixels. */ width: number; height: number }>;

/** In: the bytes of a file. Out: undefined where they are no PNG, JPEG or GIF, or end before the size is told. */
export const pictureSize = (bytes: Uint8Array): PictureSize | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = png(view) ?? gif(view) ?? jpeg(view);
  return found === undefined || found.width === 0 || found.height === 0 ? undefined : found;
};

/** The chunks up to IEND must be there; what they hold is for the reader's program. */
const png = (view: DataView): PictureSize | undefined => {
  if (view.byteLength < 45 || view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a || view.getUint32(12) !== 0x49484452)
    return undefined;
  let at = 8;
  while (at + 12 <= view.byteLength) {
    if (view.getUint32(at + 4) === 0x49454e44) return { kind: 'png', width: view.getUint32(16), height: view.getUint32(20) };
    at += 12 + view.getUint32(at);
  }
  return undefined;
};

/** The trailer must be there; some programs write zeros after it. */
const gif = (view: DataView): PictureSize | undefined => {
  if (view.byteLength < 14 || view.getUint32(0) !== 0x47494638) return undefined;
  let end = view.byteLength - 1;
  while (end > 13 && view.getUint8(end) === 0) end -= 1;
  return view.getUint8(end) === 0x3b ? { kind: 'gif', width: view.getUint16(6, true), height: view.getUint16(8, true) } : undefined;
};

/** The frame header (SOF0 to SOF15 without DHT, JPG and DAC) holds the size; the scan after it must come to its end (EOI). */
const jpeg = (view: DataView): PictureSize | undefined => {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let size: PictureSize | undefined;
  let at = 2;
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    if (marker === 0xda) return endsScan(view, at) ? size : undefined;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      size = { kind: 'jpeg', width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    }
    at += marker === 0xff ? 1 : isBare(marker) ? 2 : 2 + view.getUint16(at + 2);
  }
  return undefined;
};

const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

const endsScan = (view: DataView, from: number): boolean => {
  for (let at = view.byteLength - 2; at > from; at--) if (view.getUint16(at) === 0xffd9) return true;
  return false;
};
