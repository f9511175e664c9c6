/**
 * Goes over every path of a template in the scope where it stands. A reader says what a path means there: one knows
 * definitions, another values.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { addressesIn, linkRulesOf, type LinkRules } from '../addresses.js';
import { componentSpecs, emailProps, sectionProps } from '../components.js';
import {
  hasPlaceholder,
  parsePathText,
  parseTemplatedText,
  pathsOf,
  withoutComments,
  withQuoteReferences,
  type TemplatedText,
} from '../fill/templated-text.js';
import { type PropKind, seriesSpecs } from '../props.js';
import { linePathsOf, optionalLinesOf, type OptionalHtml } from '../rich-text.js';
import type { Path } from '../scope/path.js';
import { groupingOf, type Grouping } from '../scope/scope.js';
import { once } from '../../../shared/cache.js';

/** A component of a mail or of a document. */
type WalkedComponent = Readonly<{
  type: string;
  content?: string;
  props?: JsonObject;
  children?: readonly WalkedComponent[];
  elseChildren?: readonly WalkedComponent[];
}>;

/** `shown`: its value is written, or shapes what is; `compared`: a condition looks at it; `repeated`: a data source. */
export type PathUse = 'shown' | 'compared' | 'repeated';

/** Role of a text that is no prose: a prop of a kind, a currency, or a value in the style of an element. */
export type Role = JudgedKind | 'currency' | 'declaration';

/** Names by which an item and its place are in reach. */
type LoopNames = Readonly<{ item: string; index: string | undefined }>;

export type PathReader<Scope> = Readonly<{
  /** Called for each text and each component that is looked at, however often: the walk ends where it throws. */
  step?: () => void;
  path: (path: Path, field: string, scope: Scope, use: PathUse) => void;
  /** A text with placeholders that is no prose. */
  judged?: (text: TemplatedText, role: Role, field: string, scope: Scope) => void;
  /** Branches of a conditional that the walk enters. */
  branches: (path: Path, scope: Scope, props: JsonObject) => Readonly<{ then: boolean; otherwise: boolean }>;
  /**
   * The scopes of the items of a data source, made anew on each iteration; a scope may be used until the next is asked
   * for.
   */
  items: (path: Path, scope: Scope, names: LoopNames) => Iterable<Scope>;
  /** A member that is read of each item of a data source. */
  member: (source: Path, member: Path, field: string, scope: Scope) => void;
  /** The scopes of the groups of a table, in which `group` is in reach. */
  groups: (source: Path, scope: Scope, grouping: Grouping) => Iterable<Scope>;
  /** True where all of the paths are blank in all of the scopes, so that `hideWhenEmpty` hides what depends on them. */
  isHidden: (paths: readonly Path[], scopes: Iterable<Scope>) => boolean;
}>;

type Walk<Scope> = Readonly<{
  /** A JSON value whose strings may hold `{{…}}`. */
  texts: (value: Json | undefined, field: string, scope: Scope) => void;
  components: (components: readonly WalkedComponent[], field: string, scope: Scope) => void;
  code: (props: JsonObject, field: string, scope: Scope) => void;
}>;

/** Props that are no texts: they are read by their own rules. */
const NOT_TEXTS: ReadonlySet<string> = new Set([
  'dataSource',
  'condition',
  'operator',
  'itemVariable',
  'indexVariable',
  'categoryField',
  'valueField',
  'groupBy',
]);

type Walker<Scope> = Walk<Scope> &
  Readonly<{
    reader: PathReader<Scope>;
    step: () => void;
    segmentsMax: number;
    pathsIn: (text: string) => readonly Path[];
    deciding: (component: WalkedComponent) => readonly Path[];
    lines: (html: string) => readonly OptionalHtml[];
    compared: (value: Json | undefined, field: string, scope: Scope) => void;
  }>;

type Judged = Readonly<{ text: TemplatedText; role: Role }>;

const judgedKinds = [
  'link',
  'image',
  'color',
  'length',
  'size',
  'box',
  'border',
  'fontFamily',
  'lineHeight',
  'align',
  'verticalAlign',
  'lineStyle',
  'pageBreak',
] as const satisfies readonly PropKind[];
type JudgedKind = (typeof judgedKinds)[number];

const isJudged = (kind: PropKind): kind is JudgedKind => judgedKinds.some((known) => known === kind);

/** Props that are no prose, by their names: where a name has two kinds, they take nearly the same. */
const roles: ReadonlyMap<string, Role> = new Map(
  [...Object.values(componentSpecs).map(({ props }) => props), sectionProps, emailProps, seriesSpecs].flatMap((specs) =>
    Object.entries(specs).flatMap(([name, { kind }]) => (isJudged(kind) ? [[name, kind] as const] : [])),
  ),
);

/** Role of the whole text at a field of a template; undefined: text or HTML. */
const roleAt = (field: string): Role | undefined => {
  const [, place = '', name = ''] = /\.(?:(props|format|pageSettings)\.(?:.*\.)?)(\w+)$/.exec(field) ?? [];
  if (/\.format\.currency$/.test(field)) return 'currency';
  return place === 'format' ? undefined : roles.get(name);
};

const judgedText = (text: string, role: Role, segmentsMax: number): readonly Judged[] =>
  hasPlaceholder(text) ? [{ text: parseTemplatedText(text.trim(), segmentsMax).parts, role }] : [];

const STYLES = /\s(style|bgcolor|color)\s*=\s*(?:"([^"<>]{1,2000})"|'([^'<>]{1,2000})')/gi;
const COLORS: ReadonlySet<string> = new Set(['color', 'background-color', 'background']);

/** The addresses, colours and declarations of HTML that hold placeholders. */
const judgedInHtml = (html: string, segmentsMax: number): readonly Judged[] => {
  if (!html.includes('<')) return [];
  const addresses = addressesIn(html).flatMap(({ tag, address }) =>
    judgedText(address, tag === 'a' ? 'link' : 'image', segmentsMax),
  );
  const styles = [...withQuoteReferences(withoutComments(html)).matchAll(STYLES)].flatMap(
    ([, name = '', double, single]) => {
      const value = double ?? single ?? '';
      if (!hasPlaceholder(value)) return [];
      if (name.toLowerCase() !== 'style') return judgedText(value, 'color', segmentsMax);
      return value.split(';').flatMap((declaration) => {
        const [property = '', ...rest] = declaration.split(':');
        const role = COLORS.has(property.trim().toLowerCase()) ? 'color' : 'declaration';
        return judgedText(rest.join(':').replace(/\s*!\s*important\s*$/i, ''), role, segmentsMax);
      });
    },
  );
  return [...addresses, ...styles];
};

/** The parts of a template that hold paths. */
export type WalkedTemplate = Readonly<{
  output: 'email' | 'document';
  /** Texts outside the sections, by their fields. */
  texts: readonly (readonly [field: string, value: Json | undefined])[];
  /** Texts in the margins of pages, where page numbers are known. */
  margins: readonly (readonly [field: string, value: Json | undefined])[];
  /** The props of codes in the margins. A code is drawn before there are pages. */
  codes: readonly (readonly [field: string, props: JsonObject])[];
  sections: readonly Readonly<{
    field: string;
    props: JsonObject | undefined;
    components: readonly WalkedComponent[];
  }>[];
  /** The addresses that an email template allows. */
  links?: LinkRules;
}>;

/**
 * In: a reader, and how many segments a path may have. Out: the walk over a checked template; each text is taken apart
 * once.
 */
export const walkOf = <Scope>(reader: PathReader<Scope>, segmentsMax: number): Walk<Scope> => {
  const { step = () => undefined } = reader;
  const pathsIn = once((text: string) => pathsInTexts(text, segmentsMax));
  const roleOf = once(roleAt);
  const inHtml = once((html: string) => judgedInHtml(html, segmentsMax));
  const judgedOf = (text: string, field: string): readonly Judged[] => {
    const role = roleOf(field);
    return role === undefined ? inHtml(text) : judgedText(text, role, segmentsMax);
  };
  const texts = (value: Json | undefined, field: string, scope: Scope, use: PathUse): void => {
    if (typeof value === 'string') {
      step();
      for (const path of pathsIn(value)) reader.path(path, field, scope, use);
      if (use === 'shown' && reader.judged !== undefined && hasPlaceholder(value))
        for (const { text, role } of judgedOf(value, field)) reader.judged(text, role, field, scope);
    } else if (Array.isArray(value)) {
      for (const [at, item] of (value as readonly Json[]).entries()) texts(item, `${field}[${at}]`, scope, use);
    } else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value))
        if (!NOT_TEXTS.has(name)) texts(member, `${field}.${name}`, scope, use);
    }
  };
  const walker: Walker<Scope> = {
    reader,
    step,
    segmentsMax,
    pathsIn,
    deciding: once((component) => decidingPaths(component, segmentsMax)),
    lines: once((html) => optionalLinesOf(html, segmentsMax)),
    texts: (value, field, scope) => texts(value, field, scope, 'shown'),
    compared: (value, field, scope) => texts(value, field, scope, 'compared'),
    components: (components, field, scope) => {
      for (const [at, one] of components.entries()) walkComponent(one, `${field}[${at}]`, scope, walker);
    },
    code: (props, field, scope) => {
      if (!isHiddenIn({ type: 'qr-code', props }, scope, walker)) walker.texts(props, field, scope);
    },
  };
  return walker;
};

/** Walks over all parts; `margin` is the scope in which page numbers are known too. */
export const walkTemplate = <Scope>(
  { texts, margins, codes, sections }: WalkedTemplate,
  walk: Walk<Scope>,
  { root, margin }: Readonly<{ root: Scope; margin: Scope }>,
): void => {
  for (const [field, value] of texts) walk.texts(value, field, root);
  for (const [field, value] of margins) walk.texts(value, field, margin);
  for (const [field, props] of codes) walk.code(props, field, root);
  for (const { field, props, components } of sections) {
    walk.texts(props, `${field}.props`, root);
    walk.components(components, `${field}.components`, root);
  }
};

const isHiddenIn = <Scope>(one: WalkedComponent, scope: Scope, { reader, deciding }: Walker<Scope>): boolean => {
  const hides = one.props?.['hideWhenEmpty'];
  return hides !== undefined && hides !== false && reader.isHidden(deciding(one), [scope]);
};

const walkComponent = <Scope>(one: WalkedComponent, field: string, scope: Scope, walker: Walker<Scope>): void => {
  walker.step();
  if (isHiddenIn(one, scope, walker)) return;
  switch (one.type) {
    case 'conditional':
      return walkConditional(one, field, scope, walker);
    case 'chart':
      return walkChart(one, field, scope, walker);
    case 'table':
      return walkTable(one, field, scope, walker);
    case 'loop':
    case 'list':
      return walkRepeated(one, [], field, scope, walker);
    case 'timeline':
      return walkRepeated(one, ['title', 'description', 'date', 'status'], field, scope, walker);
    default:
      if (one.props?.['hideWhenEmpty'] === 'lines')
        walkLines(walker.lines(one.content ?? ''), `${field}.content`, scope, walker);
      else walker.texts(one.content, `${field}.content`, scope);
      walker.texts(one.props, `${field}.props`, scope);
      return walker.components(one.children ?? [], `${field}.children`, scope);
  }
};

/** Walks the lines of a text with `hideWhenEmpty: "lines"` that are not left out. */
const walkLines = <Scope>(
  parts: readonly OptionalHtml[],
  field: string,
  scope: Scope,
  { reader, texts }: Walker<Scope>,
): void => {
  const walkPart = (part: OptionalHtml): void => {
    if (typeof part === 'string') texts(part, field, scope);
    else if (!part.when.some((group) => reader.isHidden(group, [scope])))
      [part.open, ...part.children, part.close].forEach(walkPart);
  };
  parts.forEach(walkPart);
};

const pathOf = <Scope>(value: Json | undefined, { segmentsMax }: Walker<Scope>): Path | undefined => {
  if (typeof value !== 'string') return undefined;
  const parsed = parsePathText(value, segmentsMax);
  return parsed.ok ? parsed.path : undefined;
};

/** The scopes of the items; none where there is no data source. */
const itemsOf = <Scope>(props: JsonObject, field: string, scope: Scope, walker: Walker<Scope>): Iterable<Scope> => {
  const source = pathOf(props['dataSource'], walker);
  if (source === undefined) return [];
  walker.reader.path(source, `${field}.props.dataSource`, scope, 'repeated');
  const [item = 'item', index] = [nameOf(props['itemVariable']), nameOf(props['indexVariable'])];
  return walker.reader.items(source, scope, { item, index });
};

const walkConditional = <Scope>(one: WalkedComponent, field: string, scope: Scope, walker: Walker<Scope>): void => {
  const { props = {}, children = [], elseChildren = [] } = one;
  const path = pathOf(props['condition'], walker);
  walker.compared(props['value'], `${field}.props.value`, scope);
  if (path === undefined) return;
  walker.reader.path(path, `${field}.props.condition`, scope, 'compared');
  const { then, otherwise } = walker.reader.branches(path, scope, props);
  if (then) walker.components(children, `${field}.children`, scope);
  if (otherwise) walker.components(elseChildren, `${field}.elseChildren`, scope);
};

const walkChart = <Scope>(
  { props = {} }: WalkedComponent,
  field: string,
  scope: Scope,
  walker: Walker<Scope>,
): void => {
  walker.texts(props, `${field}.props`, scope);
  const source = pathOf(props['dataSource'], walker);
  if (source === undefined) return;
  walker.reader.path(source, `${field}.props.dataSource`, scope, 'repeated');
  const member = (value: Json | undefined, at: string): void => {
    const path = pathOf(value, walker);
    if (path !== undefined) walker.reader.member(source, path, `${field}.props.${at}`, scope);
  };
  member(props['categoryField'], 'categoryField');
  const series = Array.isArray(props['series']) ? (props['series'] as readonly Json[]) : [];
  series.forEach((one, at) => member(isJsonObject(one) ? one['valueField'] : undefined, `series[${at}].valueField`));
};

const walkTable = <Scope>(
  { props = {} }: WalkedComponent,
  field: string,
  scope: Scope,
  walker: Walker<Scope>,
): void => {
  const { columns, ...rest } = props;
  walker.texts(rest, `${field}.props`, scope);
  const given = (Array.isArray(columns) ? (columns as readonly Json[]) : []).map((column) =>
    isJsonObject(column) ? column : {},
  );
  const scopes = props['dataSource'] === undefined ? [scope] : itemsOf(props, field, scope, walker);
  const shown = [...given.entries()].filter(
    ([, { content, hideWhenEmpty }]) =>
      hideWhenEmpty !== true ||
      !walker.reader.isHidden(typeof content === 'string' ? walker.pathsIn(content) : [], scopes),
  );
  for (const [at, column] of shown)
    walker.texts(
      without(column, ['content', 'format', 'groupHeader', 'groupFooter']),
      `${field}.props.columns[${at}]`,
      scope,
    );
  for (const inside of scopes)
    for (const [at, { content, format }] of shown) {
      walker.texts(content, `${field}.props.columns[${at}].content`, inside);
      if (format !== undefined) walker.texts(format, `${field}.props.columns[${at}].format`, inside);
    }
  const grouping = groupingOf(props, walker.segmentsMax);
  const source = grouping === undefined ? undefined : pathOf(props['dataSource'], walker);
  if (grouping === undefined || source === undefined) return;
  walker.reader.member(source, grouping.by, `${field}.props.groupBy`, scope);
  for (const inside of walker.reader.groups(source, scope, grouping))
    for (const [at, column] of shown)
      for (const name of ['groupHeader', 'groupFooter'])
        walker.texts(column[name], `${field}.props.columns[${at}].${name}`, inside);
};

const without = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** `inner` are the props that are written for each item. */
const walkRepeated = <Scope>(
  { content, props = {}, children = [] }: WalkedComponent,
  inner: readonly string[],
  field: string,
  scope: Scope,
  walker: Walker<Scope>,
): void => {
  if (props['dataSource'] === undefined) {
    if (props['hideWhenEmpty'] === 'lines') walkLines(walker.lines(content ?? ''), `${field}.content`, scope, walker);
    else walker.texts(content, `${field}.content`, scope);
    return walker.texts(props, `${field}.props`, scope);
  }
  walker.texts(without(props, inner), `${field}.props`, scope);
  for (const inside of itemsOf(props, field, scope, walker)) {
    walker.texts(content, `${field}.content`, inside);
    for (const name of inner) walker.texts(props[name], `${field}.props.${name}`, inside);
    walker.components(children, `${field}.children`, inside);
  }
};

const nameOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

type Sections = readonly Readonly<{ props?: JsonObject; components: readonly WalkedComponent[] }>[];

const sectionsAt = (sections: Sections, field: string): WalkedTemplate['sections'] =>
  sections.map(({ props, components }, at) => ({ field: `${field}[${at}]`, props, components }));

/** The parts of an email template. */
export const partsOfEmail = ({
  subject,
  schema,
}: Readonly<{ subject: string; schema: Readonly<{ sections: Sections; props?: JsonObject }> }>): WalkedTemplate => ({
  output: 'email',
  texts: [
    ['subject', subject],
    ['schema.props', schema.props],
  ],
  margins: [],
  codes: [],
  sections: sectionsAt(schema.sections, 'schema.sections'),
  links: linkRulesOf(schema.props),
});

type WalkedPage = Readonly<{ pageName: string; pageSettings?: Readonly<Record<string, unknown>>; sections: Sections }>;

/** Settings of a page whose texts may hold page numbers. */
const MARGINS: ReadonlySet<string> = new Set(['header', 'footer', 'firstPageHeader', 'firstPageFooter']);

/** The parts of an attachment template. */
export const partsOfDocument = ({
  schema,
}: Readonly<{ schema: Readonly<{ pages: readonly WalkedPage[] }> }>): WalkedTemplate => {
  const settings = schema.pages.flatMap(({ pageSettings = {} }, at) =>
    Object.entries(pageSettings).map(
      ([name, value]) => [name, `schema.pages[${at}].pageSettings.${name}`, value as Json] as const,
    ),
  );
  const margins = settings.flatMap(([name, field, value]) =>
    MARGINS.has(name) && isJsonObject(value) ? [[field, value] as const] : [],
  );
  return {
    output: 'document',
    texts: [
      ...schema.pages.map(({ pageName }, at) => [`schema.pages[${at}].pageName`, pageName] as const),
      ...settings.filter(([name]) => !MARGINS.has(name)).map(([, field, value]) => [field, value] as const),
    ],
    margins: margins.map(([field, { code: _, ...margin }]) => [field, margin] as const),
    codes: margins.flatMap(([field, { code }]) => (isJsonObject(code) ? [[`${field}.code`, code] as const] : [])),
    sections: schema.pages.flatMap(({ sections }, at) => sectionsAt(sections, `schema.pages[${at}].sections`)),
  };
};

/** Every path in the strings of a JSON value. */
export const pathsInTexts = (value: Json | undefined, segmentsMax: number): readonly Path[] => {
  if (typeof value === 'string')
    return hasPlaceholder(value) ? pathsOf(parseTemplatedText(value, segmentsMax).parts) : [];
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((item) => pathsInTexts(item, segmentsMax));
  return isJsonObject(value) ? Object.values(value).flatMap((member) => pathsInTexts(member, segmentsMax)) : [];
};

/**
 * In: a checked component. Out: the paths, in the scope around it, that decide whether a component with `hideWhenEmpty`
 * is shown: its data source, else the paths of its text, address or children. It is hidden where all of them are blank.
 * A component that shows no variable has no such paths and is never hidden.
 */
export const decidingPaths = (component: WalkedComponent, segmentsMax: number): readonly Path[] => {
  const { type, content, props = {}, children = [], elseChildren = [] } = component;
  const within = (value: Json | undefined): readonly Path[] => pathsInTexts(value, segmentsMax);
  if (typeof props['dataSource'] === 'string') {
    const parsed = parsePathText(props['dataSource'], segmentsMax);
    return parsed.ok ? [parsed.path] : [];
  }
  switch (type) {
    case 'image':
      return within(props['src']);
    case 'qr-code':
      return [...within(props['value']), ...within(props['iban'])];
    case 'button': {
      const address = within(props['href']);
      return address.length > 0 ? address : within(content);
    }
    case 'table':
      return within(props['rows']);
    case 'timeline':
      return within(props['items']);
    case 'divider':
    case 'spacer':
      return [];
    default:
      if (props['hideWhenEmpty'] === 'lines') return linePathsOf(content ?? '', segmentsMax);
      return [
        ...within(content),
        ...[...children, ...elseChildren].flatMap((child) => decidingPaths(child, segmentsMax)),
      ];
  }
};
