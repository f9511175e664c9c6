/** What LibreOffice makes of our workbooks: it opens them without a word, shows what the author's formulas give, and attacks as text. */
import t from 'tap';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bytesOf } from './xlsx.js';

const isThere = ((): boolean => {
  try {
    execFileSync('soffice', ['--version'], { stdio: 'ignore', timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
})();

void t.test('LibreOffice', { skip: isThere || process.env['CI'] !== undefined ? false : 'soffice is not installed' }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-xlsx-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const chart = (chartType: string) =>
    ({
      id: chartType,
      type: 'chart',
      props: { chartType, dataSource: '{{rows}}', categoryField: 'n', series: [{ name: 'S', valueField: 'p' }] },
    }) as const;
  const bytes = await bytesOf({
    components: [
      { id: 'r', type: 'rich-text', content: '<h1>Invoice</h1>' },
      {
        id: 't',
        type: 'table',
        props: {
          dataSource: '{{rows}}',
          columns: [
            { header: 'Name', content: '{{item.n}}' },
            { header: 'Day', content: '{{item.d}}', format: { style: 'date', pattern: 'dd.MM.yyyy' } },
            { header: 'Price', content: '{{item.p}}', format: { style: 'currency', currency: 'EUR' }, footer: '=SUM(C{first}:C{last})' },
            { header: 'Paid', content: '{{item.ok}}' },
            { header: 'Twice', content: '=C{row}*2', type: 'number' },
          ],
        },
      },
      chart('column'),
      chart('doughnut'),
    ],
    variables: {
      rows: [
        { n: '=1+1', d: '2026-11-21', p: 10.5, ok: true },
        { n: '_x0041_ <b>&', d: '2026-12-01', p: 2000, ok: false },
      ],
    },
  });
  const file = join(folder, 'book.xlsx');
  writeFileSync(file, bytes);
  await promisify(execFile)(
    'soffice',
    [
      `-env:UserInstallation=file://${folder}/profile`,
      '--headless',
      '--convert-to',
      'csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true',
      '--outdir',
      folder,
      file,
    ],
    { timeout: 900_000 },
  );
  const lines = readFileSync(join(folder, 'book.csv'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/;+$/, '').split(';'))
    .filter(([first]) => first !== '');
  const line = (start: string): readonly string[] => lines.find(([first]) => first === start) ?? [];
  t.same(line('Invoice'), ['Invoice']);
  t.same(line('=1+1'), ['=1+1', '21.11.2026', '€10.50', 'TRUE', '21']);
  t.same(line('_x0041_ <b>&'), ['_x0041_ <b>&', '01.12.2026', '€2,000.00', 'FALSE', '4000']);
  t.ok(readFileSync(join(folder, 'book.csv'), 'utf8').includes(';;€2,010.50'), 'the sum');
});
