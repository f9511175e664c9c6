/** Two people's changes of one content put together, as far as they do not touch the same. Nothing here needs a browser. */
import { type Content, isEqual } from '../content.js';

/** `conflicts`: the paths that both changed, each in another way; the merged content has them as `mine`. */
export type Merged = Readonly<{ content: Content; conflicts: readonly string[] }>;

type List = readonly unknown[];

const isObject = (value: unknown): value is Content =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const own = (object: Content, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

const idOf = (value: unknown): string | undefined => {
  if (!isObject(value)) return undefined;
  const id = ['id', 'pageId', 'name'].map((name) => own(value, name)).find((found) => typeof found === 'string');
  return id as string | undefined;
};

/** The members by their ids; undefined where one has none, or two have the same. */
const byId = (list: List): ReadonlyMap<string, unknown> | undefined => {
  const found = new Map<string, unknown>();
  for (const value of list) {
    const id = idOf(value);
    if (id === undefined || found.has(id)) return undefined;
    found.set(id, value);
  }
  return found;
};

/** In: the content that both began with, and what each made of it. */
export const mergedOf = (base: Content, mine: Content, theirs: Content): Merged => {
  const conflicts: string[] = [];
  const conflict = <Value>(path: string, value: Value): Value => {
    conflicts.push(path);
    return value;
  };
  const merge = (was: unknown, my: unknown, their: unknown, path: string): unknown => {
    if (isEqual(my, their) || isEqual(was, their)) return my;
    if (isEqual(was, my)) return their;
    if (isObject(was) && isObject(my) && isObject(their)) return mergeObjects(was, my, their, path);
    if (Array.isArray(was) && Array.isArray(my) && Array.isArray(their)) return mergeLists(was, my, their, path);
    return conflict(path, my);
  };
  const mergeObjects = (was: Content, my: Content, their: Content, path: string): Content =>
    Object.fromEntries(
      [...new Set([...Object.keys(my), ...Object.keys(their)])].flatMap((name) => {
        const at = path === '' ? name : `${path}.${name}`;
        const value = merge(own(was, name), own(my, name), own(their, name), at);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  const mergeLists = (was: List, my: List, their: List, path: string): List => {
    const [wasById, myById, theirById] = [byId(was), byId(my), byId(their)];
    if (wasById === undefined || myById === undefined || theirById === undefined)
      return was.length === my.length && was.length === their.length
        ? was.map((value, at) => merge(value, my[at], their[at], `${path}[${at}]`))
        : conflict(path, my);
    const order = [...wasById.keys()];
    const isReordered = (ids: ReadonlyMap<string, unknown>): boolean => !isEqual([...ids.keys()], order);
    if (isReordered(myById) && isReordered(theirById)) return conflict(path, my);
    // One of them added, moved or removed members; the other one changed some where they stood.
    const leading = isReordered(myById) ? myById : theirById;
    const following = leading === myById ? theirById : myById;
    for (const [id, value] of wasById)
      if (!leading.has(id) && !isEqual(value, following.get(id))) return conflict(path, my);
    return [...leading].map(([id, value]) =>
      wasById.has(id) ? merge(wasById.get(id), myById.get(id), theirById.get(id), `${path}[${id}]`) : value,
    );
  };
  return { content: mergeObjects(base, mine, theirs, ''), conflicts };
};
