/** The pages on which a person lets an app in: signing in, the consent itself, and what is wrong with a link. They load nothing. */
import type { FastifyReply } from 'fastify';
import type { Scope } from '../../domain/access/scopes.js';
import { personPage, sendPersonPage } from '../server/forms.js';

type Hidden = Readonly<Record<string, string>>;

const hiddenFields = `<% for (const [name, value] of Object.entries(it.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>`;

export type SignInPage = Readonly<{ appName: string; email: string; needsCode: boolean; fault: string; hidden: Hidden }>;
export type ConsentPage = Readonly<{
  appName: string;
  homepage: string;
  /** What it is called whom the app belongs to, and where the person is sent. */
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

export const sendSignIn = (reply: FastifyReply, status: number, page: SignInPage): FastifyReply =>
  sendPersonPage(reply, status, fillSignIn({ ...page, title: 'Sign in' }));

/** `target`: where the form leads in the end. */
export const sendConsent = (reply: FastifyReply, page: ConsentPage, target: string): FastifyReply =>
  sendPersonPage(reply, 200, fillConsent({ ...page, title: `Allow ${page.appName}?` }), target);

export const sendRefusal = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  sendPersonPage(reply, status, fillRefusal({ title: 'This link does not work', text }));

/** What a scope opens, as a person reads it. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  'emails:send': 'send mails',
  'emails:read': 'read the log of mails, with their recipients and contents',
  'templates:read': 'read templates',
  'templates:write': 'create, change and delete templates',
  'webhooks:read': 'read webhook subscriptions',
  'webhooks:write': 'create, change and delete webhook subscriptions',
  'analytics:read': 'read figures of what was sent',
  'profile:read': 'read your name and address',
};
