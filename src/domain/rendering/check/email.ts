/** Checks an email template when it is saved: everything that is wrong with it, at once, each fault with its path. */
import type { FieldError } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { addressesIn, completedStart, isSettled, linkRulesOf, safeImage, type LinkRules } from '../addresses.js';
import { shorten } from '../scope/path.js';
import { visitTexts, type Texts, addressWarnings, bareConstantWarnings } from './hints.js';
import { openBudget } from '../budget.js';
import { charsOf, holdsControls, isLonger } from '../../../shared/text.js';
import type { Limits } from '../../core/limits.js';
import { DEFAULT_LOCALE, type EmailTemplateContent } from '../content.js';
import { checkSections, refuseUnknown, type WalkTools, measureTemplate } from './components.js';
import { isPlainObject, localeFault, timeZoneFault } from './format.js';
import { checkVariables } from './variables.js';
import { checkVariableTexts, checkTranslations } from './translations.js';
import { emailProps, layoutProps } from '../components.js';
import { checkStrictness, collectFaults, withoutNulls } from './faults.js';
import { mapEmailTexts } from '../languages.js';
import type { Translations } from '../translations.js';
import { mailMediaWith } from '../lengths.js';
import { withExpressions, boundedNearest, checkPaths, type Nearest } from '../paths/check.js';
import { partsOfEmail } from '../paths/walk.js';
import { checkProps, checkText } from '../props.js';

const knownFields = ['subject', 'variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/**
 * In: `{subject, variables, schema, locale?, timeZone?, strictVariables?, translations?}` as it came in, however
 * hostile. Out: the same as a checked content, what of its paths no variable declares, and what its translations lack.
 * Throws ERR_LIMIT_008 (nesting) and ERR_LIMIT_009 (number of components) at once, TEMPLATE_INVALID with `errors` for
 * all else.
 */
export const checkEmailTemplate = (
  input: unknown,
  limits: Limits,
): { content: EmailTemplateContent; warnings: readonly FieldError[] } => {
  const faults = collectFaults();
  if (!isPlainObject(input)) {
    faults.add('', 'must be an object');
    faults.throwIfAny('TEMPLATE_INVALID', 'the template');
    throw new Error('unreachable: a fault was added');
  }
  const { subject, locale, timeZone, strictVariables } = input;
  measureTemplate(input, limits);
  const schema = withoutNulls(input['schema'], limits.jsonDepthMax);
  const tools: WalkTools = {
    faults,
    limits,
    budget: openBudget(limits),
    media: mailMediaWith(rulesOf(schema)),
    ids: new Map(),
    outputs: ['email'],
  };
  for (const name of Object.keys(input))
    if (!knownFields.includes(name)) faults.add(shorten(name), `is not known; known are ${knownFields.join(', ')}`);
  checkSubject(subject, tools);
  const variables = checkVariables(withoutNulls(input['variables'], limits.jsonDepthMax), tools);
  if (locale !== undefined) addIf(tools, 'locale', localeFault(locale));
  if (timeZone !== undefined) addIf(tools, 'timeZone', timeZoneFault(timeZone));
  checkStrictness(strictVariables, faults);
  checkSchema(schema, tools);
  faults.throwIfAny('TEMPLATE_INVALID', 'the template');
  const { translations: given, ...own } = input;
  const content: EmailTemplateContent = {
    ...(own as EmailTemplateContent),
    schema: schema as EmailTemplateContent['schema'],
    variables,
  };
  const pathsOf = (one: EmailTemplateContent, nearest: Nearest) =>
    withExpressions(checkPaths(partsOfEmail(one), variables, limits.pathSegmentsMax, nearest), one.variables, nearest);
  const nearest = boundedNearest();
  const paths = pathsOf(content, nearest);
  for (const { field, message } of paths.faults) faults.add(field, message);
  faults.throwIfAny('TEMPLATE_INVALID', 'the template');
  const { translations, warnings } = checkTranslations(
    { given, locale: content.locale ?? DEFAULT_LOCALE, paths },
    {
      mapped: (map) => mapEmailTexts(content, map),
      check: (translated, inLanguage) => {
        measureTemplate(translated, limits);
        checkSubject(translated.subject, inLanguage);
        checkSchema(translated.schema, inLanguage);
        checkVariableTexts(translated.variables, inLanguage);
      },
      paths: pathsOf,
    },
    tools,
  );
  faults.throwIfAny('TEMPLATE_INVALID', 'the template');
  return {
    content: { ...content, ...(translations && { translations }) },
    warnings: [...paths.warnings, ...mailWarnings({ ...content, translations }), ...warnings],
  };
};

/** Warnings about what the mails of a checked template show, in each of the languages that it has. */
export const mailWarnings = (
  content: Pick<EmailTemplateContent, 'subject' | 'schema'> & Readonly<{ translations?: Translations | undefined }>,
): readonly FieldError[] => {
  const rules = rulesOf(content.schema);
  return [
    ...addressWarnings(content, mailMediaWith(rules)),
    ...pictureSideWarnings(content, rules),
    ...bareConstantWarnings(content),
  ];
};

const rulesOf = (schema: unknown): LinkRules => {
  const props = isPlainObject(schema) ? schema['props'] : undefined;
  return linkRulesOf(isPlainObject(props) ? props : undefined);
};

const addIf = ({ faults }: WalkTools, field: string, fault: string | undefined): void => {
  if (fault !== undefined) faults.add(field, fault);
};

const checkSubject = (subject: unknown, tools: WalkTools): void => {
  const { subjectCharsMax } = tools.limits;
  if (typeof subject !== 'string' || subject.trim() === '') return tools.faults.add('subject', 'is required');
  if (isLonger(subject, subjectCharsMax))
    return tools.faults.add('subject', `has ${charsOf(subject)} characters, the maximum is ${subjectCharsMax}`);
  if (holdsControls(subject)) tools.faults.add('subject', 'must be a single line');
  checkText(subject, 'subject', tools);
};

const checkSchema = (schema: unknown, tools: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(schema))
    return faults.add('schema', schema === undefined ? 'is required' : 'must be an object with sections');
  refuseUnknown(schema, ['sections', 'props', 'layout'], 'schema', tools);
  if (schema['layout'] !== undefined) checkProps(schema['layout'], layoutProps, 'schema.layout', tools);
  checkProps(schema['props'], emailProps, 'schema.props', tools);
  checkSections(schema['sections'], 'schema.sections', tools);
};

/** Enough to work with. */
const WARNINGS_MAX = 20;
const CHARS_SHOWN = 60;

/**
 * In: a checked email template with its translations. Out: a warning for each picture of another server that is shown
 * without both sides: nobody knows its size until the reader fetches it. A picture whose address a variable brings may
 * be of the gallery, so it is not warned of.
 */
const pictureSideWarnings = (template: Texts, rules: LinkRules): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const add = (field: string, address: string): void => {
    if (warnings.length < WARNINGS_MAX && isRemote(address, rules))
      warnings.push({ field, message: messageFor(address) });
  };
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('<')) return;
    for (const { tag, address, isSized } of addressesIn(text)) if (tag === 'img' && !isSized) add(field, address);
  };
  visitImages(template.schema as Json, 'schema', ({ src, width, height }, field) => {
    if (typeof src === 'string' && !(isSide(width) && isSide(height))) add(`${field}.src`, src);
  });
  visitTexts(template, look);
  return warnings.slice(0, WARNINGS_MAX);
};

const messageFor = (address: string): string =>
  `shows the picture "${shorten(address, CHARS_SHOWN)}" of another server without its width and height, so that what is below it moves when it comes: give both, or put it into the gallery, where its size is known`;

/** True where the address is one of another server whatever its values are. */
const isRemote = (address: string, rules: LinkRules): boolean => {
  const at = address.indexOf('{{');
  return at < 0
    ? /^https?:/i.test(safeImage(address, rules) ?? '')
    : isSettled(completedStart(address.slice(0, at), rules), 'image');
};

const isSide = (value: Json | undefined): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');

/** Calls `visit` with the props of each image, and their place. */
const visitImages = (
  value: Json | undefined,
  field: string,
  visit: (props: JsonObject, field: string) => void,
): void => {
  if (Array.isArray(value))
    (value as readonly Json[]).forEach((item, at) => visitImages(item, `${field}[${at}]`, visit));
  if (!isJsonObject(value)) return;
  const { type, props } = value;
  if (type === 'image' && isJsonObject(props)) visit(props, `${field}.props`);
  for (const [name, member] of Object.entries(value)) visitImages(member, `${field}.${name}`, visit);
};
