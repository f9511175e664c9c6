/** Lets concurrent writes share one durable commit: what arrives in one turn of the event loop is committed together. */
import type { Database } from './database.js';

/** A refused request is rejected alone and must have written nothing; the others of its group are committed. */
export type Applied<Result> = Readonly<{ result: Result }> | Readonly<{ refused: Error }>;

export type GroupCommitOptions<Request, Result> = Readonly<{
  database: Database;
  /** Writes one request inside the group's transaction. Throwing rolls the whole group back and rejects all of it. */
  apply: (request: Request) => Applied<Result>;
  /** How much a request adds to its group, e.g. its number of events. */
  weight: (request: Request) => number;
  /** Called inside the transaction before the first request of a group. */
  begun?: () => void;
  /** Called when the group is durable, before its promises resolve. */
  committed?: () => void;
}>;

export type GroupCommit<Request, Result> = Readonly<{
  /** Resolves when the request is durable; rejects with the refusal, or with the cause where the disk refused the group. */
  run: (request: Request) => Promise<Result>;
  /** Commits what waits, then refuses what comes. */
  close: () => void;
}>;

/** A group is closed when its weight reaches this, so that one commit does not hold up the event loop. */
const weightMax = 500;
/** Requests that wait; beyond it the caller is told to come again. */
const waitingMax = 200_000;

type Waiting<Request, Result> = Readonly<{
  request: Request;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}>;

export const groupCommit = <Request, Result>(options: GroupCommitOptions<Request, Result>): GroupCommit<Request, Result> => {
  const { database, apply, weight } = options;
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  let waiting: Waiting<Request, Result>[] = [];
  let scheduled = false;
  let closed = false;

  const takeGroup = (): Waiting<Request, Result>[] => {
    let taken = 0;
    for (let total = 0; taken < waiting.length && total < weightMax; taken += 1) total += weight(waiting[taken]!.request);
    const group = waiting;
    waiting = taken === group.length ? [] : group.splice(taken);
    return group;
  };

  const write = (group: readonly Waiting<Request, Result>[]): Applied<Result>[] => {
    begin.run();
    options.begun?.();
    const outcomes = group.map(({ request }) => apply(request));
    commit.run();
    return outcomes;
  };

  const flush = (): void => {
    scheduled = false;
    const group = takeGroup();
    if (waiting.length > 0) schedule();
    if (group.length === 0) return;
    let outcomes: Applied<Result>[];
    try {
      // A rollback that the disk refused is made up for before anything new is written.
      if (database.inTransaction) database.exec('ROLLBACK');
      outcomes = write(group);
    } catch (error) {
      rollBack(database);
      for (const { reject } of group) reject(error);
      return;
    }
    options.committed?.();
    group.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]!;
      if ('refused' in outcome) reject(outcome.refused);
      else resolve(outcome.result);
    });
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  return {
    run: (request) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error('the store is closed'));
        if (waiting.length >= waitingMax) return reject(new Error(`more than ${waitingMax} writes are waiting`));
        waiting.push({ request, resolve, reject });
        schedule();
      }),
    close: () => {
      while (waiting.length > 0) flush();
      closed = true;
    },
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
