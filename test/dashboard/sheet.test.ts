/** Spreadsheets that strangers attach are read for a look at them within bounds, and hostile ones are refused. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import ExcelJs from 'exceljs';
import t from 'tap';

type Sheet = Readonly<{ name: string; cells: readonly (readonly string[])[]; isCut: boolean }>;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { readSheets, ROWS_MAX, COLUMNS_MAX } = (await import(
  pathToFileURL(join(root, 'dashboard/src/pages/email/sheet.ts')).href
)) as Readonly<{ readSheets: (file: Blob) => Promise<readonly Sheet[]>; ROWS_MAX: number; COLUMNS_MAX: number }>;

const TYPES = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const SHEET_XML = 'xl/worksheets/sheet1.xml';

/** The parts of a workbook with one sheet, which has this XML. */
const partsWith = (sheet: string): Record<string, string> => ({
  'xl/workbook.xml': `<workbook xmlns:r="${TYPES}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="rId1" Type="${TYPES}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
  [SHEET_XML]: sheet,
});

const rowsXml = (inside: string): string => `<worksheet><sheetData>${inside}</sheetData></worksheet>`;

/** `saidBytes`: what the archive says of the size of each part. */
const zip = (parts: Readonly<Record<string, string | Buffer>>, saidBytes?: number): Blob => {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(parts)) {
    const packed = deflateRawSync(text);
    const said = saidBytes ?? Buffer.byteLength(text);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(said, 22);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(8, 10);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(said, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(at, 42);
    locals.push(local, Buffer.from(name), packed);
    directory.push(central, Buffer.from(name));
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(parts).length, 8);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return new Blob([new Uint8Array(Buffer.concat([...locals, ...directory, end]))]);
};

void t.test('a workbook as programs write it', async (t) => {
  const book = new ExcelJs.Workbook();
  const first = book.addWorksheet('Figures & <b>');
  first.addRow(['Name', 'At', 'Sum', 'Paid', 'Twice']);
  first.addRow(['r="x" <i>', new Date(Date.UTC(2026, 0, 2)), 1_234.5, true, { formula: 'C2*2', result: 2_469 }]);
  const many = book.addWorksheet('Many');
  for (let row = 0; row < 1_000; row += 1) many.addRow(Array.from({ length: 60 }, (_, column) => `${row}/${column}`));
  book.addWorksheet('Empty');
  const sheets = await readSheets(new Blob([await book.xlsx.writeBuffer()]));
  t.match(
    sheets.map(({ name, cells, isCut }) => [name, cells.length, cells[0]?.length ?? 0, isCut]),
    [
      ['Figures & <b>', 2, 5, false],
      ['Many', ROWS_MAX, COLUMNS_MAX, true],
      ['Empty', 0, 0, false],
    ],
  );
  t.same(
    sheets[0]?.cells[1]?.filter((_, place) => place !== 1),
    ['r="x" <i>', '1,234.5', 'TRUE', '2,469'],
  );
  t.match(sheets[0]?.cells[1]?.[1], /2026/);
});

void t.test('parts with prefixes, gaps and endless rows', async (t) => {
  const prefixed =
    '<x:worksheet xmlns:x="y"><x:sheetData><x:row r="2"><x:c r="B2" t="inlineStr"><x:is><x:t>here</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>';
  t.same((await readSheets(zip(partsWith(prefixed))))[0]?.cells, [
    ['', ''],
    ['', 'here'],
  ]);
  const gap = rowsXml('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>2</v></c></row>');
  t.match((await readSheets(zip(partsWith(gap))))[0], { cells: [['1']], isCut: true });
  const endless = `<worksheet><sheetData>${'<row><c r="A1"><v>1</v></c></row>'}${'<row/>'.repeat(2_000_000)}`;
  t.match((await readSheets(zip(partsWith(endless))))[0], { isCut: true });
});

void t.test('hostile files are refused, and none is read beyond its bounds', async (t) => {
  const refused: Readonly<Record<string, Blob>> = {
    'no archive': new Blob(['PK no archive']),
    empty: new Blob([]),
    noise: new Blob([new Uint8Array(randomBytes(100_000))]),
    'an archive without a workbook': zip({ 'a.xml': '<a/>' }),
    'a row far away': zip(partsWith(rowsXml('<row r="99999999999"><c r="A1"><v>1</v></c></row>'))),
    'a column far away': zip(partsWith(rowsXml('<row r="1"><c r="ZZZZZZZZ1"><v>1</v></c></row>'))),
    'a row as an exponent': zip(partsWith(rowsXml('<row r="1e9"><c r="A1"><v>1</v></c></row>'))),
    'a row as an entity': zip(partsWith(rowsXml('<row r="&#57;99999999"><c r="A1"><v>1</v></c></row>'))),
    'a place behind a sign in a value': zip(partsWith(rowsXml('<row a=">" r="9999999"><c r="A1"><v>1</v></c></row>'))),
    'what a comment hides': zip(partsWith(rowsXml('<!-- <row> --><row r="1"><c r="A1"><v>1</v></c></row>'))),
    'a bomb of texts': zip({ ...partsWith(rowsXml('')), 'xl/sharedStrings.xml': Buffer.alloc(300_000_000, 'a') }, 10),
    'too many sheets': zip({
      ...partsWith(rowsXml('')),
      'xl/workbook.xml': `<workbook><sheets>${'<sheet name="a" sheetId="1" r:id="rId1"/>'.repeat(100_000)}</sheets></workbook>`,
    }),
    'too many parts': zip(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`${n}.xml`, '<a/>']))),
  };
  for (const [name, file] of Object.entries(refused))
    await t.rejects(readSheets(file), { name: 'SheetUnreadable', message: /spreadsheet/ }, name);
  const bomb = rowsXml('<row r="1"><c r="A1"><v>1</v></c></row>').replace('</sheetData>', ' '.repeat(200_000_000));
  t.match((await readSheets(zip(partsWith(bomb), 10)))[0], { cells: [['1']], isCut: true }, 'a bomb behind the rows');
  const far = rowsXml('<row r="1"><c r="XFD1"><v>1</v></c></row>');
  t.match((await readSheets(zip(partsWith(far))))[0], { isCut: true }, 'the last column of a sheet');
});

void t.test('damaged archives are refused, whatever is damaged', async (t) => {
  const whole = Buffer.from(await zip(partsWith(rowsXml('<row r="1"><c r="A1"><v>1</v></c></row>'))).arrayBuffer());
  for (let place = 0; place < whole.length; place += 1) {
    const bytes = Buffer.from(whole);
    bytes[place] = bytes[place]! ^ 0xff;
    await readSheets(new Blob([new Uint8Array(bytes)])).catch((fault: unknown) => {
      if (!(fault instanceof Error) || fault.name !== 'SheetUnreadable') t.fail(`byte ${place}: ${String(fault)}`);
    });
  }
});
