/**
 * Mails of other services become templates: each source of this folder with its notes, hostile sources, and the law that
 * each source either gives a template that a save accepts and that renders with its samples, or a clear refusal.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { openGenerator } from '../../../src/adapters/render/workers/generator.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import {
  convertTemplate,
  SOURCE_CHARS_MAX,
  type ImportedSource,
  type ImportedTemplate,
} from '../../../src/domain/rendering/import/convert.js';
import { matchesGolden } from '../../support/golden.js';
import { turnsBeside } from '../../support/loop-turns.js';
import { renderTemplate } from '../../support/rendering.js';
import { teamA } from '../../support/teams.js';

const folder = join(import.meta.dirname, '../../../../test/rendering/import');
const sources = readdirSync(join(folder, 'sources')).filter((name) => !name.endsWith('.json'));

const given = (name: string): ImportedSource => ({
  ...optionsOf(name),
  source: readFileSync(join(folder, 'sources', name), 'utf8'),
});
const optionsOf = (name: string): Partial<ImportedSource> => {
  const file = name.replace(/\.\w+$/, '.json');
  return readdirSync(join(folder, 'sources')).includes(file)
    ? (JSON.parse(readFileSync(join(folder, 'sources', file), 'utf8')) as Partial<ImportedSource>)
    : {};
};

/** The mail of a converted template; fails where a save would refuse it. */
const mailOf = ({ template, samples }: ImportedTemplate): string => {
  const { subject, variables, schema, locale } = template;
  const { content } = checkEmailTemplate({ subject, variables, schema, locale }, defaultLimits);
  return renderTemplate(content, samples).html;
};

const typesIn = (json: string): string => {
  const counts = new Map<string, number>();
  for (const [, type = ''] of json.matchAll(/"type":"([a-z-]+)"/g)) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts]
    .map(([type, count]) => `${type} ${count}`)
    .sort()
    .join(', ');
};

for (const name of sources)
  void t.test(name, async (t) => {
    const made = convertTemplate(given(name), defaultLimits);
    const html = mailOf(made);
    t.ok(html.length > 1_000);
    const lines = [
      `${made.language.name}: ${made.language.reason}`,
      `subject: ${made.template.subject}`,
      `samples: ${JSON.stringify(made.samples)}`,
      `components: ${typesIn(JSON.stringify(made.template.schema.sections))}`,
      ...made.notes.map(
        ({ done, in: where, line, column, what, advice }) => `${done} ${where} ${line}:${column} ${what} | ${advice}`,
      ),
    ];
    matchesGolden(t, `import/${name}.txt`, `${lines.join('\n')}\n`);
  });

void t.test('nothing of a hostile source becomes active', async (t) => {
  const made = convertTemplate(given('hostile.html'), defaultLimits);
  const html = mailOf(made);
  for (const active of [
    /<script/i,
    /\son\w+\s*=\s*["'a-z]/i,
    /href="\s*(?:javascript|vbscript|data)/i,
    /<iframe|<object|<form|<svg/i,
  ])
    t.notMatch(html.replace(/&lt;[^]*?&gt;/g, ''), active);
  t.notMatch(html, /expression\(|-moz-binding|behavior:/i);
  const told = made.notes.map(({ what }) => what).join('\n');
  for (const name of [
    '<script>',
    'onload',
    'onclick',
    'onerror',
    'javascript:',
    'data:text/html',
    'vbscript:',
    '{{{raw}}}',
    'expression',
    '<iframe>',
    '<base>',
    '<form>',
  ])
    t.match(told, name);
});

const heavy: Readonly<Record<string, string>> = {
  elements: `${'<div>a'.repeat(190)}${'b</div>'.repeat(190)}`,
  tables: `${'<table><tr><td>{{#if a}}<p>y</p>{{/if}}'.repeat(60)}x`,
  'too deep': '<b>'.repeat(400),
  'blocks in a line': `<p>${'{{#if a}}<b>x</b>{{/if}} '.repeat(900)}</p>`,
  'loops in a line': `<p>${'{{#each a}}<b>x</b>{{/each}} '.repeat(900)}</p>`,
  'loops in loops': `${'{{#each a}}<p>{{b}}</p>'.repeat(50)}${'{{/each}}'.repeat(50)}`,
  attribute: `<p title="${'a'.repeat(SOURCE_CHARS_MAX - 20)}">x</p>`,
  attributes: `<p ${'on=1 a '.repeat(60_000)}>x</p>`,
  entities: '&#x41;'.repeat(SOURCE_CHARS_MAX / 6 - 1),
  'opening signs': '<'.repeat(200_000),
  comments: '<!--'.repeat(SOURCE_CHARS_MAX / 4),
  braces: '{'.repeat(SOURCE_CHARS_MAX),
  rules: `<style>${'a b c d e f g h{color:red}'.repeat(3_000)}</style>${'<p>x</p>'.repeat(2_000)}`,
  declarations: `<p style="${'a:b;'.repeat(120_000)}">x</p>`,
  blanks: `<p style="padding:${' '.repeat(400_000)}1px;font:${'1'.repeat(90_000)}">x</p>`,
  path: `{{${'a.'.repeat(200_000)}a}}`,
  MJML: `<mjml><mj-head><mj-attributes>${'<mj-class name="a" color="red" align="left" />'.repeat(1_500)}</mj-attributes></mj-head><mj-body>${`<mj-section><mj-column mj-class="${'a '.repeat(60)}"><mj-text>a</mj-text></mj-column></mj-section>`.repeat(1_000)}</mj-body></mjml>`,
  'MJML too deep': `<mjml><mj-body>${'<mj-section><mj-column>'.repeat(20_000)}`,
  'MJML in itself': `<mjml><mj-body>${'<mj-section background-color="#eee"><mj-column><mj-group>'.repeat(60)}a`,
  rows: `<table>${'<tr><td>a</td><td>{{#if a}}<b>b</b>{{/if}}</td></tr>'.repeat(900)}</table>`,
};
/** Processor time; the same takes a tenth of it where no other program runs. */
const CPU_MS_MAX = 5_000;

/** Converts and renders a source, or answers the code of its refusal. */
const triedOut = (source: string): string => {
  try {
    mailOf(convertTemplate({ source }, defaultLimits));
    return 'converted';
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return fault.code;
  }
};
const OUTCOMES = new Set(['converted', 'TEMPLATE_INVALID', 'WORK_LIMIT_EXCEEDED', 'RENDERED_BODY_TOO_LARGE']);

for (const [name, source] of Object.entries(heavy))
  void t.test(`a source of ${name} takes a bounded time`, async (t) => {
    const before = process.cpuUsage();
    t.ok(OUTCOMES.has(triedOut(source)));
    const { user, system } = process.cpuUsage(before);
    t.ok((user + system) / 1_000 < CPU_MS_MAX, `${(user + system) / 1_000} ms`);
  });

void t.test('the service answers others while it converts a source', async (t) => {
  const generator = openGenerator({ limits: defaultLimits, clock: systemClock() });
  t.teardown(() => generator.close());
  const convert = (source: string) =>
    generator.convertTemplate({ teamId: teamA, source: { source } }, new AbortController().signal);
  await convert('<p>first</p>');
  const source = heavy['rules'] ?? '';
  const expected = convertTemplate({ source }, defaultLimits);
  const turns = await turnsBeside(async () => t.same(await convert(source), expected));
  t.ok(turns > 50, `${turns} turns`);
});

void t.test('each source is converted, or refused clearly', async (t) => {
  const piece = fc.constantFrom(
    ...[
      '<mjml>',
      '<mj-body>',
      '<mj-section>',
      '</mj-section>',
      '<mj-column>',
      '</mj-column>',
      '<mj-text>',
      '</mj-text>',
    ],
    ...['<mj-raw>', '</mj-raw>', '<mj-button href="{{u}}">', '<mj-social>', '<mj-image src="{{v}}" />', '<mj-group>'],
    ...[
      '<p>',
      '</p>',
      '<table>',
      '<tr>',
      '<td style="padding:8px">',
      '</td>',
      '</tr>',
      '</table>',
      '<b>',
      '</b>',
      '<ul><li>',
      '</ul>',
    ],
    ...[
      '{{a}}',
      '{{{b}}}',
      '{{#if a}}',
      '{{else}}',
      '{{/if}}',
      '{{#each list}}',
      '{{/each}}',
      '{{this}}',
      '{{name}}',
      '{{../a}}',
      '{{@index}}',
    ],
    ...[
      '{{#unless c.d}}',
      '{{/unless}}',
      '{{#equals a "1"}}',
      '{{/equals}}',
      '{{> p}}',
      '{{',
      '}}',
      '<!--',
      '-->',
      '<a href="{{url}}">',
      '</a>',
    ],
    ...[
      'text ',
      '&nbsp;',
      '<img src="https://example.com/a.png">',
      '<hr>',
      '<br>',
      '<div style="background:#eee;padding:9px">',
      '</div>',
    ],
  );
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 60 }), (pieces) => {
      const outcome = triedOut(pieces.join('') || ' ');
      seen.add(outcome);
      return OUTCOMES.has(outcome);
    }),
    { numRuns: 100 },
  );
  t.ok(seen.has('converted'));
  const closed = fc.array(
    fc.tuple(
      fc.constantFrom('if a', 'each list', 'unless b'),
      fc.constantFrom('{{a}}', '<td>{{name}}</td>', '<p>{{this}}</p>'),
    ),
  );
  fc.assert(
    fc.property(closed, (blocks) => {
      const body = blocks.map(([open, inner]) => `{{#${open}}}${inner}{{/${open.split(' ')[0] ?? ''}}}`).join('');
      return OUTCOMES.has(triedOut(`<table><tr>${body}</tr></table><p>${body}</p>`));
    }),
    { numRuns: 40 },
  );
});

void t.test('MJML is read with placeholders of either language, and answered filled with the samples', async (t) => {
  const convert = (body: string): ImportedTemplate =>
    convertTemplate({ source: `<mjml><mj-body>${body}</mj-body></mjml>` }, defaultLimits);
  const text = (inner: string): string => `<mj-section><mj-column><mj-text>${inner}</mj-text></mj-column></mj-section>`;
  const handlebars = convert(text('{{#if a}}yes{{/if}}'));
  t.match(handlebars.original, { html: null, mjml: /<mj-text>yes<\/mj-text>/ });
  const mustachio = convert(text('{{#a}}{{name}}{{/a}}'));
  t.match(mustachio.samples, { a: { name: 'Ada Lovelace' } });
  t.match(convertTemplate({ source: '<p>a</p>' }, defaultLimits).original, { html: '<p>a</p>', mjml: null });
});

void t.test(
  'defaults of MJML come from all elements, the tag, the classes and the element, the last one wins',
  async (t) => {
    const head =
      '<mj-head><mj-attributes><mj-all color="#000001" font-size="20px" line-height="2" /><mj-text font-size="21px" line-height="1.1" align="center" />' +
      '<mj-class name="one" align="right" line-height="1.2" /><mj-class name="two" line-height="1.3" /></mj-attributes></mj-head>';
    const body =
      '<mj-section><mj-column><mj-text mj-class="one two" line-height="1.4">a</mj-text></mj-column></mj-section>';
    const { template } = convertTemplate({ source: `<mjml>${head}<mj-body>${body}</mj-body></mjml>` }, defaultLimits);
    t.match(template.schema, {
      props: { color: '#000001', fontSize: 21, lineHeight: 1.4 },
      sections: [{ components: [{ type: 'rich-text', content: 'a', props: { align: 'right' } }] }],
    });
  },
);

void t.test('large sample values are refused, for the answer holds them again', async (t) => {
  const variables = { a: 'x'.repeat(500_000) };
  t.throws(() => convertTemplate({ source: '{{a}}', variables }, defaultLimits), { code: 'TEMPLATE_INVALID' });
});

void t.test('a picture without a server has one note at its place', async (t) => {
  const { notes } = convertTemplate({ source: '<p>a</p>\n  <img src="logo.png">' }, defaultLimits);
  t.match(notes, [{ done: 'dropped', line: 2, column: 3, what: /logo\.png/ }]);
  t.equal(notes.length, 1);
  const { template } = convertTemplate({ source: '<img src="//cdn.example.com/a.png">' }, defaultLimits);
  t.match(template.schema, { sections: [{ components: [{ props: { src: 'https://cdn.example.com/a.png' } }] }] });
});

void t.test('alignment by attribute moves a table and not its texts; styles of letters are inherited', async (t) => {
  const source =
    '<table width="100%"><tr><td align="center" style="font-weight:bold"><table width="400" bgcolor="#eeeeee"><tr><td>a</td></tr></table></td></tr></table>';
  const html = mailOf(convertTemplate({ source }, defaultLimits));
  t.notMatch(html, /align="center"[^>]*>[^<]*<span[^>]*>a/);
  t.match(html, /<span style="font-weight:bold">a<\/span>/);
});

void t.test('values of the request are the samples, and their types those of the variables', async (t) => {
  const variables: JsonObject = { name: 'Ada', count: 3, items: [{ price: 1.5 }] };
  const source = '<p>{{name}} {{count}}{{#each items}} {{price}}{{/each}}</p>';
  const { template, samples } = convertTemplate({ source, variables }, defaultLimits);
  t.match(samples, variables);
  t.match(
    template.variables.map(({ name, type }) => `${String(name)}: ${String(type)}`),
    ['name: string', 'count: number', 'items: array'],
  );
});
