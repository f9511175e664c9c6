/** Which component stands on which sheet: a page is a sheet, and a table that names another one begins it. */
import { DomainError } from '../../../domain/core/errors.js';
import type { Expanded, ExpandedDocument, ExpandedPage, ExpandedSection } from '../../../domain/rendering/expand/expanded.js';
import type { ExcelComponent } from './component.js';
import { drawers } from './registry.js';
import { sheetNames } from './sheet-names.js';

export type Placed = Readonly<{ component: ExcelComponent; section: ExpandedSection }>;
export type SheetPlan = Readonly<{ name: string; page: ExpandedPage; components: readonly Placed[] }>;

/**
 * A page's sheet has the page's name, or the name that its first table with `sheetName` gives it; each further name on the page
 * begins a sheet of its own, to which the title right above the table goes along.
 */
export const sheetsOf = (document: ExpandedDocument): readonly SheetPlan[] => {
  const plans = document.pages.flatMap(splitPage);
  const names = sheetNames(plans.map(({ name }) => name));
  return plans.map((plan, at) => ({ ...plan, name: names[at] ?? plan.name }));
};

type Draft = { name: string | undefined; hasTable: boolean; components: Placed[] };

const splitPage = (page: ExpandedPage): readonly SheetPlan[] => {
  let sheet: Draft = { name: undefined, hasTable: false, components: [] };
  const sheets = [sheet];
  for (const { component, section } of page.sections.flatMap((part) =>
    part.components.map((each) => ({ component: each, section: part })),
  )) {
    if (!isDrawn(component))
      throw new DomainError('GENERATION_FAILED', `${component.field}: a workbook has no component of type "${component.type}"`);
    const wanted = component.type === 'table' ? component.sheetName?.trim() : undefined;
    if (wanted !== undefined && wanted !== '' && wanted !== sheet.name) {
      if (sheet.name !== undefined || sheet.hasTable) {
        sheet = { name: wanted, hasTable: false, components: sheet.components.splice(titleStart(sheet.components)) };
        sheets.push(sheet);
      }
      sheet.name = wanted;
    }
    sheet.hasTable ||= component.type === 'table';
    sheet.components.push({ component, section });
  }
  return sheets.map(({ name, components }) => ({ name: name ?? page.name, page, components }));
};

const isDrawn = (component: Expanded): component is ExcelComponent => Object.hasOwn(drawers, component.type);

/** Where the texts at the end begin that belong to what follows: the first heading after the last block. */
const titleStart = (components: readonly Placed[]): number => {
  const afterBlocks = components.findLastIndex(({ component }) => component.type !== 'rich-text') + 1;
  const heading = components.findIndex(
    ({ component }, at) => at >= afterBlocks && component.type === 'rich-text' && /<h[1-6][\s>]/i.test(component.html),
  );
  return heading < 0 ? components.length : heading;
};
