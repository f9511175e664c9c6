/** Checks an email template when it is saved: everything that is wrong with it, at once, each fault with its path. */
import type { Limits } from '../limits.js';
import { sectionTypes, type EmailTemplateContent } from '../template/schema.js';
import { isPlainObject, localeFault, timeZoneFault } from './check-format.js';
import { checkVariables } from './check-variables.js';
import { componentSpecs, emailProps, isComponentType, isSupported, sectionProps, supportMatrix, type ComponentSpec } from './components.js';
import { isOperator, isUnary } from './conditions.js';
import { collectFaults } from './faults.js';
import { shorten } from './path.js';
import { checkProps, checkText, type CheckTools } from './props.js';
import { measureTemplate } from './measure.js';

const ID_CHARS_MAX = 100;
const known = ['subject', 'variables', 'schema', 'locale', 'timeZone'];
const emailTypes = Object.entries(supportMatrix).flatMap(([type, { email }]) => (email === 'yes' ? [type] : []));

type Tools = CheckTools & Readonly<{ ids: Map<string, string> }>;

/**
 * In: `{subject, variables, schema, locale?, timeZone?}` as it came in, however hostile. Out: the same as a checked content.
 * Throws ERR_LIMIT_008 (nesting) and ERR_LIMIT_009 (number of components) at once, TEMPLATE_INVALID with `errors` for all else.
 */
export const checkEmailTemplate = (input: unknown, limits: Limits): { content: EmailTemplateContent } => {
  const faults = collectFaults();
  if (!isPlainObject(input)) {
    faults.add('', 'must be an object');
    faults.throwIfAny('TEMPLATE_INVALID', 'the template');
    throw new Error('unreachable: a fault was added');
  }
  const { schema, subject, locale, timeZone } = input;
  measureTemplate(schema, limits);
  const tools: Tools = { faults, limits, ids: new Map() };
  for (const name of Object.keys(input)) if (!known.includes(name)) faults.add(shorten(name), `is not known; known are ${known.join(', ')}`);
  checkSubject(subject, tools);
  const variables = checkVariables(input['variables'], tools);
  if (locale !== undefined) addIf(tools, 'locale', localeFault(locale));
  if (timeZone !== undefined) addIf(tools, 'timeZone', timeZoneFault(timeZone));
  checkSchema(schema, tools);
  faults.throwIfAny('TEMPLATE_INVALID', 'the template');
  return { content: { ...(input as EmailTemplateContent), variables } };
};

const addIf = ({ faults }: Tools, field: string, fault: string | undefined): void => {
  if (fault !== undefined) faults.add(field, fault);
};

const checkSubject = (subject: unknown, tools: Tools): void => {
  const { subjectCharsMax } = tools.limits;
  if (typeof subject !== 'string' || subject.trim() === '') return tools.faults.add('subject', 'is required');
  if (subject.length > subjectCharsMax) return tools.faults.add('subject', `has ${subject.length} characters, the maximum is ${subjectCharsMax}`);
  if (/[\r\n]/.test(subject)) tools.faults.add('subject', 'must be a single line');
  checkText(subject, 'subject', tools);
};

const checkSchema = (schema: unknown, tools: Tools): void => {
  const { faults } = tools;
  if (!isPlainObject(schema)) return faults.add('schema', schema === undefined ? 'is required' : 'must be an object with sections');
  refuseUnknown(schema, ['sections', 'props'], 'schema', tools);
  checkProps(schema['props'], emailProps, 'schema.props', tools);
  const { sections } = schema;
  if (!Array.isArray(sections)) return faults.add('schema.sections', sections === undefined ? 'is required' : 'must be an array');
  if (sections.length === 0) faults.add('schema.sections', 'must hold at least one section');
  sections.forEach((section, at) => checkSection(section, `schema.sections[${at}]`, tools));
};

const checkSection = (section: unknown, field: string, tools: Tools): void => {
  const { faults } = tools;
  if (!isPlainObject(section)) return faults.add(field, 'must be an object');
  refuseUnknown(section, ['id', 'type', 'props', 'components'], field, tools);
  checkId(section['id'], field, tools);
  if (!sectionTypes.some((type) => type === section['type'])) faults.add(`${field}.type`, `must be one of ${sectionTypes.join(', ')}`);
  checkProps(section['props'], sectionProps, `${field}.props`, tools);
  checkChildren(section['components'], `${field}.components`, tools);
};

const checkChildren = (children: unknown, field: string, tools: Tools): void => {
  if (!Array.isArray(children)) return tools.faults.add(field, children === undefined ? 'is required' : 'must be an array of components');
  children.forEach((child, at) => checkComponent(child, `${field}[${at}]`, tools));
};

/** Ids are unique in the whole template, those of sections included. */
const checkId = (id: unknown, field: string, { faults, ids }: Tools): void => {
  if (typeof id !== 'string' || id === '' || id.length > ID_CHARS_MAX) return faults.add(`${field}.id`, `must be text of 1 to ${ID_CHARS_MAX} characters`);
  const first = ids.get(id);
  if (first === undefined) ids.set(id, field);
  else faults.add(`${field}.id`, `"${shorten(id)}" is already taken by ${first}`);
};

const checkComponent = (component: unknown, field: string, tools: Tools): void => {
  const { faults } = tools;
  if (!isPlainObject(component)) return faults.add(field, 'must be an object');
  const { id, type } = component;
  checkId(id, field, tools);
  if (!isComponentType(type)) return faults.add(`${field}.type`, `${typeof type === 'string' ? `"${shorten(type)}" ` : ''}is not a component; components of an email are ${emailTypes.join(', ')}`);
  if (!isSupported(type, 'email')) {
    const reason = supportMatrix[type].email === 'later' ? 'is not available in emails in this version' : 'does not exist in emails, only in attachments';
    return faults.add(`${field}.type`, `"${type}" ${reason}`);
  }
  const spec = componentSpecs[type];
  refuseUnknown(component, ['id', 'type', 'content', 'props', 'children', 'elseChildren'], field, tools);
  checkContent(component['content'], spec, `${field}.content`, tools);
  checkProps(component['props'], spec.props, `${field}.props`, tools);
  checkFamily(component, spec, field, tools);
  const props = isPlainObject(component['props']) ? component['props'] : {};
  if (type === 'conditional' && isOperator(props['operator']) && !isUnary(props['operator']) && props['value'] === undefined) {
    faults.add(`${field}.props.value`, `is required by the operator ${props['operator']}`);
  }
  if (type === 'table') checkTable(props, `${field}.props`, tools);
};

const checkContent = (content: unknown, spec: ComponentSpec, field: string, tools: Tools): void => {
  if (spec.content === 'none') {
    if (content !== undefined) tools.faults.add(field, 'is not part of this component');
  } else if (typeof content !== 'string' || content === '') {
    tools.faults.add(field, content === undefined || content === '' ? 'is required' : 'must be text');
  } else {
    checkText(content, field, tools);
  }
};

const checkFamily = (component: Readonly<Record<string, unknown>>, spec: ComponentSpec, field: string, tools: Tools): void => {
  const { children, elseChildren } = component;
  if (spec.children === 'none') {
    if (children !== undefined) tools.faults.add(`${field}.children`, 'are not part of this component');
  } else {
    checkChildren(children, `${field}.children`, tools);
    if (spec.children === 'atLeastOne' && Array.isArray(children) && children.length === 0) tools.faults.add(`${field}.children`, 'must hold at least one component');
  }
  if (elseChildren === undefined) return;
  if (spec.elseChildren === true) checkChildren(elseChildren, `${field}.elseChildren`, tools);
  else tools.faults.add(`${field}.elseChildren`, 'are not part of this component');
};

/** Either rows are written out, or a data source gives one row per item and the columns say what stands in it. */
const checkTable = (props: Readonly<Record<string, unknown>>, field: string, { faults }: Tools): void => {
  const { dataSource, rows, columns } = props;
  if (dataSource === undefined && rows === undefined) return faults.add(`${field}.dataSource`, 'is required where there are no rows');
  if (dataSource !== undefined && rows !== undefined) return faults.add(`${field}.rows`, 'cannot stand beside dataSource: give one of the two');
  if (dataSource === undefined) return;
  if (columns === undefined) return faults.add(`${field}.columns`, 'is required beside dataSource');
  if (!Array.isArray(columns)) return;
  columns.forEach((column, at) => {
    if (isPlainObject(column) && column['content'] === undefined) faults.add(`${field}.columns[${at}].content`, 'is required beside dataSource');
  });
};

const refuseUnknown = (node: Readonly<Record<string, unknown>>, names: readonly string[], field: string, { faults }: Tools): void => {
  for (const name of Object.keys(node)) {
    if (!names.includes(name)) faults.add(`${field}.${shorten(name)}`, `is not known; known are ${names.join(', ')}`);
  }
};
