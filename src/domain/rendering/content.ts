/** What a template is made of: the JSON that authors write, as types. */
import type { JsonObject } from '../core/json.js';
import type { ComponentsOf } from './components.js';
import type { Translations } from './translations.js';
import type { VariableDefinition } from './scope/definitions.js';

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
