/** Rules of a column as conditional formats of the sheet. */
import type { ConditionalFormattingRule } from 'exceljs';
import type { ColumnRule, RuleOperator } from '../../../domain/rendering/column-rules.js';
import { argb } from '../colors.js';
import { withoutInvalid } from './xml.js';

/** `priority` of the first; the sheet counts them all. */
export const conditionalFormats = (rules: readonly ColumnRule[], range: string, priority: number): ConditionalFormattingRule[] =>
  rules.map((rule, at) => formatOf(rule, range, priority + at));

const BLACK = 'FF000000';

const formatOf = (rule: ColumnRule, range: string, priority: number): ConditionalFormattingRule => {
  const colorOf = (css: string): { argb: string } => ({ argb: argb(css) ?? BLACK });
  switch (rule.kind) {
    case 'colorScale': {
      const middle = rule.colors.length === 3 ? [{ type: 'percentile' as const, value: 50 }] : [];
      return { type: 'colorScale', priority, cfvo: [{ type: 'min' }, ...middle, { type: 'max' }], color: rule.colors.map(colorOf) };
    }
    case 'dataBar':
      // The library writes the colour, which its types do not know.
      return {
        type: 'dataBar',
        priority,
        gradient: false,
        cfvo: [{ type: 'min' }, { type: 'max' }],
        ...{ color: colorOf(rule.color) },
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
