/**
 * Fields of a template that are null are fields that are left out; a default value and what is compared with may be
 * null.
 */
import t from 'tap';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { withoutNulls } from '../../src/domain/rendering/check/faults.js';

const definition = { id: 'v', name: 'total', type: 'object', defaultValue: null };
const nulls = { required: null, description: null, isCalculated: null, expression: null, itemType: null, format: null };
const conditional = {
  id: 'c',
  type: 'conditional',
  props: { condition: 'total', operator: '==', value: null },
  children: [],
};
const text = { id: 't', type: 'rich-text', content: '<p>x</p>' };

void t.test('null in fields of variables, sections and components is as good as nothing', async (t) => {
  const plain = {
    subject: 'Hi',
    variables: [{ ...definition, schema: { properties: { net: { type: 'number' } } } }],
    schema: { sections: [{ id: 'main', type: 'main', components: [text, conditional] }] },
  };
  const given = {
    subject: 'Hi',
    variables: [
      { ...definition, ...nulls, schema: { type: null, properties: { net: { type: 'number', format: null } } } },
    ],
    schema: {
      props: null,
      sections: [
        {
          id: 'main',
          type: 'main',
          props: null,
          components: [
            { ...text, props: { align: null, color: null }, children: null, elseChildren: null },
            { ...conditional, content: null, elseChildren: null },
          ],
        },
      ],
    },
  };
  const withProps = { ...plain.schema.sections[0]!, components: [{ ...text, props: {} }, conditional] };
  t.same(
    checkEmailTemplate(given, defaultLimits),
    checkEmailTemplate({ ...plain, schema: { sections: [withProps] } }, defaultLimits),
  );
});

void t.test('in the settings of a page too', async (t) => {
  const page = { pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components: [text] }] };
  const template = (pages: unknown) =>
    checkAttachmentTemplate({ variables: [], schema: { outputFormats: ['pdf'], pages } }, defaultLimits);
  const settings = {
    format: null,
    header: null,
    footer: { content: 'x', height: null, align: null },
    margin: { top: null },
  };
  t.same(
    template([{ ...page, pageSettings: settings }]),
    template([{ ...page, pageSettings: { footer: { content: 'x' }, margin: {} } }]),
  );
  t.throws(
    () => template([{ ...page, pageName: null }]),
    { code: 'TEMPLATE_INVALID' },
    'what is required is not optional',
  );
  t.throws(() => template([{ ...page, pageName: 'a\nb' }]), { code: 'TEMPLATE_INVALID' });
  t.doesNotThrow(() => template([{ ...page, pageName: '\u{1f600}'.repeat(200) }]));
  t.throws(() => template([{ ...page, pageName: '\u{1f600}'.repeat(201) }]), { code: 'TEMPLATE_INVALID' });
});

void t.test('what has no null is the very same, and elements of lists stay', async (t) => {
  const value = { a: [1, { b: 'x' }], defaultValue: { c: null } };
  t.equal(withoutNulls(value, 64), value);
  t.same(withoutNulls({ rows: [[null, 1]], a: null, b: [{ c: null }] }, 64), { rows: [[null, 1]], b: [{}] });
});
