/** An email that holds every component once, and a call for it: a parcel on its way. */
import type { JsonObject } from '../../src/domain/core/json.js';

export type ParcelVariables = {
  name: string;
  url: string;
  photo: string;
  note: string;
  total: number;
  code: string;
  items: { name: string; quantity: number; total: number }[];
  tips: { title: string; text: string }[];
  points: string[];
  steps: { title: string; text: string; at: string; status: string }[];
};

const rich = (id: string, content: string): JsonObject => ({ id, type: 'rich-text', content });

export const everyComponentTemplate: Readonly<{
  subject: string;
  variables: readonly JsonObject[];
  schema: JsonObject;
}> = {
  subject: 'Parcel {{code}} is on its way',
  variables: [
    { name: 'total', type: 'number', required: true, format: { style: 'currency', currency: 'USD' } },
    {
      name: 'items',
      type: 'array',
      required: true,
      schema: {
        type: 'array',
        itemSchema: {
          type: 'object',
          properties: { total: { type: 'number', format: { style: 'currency', currency: 'USD' } } },
        },
      },
    },
    {
      name: 'steps',
      type: 'array',
      required: true,
      schema: {
        type: 'array',
        itemSchema: { type: 'object', properties: { at: { type: 'date', format: { style: 'date' } } } },
      },
    },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          rich(
            'hello',
            '<h1>Hello {{name}}</h1><p>Your parcel <strong>{{code}}</strong> is on its way. <a href="{{url}}">Follow it</a>.</p>',
          ),
          {
            id: 'go',
            type: 'button',
            content: 'Follow {{code}}',
            props: { href: 'https://example.com/track?code={{code}}', align: 'center' },
          },
          {
            id: 'photo',
            type: 'image',
            props: { src: 'https://example.com/photos/{{photo}}', alt: 'Photo of {{name}}', width: 240 },
          },
          {
            id: 'items',
            type: 'table',
            props: {
              dataSource: '{{items}}',
              columns: [
                { header: 'Item', content: '<strong>{{item.name}}</strong>' },
                { header: 'Qty', content: '{{item.quantity}}', type: 'number' },
                { header: 'Total', content: '{{item.total}}', type: 'currency' },
              ],
            },
          },
          {
            id: 'box',
            type: 'container',
            props: { backgroundColor: '#eef2ff', border: '1px solid #c7d2fe', borderRadius: 8 },
            children: [rich('note', '{{note}}')],
          },
          {
            id: 'two',
            type: 'columns',
            props: { widths: ['60%', '40%'] },
            children: [rich('left', 'To {{name}}'), rich('right', 'Total {{total}}')],
          },
          { id: 'rule', type: 'divider' },
          { id: 'air', type: 'spacer', props: { height: 16 } },
          {
            id: 'if',
            type: 'conditional',
            props: { condition: 'total', operator: '>', value: 100 },
            children: [rich('yes', 'Insured up to {{total}}.')],
            elseChildren: [rich('no', 'Not insured.')],
          },
          {
            id: 'tips',
            type: 'loop',
            props: { dataSource: '{{tips}}', itemVariable: 'tip' },
            children: [rich('tip', '<h4>{{tip.title}}</h4><p>{{tip.text}}</p>')],
          },
          {
            id: 'points',
            type: 'list',
            content: '{{point}}',
            props: { dataSource: '{{points}}', itemVariable: 'point' },
          },
          { id: 'code', type: 'qr-code', props: { value: '{{url}}', align: 'center' } },
          {
            id: 'old',
            type: 'html-fragment',
            content:
              '<table width="100%" cellpadding="8"><tr><td bgcolor="#fef3c7">From {{name}}</td><td align="right">{{code}}</td></tr></table>',
          },
          {
            id: 'steps',
            type: 'timeline',
            props: {
              dataSource: '{{steps}}',
              title: '{{item.title}}',
              description: '{{item.text}}',
              date: '{{item.at}}',
              status: '{{item.status}}',
            },
          },
        ],
      },
    ],
  },
};

export const parcel: ParcelVariables = {
  name: 'Ada & Sons',
  url: 'https://example.com/t/8f3a?from=mail',
  photo: 'box-7.jpg',
  note: 'Please have <your> code ready.',
  total: 124.5,
  code: 'PX-8F3A',
  items: Array.from({ length: 10 }, (_, row) => ({
    name: ['Ceramic mug', 'Fish & chips <large>', 'Filter papers'][row % 3] ?? '',
    quantity: row + 1,
    total: (row + 1) * 12.35,
  })),
  tips: [
    { title: 'Be home', text: 'The driver rings once.' },
    { title: 'Or not', text: 'A neighbour will do, if you say which.' },
    { title: 'Keep the box', text: 'Returns are free.' },
  ],
  points: ['Weighs 3.2 kg', 'Two boxes', 'This side up'],
  steps: [
    { title: 'Ordered', text: 'We have your order.', at: '2026-11-19', status: 'completed' },
    { title: 'Packed', text: 'Two boxes.', at: '2026-11-20', status: 'completed' },
    { title: 'On its way', text: 'Left Lisbon at noon.', at: '2026-11-21', status: 'current' },
    { title: 'Delivered', text: '', at: '2026-11-23', status: 'pending' },
  ],
};
