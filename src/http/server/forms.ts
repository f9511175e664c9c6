/**
 * Shared parts of the pages with forms: reading a form, the look, and a content policy under which they load nothing.
 */
import { Eta } from 'eta/core';
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hexContrast, mixedHex, READABLE_CONTRAST } from '../../domain/rendering/contrast.js';
import type { PageBrand } from '../../domain/teams/brand.js';
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
:root.light { color-scheme: light; }
:root.dark { color-scheme: dark; }
.brand { margin: 0 0 22px; font-weight: 600; }
.brand img { display: block; max-width: 220px; max-height: 64px; }
footer { max-width: 440px; margin: -24px auto 48px; padding: 0 32px; color: var(--soft); font-size: 13px; text-align: center; overflow-wrap: anywhere; }
@media (max-width: 480px) { main:not(:last-child) { min-height: 0; } footer { margin: 20px auto; padding: 0 20px; } }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const hashOf = (sheet: string): string => `'sha256-${createHash('sha256').update(sheet).digest('base64')}'`;

const styleHash = hashOf(style);

/** Card and letters of the page in dark mode, and letters on an accent. */
const DARK = { background: '#1b1d21', text: '#ececea' } as const;
const ON_ACCENT = ['#ffffff', '#1d1d1b'] as const;

/** Backgrounds below this contrast to white letters are light. */
const isLightGround = (background: string): boolean =>
  hexContrast('#1d1d1b', background) > hexContrast('#ffffff', background);

/** The accent, as far towards the letters as is needed to read it on the background. */
const readableAccent = (accent: string, { background, text }: Readonly<{ background: string; text: string }>): string =>
  [0, 0.25, 0.5, 0.75]
    .map((share) => mixedHex(accent, text, share))
    .find((color) => hexContrast(color, background) >= READABLE_CONTRAST) ?? text;

/** The sheet of a team's colours: as it chose them, and in dark mode unless its card is dark itself. */
const brandStyle = ({ accent, ...chosen }: NonNullable<PageBrand['colors']>): string => {
  const dark = isLightGround(chosen.background) ? DARK : chosen;
  const both = (of: (colors: Readonly<{ background: string; text: string }>) => string): string =>
    `light-dark(${of(chosen)}, ${of(dark)})`;
  const onAccent = (shown: string): string =>
    ON_ACCENT.find((color) => hexContrast(color, shown) >= READABLE_CONTRAST) ?? ON_ACCENT[1];
  return `:root { --card: ${both(({ background }) => background)}; --ink: ${both(({ text }) => text)}; --soft: ${both(({ background, text }) => readableAccent(mixedHex(text, background, 0.3), { background, text }))}; --ground: ${both(({ background, text }) => mixedHex(background, text, 0.05))}; --line: ${both(({ background, text }) => mixedHex(background, text, 0.2))}; --accent: ${both((colors) => readableAccent(accent, colors))}; --main: ${accent}; --on-main: ${onAccent(accent)}; }
button.main { border-color: var(--main); background: var(--main); color: var(--on-main); }
.brand img { padding: light-dark(0, 8px 12px); background: light-dark(transparent, ${chosen.background}); border-radius: 8px; }
`;
};

/** The languages of the pages that strangers meet. */
export const pageLanguages = ['en', 'de', 'fr', 'es', 'pt', 'ar'] as const;
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
    const found = knownLanguage(tag);
    if (found !== undefined) return found;
  }
  return 'en';
};

/** In: a tag of a language (BCP 47). Out: the language of pages that it names; undefined: there is none. */
export const knownLanguage = (tag: string | undefined): PageLanguage | undefined => {
  const language = tag?.toLowerCase().split('-')[0];
  return pageLanguages.find((name) => name === language);
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
): ((
  values: Values & Readonly<{ title: string; language?: PageLanguage; brand?: PageBrand | undefined }>,
) => string) => {
  const fill = pageTemplate<Values & Shell>(shell(inside, after));
  return (values) => {
    const { brand, language = 'en' } = values;
    const colors = brand?.colors === undefined ? '' : brandStyle(brand.colors);
    return fill({
      ...values,
      language,
      style,
      colors,
      logo: brand?.logo ?? '',
      sender: brand?.name ?? '',
      foot: brand?.foot ?? [],
    });
  };
};

/** The page in one colour scheme, whatever the system prefers. */
export const inScheme = (html: string, scheme: 'light' | 'dark' | undefined): string =>
  scheme === undefined ? html : html.replace('<html ', `<html class="${scheme}" `);

type Shell = Readonly<{
  title: string;
  language: PageLanguage;
  style: string;
  colors: string;
  logo: string;
  sender: string;
  foot: readonly string[];
}>;

/**
 * `target`: where a form of the page leads in the end; a browser checks redirects of forms too. `brand`: that of the
 * page. `isFramed`: a page of the service shows it in a frame, where nothing of it acts.
 */
type Sent = Readonly<{ target?: string | undefined; brand?: PageBrand | undefined; isFramed?: boolean }>;

export const sendPersonPage = (
  reply: FastifyReply,
  status: number,
  html: string,
  { target, brand, isFramed = false }: Sent = {},
): FastifyReply => {
  if (!isFramed) reply.header('x-frame-options', 'DENY');
  return reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', policyOf(target, brand, isFramed))
    .header('x-robots-tag', 'noindex, nofollow')
    .send(html);
};

/** `target`: the address of an app to which the form redirects, and which must be allowed. */
const policyOf = (target: string | undefined, brand: PageBrand | undefined, isFramed: boolean): string =>
  contentPolicy(
    {
      'style-src': brand?.colors === undefined ? styleHash : `${styleHash} ${hashOf(brandStyle(brand.colors))}`,
      ...(brand?.logo === undefined ? {} : { 'img-src': 'data:' }),
    },
    isFramed
      ? { framedBy: "'self'", sandbox: '' }
      : { formAction: target === undefined ? "'self'" : `'self' ${sourceOf(target)}` },
  );

/** The source expression of an address: addresses that editors open have no origin, only a scheme. */
const sourceOf = (target: string): string => {
  const { origin, protocol } = new URL(target);
  return origin === 'null' ? protocol : origin;
};

const shell = (inside: string, after: string): string => `<!doctype html>
<html lang="<%= it.language %>"<% if (it.language === 'ar') { %> dir="rtl"<% } %>>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<title><%= it.title %>${after}</title>
<style><%~ it.style %></style>
<% if (it.colors !== '') { %><style><%~ it.colors %></style>
<% } %>\
</head>
<body>
<main>
<% if (it.logo !== '') { %><p class="brand"><img src="<%= it.logo %>" alt="<%= it.sender %>"></p>
<% } else if (it.colors !== '') { %><p class="brand"><%= it.sender %></p>
<% } %>\
${inside}</main>
<% if (it.foot.length > 0) { %><footer><% for (const line of it.foot) { %><div><%= line %></div><% } %></footer>
<% } %>\
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
