/**
 * Removes a team that was deleted so long ago that nobody can take it back, with all that is sealed of it. The fact that it is removed comes
 * first, and that nothing is left of it last: where the program dies in between, the next run finds the team again and goes on.
 */
import type { CommandDeps } from '../core/deps.js';
import { handle } from '../core/handle.js';
import { closings, type Closing, type RemovalDeps } from './closings.js';
import { eraseStream } from '../core/erase.js';
import type { EventType, Recorded, StreamKind } from '../../domain/events.js';
import {
  assertDefined,
  parseTeamId,
  senderDomainsStream,
  splitStream,
  teamStream,
  type StreamName,
  type TeamId,
} from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { CLOCKS_APART_MS } from '../../domain/core/restore-period.js';
import { teamDecider } from '../../domain/teams/lifecycle.js';
import { DAY_MS } from '../../domain/core/time.js';
import { isReadable } from '../../event-log/decoding.js';
import type { Cause } from '../../event-log/event-log.js';

/** Teams that were deleted before that moment are removed. */
export const teamsRemovableBefore = ({ clock, limits }: Pick<CommandDeps, 'clock' | 'limits'>): string =>
  isoTime(clock.now() - limits.teamRestoreDays * DAY_MS - CLOCKS_APART_MS);

/** Streams that are closed side by side: they share commits. */
const AT_ONCE = 16;

/** Out: 'unfinished' where something of the team could not be closed yet, or the signal aborted: done again, it goes on. Nothing happens to a team that lives, or was deleted later. */
export const removeTeam = async (
  deps: RemovalDeps,
  teamId: TeamId,
  given: Cause,
  signal: AbortSignal,
): Promise<'removed' | 'unfinished' | 'kept'> => {
  const cause = { ...given, teamId };
  const command = { type: 'RemoveTeam' as const, at: cause.at, deletedSince: teamsRemovableBefore(deps) };
  const { state } = await handle(deps.eventLog, teamStream(teamId), teamDecider, command, cause);
  if (state?.removedAt === undefined) return 'kept';
  if (state.erasedAt === undefined) {
    // What may make other streams comes first.
    for (const kinds of [FIRST, REST]) if (!(await closeStreams(deps, kinds, { teamId, cause, signal }))) return 'unfinished';
    await handle(deps.eventLog, teamStream(teamId), teamDecider, { type: 'NoteErased', at: isoTime(deps.clock.now()) }, cause);
  }
  return 'removed';
};

type Work = Readonly<{ teamId: TeamId; cause: Cause; signal: AbortSignal }>;
type Kinds = Readonly<Partial<Record<StreamKind, Closing>>>;

const { webhook, batch, ...others } = closings;
const FIRST: Kinds = { webhook, batch };
const REST: Kinds = others;

const closingOf = (kinds: Kinds, kind: string): Closing | undefined => kinds[kind as StreamKind];

const closeStreams = async (deps: RemovalDeps, kinds: Kinds, work: Work): Promise<boolean> => {
  const { teamId, signal } = work;
  const types = [...new Set(Object.values(kinds).flatMap(({ begunBy }): readonly EventType[] => begunBy))];
  let isAllClosed = true;
  const options = { kinds: Object.keys(kinds), types, decrypt: [], signal } as const;
  for await (const { events, unreadable } of deps.eventLog.readAll(0, options)) {
    // A stream that cannot be read has no closing fact, and its key goes all the same.
    for (const { stream } of unreadable) if (await isOf(deps, teamId, stream as StreamName)) await eraseStream(deps, stream as StreamName);
    const own = events.filter(({ metadata }) => metadata.teamId === teamId);
    for (let from = 0; from < own.length; from += AT_ONCE) {
      if (signal.aborted) return false;
      const closed = await Promise.all(own.slice(from, from + AT_ONCE).map((one) => closeOne(deps, kinds, one, work)));
      isAllClosed &&= closed.every((one) => one);
    }
  }
  return isAllClosed && !signal.aborted;
};

/** As far as any event of the stream can be read. */
const isOf = async ({ eventLog }: RemovalDeps, teamId: TeamId, stream: StreamName): Promise<boolean> =>
  (await eventLog.inspect(stream)).some((one) => isReadable(one) && one.metadata.teamId === teamId);

/** A fault with one stream keeps no other; the team is not done before it is mended. */
const closeOne = async (deps: RemovalDeps, kinds: Kinds, { stream }: Recorded, { cause, signal }: Work): Promise<boolean> => {
  const { kind, id } = splitStream(stream);
  const closing = closingOf(kinds, kind);
  if (closing === undefined) return true;
  try {
    return await closing.close(deps, id, { cause: { ...cause, at: isoTime(deps.clock.now()) }, signal });
  } catch (fault) {
    if (signal.aborted) return false;
    deps.logger.error(
      { stream, err: fault instanceof Error ? fault : undefined },
      'a stream of a removed team could not be closed, trying again',
    );
    return false;
  }
};

/**
 * Destroys what has no closing fact in its own stream, of the teams of which the log says between those positions that nothing is left: the
 * keys may be an older copy. Safe to repeat.
 */
export const eraseRestOfRemovedTeams = async (
  deps: Parameters<typeof eraseStream>[0],
  after: number,
  upTo: number,
  signal?: AbortSignal,
): Promise<void> => {
  const options = { kinds: ['team'], types: ['TeamErased'] as const, decrypt: [], ...(signal && { signal }) };
  for await (const { events, position: reached } of deps.eventLog.readAll(after, options)) {
    for (const { stream, position } of events)
      if (position <= upTo) await eraseStream(deps, senderDomainsStream(assertDefined(parseTeamId(splitStream(stream).id), 'team id')));
    if (reached >= upTo) return;
  }
};
