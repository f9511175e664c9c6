/**
 * Checks the sections and components of a template when it is saved: size and nesting first, then each component with
 * its props and children. Mails and documents differ only in the components and units that they know.
 */
import {
  barCodeText,
  codeKinds,
  epcProps,
  isBarKind,
  type CodeKind,
  epcPayment,
  barModules,
  qrModules,
} from '../codes.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { type CheckTools, checkProps, checkText, errorCorrections } from '../props.js';
import { DomainError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import { isPlainObject } from './format.js';
import {
  type Output,
  componentSpecs,
  isComponentType,
  isSupported,
  sectionProps,
  supportMatrix,
  type ComponentSpec,
  type ComponentType,
} from '../components.js';
import {
  nestedTooDeep,
  tooManyColumns,
  tooManyComponents,
  tooManyPages,
  tooManySheets,
  spendElements,
  spendModules,
} from '../budget.js';
import { isLonger } from '../../../shared/text.js';
import { sectionTypes } from '../content.js';
import { isOperator, isUnary } from '../scope/conditions.js';
import { shorten } from '../scope/path.js';

export const ID_CHARS_MAX = 100;

/** Fields of a section, and of a component. */
export const sectionFields = ['id', 'type', 'props', 'components'] as const;
export const componentFields = ['id', 'type', 'content', 'props', 'children', 'elseChildren'] as const;

export type WalkTools = CheckTools &
  Readonly<{
    /** First place of each id: ids are unique in the whole template, including its sections. */
    ids: Map<string, string>;
    /** Outputs of the template: each component must exist in all of them. */
    outputs: readonly Output[];
  }>;

/**
 * In: what stands under `sections`, however hostile; nesting was measured before. Adds what is wrong to the faults,
 * each with its path.
 */
export const checkSections = (sections: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (!Array.isArray(sections)) return faults.add(field, sections === undefined ? 'is required' : 'must be an array');
  if (sections.length === 0) faults.add(field, 'must hold at least one section');
  for (const [at, section] of (sections as readonly unknown[]).entries()) {
    if (faults.isFull()) return;
    checkSection(section, `${field}[${at}]`, tools);
  }
};

export const checkSection = (section: unknown, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  if (!isPlainObject(section)) return faults.add(field, 'must be an object');
  refuseUnknown(section, sectionFields, field, tools);
  checkId(section['id'], field, tools);
  if (!sectionTypes.some((type) => type === section['type']))
    faults.add(`${field}.type`, `must be one of ${sectionTypes.join(', ')}`);
  checkProps(section['props'], sectionProps, `${field}.props`, tools);
  checkComponents(section['components'], `${field}.components`, tools);
};

/** Checks components one below the other; `field` is the place of their array. */
export const checkComponents = (children: unknown, field: string, tools: WalkTools): void => {
  if (!Array.isArray(children))
    return tools.faults.add(field, children === undefined ? 'is required' : 'must be an array of components');
  children.forEach((child, at) => checkComponent(child, `${field}[${at}]`, tools));
};

/** `field` is the place of the thing that has the id. */
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
  if (
    type === 'conditional' &&
    isOperator(props['operator']) &&
    !isUnary(props['operator']) &&
    props['value'] === undefined
  ) {
    faults.add(`${field}.props.value`, `is required by the operator ${props['operator']}`);
  }
  if (type === 'table') checkTable(props, `${field}.props`, tools);
  if (tools.outputs.includes('email')) spendFixed(type, props, tools);
  if (type === 'timeline') checkTimeline(props, `${field}.props`, tools);
  if (type === 'qr-code') checkCode(props, `${field}.props`, tools);
};

/** Takes from the budget what a component of a mail costs beside its HTML, as far as the template itself says it. */
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
  const names = Object.keys(supportMatrix).filter(
    (type) => isComponentType(type) && missingIn(type, outputs) === undefined,
  );
  return `components of ${outputs.includes('email') ? 'an email' : `a ${outputs.join(' and ')} document`} are ${names.join(', ')}`;
};

/** Names of components in other programs. */
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
  typeof type === 'string' && Object.hasOwn(otherNames, type.toLowerCase())
    ? `: ${otherNames[type.toLowerCase()]}`
    : '';

/** Why the component cannot stand there; undefined where all outputs have it. */
const missingIn = (type: ComponentType, outputs: readonly Output[]): string | undefined => {
  for (const output of outputs) {
    if (isSupported(type, output)) continue;
    if (output === 'email') return 'does not exist in emails, only in attachments';
    const instead = type === 'qr-code' ? ', or make it the code of a header or footer, which the PDF alone shows' : '';
    return `does not exist in ${output}, which is one of outputFormats: take the component or the format out${instead}`;
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

const checkFamily = (
  component: Readonly<Record<string, unknown>>,
  spec: ComponentSpec,
  field: string,
  tools: WalkTools,
): void => {
  const { children, elseChildren } = component;
  if (spec.children === 'none') {
    if (children !== undefined) tools.faults.add(`${field}.children`, 'are not part of this component');
  } else {
    checkComponents(children, `${field}.children`, tools);
    if (spec.children === 'atLeastOne' && Array.isArray(children) && children.length === 0)
      tools.faults.add(`${field}.children`, 'must hold at least one component');
  }
  if (elseChildren === undefined) return;
  if (spec.elseChildren === true) checkComponents(elseChildren, `${field}.elseChildren`, tools);
  else tools.faults.add(`${field}.elseChildren`, 'are not part of this component');
};

/** A timeline has its items written out, or a data source gives one per item and the props say what stands in it. */
const checkTimeline = (props: Readonly<Record<string, unknown>>, field: string, { faults }: WalkTools): void => {
  const { dataSource, items, title } = props;
  if (dataSource === undefined && items === undefined)
    faults.add(`${field}.dataSource`, 'is required where there are no items');
  if (dataSource !== undefined && items !== undefined)
    faults.add(`${field}.items`, 'cannot stand beside dataSource: give one of the two');
  if (dataSource !== undefined && title === undefined) faults.add(`${field}.title`, 'is required beside dataSource');
};

/** A table has its rows written out, or a data source gives one row per item and the columns say what stands in it. */
const checkTable = (props: Readonly<Record<string, unknown>>, field: string, tools: WalkTools): void => {
  const { faults } = tools;
  const { dataSource, rows, columns, groupBy, groupOrder } = props;
  if (dataSource === undefined && rows === undefined)
    return faults.add(`${field}.dataSource`, 'is required where there are no rows');
  if (dataSource !== undefined && rows !== undefined)
    return faults.add(`${field}.rows`, 'cannot stand beside dataSource: give one of the two');
  if (groupBy !== undefined && dataSource === undefined)
    faults.add(`${field}.groupBy`, 'groups the items of a dataSource, not rows');
  if (groupOrder !== undefined && groupBy === undefined)
    faults.add(`${field}.groupOrder`, 'is the order of the groups of groupBy');
  const described = Array.isArray(columns) ? columns.filter(isPlainObject) : [];
  for (const [at, column] of described.entries())
    for (const name of ['groupHeader', 'groupFooter'])
      if (groupBy === undefined && column[name] !== undefined)
        faults.add(`${field}.columns[${at}].${name}`, 'belongs to the groups of groupBy');
  if (groupBy !== undefined && tools.outputs.includes('excel')) checkTotals(described, field, tools);
  if (dataSource === undefined) return;
  if (columns === undefined) return faults.add(`${field}.columns`, 'is required beside dataSource');
  if (!Array.isArray(columns)) return;
  columns.forEach((column, at) => {
    if (isPlainObject(column) && column['content'] === undefined)
      faults.add(`${field}.columns[${at}].content`, 'is required beside dataSource');
  });
};

const isFormula = (text: unknown, pattern: RegExp): boolean =>
  typeof text === 'string' && /^\s*=/.test(text) && pattern.test(text);

/**
 * A formula over the rows of a workbook goes over the rows of its groups too: only SUBTOTAL leaves out what is a
 * SUBTOTAL itself.
 */
const checkTotals = (
  columns: readonly Readonly<Record<string, unknown>>[],
  field: string,
  { faults }: WalkTools,
): void => {
  const overRows = (text: unknown): boolean => isFormula(text, /\{(?:first|last)\}/);
  const isSubtotal = (text: unknown): boolean => isFormula(text, /^\s*=\s*SUBTOTAL\s*\(/i);
  const hasTotal = columns.some(({ footer }) => overRows(footer));
  for (const [at, column] of columns.entries()) {
    const { footer } = column;
    if (overRows(footer) && !isSubtotal(footer))
      faults.add(
        `${field}.columns[${at}].footer`,
        'goes over the rows of the groups too: write =SUBTOTAL(9,D{first}:D{last}), which leaves them out',
      );
    for (const name of ['groupHeader', 'groupFooter']) {
      const text = column[name];
      const isValue =
        typeof text === 'string' &&
        (isFormula(text, /./) ? !isSubtotal(text) : /\{\{\s*group\.(?:sum|count)/.test(text));
      if (hasTotal && isValue)
        faults.add(
          `${field}.columns[${at}].${name}`,
          'is counted by the formulas of the footer: write =SUBTOTAL(9,D{first}:D{last}), whose rows are those of the group',
        );
    }
  }
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

/** Parts of a template that may be large. */
const measured = ['schema', 'variables', 'translations'] as const;

type Open = Readonly<{ node: unknown; depth: number; loops: number; conditions: number }>;

/**
 * Measures a template before anything walks it by recursion, for the input may be hostile. Throws ERR_LIMIT_009 where
 * it has more components than may be saved, ERR_LIMIT_008 where components, loops or conditions are nested too deep,
 * TEMPLATE_INVALID where one of its objects has too many names, or where the texts of its schema together are longer
 * than a body may be.
 */
export const measureTemplate = (template: Node, limits: Limits): void => {
  measureSections(childrenOf(template['schema'], ['sections']), limits);
  measureText(template, limits);
};

/**
 * Measures an attachment template as `measureTemplate` does. Throws also ERR_LIMIT_001 and 004 where it has more pages
 * than a PDF may have sheets of paper or a workbook sheets, ERR_LIMIT_005 where a table of a workbook has too many
 * columns.
 */
export const measureDocument = (template: Node, outputs: readonly Output[], limits: Limits): void => {
  const pages = childrenOf(template['schema'], ['pages']);
  if (outputs.includes('pdf') && pages.length > limits.pdfPagesMax)
    throw tooManyPages(pages.length, limits.pdfPagesMax);
  if (outputs.includes('excel') && pages.length > limits.excelSheetsMax)
    throw tooManySheets(pages.length, limits.excelSheetsMax);
  measureSections(
    pages.flatMap((page) => childrenOf(page, ['sections'])),
    limits,
    (node) => {
      const columns = outputs.includes('excel') && node['type'] === 'table' ? columnsOf(node['props']) : 0;
      if (columns > limits.excelColumnsMax) throw tooManyColumns(columns, limits.excelColumnsMax);
    },
  );
  measureText(template, limits);
};

/** The widest of the columns and of the written rows of a table. */
const columnsOf = (props: unknown): number => {
  const rows = childrenOf(props, ['rows']).map((row) => (Array.isArray(row) ? row.length : 0));
  return rows.reduce((most, count) => Math.max(most, count), childrenOf(props, ['columns']).length);
};

type Node = Readonly<Record<string, unknown>>;

const measureSections = (sections: readonly unknown[], limits: Limits, look?: (node: Node) => void): void => {
  const found = { components: 0, depth: 0, loops: 0, conditions: 0 };
  const open: Open[] = sections
    .flatMap((section) => childrenOf(section, ['components']))
    .map((node) => ({ node, depth: 1, loops: 0, conditions: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    if (!isPlainObject(node)) continue;
    const loops = next.loops + (node['type'] === 'loop' ? 1 : 0);
    const conditions = next.conditions + (node['type'] === 'conditional' ? 1 : 0);
    found.components += 1;
    look?.(node);
    found.depth = Math.max(found.depth, depth);
    found.loops = Math.max(found.loops, loops);
    found.conditions = Math.max(found.conditions, conditions);
    for (const child of childrenOf(node, ['children', 'elseChildren']))
      open.push({ node: child, depth: depth + 1, loops, conditions });
  }
  if (found.components > limits.componentsSavedMax)
    throw tooManyComponents(found.components, limits.componentsSavedMax);
  if (found.depth > limits.nestingDepthMax) throw nestedTooDeep('components', found.depth, limits.nestingDepthMax);
  if (found.loops > limits.nestedLoopsMax) throw nestedTooDeep('loops', found.loops, limits.nestedLoopsMax);
  if (found.conditions > limits.nestedConditionsMax)
    throw nestedTooDeep('conditions', found.conditions, limits.nestedConditionsMax);
};

const measureText = (template: Node, limits: Limits): void => {
  for (const name of measured) {
    const { chars, names } = sizeOf(template[name], limits.templateNamesMax);
    if (names > limits.templateNamesMax)
      throw tooLarge(name, `holds an object of ${names} names, the maximum is ${limits.templateNamesMax}`);
    if (name === 'schema' && chars > limits.htmlSizeBytesMax)
      throw tooLarge(name, `holds ${chars} characters of text, the maximum is ${limits.htmlSizeBytesMax}`);
  }
};

const tooLarge = (field: string, message: string): DomainError =>
  new DomainError('TEMPLATE_INVALID', `the template is not valid: ${field}: ${message}`, {
    errors: [{ field, message }],
  });

/** All members of these names that are arrays, in one list. */
export const childrenOf = (node: unknown, names: readonly string[]): readonly unknown[] => {
  if (!isPlainObject(node)) return [];
  return names.flatMap((name) => {
    const children = Object.hasOwn(node, name) ? node[name] : undefined;
    return Array.isArray(children) ? (children as unknown[]) : [];
  });
};

/**
 * The characters of its texts, and how many names an object has: the first that has more than `namesMax`, with which it
 * ends.
 */
const sizeOf = (root: unknown, namesMax: number): Readonly<{ chars: number; names: number }> => {
  const open: object[] = [];
  let chars = 0;
  // There may be half a million members, most of them texts and numbers.
  const take = (member: unknown): void => {
    if (typeof member === 'string') chars += member.length;
    else if (typeof member === 'object' && member !== null) open.push(member);
  };
  take(root);
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) {
      for (const element of value as readonly unknown[]) take(element);
      continue;
    }
    const names = Object.keys(value);
    if (names.length > namesMax) return { chars, names: names.length };
    for (const name of names) take((value as Node)[name]);
  }
  return { chars, names: 0 };
};

type Props = Readonly<Record<string, unknown>>;

/** Props that only some kinds have. */
export const kindsOfProps: Readonly<Record<string, readonly CodeKind[]>> = {
  value: ['qr', 'ean13', 'code128', 'datamatrix'],
  errorCorrection: ['qr'],
  height: ['ean13', 'code128'],
  showText: ['ean13', 'code128'],
  gs1: ['code128', 'datamatrix'],
  ...Object.fromEntries(epcProps.map((name) => [name, ['epc']])),
};

const isCodeKind = (kind: unknown): kind is CodeKind => codeKinds.some((known) => known === kind);

/**
 * Checks what a qr-code component is to hold, as far as it is known when the template is saved. `field` is the place of
 * the props. A prop of another kind is a mistake: it would be ignored.
 */
export const checkCode = (props: Props, field: string, { faults }: CheckTools): void => {
  const { kind = 'qr' } = props;
  // An unknown kind has its own fault, and no known props.
  if (!isCodeKind(kind)) return;
  for (const [name, kinds] of Object.entries(kindsOfProps)) {
    if (props[name] !== undefined && !kinds.includes(kind))
      faults.add(`${field}.${name}`, `is not a prop of a code of kind ${kind}, only of ${kinds.join(', ')}`);
  }
  if (kind === 'epc') return checkPayment(props, field, faults);
  const { value } = props;
  if (value === undefined) return faults.add(`${field}.value`, 'is required');
  if (!isBarKind(kind) || typeof value !== 'string' || value === '' || hasPlaceholder(value)) return;
  const text = barCodeText(value, { kind, gs1: props['gs1'] === true });
  if ('fault' in text) faults.add(`${field}.${text.prop}`, text.fault);
};

/** Values in place of what a variable will bring, so that everything else is checked. */
const EXAMPLE = { name: 'x', iban: 'DE89370400440532013000' } as const;

const checkPayment = (props: Props, field: string, faults: CheckTools['faults']): void => {
  for (const name of ['name', 'iban'])
    if (props[name] === undefined || props[name] === '') faults.add(`${field}.${name}`, 'is required');
  if (epcProps.some((name) => name !== 'amount' && props[name] !== undefined && typeof props[name] !== 'string'))
    return;
  const literal = (name: string, example = ''): string => {
    const value = props[name];
    return typeof value !== 'string' || value === '' || hasPlaceholder(value) ? example : value;
  };
  const { amount } = props;
  const made = epcPayment({
    name: literal('name', EXAMPLE.name),
    iban: literal('iban', EXAMPLE.iban),
    bic: literal('bic'),
    amount: typeof amount === 'number' ? amount : literal('amount'),
    purpose: literal('purpose'),
    reference: literal('reference'),
    text: literal('text'),
  });
  if (made !== undefined && 'fault' in made) faults.add(`${field}.${made.prop}`, made.fault);
};
