/**
 * Expands an attachment template for its data: loops unrolled, conditions decided, texts filled, limits kept while the
 * work is done.
 */
import { compileBlockValues, handedOver, onlyPath, shapeInBlock } from '../scope/include.js';
import {
  type PageSettings,
  type DocumentComponent,
  type AttachmentTemplateContent,
  type DocumentComponentType,
  type DocumentSection,
  type OutputFormat,
  type Page,
  type PageMargin,
  type SheetSettings,
  refusalOf,
} from '../content.js';
import {
  withLines,
  charge,
  countImages,
  type Scope,
  type State,
  compileRead,
  compileSource,
  pathOf,
  rootShape,
  steadySource,
} from '../scope/scope.js';
import {
  compilePlain,
  compileText,
  compileJson,
  noted,
  escapeHtml,
  compileWriter,
  type Fill,
  type Writer,
  compileHtml,
  compilePreparation,
} from '../fill/compile.js';
import {
  compileSrc,
  colorOf,
  type Expander,
  compileWord,
  defined,
  compileAlign,
  compileBorder,
  compileBox,
  compilePoints,
  compileWidth,
  type CompileComponent,
  image,
  list,
  divider,
  richText,
  spacer,
  codeAt,
  qrCode,
  compileTextStyle,
  compileIsHidden,
} from './components.js';
import type {
  ExpandedPage,
  Flow,
  Expanded,
  ChartSeries,
  TimelineItem,
  ExpandedDocument,
  ExpandedMargin,
  ExpandedQrCode,
  ExpandedSection,
  ExpandedSheet,
} from './expanded.js';
import { type JsonObject, type Json, isJsonObject } from '../../core/json.js';
import { pageBreaks, verticalAligns } from '../props.js';
import { holds, isOperator, toNumber } from '../scope/conditions.js';
import { type Width, noBox, pointsOf, widthOf, type Box } from '../lengths.js';
import { chartTypes, chartPalette } from '../css.js';
import { parsePath, readPath, readStep, writePath, type Path } from '../scope/path.js';
import { type Shape, shapeAt, shapeOf } from '../scope/shapes.js';
import { displayFormatAt } from '../scope/display-format.js';
import { openBudget, tooManyExpanded, tooManyPages, tooManySheets } from '../budget.js';
import { DomainError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import type { RenderEnvironment } from '../scope/constants.js';
import { directionOfLocale, isolatesByLine } from '../direction.js';
import { table } from './table.js';
import { keptLines, onOneLine } from '../fill/shown-value.js';
import type { Language } from '../scope/formats.js';
import { compileLosses, KEPT_LOSSES_MAX, lossesWithin, refuseLosses, type LossesOf } from '../paths/losses.js';
import { fieldInBlock, partsOfDocument } from '../paths/walk.js';

export type CompiledDocument = (
  variables: JsonObject,
  environment: RenderEnvironment,
  format: OutputFormat,
) => ExpandedDocument;

/**
 * In: a checked attachment template. Out: a function from the variables of a call to the document in one of its
 * formats. It throws VALIDATION_ERROR with `errors` (`variables.order.total`) where a variable is missing or of the
 * wrong type, a picture has an address that may not be followed, a cell of a workbook holds too much, or the template
 * is not made for the format; and as soon as a limit is crossed ERR_LIMIT_001 (pages), 002 (pictures of a PDF), 003
 * (rows of a workbook), 004 (sheets), 005 (columns), 007 (loops), 009 (components), RENDERED_BODY_TOO_LARGE (texts);
 * VARIABLES_EMPTY where the template asks for a value of everything it shows. Equal input gives an equal document.
 */
export const compileDocument = (content: AttachmentTemplateContent, limits: Limits): CompiledDocument => {
  const language: Language = { locale: content.locale ?? 'en-US', timeZone: content.timeZone ?? 'UTC' };
  const prepare = compilePreparation(content.variables, language, limits);
  const lossy = { definitions: content.variables, locale: language.locale, limits };
  let compiled: LossesOf | undefined;
  const lossesOf: LossesOf = (prepared, search) =>
    (compiled ??= compileLosses(partsOfDocument(content), lossy))(prepared, search);
  const shapes = new Map(content.variables.map((definition) => [definition.name, shapeOf(definition)]));
  const scope: Scope = {
    limits,
    language,
    shapes,
    locals: new Map(),
    slots: 0,
    inMargin: false,
    keepsLines: false,
    direction: directionOfLocale(language.locale),
  };
  const refuses = refusalOf(content.schema);
  const pages = content.schema.pages.map((page, at) => compilePage(page, `schema.pages[${at}]`, scope));
  return (variables, environment, format) => {
    refuseFormat(content, format);
    if (format === 'pdf' && pages.length > limits.pdfPagesMax)
      throw tooManyPages(pages.length, limits.pdfPagesMax, false);
    if (format === 'excel' && pages.length > limits.excelSheetsMax)
      throw tooManySheets(pages.length, limits.excelSheetsMax);
    const budget = openBudget(limits);
    const { values, constants } = prepare(variables, environment, budget, format === 'pdf');
    if (content.strictVariables === true) refuseLosses(lossesOf({ values, constants }, { budget }));
    const state: State = {
      values,
      constants,
      format,
      locals: [],
      judged: new Map(),
      components: 0,
      images: 0,
      rows: 0,
      items: 0,
      chars: 0,
      lost: false,
    };
    const document = {
      language,
      pages: pages.map((page) => page(state)),
      refuses,
      ...defined({ fonts: content.schema.fonts }),
    };
    if (!state.lost || content.strictVariables === true) return document;
    return {
      ...document,
      losses: () => lossesWithin(lossesOf, { values, constants }, { limits, lossesMax: KEPT_LOSSES_MAX }),
    };
  };
};

const refuseFormat = ({ schema }: AttachmentTemplateContent, format: OutputFormat): void => {
  if (schema.outputFormats.includes(format)) return;
  const message = `"${format}" is not among the outputFormats of the attachment template: ${schema.outputFormats.join(', ')}`;
  throw new DomainError('VALIDATION_ERROR', `outputFormats: ${message}`, {
    errors: [{ field: 'outputFormats', message }],
  });
};

/** Defaults where the author says nothing: what printers and readers of letters expect. */
const MARGIN_POINTS = 42.52;
const MARGIN_HEIGHT_POINTS = 30;
const PAPER = '#ffffff';

const compilePage = (
  { pageName, pageSettings = {}, sections }: Page,
  field: string,
  outer: Scope,
): ((state: State) => ExpandedPage) => {
  const { format = 'A4', orientation = 'portrait' } = pageSettings;
  const { direction = outer.direction } = pageSettings;
  const scope: Scope = { ...outer, direction };
  const name = compilePlain(pageName, scope);
  const backgroundColor = colorOf(pageSettings.backgroundColor, scope);
  const [header, footer, firstHeader, firstFooter] = (
    ['header', 'footer', 'firstPageHeader', 'firstPageFooter'] as const
  ).map((side) => {
    const margin = pageSettings[side];
    return margin === undefined ? undefined : compileMargin(margin, `${field}.pageSettings.${side}`, scope);
  });
  const backgrounds = compileBackgrounds(pageSettings, `${field}.pageSettings`, scope);
  const margin = marginOf(pageSettings);
  const sheet = pageSettings.sheet === undefined ? undefined : sheetOf(pageSettings.sheet);
  const bodies = sections.map((section, at) => compileSection(section, `${field}.sections[${at}]`, scope));
  return (state) => ({
    name: charge(name(state), state, scope.limits),
    direction,
    format,
    orientation,
    margin,
    backgroundColor: backgroundColor(state) ?? PAPER,
    header: header?.(state),
    footer: footer?.(state),
    ...backgrounds(state),
    ...defined({ firstHeader: firstHeader?.(state), firstFooter: firstFooter?.(state) }),
    sections: bodies.map((body) => body(state)),
    ...defined({ sheet }),
  });
};

const sheetOf = ({
  hidden = false,
  fitToWidth = true,
  gridLines = false,
  printArea,
}: SheetSettings): ExpandedSheet => ({
  hidden,
  fitToWidth,
  gridLines,
  printArea,
});

/** Header and footer stand in the margin: it is never smaller than they are. */
const marginOf = ({ margin = {}, header, footer }: NonNullable<Page['pageSettings']>): Box => {
  const side = (value: string | number | undefined): number => pointsOf(value) ?? MARGIN_POINTS;
  return {
    top: Math.max(side(margin.top), heightOf(header)),
    right: side(margin.right),
    bottom: Math.max(side(margin.bottom), heightOf(footer)),
    left: side(margin.left),
  };
};

const heightOf = (margin: PageMargin | undefined): number =>
  margin === undefined ? 0 : (pointsOf(margin.height) ?? MARGIN_HEIGHT_POINTS);

const compileMargin = (margin: PageMargin, field: string, scope: Scope): ((state: State) => ExpandedMargin) => {
  const code = margin.code === undefined ? undefined : compileMarginCode(margin.code, `${field}.code`, scope);
  const html = compileHtml(margin.content, { ...scope, inMargin: true });
  const height = heightOf(margin);
  const align = margin.align ?? 'center';
  return (state) => ({
    html: charge(html(state), state, scope.limits),
    height,
    align,
    ...defined({ code: code?.(state) }),
  });
};

/** Undefined if the code has no text or is hidden, and in a workbook, whose headers are text. */
const compileMarginCode = (
  props: JsonObject,
  field: string,
  scope: Scope,
): ((state: State) => ExpandedQrCode | undefined) => {
  const expand = codeAt(props, { id: 'code', field, props: field }, scope);
  const isHidden = compileIsHidden({ id: 'code', type: 'qr-code', props }, scope);
  return (state) => {
    const out: Expanded[] = [];
    if (isHidden?.(state) !== true) expand(state, out);
    return out.find((one) => one.type === 'qr-code');
  };
};

const compileSection = (
  { props = {}, components }: DocumentSection,
  field: string,
  scope: Scope,
): ((state: State) => ExpandedSection) => {
  const style = compileTextStyle(props, scope);
  const linkColor = colorOf(props['linkColor'], scope);
  const padding = compileBox(props['padding'], scope);
  const body = children(components, `${field}.components`, scope);
  return (state) => {
    const made: Expanded[] = [];
    body(state, made);
    return {
      style: style(state),
      padding: padding(state),
      components: made,
      ...defined({ linkColor: linkColor(state) }),
    };
  };
};

type Backgrounds = Pick<ExpandedPage, 'backgroundImage' | 'watermark' | 'contents'>;

/** So light that black letters above it stay readable. */
const WATERMARK_COLOR = '#e5e7eb';

const CONTENTS_LEVELS = 3;

/**
 * Compiles what stands beside the sections: a list of contents, and behind the text a picture and a watermark, left out
 * without address or text.
 */
const compileBackgrounds = (
  { backgroundImage, watermark, contents }: PageSettings,
  field: string,
  scope: Scope,
): ((state: State) => Backgrounds) => {
  const at = `${field}.backgroundImage.src`;
  const src = backgroundImage === undefined ? undefined : compileSrc(backgroundImage.src, at, scope);
  const text = watermark === undefined ? undefined : compilePlain(watermark.text, scope);
  const color = colorOf(watermark?.color, scope);
  const title = compilePlain(contents?.title ?? '', scope);
  const { levels = CONTENTS_LEVELS } = contents ?? {};
  return (state) => {
    const address = src?.(state);
    if (address !== undefined) countImages(1, state, scope.limits);
    const written = text === undefined ? '' : charge(text(state), state, scope.limits).trim();
    const { fit = 'cover', sheets = 'all' } = backgroundImage ?? {};
    return {
      ...(address === undefined ? {} : { backgroundImage: { src: address, fit, sheets, field: at } }),
      ...(contents === undefined
        ? {}
        : {
            contents: {
              title: charge(title(state), state, scope.limits).trim(),
              levels,
              field: `${field}.contents.title`,
            },
          }),
      ...(written === ''
        ? {}
        : { watermark: { text: written, color: color(state) ?? WATERMARK_COLOR, field: `${field}.watermark.text` } }),
    };
  };
};

const children: CompileChildren = (components, field, scope, first = 0) => {
  const { componentsExpandedMax } = scope.limits;
  const expanders = components.map((component, at): Expander => {
    const expand = withFlow(
      component.props,
      compilers[component.type](component, `${field}[${first + at}]`, withLines(scope, component.props)),
      scope,
    );
    const isHidden = compileIsHidden(component, scope);
    return isHidden === undefined ? expand : (state, out) => void (isHidden(state) || expand(state, out));
  });
  return (state, out) => {
    for (const expand of expanders) {
      state.components += 1;
      if (state.components > componentsExpandedMax)
        throw tooManyExpanded(state.components, componentsExpandedMax, 'document');
      expand(state, out);
    }
  };
};

/**
 * In: the props of a component and what expands it. Out: the expander that also writes page breaks, and what is kept on
 * one sheet, on what the component becomes.
 */
const withFlow = (props: JsonObject | undefined, expand: Expander, scope: Scope): Expander => {
  if (props === undefined || (props['pageBreak'] ?? props['keepTogether'] ?? props['keepWithNext']) === undefined)
    return expand;
  const pageBreak = compileWord(props['pageBreak'], pageBreaks, scope);
  const kept: Flow = {
    ...(props['keepTogether'] === true ? { keepTogether: true } : {}),
    ...(props['keepWithNext'] === true ? { keepWithNext: true } : {}),
  };
  return (state, out) => {
    const first = out.length;
    expand(state, out);
    const flow: Flow = { ...kept, ...defined({ pageBreak: pageBreak(state) }) };
    for (let at = first; at < out.length; at++) {
      const made = out[at];
      if (made !== undefined) out[at] = { ...made, flow };
    }
  };
};

/**
 * Compiles components one below the other; `first` is the place of the first in what `field` names, where it is not 0.
 */
type CompileChildren = (
  components: readonly DocumentComponent[],
  field: string,
  scope: Scope,
  first?: number,
) => Expander;

const containerOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const inner = children(component.children ?? [], `${field}.children`, scope);
    const [backgroundColor, color] = [colorOf(props['backgroundColor'], scope), colorOf(props['color'], scope)];
    const padding = compileBox(
      props['padding'],
      scope,
      props['backgroundColor'] === undefined && props['border'] === undefined
        ? noBox
        : { top: 12, right: 12, bottom: 12, left: 12 },
    );
    const border = props['border'] === undefined ? undefined : compileBorder(props['border'], scope);
    const [borderRadius, width] = [compilePoints(props['borderRadius'], scope), compileWidth(props['width'], scope)];
    const minHeight = compilePoints(props['minHeight'], scope);
    const align = compileAlign(props['align'], scope);
    return (state, out) => {
      out.push({
        type: 'container',
        id,
        field,
        children: gathered(inner, state),
        padding: padding(state),
        align: align(state),
        ...defined({
          backgroundColor: backgroundColor(state),
          color: color(state),
          border: border?.(state),
          borderRadius: borderRadius(state),
          width: width(state),
          minHeight: minHeight(state),
        }),
      });
    };
  };

const gathered = (expander: Expander, state: State): readonly Expanded[] => {
  const out: Expanded[] = [];
  expander(state, out);
  return out;
};

const GAP_POINTS = 12;

/** Each child is one column, even where nothing is left of it: the next child must not take its place. */
const columnsOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const columns = (component.children ?? []).map((child, at) => ({
      id: child.id,
      field: `${field}.children[${at}]`,
      expand: children([child], `${field}.children`, scope, at),
    }));
    const given = Array.isArray(props['widths']) ? (props['widths'] as readonly Json[]) : [];
    const widths = columns.map((_, at): Width => widthOf(given[at]) ?? 'rest');
    const gap = pointsOf(props['gap']) ?? GAP_POINTS;
    const verticalAlign = compileWord(props['verticalAlign'], verticalAligns, scope);
    return (state, out) => {
      const made = columns.map(({ expand, ...place }) => column(gathered(expand, state), place));
      out.push({
        type: 'columns',
        id,
        field,
        children: made,
        widths,
        gap,
        verticalAlign: verticalAlign(state) ?? 'top',
      });
    };
  };

const column = (made: readonly Expanded[], place: Readonly<{ id: string; field: string }>): Expanded => {
  const [only] = made;
  return made.length === 1 && only !== undefined
    ? only
    : { type: 'container', ...place, children: made, padding: noBox, align: 'start' };
};

const conditionalOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { condition, operator, value } = component.props ?? {};
    if (!isOperator(operator)) throw new Error('an operator that was checked is none');
    const left = compileRead(pathOf(condition, scope), scope);
    const right = compileJson(value, scope, compileRead);
    const then = children(component.children ?? [], `${field}.children`, scope);
    const otherwise = children(component.elseChildren ?? [], `${field}.elseChildren`, scope);
    return (state, out) => (holds(operator, left(state), right(state)) ? then : otherwise)(state, out);
  };

const loopOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const source = compileSource(props, scope);
    const body = children(component.children ?? [], `${field}.children`, source.inside);
    const emptyText = typeof props['emptyText'] === 'string' ? compileText(props['emptyText'], scope) : undefined;
    return (state, out) => {
      const items = source.items(state);
      if (items.length === 0 && emptyText !== undefined) {
        out.push({
          type: 'rich-text',
          id,
          field,
          html: charge(escapeHtml(emptyText(state)), state, scope.limits),
          style: {},
          padding: noBox,
        });
      }
      items.forEach((item, at) => {
        source.enter(state, item, at);
        body(state, out);
      });
    };
  };

/** The components of a block, in whose scope only its own variables are in reach. */
const includeOf =
  (children: CompileChildren): CompileComponent =>
  ({ props, included, children: components = [] }, field, scope) => {
    if (included === undefined) throw new Error('blocks are put in before a document is expanded');
    const complete = compileBlockValues(included);
    const { slots, limits } = scope;
    const handed = included.variables.map((definition, at) => {
      const { name } = definition;
      const value = handedOver(props, name);
      const path = typeof value === 'string' ? onlyPath(value, limits.pathSegmentsMax) : undefined;
      const shape = shapeInBlock(definition, path && shapeAt(rootShape(path, scope), path));
      return { name, read: compileJson(value, scope, compileRead), slot: slots + at, shape };
    });
    const locals = new Map(handed.map(({ name, slot, shape }) => [name, { slot, shape }]));
    const inside: Scope = { ...scope, shapes: new Map(), locals, slots: slots + handed.length };
    const body = children(components, fieldInBlock(field, included), inside);
    return (state, out) => {
      const given = handed.flatMap(({ name, read }) => {
        const value = read(state);
        return value === undefined ? [] : [[name, value] as const];
      });
      const values = complete(Object.fromEntries(given));
      for (const { name, slot } of handed) state.locals[slot] = readStep(values, name);
      body(state, out);
    };
  };

type Series = Readonly<{
  name: Fill;
  color: (state: State) => string | undefined;
  path: Path;
  writer: (state: State) => Writer;
}>;

const chart: CompileComponent = ({ id, props = {} }, field, scope) => {
  const { limits } = scope;
  const source = compileSource(props, scope);
  const chartType = chartTypes.find((type) => type === props['chartType']) ?? 'bar';
  const categoryPath = fieldPath(props['categoryField'], scope);
  const category = compileWriter(
    displayFormatAt(source.itemShape, ['item', ...categoryPath], { isWhole: true }),
    scope,
  );
  const series = objectsIn(props['series']).map((one) => compileSeries(one, source.itemShape, scope));
  const titles = ['title', 'xTitle', 'yTitle'].map((name) => compileOptional(props[name], scope, compileText));
  const [width, height] = [compilePoints(props['width'], scope), compilePoints(props['height'], scope)];
  const round = chartType === 'pie' || chartType === 'doughnut';
  const showLegend = typeof props['showLegend'] === 'boolean' ? props['showLegend'] : round || series.length > 1;
  const from = {
    name: steadySource(props, scope),
    category: writePath(categoryPath),
    values: series.map(({ path }) => writePath(path)),
  };
  return (state, out) => {
    const items = source.items(state);
    const [title = '', xTitle = '', yTitle = ''] = titles.map((fill) => charge(fill(state), state, limits));
    out.push({
      type: 'chart',
      id,
      field,
      chartType,
      showLegend,
      title,
      xTitle,
      yTitle,
      categories: items.map((item) =>
        charge(category(state).write(noted(readPath(item, categoryPath), state)), state, limits),
      ),
      series: series.map(({ name, color, path, writer }, at): ChartSeries => ({
        name: charge(name(state), state, limits),
        color: color(state) ?? chartPalette[at % chartPalette.length] ?? '#2563eb',
        values: items.map((item) => finite(toNumber(noted(readPath(item, path), state)))),
        ...defined({ displayFormat: writer(state).displayFormat }),
      })),
      ...defined({
        width: width(state),
        height: height(state),
        source: from.name === undefined ? undefined : { ...from, name: from.name },
      }),
    });
  };
};

/** A series without a name is called after its field. */
const compileSeries = (one: JsonObject, item: Shape | undefined, scope: Scope): Series => ({
  name: compileText(typeof one['name'] === 'string' ? one['name'] : String(one['valueField']), scope),
  color: colorOf(one['color'], scope),
  path: fieldPath(one['valueField'], scope),
  writer: compileWriter(displayFormatAt(item, ['item', ...fieldPath(one['valueField'], scope)], undefined), scope),
});

const finite = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;

const fieldPath = (value: Json | undefined, { limits }: Scope): Path => {
  const parsed = parsePath(String(value).trim(), limits.pathSegmentsMax);
  if (!parsed.ok) throw new Error(`a field that was checked does not parse: ${parsed.message}`);
  return parsed.path;
};

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];

const compileOptional = (text: Json | undefined, scope: Scope, compile: typeof compileText): Fill =>
  compile(typeof text === 'string' ? text : '', scope);

const TIMELINE_COLOR = '#2563eb';

const timeline: CompileComponent = ({ id, props = {} }, field, scope) => {
  const color = colorOf(props['color'], scope);
  const items = props['dataSource'] === undefined ? writtenSteps(props, scope) : dataSteps(props, scope);
  return (state, out) => {
    const steps = items(state);
    if (steps.length > 0)
      out.push({ type: 'timeline', id, field, items: steps, color: color(state) ?? TIMELINE_COLOR });
  };
};

type Steps = (state: State) => readonly TimelineItem[];

const writtenSteps = (props: JsonObject, scope: Scope): Steps => {
  const steps = objectsIn(props['items']).map((item) => compileStep(item, scope));
  return (state) => steps.map((step) => step(state));
};

const dataSteps = (props: JsonObject, scope: Scope): Steps => {
  const source = compileSource(props, scope);
  const step = compileStep(props, source.inside);
  return (state) =>
    source.items(state).map((item, at) => {
      source.enter(state, item, at);
      return step(state);
    });
};

const compileStep = (texts: JsonObject, scope: Scope): ((state: State) => TimelineItem) => {
  const { limits } = scope;
  const [title, description, date] = ['title', 'description', 'date'].map((name) =>
    compileOptional(texts[name], scope, compileText),
  );
  // It is compared with words that are known.
  const status = compileOptional(texts['status'], scope, compilePlain);
  const lines = scope.keepsLines ? keptLines : onOneLine;
  const write = (fill: Fill | undefined, state: State): string =>
    fill === undefined ? '' : charge(isolatesByLine(lines(fill(state))), state, limits);
  return (state) => ({
    title: write(title, state),
    description: write(description, state),
    date: write(date, state),
    status: write(status, state),
  });
};

/** A compiler for each component that a document can hold: one that is missing does not compile. */
const compilers: Readonly<Record<DocumentComponentType, CompileComponent>> = {
  'rich-text': richText,
  image,
  table,
  container: containerOf(children),
  columns: columnsOf(children),
  divider,
  spacer,
  conditional: conditionalOf(children),
  loop: loopOf(children),
  list,
  'qr-code': qrCode,
  chart,
  timeline,
  include: includeOf(children),
};
