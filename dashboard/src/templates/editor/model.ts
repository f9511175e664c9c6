/**
 * The tree of a template: its pages, sections and components, and the acts on them. All functions are pure. An act
 * answers a new content that shares what it did not touch, so that its JSON stays equal to the byte.
 */
import { componentSpecs, isComponentType, isSupported, type ComponentType, type Output } from '../service.js';

export type Content = Readonly<Record<string, unknown>>;
export type Kind = 'email' | 'attachment' | 'block';
type Step = string | number;
export type Path = readonly Step[];

/**
 * `key`: the id of a component or section; `page:` and the id of a page; `then:` or `else:` and the id of a
 * conditional for its two branches; `@` and a path where there is no id of its own. `path`: the place of `value` in the
 * content; a branch has those of its conditional. `list`: the place of the array of its children, which a conditional
 * without `elseChildren` does not have yet; undefined: it has no children.
 */
export type TreeNode = Readonly<{
  key: string;
  kind: 'page' | 'section' | 'slot' | 'branch' | 'component';
  type: string;
  value: Content;
  path: Path;
  list: Path | undefined;
  parent: TreeNode | undefined;
  index: number;
  children: readonly TreeNode[];
}>;

/** `list`: the place of the array of the roots. */
export type Outline = Readonly<{
  kind: Kind;
  content: Content;
  list: Path;
  roots: readonly TreeNode[];
  byKey: ReadonlyMap<string, TreeNode>;
}>;

/** A place among the children of a node, or of the whole. */
export type Place = Readonly<{ parent: string | undefined; index: number }>;

/**
 * The outcome of an act: the new content, the node to select, and what went beside it; or why it is not done. `key`
 * undefined: nothing is selected.
 */
export type Outcome =
  Readonly<{ content: Content; key: string | undefined; gone: readonly string[] }> | Readonly<{ refused: string }>;

export const isObject = (value: unknown): value is Content =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

/** The member of a table of words; undefined for every name that it does not have. */
const wordIn = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

const textIn = (object: unknown, name: string): string => {
  const value = own(object, name);
  return typeof value === 'string' ? value : '';
};

/** The value at a path; undefined where there is none. */
export const valueAt = (content: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, step) => {
    if (typeof step === 'number') return Array.isArray(value) ? (value as readonly unknown[])[step] : undefined;
    return own(value, step);
  }, content);

/** A content in which the value at a path is another. Everything beside the path is shared, and keys keep their order. */
export const changedAt = (content: Content, path: Path, change: (value: unknown) => unknown): Content =>
  changedIn(content, path, 0, change) as Content;

const changedIn = (value: unknown, path: Path, at: number, change: (value: unknown) => unknown): unknown => {
  const step = path[at];
  if (step === undefined) return change(value);
  if (typeof step === 'number') {
    const copy: unknown[] = Array.isArray(value) ? [...(value as readonly unknown[])] : [];
    copy[step] = changedIn(copy[step], path, at + 1, change);
    return copy;
  }
  return { ...(isObject(value) ? value : {}), [step]: changedIn(own(value, step), path, at + 1, change) };
};

/** The place of a fault such as `schema.sections[0].components[2].props.text`, as the service writes it. */
export const shownPath = (path: Path): string =>
  path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('');

const FAMILY = ['children', 'elseChildren'] as const;
/** Steps of a path beyond which nothing is shown; a service saves far fewer. */
const STEPS_MAX = 100;

/** In: a content of any shape, also one that a save would refuse. Out: what of it is a tree. */
export const outlineOf = (content: Content, kind: Kind): Outline => {
  const byKey = new Map<string, TreeNode>();
  const schema = own(content, 'schema');
  const isPiece = kind === 'block' && Array.isArray(own(schema, 'components'));
  const list: Path = ['schema', isPiece ? 'components' : kind === 'attachment' ? 'pages' : 'sections'];

  const keyOf = (wanted: string, path: Path): string => {
    if (wanted !== '' && !byKey.has(wanted)) return wanted;
    let key = `@${shownPath(path)}`;
    while (byKey.has(key)) key = `@${key}`;
    return key;
  };
  const note = (node: TreeNode, childrenOf: (node: TreeNode) => readonly TreeNode[]): TreeNode => {
    byKey.set(node.key, node);
    (node as { children: readonly TreeNode[] }).children = childrenOf(node);
    return node;
  };
  const each = (
    at: Path,
    parent: TreeNode | undefined,
    make: (value: Content, path: Path, parent: TreeNode | undefined, index: number) => TreeNode,
  ): readonly TreeNode[] => {
    const values = valueAt(content, at);
    if (!Array.isArray(values)) return [];
    return values.flatMap((value: unknown, index) =>
      isObject(value) ? [make(value, [...at, index], parent, index)] : [],
    );
  };
  const arrayAt = (path: Path): Path | undefined => {
    const value = valueAt(content, path);
    return value === undefined || Array.isArray(value) ? path : undefined;
  };
  const childrenIn = (node: TreeNode, make: Parameters<typeof each>[2]): readonly TreeNode[] =>
    node.list === undefined ? [] : each(node.list, node, make);

  const page: Parameters<typeof each>[2] = (value, path, parent, index) => {
    const id = textIn(value, 'pageId');
    const key = keyOf(id === '' ? '' : `page:${id}`, path);
    const node = { key, kind: 'page', type: 'page', value, path, parent, index, children: [] } as const;
    return note({ ...node, list: arrayAt([...path, 'sections']) }, (made) => childrenIn(made, section));
  };
  const section: Parameters<typeof each>[2] = (value, path, parent, index) => {
    const type = textIn(value, 'type');
    const isSlot = kind === 'block' && type === 'slot';
    const node = { key: keyOf(textIn(value, 'id'), path), type, value, path, parent, index, children: [] };
    return note(
      { ...node, kind: isSlot ? 'slot' : 'section', list: isSlot ? undefined : arrayAt([...path, 'components']) },
      (made) => childrenIn(made, component),
    );
  };
  const component: Parameters<typeof each>[2] = (value, path, parent, index) => {
    const type = textIn(value, 'type');
    const hasBranches = type === 'conditional' && path.length < STEPS_MAX;
    const takes =
      isComponentType(type) && componentSpecs[type].children !== 'none' && !hasBranches && path.length < STEPS_MAX;
    const node = { key: keyOf(textIn(value, 'id'), path), type, value, path, parent, index, children: [] };
    return note({ ...node, kind: 'component', list: takes ? arrayAt([...path, 'children']) : undefined }, (made) =>
      hasBranches ? branches(made) : childrenIn(made, component),
    );
  };
  const branches = (conditional: TreeNode): readonly TreeNode[] =>
    FAMILY.flatMap((name, index) => {
      const type = name === 'children' ? 'then' : 'else';
      const { path, value } = conditional;
      const place = arrayAt([...path, name]);
      if (place === undefined) return [];
      const node = {
        kind: 'branch',
        type,
        value,
        path,
        list: place,
        parent: conditional,
        index,
        children: [],
      } as const;
      return [
        note({ ...node, key: keyOf(`${type}:${conditional.key}`, place) }, (made) => childrenIn(made, component)),
      ];
    });

  const roots = each(list, undefined, isPiece ? component : kind === 'attachment' ? page : section);
  return { kind, content, list, roots, byKey };
};

/** The node that a form is about: of a branch its conditional. */
export const subjectOf = (node: TreeNode): TreeNode => (node.kind === 'branch' && node.parent ? node.parent : node);

/** The nodes from the root to the node, the node included. */
export const trailOf = (node: TreeNode): readonly TreeNode[] =>
  node.parent === undefined ? [node] : [...trailOf(node.parent), node];

/** All nodes in the order in which they are shown. */
export const walk = (nodes: readonly TreeNode[]): readonly TreeNode[] =>
  nodes.flatMap((node) => [node, ...walk(node.children)]);

const childrenOf = (outline: Outline, parent: TreeNode | undefined): readonly TreeNode[] =>
  parent === undefined ? outline.roots : parent.children;

const listOf = (outline: Outline, parent: TreeNode | undefined): Path | undefined =>
  parent === undefined ? outline.list : parent.list;

const lengthAt = (content: Content, list: Path): number => {
  const value = valueAt(content, list);
  return Array.isArray(value) ? value.length : 0;
};

const isIn = (node: TreeNode, around: TreeNode): boolean =>
  node === around || (node.parent !== undefined && isIn(node.parent, around));

// Rules of the tree: which component may stand where.

const outputNames: readonly Output[] = ['email', 'pdf', 'excel'];

/** Limits of a save, as a service has them unless its operator changed them. */
const LIMITS = { components: 200, depth: 10, loops: 3, conditions: 5 } as const;
type Measures = Readonly<Record<keyof typeof LIMITS, number>>;

const NONE: Measures = { components: 0, depth: 0, loops: 0, conditions: 0 };

/** In: components as JSON. Out: how many they are, and how deep they are nested. */
const measured = (values: readonly unknown[]): Measures =>
  values.filter(isObject).reduce<Measures>((found, value) => {
    const inside = measured(familyOf(value));
    return {
      components: found.components + 1 + inside.components,
      depth: Math.max(found.depth, 1 + inside.depth),
      loops: Math.max(found.loops, (value['type'] === 'loop' ? 1 : 0) + inside.loops),
      conditions: Math.max(found.conditions, (value['type'] === 'conditional' ? 1 : 0) + inside.conditions),
    };
  }, NONE);

const arrayIn = (object: unknown, name: string): readonly unknown[] => {
  const value = own(object, name);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
};

const familyOf = (value: unknown): readonly unknown[] => FAMILY.flatMap((name) => arrayIn(value, name));

/** The components in a page, in a section, or the component itself. */
const componentsIn = (value: unknown): readonly unknown[] => {
  if (Array.isArray(own(value, 'sections'))) return arrayIn(value, 'sections').flatMap(componentsIn);
  if (Array.isArray(own(value, 'components'))) return arrayIn(value, 'components');
  return isComponentType(own(value, 'type')) ? [value] : [];
};

const typesIn = (values: readonly unknown[]): readonly unknown[] =>
  values.filter(isObject).flatMap((value) => [value['type'], ...typesIn(familyOf(value))]);

const allShow = (types: readonly unknown[], output: Output): boolean =>
  types.every((type) => !isComponentType(type) || isSupported(type, output));

/** The outputs of the template; those of a block are all that have its components. */
const outputsOf = ({ kind, content, roots }: Outline): readonly Output[] => {
  if (kind === 'email') return ['email'];
  const schema = own(content, 'schema');
  if (kind === 'attachment') return outputNames.filter((name) => arrayIn(schema, 'outputFormats').includes(name));
  const types = typesIn(roots.flatMap(({ value }) => componentsIn(value)));
  const shown = outputNames.filter((output) => allShow(types, output));
  return own(schema, 'props') === undefined ? shown : shown.filter((output) => output === 'email');
};

/** The component types that the template can show. */
export const typesOf = (outline: Outline): readonly ComponentType[] => {
  const outputs = outputsOf(outline);
  return (Object.keys(componentSpecs) as ComponentType[]).filter((type) =>
    outline.kind === 'block'
      ? outputs.some((output) => isSupported(type, output))
      : outputs.length > 0 && outputs.every((output) => isSupported(type, output)),
  );
};

type ThingKind = 'page' | 'section' | 'slot' | 'component';

/** Components around the children of a node. */
const around = (parent: TreeNode | undefined): Measures =>
  (parent === undefined ? [] : trailOf(parent))
    .filter(({ kind }) => kind === 'component')
    .reduce<Measures>(
      (found, { type }) => ({
        components: 0,
        depth: found.depth + 1,
        loops: found.loops + (type === 'loop' ? 1 : 0),
        conditions: found.conditions + (type === 'conditional' ? 1 : 0),
      }),
      NONE,
    );

const limitWords: Readonly<Record<keyof typeof LIMITS, string>> = {
  components: `A template has at most ${LIMITS.components} components.`,
  depth: `Components are nested at most ${LIMITS.depth} deep.`,
  loops: `Loops are nested at most ${LIMITS.loops} deep.`,
  conditions: `Conditions are nested at most ${LIMITS.conditions} deep.`,
};

/**
 * Why something may not stand among the children of a node; undefined: it may. `added`: it is not in the template yet.
 * A template that is beyond a limit shows that its service has another one: then the service alone refuses.
 */
const refusal = (
  outline: Outline,
  parent: TreeNode | undefined,
  kind: ThingKind,
  value: unknown,
  added: boolean,
): string | undefined => {
  const list = listOf(outline, parent);
  if (list === undefined) return 'Nothing can stand inside of it.';
  const fits =
    kind === 'component'
      ? parent === undefined
        ? list.at(-1) === 'components'
        : parent.kind !== 'page'
      : kind === 'page'
        ? parent === undefined && outline.kind === 'attachment'
        : outline.kind === 'attachment'
          ? kind === 'section' && parent?.kind === 'page'
          : parent === undefined && list.at(-1) === 'sections';
  if (!fits)
    return kind === 'component'
      ? 'A component stands in a section or in another component.'
      : `A ${kind} cannot stand here.`;
  const values = kind === 'component' ? [value] : componentsIn(value);
  if (added) {
    const known = new Set<unknown>(typesOf(outline));
    const types = typesIn(values);
    const stranger = types.find((type) => !known.has(type));
    const hasOutput = outline.kind !== 'block' || outputsOf(outline).some((output) => allShow(types, output));
    if (stranger !== undefined || !hasOutput) return 'An output of the template does not have this component.';
  }
  const now = measured(outline.roots.flatMap((root) => componentsIn(root.value)));
  const own = measured(values);
  const outer = kind === 'component' ? around(parent) : NONE;
  for (const name of ['depth', 'loops', 'conditions'] as const)
    if (now[name] <= LIMITS[name] && outer[name] + own[name] > LIMITS[name]) return limitWords[name];
  if (added && now.components <= LIMITS.components && now.components + own.components > LIMITS.components)
    return limitWords.components;
  return undefined;
};

// Names that loops bring, and the components that read them.

const loopsAround = (parent: TreeNode | undefined): readonly TreeNode[] =>
  parent === undefined ? [] : trailOf(parent).filter(({ type }) => type === 'loop');

const namesOf = ({ value }: TreeNode): readonly string[] =>
  ['itemVariable', 'indexVariable'].map((name) => textIn(own(value, 'props'), name)).filter((name) => name !== '');

/** Props that are paths, with or without braces. */
const PATHS: ReadonlySet<string> = new Set(['condition', 'dataSource']);

/** Whether a text of the value reads the name, unless something in between calls its own items so. */
const reads = (value: unknown, name: string, prop = ''): boolean => {
  if (typeof value === 'string') {
    const beginnings = [
      ...value.matchAll(PATHS.has(prop) ? /^\s*(?:\{\{)?\s*([\p{L}\p{N}_-]+)/gu : /\{\{\s*([\p{L}\p{N}_-]+)/gu),
    ];
    return beginnings.some(([, first]) => first === name);
  }
  if (Array.isArray(value)) return value.some((one) => reads(one, name, prop));
  if (!isObject(value)) return false;
  const props = own(value, 'props');
  const isOwn = ['itemVariable', 'indexVariable'].some((member) => own(props, member) === name);
  if (isOwn) return reads(own(props, 'dataSource'), name, 'dataSource');
  return Object.entries(value).some(([member, inner]) => reads(inner, name, member));
};

/** Why values that stand in `from` lose a name in `to`; undefined: they know there all that they read. */
const lostIn = (
  { content }: Outline,
  values: readonly unknown[],
  from: TreeNode | undefined,
  to: TreeNode | undefined,
): string | undefined => {
  const outer = loopsAround(to);
  const variables = arrayIn(content, 'variables').map((definition) => textIn(definition, 'name'));
  const known = new Set([...outer.flatMap(namesOf), ...variables]);
  for (const loop of loopsAround(from)) {
    const name = outer.includes(loop)
      ? undefined
      : namesOf(loop).find((one) => !known.has(one) && values.some((value) => reads(value, one)));
    if (name !== undefined)
      return `It reads ${name}, which is known only inside of the loop “${nameOf(loop.type, loop.value)}”.`;
  }
  return undefined;
};

const moveRefusal = (outline: Outline, node: TreeNode, parent: TreeNode | undefined): string | undefined =>
  refusal(outline, parent, kindOf(node), node.value, false) ?? lostIn(outline, [node.value], node.parent, parent);

const kindOf = (node: TreeNode): ThingKind => (node.kind === 'branch' ? 'component' : node.kind);

/** Whether a node may move to a place; also to the place that it has. */
export const mayMove = (outline: Outline, key: string, parentKey: string | undefined): boolean => {
  const node = outline.byKey.get(key);
  const parent = parentKey === undefined ? undefined : outline.byKey.get(parentKey);
  if (node === undefined || node.kind === 'branch' || (parentKey !== undefined && parent === undefined)) return false;
  if (parent !== undefined && isIn(parent, node)) return false;
  return moveRefusal(outline, node, parent) === undefined;
};

// Ids.

const idNames: Readonly<Record<string, string>> = {
  ...{ 'rich-text': 'text', image: 'picture', container: 'box', conditional: 'condition', 'qr-code': 'code' },
  ...{ 'html-fragment': 'html', include: 'block' },
};

const ID_CHARS_MAX = 100;

const idsIn = (value: unknown, found: Set<string>): Set<string> => {
  for (const name of ['id', 'pageId']) {
    const id = own(value, name);
    if (typeof id === 'string') found.add(id);
  }
  for (const name of ['pages', 'sections', 'components', ...FAMILY])
    for (const child of arrayIn(value, name)) idsIn(child, found);
  return found;
};

/** Makes ids that nothing in the content has, nor anything that was made before. */
const idMaker = (content: Content): ((base: string) => string) => {
  const taken = idsIn(own(content, 'schema'), new Set());
  return (wanted) => {
    const base = [...wanted.replace(/-\d+$/, '')].slice(0, ID_CHARS_MAX - 8).join('') || 'part';
    let id = base;
    for (let count = 2; taken.has(id); count += 1) id = `${base}-${count}`;
    taken.add(id);
    return id;
  };
};

/** A copy of pages, sections or components with ids of its own. Components without an id get one by their type. */
const withFreshIds = (value: unknown, fresh: (base: string) => string): unknown => {
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = { ...value };
  const type = textIn(value, 'type');
  if (Object.hasOwn(value, 'pageId')) copy['pageId'] = fresh(textIn(value, 'pageId') || 'page');
  else copy['id'] = fresh(textIn(value, 'id') || (wordIn(idNames, type) ?? type));
  for (const name of ['sections', 'components', ...FAMILY])
    if (Array.isArray(own(value, name))) copy[name] = arrayIn(value, name).map((child) => withFreshIds(child, fresh));
  return copy;
};

// Lists.

const starts = (path: Path, list: Path): boolean => list.every((step, at) => path[at] === step);

const isSamePath = (one: Path, other: Path): boolean => one.length === other.length && starts(one, other);

/** The path after something was put into a list at a place (`by` 1), or taken out of it (-1). */
const shifted = (path: Path, list: Path, at: number, by: 1 | -1): Path => {
  const step = path[list.length];
  if (typeof step !== 'number' || !starts(path, list) || step < at) return path;
  return [...path.slice(0, list.length), step + by, ...path.slice(list.length + 1)];
};

/** In: the place of a list of children. Out: the place of the widths of its columns, where it is one of columns. */
const widthsOf = (content: Content, list: Path): Path | undefined => {
  const holder = list.slice(0, -1);
  if (list.at(-1) !== 'children' || textIn(valueAt(content, holder), 'type') !== 'columns') return undefined;
  const widths = [...holder, 'props', 'widths'];
  return Array.isArray(valueAt(content, widths)) ? widths : undefined;
};

const without = (content: Content, path: Path): Content => {
  const name = path.at(-1);
  return changedAt(content, path.slice(0, -1), (value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)) : value,
  );
};

/** Puts a value into a list. Columns whose widths were all said share the room, for the widths leave none. */
const putAt = (content: Content, list: Path, at: number, value: unknown): Content => {
  const put = changedAt(content, list, (now) => {
    const values = Array.isArray(now) ? (now as readonly unknown[]) : [];
    return [...values.slice(0, at), value, ...values.slice(at)];
  });
  const widths = widthsOf(content, list);
  if (widths === undefined || lengthAt(content, widths) < lengthAt(content, list)) return put;
  return without(put, widths);
};

/** Takes a value out of a list, and the width of its column with it. */
const takeAt = (content: Content, list: Path, at: number): Content => {
  const cut = (now: unknown): unknown =>
    Array.isArray(now) ? (now as readonly unknown[]).filter((_, place) => place !== at) : now;
  const taken = changedAt(content, list, cut);
  const widths = widthsOf(content, list);
  if (widths === undefined || lengthAt(content, widths) <= at) return taken;
  return lengthAt(content, widths) === 1 ? without(taken, widths) : changedAt(taken, widths, cut);
};

/**
 * Takes out what a path names. A loop and columns show at least one component: where the last one goes, they go too.
 * Out: the content, and the names of what went; undefined where the list must hold something.
 */
const removedAt = (
  content: Content,
  path: Path,
): Readonly<{ content: Content; gone: readonly string[] }> | undefined => {
  const list = path.slice(0, -1);
  const at = path.at(-1);
  if (typeof at !== 'number') return undefined;
  if (lengthAt(content, list) > 1) return { content: takeAt(content, list, at), gone: [] };
  const name = list.at(-1);
  const holder = list.slice(0, -1);
  if (name === 'pages' || name === 'sections' || isSamePath(list, ['schema', 'components'])) return undefined;
  const value = valueAt(content, holder);
  const type = textIn(value, 'type');
  const needsOne = name === 'children' && isComponentType(type) && componentSpecs[type].children === 'atLeastOne';
  if (!needsOne) return { content: takeAt(content, list, at), gone: [] };
  const outer = removedAt(content, holder);
  return outer === undefined ? undefined : { ...outer, gone: [nameOf(type, value), ...outer.gone] };
};

const LAST = 'This is the last one: a template shows at least one.';

// Acts.

const unknown: Outcome = { refused: 'It is not there any more.' };

/** `variables`: definitions that are added with it. */
export type Made = Readonly<{ kind: 'page' | 'section' | 'component'; value: Content; variables?: readonly Content[] }>;

const withVariables = (content: Content, variables: readonly Content[] = []): Content =>
  variables.length === 0 ? content : { ...content, variables: [...arrayIn(content, 'variables'), ...variables] };

const parentIn = (outline: Outline, { parent }: Place): TreeNode | undefined | 'missing' =>
  parent === undefined ? undefined : (outline.byKey.get(parent) ?? 'missing');

const within = (index: number, length: number): number => Math.min(Math.max(index, 0), length);

/** Puts something new at a place. Its ids are made. */
export const insert = (outline: Outline, place: Place, made: Made): Outcome => {
  const parent = parentIn(outline, place);
  if (parent === 'missing') return unknown;
  const refused = refusal(outline, parent, made.kind, made.value, true);
  if (refused !== undefined) return { refused };
  const list = listOf(outline, parent)!;
  const value = withFreshIds(made.value, idMaker(outline.content)) as Content;
  const at = within(place.index, lengthAt(outline.content, list));
  const content = withVariables(putAt(outline.content, list, at, value), made.variables);
  return { content, key: keyOfMade(value), gone: [] };
};

const keyOfMade = (value: Content): string =>
  Object.hasOwn(value, 'pageId') ? `page:${textIn(value, 'pageId')}` : textIn(value, 'id');

/** Moves a node to a place, which is counted with the node where it stands. */
export const move = (outline: Outline, key: string, place: Place): Outcome => {
  const node = outline.byKey.get(key);
  const parent = parentIn(outline, place);
  if (node === undefined || parent === 'missing' || node.kind === 'branch') return unknown;
  if (parent !== undefined && isIn(parent, node)) return { refused: 'Nothing can stand inside of itself.' };
  const refused = moveRefusal(outline, node, parent);
  if (refused !== undefined) return { refused };
  const { content, list: rootList } = outline;
  const target = parent === undefined ? rootList : parent.list!;
  const source = node.path.slice(0, -1);
  const at = within(place.index, lengthAt(content, target));
  if (isSamePath(source, target)) return { content: movedWithin(content, target, node.index, at), key, gone: [] };
  const put = putAt(content, target, at, node.value);
  const removed = removedAt(put, shifted(node.path, target, at, 1));
  return removed === undefined ? { refused: LAST } : { ...removed, key };
};

const movedWithin = (content: Content, list: Path, from: number, to: number): Content => {
  if (to === from || to === from + 1) return content;
  const moved = (now: unknown): unknown => {
    if (!Array.isArray(now)) return now;
    const values = [...(now as readonly unknown[])];
    const [value] = values.splice(from, 1);
    values.splice(to > from ? to - 1 : to, 0, value);
    return values;
  };
  const widths = widthsOf(content, list);
  const own = changedAt(content, list, moved);
  // Widths of the first columns alone stay with their places.
  if (widths === undefined || lengthAt(content, widths) < lengthAt(content, list)) return own;
  return changedAt(own, widths, moved);
};

export type Direction = 'up' | 'down' | 'in' | 'out';

/**
 * The place to which a node goes by one step; undefined: there is none. Up and down go on in the section, page or branch
 * before and after. In: to the end of what stands before it. Out: behind what it stands in.
 */
export const placeBy = (outline: Outline, key: string, direction: Direction): Place | undefined => {
  const node = outline.byKey.get(key);
  if (node === undefined || node.kind === 'branch') return undefined;
  const { parent } = node;
  const siblings = childrenOf(outline, parent);
  const at = siblings.indexOf(node);
  const before = siblings[at - 1];
  const after = siblings[at + 1];
  const into = (target: TreeNode | undefined, index: number): Place | undefined =>
    target !== undefined && mayMove(outline, key, target.key) ? { parent: target.key, index } : undefined;
  switch (direction) {
    case 'up':
      return before === undefined
        ? into(neighbour(outline, parent, -1), Infinity)
        : { parent: parent?.key, index: before.index };
    case 'down':
      return after === undefined
        ? into(neighbour(outline, parent, 1), 0)
        : { parent: parent?.key, index: after.index + 1 };
    case 'in': {
      const target = before?.type === 'conditional' ? before.children[0] : before;
      return into(target, Infinity);
    }
    case 'out': {
      const outer = parent === undefined ? undefined : subjectOf(parent);
      if (outer === undefined || !mayMove(outline, key, outer.parent?.key)) return undefined;
      return { parent: outer.parent?.key, index: outer.index + 1 };
    }
  }
};

/** The next section, page or branch; what stands between components are those components. */
const neighbour = (outline: Outline, parent: TreeNode | undefined, by: 1 | -1): TreeNode | undefined => {
  if (parent === undefined || parent.kind === 'component') return undefined;
  const siblings = childrenOf(outline, parent.parent);
  const found = siblings.slice(
    by === 1 ? siblings.indexOf(parent) + 1 : 0,
    by === 1 ? undefined : siblings.indexOf(parent),
  );
  const next = (by === 1 ? found : found.toReversed()).find(({ list }) => list !== undefined);
  if (next !== undefined || parent.kind !== 'section') return next;
  // The first or last section of another page.
  const page = parent.parent === undefined ? undefined : neighbour(outline, parent.parent, by);
  return by === 1 ? page?.children[0] : page?.children.at(-1);
};

/** The node that is selected when another goes. */
const nextTo = (outline: Outline, node: TreeNode): string | undefined => {
  const siblings = childrenOf(outline, node.parent);
  const at = siblings.indexOf(node);
  return (siblings[at + 1] ?? siblings[at - 1] ?? node.parent)?.key;
};

/** Takes a node out, with all that it holds. */
export const remove = (outline: Outline, key: string): Outcome => {
  const node = outline.byKey.get(key);
  if (node === undefined || node.kind === 'branch') return unknown;
  if (node.kind === 'slot') return { refused: 'A layout keeps its slot: there the sections of a template stand.' };
  const removed = removedAt(outline.content, node.path);
  if (removed === undefined) return { refused: LAST };
  const kept = removed.gone.length === 0 ? nextTo(outline, node) : nextTo(outline, goneWith(node, removed.gone.length));
  return { ...removed, key: kept };
};

const goneWith = (node: TreeNode, count: number): TreeNode =>
  count === 0 || node.parent === undefined ? node : goneWith(node.parent, count - 1);

/** Puts a copy behind a node. All its ids are new. */
export const duplicate = (outline: Outline, key: string): Outcome => {
  const node = outline.byKey.get(key);
  if (node === undefined || node.kind === 'branch') return unknown;
  if (node.kind === 'slot') return { refused: 'A layout has one slot.' };
  const place = { parent: node.parent?.key, index: node.index + 1 };
  return insert(outline, place, { kind: node.kind, value: node.value });
};

/** `made`: a component with children, in whose first list the node then stands alone. */
export const wrap = (outline: Outline, key: string, made: Made): Outcome => {
  const node = outline.byKey.get(key);
  if (node?.kind !== 'component') return { refused: 'Only components can be put into another one.' };
  const wrapper = { ...made.value, children: [] };
  const probe = { ...wrapper, children: [node.value] };
  const refused =
    refusal(outline, node.parent, 'component', probe, false) ??
    refusal(outline, node.parent, 'component', wrapper, true);
  if (refused !== undefined) return { refused };
  const fresh = withFreshIds(wrapper, idMaker(outline.content)) as Content;
  const value = { ...fresh, children: [node.value] };
  const content = changedAt(outline.content, node.path, () => value);
  return { content: withVariables(content, made.variables), key: textIn(fresh, 'id'), gone: [] };
};

/** Whether the node holds components that can take its place. */
export const mayUnwrap = (node: TreeNode): boolean => node.kind === 'component' && familyOf(node.value).length > 0;

/** Puts what a component holds in its place; of a condition both branches, one behind the other. */
export const unwrap = (outline: Outline, key: string): Outcome => {
  const node = outline.byKey.get(key);
  if (node === undefined || !mayUnwrap(node)) return { refused: 'It holds no component.' };
  const inside = familyOf(node.value);
  const lost = lostIn(outline, inside, node, node.parent);
  if (lost !== undefined) return { refused: lost };
  const list = node.path.slice(0, -1);
  const [first, ...others] = inside;
  const one = changedAt(outline.content, node.path, () => first);
  const content = others.reduce<Content>((made, value, at) => putAt(made, list, node.index + 1 + at, value), one);
  return { content, key: textIn(first, 'id') || undefined, gone: [] };
};

/** Names a component or section by another id, a page by another name. */
export const rename = (outline: Outline, key: string, wanted: string): Outcome => {
  const node = outline.byKey.get(key);
  if (node === undefined || node.kind === 'branch') return unknown;
  const name = wanted.trim();
  if (name === '') return { refused: 'A name has at least one character.' };
  if (node.kind === 'page')
    return { content: changedAt(outline.content, [...node.path, 'pageName'], () => name), key, gone: [] };
  if ([...name].length > ID_CHARS_MAX) return { refused: `A name has at most ${ID_CHARS_MAX} characters.` };
  if (name === textIn(node.value, 'id')) return { content: outline.content, key, gone: [] };
  if (idsIn(own(outline.content, 'schema'), new Set()).has(name))
    return { refused: `Another component has the name ${name}.` };
  return { content: changedAt(outline.content, [...node.path, 'id'], () => name), key: name, gone: [] };
};

// Words.

export const typeWords: Readonly<Record<ComponentType, string>> = {
  'rich-text': 'Text',
  button: 'Button',
  image: 'Picture',
  table: 'Table',
  container: 'Box',
  columns: 'Columns',
  divider: 'Line',
  spacer: 'Space',
  conditional: 'Condition',
  loop: 'Loop',
  list: 'List',
  'qr-code': 'Code',
  'html-fragment': 'HTML',
  chart: 'Chart',
  timeline: 'Timeline',
  include: 'Block',
};

const sectionWords: Readonly<Record<string, string>> = {
  ...{ header: 'Header', main: 'Main', body: 'Body', footer: 'Footer', slot: 'Sections of the template' },
};

const operatorWords: Readonly<Record<string, string>> = {
  ...{ '==': 'is', '!=': 'is not', '>': 'is more than', '<': 'is less than', '>=': 'is at least', '<=': 'is at most' },
  ...{
    contains: 'contains',
    startsWith: 'begins with',
    endsWith: 'ends with',
    exists: 'is there',
    isEmpty: 'is empty',
  },
};

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', '#39': "'" },
};

const GIST_CHARS = 60;
/** More of a text is not read for its gist. */
const READ_CHARS = 2_000;

/** The beginning of a text with tags, as a line. */
export const gistOf = (html: string): string => {
  const text = html
    .slice(0, READ_CHARS)
    .replace(/<[^>]{0,500}>/g, ' ')
    .replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (_, name: string) => entities[name] ?? ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...text];
  return characters.length > GIST_CHARS ? `${characters.slice(0, GIST_CHARS).join('')}…` : text;
};

const bare = (path: string): string => path.replace(/^\s*\{\{\s*|\s*\}\}\s*$/g, '').trim();

/** A condition as a sentence: `seats is at least 10`. */
export const conditionWords = (props: unknown): string => {
  const operator = textIn(props, 'operator');
  const value = own(props, 'value');
  const isUnary = operator === 'exists' || operator === 'isEmpty';
  const right =
    isUnary || value === undefined
      ? ''
      : typeof value === 'string'
        ? value.includes('{{')
          ? bare(value)
          : `“${value}”`
        : String(value);
  return [bare(textIn(props, 'condition')) || '…', wordIn(operatorWords, operator) ?? operator, right]
    .filter((word) => word !== '')
    .join(' ');
};

const gistOfComponent = (type: string, value: unknown): string => {
  const props = own(value, 'props');
  const source = bare(textIn(props, 'dataSource'));
  switch (type) {
    case 'rich-text':
    case 'button':
    case 'html-fragment':
      return gistOf(textIn(value, 'content'));
    case 'list':
      return source === '' ? gistOf(textIn(value, 'content')) : `of ${source}`;
    case 'image':
      return gistOf(textIn(props, 'alt'));
    case 'table':
    case 'timeline':
    case 'chart':
      return source === '' ? gistOf(textIn(props, 'title')) : `of ${source}`;
    case 'qr-code':
      return gistOf(textIn(props, 'value'));
    case 'include':
      return textIn(props, 'block');
    default:
      return '';
  }
};

const nameOf = (type: string, value: unknown): string => {
  const props = own(value, 'props');
  if (type === 'conditional') return `If ${conditionWords(props)}`;
  if (type === 'loop')
    return `For each ${textIn(props, 'itemVariable') || '…'} of ${bare(textIn(props, 'dataSource')) || '…'}`;
  return isComponentType(type) ? typeWords[type] : type === '' ? 'Unknown' : type;
};

/** `name`: what it is. `gist`: what of it a reader knows it by; may be empty. */
export const wordsOf = (node: TreeNode): Readonly<{ name: string; gist: string }> => {
  const { kind, type, value } = node;
  switch (kind) {
    case 'page':
      return { name: 'Page', gist: gistOf(textIn(value, 'pageName')) };
    case 'section':
    case 'slot':
      return { name: wordIn(sectionWords, type) ?? 'Section', gist: '' };
    case 'branch':
      return { name: type === 'then' ? 'Then' : 'Otherwise', gist: '' };
    case 'component': {
      const isColumn = node.parent?.type === 'columns' && type === 'container';
      return { name: isColumn ? `Column ${node.index + 1}` : nameOf(type, value), gist: gistOfComponent(type, value) };
    }
  }
};

/** The name and the gist in one line. */
export const labelOf = (node: TreeNode): string => {
  const { name, gist } = wordsOf(node);
  return gist === '' ? name : `${name}: ${gist}`;
};

/** The way to a node in words: `Main, For each item of items, Then`. Empty at the root. */
export const wayTo = (node: TreeNode): string =>
  trailOf(node)
    .slice(0, -1)
    .map((one) => wordsOf(one).name)
    .join(', ');

/** The nearest node with an id of its own to a fault such as `schema.sections[0].components[1].props.href`. */
export const nodeAt = (outline: Outline, fault: string): TreeNode | undefined => {
  let found: TreeNode | undefined;
  for (const node of outline.byKey.values()) {
    if (node.kind === 'branch') continue;
    const path = shownPath(node.path);
    const isThere = fault === path || fault.startsWith(`${path}.`) || fault.startsWith(`${path}[`);
    if (isThere && node.path.length >= (found?.path.length ?? 0)) found = node;
  }
  return found;
};
