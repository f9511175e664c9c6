/** Rules of a column as conditional formats of the sheet. */
import type { ConditionalFormattingRule } from 'exceljs';
import type { ColumnRule, RuleOperator } from '../../../domain/rendering/column-rules.js';
import { argb } from '../colors.js';
import { withoutInvalid } from './xml.js';

/** A data bar that the end of the sheet says more about: what Excel 2010 added to bars stands there, under the same id. */
export type DataBar = Readonly<{ id: string; range: string }>;

/** `priority` of the first; the sheet counts them all. `sheet` is its number. */
export const conditionalFormats = (
  rules: readonly ColumnRule[],
  { range, priority, sheet }: Readonly<{ range: string; priority: number; sheet: number }>,
): Readonly<{ rules: ConditionalFormattingRule[]; dataBars: readonly DataBar[] }> => {
  const ids = rules.map((_, at) => idOf(sheet, priority + at));
  return {
    rules: rules.map((rule, at) => formatOf(rule, range, { priority: priority + at, id: ids[at] ?? '' })),
    dataBars: rules.flatMap(({ kind }, at) => (kind === 'dataBar' ? [{ id: ids[at] ?? '', range }] : [])),
  };
};

/** A GUID that is the same for the same workbook. */
const idOf = (sheet: number, priority: number): string => {
  const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
  return `{00000000-0000-4000-8000-${hex(sheet, 4)}${hex(priority, 8)}}`;
};

const EXTENSION = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/** Bars without a gradient, to stand at the very end of the sheet. */
export const dataBarsXml = (bars: readonly DataBar[]): string => {
  if (bars.length === 0) return '';
  const rules = bars.map(
    ({ id, range }) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${id}">` +
      `<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="autoMin"/><x14:cfvo type="autoMax"/>` +
      `<x14:negativeFillColor rgb="FFFF0000"/><x14:axisColor rgb="FF000000"/></x14:dataBar></x14:cfRule><xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<extLst><ext uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}" xmlns:x14="${EXTENSION}"><x14:conditionalFormattings>${rules.join('')}</x14:conditionalFormattings></ext></extLst>`;
};

const BLACK = 'FF000000';

const formatOf = (
  rule: ColumnRule,
  range: string,
  { priority, id }: Readonly<{ priority: number; id: string }>,
): ConditionalFormattingRule => {
  const colorOf = (css: string): { argb: string } => ({ argb: argb(css) ?? BLACK });
  switch (rule.kind) {
    case 'colorScale': {
      const middle = rule.colors.length === 3 ? [{ type: 'percentile' as const, value: 50 }] : [];
      return { type: 'colorScale', priority, cfvo: [{ type: 'min' }, ...middle, { type: 'max' }], color: rule.colors.map(colorOf) };
    }
    case 'dataBar':
      // The library writes the colour and the id, which its types do not know. Without an id Excel calls the file damaged.
      return {
        type: 'dataBar',
        priority,
        gradient: false,
        cfvo: [{ type: 'min' }, { type: 'max' }],
        ...{ color: colorOf(rule.color), x14Id: id },
      } as ConditionalFormattingRule;
    case 'cells': {
      const fill = argb(rule.backgroundColor);
      const style = {
        ...(rule.color === undefined && !rule.bold
          ? {}
          : { font: { ...(rule.bold ? { bold: true } : {}), ...(rule.color === undefined ? {} : { color: colorOf(rule.color) }) } }),
        // Of a conditional fill the background is what is seen.
        ...(fill === undefined ? {} : { fill: { type: 'pattern' as const, pattern: 'solid' as const, bgColor: { argb: fill } } }),
      };
      return { type: 'expression', priority, style, formulae: [conditionOf(rule.operator, rule.values.map(literal), range)] };
    }
  }
};

const literal = (value: number | string): string =>
  typeof value === 'number' ? String(value) : `"${withoutInvalid(value).replaceAll('"', '""')}"`;

const signs = { greaterThan: '>', atLeast: '>=', lessThan: '<', atMost: '<=', equal: '=', notEqual: '<>' } as const satisfies Partial<
  Record<RuleOperator, string>
>;

/** Of the first cell of the range; blanks are no zero. */
const conditionOf = (operator: RuleOperator, [value = '', and = '']: readonly string[], range: string): string => {
  const cell = range.replace(/:.*$/, '');
  const test = operator === 'between' ? `${cell}>=${value},${cell}<=${and}` : `${cell}${signs[operator]}${value}`;
  return `AND(NOT(ISBLANK(${cell})),${test})`;
};
