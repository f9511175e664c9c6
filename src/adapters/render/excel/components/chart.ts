/**
 * Charts of a sheet (ECMA-376, DrawingML charts): they draw the cells of a table that shows the same items, or else
 * hidden rows that are written below the chart.
 */
import type { ExpandedChart, ExpandedTable, ChartSeries } from '../../../../domain/rendering/expand/expanded.js';
import {
  columnLetters,
  quotedName,
  type ComponentDrawer,
  type ComponentContext,
  type CellStyle,
  type DrawnCell,
  type Sheet,
} from '../sheet.js';
import { type ChartType, chartPalette } from '../../../../domain/rendering/css.js';
import { rgbHex } from '../../colors.js';
import { escapeXml, XML_HEAD, cellText, looksLikeFormula, TEXT_CODE, textWidth } from '../text.js';
import { tooManyColumns } from '../../../../domain/rendering/budget.js';
import { assertDefined } from '../../../../domain/core/ids.js';
import { typedCells } from '../cell-values.js';
import { BASE_FONT, filled } from '../looks.js';

/** The cells that hold the numbers of a chart; columns from 1, series in their order. */
type NumbersPlace = Readonly<{
  sheetName: string;
  first: number;
  last: number;
  category: number;
  values: readonly number[];
  /** The row of the names of series; undefined: they stand in the chart alone. */
  headerRow: number | undefined;
  /** Format code of each series; undefined: plain numbers. */
  codes: readonly (string | undefined)[];
}>;

type Codes = NumbersPlace['codes'];

const SIZE_POINTS = { width: 480, height: 270, min: 60, max: 2_000 } as const;
const ROW_POINTS = 15;
const ROWS_BETWEEN = 1;

const line = { style: 'thin', color: { argb: 'FFE5E7EB' } } as const;
const headerStyle: CellStyle = {
  font: { ...BASE_FONT, bold: true },
  fill: filled('FFF3F4F6'),
  border: { bottom: line },
};
const textStyle: CellStyle = { font: BASE_FONT, border: { bottom: line } };
const numberHeaderStyle: CellStyle = { ...headerStyle, alignment: { horizontal: 'right' } };

/** Colours of the slices after the first, which has the colour of its series: the same as in a PDF. */
const PALETTE = chartPalette.map((color) => color.slice(1).toUpperCase());
const DEFAULT_COLOR = '2563EB';

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
        sheet.draw({
          kind: 'chart',
          place: { row: sheet.nextRow(), column: 0, offset: 0, width, height },
          title: component.title,
          xml,
        });
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

/** A table that has a column for the categories and for each series of the chart, of the same items. */
const tableOfChart = (
  { source, categories }: ExpandedChart,
  tables: readonly ExpandedTable[],
): ExpandedTable | undefined => {
  if (source === undefined || categories.length === 0) return undefined;
  return tables.find(
    (table) =>
      table.source === source.name &&
      table.rows.length === categories.length &&
      [source.category, ...source.values].every((path) => columnAt(table, path) > 0),
  );
};

/** From 1; 0 where there is none. */
const columnAt = ({ columns }: ExpandedTable, path: string): number =>
  columns.findIndex((column) => column.path === path) + 1;

/**
 * The place of the numbers in a table. Series keep the names of the chart, because a header may say something else or
 * be missing.
 */
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

/** The format of each series by its definition, for its first number. */
const codesOf = ({ series }: ExpandedChart, language: ComponentContext['language']): Codes => {
  const typed = typedCells(language);
  return series.map(
    ({ values, displayFormat }) => typed({ value: values.find((value) => value !== null), displayFormat })?.code,
  );
};

const writeNumbers = (
  { categories, series, xTitle, field }: ExpandedChart,
  codes: Codes,
  sheet: Sheet,
  limits: ComponentContext['limits'],
): void => {
  const text = (value: string, where: string, style: CellStyle): DrawnCell => {
    const safe = cellText(value, limits.excelCellCharsMax, { field, where: () => where });
    return {
      value: safe === '' ? null : safe,
      style: looksLikeFormula(safe) ? { ...style, numFmt: TEXT_CODE } : style,
    };
  };
  sheet.writeHidden([
    text(xTitle, 'xTitle', headerStyle),
    ...series.map(({ name }, at) => text(name, `the name of series ${at + 1}`, numberHeaderStyle)),
  ]);
  const styles = codes.map((code): CellStyle => (code === undefined ? textStyle : { ...textStyle, numFmt: code }));
  categories.forEach((category, at) => {
    const numbers = series.map(({ values }, place): DrawnCell => ({
      value: values[at] ?? null,
      style: styles[place] ?? textStyle,
    }));
    sheet.writeHidden([text(category, `category ${at + 1}`, textStyle), ...numbers]);
  });
};

/** The part of the package for a chart: it refers to the cells that hold the numbers and keeps a copy of them. */
const chartXml = (chart: ExpandedChart, place: NumbersPlace): string => {
  const legend = chart.showLegend
    ? `<c:legend><c:legendPos val="b"/><c:overlay val="0"/>${textProperties(900)}</c:legend>`
    : '';
  return (
    `${XML_HEAD}<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><c:roundedCorners val="0"/><c:chart>' +
    (chart.title === '' ? '' : titleXml(chart.title, 1400, true)) +
    `<c:autoTitleDeleted val="${chart.title === '' ? 1 : 0}"/><c:plotArea><c:layout/>${plot(chart, place)}</c:plotArea>${legend}` +
    // Numbers of hidden columns and sheets are drawn too.
    '<c:plotVisOnly val="0"/><c:dispBlanksAs val="gap"/></c:chart>' +
    '<c:spPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill><a:ln w="9525"><a:solidFill><a:srgbClr val="E5E7EB"/></a:solidFill></a:ln></c:spPr></c:chartSpace>'
  );
};

const cellsReference = (sheetName: string, column: number, first: number, last: number): string => {
  const letters = columnLetters(column);
  return `${quotedName(sheetName)}!$${letters}$${first}${last === first ? '' : `:$${letters}$${last}`}`;
};

const plot = (chart: ExpandedChart, place: NumbersPlace): string => {
  const all = (draw: (series: ChartSeries, at: number) => string): string =>
    chart.series.map((series, at) => `<c:ser>${seriesHead(series, at, place)}${draw(series, at)}</c:ser>`).join('');
  const values = (series: ChartSeries, at: number): string => seriesValues(chart, series, at, place);
  const ids = '<c:axId val="111111111"/><c:axId val="222222222"/>';
  const bars = (direction: 'bar' | 'col', grouping: 'clustered' | 'stacked'): string =>
    `<c:barChart><c:barDir val="${direction}"/><c:grouping val="${grouping}"/><c:varyColors val="0"/>` +
    all((series, at) => `${filledShape(series.color)}<c:invertIfNegative val="0"/>${values(series, at)}`) +
    `<c:gapWidth val="60"/>${grouping === 'stacked' ? '<c:overlap val="100"/>' : ''}${ids}</c:barChart>`;
  switch (chart.chartType) {
    case 'bar':
      return bars('bar', 'clustered') + axes(chart, 'bar', place);
    case 'column':
      return bars('col', 'clustered') + axes(chart, 'column', place);
    case 'stacked-column':
      return bars('col', 'stacked') + axes(chart, 'stacked-column', place);
    case 'line':
      return `<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>${all((series, at) => `${lineShape(series.color)}${marker(series.color)}${values(series, at)}<c:smooth val="0"/>`)}<c:marker val="1"/>${ids}</c:lineChart>${axes(chart, 'line', place)}`;
    case 'area':
      return `<c:areaChart><c:grouping val="standard"/><c:varyColors val="0"/>${all((series, at) => `${areaShape(series.color)}${values(series, at)}`)}${ids}</c:areaChart>${axes(chart, 'area', place)}`;
    case 'pie':
      return `<c:pieChart><c:varyColors val="1"/>${slices(chart, place)}<c:firstSliceAng val="0"/></c:pieChart>`;
    case 'doughnut':
      return `<c:doughnutChart><c:varyColors val="1"/>${slices(chart, place)}<c:firstSliceAng val="0"/><c:holeSize val="58"/></c:doughnutChart>`;
  }
};

/** A pie shows one series, a doughnut a ring for each. */
const slices = (chart: ExpandedChart, place: NumbersPlace): string => {
  const shown = chart.chartType === 'pie' ? chart.series.slice(0, 1) : chart.series;
  const own = rgbHex(chart.series[0]?.color) ?? DEFAULT_COLOR;
  const colors = [own, ...PALETTE.filter((color) => color !== own)];
  const points = chart.categories
    .map(
      (_, at) =>
        `<c:dPt><c:idx val="${at}"/><c:bubble3D val="0"/><c:spPr>${solid(colors[at % colors.length] ?? own)}<a:ln w="12700">${solid('FFFFFF')}</a:ln></c:spPr></c:dPt>`,
    )
    .join('');
  const labels =
    `<c:dLbls><c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr>${textProperties(900, 'FFFFFF')}<c:showLegendKey val="0"/><c:showVal val="0"/><c:showCatName val="0"/>` +
    '<c:showSerName val="0"/><c:showPercent val="1"/><c:showBubbleSize val="0"/><c:showLeaderLines val="0"/></c:dLbls>';
  return shown
    .map(
      (series, at) =>
        `<c:ser>${seriesHead(series, at, place)}${points}${labels}${seriesValues(chart, series, at, place)}</c:ser>`,
    )
    .join('');
};

const seriesHead = ({ name }: ChartSeries, at: number, { sheetName, headerRow, values }: NumbersPlace): string => {
  const named =
    headerRow === undefined
      ? `<c:v>${escapeXml(name)}</c:v>`
      : `<c:strRef><c:f>${escapeXml(cellsReference(sheetName, values[at] ?? 1, headerRow, headerRow))}</c:f><c:strCache><c:ptCount val="1"/><c:pt idx="0"><c:v>${escapeXml(name)}</c:v></c:pt></c:strCache></c:strRef>`;
  return `<c:idx val="${at}"/><c:order val="${at}"/><c:tx>${named}</c:tx>`;
};

const seriesValues = (
  { categories }: ExpandedChart,
  { values }: ChartSeries,
  at: number,
  place: NumbersPlace,
): string => {
  const names = categories
    .map((category, index) => `<c:pt idx="${index}"><c:v>${escapeXml(category)}</c:v></c:pt>`)
    .join('');
  const numbers = values
    .map((value, index) => (value === null ? '' : `<c:pt idx="${index}"><c:v>${value}</c:v></c:pt>`))
    .join('');
  const reference = (column: number): string =>
    escapeXml(cellsReference(place.sheetName, column, place.first, place.last));
  return (
    `<c:cat><c:strRef><c:f>${reference(place.category)}</c:f><c:strCache><c:ptCount val="${categories.length}"/>${names}</c:strCache></c:strRef></c:cat>` +
    `<c:val><c:numRef><c:f>${reference(place.values[at] ?? 1)}</c:f><c:numCache><c:formatCode>${escapeXml(place.codes[at] ?? 'General')}</c:formatCode><c:ptCount val="${categories.length}"/>${numbers}</c:numCache></c:numRef></c:val>`
  );
};

const solid = (rgb: string): string => `<a:solidFill><a:srgbClr val="${rgb}"/></a:solidFill>`;
const colorOf = (css: string): string => rgbHex(css) ?? DEFAULT_COLOR;
const filledShape = (css: string): string => `<c:spPr>${solid(colorOf(css))}</c:spPr>`;
const areaShape = (css: string): string =>
  `<c:spPr><a:solidFill><a:srgbClr val="${colorOf(css)}"><a:alpha val="55000"/></a:srgbClr></a:solidFill><a:ln w="19050">${solid(colorOf(css))}</a:ln></c:spPr>`;
const lineShape = (css: string): string =>
  `<c:spPr><a:ln w="28575" cap="rnd">${solid(colorOf(css))}<a:round/></a:ln></c:spPr>`;
const marker = (css: string): string =>
  `<c:marker><c:symbol val="circle"/><c:size val="5"/><c:spPr>${solid(colorOf(css))}<a:ln w="9525">${solid(colorOf(css))}</a:ln></c:spPr></c:marker>`;

/** Both axes; the names of a bar chart read from top to bottom, as its table does. */
const axes = (
  { xTitle, yTitle }: ExpandedChart,
  type: Exclude<ChartType, 'pie' | 'doughnut'>,
  { codes }: NumbersPlace,
): string => {
  // The axis of values is written as the column of the first series.
  const code = codes[0] === undefined ? 'General' : escapeXml(codes[0]);
  const isBar = type === 'bar';
  const line = `<c:spPr><a:ln w="9525">${solid('D1D5DB')}</a:ln></c:spPr>${textProperties(900)}`;
  return (
    `<c:catAx><c:axId val="111111111"/><c:scaling><c:orientation val="${isBar ? 'maxMin' : 'minMax'}"/></c:scaling><c:delete val="0"/><c:axPos val="${isBar ? 'l' : 'b'}"/>` +
    `${axisTitle(xTitle, isBar)}<c:numFmt formatCode="General" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/>${line}` +
    '<c:crossAx val="222222222"/><c:crosses val="autoZero"/><c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/><c:noMultiLvlLbl val="0"/></c:catAx>' +
    `<c:valAx><c:axId val="222222222"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="${isBar ? 'b' : 'l'}"/>` +
    `<c:majorGridlines><c:spPr><a:ln w="9525">${solid('E5E7EB')}</a:ln></c:spPr></c:majorGridlines>${axisTitle(yTitle, !isBar)}` +
    `<c:numFmt formatCode="${code}" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/>${line}` +
    `<c:crossAx val="111111111"/><c:crosses val="${isBar ? 'max' : 'autoZero'}"/><c:crossBetween val="${type === 'area' ? 'midCat' : 'between'}"/></c:valAx>`
  );
};

const axisTitle = (text: string, upright: boolean): string => (text === '' ? '' : titleXml(text, 1000, false, upright));

/** `size` in hundredths of a point. */
const titleXml = (text: string, size: number, bold: boolean, upright = false): string =>
  `<c:title><c:tx><c:rich><a:bodyPr${upright ? ' rot="-5400000" vert="horz"' : ''}/><a:p><a:pPr><a:defRPr sz="${size}" b="${bold ? 1 : 0}"/></a:pPr>` +
  `<a:r><a:rPr lang="en-US" sz="${size}" b="${bold ? 1 : 0}">${solid('374151')}</a:rPr><a:t>${escapeXml(text)}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`;

const textProperties = (size: number, rgb = '4B5563'): string =>
  `<c:txPr><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="${size}">${solid(rgb)}</a:defRPr></a:pPr><a:endParaRPr lang="en-US"/></a:p></c:txPr>`;
