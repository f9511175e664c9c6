/**
 * A template that holds every component with most of its props, and variables for it: for goldens and for looking at.
 */
import type { Json, JsonObject } from '../../src/domain/core/json.js';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Each component by itself, as one section each. */
export const everyComponent: Readonly<Record<string, Json>> = {
  'rich-text': {
    id: 'rt',
    type: 'rich-text',
    props: { padding: '8px 0 16px' },
    content:
      '<h1>Heading for {{name}}</h1><h2>Second</h2><h3>Third</h3><h4>Fourth</h4><p>Text with <strong>bold</strong>, <em>italic</em>, <code>code</code>, <u>underline</u>, ' +
      '<a href="{{url}}" title="{{name}}">a link</a> and <span style="color:{{brand}}">a colour of its own</span>. The rest of this sentence is only here to be long enough for a break.</p>' +
      '<ul><li>One</li><li>Two<ol><li>Two, one</li><li>Two, two</li></ol></li></ul><blockquote>Quoted {{name}}</blockquote><pre>  keep   this\n    shape</pre><hr><p>Last <img src="https://example.com/a.png" alt="a picture" width="20"></p>',
  },
  button: {
    id: 'b',
    type: 'button',
    content: 'Go to <b>{{name}}</b>',
    props: {
      href: 'https://example.com/?q={{name}}&from=mail',
      backgroundColor: '{{brand}}',
      borderRadius: 20,
      align: 'center',
      padding: '10px 30px',
    },
  },
  'button, plain': {
    id: 'b2',
    type: 'button',
    content: 'Full width',
    props: { href: 'mailto:{{email}}', fullWidth: true, backgroundColor: '#fde047', border: '1px solid #ca8a04' },
  },
  image: {
    id: 'i',
    type: 'image',
    props: {
      src: PIXEL,
      alt: 'Picture of {{name}}',
      width: 120,
      height: 40,
      align: 'center',
      href: '{{url}}',
      borderRadius: 4,
    },
  },
  'image, wide': {
    id: 'i2',
    type: 'image',
    props: { src: 'https://example.com/{{name}}.png', alt: '', width: '100%' },
  },
  table: {
    id: 't',
    type: 'table',
    props: {
      dataSource: '{{items}}',
      indexVariable: 'at',
      striped: true,
      border: '1px solid #d1d5db',
      headerBackgroundColor: '#111827',
      emptyText: 'Nothing here.',
      columns: [
        { header: '#', content: '{{at}}', width: '10%', type: 'number' },
        { header: 'Name', content: '<strong>{{item.name}}</strong>', footer: 'Sum' },
        {
          header: 'Price',
          content: '{{item.price}}',
          format: { style: 'currency', currency: 'EUR' },
          footer: '{{total}}',
        },
      ],
    },
  },
  'table, written': {
    id: 't2',
    type: 'table',
    props: {
      rows: [
        ['Name', '{{name}}'],
        ['Day', '{{day}}'],
        ['Long', 'A long text that makes this row wider than a line of the text part can be, so that it is labelled'],
      ],
      columns: [{ header: 'Field' }, { header: 'Value' }],
    },
  },
  container: {
    id: 'c',
    type: 'container',
    props: { backgroundColor: '#eef2ff', padding: 20, border: '1px solid #c7d2fe', borderRadius: 8, minHeight: 60 },
    children: [
      { id: 'c1', type: 'rich-text', content: '<p>In a container</p>' },
      {
        id: 'c2',
        type: 'container',
        props: { backgroundColor: '#1e3a8a', padding: '12px 16px' },
        children: [{ id: 'c3', type: 'rich-text', content: 'White on blue, <a href="https://example.com">link</a>' }],
      },
    ],
  },
  columns: {
    id: 'co',
    type: 'columns',
    props: { widths: ['60%', '40%'], gap: 20, verticalAlign: 'middle' },
    children: [
      { id: 'co1', type: 'rich-text', content: 'Left column with some more text in it than the right one' },
      { id: 'co2', type: 'rich-text', content: 'Right column' },
    ],
  },
  'columns, fixed': {
    id: 'cf',
    type: 'columns',
    props: { stackOnMobile: false },
    children: [
      { id: 'cf1', type: 'rich-text', content: 'One' },
      { id: 'cf2', type: 'rich-text', content: 'Two' },
      { id: 'cf3', type: 'rich-text', content: 'Three' },
    ],
  },
  divider: { id: 'd', type: 'divider', props: { color: '#9ca3af', thickness: 2, style: 'dashed', width: '50%' } },
  spacer: { id: 's', type: 'spacer', props: { height: 40 } },
  conditional: {
    id: 'if',
    type: 'conditional',
    props: { condition: '{{total}}', operator: '>', value: 10 },
    children: [{ id: 'if1', type: 'rich-text', content: 'More than ten' }],
    elseChildren: [{ id: 'if2', type: 'rich-text', content: 'Ten or less' }],
  },
  loop: {
    id: 'l',
    type: 'loop',
    props: { dataSource: 'items', itemVariable: 'item', indexVariable: 'at', emptyText: 'No items for {{name}}.' },
    children: [{ id: 'l1', type: 'rich-text', content: '<p>{{at}}: {{item.name}}</p>' }],
  },
  list: { id: 'li', type: 'list', content: '<ul><li>First for {{name}}</li><li>Second</li></ul>' },
  'list, ordered': {
    id: 'li2',
    type: 'list',
    content: '<strong>{{item.name}}</strong>: {{item.price}}',
    props: { ordered: true, dataSource: 'items' },
  },
  'qr-code': {
    id: 'qr',
    type: 'qr-code',
    props: {
      value: '{{url}}',
      size: 120,
      errorCorrection: 'Q',
      color: '#1e3a8a',
      backgroundColor: '#fefce8',
      align: 'center',
    },
  },
  'qr-code, literal': {
    id: 'qr2',
    type: 'qr-code',
    props: {
      value: 'https://example.com/a/rather/long/path?with=a&query=in%20it',
      size: '{{size}}',
      color: '{{brand}}',
    },
  },
  timeline: {
    id: 'tl',
    type: 'timeline',
    props: {
      dataSource: '{{steps}}',
      itemVariable: 'step',
      title: '{{step.title}}',
      description: '{{step.text}}',
      date: '{{step.at}}',
      status: '{{step.status}}',
      color: '{{brand}}',
    },
  },
  'timeline, written': {
    id: 'tl2',
    type: 'timeline',
    props: {
      items: [
        { title: 'Ordered by {{name}}', date: '{{day}}', status: 'done' },
        { title: 'Packed', description: 'In {{total}} & more', status: 'in-progress' },
        { title: 'Shipped', date: '', status: 'pending' },
        { title: 'Customs', status: 'Held back' },
        { title: 'End' },
      ],
    },
  },
  'html-fragment': {
    id: 'h',
    type: 'html-fragment',
    content:
      '<table width="100%" cellpadding="4"><tr><td bgcolor="#ffeeee">Cell {{name}}</td><td style="text-align:right;background:#e0f2fe">Other</td></tr></table><script>alert(1)</script>',
  },
};

export const sinkVariables: JsonObject = {
  name: 'Tom & "Ann" <Sons>',
  url: 'https://example.com/a?b=1&c=2',
  email: "o'neil+tag@example.com",
  brand: '#be185d',
  day: '2026-11-21',
  total: 37.5,
  size: 100,
  steps: [
    {
      title: 'Ordered <online>',
      text: 'A text that is long enough to be broken over more than one line in the text part of the mail, and then some.',
      at: '2026-11-20',
      status: 'Completed',
    },
    { title: 'Packed', at: '2026-11-21', status: 'current' },
    { title: 'On its way', status: 'Lost & found' },
    { title: 'Delivered', text: 'Soon', status: 'pending' },
    { title: 'Nothing more' },
  ],
  items: [
    { name: 'Tea <green>', price: 12.5 },
    { name: 'Café', price: 25 },
  ],
};

export const sinkDefinitions = [
  { name: 'total', type: 'number', format: { style: 'currency', currency: 'EUR' } },
  { name: 'day', type: 'date', format: { style: 'date', dateStyle: 'full' } },
];

/** One template with all of them. */
export const kitchenSink = (): Record<string, unknown> => ({
  subject: 'Everything for {{name}}',
  variables: sinkDefinitions,
  schema: {
    props: { preheader: 'Every component, {{name}}' },
    sections: [
      {
        id: 'header',
        type: 'header',
        components: [{ id: 'brand', type: 'rich-text', content: '<b>{{__COMPANY_NAME__}}</b>' }],
      },
      { id: 'main', type: 'main', components: Object.values(everyComponent) },
      {
        id: 'footer',
        type: 'footer',
        components: [{ id: 'date', type: 'rich-text', content: '{{__CURRENT_DATE__}}, {{__CURRENT_DAY_NAME__}}' }],
      },
    ],
  },
});
