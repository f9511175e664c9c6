/** Widths and sides of tables. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mjml2html from 'mjml';
import t from 'tap';
import { breakWords, fitted, type NarrowTable } from '../../../src/adapters/render/email/escape.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import { componentsOf } from '../../support/documents.js';
import { runs } from '../../support/pdf-tools.js';
import { renderTemplate, templateOf, environment } from '../../support/rendering.js';

// How large tables of data become: at most 1.2 times what MJML writes for the same table.

const rowsMax = 1.2;

type Item = Readonly<{ name: string; quantity: number; total: string }>;

const itemsOf = (count: number): readonly Item[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `Ceramic mug no. ${at + 1}`,
    quantity: (at % 9) + 1,
    total: `€${at + 12}.35`,
  }));

const ours = (items: readonly Item[]): string =>
  renderTemplate(
    templateOf([
      {
        id: 'table',
        type: 'table',
        props: {
          dataSource: 'items',
          columns: [
            { header: 'Item', content: '{{item.name}}' },
            { header: 'Qty', content: '{{item.quantity}}', type: 'number', width: 48 },
            { header: 'Total', content: '{{item.total}}', align: 'right', width: 96 },
          ],
        },
      },
    ]),
    { items: items.map((item) => ({ ...item })) },
  ).html;

/** The look of ours, as an author writes it: mj-table takes the rows as they are. */
const theirs = async (items: readonly Item[]): Promise<string> => {
  const cell = 'padding:10px 12px;border-bottom:1px solid #e5e7eb';
  const row = (tag: string, [name, quantity, total]: readonly (string | number)[]): string =>
    `<tr valign="top"><${tag} align="left" style="${cell}">${name}</${tag}><${tag} align="right" style="${cell}">${quantity}</${tag}><${tag} align="right" style="${cell}">${total}</${tag}></tr>`;
  const rows = items.map(({ name, quantity, total }) => row('td', [name, quantity, total]));
  const { html, errors } = await mjml2html(
    `<mjml><mj-body><mj-section><mj-column><mj-table font-size="15px">${row('th', ['Item', 'Qty', 'Total'])}${rows.join('')}</mj-table></mj-column></mj-section></mj-body></mjml>`,
    // The table has no style sheet; making one small would need a package that MJML only takes where it is there.
    { validationLevel: 'strict', minify: true, minifyOptions: { minifyCss: false } },
  );
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return html;
};

/** The innermost table that has header cells. */
const tableOf = (html: string): string => {
  const header = html.indexOf('<th');
  return html.slice(html.lastIndexOf('<table', header), html.indexOf('</table>', header) + '</table>'.length);
};

for (const count of [10, 100, 300]) {
  void t.test(`${count} rows`, async (t) => {
    const items = itemsOf(count);
    const [mine, mjml] = [ours(items), await theirs(items)];
    for (const html of [mine, mjml]) t.equal(html.split('</tr>').length - 1 > count, true, 'all rows are there');
    const bytes = (html: string): number => Buffer.byteLength(html);
    const [table, whole] = [bytes(tableOf(mine)) / bytes(tableOf(mjml)), bytes(mine) / bytes(mjml)];
    t.comment(
      `table ${bytes(tableOf(mine))} and ${bytes(tableOf(mjml))} bytes, mail ${bytes(mine)} and ${bytes(mjml)}`,
    );
    t.ok(table <= rowsMax, `the table is ${table.toFixed(2)} times that of MJML`);
    if (count > 10) t.ok(whole <= rowsMax, `the mail is ${whole.toFixed(2)} times that of MJML`);
  });
}

// Columns of numbers stand at the end of their lines in mails and documents, whoever says that they are numbers.

const variables = [
  {
    name: 'items',
    type: 'array' as const,
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string' },
          qty: { type: 'number' },
          price: { type: 'number', format: { style: 'currency', currency: 'EUR' } },
          share: { format: { style: 'percent' } },
          at: { type: 'date', format: { style: 'date' } },
          lines: { type: 'array', itemType: 'number' },
        },
      },
    },
  },
  { name: 'total', type: 'number' as const },
];
const values = { total: 3, items: [{ name: 'Mug', qty: 1, price: 2, share: 0.5, at: '2026-11-23', lines: [1] }] };

const sidedTable = (columns: readonly JsonObject[], props: JsonObject) => ({
  id: 't',
  type: 'table' as const,
  props: { dataSource: 'items', columns, ...props },
});

/** The sides of the columns in a mail that runs from left to right, and in a document. */
const sidesOf = (columns: readonly JsonObject[], props: JsonObject = {}) => {
  const table = sidedTable(
    columns.map((column) => ({ header: 'H', ...column })),
    props,
  );
  const { html } = renderTemplate(templateOf([table], { variables }), values);
  const head = [...html.matchAll(/<th[^>]*text-align:(left|right|center)/g)].map(([, side]) => side).join(' ');
  const pages = [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main' as const, components: [table] }] }];
  const document = compileDocument({ variables, schema: { outputFormats: ['pdf'], pages } }, defaultLimits);
  const [expanded] = componentsOf(document(values, environment, 'pdf'));
  const pdf =
    expanded?.type === 'table' ? expanded.columns.map(({ align, headerAlign }) => `${align} ${headerAlign}`) : [];
  return { head, pdf };
};

void t.test('a value that is declared as a number stands at the end', async (t) => {
  const shown = sidesOf(
    ['name', 'qty', 'price', 'share', 'at', 'lines', 'lines[0]', 'lines.length'].map((name) => ({
      content: `{{item.${name}}}`,
    })),
  );
  t.same(
    shown.pdf,
    ['start', 'end', 'end', 'end', 'start', 'start', 'end', 'start'].map((side) => `${side} ${side}`),
  );
  t.equal(shown.head, 'left right right right left left right left');
  const inLoop = sidesOf([{ content: '{{place}}' }, { content: '{{total}}' }, { content: '{{line.qty}}' }], {
    itemVariable: 'line',
    indexVariable: 'place',
  });
  t.same(inLoop.pdf, ['start start', 'end end', 'end end'], 'the number of a line is a label');
  t.equal(inLoop.head, 'left right right');
});

void t.test('what the column says goes before, and text around the value makes it text', async (t) => {
  const shown = sidesOf([
    { content: '{{item.qty}}', align: 'left' },
    { content: '{{item.qty}}', type: 'string' },
    { content: '{{item.name}}', type: 'number' },
    { content: '{{item.at}}', format: { style: 'number' } },
    { content: '{{item.qty}} pieces' },
    { content: '{{item.qty}}', headerAlign: 'center' },
  ]);
  t.same(shown.pdf, ['left left', 'start start', 'end end', 'end end', 'start start', 'end center']);
  t.equal(shown.head, 'left left right right left center');
});

// Tables of data on a phone: no mail is wider than 360 pixels, whatever words and numbers its cells hold.

type Columns = readonly (readonly [head: string, ...cells: string[]])[];

const money = { type: 'currency', format: { style: 'currency', currency: 'EUR' } };

const narrowTable = (columns: Columns, props: object = {}): object => ({
  id: 'table',
  type: 'table',
  props: {
    columns: columns.map(([header], at) => ({ header, ...(at > 1 && columns.length > 2 ? money : {}) })),
    rows: (columns[0] ?? []).slice(1).map((_, row) => columns.map((column) => column[row + 1] ?? '')),
    ...props,
  },
});

const html = (components: readonly object[], locale: string): string =>
  renderTemplate({ subject: 'Table', locale, schema: { sections: [{ id: 'main', type: 'main', components }] } }).html;

const german: Columns = [
  ['Position', 'Kaffeemaschine mit Timer'],
  ['Menge', '1'],
  ['Einzelpreis', '1249.9'],
  ['Gesamtbetrag', '1249.9'],
];
const order = (...heads: readonly string[]): Columns =>
  heads.map((head, at) => [
    head,
    ['Cafetière programmable', '2', '1249.9', '12499.8'][at] ?? '1499.5',
    ['Moulin', '1', '89', '89'][at] ?? '9',
  ]);

const long = (chars: number): string => 'Donaudampfschifffahrtsgesellschaftskapitänsmütze'.slice(0, chars);

const mails: Readonly<Record<string, string>> = {
  'German heads': html([narrowTable(german)], 'de-DE'),
  'French heads': html([narrowTable(order('Désignation', 'Quantité', 'Prix unitaire', 'Montant total'))], 'fr-FR'),
  'Spanish heads': html([narrowTable(order('Descripción', 'Cantidad', 'Precio unitario', 'Importe'))], 'es-ES'),
  'five columns': html(
    [narrowTable(order('Bezeichnung', 'Anzahl', 'Einzelpreis', 'Umsatzsteuer', 'Gesamtbetrag'))],
    'de-DE',
  ),
  'six columns, striped, with lines': html(
    [
      narrowTable(order('Bezeichnung', 'Anzahl', 'Nettobetrag', 'Mehrwertsteuer', 'Versandkosten', 'Gesamtbetrag'), {
        striped: true,
        border: 1,
      }),
    ],
    'de-DE',
  ),
  'large letters': html([narrowTable(german, { fontSize: 22 })], 'de-DE'),
  'large amounts': html(
    [narrowTable([...german.slice(0, 2), ['Preis', '123456789.9'], ['Summe', '987654321.5']])],
    'de-DE',
  ),
  'an IBAN and a link': html(
    [
      narrowTable([
        ['Konto', 'DE89370400440532013000'],
        ['Adresse', 'https://example.com/a/very/long/path?with=a&query=that-does-not-end'],
        ['Betrag', '1249.9'],
        ['Nummer', '123456789012345678901234'],
      ]),
    ],
    'de-DE',
  ),
  'two columns of long words': html(
    [
      narrowTable(
        [
          ['Wort', long(18), long(40)],
          ['Anderes', long(18), long(17)],
        ],
        { border: 1 },
      ),
    ],
    'de-DE',
  ),
  'three columns of long words': html(
    [
      narrowTable(
        [
          ['Wort', long(14)],
          ['Anderes', long(14)],
          ['Drittes', '1'],
        ],
        { border: 1 },
      ),
    ],
    'de-DE',
  ),
  'from right to left': html(
    [
      narrowTable(
        order('المنتجات المطلوبة', 'الكمية', 'السعر بدون الضريبة', 'ضريبة القيمة المضافة', 'المبلغ الإجمالي'),
        {
          border: 1,
          fontSize: 18,
        },
      ),
    ],
    'ar',
  ),
  'in a container': html(
    [{ id: 'box', type: 'container', props: { border: 1 }, children: [narrowTable(german)] }],
    'de-DE',
  ),
  'in columns': html(
    [{ id: 'columns', type: 'columns', children: [narrowTable(german), { ...narrowTable(german), id: 'second' }] }],
    'de-DE',
  ),
  'in a container in columns that stay': html(
    [
      {
        id: 'columns',
        type: 'columns',
        props: { stackOnMobile: false },
        children: [narrowTable(german.slice(0, 2)), { ...narrowTable(german.slice(1, 3)), id: 'second' }],
      },
    ],
    'de-DE',
  ),
  'wide columns': html(
    [
      {
        id: 'table',
        type: 'table',
        props: {
          columns: ['Eins', 'Zwei', 'Drei', 'Vier'].map((header) => ({ header, width: 130 })),
          rows: [['a', 'b', 'c', 'd']],
        },
      },
    ],
    'de-DE',
  ),
};

/** In: mails. Out: how wide each is on a phone, and whether every number that is shown stands on one line. */
const measured = (pages: readonly string[], width: number): readonly number[] => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-phone-'));
  try {
    const escaped = pages.map((page) => page.replaceAll('&', '&amp;').replaceAll('"', '&quot;'));
    const frames = escaped.map(
      (page) => `<iframe srcdoc="${page}" width="${width}" height="600" style="border:0"></iframe>`,
    );
    const measure =
      'onload=()=>{document.body.textContent="WIDTHS "+Array.from(frames).map(({document:d})=>d.documentElement.scrollWidth).join(" ")+" END"}';
    writeFileSync(
      join(folder, 'all.html'),
      `<!doctype html><meta charset="utf-8"><body>${frames.join('')}<script>${measure}</script>`,
    );
    const switches = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}/profile`];
    const dumped = execFileSync('chromium', [...switches, '--dump-dom', `file://${folder}/all.html`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [, widths = ''] = /WIDTHS ([\d ]+) END/.exec(dumped) ?? [];
    return widths.split(' ').map(Number);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

void t.test(
  'no table is wider than a phone',
  { skip: runs('chromium', '--version') ? false : 'chromium is not here' },
  (t) => {
    const widths = measured(Object.values(mails), 360);
    Object.keys(mails).forEach((name, at) =>
      t.ok((widths[at] ?? 0) > 0 && (widths[at] ?? 999) <= 360, `${name}: ${widths[at]} pixels`),
    );
    t.end();
  },
);

/** The class that decides, as the HTML of a mail says it. */
const kindOf = (page: string): string =>
  (/<table(?: dir="rtl")? width="100%"[^>]* class="(?:[tc]\d+ )*([mkq ]*)"/.exec(page)?.[1] ?? '').trim();

void t.test('the width of the words decides, not the number of columns', (t) => {
  const kinds: Readonly<Record<string, string>> = {
    'German heads': 'm',
    'French heads': 'm',
    'Spanish heads': 'm',
    'five columns': 'k',
    'six columns, striped, with lines': 'k q',
    'large amounts': 'k',
    'an IBAN and a link': 'k',
    'two columns of long words': 'm',
    'from right to left': 'k q',
    'in a container': 'k',
    'wide columns': '',
  };
  for (const [name, kind] of Object.entries(kinds)) t.equal(kindOf(mails[name] ?? ''), kind, name);
  t.equal(
    kindOf(
      html(
        [
          narrowTable([
            ['A', '1'],
            ['B', '2'],
            ['C', '3'],
            ['D', '4'],
          ]),
        ],
        'en',
      ),
    ),
    '',
    'four columns of short words',
  );
  t.end();
});

void t.test('the cells of a row stand below each other behind the heads of their columns', (t) => {
  const page = html(
    [
      {
        id: 'table',
        type: 'table',
        props: {
          columns: [
            'Artikel<br>und <b id="x">Nummer</b>',
            'Ja?',
            'Mehrwertsteuerbetrag',
            '',
            'Gesamtbetrag &amp; Porto',
          ].map((header, at) => ({
            header,
            footer: ['Summe', '', '', '', '{{total}}'][at],
          })),
          rows: [
            ['Kaffeemaschine', 'ja', 'Mehrwertsteuern', 'ohne Kopf', '12345678'],
            ['Kaffee', '', '&nbsp;', '<img src="https://example.com/a.png" alt="x">', '1'],
          ],
        },
      },
    ].map((table) => JSON.parse(JSON.stringify(table).replace('{{total}}', '12345679')) as object),
    'de',
  );
  const label = (text: string): string => `<span class="n" style="display:none;mso-hide:all">${text}</span>`;
  t.match(kindOf(page), /^k/);
  t.equal(
    page.split(label('Artikel und Nummer: ')).length - 1,
    2,
    'in the rows, not in the footer, whose first cell says what it is',
  );
  t.equal(page.split(label('Ja? ')).length - 1, 1, 'no label where there is no value');
  t.equal(page.split(label('Mehrwertsteuerbetrag: ')).length - 1, 1);
  t.equal(page.split(label('Gesamtbetrag &amp; Porto: ')).length - 1, 3);
  t.equal(page.split('class="n"').length - 1, 7);
  t.equal(page.split('<tr class="h"').length - 1, 1, 'the row of heads is hidden');
  t.match(page, /@media \(max-width:599px\)\{\.k,/);
  t.notMatch(html([narrowTable(german)], 'de-DE'), '.k td', 'only where a table needs the rules');
  t.end();
});

void t.test('amounts stay in one piece, longer numbers and words may break', (t) => {
  for (const whole of ['12.345.678,90', "1'234'567.89€", '-123456789.00%', '123456789012345678'])
    t.equal(breakWords(whole, 12).includes('<'), false, whole);
  for (const broken of ['1234567890123456789', 'DE89370400440532013000', 'Gesamtbetrages', '12.345.678,90EUR'])
    t.match(breakWords(broken, 12), /^<span/, broken);
  t.end();
});

void t.test('very many labels, and labels longer than the table, are left out', (t) => {
  const look: NarrowTable = { roomPx: 100, fontPx: 15, paddingPx: 24, flushPx: 0, wordChars: 12, hasFooter: false };
  const rows = (head: string, count: number): string =>
    `<tr valign="top"><th>${head}</th><th>B</th></tr>${'<tr><td>abcdefghij</td><td>1234567890</td></tr>'.repeat(count)}`;
  t.equal(fitted(rows('A', 100), look, { breaksLeft: 100_000 }).name, 'k q');
  const few = { breaksLeft: 1_000 };
  t.equal(fitted(rows('A', 100), look, few).name, 'm');
  t.equal(few.breaksLeft, 1_000);
  t.equal(fitted(rows('long '.repeat(1_000), 100), look, { breaksLeft: Infinity }).name, 'm');
  const left = { breaksLeft: 100_000 };
  const { html: made } = fitted(rows('A', 100), look, left);
  t.equal(made.length - rows('A', 100).length, 100_000 - left.breaksLeft, 'what labels take is counted');
  const started = process.cpuUsage().user;
  fitted(rows('A', 50_000), look, { breaksLeft: Infinity });
  fitted('<'.repeat(200_000), look, { breaksLeft: Infinity });
  fitted(`<tr><td>${'&'.repeat(500_000)}`, look, { breaksLeft: Infinity });
  t.ok(process.cpuUsage().user - started < 5_000_000, 'in linear time');
  t.end();
});
