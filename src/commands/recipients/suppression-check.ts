/** Tells which addresses are suppressed, from the event log itself. For a team without suppressions nothing is read. */
import type { HasSuppressions, RecipientNeeds } from './needs.js';
import type { Loaded } from '../core/ports.js';
import {
  suppressionIdOfFingerprint,
  suppressionStream,
  teamStream,
  type StreamName,
  type SuppressionId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { MaybePromise } from '../../domain/core/decider.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { TeamState } from '../../domain/teams/state.js';
import { namesOf } from '../../event-log/codec.js';
import { boundedCache } from '../../shared/cache.js';

type Deps = Pick<RecipientNeeds, 'eventLog' | 'keys'>;

/** In: an address as emails have it; `list` if only mail of that list is suppressed. Letter case does not count, also before the @. */
export const suppressionIdOf = (
  { keys }: Readonly<{ keys: Pick<Deps['keys'], 'fingerprint'> }>,
  teamId: TeamId,
  address: string,
  list?: string,
): SuppressionId => {
  const parts = [teamId, address.toLowerCase()];
  return suppressionIdOfFingerprint(keys.fingerprint('suppression', JSON.stringify(list === undefined ? parts : [...parts, list])));
};

const suppressed = namesOf(['AddressSuppressed', 'SuppressedAddressErased']);

/** The last event of the stream tells it. */
export const isSuppressedNow = async (deps: Pick<Deps, 'eventLog'>, id: SuppressionId): Promise<boolean> => {
  const last = await deps.eventLog.last(suppressionStream(id));
  return last !== undefined && suppressed.has(last.storedType);
};

/** Whether the address gets no mail at all, or none of that list. */
const isSuppressed = async (deps: Deps, teamId: TeamId, address: string, list: string | undefined): Promise<boolean> => {
  const fromAll = isSuppressedNow(deps, suppressionIdOf(deps, teamId, address));
  if (list === undefined) return fromAll;
  return (await Promise.all([fromAll, isSuppressedNow(deps, suppressionIdOf(deps, teamId, address, list))])).includes(true);
};

/** The places of the suppressed addresses. `list`: the list of the mail that is to be sent. */
export const suppressedPlaces = async (
  deps: Deps,
  teamId: TeamId,
  addresses: readonly Readonly<{ email: string }>[],
  list: string | undefined,
): Promise<readonly number[]> => {
  const are = await Promise.all(addresses.map(({ email }) => isSuppressed(deps, teamId, email, list)));
  return are.flatMap((is, index) => (is ? [index] : []));
};

type HasSuppressionsPorts = Readonly<{
  team: (stream: StreamName) => MaybePromise<Loaded<TeamState>>;
  clock: Pick<Clock, 'monotonic'>;
  freshnessMs: number;
}>;

const TEAMS_MAX = 10_000;

/** A process whose state cache does not follow the log would read the stream of the team for each email: it reads it once per `freshnessMs`. */
export const openHasSuppressions = ({ team, clock, freshnessMs }: HasSuppressionsPorts): HasSuppressions => {
  const read = boundedCache<TeamId, Readonly<{ has: boolean; untilMs: number }>>({ entriesMax: TEAMS_MAX });
  const hasOf = ({ state }: Loaded<TeamState>): boolean => state?.hasSuppressions === true;
  return (teamId) => {
    const atMs = clock.monotonic();
    const known = read.get(teamId);
    if (known !== undefined && (known.has || atMs < known.untilMs)) return known.has;
    const loaded = team(teamStream(teamId));
    if (!(loaded instanceof Promise)) return hasOf(loaded);
    return loaded.then((found) => {
      const has = hasOf(found);
      read.set(teamId, { has, untilMs: atMs + freshnessMs });
      return has;
    });
  };
};
