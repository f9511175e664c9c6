/**
 * Lets concurrent writes share one durable commit. A commit waits for the disk and costs about the same for one write
 * as for many. Requests of one turn of the event loop are committed together, and the larger the last group was, the
 * more turns the next one waits.
 */
import { isSqliteError, type Database } from './database.js';

type GroupCommitOptions<Request, Result> = Readonly<{
  database: Database;
  /** Writes one request inside the group's transaction. Throwing rolls the whole group back and rejects all of it. */
  apply: (request: Request) => Result;
  /** The weight of a request in its group, e.g. its number of events. */
  weight: (request: Request) => number;
  /** Called inside the transaction before the first request of a group. */
  begun?: () => void;
  /** Called when the group is durable, before its promises resolve. */
  committed?: () => void;
  /**
   * The result of each request of a group that may or may not be durable. If absent, they are rejected with the cause.
   */
  unknown?: (cause: Error) => Result;
  /** A monotonic clock in ms, for tests. */
  nowMs?: () => number;
}>;

export type GroupCommit<Request, Result> = Readonly<{
  /**
   * Resolves when the request is durable. Rejects with the cause if the disk refused the group; nothing is written
   * then.
   */
  run: (request: Request) => Promise<Result>;
  /** Commits the requests that wait, and refuses later ones. */
  close: () => void;
}>;

/** A group is closed when its weight reaches this, so that one commit does not block the event loop. */
const weightMax = 500;
/** With this many requests the commit does not wait for more. */
const requestsEnough = 32;
/** For each so many requests of the last group the next one waits a turn. */
const requestsPerTurn = 4;
const turnsMax = 8;
/** A turn may be long in a busy program. After this time a group does not wait for the next one. */
const gatheredMsMax = 4;
/** Requests that wait; more are refused. */
const waitingMax = 200_000;

/**
 * A commit that fails with one of these has not begun or has not written its last page, so the transaction is certainly
 * undone.
 */
const certainCodes = ['SQLITE_BUSY', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY'];

type Waiting<Request, Result> = Readonly<{
  request: Request;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}>;

export const groupCommit = <Request, Result>(
  options: GroupCommitOptions<Request, Result>,
): GroupCommit<Request, Result> => {
  const { weight, nowMs = () => performance.now() } = options;
  const write = writer(options);
  let waiting: Waiting<Request, Result>[] = [];
  let lastGroup = 0;
  let turnsLeft = 0;
  let gatheringSinceMs = 0;
  let closed = false;

  const takeGroup = (): Waiting<Request, Result>[] => {
    let taken = 0;
    for (let total = 0; taken < waiting.length && total < weightMax; taken += 1)
      total += weight(waiting[taken]!.request);
    const group = waiting;
    waiting = taken === group.length ? [] : group.splice(taken);
    lastGroup = taken;
    return group;
  };

  const flush = (): void => {
    const group = takeGroup();
    if (waiting.length > 0) schedule();
    if (group.length > 0) write(group);
  };

  const turn = (): void => {
    turnsLeft -= 1;
    if (turnsLeft <= 0 || waiting.length >= requestsEnough || nowMs() - gatheringSinceMs >= gatheredMsMax) flush();
    else setImmediate(turn);
  };

  const schedule = (): void => {
    gatheringSinceMs = nowMs();
    turnsLeft = 1 + Math.min(turnsMax, Math.floor(lastGroup / requestsPerTurn));
    setImmediate(turn);
  };

  return {
    run: (request) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error('the store is closed'));
        if (waiting.length >= waitingMax) return reject(new Error(`more than ${waitingMax} writes are waiting`));
        waiting.push({ request, resolve, reject });
        if (waiting.length === 1) schedule();
      }),
    close: () => {
      while (waiting.length > 0) flush();
      closed = true;
    },
  };
};

/** Writes a group and settles its promises. */
const writer = <Request, Result>({
  database,
  apply,
  begun,
  committed,
  unknown,
}: GroupCommitOptions<Request, Result>) => {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');

  return (group: readonly Waiting<Request, Result>[]): void => {
    let results: Result[];
    let committing = false;
    try {
      // A rollback that the disk refused is made up for before anything new is written.
      if (database.inTransaction) database.exec('ROLLBACK');
      begin.run();
      begun?.();
      results = group.map(({ request }) => apply(request));
      committing = true;
      commit.run();
    } catch (error) {
      rollBack(database);
      const isCertain = !committing || certainCodes.some((code) => isSqliteError(error, code));
      if (isCertain || unknown === undefined) for (const { reject } of group) reject(error);
      else
        for (const { resolve } of group)
          resolve(unknown(error instanceof Error ? error : new Error('not an Error', { cause: error })));
      return;
    }
    committed?.();
    group.forEach(({ resolve }, index) => resolve(results[index]!));
  };
};

/** A failing commit may or may not have ended the transaction; the caller reports the first error, not this one's. */
const rollBack = (database: Database): void => {
  try {
    if (database.inTransaction) database.exec('ROLLBACK');
  } catch {
    // Tried again before the next group.
  }
};
