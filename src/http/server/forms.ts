/**
 * Shared parts of the pages with forms: reading a form, the look, and a content policy under which they load nothing.
 */
import { Eta } from 'eta/core';
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
strong { unicode-bidi: isolate; }
.soft { color: var(--soft); font-size: 14px; }
.fault { border-inline-start: 3px solid var(--accent); padding-block: 2px; padding-inline-start: 12px; }
ul { margin: 0 0 18px; padding: 0; padding-inline-start: 20px; }
li { margin: 4px 0; }
label { display: block; margin: 0 0 14px; font-weight: 600; font-size: 14px; }
input, select { display: block; width: 100%; margin: 6px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: inherit; font: inherit; font-size: 16px; font-weight: 400; }
input[readonly] { background: transparent; color: var(--soft); }
.buttons { display: flex; gap: 12px; margin: 22px 0 18px; }
button { flex: 1; min-height: 44px; padding: 10px 18px; border: 1px solid var(--line); border-radius: 10px; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
.way { display: block; padding: 10px 18px; border: 1px solid var(--line); border-radius: 10px; color: inherit; font-weight: 600; text-align: center; text-decoration: none; }
button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** The languages of the pages that strangers meet: those of the samples. */
export const pageLanguages = ['en', 'de', 'fr', 'pt', 'ar'] as const;
export type PageLanguage = (typeof pageLanguages)[number];

const ACCEPTED_MAX = 30;

/**
 * The language that the reader understands best, by Accept-Language (RFC 9110, section 12.5.4); where it names none of
 * ours, that of `known`.
 */
export const readerLanguage = ({ headers }: Pick<FastifyRequest, 'headers'>, known?: string): PageLanguage => {
  const accepted = (headers['accept-language'] ?? '')
    .split(',', ACCEPTED_MAX)
    .map((part) => /^\s*([A-Za-z\d-]+)\s*(?:;\s*q=([\d.]+)\s*)?$/.exec(part))
    .flatMap((found) => (found === null ? [] : [{ tag: found[1] ?? '', weight: Number(found[2] ?? 1) }]))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight);
  for (const tag of [...accepted.map(({ tag }) => tag), known ?? '']) {
    const language = tag.toLowerCase().split('-')[0];
    const found = pageLanguages.find((name) => name === language);
    if (found !== undefined) return found;
  }
  return 'en';
};

/**
 * In: a sentence with names in braces, and what they stand for. Out: HTML, each of these strong and set apart from the
 * direction of the sentence.
 */
export const sentenceOf = (sentence: string, values: Readonly<Record<string, string>>): string =>
  sentence
    .split(/\{(\w+)\}/)
    .map((part, at) => (at % 2 === 0 ? escaped(part) : `<strong>${escaped(values[part] ?? '')}</strong>`))
    .join('');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/** In: the inside of a page as an Eta template, and the end of its title. Out: a function that fills the page. */
export const personPage = <Values extends object>(
  inside: string,
  after = ' · sealpost',
): ((values: Values & Readonly<{ title: string; language?: PageLanguage }>) => string) => {
  const fill = pageTemplate<Values & Readonly<{ title: string; language: PageLanguage; style: string }>>(
    shell(inside, after),
  );
  return (values) => fill({ ...values, language: values.language ?? 'en', style });
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

/** `target`: the address of an app to which the form redirects, and which must be allowed. No page may frame it. */
const policyOf = (target: string | undefined): string =>
  contentPolicy(
    { 'style-src': `'sha256-${styleHash}'` },
    { formAction: target === undefined ? "'self'" : `'self' ${new URL(target).origin}` },
  );

const shell = (inside: string, after: string): string => `<!doctype html>
<html lang="<%= it.language %>"<% if (it.language === 'ar') { %> dir="rtl"<% } %>>
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
 * In: the source of a page as an Eta template, which calls its values `it`: `<%= … %>` writes a value escaped, `<%~ …
 * %>` as it is. Out: a function that fills it. The source is compiled once, in this call.
 */
export const pageTemplate = <Values extends object>(source: string): ((values: Values) => string) => {
  const compiled = eta.compile(source);
  return (values) => compiled.call(eta, values);
};

/** Lets the routes of a scope read forms of at most `bytesMax`, and no other bodies. */
export const readForms = (scope: App, bytesMax = FORM_BYTES_MAX): void => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: bytesMax },
    (_request, body, done) => done(null, body),
  );
};

/** Out: the fields of a form; undefined if one is given twice (RFC 6749, section 3.2) or there are too many. */
export const fieldsOf = (body: unknown): Readonly<Record<string, string>> | undefined => {
  const entries = [...new URLSearchParams(typeof body === 'string' ? body : '')];
  const fields = Object.fromEntries(entries);
  return entries.length > FIELDS_MAX || Object.keys(fields).length !== entries.length ? undefined : fields;
};
