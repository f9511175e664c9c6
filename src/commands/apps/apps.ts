/**
 * Commands on the apps of a team: register, change and delete them, rotate their secrets; and an app found by its id
 * and secret.
 */
import type { AppNeeds } from './needs.js';
import {
  assertDefined,
  oauthClientStream,
  parseOAuthClientId,
  parseTeamId,
  teamStream,
  type OAuthClientId,
  type TeamId,
} from '../../domain/core/ids.js';
import {
  isSecretOf,
  type OAuthApp,
  appNotFound,
  oauthAppDecider,
  oauthAppListing,
  openApp,
  type OAuthAppCommand,
  redirectUriFault,
} from '../../domain/apps/app.js';
import { hashOf, clientIdOf, formatSecret } from '../../domain/apps/tokens.js';
import { isoTime } from '../../domain/core/time.js';
import { type Caller, ownedBy, causeOf } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import type {
  CreatedOAuthApp,
  CreateOAuthAppRequest,
  OAuthAppRecord,
  RotateAppSecretRequest,
  RotatedAppSecret,
  UpdateOAuthAppRequest,
} from '../../api/apps.js';
import type { Deleted } from '../../api/core/common.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import { idsOfKind, withPlace, type Place } from '../billing/plan-limits.js';

export type KnownApp = OAuthApp & Readonly<{ id: OAuthClientId; teamId: TeamId }>;

const HOUR_MS = 3_600_000;

const OVERLAP_HOURS = 24;

export const createOAuthApp = async (
  deps: AppNeeds,
  caller: Caller,
  request: CreateOAuthAppRequest,
): Promise<CreatedOAuthApp> => {
  checkAddresses(request);
  const id = clientIdOf(deps.ids.bytes(16));
  const { kind = 'confidential', name, description = null, homepage = null, redirectUris, scopes } = request;
  const clientSecret = kind === 'public' ? null : formatSecret(deps.ids.bytes(32));
  const cause = causeOf(deps, caller);
  const secretHash = clientSecret === null ? null : hashOf(clientSecret);
  const registered = { at: cause.at, kind, secretHash, name, description, homepage, redirectUris, scopes };
  const { state } = await withPlace(deps, caller, placeOf(deps, caller, id), () =>
    handle(deps.eventLog, oauthClientStream(id), oauthAppDecider, { type: 'RegisterApp', registered }, cause),
  );
  return { ...oauthAppListing(id, state!), clientSecret };
};

export const getOAuthApp = async (deps: AppNeeds, caller: Caller, id: OAuthClientId): Promise<OAuthAppRecord> =>
  oauthAppListing(id, await owned(deps, caller, id));

/** Changes an app; fields that are left out keep their value. */
export const updateOAuthApp = async (
  deps: AppNeeds,
  caller: Caller,
  id: OAuthClientId,
  request: UpdateOAuthAppRequest,
): Promise<OAuthAppRecord> => {
  checkAddresses(request);
  const { name, description, homepage, redirectUris, scopes } = await owned(deps, caller, id);
  const now = { name, description, homepage, redirectUris, scopes: [...scopes], ...request };
  return oauthAppListing(id, await change(deps, caller, id, (at) => ({ type: 'ChangeApp', changed: { at, ...now } })));
};

export const rotateOAuthAppSecret = async (
  deps: AppNeeds,
  caller: Caller,
  id: OAuthClientId,
  { overlapHours = OVERLAP_HOURS }: RotateAppSecretRequest = {},
): Promise<RotatedAppSecret> => {
  const clientSecret = formatSecret(deps.ids.bytes(32));
  const oldSecretUntil = isoTime(deps.clock.now() + overlapHours * HOUR_MS);
  const secretHash = hashOf(clientSecret);
  const app = await change(deps, caller, id, (at) => ({
    type: 'RotateAppSecret',
    at,
    secretHash,
    oldUntil: oldSecretUntil,
  }));
  return { ...oauthAppListing(id, app), clientSecret, oldSecretUntil };
};

/** All grants to the app end with it. */
export const deleteOAuthApp = async (deps: AppNeeds, caller: Caller, id: OAuthClientId): Promise<Deleted> => {
  await change(deps, caller, id, (at) => ({ type: 'DeleteApp', at }));
  await deps.whenHeldEverywhere();
  return { id, deleted: true };
};

/** The app with that id. Out: undefined if there is none, or if it or its team is deleted. */
export const openOAuthApp = async (deps: AppNeeds, text: string): Promise<KnownApp | undefined> => {
  const id = parseOAuthClientId(text);
  if (id === undefined) return undefined;
  const { state, teamId } = await deps.oauthApp(oauthClientStream(id));
  if (state === undefined || state.deletedAt !== null) return undefined;
  const owner = assertDefined(parseTeamId(teamId ?? ''), 'team id');
  const { state: team } = await deps.team(teamStream(owner));
  return team?.deletedAt === undefined ? { ...state, id, teamId: owner } : undefined;
};

/** The app with that id, if the secret is right: a confidential app must give its secret, a public one none. */
export const authenticateOAuthApp = async (
  deps: AppNeeds,
  id: string,
  secret: string | undefined,
): Promise<KnownApp | undefined> => {
  const app = await openOAuthApp(deps, id);
  if (app === undefined) return undefined;
  const isRight =
    secret === undefined ? app.kind === 'public' : isSecretOf(app, hashOf(secret), isoTime(deps.clock.now()));
  return isRight ? app : undefined;
};

/** Throws VALIDATION_ERROR naming each address that may not be registered. */
const checkAddresses = ({
  redirectUris = [],
  homepage,
}: Pick<UpdateOAuthAppRequest, 'redirectUris' | 'homepage'>): void => {
  const errors: FieldError[] = redirectUris.flatMap((text, index) => {
    const message = redirectUriFault(text);
    return message === undefined ? [] : [{ field: `redirectUris[${index}]`, message }];
  });
  if (homepage !== undefined && (!URL.canParse(homepage) || new URL(homepage).protocol !== 'https:')) {
    errors.push({ field: 'homepage', message: 'must be an https URL' });
  }
  if (errors.length > 0)
    throw new DomainError('VALIDATION_ERROR', 'The app has an address that it cannot have.', { errors });
};

/** The place of an app within the plan of its team. */
const placeOf = (deps: AppNeeds, { teamId }: Caller, id: OAuthClientId): Place => ({
  resource: 'oauthApps',
  key: id,
  standingOf: async (key) => {
    const { state } = await loadState(deps.eventLog, oauthClientStream(key as OAuthClientId), oauthAppDecider);
    if (state === undefined) return 'absent';
    return state.deletedAt === null ? 'living' : 'gone';
  },
  all: idsOfKind(deps, teamId, 'oauthClient', 'OAuthAppRegistered'),
});

/** The app where it is that team's and is not deleted; throws OAUTH_APP_NOT_FOUND. */
const owned = async (deps: AppNeeds, { teamId }: Caller, id: OAuthClientId): Promise<OAuthApp> => {
  const loaded = await loadState(deps.eventLog, oauthClientStream(id), oauthAppDecider);
  ownedBy(teamId, appNotFound)(loaded);
  return openApp(loaded.state);
};

const change = async (
  deps: AppNeeds,
  caller: Caller,
  id: OAuthClientId,
  command: (at: string) => OAuthAppCommand,
): Promise<OAuthApp> => {
  const cause = causeOf(deps, caller);
  const { state } = await handle(
    deps.eventLog,
    oauthClientStream(id),
    oauthAppDecider,
    command(cause.at),
    cause,
    ownedBy(caller.teamId, appNotFound),
  );
  return state!;
};
