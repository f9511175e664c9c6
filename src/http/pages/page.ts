/**
 * The pages of the service in a browser: the page at `/`, the mailbox, what a browser gets before it has opened the
 * link of the mailbox, and what they share.
 */
import { createHash } from 'node:crypto';
import { pageTemplate } from '../server/forms.js';
import { contentPolicy } from '../server/headers.js';
import type { App, HttpDeps } from '../server/context.js';

/** The mark of the service, as an icon that needs no request. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%23b3261e'/%3E%3Cpath d='M7 11h18v11H7z' fill='none' stroke='%23fff' stroke-width='2' stroke-linejoin='round'/%3E%3Cpath d='m7 11 9 7 9-7' fill='none' stroke='%23fff' stroke-width='2' stroke-linejoin='round'/%3E%3C/svg%3E";

const style = `
:root { color-scheme: light dark; --ground: light-dark(#fff, #17181b); --ink: light-dark(#1d1d1b, #ececea); --soft: light-dark(#63625d, #a3a5aa); --accent: light-dark(#b3261e, #ff8a80); }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 560px; margin: 0 auto; padding: 14vh 24px 48px; }
h1 { display: flex; align-items: center; gap: 12px; font-size: 26px; line-height: 1.2; margin: 0 0 14px; }
p { margin: 0 0 12px; }
.soft { color: var(--soft); }
a { color: var(--accent); }
code { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
`;

/** `curl`: the command line that sends a first mail. */
const fill = pageTemplate<{ curl: string; icon: string; own: (path: string) => string }>(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Mailbox · sealpost</title>
<link rel="icon" href="<%~ it.icon %>">
<link rel="stylesheet" href="<%= it.own('/mailbox/app.css') %>">
<script src="<%= it.own('/mailbox/app.js') %>" defer></script>
</head>
<body>
<header class="bar">
  <a class="brand" href="<%= it.own('/') %>"><img src="<%~ it.icon %>" alt="" width="22" height="22">sealpost</a>
  <h1>Mailbox</h1>
  <span id="count" class="muted" aria-live="polite"></span>
  <span id="offline" class="offline" role="status" hidden>not reachable, trying again</span>
  <span class="grow"></span>
  <a class="quiet" href="<%= it.own('/docs') %>">API reference</a>
  <button id="clear" type="button" class="danger" disabled>Delete all</button>
</header>
<main id="main" data-view="list">
  <nav class="list" aria-label="Messages">
    <ul id="messages"></ul>
    <button id="older" type="button" class="older" hidden>Show older messages</button>
  </nav>
  <section id="empty" class="empty" hidden>
    <h2>No mail yet</h2>
    <p>What you send through this service arrives here, and nowhere else. Send the sample sign-in code:</p>
    <pre id="curl"><%= it.curl %></pre>
    <div class="hint"><button id="copy" type="button">Copy</button><p class="muted">The API key was printed when the service first started; <code>npx sealpost key create --name mine</code> makes another.</p></div>
  </section>
  <section id="none" class="empty" hidden><p class="muted">Choose a message. <kbd>↑</kbd> <kbd>↓</kbd> move through the list.</p></section>
  <article id="message" class="message" aria-label="Message" hidden>
    <header>
      <button id="back" type="button" class="back">← All messages</button>
      <h2 id="subject">Message</h2>
      <dl id="facts"></dl>
    </header>
    <div class="tools">
      <div role="tablist" aria-label="Views of the message" id="tabs">
        <button role="tab" type="button" id="tab-html" aria-controls="panel" data-tab="html">HTML</button>
        <button role="tab" type="button" id="tab-text" aria-controls="panel" data-tab="text">Text</button>
        <button role="tab" type="button" id="tab-headers" aria-controls="panel" data-tab="headers">Headers</button>
        <button role="tab" type="button" id="tab-attachments" aria-controls="panel" data-tab="attachments">Attachments</button>
        <button role="tab" type="button" id="tab-source" aria-controls="panel" data-tab="source">Source</button>
      </div>
      <span class="grow"></span>
      <div id="looks" class="looks" role="group" aria-label="How the mail is shown">
        <button id="phone" type="button" aria-pressed="false">Phone width</button>
        <button id="dark" type="button" aria-pressed="false">Dark</button>
      </div>
    </div>
    <div id="panel" class="panel" role="tabpanel" tabindex="0"></div>
  </article>
</main>
<noscript><p class="noscript">The mailbox page needs JavaScript; the same as JSON is at <a href="<%= it.own('/mailbox/messages') %>">/mailbox/messages</a>.</p></noscript>
</body>
</html>
`);

/**
 * In: the command line that sends a first mail, and what makes the addresses of the page. Out: the mailbox page; its
 * style and script are served as files, so that its CSP needs no exception.
 */
export const mailboxPage = (curl: string, own: (path: string) => string): string => fill({ curl, icon: ICON, own });

/** Lets the page load nothing. */
export const CLOSED_CSP = contentPolicy({
  'style-src': `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src': 'data:',
});

/**
 * The page in place of the mailbox. A browser that follows the link from another site keeps the cookie, but sends it
 * only from the next click on.
 */
export const closedPage = (own: (path: string) => string): string => fillClosed({ icon: ICON, style, own });

const fillClosed = pageTemplate<{ icon: string; style: string; own: (path: string) => string }>(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Mailbox · sealpost</title>
<link rel="icon" href="<%~ it.icon %>">
<style><%~ it.style %></style>
</head>
<body>
<main>
<h1><img src="<%~ it.icon %>" alt="" width="32" height="32">The mailbox opens by its link</h1>
<p>Open the link that <code>sealpost serve</code> printed when it started. <code>npx sealpost mailbox</code> prints it again.</p>
<p class="soft">You have just opened it? <a href="<%= it.own('/mailbox') %>">Go on to the mailbox</a>.</p>
</main>
</body>
</html>
`);

/** The `curl` line that the pages show to send a first mail; the reader puts in the key. */
export const firstMailCurl = (publicUrl: string): string =>
  [
    `curl ${publicUrl}/api/emails/send \\`,
    `  -H 'Authorization: Bearer <API_KEY>' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{`,
    `    "templateId": "sign-in-code",`,
    `    "to": [{ "email": "ada@example.com", "name": "Ada Example" }],`,
    `    "variables": { "code": "482 913", "firstName": "Ada" }`,
    `  }'`,
  ].join('\n');

// The page at `/`: what runs here, and where to go next.

type Card = Readonly<{ href: string; title: string; text: string; isShown: boolean }>;

const landingStyle = `
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

const styleHash = createHash('sha256').update(landingStyle).digest('base64');
const CSP = contentPolicy({ 'style-src': `'sha256-${styleHash}'`, 'img-src': 'data:' });

/** Registers `/`. The mailbox is linked where there is one. */
export const landingRoutes = (app: App, deps: Pick<HttpDeps, 'settings' | 'mailbox'>): void => {
  const landing = page(firstMailCurl(deps.settings.publicUrl), cardsOf(app.ownPath, deps.mailbox !== undefined));
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', CSP).send(landing),
  );
};

const page = (curl: string, cards: readonly Card[]): string =>
  fillLanding({ curl, cards, icon: ICON, style: landingStyle });

const cardsOf = (own: (path: string) => string, withMailbox: boolean): readonly Card[] => [
  { href: own('/app'), title: 'Dashboard', text: 'Find emails and what became of them', isShown: true },
  { href: own('/docs/guide/'), title: 'Documentation', text: 'Guides with a search, and the reference', isShown: true },
  { href: own('/docs'), title: 'API reference', text: 'Every endpoint, with examples that run', isShown: true },
  { href: own('/mailbox'), title: 'Mailbox', text: 'Look at the mails that were sent', isShown: withMailbox },
  { href: own('/openapi.json'), title: 'OpenAPI 3.1', text: 'Description of the API for programs', isShown: true },
  { href: own('/health/ready'), title: 'Health', text: 'State of every worker', isShown: true },
];

const fillLanding = pageTemplate<{ curl: string; cards: readonly Card[]; icon: string; style: string }>(`<!doctype html>
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
