/** Reads that several pages share: the person, their teams, and how a failed read is repeated. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import type { GetOwnUserData, GetOwnUserResponse, ListTeamsData, ListTeamsResponse } from '#api';
import { ApiFault, call, type Options } from './client';

const RETRIES_MAX = 2;

const isPassing = (fault: Error): boolean =>
  !(fault instanceof ApiFault) || [0, 429, 502, 503, 504].includes(fault.status);

/** Reads of mails are audited, so they are not read again only because a window has the focus again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: false,
      staleTime: 10_000,
      retry: (count, fault) => count < RETRIES_MAX && isPassing(fault),
      retryDelay: (count, fault) =>
        fault instanceof ApiFault && fault.retryAfterS !== undefined
          ? Math.min(fault.retryAfterS, 60) * 1_000
          : 1_000 * 2 ** count,
    },
  },
});

export const meQuery = queryOptions({
  queryKey: ['me'],
  staleTime: 5 * 60_000,
  // A link of a mail may have changed the address in another tab.
  refetchOnWindowFocus: 'always',
  queryFn: ({ signal }) => call<GetOwnUserData, GetOwnUserResponse>('GET', { url: '/api/users/me' }, { signal }),
});

/** More teams than a person is in; the switcher shows these. */
const TEAMS_MAX = 100;

export const teamsQuery = queryOptions({
  queryKey: ['teams'],
  staleTime: 60_000,
  queryFn: ({ signal }) => readTeams({ signal }),
});

const readTeams = async (options: Options): Promise<ListTeamsResponse['data']> =>
  (await call<ListTeamsData, ListTeamsResponse>('GET', { url: '/api/teams', query: { limit: TEAMS_MAX } }, options))
    .data;

/** Reads the teams of the person, and what they may do there, again. If that fails, those known before stay. */
export const readTeamsAgain = async (): Promise<void> => {
  const teams = await readTeams({}).catch(() => undefined);
  if (teams !== undefined) queryClient.setQueryData(teamsQuery.queryKey, teams);
};

export type Team = ListTeamsResponse['data'][number];
