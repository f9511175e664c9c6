/**
 * Retires streams: appends the last event of an old email, bulk send, month of the audit log or removed team, which keeps what is counted of it and
 * the hashes of the events that leave the log.
 */
import type { CommandDeps } from '../core/deps.js';
import { auditOverAt, teamOverAt } from '../../domain/access/origins.js';
import { type LogPlaces, retirementOf } from '../../domain/email/retirement.js';
import type { Recorded, DomainEvent } from '../../domain/events.js';
import { assertDefined, parseTeamId, splitStream, teamStream, type StreamName, batchStream, parseBatchId } from '../../domain/core/ids.js';
import { isActivity } from '../../domain/teams/activity.js';
import type { TeamEvent } from '../../domain/teams/events.js';
import { evolveTeam, type TeamState } from '../../domain/teams/state.js';
import { versionOf, type Cause, type StreamVersion } from '../../event-log/event-log.js';
import { plainHash } from '../../event-log/hash-chain.js';
import { teamKinds, retirementMark } from '../../event-log/retirement.js';
import { batchCounted, evolveBatch, type BatchState } from '../../domain/bulk/decider.js';
import type { BatchEvent } from '../../domain/bulk/events.js';
import { whatIsFreed } from '../billing/credits.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { evolveEmail, type EmailState } from '../../domain/email/state.js';
import { mayBeRetired } from '../../domain/email/timers.js';
import { DAY_MS } from '../../domain/core/time.js';
import { namesOf } from '../../event-log/codec.js';

type Deps = Pick<CommandDeps, 'eventLog' | 'limits' | 'keys'>;

/** Which event of the log, counted from 1, a revision of a stream is; undefined where that is not known, or no seal covers it. */
export type OrdinalOf = (stream: StreamName, revision: number) => number | undefined;

type Places = LogPlaces;

/** So many events one event tells of: their hashes have to fit into it. */
const RETIRED_EVENTS_MAX = 2_000;
/** Longer streams stay: a stream is read at once. */
const STREAM_EVENTS_MAX = 100_000;

/** It is said of the stream up to that position what leaves. */
export type Retired = Readonly<{ stream: StreamName; position: number }>;

/** Of events of a stream from revision `from` on, of whose first `first` it is said that they leave. undefined where a place is not known. */
const placesOf = (
  { keys }: Pick<Deps, 'keys'>,
  stream: StreamName,
  { recorded, first, from, ordinalOf }: Readonly<{ recorded: readonly Recorded[]; first: number; from: number; ordinalOf: OrdinalOf }>,
): Places | undefined => {
  const ordinals = recorded.flatMap(({ revision }) => ordinalOf(stream, revision) ?? []);
  if (ordinals.length !== recorded.length) return undefined;
  const hashes = recorded.map(({ hash }) => plainHash(hash));
  return { position: recorded[0]?.position ?? 0, ordinals, hashes, mark: retirementMark(keys, stream, { first, from, ordinals, hashes }) };
};

/** A long stream is told of by several events: where that was broken off, it goes on. */
const retireWhole = async (
  deps: Deps,
  stream: StreamName,
  recorded: readonly Recorded[],
  { ordinalOf, cause }: Readonly<{ ordinalOf: OrdinalOf; cause: Cause }>,
): Promise<Retired | undefined> => {
  const told = recorded.findIndex(({ event }) => event.type === 'StreamRetired');
  const facts = told < 0 ? recorded : recorded.slice(0, told);
  const lastFact = facts.at(-1);
  if (lastFact === undefined || facts.length > STREAM_EVENTS_MAX) return undefined;
  if (!(await mayLeave(deps, stream, lastFact, cause.at))) return undefined;
  let noted = 0;
  for (const { event } of recorded.slice(facts.length)) {
    if (event.type !== 'StreamRetired' || event.data.first !== facts.length) return undefined;
    noted += event.data.hashes.length;
  }
  const last = assertDefined(recorded.at(-1), 'last event');
  let version: StreamVersion = versionOf(last);
  let { position } = last;
  const { teamId } = lastFact.metadata;
  while (noted < facts.length) {
    const some = facts.slice(noted, noted + RETIRED_EVENTS_MAX);
    const places = placesOf(deps, stream, { recorded: some, first: facts.length, from: noted, ordinalOf });
    if (places === undefined) return undefined;
    const ids = some.filter(isActivity).map(({ metadata }) => metadata.eventId);
    const data = {
      at: cause.at,
      first: facts.length,
      from: noted,
      ordinals: [...places.ordinals],
      hashes: [...places.hashes],
      mark: places.mark,
      ...(ids.length === 0 ? {} : { told: ids }),
    };
    const appended = await deps.eventLog.append(stream, version, [{ type: 'StreamRetired', data }], { ...cause, teamId });
    [version, position, noted] = [appended, appended.position, noted + some.length];
  }
  return { stream, position };
};

/**
 * Of the audit log: once its month is over for as long as it is kept, and from where was called then is forgotten. Of a team: once nothing
 * was left of it but the log for as long as the audit log tells of it.
 */
const mayLeave = async ({ eventLog, limits }: Deps, stream: StreamName, lastFact: Recorded, at: string): Promise<boolean> => {
  const { kind, id } = splitStream(stream);
  const nowMs = Date.parse(at);
  if (kind === 'auditOrigins' && lastFact.event.type !== 'CallOriginsForgotten') return false;
  if (kind === 'audit' || kind === 'auditOrigins') return auditOverAt(stream, limits.auditDays) <= nowMs;
  if (kind !== 'team' && !teamKinds.some((one) => one === kind)) return false;
  const teamId = parseTeamId(kind === 'team' ? id : lastFact.metadata.teamId);
  const recorded = teamId === undefined ? [] : await eventLog.load(teamStream(teamId), 0, []);
  const facts = recorded.filter(({ event }) => event.type !== 'StreamRetired');
  const team = facts.reduce<TeamState>((state, { event }) => evolveTeam(state, event as TeamEvent), undefined);
  return team?.erasedAt !== undefined && teamOverAt(team.erasedAt, limits.auditDays) <= nowMs;
};

export type RetireDeps = Pick<CommandDeps, 'eventLog' | 'limits' | 'keys'> &
  Readonly<{
    /** Whether as many templates or tags as may have a row of their own on that day of that team have one. */
    isFull: (teamId: string, day: string) => Promise<boolean>;
  }>;

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
  if (isCounted && recorded.length > RETIRED_EVENTS_MAX) return undefined;
  if ((await eventLog.existingKey(stream)) !== undefined) return undefined;
  if (!isCounted) return retireWhole(deps, stream, recorded, { ordinalOf, cause });
  const places = placesOf(deps, stream, { recorded, first: recorded.length, from: 0, ordinalOf });
  if (places === undefined) return undefined;
  const ending = kind === 'batch' ? endingOfBatch(recorded, places, cause.at) : await endingOfEmail(deps, recorded, places, cause.at);
  if (ending === undefined) return undefined;
  // They name the keys of the stream: an older copy of the keys may bring them back.
  const { teamId } = first.metadata;
  const { position } = await eventLog.append(stream, versionOf(last), ending, { ...cause, teamId });
  return { stream, position };
};

const endingOfBatch = (
  recorded: readonly Recorded[],
  { ordinals, hashes, mark }: Places,
  at: string,
): readonly DomainEvent[] | undefined => {
  if (recorded.at(-1)?.event.type !== 'BatchRemoved') return undefined;
  const batch = recorded.reduce<BatchState>((state, { event }) => evolveBatch(state, event as BatchEvent), undefined);
  const counted = batch && batchCounted(batch);
  const data = { at, ordinals: [...ordinals], hashes: [...hashes], mark, ...(counted === undefined ? {} : { counted }) };
  return [{ type: 'BatchRetired', data }];
};

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
  if ((await whatIsFreed(eventLog, recorded)) !== undefined) return undefined;
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
