/**
 * Checks the translations of a template when it is saved: in each language it must be a template that could be saved by
 * itself.
 */
import type { FieldError } from '../../core/errors.js';
import { openBudget } from '../budget.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import { orderCalculated } from '../expression/calculated.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { isPlainObject, localeFault } from './format.js';
import { checkDisplayFormat } from './variables.js';
import type { WalkTools } from './components.js';
import type { MapText } from '../languages.js';
import { fallbackTags, namedTexts, nameOfText, translatorOf, type Translations } from '../translations.js';
import { boundedNearest, type Nearest, type PathFindings } from '../paths/check.js';
import { shorten, writeSteps } from '../scope/path.js';

/** How one kind of templates maps and checks its texts. */
type Translatable<Content> = Readonly<{
  /** The content with its texts replaced. */
  mapped: (map: MapText) => Content;
  /** Adds what is wrong with a content that has the texts of another language. */
  check: (content: Content, tools: WalkTools) => void;
  paths: (content: Content, nearest: Nearest) => PathFindings;
}>;

/** Enough to work with. */
const WARNINGS_MAX = 100;
const CHARS_SHOWN = 60;
/** A template with all its languages may be as much work as so many templates in one. */
const TEMPLATES_OF_WORK = 4;

type Own = Readonly<{ given: unknown; locale: string; paths: PathFindings }>;

/**
 * In: what came in as `translations`, beside a content that is right. Adds what is wrong to the faults. Out: the
 * translations, undefined where there are none, and what their author should know: texts that a language lacks, texts
 * that the template has not, paths that nothing declares.
 */
export const checkTranslations = <Content>(
  { given, locale, paths }: Own,
  spoken: Translatable<Content>,
  tools: WalkTools,
): Readonly<{ translations: Translations | undefined; warnings: readonly FieldError[] }> => {
  const nothing = { translations: undefined, warnings: [] };
  if (given === undefined || given === null) return nothing;
  const before = tools.faults.count();
  checkForm(given, locale, tools);
  if (tools.faults.count() > before) return nothing;
  const translations = namedTexts(given as Translations);
  if (Object.keys(translations).length === 0) return nothing;
  const texts = textsOf(spoken);
  const warnings: FieldError[] = [];
  const warn = (field: string, message: string): void => {
    if (warnings.length < WARNINGS_MAX) warnings.push({ field, message });
  };
  const nearest = boundedNearest();
  let elements = 0;
  for (const tag of Object.keys(translations)) {
    const field = `translations.${tag}`;
    const content = spoken.mapped(translatorOf(translations, tag));
    const faults = {
      ...tools.faults,
      add: (at: string, message: string) => tools.faults.add(field, `${at}: ${message}`),
    };
    const budget = openBudget(tools.limits);
    const wrong = tools.faults.count();
    spoken.check(content, { ...tools, faults, budget, ids: new Map() });
    if (tools.faults.isFull()) break;
    elements += tools.limits.workElementsMax - budget.elementsLeft;
    if (elements > TEMPLATES_OF_WORK * tools.limits.workElementsMax) {
      tools.faults.add('translations', tooMuch(tag, TEMPLATES_OF_WORK * tools.limits.workElementsMax));
      break;
    }
    // Paths are read from what is right, as those of the template itself are.
    if (tools.faults.count() > wrong) continue;
    const found = spoken.paths(content, nearest);
    for (const { field: at, message } of newIn(found.faults, paths.faults)) faults.add(at, message);
    for (const { field: at, message } of newIn(found.warnings, paths.warnings)) warn(field, `${at}: ${message}`);
    warnOfTexts(tag, translations, {
      texts,
      isOwnLanguage: fallbackTags(tag).at(-1) === fallbackTags(locale).at(-1),
      warn,
    });
  }
  return { translations, warnings };
};

const tooMuch = (tag: string, max: number): string =>
  `up to ${tag} the texts of all languages together have more than ${max.toLocaleString('en-US')} tags, placeholders and written cells of tables: have fewer languages in one template, or use components`;

const checkForm = (given: unknown, locale: string, { faults, limits }: WalkTools): void => {
  const expected =
    'must be an object with an object of texts for each language, such as {"de": {"Your order": "Ihre Bestellung"}}';
  if (!isPlainObject(given)) return faults.add('translations', expected);
  const tags = Object.keys(given);
  if (tags.length > limits.templateLanguagesMax)
    return faults.add('translations', `has ${tags.length} languages, the maximum is ${limits.templateLanguagesMax}`);
  for (const tag of tags) {
    const field = `translations.${shorten(tag)}`;
    const fault = tagFault(tag, locale);
    if (fault !== undefined) faults.add(field, fault);
    checkTexts(given[tag], field, { faults, limits });
  }
};

const tagFault = (tag: string, locale: string): string | undefined => {
  const fault = localeFault(tag);
  if (fault !== undefined) return fault;
  const [canonical = tag] = Intl.getCanonicalLocales(tag);
  if (canonical !== tag) return `must be written ${canonical}`;
  return tag === locale ? "is the template's own `locale`: its texts are those of the template itself" : undefined;
};

const checkTexts = (texts: unknown, field: string, { faults, limits }: Pick<WalkTools, 'faults' | 'limits'>): void => {
  if (!isPlainObject(texts))
    return faults.add(field, 'must be an object: by each text of the template the text of this language');
  const entries = Object.entries(texts);
  if (entries.length > limits.templateTextsMax)
    return faults.add(field, `has ${entries.length} texts, the maximum is ${limits.templateTextsMax}`);
  for (const [text, translated] of entries)
    if (typeof translated !== 'string') faults.add(field, `"${shorten(text, CHARS_SHOWN)}" must be text`);
};

/** `other`: where a text of the same name stands that looks different to its reader. */
type OwnText = Readonly<{ text: string; field: string; isRead: boolean; other?: string }>;

/** Lists each text once by its name, with the place where it first stands, and whether a reader reads it. */
const textsOf = <Content>({ mapped }: Translatable<Content>): ReadonlyMap<string, OwnText> => {
  const texts = new Map<string, OwnText>();
  mapped((text, field, kind) => {
    const name = nameOfText(text);
    const known = texts.get(name);
    if (known === undefined) texts.set(name, { text, field, isRead: kind === 'prose' && hasWords(text) });
    else if (known.other === undefined && known.text !== text && looksOf(known.text) !== looksOf(text))
      texts.set(name, { ...known, other: field });
    return text;
  });
  return texts;
};

/**
 * Texts of one name that look alike to a reader have the same of this: blanks and line breaks, and quotation marks of
 * attributes, are not told apart.
 */
const looksOf = (text: string): string =>
  text.replaceAll(/<[^<>]*>/g, (tag) => nameOfText(tag)).replaceAll(/\r\n|[^\S ]/g, ' ');

type Telling = Readonly<{
  texts: ReturnType<typeof textsOf>;
  isOwnLanguage: boolean;
  warn: (field: string, message: string) => void;
}>;

const warnOfTexts = (tag: string, translations: Translations, { texts, isOwnLanguage, warn }: Telling): void => {
  const field = `translations.${tag}`;
  for (const text of Object.keys(translations[tag] ?? {})) {
    const named = `"${shorten(text, CHARS_SHOWN)}"`;
    const own = texts.get(text);
    if (own === undefined) warn(field, `${named} is no text of the template, so it is never shown`);
    else if (own.other !== undefined)
      warn(
        field,
        `${named} is shown in the place of two texts, which differ only in quotation marks, backslashes or blanks: ${own.field} and ${own.other}; word one of them otherwise where they need two translations`,
      );
  }
  // Translations into a variety of the own language name only the texts that differ.
  if (isOwnLanguage) return;
  const known = fallbackTags(tag).flatMap((one) => (Object.hasOwn(translations, one) ? [translations[one] ?? {}] : []));
  for (const [text, { field: at, isRead }] of texts)
    if (isRead && !known.some((one) => Object.hasOwn(one, text)))
      warn(field, `has no text for "${shorten(text, CHARS_SHOWN)}" (${at}), so the template's own is shown`);
};

/**
 * True where letters stand outside of placeholders and tags; formulas of workbooks are no words. Linear, for texts may
 * be long and hostile.
 */
const hasWords = (text: string): boolean => {
  if (text.startsWith('=')) return false;
  for (let at = 0; at < text.length;) {
    const close = text.startsWith('{{', at) ? '}}' : text[at] === '<' ? '>' : text[at] === '&' ? ';' : undefined;
    if (close === undefined) {
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
      if (/\p{L}/u.test(character)) return true;
      at += character.length;
    } else {
      const end = text.indexOf(close, at);
      if (end === -1) return close === ';';
      at = end + close.length;
    }
  }
  return false;
};

/** Checks the texts that stand in place of blank values, and the expressions. */
export const checkVariableTexts = (variables: readonly VariableDefinition[], { faults, limits }: WalkTools): void => {
  for (const { field, message } of orderCalculated(variables, limits).faults)
    faults.add(`${field}.expression`, message);
  const walk = (node: JsonObject, field: string): void => {
    const { properties, itemSchema } = node;
    checkDisplayFormat(node, field, faults);
    if (isJsonObject(itemSchema)) walk(itemSchema, `${field}.itemSchema`);
    if (!isJsonObject(properties)) return;
    for (const [name, member] of Object.entries(properties))
      if (isJsonObject(member)) walk(member, `${field}.properties${writeSteps([name])}`);
  };
  for (const [at, definition] of variables.entries()) {
    checkDisplayFormat(definition, `variables[${at}]`, faults);
    if (definition.schema !== undefined) walk(definition.schema, `variables[${at}].schema`);
  }
};

const newIn = (found: readonly FieldError[], known: readonly FieldError[]): readonly FieldError[] =>
  found.filter(({ field, message }) => !known.some((one) => one.field === field && one.message === message));
