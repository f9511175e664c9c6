/**
 * Checks a block when it is saved: everything that is wrong with it, at once, each fault with its path; and finds the
 * outputs that can show it.
 */
import { DomainError, type FieldError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { openBudget } from '../budget.js';
import { emailProps, sectionProps, type Output } from '../components.js';
import type { BlockContent } from '../content.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { mapBlockTexts } from '../languages.js';
import { documentMedia, mailMediaWith } from '../lengths.js';
import { linkRulesOf } from '../addresses.js';
import { boundedNearest, checkPaths, type Nearest } from '../paths/check.js';
import { partsOfBlock } from '../paths/walk.js';
import { checkProps } from '../props.js';
import { isPlainObject, localeFault } from './format.js';
import {
  checkComponents,
  checkId,
  checkSection,
  childrenOf,
  measureTemplate,
  refuseUnknown,
  type WalkTools,
} from './components.js';
import { collectFaults, withoutNulls, type Faults } from './faults.js';
import { addressWarnings, bareConstantWarnings } from './hints.js';
import { checkTranslations, checkVariableTexts } from './translations.js';
import { checkVariables } from './variables.js';

const outputs: readonly Output[] = ['email', 'pdf', 'excel'];

const WHAT = 'the block';

/** A checked block. `outputs`: those that can show all of its components. */
export type CheckedBlock = Readonly<{
  content: BlockContent;
  outputs: readonly Output[];
  warnings: readonly FieldError[];
}>;

/**
 * In: `{variables, schema, locale, translations?}` as it came in, however hostile. Out: the same as a checked content.
 * Throws ERR_LIMIT_008 (nesting) and ERR_LIMIT_009 (number of components) at once, TEMPLATE_INVALID with `errors` for
 * all else: also where no output can show the block; the faults are then those of the output with the fewest.
 */
export const checkBlock = (input: unknown, limits: Limits): CheckedBlock => {
  const faults = collectFaults();
  if (!isPlainObject(input)) throw new Error('the body of a block was checked to be an object');
  measureTemplate({ ...input, schema: { sections: sectionsIn(input['schema']) } }, limits);
  const schema = withoutNulls(input['schema'], limits.jsonDepthMax);
  const common = toolsFor('email', schema, limits, faults);
  const variables = checkVariables(withoutNulls(input['variables'], limits.jsonDepthMax), common);
  refuseCalculated(variables as unknown as Json, 'variables', faults);
  const locale = localeFault(input['locale']);
  if (locale !== undefined) faults.add('locale', locale);
  faults.throwIfAny('TEMPLATE_INVALID', WHAT);
  const shownIn = outputsFor(schema, limits);
  const content: BlockContent = {
    variables,
    schema: schema as BlockContent['schema'],
    locale: String(input['locale']),
  };
  const pathsOf = (one: BlockContent, nearest: Nearest) =>
    checkPaths(partsOfBlock(one), variables, limits.pathSegmentsMax, nearest, true);
  const paths = pathsOf(content, boundedNearest());
  for (const { field, message } of paths.faults) faults.add(field, message);
  faults.throwIfAny('TEMPLATE_INVALID', WHAT);
  const { translations, warnings } = checkTranslations(
    { given: input['translations'], locale: content.locale, paths },
    {
      mapped: (map) => mapBlockTexts(content, map),
      check: (translated, { faults: inLanguage, budget }) => {
        for (const output of shownIn)
          checkSchema(translated.schema, {
            ...toolsFor(output, translated.schema, limits, inLanguage),
            budget: output === shownIn[0] ? budget : openBudget(limits),
          });
        checkVariableTexts(translated.variables, { ...common, faults: inLanguage });
      },
      paths: pathsOf,
    },
    common,
  );
  faults.throwIfAny('TEMPLATE_INVALID', WHAT);
  const whole: BlockContent = { ...content, ...(translations && { translations }) };
  const { media } = toolsFor(shownIn[0] ?? 'email', schema, limits, faults);
  return {
    content: whole,
    outputs: shownIn,
    warnings: [...paths.warnings, ...addressWarnings(whole, media), ...bareConstantWarnings(whole), ...warnings],
  };
};

/**
 * The faults of a checked block in one output, each with its place in the block. In a template of several outputs each
 * of them must be able to show it.
 */
export const blockFaults = (
  { schema }: Pick<BlockContent, 'schema'>,
  output: Output,
  limits: Limits,
): readonly FieldError[] => {
  const faults = collectFaults();
  try {
    checkSchema(schema, toolsFor(output, schema, limits, faults));
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return [{ field: 'schema', message: fault.message }];
  }
  return faults.list();
};

const outputsFor = (schema: unknown, limits: Limits): readonly Output[] => {
  const tried = outputs.map((output) => {
    const faults = collectFaults();
    checkSchema(schema, toolsFor(output, schema, limits, faults));
    return { output, faults };
  });
  const shown = tried.filter(({ faults }) => faults.count() === 0);
  if (shown.length === 0) {
    const fewest = tried.reduce((least, one) => (one.faults.count() < least.faults.count() ? one : least));
    fewest.faults.throwIfAny('TEMPLATE_INVALID', WHAT);
  }
  return shown.map(({ output }) => output);
};

const toolsFor = (output: Output, schema: unknown, limits: Limits, faults: Faults): WalkTools => {
  const props = isPlainObject(schema) ? schema['props'] : undefined;
  return {
    faults,
    limits,
    budget: openBudget(limits),
    media:
      output === 'email'
        ? mailMediaWith(linkRulesOf(isPlainObject(props) ? (props as JsonObject) : undefined))
        : documentMedia(limits.excelColumnsMax),
    ids: new Map(),
    outputs: [output],
  };
};

/** Sections in which everything that a block holds is measured. */
const sectionsIn = (schema: unknown): readonly unknown[] =>
  isPlainObject(schema) && schema['components'] !== undefined
    ? [{ components: schema['components'] }]
    : childrenOf(schema, ['sections']);

const checkSchema = (schema: unknown, tools: WalkTools): void => {
  const { faults } = tools;
  const expected = 'must be an object with components, or with the sections of a layout';
  if (!isPlainObject(schema)) return faults.add('schema', schema === undefined ? 'is required' : expected);
  const { components, sections } = schema;
  if (components === undefined && sections === undefined) return faults.add('schema', expected);
  if (components !== undefined) {
    refuseUnknown(schema, ['components'], 'schema', tools);
    if (Array.isArray(components) && components.length === 0)
      faults.add('schema.components', 'must hold at least one component');
    return checkComponents(components, 'schema.components', tools);
  }
  refuseUnknown(schema, ['sections', 'props'], 'schema', tools);
  checkLayout(schema, tools);
};

/** A layout holds sections of which exactly one is the slot, and its settings are literal. */
const checkLayout = (schema: Readonly<Record<string, unknown>>, tools: WalkTools): void => {
  const { faults, outputs: shown } = tools;
  const { sections, props } = schema;
  if (!Array.isArray(sections)) return faults.add('schema.sections', 'must be an array');
  if (props !== undefined && !shown.includes('email'))
    faults.add('schema.props', 'are settings of an email, which documents do not have');
  checkProps(props, emailProps, 'schema.props', tools);
  refusePlaceholders(props, Object.keys(emailProps), 'schema.props', tools);
  const slots: number[] = [];
  for (const [at, section] of (sections as readonly unknown[]).entries()) {
    const field = `schema.sections[${at}]`;
    if (isPlainObject(section) && section['type'] === 'slot') {
      slots.push(at);
      refuseUnknown(section, ['id', 'type'], field, tools);
      checkId(section['id'], field, tools);
      continue;
    }
    checkSection(section, field, tools);
    if (isPlainObject(section))
      refusePlaceholders(section['props'], Object.keys(sectionProps), `${field}.props`, tools);
  }
  if (slots.length === 0)
    faults.add(
      'schema.sections',
      'hold no section of the type "slot", in whose place the sections of a template stand; a block without a slot has components in place of sections',
    );
  for (const at of slots.slice(1))
    faults.add(`schema.sections[${at}]`, 'is a second slot: a layout has one, in whose place all sections stand');
};

const refusePlaceholders = (props: unknown, names: readonly string[], field: string, { faults }: WalkTools): void => {
  if (!isPlainObject(props)) return;
  for (const name of names) {
    const value = props[name];
    if (typeof value === 'string' && hasPlaceholder(value))
      faults.add(`${field}.${name}`, 'cannot hold {{…}} in a layout: variables of a layout are read in its components');
  }
};

/** A block calculates nothing: its template calculates a value and hands it over. */
const refuseCalculated = (value: Json | undefined, field: string, faults: Faults): void => {
  if (Array.isArray(value))
    (value as readonly Json[]).forEach((one, at) => refuseCalculated(one, `${field}[${at}]`, faults));
  else if (typeof value === 'object' && value !== null) {
    const node = value as JsonObject;
    if (node['isCalculated'] === true)
      faults.add(
        `${field}.isCalculated`,
        'is not for variables of a block: calculate the value in the template, and hand it over where the block is included',
      );
    for (const name of ['schema', 'properties', 'itemSchema'])
      if (node[name] !== undefined) refuseCalculated(node[name], `${field}.${name}`, faults);
    if (field.endsWith('.properties'))
      for (const [name, member] of Object.entries(node)) refuseCalculated(member, `${field}.${name}`, faults);
  }
};
