/** The addresses of the dashboard, read from its sources: a test of every page misses none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const sources = fileURLToPath(new URL('../../../dashboard/src/', import.meta.url));
const textOf = (name: string): string => readFileSync(join(sources, name), 'utf8');

/** The first step of each page of the registry. */
export const registryPaths: readonly string[] = [...textOf('pages/registry.tsx').matchAll(/\bpath: '([\w-]+)'/g)].map(
  ([, path = '']) => path,
);

/** Pages for people who are not signed in. */
const OUTSIDE = ['/sign-in', '/start', '/leave'];

/**
 * The addresses of all pages of a signed-in person. In: an example for each step with a name, such as `$id`, by the
 * address that has it. Throws for an address without an example.
 */
export const insidePaths = (examples: Readonly<Record<string, string>>): readonly string[] => {
  const routed = [...textOf('router.tsx').matchAll(/\bpath: '(\/[^']*)'/g)]
    .map(([, path = '']) => path)
    .filter((path) => !OUTSIDE.includes(path));
  const found = routed.map((path) => {
    if (!path.includes('$')) return path;
    const example = examples[path];
    if (example === undefined) throw new Error(`the address ${path} has no example`);
    return example;
  });
  const all = [...found, ...registryPaths.map((path) => `/${path}`)];
  if (all.length < 15) throw new Error('the sources of the dashboard name few addresses');
  return all;
};
