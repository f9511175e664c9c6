/** Puts a template into the language of a call: its locale, its time zone, and its texts in that language. */
import type { AttachmentTemplateContent, BlockContent, BlockSchema, EmailTemplateContent, Page } from './content.js';
import { isJsonObject, type Json, type JsonObject } from '../core/json.js';
import type { VariableDefinition } from './scope/definitions.js';
import { componentSpecs, emailProps, layoutProps, type ComponentsOf, type Output } from './components.js';
import { writeSteps } from './scope/path.js';
import type { PropKind, PropSpecs } from './props.js';
import { translatorOf, type CallLanguage, type Translate, type Translations } from './translations.js';

type InLanguages = Readonly<{ locale?: string; timeZone?: string; translations?: Translations }>;

/** In: a checked email template, and what the call says. Out: what is rendered, in one language. */
export const emailInLanguage = (
  { translations, ...content }: EmailTemplateContent,
  language: CallLanguage | undefined,
): EmailTemplateContent => {
  const translate = translateOf({ ...content, ...(translations && { translations }) }, language);
  const spoken = { ...content, ...overrides(language) };
  return translate === undefined ? spoken : mapEmailTexts(spoken, translate);
};

/** In: a checked attachment template, and what the call says. Out: what is rendered, in one language. */
export const documentInLanguage = (
  { translations, ...content }: AttachmentTemplateContent,
  language: CallLanguage | undefined,
): AttachmentTemplateContent => {
  const translate = translateOf({ ...content, ...(translations && { translations }) }, language);
  const spoken = { ...content, ...overrides(language) };
  return translate === undefined ? spoken : mapDocumentTexts(spoken, translate);
};

/** A text of the template that stands outside its content, such as its name. */
export const textInLanguage = (text: string, content: InLanguages, language: CallLanguage | undefined): string =>
  translateOf(content, language)?.(text) ?? text;

/** Part of a cache key: names the language of a call; empty where the call says none. */
export const languageKey = (language: CallLanguage | undefined): string =>
  language?.locale === undefined && language?.timeZone === undefined
    ? ''
    : `:${language.locale ?? ''}:${language.timeZone ?? ''}`;

const overrides = (language: CallLanguage | undefined): Readonly<{ locale?: string; timeZone?: string }> => ({
  ...(language?.locale !== undefined && { locale: language.locale }),
  ...(language?.timeZone !== undefined && { timeZone: language.timeZone }),
});

/** Undefined where the template's own texts are shown. */
const translateOf = (
  { locale, translations }: InLanguages,
  language: CallLanguage | undefined,
): Translate | undefined =>
  language?.locale === undefined || translations === undefined || language.locale === locale
    ? undefined
    : translatorOf(translations, language.locale);

/** `prose`: a reader reads it, so each language should have it. `expression`: it makes a calculated word. */
type TextKind = 'prose' | 'address' | 'expression';

/** Answers what stands in place of one text of the template. */
export type MapText = (text: string, field: string, kind: TextKind) => string;

type ComponentLike = Readonly<{
  id: string;
  type: ComponentsOf<Output>;
  content?: string;
  props?: JsonObject;
  children?: readonly ComponentLike[];
  elseChildren?: readonly ComponentLike[];
}>;
type SectionLike = Readonly<{ components: readonly ComponentLike[] }>;

/** Props of text that are compared or read by a program, the same in each language. */
const notTranslated: Partial<Record<ComponentsOf<Output>, ReadonlySet<string>>> = {
  conditional: new Set(['value']),
  timeline: new Set(['status']),
  'qr-code': new Set(['name', 'iban', 'bic', 'amount', 'purpose', 'reference']),
};

/** Props of text that a program reads and that may still be another in each language, such as the address in a code. */
const addressLike: Partial<Record<ComponentsOf<Output>, ReadonlySet<string>>> = { 'qr-code': new Set(['value']) };

/** Maps each text of an email template that may stand in several languages. */
export const mapEmailTexts = (content: EmailTemplateContent, map: MapText): EmailTemplateContent => {
  const { subject, schema, variables } = content;
  return {
    ...content,
    subject: map(subject, 'subject', 'prose'),
    variables: mapVariables(variables, map),
    schema: {
      ...schema,
      ...(schema.props && { props: mapProps(schema.props, emailProps, 'schema.props', map) }),
      ...mapLayout(schema.layout, map),
      sections: mapSections(schema.sections, 'schema.sections', map),
    },
  };
};

/** Maps each text of an attachment template that may stand in several languages. */
export const mapDocumentTexts = (content: AttachmentTemplateContent, map: MapText): AttachmentTemplateContent => ({
  ...content,
  variables: mapVariables(content.variables, map),
  schema: {
    ...content.schema,
    ...mapLayout(content.schema.layout, map),
    pages: content.schema.pages.map((page, at) => mapPage(page, `schema.pages[${at}]`, map)),
  },
});

/** In: a checked block, and the language of the mail or document that shows it. Out: the block in that language. */
export const blockInLanguage = ({ translations, ...content }: BlockContent, locale: string): BlockContent => {
  const translate = translateOf({ ...content, ...(translations && { translations }) }, { locale });
  return translate === undefined ? content : mapBlockTexts(content, translate);
};

/** Maps each text of a block that may stand in several languages. */
export const mapBlockTexts = (content: BlockContent, map: MapText): BlockContent => ({
  ...content,
  variables: mapVariables(content.variables, map),
  schema: mapBlockSchema(content.schema, map),
});

const mapBlockSchema = (schema: BlockSchema, map: MapText): BlockSchema => {
  if ('components' in schema) return { components: mapComponents(schema.components, 'schema.components', map) };
  const { props, sections } = schema;
  return {
    ...(props && { props: mapProps(props, emailProps, 'schema.props', map) }),
    sections: sections.map((section, at) =>
      section.type === 'slot'
        ? section
        : { ...section, components: mapComponents(section.components, `schema.sections[${at}].components`, map) },
    ),
  };
};

const mapLayout = (layout: JsonObject | undefined, map: MapText): Readonly<{ layout?: JsonObject }> =>
  layout === undefined ? {} : { layout: mapProps(layout, layoutProps, 'schema.layout', map) };

const mapPage = (page: Page, field: string, map: MapText): Page => ({
  ...page,
  pageName: map(page.pageName, `${field}.pageName`, 'prose'),
  ...(page.pageSettings && { pageSettings: mapSettings(page.pageSettings, `${field}.pageSettings`, map) }),
  sections: mapSections(page.sections, `${field}.sections`, map),
});

const margins = ['header', 'footer', 'firstPageHeader', 'firstPageFooter'] as const;

const mapSettings = (
  settings: NonNullable<Page['pageSettings']>,
  field: string,
  map: MapText,
): NonNullable<Page['pageSettings']> => {
  const { watermark, contents } = settings;
  const mapped: Partial<Record<(typeof margins)[number], NonNullable<(typeof settings)['header']>>> = {};
  for (const name of margins) {
    const margin = settings[name];
    if (margin !== undefined)
      mapped[name] = {
        ...margin,
        content: map(margin.content, `${field}.${name}.content`, 'prose'),
        ...(margin.code && { code: mapPropsOf('qr-code', margin.code, `${field}.${name}.code`, map) }),
      };
  }
  return {
    ...settings,
    ...mapped,
    ...(contents?.title !== undefined && {
      contents: { ...contents, title: map(contents.title, `${field}.contents.title`, 'prose') },
    }),
    ...(watermark && { watermark: { ...watermark, text: map(watermark.text, `${field}.watermark.text`, 'prose') } }),
  };
};

const mapSections = <S extends SectionLike>(sections: readonly S[], field: string, map: MapText): readonly S[] =>
  sections.map((section, at) => ({
    ...section,
    components: mapComponents(section.components, `${field}[${at}].components`, map),
  }));

const mapComponents = (components: readonly ComponentLike[], field: string, map: MapText): readonly ComponentLike[] =>
  components.map((component, at) => mapComponent(component, `${field}[${at}]`, map));

const mapComponent = (component: ComponentLike, field: string, map: MapText): ComponentLike => {
  const { type, content, props, children, elseChildren } = component;
  return {
    ...component,
    ...(content !== undefined && { content: map(content, `${field}.content`, 'prose') }),
    ...(props && { props: mapPropsOf(type, props, `${field}.props`, map) }),
    ...(children && { children: mapComponents(children, `${field}.children`, map) }),
    ...(elseChildren && { elseChildren: mapComponents(elseChildren, `${field}.elseChildren`, map) }),
  };
};

const mapPropsOf = (type: ComponentLike['type'], props: JsonObject, field: string, map: MapText): JsonObject => {
  const addresses = addressLike[type];
  const mapOne: MapText =
    addresses === undefined
      ? map
      : (text, at, kind) => map(text, at, addresses.has(at.slice(field.length + 1)) ? 'address' : kind);
  return mapProps(props, componentSpecs[type].props, field, mapOne, notTranslated[type]);
};

const mapProps = (
  props: JsonObject,
  specs: PropSpecs,
  field: string,
  map: MapText,
  without?: ReadonlySet<string>,
): JsonObject =>
  Object.fromEntries(
    Object.entries(props).map(([name, value]) => {
      const kind = without?.has(name) === true || !Object.hasOwn(specs, name) ? undefined : specs[name]?.kind;
      return [name, (kind && mapKinds[kind]?.(value, `${field}.${name}`, map)) ?? value];
    }),
  );

type MapValue = (value: Json, field: string, map: MapText) => Json;

const mapProse: MapValue = (value, field, map) => textIn(value, field, map, 'prose');

const mapItems =
  (each: MapValue): MapValue =>
  (value, field, map) =>
    Array.isArray(value) ? (value as readonly Json[]).map((item, at) => each(item, `${field}[${at}]`, map)) : value;

const mapMembers =
  (...names: readonly string[]): MapValue =>
  (value, field, map) =>
    isJsonObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => [
            name,
            names.includes(name) ? mapProse(member, `${field}.${name}`, map) : member,
          ]),
        )
      : value;

/** The kinds of props that hold texts. Pictures, colours and sizes are the same in each language. */
const mapKinds: Partial<Record<PropKind, MapValue>> = {
  text: mapProse,
  scalar: mapProse,
  link: (value, field, map) => textIn(value, field, map, 'address'),
  rows: mapItems(
    mapItems((cell, field, map) => (isJsonObject(cell) ? mapMembers('content') : mapProse)(cell, field, map)),
  ),
  columns: mapItems(mapMembers('header', 'content', 'footer', 'groupHeader', 'groupFooter')),
  series: mapItems(mapMembers('name')),
  timelineItems: mapItems(mapMembers('title', 'description', 'date')),
  includedVariables: (value, field, map) =>
    isJsonObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, given]) => [
            name,
            given === undefined
              ? null
              : textIn(given, field + writeSteps([name]), map, isAddress(given) ? 'address' : 'prose'),
          ]),
        )
      : value,
};

const textIn = (value: Json, field: string, map: MapText, kind: TextKind): Json =>
  typeof value === 'string' ? map(value, field, kind) : value;

const isAddress = (value: Json): boolean => typeof value === 'string' && /^\s*(?:[a-z][a-z0-9+.-]*:|#)/i.test(value);

/** An expression that holds words: text in quotation marks. Others are the same in each language. */
const WORDS = /['"`]/;

const mapExpression = (
  node: Readonly<{ expression?: unknown }>,
  field: string,
  map: MapText,
): Readonly<{ expression?: string }> =>
  typeof node.expression === 'string' && WORDS.test(node.expression)
    ? { expression: map(node.expression, `${field}.expression`, 'expression') }
    : {};

/** Maps the fallbacks, which stand in place of blank values, and the expressions that make words. */
const mapVariables = (variables: readonly VariableDefinition[], map: MapText): readonly VariableDefinition[] =>
  variables.map((definition, at) => ({
    ...definition,
    ...mapExpression(definition, `variables[${at}]`, map),
    ...(definition.fallback !== undefined && {
      fallback: map(definition.fallback, `variables[${at}].fallback`, 'prose'),
    }),
    ...(definition.schema && { schema: mapMember(definition.schema, `variables[${at}].schema`, map) }),
  }));

const mapMember = (node: JsonObject, field: string, map: MapText): JsonObject => {
  const { fallback, properties, itemSchema } = node;
  return {
    ...node,
    ...mapExpression(node, field, map),
    ...(typeof fallback === 'string' && { fallback: map(fallback, `${field}.fallback`, 'prose') }),
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [
          name,
          isJsonObject(member) ? mapMember(member, `${field}.properties${writeSteps([name])}`, map) : member,
        ]),
      ),
    }),
    ...(isJsonObject(itemSchema) && { itemSchema: mapMember(itemSchema, `${field}.itemSchema`, map) }),
  };
};
