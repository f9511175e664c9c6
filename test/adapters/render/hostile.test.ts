/** Text of a variable or an author never becomes code, leaves its place, or leads to an address that runs code. */
import t from 'tap';
import fc from 'fast-check';
import { Parser } from 'htmlparser2';
import { escapeHtml } from '../../../src/adapters/render/email/escape.js';
import type { Json, JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { openRenderer } from '../../../src/adapters/render/email/renderer.js';
import { readPath } from '../../../src/domain/rendering/scope/path.js';
import { kitchenSink, sinkVariables } from '../../support/kitchen-sink.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';
import { hostileMarkup, hostileValues, markupVariables } from '../../support/vectors.js';

type Element = Readonly<{ name: string; attributes: Readonly<Record<string, string>> }>;

/** The elements as a browser sees them; conditional comments are comments. */
const elementsOf = (html: string): readonly Element[] => {
  const elements: Element[] = [];
  const parser = new Parser(
    { onopentag: (name, attributes) => void elements.push({ name, attributes }) },
    { decodeEntities: true },
  );
  parser.end(html);
  return elements;
};

/** The names of the elements, without what the renderer writes around long words of its own accord. */
const shapeOf = (elements: readonly Element[]): string =>
  elements
    .filter(
      ({ name, attributes }) =>
        name !== 'span' || (attributes['class'] !== 'w' && attributes['style'] !== 'word-break:break-all'),
    )
    .map(({ name }) => name)
    .join(' ');

const FORBIDDEN = new Set([
  'script',
  'iframe',
  'object',
  'embed',
  'form',
  'input',
  'textarea',
  'button',
  'svg',
  'math',
  'link',
  'base',
  'template',
  'video',
  'audio',
  'marquee',
  'details',
  'noscript',
  'frame',
  'applet',
]);
const ATTRIBUTES = new Set([
  'abbr',
  'align',
  'alt',
  'aria-label',
  'aria-roledescription',
  'bgcolor',
  'border',
  'cellpadding',
  'cellspacing',
  'charset',
  'class',
  'color',
  'colspan',
  'content',
  'dir',
  'face',
  'height',
  'href',
  'id',
  'lang',
  'name',
  'role',
  'rowspan',
  'scope',
  'size',
  'src',
  'start',
  'style',
  'title',
  'valign',
  'width',
  'xmlns:o',
]);

/** The faults of a rendered mail; empty if all is well. */
const dangers = (html: string, elements = elementsOf(html)): readonly string[] => {
  const found: string[] = [];
  for (const { name, attributes } of elements) {
    if (FORBIDDEN.has(name)) found.push(`element ${name}`);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (!ATTRIBUTES.has(attribute)) found.push(`attribute ${attribute} of ${name}`);
      if (attribute === 'href' && !/^(?:https?:\/\/[^/\\]|mailto:|tel:|#)/i.test(value)) found.push(`href ${value}`);
      if (
        attribute === 'src' &&
        !/^(?:cid:(?:qr|picture)-[0-9a-f]{24}@sealpost$|https?:\/\/[^/\\]|data:image\/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=]+$)/i.test(
          value,
        )
      )
        found.push(`src ${value}`);
      if ((attribute === 'href' || attribute === 'src') && /[\x00-\x20]/.test(value))
        found.push(`blanks in ${attribute}`);
      if (
        attribute === 'style' &&
        /url\s*\(|expression|javascript|@import|behavior|binding|position|[{}<>\\]|\/\*/i.test(value)
      )
        found.push(`style ${value}`);
      if (attribute === 'http-equiv') found.push('meta refresh');
    }
  }
  if ((html.match(/<style>/g) ?? []).length !== 2) found.push('styles');
  return found;
};

/** Every place where a value can stand. */
const places: Readonly<Record<string, Json>> = {
  text: { id: 'a', type: 'rich-text', content: '<p>{{x}}</p>' },
  'plain text': { id: 'a', type: 'rich-text', content: '{{x}}' },
  'heading and list': { id: 'a', type: 'rich-text', content: '<h1>{{x}}</h1><ul><li>{{x}}</li></ul><pre>{{x}}</pre>' },
  attribute: { id: 'a', type: 'rich-text', content: '<p title="{{x}}" id="{{x}}" align="{{x}}" lang="{{x}}">a</p>' },
  'unquoted attribute': { id: 'a', type: 'rich-text', content: '<p title={{x}}>a</p>' },
  link: { id: 'a', type: 'rich-text', content: '<a href="{{x}}">a</a>' },
  'link, after a letter': { id: 'a', type: 'rich-text', content: '<a href="j{{x}}">a</a>' },
  'link, in two parts': { id: 'a', type: 'rich-text', content: '<a href="{{x}}{{x}}">a</a>' },
  'link, host': {
    id: 'a',
    type: 'rich-text',
    content:
      '<a href="https://{{x}}">a</a> <a href="https://{{x}}.example.com/">a</a> <a href="https://example.com{{x}}">a</a>',
  },
  'link, path': { id: 'a', type: 'rich-text', content: '<a href="https://example.com/{{x}}/b">a</a>' },
  'link, query': {
    id: 'a',
    type: 'rich-text',
    content: '<a href="https://example.com/?a={{x}}&b={{x}}#{{x}}">a</a> <a href="https://example.com/?{{x}}">a</a>',
  },
  'link, mailto': {
    id: 'a',
    type: 'rich-text',
    content: '<a href="mailto:{{x}}?subject={{x}}">a</a> <a href="tel:{{x}}">a</a>',
  },
  picture: {
    id: 'a',
    type: 'rich-text',
    content: '<img src="{{x}}" alt="{{x}}" width="{{x}}"><img src="data:image/png;base64,{{x}}">',
  },
  style: {
    id: 'a',
    type: 'rich-text',
    content: '<p style="color:{{x}};background:{{x}};font-family:{{x}};width:{{x}}">a</p>',
  },
  'style, part of a value': {
    id: 'a',
    type: 'rich-text',
    content: '<p style="border:1px solid {{x}};padding:{{x}}px">a</p>',
  },
  'font and cell colours': {
    id: 'a',
    type: 'html-fragment',
    content:
      '<font color="{{x}}" face="{{x}}">a</font><table bgcolor="{{x}}"><tr><td bgcolor="{{x}}" width="{{x}}">a</td></tr></table>',
  },
  fragment: { id: 'a', type: 'html-fragment', content: '<div title="{{x}}">{{x}}<a href="{{x}}">{{x}}</a></div>' },
  'text props': {
    id: 'a',
    type: 'rich-text',
    content: 'a',
    props: {
      color: '{{x}}',
      backgroundColor: '{{x}}',
      fontFamily: '{{x}}',
      fontSize: '{{x}}',
      lineHeight: '{{x}}',
      padding: '{{x}}',
      align: '{{x}}',
    },
  },
  button: {
    id: 'a',
    type: 'button',
    content: '{{x}}',
    props: {
      href: '{{x}}',
      backgroundColor: '{{x}}',
      color: '{{x}}',
      borderRadius: '{{x}}',
      border: '{{x}}',
      padding: '{{x}}',
      align: '{{x}}',
      fontFamily: '{{x}}',
    },
  },
  'button, composed': { id: 'a', type: 'button', content: 'a', props: { href: 'https://example.com/{{x}}?a={{x}}' } },
  image: {
    id: 'a',
    type: 'image',
    props: { src: '{{x}}', alt: '{{x}}', href: '{{x}}', width: '{{x}}', height: '{{x}}', borderRadius: '{{x}}' },
  },
  table: {
    id: 'a',
    type: 'table',
    props: {
      dataSource: 'list',
      headerBackgroundColor: '{{x}}',
      headerColor: '{{x}}',
      border: '{{x}}',
      columns: [{ header: '{{x}}', content: '<b title="{{item}}">{{item}}</b>', align: '{{x}}', footer: '{{x}}' }],
    },
  },
  'table, written': { id: 'a', type: 'table', props: { rows: [['{{x}}', '<a href="{{x}}">{{x}}</a>']] } },
  container: {
    id: 'a',
    type: 'container',
    props: {
      backgroundColor: '{{x}}',
      border: '{{x}}',
      padding: '{{x}}',
      width: '{{x}}',
      borderRadius: '{{x}}',
      color: '{{x}}',
    },
    children: [{ id: 'b', type: 'rich-text', content: '{{x}}' }],
  },
  'divider and spacer': {
    id: 'a',
    type: 'container',
    children: [
      {
        id: 'b',
        type: 'divider',
        props: { color: '{{x}}', thickness: '{{x}}', style: '{{x}}', width: '{{x}}', margin: '{{x}}' },
      },
      { id: 'c', type: 'spacer', props: { height: '{{x}}' } },
    ],
  },
  list: { id: 'a', type: 'list', content: '{{item}}', props: { dataSource: 'list', color: '{{x}}' } },
  loop: {
    id: 'a',
    type: 'loop',
    props: { dataSource: 'list', itemVariable: 'i', emptyText: '{{x}}' },
    children: [{ id: 'b', type: 'rich-text', content: '<a href="{{i}}">{{i}}</a>' }],
  },
  'qr-code': {
    id: 'a',
    type: 'qr-code',
    props: { value: '{{x}}', errorCorrection: '{{x}}', color: '{{x}}', backgroundColor: '{{x}}', align: '{{x}}' },
  },
  timeline: {
    id: 'a',
    type: 'timeline',
    props: {
      dataSource: 'list',
      title: '{{item}}',
      description: '{{item}}',
      date: '{{item}}',
      status: '{{x}}',
      color: '{{x}}',
    },
  },
  'timeline, written': {
    id: 'a',
    type: 'timeline',
    props: {
      items: [{ title: '{{x}}', description: '{{x}}', date: '{{x}}', status: '{{x}}' }, { title: '{{x}}' }],
      color: '{{x}}',
    },
  },
  'empty loop': {
    id: 'a',
    type: 'loop',
    props: { dataSource: 'nothing', itemVariable: 'i', emptyText: '{{x}}' },
    children: [{ id: 'b', type: 'spacer' }],
  },
};

void t.test(`${hostileValues.length} hostile values in ${Object.keys(places).length} places`, async (t) => {
  const renderer = openRenderer({ limits: defaultLimits });
  for (const [place, component] of Object.entries(places)) {
    const template = templateOf([component], {
      subject: '{{x}}',
      schema: {
        props: {
          preheader: '{{x}}',
          backgroundColor: '{{x}}',
          contentBackgroundColor: '{{x}}',
          linkColor: '{{x}}',
          color: '{{x}}',
          borderRadius: '{{x}}',
        },
        sections: [
          {
            id: 's',
            type: 'header',
            props: { backgroundColor: '{{x}}', padding: '{{x}}', align: '{{x}}' },
            components: [component],
          },
        ],
      },
    });
    const render = renderer.compileEmail(checkEmailTemplate(template, defaultLimits).content);
    const renderWith = (x: string) => render({ variables: { x, list: [x] }, environment });
    const shape = shapeOf(elementsOf(renderWith('harmless').html));
    const wrong = hostileValues.flatMap((value) => {
      const { html, subject, text } = renderWith(value);
      const elements = elementsOf(html);
      const found = [...dangers(html, elements)];
      if (shapeOf(elements) !== shape) found.push('other elements than with a harmless value');
      if (/[\r\n\x00]/.test(subject)) found.push('a broken subject');
      if (/ \((?:javascript|data|vbscript):/i.test(text)) found.push('a link in the text part');
      return found.map((what) => `${JSON.stringify(value)}: ${what}`);
    });
    t.same(wrong, [], place);
  }
});

void t.test(`${hostileMarkup.length} pieces of hostile markup`, async (t) => {
  for (const type of ['rich-text', 'html-fragment', 'list', 'button', 'table']) {
    const componentWith = (content: string): Json => {
      if (type === 'table')
        return { id: 'a', type, props: { rows: [[content]], columns: [{ header: content, footer: content }] } };
      return { id: 'a', type, content, ...(type === 'button' ? { props: { href: 'https://example.com' } } : {}) };
    };
    const wrong = hostileMarkup.flatMap((markup) =>
      dangers(renderTemplate(templateOf([componentWith(markup)]), markupVariables).html).map(
        (what) => `${markup}: ${what}`,
      ),
    );
    t.same(wrong, [], type);
  }
});

void t.test('hostile templates never become code', async (t) => {
  const wrong = hostileValues
    .filter((value) => !value.includes('{{'))
    .flatMap((evil) => {
      const template = templateOf(
        [
          { id: evil.slice(0, 90) || 'x', type: 'rich-text', content: evil },
          {
            id: 'b',
            type: 'table',
            props: { rows: [[evil]], columns: [{ header: evil, footer: evil }], emptyText: evil, sheetName: evil },
          },
          {
            id: 'c',
            type: 'conditional',
            props: { condition: 'x', operator: '==', value: evil },
            children: [{ id: 'd', type: 'button', content: evil, props: { href: 'https://example.com/' } }],
          },
          { id: 'e', type: 'image', props: { src: 'https://example.com/a.png', alt: evil } },
        ],
        { subject: `a ${evil.replace(/[\p{Cc}\u2028\u2029]/gu, '')}` },
      );
      return dangers(renderTemplate(template, { x: evil }).html).map((what) => `${JSON.stringify(evil)}: ${what}`);
    });
  t.same(wrong, []);
  t.equal(
    elementsOf(renderTemplate(kitchenSink(), sinkVariables).html).filter(({ name }) => name === 'script').length,
    0,
  );
});

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

void t.test('what escaping promises', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      (text) => !/[<>"']/.test(escapeHtml(text)) && !/&(?!(?:amp|lt|gt|quot|#\d+);)/.test(escapeHtml(text)),
    ),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      let decoded = '';
      const parser = new Parser({ ontext: (piece) => void (decoded += piece) }, { decodeEntities: true });
      parser.end(escapeHtml(text));
      return wellFormed(decoded) === wellFormed(text) || /[\x00-\x1f\x7f-\x9f]/.test(text);
    }),
    { numRuns: 1_000 },
  );
  t.pass('no text leaves its place, and every text is read back as it was');
});

void t.test('any value in any place: same elements, same bytes each time', async (t) => {
  const renderer = openRenderer({ limits: defaultLimits });
  const renders = Object.values(places).map((component) =>
    renderer.compileEmail(checkEmailTemplate(templateOf([component]), defaultLimits).content),
  );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.jsonValue()), (x) => {
      for (const render of renders) {
        const variables = { x, list: ['a', x] } as JsonObject;
        const first = render({ variables, environment });
        const again = render({ variables: structuredClone(variables), environment });
        if (first.html !== again.html || first.text !== again.text || dangers(first.html).length > 0)
          throw new Error(dangers(first.html).join());
      }
    }),
    { numRuns: 75 },
  );
  t.pass('whatever comes');
});

void t.test('compiled access means what readPath means', async (t) => {
  const names = fc.constantFrom('a', 'b', 'length', 'constructor', 'toString', 'map', '__proto__', 'x-y');
  const tree = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('text', 5, null, true),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(names, tie('node'), { maxKeys: 4 }),
    ),
  })).node;
  const path = fc.tuple(
    fc.constantFrom('a', 'b', 'constructor', 'toString'),
    fc.array(
      fc.oneof(
        fc.constantFrom('.a', '.b', '.length', '.constructor', '.toString', '.map', '.x-y'),
        fc.constantFrom('[0]', '[1]'),
      ),
      {
        maxLength: 4,
      },
    ),
  );
  fc.assert(
    fc.property(
      path,
      fc.dictionary(fc.constantFrom('a', 'b', 'constructor', 'toString'), tree),
      ([root, steps], values) => {
        const source = root + steps.join('');
        const segments = source
          .split(/[.[]/)
          .map((segment) => (segment.endsWith(']') ? Number(segment.slice(0, -1)) : segment));
        const expected = readPath(values as Json, segments);
        const { text } = renderTemplate(
          templateOf([
            {
              id: 'c',
              type: 'conditional',
              props: { condition: source, operator: 'exists' },
              children: [{ id: 'a', type: 'rich-text', content: 'yes' }],
            },
          ]),
          values as JsonObject,
        );
        return (text === 'yes\n') === (expected !== undefined && expected !== null);
      },
    ),
    { numRuns: 200 },
  );
  t.pass('own members, and nothing else');
});

void t.test('huge inputs are handled in bounded time', async (t) => {
  const start = process.hrtime.bigint();
  t.throws(() => renderTemplate(templateOf([{ id: 'a', type: 'html-fragment', content: '<div>'.repeat(20_000) }])), {
    code: 'TEMPLATE_INVALID',
  });
  renderTemplate(
    templateOf([{ id: 'a', type: 'rich-text', content: `<p style="${'color:red;'.repeat(19_000)}">x</p>` }]),
  );
  renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content: '<a href="{{x}}">{{x}}</a>' }]), {
    x: `https://example.com/${' '.repeat(200_000)}`,
  });
  renderTemplate(templateOf([{ id: 'a', type: 'rich-text', content: '{{x}}' }]), { x: 'a '.repeat(200_000) });
  t.ok(Number(process.hrtime.bigint() - start) / 1e9 < 20, 'a few seconds at most');
});
