/** The ZIP package of a workbook: reads what the writer made, takes changed and added parts, writes it again with fixed times. */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';

/** A part as it stands in the package: what is not changed is never unpacked. */
type Entry = Readonly<{ name: string; method: 0 | 8; crc: number; size: number; packed: Uint8Array }>;

export type Package = Readonly<{
  /** The text of a part; undefined where the package has none of that name. */
  text: (name: string) => string | undefined;
  /** Puts a part in place of the one of that name, or adds it. */
  put: (name: string, content: string | Uint8Array) => void;
  /** The whole package; the same parts give the same bytes. */
  bytes: () => Uint8Array;
}>;

/** In: a ZIP file without encryption and without ZIP64, as archiver writes it. */
export const openPackage = (zip: Uint8Array): Package => {
  const entries = new Map(readEntries(zip).map((entry) => [entry.name, entry] as const));
  return {
    text: (name) => {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      return Buffer.from(entry.method === 0 ? entry.packed : inflateRawSync(entry.packed)).toString('utf8');
    },
    put: (name, content) => entries.set(name, packed(name, typeof content === 'string' ? Buffer.from(content, 'utf8') : content)),
    bytes: () => writeEntries([...entries.values()].sort((a, b) => rank(a.name) - rank(b.name))),
  };
};

/** Readers that look at the first bytes only expect these parts in front. */
const rank = (name: string): number => (name === '[Content_Types].xml' ? 0 : name === '_rels/.rels' ? 1 : 2);

const packed = (name: string, content: Uint8Array): Entry => {
  const deflated = deflateRawSync(content);
  const method = deflated.length < content.length ? 8 : 0;
  return { name, method, crc: crc32(content), size: content.length, packed: method === 8 ? deflated : content };
};

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;

const readEntries = (zip: Uint8Array): Entry[] => {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const end = zip.length - END_BYTES;
  if (end < 0 || view.getUint32(end, true) !== END) throw new Error('the workbook that was written is no ZIP file');
  let at = view.getUint32(end + 16, true);
  return Array.from({ length: view.getUint16(end + 10, true) }, () => {
    if (view.getUint32(at, true) !== CENTRAL) throw new Error('the directory of the workbook that was written is broken');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)) as [
      number,
      number,
      number,
    ];
    const method = view.getUint16(at + 10, true);
    if (method !== 0 && method !== 8) throw new Error(`a part of the workbook is packed by method ${method}`);
    const local = view.getUint32(at + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const name = Buffer.from(zip.subarray(at + 46, at + 46 + nameBytes)).toString('utf8');
    const entry: Entry = {
      name,
      method,
      crc: view.getUint32(at + 16, true),
      size: view.getUint32(at + 24, true),
      packed: zip.subarray(start, start + view.getUint32(at + 20, true)),
    };
    at += 46 + nameBytes + extraBytes + commentBytes;
    return entry;
  });
};

/** 1 January 1980, the first day that ZIP knows: a real time would make every file another one. */
const DOS_DATE = 0x21;
const UTF8_NAMES = 0x800;

const writeEntries = (entries: readonly Entry[]): Uint8Array => {
  const names = entries.map(({ name }) => Buffer.from(name, 'utf8'));
  const total = entries.reduce((sum, { packed: bytes }, at) => sum + 76 + 2 * (names[at]?.length ?? 0) + bytes.length, END_BYTES);
  const out = Buffer.alloc(total);
  let at = 0;
  const offsets = entries.map((entry, index) => {
    const offset = at;
    at = out.writeUInt32LE(LOCAL, at);
    at = writeCommon(out, at, entry, names[index]?.length ?? 0);
    at += names[index]?.copy(out, at) ?? 0;
    out.set(entry.packed, at);
    at += entry.packed.length;
    return offset;
  });
  const directory = at;
  entries.forEach((entry, index) => {
    at = out.writeUInt32LE(CENTRAL, at);
    at = out.writeUInt16LE(20, at);
    at = writeCommon(out, at, entry, names[index]?.length ?? 0);
    at += 10; // no comment, first disk, no attributes
    at = out.writeUInt32LE(offsets[index] ?? 0, at);
    at += names[index]?.copy(out, at) ?? 0;
  });
  const directoryBytes = at - directory;
  at = out.writeUInt32LE(END, at) + 4;
  at = out.writeUInt16LE(entries.length, at);
  at = out.writeUInt16LE(entries.length, at);
  at = out.writeUInt32LE(directoryBytes, at);
  out.writeUInt32LE(directory, at);
  return out;
};

/** What the local header and the directory have in common, from "version needed" to the length of the extra field. */
const writeCommon = (out: Buffer, start: number, entry: Entry, nameBytes: number): number => {
  let at = out.writeUInt16LE(20, start);
  at = out.writeUInt16LE(UTF8_NAMES, at);
  at = out.writeUInt16LE(entry.method, at);
  at = out.writeUInt16LE(0, at);
  at = out.writeUInt16LE(DOS_DATE, at);
  at = out.writeUInt32LE(entry.crc, at);
  at = out.writeUInt32LE(entry.packed.length, at);
  at = out.writeUInt32LE(entry.size, at);
  at = out.writeUInt16LE(nameBytes, at);
  return out.writeUInt16LE(0, at);
};
