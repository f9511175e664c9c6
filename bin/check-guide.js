// Steps of the build of the guide: no dead link, no dead anchor, no picture or script that is missing or elsewhere, no id twice; and
// the search finds the pages that answer given queries.
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Parser } from 'htmlparser2';
import { findSections, searchOptions } from '../site/src/search.js';

/** Attributes by which a page loads something. */
const LOADED = { img: 'src', script: 'src', link: 'href', source: 'src', iframe: 'src' };

/** Addresses of the service beside the guide. */
const OF_SERVICE = ['/docs', '/app', '/openapi.json'];

/** Queries, each with the section that answers it. */
const QUERIES = {
  'rotate DKIM': 'domains/#rotate-dkim-keys',
  bounce: 'bounces/',
  idempotency: 'api-errors/#idempotency',
  'erase a recipient': 'privacy/#erase',
  'how do I verify a webhook signature': 'webhooks/#headers-and-signatures',
  'api key': 'api-keys/',
  backup: 'operating/#backup',
  unsubscribe: 'unsubscribe/',
};

/** The answer of a query is among so many sections. */
const SHOWN_FIRST = 5;

/** The ids and references of a page. */
const readPage = (text) => {
  const ids = [];
  const links = [];
  const loaded = [];
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (attributes.id !== undefined) ids.push(attributes.id);
      if (name === 'a' && attributes.href !== undefined) links.push(attributes.href);
      const address = LOADED[name] === undefined ? undefined : attributes[LOADED[name]];
      if (address !== undefined) loaded.push(address);
      if (name === 'img' && attributes.alt === undefined) loaded.push('a picture without `alt`');
    },
  });
  parser.write(text);
  parser.end();
  return { ids, links, loaded };
};

/** In: the folder of a built guide, the path that its links begin with. Out: its faults, a line each. */
export const checkGuide = (folder, base) => {
  const faults = [];
  const pages = new Map(
    globSync('**/*.html', { cwd: folder }).map((name) => [
      name.replaceAll('\\', '/'),
      readPage(readFileSync(join(folder, name), 'utf8')),
    ]),
  );
  const service = base.endsWith('/docs/guide') ? base.slice(0, -'/docs/guide'.length) : undefined;

  /** The file that is served at a path below the base; undefined: none is. */
  const fileAt = (path) => {
    const inside = decodeURIComponent(path.slice(base.length + 1));
    const name = path.endsWith('/') ? `${inside}index.html` : inside;
    return existsSync(join(folder, name)) && statSync(join(folder, name)).isFile() ? name : undefined;
  };

  const check = (page, address, isLoaded) => {
    if (/^(?:mailto:|data:)/.test(address)) return;
    if (/^https?:/.test(address)) {
      if (isLoaded) faults.push(`${page} loads ${address}`);
      return;
    }
    const from = `${base}/${page === '404.html' ? page : page.replace(/index\.html$/, '')}`;
    const [, path, anchor] = /^([^?#]*)(?:\?[^#]*)?(?:#(.*))?$/.exec(address) ?? [];
    const target = path === '' ? from : posix.resolve(from, path) + (path.endsWith('/') ? '/' : '');
    const normal = target.replace(/\/{2,}/g, '/');
    if (service !== undefined && OF_SERVICE.some((own) => normal === `${service}${own}`)) return;
    if (normal !== `${base}/` && !normal.startsWith(`${base}/`)) {
      faults.push(`${page} leads out of the guide: ${address}`);
      return;
    }
    const file = page === '404.html' && path === '' ? page : fileAt(normal);
    if (file === undefined) faults.push(`${page} leads to ${address}, which is not there`);
    else if (anchor !== undefined && anchor !== '' && !pages.get(file)?.ids.includes(decodeURIComponent(anchor)))
      faults.push(`${page} leads to ${address}, and ${file} has no such anchor`);
  };

  for (const [page, { ids, links, loaded }] of pages) {
    for (const address of links) check(page, address, false);
    for (const address of loaded) check(page, address, true);
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
      faults.push(`${page} has the id ${id} more than once`);
  }
  return faults;
};

/** Runs the search of a built guide. In: its folder, the path that its links begin with. Out: the queries without their answer, a line each. */
export const checkSearch = async (folder, base) => {
  const server = createServer(({ url = '' }, response) => {
    const file = join(folder, 'pagefind', posix.normalize(new URL(url, 'http://localhost').pathname));
    if (existsSync(file) && statSync(file).isFile()) response.end(readFileSync(file));
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const pagefind = await import(pathToFileURL(join(folder, 'pagefind/pagefind.js')).href);
    const basePath = `http://127.0.0.1:${server.address().port}/`;
    await pagefind.options({ basePath, baseUrl: `${base}/`, ...searchOptions });
    const faults = [];
    for (const [query, answer] of Object.entries(QUERIES)) {
      const found = (await findSections(pagefind, query)).map(({ url }) => url.replace(/#_top$/, ''));
      if (!found.slice(0, SHOWN_FIRST).includes(`${base}/${answer}`))
        faults.push(
          `the search for "${query}" does not show ${answer} first, but ${found.slice(0, SHOWN_FIRST).join(', ')}`,
        );
    }
    return faults;
  } finally {
    server.close();
    server.closeAllConnections();
  }
};
