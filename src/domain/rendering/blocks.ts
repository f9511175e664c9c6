/**
 * Puts blocks into the templates that include them: each include gets the components of its block as children, and a
 * layout the sections of its template. Renderers know an include as a scope in which only the variables of the block
 * are in reach.
 */
import { DomainError } from '../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../core/json.js';
import type { Limits } from '../core/limits.js';
import { openBudget, tooManyComponents } from './budget.js';
import { measureTemplate } from './check/components.js';
import { visitTexts } from './check/hints.js';
import { TABLE_COLUMN } from './column-rules.js';
import {
  DEFAULT_LOCALE,
  type AttachmentTemplateContent,
  type BlockComponent,
  type BlockContent,
  type BlockSchema,
  type Component,
  type DocumentComponent,
  type EmailTemplateContent,
  type Included,
  type LayoutSection,
} from './content.js';
import { spendHtml } from './html.js';
import { blockInLanguage } from './languages.js';
import { fieldInBlock } from './paths/walk.js';

/** The block that an include or a layout names; `latest` is the newest published version at the time of sending. */
export type BlockReference = Readonly<{ slug: string; version: number | 'latest' }>;

/** Names a reference, to look it up. */
export const referenceKey = ({ slug, version }: BlockReference): string => `${slug}@${version}`;

/** A published version of a block. */
export type FoundBlock = Readonly<{ version: number; content: BlockContent }>;
export type FindBlock = (reference: BlockReference) => FoundBlock | undefined;

/** Blocks may include blocks so many levels deep. */
export const BLOCK_DEPTH_MAX = 4;

/** Reads the props of an include or of a layout that were checked. */
export const referenceOf = (props: Json | undefined): BlockReference | undefined => {
  if (!isJsonObject(props)) return undefined;
  const { block, version } = props;
  if (typeof block !== 'string') return undefined;
  return { slug: block, version: typeof version === 'number' ? version : 'latest' };
};

/** In: the schema of a checked template or block. Out: each block that it names itself, once, in order. */
export const referencesIn = (schema: unknown): readonly BlockReference[] => {
  const found = new Map<string, BlockReference>();
  const add = (reference: BlockReference | undefined): void => {
    if (reference !== undefined) found.set(referenceKey(reference), reference);
  };
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return (value as readonly unknown[]).forEach(look);
    if (!isJsonObject(value as Json)) return;
    const node = value as JsonObject;
    if (node['type'] === 'include') add(referenceOf(node['props']));
    for (const name of HOLDERS) if (node[name] !== undefined) look(node[name]);
  };
  if (isJsonObject(schema as Json)) add(referenceOf((schema as JsonObject)['layout']));
  look(schema);
  return [...found.values()];
};

const HOLDERS = ['pages', 'sections', 'components', 'children', 'elseChildren'] as const;

/**
 * `fault` gets what is wrong with the blocks, in place of an error. `slug`: of the block itself, where what is expanded
 * is one.
 */
export type ExpandOptions = Readonly<{
  find: FindBlock;
  limits: Limits;
  fault?: (field: string, message: string) => void;
  /** Called for each block that is put in, with the place of its include. */
  look?: (block: BlockContent, at: Readonly<{ field: string; props: JsonObject; slug: string }>) => void;
  slug?: string | undefined;
}>;

type Tools = ExpandOptions & Readonly<{ locale: string; stack: readonly string[]; counted: { components: number } }>;

/**
 * In: a checked email template in the language of its mail. Out: the template with its blocks in that language, the
 * very same where it names none. Throws BLOCK_NOT_FOUND, TEMPLATE_INVALID for blocks that cannot stand there, and the
 * limits of templates, which count with the blocks.
 */
export const expandEmail = (content: EmailTemplateContent, options: ExpandOptions): EmailTemplateContent => {
  if (referencesIn(content.schema).length === 0) return content;
  const tools = toolsOf(options, content.locale);
  const { layout, ...schema } = content.schema;
  const around = layout === undefined ? undefined : layoutOf(layout, 'schema.layout', tools);
  const sections = sectionsOf(schema.sections, 'schema.sections', tools);
  const props = { ...around?.props, ...schema.props };
  const expanded: EmailTemplateContent = {
    ...content,
    schema: {
      sections: around === undefined ? sections : around.sections(sections, ''),
      ...(Object.keys(props).length > 0 && { props }),
    },
  };
  measure(expanded, expanded.schema.sections, options.limits);
  return expanded;
};

/** `expandEmail` for attachment templates: a layout stands around the sections of each page. */
export const expandDocument = (
  content: AttachmentTemplateContent,
  options: ExpandOptions,
): AttachmentTemplateContent => {
  if (referencesIn(content.schema).length === 0) return content;
  const tools = toolsOf(options, content.locale);
  const { layout, ...schema } = content.schema;
  const pages = schema.pages.map((page, at) => {
    const around = layout === undefined ? undefined : layoutOf(layout, 'schema.layout', tools);
    const sections = sectionsOf(page.sections, `schema.pages[${at}].sections`, tools);
    return { ...page, sections: around === undefined ? sections : around.sections(sections, `${page.pageId}/`) };
  });
  const expanded: AttachmentTemplateContent = { ...content, schema: { ...schema, pages } };
  measure(
    expanded,
    pages.flatMap(({ sections }) => sections),
    options.limits,
  );
  return expanded;
};

/** Looks at the blocks that a block includes, as `expandEmail` does. */
export const lookIntoBlock = ({ schema, locale }: BlockContent, options: ExpandOptions): void => {
  const tools = toolsOf(options, locale);
  const sections = piecesOf(schema).map(({ place, components }) => ({
    components: componentsOf(components, `schema.${place}`, tools, ''),
  }));
  measure({ schema: { sections } }, sections, options.limits);
};

const toolsOf = (options: ExpandOptions, locale = DEFAULT_LOCALE): Tools => ({
  ...options,
  locale,
  stack: options.slug === undefined ? [] : [options.slug],
  counted: { components: 0 },
});

type SectionLike<C> = Readonly<{ id: string; components: readonly C[] }>;

const sectionsOf = <C extends Component | DocumentComponent, S extends SectionLike<C>>(
  sections: readonly S[],
  field: string,
  tools: Tools,
): readonly S[] =>
  sections.map((section, at) => ({
    ...section,
    components: componentsOf(section.components, `${field}[${at}].components`, tools, ''),
  }));

/** Blocks were checked for the output when they were saved, so it can show each component that comes of one. */
const componentsOf = <C extends BlockComponent>(
  components: readonly C[],
  field: string,
  tools: Tools,
  prefix: string,
): readonly C[] => {
  const { counted, limits } = tools;
  counted.components += components.length;
  if (counted.components > limits.componentsSavedMax)
    throw tooManyComponents(counted.components, limits.componentsSavedMax);
  return components.map((component, at) => {
    const place = `${field}[${at}]`;
    const id = `${prefix}${component.id}`;
    if (component.type === 'include') return included({ ...component, id }, place, tools);
    const { children, elseChildren } = component;
    return {
      ...component,
      id,
      ...(children && { children: componentsOf(children, `${place}.children`, tools, prefix) }),
      ...(elseChildren && { elseChildren: componentsOf(elseChildren, `${place}.elseChildren`, tools, prefix) }),
    };
  });
};

const included = <C extends BlockComponent>(component: C, field: string, tools: Tools): C => {
  const { props = {}, id } = component;
  const known = blockAt(props, `${field}.props`, tools);
  if (known === undefined) return component;
  const { slug, content, version, inside } = known;
  if (!('components' in content.schema)) {
    refuse(tools, `${field}.props.block`, `names the layout "${slug}": a layout is named in schema.layout`);
    return component;
  }
  return putIn(
    component,
    { slug, version, place: 'components', variables: content.variables },
    {
      components: content.schema.components,
      prefix: `${id}/`,
      field,
      tools: inside,
    },
  );
};

type Piece = Readonly<{ components: readonly BlockComponent[]; prefix: string; field: string; tools: Tools }>;

const putIn = <C extends BlockComponent>(
  include: C,
  block: Included,
  { components, prefix, field, tools }: Piece,
): C => ({
  ...include,
  included: block,
  children: componentsOf(withTables(components, prefix), fieldInBlock(field, block), tools, prefix),
});

type Layout = Readonly<{
  props: JsonObject | undefined;
  /** The sections of a template with those of the layout around them; `prefix` keeps the ids of pages apart. */
  sections: <S>(own: readonly S[], prefix: string) => readonly S[];
}>;

const layoutOf = (props: JsonObject, field: string, tools: Tools): Layout | undefined => {
  const known = blockAt(props, field, tools);
  if (known === undefined) return undefined;
  const { slug, content, version, inside } = known;
  const { schema, variables } = content;
  if ('components' in schema) {
    refuse(tools, `${field}.block`, `names "${slug}", which has no slot: include it as a component`);
    return undefined;
  }
  const around = (section: LayoutSection, at: number, prefix: string): unknown => {
    if (section.type === 'slot') throw new Error('the slot of a layout has no components');
    const id = `${prefix}layout/${section.id}`;
    const place = `sections[${at}].components`;
    const include: BlockComponent = { id: `${id}/include`, type: 'include', props };
    const piece = { components: section.components, prefix: `${id}/`, field, tools: inside };
    return { ...section, id, components: [putIn(include, { slug, version, place, variables }, piece)] };
  };
  return {
    props: schema.props,
    // Sections of a layout are those of the output that the layout was checked for.
    sections: <S>(own: readonly S[], prefix: string): readonly S[] =>
      schema.sections.flatMap((section, at) => (section.type === 'slot' ? own : [around(section, at, prefix) as S])),
  };
};

type Known = Readonly<{ slug: string; content: BlockContent; version: number; inside: Tools }>;

/** The block that an include names, in the language of the mail. Undefined: it is refused. */
const blockAt = (props: JsonObject, field: string, tools: Tools): Known | undefined => {
  const { find, look, locale, stack } = tools;
  const reference = referenceOf(props);
  if (reference === undefined) throw new Error('an include that was checked names no block');
  const { slug, version } = reference;
  if (stack.includes(slug)) {
    const circle = [...stack.slice(stack.indexOf(slug)), slug].join(' → ');
    return refuse(tools, `${field}.block`, `makes the block "${slug}" include itself: ${circle}`);
  }
  if (stack.length >= BLOCK_DEPTH_MAX)
    return refuse(
      tools,
      `${field}.block`,
      `nests blocks more than ${BLOCK_DEPTH_MAX} deep: ${[...stack, slug].join(' → ')}`,
    );
  const found = find(reference);
  if (found === undefined) {
    const message =
      version === 'latest'
        ? `names "${slug}", and no block of that slug is published; GET /api/blocks lists yours`
        : `names version ${version} of "${slug}", which is not there; GET /api/blocks/:id/versions lists them`;
    if (tools.fault === undefined) throw new DomainError('BLOCK_NOT_FOUND', `${field}.block ${message}.`);
    return refuse(tools, `${field}.${version === 'latest' ? 'block' : 'version'}`, message);
  }
  look?.(found.content, { field, props, slug });
  return {
    slug,
    version: found.version,
    content: blockInLanguage(found.content, locale),
    inside: { ...tools, stack: [...stack, slug] },
  };
};

const refuse = ({ fault }: Tools, field: string, message: string): undefined => {
  if (fault === undefined)
    throw new DomainError('TEMPLATE_INVALID', `${field} ${message}.`, { errors: [{ field, message }] });
  fault(field, message);
  return undefined;
};

const piecesOf = (
  schema: BlockSchema,
): readonly Readonly<{ place: string; components: readonly BlockComponent[] }>[] =>
  'components' in schema
    ? [{ place: 'components', components: schema.components }]
    : schema.sections.flatMap((section, at) =>
        section.type === 'slot' ? [] : [{ place: `sections[${at}].components`, components: section.components }],
      );

/** Formulas name tables by their ids, which get the prefix of the include. */
const withTables = (components: readonly BlockComponent[], prefix: string): readonly BlockComponent[] => {
  const tables = new Set<string>();
  const collect = ({ id, type, children = [], elseChildren = [] }: BlockComponent): void => {
    if (type === 'table') tables.add(id);
    [...children, ...elseChildren].forEach(collect);
  };
  components.forEach(collect);
  if (tables.size === 0) return components;
  const renamed = (value: Json): Json => {
    if (typeof value === 'string')
      return /^\s*=/.test(value)
        ? value.replaceAll(TABLE_COLUMN, (whole, table: string, column: string) =>
            tables.has(table) ? `{${prefix}${table}.${column}}` : whole,
          )
        : value;
    if (Array.isArray(value)) return (value as readonly Json[]).map(renamed);
    return isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, renamed(member ?? null)]))
      : value;
  };
  const rename = (component: BlockComponent): BlockComponent => {
    const { type, props, children, elseChildren } = component;
    return {
      ...component,
      ...(type === 'table' && props && { props: renamed(props) as JsonObject }),
      ...(children && { children: children.map(rename) }),
      ...(elseChildren && { elseChildren: elseChildren.map(rename) }),
    };
  };
  return components.map(rename);
};

/** Throws the codes of a template that is too large or nested too deep, with its blocks. */
const measure = (
  template: Readonly<{ schema: unknown }>,
  sections: readonly Readonly<{ components: readonly unknown[] }>[],
  limits: Limits,
): void => {
  measureTemplate({ ...template, schema: { sections } }, limits);
  const budget = openBudget(limits);
  visitTexts({ schema: sections }, (text) => void spendHtml(text, budget));
};
