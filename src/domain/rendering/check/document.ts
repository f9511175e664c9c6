/** Checks an attachment template when it is saved: everything that is wrong with it, at once, each fault with its path. */
import { charsOf, isLonger, nameFault } from '../../../shared/text.js';
import { withoutNulls } from './nulls.js';
import { openBudget } from '../budget.js';
import type { FieldError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import { outputFormats, type AttachmentTemplateContent, type OutputFormat } from '../document-content.js';
import { addressWarnings } from './hints.js';
import { bareConstantWarnings } from './bare-constants.js';
import { checkFonts } from './fonts.js';
import { checkId, checkSections, refuseUnknown, type WalkTools } from './components.js';
import { isPlainObject, localeFault, timeZoneFault } from './format.js';
import { checkFallbacks, checkTranslations } from './translations.js';
import { checkVariables } from './variables.js';
import { checkStrictness, collectFaults, type Faults } from './faults.js';
import { formulaWarnings } from './formulas.js';
import { namesIn, refusedOutsideMargins } from './margins.js';
import { checkSettings, checkWord, watermarkWarnings } from './page-settings.js';
import { measureDocument } from './measure.js';
import { DEFAULT_LOCALE } from '../content.js';
import { mapDocumentTexts } from '../texts.js';
import { missingCharacterRules } from '../missing-characters.js';
import { documentMedia } from '../media.js';
import { withExpressions } from '../paths/expressions.js';
import { boundedNearest, checkPaths, type Nearest, type PathFindings } from '../paths/known.js';
import { partsOfDocument } from '../paths/walk.js';
import { shorten } from '../scope/path.js';
import { checkText } from '../props.js';

export const PAGE_NAME_CHARS_MAX = 200;
const known = ['variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/**
 * In: `{variables, schema: {outputFormats, pages}, locale?, timeZone?, strictVariables?, translations?}` as it came in, however hostile, and
 * the name of the template, which is that of its files. Out: the same as a checked content, what of its paths no variable declares, and what its
 * translations lack. Throws ERR_LIMIT_001 (pages of a PDF), 004 (sheets), 005 (columns), 008 (nesting) and 009 (number of components) at once,
 * TEMPLATE_INVALID with `errors` for all else.
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
    return checkPaths({ ...parts, texts: [['name', one.name], ...parts.texts] }, variables, limits.pathSegmentsMax, nearest);
  };
  const nearest = boundedNearest();
  const paths = withExpressions(pathsOf({ name, content }, nearest), variables, nearest);
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
        checkFallbacks(translated.content.variables, inLanguage);
      },
      paths: pathsOf,
    },
    tools,
  );
  faults.throwIfAny('TEMPLATE_INVALID', 'the attachment template');
  const whole = { ...content, ...(translations && { translations }) };
  return { content: whole, warnings: [...paths.warnings, ...shownWarnings(whole, limits), ...warnings] };
};

/** What the author of a checked template should know of what its documents show, in each of the languages that it has. */
export const shownWarnings = (content: AttachmentTemplateContent, { excelColumnsMax }: Limits): readonly FieldError[] => [
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

/** What stands beside variables and schema. */
const checkSettingsOfTemplate = (input: Readonly<Record<string, unknown>>, { faults }: WalkTools): void => {
  const { locale, timeZone, strictVariables } = input;
  for (const name of Object.keys(input))
    if (!known.includes(name)) faults.add(shorten(name), `is not known; known are ${known.join(', ')}`);
  const ofLocale = locale === undefined ? undefined : localeFault(locale);
  if (ofLocale !== undefined) faults.add('locale', ofLocale);
  const ofZone = timeZone === undefined ? undefined : timeZoneFault(timeZone);
  if (ofZone !== undefined) faults.add('timeZone', ofZone);
  checkStrictness(strictVariables, faults);
};

/** A template in one language, with the name of its files. */
type Named = Readonly<{ name: string; content: AttachmentTemplateContent }>;

const isOutputFormat = (value: unknown): value is OutputFormat => outputFormats.some((format) => format === value);

/** The formats as far as they are right; what is wrong with the others is said where the schema is checked. */
const formatsOf = (schema: unknown): readonly OutputFormat[] => {
  const given = isPlainObject(schema) ? schema['outputFormats'] : undefined;
  return Array.isArray(given) ? outputFormats.filter((format) => given.includes(format)) : [];
};

/** `margins` are the tools for headers and footers, where the number of the page is known. */
const checkSchema = (schema: unknown, tools: WalkTools, margins: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(schema))
    return faults.add('schema', schema === undefined ? 'is required' : 'must be an object with outputFormats and pages');
  refuseUnknown(schema, schemaFields, 'schema', tools);
  const { missingCharacters } = schema;
  if (missingCharacters !== undefined) checkWord(missingCharacters, missingCharacterRules, 'schema.missingCharacters', tools);
  if (schema['fonts'] !== undefined) checkFonts(schema['fonts'], tools);
  checkFormats(schema['outputFormats'], tools);
  const { pages } = schema;
  if (!Array.isArray(pages)) return faults.add('schema.pages', pages === undefined ? 'is required' : 'must be an array');
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
  if (formats.length > outputFormats.length) return faults.add(field, `has ${formats.length} formats, there are ${outputFormats.length}`);
  formats.forEach((format: unknown, at) => {
    if (!isOutputFormat(format)) faults.add(`${field}[${at}]`, `must be one of ${outputFormats.join(', ')}`);
    else if (formats.indexOf(format) < at) faults.add(`${field}[${at}]`, `"${format}" stands there twice`);
  });
};

const checkPageName = (name: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (typeof name !== 'string' || name.trim() === '') return faults.add(field, name === undefined ? 'is required' : 'must be text');
  if (isLonger(name, PAGE_NAME_CHARS_MAX))
    return faults.add(field, `has ${charsOf(name)} characters, the maximum is ${PAGE_NAME_CHARS_MAX}`);
  const fault = nameFault(name);
  if (fault !== undefined) faults.add(field, fault);
  checkText(name, field, tools);
};

/** What a page, and its settings, may have. */
export const pageFields = ['pageId', 'pageName', 'pageSettings', 'sections'] as const;
export const schemaFields = ['outputFormats', 'pages', 'missingCharacters', 'fonts'] as const;
