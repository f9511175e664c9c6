/** The documentation keeps up with the program: codes, settings, endpoints, components, examples and links are those that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Json, JsonObject } from '../src/domain/json.js';
import { isJsonObject } from '../src/domain/json.js';
import { componentSpecs, emailProps, isComponentType, isSupported, sectionProps, supportMatrix } from '../src/domain/rendering/components.js';
import { constants } from '../src/domain/rendering/constants.js';
import { operators } from '../src/domain/rendering/conditions.js';
import { statusOf } from '../src/http/errors.js';
import { routesOf } from '../src/http/server.js';
import { settings } from '../src/settings.js';
import { fakeMailbox, fakeServer } from './http/fakes.js';
import { renderTemplate, templateOf } from './support/rendering.js';

/** Compiled tests lie two folders deep in the output: build/test. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The cells of every row of every table, without the rules below the headers. */
const rowsOf = (page: string): readonly (readonly string[])[] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));

const fenced = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, inside]) => inside ?? '');

const withoutCode = (page: string): string => page.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, '');

void t.test('every error code stands in its page once, with its status, and no other does', async (t) => {
  const page = read('docs/api-errors.md');
  const documented = rowsOf(page).flatMap(([code = '', status = '']) => (/^`[A-Z0-9_]+`$/.test(code) ? [[code.slice(1, -1), Number(status)] as const] : []));
  t.same(documented.map(([code]) => code).sort(), Object.keys(statusOf).sort());
  t.same(Object.fromEntries(documented), statusOf);
  for (const file of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))) {
    const named = [...read(`docs/${file}`).matchAll(/`((?:ERR|EMAIL|TEMPLATE|API_KEY|SENDER)_[A-Z0-9_]+|[A-Z]+_(?:ERROR|EXCEEDED|JSON|TOO_LARGE|TOO_LONG|NOT_FOUND|REUSED|REQUIRED))`/g)];
    for (const [, code = ''] of named) t.ok(Object.hasOwn(statusOf, code), `${file} names ${code}`);
  }
});

void t.test('every setting stands in .env.example, and pages name only settings that exist', async (t) => {
  const example = read('.env.example');
  for (const name of Object.keys(settings)) t.match(example, new RegExp(`^#?${name}=`, 'm'), name);
  for (const file of ['README.md', ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]) {
    for (const [name] of read(file).matchAll(/\bSEALPOST_[A-Z0-9_]+[A-Z0-9]\b(?!_|…)/g)) {
      if (name === 'SEALPOST_DATADIR' && file === 'docs/operating.md') continue;
      t.ok(Object.hasOwn(settings, name), `${file} names ${name}`);
    }
  }
});

/** The anchor that readers of Markdown give a heading. */
const anchorOf = (heading: string): string => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');

void t.test('every relative link and picture resolves', async (t) => {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
  for (const page of pages) {
    for (const [, target = ''] of withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!t.ok(existsSync(join(root, file)), `${page} links to ${target}`) || anchor === undefined) continue;
      const headings = [...withoutCode(read(file)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
      t.ok(headings.includes(anchor), `${page} links to the heading ${target}`);
    }
  }
});

void t.test('every endpoint stands in the page of the API with its permission', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
  const documented = new Map<string, string>();
  for (const [endpoints = '', permission = ''] of rowsOf(read('docs/api.md'))) {
    for (const [, endpoint = ''] of endpoints.matchAll(/`((?:GET|POST|PATCH|DELETE) \/[^`]*)`/g)) {
      if (!documented.has(endpoint)) documented.set(endpoint, permission);
    }
  }
  const pages = /^(?:HEAD,)?GET (?:\/|\/mailbox\/app\..*|\/mailbox\/messages\/:id\/html|\/docs.*)$/;
  for (const { method, path, access } of routesOf(app)) {
    const endpoint = `${method} ${path}`;
    if (pages.test(endpoint)) continue;
    t.ok(documented.has(endpoint), `${endpoint} is documented`);
    if (access !== 'public') t.equal(documented.get(endpoint), `\`${access}\``, `${endpoint} needs ${access}`);
    documented.delete(endpoint);
  }
  t.same([...documented.keys()], [], 'nothing is documented that does not exist');
});

/** The part of a page below a heading, up to the next one. */
const sectionOf = (page: string, heading: string): string =>
  page.slice(page.indexOf(`\n${heading}\n`)).split(/\n(?=#+ )/)[1] ?? '';

const variables: JsonObject = {
  name: 'Ada', plan: 'Team', renewsOn: '2026-12-01', seats: 12, total: 92.5, photo: 'https://example.com/mug.png',
  items: [{ name: 'Ceramic mug', quantity: 2, total: 28 }, { name: 'Pour-over kettle', quantity: 1, total: 64.5 }],
};

void t.test('the page of templates has every component with its props and an example that renders', async (t) => {
  const page = read('docs/templates.md');
  const shown = [...page.matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading);
  const supported = Object.keys(supportMatrix).filter((type) => isComponentType(type) && isSupported(type, 'email'));
  t.same([...shown].sort(), [...supported].sort());
  for (const type of shown) {
    if (!isComponentType(type) || !isSupported(type, 'email')) continue;
    const section = sectionOf(page, `### ${type}`);
    t.match(section, `![${type}](img/${type}.png)`);
    for (const name of Object.keys(componentSpecs[type].props)) t.match(section, `\`${name}\``, `${type} names ${name}`);
    const examples = fenced(section, 'json').map((text) => JSON.parse(text) as Json);
    t.ok(examples.length > 0, `${type} has an example`);
    for (const example of examples) {
      t.equal(isJsonObject(example) ? example['type'] : undefined, type);
      t.ok(renderTemplate(templateOf([example]), variables).html.length > 0);
    }
  }
  for (const name of [...Object.keys(emailProps), ...Object.keys(sectionProps)]) t.match(sectionOf(page, '## Sections'), `\`${name}\``);
  for (const operator of operators) t.match(sectionOf(page, '## Conditions'), `\`${operator}\``);
  for (const constant of constants) t.match(sectionOf(page, '## Constants'), `\`${constant}\``);
});

void t.test('the template of the first mail renders to the text that the page shows', async (t) => {
  const page = read('docs/first-mail.md');
  const file = /<<'END'\n(\{.*?\n\})\nEND/s.exec(page)?.[1];
  const { subject, variables: definitions, schema } = JSON.parse(file ?? '{}') as JsonObject;
  const rendered = renderTemplate({ subject, variables: definitions, schema }, { name: 'Ada' });
  t.match(page, `\n${rendered.subject}\n${rendered.text}`);
});
