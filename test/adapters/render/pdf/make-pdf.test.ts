/** Each component of a PDF, as a reader would copy it and as a screen reader would read it. */
import t from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { Expanded, ExpandedDocument, TextStyle } from '../../../../src/domain/rendering/expand/expanded.js';
import { cell, column, component, documentOf, page, richText, tableOf } from '../../../support/expanded-documents.js';
import { checkedByOthers, heardOf, readsStructure } from '../../../support/pdf-tools.js';
import { placedWords } from '../../../support/pdf-words.js';
import { readPdf, type ReadPdf } from '../../../support/read-pdf.js';

const metadata = { title: 'Invoice 7 — Zoë', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };

const made = async (document: ExpandedDocument): Promise<ReadPdf> => {
  const bytes = await makePdf(document, new Map(), metadata, defaultLimits);
  const read = readPdf(bytes);
  await checkedByOthers(bytes, read);
  return read;
};
const madeOf = (...components: readonly Expanded[]): Promise<ReadPdf> => made(documentOf(page(components)));
const linesOf = async (...components: readonly Expanded[]): Promise<readonly string[]> =>
  (await madeOf(...components)).sheets.flatMap(({ lines }) => lines);
const structureOf = async (...components: readonly Expanded[]): Promise<readonly string[]> =>
  (await madeOf(...components)).structure;

void t.test('the file says what it is', async (t) => {
  const { info, catalog, fonts, sheets } = await madeOf(richText('<p>Hello <b>you</b></p>'));
  t.same(info, {
    Title: 'Invoice 7 — Zoë',
    Author: 'Ada',
    Creator: 'sealpost',
    Producer: 'sealpost',
    CreationDate: 'D:20260102030405Z',
  });
  t.match(catalog, /\/Lang \(en-US\)/);
  t.match(catalog, /\/StructTreeRoot \d+ 0 R/);
  t.same(fonts, ['Roboto-Medium', 'Roboto-Regular']);
  t.same(
    sheets.map(({ width, height }) => [width, height]),
    [[595.28, 841.89]],
  );
});

void t.test('rich text', async (t) => {
  void t.test('paragraphs, headings, breaks and white space', async (t) => {
    t.same(
      await linesOf(
        richText(
          '<h1>One</h1>\n <h2>Two\n three</h2><p>a  <b> b</b>\n c<br>d</p><div>e<div>f</div>g</div><p></p><p>&lt;x&gt; &amp; &nbsp;y</p>',
        ),
      ),
      ['One', 'Two three', 'a b c', 'd', 'e', 'f', 'g', '<x> & \u00a0y'],
    );
    t.same(await structureOf(richText('<h1>One</h1><h3>Two</h3><p>a<br>b</p>')), ['Document', '  H1', '  H3', '  P']);
  });

  void t.test('the case of letters goes by the language', async (t) => {
    const cases = ['uppercase">istanbul ıs', 'lowercase">ISPARTA', 'capitalize">izmir ili'];
    const document = documentOf(page(cases.map((one) => richText(`<p style="text-transform:${one}</p>`))));
    const linesIn = async (locale: string): Promise<unknown> =>
      (await made({ ...document, language: { ...document.language, locale } })).sheets[0]?.lines;
    t.same(await linesIn('tr-TR'), ['İSTANBUL IS', 'ısparta', 'İzmir İli']);
    t.same(await linesIn('de'), ['ISTANBUL IS', 'isparta', 'Izmir Ili']);
  });

  void t.test('text alone, and nothing at all', async (t) => {
    t.same(await linesOf(richText('no markup'), richText(''), richText('  '), richText('<p> </p>')), ['no markup']);
    t.same(
      (await madeOf()).sheets.map(({ lines }) => lines),
      [[]],
    );
  });

  void t.test('looks', async (t) => {
    const { sheets, fonts } = await madeOf(
      richText(
        '<p><b>b</b> <i>i</i> <strong><em>bi</em></strong> <span style="color:#ff0000;font-size:20pt">red</span> <mark>m</mark> <u>u</u> <s>s</s> x<sup>2</sup> y<sub>3</sub> <span style="text-transform:uppercase">up</span></p>',
      ),
    );
    t.same(fonts, ['Roboto-Italic', 'Roboto-Medium', 'Roboto-MediumItalic', 'Roboto-Regular']);
    const content = sheets[0]?.content ?? '';
    t.match(content, /^1 0 0 scn$/m, 'red');
    t.match(content, / 20 Tf/, 'its size');
    t.match(content, / 6\.38\d* Tf/, 'raised and lowered letters are smaller');
    t.match(sheets[0]?.lines.join(' '), /UP/);
  });

  void t.test('lists in lists, with their numbers', async (t) => {
    const html =
      '<ol start="3"><li>three<ul><li>dot</li></ol><ol type="a"><li>alpha</li><li value="5">e</li></ol><ul><li></li><li>last</li></ul>';
    t.same(await linesOf(richText(html)), ['3. three', 'dot', 'a. alpha', 'e. e', 'last']);
    t.same(await structureOf(richText('<ol><li>one<ul><li>two</li></ul></li></ol>')), [
      'Document',
      '  L',
      '    LI',
      '      Lbl',
      '      LBody',
      '        P',
      '        L',
      '          LI',
      '            LBody',
      '              P',
    ]);
  });

  void t.test('quotes, code and rules', async (t) => {
    t.same(
      await linesOf(
        richText(
          '<blockquote><p>q1</p><p>q2</p></blockquote><pre>a\n  b</pre><hr><p>said <q>x</q> <code>f()</code></p>',
        ),
      ),
      ['q1', 'q2', 'a', 'b', 'said “x” f()'],
    );
  });

  void t.test('tables with spans', async (t) => {
    const html =
      '<table><caption>Cap</caption><tfoot><tr><td>f1</td><td>f2</td><td>f3</td></tr></tfoot><thead><tr><th>A</th><th>B</th><th>C</th></tr></thead>' +
      '<tbody><tr><td colspan="2">ab</td><td rowspan="2">c</td></tr><tr><td>1</td><td>2</td></tr><tr><td>short</td></tr></tbody></table>';
    t.same(await linesOf(richText(html)), ['Cap', 'A\tB\tC', 'ab\tc', '1\t2', 'short', 'f1\tf2\tf3']);
  });

  void t.test('text on a dark background can be read', async (t) => {
    const colorsOf = async (style: TextStyle): Promise<boolean> => {
      const { sheets } = await madeOf(
        component('rich-text', { html: '<p>word <a href="https://a.example">link</a></p>', style }),
      );
      return /^1 1 1 (?:rg|scn)$/m.test(sheets[0]?.content ?? '');
    };
    t.ok(await colorsOf({ backgroundColor: '#1e3a8a' }), 'white');
    t.notOk(await colorsOf({ backgroundColor: '#eef2ff' }));
    t.notOk(await colorsOf({ backgroundColor: '#1e3a8a', color: '#fcd34d' }), 'as the author says');
    const header = tableOf(['Head'], [['body']], { headerBackgroundColor: '#111827' });
    t.match((await madeOf(header)).sheets[0]?.content, /^1 1 1 (?:rg|scn)$/m);
  });

  void t.test('text on a dark background of HTML can be read', async (t) => {
    const isWhite = async (html: string, style: TextStyle = {}): Promise<boolean> =>
      /^1 1 1 (?:rg|scn)$/m.test((await madeOf(component('rich-text', { html, style }))).sheets[0]?.content ?? '');
    const row = (more: string, cell: string): string => `<table ${more}><tr><td ${cell}>word</td></tr></table>`;
    for (const dark of [
      row('', 'bgcolor="#111827"'),
      row('', 'style="background:#111827"'),
      row('style="background-color:#111827"', ''),
      row('style="color:#ff0000"', 'bgcolor="#111827"'),
      '<table><tr bgcolor="#111827"><td>word</td></tr></table>',
      '<table><thead style="background:#111827"><tr><td>word</td></tr></thead><tr><td>a</td></tr></table>',
      '<p style="background:#111827">word</p>',
      '<h2 style="background:#111827">word</h2>',
      '<p><span style="background:#111827">word</span></p>',
      '<ul style="background:#111827"><li>word</li></ul>',
      '<p style="background:#111827;color:#fde047"><a href="https://a.example">link</a></p>',
    ])
      t.ok(await isWhite(dark), dark);
    for (const light of [
      row('', 'bgcolor="#eeeeee"'),
      row('', 'style="background:#111827;color:#fde047"'),
      '<table><tr bgcolor="#111827" style="color:#fde047"><td>word</td></tr></table>',
      '<table><tr bgcolor="#111827"><td bgcolor="#eeeeee">word</td></tr></table>',
      '<table style="background:#111827"><caption>word</caption><tr><td style="color:#fde047"> </td></tr></table>',
    ])
      t.notOk(await isWhite(light), light);
    const around = { backgroundColor: '#111827' };
    for (const html of [
      row('', 'bgcolor="#fefefe"'),
      '<p><mark>word</mark></p>',
      '<p><code>word</code></p>',
      '<pre>word</pre>',
    ])
      t.notOk(await isWhite(html, around), `${html} on a dark text`);
  });

  void t.test(
    'a header beside cells is one of its row, and links of repeated headers belong to the link',
    async (t) => {
      const heads = '<thead><tr><th>A</th><th><a href="https://a.example">B</a></th></tr></thead>';
      const many = Array.from({ length: 60 }, (_, at) => `<tr><th>r${at}</th><td>cell</td></tr>`).join('');
      const bytes = await makePdf(
        documentOf(page([richText(`<table>${heads}${many}</table>`)])),
        new Map(),
        metadata,
        defaultLimits,
      );
      const file = Buffer.from(bytes).toString('latin1');
      t.equal(file.match(/\/Scope \/Column/g)?.length, 2);
      t.equal(file.match(/\/Scope \/Row/g)?.length, 60);
      t.equal(file.match(/\/Subtype \/Link/g)?.length, 2, 'on both sheets');
      t.equal(file.match(/\/Type \/OBJR/g)?.length, 2);
      await checkedByOthers(bytes, readPdf(bytes));
      const scopes = async (row: string): Promise<readonly string[]> =>
        Buffer.from(
          await makePdf(
            documentOf(page([richText(`<table>${row}<tr><td>1</td><td>2</td></tr></table>`)])),
            new Map(),
            metadata,
            defaultLimits,
          ),
        )
          .toString('latin1')
          .match(/\/Scope \/\w+/g) ?? [];
      t.same(
        await scopes('<tr><th>A</th><th>B</th></tr>'),
        ['/Scope /Column', '/Scope /Column'],
        'a first row of headers',
      );
      t.same(await scopes('<tr><th scope="col">A</th><td>B</td></tr>'), ['/Scope /Column'], 'as the author says');
      t.same(await scopes('<tr><th scope="row">A</th><th>B</th></tr>'), ['/Scope /Row', '/Scope /Column']);
    },
  );

  void t.test('tables with room in their cells', async (t) => {
    const boxOf = async (attribute: string) => {
      const html = `<table border="0"${attribute}><tr><td>one</td></tr><tr><td>two</td></tr></table>`;
      const [one, two] =
        (await placedWords(await makePdf(documentOf(page([richText(html)])), new Map(), metadata, defaultLimits))) ??
        [];
      return one && two ? [one.left, two.top - one.top].map(Math.round) : [];
    };
    const [left = 0, step = 0] = await boxOf(' cellpadding="0"');
    if (left === 0) return void t.pass('poppler is not here');
    t.same(await boxOf(' cellpadding="20"'), [left + 15, step + 30]);
    t.same(await boxOf(' cellpadding="x"'), await boxOf(''), 'what is no number');
    t.same(await boxOf(' cellpadding="999"'), await boxOf(' cellpadding="54"'), 'no more than 40 points');
  });

  void t.test('links lead only to the web, to mail and to telephones', async (t) => {
    const links = [
      'https://a.example/x?y=1&amp;z=(2)',
      'http://b.example',
      'mailto:a@b.example',
      'tel:+123',
      'javascript:alert(1)',
      'file:///etc/passwd',
      '#top',
      'data:text/html,x',
      ' JaVa\tScript:x',
      '/relative',
      'https://ü.example/ä',
    ];
    const { sheets } = await madeOf(richText(links.map((href) => `<p><a href="${href}">here</a></p>`).join('')));
    t.same(sheets[0]?.links, [
      'https://a.example/x?y=1&z=(2)',
      'http://b.example',
      'mailto:a@b.example',
      'tel:+123',
      'https://%C3%BC.example/%C3%A4',
    ]);
    t.equal(sheets[0]?.lines.length, links.length, 'the text of the others stays');
  });

  void t.test('what is no text is gone', async (t) => {
    t.same(
      await linesOf(
        richText(
          '<script>alert(1)</script><style>p{}</style><p onclick="x">a<iframe src="x">b</iframe><custom>c</custom><!-- d --></p><form><input value="e">f</form>',
        ),
      ),
      ['ac', 'f'],
    );
  });
});

void t.test('scripts', async (t) => {
  const lines = await linesOf(richText('<p>Ελληνικά Кириллица ✓</p><p>漢字 ไทย</p>'));
  t.same(lines, ['Ελληνικά Кириллица ✓', '漢字 ไทย']);
  await t.rejects(
    makePdf(documentOf(page([richText('<p>\u{1f9ff}\u{e000}</p>')])), new Map(), metadata, defaultLimits),
    {
      code: 'FONT_MISSING',
      message: /schema\.pages\[0\]\.sections\[0\]/,
    },
  );
});

void t.test('table', async (t) => {
  void t.test('rows, alignment, footer', async (t) => {
    const columns = [
      column('Name'),
      column('Price', { align: 'right', headerAlign: 'right', footer: '<i>9.00</i>', width: { percent: 30 } }),
    ];
    const read = await madeOf(
      component('table', {
        columns,
        rows: [
          [cell('Tea'), cell('4.00')],
          [cell('Milk &amp; <b>honey</b>'), cell('5.00')],
        ],
        striped: true,
        headerBackgroundColor: '#112233',
      }),
    );
    t.same(read.sheets[0]?.lines, ['Name\tPrice', 'Tea\t4.00', 'Milk & honey\t5.00', '9.00']);
    t.same(read.structure.slice(0, 8), [
      'Document',
      '  Table',
      '    TR',
      '      TH',
      '      TH',
      '    TR',
      '      TD',
      '      TD',
    ]);
    t.match(read.sheets[0]?.content, /^0\.0666\d* 0\.1333\d* 0\.2 scn/m, 'the header has its background');
    const rightEdges = [...(read.sheets[0]?.content.matchAll(/1 0 0 1 ([\d.]+) [\d.]+ Tm/g) ?? [])].map(([, x]) =>
      Number(x),
    );
    t.ok(
      rightEdges.some((x) => x > 500),
      'prices stand at the right margin',
    );
  });

  void t.test('the header comes again on each sheet, and is read once', async (t) => {
    const rows = Array.from({ length: 90 }, (_, at) => [`row ${at}`, `value ${at}`]);
    const { sheets, structure } = await madeOf(tableOf(['Key', 'Value'], rows));
    t.ok(sheets.length > 2);
    for (const { lines } of sheets) t.ok(lines.includes('Key\tValue'));
    t.equal(structure.filter((type) => type.trim() === 'TH').length, 2);
    t.same(
      sheets.flatMap(({ lines }) => lines).filter((line) => line.startsWith('row')),
      rows.map((row) => row.join('\t')),
      'no row is lost or doubled',
    );
  });

  void t.test('no rows', async (t) => {
    t.same(await linesOf(tableOf(['Key', 'Value'], [], { emptyText: 'Nothing here' })), ['Key\tValue', 'Nothing here']);
    t.same(await linesOf(tableOf([], [], {})), []);
  });

  void t.test('a word that is wider than the sheet breaks inside its column', async (t) => {
    const word = 'abcdefghij'.repeat(40);
    for (const columns of [
      [column('A'), column('B')],
      [column('A', { width: 'rest' }), column('B', { width: { points: 900 } })],
    ]) {
      const lines = await linesOf(
        component('table', {
          columns,
          rows: [
            [cell(word), cell('x')],
            [cell('y'), cell(word)],
          ],
        }),
      );
      const { sheets } = await madeOf(
        component('table', {
          columns,
          rows: [
            [cell(word), cell('x')],
            [cell('y'), cell(word)],
          ],
        }),
      );
      const starts = [...(sheets[0]?.content.matchAll(/1 0 0 1 ([\d.]+) [\d.]+ Tm/g) ?? [])].map(([, x]) => Number(x));
      t.ok(
        starts.every((x) => x < 545),
        'nothing begins beyond the margin',
      );
      t.equal(lines.join('').replace(/[^a-j]/g, ''), word + word, 'and no letter is lost');
    }
  });

  void t.test('a row that is higher than a sheet goes on', async (t) => {
    const text = Array.from({ length: 1_500 }, (_, at) => `w${at}`).join(' ');
    for (const showHeader of [true, false]) {
      const lines = await linesOf(tableOf(['Head'], [[text], ['end']], { showHeader }));
      const words = lines
        .filter((line) => line !== 'Head' && line !== 'end')
        .join(' ')
        .split(/\s+/);
      t.equal(words.join(' '), text);
    }
  });
});

void t.test('container and columns', async (t) => {
  const inner = [
    richText('<p>one</p>'),
    component('columns', {
      children: [
        richText('left'),
        component('container', {
          children: [richText('right')],
          border: { width: 1, style: 'dashed', color: '#ff0000' },
        }),
      ],
      widths: [{ percent: 30 }, 'rest'],
    }),
  ];
  const box = { backgroundColor: '#00ff00', borderRadius: 8, padding: { top: 10, right: 10, bottom: 10, left: 10 } };
  const { sheets } = await madeOf(component('container', { children: inner, ...box }), richText('after'));
  t.same(sheets[0]?.lines, ['one', 'left', 'right', 'after']);
  t.match(sheets[0]?.content, /0 1 0 scn/, 'background');
  t.match(sheets[0]?.content, /\[3 2\] 0 d/, 'dashes');

  const many = Array.from({ length: 60 }, (_, at) => richText(`<p>paragraph ${at}</p>`));
  const over = await madeOf(component('container', { children: many, ...box }));
  t.equal(over.sheets.length, 3);
  for (const { content } of over.sheets) t.match(content, /0 1 0 scn/, 'each sheet has its part of the background');
  t.same(
    over.sheets.flatMap(({ lines }) => lines),
    many.map((_, at) => `paragraph ${at}`),
  );
});

void t.test('list, divider, spacer', async (t) => {
  t.same(
    await linesOf(
      component('list', { items: ['a <b>b</b>', 'c'], ordered: true }),
      component('divider', { style: 'dotted' }),
      component('spacer', { height: 5_000 }),
      component('list', { html: '<ul><li>d</li></ul>' }),
    ),
    ['1. a b', '2. c', 'd'],
  );
});

void t.test('a list of HTML is a list whatever stands around its items, as in a mail', async (t) => {
  const list = (html: string, ordered: boolean) =>
    linesOf(
      component('list', {
        items: undefined,
        html,
        ordered,
        style: {},
        padding: { top: 0, right: 0, bottom: 0, left: 0 },
      }),
    );
  t.same(await list('<li>a</li><li>b</li>', true), ['1. a', '2. b']);
  t.same(await list('<ul><li>a</li><li>b</li></ul>', true), ['1. a', '2. b']);
  t.same(await list('one line', true), ['1. one line']);
  t.same(await list('<ol start="4"><li>a</li></ol>', false), ['4. a']);
});

void t.test('a code whose colours no camera could read is black on white', async (t) => {
  const contentOf = async (color: string) =>
    (
      await madeOf(
        component('qr-code', {
          value: 'x',
          size: 96,
          errorCorrection: 'M',
          color,
          backgroundColor: '#ffffff',
          align: undefined,
        }),
      )
    ).sheets[0]!.content;
  t.match(await contentOf('#eeeeee'), /^0 0 0 scn$/m);
  t.match(await contentOf('#1e3a8a'), /^0\.11\d* 0\.22\d* 0\.54\d* scn$/m);
});

void t.test('timeline', async (t) => {
  const items = [
    { title: 'Ordered <now>', description: 'By web', date: '1 May', status: 'done' },
    { title: 'Sent', description: '', date: '', status: 'By ship' },
  ];
  t.same(await linesOf(component('timeline', { items })), ['Ordered <now>', '1 May', 'By web', 'Sent', 'By ship']);
});

void t.test('a container keeps its least height, whatever stands in it', async (t) => {
  const tops = async (...children: readonly Expanded[]): Promise<readonly number[]> => {
    const { sheets } = await madeOf(component('container', { children, minHeight: 200 }), richText('<p>after</p>'));
    t.equal(sheets.length, 1);
    return [...(sheets[0]?.content.matchAll(/1 0 0 1 [\d.]+ ([\d.]+) Tm/g) ?? [])].map(([, y]) => Number(y));
  };
  const [alone] = await tops();
  t.equal((await tops(richText('<p>one</p>'))).at(-1), alone);
  t.equal(
    (await tops(component('container', { children: [richText('<p>one</p><p>two</p>')], minHeight: 90 }))).at(-1),
    alone,
  );
  t.ok(((await tops(component('spacer', { height: 300 }))).at(-1) ?? 0) < (alone ?? 0) - 99, 'and grows beyond it');
  const foot = await madeOf(
    component('spacer', { height: 700 }),
    component('container', { children: [], minHeight: 500 }),
    richText('next'),
  );
  t.equal(foot.sheets.length, 2, 'its room ends with the sheet');
  const framed = component('container', { children: [richText('in')], minHeight: 120, backgroundColor: '#00ff00' });
  const { sheets } = await madeOf(component('columns', { children: [framed, richText('beside')], widths: [] }));
  t.match(sheets[0]?.content, / 120 re/, 'the background too');
});

void t.test('a code begins at the edge of the text, but not on a background', async (t) => {
  const leftOf = async (...components: readonly Expanded[]): Promise<number> => {
    const { sheets } = await madeOf(...components);
    const [, x = Number.NaN] =
      /1 0 0 1 ([\d.]+) [\d.-]+ cm/.exec(sheets[0]?.content.replace('1 0 0 -1 0 841.89 cm', '') ?? '')?.map(Number) ??
      [];
    return x;
  };
  const code = component('qr-code', { value: 'x', size: 87, align: 'start' });
  t.equal(await leftOf(code), 50 - 12, 'of 29 modules across, four are white');
  t.equal(await leftOf(component('container', { children: [code], backgroundColor: '#eeeeee' })), 50);
  t.equal(Math.round(await leftOf({ ...code, align: 'end' })), Math.round(595.28 - 50 - 87 + 12));
  t.equal(await leftOf(component('columns', { children: [code, code], widths: [] })), 50 - 12);
  t.ok((await leftOf({ ...code, align: 'center' })) > 200);
});

void t.test('qr-code', async (t) => {
  const { structure, sheets } = await madeOf(
    component('qr-code', { value: 'https://example.com/order/1', color: '#0000ff' }),
  );
  t.same(structure, ['Document', '  Figure']);
  t.match(sheets[0]?.content, /0 0 1 scn/);
  await t.rejects(madeOf(component('qr-code', { value: 'x'.repeat(3_000), errorCorrection: 'H' })), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'schema.pages[0].sections[0].components.qr-code.props.value' }] },
  });
});

void t.test('chart', async (t) => {
  const { structure, sheets } = await madeOf(
    component('chart', {
      chartType: 'column',
      title: 'Sales',
      categories: ['Jan', 'Feb'],
      showLegend: true,
      xTitle: 'Month',
      yTitle: 'Pieces',
      series: [
        { name: 'North', color: '#0000ff', values: [1, 2] },
        { name: 'South', color: '#00ff00', values: [3, null] },
      ],
    }),
  );
  t.same(structure, ['Document', '  Figure']);
  t.match(sheets[0]?.content, /0 0 1 scn/);
});

void t.test('pages', async (t) => {
  const header = {
    html: '<table role="presentation"><tr><td><ul><li><b>Acme</b> {{pageNumber}}</li></ul></td></tr></table>',
    height: 30,
    align: 'left' as const,
  };
  const footer = { html: 'Page {{ pageNumber }} of {{totalPages}}', height: 30, align: 'center' as const };
  const long = Array.from({ length: 60 }, (_, at) => richText(`<p>line ${at}</p>`));
  const { sheets, structure } = await made(
    documentOf(
      page(long, { header, footer }),
      page([], { format: 'Letter', orientation: 'landscape', backgroundColor: '#ff0000' }),
      page([richText('last')], {
        format: 'A5',
        footer: { ...footer, html: 'other {{pageNumber}}' },
        backgroundColor: '#00ff00',
      }),
    ),
  );
  t.same(
    sheets.map(({ width, height }) => [width, height]),
    [
      [595.28, 841.89],
      [595.28, 841.89],
      [595.28, 841.89],
      [792, 612],
      [419.53, 595.28],
    ],
  );
  t.same(
    sheets.map(({ lines }) => lines.filter((line) => !line.startsWith('line '))),
    [['Acme 1', 'Page 1 of 5'], ['Acme 2', 'Page 2 of 5'], ['Acme 3', 'Page 3 of 5'], [], ['last', 'other 5']],
  );
  t.match(sheets[3]?.content, /1 0 0 scn/);
  t.match(sheets[4]?.content, /0 1 0 scn/);
  t.equal(structure.filter((type) => type.trim() === 'P').length, 61, 'headers and footers are no part of the text');

  const cramped = await made(
    documentOf(page([richText('still')], { margin: { top: 900, right: 400, bottom: 900, left: 400 } })),
  );
  t.same(cramped.sheets[0]?.lines, ['still']);
});

void t.test('the style of a section holds for all in it', async (t) => {
  const section = {
    style: { color: '#ff0000', fontSize: 20, align: 'right' as const, backgroundColor: '#0000ff' },
    linkColor: '#00ff00',
    padding: { top: 10, right: 10, bottom: 10, left: 10 },
    components: [richText('<p>x <a href="https://a.example">y</a></p>')],
  };
  const { sheets } = await made(documentOf(page([], { sections: [section] })));
  const content = sheets[0]?.content ?? '';
  for (const [what, pattern] of [
    ['text', /^1 0 0 scn/m],
    ['link', /^0 1 0 scn/m],
    ['background', /^0 0 1 scn/m],
    ['size', / 20 Tf/],
  ] as const)
    t.match(content, pattern, what);
});

void t.test('headings are bookmarks', async (t) => {
  const bytes = await makePdf(
    documentOf(
      page([richText('<h1>One <b>and</b> a half</h1><h3>Deep</h3><p>x</p><h2>Two</h2>')], {
        header: { html: '<h1>Head</h1>', height: 30, align: 'left' },
      }),
    ),
    new Map(),
    metadata,
    defaultLimits,
  );
  const text = Buffer.from(bytes).toString('latin1');
  const titles = [...text.matchAll(/\/Title \((One[^)]*|Deep|Two|Head)\)/g)].map(([, title]) => title);
  t.same(titles.toSorted(), ['Deep', 'One and a half', 'Two']);
  t.match(text, /\/Outlines \d+ 0 R/);
  t.notMatch(text, /\/PageMode/);
});

const TABLE =
  '<table><thead><tr><th colspan="2">Both</th><th>C</th></tr></thead><tbody><tr><td rowspan="2">a</td><td></td><td>c</td></tr><tr><td>b</td></tr></tbody></table>';

void t.test('spans and empty cells of tables are elements', async (t) => {
  const { structure } = await madeOf(richText(TABLE), tableOf(['A', 'B'], [['', '1']]));
  t.same(
    structure.filter((type) => !type.endsWith(' P')),
    [
      ...[
        'Document',
        '  Table',
        '    TR',
        '      TH',
        '      TH',
        '    TR',
        '      TD',
        '      TD',
        '      TD',
        '    TR',
        '      TD',
        '      TD',
      ],
      ...['  Table', '    TR', '      TH', '      TH', '    TR', '      TD', '      TD'],
    ],
  );
});

void t.test(
  'spans and links are told to who hears the file, a link once for each of its lines',
  { skip: !readsStructure },
  async (t) => {
    const html = `<p>See <a href="https://one.example/">the first</a>, <a href="https://two.example/">and ${'then '.repeat(30)}</a>.</p>`;
    const bytes = await makePdf(
      documentOf(page([richText(TABLE), richText(html)])),
      new Map(),
      metadata,
      defaultLimits,
    );
    const heard = heardOf(bytes);
    t.match(heard, /TH:\n\s*\/Scope \/Column\n\s*\/ColSpan 2\n/);
    t.match(heard, /TD:\n\s*\/RowSpan 2\n/);
    t.match(
      heard,
      /P \(block\)\n\s*"See "\n\s*Link \(inline\)\n\s*"the first"\n\s*Object \d+ 0\n\s*", "\n\s*Link \(inline\)\n/,
    );
    t.equal(heard.match(/Link \(inline\)/g)?.length, 2);
    t.equal(heard.match(/Object \d+ 0/g)?.length, 3, 'the second one takes two lines');
    t.match(Buffer.from(bytes).toString('latin1'), /\/Contents \(the first\)/);
  },
);
