/**
 * Takes out of a template that is being written what cannot be shown, so that a preview shows the rest: a prop that is
 * wrong, a placeholder that is not finished, a component that lacks something.
 */
import type { FieldError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isComponentType } from '../components.js';
import { DEFAULT_LOCALE } from '../content.js';
import { componentFields } from './components.js';
import { isPlainObject } from './format.js';

/** The kinds of templates, by what their schema holds. */
export type MendedKind = 'email' | 'attachment' | 'block';

type Node = Record<string, unknown>;
type Step = string | number;
/** A member of an object or an array. */
type Place = Readonly<{ holder: Node; key: Step }>;

/** `variables`: the places that the variables that are left had before. */
type Mended = Readonly<{ template: JsonObject; variables: readonly number[] }>;

/** Stands for a subject or a name that cannot be shown. */
export const STAND_IN = '…';

/**
 * In: a template as it came in, and what its check found. Out: a copy in which each faulty part is gone or replaced;
 * undefined where a fault has no place that could be mended. What is wrong with the copy is found by another check: each
 * one leaves less to mend. Components and sections keep their places, so that later faults name them.
 */
export const mend = (template: JsonObject, faults: readonly FieldError[], kind: MendedKind): Mended | undefined => {
  const root = structuredClone(template) as Node;
  const edits = openEdits(root);
  for (const field of new Set(faults.map((fault) => fault.field)))
    if (!repair(edits, kind, stepsOf(field))) return undefined;
  // Faults name variables by their places, so they are taken out last.
  const variables: readonly unknown[] = Array.isArray(root['variables']) ? root['variables'] : [];
  const kept = [...variables.keys()].filter((at) => !edits.dropped.has(at));
  if (kept.length < variables.length) root['variables'] = kept.map((at) => variables[at]);
  return { variables: kept, template: root as JsonObject };
};

/** Separates the place of an include from a place inside of its block. */
const IN_BLOCK = ' › ';
const STEP = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g;

/** In: a field such as `schema.sections[0].props.color`. Out: its names and numbers. */
const stepsOf = (field: string): readonly Step[] =>
  [...(field.split(IN_BLOCK, 1)[0] ?? '').matchAll(STEP)].map(([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? '') : Number(index),
  );

const FAMILY: ReadonlySet<Step> = new Set(['components', 'children', 'elseChildren']);
/** Members that the schema of each kind cannot be without. */
const needed: Readonly<Record<MendedKind, readonly Step[]>> = {
  email: ['sections'],
  attachment: ['pages', 'outputFormats'],
  block: ['components', 'sections'],
};

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const valueAt = ({ holder, key }: Place): unknown => holder[key];

/** Changes to a template, each of which answers true. */
type Edits = ReturnType<typeof openEdits>;

const openEdits = (root: Node) => {
  const replaced = new Set<object>();
  const removed = new Map<unknown, Set<Step>>();
  let made = 0;
  let written: string | undefined;
  /** An id that no component has. */
  const freshId = (): string => {
    written ??= JSON.stringify(root);
    do made += 1;
    while (written.includes(`"unsaved/${made}"`));
    return `unsaved/${made}`;
  };
  const put = ({ holder, key }: Place, value: unknown): true => {
    if (isNode(value)) replaced.add(value);
    holder[key] = value;
    return true;
  };
  return {
    root,
    /** Variables to be taken out. */
    dropped: new Set<number>(),
    freshId,
    put,
    remove: ({ holder, key }: Place): true => {
      removed.set(holder, (removed.get(holder) ?? new Set()).add(key));
      return Reflect.deleteProperty(holder, key) || true;
    },
    /** Lets the placeholders of a text stand there as they are written; false for other values. */
    plain: (place: Place): boolean => {
      const value = valueAt(place);
      return typeof value === 'string' && value.includes('{{') && put(place, value.replaceAll('{{', '{ {'));
    },
    /** True for a place in something that was replaced or removed for another fault. */
    isDone: (trail: readonly Place[], steps: readonly Step[]): boolean => {
      const values = trail.map(valueAt);
      const next = steps[trail.length];
      return (
        values.some((value) => isNode(value) && replaced.has(value)) ||
        (next !== undefined && removed.get(values.length === 0 ? root : values.at(-1))?.has(next) === true)
      );
    },
  };
};

/** False where nothing can be mended there. */
const repair = (edits: Edits, kind: MendedKind, steps: readonly Step[]): boolean => {
  const trail = trailOf(edits.root, steps);
  if (edits.isDone(trail, steps)) return true;
  if (steps[0] !== 'schema') return repairField(edits, kind, trail, steps);
  const at = trail.findLastIndex(
    ({ holder }, depth) => Array.isArray(holder) && FAMILY.has(trail[depth - 1]?.key ?? '') && !isInProps(trail, depth),
  );
  const component = trail[at];
  return component === undefined
    ? repairFrame(edits, kind, trail, steps)
    : repairComponent(edits, component, trail.slice(at + 1), steps.slice(at + 1));
};

/** Repairs the fields beside the schema. */
const repairField = (edits: Edits, kind: MendedKind, trail: readonly Place[], [name, at]: readonly Step[]): boolean => {
  const { root } = edits;
  if (name === undefined) return false;
  const place = { holder: root, key: name };
  if (name === 'subject' || name === 'name') return edits.plain(place) || edits.put(place, STAND_IN);
  if (name === 'variables') {
    // A name says a value of the call, not a definition.
    if (typeof at === 'string') return false;
    if (at === undefined || trail.length < 2) return edits.put(place, []);
    edits.dropped.add(at);
    return true;
  }
  if (!Object.hasOwn(root, name)) return false;
  return kind === 'block' && name === 'locale' ? edits.put(place, DEFAULT_LOCALE) : edits.remove(place);
};

/** `inside`, `rest`: the way on from the component, as far as it is there, and as the fault names it. */
const repairComponent = (edits: Edits, place: Place, inside: readonly Place[], rest: readonly Step[]): boolean => {
  const component = valueAt(place);
  const standIn = (): true => edits.put(place, standInFor(component, edits));
  if (!isPlainObject(component) || component['type'] === 'include') return standIn();
  if (rest.length === 1 && rest[0] === 'id')
    return edits.put({ holder: component as Node, key: 'id' }, edits.freshId());
  const last = inside.at(-1);
  if (last === undefined || inside.length < rest.length) return standIn();
  if (edits.plain(last)) return true;
  const [name, prop] = rest;
  if (rest.length === 1 && !componentFields.some((known) => known === name)) return edits.remove(last);
  const { props } = component;
  if (name !== 'props' || prop === undefined || !isNode(props)) return standIn();
  // A cell that is taken out would shift the others of its row.
  return edits.remove(Array.isArray(last.holder) ? { holder: props, key: prop } : last);
};

/** Shows the type of a component that cannot be shown, in its place. */
const standInFor = (component: unknown, { freshId }: Edits): Node => {
  const { id, type } = isPlainObject(component) ? component : {};
  return noted(typeof id === 'string' && id !== '' ? id : freshId(), isComponentType(type) ? type : 'component');
};

const noted = (id: string, name: string): Node => ({
  id,
  type: 'rich-text',
  content: `<em>${name}</em>`,
  props: { color: '#6b7280' },
});

/** Repairs what stands around components: sections, pages, and the settings of both. */
const repairFrame = (edits: Edits, kind: MendedKind, trail: readonly Place[], steps: readonly Step[]): boolean => {
  const { schema } = edits.root;
  if (!isPlainObject(schema)) return edits.put({ holder: edits.root, key: 'schema' }, bare(kind, edits));
  if (steps[1] === 'outputFormats') return edits.put({ holder: schema as Node, key: 'outputFormats' }, ['pdf']);
  const last = trail.at(-1);
  const name = steps.at(-1);
  const holder = trail[steps.length - 2];
  const parent = holder && valueAt(holder);
  const isOfFrame = parent === schema || typeof steps.at(-2) === 'number';
  const instead = isNode(parent) && name !== undefined && isOfFrame ? insteadOf(name, parent, kind, edits) : undefined;
  if (isNode(parent) && name !== undefined && instead !== undefined)
    return edits.put({ holder: parent, key: name }, instead);
  if (last === undefined) return false;
  const isBareBlock = kind === 'block' && schema['components'] === undefined && schema['sections'] === undefined;
  if (name === 'schema' && isBareBlock) return edits.put(last, bare(kind, edits));
  const isWhole = trail.length === steps.length;
  if (isWhole && typeof name === 'number' && steps.at(-2) === 'pages') return edits.put(last, page(edits));
  if (isWhole && typeof name === 'number' && steps.at(-2) === 'sections') return edits.put(last, section(edits));
  if (isWhole && edits.plain(last)) return true;
  // The innermost member that is there and that an object may lack.
  const optional = trail.findLast((place) => isOptional(place, kind, edits.root));
  return optional !== undefined && edits.remove(optional);
};

const isOptional = ({ holder, key }: Place, kind: MendedKind, root: Node): boolean => {
  if (Array.isArray(holder) || holder === root) return false;
  if (holder !== root['schema']) return key !== 'sections' && key !== 'components';
  return !needed[kind].includes(key) || (key === 'sections' && Object.hasOwn(holder, 'components'));
};

/** The value in place of a part that cannot be missing; undefined for other parts. */
const insteadOf = (name: Step, parent: Node, kind: MendedKind, edits: Edits): unknown => {
  const isSchema = parent === edits.root['schema'];
  if (isSchema && (!needed[kind].includes(name) || (name === 'sections' && parent['components'] !== undefined)))
    return undefined;
  switch (name) {
    case 'id':
    case 'pageId':
      return edits.freshId();
    case 'pages':
      return [page(edits)];
    case 'sections':
      return withSlot(parent[name], kind, edits);
    case 'components':
      return isSchema ? [noted(edits.freshId(), 'block')] : [];
    case 'type':
      return 'body';
    case 'pageName':
      return 'Page';
    default:
      return undefined;
  }
};

const section = ({ freshId }: Edits): Node => ({ id: freshId(), type: 'body', components: [] });
const page = (edits: Edits): Node => ({ pageId: edits.freshId(), pageName: 'Page', sections: [section(edits)] });

/** Data in props may have names of components. */
const isInProps = (trail: readonly Place[], depth: number): boolean =>
  trail.slice(0, depth).some(({ key }) => key === 'props');

/** The members on the way to a place, as far as they are there. */
const trailOf = (root: Node, steps: readonly Step[]): readonly Place[] => {
  const trail: Place[] = [];
  let value: unknown = root;
  for (const key of steps) {
    if (!isNode(value) || !Object.hasOwn(value, key)) break;
    trail.push({ holder: value, key });
    value = value[key];
  }
  return trail;
};

const bare = (kind: MendedKind, edits: Edits): Node => {
  switch (kind) {
    case 'email':
      return { sections: [section(edits)] };
    case 'attachment':
      return { outputFormats: ['pdf'], pages: [page(edits)] };
    case 'block':
      return { components: [noted(edits.freshId(), 'block')] };
  }
};

/** The sections that are there; a layout gets the slot that it lacks. */
const withSlot = (sections: unknown, kind: MendedKind, edits: Edits): readonly unknown[] => {
  const known: readonly unknown[] = Array.isArray(sections) ? sections : [];
  if (kind === 'block') return [...known, { id: edits.freshId(), type: 'slot' }];
  return known.length > 0 ? known : [section(edits)];
};
