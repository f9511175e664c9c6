/** Expands an attachment template for its data: loops unrolled, conditions decided, texts filled, limits kept while the work is done. */
import { openBudget } from '../budget.js';
import { DomainError } from '../../core/errors.js';
import type {
  AttachmentTemplateContent,
  DocumentComponentType,
  DocumentSection,
  OutputFormat,
  Page,
  PageMargin,
  SheetSettings,
} from '../document-content.js';
import type { JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import type { RenderEnvironment } from '../scope/environment.js';
import { directionOfLocale } from '../direction.js';
import { refusalOf } from '../missing-characters.js';
import { compileBackgrounds } from './backgrounds.js';
import { image, list, divider, richText, spacer } from './components.js';
import { chart, timeline } from './chart.js';
import { codeAt, qrCode } from './codes.js';
import { columnsOf, conditionalOf, containerOf, loopOf, type CompileChildren } from './layout.js';
import { colorOf, compileBox, compileTextStyle, defined } from './style.js';
import { table } from './table.js';
import type {
  Expanded,
  ExpandedDocument,
  ExpandedMargin,
  ExpandedPage,
  ExpandedQrCode,
  ExpandedSection,
  ExpandedSheet,
} from './expanded.js';
import type { Box } from '../boxes.js';
import type { CompileComponent, Expander } from './expander.js';
import { withFlow } from './flow.js';
import { compileHiding } from './hiding.js';
import { compileHtml, compilePlain } from '../fill/filling.js';
import type { Language } from '../scope/formats.js';
import { pointsOf } from '../lengths.js';
import { tooManyExpanded, tooManyPages, tooManySheets } from '../limit-errors.js';
import { compilePreparation } from '../fill/prepare-values.js';
import { refuseEmptyPaths } from '../paths/empty.js';
import { partsOfDocument } from '../paths/walk.js';
import { charge, type Scope, type State } from '../scope/scope.js';
import { shapeOf } from '../scope/shapes.js';

export type CompiledDocument = (variables: JsonObject, environment: RenderEnvironment, format: OutputFormat) => ExpandedDocument;

/**
 * In: a checked attachment template. Out: a function from the variables of a call to the document in one of its formats. It throws
 * VALIDATION_ERROR with `errors` (`variables.order.total`) where a variable is missing or of the wrong type, a picture has an address
 * that may not be followed, a cell of a workbook holds too much, or the template is not made for the format; and as soon as a limit is crossed
 * ERR_LIMIT_001 (pages), 002 (pictures of a PDF), 003 (rows of a workbook), 004 (sheets), 005 (columns), 007 (loops), 009 (components),
 * RENDERED_BODY_TOO_LARGE (texts); VARIABLES_EMPTY where the template asks for a value of everything it shows. The same input gives the same document.
 */
export const compileDocument = (content: AttachmentTemplateContent, limits: Limits): CompiledDocument => {
  const language: Language = { locale: content.locale ?? 'en-US', timeZone: content.timeZone ?? 'UTC' };
  const prepare = compilePreparation(content.variables, language, limits);
  const parts = partsOfDocument(content);
  const shapes = new Map(content.variables.map((definition) => [definition.name, shapeOf(definition)]));
  const scope: Scope = { limits, language, shapes, locals: new Map(), slots: 0, inMargin: false };
  const refuses = refusalOf(content.schema);
  const pages = content.schema.pages.map((page, at) => compilePage(page, `schema.pages[${at}]`, scope));
  return (variables, environment, format) => {
    refuseFormat(content, format);
    if (format === 'pdf' && pages.length > limits.pdfPagesMax) throw tooManyPages(pages.length, limits.pdfPagesMax, false);
    if (format === 'excel' && pages.length > limits.excelSheetsMax) throw tooManySheets(pages.length, limits.excelSheetsMax);
    const budget = openBudget(limits);
    const { values, constants } = prepare(variables, environment, budget);
    if (content.strictVariables === true)
      refuseEmptyPaths(parts, { values, constants, definitions: content.variables, segmentsMax: limits.pathSegmentsMax, budget });
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
    };
    return { language, pages: pages.map((page) => page(state)), refuses, ...defined({ fonts: content.schema.fonts }) };
  };
};

const refuseFormat = ({ schema }: AttachmentTemplateContent, format: OutputFormat): void => {
  if (schema.outputFormats.includes(format)) return;
  const message = `"${format}" is not among the outputFormats of the attachment template: ${schema.outputFormats.join(', ')}`;
  throw new DomainError('VALIDATION_ERROR', `outputFormats: ${message}`, { errors: [{ field: 'outputFormats', message }] });
};

const children: CompileChildren = (components, field, scope, first = 0) => {
  const { componentsExpandedMax } = scope.limits;
  const expanders = components.map((component, at): Expander => {
    const expand = withFlow(component.props, compilers[component.type](component, `${field}[${first + at}]`, scope), scope);
    const isHidden = compileHiding(component, scope);
    return isHidden === undefined ? expand : (state, out) => void (isHidden(state) || expand(state, out));
  });
  return (state, out) => {
    for (const expand of expanders) {
      state.components += 1;
      if (state.components > componentsExpandedMax) throw tooManyExpanded(state.components, componentsExpandedMax, 'document');
      expand(state, out);
    }
  };
};

/** One for each component that a document can hold: one that is missing does not compile. */
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
};

/** Where the author says nothing: what printers and readers of letters expect. */
const MARGIN_POINTS = 42.52;
const MARGIN_HEIGHT_POINTS = 30;
const PAPER = '#ffffff';

const compilePage = ({ pageName, pageSettings = {}, sections }: Page, field: string, scope: Scope): ((state: State) => ExpandedPage) => {
  const { format = 'A4', orientation = 'portrait' } = pageSettings;
  const name = compilePlain(pageName, scope);
  const backgroundColor = colorOf(pageSettings.backgroundColor, scope);
  const [header, footer, firstHeader, firstFooter] = (['header', 'footer', 'firstPageHeader', 'firstPageFooter'] as const).map((side) => {
    const margin = pageSettings[side];
    return margin === undefined ? undefined : compileMargin(margin, `${field}.pageSettings.${side}`, scope);
  });
  const backgrounds = compileBackgrounds(pageSettings, `${field}.pageSettings`, scope);
  const direction = pageSettings.direction ?? directionOfLocale(scope.language.locale);
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

const sheetOf = ({ hidden = false, fitToWidth = true, gridLines = false, printArea }: SheetSettings): ExpandedSheet => ({
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

const heightOf = (margin: PageMargin | undefined): number => (margin === undefined ? 0 : (pointsOf(margin.height) ?? MARGIN_HEIGHT_POINTS));

const compileMargin = (margin: PageMargin, field: string, scope: Scope): ((state: State) => ExpandedMargin) => {
  const code =
    margin.code === undefined ? undefined : codeAt(margin.code, { id: 'code', field: `${field}.code`, props: `${field}.code` }, scope);
  const html = compileHtml(margin.content, { ...scope, inMargin: true });
  const height = heightOf(margin);
  const align = margin.align ?? 'center';
  return (state) => ({ html: charge(html(state), state, scope.limits), height, align, ...defined({ code: codeIn(code, state) }) });
};

/** None where it says nothing, and none in a workbook, whose headers are text. */
const codeIn = (code: Expander | undefined, state: State): ExpandedQrCode | undefined => {
  if (code === undefined || state.format !== 'pdf') return undefined;
  const out: Expanded[] = [];
  code(state, out);
  return out.find((one) => one.type === 'qr-code');
};

const compileSection = ({ props = {}, components }: DocumentSection, field: string, scope: Scope): ((state: State) => ExpandedSection) => {
  const style = compileTextStyle(props, scope);
  const linkColor = colorOf(props['linkColor'], scope);
  const padding = compileBox(props['padding'], scope);
  const body = children(components, `${field}.components`, scope);
  return (state) => {
    const made: Expanded[] = [];
    body(state, made);
    return { style: style(state), padding: padding(state), components: made, ...defined({ linkColor: linkColor(state) }) };
  };
};

export { imageSourcesOf } from './resources.js';
