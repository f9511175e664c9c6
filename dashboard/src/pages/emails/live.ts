/**
 * The list of emails as it is now: pages by cursor, and the changes that the live stream tells. Rows that are shown
 * change in place; new ones are counted and shown when the reader asks, so that nothing jumps. Without a stream the
 * newest page is read every 15 seconds.
 */
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { CountEmailsData, CountEmailsResponse, ListEmailsData, ListEmailsResponse } from '#api';
import { call } from '../../api/client';
import { type LiveEvent, useLive } from '../../api/stream';

export type Email = ListEmailsResponse['data'][number];
export type EmailCounts = CountEmailsResponse;
type Query = NonNullable<ListEmailsData['query']>;
type Pages = InfiniteData<ListEmailsResponse, string | undefined>;

const PAGE_ROWS = 50;
const LOOK_EVERY_MS = 15_000;
/** Counts, and lists with filters that only the service can judge, are read at most this often. */
const READ_EVERY_MS = 2_000;
/** New emails that are kept until the reader asks for them. */
const FRESH_MAX = 200;

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
  /** Undefined: not read yet. */
  counts: EmailCounts | undefined;
  /** Whether changes are shown as they happen. */
  isLive: boolean;
}>;

const readPage = (teamId: string, query: Query, cursor: string | undefined, signal: AbortSignal) =>
  call<ListEmailsData, ListEmailsResponse>(
    'GET',
    { url: '/api/emails', query: { ...query, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) } },
    { teamId, signal },
  );

export const useEmails = (teamId: string, query: Query): Emails => {
  const client = useQueryClient();
  const keys = useMemo(() => keysOf(teamId, query), [teamId, query]);
  const isLive = useLive(teamId, useChanges(teamId, query));
  const pages = useInfiniteQuery({
    queryKey: keys.pages,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => readPage(teamId, query, pageParam, signal),
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
    // Reading all pages again would move the rows.
    staleTime: Infinity,
    gcTime: 60_000,
  });
  const newest = useQuery({
    queryKey: keys.newest,
    enabled: pages.data !== undefined,
    refetchInterval: isLive ? false : LOOK_EVERY_MS,
    staleTime: LOOK_EVERY_MS,
    initialData: pages.data?.pages[0],
    queryFn: ({ signal }) => readPage(teamId, query, undefined, signal),
  }).data?.data;
  const { status: _status, ...inAnyStatus } = query;
  const counts = useQuery({
    queryKey: keys.counts,
    refetchInterval: isLive ? false : LOOK_EVERY_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<CountEmailsData, CountEmailsResponse>(
        'GET',
        { url: '/api/emails/counts', query: inAnyStatus },
        { teamId, signal },
      ),
  }).data;

  useEffect(() => {
    if (newest === undefined) return;
    client.setQueryData<Pages>(keys.pages, (known) => (known === undefined ? known : withChanges(known, newest)));
  }, [client, keys, newest]);

  const rows = useMemo(() => pages.data?.pages.flatMap(({ data }) => data), [pages.data]);
  const fresh = useMemo(() => freshOf(rows, newest), [rows, newest]);
  // A whole page of new emails may hide more of them.
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const isFreshLowerBound = fresh.length >= PAGE_ROWS && (!isLive || fresh.length >= FRESH_MAX || hasFilters(query));
  return {
    rows,
    fault: pages.error,
    retry: () => void pages.refetch(),
    hasMore: hasNextPage,
    isLoadingMore: pages.isFetchingNextPage,
    loadMore,
    fresh: fresh.length,
    isFreshLowerBound,
    showFresh: () => {
      if (isFreshLowerBound) void client.resetQueries({ queryKey: keys.pages });
      else client.setQueryData<Pages>(keys.pages, (known) => (known === undefined ? known : withFresh(known, fresh)));
    },
    counts,
    isLive,
  };
};

const hasFilters = (query: Query): boolean => Object.keys(query).length > 0;

const keysOf = (teamId: string, query: Query) => {
  const { status: _status, ...inAnyStatus } = query;
  return {
    pages: ['emails', teamId, 'pages', query],
    newest: ['emails', teamId, 'newest', query],
    counts: ['emails', teamId, 'counts', inAnyStatus],
  } as const;
};

/** Out: puts an event of the stream into the list. */
const useChanges = (teamId: string, query: Query): ((event: LiveEvent) => void) => {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return useCallback(
    (event) => {
      const keys = keysOf(teamId, query);
      const isFiltered = hasFilters(query);
      const readSoon = (withNewest: boolean): void => {
        if (withNewest) void client.invalidateQueries({ queryKey: keys.newest, refetchType: 'none' });
        waiting.current ??= setTimeout(() => {
          waiting.current = undefined;
          void client.refetchQueries({ queryKey: keys.newest, stale: true });
          void client.refetchQueries({ queryKey: keys.counts });
        }, READ_EVERY_MS);
      };
      switch (event.kind) {
        case 'state':
          // Nothing is told of what happened before.
          if (event.isLive) readSoon(true);
          return;
        case 'reset':
          void client.invalidateQueries({ queryKey: ['emails', teamId] });
          return;
        case 'changes': {
          const { changed, removed } = event.changes.emails ?? { changed: [], removed: [] };
          if (changed.length + removed.length === 0) return;
          client.setQueryData<Pages>(keys.pages, (known) =>
            known === undefined ? known : without(withChanges(known, changed), removed),
          );
          client.setQueryData<ListEmailsResponse>(keys.newest, (known) =>
            known === undefined ? known : { ...known, data: withNewer(known.data, changed, removed, isFiltered) },
          );
          readSoon(isFiltered);
        }
      }
    },
    [client, teamId, query],
  );
};

/** The newest emails with these changes. Only the service knows whether an email matches a filter. */
const withNewer = (
  newest: readonly Email[],
  changed: readonly Email[],
  removed: readonly string[],
  isFiltered: boolean,
): Email[] => {
  const now = new Map(changed.map((email) => [email.id, email]));
  const kept = newest.filter(({ id }) => !removed.includes(id)).map((email) => now.get(email.id) ?? email);
  if (isFiltered) return kept;
  const known = new Set(kept.map(({ id }) => id));
  return [...changed.filter(({ id }) => !known.has(id)), ...kept]
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : one.createdAt > other.createdAt ? -1 : 0))
    .slice(0, FRESH_MAX);
};

const without = (known: Pages, removed: readonly string[]): Pages =>
  removed.length === 0
    ? known
    : {
        ...known,
        pages: known.pages.map((page) => ({ ...page, data: page.data.filter(({ id }) => !removed.includes(id)) })),
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
