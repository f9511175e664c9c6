/**
 * Calculated variables in a mail: wherever a value may stand, with the errors of their expressions, and for nothing
 * where there are none.
 */
import t from 'tap';
import { compile } from '../../../src/adapters/render/email/renderer.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { compileDocument } from '../../../src/domain/rendering/expand/expand.js';
import { documentInLanguage } from '../../../src/domain/rendering/languages.js';
import type { CallLanguage } from '../../../src/domain/rendering/translations.js';
import { componentsOf } from '../../support/documents.js';
import { company, environment, renderTemplate, templateOf } from '../../support/rendering.js';

const failure = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const rich = (id: string, content: string): JsonObject => ({ id, type: 'rich-text', content });
const calculated = (name: string, type: string, expression: string, more: JsonObject = {}): JsonObject => ({
  name,
  type,
  isCalculated: true,
  expression,
  ...more,
});

const order = templateOf(
  [
    {
      id: 'if',
      type: 'conditional',
      props: { condition: '{{isLarge}}', operator: '==', value: true },
      children: [rich('large', 'large')],
      elseChildren: [rich('small', 'small')],
    },
    {
      id: 'each',
      type: 'loop',
      props: { dataSource: '{{dear}}', itemVariable: 'one' },
      children: [rich('one', '{{one.name}}={{one.price}};')],
    },
    {
      id: 'table',
      type: 'table',
      props: {
        dataSource: 'lines',
        columns: [
          { header: 'Line', content: '{{item.text}}' },
          { header: 'Sum', content: '{{item.sum}}' },
        ],
      },
    },
    rich('sum', 'Total {{total}} of {{__CURRENT_YEAR__}}, due {{due}}'),
  ],
  {
    subject: '{{label}}: {{total}}',
    // Written before what they read: the order is found by what each reads.
    variables: [
      calculated('label', 'string', '`${lines.length} lines for ${customer ?? "you"} from ${__COMPANY_NAME__}`'),
      calculated('isLarge', 'boolean', 'total > 50'),
      calculated('total', 'number', 'items.reduce((sum, i) => sum + i.qty * i.price, 0)', {
        format: { style: 'currency', currency: 'EUR' },
      }),
      calculated('dear', 'array', 'items.filter(i => i.price >= 10)', { itemType: 'object' }),
      calculated('lines', 'array', 'items.map(i => ({ text: `${i.qty} x ${i.name}`, sum: i.qty * i.price }))', {
        schema: {
          type: 'array',
          itemSchema: {
            type: 'object',
            properties: { sum: { type: 'number', format: { style: 'number', minimumFractionDigits: 2 } } },
          },
        },
      }),
      calculated('due', 'date', 'new Date(Date.now() + 14 * 86400000).toISOString()', { format: { style: 'date' } }),
      { name: 'items', type: 'array', required: true },
      { name: 'customer', type: 'string' },
    ],
  },
);

void t.test('in conditions, loops, tables, formats and the subject', async (t) => {
  const variables = {
    items: [
      { name: 'Mug', qty: 2, price: 14 },
      { name: 'Tea', qty: 1, price: 4.5 },
      { name: 'Kettle', qty: 1, price: 64.5 },
    ],
  };
  const { subject, text } = renderTemplate(order, variables);
  t.equal(subject, '3 lines for you from Northwind Coffee: €97.00');
  const flat = text.replace(/\s+/g, ' ');
  t.match(flat, /^large Mug=14; Kettle=64.5; /);
  t.match(flat, /2 x Mug 28.00 1 x Tea 4.50 1 x Kettle 64.50/);
  t.match(flat, /Total €97.00 of 2026, due Dec 5, 2026/);
  t.match(renderTemplate(order, { items: [], customer: 'Ada' }), {
    subject: '0 lines for Ada from Northwind Coffee: €0.00',
    text: /^small/,
  });
  t.match(renderTemplate(order, variables, { subject: 'Changed {{total}}' }).subject, 'Changed €97.00');
});

void t.test('a value that the call gives for a calculated variable is not taken', async (t) => {
  t.match(renderTemplate(order, { items: [], total: 1_000_000, isLarge: 'not even a boolean' }), {
    subject: /: €0.00$/,
    text: /^small/,
  });
});

void t.test('errors name the variable, in the rendering and in the check alike', async (t) => {
  const { render } = compile(checkEmailTemplate(order, defaultLimits).content, {
    ...defaultLimits,
    expressionRunOperationsMax: 1_000,
  });
  const input = (variables: JsonObject) => ({ variables, environment: { ...environment, company } });
  for (const act of [render, render.check]) {
    t.match(
      failure(() => act(input({ items: Array.from({ length: 600 }, () => ({ name: 'x', qty: 1, price: 1 })) }))),
      {
        code: 'VALIDATION_ERROR',
        message:
          /^variables\.\w+ cannot be calculated: its expression takes more than 1,000 operations, which is the maximum/,
        details: { errors: [{ field: /^variables\.\w+$/ }], relatedInfo: { reason: 'TOO_MANY_OPERATIONS' } },
      },
    );
    t.match(
      failure(() => act(input({ items: 'none' }))),
      { code: 'VALIDATION_ERROR', message: 'variables.items must be an array, got text' },
    );
    t.match(
      failure(() => act(input({ items: [null] }))),
      { code: 'VALIDATION_ERROR', message: /^variables\.\w+ cannot be calculated: its expression reads/ },
    );
    t.match(
      failure(() => act(input({}))),
      { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'variables.items', message: 'is required' }] } },
    );
    t.match(
      failure(() => act(input({ items: [{ name: 'x', qty: 1, price: 'dear' }] }))),
      { code: 'VALIDATION_ERROR', details: { errors: [{ field: /^variables\./ }] } },
    );
  }
});

void t.test('the language of the mail in text, conditions and expressions', async (t) => {
  const components = [
    rich('text', '{{__LANGUAGE__}} {{__LOCALE__}} {{word}}'),
    {
      id: 'if',
      type: 'conditional',
      props: { condition: '__LANGUAGE__', operator: '==', value: 'de' },
      children: [rich('de', 'Deutsch')],
      elseChildren: [rich('other', 'Other')],
    },
  ];
  const variables = [calculated('word', 'string', "__LANGUAGE__ === 'de' ? 'Stück' : 'pieces'")];
  const template = templateOf(components, { subject: '{{__LOCALE__}}: {{word}}', variables });
  const shown = (language: CallLanguage | undefined): string => {
    const { subject, text } = renderTemplate(template, {}, language && { language });
    return `${subject} | ${text.replace(/\s+/g, ' ').trim()}`;
  };
  t.equal(shown(undefined), 'en-US: pieces | en en-US pieces Other');
  t.equal(shown({ locale: 'de-AT' }), 'de-AT: Stück | de de-AT Stück Deutsch');
  const { content } = checkAttachmentTemplate(
    {
      variables,
      schema: {
        outputFormats: ['pdf', 'excel'],
        pages: [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components }] }],
      },
    },
    defaultLimits,
  );
  const document = compileDocument(documentInLanguage(content, { locale: 'de-AT' }), defaultLimits);
  for (const format of ['pdf', 'excel'] as const)
    t.same(
      componentsOf(document({}, environment, format)).map((one) => one.type === 'rich-text' && one.html),
      ['de de-AT Stück', 'Deutsch'],
      format,
    );
});

void t.test('results have a type, a default and a size', async (t) => {
  const one = (definition: JsonObject) =>
    templateOf([rich('a', '[{{v}}]')], { variables: [definition, { name: 'x', type: 'string' }] });
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'number', '`text`')))),
    { code: 'VALIDATION_ERROR', message: /variables\.v must be a number, got text; the template calculates it/ },
  );
  t.equal(renderTemplate(one(calculated('v', 'string', 'x?.trim()', { defaultValue: 'nothing' }))).text, '[nothing]\n');
  t.equal(
    renderTemplate(one(calculated('v', 'string', 'x?.trim()', { defaultValue: 'nothing' })), { x: ' a ' }).text,
    '[a]\n',
  );
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'string', 'x.repeat(1000)')), { x: 'x'.repeat(100) })),
    {
      code: 'VALIDATION_ERROR',
      message:
        /variables\.v cannot be calculated: its expression makes a text of 100,000 characters, the maximum is 32,767/,
    },
  );
  t.match(
    failure(() => renderTemplate(one(calculated('v', 'number', '1 / 0')))),
    { code: 'VALIDATION_ERROR', message: /variables\.v cannot be calculated/ },
  );
});
