/**
 * The device grant (RFC 8628): the endpoint at which a device begins, and the page on which a person types its code,
 * signs in, reads what is asked, and decides. As on the page of consent no cookie is set, and the session ends with the
 * decision.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { words } from './texts.js';
import {
  brandOf,
  callerOf,
  faultIn,
  hiddenFields,
  othersTeamOf,
  personOf,
  sendRefusal,
  signInBy,
  teamsOf,
  type PageDeps,
} from './authorize.js';
import { authenticateApp, refuse } from './client.js';
import type { WaitingDevice } from '../../commands/apps/device.js';
import type { UserAuthenticated } from '../../commands/core/caller.js';
import { deviceLimits } from '../../domain/access/rate-limits.js';
import { resourceAsked, scopesAsked, unknownResource } from '../../domain/apps/authorization.js';
import { DEVICE_INTERVAL_S, DEVICE_MS } from '../../domain/apps/device.js';
import { DomainError } from '../../domain/core/errors.js';
import type { UserId } from '../../domain/core/ids.js';
import type { Admission } from '../../domain/ports/limiter.js';
import type { PageBrand } from '../../domain/teams/brand.js';
import { addressBucket, addressPrefix } from '../../shared/addresses.js';
import type { App } from '../server/context.js';
import {
  fieldsOf,
  personPage,
  readerLanguage,
  readForms,
  sendPersonPage,
  sentenceOf,
  type PageLanguage,
} from '../server/forms.js';
import { auditDenial } from '../server/hooks.js';
import { windowsOfBounds } from '../server/rates.js';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export const DEVICE_PATH = '/oauth/device_authorization';

const PAGE_PATH = '/oauth/device';

const config = { access: 'public' } as const;

const schema = { hide: true };

type Fields = Readonly<Record<string, string>>;

type Said = (typeof words)[PageLanguage];

/** Registers POST /oauth/device_authorization, and GET and POST of /oauth/device. */
export const deviceRoutes = (app: App, deps: PageDeps): void => {
  app.get(PAGE_PATH, { config, schema }, (request, reply) => {
    const { user_code: userCode = '' } = fieldsOf(new URL(request.url, deps.settings.publicUrl).search) ?? {};
    return sendSignIn(reply, 200, readerLanguage(request), { userCode });
  });
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post(DEVICE_PATH, { config, schema }, (request, reply) => begin(deps, request, reply));
    scope.post(PAGE_PATH, { config, schema }, (request, reply) => answer(deps, request, reply));
  });
};

/** RFC 8628, section 3.1. Each request is recorded, so that strangers may make few. */
const begin = async (deps: PageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return refuse(reply, 400, 'invalid_request', 'A parameter is given more than once');
  const app = await authenticateApp(deps, { form, authorization: request.headers.authorization });
  if ('error' in app) return refuse(reply, app.error === 'invalid_client' ? 401 : 400, app.error, app.description);
  if (!app.deviceFlow)
    return refuse(reply, 400, 'unauthorized_client', 'The app may not be let in by a code of a device');
  const scopes = scopesAsked(app, form['scope']);
  if (scopes === undefined)
    return refuse(reply, 400, 'invalid_scope', `scope must be some of: ${app.scopes.join(' ')}`);
  const { publicUrl } = deps.settings;
  const resource = resourceAsked(form['resource'], publicUrl);
  if (resource === undefined) return refuse(reply, 400, 'invalid_target', unknownResource(publicUrl));
  const network = addressBucket(request.ip ?? '');
  const { admitted, retryAfterS } = await countRequest(deps, request.ip ?? '');
  if (!admitted)
    return reply
      .code(429)
      .header('retry-after', retryAfterS)
      .send({
        error: 'temporarily_unavailable',
        error_description: `Too many requests of devices; try again in ${retryAfterS} s`,
      });
  const { deviceCode, userCode } = await deps.oauth.requestDevice({
    app,
    scopes,
    resource,
    network,
    requestId: request.id,
  });
  const page = `${publicUrl}${PAGE_PATH}`;
  return reply.send({
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: DEVICE_MS / 1_000,
    interval: DEVICE_INTERVAL_S,
  });
};

/** Counts a request among the first ones of its network, or else among the later ones of all networks. */
const countRequest = async ({ limiter }: PageDeps, ip: string): Promise<Admission> => {
  const network = addressBucket(ip);
  const ofNetwork = windowsOfBounds(`device-request:${network}`, deviceLimits.requestsOfNetwork);
  const first = await limiter.hit([
    ...ofNetwork,
    ...windowsOfBounds(`device-first:${network}`, deviceLimits.firstOfNetwork),
    ...windowsOfBounds(`device-first:${addressPrefix(ip)}`, deviceLimits.firstOfPrefix),
    ...windowsOfBounds('device-first', deviceLimits.first),
  ]);
  return first.admitted ? first : limiter.hit([...ofNetwork, ...windowsOfBounds('device-later', deviceLimits.later)]);
};

/** The POST of a form: the sign-in with a code, another code after it, or the decision. */
const answer = async (deps: PageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const language = readerLanguage(request);
  const fields = fieldsOf(request.body);
  if (fields === undefined) return sendRefusal(reply, 400, language, 'A field of this form is given more than once.');
  const { user_code: userCode = '', decision, team } = fields;
  let { access_token: accessToken } = fields;
  if (accessToken === undefined) {
    const signedIn = await signInBy(deps, request, fields);
    if ('fault' in signedIn) return sendSignIn(reply, signedIn.status, language, { ...signedIn, userCode });
    ({ accessToken } = signedIn);
  }
  let person: UserAuthenticated;
  try {
    const isDecided = decision !== undefined;
    person = await personOf(deps, accessToken, { asked: isDecided ? (team ?? '') : undefined, isNeeded: isDecided });
    await countGuess(deps, request, person.userId);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    auditDenial(deps.audit, request, { code: fault.code, status: 401 }, fault);
    return sendSignIn(reply, fault.code === 'LOGIN_PAUSED' ? 429 : 401, language, { fault, userCode });
  }
  return decision === undefined
    ? show(deps, request, reply, { language, accessToken, person, userCode })
    : decide(deps, request, reply, { language, person, fields });
};

/** Counts each code that a person gives. Rejects with LOGIN_PAUSED: codes are not guessed by trying. */
const countGuess = async ({ limiter }: PageDeps, request: FastifyRequest, userId: UserId): Promise<void> => {
  const { guessesOfPerson, guessesOfNetwork } = deviceLimits;
  const { admitted, retryAfterS } = await limiter.hit([
    ...windowsOfBounds(`device-code:${userId}`, guessesOfPerson),
    ...windowsOfBounds(`device-code:${addressBucket(request.ip ?? '')}`, guessesOfNetwork),
  ]);
  if (!admitted)
    throw new DomainError('LOGIN_PAUSED', `Too many codes were tried. Try again in ${retryAfterS} seconds.`, {
      retryAfterS,
    });
};

type Shown = Readonly<{ language: PageLanguage; accessToken: string; person: UserAuthenticated; userCode: string }>;

/** Shows what the device asks for, or asks for the code again. */
const show = async (
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { language, accessToken, person, userCode }: Shown,
): Promise<FastifyReply> => {
  const said = words[language];
  const device = await deps.oauth.findDevice(userCode, addressBucket(request.ip ?? ''));
  if (device === undefined)
    return sendSignIn(reply, 400, language, { userCode, accessToken, text: said.deviceUnknown });
  const teams = await teamsOf(deps, person.userId);
  if (teams.length === 0) {
    await deps.commands.logout(callerOf(person, request));
    return sendRefusal(reply, 403, language, said.noTeam, language);
  }
  const me = await deps.commands.getOwnUser(callerOf(person, request));
  const page = {
    ...pageOf(device, language),
    person: [me.name, me.email].filter(Boolean).join(', '),
    teams,
    othersTeam: othersTeamOf(device.app, teams),
    brand: await brandOf(deps, teams),
    action: reply.server.ownPath(PAGE_PATH),
    appsPath: reply.server.ownPath('/account/apps'),
    hidden: { user_code: device.userCode, access_token: accessToken },
  };
  return sendPersonPage(reply, 200, fillDevice(page), { brand: page.brand });
};

const pageOf = ({ app, userCode, scopes, isSameNetwork }: WaitingDevice, language: PageLanguage) => {
  const said = words[language];
  return {
    language,
    said,
    sentence: sentenceOf,
    title: said.isAllowed.replace('{app}', () => app.name),
    homepage: app.homepage ?? '',
    userCode,
    isSameNetwork,
    scopes: scopes.map((scope) => said.scopes[scope]),
  };
};

const decide = async (
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { language, person, fields }: Readonly<{ language: PageLanguage; person: UserAuthenticated; fields: Fields }>,
): Promise<FastifyReply> => {
  const said = words[language];
  const caller = callerOf(person, request);
  const isAllowed = fields['decision'] === 'allow';
  const isDone = await deps.oauth.decideDevice(caller, fields['user_code'] ?? '', isAllowed);
  await deps.commands.logout(caller);
  const [title, text] = !isDone
    ? [said.doesNotWork, said.deviceOver]
    : isAllowed
      ? [said.deviceAllowed, said.deviceGoesOn]
      : [said.deviceDenied, said.deviceClose];
  return sendPersonPage(reply, isDone ? 200 : 409, fillEnd({ title, language, text }));
};

/** `accessToken`: of a person who has signed in and gives another code. */
type Again = Readonly<{
  userCode: string;
  accessToken?: string;
  email?: string;
  needsCode?: boolean;
  fault?: DomainError;
  text?: string;
}>;

const sendSignIn = (reply: FastifyReply, status: number, language: PageLanguage, again: Again): FastifyReply => {
  const { userCode, accessToken, email = '', needsCode = false, fault, text = '' } = again;
  const said = words[language];
  const { retryAfterS } = fault?.details ?? {};
  if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
  const page = {
    title: said.device,
    language,
    said,
    action: reply.server.ownPath(PAGE_PATH),
    userCode: userCode.slice(0, CODE_SHOWN_MAX),
    isSignedIn: accessToken !== undefined,
    email,
    needsCode,
    fault: fault === undefined ? text : faultIn(language, fault),
    hidden: accessToken === undefined ? {} : { access_token: accessToken },
  };
  return sendPersonPage(reply, status, fillSignIn(page));
};

const CODE_SHOWN_MAX = 20;

const fillSignIn = personPage<
  Readonly<{
    language: PageLanguage;
    said: Said;
    action: string;
    userCode: string;
    isSignedIn: boolean;
    email: string;
    needsCode: boolean;
    fault: string;
    hidden: Fields;
  }>
>(
  `<h1><%= it.title %></h1>
<p><%= it.said.deviceAsks %></p>
<p class="fault"><%= it.said.deviceCare %></p>
<% if (it.fault !== '') { %><p class="fault" role="alert"><%= it.fault %></p>
<% } %>\
<form method="post" action="<%= it.action %>">
${hiddenFields}\
<label><%= it.said.deviceCode %><input name="user_code" value="<%= it.userCode %>" autocomplete="off" autocapitalize="characters" spellcheck="false" dir="ltr" required></label>
<% if (!it.isSignedIn) { %><label><%= it.said.email %><input type="email" name="email" value="<%= it.email %>" autocomplete="username" dir="ltr" required></label>
<label><%= it.said.password %><input type="password" name="password" autocomplete="current-password" required></label>
<p><small><%= it.said.noPassword %></small></p>
<% if (it.needsCode) { %><label><%= it.said.code %><input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<% } } %>\
<div class="buttons"><button type="submit" class="main"><%= it.isSignedIn ? it.said.goOn : it.said.signIn %></button></div>
</form>
`,
);

const fillDevice = personPage<
  ReturnType<typeof pageOf> &
    Readonly<{
      brand: PageBrand | undefined;
      othersTeam: string;
      person: string;
      action: string;
      appsPath: string;
      teams: readonly Readonly<{ id: string; name: string }>[];
      hidden: Fields;
    }>
>(
  `<h1><%= it.title %></h1>
<p class="soft"><%~ it.sentence(it.said.you, { person: it.person }) %><% if (it.homepage !== '') { %> <%~ it.sentence(it.said.homepage, { homepage: it.homepage }) %><% } %></p>
<% if (it.othersTeam !== '') { %><p class="fault"><%~ it.sentence(it.said.ofOthers, { team: it.othersTeam }) %></p>
<% } %>\
<p><%~ it.sentence(it.said.deviceShows, { code: it.userCode }) %></p>
<p class="fault"><% if (!it.isSameNetwork) { %><strong><%= it.said.otherNetwork %></strong> <% } %><%= it.said.deviceCare %></p>
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
<p class="soft"><%= it.said.canEnd %> <a href="<%= it.appsPath %>"><%= it.said.yourApps %></a></p>
`,
);

const fillEnd = personPage<Readonly<{ text: string }>>(`<h1><%= it.title %></h1>
<p><%= it.text %></p>
`);
