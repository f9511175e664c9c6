/** The start page reads figures, lists and the queue, and follows the changes of the team. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import type {
  GetAnalyticsOverviewData,
  GetAnalyticsOverviewResponse,
  GetAnalyticsTimeSeriesData,
  GetAnalyticsTimeSeriesResponse,
  GetDashboardSummaryData,
  GetDashboardSummaryResponse,
  ListDomainAnalyticsData,
  ListDomainAnalyticsResponse,
  ListTagAnalyticsData,
  ListTagAnalyticsResponse,
  ListTemplateAnalyticsData,
  ListTemplateAnalyticsResponse,
  QueueStatsData,
  QueueStatsResponse,
} from '#api';
import { operation } from '../../api/client';
import { type LiveEvent, useLive } from '../../api/stream';
import { type Asked, LIST_DAYS_MAX } from './period';

const overview = operation<GetAnalyticsOverviewData, GetAnalyticsOverviewResponse>('GET', '/api/analytics/overview');
const timeSeries = operation<GetAnalyticsTimeSeriesData, GetAnalyticsTimeSeriesResponse>(
  'GET',
  '/api/analytics/timeseries',
);
const byTemplate = operation<ListTemplateAnalyticsData, ListTemplateAnalyticsResponse>(
  'GET',
  '/api/analytics/templates',
);
const byTag = operation<ListTagAnalyticsData, ListTagAnalyticsResponse>('GET', '/api/analytics/tags');
const byDomain = operation<ListDomainAnalyticsData, ListDomainAnalyticsResponse>('GET', '/api/analytics/domains');
const queueStats = operation<QueueStatsData, QueueStatsResponse>('GET', '/api/emails/queue/stats');
const summary = operation<GetDashboardSummaryData, GetDashboardSummaryResponse>('GET', '/api/dashboard/summary');

export type Queue = QueueStatsResponse;
export type Totals = GetAnalyticsOverviewResponse['totals'];
export type Rates = GetAnalyticsOverviewResponse['rates'];
export type Metric = keyof Totals;
export type Point = GetAnalyticsTimeSeriesResponse['data'][number];
export type Failure = GetDashboardSummaryResponse['recentFailures'][number];

/** One line of a list by template, tag or domain. */
export type Ranked = Readonly<{ id: string; name: string; totals: Totals; rates: Rates }>;
export type Ranking = Readonly<{ rows: readonly Ranked[]; others: Totals | null; count: number }>;
export type Rankings = Readonly<Record<'templates' | 'tags' | 'domains', Ranking>>;

/** Figures with what was asked for: while others are read, the ones before are shown with their own days. */
export type Figures = Readonly<{
  asked: Asked;
  overview: GetAnalyticsOverviewResponse;
  points: readonly Point[];
  isLowerBound: boolean;
}>;

const FIGURES_EVERY_MS = 60_000;
/** Changes that the stream tells are counted anew at most this often. */
const COUNT_AGAIN_MS = 10_000;
const QUEUE_EVERY_MS = 15_000;
/** Names in the choice of a filter; tables show fewer. */
const RANKED_MAX = 100;
const STALE_MS = 5_000;

const keysOf = (teamId: string) =>
  ({
    figures: ['overview', teamId, 'figures'],
    rankings: ['overview', teamId, 'rankings'],
    queue: ['overview', teamId, 'queue'],
    summary: ['overview', teamId, 'summary'],
  }) as const;

export const useFigures = (teamId: string, asked: Asked) => {
  const { range, filter, interval } = asked;
  return useQuery({
    queryKey: [...keysOf(teamId).figures, asked],
    staleTime: STALE_MS,
    placeholderData: keepPreviousData,
    refetchInterval: FIGURES_EVERY_MS,
    queryFn: async ({ signal }): Promise<Figures> => {
      const query = { ...range, ...filter };
      const [ofRange, series] = await Promise.all([
        overview({ query }, { teamId, signal }),
        timeSeries({ query: { ...query, interval } }, { teamId, signal }),
      ]);
      return {
        asked,
        overview: ofRange,
        points: series.data,
        isLowerBound: ofRange.isLowerBound || series.isLowerBound,
      };
    },
  });
};

export const useRankings = (teamId: string, { range, days }: Asked) =>
  useQuery({
    queryKey: [...keysOf(teamId).rankings, range],
    enabled: days <= LIST_DAYS_MAX,
    staleTime: STALE_MS,
    refetchInterval: FIGURES_EVERY_MS,
    queryFn: async ({ signal }): Promise<Rankings> => {
      const query = { ...range, sort: 'sent', limit: RANKED_MAX } as const;
      const options = { teamId, signal };
      const [templates, tags, domains] = await Promise.all([
        byTemplate({ query }, options),
        byTag({ query }, options),
        byDomain({ query }, options),
      ]);
      return {
        templates: rankingOf(templates, ({ templateId, emailTemplateName }) => [
          templateId,
          withoutTemplate[templateId] ?? emailTemplateName ?? `Deleted (${templateId.slice(0, 8)}…)`,
        ]),
        tags: rankingOf(tags, ({ tag }) => [tag, tag]),
        domains: rankingOf(domains, ({ domain }) => [domain, domain]),
      };
    },
  });

/** Emails that are counted as one template each, because their content came with the call. */
export const withoutTemplate: Readonly<Record<string, string>> = {
  inline: 'Content of the call',
  smtp: 'Mail by SMTP',
};

type Listed<Row> = Readonly<{
  data: readonly (Row & Readonly<{ totals: Totals; rates: Rates }>)[];
  other: Totals | null;
  meta: Readonly<{ total?: number }>;
}>;

const rankingOf = <Row>(
  { data, other, meta }: Listed<Row>,
  named: (row: Row) => readonly [id: string, name: string],
): Ranking => ({
  rows: data.map((row) => {
    const [id, name] = named(row);
    return { id, name, totals: row.totals, rates: row.rates };
  }),
  others: other,
  count: meta.total ?? data.length,
});

export const useQueue = (teamId: string, isLive: boolean) =>
  useQuery<Queue>({
    queryKey: keysOf(teamId).queue,
    staleTime: STALE_MS,
    // Age and rate change without an event as long as something waits or has left lately.
    refetchInterval: ({ state: { data } }) =>
      isLive && data?.depth === 0 && data.ratePerMinute === 0 && data.deferred === 0
        ? FIGURES_EVERY_MS
        : QUEUE_EVERY_MS,
    queryFn: ({ signal }) => queueStats({}, { teamId, signal }),
  });

export const useSummary = (teamId: string) =>
  useQuery({
    queryKey: keysOf(teamId).summary,
    staleTime: STALE_MS,
    refetchInterval: FIGURES_EVERY_MS,
    queryFn: ({ signal }) => summary({}, { teamId, signal }),
  });

/** Puts what the stream tells into the queue, and has the figures counted anew. Out: whether the stream tells changes. */
export const useChanges = (teamId: string): boolean => {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return useLive(
    teamId,
    useCallback(
      (event: LiveEvent) => {
        const keys = keysOf(teamId);
        const countSoon = (): void => {
          waiting.current ??= setTimeout(() => {
            waiting.current = undefined;
            for (const queryKey of [keys.figures, keys.summary]) void client.invalidateQueries({ queryKey });
          }, COUNT_AGAIN_MS);
        };
        switch (event.kind) {
          case 'state':
            // Nothing is told of what happened before.
            if (event.isLive) void client.invalidateQueries({ queryKey: keys.queue });
            return;
          case 'reset':
            void client.invalidateQueries({ queryKey: ['overview', teamId] });
            return;
          case 'changes': {
            const { queue, emails } = event.changes;
            if (queue !== undefined) client.setQueryData<Queue>(keys.queue, queue);
            if (emails !== undefined) countSoon();
          }
        }
      },
      [client, teamId],
    ),
  );
};
