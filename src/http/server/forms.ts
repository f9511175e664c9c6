/** What the pages that people fill in share: how their forms are read, their look, and a policy under which they load nothing. */
import { Eta } from 'eta/core';
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { App } from './context.js';
import { contentPolicy } from './headers.js';

const FORM_BYTES_MAX = 16_384;
const FIELDS_MAX = 30;

const eta = new Eta({ autoEscape: true, autoTrim: false, cache: false });

const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f5f2, #121316); --card: light-dark(#fff, #1b1d21); --line: light-dark(#dddbd5, #3a3d44); --ink: light-dark(#1d1d1b, #ececea); --soft: light-dark(#5d5c57, #a9abb0); --accent: light-dark(#b3261e, #ff8a80); --on-accent: light-dark(#fff, #1d1d1b); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 440px; margin: 8vh auto 48px; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 16px; }
@media (max-width: 480px) { main { margin: 0; border: 0; border-radius: 0; min-height: 100vh; padding: 28px 20px; } }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 12px; overflow-wrap: anywhere; }
h2 { font-size: 18px; line-height: 1.3; margin: 30px 0 8px; }
p { margin: 0 0 14px; overflow-wrap: anywhere; }
a { color: var(--accent); }
.soft { color: var(--soft); font-size: 14px; }
.fault { border-left: 3px solid var(--accent); padding: 2px 0 2px 12px; }
ul { margin: 0 0 18px; padding: 0 0 0 20px; }
li { margin: 4px 0; }
label { display: block; margin: 0 0 14px; font-weight: 600; font-size: 14px; }
input, select { display: block; width: 100%; margin: 6px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: inherit; font: inherit; font-size: 16px; font-weight: 400; }
input[readonly] { background: transparent; color: var(--soft); }
.buttons { display: flex; gap: 12px; margin: 22px 0 18px; }
button { flex: 1; min-height: 44px; padding: 10px 18px; border: 1px solid var(--line); border-radius: 10px; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** In: the inside of a page as an Eta template, and the end of its title. Out: a function that fills the page. */
export const personPage = <Values extends object>(
  inside: string,
  after = ' · sealpost',
): ((values: Values & Readonly<{ title: string }>) => string) => {
  const fill = pageTemplate<Values & Readonly<{ title: string; style: string }>>(shell(inside, after));
  return (values) => fill({ ...values, style });
};

/** `target`: where a form of the page leads in the end; a browser checks redirects of forms too. */
export const sendPersonPage = (reply: FastifyReply, status: number, html: string, target?: string): FastifyReply =>
  reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', policyOf(target))
    .header('x-frame-options', 'DENY')
    .header('x-robots-tag', 'noindex, nofollow')
    .send(html);

/** `target`: the address of an app to which the form redirects, and which must be allowed. Nothing may frame the page. */
const policyOf = (target: string | undefined): string =>
  contentPolicy(
    { 'style-src': `'sha256-${styleHash}'` },
    { formAction: target === undefined ? "'self'" : `'self' ${new URL(target).origin}` },
  );

const shell = (inside: string, after: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title><%= it.title %>${after}</title>
<style><%~ it.style %></style>
</head>
<body>
<main>
${inside}</main>
</body>
</html>
`;

/**
 * In: the source of a page as an Eta template, which calls its values `it`: `<%= … %>` writes a value escaped, `<%~ … %>` as it is.
 * Out: a function that fills it. The source is compiled once, in this call.
 */
export const pageTemplate = <Values extends object>(source: string): ((values: Values) => string) => {
  const compiled = eta.compile(source);
  return (values) => compiled.call(eta, values);
};

/** Lets the routes of a scope read forms of at most `bytesMax`, and no other bodies. */
export const readForms = (scope: App, bytesMax = FORM_BYTES_MAX): void => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: bytesMax }, (_request, body, done) =>
    done(null, body),
  );
};

/** Out: the fields of a form; undefined if one is given twice (RFC 6749, section 3.2) or there are too many. */
export const fieldsOf = (body: unknown): Readonly<Record<string, string>> | undefined => {
  const entries = [...new URLSearchParams(typeof body === 'string' ? body : '')];
  const fields = Object.fromEntries(entries);
  return entries.length > FIELDS_MAX || Object.keys(fields).length !== entries.length ? undefined : fields;
};
