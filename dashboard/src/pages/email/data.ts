/** The reads of one email. Its record is read again while it may change; the audit log keeps one entry for that. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type {
  EmailRecord,
  EmailTimeline,
  GetEmailContentData,
  GetEmailContentResponse,
  GetEmailData,
  GetEmailResponse,
  GetEmailTimelineData,
  GetEmailTimelineResponse,
  SentContent,
} from '#api';
import { ApiFault, call } from '../../api/client';

export type Email = EmailRecord;
export type Recipient = Email['recipients'][number];
export type Attempt = Email['attempts'][number];
export type Entry = EmailTimeline['data'][number];
export type Content = SentContent;

const SOON_MS = 2_000;
const LATER_MS = 15_000;
const RARELY_MS = 60_000;

/** A result may still come days after a mail has left: opens, bounces, complaints. */
const nextLookMs = (email: Email | undefined, fault: Error | null): number | false => {
  if (fault instanceof ApiFault && fault.status >= 400 && fault.status < 500 && fault.status !== 429) return false;
  if (email === undefined) return LATER_MS;
  if (email.archived) return false;
  if (email.status === 'processing') return SOON_MS;
  if (email.status === 'queued') return email.nextAttemptAt === null ? SOON_MS : LATER_MS;
  if (email.status === 'scheduled' || email.status === 'sent') return LATER_MS;
  return RARELY_MS;
};

export const emailKey = (teamId: string, id: string) => ['email', teamId, id] as const;

export const useEmail = (teamId: string, id: string) =>
  useQuery({
    queryKey: emailKey(teamId, id),
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      call<GetEmailData, GetEmailResponse>('GET', { url: '/api/emails/{id}', path: { id } }, { teamId, signal }),
    refetchInterval: ({ state }) => nextLookMs(state.data, state.error),
  });

const ENTRIES = 100;
const FRESH_MS = 10 * 60_000;

/** The answers of webhook endpoints come a moment after what they are about. */
export const useTimeline = (teamId: string, email: Email) => {
  const found = useInfiniteQuery({
    queryKey: [...emailKey(teamId, email.id), 'timeline', email.updatedAt],
    initialPageParam: undefined as string | undefined,
    staleTime: Infinity,
    queryFn: ({ pageParam: cursor, signal }) =>
      call<GetEmailTimelineData, GetEmailTimelineResponse>(
        'GET',
        {
          url: '/api/emails/{id}/timeline',
          path: { id: email.id },
          query: { limit: ENTRIES, ...(cursor === undefined ? {} : { cursor }) },
        },
        { teamId, signal },
      ),
    getNextPageParam: ({ meta }) => meta.nextCursor ?? undefined,
    refetchInterval: email.archived
      ? false
      : Date.now() - Date.parse(email.updatedAt) < FRESH_MS
        ? LATER_MS
        : RARELY_MS,
    placeholderData: keepPreviousData,
  });
  return found;
};

/** `recipient`: whose copy; undefined: the first one's. */
export const useContent = (teamId: string, id: string, recipient: number | undefined, isAllowed: boolean) =>
  useQuery({
    queryKey: [...emailKey(teamId, id), 'content', recipient],
    enabled: isAllowed,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<GetEmailContentData, GetEmailContentResponse>(
        'GET',
        { url: '/api/emails/{id}/content', path: { id }, query: recipient === undefined ? {} : { recipient } },
        { teamId, signal },
      ),
  });
