/** Apps as they come to the endpoints of OAuth: by their id, and by their secret where they have one. */
import type { CommandDeps } from '../core/deps.js';
import {
  assertDefined,
  oauthClientStream,
  parseOAuthClientId,
  parseTeamId,
  teamStream,
  type OAuthClientId,
  type TeamId,
} from '../../domain/core/ids.js';
import { isSecretOf, type OAuthApp } from '../../domain/apps/app.js';
import { hashOf } from '../../domain/apps/tokens.js';
import { isoTime } from '../../domain/core/iso-time.js';

export type KnownApp = OAuthApp & Readonly<{ id: OAuthClientId; teamId: TeamId }>;

/** In: an id as it was given. Out: the app; undefined where there is none, or it or its team is deleted: nobody could end what it does. */
export const openOAuthApp = async (deps: CommandDeps, text: string): Promise<KnownApp | undefined> => {
  const id = parseOAuthClientId(text);
  if (id === undefined) return undefined;
  const { state, teamId } = await deps.oauthApp(oauthClientStream(id));
  if (state === undefined || state.deletedAt !== null) return undefined;
  const owner = assertDefined(parseTeamId(teamId ?? ''), 'team id');
  const loaded = deps.team(teamStream(owner));
  const { state: team } = loaded instanceof Promise ? await loaded : loaded;
  return team?.deletedAt === undefined ? { ...state, id, teamId: owner } : undefined;
};

/** The app, where it shows that it is itself: a confidential one by its secret, a public one by having none to show. */
export const authenticateOAuthApp = async (deps: CommandDeps, id: string, secret: string | undefined): Promise<KnownApp | undefined> => {
  const app = await openOAuthApp(deps, id);
  if (app === undefined) return undefined;
  const isItself = secret === undefined ? app.kind === 'public' : isSecretOf(app, hashOf(secret), isoTime(deps.clock.now()));
  return isItself ? app : undefined;
};
