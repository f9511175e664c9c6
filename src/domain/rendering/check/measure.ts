/** The limits of a template's size and nesting, measured before anything walks it by recursion: the input may be hostile. */
import { DomainError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import { isPlainObject } from './format.js';
import type { Output } from '../components.js';
import { nestedTooDeep, tooManyColumns, tooManyComponents, tooManyPages, tooManySheets } from '../limit-errors.js';

/** What of a template may be large. */
const measured = ['schema', 'variables', 'translations'] as const;

type Open = Readonly<{ node: unknown; depth: number; loops: number; conditions: number }>;

/**
 * In: a template. Throws ERR_LIMIT_009 where it has more components than may be saved, ERR_LIMIT_008 where components, loops or
 * conditions are nested too deep, TEMPLATE_INVALID where one of its objects has too many names, or where the texts of its schema
 * together are longer than a body may be.
 */
export const measureTemplate = (template: Node, limits: Limits): void => {
  measureSections(childrenOf(template['schema'], ['sections']), limits);
  measureText(template, limits);
};

/**
 * The same for an attachment template. Throws ERR_LIMIT_001 and 004 as well where it has more pages than a PDF may have sheets of
 * paper or a workbook sheets, ERR_LIMIT_005 where a table of a workbook has too many columns.
 */
export const measureDocument = (template: Node, outputs: readonly Output[], limits: Limits): void => {
  const pages = childrenOf(template['schema'], ['pages']);
  if (outputs.includes('pdf') && pages.length > limits.pdfPagesMax) throw tooManyPages(pages.length, limits.pdfPagesMax);
  if (outputs.includes('excel') && pages.length > limits.excelSheetsMax) throw tooManySheets(pages.length, limits.excelSheetsMax);
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
    for (const child of childrenOf(node, ['children', 'elseChildren'])) open.push({ node: child, depth: depth + 1, loops, conditions });
  }
  if (found.components > limits.componentsSavedMax) throw tooManyComponents(found.components, limits.componentsSavedMax);
  if (found.depth > limits.nestingDepthMax) throw nestedTooDeep('components', found.depth, limits.nestingDepthMax);
  if (found.loops > limits.nestedLoopsMax) throw nestedTooDeep('loops', found.loops, limits.nestedLoopsMax);
  if (found.conditions > limits.nestedConditionsMax) throw nestedTooDeep('conditions', found.conditions, limits.nestedConditionsMax);
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
  new DomainError('TEMPLATE_INVALID', `the template is not valid: ${field}: ${message}`, { errors: [{ field, message }] });

/** The members of those names that are arrays, one after the other. */
export const childrenOf = (node: unknown, names: readonly string[]): readonly unknown[] => {
  if (!isPlainObject(node)) return [];
  return names.flatMap((name) => {
    const children = Object.hasOwn(node, name) ? node[name] : undefined;
    return Array.isArray(children) ? (children as unknown[]) : [];
  });
};

/** The characters of its texts, and how many names an object has: the first that has more than `namesMax`, with which it ends. */
const sizeOf = (root: unknown, namesMax: number): Readonly<{ chars: number; names: number }> => {
  const open: object[] = [];
  let chars = 0;
  // Most of what there may be half a million of is a text or a number.
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
