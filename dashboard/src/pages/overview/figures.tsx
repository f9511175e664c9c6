/** Counts and rates of the chosen days as figures, as charts with a table behind each, and by name. */
import { type ComponentProps, lazy, Suspense, useMemo, useState } from 'react';
import { Button, TextLink } from '../../ui/controls';
import { csvFile, csvOf } from '../../ui/csv';
import { cx } from '../../ui/cx';
import { download } from '../../ui/download';
import { pagePath } from '../../ui/links';
import { Loading } from '../../ui/states';
import type { Figures, Metric, Point, Ranked, Ranking, Rankings, Rates, Totals } from './data';
import styles from './overview.module.css';
import { onAxis, type OverviewSearch, type Range, rangeInWords, withFilter } from './period';
import { Tile } from './queue';
import { DataTable } from './table';

const Chart = lazy(() => import('./chart'));
type Drawn = ComponentProps<typeof Chart>['series'][number];

type Shown = Readonly<{ metric: Metric; name: string }> & Drawn;

const charts: readonly Readonly<{ title: string; series: readonly Shown[]; isOfEmails?: true }>[] = [
  {
    title: 'Sent and delivered',
    series: [
      { metric: 'sent', name: 'Sent', look: 'bars', token: '--busy' },
      { metric: 'delivered', name: 'Delivered', look: 'line', token: '--good' },
    ],
  },
  {
    title: 'Opened and clicked',
    isOfEmails: true,
    series: [
      { metric: 'opened', name: 'Opened', look: 'bars', token: '--good' },
      { metric: 'clicked', name: 'Clicked', look: 'line', token: '--busy' },
    ],
  },
  {
    title: 'Bounced, failed and complaints',
    series: [
      { metric: 'bounced', name: 'Bounced', look: 'bars', token: '--bad' },
      { metric: 'failed', name: 'Failed', look: 'line', token: '--warn' },
      { metric: 'complained', name: 'Complaints', look: 'dashes', token: '--ink' },
    ],
  },
];

/** Every count, in the order of the tiles and of the file. */
const metrics: readonly Readonly<{ metric: Metric; name: string; rate?: keyof Rates; of?: string }>[] = [
  { metric: 'accepted', name: 'Accepted' },
  { metric: 'sent', name: 'Sent', rate: 'sent', of: 'of those that ended' },
  { metric: 'delivered', name: 'Delivered', rate: 'delivered', of: 'of sent' },
  { metric: 'opened', name: 'Opened', rate: 'opened', of: 'of those with tracking' },
  { metric: 'clicked', name: 'Clicked', rate: 'clicked', of: 'of those with tracking' },
  { metric: 'bounced', name: 'Bounced', rate: 'bounced', of: 'of those that ended' },
  { metric: 'failed', name: 'Failed', rate: 'failed', of: 'of those that ended' },
  { metric: 'complained', name: 'Complaints', rate: 'complained', of: 'of sent' },
  { metric: 'suppressed', name: 'Suppressed' },
  { metric: 'cancelled', name: 'Cancelled' },
];

const TILES = 8;

const isOpens = (metric: Metric): boolean => metric === 'opened' || metric === 'clicked';

const shownCount = (count: number, isLowerBound = false): string =>
  `${count.toLocaleString()}${isLowerBound ? '+' : ''}`;

const percent = (rate: number): string =>
  (rate / 100).toLocaleString(undefined, { style: 'percent', maximumFractionDigits: 2 });

type SectionProps = Readonly<{ figures: Figures; rankings: Rankings | undefined; isOld: boolean }>;

export const FiguresSection = ({ figures, rankings, isOld }: SectionProps) => {
  const { asked, overview, points } = figures;
  const isByDomain = asked.filter.recipientDomain !== undefined;
  const isNothing = metrics.every(({ metric }) => overview.totals[metric] === 0);
  return (
    <div className={cx(styles['figures'], isOld && styles['old'])} aria-busy={isOld}>
      <div className={styles['sectionHead']}>
        <p>
          {countedIn(figures, rankings)}, <strong>{rangeInWords(overview.range)}</strong>, by the day (UTC) on which it
          happened.
          {figures.isLowerBound ? ' A + means that there may be more: on some day others were counted by name.' : null}
        </p>
        <Button
          isSmall
          onPress={() => download(csvFile(csvOfPoints(points, isByDomain)), fileName('figures', asked.range))}
        >
          CSV of these figures
        </Button>
      </div>
      <dl className={styles['tiles']}>
        {metrics.slice(0, TILES).map((one) => (
          <FigureTile key={one.metric} {...one} figures={figures} />
        ))}
      </dl>
      {isNothing ? (
        <p className={styles['soft']}>Nothing happened in these days, so there is nothing to draw.</p>
      ) : (
        <div className={styles['charts']}>
          {charts.map((chart) =>
            isByDomain && chart.isOfEmails === true ? null : (
              <ChartPart key={chart.title} title={chart.title} series={chart.series} figures={figures} />
            ),
          )}
        </div>
      )}
    </div>
  );
};

/** Out: the things that are counted, in words. */
const countedIn = ({ asked: { filter } }: Figures, rankings: Rankings | undefined): string => {
  const { templateId, tag, recipientDomain } = filter;
  if (recipientDomain !== undefined) return `Recipients at ${recipientDomain}, not emails`;
  if (tag !== undefined) return `Emails with the tag ${tag}`;
  if (templateId === undefined) return 'All emails of the team';
  const name = rankings?.templates.rows.find(({ id }) => id === templateId)?.name;
  return `Emails of the template ${name ?? templateId}`;
};

type FigureTileProps = (typeof metrics)[number] & Readonly<{ figures: Figures }>;

const FigureTile = ({ metric, name, rate, of, figures: { asked, overview } }: FigureTileProps) => {
  const { totals, rates, isLowerBound, previous } = overview;
  const share = rate === undefined ? null : rates[rate];
  if (isOpens(metric) && asked.filter.recipientDomain !== undefined)
    return (
      <Tile name={name} value="–">
        Not counted by domain
      </Tile>
    );
  if (isOpens(metric) && share === null)
    return (
      <Tile name={name} value={totals[metric] === 0 ? '–' : shownCount(totals[metric], isLowerBound)}>
        Unknown: no email was sent with tracking of {metric === 'opened' ? 'opens' : 'clicks'}
      </Tile>
    );
  return (
    <Tile name={name} value={shownCount(totals[metric], isLowerBound)}>
      {share === null || of === undefined ? null : (
        <span className={styles['row']}>
          {percent(share)} {of}
        </span>
      )}
      <span className={styles['row']}>
        {shownCount(previous.totals[metric], previous.isLowerBound)}{' '}
        {asked.days === 1 ? 'on the day before' : `in the ${asked.days.toLocaleString()} days before`}
      </span>
    </Tile>
  );
};

type ChartPartProps = Readonly<{ title: string; series: readonly Shown[]; figures: Figures }>;

const intervalNames = { day: 'Day', week: 'Week', month: 'Month' } as const;

const ChartPart = ({ title, series, figures: { asked, overview, points } }: ChartPartProps) => {
  const [isTable, setIsTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const { interval } = asked;
  const names = useMemo(() => points.map((point) => onAxis(point, interval)), [points, interval]);
  const counts = useMemo(() => series.map(({ metric }) => points.map((point) => point[metric] ?? 0)), [series, points]);
  const point = at === null ? undefined : points[at];
  const isEmpty = series.every(({ metric }) => overview.totals[metric] === 0);
  const isUnknown =
    isEmpty &&
    series.every(({ metric }) => (metric === 'opened' || metric === 'clicked') && overview.rates[metric] === null);
  const sums = series.map(({ metric, name }) => `${overview.totals[metric].toLocaleString()} ${name.toLowerCase()}`);
  return (
    <figure className={styles['chart']} aria-label={title}>
      <figcaption className={styles['sectionHead']}>
        <h3>{title}</h3>
        <Button isSmall aria-label={`${isTable ? 'Chart' : 'Table'}: ${title}`} onPress={() => setIsTable(!isTable)}>
          {isTable ? 'Chart' : 'Table'}
        </Button>
      </figcaption>
      <ul className={styles['legend']}>
        {series.map(({ metric, name, look, token }) => (
          <li key={metric}>
            <span className={cx(styles['swatch'], styles[look])} style={{ color: `var(${token})` }} />
            {name}{' '}
            <strong>
              {isUnknown ? '–' : ((point === undefined ? overview.totals : point)[metric] ?? 0).toLocaleString()}
            </strong>
          </li>
        ))}
        <li className={styles['when']}>{point === undefined ? 'in all' : rangeInWords(point)}</li>
      </ul>
      {isTable ? (
        <DataTable
          label={`${title}, by ${interval}`}
          columns={[intervalNames[interval], ...series.map(({ name }) => name)]}
          rows={points.map((one) => ({
            id: one.startDate,
            cells: [rangeInWords(one), ...series.map(({ metric }) => (one[metric] ?? 0).toLocaleString())],
          }))}
        />
      ) : isEmpty ? (
        <p className={styles['blank']}>
          {isUnknown ? 'Unknown: no email was sent with tracking' : 'None in these days'}
        </p>
      ) : (
        <Suspense
          fallback={
            <div className={styles['blank']}>
              <Loading label="Loading the chart" />
            </div>
          }
        >
          <Chart
            names={names}
            series={series}
            counts={counts}
            label={`${title} by ${interval}, ${rangeInWords(overview.range)}: ${sums.join(', ')}. The table has the figures of each ${interval}.`}
            onPoint={setAt}
          />
        </Suspense>
      )}
    </figure>
  );
};

const fileName = (of: string, { startDate, endDate }: Range): string => `${of}-${startDate}-to-${endDate}.csv`;

const csvOfPoints = (points: readonly Point[], isByDomain: boolean): string => {
  const shown = metrics.filter(({ metric }) => !isByDomain || !isOpens(metric));
  return csvOf([
    ['startDate', 'endDate', ...shown.map(({ metric }) => metric)],
    ...points.map((point) => [point.startDate, point.endDate, ...shown.map(({ metric }) => point[metric] ?? 0)]),
  ]);
};

const ROWS_SHOWN = 10;

const rankings = [
  { list: 'templates', filter: 'template', title: 'Templates', one: 'Template', none: 'No email was sent.' },
  { list: 'tags', filter: 'tag', title: 'Tags', one: 'Tag', none: 'No email with a tag was sent.' },
  {
    list: 'domains',
    filter: 'domain',
    title: 'Recipient domains',
    one: 'Domain',
    none: 'No email went to a mailbox provider that is counted. Other domains are not, because they can name a person.',
  },
] as const;

type TablesProps = Readonly<{ rankings: Rankings; search: OverviewSearch; range: Range }>;

export const RankingTables = ({ rankings: found, search, range }: TablesProps) => (
  <>
    <p className={styles['soft']}>
      Of all emails, {rangeInWords(range)}. A domain counts recipients, of the great mailbox providers alone. A name
      shows its figures above.
    </p>
    {rankings.map((one) => (
      <RankingTable key={one.list} {...one} ranking={found[one.list]} search={search} range={range} />
    ))}
  </>
);

type TableProps = (typeof rankings)[number] & Readonly<{ ranking: Ranking; search: OverviewSearch; range: Range }>;

/** Columns of a list; domains have no opens. */
const columnsOf = (list: TableProps['list']) =>
  metrics.filter(
    ({ metric }) =>
      ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'failed', 'complained'].includes(metric) &&
      (list !== 'domains' || !isOpens(metric)),
  );

const RankingTable = ({ list, filter, title, one, none, ranking, search, range }: TableProps) => {
  const { rows, others, count } = ranking;
  const columns = columnsOf(list);
  const shown = rows.slice(0, ROWS_SHOWN);
  return (
    <div className={styles['ranking']}>
      <div className={styles['sectionHead']}>
        <h3>
          {title}{' '}
          {count <= shown.length ? null : (
            <span className={styles['soft']}>
              the {shown.length} with the most of {count.toLocaleString()}
            </span>
          )}
        </h3>
        {rows.length === 0 ? null : (
          <Button
            isSmall
            aria-label={`CSV: ${title}`}
            onPress={() => download(csvFile(csvOfRanking(one, ranking, columns)), fileName(list, range))}
          >
            CSV
          </Button>
        )}
      </div>
      {rows.length === 0 ? (
        <p className={styles['soft']}>{none}</p>
      ) : (
        <DataTable
          label={title}
          columns={[one, ...columns.map(({ name }) => name)]}
          rows={[
            ...shown.map((row) => ({
              id: row.id,
              cells: [
                <TextLink key="name" href={pagePath('/', withFilter(search, { [filter]: row.id }))}>
                  <bdi>{row.name}</bdi>
                </TextLink>,
                ...columns.map((column) => cellOf(row, column)),
              ],
            })),
            ...(others === null
              ? []
              : [
                  {
                    id: ' others',
                    cells: ['Others together', ...columns.map(({ metric }) => others[metric].toLocaleString())],
                  },
                ]),
          ]}
        />
      )}
    </div>
  );
};

type Column = ReturnType<typeof columnsOf>[number];

/** A count with its share; opens that nobody recorded are unknown. */
const cellOf = ({ totals, rates }: Ranked, { metric, rate }: Column) => {
  const share = rate === undefined ? null : rates[rate];
  if (isOpens(metric) && share === null) return <span className={styles['soft']}>unknown</span>;
  return (
    <>
      {totals[metric].toLocaleString()}
      {metric === 'sent' || share === null ? null : <span className={styles['share']}>{percent(share)}</span>}
    </>
  );
};

const csvOfRanking = (one: string, { rows, others }: Ranking, columns: readonly Column[]): string => {
  const counts = (totals: Totals) => columns.map(({ metric }) => totals[metric]);
  return csvOf([
    [one.toLowerCase(), 'name', ...columns.map(({ metric }) => metric), ...columns.map(({ metric }) => `${metric} %`)],
    ...rows.map(({ id, name, totals, rates }) => [
      id,
      name,
      ...counts(totals),
      ...columns.map(({ rate }) => (rate === undefined ? null : rates[rate])),
    ]),
    ...(others === null ? [] : [['others together', null, ...counts(others), ...columns.map(() => null)]]),
  ]);
};
