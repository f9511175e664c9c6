/** Blocks in documents: the scope of a block, layouts around pages, tables that formulas name, and what is lost. */
import t from 'tap';
import { referencesIn, type FindBlock } from '../../src/domain/rendering/blocks.js';
import { checkBlock } from '../../src/domain/rendering/check/block.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { OutputFormat } from '../../src/domain/rendering/content.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { shownLinesOf } from '../../src/domain/rendering/expand/resources.js';
import { attachmentOf, expandTemplate } from '../support/documents.js';
import { renderTemplate, templateOf } from '../support/rendering.js';

const blockOf = (schema: object, variables: object[] = []) => ({
  version: 1,
  content: checkBlock({ locale: 'en', schema, variables }, defaultLimits).content,
});
const text = (id: string, content: string) => ({ id, type: 'rich-text', content });
const blocks: Readonly<Record<string, ReturnType<typeof blockOf>>> = {
  line: blockOf({ components: [text('t', '<p>{{item}} of {{who}}, {{sum}}</p>')] }, [
    { name: 'item', type: 'string' },
    { name: 'who', type: 'string', fallback: 'nobody' },
    { name: 'sum', type: 'number', defaultValue: 1, format: { style: 'number', minimumFractionDigits: 2 } },
  ]),
  sums: blockOf({
    components: [
      {
        id: 'rows',
        type: 'table',
        props: {
          rows: [
            ['Mug', '2'],
            ['Pot', '3'],
          ],
        },
      },
      { id: 'total', type: 'table', props: { rows: [['Total', '=SUM({rows.B})']] } },
    ],
  }),
  around: blockOf(
    {
      sections: [
        { id: 'top', type: 'header', components: [text('t', '<p>Top {{title}}</p>')] },
        { id: 'slot', type: 'slot' },
      ],
    },
    [{ name: 'title', type: 'string', defaultValue: 'none' }],
  ),
};
const find: FindBlock = ({ slug }) => blocks[slug];
const include = (block: string, variables: JsonObject = {}, id: string = block) => ({
  id,
  type: 'include',
  props: { block, variables },
});
const linesOf = (
  components: Json[],
  variables: JsonObject = {},
  format: OutputFormat = 'pdf',
  more: JsonObject = {},
): readonly string[] =>
  shownLinesOf(
    expandTemplate(attachmentOf(components, { schema: { outputFormats: [format], ...more } }), variables, {
      format,
      find,
    }),
  );

const each = {
  id: 'each',
  type: 'loop',
  props: { dataSource: '{{items}}', itemVariable: 'item', indexVariable: 'who' },
  children: [include('line', { item: '{{item.name}}', who: 'No {{who}}' })],
};
const items = [{ name: 'Mug' }, { name: 'Pot' }];

void t.test('a block shows the same in a mail, a PDF and a workbook', (t) => {
  const lines = ['Mug of No 0, 1.00', 'Pot of No 1, 1.00'];
  for (const format of ['pdf', 'excel'] as const) t.same(linesOf([each], { items }, format), lines, format);
  const mail = renderTemplate(templateOf([each]), { items }, { find }).text;
  t.same(mail.trim().split(/\n+/), lines);
  const plain = include('line', { item: '{{x}}', sum: 2.5 });
  t.same(linesOf([plain], { x: 'A', who: 'the template', item: 'the template' }), ['A of nobody, 2.50']);
  t.match(renderTemplate(templateOf([plain]), { x: 'A', who: 'the template' }, { find }).text, 'A of nobody, 2.50');
  t.end();
});

void t.test('two includes of one block have ids of their own, and formulas follow them', (t) => {
  const { pages } = expandTemplate(
    attachmentOf([include('sums', {}, 'a'), include('sums', {}, 'b')], { schema: { outputFormats: ['excel'] } }),
    {},
    { format: 'excel', find },
  );
  const made = JSON.stringify(pages);
  for (const id of ['a/rows', 'a/total', 'b/rows', 'b/total']) t.match(made, `"id":"${id}"`);
  for (const formula of ['{a/rows.B}', '{b/rows.B}']) t.ok(made.includes(formula), formula);
  t.end();
});

void t.test('a layout stands around the sections of each page', (t) => {
  const layout = { block: 'around', variables: { title: 'of {{x}}' } };
  const pages = ['one', 'two'].map((pageId) => ({
    pageId,
    pageName: pageId,
    sections: [{ id: `s-${pageId}`, type: 'main', components: [text(`t-${pageId}`, `<p>${pageId}</p>`)] }],
  }));
  t.same(linesOf([], { x: 'A' }, 'pdf', { layout, pages }), ['Top of A', 'one', 'Top of A', 'two']);
  t.end();
});

void t.test('values of the wrong type are refused with the name of the block', (t) => {
  for (const work of [
    () => linesOf([include('line', { sum: '{{x}}' })], { x: 'much' }),
    () => renderTemplate(templateOf([include('line', { sum: '{{x}}' })]), { x: 'much' }, { find }),
  ]) {
    const fault = ((): unknown => {
      try {
        return work();
      } catch (thrown) {
        return thrown;
      }
    })();
    t.ok(fault instanceof DomainError && fault.code === 'VALIDATION_ERROR');
    t.match(fault, { details: { errors: [{ field: 'block "line": variables.sum' }] } });
  }
  t.end();
});

void t.test('names that objects inherit are names like others', (t) => {
  const odd = blockOf({ components: [text('t', '({{constructor}}{{toString.name}}{{["First name"]}})')] }, [
    { name: 'constructor', type: 'string' },
    { name: 'toString', type: 'object' },
    { name: 'First name', type: 'string' },
  ]);
  const shown = (props: JsonObject) => ({ id: 'i', type: 'include', props: { block: 'odd', ...props } });
  const findOdd: FindBlock = () => odd;
  for (const [props, expected] of [
    [{}, '()'],
    [{ variables: { constructor: 'a', 'First name': 'b' } }, '(ab)'],
  ] as const) {
    t.equal(renderTemplate(templateOf([shown(props)]), {}, { find: findOdd }).text.trim(), expected);
    t.same(shownLinesOf(expandTemplate(attachmentOf([shown(props)]), {}, { find: findOdd })), [expected]);
  }
  t.end();
});

void t.test('an include without its block is no document', (t) => {
  t.throws(() => expandTemplate(attachmentOf([include('nobody')]), {}, { find }), { code: 'BLOCK_NOT_FOUND' });
  t.same(referencesIn({ layout: { block: 'a' }, sections: [{ components: [include('b'), include('b', {}, 'c')] }] }), [
    { slug: 'a', version: 'latest' },
    { slug: 'b', version: 'latest' },
  ]);
  for (const odd of [undefined, null, 5, 'x', [], {}, { sections: 5 }, { components: [null, { type: 'include' }] }])
    t.same(referencesIn(odd), []);
  t.end();
});
