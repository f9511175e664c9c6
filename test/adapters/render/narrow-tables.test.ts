/** Tables of data on a phone: no mail is wider than 360 pixels, whatever words and numbers its cells hold. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { breakWords, fitted, type NarrowTable } from '../../../src/adapters/render/email/escape.js';
import { runs } from '../../support/pdf-tools.js';
import { renderTemplate } from '../../support/rendering.js';

type Columns = readonly (readonly [head: string, ...cells: string[]])[];

const money = { type: 'currency', format: { style: 'currency', currency: 'EUR' } };

const tableOf = (columns: Columns, props: object = {}): object => ({
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
  'German heads': html([tableOf(german)], 'de-DE'),
  'French heads': html([tableOf(order('Désignation', 'Quantité', 'Prix unitaire', 'Montant total'))], 'fr-FR'),
  'Spanish heads': html([tableOf(order('Descripción', 'Cantidad', 'Precio unitario', 'Importe'))], 'es-ES'),
  'five columns': html(
    [tableOf(order('Bezeichnung', 'Anzahl', 'Einzelpreis', 'Umsatzsteuer', 'Gesamtbetrag'))],
    'de-DE',
  ),
  'six columns, striped, with lines': html(
    [
      tableOf(order('Bezeichnung', 'Anzahl', 'Nettobetrag', 'Mehrwertsteuer', 'Versandkosten', 'Gesamtbetrag'), {
        striped: true,
        border: 1,
      }),
    ],
    'de-DE',
  ),
  'large letters': html([tableOf(german, { fontSize: 22 })], 'de-DE'),
  'large amounts': html(
    [tableOf([...german.slice(0, 2), ['Preis', '123456789.9'], ['Summe', '987654321.5']])],
    'de-DE',
  ),
  'an IBAN and a link': html(
    [
      tableOf([
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
      tableOf(
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
      tableOf(
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
      tableOf(order('المنتجات المطلوبة', 'الكمية', 'السعر بدون الضريبة', 'ضريبة القيمة المضافة', 'المبلغ الإجمالي'), {
        border: 1,
        fontSize: 18,
      }),
    ],
    'ar',
  ),
  'in a container': html(
    [{ id: 'box', type: 'container', props: { border: 1 }, children: [tableOf(german)] }],
    'de-DE',
  ),
  'in columns': html(
    [{ id: 'columns', type: 'columns', children: [tableOf(german), { ...tableOf(german), id: 'second' }] }],
    'de-DE',
  ),
  'in a container in columns that stay': html(
    [
      {
        id: 'columns',
        type: 'columns',
        props: { stackOnMobile: false },
        children: [tableOf(german.slice(0, 2)), { ...tableOf(german.slice(1, 3)), id: 'second' }],
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
          tableOf([
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
  t.notMatch(html([tableOf(german)], 'de-DE'), '.k td', 'only where a table needs the rules');
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
