/** Columns of numbers stand at the end of their lines in mails and documents, whoever says that they are numbers. */
import t from 'tap';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import { componentsOf } from '../../support/documents.js';
import { environment, renderTemplate, templateOf } from '../../support/rendering.js';

const variables = [
  {
    name: 'items',
    type: 'array' as const,
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string' },
          qty: { type: 'number' },
          price: { type: 'number', format: { style: 'currency', currency: 'EUR' } },
          share: { format: { style: 'percent' } },
          at: { type: 'date', format: { style: 'date' } },
          lines: { type: 'array', itemType: 'number' },
        },
      },
    },
  },
  { name: 'total', type: 'number' as const },
];
const values = { total: 3, items: [{ name: 'Mug', qty: 1, price: 2, share: 0.5, at: '2026-11-23', lines: [1] }] };

const tableOf = (columns: readonly JsonObject[], props: JsonObject) => ({
  id: 't',
  type: 'table' as const,
  props: { dataSource: 'items', columns, ...props },
});

/** The sides of the columns in a mail that runs from left to right, and in a document. */
const sidesOf = (columns: readonly JsonObject[], props: JsonObject = {}) => {
  const table = tableOf(
    columns.map((column) => ({ header: 'H', ...column })),
    props,
  );
  const { html } = renderTemplate(templateOf([table], { variables }), values);
  const head = [...html.matchAll(/<th[^>]*text-align:(left|right|center)/g)].map(([, side]) => side).join(' ');
  const pages = [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main' as const, components: [table] }] }];
  const document = compileDocument({ variables, schema: { outputFormats: ['pdf'], pages } }, defaultLimits);
  const [expanded] = componentsOf(document(values, environment, 'pdf'));
  const pdf =
    expanded?.type === 'table' ? expanded.columns.map(({ align, headerAlign }) => `${align} ${headerAlign}`) : [];
  return { head, pdf };
};

void t.test('a value that is declared as a number stands at the end', async (t) => {
  const shown = sidesOf(
    ['name', 'qty', 'price', 'share', 'at', 'lines', 'lines[0]', 'lines.length'].map((name) => ({
      content: `{{item.${name}}}`,
    })),
  );
  t.same(
    shown.pdf,
    ['start', 'end', 'end', 'end', 'start', 'start', 'end', 'start'].map((side) => `${side} ${side}`),
  );
  t.equal(shown.head, 'left right right right left left right left');
  const inLoop = sidesOf([{ content: '{{place}}' }, { content: '{{total}}' }, { content: '{{line.qty}}' }], {
    itemVariable: 'line',
    indexVariable: 'place',
  });
  t.same(inLoop.pdf, ['start start', 'end end', 'end end'], 'the number of a line is a label');
  t.equal(inLoop.head, 'left right right');
});

void t.test('what the column says goes before, and text around the value makes it text', async (t) => {
  const shown = sidesOf([
    { content: '{{item.qty}}', align: 'left' },
    { content: '{{item.qty}}', type: 'string' },
    { content: '{{item.name}}', type: 'number' },
    { content: '{{item.at}}', format: { style: 'number' } },
    { content: '{{item.qty}} pieces' },
    { content: '{{item.qty}}', headerAlign: 'center' },
  ]);
  t.same(shown.pdf, ['left left', 'start start', 'end end', 'end end', 'start start', 'end center']);
  t.equal(shown.head, 'left left right right left center');
});
