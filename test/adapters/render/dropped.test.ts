/** Warnings name everything that the HTML of an author loses. Everything else is in the mail. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import mjml2html from 'mjml';
import t from 'tap';
import { droppedIn } from '../../../src/adapters/render/email/renderer.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { emailInLanguage } from '../../../src/domain/rendering/languages.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';

const fragment = (content: string): JsonObject => ({ id: 'f', type: 'html-fragment', content });
const rich = (content: string, id = 'r'): JsonObject => ({ id, type: 'rich-text', content });
const lossesOf = (...components: readonly unknown[]) =>
  droppedIn(emailInLanguage(checkEmailTemplate(templateOf(components), defaultLimits).content, undefined));
const namesOf = (component: unknown): readonly string[] =>
  lossesOf(component).flatMap(({ message }) => message.replace(/^[^:]*: /, '').split(', '));
const bodyOf = (component: unknown): string => {
  const { html } = renderTemplate(templateOf([component]));
  return html.slice(html.indexOf('<div role="article"'));
};

void t.test(
  'elements, attributes, declarations and comments are named once, with their count and the place of the component',
  (t) => {
    const html =
      '<style>@media (max-width:480px){a{color:red}}</style><p>Dear <o:p>Ana</o:p><o:p></o:p></p><svg><path d="M0"/></svg>' +
      '<p style="position:absolute;color:red;z-index:2" onclick="x()">a</p><p style="POSITION: fixed">b</p>' +
      '<!--[if mso]><table><tr><td><![endif]--><!-- a note --><img src="https://a.example/a.png" srcset="b.png 2x" alt="">';
    t.same(lossesOf(rich('<p>fine</p>'), { id: 'c', type: 'container', children: [fragment(html)] }), [
      {
        field: 'schema.sections[0].components[1].children[0].content',
        message:
          'is shown without what an email does not keep: <style> with all that is in it, @media, <o:p> (2 times), <svg> with all that is in it, ' +
          'the style position (2 times), the style z-index, onclick of <p>, comments for Outlook (<!--[if …]>), srcset of <img>',
      },
    ]);
    t.end();
  },
);

void t.test('each component with HTML is looked at by what it keeps', (t) => {
  const table = {
    id: 't',
    type: 'table',
    props: {
      columns: [{ header: '<h2>A</h2>', footer: '<b>c</b>' }, { content: '<u>x</u>' }],
      rows: [['<p>x</p>', { content: '<video>y</video>' }]],
    },
  };
  const at = 'schema.sections[0].components';
  t.match(
    lossesOf(
      { id: 'b', type: 'button', content: '<p>Go</p>', props: { href: 'https://a.example' } },
      { id: 'l', type: 'list', content: '<li>x<blink>y</blink></li>' },
      table,
      rich('<font color="red">x</font>'),
      fragment(
        '<font color="red">x</font><font color="reddish">y</font><table><tr><td bgcolor="#zz" background="a.png">z</td></tr></table>',
      ),
      {
        id: 'k',
        type: 'conditional',
        props: { condition: 'x', operator: 'exists' },
        children: [],
        elseChildren: [rich('<marquee>x</marquee>', 'm')],
      },
    ),
    [
      { field: `${at}[0].content`, message: /: <p>$/ },
      { field: `${at}[1].content`, message: /: <blink>$/ },
      { field: `${at}[2].props.columns[0].header`, message: /: <h2>$/ },
      { field: `${at}[2].props.rows[0][0]`, message: /: <p>$/ },
      { field: `${at}[2].props.rows[0][1]`, message: /: <video>$/ },
      { field: `${at}[3].content`, message: /: <font>$/ },
      {
        field: `${at}[4].content`,
        message: /: color="reddish" of <font>, bgcolor="#zz" of <td>, background="a.png" of <td>$/,
      },
      { field: `${at}[5].elseChildren[0].content`, message: /: <marquee>$/ },
    ],
  );
  t.end();
});

void t.test('what shows nothing by itself is not told, and neither is what a value brings', (t) => {
  for (const html of [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title></head><body><p class="a" data-x="1">x</p></body></html>',
    '<p>a<br>b</p><nav>x</nav><details><summary>a</summary>b</details>',
    '<a href="https://a.example" target="_blank" rel="noopener">x</a>',
    '<p style="color:{{c}};width:{{w}}px;;">x</p><td bgcolor="{{c}}">y</td>',
    '<p style="color:red !important; /* a note */ font: bold 12px/1.5 Arial">x</p>',
    '<!-- a comment --><p>5 < 6 & 7</p>',
  ])
    t.same(lossesOf(fragment(html)), [], html);
  t.same(namesOf(fragment('<body style="background:red"><p>x</p></body>')), ['the look of <body>']);
  t.same(namesOf(fragment('<p style="color:nocolour;width:url(x);made-up:1;position:{{x}}">x</p>')), [
    'the style color: nocolour',
    'the style width: url(x)',
    'the style made-up',
    'the style position',
  ]);
  t.same(namesOf(fragment('<p style="{{styles}};bold;background:none;color:;border: none !important">x</p>')), [
    'the style {{styles}}',
    'the style bold',
  ]);
  for (const style of [
    'background:url(data:image/png;base64,iVBORw0KGgo=);color:red',
    "font-family:'a;b',Arial;color:red",
    "font-family:O'Neil;color:red",
  ])
    t.match(bodyOf(fragment(`<p style="${style}">x</p>`)), /<p [^>]*color:red/, style);
  t.same(namesOf(fragment('<p style="background:url(data:image/png;base64,iVBORw0KGgo=)">x</p>')), []);
  t.end();
});

void t.test('documents tell what a PDF and a workbook do not read', (t) => {
  const cell = { content: '<u style="position:fixed">y</u>' };
  const components = [
    rich(
      '<p style="line-height:1.2;color:red;text-align:center;background:#eee">a</p><font color="red">b</font><td background="a.png">c</td>',
    ),
    rich('<p style="font-weight:bold;color:nocolour">a</p><!--[if mso]>x<![endif]--><style>p{}</style>', 's'),
    {
      id: 't',
      type: 'table',
      props: { columns: [{ header: 'A' }, { header: 'B' }], rows: [['=IF(A1<B1,1,2)', cell]] },
    },
  ];
  const pages = [{ pageId: 'p', pageName: 'P', sections: [{ id: 's1', type: 'main', components }] }];
  const { content } = checkAttachmentTemplate(
    { variables: [], schema: { outputFormats: ['pdf', 'excel'], pages } },
    defaultLimits,
  );
  const at = 'schema.pages[0].sections[0].components';
  t.same(droppedIn(content), [
    {
      field: `${at}[0].content`,
      message:
        'is shown without what a document does not keep: the style line-height, <font>, background="a.png" of <td>',
    },
    {
      field: `${at}[1].content`,
      message:
        'is shown without what a document does not keep: the style color: nocolour, <style> with all that is in it',
    },
    {
      field: `${at}[2].props.rows[0][1]`,
      message: 'is shown without what a document does not keep: the style position',
    },
  ]);
  t.end();
});

void t.test('no more is told than somebody can read', (t) => {
  const many = Array.from({ length: 60 }, (_, at) => `<x-${at}>a</x-${at}>`).join('');
  const [first, ...rest] = lossesOf(...Array.from({ length: 30 }, (_, at) => ({ ...fragment(many), id: `f${at}` })));
  t.equal(first?.message.match(/<x-/g)?.length, 20);
  t.match(first?.message, / and 40 more$/);
  t.equal(rest.length, 19);
  const long = 'a'.repeat(10_000);
  for (const html of [
    `<${long}>x</${long}>`,
    `<p ${long}="1">x</p>`,
    `<p style="${long}:1">x</p>`,
    `<p style="color:${long}">x</p>`,
  ])
    t.ok((lossesOf(fragment(html))[0]?.message.length ?? 0) < 200);
  t.match(namesOf(fragment('<div>'.repeat(60) + 'x' + '</div>'.repeat(60))), [/^elements deeper than 50/]);
  t.end();
});

void t.test(
  'what MJML writes keeps its columns, backgrounds and buttons; its style sheet and comments are told',
  async (t) => {
    const { html, errors } = await mjml2html(
      `<mjml><mj-head><mj-style>.x{color:red}</mj-style></mj-head><mj-body background-color="#f4f4f4">
      <mj-section background-url="https://cdn.example.com/hero.jpg" background-size="cover" background-repeat="no-repeat" background-color="#ffffff">
        <mj-column width="60%"><mj-text letter-spacing="1px">Hello</mj-text>
          <mj-button background-color="#1d4ed8" border-radius="6px" href="https://shop.example/a">Go</mj-button></mj-column>
        <mj-column width="40%" background-color="#eeeeee"><mj-image width="120px" src="https://cdn.example.com/a.png" alt="A"/></mj-column>
      </mj-section></mj-body></mjml>`,
      { validationLevel: 'strict', minify: false },
    );
    t.same(errors, []);
    t.match(
      namesOf(fragment(html)).join('; '),
      /^comments for Outlook.*<style> with all that is in it.*@media.*the look of <body>$/,
    );
    t.notMatch(namesOf(fragment(html)).join('; '), /the style| of <(?!body)/, 'no declaration and no attribute');
    const body = bodyOf(fragment(html));
    t.match(body, 'background="https://cdn.example.com/hero.jpg"');
    t.match(
      body,
      "background:url('https://cdn.example.com/hero.jpg') center top / cover no-repeat;background-color:#ffffff",
    );
    t.match(body, /display:inline-block;vertical-align:top;width:100%/);
    t.match(body, /border-radius:6px;[^"]*mso-padding-alt:/);
    t.match(body, 'word-spacing:normal');
    t.end();
  },
);

const { data } = JSON.parse(
  readFileSync(fileURLToPath(new URL('data/caniemail.json', import.meta.resolve('caniemail'))), 'utf8'),
) as {
  data: readonly Readonly<{ slug: string; category: string }>[];
};

void t.test('each property that caniemail.com lists is in the mail or told', (t) => {
  const values: Readonly<Record<string, string>> = {
    color: 'red',
    background: 'red',
    direction: 'rtl',
    display: 'flex',
    font: '12px Arial',
    width: '10px',
  };
  const properties = new Set(
    data.flatMap(({ slug, category }) =>
      category === 'css' && !/^css-(?:at|pseudo|selector|unit|function)-/.test(slug) ? [slug.slice(4)] : [],
    ),
  );
  t.ok(properties.size > 80);
  for (const property of properties) {
    const value = values[property] ?? (property.includes('color') ? 'red' : '1px');
    const component = rich(`<p style="${property}:${value}">x</p>`);
    const isThere = new RegExp(`[";]${property}(?:-color)?:`).test(bodyOf(component)) || property === 'font';
    t.equal(isThere, namesOf(component).length === 0, property);
  }
  for (const kept of [
    'min-height:1px',
    'opacity:.5',
    'float:left',
    'box-shadow:0 1px 2px #000',
    'list-style:none',
    'background-position:center / 2px',
  ])
    t.match(bodyOf(rich(`<p style="${kept}">x</p>`)), kept);
  for (const kept of [
    'background-image:linear-gradient(90deg, #fff, rgba(0,0,0,.5))',
    'width:calc(100% - 20px)',
    'mso-line-height-rule:exactly',
  ])
    t.match(bodyOf(rich(`<p style="${kept}">x</p>`)), kept);
  for (const never of [
    'width:expression(alert(1))',
    'background-image:url(javascript:x)',
    'color:red/*',
    'behavior:url(a.htc)',
    '-moz-binding:url(x)',
  ])
    t.notMatch(
      bodyOf(rich(`<p style="${never}">x</p>`)),
      never.slice(0, 12) === 'color:red/*' ? '/*' : /expression|javascript|\/\*|behavior|binding/,
    );
  t.end();
});
