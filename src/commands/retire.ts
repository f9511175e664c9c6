/**
 * Takes what is left of old emails, bulk sends and months of the audit log out of the log: the last events of their streams say again what is
 * counted of them, and keep the hashes of the others.
 */
import { whatIsFreed } from './credits.js';
import type { CommandDeps } from './deps.js';
import { auditOverAt } from '../domain/audit/months.js';
import type { EmailEvent } from '../domain/email/events.js';
import { evolveEmail, type EmailState } from '../domain/email/state.js';
import { retirementOf } from '../domain/email/retirement.js';
import { mayBeRetired } from '../domain/email/timers.js';
import type { DomainEvent, Recorded } from '../domain/events.js';
import { assertDefined, batchStream, parseBatchId, splitStream, type StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import { DAY_MS } from '../domain/time.js';
import { namesOf } from '../event-log/codec.js';
import { versionOf, type Cause, type StreamVersion } from '../event-log/event-log.js';

export type RetireDeps = Pick<CommandDeps, 'eventLog' | 'limits'> &
  Readonly<{
    /** Whether as many templates or tags as may have a row of their own on that day of that team have one. */
    isFull: (teamId: string, day: string) => Promise<boolean>;
  }>;

/** Which event of the log, counted from 1, a revision of a stream is; undefined where that is not known, or no seal covers it. */
export type OrdinalOf = (stream: StreamName, revision: number) => number | undefined;

/** Longer streams stay: the hashes of their events would not fit into one event. */
export const RETIRED_EVENTS_MAX = 2_000;

/** Of others so many are told of by each of several events. Still longer ones stay: they are read at once. */
const LONG_STREAM_EVENTS_MAX = 100_000;

/** It is said of the stream up to that position what leaves. */
export type Retired = Readonly<{ stream: StreamName; position: number }>;

/**
 * Appends the last events of a stream whose time is over. undefined where something still speaks against it: then the stream stays as it is.
 * Nothing is removed from the log by this.
 */
export const retireStream = async (
  deps: RetireDeps,
  stream: StreamName,
  ordinalOf: OrdinalOf,
  cause: Cause,
): Promise<Retired | undefined> => {
  const { eventLog } = deps;
  const { kind } = splitStream(stream);
  const isCounted = kind === 'email' || kind === 'batch';
  const recorded = await eventLog.load(stream, 0, []);
  const [first, last] = [recorded[0], recorded.at(-1)];
  if (first === undefined || last === undefined || first.revision !== 0) return undefined;
  if (recorded.length > (isCounted ? RETIRED_EVENTS_MAX : LONG_STREAM_EVENTS_MAX)) return undefined;
  if ((await eventLog.existingKey(stream)) !== undefined) return undefined;
  if (!isCounted) return retireWhole(deps, stream, recorded, { ordinalOf, cause });
  const places = placesOf(stream, recorded, ordinalOf);
  if (places === undefined) return undefined;
  const ending = kind === 'batch' ? endingOfBatch(last, places, cause.at) : await endingOfEmail(deps, recorded, places, cause.at);
  if (ending === undefined) return undefined;
  // They name the keys of the stream: an older copy of the keys may bring them back.
  const { teamId } = first.metadata;
  const { position } = await eventLog.append(stream, versionOf(last), ending, { ...cause, teamId });
  return { stream, position };
};

const placesOf = (stream: StreamName, recorded: readonly Recorded[], ordinalOf: OrdinalOf): Places | undefined => {
  const ordinals = recorded.flatMap(({ revision }) => ordinalOf(stream, revision) ?? []);
  if (ordinals.length !== recorded.length) return undefined;
  return { position: recorded[0]?.position ?? 0, ordinals, hashes: recorded.map(({ hash }) => hash) };
};

/** Of streams of which nothing is counted. A long one is told of by several events: where that was broken off, it goes on. */
const retireWhole = async (
  { eventLog, limits }: RetireDeps,
  stream: StreamName,
  recorded: readonly Recorded[],
  { ordinalOf, cause }: Readonly<{ ordinalOf: OrdinalOf; cause: Cause }>,
): Promise<Retired | undefined> => {
  const told = recorded.findIndex(({ event }) => event.type === 'StreamRetired');
  const facts = told < 0 ? recorded : recorded.slice(0, told);
  const lastFact = facts.at(-1);
  if (lastFact === undefined || !mayLeave(stream, lastFact, cause.at, limits)) return undefined;
  let noted = 0;
  for (const { event } of recorded.slice(facts.length)) {
    if (event.type !== 'StreamRetired' || event.data.first !== facts.length) return undefined;
    noted += event.data.hashes.length;
  }
  const last = assertDefined(recorded.at(-1), 'last event');
  let version: StreamVersion = versionOf(last);
  let { position } = last;
  while (noted < facts.length) {
    const some = placesOf(stream, facts.slice(noted, noted + RETIRED_EVENTS_MAX), ordinalOf);
    if (some === undefined) return undefined;
    const data = { at: cause.at, first: facts.length, from: noted, ordinals: [...some.ordinals], hashes: [...some.hashes] };
    const { teamId } = lastFact.metadata;
    const appended = await eventLog.append(stream, version, [{ type: 'StreamRetired', data }], { ...cause, teamId });
    [version, position, noted] = [appended, appended.position, noted + some.hashes.length];
  }
  return { stream, position };
};

/** Of the audit log: once its month is over for as long as it is kept, and from where was called then is forgotten. */
const mayLeave = (stream: StreamName, lastFact: Recorded, at: string, { auditDays }: Pick<Limits, 'auditDays'>): boolean => {
  const { kind } = splitStream(stream);
  if (kind !== 'audit' && kind !== 'auditOrigins') return false;
  if (kind === 'auditOrigins' && lastFact.event.type !== 'CallOriginsForgotten') return false;
  return auditOverAt(stream, auditDays) <= Date.parse(at);
};

type Places = Parameters<typeof retirementOf>[1];

const endingOfBatch = (last: Recorded, { ordinals, hashes }: Places, at: string): readonly DomainEvent[] | undefined =>
  last.event.type === 'BatchRemoved' ? [{ type: 'BatchRetired', data: { at, ordinals: [...ordinals], hashes: [...hashes] } }] : undefined;

/** What may stand last in the stream of a bulk send of which nothing shows anything any more. */
const batchGone = namesOf(['BatchRemoved', 'BatchRetired']);

const endingOfEmail = async (
  { eventLog, limits, isFull }: RetireDeps,
  recorded: readonly Recorded[],
  places: Places,
  at: string,
): Promise<readonly DomainEvent[] | undefined> => {
  const events = recorded.map(({ event }) => event as EmailEvent);
  const email = events.reduce<EmailState>(evolveEmail, undefined);
  if (email === undefined || !mayBeRetired(email, at, limits.archiveDays * DAY_MS)) return undefined;
  // Credits that were given back name this stream, and whoever gives back goes on from there.
  if (whatIsFreed(recorded) !== undefined) return undefined;
  const { batch } = email.accepted;
  if (batch !== undefined) {
    const last = await eventLog.last(batchStream(assertDefined(parseBatchId(batch.id), 'batch id')));
    if (last !== undefined && !batchGone.has(last.storedType)) return undefined;
  }
  const ending = retirementOf(events, places, at);
  const { teamId } = recorded[0]!.metadata;
  for (const event of ending ?? []) if (event.type === 'EmailSummarised' && (await isFull(teamId, event.data.day))) return undefined;
  return ending;
};
