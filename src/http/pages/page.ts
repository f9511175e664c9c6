/**
 * The HTML of the mailbox page and of the page that a browser gets before it has opened the link, and what the pages of the service
 * share.
 */
import { createHash } from 'node:crypto';
import { pageTemplate } from '../server/forms.js';
import { contentPolicy } from '../server/headers.js';

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

/** In: the command line that sends a first mail, and what makes the addresses of the page. Out: the mailbox page; its style and script are served as files, so that its CSP needs no exception. */
export const mailboxPage = (curl: string, own: (path: string) => string): string => fill({ curl, icon: ICON, own });

/** Lets the page load nothing. */
export const CLOSED_CSP = contentPolicy({
  'style-src': `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src': 'data:',
});

/** The page in place of the mailbox. A browser that follows the link from another site keeps the cookie, but sends it only from the next click on. */
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
