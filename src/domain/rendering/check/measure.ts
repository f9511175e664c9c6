/** The limits of a template's size and nesting, measured before anything walks it by recursion: the input may be hostile. */
import { DomainError } from '../../errors.js';
import type { Limits } from '../../limits.js';
import { isPlainObject } from './format.js';
import type { Output } from '../components.js';
import { nestedTooDeep, tooManyColumns, tooManyComponents, tooManyPages, tooManySheets } from '../limit-errors.js';

type Open = Readonly<{ node: unknown; depth: number; loops: number; conditions: number }>;

/**
 * In: what stands under `schema`. Throws ERR_LIMIT_009 where it has more components than may be saved, ERR_LIMIT_008 where
 * components, loops or conditions are nested too deep, TEMPLATE_INVALID where its texts together are longer than a body may be.
 */
export const measureTemplate = (schema: unknown, limits: Limits): void => {
  measureSections(childrenOf(schema, ['sections']), limits);
  measureText(schema, limits);
};

/**
 * The same for an attachment template. Throws ERR_LIMIT_001 and 004 as well where it has more pages than a PDF may have sheets of
 * paper or a workbook sheets, ERR_LIMIT_005 where a table of a workbook has too many columns.
 */
export const measureDocument = (schema: unknown, outputs: readonly Output[], limits: Limits): void => {
  const pages = childrenOf(schema, ['pages']);
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
  measureText(schema, limits);
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

const measureText = (schema: unknown, limits: Limits): void => {
  const chars = textCharsOf(schema);
  if (chars <= limits.htmlSizeBytesMax) return;
  const message = `holds ${chars} characters of text, the maximum is ${limits.htmlSizeBytesMax}`;
  throw new DomainError('TEMPLATE_INVALID', `the template is not valid: schema: ${message}`, { errors: [{ field: 'schema', message }] });
};

/** The members of those names that are arrays, one after the other. */
export const childrenOf = (node: unknown, names: readonly string[]): readonly unknown[] => {
  if (!isPlainObject(node)) return [];
  return names.flatMap((name) => {
    const children = Object.hasOwn(node, name) ? node[name] : undefined;
    return Array.isArray(children) ? (children as unknown[]) : [];
  });
};

const textCharsOf = (root: unknown): number => {
  const open = [root];
  let chars = 0;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') chars += value.length;
    else if (typeof value === 'object' && value !== null)
      for (const name in value) {
        const member = (value as Readonly<Record<string, unknown>>)[name];
        // Most of what there may be a hundred thousand of is a number.
        if (typeof member === 'string') chars += member.length;
        else if (typeof member === 'object') open.push(member);
      }
  }
  return chars;
};
