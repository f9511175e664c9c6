/** What authors write out of habit is refused with what would be right in its place. */
import t from 'tap';
import { DomainError } from '../../../src/domain/errors.js';
import { defaultLimits } from '../../../src/domain/limits.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/attachment.js';
import { attachmentOf } from '../../support/documents.js';

const faultsOf = (template: unknown): readonly string[] => {
  try {
    checkAttachmentTemplate(template, defaultLimits);
    return [];
  } catch (error) {
    if (error instanceof DomainError)
      return (error.details.errors ?? []).map(({ field, message }) => `${field.split('.').at(-1)}: ${message}`);
    throw error;
  }
};

const page = (pageSettings: unknown): unknown =>
  attachmentOf([], {
    schema: { pages: [{ pageId: 'p', pageName: 'P', pageSettings, sections: [{ id: 's', type: 'main', components: [] }] }] },
  });
const variable = (definition: object): unknown => attachmentOf([], { variables: [{ name: 'it', type: 'array', ...definition }] });
const items = {
  name: 'items',
  type: 'array',
  schema: { itemSchema: { properties: { month: { type: 'string' }, total: { type: 'number' } } } },
};
const chart = (field: string): unknown =>
  attachmentOf(
    [{ id: 'c', type: 'chart', props: { chartType: 'bar', dataSource: 'items', categoryField: field, series: [{ valueField: 'total' }] } }],
    { variables: [items] },
  );

void t.test('a refusal says what would be right', (t) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [page({ margin: '20mm' }), /^margin: must be an object, with top, right, bottom, left$/],
    [page({ watermark: 'Draft' }), /^watermark: must be an object, with text, color$/],
    [page({ header: { content: '', size: 1 } }), /^size: .*known are content, height, align$/],
    [page({ sheet: { freeze: true } }), /^freeze: .*known are hidden, fitToWidth, gridLines, printArea$/],
    [page({ backgroundImage: { src: 'https://example.com/a.png', size: 1 } }), /^size: .*known are src, fit, sheets$/],
    [page({ firstPageHeader: false }), /"content": "" is an empty one$/],
    [variable({ type: 'currency' }), /^type: .*an amount is a number with a format of style currency$/],
    [variable({ type: 'integer' }), /^type: .*use number$/],
    [variable({ format: 'currency' }), /^format: must be an object such as \{"style": "currency"/],
    [variable({ properties: {} }), /^properties: is not known here: write it into schema; known are /],
    [variable({ schema: { items: {} } }), /^items: is not known here: what items consist of is itemSchema; known are /],
    [variable({ default: [] }), /^default: is not known here: use defaultValue; known are /],
    [attachmentOf([{ type: 'spacer' }]), /^id: is required: it must be text of 1 to 100 characters$/],
    [
      attachmentOf([{ id: 'c', type: 'heading' }]),
      /^type: "heading" is not a component: use rich-text, .*; components of a pdf document are /,
    ],
    [chart('item.month'), /^categoryField: "item.month": a field begins at the item itself; write "month"$/],
    [chart('mnoth'), /^categoryField: "mnoth": the schema of an item declares no member "mnoth"; did you mean "month"\?/],
  ];
  for (const [template, message] of cases) t.match(faultsOf(template), [message], String(message));
  t.same(faultsOf(chart('month')), []);
  t.end();
});
