/**
 * Text of a mail can be read on every background, light and dark, whether the template brings the colours or a
 * variable.
 */
import fc from 'fast-check';
import t from 'tap';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { renderTemplate } from '../../support/rendering.js';
import { seenTexts, type Mode, type SeenText } from '../../support/seen-colors.js';

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
