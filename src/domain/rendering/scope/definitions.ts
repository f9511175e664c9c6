/** Definitions of variables as templates hold them: type, format, default and the rest. */
import type { Json, JsonObject } from '../../core/json.js';
import type { Filter } from '../fill/shown-value.js';

export const variableTypes = ['string', 'number', 'boolean', 'date', 'array', 'object'] as const;

export type VariableType = (typeof variableTypes)[number];

/** ECMA-402 in JSON: how a value of a variable or a column is written out. */
export type ValueFormat = Readonly<{
  style: 'number' | 'currency' | 'percent' | 'date' | 'time' | 'datetime';
  currency?: string;
  minimumFractionDigits?: number;
  maximumFractionDigits?: number;
  dateStyle?: 'full' | 'long' | 'medium' | 'short';
  timeStyle?: 'full' | 'long' | 'medium' | 'short';
  pattern?: string;
  locale?: string;
  timeZone?: string;
}>;

export type VariableDefinition = Readonly<{
  id?: string;
  name: string;
  type: VariableType;
  required?: boolean;
  description?: string;
  defaultValue?: Json;
  isCalculated?: boolean;
  expression?: string;
  schema?: JsonObject;
  itemType?: string;
  format?: ValueFormat;
  /** Text in the place of a value that is blank. */
  fallback?: string;
  /** Changes to a text before it is shown, applied in order. */
  filters?: readonly Filter[];
}>;
