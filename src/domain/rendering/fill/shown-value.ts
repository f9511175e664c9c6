/**
 * Applies the `filters` and the `fallback` of a definition to a value that is shown. Conditions and expressions see the
 * value itself.
 */
import { firstChars } from '../../../shared/text.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';

export const filterNames = ['trim', 'upper', 'lower', 'capitalize'] as const;
/** `truncate`: at most so many characters, the last of them an ellipsis where something was cut off. */
export type Filter = (typeof filterNames)[number] | Readonly<{ truncate: number }>;

export type Substitution = Readonly<{
  /** Text in the place of a value that is blank. */
  fallback: string | undefined;
  /** One after the other, on text only. */
  filters: readonly Filter[];
}>;

export const TRUNCATE_MAX = 10_000;
export const FALLBACK_CHARS_MAX = 500;
export const FILTERS_MAX = 5;

export const isFilter = (value: unknown): value is Filter => {
  if (typeof value === 'string') return filterNames.some((name) => name === value);
  if (!isJsonObject(value as Json) || Object.keys(value as JsonObject).length !== 1) return false;
  const { truncate } = value as JsonObject;
  return typeof truncate === 'number' && Number.isInteger(truncate) && truncate >= 1 && truncate <= TRUNCATE_MAX;
};

/** Reads the filters and the fallback of a checked definition; undefined where values are shown as they are. */
export const substitutionOf = ({
  fallback,
  filters,
}: Readonly<{ fallback?: unknown; filters?: unknown }>): Substitution | undefined => {
  const given = Array.isArray(filters) ? (filters as readonly unknown[]).filter(isFilter) : [];
  if (typeof fallback !== 'string' && given.length === 0) return undefined;
  return { fallback: typeof fallback === 'string' ? fallback : undefined, filters: given };
};

/**
 * True if a reader would see no value: missing, null, text without a letter, an empty list or object. 0 and false are
 * values.
 */
export const isBlank = (value: Json | undefined): boolean => {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return !isVisible(value.charCodeAt(0)) && !/\S/.test(value);
  if (typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
};

/** Most texts begin with a letter of ASCII, which tells at once that they are not blank. */
const isVisible = (code: number): boolean => code > 0x20 && code < 0x7f;

/** In: what a definition says, and the language of the template (BCP 47). Out: from a value to what is shown of it. */
export const substituterOf = (
  { fallback, filters }: Substitution,
  locale: string,
): ((value: Json | undefined) => Json | undefined) => {
  const steps = filters.map((filter) => stepOf(filter, locale));
  return (value) => {
    const filtered = typeof value === 'string' ? steps.reduce((text, step) => step(text), value) : value;
    return fallback !== undefined && isBlank(filtered) ? fallback : filtered;
  };
};

const stepOf = (filter: Filter, locale: string): ((text: string) => string) => {
  if (typeof filter === 'object') return (text) => truncated(text, filter.truncate);
  switch (filter) {
    case 'trim':
      return (text) => text.trim();
    case 'upper':
      return (text) => text.toLocaleUpperCase(locale);
    case 'lower':
      return (text) => text.toLocaleLowerCase(locale);
    case 'capitalize':
      return (text) => capitalized(text, locale);
  }
};

const capitalized = (text: string, locale: string): string => {
  const first = firstChars(text, 1);
  return first.toLocaleUpperCase(locale) + text.slice(first.length);
};

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Cuts between what people see as characters: flags, families and letters with marks stay whole, and are left out where
 * they do not fit.
 */
const truncated = (text: string, charsMax: number): string => {
  if (firstChars(text, charsMax).length === text.length) return text;
  const kept = firstChars(text, charsMax - 1);
  const isPlain = /^[\x20-\x7e]*$/.test(text.slice(0, kept.length + 1));
  if (isPlain) return `${kept.trimEnd()}…`;
  const at =
    GRAPHEMES.segment(text.slice(0, kept.length + GRAPHEME_UNITS_MAX)).containing(kept.length)?.index ?? kept.length;
  return `${text.slice(0, at).trimEnd()}…`;
};

/** More than any flag or family has, in UTF-16 units. */
const GRAPHEME_UNITS_MAX = 64;

const BREAK = /[\n\r\u0085\u2028\u2029]/;
const BREAKS = /\r\n|[\n\r\u0085\u2028\u2029]/g;
const OTHER_BREAK = /[\r\u0085\u2028\u2029]/;

/** A value for HTML: every line break in it is the one that HTML shows as a blank. */
export const htmlLines = (text: string): string => (OTHER_BREAK.test(text) ? text.replace(BREAKS, '\n') : text);

/** A value for a text without markup, where a line break would be seen: it is a blank. */
export const onOneLine = (text: string): string =>
  BREAK.test(text) ? text.replace(/[\n\r\u0085\u2028\u2029]+/g, ' ') : text;

/**
 * A value whose lines are kept (`keepLines`): each ends with one line feed, and none stand before the first or behind
 * the last.
 */
export const keptLines = (text: string): string => (BREAK.test(text) ? text.replace(BREAKS, '\n').trim() : text);

/** In: escaped HTML of a value whose lines are kept. Out: each line break as `<br>`. */
export const withBreaks = (html: string): string => html.replaceAll('\n', '<br>');
