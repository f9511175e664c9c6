/** What a template is made of: the JSON that authors write, as types. */
import type { Json, JsonObject } from '../json.js';
import type { ComponentsOf } from '../rendering/components.js';
import type { Filter } from '../rendering/fill/shown-value.js';
import type { Translations } from '../rendering/languages/translations.js';

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
  /** What is done with text before it is shown. */
  filters?: readonly Filter[];
}>;

/** The language of a template that names none. */
export const DEFAULT_LOCALE = 'en-US';
export const DEFAULT_TIME_ZONE = 'UTC';

/** The components of a mail: those that the support matrix of domain/rendering/components.ts gives it. */
export type EmailComponentType = ComponentsOf<'email'>;

export type Component = Readonly<{
  id: string;
  type: EmailComponentType;
  content?: string;
  props?: JsonObject;
  children?: readonly Component[];
  elseChildren?: readonly Component[];
}>;

export const sectionTypes = ['header', 'main', 'body', 'footer'] as const;
export type SectionType = (typeof sectionTypes)[number];

export type Section = Readonly<{ id: string; type: SectionType; props?: JsonObject; components: readonly Component[] }>;

/** `props` holds what concerns the whole email: preheader, colours, font, width. */
export type EmailSchema = Readonly<{ sections: readonly Section[]; props?: JsonObject }>;

/** One revision of an email template: all that a rendering depends on, beside the variables. */
export type EmailTemplateContent = Readonly<{
  subject: string;
  variables: readonly VariableDefinition[];
  schema: EmailSchema;
  /** BCP 47; default `en-US`. */
  locale?: string;
  /** IANA name; default `UTC`. */
  timeZone?: string;
  /** A send fails where a path that is shown has no value; default false. */
  strictVariables?: boolean;
  /** Its texts in other languages, by its own texts. */
  translations?: Translations;
}>;
