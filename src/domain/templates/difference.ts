/**
 * The difference of two contents of a template in the terms of its author: components that came, went, moved or are
 * other, variables, texts of languages. The dashboard and the command line show it.
 */
import type { Content } from './authored.js';

export type Difference = Readonly<{
  what: 'added' | 'removed' | 'moved' | 'changed';
  /** Such as `button “go”`, `variable “order”`, `subject`. */
  where: string;
  /** The path inside of it, such as `props.href`; absent for the whole. */
  field?: string;
  before?: unknown;
  after?: unknown;
}>;

type Node = Readonly<{ name: string; parent: string; place: number; own: Content }>;

const isObject = (value: unknown): value is Content =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const nodeIdOf = (value: unknown): string | undefined =>
  !isObject(value)
    ? undefined
    : typeof value['id'] === 'string' && typeof value['type'] === 'string'
      ? value['id']
      : typeof value['pageId'] === 'string'
        ? value['pageId']
        : undefined;

const nameOf = (node: Content, id: string): string =>
  typeof node['type'] !== 'string'
    ? `page “${id}”`
    : 'components' in node && !('content' in node) && ['main', 'body', 'header', 'footer'].includes(node['type'])
      ? `section “${id}”`
      : `${node['type']} “${id}”`;

/** Components, sections and pages by their ids; each without those inside of it. An id that stands twice counts once. */
const nodesOf = (schema: unknown): ReadonlyMap<string, Node> => {
  const nodes = new Map<string, Node>();
  const ownOf = (value: unknown, parent: string): unknown => {
    if (Array.isArray(value)) {
      if (value.length === 0 || !value.every((one) => nodeIdOf(one) !== undefined))
        return value.map((one: unknown) => ownOf(one, parent));
      for (const [place, one] of value.entries()) add(one as Content, parent, place);
      return undefined;
    }
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, one]) => {
        const own = ownOf(one, parent);
        return own === undefined ? [] : [[name, own]];
      }),
    );
  };
  const add = (value: Content, parent: string, place: number): void => {
    const id = nodeIdOf(value) ?? '';
    const own = ownOf(value, id) as Content;
    if (!nodes.has(id)) nodes.set(id, { name: nameOf(value, id), parent, place, own });
  };
  const top = ownOf(schema, '');
  nodes.set('', { name: 'settings', parent: '', place: 0, own: isObject(top) ? top : {} });
  return nodes;
};

/** The service gives a variable without an id one. */
const sameId = (before: unknown, after: unknown): readonly [unknown, unknown] => {
  if (!isObject(before) || !isObject(after) || ('id' in before && 'id' in after)) return [before, after];
  const { id: _, ...was } = before;
  const { id: __, ...is } = after;
  return [was, is];
};

/** Calls `tell` for each value that is other. Arrays of other lengths count as one value. */
const compare = (
  before: unknown,
  after: unknown,
  path: string,
  tell: (path: string, before: unknown, after: unknown) => void,
): void => {
  if (before === after) return;
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(before[name], after[name], path === '' ? name : `${path}.${name}`, tell);
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [place, one] of before.entries()) compare(one, after[place], `${path}[${place}]`, tell);
    return;
  }
  if (JSON.stringify(before) !== JSON.stringify(after)) tell(path, before, after);
};

const changed =
  (where: string) =>
  (field: string, before: unknown, after: unknown): Difference => ({
    what: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    where,
    ...(field === '' ? {} : { field }),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  });

/** Ids of a list that are out of their order: all but those of the longest common order. */
const movedIn = (before: readonly string[], after: readonly string[]): ReadonlySet<string> => {
  const placeOf = new Map(before.map((id, place) => [id, place] as const));
  const common = after.filter((id) => placeOf.has(id));
  const lengths: number[] = [];
  const from: number[] = [];
  let best = -1;
  for (const [at, id] of common.entries()) {
    lengths[at] = 1;
    from[at] = -1;
    for (let one = 0; one < at; one += 1)
      if (placeOf.get(common[one]!)! < placeOf.get(id)! && lengths[one]! + 1 > lengths[at]!) {
        lengths[at] = lengths[one]! + 1;
        from[at] = one;
      }
    if (best === -1 || lengths[at]! > lengths[best]!) best = at;
  }
  const kept = new Set<string>();
  for (let at = best; at >= 0; at = from[at]!) kept.add(common[at]!);
  return new Set(common.filter((id) => !kept.has(id)));
};

const ofSchemas = (before: unknown, after: unknown): readonly Difference[] => {
  const found: Difference[] = [];
  const was = nodesOf(before);
  const is = nodesOf(after);
  for (const [id, { name }] of was) if (!is.has(id)) found.push({ what: 'removed', where: name });
  const childrenOf = (nodes: ReadonlyMap<string, Node>, parent: string): readonly string[] =>
    [...nodes].flatMap(([id, node]) => (id !== '' && node.parent === parent ? [id] : []));
  const moved = new Set<string>();
  for (const parent of is.keys())
    for (const id of movedIn(childrenOf(was, parent), childrenOf(is, parent))) moved.add(id);
  for (const [id, { name, parent, own }] of is) {
    const former = was.get(id);
    if (former === undefined) {
      found.push({ what: 'added', where: name });
      continue;
    }
    if (former.parent !== parent || moved.has(id)) found.push({ what: 'moved', where: name });
    compare(former.own, own, '', (field, one, other) => found.push(changed(name)(field, one, other)));
  }
  return found;
};

const namedIn = (variables: unknown): ReadonlyMap<string, unknown> =>
  new Map(
    (Array.isArray(variables) ? (variables as readonly unknown[]) : []).flatMap((one) =>
      isObject(one) && typeof one['name'] === 'string' ? [[one['name'], one] as const] : [],
    ),
  );

const ofVariables = (before: unknown, after: unknown): readonly Difference[] => {
  const found: Difference[] = [];
  const was = namedIn(before);
  const is = namedIn(after);
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    const where = `variable “${name}”`;
    if (!was.has(name)) found.push({ what: 'added', where });
    else if (!is.has(name)) found.push({ what: 'removed', where });
    else
      compare(...sameId(was.get(name), is.get(name)), '', (field, one, other) =>
        found.push(changed(where)(field, one, other)),
      );
  }
  return found;
};

const ofTranslations = (before: unknown, after: unknown): readonly Difference[] => {
  const found: Difference[] = [];
  const was = isObject(before) ? before : {};
  const is = isObject(after) ? after : {};
  for (const language of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const where = `language ${language}`;
    const texts = [was[language], is[language]].map((one) => (isObject(one) ? one : {})) as [Content, Content];
    if (!Object.hasOwn(was, language)) found.push({ what: 'added', where });
    else if (!Object.hasOwn(is, language)) found.push({ what: 'removed', where });
    else
      for (const text of new Set([...Object.keys(texts[0]), ...Object.keys(texts[1])]))
        if (texts[0][text] !== texts[1][text]) found.push(changed(where)(text, texts[0][text], texts[1][text]));
  }
  return found;
};

/** In: two contents. Out: what the second has other than the first. */
export const differencesOf = (before: Content, after: Content): readonly Difference[] => {
  const found: Difference[] = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name], after[name]];
    if (name === 'schema') found.push(...ofSchemas(was, is));
    else if (name === 'variables') found.push(...ofVariables(was, is));
    else if (name === 'translations') found.push(...ofTranslations(was, is));
    else compare(was, is, '', (field, one, other) => found.push(changed(name)(field, one, other)));
  }
  return found;
};
