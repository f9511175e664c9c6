/** New components, sections and pages, each complete enough for a save, and the words to find them by. */
import type { ComponentType } from '../service.js';
import {
  isObject,
  trailOf,
  typeWords,
  typesOf,
  type Content,
  type Made,
  type Outline,
  type TreeNode,
} from './model.js';

/** `words`: other names for it. */
export type PaletteEntry<Id extends string = string> = Readonly<{ id: Id; title: string; hint: string; words: string }>;

/** The types that are made without further choice. */
export type PlainType = Exclude<ComponentType, 'include'>;

const hints: Readonly<Record<ComponentType, readonly [hint: string, words: string]>> = {
  'rich-text': ['Headings, paragraphs, lists and links', 'text heading title paragraph writing words'],
  button: ['A link that looks like a button', 'button link call action cta'],
  image: ['A picture from the gallery or the web', 'image picture photo logo'],
  table: ['Rows and columns, written or one row for each item', 'table rows grid prices invoice'],
  container: ['Several components with a background or a frame', 'box container group card panel frame'],
  columns: ['Components side by side', 'columns side by layout'],
  divider: ['A line between two parts', 'line divider rule separator hr'],
  spacer: ['Empty room', 'space spacer gap margin'],
  conditional: ['Shows one thing or another, by a value', 'condition if else when show hide conditional'],
  loop: ['Shows its components once for each item', 'loop repeat each for items'],
  list: ['Lines with bullets or numbers', 'list bullets numbers items'],
  'qr-code': ['A QR code or a bar code', 'qr code barcode payment'],
  'html-fragment': ['HTML that you write yourself', 'html code source raw'],
  chart: ['Bars, lines or shares of numbers', 'chart graph bar line pie figures'],
  timeline: ['Steps one below the other', 'timeline steps status history progress'],
  include: ['A block that several templates share', 'block include footer header shared'],
};

/** The components that a template can have, but for blocks, which are chosen by their names. */
export const paletteOf = (outline: Outline): readonly PaletteEntry<PlainType>[] =>
  typesOf(outline)
    .filter((type): type is PlainType => type !== 'include')
    .map((type) => ({ id: type, title: typeWords[type], hint: hints[type][0], words: hints[type][1] }));

/** In: what a person types. Out: whether the entry is meant: each word is the beginning of one of its words. */
export const isMeant = ({ title, words }: PaletteEntry, typed: string): boolean => {
  const known = `${title} ${words}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .every((word) => known.some((name) => name.startsWith(word)));
};

// Variables of the template.

const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

const NAME = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/** Members of objects are looked at so deep. */
const DEPTH_MAX = 3;

type Known = Readonly<{ path: string; definition: Content }>;

/** The variables with the members of objects, each by its path. */
const knownIn = (content: Content): readonly Known[] => {
  const below = (path: string, definition: Content, depth: number): readonly Known[] => {
    const properties = own(own(definition, 'schema'), 'properties') ?? own(definition, 'properties');
    const members = depth < DEPTH_MAX && isObject(properties) ? Object.entries(properties) : [];
    return [
      { path, definition },
      ...members.flatMap(([name, member]) =>
        NAME.test(name) && isObject(member) ? below(`${path}.${name}`, member, depth + 1) : [],
      ),
    ];
  };
  const variables = content['variables'];
  return (Array.isArray(variables) ? (variables as readonly unknown[]) : []).flatMap((definition) => {
    const name = own(definition, 'name');
    return isObject(definition) && typeof name === 'string' && NAME.test(name) ? below(name, definition, 0) : [];
  });
};

const namesIn = (content: Content): ReadonlySet<string> =>
  new Set(knownIn(content).map(({ path }) => path.split('.', 1)[0]!));

const freshName = (taken: ReadonlySet<string>, base: string): string => {
  let name = base;
  for (let count = 2; taken.has(name); count += 1) name = `${base}${count}`;
  return name;
};

/** Names that loops around a place bring. */
const loopNames = (parent: TreeNode | undefined): readonly string[] =>
  (parent === undefined ? [] : trailOf(parent)).flatMap(({ type, value }) =>
    type === 'loop'
      ? [own(own(value, 'props'), 'itemVariable'), own(own(value, 'props'), 'indexVariable')].filter(
          (name): name is string => typeof name === 'string',
        )
      : [],
  );

/** A condition about a variable of the template: one that is true or false where there is one. */
const conditionOf = (content: Content): Content => {
  const known = knownIn(content);
  const flag = known.find(({ definition }) => definition['type'] === 'boolean');
  if (flag !== undefined) return { condition: `{{${flag.path}}}`, operator: '==', value: true };
  const path = known.find(({ definition }) => definition['type'] !== 'object')?.path ?? '__COMPANY_NAME__';
  return { condition: `{{${path}}}`, operator: 'exists' };
};

type Source = Readonly<{ path: string; members: Content; variables: readonly Content[] }>;

/** An array of the template; where there is none, a new variable with two items. */
const sourceOf = (content: Content): Source => {
  const array = knownIn(content).find(({ definition }) => definition['type'] === 'array');
  if (array === undefined) {
    const name = freshName(namesIn(content), 'items');
    const items = { name: { type: 'string' }, amount: { type: 'number' } };
    const definition = {
      name,
      type: 'array',
      itemType: 'object',
      schema: { itemSchema: { properties: items } },
      defaultValue: [
        { name: 'First', amount: 1 },
        { name: 'Second', amount: 2 },
      ],
    };
    return { path: name, members: items, variables: [definition] };
  }
  const { definition } = array;
  const item = own(own(definition, 'schema'), 'itemSchema') ?? own(definition, 'itemSchema');
  const members = own(item, 'properties');
  return { path: array.path, members: isObject(members) ? members : {}, variables: [] };
};

const memberOf = (members: Content, type: string): string | undefined =>
  Object.entries(members).find(([name, member]) => NAME.test(name) && own(member, 'type') === type)?.[0];

const text = (content: string): Content => ({ id: 'text', type: 'rich-text', content });

/** A grey picture, which stands for the one that a person chooses. */
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGO4eBEAAnYBoygexegAAAAASUVORK5CYII=';

const made = (
  type: ComponentType,
  more: Readonly<Record<string, unknown>> = {},
  variables: readonly Content[] = [],
): Made => ({
  kind: 'component',
  value: { id: '', type, ...more },
  ...(variables.length === 0 ? {} : { variables }),
});

/** A new component for the children of a node: it brings what a save asks for. */
export const makeComponent = (type: PlainType, outline: Outline, parent?: TreeNode): Made => {
  const { content } = outline;
  switch (type) {
    case 'rich-text':
      return made(type, { content: '<p>Text</p>' });
    case 'button':
      return made(type, { content: 'Button', props: { href: 'https://example.com/' } });
    case 'image':
      return made(type, { props: { src: PICTURE, alt: '', width: 240, height: 120 } });
    case 'table':
      return made(type, {
        props: {
          columns: [{ header: 'Item' }, { header: 'Price', align: 'end' }],
          rows: [
            ['First', '10'],
            ['Second', '20'],
          ],
        },
      });
    case 'container':
      return made(type, {
        props: { padding: 16, border: '1px solid #d1d5db', borderRadius: 8 },
        children: [text('<p>Text</p>')],
      });
    case 'columns': {
      const column = (words: string): Content => ({
        id: 'column',
        type: 'container',
        children: [text(`<p>${words}</p>`)],
      });
      return made(type, { children: [column('Left'), column('Right')] });
    }
    case 'divider':
    case 'spacer':
      return made(type);
    case 'conditional':
      return made(type, { props: conditionOf(content), children: [text('<p>Text</p>')] });
    case 'loop': {
      const { path, members, variables } = sourceOf(content);
      const item = freshName(new Set([...namesIn(content), ...loopNames(parent)]), 'item');
      const member = memberOf(members, 'string');
      const words = member === undefined ? 'Text for each item' : `{{${item}.${member}}}`;
      return made(
        type,
        { props: { dataSource: `{{${path}}}`, itemVariable: item }, children: [text(`<p>${words}</p>`)] },
        variables,
      );
    }
    case 'list':
      return made(type, { content: '<ul><li>First</li><li>Second</li></ul>' });
    case 'qr-code':
      return made(type, { props: { value: 'https://example.com/' } });
    case 'html-fragment':
      return made(type, { content: '<p>HTML</p>' });
    case 'chart': {
      const found = sourceOf(content);
      const fits = memberOf(found.members, 'string') !== undefined && memberOf(found.members, 'number') !== undefined;
      const { path, members, variables } = fits ? found : sourceOf({ variables: namesOnly(content) });
      return made(
        type,
        {
          props: {
            chartType: 'bar',
            dataSource: `{{${path}}}`,
            categoryField: memberOf(members, 'string'),
            series: [{ valueField: memberOf(members, 'number') }],
          },
        },
        variables,
      );
    }
    case 'timeline':
      return made(type, { props: { items: [{ title: 'First step', status: 'done' }, { title: 'Second step' }] } });
  }
};

/** Definitions of which nothing but their names is known, so that a new one gets another name. */
const namesOnly = (content: Content): readonly Content[] => [...namesIn(content)].map((name) => ({ name }));

/** In: the slug of a published block. */
export const makeInclude = (block: string): Made => ({ ...made('include', { props: { block } }) });

/** A section with a text, of a type that the template does not have yet, else `body`. */
export const makeSection = (outline: Outline, parent?: TreeNode): Made => {
  const there = new Set((parent === undefined ? outline.roots : parent.children).map(({ type }) => type));
  const type = ['header', 'main', 'footer'].find((one) => !there.has(one)) ?? 'body';
  return { kind: 'section', value: { id: type, type, components: [text('<p>Text</p>')] } };
};

/** A page of a document with one section. */
export const makePage = ({ roots }: Outline): Made => ({
  kind: 'page',
  value: {
    pageId: 'page',
    pageName: `Page ${roots.length + 1}`,
    sections: [{ id: 'main', type: 'main', components: [text('<p>Text</p>')] }],
  },
});
