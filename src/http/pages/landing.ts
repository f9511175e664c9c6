/** The page at `/`: what runs here, and where to go next. */
import { createHash } from 'node:crypto';
import type { App, HttpDeps } from '../server/context.js';
import { ICON, firstMailCurl } from './page.js';
import { pageTemplate } from '../server/forms.js';
import { contentPolicy } from '../server/headers.js';

type Card = Readonly<{ href: string; title: string; text: string; isShown: boolean }>;

const style = `
:root { color-scheme: light dark; --ground: light-dark(#fff, #17181b); --raised: light-dark(#f6f6f4, #1f2125); --line: light-dark(#e2e1dd, #33363c); --ink: light-dark(#1d1d1b, #ececea); --soft: light-dark(#63625d, #a3a5aa); --accent: light-dark(#b3261e, #ff8a80); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 720px; margin: 0 auto; padding: 9vh 24px 48px; }
h1 { display: flex; align-items: center; gap: 12px; font-size: 30px; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 17px; margin: 36px 0 0; }
p { margin: 0; color: var(--soft); }
ul { list-style: none; margin: 28px 0 0; padding: 0; display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); }
li a { display: block; height: 100%; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); color: inherit; text-decoration: none; }
li a:hover, li a:focus-visible { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
strong { display: block; }
li span { color: var(--soft); font-size: 14px; }
pre { margin: 10px 0 0; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');
const CSP = contentPolicy({ 'style-src': `'sha256-${styleHash}'`, 'img-src': 'data:' });

/** Registers `/`. The mailbox is linked where there is one. */
export const landingRoutes = (app: App, deps: Pick<HttpDeps, 'settings' | 'mailbox'>): void => {
  const landing = page(firstMailCurl(deps.settings.publicUrl), cardsOf(app.ownPath, deps.mailbox !== undefined));
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', CSP).send(landing),
  );
};

const page = (curl: string, cards: readonly Card[]): string => fill({ curl, cards, icon: ICON, style });

const cardsOf = (own: (path: string) => string, withMailbox: boolean): readonly Card[] => [
  { href: own('/docs'), title: 'API reference', text: 'Every endpoint, with examples that run', isShown: true },
  { href: own('/mailbox'), title: 'Mailbox', text: 'Look at the mails that were sent', isShown: withMailbox },
  { href: own('/openapi.json'), title: 'OpenAPI 3.1', text: 'Description of the API for programs', isShown: true },
  { href: own('/health/ready'), title: 'Health', text: 'State of every worker', isShown: true },
];

const fill = pageTemplate<{ curl: string; cards: readonly Card[]; icon: string; style: string }>(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sealpost</title>
<link rel="icon" href="<%~ it.icon %>">
<style><%~ it.style %></style>
</head>
<body>
<main>
<h1><img src="<%~ it.icon %>" alt="" width="36" height="36">sealpost</h1>
<p>Transactional email whose log is its ledger.</p>
<ul>
<% for (const { href, title, text, isShown } of it.cards) { %>\
<% if (isShown) { %><li><a href="<%= href %>"><strong><%= title %></strong><span><%= text %></span></a></li><% } %>
<% } %>\
</ul>
<h2>Send a first email</h2>
<pre><%= it.curl %></pre>
</main>
</body>
</html>
`);
