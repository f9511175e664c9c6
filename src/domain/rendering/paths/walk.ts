/**
 * Goes over every path of a template in the scope where it stands. A reader says what a path means there: one knows
 * definitions, another values.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { addressesIn, linkRulesOf, type LinkRules } from '../addresses.js';
import { componentSpecs, emailProps, sectionProps } from '../components.js';
import type { BlockContent, Included } from '../content.js';
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
import { writeSteps, type Path } from '../scope/path.js';
import { groupingOf, type Grouping } from '../scope/scope.js';

/** The field of what stands in a block, for messages; `field` is that of its include. */
export const fieldInBlock = (field: string, { slug, place }: Pick<Included, 'slug' | 'place'>): string =>
  `${field} › block "${slug}": schema.${place}`;

/** A component of a mail or of a document. */
type WalkedComponent = Readonly<{
  type: string;
  content?: string;
  props?: JsonObject;
  children?: readonly WalkedComponent[];
  elseChildren?: readonly WalkedComponent[];
  included?: Included;
}>;

/** `shown`: its value is written, or shapes what is; `compared`: a condition looks at it; `repeated`: a data source. */
export type PathUse = 'shown' | 'compared' | 'repeated';

/** Role of a text that is no prose: a prop of a kind, a currency, or a value in the style of an element. */
export type Role = JudgedKind | 'currency' | 'declaration';

/** Names by which an item and its place are in reach. */
type LoopNames = Readonly<{ item: string; index: string | undefined }>;

/** Goes over one part of a template, in the scope where it stands. */
export type Visit<Scope> = (scope: Scope) => void;

/**
 * Each function except `step` is called once for a place of the template. It returns the function that every walk over
 * that place calls.
 */
export type PathReader<Scope> = Readonly<{
  /** Called with the number of texts and components that are looked at next: the walk ends where it throws. */
  step?: (count: number) => void;
  /** Paths of one text, in their order. */
  paths: (paths: readonly Path[], field: string, use: PathUse) => Visit<Scope>;
  /** A text with placeholders that is no prose. */
  judged?: (text: TemplatedText, role: Role, field: string) => Visit<Scope>;
  /** Branches of a conditional that the walk enters. */
  branches: (path: Path, props: JsonObject) => (scope: Scope) => Readonly<{ then: boolean; otherwise: boolean }>;
  /**
   * The scopes of the items of a data source, made anew on each iteration; a scope may be used until the next is asked
   * for.
   */
  items: (path: Path, names: LoopNames) => (scope: Scope) => Iterable<Scope>;
  /** A member that is read of each item of a data source. */
  member: (source: Path, member: Path, field: string) => Visit<Scope>;
  /** The scopes of the groups of a table, in which `group` is in reach. */
  groups: (source: Path, grouping: Grouping) => (scope: Scope) => Iterable<Scope>;
  /** The scope in a block, where only its own variables are in reach; `props` are those of its include. */
  inside: (included: Included, props: JsonObject, field: string) => (scope: Scope) => Scope;
  /** True where all of the paths are blank in all of the scopes, so that `hideWhenEmpty` hides what depends on them. */
  isHidden: (paths: readonly Path[]) => (scopes: Iterable<Scope>) => boolean;
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

type Walker<Scope> = Readonly<{
  reader: PathReader<Scope>;
  step: (count: number) => void;
  segmentsMax: number;
  /** A JSON value whose strings may hold `{{…}}`. */
  texts: (value: Json | undefined, field: string, use?: PathUse) => Visit<Scope>;
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

/** A text with paths; `texts` counts it and the texts without a path before it. */
type Spot<Scope> = Readonly<{ texts: number; visits: readonly Visit<Scope>[] }>;

/** Made at the first visit: what a walk never reaches costs nothing. */
const later = <Scope>(make: () => Visit<Scope>): Visit<Scope> => {
  let made: Visit<Scope> | undefined;
  return (scope) => (made ??= make())(scope);
};

const nothing = (): void => undefined;

const inTurn = <Scope>(all: readonly Visit<Scope>[]): Visit<Scope> => {
  const visits = all.filter((visit) => visit !== nothing);
  if (visits.length <= 1) return visits[0] ?? nothing;
  return (scope) => {
    for (const visit of visits) visit(scope);
  };
};

/**
 * In: the parts of a checked template, a reader, and how many segments a path may have. Out: the walk over all parts;
 * each is taken apart once, however often it is walked over. `margin` is the scope in which page numbers are known too.
 */
export const walkOver = <Scope>(
  { texts, margins, codes, sections }: WalkedTemplate,
  reader: PathReader<Scope>,
  segmentsMax: number,
): ((scopes: Readonly<{ root: Scope; margin: Scope }>) => void) => {
  const walker = walkerOf(reader, segmentsMax);
  const outside = inTurn(texts.map(([field, value]) => walker.texts(value, field)));
  const inMargins = inTurn(margins.map(([field, value]) => walker.texts(value, field)));
  const inCodes = inTurn(codes.map(([field, props]) => walkCode(props, field, walker)));
  const inSections = inTurn(
    sections.flatMap(({ field, props, components }) => [
      walker.texts(props, `${field}.props`),
      walkComponents(components, `${field}.components`, walker),
    ]),
  );
  return ({ root, margin }) => {
    outside(root);
    inMargins(margin);
    inCodes(root);
    inSections(root);
  };
};

const walkerOf = <Scope>(reader: PathReader<Scope>, segmentsMax: number): Walker<Scope> => {
  const { step = () => undefined, judged } = reader;
  const judgedOf = (text: string, field: string): readonly Judged[] => {
    const role = roleAt(field);
    return role === undefined ? judgedInHtml(text, segmentsMax) : judgedText(text, role, segmentsMax);
  };
  const visitsOf = (text: string, field: string, use: PathUse): readonly Visit<Scope>[] => {
    const shown = use === 'shown' && judged !== undefined ? judgedOf(text, field) : [];
    return [
      reader.paths(pathsInTexts(text, segmentsMax), field, use),
      ...shown.flatMap((one) => judged?.(one.text, one.role, field) ?? []),
    ];
  };
  const spotsOf = (value: Json | undefined, field: string, use: PathUse): readonly Spot<Scope>[] => {
    const spots: Spot<Scope>[] = [];
    let count = 0;
    const add = (inner: Json | undefined, at: string): void => {
      if (typeof inner === 'string') {
        count += 1;
        if (!hasPlaceholder(inner)) return;
        spots.push({ texts: count, visits: visitsOf(inner, at, use) });
        count = 0;
      } else if (Array.isArray(inner)) {
        for (const [place, item] of (inner as readonly Json[]).entries()) add(item, `${at}[${place}]`);
      } else if (isJsonObject(inner)) {
        for (const [name, member] of Object.entries(inner)) if (!NOT_TEXTS.has(name)) add(member, `${at}.${name}`);
      }
    };
    add(value, field);
    return count === 0 ? spots : [...spots, { texts: count, visits: [] }];
  };
  return {
    reader,
    step,
    segmentsMax,
    texts: (value, field, use = 'shown') =>
      value === undefined
        ? nothing
        : later(() => {
            const spots = spotsOf(value, field, use);
            return (scope) => {
              for (const { texts, visits } of spots) {
                step(texts);
                for (const visit of visits) visit(scope);
              }
            };
          }),
  };
};

const walkCode = <Scope>(props: JsonObject, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const texts = walker.texts(props, field);
  const isHidden = hidingOf({ type: 'qr-code', props }, walker);
  return (scope) => {
    if (!isHidden(scope)) texts(scope);
  };
};

/** Whether `hideWhenEmpty` hides the component. */
const hidingOf = <Scope>(one: WalkedComponent, { reader, segmentsMax }: Walker<Scope>): ((scope: Scope) => boolean) => {
  const hides = one.props?.['hideWhenEmpty'];
  if (hides === undefined || hides === false) return () => false;
  const isHidden = reader.isHidden(decidingPaths(one, segmentsMax));
  return (scope) => isHidden([scope]);
};

const walkComponents = <Scope>(
  components: readonly WalkedComponent[],
  field: string,
  walker: Walker<Scope>,
): Visit<Scope> => inTurn(components.map((one, at) => later(() => walkComponent(one, `${field}[${at}]`, walker))));

const walkComponent = <Scope>(one: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const isHidden = hidingOf(one, walker);
  const inside = walkInside(one, field, walker);
  return (scope) => {
    walker.step(1);
    if (!isHidden(scope)) inside(scope);
  };
};

const walkInside = <Scope>(one: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  switch (one.type) {
    case 'conditional':
      return walkConditional(one, field, walker);
    case 'include':
      return walkInclude(one, field, walker);
    case 'chart':
      return walkChart(one, field, walker);
    case 'table':
      return walkTable(one, field, walker);
    case 'loop':
    case 'list':
      return walkRepeated(one, [], field, walker);
    case 'timeline':
      return walkRepeated(one, ['title', 'description', 'date', 'status'], field, walker);
    default:
      return inTurn([
        walkContent(one, field, walker),
        walker.texts(one.props, `${field}.props`),
        walkComponents(one.children ?? [], `${field}.children`, walker),
      ]);
  }
};

/** With `hideWhenEmpty: "lines"` only the lines that are not left out. */
const walkContent = <Scope>(
  { content, props }: WalkedComponent,
  field: string,
  walker: Walker<Scope>,
): Visit<Scope> => {
  const at = `${field}.content`;
  if (props?.['hideWhenEmpty'] !== 'lines') return walker.texts(content, at);
  return inTurn(optionalLinesOf(content ?? '', walker.segmentsMax).map((part) => walkLine(part, at, walker)));
};

const walkLine = <Scope>(part: OptionalHtml, field: string, walker: Walker<Scope>): Visit<Scope> => {
  if (typeof part === 'string') return walker.texts(part, field);
  const inside = inTurn([part.open, ...part.children, part.close].map((inner) => walkLine(inner, field, walker)));
  const hides = part.when.map((group) => walker.reader.isHidden(group));
  return (scope) => {
    if (!hides.some((isHidden) => isHidden([scope]))) inside(scope);
  };
};

const pathOf = <Scope>(value: Json | undefined, { segmentsMax }: Walker<Scope>): Path | undefined => {
  if (typeof value !== 'string') return undefined;
  const parsed = parsePathText(value, segmentsMax);
  return parsed.ok ? parsed.path : undefined;
};

/** The scopes of the items; none where there is no data source. */
const itemsOf = <Scope>(
  props: JsonObject,
  field: string,
  walker: Walker<Scope>,
): ((scope: Scope) => Iterable<Scope>) => {
  const source = pathOf(props['dataSource'], walker);
  if (source === undefined) return () => [];
  const [item = 'item', index] = [nameOf(props['itemVariable']), nameOf(props['indexVariable'])];
  const path = walker.reader.paths([source], `${field}.props.dataSource`, 'repeated');
  const items = walker.reader.items(source, { item, index });
  return (scope) => {
    path(scope);
    return items(scope);
  };
};

const walkConditional = <Scope>(one: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const { props = {}, children = [], elseChildren = [] } = one;
  const path = pathOf(props['condition'], walker);
  const value = walker.texts(props['value'], `${field}.props.value`, 'compared');
  if (path === undefined) return value;
  const inThen = walkComponents(children, `${field}.children`, walker);
  const inElse = walkComponents(elseChildren, `${field}.elseChildren`, walker);
  const condition = walker.reader.paths([path], `${field}.props.condition`, 'compared');
  const branches = walker.reader.branches(path, props);
  return (scope) => {
    value(scope);
    condition(scope);
    const { then, otherwise } = branches(scope);
    if (then) inThen(scope);
    if (otherwise) inElse(scope);
  };
};

/** A value that is handed over as it is, is shown where the block shows it. */
const walkInclude = <Scope>(one: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const { props = {}, children = [], included } = one;
  const given = walkHandedOver(props, `${field}.props`, walker);
  if (included === undefined) return given;
  const enter = walker.reader.inside(included, props, `${field}.props.variables`);
  const inside = walkComponents(children, fieldInBlock(field, included), walker);
  return (scope) => {
    given(scope);
    inside(enter(scope));
  };
};

const walkHandedOver = <Scope>(props: JsonObject, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const { variables } = props;
  if (!isJsonObject(variables)) return nothing;
  return inTurn(
    Object.entries(variables).map(([name, value]) =>
      walker.texts(
        value,
        `${field}.variables${writeSteps([name])}`,
        typeof value === 'string' && ONE_PATH.test(value) ? 'compared' : 'shown',
      ),
    ),
  );
};

const ONE_PATH = /^\{\{[^{}]*\}\}$/;

const walkChart = <Scope>({ props = {} }: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const texts = walker.texts(props, `${field}.props`);
  const source = pathOf(props['dataSource'], walker);
  if (source === undefined) return texts;
  const series = Array.isArray(props['series']) ? (props['series'] as readonly Json[]) : [];
  const members = [
    [props['categoryField'], 'categoryField'] as const,
    ...series.map(
      (one, at) => [isJsonObject(one) ? one['valueField'] : undefined, `series[${at}].valueField`] as const,
    ),
  ].flatMap(([value, at]) => {
    const path = pathOf(value, walker);
    return path === undefined ? [] : [walker.reader.member(source, path, `${field}.props.${at}`)];
  });
  return inTurn([texts, walker.reader.paths([source], `${field}.props.dataSource`, 'repeated'), ...members]);
};

const walkTable = <Scope>({ props = {} }: WalkedComponent, field: string, walker: Walker<Scope>): Visit<Scope> => {
  const { columns: given, ...rest } = props;
  const { reader, segmentsMax } = walker;
  const texts = walker.texts(rest, `${field}.props`);
  const columns = (Array.isArray(given) ? (given as readonly Json[]) : []).map((column, at) =>
    walkColumn(isJsonObject(column) ? column : {}, `${field}.props.columns[${at}]`, walker),
  );
  const items =
    props['dataSource'] === undefined ? (scope: Scope): readonly Scope[] => [scope] : itemsOf(props, field, walker);
  const grouping = groupingOf(props, segmentsMax);
  const source = grouping === undefined ? undefined : pathOf(props['dataSource'], walker);
  const grouped =
    grouping === undefined || source === undefined
      ? undefined
      : { by: reader.member(source, grouping.by, `${field}.props.groupBy`), groups: reader.groups(source, grouping) };
  return (scope) => {
    texts(scope);
    const scopes = items(scope);
    const shown = columns.filter(({ isHidden }) => isHidden === undefined || !isHidden(scopes));
    for (const { look } of shown) look(scope);
    for (const inside of scopes) for (const { cell } of shown) cell(inside);
    if (grouped === undefined) return;
    grouped.by(scope);
    for (const inside of grouped.groups(scope)) for (const { group } of shown) group(inside);
  };
};

const walkColumn = <Scope>(column: JsonObject, field: string, walker: Walker<Scope>) => {
  const { content, format, groupHeader, groupFooter, ...rest } = column;
  return {
    isHidden:
      column['hideWhenEmpty'] === true ? walker.reader.isHidden(pathsInTexts(content, walker.segmentsMax)) : undefined,
    look: walker.texts(rest, field),
    cell: inTurn([walker.texts(content, `${field}.content`), walker.texts(format, `${field}.format`)]),
    group: inTurn([
      walker.texts(groupHeader, `${field}.groupHeader`),
      walker.texts(groupFooter, `${field}.groupFooter`),
    ]),
  };
};

const without = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** `inner` are the props that are written for each item. */
const walkRepeated = <Scope>(
  one: WalkedComponent,
  inner: readonly string[],
  field: string,
  walker: Walker<Scope>,
): Visit<Scope> => {
  const { content, props = {}, children = [] } = one;
  if (props['dataSource'] === undefined)
    return inTurn([walkContent(one, field, walker), walker.texts(props, `${field}.props`)]);
  const texts = walker.texts(without(props, inner), `${field}.props`);
  const items = itemsOf(props, field, walker);
  const visit = inTurn([
    walker.texts(content, `${field}.content`),
    ...inner.map((name) => walker.texts(props[name], `${field}.props.${name}`)),
    walkComponents(children, `${field}.children`, walker),
  ]);
  return (scope) => {
    texts(scope);
    for (const inside of items(scope)) visit(inside);
  };
};

const nameOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

type Sections = readonly Readonly<{ props?: JsonObject; components: readonly WalkedComponent[] }>[];

const sectionsAt = (sections: Sections, field: string): WalkedTemplate['sections'] =>
  sections.map(({ props, components }, at) => ({ field: `${field}[${at}]`, props, components }));

/** The values that a template hands over to its layout. */
const layoutAt = (layout: JsonObject | undefined): WalkedTemplate['sections'] =>
  layout === undefined
    ? []
    : [{ field: 'schema.layout', props: undefined, components: [{ type: 'include', props: layout }] }];

type WalkedEmail = Readonly<{
  schema: Readonly<{ sections: Sections; props?: JsonObject; layout?: JsonObject }>;
}>;

/** The parts of an email template. */
export const partsOfEmail = ({ subject, ...body }: WalkedEmail & Readonly<{ subject: string }>): WalkedTemplate => {
  const { texts, ...parts } = partsOfBody(body);
  return { ...parts, texts: [...partsOfSubject(subject).texts, ...texts] };
};

/** The parts of an email template without its subject, which a call may replace. */
export const partsOfBody = ({ schema }: WalkedEmail): WalkedTemplate => ({
  output: 'email',
  texts: [['schema.props', schema.props]],
  margins: [],
  codes: [],
  sections: [...layoutAt(schema.layout), ...sectionsAt(schema.sections, 'schema.sections')],
  links: linkRulesOf(schema.props),
});

export const partsOfSubject = (subject: string): WalkedTemplate => ({
  output: 'email',
  texts: [['subject', subject]],
  margins: [],
  codes: [],
  sections: [],
});

/** The parts of a block, which is walked over as an email is. */
export const partsOfBlock = ({ schema }: Pick<BlockContent, 'schema'>): WalkedTemplate => {
  const isPiece = 'components' in schema;
  return {
    output: 'email',
    texts: isPiece ? [] : [['schema.props', schema.props]],
    margins: [],
    codes: [],
    sections: isPiece
      ? [{ field: 'schema', props: undefined, components: schema.components }]
      : sectionsAt(
          schema.sections.map((section) => (section.type === 'slot' ? { components: [] } : section)),
          'schema.sections',
        ),
  };
};

type WalkedPage = Readonly<{ pageName: string; pageSettings?: Readonly<Record<string, unknown>>; sections: Sections }>;

/** Settings of a page whose texts may hold page numbers. */
const MARGINS: ReadonlySet<string> = new Set(['header', 'footer', 'firstPageHeader', 'firstPageFooter']);

/** The parts of an attachment template. */
export const partsOfDocument = ({
  schema,
}: Readonly<{ schema: Readonly<{ pages: readonly WalkedPage[]; layout?: JsonObject }> }>): WalkedTemplate => {
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
    sections: [
      ...layoutAt(schema.layout),
      ...schema.pages.flatMap(({ sections }, at) => sectionsAt(sections, `schema.pages[${at}].sections`)),
    ],
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
    case 'include':
      return within(props['variables']);
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
