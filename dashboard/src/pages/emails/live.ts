/**
 * The list of emails as it is now: pages by cursor, and every 15 seconds the newest page. Rows that are shown change in
 * place; new ones are counted and shown when the reader asks, so that nothing jumps.
 */
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import type { CountEmailsData, CountEmailsResponse, ListEmailsData, ListEmailsResponse } from '#api';
import { call } from '../../api/client';

export type Email = ListEmailsResponse['data'][number];
export type EmailCounts = CountEmailsResponse;
type Query = NonNullable<ListEmailsData['query']>;
type Pages = InfiniteData<ListEmailsResponse, string | undefined>;

const PAGE_ROWS = 50;
const LOOK_EVERY_MS = 15_000;

export type Emails = Readonly<{
  /** Undefined: not loaded yet. */
  rows: readonly Email[] | undefined;
  fault: Error | null;
  retry: () => void;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  /** How many newer emails there are. */
  fresh: number;
  isFreshLowerBound: boolean;
  showFresh: () => void;
}>;

const readPage = (teamId: string, query: Query, cursor: string | undefined, signal: AbortSignal) =>
  call<ListEmailsData, ListEmailsResponse>(
    'GET',
    { url: '/api/emails', query: { ...query, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) } },
    { teamId, signal },
  );

/** In: a query without `status`. */
export const useEmailCounts = (teamId: string, query: Query): EmailCounts | undefined =>
  useQuery({
    queryKey: ['emails', teamId, 'counts', query],
    refetchInterval: LOOK_EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<CountEmailsData, CountEmailsResponse>('GET', { url: '/api/emails/counts', query }, { teamId, signal }),
  }).data;

export const useEmails = (teamId: string, query: Query): Emails => {
  const client = useQueryClient();
  const key = useMemo(() => ['emails', teamId, 'pages', query] as const, [teamId, query]);
  const pages = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => readPage(teamId, query, pageParam, signal),
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
    // The newest page below tells of changes; reading all pages again would move the rows.
    staleTime: Infinity,
    gcTime: 60_000,
  });
  const newest = useQuery({
    queryKey: ['emails', teamId, 'newest', query],
    enabled: pages.data !== undefined,
    refetchInterval: LOOK_EVERY_MS,
    staleTime: LOOK_EVERY_MS,
    initialData: pages.data?.pages[0],
    queryFn: ({ signal }) => readPage(teamId, query, undefined, signal),
  }).data?.data;

  useEffect(() => {
    if (newest === undefined) return;
    client.setQueryData<Pages>(key, (known) => (known === undefined ? known : withChanges(known, newest)));
  }, [client, key, newest]);

  const rows = useMemo(() => pages.data?.pages.flatMap(({ data }) => data), [pages.data]);
  const fresh = useMemo(() => freshOf(rows, newest), [rows, newest]);
  return {
    rows,
    fault: pages.error,
    retry: () => void pages.refetch(),
    hasMore: pages.hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
    },
    fresh: fresh.length,
    isFreshLowerBound: fresh.length === PAGE_ROWS,
    showFresh: () => {
      // A whole page of new emails may hide more of them: the list begins anew.
      if (fresh.length === PAGE_ROWS) void client.resetQueries({ queryKey: key });
      else client.setQueryData<Pages>(key, (known) => (known === undefined ? known : withFresh(known, fresh)));
    },
  };
};

/** The emails of the newest page that are newer than the first row. */
export const freshOf = (rows: readonly Email[] | undefined, newest: readonly Email[] | undefined): readonly Email[] => {
  if (rows === undefined || newest === undefined) return [];
  const first = rows[0];
  if (first === undefined) return newest;
  const known = new Set(rows.map(({ id }) => id));
  return newest.filter(({ id, createdAt }) => !known.has(id) && createdAt >= first.createdAt);
};

const withChanges = (known: Pages, newest: readonly Email[]): Pages => {
  const changed = new Map(newest.map((email) => [email.id, email]));
  let isChanged = false;
  const pages = known.pages.map((page) => ({
    ...page,
    data: page.data.map((email) => {
      const now = changed.get(email.id);
      if (now === undefined || JSON.stringify(now) === JSON.stringify(email)) return email;
      isChanged = true;
      return now;
    }),
  }));
  return isChanged ? { ...known, pages } : known;
};

const withFresh = (known: Pages, fresh: readonly Email[]): Pages => {
  const [first, ...others] = known.pages;
  return first === undefined ? known : { ...known, pages: [{ ...first, data: [...fresh, ...first.data] }, ...others] };
};
