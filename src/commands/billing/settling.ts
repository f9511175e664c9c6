/**
 * Finds out what became of open reservations. One whose email does not exist is returned only when it cannot come to be any more: its
 * stream then begins with `EmailDeleted`, which refuses every append that is still under way.
 */
import type { CreditsLedger } from './ledger.js';
import { OTHERS_MISSING_AFTER_MS, OTHERS_SETTLED_AFTER_MS, SETTLED_AFTER_MS } from '../../domain/billing/decider.js';
import { isEmailReference, type Reservation } from '../../domain/billing/credits.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import { creditsStream, type StreamName, type TeamId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { namesOf } from '../../event-log/codec.js';
import { startOf, type Cause, type EventLog } from '../../event-log/event-log.js';

export type SettlingDeps = Readonly<{ eventLog: Pick<EventLog, 'append' | 'last'>; ledger: CreditsLedger }>;

/** Reservations that are looked at by one call, and how many at once. */
const LOOKED_AT_MAX = 1_000;
const AT_ONCE = 32;

const tombstones = namesOf(['EmailDeleted']);

/** Whether a stream begins with its own end: its email was given up before it came to be. */
export const isGivenUp = ({ revision, storedType }: Readonly<{ revision: number; storedType: string }>): boolean =>
  revision === 0 && tombstones.has(storedType);

export const settleReservations = async (deps: SettlingDeps, teamId: TeamId, cause: Cause): Promise<void> => {
  const stream = creditsStream(teamId);
  const nowMs = Date.parse(cause.at);
  const { open } = await deps.ledger.read(stream);
  const emails = duePart(open, isEmailReference, isoTime(nowMs - SETTLED_AFTER_MS));
  const others = duePart(open, (reference) => !isEmailReference(reference), isoTime(nowMs - OTHERS_SETTLED_AFTER_MS));
  const lostEmails = await missingOf(emails, (reference) => isMissingEmail(deps, reference as StreamName, cause));
  const lost = new Set(await missingOf(others, async (reference) => (await deps.eventLog.last(reference as StreamName)) === undefined));
  // What may still come to be is looked at again, and what stands behind it with it.
  const waits = others.findIndex(([reference, { at }]) => lost.has(reference) && at > isoTime(nowMs - OTHERS_MISSING_AFTER_MS));
  const settled = waits < 0 ? others : others.slice(0, waits);
  if (emails.length + settled.length === 0) return;
  const missing = [...lostEmails, ...settled.flatMap(([reference]) => (lost.has(reference) ? [reference] : []))];
  const upTo = emails.at(-1)?.[1].revision ?? -1;
  const othersUpTo = settled.at(-1)?.[1].revision ?? -1;
  await deps.ledger.decide(stream, () => ({ type: 'Settle', at: cause.at, upTo, othersUpTo, missing }), cause);
};

type Entry = readonly [string, Reservation];

/** The oldest of those that were made by that moment, without a gap. */
const duePart = (open: ReadonlyMap<string, Reservation>, isMeant: (reference: string) => boolean, madeBy: string): readonly Entry[] => {
  const due: Entry[] = [];
  for (const entry of open) {
    if (!isMeant(entry[0])) continue;
    if (entry[1].at > madeBy || due.length === LOOKED_AT_MAX) return due;
    due.push(entry);
  }
  return due;
};

const missingOf = async (entries: readonly Entry[], isMissing: (reference: string) => Promise<boolean>): Promise<readonly string[]> => {
  const missing: string[] = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const part = entries.slice(from, from + AT_ONCE).map(([reference]) => reference);
    const found = await Promise.all(part.map(isMissing));
    missing.push(...part.filter((_, index) => found[index]));
  }
  return missing;
};

/** Where there is no such email, sees to it that there never will be. Rejects where that is not certain. */
const isMissingEmail = async ({ eventLog }: SettlingDeps, stream: StreamName, cause: Cause): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last !== undefined) return isGivenUp(last);
  try {
    await eventLog.append(stream, startOf(stream), [{ type: 'EmailDeleted', data: { at: cause.at } }], cause);
    return true;
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    return isGivenUp((await eventLog.last(stream))!);
  }
};
