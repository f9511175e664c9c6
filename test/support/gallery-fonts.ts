/** Font files as teams upload them, good and bad: made of one that is free. */
import { readFileSync } from 'node:fs';
import { roboto } from '../../src/adapters/render/pdf/font-files.js';

/** Slanted letters, which no text has that does not name them. */
export const brandFont = readFileSync(roboto.files.italics ?? '');

const ENTRIES_AT = 12;
const ENTRY_BYTES = 16;

/** Place of the table in the file, from its directory. */
const entryOf = (font: Buffer, tag: string): number => {
  for (let at = ENTRIES_AT; at < ENTRIES_AT + font.readUInt16BE(4) * ENTRY_BYTES; at += ENTRY_BYTES)
    if (font.toString('latin1', at, at + 4) === tag) return at;
  throw new Error(`no table ${tag}`);
};

/** With other licence bits. */
export const withLicence = (fsType: number): Buffer => {
  const font = Buffer.from(brandFont);
  font.writeUInt16BE(fsType, font.readUInt32BE(entryOf(font, 'OS/2') + 8) + 8);
  return font;
};

/** With one table under another name. */
export const withTable = (from: string, to: string): Buffer => {
  const font = Buffer.from(brandFont);
  font.write(to, entryOf(font, from), 'latin1');
  return font;
};

/** It says that it has four billion characters. */
export const endlessFont = (): Buffer => {
  const table = Buffer.alloc(40);
  [1, 3, 10].forEach((value, at) => table.writeUInt16BE(value, 2 + at * 2));
  table.writeUInt32BE(12, 8);
  table.writeUInt16BE(12, 12);
  table.writeUInt32BE(28, 16);
  table.writeUInt32BE(1, 24);
  table.writeUInt32BE(0xffffffff, 32);
  table.writeUInt32BE(1, 36);
  const font = Buffer.concat([brandFont, table]);
  const entry = entryOf(font, 'cmap');
  font.writeUInt32BE(brandFont.length, entry + 8);
  font.writeUInt32BE(table.length, entry + 12);
  return font;
};

/** It has nothing but Latin letters and these characters, each of which looks like a letter. */
export const fontWith = (characters: string): Buffer => {
  const codes = [...characters].map((character) => character.codePointAt(0) ?? 0).toSorted((one, other) => one - other);
  const groups = [[0x20, 0x7e, 4] as const, ...codes.map((code) => [code, code, 40] as const)];
  const table = Buffer.alloc(28 + groups.length * 12);
  [1, 3, 10].forEach((value, at) => table.writeUInt16BE(value, 2 + at * 2));
  table.writeUInt32BE(12, 8);
  table.writeUInt16BE(12, 12);
  table.writeUInt32BE(16 + groups.length * 12, 16);
  table.writeUInt32BE(groups.length, 24);
  groups.flat().forEach((value, at) => table.writeUInt32BE(value, 28 + at * 4));
  const font = Buffer.concat([brandFont, table]);
  const entry = entryOf(font, 'cmap');
  font.writeUInt32BE(brandFont.length, entry + 8);
  font.writeUInt32BE(table.length, entry + 12);
  return font;
};
