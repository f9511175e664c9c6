/**
 * Live events: one stream for all tabs of a browser. Browsers open six connections to a host, so the tab that holds a
 * lock follows the stream and tells the others what it hears; when it closes, another tab goes on where it was.
 */
import { useEffect, useState } from 'react';
import type { FollowChangesResponse } from '#api';
import { queryClient, readTeamsAgain, teamsQuery } from './queries';
import { refreshSession, sessionEnded } from './session';
import { keptName, serviceUrl } from './values';

/**
 * `changes`: new items of lists. `reset`: something was missed, so lists are read again. `state`: whether changes are
 * told at the moment.
 */
export type LiveEvent =
  | Readonly<{ kind: 'changes'; changes: FollowChangesResponse }>
  | Readonly<{ kind: 'reset' }>
  | Readonly<{ kind: 'state'; isLive: boolean }>;

type Listener = (event: LiveEvent) => void;

/** Messages among tabs. `id`: the last event that the stream has brought. `hello`: a new tab asks for the state. */
type Told = Readonly<{ event: LiveEvent; id: string }> | 'hello';

type Follower = Readonly<{ listeners: Set<Listener>; isLive: () => boolean; close: () => void }>;

/** The topics that the stream tells, each to those with its permission. */
const topics = { emails: 'emails:read', queue: 'analytics:read', approvals: 'emails:read' } as const;
/** A stream without a page is kept this long for the next page of the tab. */
const KEPT_MS = 5_000;
/** After an answer other than 200 a browser does not connect again by itself. */
const OPEN_AGAIN_MS = 10_000;

/** In: a team of the person. Out: the topics of the stream, with commas between them. */
const topicsOf = (teamId: string): string => {
  const team = queryClient.getQueryData(teamsQuery.queryKey)?.find(({ id }) => id === teamId);
  const told = Object.entries(topics).flatMap(([topic, needs]) =>
    team?.permissions.includes(needs) === true ? topic : [],
  );
  return told.length === 0 ? 'emails' : told.join(',');
};

const followers = new Map<string, Follower>();

/** Calls the listener with each event of the team. Out: ends that. */
const follow = (teamId: string, listener: Listener): (() => void) => {
  const follower = followers.get(teamId) ?? openFollower(teamId);
  followers.set(teamId, follower);
  follower.listeners.add(listener);
  listener({ kind: 'state', isLive: follower.isLive() });
  return () => {
    follower.listeners.delete(listener);
    setTimeout(() => {
      if (follower.listeners.size > 0 || followers.get(teamId) !== follower) return;
      followers.delete(teamId);
      follower.close();
    }, KEPT_MS);
  };
};

const openFollower = (teamId: string): Follower => {
  const listeners = new Set<Listener>();
  const channel = new BroadcastChannel(keptName(`stream ${teamId}`));
  const end = new AbortController();
  let isLive = false;
  let lastId = '';
  let isLeader = false;

  const hear = (event: LiveEvent, id: string): void => {
    if (id !== '') lastId = id;
    if (event.kind === 'state') isLive = event.isLive;
    for (const listener of listeners) listener(event);
    showApprovals(teamId, event);
  };
  const tell = (event: LiveEvent, id = ''): void => {
    hear(event, id);
    channel.postMessage({ event, id } satisfies Told);
  };
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data !== 'hello') hear(data.event, data.id);
    else if (isLeader) tell({ kind: 'state', isLive }, lastId);
  };
  channel.postMessage('hello' satisfies Told);

  const lead = async (): Promise<void> => {
    isLeader = true;
    while (!end.signal.aborted) {
      const why = await stream(teamId, lastId, end.signal, tell);
      tell({ kind: 'state', isLive: false });
      if (why === 'closed') await pause(OPEN_AGAIN_MS, end.signal);
      if (end.signal.aborted) return;
      if ((await refreshSession()) === 'ended') return sessionEnded();
      if (why === 'no-access') await pause(OPEN_AGAIN_MS, end.signal);
      // The role of the person may be another than before.
      await readTeamsAgain();
    }
  };
  if ('locks' in navigator) navigator.locks.request(channel.name, { signal: end.signal }, lead).catch(() => undefined);
  else void lead();
  return {
    listeners,
    isLive: () => isLive,
    close: () => {
      end.abort();
      channel.close();
    },
  };
};

/** Shows changed approvals on each page that follows the stream. A list or a count is read again. */
const showApprovals = (teamId: string, event: LiveEvent): void => {
  const changes = event.kind === 'changes' ? event.changes.approvals : undefined;
  if (changes === undefined && event.kind !== 'reset') return;
  for (const item of changes?.changed ?? [])
    queryClient.setQueryData(['/approvals', teamId, 'one', item.id], (known?: object) => known && item);
  void queryClient.invalidateQueries({
    queryKey: ['/approvals', teamId],
    predicate: ({ queryKey }) => changes === undefined || queryKey[2] !== 'one',
  });
};

/** Follows one stream, which reconnects by itself, until the service ends it for good. */
const stream = (
  teamId: string,
  lastEventId: string,
  signal: AbortSignal,
  tell: (event: LiveEvent, id?: string) => void,
): Promise<'closed' | 'no-access'> =>
  new Promise((resolve) => {
    const address = new URL('api/stream', serviceUrl);
    const query = { team: teamId, topics: topicsOf(teamId), ...(lastEventId === '' ? {} : { lastEventId }) };
    address.search = new URLSearchParams(query).toString();
    const source = new EventSource(address);
    const close = (why: 'closed' | 'no-access' = 'closed'): void => {
      source.close();
      resolve(why);
    };
    signal.addEventListener('abort', () => close(), { once: true });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) close();
      else tell({ kind: 'state', isLive: false });
    });
    // The browser tells the connection by an event of the same name, which brings no id.
    source.addEventListener('open', (event) =>
      tell({ kind: 'state', isLive: true }, event instanceof MessageEvent ? event.lastEventId : ''),
    );
    source.addEventListener('reset', ({ lastEventId: id }) => {
      tell({ kind: 'state', isLive: true }, id);
      tell({ kind: 'reset' }, id);
    });
    source.addEventListener('changes', ({ data, lastEventId: id }: MessageEvent<string>) =>
      tell({ kind: 'changes', changes: JSON.parse(data) as FollowChangesResponse }, id),
    );
    source.addEventListener('end', ({ data }: MessageEvent<string>) => {
      if ((JSON.parse(data) as Readonly<{ reason: string }>).reason === 'no-access') close('no-access');
    });
  });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });

/**
 * Calls `onEvent` with each event; it must stay the same function between renderings. Out: whether the stream tells
 * changes now.
 */
export const useLive = (teamId: string, onEvent: (event: LiveEvent) => void): boolean => {
  const [isLive, setIsLive] = useState(false);
  useEffect(
    () =>
      follow(teamId, (event) => {
        if (event.kind === 'state') setIsLive(event.isLive);
        onEvent(event);
      }),
    [teamId, onEvent],
  );
  return isLive;
};
