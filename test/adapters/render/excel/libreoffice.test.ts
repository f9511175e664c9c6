/**
 * LibreOffice opens our workbooks without a message, shows the results of the author's formulas, and shows injected
 * formulas as text.
 */
import t from 'tap';
import { csvOf, lacksLibreOffice } from '../../../support/libreoffice.js';
import { bytesOf } from './xlsx.js';

void t.test('LibreOffice', { skip: lacksLibreOffice }, async (t) => {
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
            {
              header: 'Price',
              content: '{{item.p}}',
              format: { style: 'currency', currency: 'EUR' },
              footer: '=SUM(C{first}:C{last})',
            },
            { header: 'Paid', content: '{{item.ok}}' },
            { header: 'Twice', content: '=C{row}*2', type: 'number' },
            {
              header: 'Size',
              content: '=IFS(C{row}>1000,"large (IFS)",TRUE,"small")',
              footer: '=TEXTJOIN("+",TRUE,F{first}:F{last})',
            },
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
        { n: 'upper line\nlower line', d: '2026-12-02', p: 1, ok: false },
      ],
    },
  });
  const csv = await csvOf(t, bytes, '59,34,76,1,,0,false,true');
  const lines = csv
    .split('\n')
    .map((line) => line.replace(/;+$/, '').split(';'))
    .filter(([first]) => first !== '');
  const line = (start: string): readonly string[] => lines.find(([first]) => first === start) ?? [];
  t.same(line('Invoice'), ['Invoice']);
  t.same(line('=1+1'), ['=1+1', '21.11.2026', '€10.50', 'TRUE', '21', 'small']);
  t.same(line('_x0041_ <b>&'), ['_x0041_ <b>&', '01.12.2026', '€2,000.00', 'FALSE', '4000', 'large (IFS)']);
  t.ok(csv.includes(';;€2,011.50;;;small+large (IFS)+small'), 'the sum, and functions that came after ECMA-376');
  t.match(csv, /"upper line\nlower line"/, 'a cell of two lines keeps both');
});
