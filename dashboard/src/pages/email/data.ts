/**
 * The reads of one email. The stream tells when it changes; without a stream it is looked for. What is read again within
 * a quarter of an hour makes no further entry of the audit log, so later the page asks before it reads the email again.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
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
import { type LiveEvent, useLive } from '../../api/stream';

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

/** The audit log has one entry of a read in 15 minutes; the clock of the service may be a little ahead. */
const NOTED_MS = 14 * 60_000;

/**
 * `isLive`: changes are told. `isBehind`: the email has changed since, and reading it again would be another entry of
 * the audit log. `isGone`: it was deleted.
 */
export const useEmail = (teamId: string, id: string) => {
  const client = useQueryClient();
  const firstRead = useRef(0);
  const [isBehind, setIsBehind] = useState(false);
  const [isGone, setIsGone] = useState(false);
  const isLive = useLive(
    teamId,
    useCallback(
      (event: LiveEvent) => {
        const queryKey = emailKey(teamId, id);
        const known = client.getQueryData<Email>(queryKey);
        if (event.kind === 'changes' && event.changes.emails?.removed.includes(id) === true) setIsGone(true);
        // A read on its way misses nothing.
        if (known === undefined) return;
        const item =
          event.kind === 'changes' ? event.changes.emails?.changed.find((changed) => changed.id === id) : undefined;
        if (event.kind === 'changes' && item === undefined) return;
        if (event.kind === 'state' && !event.isLive) return;
        if (Date.now() - firstRead.current < NOTED_MS) {
          void client.invalidateQueries({ queryKey, exact: true });
          return;
        }
        if (item === undefined) return;
        const { status, archived, failureReason, sentAt, deliveredAt } = item;
        client.setQueryData<Email>(queryKey, { ...known, status, archived, failureReason, sentAt, deliveredAt });
        setIsBehind(true);
      },
      [client, teamId, id],
    ),
  );
  const query = useQuery({
    queryKey: emailKey(teamId, id),
    staleTime: Infinity,
    refetchOnMount: 'always',
    queryFn: ({ signal }) =>
      call<GetEmailData, GetEmailResponse>('GET', { url: '/api/emails/{id}', path: { id } }, { teamId, signal }),
    refetchInterval: ({ state }) => (isLive || isGone ? false : nextLookMs(state.data, state.error)),
  });
  const { data, refetch } = query;
  useEffect(() => {
    if (data !== undefined && firstRead.current === 0) firstRead.current = Date.now();
  }, [data]);
  const readAgain = async (): Promise<void> => {
    firstRead.current = Date.now();
    setIsBehind(false);
    await refetch();
  };
  return { ...query, isLive, isBehind, isGone, readAgain };
};

const ENTRIES = 100;
const FRESH_MS = 10 * 60_000;
/** The answer of a webhook endpoint is no change of the email; most come this soon after one. */
const ANSWERED_MS = 60_000;

/** The answers of webhook endpoints come a moment after what they are about. */
export const useTimeline = (teamId: string, email: Email, isLive: boolean) => {
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
    refetchInterval: () => {
      const sinceMs = Date.now() - Date.parse(email.updatedAt);
      if (email.archived || (isLive && sinceMs > ANSWERED_MS)) return false;
      return sinceMs < FRESH_MS ? LATER_MS : RARELY_MS;
    },
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
