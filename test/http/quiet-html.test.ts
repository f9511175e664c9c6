/** HTML of a mail in which nothing acts or loads: scripts, links, addresses in every place, and the time that it takes. */
import t from 'tap';
import { quietHtml, quietPolicy } from '../../src/http/server/quiet-html.js';

const linkOf = (address: string): string => `/leave#${encodeURIComponent(address)}`;
const quiet = (html: string, pictures = false): string => quietHtml(html, { pictures, linkOf });

void t.test('what acts goes, the rest stays', (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['<p class=a title="x > y">a</p>', '<p class="a" title="x > y">a</p>'],
    ['<script>alert("</p>")</script ><b>x</b>', '<b>x</b>'],
    ['<img src=x onerror=alert(1) alt=dot>', '<img alt="dot">'],
    ['<img src="data:image/png;base64,AA==">', '<img src="data:image/png;base64,AA==">'],
    ['<IMG SRC=https://e.example/p.png>', '<img>'],
    ['<a href="https://e.example/?a=1&amp;b=2">x</a>', `<a href="${linkOf('https://e.example/?a=1&b=2')}">x</a>`],
    ['<a href=" jav&#x61;\nscript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href="#top" target=_top>x</a>', '<a>x</a>'],
    [
      '<svg><a xlink:href=https://e.example>x</a></svg>',
      `<svg><a xlink:href="${linkOf('https://e.example')}">x</a></svg>`,
    ],
    ['<meta http-equiv=refresh content="0;url=https://e.example"><base href=//e.example><link rel=stylesheet>', ''],
    ['<iframe src=https://e.example><p>inside</iframe>x', 'x'],
    ['<form action=https://e.example><input name=a></form>', '<input name="a">'],
    ['<p style="background:&#117;rl(https://e.example/a)">x', '<p style="background:none">x'],
    [
      '<p style="color:red;background:url(data:image/png;base64,AA)">',
      '<p style="color:red;background:url(data:image/png;base64,AA)">',
    ],
    ['<style>b{background:u\\72l(//e.example)}</style>', '<style>b{background:none}</style>'],
    ['<style>@import "//e.example/a.css";b{color:red}</style>', '<style>b{color:red}</style>'],
    ['<style>b{background:image-set("//e.example" 1x)}</style>', '<style></style>'],
    ['<td background="//e.example/a" bgcolor=red>', '<td bgcolor="red">'],
    ['<!-- a --><!--[if mso]><p>x</p><![endif]-->a < b', 'a &lt; b'],
    ['<!DOCTYPE html PUBLIC "x"><p>a', '<!doctype html><p>a'],
    ['<p onclick="x', ''],
    ['<p on"x=1 class=a>', '<p class="a">'],
    ['<textarea><img src=x></textarea>', '<textarea>&lt;img src=x></textarea>'],
    ['<svg><style><img src=x></style></svg>', '<svg><style>img src=x></style></svg>'],
    ['<style>@media (width < 600px){b{color:red}}</style>', '<style>@media (width < 600px){b{color:red}}</style>'],
  ];
  for (const [given, made] of cases) t.equal(quiet(given), made, given);
  t.end();
});

void t.test('pictures of other hosts stay where they are asked for', (t) => {
  t.equal(quiet('<img src="https://e.example/p.png">', true), '<img src="https://e.example/p.png">');
  t.equal(quiet('<img src="javascript:alert(1)"><script>1</script>', true), '<img>');
  t.match(quietPolicy(false), /^default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:;/);
  t.match(quietPolicy(true), /img-src data: https: http:;/);
  for (const pictures of [false, true])
    t.match(quietPolicy(pictures), /; sandbox allow-popups allow-popups-to-escape-sandbox$/);
  t.end();
});

void t.test('each character is read once, whatever stands there', (t) => {
  // A reading that begins anew at each of these would take hours: the test would not end.
  const times = 200_000;
  const hard = [
    ...['<a "', '<a \'"', '<', '<!--', '</style', '<a b= ', '<?', '<x/', '&#x', '<svg><style>'],
    ...['url(', 'url("', '@import', '\\75', '/*', 'image-set(', 'expression '].flatMap((css) => [
      `<style>${css.repeat(times)}{\\`,
      `<p style="${css.repeat(times)}">`,
    ]),
    `<p style="url(${' '.repeat(times)}x">`,
  ];
  for (const text of hard)
    t.ok(typeof quiet(text.length > times ? text : text.repeat(times)) === 'string', text.slice(0, 20));
  t.end();
});
