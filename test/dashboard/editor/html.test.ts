/** Rich text of the editor: it is given back as it was, or edited as source. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import {
  attributeOf,
  type DocNode,
  documentOf,
  heldTags,
  htmlOf,
  marksByTag,
  withAttribute,
} from '../../../dashboard/src/templates/editor/forms/html.js';
import { sanitized, tagsOf } from '../../../src/adapters/render/rich-tree.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Rich texts of all samples, with those of their translations. */
const samples = globSync('samples/{emails,accounts,attachments}/*.json', { cwd: root }).flatMap((name) => {
  const texts: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, content, translations } = value as Record<string, unknown>;
    if ((type === 'rich-text' || type === 'list') && typeof content === 'string') texts.push(content);
    if (typeof translations === 'object' && translations !== null)
      for (const language of Object.values(translations))
        texts.push(...Object.values(language as Record<string, string>).filter((text) => text.includes('<')));
    Object.values(value).forEach(walk);
  };
  walk(JSON.parse(readFileSync(join(root, name), 'utf8')));
  return texts;
});

/** The text as the service keeps it, with white space as a browser shows it. */
const served = (html: string): string =>
  sanitized(html, 'block')
    .replaceAll(/[ \t\r\n\f]+/g, ' ')
    .replaceAll(/ ?(<\/?(?:p|h[1-6]|ul|ol|li|blockquote|div|br|hr|address|center)\b[^>]*>) ?/g, '$1')
    .trim();

void t.test('rich texts of all samples are held, and given back unchanged', (t) => {
  t.ok(samples.length > 150, `${samples.length} texts`);
  const source = samples.filter((html) => {
    const doc = documentOf(html);
    if (doc !== undefined) t.equal(served(htmlOf(doc)), served(html));
    return doc === undefined;
  });
  t.same(source, [], 'none of them needs its source');
  t.end();
});

const held: readonly string[] = [
  '',
  'one line',
  'Seats can be added at <b>any</b> time.',
  '<p></p>',
  '<p>a</p>\n  <p>b</p>\n',
  '<P CLASS=x>upper</P>',
  'bare<p>then a paragraph</p>bare again',
  '<h1 style="color:#ff0000">Hello {{name}}</h1>',
  '<p>{{ name }} and {{order["1st item"].name}}</p>',
  '<p>5 &lt; 6 &amp; 7 &gt; 6, &nbsp;&copy; &#8364; &#x20AC; &ouml;</p>',
  '<p>a<br>b<br/>c<br />d</p>',
  '<p><a href="https://example.com/?a=1&b={{x}}" title="x"><strong style="color:red"><em>deep</em></strong></a> end</p>',
  '<p><a href=\'https://example.com/"q"\'>q</a></p>',
  '<p><span style="font-size:13px;color:#6b7280">small</span><br><strong>{{total}}</strong></p>',
  '<ul><li>one</li><li>two<ul><li>three</li></ul></li></ul>',
  '<ol start="3" type="a" reversed><li><p>one</p></li><li><p>two</p><p>three</p></li></ol>',
  '<ul>\n  <li>one</li>\n  <li></li>\n</ul>',
  '<blockquote><p>said</p></blockquote><hr><p>x</p>',
  '<blockquote>said</blockquote>',
  '<div align="center">x</div><address>street</address><center>y</center>',
  '<p>x<sup>2</sup> and H<sub>2</sub>O, <code>code</code>, <mark>mark</mark>, <small>small</small>, <u>u</u>, <s>s</s></p>',
  '<p><img src="asset:0b" alt="Logo" width="40"> <wbr>text</p>',
  '<p dir="rtl" lang="ar">مرحبا {{name}}</p>',
  '<p>  leading   and trailing  </p>',
  '<p><abbr title="x">y</abbr> <q>z</q> <bdi>{{name}}</bdi></p>',
  '{{name}}',
  '<p>a</p>b',
  '<p hidden>x</p>',
];

const source: readonly string[] = [
  '<table><tr><td>x</td></tr></table>',
  '<p>a<p>b',
  '<p>a</b></p>',
  '<script>alert(1)</script>',
  '<p onclick="x" onclick="y">a</p>',
  '<!-- comment --><p>a</p>',
  '<p>5 < 6</p>',
  '<pre>a\n  b</pre>',
  '<p style="white-space:pre-line">a\nb</p>',
  '<b>one</b><b>two</b>',
  '<p><strong><a href="https://example.com">x</a></strong></p>',
  '<p><strong></strong>x</p>',
  '<span><span>x</span></span>',
  '<ul><li><ul><li>x</li></ul></li></ul>',
  '<ul>text<li>x</li></ul>',
  '<div><p>x</p></div>',
  '<p>&unknown;</p>',
  '<p>&copy 2026</p>',
  '<p>&#128;</p>',
  '<p/>',
  '<a href="x"><p>y</p></a>',
  '<a href="{{shop["page"]}}">x</a>',
  '<dl><dt>a</dt><dd>b</dd></dl>',
  '<font color="red">x</font>',
  '<o:p>x</o:p>',
  `${'<blockquote>'.repeat(60)}x${'</blockquote>'.repeat(60)}`,
];

void t.test('a corpus: held or edited as source', (t) => {
  for (const html of held) {
    const doc = documentOf(html);
    t.ok(doc !== undefined, `held: ${html}`);
    if (doc === undefined) continue;
    const again = htmlOf(doc);
    t.equal(served(again), served(html), html);
    t.same(documentOf(again), doc, `the same document: ${again}`);
  }
  // A browser shows one blank here.
  t.equal(htmlOf(documentOf('<p><b>bold </b><i> italic</i></p>')!), '<p><b>bold </b><i>italic</i></p>');
  for (const html of source) t.equal(documentOf(html), undefined, `source: ${html}`);
  t.end();
});

/** Random texts of held and other pieces; the numbers are those of Park and Miller. */
const random = (seed: number): ((below: number) => number) => {
  let state = seed;
  return (below) => (state = (state * 48_271) % 2_147_483_647) % below;
};
const pieces = [
  ...['<p>', '</p>', '<strong>', '</strong>', '<a href="{{url}}">', '</a>', '<ul>', '</ul>', '<li>', '</li>', '<br>'],
  ...['text', ' ', '\n', '{{name}}', '&amp;', '&nbsp;', '<h2>', '</h2>', '<em>', '</em>', '<span style="color:red">'],
  ...['</span>', '<hr>', '<table>', '<', '>', '&', '{{', '}}', '"', '<blockquote>', '</blockquote>', '<p></p>'],
];

void t.test('20,000 random texts: what is held is given back as the service reads it', (t) => {
  const below = random(7);
  let count = 0;
  for (let at = 0; at < 20_000; at += 1) {
    const html = Array.from({ length: 1 + below(9) }, () => pieces[below(pieces.length)]!).join('');
    const doc = documentOf(html);
    if (doc === undefined) continue;
    count += 1;
    const again = htmlOf(doc);
    if (served(again) !== served(html)) t.equal(served(again), served(html), JSON.stringify(html));
  }
  t.ok(count > 1_500, `${count} were held`);
  t.end();
});

void t.test('the editor holds no element that the service does not keep', (t) => {
  t.same(
    heldTags.filter((tag) => !tagsOf.block.includes(tag)),
    [],
  );
  t.end();
});

void t.test('lines that somebody adds in the editor do not run into each other', (t) => {
  const line = (text: string, tag: string | null): DocNode => ({
    type: 'paragraph',
    attrs: { tag, attributes: [] },
    content: [{ type: 'text', text }],
  });
  t.equal(htmlOf({ type: 'doc', content: [line('a', ''), line('b', '')] }), '<p>a</p><p>b</p>');
  t.equal(htmlOf({ type: 'doc', content: [line('a', null), line('b', '')] }), '<p>a</p>b');
  const list = (...content: readonly DocNode[]): DocNode => ({
    type: 'doc',
    content: [{ type: 'bulletList', content: [{ type: 'listItem', content }] }],
  });
  t.equal(htmlOf(list(line('a', null))), '<ul><li>a</li></ul>');
  t.equal(htmlOf(list(line('a', null), line('b', null))), '<ul><li><p>a</p><p>b</p></li></ul>');
  t.equal(htmlOf({ type: 'doc', content: [line('<b> & {{x}}', null)] }), '<p>&lt;b&gt; &amp; {{x}}</p>');
  t.end();
});

void t.test('an address of a link', (t) => {
  const written = withAttribute([['title', 'x']], 'href', 'https://example.com/?a=1&b="2"');
  t.same(written, [
    ['title', 'x'],
    ['href', 'https://example.com/?a=1&amp;b=&quot;2&quot;'],
  ]);
  t.equal(attributeOf(written, 'href'), 'https://example.com/?a=1&b="2"');
  t.equal(attributeOf(withAttribute(written, 'href', '{{url}}'), 'href'), '{{url}}');
  t.end();
});

void t.test('the schema of the editor takes every document and keeps it', async (t) => {
  const { getSchema } = await import('@tiptap/core');
  const { richExtensions } = await import('../../../dashboard/src/templates/editor/forms/rich-schema.js');
  const schema = getSchema([...richExtensions]);
  for (const html of [...new Set([...samples, ...held])]) {
    const node = schema.nodeFromJSON(documentOf(html)!);
    t.doesNotThrow(() => node.check(), html);
    t.equal(htmlOf(node.toJSON() as DocNode), htmlOf(documentOf(html)!), html);
  }
  t.same(
    Object.keys(schema.marks),
    [...new Set(Object.values(marksByTag))],
    'marks stand in the order in which html.ts writes them',
  );
});
