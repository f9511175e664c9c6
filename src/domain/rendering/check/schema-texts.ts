/** Goes over the texts of a checked template where only their form matters, not what kind of text they are. */
import { isJsonObject, type Json } from '../../json.js';

/** Calls `visit` with each text below a value, and its place. */
export const visitTexts = (value: Json | undefined, field: string, visit: (text: string, field: string) => void): void => {
  if (typeof value === 'string') visit(value, field);
  else if (Array.isArray(value)) (value as readonly Json[]).forEach((item, at) => visitTexts(item, `${field}[${at}]`, visit));
  else if (isJsonObject(value)) for (const [name, member] of Object.entries(value)) visitTexts(member, `${field}.${name}`, visit);
};
