/**
 * Columns of a workbook: conditional formats by the values of their cells, and how formulas name the cells of another
 * table.
 */
import { isJsonObject, type Json } from '../core/json.js';
import { isPlainObject } from './check/format.js';
import type { Faults } from './check/faults.js';
import { cssColor } from './css.js';

/** In a formula: the cells of a column of another table, by its id and the letters of the column. */
export const TABLE_COLUMN = /\{([^{}.]{1,100})\.([A-Z]{1,3})\}/g;

/** With how many values each compares. */
export const ruleOperators = {
  greaterThan: 1,
  atLeast: 1,
  lessThan: 1,
  atMost: 1,
  equal: 1,
  notEqual: 1,
  between: 2,
} as const;
export type RuleOperator = keyof typeof ruleOperators;

export type ColumnRule =
  /** From the least value to the largest, through the middle where there are three. */
  | Readonly<{ kind: 'colorScale'; colors: readonly string[] }>
  | Readonly<{ kind: 'dataBar'; color: string }>
  | Readonly<{
      kind: 'cells';
      operator: RuleOperator;
      values: readonly (number | string)[];
      color: string | undefined;
      backgroundColor: string | undefined;
      bold: boolean;
    }>;

export const RULES_MAX = 5;
export const RULE_TEXT_CHARS_MAX = 200;
const BAR_COLOR = '#93c5fd';

/** Members of each kind of rule. */
export const ruleMembers = {
  colorScale: ['kind', 'colors'],
  dataBar: ['kind', 'color'],
  cells: ['kind', 'operator', 'value', 'and', 'color', 'backgroundColor', 'bold'],
} as const;

const isOperator = (value: unknown): value is RuleOperator =>
  typeof value === 'string' && Object.hasOwn(ruleOperators, value);
const isKind = (value: unknown): value is ColumnRule['kind'] =>
  typeof value === 'string' && Object.hasOwn(ruleMembers, value);

export const checkRule = (rule: unknown, field: string, faults: Faults): void => {
  if (!isPlainObject(rule)) return faults.add(field, 'must be an object with kind');
  const { kind } = rule;
  if (!isKind(kind)) return faults.add(`${field}.kind`, `must be one of ${Object.keys(ruleMembers).join(', ')}`);
  for (const name of Object.keys(rule))
    if (!ruleMembers[kind].some((known) => known === name))
      faults.add(
        `${field}.${name.slice(0, 40)}`,
        `is not known in a rule of kind ${kind}; known are ${ruleMembers[kind].join(', ')}`,
      );
  for (const name of ['color', 'backgroundColor'])
    if (rule[name] !== undefined && cssColor(rule[name]) === undefined)
      faults.add(`${field}.${name}`, 'must be a colour such as #fee2e2');
  if (kind === 'colorScale') {
    const { colors } = rule;
    if (
      !Array.isArray(colors) ||
      colors.length < 2 ||
      colors.length > 3 ||
      colors.some((color) => cssColor(color) === undefined)
    )
      faults.add(`${field}.colors`, 'must be two or three colours, from the least value to the largest');
  }
  if (kind === 'cells') checkCells(rule, field, faults);
};

const checkCells = (rule: Readonly<Record<string, unknown>>, field: string, faults: Faults): void => {
  const { operator, value, and, bold } = rule;
  if (bold !== undefined && typeof bold !== 'boolean') faults.add(`${field}.bold`, 'must be true or false');
  if (rule['color'] === undefined && rule['backgroundColor'] === undefined && bold !== true)
    faults.add(field, 'changes nothing: give it color, backgroundColor or bold');
  if (!isOperator(operator))
    return faults.add(`${field}.operator`, `must be one of ${Object.keys(ruleOperators).join(', ')}`);
  const byText = operator === 'equal' || operator === 'notEqual';
  const accepts = (given: unknown): boolean =>
    (typeof given === 'number' && Number.isFinite(given)) ||
    (byText && typeof given === 'string' && given.length <= RULE_TEXT_CHARS_MAX);
  if (!accepts(value)) faults.add(`${field}.value`, byText ? 'must be a number or a text' : 'must be a number');
  if (ruleOperators[operator] === 2 && !accepts(and))
    faults.add(`${field}.and`, 'must be a number: the other end of between');
  if (ruleOperators[operator] === 1 && and !== undefined)
    faults.add(`${field}.and`, 'stands beside the operator between only');
};

/** In: rules that were checked. */
export const rulesOf = (value: Json | undefined): readonly ColumnRule[] =>
  Array.isArray(value) ? (value as readonly Json[]).flatMap((rule) => ruleOf(rule) ?? []) : [];

const ruleOf = (rule: Json): ColumnRule | undefined => {
  if (!isJsonObject(rule)) return undefined;
  const { kind, operator, value, and } = rule;
  if (kind === 'colorScale') {
    const colors = Array.isArray(rule['colors'])
      ? (rule['colors'] as readonly Json[]).flatMap((color) => cssColor(color) ?? [])
      : [];
    return colors.length < 2 ? undefined : { kind, colors };
  }
  if (kind === 'dataBar') return { kind, color: cssColor(rule['color']) ?? BAR_COLOR };
  if (kind !== 'cells' || !isOperator(operator)) return undefined;
  const given = ruleOperators[operator] === 2 ? [value, and] : [value];
  const values = given.filter((one) => typeof one === 'number' || typeof one === 'string');
  const [color, backgroundColor] = [cssColor(rule['color']), cssColor(rule['backgroundColor'])];
  return values.length < given.length
    ? undefined
    : { kind, operator, values, color, backgroundColor, bold: rule['bold'] === true };
};
