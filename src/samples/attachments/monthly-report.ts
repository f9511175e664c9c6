/** A monthly report: figures in words, in charts and in tables, as PDF and as Excel. */
import type { ValueFormat } from '../../domain/template/schema.js';
import { imprint, type SampleAttachment } from './sample.js';

const euros: ValueFormat = { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 };

const report = {
  title: 'Sales in October 2026',
  month: '2026-10-01',
  summary: 'Online sales grew for the sixth month in a row; the shops stayed where they were.',
};
const weeks = [
  { week: 'Week 40', online: 18_420, shops: 12_980, returns: 940 },
  { week: 'Week 41', online: 19_110, shops: 13_240, returns: 1_015 },
  { week: 'Week 42', online: 21_760, shops: 12_450, returns: 880 },
  { week: 'Week 43', online: 22_305, shops: 13_020, returns: 1_120 },
  { week: 'Week 44', online: 24_890, shops: 13_610, returns: 1_060 },
];
const shares = [
  { name: 'Coffee', revenue: 61_200 },
  { name: 'Brewing', revenue: 48_900 },
  { name: 'Cups', revenue: 33_450 },
  { name: 'Gifts', revenue: 18_235 },
];

export const monthlyReportSample: SampleAttachment = {
  slug: 'monthly-report',
  name: 'Monthly report',
  description: 'Revenue by week and by group, with charts; as PDF and as Excel with native charts.',
  locale: 'en-GB',
  timeZone: 'Europe/Lisbon',
  variables: [
    {
      name: 'report',
      type: 'object',
      required: true,
      defaultValue: report,
      schema: {
        type: 'object',
        properties: {
          title: { type: 'string', required: true },
          month: { type: 'date', required: true, format: { style: 'date', pattern: 'MMMM yyyy' } },
          summary: { type: 'string' },
        },
      },
    },
    {
      name: 'weeks',
      type: 'array',
      itemType: 'object',
      required: true,
      defaultValue: weeks,
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: {
          properties: {
            week: { type: 'string', required: true },
            online: { type: 'number', required: true },
            shops: { type: 'number', required: true },
            returns: { type: 'number', required: true },
          },
        },
      },
    },
    {
      name: 'shares',
      type: 'array',
      itemType: 'object',
      required: true,
      defaultValue: shares,
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: { properties: { name: { type: 'string', required: true }, revenue: { type: 'number', required: true } } },
      },
    },
    {
      name: 'revenue',
      type: 'number',
      isCalculated: true,
      expression: 'weeks.reduce((sum, w) => sum + w.online + w.shops - w.returns, 0)',
      format: euros,
    },
    {
      name: 'best',
      type: 'string',
      isCalculated: true,
      expression:
        'weeks.reduce((best, w) => (w.online + w.shops > best.sales ? { name: w.week, sales: w.online + w.shops } : best), { name: "none", sales: 0 }).name',
    },
  ],
  schema: {
    outputFormats: ['pdf', 'excel'],
    pages: [
      {
        pageId: 'weeks',
        pageName: 'By week',
        pageSettings: { format: 'A4', margin: { top: '20mm', right: '18mm', bottom: '22mm', left: '18mm' }, footer: imprint },
        sections: [
          {
            id: 'weeks-main',
            type: 'main',
            components: [
              {
                id: 'title',
                type: 'rich-text',
                content:
                  '<h1>{{report.title}}</h1><p>{{report.summary}}</p><p>Revenue after returns: <strong>{{revenue}}</strong>. The best week was {{best}}.</p>',
              },
              {
                id: 'by-week',
                type: 'chart',
                props: {
                  chartType: 'column',
                  dataSource: 'weeks',
                  categoryField: 'week',
                  series: [
                    { name: 'Online', valueField: 'online', color: '#0f766e' },
                    { name: 'Shops', valueField: 'shops', color: '#b45309' },
                  ],
                  title: 'Revenue by week',
                  yTitle: 'EUR',
                  showLegend: true,
                  height: 220,
                },
              },
              {
                id: 'table-weeks',
                type: 'table',
                props: {
                  dataSource: 'weeks',
                  itemVariable: 'w',
                  striped: true,
                  headerBackgroundColor: '#e5efed',
                  columns: [
                    { header: 'Week', content: '{{w.week}}', width: '34%' },
                    { header: 'Online', content: '{{w.online}}', width: '22%', align: 'right', format: euros },
                    { header: 'Shops', content: '{{w.shops}}', width: '22%', align: 'right', format: euros },
                    { header: 'Returns', content: '{{w.returns}}', width: '22%', align: 'right', format: euros },
                  ],
                },
              },
            ],
          },
        ],
      },
      {
        pageId: 'groups',
        pageName: 'By group',
        pageSettings: { format: 'A4', margin: { top: '20mm', right: '18mm', bottom: '22mm', left: '18mm' }, footer: imprint },
        sections: [
          {
            id: 'groups-main',
            type: 'main',
            components: [
              { id: 'groups-title', type: 'rich-text', content: '<h2>What was sold in {{report.month}}</h2>' },
              {
                id: 'by-group',
                type: 'chart',
                props: {
                  chartType: 'doughnut',
                  dataSource: 'shares',
                  categoryField: 'name',
                  series: [{ name: 'Revenue', valueField: 'revenue' }],
                  title: 'Revenue by group',
                  showLegend: true,
                  height: 220,
                },
              },
              {
                id: 'table-groups',
                type: 'table',
                props: {
                  dataSource: 'shares',
                  itemVariable: 'group',
                  headerBackgroundColor: '#e5efed',
                  columns: [
                    { header: 'Group', content: '{{group.name}}', width: '60%' },
                    { header: 'Revenue', content: '{{group.revenue}}', width: '40%', align: 'right', format: euros },
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
  },
  exampleVariables: { report, weeks, shares },
};
