/** A request to any route, about a thing of one's own or of another team. */
import type { InjectOptions } from 'fastify';
import { OTHER_TEAM, schemaSaying, TEAM } from '../support/command-world.js';
import { isAllowed, operatorPermissions, permissions } from '../../src/domain/access/permissions.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import type { RegisteredRoute } from '../../src/http/index.js';
import { at } from '../support/email-facts.js';
import {
  AUDIT_ENTRY,
  bearer,
  DELETED_TEAM,
  INVITATION_TOKEN,
  KEY_ID,
  OAUTH_GRANT,
  OTHERS_KEY_ID,
  OTHERS_USER,
  others,
  own,
  sessions,
  USER,
} from './founded.js';
import { PROVIDER_TOKEN, sendBody } from './server.js';

const idsOf = ({ path, method }: RegisteredRoute, mine: boolean, token: string): string => {
  const things = mine ? own : others;
  const { email, scheduled, asset, webhook, domain, template, paper, block } = path.endsWith(':id/restore')
    ? { ...things, ...things.gone }
    : things;
  if (path.startsWith('/api/emails')) return method === 'PATCH' || path.endsWith('/cancel') ? scheduled : email;
  if (path.startsWith('/api/approvals')) return things.approval.id;
  if (path.startsWith('/api/assets')) return asset;
  if (path.startsWith('/api/api-keys')) return mine ? KEY_ID : OTHERS_KEY_ID;
  if (path.startsWith('/api/domains')) return domain;
  if (path.startsWith('/api/suppressions')) return things.suppression;
  if (path.startsWith('/api/v1/webhook-subscriptions')) return webhook;
  if (path.startsWith('/api/privacy')) return things.erasure;
  if (path.includes('/sessions'))
    return assertDefined(sessions.get(mine ? token : 'role=owner@other') ?? sessions.get('role=owner'), token);
  if (path.startsWith('/api/audit-logs')) return mine ? AUDIT_ENTRY : own.email;
  if (path.includes('/grants')) return mine ? OAUTH_GRANT : OAUTH_GRANT.replace(/.$/, '_');
  if (path.startsWith('/api/oauth-apps')) return things.app;
  if (path.includes('/invitations')) return things.invitation;
  if (path.startsWith('/api/users')) return mine ? USER : OTHERS_USER;
  if (path.startsWith('/api/blocks')) return block.id;
  return path.startsWith('/api/templates/attachment') ? paper.id : template.id;
};

const name = ({ method, path }: RegisteredRoute): string => `${method} ${path}`;

/** For routes whose own example is about other things than those of the founded world. */
const bodies: Readonly<Record<string, unknown>> = {
  'POST /api/emails/send': sendBody,
  'POST /api/approvals': sendBody,
  'POST /api/approvals/:id/approve': { digest: own.approval.digest },
  'POST /api/emails/batch': { emails: [sendBody] },
  'POST /api/emails/send/bulk': { templateId: 'welcome', recipients: [{ email: 'jane@example.com' }] },
  'POST /api/templates': { name: 'New', subject: 'Hi', schema: schemaSaying('new') },
  'POST /api/templates/:id/preview/link': { variables: {} },
  'POST /api/templates/:id/preview': { variables: {} },
  'POST /api/templates/:id/test': { to: [{ email: 'role.owner@example.com' }] },
  'POST /api/teams/:teamId/transfer-ownership': { userId: USER },
  'POST /api/invitations/accept': { token: INVITATION_TOKEN },
  'PUT /api/domains/:id/tracking-domain': { trackingDomain: 'links.welcome.example.com' },
  'POST /api/v1/webhook-subscriptions/:id/replay': { since: at(-3_600) },
};

/** A request to the route with a body that its schema takes. */
export const requestTo = (route: RegisteredRoute, token?: string, mine = true): InjectOptions => {
  const [example] = Object.values(route.examples ?? {});
  const team = route.path === '/api/teams/:teamId/restore' ? DELETED_TEAM : TEAM;
  return {
    method: route.method as 'GET',
    url:
      route.path
        .replace(':version', '1')
        .replace(':address', encodeURIComponent('jane@example.com'))
        .replace(':batchId', mine ? own.batch : others.batch)
        .replace(':id', idsOf(route, mine, token ?? ''))
        .replace(':index', '0')
        .replace(':provider', 'postmark')
        .replace(':deliveryId', 'del_0_AAAAAAAAAAAAAAAAAAAAAA')
        .replace(':teamId', mine || /:userId|invitations\/:id/.test(route.path) ? team : OTHER_TEAM)
        .replace(':userId', mine ? USER : OTHERS_USER) + queryOf(route.path),
    ...bodyOf(route, bodies[name(route)] ?? example?.value, {
      ...(token === undefined ? {} : bearer(token)),
      ...(route.path.endsWith(':provider') ? { 'x-sealpost-token': PROVIDER_TOKEN } : {}),
    }),
  };
};

/** How the commands refuse what the founded world has nothing for, whoever asks. */
const refusals: Readonly<Record<string, string>> = {
  'POST /api/auth/totp/confirm': 'SECOND_FACTOR_NOT_SET',
  'POST /api/auth/totp/remove': 'SECOND_FACTOR_NOT_SET',
  'POST /api/auth/totp/recovery-codes': 'SECOND_FACTOR_NOT_SET',
  'POST /api/credits': 'TEAM_NOT_METERED',
  'POST /api/auth/oidc/:provider/link': 'SIGN_IN_PROVIDER_UNKNOWN',
  'DELETE /api/users/me/identities/:id': 'IDENTITY_NOT_FOUND',
  'POST /api/v1/webhook-subscriptions/:id/deliveries/:deliveryId/retry': 'WEBHOOK_DELIVERY_NOT_FOUND',
  'POST /api/invitations/accept': 'INVITATION_NOT_YOURS',
  'POST /api/v1/feedback': 'FEEDBACK_NOT_SET_UP',
  'GET /api/emails/:id/attachments/:index': 'NOT_FOUND',
  // Without topics no stream begins.
  'GET /api/stream': 'VALIDATION_ERROR',
};
const ofTheOwner: Readonly<Record<string, string>> = {
  'DELETE /api/users/me': 'LAST_OWNER',
  'POST /api/teams/:teamId/leave': 'LAST_OWNER',
};
/** Only the owner has what is asked for. */
const ofOtherPeople: Readonly<Record<string, string>> = {
  'DELETE /api/users/me/grants/:id': 'OAUTH_GRANT_NOT_FOUND',
  'POST /api/teams/:teamId/restore': 'TEAM_NOT_FOUND',
};

/** Routes that need a second permission, which a key or an app with one permission lacks. */
const withTwoPermissions: ReadonlySet<string> = new Set(['POST /api/emails/:id/resend']);

/** The code by which the command refuses that caller, whom the route lets in; undefined: it does what is asked. */
export const refusalOf = (route: RegisteredRoute, token: string): string | undefined =>
  refusals[name(route)] ??
  (/^(?:key|scope)=/.test(token) && withTwoPermissions.has(name(route)) ? 'FORBIDDEN' : undefined) ??
  (token === 'role=owner' || token.startsWith('scope=') ? ofTheOwner : ofOtherPeople)[name(route)];

/** A credential that may call the route: what keys may not do needs a person. */
export const credentialFor = ({ access }: RegisteredRoute): string => {
  if (access === 'public') return 'role=owner';
  if (isAllowed(operatorPermissions, access)) return 'operator';
  return isAllowed(permissions, access) ? 'unlimited' : 'role=owner';
};

/** A key that may not call the route. */
export const powerlessFor = ({ access }: RegisteredRoute): string =>
  access === 'templates:read' ? 'key=emails:read' : 'key=templates:read';

/** The query that a route cannot do without. */
export const queryOf = (path: string): string => (path.endsWith('/check') ? '?email=ann%40example.org' : '');

/** The body as it is sent: a string is sent as it is, any other value as JSON. */
export const asSent = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The headers and the payload of a request to a route: the body that is given, or a form with a file where it takes
 * nothing else.
 */
export const bodyOf = (
  { takesBody, reads, uploads }: Readonly<{ takesBody: boolean; reads?: string | undefined; uploads: unknown }>,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Readonly<{ headers: Record<string, string>; payload?: string }> => {
  if (takesBody) return { headers: { ...headers, 'content-type': reads ?? 'application/json' }, payload: asSent(body) };
  if (uploads === false) return { headers };
  const payload =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\r\nann@example.org\r\n--x--\r\n';
  return { headers: { ...headers, 'content-type': 'multipart/form-data; boundary=x' }, payload };
};
