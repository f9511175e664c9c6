/** Where the number of a page is known: in the margins alone. */
import { isPlainObject } from './format.js';
import { childrenOf } from './measure.js';
import { isPageMark } from '../fill/page-marks.js';
import type { Path } from '../scope/path.js';

/** The names that a path may begin with beside constants: those of variables and of loops. */
export const namesIn = (definitions: unknown, schema: unknown): ReadonlySet<unknown> => {
  const names = new Set<unknown>();
  if (Array.isArray(definitions))
    for (const definition of definitions as unknown[]) if (isPlainObject(definition)) names.add(definition['name']);
  const open = childrenOf(schema, ['pages'])
    .flatMap((page) => childrenOf(page, ['sections']))
    .flatMap((section) => childrenOf(section, ['components']));
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const props = isPlainObject(node) ? node['props'] : undefined;
    if (isPlainObject(props)) names.add(props['itemVariable']).add(props['indexVariable']);
    open.push(...childrenOf(node, ['children', 'elseChildren']));
  }
  return names;
};

/** A sentence for a path of a page mark that stands outside the margins and is no name of the template. */
export const refusedOutsideMargins =
  (names: ReadonlySet<unknown>) =>
  ([name]: Path): string | undefined =>
    isPageMark(name) && !names.has(name) ? `{{${name}}} is known only in the header and the footer of pageSettings` : undefined;
