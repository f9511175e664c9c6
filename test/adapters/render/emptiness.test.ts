/** Components that are empty, optional or dropped. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'htmlparser2';
import mjml2html from 'mjml';
import t from 'tap';
import { showsAnything } from '../../../src/adapters/render/email/inline.js';
import { alwaysShows, openRenderer, droppedIn } from '../../../src/adapters/render/email/renderer.js';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits, defaultLimits as limits } from '../../../src/domain/core/limits.js';
import { openBudget } from '../../../src/domain/rendering/budget.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { compilePreparation } from '../../../src/domain/rendering/fill/compile.js';
import { emailInLanguage } from '../../../src/domain/rendering/languages.js';
import { compileLosses, pathsOfLosses } from '../../../src/domain/rendering/paths/losses.js';
import { partsOfEmail } from '../../../src/domain/rendering/paths/walk.js';
import { attachmentOf, componentsOf, expandTemplate } from '../../support/documents.js';
import { readPdf } from '../../support/read-pdf.js';
import { environment, templateOf, renderTemplate } from '../../support/rendering.js';
import { bytesOf, readWorkbook } from './excel/xlsx.js';

// Mails that show nothing are recognized by the template alone if possible, otherwise by the HTML.

const definitions = [{ name: 's', type: 'string' }];
const contentOf = (components: readonly unknown[]) =>
  checkEmailTemplate({ ...templateOf(components as never), variables: definitions }, defaultLimits).content;
const textOf = (content: string) => contentOf([{ id: 'a', type: 'rich-text', content }]);
const render = openRenderer({ limits: defaultLimits });

const certain = [
  'Hello {{s}}',
  '<p>x</p>',
  '<p class="a">{{s}}</p><p>7</p>',
  '<h1>Привет</h1>',
  '<a href="https://example.com/{{s}}">go</a>',
];
const uncertain = [
  '{{s}}',
  '<p>{{s}}</p>',
  '<p>&nbsp;&#160;</p>',
  '<p title="letters">{{s}}</p>',
  '<p title=">letters">{{s}}</p>',
  "<p title='\">letters'>{{s}}</p>",
  '<style>letters</style>{{s}}',
  '<!-- letters -->{{s}}',
];

void t.test('a template whose text has a letter of its own is never empty', async (t) => {
  for (const html of certain) {
    const content = textOf(html);
    t.ok(alwaysShows(content), html);
    const mail = render.compileEmail(content)({ variables: { s: '' }, environment });
    t.ok(showsAnything(mail.html), `${html}: its mail shows something without variables`);
    t.equal(render.compileEmail(content).check({ variables: { s: '' }, environment }).isEmpty, false);
  }
});

void t.test('a preheader that comes to nothing writes nothing', async (t) => {
  const htmlOf = (preheader: string, s: string): string => {
    const content = textOf('<p>Hello</p>');
    const withPreheader = {
      ...content,
      variables: definitions,
      schema: { ...content.schema, props: { preheader } },
    } as typeof content;
    return render.compileEmail(withPreheader)({ variables: { s }, environment }).html;
  };
  for (const [preheader, s] of [
    ['{{s}}', ''],
    ['{{s}} ', ' '],
    ['  ', ''],
    ['{{s}}{{s}}', ''],
  ] as const)
    t.notMatch(htmlOf(preheader, s), 'display:none;max-height:0', JSON.stringify([preheader, s]));
  t.match(htmlOf('{{s}}', 'soon'), 'mso-hide:all">soon\n');
  t.match(htmlOf('Due {{s}}', '<b>'), 'mso-hide:all">Due &lt;b&gt;\n');
});

void t.test('where nothing but variables, attributes and blanks stand in it, the mail is looked at', async (t) => {
  for (const html of uncertain) {
    const content = textOf(html);
    t.notOk(alwaysShows(content), html);
    const check = render.compileEmail(content).check;
    t.equal(check({ variables: { s: '' }, environment }).isEmpty, true, `${html}: empty without the variable`);
    if (html.includes('>{{s}}') || html === '{{s}}')
      t.equal(check({ variables: { s: 'x' }, environment }).isEmpty, false, `${html}: not with it`);
  }
});

void t.test('what a conditional or a loop may leave out is not counted on', async (t) => {
  const inner = [{ id: 'b', type: 'rich-text', content: 'letters' }];
  const content = contentOf([
    { id: 'a', type: 'conditional', props: { condition: 's', operator: 'exists' }, children: inner },
  ]);
  t.notOk(alwaysShows(content));
  t.equal(render.compileEmail(content).check({ variables: {}, environment }).isEmpty, true);
  t.equal(render.compileEmail(content).check({ variables: { s: 'x' }, environment }).isEmpty, false);
});

// Lines without a value are left out alike in the HTML of a mail, its text part, a PDF and a workbook, and the check of
// paths passes over the same ones.

/** `a`, `b`, `c` and `none` are missing. */
const variables: JsonObject = {
  v: 'V',
  w: 'W',
  zero: 0,
  no: false,
  blank: ' \n ',
  list: [],
  some: ['one'],
  nothing: null,
  low: 'up',
  spaces: '   ',
  url: 'https://x.example',
  red: '#ff0000',
};
const lineVariables = [
  { name: 'instead', type: 'string', fallback: 'FB' },
  { name: 'low', type: 'string', filters: ['upper'] },
  { name: 'spaces', type: 'string', filters: ['trim'] },
];

/**
 * The text that is left: blocks between " / ", lines between "|", cells with a blank between them. Then the paths that
 * are empty in it.
 */
type Case = readonly [content: string, left: string, missed?: readonly string[]];

const cases: readonly Case[] = [
  // Paragraphs and what stands between breaks.
  ['<p>{{v}}<br>{{a}}<br>{{w}}</p>', 'V|W'],
  ['<p>{{a}}<br>{{v}}</p>', 'V'],
  ['<p>{{v}}<br>{{a}}</p>', 'V'],
  ['<p>{{a}}<br>{{b}}</p><p>{{v}}</p>', 'V'],
  ['<p>{{v}}</p><p>VAT {{a}}</p><p>{{w}}</p>', 'V / W'],
  ['<p>Only letters</p><p>{{a}}</p><p>{{v}}</p>', 'Only letters / V'],
  ['<p>Letters<br>{{a}}<br>{{v}}</p>', 'Letters|V'],
  ['<p>{{v}} {{a}}</p>', 'V', ['a']],
  ['<p>{{v}}</p><p>{{a}} {{b}}</p>', 'V'],
  ['<p>{{v}}</p><p>{{a}}, {{w}}</p>', 'V / , W', ['a']],
  ['{{v}}<br>{{a}}<br>{{w}}', 'V|W'],
  ['{{a}}<br>Letters<br>{{v}}', 'Letters|V'],
  ['{{v}}<BR/>{{a}}<br />{{w}}', 'V|W'],
  ['<p>{{v}}<br class="x">{{a}}<br title="a > b">{{w}}</p>', 'V|W'],
  // Values.
  ['<p>{{zero}}</p><p>{{no}}</p><p>{{blank}}</p><p>{{list}}</p><p>{{nothing}}</p>', '0 / false'],
  ['<p>{{v}}</p><p>{{some}}</p>', 'V / one'],
  ['<p>{{a}}</p><p>{{instead}}</p>', 'FB'],
  ['<p>{{a}} {{instead}}</p><p>{{v}}</p>', 'FB / V', ['a']],
  ['<p>{{low}}<br>{{spaces}}<br>{{v}}</p>', 'UP|V'],
  ['<p>{{some[0]}}</p><p>{{some[1]}}</p><p>{{v.x}}</p>', 'one'],
  // Breaks inside of other elements.
  ['<p><b>{{v}}<br>{{a}}<br>{{w}}</b></p>', 'V|W'],
  ['<p><span style="color:red">{{a}}<br><i>{{v}}<br>{{b}}</i></span><br>{{w}}</p>', 'V|W'],
  ['<p><b>{{v}}</b> x<br><i>{{a}}<br>{{w}}</i> y<br>{{b}}</p>', 'V x|W y'],
  ['<b>{{a}}<br>{{v}}</b>', 'V'],
  ['<p>{{v}} <span>{{a}}<br></span>{{w}}</p>', 'V|W', ['a']],
  ['<p>Dear <b>{{v}},<br></b>{{a}}</p>', 'Dear V,'],
  // Empty lines that the author wrote.
  ['<p>{{v}}<br><br>{{w}}</p>', 'V||W'],
  ['<p>{{a}}<br><br>{{w}}</p>', 'W'],
  ['<p>{{v}}<br><br>{{a}}</p>', 'V'],
  ['<p>{{v}}<br><br>{{a}}<br>{{w}}</p>', 'V||W'],
  ['<p>{{a}}<br></p><p>{{v}}</p>', 'V'],
  ['<p>{{v}}</p><p><br></p><p>{{w}}</p>', 'V / | / W'],
  ['<p>{{v}}</p><p>&nbsp;</p><p>{{a}}</p>', 'V / '],
  ['<p><br>{{a}}<br>{{v}}</p>', '|V'],
  // Blocks.
  ['<h1>{{v}}</h1><h2>{{a}}</h2><h3>{{w}}</h3>', 'V / W'],
  ['<div>{{v}}</div><div>{{a}}</div>', 'V'],
  ['<div><p>{{a}}</p></div><p>{{v}}</p>', 'V'],
  ['<div><p>{{a}}</p><p>{{v}}</p></div>', 'V'],
  ['<div>Hello {{a}}<p>{{v}}</p></div>', 'V'],
  ['<div>Hello {{v}}<p>{{a}}</p>{{b}}<br>{{w}}</div>', 'Hello V / W'],
  ['<blockquote><p>{{a}}</p><p>{{b}}</p></blockquote><p>{{v}}</p>', 'V'],
  ['<blockquote>{{v}}<br>{{a}}</blockquote>', 'V'],
  ['<address>{{v}}<br>{{a}}<br>{{w}}</address>', 'V|W'],
  ['<center>{{a}}</center><p>{{v}}</p>', 'V'],
  ['{{a}}<p>{{v}}</p>{{b}}<br>{{w}}', 'V / W'],
  ['<p>{{v}}<p>{{a}}<p>{{w}}', 'V / W'],
  ['<p style="color:{{red}}">{{a}}</p><p>{{v}}</p>', 'V'],
  ['<b><p>{{a}}</p><p>{{v}}</p></b>', 'V'],
  // Lists.
  ['<ul><li>{{v}}</li><li>{{a}}</li><li>{{w}}</li></ul>', 'V / W'],
  ['<ol><li>{{v}}</li><li>{{a}}</li><li>{{w}}</li></ol>', 'V / W'],
  ['<ul><li>{{a}}</li><li>{{b}}</li></ul><p>{{v}}</p>', 'V'],
  ['<ul>\n <li>{{a}}</li>\n</ul>\n<p>{{v}}</p>', 'V'],
  ['<ul><li>{{v}}<ul><li>{{a}}</li><li>{{w}}</li></ul></li><li>{{b}}</li></ul>', 'V / W'],
  ['<ul><li>Letters<ul><li>{{a}}</li></ul></li><li>{{v}}</li></ul>', 'Letters / V'],
  ['<ul><li>{{a}}<ul><li>{{b}}</li></ul></li><li>{{v}}</li></ul>', 'V'],
  ['<ul><li><p>{{a}}</p></li><li><p>{{v}}</p></li></ul>', 'V'],
  ['<ul><li>{{v}}<br>{{a}}</li><li>{{b}}<br>{{w}}</li></ul>', 'V / W'],
  ['<ul><li>{{a}}<li>{{v}}<li>{{b}}</ul>', 'V'],
  ['<dl><dt>Name</dt><dd>{{v}}</dd><dt>{{a}}</dt><dd>{{b}}</dd></dl>', 'Name / V'],
  ['<dl><dt>{{a}}</dt><dd>{{b}}</dd></dl><p>{{v}}</p>', 'V'],
  // Tables: a row is one line, whatever its cells hold.
  ['<table><tr><td>Name</td><td>{{v}}</td></tr><tr><td>VAT</td><td>{{a}}</td></tr></table>', 'Name V'],
  ['<table><tr><td>{{a}}</td><td>{{b}}</td></tr></table><p>{{v}}</p>', 'V'],
  ['<table><thead><tr><th>{{a}}</th></tr></thead><tbody><tr><td>{{v}}</td></tr></tbody></table>', 'V'],
  ['<table><tbody>\n<tr>\n<td>{{a}}</td>\n</tr>\n</tbody></table><p>{{v}}</p>', 'V'],
  ['<table><tr><td>{{v}}</td><td></td></tr><tr><td></td><td>{{a}}</td></tr></table>', 'V'],
  ['<table><tr><td><p>{{a}}</p></td><td>{{v}}</td></tr></table>', 'V', ['a']],
  // Links, pictures, and what is no text.
  ['<p><a href="{{url}}">{{a}}</a></p><p>{{v}}</p>', ' / V', ['a']],
  ['<p><a href="{{none}}">{{a}}</a></p><p>{{v}}</p>', 'V'],
  ['<p>{{v}}<br><a href="mailto:{{none}}">{{none}}</a></p>', 'V'],
  ['<p>{{v}}<br><a href="{{none}}">Open</a></p>', 'V'],
  ['<p>{{v}}<!-- {{w}}<br><p> --></p><p>{{a}}<!-- {{v}} --></p>', 'V'],
  ['<p title="<br>">{{v}}</p><p title="a<p>b">{{a}}</p>', 'V'],
  ['<p>1 < 2 {{a}}</p><p>3 > 2 {{v}}</p>', '3 > 2 V'],
  ['<p>{{v}}</p><style>p{color:red}</style><script>"<p>{{w}}"</script><p>{{a}}</p>', 'V'],
  ['<section><p>{{a}}</p><p>{{v}}</p></section>', 'V'],
  ['</p>{{v}}</b><p>{{a}}</p></div>', 'V'],
];

const GAPLESS = /(?:- |• |\d+\. )/y;
const words = (line: string): string => line.replace(/[\s\u00a0]+/g, ' ').trim();
const bare = (line: string): string => {
  let text = words(line);
  GAPLESS.lastIndex = 0;
  if (GAPLESS.test(text)) text = text.slice(GAPLESS.lastIndex);
  return text.replace(/^> /, '').replace(/ ?\(?https:\/\/x\.example\/?\)?/, '');
};

type Dom = ReturnType<typeof parseDocument>['children'][number];
const BLOCKS = new Set([
  'p',
  'div',
  'h1',
  'h2',
  'h3',
  'li',
  'dt',
  'dd',
  'blockquote',
  'address',
  'center',
  'tr',
  'ul',
  'ol',
  'dl',
  'table',
  'tbody',
  'thead',
]);

/**
 * The blocks of HTML with their lines; an element that holds nothing but blanks is an empty block, for it leaves a gap.
 */
const blocksIn = (html: string): readonly string[] => {
  const found: string[] = [];
  let text = '';
  const flush = (): void => {
    if (words(text.replaceAll('\u0001', '')) !== '') found.push(text.split('\u0001').map(words).join('|'));
    text = '';
  };
  const visit = (nodes: readonly Dom[], inRow: boolean): void => {
    for (const node of nodes) {
      if (node.type === 'text' && 'data' in node) text += node.data;
      if (!('attribs' in node) || node.name === 'script' || node.name === 'style') continue;
      if (node.name === 'br') text += '\u0001';
      if (node.name === 'td' || node.name === 'th') text += ' ';
      if (!BLOCKS.has(node.name) || inRow) {
        visit(node.children, inRow);
        continue;
      }
      flush();
      const before = found.length;
      visit(node.children, node.name === 'tr');
      const broken = text.includes('\u0001');
      flush();
      if (found.length === before && node.children.length > 0) found.push(broken ? '|' : '');
    }
  };
  visit(parseDocument(html).children, false);
  flush();
  return found;
};

const markOf = (at: number): string => `[${at + 1}]`;

/** The lines between one mark and the next, without those that hold nothing. */
const betweenMarks = (lines: readonly string[]): readonly (readonly string[])[] =>
  cases.map((_, at) => {
    const from = lines.indexOf(markOf(at));
    const to = lines.indexOf(markOf(at + 1));
    return lines.slice(from + 1, to < 0 ? undefined : to).filter((line) => line !== '');
  });

const rich = (id: string, content: string, hideWhenEmpty: boolean | 'lines' = false) => ({
  id,
  type: 'rich-text' as const,
  content,
  props: { hideWhenEmpty },
});
const components = cases.flatMap(([content], at) => [rich(`m${at}`, markOf(at)), rich(`c${at}`, content, 'lines')]);

void t.test('a table of texts', async (t) => {
  const more = { variables: lineVariables };
  const mail = renderTemplate(templateOf(components, more), variables);
  const text = betweenMarks(mail.text.split('\n').map((line) => bare(line.replace(/^[-=]+$/, ''))));
  const template = attachmentOf(components, more);
  const read = readPdf(
    await makePdf(
      expandTemplate(template, variables),
      new Map(),
      { title: '', author: '', createdAt: environment.at },
      limits,
    ),
  );
  const pdf = betweenMarks(read.sheets.flatMap(({ lines }) => lines.map(bare)));
  const [sheet] = readWorkbook(await bytesOf({ components, variables, definitions: lineVariables as never })).sheets;
  const rows = new Map<string, string[]>();
  for (const [address, cell] of sheet?.cells ?? []) {
    const row = /\d+/.exec(address)?.[0] ?? '';
    rows.set(row, [...(rows.get(row) ?? []), cell.text]);
  }
  const excel = betweenMarks([...rows.values()].flatMap((cells) => cells.join(' ').split('\n').map(bare)));
  for (const [at, [content, left, missed = []]] of cases.entries()) {
    const only = [rich('c', content, 'lines')];
    const html = renderTemplate(templateOf(only, more), variables).html;
    const cell = html.slice(html.indexOf('<div role="article"'));
    const inner =
      /font-family:[^"]*">([^]*?)\s*<\/td><\/tr>\s*<\/table>\s*<\/td><\/tr>\s*<\/table>\s*<\/div>/.exec(cell)?.[1] ??
      'not found';
    t.equal(blocksIn(inner).join(' / '), left, `mail: ${content}`);
    const [made] = componentsOf(expandTemplate(attachmentOf(only, more), variables));
    t.equal(blocksIn(made?.type === 'rich-text' ? made.html : '').join(' / '), left, `expanded: ${content}`);
    const lines = left
      .split(/ \/ |\|/)
      .map(words)
      .filter((line) => line !== '');
    t.same(text[at], lines, `text part: ${content}`);
    t.same(pdf[at], lines, `PDF: ${content}`);
    t.same(excel[at], lines, `workbook: ${content}`);
    const { content: checked } = checkEmailTemplate(templateOf(only, more), limits);
    const budget = openBudget(limits);
    const prepared = compilePreparation(checked.variables, { locale: 'en-US', timeZone: 'UTC' }, limits)(
      variables,
      environment,
      budget,
    );
    const find = compileLosses(partsOfEmail(checked), { definitions: checked.variables, locale: 'en-US', limits });
    t.same(pathsOfLosses(find(prepared, { budget })), missed, `missed: ${content}`);
  }
});

void t.test('numbers of items go on without those that are left out', async (t) => {
  const content = '<ol><li>{{a}}</li><li>{{v}}</li><li>Letters</li><li>{{b}}<br>{{w}}</li></ol>';
  const [made, list] = [
    renderTemplate(templateOf([rich('c', content, 'lines')]), variables),
    renderTemplate(
      templateOf([
        { id: 'l', type: 'list', content: content.slice(4, -5), props: { ordered: true, hideWhenEmpty: 'lines' } },
      ]),
      variables,
    ),
  ];
  for (const { text } of [made, list]) t.equal(text.trim(), '1. V\n2. Letters\n3. W');
  const paragraphs = renderTemplate(
    templateOf([rich('c', '<ul><li><p>One</p><p>Two</p></li><li>Three</li></ul>')]),
    {},
  );
  t.equal(paragraphs.text.trim(), '- One\n  Two\n- Three', 'an item has one mark, however many paragraphs stand in it');
  const nested =
    '<ol><li><p>{{a}}</p><p>{{v}}</p><ul><li>{{w}}</li><li>{{b}}</li></ul></li><li>{{b}}</li></ol><p>{{v}}</p><h4>H</h4><p>{{b}}</p>';
  const after = { id: 'x', type: 'rich-text', content: 'After' };
  t.equal(
    renderTemplate(templateOf([rich('c', nested, 'lines'), after]), variables).text.trim(),
    '1. V\n   - W\n\nV\n\nH\n\nAfter',
  );
});

void t.test('what is left out does not decide in which direction a text runs', async (t) => {
  const component = {
    ...rich('c', '<p>שלום {{a}}</p><p>Hello {{v}}</p>'),
    props: { hideWhenEmpty: 'lines', direction: 'auto' },
  };
  t.match(renderTemplate(templateOf([component]), variables).html, /<p style="margin:0">Hello/);
  t.notMatch(renderTemplate(templateOf([component]), variables).html, 'dir="rtl"');
  t.match(renderTemplate(templateOf([component]), { ...variables, a: 'A' }).html, 'dir="rtl"');
});

// Warnings name everything that the HTML of an author loses. Everything else is in the mail.

const fragment = (content: string): JsonObject => ({ id: 'f', type: 'html-fragment', content });
const richText = (content: string, id = 'r'): JsonObject => ({ id, type: 'rich-text', content });
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
    t.same(lossesOf(richText('<p>fine</p>'), { id: 'c', type: 'container', children: [fragment(html)] }), [
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
      richText('<font color="red">x</font>'),
      fragment(
        '<font color="red">x</font><font color="reddish">y</font><table><tr><td bgcolor="#zz" background="a.png">z</td></tr></table>',
      ),
      {
        id: 'k',
        type: 'conditional',
        props: { condition: 'x', operator: 'exists' },
        children: [],
        elseChildren: [richText('<marquee>x</marquee>', 'm')],
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
    richText(
      '<p style="line-height:1.2;color:red;text-align:center;background:#eee">a</p><font color="red">b</font><td background="a.png">c</td>',
    ),
    richText('<p style="font-weight:bold;color:nocolour">a</p><!--[if mso]>x<![endif]--><style>p{}</style>', 's'),
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
    const component = richText(`<p style="${property}:${value}">x</p>`);
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
    t.match(bodyOf(richText(`<p style="${kept}">x</p>`)), kept);
  for (const kept of [
    'background-image:linear-gradient(90deg, #fff, rgba(0,0,0,.5))',
    'width:calc(100% - 20px)',
    'mso-line-height-rule:exactly',
  ])
    t.match(bodyOf(richText(`<p style="${kept}">x</p>`)), kept);
  for (const never of [
    'width:expression(alert(1))',
    'background-image:url(javascript:x)',
    'color:red/*',
    'behavior:url(a.htc)',
    '-moz-binding:url(x)',
  ])
    t.notMatch(
      bodyOf(richText(`<p style="${never}">x</p>`)),
      never.slice(0, 12) === 'color:red/*' ? '/*' : /expression|javascript|\/\*|behavior|binding/,
    );
  t.end();
});
