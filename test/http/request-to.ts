/** A request to any route, about a thing of one's own or of another team. */
import type { InjectOptions } from 'fastify';
import type { RegisteredRoute } from '../../src/http/index.js';
import {
  ASSET,
  BATCH,
  bearer,
  OTHER_TEAM,
  TEAM,
  EMAIL,
  KEY_ID,
  OTHERS_ASSET,
  OTHERS_EMAIL,
  OTHERS_KEY_ID,
  OTHERS_SENDER_DOMAIN,
  SENDER_DOMAIN,
  OTHERS_SUPPRESSION,
  OTHERS_WEBHOOK,
  ERASURE,
  OTHERS_ERASURE,
  SUPPRESSION,
  bodyOf,
  queryOf,
  OTHERS_SESSION,
  AUDIT_ENTRY,
  OTHERS_USER,
  SESSION,
  USER,
  INVITATION,
  OTHERS_INVITATION,
  WEBHOOK,
  WEBHOOK_DELIVERY,
} from './fakes.js';
import { OAUTH_APP, OAUTH_GRANT, OTHERS_OAUTH_APP, OTHERS_OAUTH_GRANT } from './oauth-fakes.js';

const idsOf = (path: string, mine: boolean): string => {
  if (path.startsWith('/api/emails')) return mine ? EMAIL : OTHERS_EMAIL;
  if (path.startsWith('/api/assets')) return mine ? ASSET : OTHERS_ASSET;
  if (path.startsWith('/api/api-keys')) return mine ? KEY_ID : OTHERS_KEY_ID;
  if (path.startsWith('/api/domains')) return mine ? SENDER_DOMAIN : OTHERS_SENDER_DOMAIN;
  if (path.startsWith('/api/suppressions')) return mine ? SUPPRESSION : OTHERS_SUPPRESSION;
  if (path.startsWith('/api/v1/webhook-subscriptions')) return mine ? WEBHOOK : OTHERS_WEBHOOK;
  if (path.startsWith('/api/privacy')) return mine ? ERASURE : OTHERS_ERASURE;
  if (path.includes('/sessions')) return mine ? SESSION : OTHERS_SESSION;
  if (path.startsWith('/api/audit-logs')) return mine ? AUDIT_ENTRY : EMAIL;
  if (path.includes('/grants')) return mine ? OAUTH_GRANT : OTHERS_OAUTH_GRANT;
  if (path.startsWith('/api/oauth-apps')) return mine ? OAUTH_APP : OTHERS_OAUTH_APP;
  if (path.includes('/invitations')) return mine ? INVITATION : OTHERS_INVITATION;
  if (path.startsWith('/api/users')) return mine ? USER : OTHERS_USER;
  return 'welcome';
};

/** A request to the route with a body that its schema takes: one of its own examples. */
export const requestTo = (route: RegisteredRoute, token?: string, mine = true): InjectOptions => {
  const [example] = Object.values(route.examples ?? {});
  return {
    method: route.method as 'GET',
    url:
      route.path
        .replace(':version', '1')
        .replace(':batchId', mine ? BATCH : EMAIL)
        .replace(':id', idsOf(route.path, mine))
        .replace(':deliveryId', WEBHOOK_DELIVERY)
        .replace(':teamId', mine || /:userId|invitations\/:id/.test(route.path) ? TEAM : OTHER_TEAM)
        .replace(':userId', mine ? USER : OTHERS_USER) + queryOf(route.path),
    ...bodyOf(route, example?.value, token === undefined ? {} : bearer(token)),
  };
};

/** A token that may call the route: what is about the person who calls needs one. */
export const credentialFor = ({ access }: RegisteredRoute): string =>
  access.startsWith('profile:') ? 'role=owner' : 'unlimited';
