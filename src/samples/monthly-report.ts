/** The letter that goes with a monthly report: the figures that matter, at a glance. */
import { emailInLanguages } from './languages.js';
import { footerWith, helpLine, logoHeader, logoVariable, rich } from './sample.js';
import { euros, exampleReport, reportVariables } from './reporting.js';

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
  attached: 'The best week was <strong>{{best}}</strong>. Charts and every week stand in the attached report, as PDF and as a workbook.',
  help: 'Something looks wrong? Write to @.',
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
      props: { preheader: text.preheader, linkColor: '#0f766e' },
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
              props: { backgroundColor: '#e5efed', borderRadius: 8, padding: '16px 20px' },
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
