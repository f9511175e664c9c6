/** Mails that show nothing are recognized by the template alone if possible, otherwise by the HTML. */
import t from 'tap';
import { alwaysShows, showsAnything, openRenderer } from '../../../src/adapters/render/email/renderer.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { environment, templateOf } from '../../support/rendering.js';

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
