/**
 * Parts of a template that its data hide: a condition is made to hold or not, and a loop gets items, in the copy that is
 * previewed. The template itself does not change.
 */
import {
  changedAt,
  isObject,
  outlineOf,
  trailOf,
  valueAt,
  type Content,
  type Kind,
  type Path,
  type TreeNode,
} from './model.js';

/** `then` and `else`: the branch of a conditional that is shown; `items`: a loop has two items. */
export type Switch = 'then' | 'else' | 'items';

/** By the key of a conditional or a loop. */
export type Switches = ReadonlyMap<string, Switch>;

export type Shown = Readonly<{ content: Content; variables: Content }>;

/** A constant has a value in each preview. */
const ALWAYS = '{{__CURRENT_YEAR__}}';

const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

const textIn = (object: unknown, name: string): string => {
  const value = own(object, name);
  return typeof value === 'string' ? value : '';
};

const STEP = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/** The names of a path such as `{{order.items}}`; undefined for one with brackets. */
const namesOf = (path: string): readonly string[] | undefined => {
  const names = path
    .replace(/^\s*\{\{|\}\}\s*$/g, '')
    .trim()
    .split('.');
  return names.every((name) => STEP.test(name)) ? names : undefined;
};

/** The items that a component goes through: where they are, and by which name it reads one. */
const goesThrough = (value: unknown): Readonly<{ path: readonly string[]; item: string }> | undefined => {
  const props = own(value, 'props');
  const path = namesOf(textIn(props, 'dataSource'));
  return path === undefined ? undefined : { path, item: textIn(props, 'itemVariable') || 'item' };
};

const ITEMS = 2;
const DEPTH_MAX = 4;

/** An item with a word for each member that is read of it. */
const itemFor = (values: readonly unknown[], name: string, depth: number): unknown => {
  const members: Record<string, unknown> = {};
  const put = (path: readonly string[], value: unknown): void => {
    let at = members;
    for (const step of path.slice(0, -1)) {
      const next = own(at, step);
      at = (isObject(next) ? next : (at[step] = {})) as Record<string, unknown>;
    }
    const last = path.at(-1);
    if (last !== undefined && own(at, last) === undefined) at[last] = value;
  };
  const read = (value: unknown): void => {
    if (typeof value === 'string') {
      for (const [, path = ''] of value.matchAll(/\{\{\s*([^{}]+?)\s*\}\}/g)) {
        const [first, ...rest] = namesOf(path) ?? [];
        if (first === name && rest.length > 0) put(rest, rest.at(-1));
      }
      return;
    }
    if (Array.isArray(value)) return value.forEach(read);
    if (!isObject(value)) return;
    const inner = goesThrough(value);
    if (inner?.path[0] === name && inner.path.length > 1 && depth < DEPTH_MAX)
      put(
        inner.path.slice(1),
        itemsFor([{ ...value, props: { ...(own(value, 'props') as Content), dataSource: '' } }], inner.item, depth + 1),
      );
    for (const one of Object.values(value)) read(one);
  };
  for (const value of values) read(value);
  return Object.keys(members).length === 0 ? name : members;
};

const itemsFor = (values: readonly unknown[], name: string, depth: number): readonly unknown[] =>
  Array.from({ length: ITEMS }, () => itemFor(values, name, depth));

/** In: a loop. Out: the path of its items in the variables, and two of them; undefined where another loop brings them. */
const sampleOf = (loop: TreeNode): Readonly<{ path: Path; items: readonly unknown[] }> | undefined => {
  const through = goesThrough(loop.value);
  const first = through?.path[0];
  if (through === undefined || first === undefined) return undefined;
  const outer = trailOf(loop)
    .slice(0, -1)
    .filter(({ type }) => type === 'loop')
    .map(({ value }) => goesThrough(value)?.item);
  if (outer.includes(first)) return undefined;
  const children = own(loop.value, 'children');
  return { path: through.path, items: itemsFor(Array.isArray(children) ? children : [], through.item, 0) };
};

const hasItems = (variables: Content, path: Path): boolean => {
  const items = valueAt(variables, path);
  return Array.isArray(items) && items.length > 0;
};

/** The content and sample data that are previewed in the place of those given. */
export const shownAs = (content: Content, kind: Kind, variables: Content, switches: Switches): Shown => {
  if (switches.size === 0) return { content, variables };
  const { byKey } = outlineOf(content, kind);
  let shown: Shown = { content, variables };
  for (const [key, as] of switches) {
    const node = byKey.get(key);
    if (node?.type === 'conditional' && as !== 'items') {
      const props = { condition: ALWAYS, operator: as === 'then' ? 'exists' : 'isEmpty' };
      shown = { ...shown, content: changedAt(shown.content, [...node.path, 'props'], () => props) };
    } else if (node?.type === 'loop' && as === 'items') {
      const sample = sampleOf(node);
      if (sample !== undefined && !hasItems(variables, sample.path))
        shown = { ...shown, variables: changedAt(shown.variables, sample.path, () => sample.items) };
    }
  }
  return shown;
};

/** The switches that bring a node into the preview, whatever the data are. */
export const switchesFor = (node: TreeNode): Switches => {
  const found = new Map<string, Switch>();
  const trail = trailOf(node);
  for (const [at, one] of trail.entries()) {
    if (one.kind === 'branch' && one.parent !== undefined)
      found.set(one.parent.key, one.type === 'then' ? 'then' : 'else');
    if (one.type === 'conditional' && at === trail.length - 1) found.set(one.key, 'then');
    if (one.type === 'loop') found.set(one.key, 'items');
  }
  return found;
};
