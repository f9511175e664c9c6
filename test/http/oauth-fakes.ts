/** Apps in memory, as far as the HTTP server needs them. */
import type { OAuthAppRecord } from '../../src/api/apps.js';
import type { Commands, OAuth } from '../../src/commands/index.js';
import { NO_TEAM, type TeamId } from '../../src/domain/core/ids.js';

export const OAUTH_APP = 'app_AAAAAAAAAAAAAAAAAAAAAA';
export const OAUTH_GRANT = 'grant_AAAAAAAAAAAAAAAAAAAAAA';
export const OTHERS_OAUTH_GRANT = 'grant_BBBBBBBBBBBBBBBBBBBBBB';
export const OTHERS_OAUTH_APP = 'app_BBBBBBBBBBBBBBBBBBBBBB';

const at = '2030-01-01T12:00:00.000Z';

export const oauthApp: OAuthAppRecord = {
  id: OAUTH_APP,
  kind: 'confidential',
  name: 'Shop',
  description: null,
  homepage: null,
  redirectUris: ['https://shop.example.com/callback'],
  scopes: ['emails:read'],
  createdAt: at,
  updatedAt: at,
};

type Did = <T>(name: string, args: readonly unknown[], answer: T) => Promise<T>;
type Owned = <T>(
  known: boolean,
  code: 'OAUTH_APP_NOT_FOUND' | 'OAUTH_GRANT_NOT_FOUND',
  answer: () => Promise<T>,
) => Promise<T>;

export const fakeOAuthApps = (did: Did, owned: Owned, team: TeamId) => {
  const isKnown = (teamId: TeamId, id: string): boolean => teamId === team && id === OAUTH_APP;
  return {
    createOAuthApp: (caller, request) =>
      did('createOAuthApp', [caller, request], { ...oauthApp, clientSecret: 'secret' }),
    getOAuthApp: (caller, id) =>
      owned(isKnown(caller.teamId, id), 'OAUTH_APP_NOT_FOUND', () => did('getOAuthApp', [caller, id], oauthApp)),
    updateOAuthApp: (caller, id, request) =>
      owned(isKnown(caller.teamId, id), 'OAUTH_APP_NOT_FOUND', () =>
        did('updateOAuthApp', [caller, id, request], oauthApp),
      ),
    rotateOAuthAppSecret: (caller, id, request) =>
      owned(isKnown(caller.teamId, id), 'OAUTH_APP_NOT_FOUND', () =>
        did('rotateOAuthAppSecret', [caller, id, request], { ...oauthApp, clientSecret: 'secret', oldSecretUntil: at }),
      ),
    deleteOAuthApp: (caller, id) =>
      owned(isKnown(caller.teamId, id), 'OAUTH_APP_NOT_FOUND', () =>
        did('deleteOAuthApp', [caller, id], { id, deleted: true as const }),
      ),
    revokeGrant: (caller, id) =>
      owned(
        (caller.teamId === NO_TEAM || isKnown(caller.teamId, OAUTH_APP)) && id === OAUTH_GRANT,
        'OAUTH_GRANT_NOT_FOUND',
        () => did('revokeGrant', [caller, id], { id, deleted: true as const }),
      ),
  } satisfies Partial<Commands>;
};

/** No app is known to the endpoints of OAuth themselves: they are tried on the real service. */
export const fakeOAuth: OAuth = {
  openOAuthApp: async () => undefined,
  authenticateOAuthApp: async () => undefined,
  giveConsent: () => Promise.reject(new Error('nobody gives consent here')),
  readCode: async () => undefined,
  useCode: async () => false,
  issueTokens: async () => undefined,
  giveOwnGrant: () => Promise.reject(new Error('no app is let in here')),
  readRefreshToken: async () => undefined,
  readAccessToken: async () => undefined,
  revokeToken: async () => undefined,
};
