/** The list of a team's apps, and the list of what each person granted to apps. */
import { assertDefined, parseOAuthClientId, splitStream } from '../../domain/core/ids.js';
import {
  CLI_CLIENT_ID,
  commandLineApp,
  oauthAppDecider,
  oauthAppListing,
  type OAuthApp,
  type OAuthAppListing,
} from '../../domain/apps/app.js';
import type { OAuthClientEvent, OAuthGrantEvent } from '../../domain/apps/events.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { declareProjection, type Handler } from '../core/projection.js';
import { isScope, type Scope } from '../../domain/access/permissions.js';

export const OAUTH_APPS = 'oauthApps';

export const OAUTH_GRANTS = 'oauthGrants';

/** `team`: absent once the app is deleted, so that no list has it. */
export type OAuthAppDocument = Document & Readonly<{ team?: string; app: Omit<OAuthApp, 'secret'> }>;

const appStep: Handler<OAuthClientEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as OAuthAppDocument | undefined;
  // No list shows the hashes of secrets, so that no read model stores them.
  const app = oauthAppDecider.evolve(before && { ...before.app, secret: null }, event);
  if (app === undefined) return [];
  const { secret: _secret, ...shown } = app;
  const common = { id, seq: before?.seq ?? position, position, app: shown };
  const after: OAuthAppDocument =
    shown.deletedAt === null ? { ...common, team: before?.team ?? metadata.teamId } : common;
  return [{ collection: OAUTH_APPS, id, next: () => after }];
};

export const oauthAppsProjection = declareProjection({
  name: 'oauthApps',
  collections: [{ name: OAUTH_APPS, version: 1, fields: ['team'], indexes: [['team']] }],
  main: OAUTH_APPS,
  kinds: ['oauthClient'],
  decrypts: [],
  on: {
    OAuthAppRegistered: appStep,
    OAuthAppChanged: appStep,
    OAuthAppSecretRotated: appStep,
    OAuthAppDeleted: appStep,
  },
});

export const listedOAuthApp = ({ id, app }: OAuthAppDocument): OAuthAppListing =>
  oauthAppListing(assertDefined(parseOAuthClientId(id), 'id of an app'), app);

/** `user`: absent once the grant has ended, so that no list has it. `lastUsedAt`: when tokens were last issued. */
export type OAuthGrantDocument = Document &
  Readonly<{
    user?: string;
    team: string;
    clientId: string;
    /** The name by which an app registered itself. */
    clientName?: string;
    scopes: readonly Scope[];
    givenAt: string;
    lastUsedAt: string | null;
  }>;

const grantGiven: Handler<OAuthGrantEvent> = ({ event, stream, position, metadata }) => {
  if (event.type !== 'OAuthGrantGiven' || event.data.userId === null) return [];
  const { id } = splitStream(stream);
  const { at: givenAt, clientId, clientName, userId: user, scopes } = event.data;
  const after: OAuthGrantDocument = {
    id,
    seq: position,
    position,
    user,
    team: metadata.teamId,
    clientId,
    ...(clientName === undefined ? {} : { clientName }),
    scopes: scopes.filter(isScope),
    givenAt,
    lastUsedAt: null,
  };
  return [{ collection: OAUTH_GRANTS, id, next: () => after }];
};

const grantChanged =
  (change: (before: OAuthGrantDocument, event: OAuthGrantEvent) => OAuthGrantDocument): Handler<OAuthGrantEvent> =>
  ({ event, stream, position }, document) => {
    const { id } = splitStream(stream);
    const before = document as OAuthGrantDocument | undefined;
    return before === undefined
      ? []
      : [{ collection: OAUTH_GRANTS, id, next: (): OAuthGrantDocument => ({ ...change(before, event), position }) }];
  };

export const oauthGrantsProjection = declareProjection({
  name: 'oauthGrants',
  collections: [{ name: OAUTH_GRANTS, version: 1, fields: ['user'], indexes: [['user']] }],
  main: OAUTH_GRANTS,
  kinds: ['oauthGrant'],
  decrypts: [],
  on: {
    OAuthGrantGiven: grantGiven,
    OAuthTokensIssued: grantChanged((before, { data }) => ({ ...before, lastUsedAt: data.at })),
    OAuthGrantEnded: grantChanged(({ user: _user, ...before }) => before),
  },
});

export type OAuthGrantListing = {
  id: string;
  appId: string;
  appName: string;
  teamId: string;
  scopes: Scope[];
  givenAt: string;
  lastUsedAt: string | null;
};

/** Rows of the list, with the names of the apps; those of deleted apps are left out, for they open nothing any more. */
export const listedGrants = async (
  readModels: Pick<ReadModels, 'get'>,
  page: readonly OAuthGrantDocument[],
): Promise<OAuthGrantListing[]> => {
  const apps = new Map<string, OAuthAppDocument | undefined>();
  for (const clientId of new Set(page.map((grant) => grant.clientId))) {
    apps.set(clientId, (await readModels.get(OAUTH_APPS, clientId)) as OAuthAppDocument | undefined);
  }
  return page.flatMap(({ id, clientId, clientName, team: teamId, scopes, givenAt, lastUsedAt }) => {
    const app = clientId === CLI_CLIENT_ID ? commandLineApp : apps.get(clientId)?.app;
    const appName = clientName ?? (app?.deletedAt === null ? app.name : undefined);
    if (appName === undefined) return [];
    return [{ id, appId: clientId, appName, teamId, scopes: [...scopes], givenAt, lastUsedAt }];
  });
};
