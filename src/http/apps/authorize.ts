/**
 * The authorization endpoint (RFC 6749, section 3.1): a person signs in on its page and consents or refuses. It sets no cookie, so that no
 * other page can consent in the person's name; the session of the sign-in ends with the decision.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../domain/access/permissions.js';
import { personPage, sendPersonPage, fieldsOf, readForms } from '../server/forms.js';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { ForTeam, UserAuthenticated } from '../../commands/core/caller.js';
import type { SignedIn } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  readAuthorization,
  redirectTo,
  type Authorization,
  type AuthorizationAnswer,
  type AuthorizationParams,
  type FaultyAuthorization,
} from '../../domain/apps/authorization.js';
import { assertDefined, type UserId } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import { auditDenial } from '../server/hooks.js';
import { callerWith } from '../server/admission.js';
import { countLogin } from '../server/rates.js';
import { calledFrom } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'oauth' | 'commands' | 'queries' | 'limiter' | 'settings' | 'audit'>;

/** A request for a person's consent from a known app, to an address of that app. */
type ConsentRequest = Readonly<{
  app: KnownApp;
  authorization: Authorization | FaultyAuthorization;
  hidden: Readonly<Record<string, string>>;
}>;

type Fields = Readonly<Record<string, string>>;

const PATH = '/oauth/authorize';

const config = { access: 'public' } as const;

const schema = { hide: true };

const TEAMS_MAX = 100;

const DENIED = { error: 'access_denied', message: 'The person said no' } as const;

const paramNames = ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'code_challenge_method'] as const;

/** Registers GET and POST /oauth/authorize. */
export const authorizeRoutes = (app: App, deps: Deps): void => {
  app.get(PATH, { config, schema }, async (request, reply) => {
    const asked = await readConsentRequest(deps, reply, new URL(request.url, deps.settings.publicUrl).search);
    return asked === undefined ? reply : sendSignIn(reply, 200, asked);
  });
  // In a scope of its own, for only this route accepts forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post(PATH, { config, schema }, (request, reply) => answer(deps, request, reply));
  });
};

/** The request of a link or form; undefined if it was refused on a page. */
const readConsentRequest = async (deps: Deps, reply: FastifyReply, form: string): Promise<ConsentRequest | undefined> => {
  const fields = fieldsOf(form);
  if (fields === undefined) return void sendRefusal(reply, 400, 'A parameter of this link is given more than once.');
  const hidden = Object.fromEntries(paramNames.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const])));
  const params: AuthorizationParams = hidden;
  const app = await deps.oauth.openOAuthApp(params.client_id ?? '');
  const authorization = readAuthorization(app, params);
  if ('refusal' in authorization) return void sendRefusal(reply, 400, authorization.refusal);
  return { app: assertDefined(app, 'app'), authorization, hidden };
};

/** The POST of a form: the sign-in, or the decision after it. */
const answer = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const fields = fieldsOf(request.body);
  if (fields === undefined) return sendRefusal(reply, 400, 'A field of this form is given more than once.');
  const asked = await readConsentRequest(deps, reply, request.body as string);
  if (asked === undefined) return reply;
  return fields['decision'] === undefined ? signIn(deps, request, reply, asked, fields) : decide(deps, request, reply, asked, fields);
};

/** Shows the page of consent, or the sign-in again with what is wrong with it. The app is told of a faulty request here, and never before. */
const signIn = async (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: ConsentRequest,
  fields: Fields,
): Promise<FastifyReply> => {
  const { email = '', password = '', code = '' } = fields;
  let signedIn: SignedIn;
  try {
    await countLogin(deps, request, email);
    signedIn = await deps.commands.login(
      { email, password, ...(code === '' ? {} : { code }) },
      calledFrom(request),
      deps.queries.teamsOfUser,
    );
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    auditDenial(deps.audit, request, { code: fault.code, status: 401 }, fault);
    const needsCode = code !== '' || fault.code === 'CODE_REQUIRED' || fault.code === 'INVALID_CODE';
    const status = fault.code === 'LOGIN_PAUSED' ? 429 : 401;
    return sendSignIn(reply, status, asked, { email, needsCode, fault: fault.message });
  }
  const { app, authorization, hidden } = asked;
  if ('error' in authorization) {
    const person = await personOf(deps, signedIn.accessToken, { asked: undefined, isNeeded: false });
    return sendBack(deps, request, reply, { person, authorization, answer: authorization });
  }
  const teams = await teamsOf(deps, signedIn.user.id as UserId);
  if (teams.length === 0) return sendRefusal(reply, 403, 'You are in no team, and an app acts in a team.');
  const page = {
    appName: app.name,
    homepage: app.homepage ?? '',
    host: new URL(authorization.redirectUri).host,
    person: [signedIn.user.name, signedIn.user.email].filter(Boolean).join(', '),
    scopes: authorization.scopes.map((scope) => scopeTexts[scope]),
    teams,
    hidden: { ...hidden, access_token: signedIn.accessToken },
  };
  return sendConsent(reply, page, authorization.redirectUri);
};

const teamsOf = async ({ queries }: Deps, userId: UserId): Promise<readonly Readonly<{ id: string; name: string }>[]> =>
  (await queries.listTeams(userId, {}, { page: 1, limit: TEAMS_MAX })).data.map(({ id, name }) => ({ id, name }));

/** Carries out the decision. The form must hold the access token that only the page of this sign-in got. */
const decide = async (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: ConsentRequest,
  fields: Fields,
): Promise<FastifyReply> => {
  const { access_token: accessToken = '', team = '', decision } = fields;
  let person: UserAuthenticated;
  try {
    person = await personOf(deps, accessToken, { asked: team, isNeeded: true });
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const message =
      fault.code === 'SECOND_FACTOR_REQUIRED' || fault.code === 'TEAM_NOT_FOUND' ? fault.message : 'Your sign-in is over. Sign in again.';
    return sendSignIn(reply, 401, asked, { fault: message });
  }
  const { app, authorization } = asked;
  if ('error' in authorization) return sendBack(deps, request, reply, { person, authorization, answer: authorization });
  if (decision !== 'allow') return sendBack(deps, request, reply, { person, authorization, answer: DENIED });
  const { redirectUri, scopes, challenge } = authorization;
  const code = await deps.oauth.giveConsent(callerOf(person, request), { app, scopes, redirectUri, challenge });
  return sendBack(deps, request, reply, { person, authorization, answer: { code } });
};

/** The person whose access token it is. Rejects as `authenticate` does. */
const personOf = async ({ commands }: Deps, accessToken: string, team: ForTeam): Promise<UserAuthenticated> => {
  const admitted = await commands.authenticate(accessToken, team);
  if (admitted.kind !== 'user') throw new DomainError('INVALID_TOKEN', 'This page is not yours.');
  return admitted;
};

const callerOf = (person: UserAuthenticated, request: FastifyRequest) => ({
  ...callerWith(person, request),
  user: { id: person.userId, sessionId: person.sessionId },
});

/** Ends the sign-in and sends the person to the app's address. Nobody is sent there without having signed in. */
const sendBack = async (
  { commands, settings }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    person,
    authorization,
    answer,
  }: Readonly<{
    person: UserAuthenticated;
    authorization: Authorization | FaultyAuthorization;
    answer: AuthorizationAnswer;
  }>,
): Promise<FastifyReply> => {
  await commands.logout(callerOf(person, request));
  const { redirectUri, state } = authorization;
  return reply.redirect(redirectTo(redirectUri, { ...answer, state, issuer: settings.publicUrl }), 303);
};

type Hidden = Readonly<Record<string, string>>;

const hiddenFields = `<% for (const [name, value] of Object.entries(it.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>`;

/** `wrong`: what is wrong with the request of the app; empty if nothing is. */
type SignInPage = Readonly<{
  appName: string;
  wrong: string;
  host: string;
  email: string;
  needsCode: boolean;
  fault: string;
  hidden: Hidden;
}>;
type ConsentPage = Readonly<{
  appName: string;
  homepage: string;
  /** The host that the person is sent to afterwards. */
  host: string;
  person: string;
  scopes: readonly string[];
  teams: readonly Readonly<{ id: string; name: string }>[];
  hidden: Hidden;
}>;

const fillSignIn = personPage<SignInPage>(
  `<h1>Sign in</h1>
<p><strong><%= it.appName %></strong> asks for access to your account. \
<% if (it.wrong === '') { %>You decide on the next page.</p>
<% } else { %>Its request is wrong: <%= it.wrong %>.</p>
<p>Nothing is granted. Close this page, or sign in to go back to <strong><%= it.host %></strong>.</p>
<% } %>\
<% if (it.fault !== '') { %><p class="fault" role="alert"><%= it.fault %></p>
<% } %>\
<form method="post" action="/oauth/authorize">
${hiddenFields}\
<label>Email address<input type="email" name="email" value="<%= it.email %>" autocomplete="username" required></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required></label>
<% if (it.needsCode) { %><label>Code of your second factor<input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<% } %>\
<div class="buttons"><button type="submit" class="main">Sign in</button></div>
</form>
`,
);

const fillConsent = personPage<ConsentPage>(
  `<h1>Allow <%= it.appName %> to act for you?</h1>
<p class="soft">You are <%= it.person %>.<% if (it.homepage !== '') { %> The app says of itself that it is at <%= it.homepage %>.<% } %></p>
<p>With your permission it can, as far as you can yourself:</p>
<ul>
<% for (const scope of it.scopes) { %><li><%= scope %></li>
<% } %></ul>
<form method="post" action="/oauth/authorize">
${hiddenFields}\
<% if (it.teams.length === 1) { %><p>In the team <strong><%= it.teams[0].name %></strong>.</p><input type="hidden" name="team" value="<%= it.teams[0].id %>">
<% } else { %><label>In the team<select name="team"><% for (const team of it.teams) { %><option value="<%= team.id %>"><%= team.name %></option><% } %></select></label>
<% } %>\
<div class="buttons"><button type="submit" name="decision" value="deny">Deny</button><button type="submit" name="decision" value="allow" class="main">Allow</button></div>
</form>
<p class="soft">You go on to <strong><%= it.host %></strong>. What you grant stands at <code>GET /api/users/me/grants</code>, where you can end it at any time.</p>
`,
);

const fillRefusal = personPage<Readonly<{ text: string }>>(
  `<h1><%= it.title %></h1>
<p><%= it.text %></p>
<p class="soft">You are sent nowhere, and nothing was granted. Go back to the app and begin again; if this comes again, tell those who make it.</p>
`,
);

const sendSignIn = (
  reply: FastifyReply,
  status: number,
  { app, authorization, hidden }: ConsentRequest,
  { email = '', needsCode = false, fault = '' }: Partial<Pick<SignInPage, 'email' | 'needsCode' | 'fault'>> = {},
): FastifyReply => {
  const { redirectUri } = authorization;
  const wrong = 'error' in authorization ? authorization.message : '';
  const page = { appName: app.name, wrong, host: new URL(redirectUri).host, email, needsCode, fault, hidden };
  return sendPersonPage(reply, status, fillSignIn({ ...page, title: 'Sign in' }), wrong === '' ? undefined : redirectUri);
};

/** `target`: where the form leads in the end. */
const sendConsent = (reply: FastifyReply, page: ConsentPage, target: string): FastifyReply =>
  sendPersonPage(reply, 200, fillConsent({ ...page, title: `Allow ${page.appName}?` }), target);

const sendRefusal = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  sendPersonPage(reply, status, fillRefusal({ title: 'This link does not work', text }));

/** What a scope allows, in the words of the page. */
const scopeTexts: Readonly<Record<Scope, string>> = {
  'emails:send': 'send mails',
  'emails:read': 'read the log of mails, with their recipients and contents',
  'templates:read': 'read templates',
  'templates:write': 'create, change and delete templates',
  'webhooks:read': 'read webhook subscriptions',
  'webhooks:write': 'create, change and delete webhook subscriptions',
  'analytics:read': 'read figures of what was sent',
  'profile:read': 'read your name and address',
};
