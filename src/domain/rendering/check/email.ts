/** Checks an email template when it is saved: everything that is wrong with it, at once, each fault with its path. */
import { openBudget } from '../budget.js';
import { charsOf, holdsControls, isLonger } from '../../../shared/text.js';
import type { Limits } from '../../core/limits.js';
import type { FieldError } from '../../core/errors.js';
import { DEFAULT_LOCALE, type EmailTemplateContent } from '../content.js';
import { addressWarnings } from './hints.js';
import { bareConstantWarnings } from './bare-constants.js';
import { checkSections, refuseUnknown, type WalkTools } from './components.js';
import { isPlainObject, localeFault, timeZoneFault } from './format.js';
import { checkVariables } from './variables.js';
import { checkFallbacks, checkTranslations } from './translations.js';
import { emailProps } from '../components.js';
import { checkStrictness, collectFaults } from './faults.js';
import { measureTemplate } from './measure.js';
import { withoutNulls } from './nulls.js';
import { pictureSideWarnings } from './picture-sides.js';
import { mapEmailTexts } from '../texts.js';
import type { Translations } from '../translations.js';
import { mailMedia } from '../media.js';
import { withExpressions } from '../paths/expressions.js';
import { boundedNearest, checkPaths, type Nearest } from '../paths/known.js';
import { partsOfEmail } from '../paths/walk.js';
import { shorten } from '../scope/path.js';
import { checkProps, checkText } from '../props.js';

const known = ['subject', 'variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/**
 * In: `{subject, variables, schema, locale?, timeZone?, strictVariables?, translations?}` as it came in, however hostile. Out: the same as a
 * checked content, what of its paths no variable declares, and what its translations lack.
 * Throws ERR_LIMIT_008 (nesting) and ERR_LIMIT_009 (number of components) at once, TEMPLATE_INVALID with `errors` for all else.
 */
export const checkEmailTemplate = (input: unknown, limits: Limits): { content: EmailTemplateContent; warnings: readonly FieldError[] } => {
  const faults = collectFaults();
  if (!isPlainObject(input)) {
    faults.add('', 'must be an object');
    faults.throwIfAny('TEMPLATE_INVALID', 'the template');
    throw new Error('unreachable: a fault was added');
  }
  const { subject, locale, timeZone, strictVariables } = input;
  measureTemplate(input, limits);
  const schema = withoutNulls(input['schema'], limits.jsonDepthMax);
  const tools: WalkTools = { faults, limits, budget: openBudget(limits), media: mailMedia, ids: new Map(), outputs: ['email'] };
  for (const name of Object.keys(input))
    if (!known.includes(name)) faults.add(shorten(name), `is not known; known are ${known.join(', ')}`);
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
    checkPaths(partsOfEmail(one), variables, limits.pathSegmentsMax, nearest);
  const nearest = boundedNearest();
  const paths = withExpressions(pathsOf(content, nearest), variables, nearest);
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
        checkFallbacks(translated.variables, inLanguage);
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

/** What the author of a checked template should know of what its mails show, in each of the languages that it has. */
export const mailWarnings = (
  content: Pick<EmailTemplateContent, 'subject' | 'schema'> & Readonly<{ translations?: Translations | undefined }>,
): readonly FieldError[] => [...addressWarnings(content, mailMedia), ...pictureSideWarnings(content), ...bareConstantWarnings(content)];

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
  if (!isPlainObject(schema)) return faults.add('schema', schema === undefined ? 'is required' : 'must be an object with sections');
  refuseUnknown(schema, ['sections', 'props'], 'schema', tools);
  checkProps(schema['props'], emailProps, 'schema.props', tools);
  checkSections(schema['sections'], 'schema.sections', tools);
};
