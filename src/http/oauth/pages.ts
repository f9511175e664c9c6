/** The pages on which a person lets an app in: signing in, the consent itself, and what is wrong with a link. They load nothing. */
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { Scope } from '../../domain/access/scopes.js';
import { pageTemplate } from '../dashboard/template.js';

const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f5f2, #121316); --card: light-dark(#fff, #1b1d21); --line: light-dark(#dddbd5, #3a3d44); --ink: light-dark(#1d1d1b, #ececea); --soft: light-dark(#5d5c57, #a9abb0); --accent: light-dark(#b3261e, #ff8a80); --on-accent: light-dark(#fff, #1d1d1b); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 440px; margin: 8vh auto 48px; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 16px; }
@media (max-width: 480px) { main { margin: 0; border: 0; border-radius: 0; min-height: 100vh; padding: 28px 20px; } }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 12px; overflow-wrap: anywhere; }
p { margin: 0 0 14px; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: 14px; }
.fault { border-left: 3px solid var(--accent); padding: 2px 0 2px 12px; }
ul { margin: 0 0 18px; padding: 0 0 0 20px; }
li { margin: 4px 0; }
label { display: block; margin: 0 0 14px; font-weight: 600; font-size: 14px; }
input, select { display: block; width: 100%; margin: 6px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: inherit; font: inherit; font-size: 16px; font-weight: 400; }
.buttons { display: flex; gap: 12px; margin: 22px 0 18px; }
button { flex: 1; min-height: 44px; padding: 10px 18px; border: 1px solid var(--line); border-radius: 10px; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');
/** A form that ends in a redirect to the app is allowed by the app's own address; nothing may frame the page. */
const policyOf = (target: string | undefined): string =>
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'self'${target === undefined ? '' : ` ${new URL(target).origin}`}; frame-ancestors 'none'`;

type Hidden = Readonly<Record<string, string>>;

const shell = (inside: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title><%= it.title %> · sealpost</title>
<style><%~ it.style %></style>
</head>
<body>
<main>
${inside}</main>
</body>
</html>
`;

const hiddenFields = `<% for (const [name, value] of Object.entries(it.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>`;

type Styled = Readonly<{ title: string; style: string }>;
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

const fillSignIn = pageTemplate<SignInPage & Styled>(
  shell(`<h1>Sign in</h1>
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
`),
);

const fillConsent = pageTemplate<ConsentPage & Styled>(
  shell(`<h1>Allow <%= it.appName %> to act for you?</h1>
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
`),
);

const fillRefusal = pageTemplate<Readonly<{ text: string }> & Styled>(
  shell(`<h1><%= it.title %></h1>
<p><%= it.text %></p>
<p class="soft">You are sent nowhere, and nothing was granted. Go back to the app and begin again; if this comes again, tell those who make it.</p>
`),
);

const send = (reply: FastifyReply, status: number, html: string, target?: string): FastifyReply =>
  reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', policyOf(target))
    .header('x-frame-options', 'DENY')
    .header('x-robots-tag', 'noindex, nofollow')
    .send(html);

export const sendSignIn = (reply: FastifyReply, status: number, page: SignInPage): FastifyReply =>
  send(reply, status, fillSignIn({ ...page, title: 'Sign in', style }));

/** `target`: where the form leads in the end; a browser checks redirects of forms too. */
export const sendConsent = (reply: FastifyReply, page: ConsentPage, target: string): FastifyReply =>
  send(reply, 200, fillConsent({ ...page, title: `Allow ${page.appName}?`, style }), target);

export const sendRefusal = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  send(reply, status, fillRefusal({ title: 'This link does not work', text, style }));

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
