/**
 * The log of calls in MongoDB. The server deletes calls by their age itself (an index with a time to live); of a team
 * with too many the oldest are deleted here.
 */
import type { CallFilter, CallPage, LoggedCall, RequestLog } from '../../domain/ports/request-log.js';
import { idRangeOf, timeOfCall } from '../../domain/ports/request-log.js';
import type { Logger } from '../../domain/ports/logger.js';
import { DAY_MS } from '../../domain/core/time.js';
import {
  codeOf,
  isDuplicateKey,
  openMongo,
  tellingAway,
  type Collection,
  type Db,
  type Filter,
} from '../mongodb/client.js';

/** `_id`: the id of the call. `at`: its time, for the index. */
type Row = { _id: string; at: Date } & Omit<LoggedCall, 'id'>;

type Options = Readonly<{ callsMax: number; days: number; collection?: string }>;

const DAY_S = DAY_MS / 1_000;
const EXPIRY_INDEX = 'at_1';
/** IndexOptionsConflict, IndexKeySpecsConflict: an index of that name exists with other options. */
const indexConflicts: ReadonlySet<number> = new Set([85, 86]);
const INDEX_NOT_FOUND = 27;
const ATTEMPTS_MAX = 3;

/** A crash of the process loses its last second, so a write need not survive one of the server either. */
const writes = { ordered: false, writeConcern: { w: 1 } } as const;

/** Rejects if the server cannot be used. */
export const openMongoRequestLog = async (
  server: Readonly<{ url: string; setting?: string; logger: Logger }>,
  options: Options,
): Promise<RequestLog> => {
  const mongo = await openMongo(server);
  try {
    return tellingAway(mongo, 'log of calls', await requestLogOn(mongo.db, mongo.close, options));
  } catch (fault) {
    await mongo.close();
    throw fault;
  }
};

/** The log in a database. */
export const requestLogOn = async (
  db: Db,
  close: () => Promise<void>,
  { callsMax, days, collection = 'requestLog' }: Options,
): Promise<RequestLog> => {
  const rows = db.collection<Row>(collection);
  await rows.createIndex({ team: 1, _id: -1 });
  await expireAfter(rows, days * DAY_S);
  const slack = Math.ceil(callsMax / 20);
  /** Calls that this process has written since it last looked at how many the team has. */
  const unseen = new Map<string, number>();

  const keepNewest = async (team: string): Promise<void> => {
    const [beyond] = await rows.find({ team }).sort({ _id: -1 }).skip(callsMax).limit(1).project({ _id: 1 }).toArray();
    if (beyond !== undefined) await rows.deleteMany({ team, _id: { $lte: String(beyond['_id']) } });
  };

  return {
    write: async (calls) => {
      if (calls.length === 0) return;
      await rows.insertMany(calls.map(rowOf), writes).catch((fault: unknown) => {
        if (!isDuplicateKey(fault)) throw fault;
      });
      for (const [team, count] of countedByTeam(calls)) {
        // A team is unknown to a process that has just started, whatever others wrote.
        const known = (unseen.get(team) ?? slack) + count;
        const isDue = known >= slack;
        unseen.set(team, isDue ? 0 : known);
        if (isDue) await keepNewest(team);
      }
    },
    find: async (team, filter, page) => {
      const found = await rows
        .find(filterOf(team, filter, page))
        .sort({ _id: -1 })
        .skip(page.skip ?? 0)
        .limit(page.limit)
        .toArray();
      return found.map(({ _id: id, at: _, ...call }) => ({ id, ...call }));
    },
    count: (team, filter, max) => rows.countDocuments(filterOf(team, filter), { limit: max }),
    expire: async (beforeMs) => void (await rows.deleteMany({ at: { $lt: new Date(beforeMs) } })),
    close,
  };
};

/** Another number of days replaces the index: a user that may read and write may not change one. */
const expireAfter = async (rows: Collection<Row>, seconds: number, attempt = 1): Promise<void> => {
  try {
    await rows.createIndex({ at: 1 }, { name: EXPIRY_INDEX, expireAfterSeconds: seconds });
  } catch (fault) {
    // Processes that start together replace it together.
    if (!indexConflicts.has(codeOf(fault) ?? 0) || attempt === ATTEMPTS_MAX) throw fault;
    await rows.dropIndex(EXPIRY_INDEX).catch((missing: unknown) => {
      if (codeOf(missing) !== INDEX_NOT_FOUND) throw missing;
    });
    await expireAfter(rows, seconds, attempt + 1);
  }
};

const rowOf = ({ id, ...call }: LoggedCall): Row => ({ _id: id, at: new Date(timeOfCall(id)), ...call });

const countedByTeam = (calls: readonly LoggedCall[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { team } of calls) counts.set(team, (counts.get(team) ?? 0) + 1);
  return counts;
};

const filterOf = (team: string, filter: CallFilter, { before }: Pick<CallPage, 'before'> = {}): Filter<Row> => {
  const { first, end } = idRangeOf(filter, before);
  const { actorId, method, status, code, requestId } = filter;
  const id = { ...(first === undefined ? {} : { $gte: first }), ...(end === undefined ? {} : { $lt: end }) };
  return {
    team,
    ...(Object.keys(id).length === 0 ? {} : { _id: id }),
    ...(actorId === undefined ? {} : { 'actor.id': actorId }),
    ...(method === undefined ? {} : { method }),
    ...(status === undefined ? {} : { status: { $gte: status.first, $lte: status.last } }),
    ...(code === undefined ? {} : { code }),
    ...(requestId === undefined ? {} : { requestId }),
  };
};
