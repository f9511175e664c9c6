/** Who did what in a team, with the names of people, which no read model has. */
import { loadState } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { userFold } from '../people/addresses.js';
import type { TeamActivity } from '../../api/team-activity.js';
import { oauthClientStream, oauthGrantStream, parseOAuthGrantId, parseUserId, userStream } from '../../domain/core/ids.js';
import type { ActivityListing } from '../../domain/teams/activity.js';

type Actor = TeamActivity['actor'];
type NameOf = (userId: string) => Promise<string | null>;

const namesOfPeople = (deps: CommandDeps): NameOf => {
  const known = new Map<string, Promise<string | null>>();
  const read = async (text: string): Promise<string | null> => {
    const id = parseUserId(text);
    return id === undefined ? null : ((await loadState(deps.eventLog, userStream(id), userFold)).state?.name ?? null);
  };
  return (userId) => {
    const name = known.get(userId) ?? read(userId);
    known.set(userId, name);
    return name;
  };
};

/** An app is named by the grant under which it acted. */
const appOf = async (deps: CommandDeps, text: string): Promise<Actor> => {
  const grantId = parseOAuthGrantId(text);
  const grant = grantId && (await deps.oauthGrant(oauthGrantStream(grantId))).state;
  if (grant === undefined) return { type: 'app', id: null, name: null };
  const { state: app } = await deps.oauthApp(oauthClientStream(grant.clientId));
  return { type: 'app', id: grant.clientId, name: app?.name ?? null };
};

const actorOf = async (deps: CommandDeps, nameOf: NameOf, { actor, actorName }: ActivityListing): Promise<Actor> => {
  const at = actor.indexOf(':');
  const [kind, id] = at < 0 ? [actor, ''] : [actor.slice(0, at), actor.slice(at + 1)];
  if (kind === 'user') return { type: 'user', id, name: await nameOf(id) };
  if (kind === 'apiKey') return { type: 'api-key', id, name: actorName };
  if (kind === 'grant') return appOf(deps, id);
  return { type: kind === 'cli' ? 'operator' : 'service', id: null, name: null };
};

/** In: a page of the list. Out: the same, as members see it. */
export const describeActivity = async (deps: CommandDeps, page: readonly ActivityListing[]): Promise<TeamActivity[]> => {
  const nameOf = namesOfPeople(deps);
  return Promise.all(
    page.map(async (listing) => {
      const { eventId, at, kind, target, id, name, role } = listing;
      return {
        id: eventId,
        at,
        kind,
        actor: await actorOf(deps, nameOf, listing),
        target: { type: target, id, name: target === 'member' ? await nameOf(id) : name },
        ...(role === undefined ? {} : { role }),
      };
    }),
  );
};
