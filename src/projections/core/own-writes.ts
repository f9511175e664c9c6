/** Reading one's own writes in lists: what this process appended, and the wait until the read models have it. */
import { splitStream, type TeamId } from '../../domain/core/ids.js';
import type { Runner } from './runner.js';

export type OwnWrites = Readonly<{
  /** Told of each append of this process. */
  note: (stream: string, teamId: string, position: number) => void;
  /** The position of the newest event that this process appended for the team, by kind of stream. */
  of: (teamId: TeamId) => ReadonlyMap<string, number>;
  /** The position of the newest of them, 0 where there is none. */
  newest: (teamId: TeamId) => number;
}>;

export const openOwnWrites = (): OwnWrites => {
  const positions = new Map<string, Map<string, number>>();
  /** Asked for twice by each call that writes. */
  const newest = new Map<string, number>();
  return {
    note: (stream, teamId, position) => {
      let byKind = positions.get(teamId);
      if (byKind === undefined) positions.set(teamId, (byKind = new Map()));
      const { kind } = splitStream(stream);
      // Answers of appends that were under way together may come in any order.
      byKind.set(kind, Math.max(position, byKind.get(kind) ?? 0));
      newest.set(teamId, Math.max(position, newest.get(teamId) ?? 0));
    },
    of: (teamId) => positions.get(teamId) ?? new Map<string, number>(),
    newest: (teamId) => newest.get(teamId) ?? 0,
  };
};

/** Waits for each read model to have the events of its own kinds; what is not there in time is shown by the next request. */
export const caughtUpWith = async (runners: Iterable<Runner>, written: ReadonlyMap<string, number>, withinMs: number): Promise<void> => {
  const behind = [...runners].flatMap((runner) => {
    const positions = runner.kinds.map((kind) => written.get(kind) ?? 0);
    const position = Math.max(0, ...positions);
    return runner.position() < position ? [{ runner, position }] : [];
  });
  if (behind.length === 0) return;
  const signal = AbortSignal.timeout(withinMs);
  await Promise.all(behind.map(({ runner, position }) => runner.caughtUp(position, signal)));
};

/** The same for a position that was given: what all read models have folded of up to there, whoever wrote it. */
export const caughtUpTo = async (runners: Iterable<Runner>, position: number, withinMs: number): Promise<void> => {
  const behind = [...runners].filter((runner) => runner.position() < position);
  if (behind.length === 0) return;
  const signal = AbortSignal.timeout(withinMs);
  await Promise.all(behind.map((runner) => runner.caughtUp(position, signal)));
};
