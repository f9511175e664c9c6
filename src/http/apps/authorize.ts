/**
 * The authorization endpoint (RFC 6749, section 3.1): a person signs in on its page and consents or refuses. It sets no cookie, so that no
 * other page can consent in the person's name; the session of the sign-in ends with the decision.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../domain/access/permissions.js';
import { personPage, sendPersonPage, fieldsOf, readForms } from '../server/forms.js';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { UserAuthenticated } from '../../commands/core/caller.js';
import type { SignedIn } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
import { readAuthorization, redirectTo, type Authorization, type AuthorizationParams } from '../../domain/apps/authorization.js';
import type { UserId } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import { auditDenial } from '../server/hooks.js';
import { callerWith } from '../server/admission.js';
import { countLogin } from '../server/rates.js';
import { calledFrom } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'oauth' | 'commands' | 'queries' | 'limiter' | 'settings' | 'audit'>;

/** A valid request for a person's consent. */
type ConsentRequest = Readonly<{ app: KnownApp; authorization: Authorization; hidden: Readonly<Record<string, string>> }>;

type Fields = Readonly<Record<string, string>>;

const PATH = '/oauth/authorize';

const config = { access: 'public' } as const;

const schema = { hide: true };

const TEAMS_MAX = 100;

const paramNames = ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'code_challenge_method'] as const;

/** Registers GET and POST /oauth/authorize. */
export const authorizeRoutes = (app: App, deps: Deps): void => {
  app.get(PATH, { config, schema }, async (request, reply) => {
    const asked = await readConsentRequest(deps, reply, new URL(request.url, deps.settings.publicUrl).search);
    return asked === undefined ? reply : sendSignIn(reply, 200, { ...signInOf(asked), fault: '', needsCode: false });
  });
  // In a scope of its own, for only this route accepts forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post(PATH, { config, schema }, (request, reply) => answer(deps, request, reply));
  });
};

/** The request of a link or form; undefined if it was refused here, on a page or by sending the person back. */
const readConsentRequest = async (deps: Deps, reply: FastifyReply, form: string): Promise<ConsentRequest | undefined> => {
  const fields = fieldsOf(form);
  if (fields === undefined) return void sendRefusal(reply, 400, 'A parameter of this link is given more than once.');
  const hidden = Object.fromEntries(paramNames.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const])));
  const params: AuthorizationParams = hidden;
  const app = await deps.oauth.openOAuthApp(params.client_id ?? '');
  const authorization = readAuthorization(app, params);
  if (!('to' in authorization)) return app === undefined ? undefined : { app, authorization, hidden };
  switch (authorization.to) {
    case 'shown':
      return void sendRefusal(reply, 400, authorization.message);
    case 'sent': {
      const { redirectUri, state, error, message } = authorization;
      return void reply.redirect(redirectTo(redirectUri, { error, message, state, issuer: deps.settings.publicUrl }), 303);
    }
  }
};

/** The POST of a form: the sign-in, or the decision after it. */
const answer = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const fields = fieldsOf(request.body);
  if (fields === undefined) return sendRefusal(reply, 400, 'A field of this form is given more than once.');
  const asked = await readConsentRequest(deps, reply, request.body as string);
  if (asked === undefined) return reply;
  return fields['decision'] === undefined ? signIn(deps, request, reply, asked, fields) : decide(deps, request, reply, asked, fields);
};

/** Shows the page of consent, or the sign-in again with what is wrong with it. */
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
    return sendSignIn(reply, status, { ...signInOf(asked), email, needsCode, fault: fault.message });
  }
  const { app, authorization, hidden } = asked;
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
    const admitted = await deps.commands.authenticate(accessToken, { asked: team, isNeeded: true });
    if (admitted.kind !== 'user') throw new DomainError('INVALID_TOKEN', 'This page is not yours.');
    person = admitted;
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const message =
      fault.code === 'SECOND_FACTOR_REQUIRED' || fault.code === 'TEAM_NOT_FOUND' ? fault.message : 'Your sign-in is over. Sign in again.';
    return sendSignIn(reply, 401, { ...signInOf(asked), needsCode: false, fault: message });
  }
  const caller = { ...callerWith(person, request), user: { id: person.userId, sessionId: person.sessionId } };
  const { app, authorization } = asked;
  const { redirectUri, scopes, state, challenge } = authorization;
  const issuer = deps.settings.publicUrl;
  const target =
    decision === 'allow'
      ? redirectTo(redirectUri, { code: await deps.oauth.giveConsent(caller, { app, scopes, redirectUri, challenge }), state, issuer })
      : redirectTo(redirectUri, { error: 'access_denied', message: 'The person said no', state, issuer });
  await deps.commands.logout(caller);
  return reply.redirect(target, 303);
};

const signInOf = ({ app, hidden }: ConsentRequest) => ({ appName: app.name, email: '', hidden });

type Hidden = Readonly<Record<string, string>>;

const hiddenFields = `<% for (const [name, value] of Object.entries(it.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>`;

type SignInPage = Readonly<{ appName: string; email: string; needsCode: boolean; fault: string; hidden: Hidden }>;
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
<p><strong><%= it.appName %></strong> asks for access to your account. You decide on the next page.</p>
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

const sendSignIn = (reply: FastifyReply, status: number, page: SignInPage): FastifyReply =>
  sendPersonPage(reply, status, fillSignIn({ ...page, title: 'Sign in' }));

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
