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
import type { AskingApp } from '../../domain/apps/authorization.js';
import type { Grant } from '../../domain/apps/grant.js';
import {
  formatSelfClientId,
  isSelfRegistered,
  readRegistration,
  readSelfClientId,
  selfApp,
  type RegistrationFault,
  type SelfRegistration,
} from '../../domain/apps/registration.js';
import { readingScopes } from '../../domain/access/permissions.js';
import {
  CLI_CLIENT_ID,
  commandLineApp,
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

/**
 * An app that may ask people for their consent. `teamId` and `teamName`: the team that registered it. `origin`: `built-in` is the
 * command line; nobody has checked what a `self-registered` app says of itself.
 */
export type KnownApp = AskingApp &
  Readonly<{
    id: OAuthClientId;
    teamId: TeamId | undefined;
    teamName?: string;
    origin: 'registered' | 'built-in' | 'self-registered';
  }>;

const SELF_CLIENT_PURPOSE = 'oauth-client';

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
  const flows = request.deviceFlow === true ? { deviceFlow: true } : {};
  const clientSecret = kind === 'public' ? null : formatSecret(deps.ids.bytes(32));
  const cause = causeOf(deps, caller);
  const secretHash = clientSecret === null ? null : hashOf(clientSecret);
  const registered = { at: cause.at, kind, secretHash, name, description, homepage, redirectUris, scopes, ...flows };
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
  const { name, description, homepage, redirectUris, scopes, deviceFlow } = await owned(deps, caller, id);
  const now = { name, description, homepage, redirectUris, scopes: [...scopes], deviceFlow, ...request };
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

/**
 * Registers an app that asks for it itself. Out: the app with its client_id, which is all that is kept of it; the fault;
 * undefined if no app may register itself.
 */
export const registerSelf = async (
  deps: AppNeeds,
  body: unknown,
): Promise<(SelfRegistration & Readonly<{ clientId: string }>) | RegistrationFault | undefined> => {
  if (!deps.people.appsRegister) return undefined;
  const registration = readRegistration(body, deps.clock.now());
  if ('error' in registration) return registration;
  return { ...registration, clientId: formatSelfClientId(registration, macOf(deps)) };
};

/** Whether apps may register themselves. */
export const appsMayRegister = ({ people }: AppNeeds): boolean => people.appsRegister;

const macOf =
  ({ keys }: AppNeeds) =>
  (text: string): string =>
    keys.fingerprint(SELF_CLIENT_PURPOSE, text);

/** The app of a grant. Out: undefined if it, or its team, is deleted, or if no app may register itself any more. */
export const appOfGrant = async (
  deps: AppNeeds,
  { clientId, clientName = '', scopes, givenAt }: Grant,
): Promise<KnownApp | undefined> => {
  if (!isSelfRegistered(clientId)) return openOAuthApp(deps, clientId);
  if (!deps.people.appsRegister) return undefined;
  const said = { at: Math.floor(Date.parse(givenAt) / 1_000), name: clientName, redirectUris: [], scopes };
  return { ...selfApp(said), id: clientId, teamId: undefined, origin: 'self-registered' };
};

/** The app with that client_id. Out: undefined if there is none, or if it or its team is deleted. */
export const openOAuthApp = async (deps: AppNeeds, text: string): Promise<KnownApp | undefined> => {
  if (text === CLI_CLIENT_ID)
    return { ...commandLineApp, usualScopes: readingScopes, id: CLI_CLIENT_ID, teamId: undefined, origin: 'built-in' };
  const self = deps.people.appsRegister ? readSelfClientId(text, macOf(deps)) : undefined;
  if (self !== undefined) return { ...self.app, id: self.id, teamId: undefined, origin: 'self-registered' };
  const id = parseOAuthClientId(text);
  if (id === undefined) return undefined;
  const { state, teamId } = await deps.oauthApp(oauthClientStream(id));
  if (state === undefined || state.deletedAt !== null) return undefined;
  const owner = assertDefined(parseTeamId(teamId ?? ''), 'team id');
  const { state: team } = await deps.team(teamStream(owner));
  if (team?.deletedAt !== undefined) return undefined;
  return { ...state, id, teamId: owner, teamName: team?.settings.name ?? '', origin: 'registered' };
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
