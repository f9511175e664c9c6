/** The figures that a mail and its report are about. */
import type { JsonObject } from '../domain/core/json.js';
import type { ValueFormat, VariableDefinition } from '../domain/rendering/scope/definitions.js';

/** Whole euros. */
export const euros: ValueFormat = { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 };

const report = {
  title: 'Sales in October 2026',
  month: '2026-10-01',
  summary: 'Online sales grew for the sixth month in a row; the shops stayed where they were.',
};
const weeks = [
  { week: 'Week 40', online: 18_420, shops: 12_980, returns: 940 },
  { week: 'Week 41', online: 19_110, shops: 13_240, returns: 1_015 },
  { week: 'Week 42', online: 21_760, shops: 12_450, returns: 880 },
  { week: 'Week 43', online: 22_305, shops: 13_020, returns: 1_120 },
  { week: 'Week 44', online: 24_890, shops: 13_610, returns: 1_060 },
];
// The groups share what the weeks came to after returns.
const groups = [
  { name: 'Coffee', revenue: 63_400, before: 58_900 },
  { name: 'Brewing', revenue: 50_120, before: 51_300 },
  { name: 'Cups', revenue: 34_015, before: 29_870 },
  { name: 'Gifts', revenue: 19_235, before: 18_440 },
];

export const exampleReport: JsonObject = { report, weeks, groups };

/** What the mail with a report and the report itself take. */
export const reportVariables: readonly VariableDefinition[] = [
  {
    name: 'report',
    type: 'object',
    required: true,
    defaultValue: report,
    schema: {
      type: 'object',
      properties: {
        title: { type: 'string', required: true },
        month: { type: 'date', required: true, format: { style: 'date', pattern: 'MMMM yyyy' } },
        summary: { type: 'string' },
      },
    },
  },
  {
    name: 'weeks',
    type: 'array',
    itemType: 'object',
    required: true,
    defaultValue: weeks,
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: {
        properties: {
          week: { type: 'string', required: true },
          online: { type: 'number', required: true, format: euros },
          shops: { type: 'number', required: true, format: euros },
          returns: { type: 'number', required: true, format: euros },
        },
      },
    },
  },
  {
    name: 'groups',
    type: 'array',
    itemType: 'object',
    required: true,
    description: 'Revenue of the month and of the month before',
    defaultValue: groups,
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: {
        properties: {
          name: { type: 'string', required: true },
          revenue: { type: 'number', required: true, format: euros },
          before: { type: 'number', required: true, format: euros },
        },
      },
    },
  },
  {
    name: 'byWeek',
    type: 'array',
    itemType: 'object',
    isCalculated: true,
    expression: 'weeks.map((w) => ({ ...w, net: w.online + w.shops - w.returns }))',
  },
  {
    name: 'byGroup',
    type: 'array',
    itemType: 'object',
    isCalculated: true,
    expression: 'groups.map((g) => ({ ...g, change: g.before === 0 ? null : g.revenue / g.before - 1 }))',
  },
  { name: 'online', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.online, 0)', format: euros },
  { name: 'shops', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.shops, 0)', format: euros },
  { name: 'returns', type: 'number', isCalculated: true, expression: 'weeks.reduce((sum, w) => sum + w.returns, 0)', format: euros },
  { name: 'revenue', type: 'number', isCalculated: true, expression: 'online + shops - returns', format: euros },
  {
    name: 'best',
    type: 'string',
    isCalculated: true,
    expression: 'byWeek.reduce((best, w) => (w.net > best.net ? { week: w.week, net: w.net } : best), { week: "", net: -1 }).week',
  },
];
