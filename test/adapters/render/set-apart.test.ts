/**
 * Values keep their own order in text of another direction: in the HTML of a mail, its text part, subject and
 * preheader, in a PDF; and nothing changes where no value needs it.
 */
import bidiModule, { type Bidi } from 'bidi-js';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { isolated, isolatesByLine } from '../../../src/domain/rendering/direction.js';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { attachmentOf, componentsOf, expandTemplate } from '../../support/documents.js';
import { placedWords } from '../../support/pdf-words.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';

const factory: unknown = bidiModule;
const bidi = (factory as () => Bidi)();
type Side = 'ltr' | 'rtl';

/** A line as a reader sees it, from left to right. */
const drawn = (line: string, direction: Side): string =>
  bidi
    .getReorderedString(line, bidi.getEmbeddingLevels(line, direction))
    .replace(/[\u200e\u200f\u061c\u2066-\u2069]/g, '');

/** The lines of a mail's HTML as a browser draws them: a span with `dir` is isolated. */
const htmlLines = (html: string, direction: Side): readonly string[] =>
  html
    .replace(/^.*<div role="article"[^>]*>/s, '')
    .replace(/<span dir="(ltr|rtl)">/g, (_, dir: string) => (dir === 'rtl' ? '\u2067' : '\u2066'))
    .replace(/\n/g, '')
    .replace(/<\/span>/g, '\u2069')
    .replace(/<(?:br|\/p|\/li|\/td|\/th|\/h\d)>/g, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&lrm;/g, '\u200e')
    .replace(/&rlm;/g, '\u200f')
    .replace(/&amp;/g, '&')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => drawn(line, direction).trim());

const textLines = (text: string, direction: Side): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => drawn(line, direction));

const rich = (content: string, more = {}): Record<string, unknown> => ({
  id: `c${content.length}`,
  type: 'rich-text',
  content,
  ...more,
});
type Row = readonly [content: string, variables: JsonObject, seen: string];

/** In: for a locale, content and values, and the line as it is seen. The HTML and the text part show the same. */
const check = (t: Test, locale: string, rows: readonly Row[]): void => {
  const direction = /^(?:ar|fa|ur|he)/.test(locale) ? 'rtl' : 'ltr';
  for (const [content, variables, seen] of rows) {
    const { html, text, subject } = renderTemplate(
      templateOf([rich(`<p>${content}</p>`)], { locale, subject: content.replace(/<[^>]*>/g, '') }),
      variables,
    );
    t.same(htmlLines(html, direction), [seen], `${locale} HTML: ${content}`);
    t.same(textLines(text, direction), [seen], `${locale} text: ${content}`);
    t.same(drawn(subject, direction), seen, `${locale} subject: ${content}`);
  }
};

const mirrored = (text: string): string => bidi.getReorderedString(text, bidi.getEmbeddingLevels(text, 'rtl'));

void t.test('values in text from the right keep their order', async (t) => {
  const words = { ar: 'كود', fa: 'کد', ur: 'کوڈ', he: 'קוד' };
  for (const [locale, word] of Object.entries(words)) {
    const w = mirrored(word);
    const values = [
      '482 913',
      '+351 912 345 678',
      '+49 30 1234',
      '+972 3 123 4567',
      '2026-11-24',
      '24/11/2026 10:30',
      '12-14 Main St.',
      '4 Quay Road',
      'AB-12 34',
      '-5.50',
      '5 %',
      'ada+x@mail.example',
      '(030) 1234',
      '2026-11-24 – 2026-12-01',
      'C++',
      '$ 5',
    ];
    check(
      t,
      locale,
      values.map((value): Row => [`${word} {{v}}`, { v: value }, `${value} ${w}`]),
    );
    check(
      t,
      locale,
      values.map((value): Row => [`${word} <b>{{v}}</b>, ${word}.`, { v: value }, `.${w} ,${value} ${w}`]),
    );
  }
});

void t.test('signs and values that belong together stay together', async (t) => {
  const w = mirrored('קוד');
  check(t, 'he', [
    ['קוד #{{n}}.', { n: '12 34' }, `.#12 34 ${w}`],
    ['קוד €{{n}}', { n: '12 34' }, `€12 34 ${w}`],
    ['קוד {{n}}%,', { n: '-12' }, `,-12% ${w}`],
    ['קוד -{{n}}', { n: 5 }, `-5 ${w}`],
    ['קוד ({{n}})', { n: '12-14 x' }, `(12-14 x) ${w}`],
    ['ל{{n}} קוד', { n: '12-14' }, `${w} 12-14${mirrored('ל')}`],
    ['קוד {{first}} {{last}}!', { first: 'Ada', last: 'Lovelace' }, `!Ada Lovelace ${w}`],
    ['קוד {{a}}-{{b}}', { a: '12', b: '34 5' }, `12-34 5 ${w}`],
    ['קוד {{a}}/{{b}}', { a: 'קוד', b: '34 5' }, `34 5/${w} ${w}`],
    ['קוד {{a}}, {{b}}', { a: '1 2', b: '3 4' }, `3 4 ,1 2 ${w}`],
    [
      'קוד {{street}}, {{zip}} {{city}}, {{country}}.',
      { street: 'Rua do Sol 3', zip: '1200-001', city: 'Lisboa', country: 'Portugal' },
      `.Rua do Sol 3, 1200-001 Lisboa, Portugal ${w}`,
    ],
    ['קוד {{city}} {{zip}}', { zip: '1200-001', city: 'קוד' }, `1200-001 ${w} ${w}`],
    ['קוד {{name}} 5', { name: 'Ada' }, `5 Ada ${w}`],
    ['Order AB-{{n}}', { n: '12 34' }, 'Order AB-12 34'],
    ['Order {{n}}', { n: '+12 34' }, 'Order +12 34'],
    ['קוד {{n}}', { n: '' }, w],
  ]);
});

void t.test('values from the right in text from the left keep their order', async (t) => {
  const [name, n] = ['أحمد', mirrored('أحمد')];
  check(t, 'en', [
    ['Dear {{name}} 5, hello', { name }, `Dear ${n} 5, hello`],
    ['For {{name}}: {{n}} items', { name, n: '5' }, `For ${n}: 5 items`],
    ['For {{name}}!', { name: `${name} (5)` }, `For ${mirrored(`${name} (5)`)}!`],
    ['For {{first}} {{last}} 5', { first: name, last: 'علي' }, `For ${mirrored(`${name} علي`)} 5`],
    ['For {{a}}, {{b}} 5', { a: name, b: name }, `For ${n}, ${n} 5`],
    ['For {{first}} {{last}} 5', { first: name, last: '12 3' }, `For ${n} 12 3 5`],
    ['{{a}} - {{b}}', { a: name, b: '+49 30 1234' }, `${n} - +49 30 1234`],
    ['كود {{n}} كود', { n: '482 913' }, `${mirrored('كود')} 482 913 ${mirrored('كود')}`],
    ['كود <b>{{n}}</b>', { n: '482 913' }, `${mirrored('كود')} 482 913`],
    ['(<i>{{name}}</i>) 12', { name }, `(${n}) 12`],
  ]);
});

const V = '482 913';
const places = (locale: string, word: string): ReturnType<typeof renderTemplate> =>
  renderTemplate(
    {
      ...templateOf([], { locale }),
      schema: {
        props: { preheader: `${word} {{v}}.` },
        sections: [
          {
            id: 's',
            type: 'main',
            components: [
              {
                id: 't',
                type: 'table',
                props: {
                  dataSource: 'items',
                  columns: [
                    { header: `${word} {{v}}`, content: '{{item.v}}', footer: '{{v}}' },
                    { header: word, content: '{{item.n}}', type: 'number' },
                  ],
                },
              },
              { id: 'l', type: 'list', content: `${word} {{item.v}}`, props: { dataSource: 'items' } },
              { id: 'b', type: 'button', content: `${word} {{v}}`, props: { href: 'https://x.example/{{v}}?a={{v}}' } },
              {
                id: 'm',
                type: 'timeline',
                props: { items: [{ title: `${word} {{v}}`, date: '{{v}}', description: '{{v}}', status: '{{s}}' }] },
              },
              rich(`<p><a title="{{v}}" href="https://y.example/{{v}}" style="width:{{w}}">${word}</a></p>`),
              rich('<p><span dir="ltr">{{v}}</span></p>'),
              rich('<p><a href="{{u}}">{{u}}</a> <a href="mailto:{{m}}">{{m}}</a></p>'),
              rich(`<p>${word} {{v}}</p>`, { props: { direction: 'ltr' } }),
            ],
          },
        ],
      },
    },
    {
      v: V,
      w: '5px',
      s: 'current',
      u: 'https://z.example/a-b/',
      m: 'a@x.example',
      items: [{ v: '12-14 Main St.', n: 1234.5 }],
    },
  );

void t.test('every place of a mail in which text is shown, and no other', async (t) => {
  const word = 'קוד';
  const { html, text } = places('he', word);
  t.match(
    html,
    `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${word} &#8294;${V}&#8297;.`,
    'the preheader has no markup',
  );
  const apart = `<span dir="ltr">${V}</span>`;
  t.match(html, `>${word} ${apart}</th>`);
  t.match(html, '><span dir="ltr">12-14 Main St.</span></td>');
  t.match(html, /<td[^>]*>1234\.5<\/td>/, 'a number is drawn the same way in any text');
  t.match(html, new RegExp(`font-weight:600">${apart}</td>`));
  t.match(html, `${word} <span dir="ltr">12-14 Main St.</span></li>`);
  t.match(html, `href="https://x.example/482%20913?a=482%20913"`);
  t.match(html, `${word} ${apart}</a>`);
  t.match(html, `${word} ${apart}</strong>`);
  t.match(
    html,
    `title="${V}" href="https://y.example/482%20913" style="color:#2563eb;text-decoration:underline;width:5px"`,
  );
  t.match(html, `<span dir="ltr">${V}</span></p>`, 'not twice where the author says it');
  t.match(html, ' href="https://z.example/a-b/"');
  const isolate = `\u2066${V}\u2069`;
  t.match(text, `\u200f${word} ${isolate}: \u206612-14 Main St.\u2069\n`);
  t.match(text, `\u200f- ${word} \u206612-14 Main St.\u2069`);
  t.match(text, `${word} ${isolate} (https://x.example/482%20913?a=482%20913)`);
  t.match(text, `[>] ${word} ${isolate} - ${isolate}\n\u200f    ${isolate}`, 'the status is read for what it is');
  t.match(text, '\u200fhttps://z.example/a-b/ a@x.example\n', 'programs make links of addresses');
});

void t.test('text from the left without letters from the right is as it was', async (t) => {
  const { html, text } = places('en', 'Code');
  t.notMatch(html.replace('<span dir="ltr">', ''), /<span dir|[\u2066-\u2069]|&[lr]rm;/);
  t.notMatch(text, /[\u200e\u200f\u2066-\u2069]/);
});

void t.test('the text part', async (t) => {
  const long = `${'word '.repeat(20)}end.`;
  const { text } = renderTemplate(templateOf([rich('<p>קוד {{v}} קוד</p>')], { locale: 'he' }), { v: long });
  const lines = text.trimEnd().split('\n');
  t.equal(lines.length, 2);
  for (const line of lines)
    t.equal(line.split('\u2066').length, line.split('\u2069').length, 'what a line begins it ends');
  t.match(lines[1], /^\u200f\u2066word .*end\.\u2069 קוד$/);

  const table = {
    id: 't',
    type: 'table',
    props: {
      dataSource: 'items',
      columns: [
        { header: 'Name', content: '{{item.name}}' },
        { header: 'Amount', content: '{{item.n}}', type: 'number' },
      ],
    },
  };
  const rows = renderTemplate(templateOf([table]), {
    items: [
      { name: 'أحمد', n: 5 },
      { name: 'Adam', n: 7 },
    ],
  }).text.split('\n');
  t.equal(rows[2]?.replace(/[\u2066-\u2069]/g, '').length, rows[3]?.length, 'isolates take no column');
  t.equal(drawn(rows[2] ?? '', 'ltr').slice(0, 4), mirrored('أحمد'));
  t.match(rows[2], / 5$/);
});

void t.test('words from the right need nothing in text from the right', async (t) => {
  const sentence = 'שלום, דנה! (כן).';
  check(t, 'he', [
    ['Wi-Fi {{v}} Wi-Fi', { v: sentence }, `Wi-Fi ${mirrored(sentence)} Wi-Fi`],
    ['5 {{v}} 5', { v: sentence }, `5 ${mirrored(sentence)} 5`],
  ]);
  t.notMatch(renderTemplate(templateOf([rich('<p>קוד {{v}}</p>')], { locale: 'he' }), { v: sentence }).html, '<span');
});

void t.test('text that runs as its first letter does', async (t) => {
  const own = rich('<p>{{name}} <b>{{v}}</b></p>', { props: { direction: 'auto' } });
  t.match(renderTemplate(templateOf([own]), { name: 'أحمد', v: V }).html, `dir="rtl"`);
  t.match(renderTemplate(templateOf([own]), { name: 'أحمد', v: V }).html, `<b><span dir="ltr">${V}</span></b>`);
  t.notMatch(renderTemplate(templateOf([own]), { name: 'Ada', v: V }).html, '<span');
  t.equal(renderTemplate(templateOf([own], { locale: 'he' }), { name: 'Ada', v: V }).text, `\u200fAda ${V}\n`);
  t.equal(
    renderTemplate(templateOf([own], { locale: 'he' }), { name: 'שם', v: V }).text,
    `\u200fשם \u2066${V}\u2069\n`,
  );
});

void t.test('a subject that comes with the call', async (t) => {
  const template = templateOf([rich('x')], { locale: 'he' });
  t.equal(renderTemplate(template, { v: V }, { subject: 'קוד {{v}}' }).subject, `קוד \u2066${V}\u2069`);
  t.equal(renderTemplate(templateOf([rich('x')]), { v: V }, { subject: 'Code {{v}}' }).subject, `Code ${V}`);
  t.equal(
    renderTemplate(templateOf([rich('x')]), { v: 'أحمد' }, { subject: 'For {{v}} 5' }).subject,
    'For \u2067أحمد\u2069 5',
  );
});

void t.test('values that bring such characters themselves end them', async (t) => {
  t.equal(isolated('a\u2069b\u2067c', 'ltr'), '\u2066ab\u2067c\u2069\u2069');
  t.equal(isolated('\u20665\u2069', 'rtl'), '\u2067\u20665\u2069\u2069');
  t.equal(isolatesByLine('x \u2066a\nb\u2069 y'), 'x \u2066a\u2069\n\u2066b\u2069 y');
  const lines = 4_000;
  for (const value of ['\u2066\n'.repeat(lines), '\u2067'.repeat(lines) + '\nx'.repeat(lines)]) {
    t.ok(isolatesByLine(value).length < lines * 40, 'isolates within isolates do not multiply with the lines');
    for (const keepLines of [false, true]) {
      const template = templateOf([{ id: 'text', type: 'rich-text', content: '<p>a {{v}}</p>', props: { keepLines } }]);
      t.ok(
        renderTemplate(template, { v: value }).text.length < lines * 40,
        `nor in a text part, keepLines ${keepLines}`,
      );
    }
  }
});

const pdfOf = (components: readonly unknown[], variables: JsonObject, more = {}): Promise<Uint8Array> =>
  makePdf(
    expandTemplate(attachmentOf(components, more), variables),
    new Map(),
    { title: 'T', author: 'A', createdAt: '2026-01-02T03:04:05.000Z' },
    defaultLimits,
  );

/** The words of each line of a PDF by their places, from the left. */
const pdfLines = async (
  components: readonly unknown[],
  variables: JsonObject,
  more = {},
): Promise<readonly string[] | undefined> => {
  const words = placedWords(await pdfOf(components, variables, more));
  if (words === undefined) return undefined;
  const lines = new Map<number, { left: number; text: string }[]>();
  for (const { text, left, top } of words) {
    const key = [...lines.keys()].find((known) => Math.abs(known - top) < 4) ?? top;
    lines.set(key, [...(lines.get(key) ?? []), { left, text }]);
  }
  return [...lines.values()].map((line) =>
    line
      .sort((a, b) => a.left - b.left)
      .map(({ text }) => text)
      .join(' '),
  );
};

void t.test('values in a PDF keep their order', async (t) => {
  for (const [locale, word] of Object.entries({ ar: 'كود', he: 'קוד', fa: 'کد', ur: 'کوڈ' })) {
    const lines = await pdfLines(
      [
        rich(
          `<p>${word} {{a}}</p><p>${word} <b>{{b}}</b></p><p>{{c}}</p><p>${word} {{d}}.</p><p>#{{a}}</p><p>${word}<br>Order {{a}}</p>`,
        ),
        { id: 't', type: 'table', props: { columns: [{ header: word, content: '{{item.v}}' }], dataSource: 'items' } },
        { id: 'l', type: 'list', content: '{{item.v}}', props: { dataSource: 'items' } },
      ],
      { a: '482 913', b: '+351 912 345 678', c: '2026-11-24 10:30', d: '12-14 Main St', items: [{ v: '+49 30 1234' }] },
      { locale },
    );
    if (lines === undefined) return;
    const seen = lines.map((line) => line.replace(word, '*').replace(mirrored(word), '*'));
    t.same(seen.slice(0, 3), ['482 913 *', '+351 912 345 678 *', '2026-11-24 10:30'], locale);
    t.match(seen[3], /^\.? ?12-14 Main St\.? \*$/, locale);
    t.match(seen[4], /^#482 913$/);
    t.match(seen[6], /^Order 482 913$/);
    t.match(seen[8], /^\+49 30 1234$/, 'a cell');
    t.match(seen[9], /^\+49 30 1234$/, 'an item of a list');
  }
});

void t.test('a PDF from the left', async (t) => {
  const html = (content: string, variables: JsonObject, more = {}, format: 'pdf' | 'excel' = 'pdf'): string => {
    const [component] = componentsOf(
      expandTemplate(
        attachmentOf([rich(content)], { schema: { outputFormats: ['pdf', 'excel'] }, ...more }),
        variables,
        { format },
      ),
    );
    return component?.type === 'rich-text' ? component.html : '';
  };
  t.equal(html('<p>Code {{v}}</p>', { v: V }), `<p>Code ${V}</p>`);
  t.equal(html('<p>For {{n}} 5, {{v}}</p>', { n: 'أحمد', v: V }), `<p>For \u2067أحمد\u2069 5, \u2066${V}\u2069</p>`);
  t.equal(
    html('<a href="https://x.example/{{n}}" title="{{n}}">{{n}}</a>', { n: 'أ' }),
    '<a href="https://x.example/%D8%A3" title="أ">\u2067أ\u2069</a>',
  );
  t.equal(html('<p>كود {{v}}</p>', { v: V }, { locale: 'ar' }), `<p>كود \u2066${V}\u2069</p>`);
  t.equal(
    html('<p>كود {{v}}</p>', { v: V }, { locale: 'ar' }, 'excel'),
    `<p>كود ${V}</p>`,
    'a sheet has the values as they are',
  );
  const kept = [rich('<p>קוד {{v}}</p>', { props: { keepLines: true } })];
  const [made] = componentsOf(expandTemplate(attachmentOf(kept, { locale: 'he' }), { v: '1 2\n3 4' }));
  t.match(made, { html: '<p>קוד \u20661 2\u2069<br>\u20663 4\u2069</p>' }, 'each line is set apart');
  t.match(renderTemplate(templateOf(kept, { locale: 'he' }), { v: '1 2\n3 4' }), {
    html: '<p style="margin:0">קוד <span dir="ltr">1 2<br>3 4</span></p>',
    text: '\u200fקוד \u20661 2\u2069\n\u200f\u20663 4\u2069\n',
  });
  const lines = await pdfLines([rich('<p>For {{n}} 5, {{v}}!</p><p>{{n}}: {{v}}</p>')], { n: 'أحمد', v: V });
  if (lines === undefined) return;
  const seen = lines.map((line) => line.replace('أحمد', '*').replace(mirrored('أحمد'), '*'));
  t.same(seen, ['For * 5, 482 913!', '482 913 :*'], 'a paragraph runs as its first letter, which is that of a value');
});

void t.test('timelines, charts, margins and typed cells of a PDF', async (t) => {
  const components = [
    {
      id: 'm',
      type: 'timeline',
      props: { items: [{ title: 'קוד {{v}}', date: '{{v}}', description: '{{v}}', status: 'current' }] },
    },
    {
      id: 'g',
      type: 'chart',
      props: {
        chartType: 'bar',
        title: 'קוד {{v}}',
        dataSource: 'items',
        categoryField: 'v',
        series: [{ name: '{{v}}', valueField: 'n' }],
      },
    },
    { id: 't', type: 'table', props: { columns: [{ header: 'x' }], rows: [[-5], ['{{w}}']] } },
  ];
  const lines = await pdfLines(components, { v: V, w: '-7 €', items: [{ v: '1', n: 2 }] }, { locale: 'he' });
  if (lines === undefined) return;
  t.match(lines[0], new RegExp(`^${V} ...$`));
  t.same(lines.slice(1, 3), [V, V]);
  t.ok(lines.includes('-5'), 'a number of the template');
  t.ok(lines.includes('-7 €'));
  const { html, text } = renderTemplate(templateOf([components[2]], { locale: 'he' }), { w: '-7 €' });
  t.same(htmlLines(html, 'rtl').slice(-2), ['-5', '-7 €']);
  t.same(textLines(text, 'rtl'), ['-5 :x', '-7 € :x']);
});

void t.test('the parts of a calculated sentence', async (t) => {
  const calculated = (expression: string): Readonly<Record<string, unknown>> => ({
    name: 'made',
    type: 'string',
    isCalculated: true,
    expression,
  });
  const given = [
    { name: 'v', type: 'string' },
    { name: 'n', type: 'string' },
  ];
  const variables = { v: V, n: 'أحمد' };
  const mail = (expression: string, locale: string): ReturnType<typeof renderTemplate> =>
    renderTemplate(
      templateOf([rich('<p>{{made}}</p><p><a href="https://x.example/{{made}}">x</a></p>')], {
        locale,
        variables: [...given, calculated(expression)],
      }),
      variables,
    );
  const w = mirrored('קוד');
  const rows: readonly (readonly [string, string, string])[] = [
    ['`קוד ${v}, #${v}.`', 'he', `.#${V} ,${V} ${w}`],
    ['`קוד AB-${v}`', 'he', `AB-${V} ${w}`],
    ['`${v} קוד`', 'he', `${w} ${V}`],
    ['`For ${n} 5, ${v}`', 'en', `For ${mirrored('أحمد')} 5, ${V}`],
    ['true ? `קוד ${v}` : ""', 'he', `${V} ${w}`],
  ];
  for (const [expression, locale, seen] of rows) {
    const { html, text } = mail(expression, locale);
    t.equal(htmlLines(html, locale === 'he' ? 'rtl' : 'ltr')[0], seen, expression);
    t.equal(textLines(text, locale === 'he' ? 'rtl' : 'ltr')[0], seen, expression);
  }
  t.match(
    mail('`${v}/${n}`', 'he').html,
    'href="https://x.example/482%20913/%D8%A3%D8%AD%D9%85%D8%AF"',
    'an address has none',
  );
  const inOutput = (format: 'pdf' | 'excel'): unknown =>
    componentsOf(
      expandTemplate(
        attachmentOf([rich('<p>{{made}}</p>')], {
          locale: 'he',
          variables: [...given, calculated('`קוד ${v}`')],
          schema: { outputFormats: ['pdf', 'excel'] },
        }),
        variables,
        { format },
      ),
    )[0];
  t.match(inOutput('pdf'), { html: `<p>\u2067קוד \u2066${V}\u2069\u2069</p>` });
  t.match(inOutput('excel'), { html: `<p>קוד ${V}</p>` });
});
