/**
 * Checks an attachment template when it is saved: everything that is wrong with it, at once, each fault with its path.
 */
import { charsOf, isLonger, nameFault } from '../../../shared/text.js';
import type { FieldError } from '../../core/errors.js';
import { hasPlaceholder, isPageMark } from '../fill/templated-text.js';
import { translatorOf } from '../translations.js';
import { writePath, type Path, shorten } from '../scope/path.js';
import {
  backgroundFits,
  backgroundSheets,
  orientations,
  pageFormats,
  WATERMARK_CHARS_MAX,
  type AttachmentTemplateContent,
  fontStyles,
  type DocumentComponent,
  type OutputFormat,
  outputFormats,
  DEFAULT_LOCALE,
  missingCharacterRules,
} from '../content.js';
import { componentSpecs, layoutProps } from '../components.js';
import { TABLE_COLUMN } from '../column-rules.js';
import {
  checkCode,
  refuseUnknown,
  type WalkTools,
  childrenOf,
  checkId,
  checkSections,
  measureDocument,
} from './components.js';
import { isPlainObject, localeFault, timeZoneFault } from './format.js';
import { directions } from '../direction.js';
import { aligns, checkProps, type PropSpecs, checkText } from '../props.js';
import { plainFamily } from '../css.js';
import { assetAddress } from '../addresses.js';
import { isJsonObject, type Json } from '../../core/json.js';
import { withoutNulls, checkStrictness, collectFaults, type Faults } from './faults.js';
import { openBudget } from '../budget.js';
import type { Limits } from '../../core/limits.js';
import { addressWarnings, bareConstantWarnings } from './hints.js';
import { checkVariableTexts, checkTranslations } from './translations.js';
import { checkVariables } from './variables.js';
import { mapDocumentTexts } from '../languages.js';
import { documentMedia } from '../lengths.js';
import { withExpressions, boundedNearest, checkPaths, type Nearest, type PathFindings } from '../paths/check.js';
import { partsOfDocument } from '../paths/walk.js';

export const PAGE_NAME_CHARS_MAX = 200;
const knownFields = ['variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/**
 * In: `{variables, schema: {outputFormats, pages}, locale?, timeZone?, strictVariables?, translations?}` as it came in,
 * however hostile, and the name of the template, which is that of its files. Out: the same as a checked content, what
 * of its paths no variable declares, and what its translations lack. Throws ERR_LIMIT_001 (pages of a PDF), 004
 * (sheets), 005 (columns), 008 (nesting) and 009 (number of components) at once, TEMPLATE_INVALID with `errors` for all
 * else.
 */
export const checkAttachmentTemplate = (
  input: unknown,
  limits: Limits,
  name = '',
): { content: AttachmentTemplateContent; warnings: readonly FieldError[] } => {
  const faults = collectFaults();
  refuseNoObject(input, faults);
  const outputs = formatsOf(input['schema']);
  measureDocument(input, outputs, limits);
  const schema = withoutNulls(input['schema'], limits.jsonDepthMax);
  const definitions = withoutNulls(input['variables'], limits.jsonDepthMax);
  const tools: WalkTools = {
    faults,
    limits,
    budget: openBudget(limits),
    media: documentMedia(limits.excelColumnsMax),
    ids: new Map(),
    outputs,
  };
  const variables = checkVariables(definitions, tools);
  checkSettingsOfTemplate(input, tools);
  const outside: WalkTools = { ...tools, refused: refusedOutsideMargins(namesIn(definitions, schema)) };
  checkText(name, 'name', outside);
  checkSchema(schema, outside, tools);
  faults.throwIfAny('TEMPLATE_INVALID', 'the attachment template');
  const { translations: given, ...own } = input;
  const content: AttachmentTemplateContent = {
    ...(own as AttachmentTemplateContent),
    schema: schema as AttachmentTemplateContent['schema'],
    variables,
  };
  const pathsOf = (one: Named, nearest: Nearest): PathFindings => {
    const parts = partsOfDocument(one.content);
    const found = checkPaths(
      { ...parts, texts: [['name', one.name], ...parts.texts] },
      variables,
      limits.pathSegmentsMax,
      nearest,
    );
    return withExpressions(found, one.content.variables, nearest);
  };
  const nearest = boundedNearest();
  const paths = pathsOf({ name, content }, nearest);
  for (const { field, message } of paths.faults) faults.add(field, message);
  faults.throwIfAny('TEMPLATE_INVALID', 'the attachment template');
  const { translations, warnings } = checkTranslations(
    { given, locale: content.locale ?? DEFAULT_LOCALE, paths },
    {
      mapped: (map): Named => ({ name: map(name, 'name', 'prose'), content: mapDocumentTexts(content, map) }),
      check: (translated, inLanguage) => {
        measureDocument(translated.content, outputs, limits);
        const refused = { ...inLanguage, ...(outside.refused && { refused: outside.refused }) };
        checkText(translated.name, 'name', refused);
        checkSchema(translated.content.schema, refused, inLanguage);
        checkVariableTexts(translated.content.variables, inLanguage);
      },
      paths: pathsOf,
    },
    tools,
  );
  faults.throwIfAny('TEMPLATE_INVALID', 'the attachment template');
  const whole = { ...content, ...(translations && { translations }) };
  return { content: whole, warnings: [...paths.warnings, ...shownWarnings(whole, limits), ...warnings] };
};

/** Warnings about what the documents of a checked template show, in each of the languages that it has. */
export const shownWarnings = (
  content: AttachmentTemplateContent,
  { excelColumnsMax }: Limits,
): readonly FieldError[] => [
  ...formulaWarnings(content),
  ...watermarkWarnings(content),
  ...addressWarnings(content, documentMedia(excelColumnsMax)),
  ...bareConstantWarnings(content),
];

function refuseNoObject(input: unknown, faults: Faults): asserts input is Readonly<Record<string, unknown>> {
  if (isPlainObject(input)) return;
  faults.add('', 'must be an object');
  faults.throwIfAny('TEMPLATE_INVALID', 'the attachment template');
}

/** Checks the fields beside variables and schema. */
const checkSettingsOfTemplate = (input: Readonly<Record<string, unknown>>, { faults }: WalkTools): void => {
  const { locale, timeZone, strictVariables } = input;
  for (const name of Object.keys(input))
    if (!knownFields.includes(name)) faults.add(shorten(name), `is not known; known are ${knownFields.join(', ')}`);
  const ofLocale = locale === undefined ? undefined : localeFault(locale);
  if (ofLocale !== undefined) faults.add('locale', ofLocale);
  const ofZone = timeZone === undefined ? undefined : timeZoneFault(timeZone);
  if (ofZone !== undefined) faults.add('timeZone', ofZone);
  checkStrictness(strictVariables, faults);
};

/** A template in one language, with the name of its files. */
type Named = Readonly<{ name: string; content: AttachmentTemplateContent }>;

const isOutputFormat = (value: unknown): value is OutputFormat => outputFormats.some((format) => format === value);

/** The formats that are right; faults of the others are reported where the schema is checked. */
const formatsOf = (schema: unknown): readonly OutputFormat[] => {
  const given = isPlainObject(schema) ? schema['outputFormats'] : undefined;
  return Array.isArray(given) ? outputFormats.filter((format) => given.includes(format)) : [];
};

/** `margins` are the tools for headers and footers, where the number of the page is known. */
const checkSchema = (schema: unknown, tools: WalkTools, margins: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(schema))
    return faults.add(
      'schema',
      schema === undefined ? 'is required' : 'must be an object with outputFormats and pages',
    );
  refuseUnknown(schema, schemaFields, 'schema', tools);
  const { missingCharacters, layout } = schema;
  if (layout !== undefined) checkProps(layout, layoutProps, 'schema.layout', tools);
  if (missingCharacters !== undefined)
    checkWord(missingCharacters, missingCharacterRules, 'schema.missingCharacters', tools);
  if (schema['fonts'] !== undefined) checkFonts(schema['fonts'], tools);
  checkFormats(schema['outputFormats'], tools);
  const { pages } = schema;
  if (!Array.isArray(pages))
    return faults.add('schema.pages', pages === undefined ? 'is required' : 'must be an array');
  if (pages.length === 0) faults.add('schema.pages', 'must hold at least one page');
  const pageIds: WalkTools = { ...tools, ids: new Map() };
  pages.forEach((page: unknown, at) => {
    const field = `schema.pages[${at}]`;
    if (!isPlainObject(page)) return faults.add(field, 'must be an object');
    refuseUnknown(page, pageFields, field, tools);
    checkId(page['pageId'], field, pageIds, 'pageId');
    checkPageName(page['pageName'], `${field}.pageName`, tools);
    checkSettings(page['pageSettings'], `${field}.pageSettings`, tools, margins);
    checkSections(page['sections'], `${field}.sections`, tools);
  });
};

const checkFormats = (formats: unknown, { faults }: WalkTools): void => {
  const field = 'schema.outputFormats';
  if (!Array.isArray(formats))
    return faults.add(
      field,
      formats === undefined
        ? `is required: an array of ${outputFormats.join(' and ')}`
        : `must be an array of ${outputFormats.join(' and ')}`,
    );
  if (formats.length === 0) faults.add(field, `must hold at least one of ${outputFormats.join(', ')}`);
  if (formats.length > outputFormats.length)
    return faults.add(field, `has ${formats.length} formats, there are ${outputFormats.length}`);
  formats.forEach((format: unknown, at) => {
    if (!isOutputFormat(format)) faults.add(`${field}[${at}]`, `must be one of ${outputFormats.join(', ')}`);
    else if (formats.indexOf(format) < at) faults.add(`${field}[${at}]`, `"${format}" stands there twice`);
  });
};

const checkPageName = (name: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (typeof name !== 'string' || name.trim() === '')
    return faults.add(field, name === undefined ? 'is required' : 'must be text');
  if (isLonger(name, PAGE_NAME_CHARS_MAX))
    return faults.add(field, `has ${charsOf(name)} characters, the maximum is ${PAGE_NAME_CHARS_MAX}`);
  const fault = nameFault(name);
  if (fault !== undefined) faults.add(field, fault);
  checkText(name, field, tools);
};

/** Names that a path may begin with beside constants: those of variables and of loops. */
const namesIn = (definitions: unknown, schema: unknown): ReadonlySet<unknown> => {
  const names = new Set<unknown>();
  if (Array.isArray(definitions))
    for (const definition of definitions as unknown[]) if (isPlainObject(definition)) names.add(definition['name']);
  const open = childrenOf(schema, ['pages'])
    .flatMap((page) => childrenOf(page, ['sections']))
    .flatMap((section) => childrenOf(section, ['components']));
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const props = isPlainObject(node) ? node['props'] : undefined;
    if (isPlainObject(props)) names.add(props['itemVariable']).add(props['indexVariable']);
    open.push(...childrenOf(node, ['children', 'elseChildren']));
  }
  return names;
};

/**
 * Page marks are known in the margins alone. Answers a sentence for a path of a page mark that stands elsewhere and is
 * no name of the template.
 */
const refusedOutsideMargins =
  (names: ReadonlySet<unknown>) =>
  ([name]: Path): string | undefined =>
    isPageMark(name) && !names.has(name)
      ? `{{${name}}} is known only in the header and the footer of pageSettings`
      : undefined;

/** Fields of a page and of its settings. */
export const pageFields = ['pageId', 'pageName', 'pageSettings', 'sections'] as const;
export const schemaFields = ['outputFormats', 'pages', 'layout', 'missingCharacters', 'fonts'] as const;

export const marginSpecs: PropSpecs = {
  top: { kind: 'fixedLength' },
  right: { kind: 'fixedLength' },
  bottom: { kind: 'fixedLength' },
  left: { kind: 'fixedLength' },
};
export const settingSpecs: PropSpecs = { backgroundColor: { kind: 'color' } };
export const headerSpecs: PropSpecs = { content: { kind: 'text', required: true }, height: { kind: 'fixedLength' } };

const marginNames = ['header', 'footer', 'firstPageHeader', 'firstPageFooter'] as const;
export const settingFields = [
  'format',
  'orientation',
  'direction',
  'margin',
  'backgroundColor',
  'backgroundImage',
  'watermark',
  'contents',
  'sheet',
  ...marginNames,
] as const;

/** The settings of a page; `margins` are the tools for headers and footers, where the number of the page is known. */
const checkSettings = (settings: unknown, field: string, tools: WalkTools, margins: WalkTools): void => {
  if (settings === undefined) return;
  const { faults } = tools;
  if (!isPlainObject(settings)) return faults.add(field, 'must be an object');
  refuseUnknown(settings, settingFields, field, tools);
  const { format, orientation, direction, margin, backgroundColor } = settings;
  checkSheet(settings['sheet'], `${field}.sheet`, tools);
  if (format !== undefined) checkWord(format, pageFormats, `${field}.format`, tools);
  if (orientation !== undefined) checkWord(orientation, orientations, `${field}.orientation`, tools);
  if (direction !== undefined) checkWord(direction, directions, `${field}.direction`, tools);
  checkProps(margin, marginSpecs, `${field}.margin`, tools);
  if (backgroundColor !== undefined) checkProps({ backgroundColor }, settingSpecs, field, tools);
  checkBackground(settings['backgroundImage'], `${field}.backgroundImage`, tools);
  if (settings['watermark'] !== undefined)
    checkProps(settings['watermark'], watermarkSpecs, `${field}.watermark`, tools);
  checkContents(settings['contents'], `${field}.contents`, tools);
  for (const name of marginNames) {
    checkMargin(settings[name], `${field}.${name}`, margins);
    checkMarginCode(settings[name], `${field}.${name}.code`, tools);
  }
};

export const watermarkSpecs: PropSpecs = { text: { kind: 'text', required: true }, color: { kind: 'color' } };
export const contentsSpecs: PropSpecs = { title: { kind: 'text' } };

const checkContents = (contents: unknown, field: string, tools: WalkTools): void => {
  if (contents === undefined) return;
  if (!isPlainObject(contents)) return tools.faults.add(field, 'must be an object with title, levels');
  const { levels, ...rest } = contents;
  checkProps(rest, contentsSpecs, field, tools);
  if (levels !== undefined && ![1, 2, 3, 4, 5, 6].some((level) => level === levels))
    tools.faults.add(`${field}.levels`, 'must be a whole number from 1 to 6');
};

export const backgroundSpecs: PropSpecs = { src: { kind: 'image', required: true } };

const checkBackground = (background: unknown, field: string, tools: WalkTools): void => {
  if (background === undefined) return;
  if (!isPlainObject(background)) return tools.faults.add(field, 'must be an object with src');
  const { fit, sheets, ...rest } = background;
  if (fit !== undefined) checkWord(fit, backgroundFits, `${field}.fit`, tools);
  if (sheets !== undefined) checkWord(sheets, backgroundSheets, `${field}.sheets`, tools);
  checkProps(rest, backgroundSpecs, field, tools, ['fit', 'sheets']);
};

export const sheetSpecs: PropSpecs = {
  hidden: { kind: 'boolean' },
  fitToWidth: { kind: 'boolean' },
  gridLines: { kind: 'boolean' },
};
/** The form of an area of cells; which columns and rows a sheet has is looked at beside it. */
export const PRINT_AREA = /^([A-Z]{1,3})([1-9]\d{0,6}):([A-Z]{1,3})([1-9]\d{0,6})$/;
const LAST_COLUMN = 'XFD';
const LAST_ROW = 1_048_576;

/** An area of cells that a sheet has: a file with another is called damaged. */
const isArea = (text: string): boolean => {
  const [, left = '', top = '', right = '', bottom = ''] = PRINT_AREA.exec(text) ?? [];
  const isColumn = (letters: string): boolean => letters.length < LAST_COLUMN.length || letters <= LAST_COLUMN;
  return left !== '' && [left, right].every(isColumn) && [top, bottom].every((row) => Number(row) <= LAST_ROW);
};

const checkSheet = (sheet: unknown, field: string, tools: WalkTools): void => {
  if (sheet === undefined) return;
  if (!isPlainObject(sheet)) return tools.faults.add(field, 'must be an object');
  const { printArea, ...rest } = sheet;
  if (printArea !== undefined && !(typeof printArea === 'string' && isArea(printArea)))
    tools.faults.add(`${field}.printArea`, 'must be an area of cells such as A1:F40');
  checkProps(rest, sheetSpecs, field, tools, ['printArea']);
};

const checkMargin = (margin: unknown, field: string, tools: WalkTools): void => {
  if (margin === undefined) return;
  if (!isPlainObject(margin))
    return tools.faults.add(field, 'must be an object with content; "content": "" is an empty one');
  const { align, code: _code, ...rest } = margin;
  if (align !== undefined) checkWord(align, aligns, `${field}.align`, tools);
  checkProps(rest, headerSpecs, field, tools, ['align', 'code']);
};

/**
 * A code is drawn before there are pages, so it is checked with `body`, the tools of places where no page has a number.
 */
const checkMarginCode = (margin: unknown, field: string, body: WalkTools): void => {
  const code = isPlainObject(margin) ? margin['code'] : undefined;
  if (code === undefined) return;
  if (!isPlainObject(code)) return body.faults.add(field, 'must be an object with the props of a qr-code');
  checkProps(code, componentSpecs['qr-code'].props, field, { ...body, refused: refusedInCode(body) });
  checkCode(code, field, body);
};

const refusedInCode =
  ({ refused }: WalkTools) =>
  (path: Path): string | undefined =>
    refused?.(path) === undefined
      ? undefined
      : `{{${writePath(path)}}} cannot stand in a code, which is drawn before there are pages; write it in the content beside the code`;

/** In: a checked template. Out: a warning for each watermark that is too long to be drawn as a whole. */
const watermarkWarnings = ({
  schema: { pages },
  translations = {},
}: AttachmentTemplateContent): readonly FieldError[] =>
  pages.flatMap(({ pageSettings }, at) => {
    const text = pageSettings?.watermark?.text;
    if (text === undefined) return [];
    const field = `schema.pages[${at}].pageSettings.watermark.text`;
    const translated = Object.keys(translations).map(
      (tag) => [translatorOf(translations, tag)(text), `translations.${tag}: `] as const,
    );
    return [[text, ''] as const, ...translated.filter(([other]) => other !== text)].flatMap(([one, where]) =>
      hasPlaceholder(one) || !isLonger(one, WATERMARK_CHARS_MAX)
        ? []
        : [
            {
              field,
              message: `${where}has ${charsOf(one)} characters, of which the first ${WATERMARK_CHARS_MAX} are drawn`,
            },
          ],
    );
  });

/** Refuses everything but one of these words. */
const checkWord = (value: unknown, words: readonly string[], field: string, { faults }: WalkTools): void => {
  if (!words.some((word) => word === value)) faults.add(field, `must be one of ${words.join(', ')}`);
};

export const FONTS_MAX = 10;
export const FAMILY_CHARS_MAX = 60;
/** Letters, digits, spaces, hyphens: what needs no quotes in a list of families. */
export const FAMILY = /^[\p{L}\p{N}]+(?:[ _-][\p{L}\p{N}]+)*$/u;
export const fontFields = ['family', ...fontStyles] as const;

const checkFonts = (fonts: unknown, tools: WalkTools): void => {
  const { faults } = tools;
  const field = 'schema.fonts';
  if (!Array.isArray(fonts)) return faults.add(field, 'must be an array of fonts');
  if (fonts.length > FONTS_MAX) return faults.add(field, `has ${fonts.length} fonts, the maximum is ${FONTS_MAX}`);
  const families = new Set<string>();
  fonts.forEach((font: unknown, at) => {
    const path = `${field}[${at}]`;
    if (!isPlainObject(font)) return faults.add(path, 'must be an object with family and regular');
    refuseUnknown(font, fontFields, path, tools);
    checkFamily(font['family'], `${path}.family`, families, tools);
    for (const style of fontStyles) checkFile(font[style], `${path}.${style}`, style === 'regular', tools);
  });
};

const checkFamily = (family: unknown, field: string, families: Set<string>, { faults }: WalkTools): void => {
  if (typeof family !== 'string') return faults.add(field, family === undefined ? 'is required' : 'must be text');
  if (isLonger(family, FAMILY_CHARS_MAX))
    return faults.add(field, `has ${charsOf(family)} characters, the maximum is ${FAMILY_CHARS_MAX}`);
  if (!FAMILY.test(family))
    return faults.add(
      field,
      `must be a name of letters, digits, single spaces and hyphens, such as Brand Sans, got "${shorten(family, 40)}"`,
    );
  const plain = plainFamily(family);
  if (families.has(plain)) return faults.add(field, `"${family}" stands there twice`);
  families.add(plain);
};

const checkFile = (address: unknown, field: string, isRequired: boolean, { faults }: WalkTools): void => {
  if (address === undefined) return isRequired ? faults.add(field, 'is required') : undefined;
  if (typeof address !== 'string' || assetAddress(address) !== address)
    faults.add(field, 'must be asset: and the id of a TTF or OTF font in the gallery, in lower case');
};

/** Enough to work with. */
const WARNINGS_MAX = 20;

const WITH_PLACEHOLDERS =
  'stands in the workbook as text, for what a variable brings never becomes part of a formula: name cells, as in =B{row}*2, or show a variable that is calculated';
const NOT_IN_TEXT =
  'stands in the workbook as text: formulas are contents and footers of tables, and cells of their rows';
const IN_PDF = 'stands in the PDF as it is written: only a workbook works formulas out';

const NO_FORMULA = 'is no formula that a program can read, so that Excel asks to repair the workbook:';
const OPEN_BRACKET = `${NO_FORMULA} a bracket is opened and not closed`;
const CLOSED_TOO_OFTEN = `${NO_FORMULA} a bracket is closed that was not opened`;
const OPEN_QUOTE = `${NO_FORMULA} a quotation mark is opened and not closed`;

/**
 * In: a checked template. Out: a warning for each cell of a table that begins with an equals sign but is not a formula
 * in each of the outputs, so that its text is shown.
 */
const formulaWarnings = ({ schema: { pages, outputFormats } }: AttachmentTemplateContent): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const look = (content: Json | undefined, field: string): void => {
    const message = typeof content === 'string' ? warningFor(content, outputFormats, tables) : undefined;
    if (message !== undefined && warnings.length < WARNINGS_MAX) warnings.push({ field, message });
  };
  const tables = new Set(pages.flatMap(({ sections }) => sections.flatMap(({ components }) => tableIdsOf(components))));
  const walk = (components: readonly DocumentComponent[], field: string): void => {
    for (const [at, { type, content = '', props = {}, children = [], elseChildren = [] }] of components.entries()) {
      const isFormula =
        type === 'rich-text' && outputFormats.includes('excel') && /^\s*(?:<p>\s*)?=[A-Z]+\(/.test(content);
      if (isFormula && warnings.length < WARNINGS_MAX)
        warnings.push({ field: `${field}[${at}].content`, message: NOT_IN_TEXT });
      if (type === 'table') lookAtTable(props, `${field}[${at}].props`, look);
      walk(children, `${field}[${at}].children`);
      walk(elseChildren, `${field}[${at}].elseChildren`);
    }
  };
  for (const [page, { sections }] of pages.entries())
    for (const [section, { components }] of sections.entries())
      walk(components, `schema.pages[${page}].sections[${section}].components`);
  return warnings;
};

const tableIdsOf = (components: readonly DocumentComponent[]): readonly string[] =>
  components.flatMap(({ id, type, children = [], elseChildren = [] }) => [
    ...(type === 'table' ? [id] : []),
    ...tableIdsOf([...children, ...elseChildren]),
  ]);

const warningFor = (
  content: string,
  outputs: readonly OutputFormat[],
  tables: ReadonlySet<string>,
): string | undefined => {
  if (!/^\s*=./.test(content)) return undefined;
  if (hasPlaceholder(content)) return outputs.includes('excel') ? WITH_PLACEHOLDERS : undefined;
  if (!outputs.includes('excel')) return undefined;
  return unreadable(content) ?? unknownTable(content, tables) ?? (outputs.includes('pdf') ? IN_PDF : undefined);
};

/** Finds the name of a table that the template does not have. */
const unknownTable = (formula: string, tables: ReadonlySet<string>): string | undefined => {
  for (const [whole, table = ''] of formula.matchAll(TABLE_COLUMN))
    if (!tables.has(table))
      return `holds ${shorten(whole)}, but no table of the template has the id "${shorten(table)}"`;
  return undefined;
};

/**
 * Finds what no program can read when it opens the workbook. Quoted parts are texts or names of sheets, and are not
 * looked at.
 */
const unreadable = (formula: string): string | undefined => {
  const bare = formula.replaceAll(/"[^"]*"|'[^']*'/g, '');
  const name = /\{([A-Za-z]+)\}/.exec(bare.replaceAll(/\{(?:row|first|last)\}/g, ''))?.[0];
  if (name !== undefined)
    return `holds ${shorten(name)}, which stands for nothing: there are {row}, {first} and {last}, and {lines.D} for column D of the table with the id lines`;
  if (/["']/.test(bare)) return OPEN_QUOTE;
  let open = 0;
  for (const [sign] of bare.matchAll(/[()]/g)) {
    open += sign === '(' ? 1 : -1;
    if (open < 0) return CLOSED_TOO_OFTEN;
  }
  return open > 0 ? OPEN_BRACKET : undefined;
};

type Look = (content: Json | undefined, field: string) => void;

const lookAtTable = ({ columns, rows }: NonNullable<DocumentComponent['props']>, field: string, look: Look): void => {
  const each = (list: Json | undefined, use: (one: Json, at: number) => void): void => {
    if (Array.isArray(list)) for (const [at, one] of (list as readonly Json[]).entries()) use(one, at);
  };
  each(columns, (column, at) => {
    if (!isJsonObject(column)) return;
    look(column['content'], `${field}.columns[${at}].content`);
    for (const name of ['footer', 'groupHeader', 'groupFooter']) look(column[name], `${field}.columns[${at}].${name}`);
  });
  each(rows, (row, at) =>
    each(row, (cell, place) => {
      const own = `${field}.rows[${at}][${place}]`;
      if (isJsonObject(cell)) look(cell['content'], `${own}.content`);
      else look(cell, own);
    }),
  );
};
