/** Parts of emails and documents that use everything: every component, every prop, every member of a variable. */
import type { Json, JsonObject } from '../../src/domain/core/json.js';

export const variables: readonly Json[] = [
  {
    id: 'v',
    name: 'name',
    type: 'string',
    required: true,
    description: 'Who',
    defaultValue: 'Ada',
    fallback: 'customer',
    filters: ['trim', { truncate: 40 }],
  },
  {
    name: 'seats',
    type: 'number',
    format: { style: 'number', minimumFractionDigits: 0, maximumFractionDigits: 2, locale: 'de-DE' },
  },
  {
    name: 'at',
    type: 'date',
    format: { style: 'datetime', dateStyle: 'long', timeStyle: 'short', timeZone: 'Europe/Berlin' },
  },
  {
    name: 'order',
    type: 'object',
    schema: { type: 'object', properties: { currency: { type: 'string', required: true, description: 'ISO 4217' } } },
  },
  {
    name: 'items',
    type: 'array',
    itemType: 'object',
    defaultValue: [],
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string', fallback: '-' },
          total: { type: 'number', format: { style: 'currency', currency: '{{order.currency}}' } },
          twice: { type: 'number', isCalculated: true, expression: 'item.total * 2' },
          tags: { type: 'array', itemType: 'string' },
        },
      },
    },
  },
  {
    name: 'sum',
    type: 'number',
    isCalculated: true,
    expression: 'items.reduce((sum, item) => sum + item.total, 0)',
    format: { style: 'currency', currency: 'EUR', pattern: '#,##0.00' },
  },
];

export const text = {
  align: 'start',
  direction: 'auto',
  color: '#123456',
  fontSize: 12,
  fontFamily: 'Arial, serif',
  lineHeight: 1.5,
  padding: '4px 8px',
  backgroundColor: 'white',
  keepLines: true,
};
export const flow = { pageBreak: 'before', keepTogether: true, keepWithNext: false };
export const column: JsonObject = {
  header: 'Item',
  content: '{{item.name}}',
  width: 120,
  align: 'left',
  headerAlign: 'center',
  format: { style: 'number' },
  type: 'number',
  footer: 'Total',
  groupHeader: '{{group.key}}',
  groupFooter: '{{group.sum.total}}',
  hideWhenEmpty: true,
};

/** Components that mails and PDFs both have. */
export const common: readonly JsonObject[] = [
  { id: 'text', type: 'rich-text', content: '<p>{{name}} {{at}}</p>', props: { ...text, hideWhenEmpty: 'lines' } },
  {
    id: 'picture',
    type: 'image',
    props: {
      src: 'https://example.com/a.png',
      alt: 'A',
      width: '50%',
      height: 40,
      align: 'end',
      href: 'https://example.com',
      borderRadius: 4,
      padding: 2,
      hideWhenEmpty: true,
    },
  },
  {
    id: 'items',
    type: 'table',
    props: {
      dataSource: 'items',
      groupBy: 'name',
      groupOrder: ['b', 'a'],
      itemVariable: 'item',
      indexVariable: 'at2',
      columns: [column],
      showHeader: true,
      striped: false,
      border: '1px solid red',
      headerBackgroundColor: 'red',
      headerColor: 'blue',
      color: 'black',
      fontSize: 10,
      padding: 1,
      cellPadding: '1 2',
      emptyText: 'none',
      sheetName: 'Items',
      freezeHeader: true,
      autoFilter: true,
      hideWhenEmpty: false,
    },
  },
  {
    id: 'written',
    type: 'table',
    props: {
      rows: [
        ['a', 1],
        [null, '{{sum}}'],
        [{ content: 'b' }, { content: 0.5, type: 'percent', format: { style: 'percent' } }],
      ],
      columns: [{}, { align: 'right' }],
    },
  },
  {
    id: 'if',
    type: 'conditional',
    props: { condition: '{{seats}}', operator: '>=', value: 10 },
    children: [
      {
        id: 'yes',
        type: 'divider',
        props: { color: 'red', thickness: 1, style: 'dashed', width: '60%', margin: '4 0' },
      },
    ],
    elseChildren: [{ id: 'no', type: 'spacer', props: { height: 4 } }],
  },
  { id: 'is', type: 'conditional', props: { condition: 'name', operator: 'exists' }, children: [] },
  {
    id: 'each',
    type: 'loop',
    props: { dataSource: 'items', itemVariable: 'one', indexVariable: 'nth', emptyText: 'none' },
    children: [{ id: 'one', type: 'rich-text', content: '{{one.name}}' }],
  },
  {
    id: 'box',
    type: 'container',
    props: {
      backgroundColor: 'white',
      color: 'black',
      padding: 8,
      border: true,
      borderRadius: 4,
      align: 'center',
      width: '100%',
      minHeight: 40,
      hideWhenEmpty: true,
    },
    children: [{ id: 'inside', type: 'spacer' }],
  },
  {
    id: 'both',
    type: 'columns',
    props: { widths: ['65%', 100], gap: 8, verticalAlign: 'middle', stackOnMobile: false },
    children: [
      { id: 'left', type: 'spacer' },
      { id: 'right', type: 'spacer' },
    ],
  },
  {
    id: 'list',
    type: 'list',
    content: '{{item.name}}',
    props: {
      ...text,
      direction: 'rtl',
      ordered: true,
      dataSource: 'items',
      itemVariable: 'item',
      indexVariable: 'nth2',
    },
  },
  {
    id: 'code',
    type: 'qr-code',
    props: {
      value: '{{name}}',
      size: 100,
      errorCorrection: 'Q',
      color: 'black',
      backgroundColor: 'white',
      align: 'center',
    },
  },
  { id: 'bars', type: 'qr-code', props: { kind: 'code128', value: 'A1', height: 40, showText: false, gs1: false } },
  {
    id: 'pay',
    type: 'qr-code',
    props: {
      kind: 'epc',
      name: 'Ada',
      iban: 'DE89370400440532013000',
      amount: '{{sum}}',
      text: 'Order',
      purpose: 'GDDS',
      bic: 'COBADEFFXXX',
    },
  },
  {
    id: 'steps',
    type: 'timeline',
    props: {
      dataSource: 'items',
      itemVariable: 'step',
      title: '{{step.name}}',
      description: 'a',
      date: 'b',
      status: 'current',
      color: 'red',
    },
  },
  {
    id: 'done',
    type: 'timeline',
    props: { items: [{ title: 'a', description: 'b', date: 'c', status: 'completed' }] },
  },
];
