/**
 * Lines without a value are left out alike in the HTML of a mail, its text part, a PDF and a workbook, and the check of
 * paths passes over the same ones.
 */
import t from 'tap';
import { parseDocument } from 'htmlparser2';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import { openBudget } from '../../../src/domain/rendering/budget.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits as limits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { compilePreparation } from '../../../src/domain/rendering/fill/compile.js';
import { compileLosses, pathsOfLosses } from '../../../src/domain/rendering/paths/losses.js';
import { partsOfEmail } from '../../../src/domain/rendering/paths/walk.js';
import { attachmentOf, componentsOf, expandTemplate } from '../../support/documents.js';
import { readPdf } from '../../support/read-pdf.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';
import { bytesOf, readWorkbook } from './excel/xlsx.js';

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
const definitions = [
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
  const more = { variables: definitions };
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
  const [sheet] = readWorkbook(await bytesOf({ components, variables, definitions: definitions as never })).sheets;
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
