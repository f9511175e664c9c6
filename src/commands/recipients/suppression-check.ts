/** Tells which addresses are suppressed, from the event log itself. For a team without suppressions nothing is read. */
import type { RecipientNeeds } from './needs.js';
import {
  suppressionIdOfFingerprint,
  suppressionStream,
  teamStream,
  type SuppressionId,
  type TeamId,
} from '../../domain/core/ids.js';
import { namesOf } from '../../event-log/codec.js';

type Deps = Pick<RecipientNeeds, 'eventLog' | 'keys'>;

/**
 * In: an address as emails have it; `list` if only mail of that list is suppressed. Letter case does not count, also
 * before the @.
 */
export const suppressionIdOf = (
  { keys }: Readonly<{ keys: Pick<Deps['keys'], 'fingerprint'> }>,
  teamId: TeamId,
  address: string,
  list?: string,
): SuppressionId => {
  const parts = [teamId, address.toLowerCase()];
  return suppressionIdOfFingerprint(
    keys.fingerprint('suppression', JSON.stringify(list === undefined ? parts : [...parts, list])),
  );
};

const suppressed = namesOf(['AddressSuppressed', 'SuppressedAddressErased']);

/** The last event of the stream tells it. */
export const isSuppressedNow = async (deps: Pick<Deps, 'eventLog'>, id: SuppressionId): Promise<boolean> => {
  const last = await deps.eventLog.last(suppressionStream(id));
  return last !== undefined && suppressed.has(last.storedType);
};

/** Whether the address gets no mail at all, or none of that list. */
const isSuppressed = async (
  deps: Deps,
  teamId: TeamId,
  address: string,
  list: string | undefined,
): Promise<boolean> => {
  const fromAll = isSuppressedNow(deps, suppressionIdOf(deps, teamId, address));
  if (list === undefined) return fromAll;
  return (await Promise.all([fromAll, isSuppressedNow(deps, suppressionIdOf(deps, teamId, address, list))])).includes(
    true,
  );
};

/** The places of the suppressed addresses. `list`: the list of the mail that is to be sent. */
export const suppressedPlaces = async (
  deps: Deps & Pick<RecipientNeeds, 'team'>,
  teamId: TeamId,
  addresses: readonly Readonly<{ email: string }>[],
  list: string | undefined,
): Promise<readonly number[]> => {
  const { state: team } = await deps.team(teamStream(teamId));
  if (team?.hasSuppressions !== true) return [];
  const are = await Promise.all(addresses.map(({ email }) => isSuppressed(deps, teamId, email, list)));
  return are.flatMap((is, index) => (is ? [index] : []));
};
