/** Colors that can be read, and how mails look in clients. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { caniemail } from 'caniemail';
import fc from 'fast-check';
import t from 'tap';
import { argb, hexOfHsl, hslOf, pdfColor, rgbHex, rgbOf } from '../../../src/adapters/render/colors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { luminanceOf } from '../../../src/domain/rendering/contrast.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';
import { seenTexts, type Mode, type SeenText } from '../../support/seen-colors.js';

// Colours as the outputs take them.

await t.test('every spelling of one colour is the same in a PDF and in a sheet', async (t) => {
  for (const css of [
    '#f80',
    '#ff8800',
    '#FF8800ff',
    'rgb(255, 136, 0)',
    'rgb(255 136 0 / 100%)',
    'hsl(32, 100%, 50%)',
    'hsl(-328deg 100% 50%)',
  ]) {
    t.equal(pdfColor(css), '#ff8800', css);
    t.equal(rgbHex(css), 'FF8800', css);
    t.equal(argb(css), 'FFFF8800', css);
  }
  t.equal(pdfColor('rebeccapurple'), '#663399');
});

await t.test('what shines through is drawn as it looks on white; what shows nothing is none', async (t) => {
  t.equal(pdfColor('rgba(0, 0, 0, 0.5)'), '#808080');
  t.equal(argb('#00000080'), 'FF7F7F7F');
  for (const css of ['transparent', '#12345600', 'rgba(1, 2, 3, 0)', 'no colour', '', undefined]) {
    t.equal(pdfColor(css), undefined, String(css));
    t.equal(argb(css), undefined, String(css));
  }
});

await t.test('a mail asks for opaque colours alone', async (t) => {
  t.same(rgbOf('white'), [1, 1, 1]);
  t.same(rgbOf('#f00'), [1, 0, 0]);
  t.same(rgbOf('rgb(300, 0, 0)'), [1, 0, 0], 'a channel ends at its most');
  for (const css of ['transparent', '#ff000080', 'rgba(255, 0, 0, 0.5)']) t.equal(rgbOf(css), undefined, String(css));
  t.equal(luminanceOf([1, 1, 1]), 1);
  t.equal(luminanceOf([0, 0, 0]), 0);
  t.equal(hexOfHsl(hslOf(rgbOf('#4080c0')!)), '#4080c0');
});

// Text of a mail can be read on every background, light and dark, whether the template brings the colours or a
// variable.

const MODES: readonly Mode[] = ['light', 'dark'];
const READABLE = 4.5;

const rich = (id: string, content: string, props: object = {}): object => ({ id, type: 'rich-text', content, props });
const linked = 'Text and <a href="https://example.com">a link</a>';

const holders = (brand: string): readonly object[] => [
  {
    id: 'button',
    type: 'button',
    content: 'See the <b>order</b>',
    props: { href: 'https://example.com', backgroundColor: brand },
  },
  {
    id: 'container',
    type: 'container',
    props: { backgroundColor: brand, border: `1px solid ${brand}` },
    children: [
      rich('in-container', `<p>${linked}</p>`),
      { id: 'nested', type: 'container', props: { backgroundColor: '#ffffff' }, children: [rich('in-nested', linked)] },
      {
        id: 'striped',
        type: 'table',
        props: { striped: true, columns: [{ header: 'Striped' }], rows: [['one'], ['two'], ['three']] },
      },
    ],
  },
  {
    id: 'table',
    type: 'table',
    props: {
      headerBackgroundColor: brand,
      border: `1px solid ${brand}`,
      columns: [{ header: 'Header' }],
      rows: [['x']],
    },
  },
  rich('on-brand', `<p>${linked}</p>`, { backgroundColor: brand }),
  rich(
    'by-style',
    `<p><span style="background-color:${brand}">${linked}</span> <span style="background:${brand} !important">x</span></p>`,
  ),
  {
    id: 'fragment',
    type: 'html-fragment',
    content: `<table><tr><td bgcolor="${brand}">${linked}</td></tr></table><a href="https://example.com" style="background-color:${brand}">a made button</a>`,
  },
  { id: 'timeline', type: 'timeline', props: { color: brand, items: [{ title: 'Step', status: 'completed' }] } },
  { id: 'divider', type: 'divider', props: { color: brand } },
  { id: 'list', type: 'list', content: 'One', props: { backgroundColor: brand } },
  {
    id: 'columns',
    type: 'columns',
    children: [
      { id: 'left', type: 'container', props: { backgroundColor: brand }, children: [rich('in-left', linked)] },
      rich('in-right', linked, { backgroundColor: brand }),
    ],
  },
];

/** A mail with a brand colour everywhere that a background can be; the colours of texts are left open. */
const openMail = (brand: string, page: object): object => ({
  subject: 'Colours',
  variables: [{ name: 'brand', type: 'string', required: false }],
  schema: {
    props: page,
    sections: [
      { id: 'header', type: 'header', components: [rich('top', linked)] },
      { id: 'main', type: 'main', components: holders(brand) },
      {
        id: 'branded',
        type: 'body',
        props: { backgroundColor: brand },
        components: [rich('in-section', linked), ...renamed(holders(brand))],
      },
      { id: 'footer', type: 'footer', components: [rich('end', linked)] },
    ],
  },
});

const renamed = (components: readonly object[]): readonly object[] =>
  JSON.parse(JSON.stringify(components).replaceAll('"id":"', '"id":"second-')) as readonly object[];

const byte = fc.integer({ min: 0, max: 255 });
const hex = (...channels: readonly number[]): string =>
  `#${channels.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
const share = fc.integer({ min: 0, max: 100 });
/** Colours in every spelling. */
const colors = fc.oneof(
  fc.tuple(byte, byte, byte).map((channels) => hex(...channels)),
  fc.tuple(byte, byte, byte).map((channels) => hex(...channels).toUpperCase()),
  fc.tuple(byte, byte, byte, byte).map((channels) => hex(...channels)),
  fc.tuple(byte, byte, byte).map(([red, green, blue]) => `rgb(${red}, ${green}, ${blue})`),
  fc.tuple(byte, byte, byte, share).map(([red, green, blue, alpha]) => `RGBA(${red},${green},${blue},${alpha / 100})`),
  fc
    .tuple(fc.integer({ min: 0, max: 360 }), share, share)
    .map(([hue, strong, light]) => `hsl(${hue}, ${strong}%, ${light}%)`),
  fc.constantFrom('gold', 'Navy', 'SILVER', 'salmon', 'transparent', 'slateblue', '#fff', '#000', '#888'),
);
/** Colours of text that something is seen of: a wholly transparent one has no twin. */
const inks = colors.filter((color) => !/^transparent$|^#[0-9a-f]{6}[0-7].$|,0?(?:\.\d+)?\)$|,0\)$/i.test(color));

const unreadable = (html: string, mode: Mode): readonly SeenText[] =>
  seenTexts(html, mode).filter(({ contrast }) => contrast < READABLE);

const pages = (brand: string): readonly object[] => [
  {},
  { backgroundColor: brand },
  { contentBackgroundColor: brand },
  { backgroundColor: brand, contentBackgroundColor: brand },
  { contentBackgroundColor: '#0f172a' },
];

const render = (template: object, variables: JsonObject = {}): string => renderTemplate(template, variables).html;

void t.test('text whose colour is left open can be read on every background', (t) => {
  t.equal(seenTexts(render(openMail('#facc15', {})), 'light').length > 50, true, 'the texts are found');
  fc.assert(
    fc.property(colors, fc.nat(4), (brand, at) => {
      const html = render(openMail('{{brand}}', pages('{{brand}}')[at] ?? {}), { brand });
      for (const mode of MODES) t.same(unreadable(html, mode), [], `${brand} ${at} ${mode}`);
      return MODES.every((mode) => unreadable(html, mode).length === 0);
    }),
    { numRuns: 120 },
  );
  t.end();
});

const looksOf = (html: string): readonly (readonly SeenText[])[] => MODES.map((mode) => seenTexts(html, mode));

void t.test('colours by variable look as colours by literal', (t) => {
  const named = (color: string): object => ({
    subject: 'Colours',
    variables: [{ name: 'brand', type: 'string', required: false }],
    schema: {
      props: { color, linkColor: color },
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            rich('ink', `<p>${linked}</p><p style="color:${color}">styled</p>`, { color }),
            { id: 'plain', type: 'button', content: 'Button', props: { href: 'https://example.com' } },
            { id: 'font', type: 'html-fragment', content: `<font color="${color}">font</font>` },
            {
              id: 'table',
              type: 'table',
              props: { color, headerColor: color, columns: [{ header: 'Header' }], rows: [['x'], ['y']] },
            },
            {
              id: 'striped',
              type: 'table',
              props: { color, striped: true, columns: [{ header: 'Striped' }], rows: [['x'], ['y']] },
            },
            {
              id: 'container',
              type: 'container',
              props: { color, backgroundColor: '#fef3c7' },
              children: [rich('inner', linked)],
            },
          ],
        },
        {
          id: 'body',
          type: 'body',
          props: { color, linkColor: color, backgroundColor: '#eef2ff' },
          components: [rich('second', linked)],
        },
      ],
    },
  });
  fc.assert(
    fc.property(colors, fc.nat(4), (brand, at) => {
      const made = (color: string): string => render(openMail(color, pages(color)[at] ?? {}), { brand });
      t.same(looksOf(made('{{brand}}')), looksOf(made(brand)), `${brand} ${at}`);
      t.same(looksOf(render(named('{{brand}}'), { brand })), looksOf(render(named(brand), { brand })), brand);
    }),
    { numRuns: 60 },
  );
  t.end();
});

void t.test('a colour that is named for text can be read in dark mode on what becomes dark', (t) => {
  const components = [
    rich('ink', `<p>${linked}</p><p style="color:{{ink}}">styled <span style="color: {{ink}}">twice</span></p>`, {
      color: '{{ink}}',
    }),
    { id: 'font', type: 'html-fragment', content: '<p><font color="{{ink}}">font</font></p>' },
    {
      id: 'table',
      type: 'table',
      props: { color: '{{ink}}', striped: true, columns: [{ header: 'Header' }], rows: [['x'], ['y']] },
    },
    ...['#fef3c7', '#e5e7eb', '#dcfce7', 'rgba(220, 38, 38, 0.1)'].map((backgroundColor, at) => ({
      id: `tinted-${at}`,
      type: 'container',
      props: { backgroundColor, color: '{{ink}}' },
      children: [rich(`in-tinted-${at}`, linked)],
    })),
    {
      id: 'loop',
      type: 'loop',
      props: { dataSource: 'inks', itemVariable: 'item' },
      children: [rich('each', '<p style="background-color:#fffbeb">Each</p><p>other</p>', { color: '{{item}}' })],
    },
  ];
  const template = (props: object): object => ({
    subject: 'Colours',
    variables: [
      { name: 'ink', type: 'string' },
      { name: 'inks', type: 'array' },
    ],
    schema: { props, sections: [{ id: 'main', type: 'main', components }] },
  });
  fc.assert(
    fc.property(inks, fc.array(inks, { maxLength: 5 }), (ink, others) => {
      for (const props of [{}, { color: '{{ink}}', linkColor: '{{ink}}' }]) {
        const html = render(template(props), { ink, inks: others });
        t.same(unreadable(html, 'dark'), [], ink);
      }
    }),
    { numRuns: 80 },
  );
  t.end();
});

void t.test('a value that is no colour changes nothing', (t) => {
  const plain = looksOf(render(openMail('{{brand}}', {}), { brand: 'url(x)' }));
  for (const brand of ['', '12px', 'red;color:blue', '#12', 'expression(1)', '</style>'])
    t.same(looksOf(render(openMail('{{brand}}', {}), { brand })), plain, brand);
  for (const [mode, seen] of [...MODES.entries()].map(([at, mode]) => [mode, plain[at] ?? []] as const)) {
    t.same(
      seen.filter(({ contrast }) => contrast < READABLE),
      [],
      mode,
    );
  }
  t.end();
});

void t.test('the colours of very many values stay readable with few rules', (t) => {
  const template = {
    subject: 'Colours',
    variables: [{ name: 'inks', type: 'array' }],
    schema: {
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            {
              id: 'list',
              type: 'list',
              content: '<span style="color:{{item}}">Text</span> <span style="background-color:{{item}}">On it</span>',
              props: { dataSource: 'inks' },
            },
          ],
        },
      ],
    },
  };
  const inks = Array.from({ length: 1_000 }, (_, at) => hex(at % 256, (at * 7) % 256, 128 + (at % 128)));
  const html = render(template, { inks });
  t.same(unreadable(html, 'dark'), []);
  t.ok((html.match(/!important\}/g) ?? []).length < 700, 'rules are bounded');
  t.end();
});

// Mails on small screens, in dark mode and for readers with weak eyes.

const component = { id: 'text', type: 'rich-text', content: '<p>Text <a href="https://example.com">link</a></p>' };
const htmlOf = (components: readonly unknown[], props: object = {}, locale = 'en'): string =>
  renderTemplate({
    subject: 'Looks',
    locale,
    schema: {
      props,
      sections: [
        { id: 'header', type: 'header', components: [{ ...component, id: 'head' }] },
        { id: 'main', type: 'main', components },
        { id: 'footer', type: 'footer', components: [{ ...component, id: 'foot' }] },
      ],
    },
  }).html;

void t.test('columns stand beside each other where the mail is as wide as it was made', (t) => {
  const rulesOf = (html: string): ReadonlyMap<number, string> =>
    new Map(
      [...html.matchAll(/@media \(max-width:(\d+)px\)\{(.*?\})\}/g)].map(([, width = '', rules = '']) => [
        Number(width),
        rules,
      ]),
    );
  const columns = { id: 'columns', type: 'columns', children: [component, { ...component, id: 'other' }] };
  const usual = rulesOf(htmlOf([columns]));
  t.same([...usual.keys()], [623, 599]);
  t.match(usual.get(599), '.col{max-width:100%!important}');
  t.notMatch(usual.get(623), '.col');
  t.match(usual.get(623), '.page{padding:0!important}', 'all of 600 pixels are its own');
  t.match(usual.get(599), '.gut{padding-right:0!important}');
  t.match(rulesOf(htmlOf([columns], {}, 'ar')).get(599), '.gut{padding-left:0!important}');
  t.same([...rulesOf(htmlOf([columns], { width: 480 })).keys()], [503, 479]);
  t.same([...rulesOf(htmlOf([columns], { width: '720px' })).keys()], [743, 719]);
  t.end();
});

void t.test('tables of many columns take less room on small screens', (t) => {
  const table = (count: number): string =>
    renderTemplate(
      templateOf([
        { id: 't', type: 'table', props: { rows: [Array.from({ length: count }, (_, at) => `cell ${at}`)] } },
      ]),
    ).html;
  t.match(table(5), /<table width="100%"[^>]* class="[^"]*\bm"/);
  t.notMatch(table(4), /class="[^"]*\bm"/);
  t.end();
});

const contrastOf = (a: string, b: string): number => {
  const [light = 0, dark = 0] = [a, b]
    .map((color) => luminanceOf(rgbOf(color) ?? [0, 0, 0]))
    .sort((one, other) => other - one);
  return (light + 0.05) / (dark + 0.05);
};

void t.test('headers and footers can be read on the page, light or dark', (t) => {
  for (const page of ['#f3f4f6', '#ffffff', '#111827', '#1e3a8a']) {
    const html = htmlOf([component], { backgroundColor: page });
    const ends = [
      html.slice(html.indexOf('<body'), html.indexOf('class="sec', html.indexOf('class="sec') + 9)),
      html.slice(html.lastIndexOf('class="sec')),
    ];
    for (const [at, end] of ends.entries()) {
      const colors = [...end.matchAll(/[;"]color:(#[0-9a-f]{6})/g)].map(([, color = '']) => color);
      t.ok(colors.length >= 2, 'text and link');
      for (const color of colors)
        t.ok(contrastOf(color, page) >= 4.5, `${color} on ${page} in the ${at === 0 ? 'header' : 'footer'}`);
    }
  }
  t.end();
});

void t.test('links can be read on tinted boxes in dark mode', (t) => {
  const twins = (html: string, property: string): readonly string[] =>
    [...html.matchAll(new RegExp(`\\{${property}:(#[0-9a-f]{6})!important\\}`, 'g'))].map(([, color = '']) => color);
  for (const backgroundColor of ['#fef3c7', '#dcfce7', '#fee2e2', '#dbeafe', '#e5e7eb']) {
    const html = renderTemplate(templateOf([{ ...component, props: { backgroundColor } }])).html;
    const [boxes, texts] = [twins(html, 'background-color'), twins(html, 'color')];
    t.ok(boxes.length >= 3 && texts.length >= 2);
    for (const box of boxes)
      for (const text of texts) t.ok(contrastOf(text, box) >= 4.5, `${text} on ${box}, for ${backgroundColor}`);
  }
  t.end();
});

// The HTML and CSS features of the mails, compared with the support data of caniemail.com: a feature that a large
// client lacks must be one that a mail can lose.

/** Compiled tests lie four folders deep in the output: build/test/adapters/render. */
const golden = fileURLToPath(new URL('../../../../test/golden/email/', import.meta.url));

const clients = ['gmail.*', 'outlook.*', 'apple-mail.*', 'yahoo.*'] as const;

/**
 * Features that a client may lack, each with the effect of its absence. A feature that carries the meaning or the
 * layout of a mail must not be listed.
 */
const mayBeMissing: Readonly<Record<string, string>> = {
  '<style> element': 'all styles that matter stand inline; it holds dark mode and small screens',
  'Type selector': 'in the style element only',
  'Attribute selector': 'in the style element only',
  '@media': 'dark mode and small screens',
  'color-scheme CSS property': 'the client chooses its own dark colours',
  'color-scheme meta tag': 'the same',
  '<body> element': 'its background stands on a table as well',
  'overflow-wrap': 'words that are too long stand in elements of their own, which break',
  'word-break': 'a single word of more than 30 letters, such as a whole link, widens its line',
  overflow: 'of the hidden preheader',
  'display:none': 'the preheader is hidden by its height too',
  'max-height property': 'the preheader is hidden by display too',
  opacity: 'what is still to come in a timeline is as dark as the rest',
  'height property': 'heights stand in attributes too',
  'border-radius': 'corners are square',
  'white-space': 'a label may break',
  'aria-label attribute': 'the state of a step is seen, not said',
  'role attribute': 'a reader takes layout tables for tables',
};

void t.test('what large clients lack is what a mail can lose', (t) => {
  const lacking = new Map<string, Set<string>>();
  for (const file of readdirSync(golden).filter((name) => name.endsWith('.html'))) {
    const { issues } = caniemail({ clients: [...clients], html: readFileSync(join(golden, file), 'utf8') });
    for (const [client, found] of issues.errors) {
      for (const { title } of found) lacking.set(title, (lacking.get(title) ?? new Set()).add(`${client} (${file})`));
    }
  }
  t.ok(lacking.size > 5, 'the data is there and is used');
  for (const [title, places] of lacking)
    t.ok(Object.hasOwn(mayBeMissing, title), `${title}: ${[...places].slice(0, 3).join(', ')}`);
  for (const title of Object.keys(mayBeMissing)) t.ok(lacking.has(title), `${title} is used, and lacking somewhere`);
  t.end();
});
