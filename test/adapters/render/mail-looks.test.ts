/** Mails on small screens, in dark mode and for readers with weak eyes. */
import t from 'tap';
import { luminanceOf, rgbOf } from '../../../src/adapters/render/colors.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';

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
