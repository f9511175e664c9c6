/** A monthly report: figures in words, in charts and in tables, as PDF and as Excel, whose charts are drawn from the cells of the tables. */
import { BRAND, documentInLanguages, exampleLogo } from '../sample.js';
import { euros, exampleReport, reportVariables } from '../monthly-report.js';
import { imprint, letterhead, logoVariable, rich } from './sample.js';

const en = {
  summary:
    '<p>{{report.summary}}</p><p>Revenue after returns was <strong>{{revenue}}</strong>: {{online}} from online sales and {{shops}} from the shops, less {{returns}} in returns. The best week was {{best}}.</p>',
  byWeek: 'By week',
  week: 'Week',
  online: 'Online',
  shops: 'Shops',
  returns: 'Returns',
  net: 'Revenue',
  total: 'Total',
  weekChart: 'Revenue by week',
  byGroup: 'By group',
  groupTitle: 'What we sold in {{report.month}}',
  group: 'Group',
  revenue: 'Revenue',
  before: 'Month before',
  change: 'Change',
  groupChart: 'Revenue by group',
  pages: 'Page {{pageNumber}} of {{totalPages}}',
};

const de: typeof en = {
  summary:
    '<p>{{report.summary}}</p><p>Umsatz nach Retouren: <strong>{{revenue}}</strong>, davon {{online}} online und {{shops}} in den Läden, vor {{returns}} Retouren. Die beste Woche war {{best}}.</p>',
  byWeek: 'Nach Wochen',
  week: 'Woche',
  online: 'Online',
  shops: 'Läden',
  returns: 'Retouren',
  net: 'Umsatz',
  total: 'Summe',
  weekChart: 'Umsatz nach Wochen',
  byGroup: 'Nach Gruppen',
  groupTitle: 'Was wir im {{report.month}} verkauft haben',
  group: 'Gruppe',
  revenue: 'Umsatz',
  before: 'Vormonat',
  change: 'Änderung',
  groupChart: 'Umsatz nach Gruppen',
  pages: 'Seite {{pageNumber}} von {{totalPages}}',
};

const margin = { top: '22mm', right: '18mm', bottom: '24mm', left: '18mm' };
const header = { headerBackgroundColor: BRAND.dark, headerColor: '#ffffff' };
const money = { align: 'end', format: euros };

export const monthlyReportSample = documentInLanguages(
  {
    slug: 'monthly-report',
    description: 'Revenue by week and by group, with charts; as PDF and as Excel with native charts.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { ...exampleReport, logo: exampleLogo },
  },
  { own: en, others: { de } },
  (text) => ({
    name: '{{report.title}}',
    variables: [...reportVariables, logoVariable],
    schema: {
      outputFormats: ['pdf', 'excel'],
      pages: [
        {
          pageId: 'weeks',
          pageName: text.byWeek,
          pageSettings: { format: 'A4', margin, firstPageHeader: letterhead, footer: imprint(text.pages), sheet: { fitToWidth: true } },
          sections: [
            {
              id: 'weeks-main',
              type: 'main',
              components: [
                rich('title', `<h1>{{report.title}}</h1>${text.summary}`, { hideWhenEmpty: 'lines' }),
                {
                  id: 'table-weeks',
                  type: 'table',
                  props: {
                    dataSource: 'byWeek',
                    itemVariable: 'w',
                    ...header,
                    columns: [
                      { header: text.week, content: '{{w.week}}', width: '28%', footer: text.total },
                      { header: text.online, content: '{{w.online}}', width: '18%', ...money, footer: '{{online}}' },
                      { header: text.shops, content: '{{w.shops}}', width: '18%', ...money, footer: '{{shops}}' },
                      { header: text.returns, content: '{{w.returns}}', width: '18%', ...money, footer: '{{returns}}' },
                      {
                        header: text.net,
                        content: '{{w.net}}',
                        width: '18%',
                        ...money,
                        footer: '{{revenue}}',
                        rules: [{ kind: 'dataBar', color: BRAND.pale }],
                      },
                    ],
                  },
                },
                {
                  id: 'by-week',
                  type: 'chart',
                  props: {
                    chartType: 'column',
                    dataSource: 'byWeek',
                    categoryField: 'week',
                    series: [
                      { name: text.online, valueField: 'online', color: BRAND.main },
                      { name: text.shops, valueField: 'shops', color: BRAND.accentInk },
                    ],
                    title: text.weekChart,
                    showLegend: true,
                    height: 240,
                    keepTogether: true,
                  },
                },
              ],
            },
          ],
        },
        {
          pageId: 'groups',
          pageName: text.byGroup,
          pageSettings: { format: 'A4', margin, footer: imprint(text.pages), sheet: { fitToWidth: true } },
          sections: [
            {
              id: 'groups-main',
              type: 'main',
              components: [
                rich('groups-title', `<h2>${text.groupTitle}</h2>`),
                {
                  id: 'table-groups',
                  type: 'table',
                  props: {
                    dataSource: 'byGroup',
                    itemVariable: 'group',
                    ...header,
                    columns: [
                      { header: text.group, content: '{{group.name}}', width: '34%' },
                      { header: text.revenue, content: '{{group.revenue}}', width: '22%', ...money },
                      { header: text.before, content: '{{group.before}}', width: '22%', ...money },
                      {
                        header: text.change,
                        content: '{{group.change}}',
                        width: '22%',
                        align: 'end',
                        format: { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 },
                        rules: [{ kind: 'cells', operator: 'lessThan', value: 0, color: '#b91c1c', backgroundColor: '#fef2f2' }],
                      },
                    ],
                  },
                },
                {
                  id: 'by-group',
                  type: 'chart',
                  props: {
                    chartType: 'bar',
                    dataSource: 'byGroup',
                    categoryField: 'name',
                    series: [
                      { name: text.revenue, valueField: 'revenue', color: BRAND.main },
                      { name: text.before, valueField: 'before', color: '#9ca3af' },
                    ],
                    title: text.groupChart,
                    showLegend: true,
                    height: 240,
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  }),
);
