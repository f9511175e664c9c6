/**
 * The authorization endpoint (RFC 6749, section 3.1): a person signs in on its page and consents or refuses. The page
 * beside it shows what the person granted, and ends it. The pages set no cookie, so that no other page can act in the
 * person's name; the session of the sign-in ends with the decision.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  personPage,
  sendPersonPage,
  fieldsOf,
  readForms,
  readerLanguage,
  sentenceOf,
  type PageLanguage,
} from '../server/forms.js';
import { words } from './texts.js';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { Caller, ForTeam, UserAuthenticated } from '../../commands/core/caller.js';
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
import { assertDefined, parseOAuthGrantId, parseTeamId, type SessionId, type UserId } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import type { PageBrand } from '../../domain/teams/brand.js';
import type { OAuthGrantRecord } from '../../api/apps.js';
import { auditDenial } from '../server/hooks.js';
import { callerWith } from '../server/admission.js';
import { countLogin } from '../server/rates.js';
import { calledFrom } from '../server/headers.js';

export type PageDeps = Pick<HttpDeps, 'oauth' | 'commands' | 'queries' | 'limiter' | 'settings' | 'audit'>;

/** A request for a person's consent from a known app, to an address of that app. */
type ConsentRequest = Readonly<{
  app: KnownApp;
  authorization: Authorization | FaultyAuthorization;
  hidden: Readonly<Record<string, string>>;
  language: PageLanguage;
}>;

type Fields = Readonly<Record<string, string>>;

const PATH = '/oauth/authorize';

const APPS_PATH = '/account/apps';

const GRANTS_MAX = 100;

const config = { access: 'public' } as const;

const schema = { hide: true };

const TEAMS_MAX = 100;

const DENIED = { error: 'access_denied', message: 'The person said no' } as const;

const paramNames = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;

/** Registers GET and POST of /oauth/authorize and /account/apps. */
export const authorizeRoutes = (app: App, deps: PageDeps): void => {
  app.get(PATH, { config, schema }, async (request, reply) => {
    const asked = await readConsentRequest(deps, request, reply, new URL(request.url, deps.settings.publicUrl).search);
    return asked === undefined ? reply : sendSignIn(reply, 200, asked);
  });
  app.get(APPS_PATH, { config, schema }, (request, reply) => sendAppsSignIn(reply, 200, readerLanguage(request)));
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post(PATH, { config, schema }, (request, reply) => answer(deps, request, reply));
    scope.post(APPS_PATH, { config, schema }, (request, reply) => answerApps(deps, request, reply));
  });
};

/** The request of a link or form; undefined if it was refused on a page. */
const readConsentRequest = async (
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  form: string,
): Promise<ConsentRequest | undefined> => {
  const language = readerLanguage(request);
  const fields = fieldsOf(form);
  if (fields === undefined)
    return void sendRefusal(reply, 400, language, 'A parameter of this link is given more than once.');
  const hidden = Object.fromEntries(
    paramNames.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const])),
  );
  const params: AuthorizationParams = hidden;
  const app = await deps.oauth.openOAuthApp(params.client_id ?? '');
  const authorization = readAuthorization(app, params, deps.settings.publicUrl);
  if ('refusal' in authorization) return void sendRefusal(reply, 400, language, authorization.refusal);
  return { app: assertDefined(app, 'app'), authorization, hidden, language };
};

/** The POST of a form: the sign-in, or the decision after it. */
const answer = async (deps: PageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const fields = fieldsOf(request.body);
  if (fields === undefined)
    return sendRefusal(reply, 400, readerLanguage(request), 'A field of this form is given more than once.');
  const asked = await readConsentRequest(deps, request, reply, request.body as string);
  if (asked === undefined) return reply;
  return fields['decision'] === undefined
    ? signIn(deps, request, reply, asked, fields)
    : decide(deps, request, reply, asked, fields);
};

/** Fault of a sign-in; `status`: of the page that shows the form again. */
export type Refused = Readonly<{ status: number; email: string; needsCode: boolean; fault: DomainError }>;

export const signInBy = async (
  deps: PageDeps,
  request: FastifyRequest,
  fields: Fields,
): Promise<SignedIn | Refused> => {
  const { email = '', password = '', code = '' } = fields;
  try {
    await countLogin(deps, request, email);
    return await deps.commands.login(
      { email, password, ...(code === '' ? {} : { code }) },
      calledFrom(request),
      deps.queries.teamsOfUser,
    );
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    auditDenial(deps.audit, request, { code: fault.code, status: 401 }, fault);
    const needsCode = code !== '' || fault.code === 'CODE_REQUIRED' || fault.code === 'INVALID_CODE';
    return { status: fault.code === 'LOGIN_PAUSED' ? 429 : 401, email, needsCode, fault };
  }
};

/**
 * Shows the page of consent, or the sign-in again with what is wrong with it. The app is told of a faulty request here,
 * and never before.
 */
const signIn = async (
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: ConsentRequest,
  fields: Fields,
): Promise<FastifyReply> => {
  const signedIn = await signInBy(deps, request, fields);
  if ('fault' in signedIn) return sendSignIn(reply, signedIn.status, asked, signedIn);
  const { app, authorization, hidden, language } = asked;
  if ('error' in authorization) {
    const person = await personOf(deps, signedIn.accessToken, { asked: undefined, isNeeded: false });
    return sendBack(deps, request, reply, { person, authorization, answer: authorization });
  }
  const teams = await teamsOf(deps, signedIn.user.id as UserId);
  if (teams.length === 0) return sendRefusal(reply, 403, language, words[language].noTeam, language);
  const page = {
    appName: app.name,
    homepage: app.homepage ?? '',
    host: shownHost(authorization.redirectUri),
    isUnverified: app.origin === 'self-registered',
    othersTeam: othersTeamOf(app, teams),
    person: [signedIn.user.name, signedIn.user.email].filter(Boolean).join(', '),
    scopes: authorization.scopes.map((scope) => words[language].scopes[scope]),
    teams,
    hidden: { ...hidden, access_token: signedIn.accessToken },
    brand: await brandOf(deps, teams),
  };
  return sendConsent(reply, language, page, authorization.redirectUri);
};

/** The part of a redirect URI that tells a person where they go: the host, or the scheme of an editor. */
const shownHost = (redirectUri: string): string => {
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' || protocol === 'http:' ? host : `${protocol}//${host}`;
};

/**
 * The name of the team that registered the app, if the person is not in that team: anybody with a team of their own may
 * give an app the name of another. Empty if the person is in that team, or no team registered the app.
 */
export const othersTeamOf = (
  { teamId, teamName = '' }: KnownApp,
  teams: readonly Readonly<{ id: string }>[],
): string => (teamId === undefined || teams.some(({ id }) => id === teamId) ? '' : teamName);

/** The brand of the only team. */
export const brandOf = async (
  { commands }: PageDeps,
  teams: readonly Readonly<{ id: string }>[],
): Promise<PageBrand | undefined> => {
  const id = teams.length === 1 ? parseTeamId(teams[0]?.id ?? '') : undefined;
  return id === undefined ? undefined : commands.brandOfPages(id);
};

export const teamsOf = async (
  { queries }: PageDeps,
  userId: UserId,
): Promise<readonly Readonly<{ id: string; name: string }>[]> =>
  (await queries.listTeams(userId, {}, { page: 1, limit: TEAMS_MAX })).data.map(({ id, name }) => ({ id, name }));

/** Carries out the decision. The form must hold the access token that only the page of this sign-in got. */
const decide = async (
  deps: PageDeps,
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
    return sendSignIn(reply, 401, asked, { fault });
  }
  const { app, authorization } = asked;
  if ('error' in authorization) return sendBack(deps, request, reply, { person, authorization, answer: authorization });
  if (decision !== 'allow') return sendBack(deps, request, reply, { person, authorization, answer: DENIED });
  const { redirectUri, scopes, challenge, resource } = authorization;
  const code = await deps.oauth.giveConsent(callerOf(person, request), {
    app,
    scopes,
    resource,
    redirectUri,
    challenge,
  });
  return sendBack(deps, request, reply, { person, authorization, answer: { code } });
};

/** The person whose access token it is. Rejects as `authenticate` does. */
export const personOf = async (
  { commands }: PageDeps,
  accessToken: string,
  team: ForTeam,
): Promise<UserAuthenticated> => {
  const admitted = await commands.authenticate(accessToken, team);
  if (admitted.kind !== 'user') throw new DomainError('INVALID_TOKEN', 'This page is not yours.');
  return admitted;
};

export const callerOf = (
  person: UserAuthenticated,
  request: FastifyRequest,
): Caller & Readonly<{ user: { id: UserId; sessionId: SessionId } }> => ({
  ...callerWith(person, request),
  user: { id: person.userId, sessionId: person.sessionId },
});

/** Ends the sign-in and sends the person to the app's address. Only a person who has signed in is sent there. */
const sendBack = async (
  { commands, settings }: PageDeps,
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

/** The sign-in for the page of granted apps, the list, and the end of one of them. */
const answerApps = async (deps: PageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const language = readerLanguage(request);
  const fields = fieldsOf(request.body);
  if (fields === undefined) return sendRefusal(reply, 400, language, 'A field of this form is given more than once.');
  let { access_token: accessToken } = fields;
  if (accessToken === undefined) {
    const signedIn = await signInBy(deps, request, fields);
    if ('fault' in signedIn) return sendAppsSignIn(reply, signedIn.status, language, signedIn);
    ({ accessToken } = signedIn);
  }
  let person: UserAuthenticated;
  try {
    person = await personOf(deps, accessToken, { asked: undefined, isNeeded: false });
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return sendAppsSignIn(reply, 401, language, { fault });
  }
  if (fields['done'] !== undefined) {
    await deps.commands.logout(callerOf(person, request));
    return sendPersonPage(
      reply,
      200,
      fillApps({
        ...appsPage(language, accessToken, []),
        action: reply.server.ownPath(APPS_PATH),
        text: words[language].signedOut,
        accessToken: '',
      }),
    );
  }
  const ended = parseOAuthGrantId(fields['grant'] ?? '');
  if (ended !== undefined) await deps.commands.revokeGrant(callerOf(person, request), ended).catch(unlessGone);
  const { data } = await deps.queries.listGrants(person.userId, { page: 1, limit: GRANTS_MAX });
  const teams = new Map((await teamsOf(deps, person.userId)).map(({ id, name }) => [id, name]));
  const left = data.filter(({ id }) => id !== ended);
  return sendPersonPage(
    reply,
    200,
    fillApps({ ...appsPage(language, accessToken, left, teams), action: reply.server.ownPath(APPS_PATH) }),
  );
};

/** It was ended meanwhile. */
const unlessGone = (fault: unknown): void => {
  if (!(fault instanceof DomainError) || fault.code !== 'OAUTH_GRANT_NOT_FOUND') throw fault;
};

const appsPage = (
  language: PageLanguage,
  accessToken: string,
  grants: readonly OAuthGrantRecord[],
  teams: ReadonlyMap<string, string> = new Map(),
): AppsPage => {
  const said = words[language];
  return {
    language,
    title: said.apps,
    said,
    text: grants.length === 0 ? said.noApps : '',
    accessToken,
    grants: grants.map(({ id, appName, teamId, givenAt, scopes }) => ({
      id,
      appName,
      html: sentenceOf(said.mayDo, {
        team: teams.get(teamId) ?? teamId,
        day: new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(givenAt)),
      }),
      scopes: scopes.map((scope) => said.scopes[scope]),
    })),
  };
};

export const hiddenFields = `<% for (const [name, value] of Object.entries(it.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>`;

type Said = (typeof words)[PageLanguage];

/** `html`: the paragraphs above the form. */
type SignInPage = Readonly<{
  language: PageLanguage;
  said: Said;
  action: string;
  html: readonly string[];
  email: string;
  needsCode: boolean;
  fault: string;
  hidden: Hidden;
}>;
type ConsentPage = Readonly<{
  /** The brand of the team, where the person has one team alone. */
  brand: PageBrand | undefined;
  appName: string;
  homepage: string;
  /** The host that the person is sent to afterwards. */
  host: string;
  /** The app registered itself: nobody has checked its name. */
  isUnverified: boolean;
  /** The team of others that registered the app; empty: there is none. */
  othersTeam: string;
  person: string;
  scopes: readonly string[];
  teams: readonly Readonly<{ id: string; name: string }>[];
  hidden: Hidden;
}>;
/** `accessToken` is empty once the person has signed out. */
type AppsPage = Readonly<{
  language: PageLanguage;
  title: string;
  said: Said;
  text: string;
  accessToken: string;
  grants: readonly Readonly<{ id: string; appName: string; html: string; scopes: readonly string[] }>[];
}>;

const fillSignIn = personPage<SignInPage>(
  `<h1><%= it.title %></h1>
<% for (const html of it.html) { %><p><%~ html %></p>
<% } %>\
<% if (it.fault !== '') { %><p class="fault" role="alert"><%= it.fault %></p>
<% } %>\
<form method="post" action="<%= it.action %>">
${hiddenFields}\
<label><%= it.said.email %><input type="email" name="email" value="<%= it.email %>" autocomplete="username" dir="ltr" required></label>
<label><%= it.said.password %><input type="password" name="password" autocomplete="current-password" required></label>
<p><small><%= it.said.noPassword %></small></p>
<% if (it.needsCode) { %><label><%= it.said.code %><input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<% } %>\
<div class="buttons"><button type="submit" class="main"><%= it.said.signIn %></button></div>
</form>
`,
);

const fillConsent = personPage<
  ConsentPage &
    Readonly<{
      action: string;
      appsPath: string;
      language: PageLanguage;
      said: Said;
      sentence: (sentence: string, values: Readonly<Record<string, string>>) => string;
    }>
>(
  `<h1><%= it.title %></h1>
<p class="soft"><%~ it.sentence(it.said.you, { person: it.person }) %><% if (it.homepage !== '') { %> <%~ it.sentence(it.said.homepage, { homepage: it.homepage }) %><% } %></p>
<% if (it.isUnverified) { %><p class="fault"><%~ it.sentence(it.said.unverified, { host: it.host }) %></p>
<% } %>\
<% if (it.othersTeam !== '') { %><p class="fault"><%~ it.sentence(it.said.ofOthers, { team: it.othersTeam }) %></p>
<% } %>\
<p><%= it.said.can %></p>
<ul>
<% for (const scope of it.scopes) { %><li><%= scope %></li>
<% } %></ul>
<form method="post" action="<%= it.action %>">
${hiddenFields}\
<% if (it.teams.length === 1) { %><p><%~ it.sentence(it.said.inTeam, { team: it.teams[0].name }) %></p><input type="hidden" name="team" value="<%= it.teams[0].id %>">
<% } else { %><label><%= it.said.team %><select name="team"><% for (const team of it.teams) { %><option value="<%= team.id %>"><%= team.name %></option><% } %></select></label>
<% } %>\
<div class="buttons"><button type="submit" name="decision" value="deny"><%= it.said.deny %></button><button type="submit" name="decision" value="allow" class="main"><%= it.said.allow %></button></div>
</form>
<p class="soft"><%~ it.sentence(it.said.goesOn, { host: it.host }) %> <a href="<%= it.appsPath %>"><%= it.said.yourApps %></a></p>
`,
);

const fillApps = personPage<AppsPage & Readonly<{ action: string }>>(
  `<h1><%= it.title %></h1>
<% if (it.text !== '') { %><p><%= it.text %></p>
<% } %>\
<% for (const grant of it.grants) { %><h2><%= grant.appName %></h2>
<p class="soft"><%~ grant.html %></p>
<ul>
<% for (const scope of grant.scopes) { %><li><%= scope %></li>
<% } %></ul>
<form method="post" action="<%= it.action %>">
<input type="hidden" name="access_token" value="<%= it.accessToken %>">
<input type="hidden" name="grant" value="<%= grant.id %>">
<div class="buttons"><button type="submit" class="main" aria-label="<%= it.said.end %>: <%= grant.appName %>"><%= it.said.end %></button></div>
</form>
<% } %>\
<% if (it.accessToken !== '') { %><form method="post" action="<%= it.action %>">
<input type="hidden" name="access_token" value="<%= it.accessToken %>">
<div class="buttons"><button type="submit" name="done" value="yes"><%= it.said.done %></button></div>
</form>
<% } %>\
`,
);

/** `detail`: for who makes the app, in the language `spoken`. */
const fillRefusal = personPage<
  Readonly<{ language: PageLanguage; spoken: PageLanguage; detail: string; text: string }>
>(
  `<h1><%= it.title %></h1>
<p lang="<%= it.spoken %>"<% if (it.spoken !== 'ar') { %> dir="ltr"<% } %>><%= it.detail %></p>
<p class="soft"><%= it.text %></p>
`,
);

type Again = Readonly<{ email?: string; needsCode?: boolean; fault?: DomainError }>;

const signInPage = (language: PageLanguage, { email = '', needsCode = false, fault }: Again) => {
  const said = words[language];
  return {
    title: said.signIn,
    language,
    said,
    email,
    needsCode,
    fault: fault === undefined ? '' : faultIn(language, fault),
  };
};

/** A sign-in that is over is told as such, whatever ended it. */
export const faultIn = (language: PageLanguage, { code, message }: DomainError): string => {
  const { faults, isOver } = words[language];
  if (code === 'INVALID_TOKEN' || code === 'TOKEN_EXPIRED' || code === 'SESSION_ENDED') return isOver;
  return faults[code] ?? message;
};

const sendSignIn = (
  reply: FastifyReply,
  status: number,
  { app, authorization, hidden, language }: ConsentRequest,
  again: Again = {},
): FastifyReply => {
  const { redirectUri } = authorization;
  const said = words[language];
  const asks = sentenceOf(said.asks, { app: app.name });
  const html =
    'error' in authorization
      ? [
          `${asks} ${sentenceOf(said.isWrong, {})} <span lang="en" dir="ltr">${sentenceOf('{wrong}', { wrong: `${authorization.message}.` })}</span>`,
          sentenceOf(said.nothingGranted, { host: shownHost(redirectUri) }),
        ]
      : [`${asks} ${sentenceOf(said.nextPage, {})}`];
  const page = { ...signInPage(language, again), action: reply.server.ownPath(PATH), html, hidden };
  return sendPersonPage(reply, status, fillSignIn(page), {
    target: 'error' in authorization ? redirectUri : undefined,
  });
};

const sendAppsSignIn = (reply: FastifyReply, status: number, language: PageLanguage, again: Again = {}): FastifyReply =>
  sendPersonPage(
    reply,
    status,
    fillSignIn({
      ...signInPage(language, again),
      title: words[language].apps,
      action: reply.server.ownPath(APPS_PATH),
      html: [words[language].seeApps],
      hidden: {},
    }),
  );

/** `target`: where the form leads in the end. */
const sendConsent = (reply: FastifyReply, language: PageLanguage, page: ConsentPage, target: string): FastifyReply => {
  const said = words[language];
  const { ownPath } = reply.server;
  const title = said.isAllowed.replace('{app}', () => page.appName);
  return sendPersonPage(
    reply,
    200,
    fillConsent({
      ...page,
      title,
      language,
      said,
      sentence: sentenceOf,
      action: ownPath(PATH),
      appsPath: ownPath(APPS_PATH),
    }),
    { target, brand: page.brand },
  );
};

export const sendRefusal = (
  reply: FastifyReply,
  status: number,
  language: PageLanguage,
  detail: string,
  spoken: PageLanguage = 'en',
): FastifyReply =>
  sendPersonPage(
    reply,
    status,
    fillRefusal({ title: words[language].doesNotWork, language, spoken, detail, text: words[language].nowhere }),
  );
