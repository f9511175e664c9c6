/** The text part that is made from HTML of a caller. */
import t from 'tap';
import { textOfHtml } from '../../../src/adapters/render/email/inline.js';

const cases: Readonly<Record<string, readonly [html: string, text: string]>> = {
  'paragraphs and blanks': [
    '<p>One  <b>bold</b>\n word</p><p>Two</p>three<br>four',
    'One bold word\n\nTwo\n\nthree\nfour\n',
  ],
  'a break after a break': ['a<br><br>b', 'a\n\nb\n'],
  references: ['1 &lt; 2 &amp;&nbsp;3 &#8364; &notit;', '1 < 2 & 3 € ¬it;\n'],
  'a link with its address': [
    'See <a href="https://a.example/x?a=1&amp;b=2">this</a>.',
    'See this (https://a.example/x?a=1&b=2).\n',
  ],
  'a link that says its address': ['<a href="https://a.example">https://a.example/</a>', 'https://a.example/\n'],
  'a link around blocks': ['<a href="https://a.example/"><p>Words</p></a>', 'Words\n\n(https://a.example/)\n'],
  'a script as address': ['<a href="javascript:x()">Words</a>', 'Words\n'],
  lists: ['<ul><li>a<ul><li>b</ul><li>c</ul><ol start="3"><li>d<li>e</ol>', '- a\n  - b\n- c\n\n3. d\n4. e\n'],
  quotations: ['<blockquote><p>a</p>b</blockquote>c', '> a\n\n> b\n\nc\n'],
  headings: ['<h1>Title</h1>text<h2>Part</h2>', 'Title\n=====\n\ntext\n\nPart\n----\n'],
  tables: ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>d', 'a  b\nc\n\nd\n'],
  'lines of code': ['<pre>if\n  x</pre>', 'if\n  x\n'],
  'what nobody sees': [
    '<head><title>t</title></head><style>a{}</style><script>x</script><div style="display:none">p<div>q</div></div><p hidden>r</p>shown<!-- c -->',
    'shown\n',
  ],
  'a head that never ends': ['<head><title>t</title><body>shown', 'shown\n'],
  pictures: ['<img alt="Logo"><img src=x>', 'Logo\n'],
  'no tag at all': ['a < b', 'a < b\n'],
  nothing: ['', '\n'],
};

void t.test('each element has its form', async (t) => {
  for (const [name, [html, text]] of Object.entries(cases)) t.equal(textOfHtml(html), text, name);
});

void t.test('lines are wrapped, and a long word stays whole', async (t) => {
  const text = textOfHtml(`<p>${'word '.repeat(40)}</p><p>${'x'.repeat(200)}</p>`);
  t.ok(text.split('\n').every((line) => line.length <= 78 || line === 'x'.repeat(200)));
});

/** Readers that keep the open elements in a tree take minutes for some of these. */
void t.test('a megabyte of hostile HTML is read to its end', async (t) => {
  const size = 1024 * 1024;
  for (const piece of [
    '<div>',
    '<blockquote>',
    '<ul><li>',
    '<a href="http://x/">',
    '<a "',
    '<!--',
    '<',
    '&amp;',
    '<table><tr><td>',
    '<b hidden>',
  ])
    t.type(textOfHtml(piece.repeat(Math.ceil(size / piece.length))), 'string', piece);
});
