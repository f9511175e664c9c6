/** What people have granted to apps, for the list that each sees of their own. */
import { isScope, type Scope } from '../../domain/access/scopes.js';
import type { OAuthGrantEvent } from '../../domain/apps/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { OAUTH_APPS, type OAuthAppDocument } from './oauth-apps.js';
import { declareProjection, type Handler } from '../core/projection.js';

export const OAUTH_GRANTS = 'oauthGrants';

/** `user`: absent where nothing is open any more, so that no list has it. `lastUsedAt`: when tokens were last issued. */
export type OAuthGrantDocument = Document &
  Readonly<{ user?: string; team: string; clientId: string; scopes: readonly Scope[]; givenAt: string; lastUsedAt: string | null }>;

const given: Handler<OAuthGrantEvent> = ({ event, stream, position, metadata }) => {
  if (event.type !== 'OAuthGrantGiven' || event.data.userId === null) return [];
  const { id } = splitStream(stream);
  const { at: givenAt, clientId, userId: user, scopes } = event.data;
  const after: OAuthGrantDocument = {
    id,
    seq: position,
    position,
    user,
    team: metadata.teamId,
    clientId,
    scopes: scopes.filter(isScope),
    givenAt,
    lastUsedAt: null,
  };
  return [{ collection: OAUTH_GRANTS, id, next: () => after }];
};

const changed =
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
    OAuthGrantGiven: given,
    OAuthCodeIssued: 'ignored',
    OAuthCodeUsed: 'ignored',
    OAuthTokensIssued: changed((before, { data }) => ({ ...before, lastUsedAt: data.at })),
    OAuthAccessTokenRevoked: 'ignored',
    OAuthGrantEnded: changed(({ user: _user, ...before }) => before),
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
  return page.flatMap(({ id, clientId, team: teamId, scopes, givenAt, lastUsedAt }) => {
    const app = apps.get(clientId)?.app;
    if (app === undefined || app.deletedAt !== null) return [];
    return [{ id, appId: clientId, appName: app.name, teamId, scopes: [...scopes], givenAt, lastUsedAt }];
  });
};
