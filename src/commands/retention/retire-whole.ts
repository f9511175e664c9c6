/** Takes streams of which nothing is counted out of the log: of months of the audit log, and of teams that were removed. */
import type { CommandDeps } from '../core/deps.js';
import { auditOverAt, teamOverAt } from '../../domain/access/months.js';
import type { LogPlaces } from '../../domain/email/retirement.js';
import type { Recorded } from '../../domain/events.js';
import { assertDefined, parseTeamId, splitStream, teamStream, type StreamName } from '../../domain/core/ids.js';
import { isTold } from '../../domain/teams/activity.js';
import type { TeamEvent } from '../../domain/teams/events.js';
import { evolveTeam, type TeamState } from '../../domain/teams/state.js';
import { versionOf, type Cause, type StreamVersion } from '../../event-log/event-log.js';
import { teamKinds } from '../../event-log/old-teams.js';
import { retirementMark } from '../../event-log/retirement.js';

type Deps = Pick<CommandDeps, 'eventLog' | 'limits' | 'keys'>;

/** Which event of the log, counted from 1, a revision of a stream is; undefined where that is not known, or no seal covers it. */
export type OrdinalOf = (stream: StreamName, revision: number) => number | undefined;

export type Places = LogPlaces;

/** So many events one event tells of: their hashes have to fit into it. */
export const RETIRED_EVENTS_MAX = 2_000;
/** Longer streams stay: a stream is read at once. */
const STREAM_EVENTS_MAX = 100_000;

/** It is said of the stream up to that position what leaves. */
export type Retired = Readonly<{ stream: StreamName; position: number }>;

/** Of events of a stream from revision `from` on, of whose first `first` it is said that they leave. undefined where a place is not known. */
export const placesOf = (
  { keys }: Pick<Deps, 'keys'>,
  stream: StreamName,
  { recorded, first, from, ordinalOf }: Readonly<{ recorded: readonly Recorded[]; first: number; from: number; ordinalOf: OrdinalOf }>,
): Places | undefined => {
  const ordinals = recorded.flatMap(({ revision }) => ordinalOf(stream, revision) ?? []);
  if (ordinals.length !== recorded.length) return undefined;
  const hashes = recorded.map(({ hash }) => hash);
  return { position: recorded[0]?.position ?? 0, ordinals, hashes, mark: retirementMark(keys, stream, { first, from, ordinals, hashes }) };
};

/** A long stream is told of by several events: where that was broken off, it goes on. */
export const retireWhole = async (
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
    const ids = some.filter(isTold).map(({ metadata }) => metadata.eventId);
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
