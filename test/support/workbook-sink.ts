/**
 * Every component that a workbook has, with the props that change its look: a sheet for each, for goldens and for
 * looking at.
 */
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { png } from './pictures.js';

const PICTURE = `data:image/png;base64,${png.toString('base64')}`;
const rich = (id: string, content: string, props: JsonObject = {}): Json => ({ id, type: 'rich-text', content, props });
const made = (type: string, all: readonly JsonObject[]): readonly Json[] =>
  all.map((props, at) => ({ id: `${type}-${at}`, type, props }));

const columns: readonly JsonObject[] = [
  { header: '#', content: '{{at}}', type: 'number', width: 40 },
  {
    header: 'Name',
    content: '<strong>{{item.name}}</strong><br><span style="font-size:12px;color:#6b7280">{{item.note}}</span>',
    footer: 'Sum',
  },
  { header: 'Day', content: '{{item.day}}', type: 'date', align: 'center' },
  { header: 'Share', content: '{{item.share}}', type: 'percent', headerAlign: 'start' },
  { header: 'Paid', content: '{{item.paid}}', type: 'boolean' },
  {
    header: 'Price',
    content: '{{item.price}}',
    format: { style: 'currency', currency: 'EUR' },
    footer: '=SUM(F{first}:F{last})',
  },
];
const table = (props: JsonObject): JsonObject =>
  ({ dataSource: '{{items}}', indexVariable: 'at', columns, ...props }) as JsonObject;

export const everyLook: readonly Readonly<{ name: string; components: readonly Json[] }>[] = [
  {
    name: 'Text',
    components: [
      rich(
        'all',
        '<h1>One</h1><h2>Two</h2><h3>Three</h3><p>Plain, <strong>bold</strong>, <em>italic</em>, <u>under</u>, <s>struck</s>, <code>code</code>, H<sub>2</sub>O, <span style="color:#be185d">pink</span>, <a href="https://example.com">a link</a>.</p>' +
          '<ul><li>First<ol start="3"><li>third</li></ol></li></ul><blockquote>Quoted</blockquote><hr><p><a href="https://example.com/whole">Whole link</a></p>',
      ),
      ...['left', 'center', 'right', 'start', 'end'].map((align) => rich(align, `<p>${align}</p>`, { align })),
      rich('auto', '<p>النص نفسه</p>', { direction: 'auto' }),
      rich('color', '<p>colour</p>', { color: '#7c2d12' }),
      rich('size', '<p>size</p>', { fontSize: 22, fontFamily: 'Georgia, serif' }),
      rich('light', '<p>light <a href="https://example.com">link</a> on</p>', { backgroundColor: '#fef3c7' }),
      rich('dark', '<h3>dark</h3><p>letters <a href="https://example.com">link</a> on</p>', {
        backgroundColor: '#1e3a8a',
      }),
      rich(
        'cells',
        '<table><tr><th>Head</th><th align="right">Side</th></tr><tr><td bgcolor="#111827">dark</td><td style="background-color:#fde047">yellow</td></tr></table>',
      ),
    ],
  },
  {
    name: 'Tables',
    components: made('table', [
      table({}),
      table({ border: '1px solid #d1d5db', striped: true, headerBackgroundColor: '#111827' }),
      table({ headerBackgroundColor: '#dcfce7', headerColor: '#14532d', color: '#14532d', fontSize: 13 }),
      table({ showHeader: false, border: '2px dashed #be185d' }),
      table({ dataSource: '{{none}}', emptyText: 'Nothing here.' }),
      {
        rows: [
          ['left', 1],
          ['right', 'two'],
        ],
        columns: [
          { header: 'A', width: '30%' },
          { header: 'B', align: 'end' },
        ],
      },
    ]),
  },
  {
    name: 'Pictures',
    components: [
      ...made('image', [
        { src: PICTURE, alt: 'as it is' },
        { src: PICTURE, alt: 'wide', width: 200, align: 'center', href: 'https://example.com' },
        { src: PICTURE, alt: 'at the end', height: 30, align: 'end' },
      ]),
    ],
  },
  {
    name: 'Charts',
    components: made(
      'chart',
      ['bar', 'column', 'stacked-column', 'line', 'area', 'pie', 'doughnut'].map((chartType) => ({
        chartType,
        dataSource: 'items',
        categoryField: 'name',
        series: [{ name: 'Price', valueField: 'price' }],
        title: `A ${chartType} chart`,
        height: 150,
      })),
    ),
  },
];

export const lookVariables: JsonObject = {
  none: [],
  items: [
    { name: 'Tea <green>', note: 'loose', day: '2026-11-21', share: 0.125, paid: true, price: 1234.5 },
    { name: 'شاي', note: 'more', day: '2026-12-01', share: 1, paid: false, price: 25 },
    { name: 'Café', note: '', day: '2027-01-31', share: 0.05, paid: true, price: 2481 },
  ],
};
