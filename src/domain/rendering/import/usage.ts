/**
 * Uses of variables in a mail: the types that they tell, the definitions that result, and sample values for a preview.
 */
import type { Json, JsonObject } from '../../core/json.js';
import { isConstantName, isKey, isName } from '../scope/path.js';
import { patternOf } from './language.js';

/** Uses of one variable, member or item in the template. */
export type Usage = {
  isShown: boolean;
  isTested: boolean;
  isLink: boolean;
  isNumber: boolean;
  isPicture: boolean;
  members: Map<string, Usage>;
  item: Usage | undefined;
  fallback: string | undefined;
  /** Patterns of dates; '' where it is shown as it is. */
  patterns: Set<string>;
  equals: string | number | boolean | undefined;
  sample: Json | undefined;
  calculated: Map<string, Calculated>;
};
export type Calculated = Readonly<{
  type: 'string' | 'number' | 'boolean' | 'date';
  expression: string;
  pattern?: string;
}>;
type Type = 'string' | 'number' | 'boolean' | 'date' | 'array' | 'object';

export const newUsage = (sample: Json | undefined): Usage => ({
  isShown: false,
  isTested: false,
  isLink: false,
  isNumber: false,
  isPicture: false,
  members: new Map(),
  item: undefined,
  fallback: undefined,
  patterns: new Set(),
  equals: undefined,
  sample,
  calculated: new Map(),
});

export const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);
export const isRecord = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value);

export const typeOf = (usage: Usage): Type => {
  const { sample: value } = usage;
  if (usage.item !== undefined) return 'array';
  if (usage.members.size > 0 || usage.calculated.size > 0) return 'object';
  if (typeof value === 'number' || typeof value === 'boolean') return typeof value as 'number' | 'boolean';
  if (isList(value)) return 'array';
  if (isRecord(value)) return 'object';
  if (typeof value === 'string') return usage.patterns.size === 1 && isDateText(value) ? 'date' : 'string';
  if (usage.patterns.size > 0 && !usage.patterns.has('')) return 'date';
  if (usage.isNumber) return 'number';
  return usage.isTested && !usage.isShown && usage.equals === undefined ? 'boolean' : 'string';
};

const formatOf = (pattern: string | undefined): JsonObject =>
  pattern === undefined || pattern === ''
    ? {}
    : { format: { style: /h/i.test(pattern) ? 'datetime' : 'date', pattern } };

const shapeOf = (usage: Usage): JsonObject => {
  const type = typeOf(usage);
  const fallback =
    usage.fallback === undefined || usage.fallback === '' || usage.fallback.includes('{{')
      ? {}
      : { fallback: usage.fallback.slice(0, 500) };
  switch (type) {
    case 'array': {
      const item = usage.item ?? newUsage(isList(usage.sample) ? usage.sample[0] : undefined);
      const itemType = typeOf(item);
      const inner = shapeOf(item);
      return { type, itemType, ...(itemType === 'object' || itemType === 'array' ? { itemSchema: inner } : {}) };
    }
    case 'object':
      return {
        type,
        properties: {
          ...Object.fromEntries([...usage.members].map(([name, member]) => [name, shapeOf(member)])),
          ...Object.fromEntries(
            [...usage.calculated].map(([name, one]) => [
              name,
              { type: one.type, isCalculated: true, expression: one.expression, ...formatOf(one.pattern) },
            ]),
          ),
        },
      };
    case 'date':
      return { type, ...formatOf(patternOf([...usage.patterns].find((one) => one !== '') ?? '')), ...fallback };
    case 'string':
    case 'number':
    case 'boolean':
      return { type, ...fallback };
  }
};

const definitionOf = ([name, usage]: readonly [string, Usage]): JsonObject => {
  const { type, itemType, itemSchema, properties, ...others } = shapeOf(usage);
  return {
    name,
    type: type ?? 'string',
    ...(itemType === undefined ? {} : { itemType }),
    ...(itemSchema !== undefined
      ? { schema: { itemSchema } }
      : properties === undefined
        ? {}
        : { schema: { properties } }),
    ...others,
  };
};

/** Definitions of all variables: those that are given, and those that are calculated. */
export const variablesOf = (top: Usage, calculated: ReadonlyMap<string, Calculated>): readonly JsonObject[] => [
  ...[...top.members].map(definitionOf),
  ...[...calculated].map(([name, one]) => ({
    name,
    type: one.type,
    isCalculated: true,
    expression: one.expression,
    ...formatOf(one.pattern),
  })),
];

const inventedOf = (name: string, usage: Usage, at: number, depth = 0): Json => {
  if (depth > INVENTED_DEPTH_MAX) return null;
  if (usage.sample !== undefined && usage.sample !== null && usage.members.size === 0 && usage.item === undefined)
    return usage.sample;
  switch (typeOf(usage)) {
    case 'array': {
      const item = usage.item ?? newUsage(undefined);
      const given = isList(usage.sample) ? usage.sample : undefined;
      return given ?? (depth < 3 ? [0, 1] : [0]).map((place) => inventedOf(singularOf(name), item, place, depth + 1));
    }
    case 'object':
      return {
        ...(isRecord(usage.sample) ? usage.sample : {}),
        ...Object.fromEntries(
          [...usage.members].map(([member, one]) => [member, inventedOf(member, one, at, depth + 1)]),
        ),
      };
    case 'boolean':
      return usage.equals ?? true;
    case 'number':
      return typeof usage.equals === 'number' ? usage.equals + 1 : at + 2;
    case 'date':
      return `2026-11-2${at + 1}T09:30:00Z`;
    case 'string':
      return usage.equals ?? inventedText(name, usage, at);
  }
};

/** Values of all variables for a preview: those of the export, and others made up. */
export const samplesOf = (top: Usage, calculated: ReadonlyMap<string, Calculated>): JsonObject => ({
  ...Object.fromEntries(
    Object.entries(isRecord(top.sample) ? top.sample : {}).filter(
      ([name]) => !calculated.has(name) && isKey(name) && !isConstantName(name),
    ),
  ),
  ...Object.fromEntries([...top.members].map(([name, usage]) => [name, inventedOf(name, usage, 0)])),
});

/** Lists in lists have few items, so that samples stay small. */
const INVENTED_DEPTH_MAX = 12;

const isDateText = (text: string): boolean => /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text);
export const isPlural = (name: string): boolean => /[^s]s$|list$|_details$/i.test(name);
export const singularOf = (name: string): string =>
  name
    .replace(/_?(?:details|list)$/i, '')
    .replace(/ies$/, 'y')
    .replace(/(ss|x|ch|sh)es$/, '$1')
    .replace(/([^s])s$/, '$1') || 'entry';

const PLAUSIBLE: readonly (readonly [RegExp, readonly [string, string]])[] = [
  [/e-?mail/i, ['ada@example.com', 'grace@example.com']],
  [/first_?name|given/i, ['Ada', 'Grace']],
  [/last_?name|surname/i, ['Lovelace', 'Hopper']],
  [/company|organi[sz]ation|vendor/i, ['Northwind', 'Contoso']],
  [/product|item|title|article/i, ['Ceramic mug', 'Pour-over kettle']],
  [/description|desc$|note|message|text|body|comment/i, ['Glazed by hand', 'Stainless steel']],
  [/(?:price|total|amount|cost|tax|fee|charge)/i, ['$28.00', '$64.50']],
  [/(?:count|qty|quantity|number_of)/i, ['2', '1']],
  [/date|_at$|_on$|expires|due/i, ['November 21, 2026', 'November 22, 2026']],
  [/time/i, ['9:30 AM', '4:15 PM']],
  [/year/i, ['2026', '2025']],
  [/code|token|pin/i, ['482913', '731204']],
  [/(?:order|invoice|receipt|ticket)?_?(?:id|number|no)$/i, ['10042', '10043']],
  [/phone/i, ['+1 555 0100', '+1 555 0101']],
  [/address|street/i, ['1 Main Street', '2 Market Street']],
  [/city/i, ['Lisbon', 'Porto']],
  [/country/i, ['Portugal', 'Spain']],
  [/colou?r/i, ['#2563eb', '#0f766e']],
  [/name|user|customer|person/i, ['Ada Lovelace', 'Grace Hopper']],
];

const inventedText = (name: string, usage: Usage, at: number): string => {
  if (usage.isPicture) return `https://example.com/picture-${at + 1}.png`;
  if (usage.isLink || /url|link|href/i.test(name))
    return `https://example.com/${isName(name) ? name.toLowerCase() : 'page'}`;
  const words = PLAUSIBLE.find(([pattern]) => pattern.test(name))?.[1];
  const plain = name
    .replace(/[_-]+/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .trim()
    .slice(0, 60);
  return (at === 0 ? words?.[0] : words?.[1]) ?? (at === 0 ? plain : `${plain} ${at + 1}`);
};
