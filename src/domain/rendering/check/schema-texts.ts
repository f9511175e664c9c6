/** Goes over the texts of a checked template where only their form matters, not what kind of text they are. */
import { isJsonObject, type Json } from '../../core/json.js';
import type { Translations } from '../translations.js';

/** What of a template of either kind holds texts. */
export type Texts = Readonly<{ schema: unknown; translations?: Translations | undefined }>;

type Visit = (text: string, field: string) => void;

/** Calls `visit` with each text of the schema and of the translations, and its place. */
export const visitTexts = ({ schema, translations = {} }: Texts, visit: Visit): void => {
  visitBelow(schema as Json, 'schema', visit);
  for (const [tag, texts] of Object.entries(translations)) for (const text of Object.values(texts)) visit(text, `translations.${tag}`);
};

const visitBelow = (value: Json | undefined, field: string, visit: Visit): void => {
  if (typeof value === 'string') visit(value, field);
  else if (Array.isArray(value)) (value as readonly Json[]).forEach((item, at) => visitBelow(item, `${field}[${at}]`, visit));
  else if (isJsonObject(value)) for (const [name, member] of Object.entries(value)) visitBelow(member, `${field}.${name}`, visit);
};
