/** The page that a browser gets in place of the mailbox where it has not opened the link. */
import { createHash } from 'node:crypto';
import { ICON } from './page.js';
import { pageTemplate } from '../server/template.js';

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

/** The page loads nothing. */
export const CLOSED_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A browser that came from another site's page keeps the cookie of the link, but sends it only from the next click on. */
export const closedPage: string = pageTemplate<{ icon: string; style: string }>(`<!doctype html>
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
<p class="soft">You have just opened it? <a href="/mailbox">Go on to the mailbox</a>.</p>
</main>
</body>
</html>
`)({ icon: ICON, style });
