/** WOFF 1.0 turned into the OpenType file that it packs: read so, a table is unpacked once and not for every letter. */
import { inflateSync } from 'node:zlib';

const WOFF_HEADER_BYTES = 44;
const WOFF_ENTRY_BYTES = 20;
const HEADER_BYTES = 12;
const ENTRY_BYTES = 16;
const TABLES_MAX = 256;
const TABLE_BYTES_MAX = 64 * 1_024 * 1_024;

/** Source: https://www.w3.org/TR/WOFF/ sections 3 to 5. Throws where the bytes are no WOFF file. */
export const sfntOfWoff = (woff: Buffer): Buffer => {
  if (woff.length < WOFF_HEADER_BYTES || woff.toString('latin1', 0, 4) !== 'wOFF') throw new Error('it is no WOFF 1.0 file');
  const tableCount = woff.readUInt16BE(12);
  if (tableCount === 0 || tableCount > TABLES_MAX) throw new Error(`it says that it holds ${tableCount} tables`);
  const header = Buffer.alloc(HEADER_BYTES + ENTRY_BYTES * tableCount);
  writeHeader(header, woff.readUInt32BE(4), tableCount);
  const parts: Buffer[] = [header];
  let position = header.length;
  for (let index = 0; index < tableCount; index += 1) {
    const entry = WOFF_HEADER_BYTES + WOFF_ENTRY_BYTES * index;
    const table = tableAt(woff, entry);
    const target = HEADER_BYTES + ENTRY_BYTES * index;
    woff.copy(header, target, entry, entry + 4);
    woff.copy(header, target + 4, entry + 16, entry + 20);
    header.writeUInt32BE(position, target + 8);
    header.writeUInt32BE(table.length, target + 12);
    const padding = (4 - (table.length % 4)) % 4;
    parts.push(table, Buffer.alloc(padding));
    position += table.length + padding;
  }
  return Buffer.concat(parts);
};

const writeHeader = (header: Buffer, flavor: number, tableCount: number): void => {
  const selector = Math.floor(Math.log2(tableCount));
  header.writeUInt32BE(flavor, 0);
  header.writeUInt16BE(tableCount, 4);
  header.writeUInt16BE(ENTRY_BYTES * 2 ** selector, 6);
  header.writeUInt16BE(selector, 8);
  header.writeUInt16BE(ENTRY_BYTES * (tableCount - 2 ** selector), 10);
};

const tableAt = (woff: Buffer, entry: number): Buffer => {
  const start = woff.readUInt32BE(entry + 4);
  const packedBytes = woff.readUInt32BE(entry + 8);
  const sizeBytes = woff.readUInt32BE(entry + 12);
  const packed = woff.subarray(start, start + packedBytes);
  if (packed.length < packedBytes || sizeBytes > TABLE_BYTES_MAX) throw new Error('its table of contents does not fit its size');
  const table = packedBytes < sizeBytes ? inflateSync(packed, { maxOutputLength: sizeBytes }) : packed;
  if (table.length !== sizeBytes) throw new Error('one of its tables has not the size that it says');
  return table;
};
