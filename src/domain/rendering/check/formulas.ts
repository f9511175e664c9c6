/** What an author should know of cells that begin as formulas and are none: a workbook shows their text. */
import type { AttachmentTemplateContent, DocumentComponent, OutputFormat } from '../document-content.js';
import type { FieldError } from '../../core/errors.js';
import { isJsonObject, type Json } from '../../core/json.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { shorten } from '../scope/path.js';

/** Enough to work with. */
const WARNINGS_MAX = 20;

const WITH_PLACEHOLDERS =
  'stands in the workbook as text, for what a variable brings never becomes part of a formula: name cells, as in =B{row}*2, or show a variable that is calculated';
const NOT_IN_TEXT = 'stands in the workbook as text: formulas are contents and footers of tables, and cells of their rows';
const IN_PDF = 'stands in the PDF as it is written: only a workbook works formulas out';

const NO_FORMULA = 'is no formula that a program can read, so that Excel asks to repair the workbook:';
const OPEN_BRACKET = `${NO_FORMULA} a bracket is opened and not closed`;
const CLOSED_TOO_OFTEN = `${NO_FORMULA} a bracket is closed that was not opened`;
const OPEN_QUOTE = `${NO_FORMULA} a quotation mark is opened and not closed`;

/** In: a checked template. Out: a warning for each cell of a table that begins with an equals sign and is no formula in each of the outputs. */
export const formulaWarnings = ({ schema: { pages, outputFormats } }: AttachmentTemplateContent): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const look = (content: Json | undefined, field: string): void => {
    const message = typeof content === 'string' ? warningFor(content, outputFormats) : undefined;
    if (message !== undefined && warnings.length < WARNINGS_MAX) warnings.push({ field, message });
  };
  const walk = (components: readonly DocumentComponent[], field: string): void => {
    for (const [at, { type, content = '', props = {}, children = [], elseChildren = [] }] of components.entries()) {
      const isFormula = type === 'rich-text' && outputFormats.includes('excel') && /^\s*(?:<p>\s*)?=[A-Z]+\(/.test(content);
      if (isFormula && warnings.length < WARNINGS_MAX) warnings.push({ field: `${field}[${at}].content`, message: NOT_IN_TEXT });
      if (type === 'table') lookAtTable(props, `${field}[${at}].props`, look);
      walk(children, `${field}[${at}].children`);
      walk(elseChildren, `${field}[${at}].elseChildren`);
    }
  };
  for (const [page, { sections }] of pages.entries())
    for (const [section, { components }] of sections.entries()) walk(components, `schema.pages[${page}].sections[${section}].components`);
  return warnings;
};

const warningFor = (content: string, outputs: readonly OutputFormat[]): string | undefined => {
  if (!/^\s*=./.test(content)) return undefined;
  if (hasPlaceholder(content)) return outputs.includes('excel') ? WITH_PLACEHOLDERS : undefined;
  if (!outputs.includes('excel')) return undefined;
  return unreadable(content) ?? (outputs.includes('pdf') ? IN_PDF : undefined);
};

/** What no program that opens the workbook can read; what stands in quotation marks is text, and the name of a sheet. */
const unreadable = (formula: string): string | undefined => {
  const bare = formula.replaceAll(/"[^"]*"|'[^']*'/g, '');
  const name = /\{([A-Za-z]+)\}/.exec(bare.replaceAll(/\{(?:row|first|last)\}/g, ''))?.[0];
  if (name !== undefined) return `holds ${shorten(name)}, which stands for nothing: there are {row}, {first} and {last}`;
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
    look(column['footer'], `${field}.columns[${at}].footer`);
  });
  each(rows, (row, at) => each(row, (cell, place) => look(cell, `${field}.rows[${at}][${place}]`)));
};
