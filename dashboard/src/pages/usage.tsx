/** Usage of this month, of the last days and months, and credits. */
import { useQuery } from '@tanstack/react-query';
import type {
  AddCreditsData,
  AddCreditsResponse,
  GetUsageByDayData,
  GetUsageByDayResponse,
  GetUsageByMonthData,
  GetUsageByMonthResponse,
  GetUsageStatsData,
  GetUsageStatsResponse,
} from '#api';
import { operation } from '../api/client';
import { ActButtons } from '../resources/dialogs';
import { Facts, NotAllowed, PageHead, Rows, Section } from '../resources/pages';
import { usePlace } from '../resources/place';
import { type Act, bodyOf, type Field, may, type RowsOf } from '../resources/resource';
import { Progress } from '../resources/values';
import { Fault, Loading } from '../ui/states';
import { Moment } from '../ui/time';

const stats = operation<GetUsageStatsData, GetUsageStatsResponse>('GET', '/api/emails/usage/stats');
const byDay = operation<GetUsageByDayData, GetUsageByDayResponse>('GET', '/api/emails/usage/days');
const byMonth = operation<GetUsageByMonthData, GetUsageByMonthResponse>('GET', '/api/emails/usage/months');
const addCredits = operation<AddCreditsData, AddCreditsResponse>('POST', '/api/credits');

type Day = GetUsageByDayResponse['data'][number];
type Month = GetUsageByMonthResponse['data'][number];
type Period = Readonly<{ name: string; emails: number; attachments: number; credits: number }>;

const creditFields: readonly Field[] = [
  { name: 'credits', label: 'Credits', kind: 'number', isRequired: true },
  { name: 'note', label: 'Note', hint: 'Stands in the audit log' },
];

const acts: readonly Act<undefined>[] = [
  {
    label: 'Add credits',
    needs: 'credits:grant',
    ask: () => ({ title: 'Add credits', text: null }),
    fields: () => creditFields,
    run: async (_row, values, { teamId }) => {
      const { credits, creditsRemaining } = await addCredits({ body: bodyOf(creditFields, values) }, { teamId });
      const left = creditsRemaining === null ? '' : ` ${creditsRemaining.toLocaleString()} are left.`;
      return { say: `${credits.toLocaleString()} credits are added.${left}` };
    },
  },
];

const periods = (many: string, of: string): RowsOf<Period> => ({
  many,
  idOf: ({ name }) => name,
  titleOf: ({ name }) => name,
  columns: [
    { name: of, cell: ({ name }) => name },
    { name: 'Emails', cell: ({ emails }) => emails.toLocaleString(), isEnd: true },
    { name: 'Documents', cell: ({ attachments }) => attachments.toLocaleString(), isEnd: true },
    { name: 'Credits', cell: ({ credits }) => credits.toLocaleString(), isEnd: true },
  ],
});

const days = periods('Usage by day', 'Day');
const months = periods('Usage by month', 'Month');

const newestFirst = (rows: readonly Day[] | readonly Month[]): readonly Period[] =>
  rows.map((row) => ({ ...row, name: 'day' in row ? row.day : row.month })).reverse();

const limitOf = (limit: number | null): string => (limit === null ? 'no limit' : `of ${limit.toLocaleString()}`);

const UsagePage = () => {
  const { scope } = usePlace();
  const { teamId } = scope;
  const isAllowed = may(scope, 'analytics:read');
  const usage = useQuery({
    queryKey: ['/usage', teamId],
    enabled: isAllowed,
    queryFn: async ({ signal }) => {
      const options = { teamId, signal };
      const [month, ofDays, ofMonths] = await Promise.all([
        stats({}, options),
        byDay({}, options),
        byMonth({}, options),
      ]);
      return { month, days: newestFirst(ofDays.data), months: newestFirst(ofMonths.data) };
    },
  });
  if (!isAllowed) return <NotAllowed needs="analytics:read" title="Usage" />;
  if (usage.data === undefined)
    return (
      <>
        <PageHead title="Usage" />
        {usage.error === null ? (
          <Loading label="Loading the usage" />
        ) : (
          <Fault fault={usage.error} retry={() => void usage.refetch()} />
        )}
      </>
    );
  const { month } = usage.data;
  return (
    <>
      <PageHead title="Usage">
        <ActButtons acts={acts} row={undefined} onDone={() => void usage.refetch()} />
      </PageHead>
      <Facts
        facts={[
          ['Month', month.period],
          ['Emails', `${month.email.used.toLocaleString()}, ${limitOf(month.email.limit)}`],
          ['Documents', `${month.attachment.used.toLocaleString()}, ${limitOf(month.attachment.limit)}`],
          month.email.limit === null
            ? undefined
            : [
                'Used',
                <Progress key="used" percent={Math.min(100, month.email.percentUsed)} label="Emails of the month" />,
              ],
          ['Paid by', month.billing === 'plan' ? `plan ${month.plan ?? ''}` : month.billing],
          month.creditsRemaining === null
            ? undefined
            : [
                'Credits left',
                `${month.creditsRemaining.toLocaleString()}, ${month.creditsUsed.toLocaleString()} used`,
              ],
          month.overage.emails === 0 ? undefined : ['Beyond the plan', month.overage.emails.toLocaleString()],
          ['Counted anew', <Moment key="resets" at={month.resetsAt} />],
        ]}
      />
      <Section title="By day" about="An email counts on the day on which it was accepted, in UTC.">
        <Rows resource={days} rows={usage.data.days} />
      </Section>
      <Section title="By month">
        <Rows resource={months} rows={usage.data.months} />
      </Section>
    </>
  );
};

export default UsagePage;
