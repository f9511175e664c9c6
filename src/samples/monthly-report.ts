/** The figures that a mail and its report are about, and the mail: the most important figures at a glance. */
import type { JsonObject } from '../domain/core/json.js';
import type { ValueFormat, VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { BRAND, emailInLanguages, footerWith, helpLine, logoHeader, logoVariable, rich } from './sample.js';

/** Whole euros. */
export const euros: ValueFormat = { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 };

const report = {
  title: 'Sales in October 2026',
  month: '2026-10-01',
  summary: 'Online sales grew for the sixth month in a row; sales in the shops held steady.',
};
const weeks = [
  { week: 'Week 40', online: 18_420, shops: 12_980, returns: 940 },
  { week: 'Week 41', online: 19_110, shops: 13_240, returns: 1_015 },
  { week: 'Week 42', online: 21_760, shops: 12_450, returns: 880 },
  { week: 'Week 43', online: 22_305, shops: 13_020, returns: 1_120 },
  { week: 'Week 44', online: 24_890, shops: 13_610, returns: 1_060 },
];
// The groups share what the weeks came to after returns.
const groups = [
  { name: 'Coffee', revenue: 63_400, before: 58_900 },
  { name: 'Brewing', revenue: 50_120, before: 51_300 },
  { name: 'Cups', revenue: 34_015, before: 29_870 },
  { name: 'Gifts', revenue: 19_235, before: 18_440 },
];

export const exampleReport: JsonObject = { report, weeks, groups };

const money: JsonObject = { type: 'number', required: true, format: euros };
const weekShape: JsonObject = { week: { type: 'string', required: true }, online: money, shops: money, returns: money };
const groupShape: JsonObject = { name: { type: 'string', required: true }, revenue: money, before: money };

/** The variables of the mail and of the document. */
export const reportVariables: readonly VariableDefinition[] = [
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
        properties: weekShape,
      },
    },
  },
  {
    name: 'groups',
    type: 'array',
    itemType: 'object',
    required: true,
    description: 'Revenue of the month and of the month before',
    defaultValue: groups,
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: {
        properties: groupShape,
      },
    },
  },
  {
    name: 'byWeek',
    type: 'array',
    itemType: 'object',
    schema: { type: 'array', itemType: 'object', itemSchema: { properties: { ...weekShape, net: money } } },
    isCalculated: true,
    expression: 'weeks.map((w) => ({ ...w, net: w.online + w.shops - w.returns }))',
  },
  {
    name: 'byGroup',
    type: 'array',
    itemType: 'object',
    schema: { type: 'array', itemType: 'object', itemSchema: { properties: { ...groupShape, change: { type: 'number' } } } },
    isCalculated: true,
    expression: 'groups.map((g) => ({ ...g, change: g.before === 0 ? null : g.revenue / g.before - 1 }))',
  },
  { name: 'online', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.online, 0)', format: euros },
  { name: 'shops', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.shops, 0)', format: euros },
  { name: 'returns', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.returns, 0)', format: euros },
  { name: 'revenue', type: 'number', isCalculated: true, expression: 'online + shops - returns', format: euros },
  {
    name: 'best',
    type: 'string',
    isCalculated: true,
    expression: 'byWeek.reduce((best, w) => (w.net > best.net ? { week: w.week, net: w.net } : best), { week: "", net: -1 }).week',
  },
];

const en = {
  subject: '{{report.title}}: {{revenue}}',
  preheader: 'The best week was {{best}}.',
  revenue: 'Revenue after returns',
  online: 'Online',
  shops: 'Shops',
  returns: 'Returns',
  group: 'Group',
  amount: 'Revenue',
  change: 'Change',
  attached:
    'The best week was <strong>{{best}}</strong>. The attached report, as a PDF and as a workbook, has the charts and the figures of every week.',
  help: 'Does something look wrong? Write to @.',
};

const de: typeof en = {
  subject: '{{report.title}}: {{revenue}}',
  preheader: 'Die beste Woche war {{best}}.',
  revenue: 'Umsatz nach Retouren',
  online: 'Online',
  shops: 'Läden',
  returns: 'Retouren',
  group: 'Gruppe',
  amount: 'Umsatz',
  change: 'Änderung',
  attached:
    'Die beste Woche war <strong>{{best}}</strong>. Diagramme und alle Wochen stehen im beigefügten Bericht, als PDF und als Arbeitsmappe.',
  help: 'Etwas stimmt nicht? Schreiben Sie an @.',
};

const figure = (id: string, label: string, value: string): ReturnType<typeof rich> =>
  rich(id, `<p><span style="font-size:13px;color:#6b7280">${label}</span><br><strong style="font-size:18px">${value}</strong></p>`);

export const monthlyReport = emailInLanguages(
  {
    slug: 'monthly-report',
    name: 'Monthly report',
    description: 'The figures of a month at a glance. Attach monthly-report: it takes the same variables.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: exampleReport,
  },
  { own: en, others: { de } },
  (text) => ({
    subject: text.subject,
    variables: [...reportVariables, logoVariable],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        logoHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', '<h1>{{report.title}}</h1><p>{{report.summary}}</p>', { hideWhenEmpty: 'lines' }),
            {
              id: 'total',
              type: 'container',
              props: { backgroundColor: BRAND.pale, borderRadius: 8, padding: '16px 20px' },
              children: [
                rich(
                  'revenue',
                  `<p style="font-size:14px">${text.revenue}</p><p style="font-size:34px;line-height:1.2"><strong>{{revenue}}</strong></p>`,
                ),
              ],
            },
            {
              id: 'figures',
              type: 'columns',
              props: { widths: ['33%', '34%', '33%'], gap: 12, stackOnMobile: false },
              children: [
                figure('online', text.online, '{{online}}'),
                figure('shops', text.shops, '{{shops}}'),
                figure('returns', text.returns, '{{returns}}'),
              ],
            },
            {
              id: 'groups',
              type: 'table',
              props: {
                dataSource: 'byGroup',
                itemVariable: 'group',
                headerColor: '#6b7280',
                cellPadding: '10px 12px 10px 0',
                columns: [
                  { header: text.group, content: '{{group.name}}' },
                  { header: text.amount, content: '{{group.revenue}}', align: 'end', width: 96, format: euros },
                  {
                    header: text.change,
                    content: '{{group.change}}',
                    align: 'end',
                    width: 80,
                    format: { style: 'percent', maximumFractionDigits: 1 },
                  },
                ],
              },
            },
            rich('attached', `<p>${text.attached}</p>`),
          ],
        },
        footerWith(helpLine(text.help)),
      ],
    },
  }),
);
