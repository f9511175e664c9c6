/** The list of a team's apps. */
import { assertDefined, parseOAuthClientId, splitStream } from '../../domain/core/ids.js';
import { oauthAppDecider, oauthAppListing, type OAuthApp, type OAuthAppListing } from '../../domain/apps/app.js';
import type { OAuthClientEvent } from '../../domain/apps/events.js';
import type { Document } from '../../domain/ports/read-models.js';
import { declareProjection, type Handler } from '../core/projection.js';

export const OAUTH_APPS = 'oauthApps';

/** `team`: absent once the app is deleted, so that no list has it. */
export type OAuthAppDocument = Document & Readonly<{ team?: string; app: Omit<OAuthApp, 'secret'> }>;

const step: Handler<OAuthClientEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  if (event.type === 'StreamRetired') return [{ collection: OAUTH_APPS, id, next: () => undefined }];
  const before = document as OAuthAppDocument | undefined;
  // The hashes of secrets are in no read model: nothing that is shown needs them.
  const app = oauthAppDecider.evolve(before && { ...before.app, secret: null }, event);
  if (app === undefined) return [];
  const { secret: _secret, ...shown } = app;
  const common = { id, seq: before?.seq ?? position, position, app: shown };
  const after: OAuthAppDocument = shown.deletedAt === null ? { ...common, team: before?.team ?? metadata.teamId } : common;
  return [{ collection: OAUTH_APPS, id, next: () => after }];
};

export const oauthAppsProjection = declareProjection({
  name: 'oauthApps',
  collections: [{ name: OAUTH_APPS, version: 1, fields: ['team'], indexes: [['team']] }],
  main: OAUTH_APPS,
  kinds: ['oauthClient'],
  decrypts: [],
  on: { OAuthAppRegistered: step, OAuthAppChanged: step, OAuthAppSecretRotated: step, OAuthAppDeleted: step, StreamRetired: step },
});

export const listedOAuthApp = ({ id, app }: OAuthAppDocument): OAuthAppListing =>
  oauthAppListing(assertDefined(parseOAuthClientId(id), 'id of an app'), app);
