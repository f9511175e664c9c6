/** Checks sections and their components: one walk for mails and documents, which differ in the components and the units they know. */
import { isLonger } from '../../../shared/text.js';
import { sectionTypes } from '../content.js';
import { isPlainObject } from './format.js';
import {
  componentSpecs,
  isComponentType,
  isSupported,
  sectionProps,
  supportMatrix,
  type ComponentSpec,
  type ComponentType,
  type Output,
} from '../components.js';
import { isOperator, isUnary } from '../scope/conditions.js';
import { shorten } from '../scope/path.js';
import { spendElements, spendModules } from '../budget.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { checkProps, checkText, errorCorrections, type CheckTools } from '../props.js';
import { barModules, codeKinds, isBarKind } from '../codes.js';
import { qrModules } from '../qr-code.js';
import { checkCode } from './codes.js';

export const ID_CHARS_MAX = 100;
/** What a section and a component may have. */
export const sectionFields = ['id', 'type', 'props', 'components'] as const;
export const componentFields = ['id', 'type', 'content', 'props', 'children', 'elseChildren'] as const;

export type WalkTools = CheckTools &
  Readonly<{
    /** Where each id was first seen: they are unique in the whole template, those of sections included. */
    ids: Map<string, string>;
    /** What the template is made for: each of its components must exist in all of them. */
    outputs: readonly Output[];
  }>;

/** In: what stands under `sections`, however hostile; nesting was measured before. Adds what is wrong to the faults, each with its path. */
export const checkSections = (sections: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (!Array.isArray(sections)) return faults.add(field, sections === undefined ? 'is required' : 'must be an array');
  if (sections.length === 0) faults.add(field, 'must hold at least one section');
  for (const [at, section] of (sections as readonly unknown[]).entries()) {
    if (faults.isFull()) return;
    checkSection(section, `${field}[${at}]`, tools);
  }
};

const checkSection = (section: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(section)) return faults.add(field, 'must be an object');
  refuseUnknown(section, sectionFields, field, tools);
  checkId(section['id'], field, tools);
  if (!sectionTypes.some((type) => type === section['type'])) faults.add(`${field}.type`, `must be one of ${sectionTypes.join(', ')}`);
  checkProps(section['props'], sectionProps, `${field}.props`, tools);
  checkChildren(section['components'], `${field}.components`, tools);
};

const checkChildren = (children: unknown, field: string, tools: WalkTools): void => {
  if (!Array.isArray(children)) return tools.faults.add(field, children === undefined ? 'is required' : 'must be an array of components');
  children.forEach((child, at) => checkComponent(child, `${field}[${at}]`, tools));
};

/** `field` is that of what has the id. */
export const checkId = (id: unknown, field: string, { faults, ids }: WalkTools, name = 'id'): void => {
  if (typeof id !== 'string' || id === '' || isLonger(id, ID_CHARS_MAX))
    return faults.add(
      `${field}.${name}`,
      `${id === undefined ? 'is required: it' : ''} must be text of 1 to ${ID_CHARS_MAX} characters`.trim(),
    );
  const first = ids.get(id);
  if (first === undefined) ids.set(id, field);
  else faults.add(`${field}.${name}`, `"${shorten(id)}" is already taken by ${first}`);
};

const checkComponent = (component: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(component)) return faults.add(field, 'must be an object');
  const { id, type } = component;
  checkId(id, field, tools);
  if (!isComponentType(type))
    return faults.add(
      `${field}.type`,
      `${typeof type === 'string' ? `"${shorten(type)}" ` : ''}is not a component${meantBy(type)}; ${knownIn(tools)}`,
    );
  const missing = missingIn(type, tools.outputs);
  if (missing !== undefined) return faults.add(`${field}.type`, `"${type}" ${missing}`);
  const spec = componentSpecs[type];
  refuseUnknown(component, componentFields, field, tools);
  checkContent(component['content'], spec, `${field}.content`, tools);
  checkProps(component['props'], spec.props, `${field}.props`, tools);
  checkFamily(component, spec, field, tools);
  const props = isPlainObject(component['props']) ? component['props'] : {};
  if (type === 'conditional' && isOperator(props['operator']) && !isUnary(props['operator']) && props['value'] === undefined) {
    faults.add(`${field}.props.value`, `is required by the operator ${props['operator']}`);
  }
  if (type === 'table') checkTable(props, `${field}.props`, tools);
  if (tools.outputs.includes('email')) spendFixed(type, props, tools);
  if (type === 'timeline') checkTimeline(props, `${field}.props`, tools);
  if (type === 'qr-code') checkCode(props, `${field}.props`, tools);
};

/** What a component of a mail costs beside its HTML, where that stands in the template itself. */
const spendFixed = (
  type: ComponentType,
  { kind, rows, value, errorCorrection }: Readonly<Record<string, unknown>>,
  { budget }: WalkTools,
): void => {
  if (type === 'table' && Array.isArray(rows))
    for (const row of rows as readonly unknown[]) spendElements(budget, Array.isArray(row) ? row.length : 1);
  if (type !== 'qr-code' || typeof value !== 'string' || hasPlaceholder(value)) return;
  const code = codeKinds.find((known) => known === kind) ?? 'qr';
  if (isBarKind(code)) return spendModules(budget, barModules(code, value));
  spendModules(budget, qrModules(value, errorCorrections.find((level) => level === errorCorrection) ?? 'M'));
};

const knownIn = ({ outputs }: WalkTools): string => {
  const names = Object.keys(supportMatrix).filter((type) => isComponentType(type) && missingIn(type, outputs) === undefined);
  return `components of ${outputs.includes('email') ? 'an email' : `a ${outputs.join(' and ')} document`} are ${names.join(', ')}`;
};

/** What other programs call these things. */
const otherNames: Readonly<Record<string, string>> = {
  text: 'use rich-text',
  heading: 'use rich-text, whose content may hold <h1>',
  title: 'use rich-text, whose content may hold <h1>',
  paragraph: 'use rich-text',
  html: 'use html-fragment, or rich-text',
  link: 'use button, or a link in rich-text',
  picture: 'use image',
  logo: 'use image',
  line: 'use divider',
  row: 'use columns',
  box: 'use container',
  if: 'use conditional',
  each: 'use loop',
  barcode: 'use qr-code with kind',
  'page-break': 'a PDF breaks where a component has the prop pageBreak',
};

const meantBy = (type: unknown): string =>
  typeof type === 'string' && Object.hasOwn(otherNames, type.toLowerCase()) ? `: ${otherNames[type.toLowerCase()]}` : '';

/** Why the component cannot stand there; undefined where all outputs have it. */
const missingIn = (type: ComponentType, outputs: readonly Output[]): string | undefined => {
  for (const output of outputs) {
    if (isSupported(type, output)) continue;
    if (output === 'email') return 'does not exist in emails, only in attachments';
    return `does not exist in ${output}, which is one of outputFormats: take the component or the format out`;
  }
  return undefined;
};

const checkContent = (content: unknown, spec: ComponentSpec, field: string, tools: WalkTools): void => {
  if (spec.content === 'none') {
    if (content !== undefined) tools.faults.add(field, 'is not part of this component');
  } else if (typeof content !== 'string' || content === '') {
    tools.faults.add(field, content === undefined || content === '' ? 'is required' : 'must be text');
  } else {
    checkText(content, field, tools);
  }
};

const checkFamily = (component: Readonly<Record<string, unknown>>, spec: ComponentSpec, field: string, tools: WalkTools): void => {
  const { children, elseChildren } = component;
  if (spec.children === 'none') {
    if (children !== undefined) tools.faults.add(`${field}.children`, 'are not part of this component');
  } else {
    checkChildren(children, `${field}.children`, tools);
    if (spec.children === 'atLeastOne' && Array.isArray(children) && children.length === 0)
      tools.faults.add(`${field}.children`, 'must hold at least one component');
  }
  if (elseChildren === undefined) return;
  if (spec.elseChildren === true) checkChildren(elseChildren, `${field}.elseChildren`, tools);
  else tools.faults.add(`${field}.elseChildren`, 'are not part of this component');
};

/** Either items are written out, or a data source gives one per item and the props say what stands in it. */
const checkTimeline = (props: Readonly<Record<string, unknown>>, field: string, { faults }: WalkTools): void => {
  const { dataSource, items, title } = props;
  if (dataSource === undefined && items === undefined) faults.add(`${field}.dataSource`, 'is required where there are no items');
  if (dataSource !== undefined && items !== undefined) faults.add(`${field}.items`, 'cannot stand beside dataSource: give one of the two');
  if (dataSource !== undefined && title === undefined) faults.add(`${field}.title`, 'is required beside dataSource');
};

/** Either rows are written out, or a data source gives one row per item and the columns say what stands in it. */
const checkTable = (props: Readonly<Record<string, unknown>>, field: string, { faults }: WalkTools): void => {
  const { dataSource, rows, columns } = props;
  if (dataSource === undefined && rows === undefined) return faults.add(`${field}.dataSource`, 'is required where there are no rows');
  if (dataSource !== undefined && rows !== undefined)
    return faults.add(`${field}.rows`, 'cannot stand beside dataSource: give one of the two');
  if (dataSource === undefined) return;
  if (columns === undefined) return faults.add(`${field}.columns`, 'is required beside dataSource');
  if (!Array.isArray(columns)) return;
  columns.forEach((column, at) => {
    if (isPlainObject(column) && column['content'] === undefined)
      faults.add(`${field}.columns[${at}].content`, 'is required beside dataSource');
  });
};

export const refuseUnknown = (
  node: Readonly<Record<string, unknown>>,
  names: readonly string[],
  field: string,
  { faults }: CheckTools,
): void => {
  for (const name of Object.keys(node)) {
    if (!names.includes(name)) faults.add(`${field}.${shorten(name)}`, `is not known; known are ${names.join(', ')}`);
  }
};
