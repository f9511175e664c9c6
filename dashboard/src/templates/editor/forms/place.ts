/** The place of a component in a template, and how one value of a template is read and replaced. */

export type Step = string | number;
export type Steps = readonly Step[];
export type Json = Readonly<Record<string, unknown>>;

/** A component that surrounds another one; `branch`: in which of its lists the inner one stands. */
export type Parent = Readonly<{ steps: Steps; node: Json; branch: 'children' | 'elseChildren'; at: number }>;

/** `parents`: from the outermost to the nearest. */
export type Place = Readonly<{
  what: 'component' | 'section' | 'page';
  steps: Steps;
  node: Json;
  parents: readonly Parent[];
}>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads own members only; undefined where a step leads nowhere. */
export const valueAt = (root: unknown, steps: Steps): unknown =>
  steps.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return typeof step === 'number' ? (value as readonly unknown[])[step] : undefined;
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }, root);

/**
 * The root with another value at the steps; all else is the same. Undefined takes the member out, and with it each
 * object above it that is then empty, down to the first `kept` steps.
 */
export const withValueAt = <Root>(root: Root, steps: Steps, value: unknown, kept = steps.length): Root =>
  replaced(root, steps, value, kept) as Root;

const replaced = (node: unknown, steps: Steps, value: unknown, kept: number): unknown => {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items: readonly unknown[] = Array.isArray(node) ? node : [];
    const next = replaced(items[step], rest, value, kept - 1);
    return next === undefined ? items.filter((_, at) => at !== step) : items.with(step, next);
  }
  const members = isObject(node) ? node : {};
  const next = replaced(Object.hasOwn(members, step) ? members[step] : undefined, rest, value, kept - 1);
  if (next !== undefined) return { ...members, [step]: next };
  const left = Object.fromEntries(Object.entries(members).filter(([name]) => name !== step));
  return kept <= 0 && Object.keys(left).length === 0 ? undefined : left;
};

/** The steps as the faults of the service name them: `schema.sections[0].components[2].props.href`. */
export const writtenSteps = (steps: Steps): string =>
  steps.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('');

const listAt = (node: unknown, name: string): readonly unknown[] => {
  const list = isObject(node) ? node[name] : undefined;
  return Array.isArray(list) ? list : [];
};

/** Deeper components are refused by the service. */
const DEPTH_MAX = 20;

function* placesIn(list: readonly unknown[], steps: Steps, parents: readonly Parent[]): Generator<Place> {
  if (parents.length > DEPTH_MAX) return;
  for (const [at, node] of list.entries()) {
    if (!isObject(node)) continue;
    const here = [...steps, at];
    yield { what: 'component', steps: here, node, parents };
    for (const branch of ['children', 'elseChildren'] as const) {
      const below = listAt(node, branch);
      for (const place of placesIn(below, [...here, branch], [...parents, { steps: here, node, branch, at: -1 }]))
        yield place.parents.length === parents.length + 1 ? withPlaceInParent(place) : place;
    }
  }
}

/** The nearest parent of a place knows which of its children it is. */
const withPlaceInParent = (place: Place): Place => {
  const at = place.steps.at(-1);
  const nearest = place.parents.at(-1);
  if (nearest === undefined || typeof at !== 'number') return place;
  return { ...place, parents: [...place.parents.slice(0, -1), { ...nearest, at }] };
};

/** All pages, sections and components of a mail, a document or a block, from its beginning to its end. */
export function* placesOf(content: Json): Generator<Place> {
  const { schema } = content;
  yield* placesIn(listAt(schema, 'components'), ['schema', 'components'], []);
  yield* sectionsIn(schema, ['schema']);
  for (const [at, node] of listAt(schema, 'pages').entries()) {
    if (!isObject(node)) continue;
    const steps = ['schema', 'pages', at];
    yield { what: 'page', steps, node, parents: [] };
    yield* sectionsIn(node, steps);
  }
}

function* sectionsIn(holder: unknown, steps: Steps): Generator<Place> {
  for (const [at, node] of listAt(holder, 'sections').entries()) {
    if (!isObject(node)) continue;
    const here = [...steps, 'sections', at];
    yield { what: 'section', steps: here, node, parents: [] };
    yield* placesIn(listAt(node, 'components'), [...here, 'components'], []);
  }
}

/** The name of a page of a document, as the editor selects it. */
const PAGE = 'page:';

/** Undefined where nothing has that id. */
export const placeOf = (content: Json, id: string): Place | undefined => {
  for (const place of placesOf(content))
    if (place.what === 'page' ? id === `${PAGE}${String(place.node['pageId'])}` : place.node['id'] === id) return place;
  return undefined;
};

export const typeOf = (node: Json): string => (typeof node['type'] === 'string' ? node['type'] : '');

export const propsOf = (node: Json): Json => (isObject(node['props']) ? node['props'] : {});
