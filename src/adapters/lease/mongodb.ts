/**
 * Leases as documents of MongoDB, one for each name. Every call is one conditional change of one document, and the
 * server compares and counts by its own clock (`$$NOW`). A release leaves the document, because the next fence
 * continues from it.
 */
import type { Clock } from '../../domain/ports/clock.js';
import type { Lease, Leases } from '../../domain/ports/lease.js';
import type { Logger } from '../../domain/ports/logger.js';
import { codeOf, isDuplicateKey, openMongo, tellingAway, type Collection, type Db } from '../mongodb/client.js';

type MongoLeasesOptions = Readonly<{
  url: string;
  setting?: string;
  logger: Logger;
  /** Used for `untilMs` only, which is a hint. */
  clock: Clock;
  /** A name that never comes again, for this client. */
  freshName: () => string;
}>;

/** `_id`: the name. `instance`: the client that asked last for the holder. */
type Row = { _id: string; holder: string; instance: string; fence: number; endsAt: Date };

type Parts = Readonly<{
  clock: Clock;
  instance: string;
  close: () => Promise<void>;
  collection?: string;
  /** The expression for the server's time. Tests give a constant. */
  serverNow?: () => Date | typeof NOW;
}>;

type Claim = Readonly<{ holder: string; instance: string; ttlMs: number; now: Date | typeof NOW }>;

const NOW = '$$NOW';
const BEFORE_ALL = new Date(0);
const FAILED_TO_PARSE = 9;
/** Attempts at one name before the server's error is passed on. */
const mostAttempts = 20;

/**
 * Documents are deleted so long after their lease ended: some names, such as those of workers, are used once. A new
 * document's fence begins at the milliseconds of the server's clock, so it is higher than that of the deleted one
 * unless the clock was set back by as much.
 */
const forgottenAfterMs = 7 * 24 * 60 * 60 * 1000;

/** The server acknowledges a write when it is on the disks of a majority. */
const durable = { writeConcern: { w: 'majority', journal: true } } as const;

/** Rejects if the server cannot be used. */
export const openMongoLeases = async ({ clock, freshName, ...server }: MongoLeasesOptions): Promise<Leases> => {
  const mongo = await openMongo(server);
  try {
    return tellingAway(mongo, 'leases', await leasesOn(mongo.db, { clock, instance: freshName(), close: mongo.close }));
  } catch (error) {
    await mongo.close();
    throw error;
  }
};

/** The leases in a database. */
export const leasesOn = async (db: Db, parts: Parts): Promise<Leases> => {
  const { clock, instance, close, collection = 'leases', serverNow = () => NOW } = parts;
  const leases = db.collection<Row>(collection);
  await leases.deleteMany({ $expr: { $lt: ['$endsAt', { $subtract: [serverNow(), forgottenAfterMs] }] } }, durable);
  let closed: Promise<void> | undefined;

  const leaseOf = ({ _id, holder, fence }: Row, leftMs: number): Lease => ({
    name: _id,
    holder,
    fence,
    untilMs: Math.ceil(clock.now() + leftMs),
  });

  return {
    acquire: async (name, holder, ttlMs) => {
      const row = await take(leases, name, { holder, instance, ttlMs, now: serverNow() });
      return row?.holder === holder ? leaseOf(row, ttlMs) : undefined;
    },
    renew: async ({ name, fence }, ttlMs) => {
      const now = serverNow();
      const isHeld = { _id: name, fence, $expr: { $gt: ['$endsAt', now] } };
      const longer = [{ $set: { endsAt: { $add: [now, ttlMs] } } }];
      const row = await leases.findOneAndUpdate(isHeld, longer, { ...durable, returnDocument: 'after' });
      return row === null ? undefined : leaseOf(row, ttlMs);
    },
    release: async ({ name, fence }) =>
      void (await leases.updateOne({ _id: name, fence }, ended(serverNow()), durable)),
    read: async (name) => {
      const now = serverNow();
      const [row] = await leases
        .aggregate<Row & { leftMs: number }>([
          { $match: { _id: name, $expr: { $gt: ['$endsAt', now] } } },
          { $project: { holder: 1, fence: 1, leftMs: { $subtract: ['$endsAt', now] } } },
        ])
        .toArray();
      return row && leaseOf(row, row.leftMs);
    },
    close: () => (closed ??= leases.updateMany({ instance }, ended(serverNow()), durable).then(close, close)),
  };
};

const ended = (now: Date | typeof NOW) => [{ $set: { endsAt: { $min: ['$endsAt', now] } } }];

/** Out: the document as it now stands, whoever holds the name. */
const take = async (leases: Collection<Row>, name: string, claim: Claim): Promise<Row | null> => {
  const change = takenIfFree(claim);
  const options = { ...durable, upsert: true, returnDocument: 'after' } as const;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await leases.findOneAndUpdate({ _id: name }, change, options);
    } catch (error) {
      // Another client changed the document at this moment. The next attempt finds what it wrote.
      if (!isOvertaken(error) || attempt === mostAttempts) throw error;
    }
  }
};

/**
 * MongoDB reports a race of two upserts as a duplicate key. DocumentDB reports a race on one document as
 * `FailedToParse` of `$$NOW`.
 */
const isOvertaken = (error: unknown): boolean => isDuplicateKey(error) || codeOf(error) === FAILED_TO_PARSE;

/** A change that gives the name to `holder` if it is free or theirs, and else changes nothing. */
const takenIfFree = ({ holder, instance, ttlMs, now }: Claim) => {
  const isFree = { $lte: [{ $ifNull: ['$endsAt', BEFORE_ALL] }, now] };
  const isGiven = { $or: [isFree, { $eq: ['$holder', { $literal: holder }] }] };
  const orAsBefore = (given: unknown, before: string) => ({ $cond: [isGiven, given, before] });
  const nextFence = { $max: [{ $add: [{ $ifNull: ['$fence', 0] }, 1] }, { $toDouble: { $toLong: now } }] };
  return [
    {
      $set: {
        holder: orAsBefore({ $literal: holder }, '$holder'),
        instance: orAsBefore({ $literal: instance }, '$instance'),
        fence: { $cond: [isFree, nextFence, '$fence'] },
        endsAt: orAsBefore({ $add: [now, ttlMs] }, '$endsAt'),
      },
    },
  ];
};
