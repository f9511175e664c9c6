/** Where the numbers of a chart stand: in a table of the workbook that shows the same items, or in cells that are written for it. */
import type { ExpandedChart, ExpandedTable } from '../../../../domain/rendering/expand/expanded.js';
import { columnLetters, quotedName } from '../sheet.js';

/** Parts of a reference; columns from 1, series in their order. `name` says where the name of a series stands, where it stands in a cell. */
export type NumbersPlace = Readonly<{
  sheetName: string;
  first: number;
  last: number;
  category: number;
  values: readonly number[];
  /** The row of the names of series; undefined: they stand in the chart alone. */
  headerRow: number | undefined;
  /** Of each series; undefined: as numbers are. */
  codes: readonly (string | undefined)[];
}>;

/** A table that has a column for the categories and for each series of the chart, of the same items. */
export const tableOfChart = ({ source, categories }: ExpandedChart, tables: readonly ExpandedTable[]): ExpandedTable | undefined => {
  if (source === undefined || categories.length === 0) return undefined;
  return tables.find(
    (table) =>
      table.source === source.name &&
      table.rows.length === categories.length &&
      [source.category, ...source.values].every((path) => columnAt(table, path) > 0),
  );
};

/** From 1; 0 where there is none. */
export const columnAt = ({ columns }: ExpandedTable, path: string): number => columns.findIndex((column) => column.path === path) + 1;

export const cellsReference = (sheetName: string, column: number, first: number, last: number): string => {
  const letters = columnLetters(column);
  return `${quotedName(sheetName)}!$${letters}$${first}${last === first ? '' : `:$${letters}$${last}`}`;
};
