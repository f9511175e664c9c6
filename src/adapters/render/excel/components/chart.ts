/** Charts of the sheet itself: they draw the cells of a table that shows the same items, else rows of their own below, which are not seen. */
import { tooManyColumns } from '../../../../domain/rendering/limit-errors.js';
import { assertDefined } from '../../../../domain/core/ids.js';
import type { ExpandedChart, ExpandedTable } from '../../../../domain/rendering/expand/expanded.js';
import { chartXml } from './chart-xml.js';
import { columnAt, tableOfChart, type NumbersPlace } from './chart-places.js';
import { typedCells } from '../cell-values.js';
import type { ComponentDrawer, Surroundings } from '../component.js';
import { BASE_FONT } from '../fonts.js';
import type { CellStyle, DrawnCell, Sheet } from '../sheet.js';
import { cellText, looksLikeFormula, TEXT_CODE, textWidth } from '../text.js';
import { filled } from '../looks.js';

const SIZE_POINTS = { width: 480, height: 270, min: 60, max: 2_000 } as const;
const ROW_POINTS = 15;
const ROWS_BETWEEN = 1;

export const chart: ComponentDrawer<'chart'> = (component, { limits, tables, language }) => {
  const { categories, series } = component;
  if (series.length + 1 > limits.excelColumnsMax) throw tooManyColumns(series.length + 1, limits.excelColumnsMax);
  const width = bounded(component.width ?? SIZE_POINTS.width);
  const height = bounded(component.height ?? SIZE_POINTS.height);
  const chartRows = Math.ceil(height / ROW_POINTS);
  const table = tableOfChart(component, tables);
  if (table !== undefined) {
    return {
      kind: 'block',
      rows: chartRows,
      widths: [],
      draw: async (sheet) => {
        const xml = chartXml(component, placeIn(table, component, sheet));
        sheet.draw({ kind: 'chart', place: { row: sheet.nextRow(), column: 0, offset: 0, width, height }, title: component.title, xml });
        sheet.skip(chartRows, ROW_POINTS);
        await sheet.flush();
      },
    };
  }
  const codes = codesOf(component, language);
  return {
    kind: 'block',
    rows: chartRows + ROWS_BETWEEN + 1 + categories.length,
    widths: [
      Math.min(40, Math.max(10, ...categories.map(textWidth)) + 2),
      ...series.map(({ name }) => Math.min(30, Math.max(10, textWidth(name) + 2))),
    ],
    draw: async (sheet) => {
      const row = sheet.nextRow();
      const headerRow = row + chartRows + ROWS_BETWEEN;
      const xml = chartXml(component, {
        sheetName: sheet.name,
        first: headerRow + 1,
        last: headerRow + Math.max(1, categories.length),
        category: 1,
        values: series.map((_, at) => at + 2),
        headerRow,
        codes,
      });
      sheet.draw({ kind: 'chart', place: { row, column: 0, offset: 0, width, height }, title: component.title, xml });
      sheet.skip(chartRows + ROWS_BETWEEN, ROW_POINTS);
      writeNumbers(component, codes, sheet, limits);
      await sheet.flush();
    },
  };
};

/** The series keep the names that the chart gives them: a header may say something else, or not be there. */
const placeIn = (table: ExpandedTable, { source, series, categories }: ExpandedChart, sheet: Sheet): NumbersPlace => {
  const placed = assertDefined(sheet.dataOf(table), 'place of a table');
  const { category, values } = assertDefined(source, 'source of a chart');
  const columns = series.map((_, at) => columnAt(table, values[at] ?? ''));
  return {
    sheetName: placed.sheetName,
    first: placed.first,
    last: placed.first + categories.length - 1,
    category: columnAt(table, category),
    values: columns,
    headerRow: undefined,
    codes: columns.map((column) => placed.codeOf(column - 1)),
  };
};

const bounded = (points: number): number => Math.min(SIZE_POINTS.max, Math.max(SIZE_POINTS.min, points));

const line = { style: 'thin', color: { argb: 'FFE5E7EB' } } as const;
const headerStyle: CellStyle = { font: { ...BASE_FONT, bold: true }, fill: filled('FFF3F4F6'), border: { bottom: line } };
const textStyle: CellStyle = { font: BASE_FONT, border: { bottom: line } };
const numberHeaderStyle: CellStyle = { ...headerStyle, alignment: { horizontal: 'right' } };

type Codes = NumbersPlace['codes'];

/** The format of each series by its definition, for its first number. */
const codesOf = ({ series }: ExpandedChart, language: Surroundings['language']): Codes => {
  const typed = typedCells(language);
  return series.map(({ values, showing }) => typed({ value: values.find((value) => value !== null), showing })?.code);
};

const writeNumbers = (
  { categories, series, xTitle, field }: ExpandedChart,
  codes: Codes,
  sheet: Sheet,
  limits: Surroundings['limits'],
): void => {
  const text = (value: string, where: string, style: CellStyle): DrawnCell => {
    const safe = cellText(value, limits.excelCellCharsMax, { field, where: () => where });
    return { value: safe === '' ? null : safe, style: looksLikeFormula(safe) ? { ...style, numFmt: TEXT_CODE } : style };
  };
  sheet.writeHidden([
    text(xTitle, 'xTitle', headerStyle),
    ...series.map(({ name }, at) => text(name, `the name of series ${at + 1}`, numberHeaderStyle)),
  ]);
  const styles = codes.map((code): CellStyle => (code === undefined ? textStyle : { ...textStyle, numFmt: code }));
  categories.forEach((category, at) => {
    const numbers = series.map(({ values }, place): DrawnCell => ({ value: values[at] ?? null, style: styles[place] ?? textStyle }));
    sheet.writeHidden([text(category, `category ${at + 1}`, textStyle), ...numbers]);
  });
};
