/**
 * Props, variables and column rules as JSON schemas: one definition for each kind of props.ts. A schema takes whatever
 * the check takes; it may take more.
 */
import type { Json, JsonObject } from '../../domain/core/json.js';
import {
  CURRENCY,
  dateLengths,
  DIGITS_MAX,
  formatStyles,
  LANGUAGE_CHARS_MAX,
  PATTERN_CHARS_MAX,
} from '../../domain/rendering/check/format.js';
import {
  MEMBERS_MAX,
  type memberFields,
  DESCRIPTION_CHARS_MAX,
  VARIABLE_ID_CHARS_MAX,
  type definitionFields,
} from '../../domain/rendering/check/variables.js';
import {
  RULE_TEXT_CHARS_MAX,
  ruleMembers,
  ruleOperators,
  type ColumnRule,
  RULES_MAX,
} from '../../domain/rendering/column-rules.js';
import { FALLBACK_CHARS_MAX, filterNames, FILTERS_MAX, TRUNCATE_MAX } from '../../domain/rendering/fill/shown-value.js';
import { KEY_CHARS_MAX, NAME_CHARS_MAX, PATH_NAME } from '../../domain/rendering/scope/path.js';
import { variableTypes, type ValueFormat } from '../../domain/rendering/scope/definitions.js';
import { codeKinds } from '../../domain/rendering/codes.js';
import { colorNames, CSS_LENGTH, FONT_FAMILY, FUNCTIONAL_COLOR, chartTypes } from '../../domain/rendering/css.js';
import { directions, textDirections } from '../../domain/rendering/direction.js';
import { DOCUMENT_LENGTH, DOCUMENT_PERCENT, type Media } from '../../domain/rendering/lengths.js';
import {
  aligns,
  cellSpecs,
  columnSpecs,
  errorCorrections,
  lineStyles,
  pageBreaks,
  GROUPS_MAX,
  BLOCK_SLUG,
  BLOCK_SLUG_CHARS_MAX,
  groupOrders,
  ROWS_MAX,
  SERIES_MAX,
  seriesSpecs,
  TIMELINE_ITEMS_MAX,
  timelineItemSpecs,
  verticalAligns,
  WIDTHS_MAX,
  type PropKind,
  type PropSpecs,
} from '../../domain/rendering/props.js';
import { LINK_BASE, LINK_BASE_CHARS_MAX, LINK_SCHEMES_MAX, OWN_SCHEME } from '../../domain/rendering/addresses.js';
import { operators } from '../../domain/rendering/scope/conditions.js';
import { columnTypes } from '../../domain/rendering/scope/display-format.js';

/** In: the name of a definition. Out: what stands where it is used. */
export type Refer = (name: string) => JsonObject;

/** An object of these members and no others. A member of `required` must be there. */
export const closedObject = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

export const words = (values: readonly (string | boolean)[]): JsonObject => ({ enum: values });

export const described = (schema: JsonObject, description: string): JsonObject => ({ ...schema, description });

export const text = (charsMax?: number): JsonObject => ({
  type: 'string',
  minLength: 1,
  ...(charsMax === undefined ? {} : { maxLength: charsMax }),
});

/** A text that is more than blanks. */
export const VISIBLE = '\\S';

/** A text with `{{…}}`: what it comes to is known when it is rendered. */
const templated: JsonObject = { type: 'string', pattern: '\\{\\{' };

/** The schema, or a text with `{{…}}` in its place. */
const orTemplated = (...schemas: readonly JsonObject[]): JsonObject => ({ anyOf: [...schemas, templated] });

/** A text that matches one of several patterns, with blanks around it. Patterns are given without anchors. */
const trimmed = (...patterns: readonly string[]): JsonObject => ({
  type: 'string',
  pattern: `^\\s*(?:${patterns.join('|')})\\s*$`,
});

/**
 * The source of an expression without its anchors, for a pattern of JSON Schema, which knows no flags: where it takes
 * letters of both cases, each letter becomes both. Such an expression may hold no letters in brackets.
 */
const sourceOf = ({ source, ignoreCase }: RegExp): string => {
  const inner = source.replace(/^\^/, '').replace(/\$$/, '');
  if (!ignoreCase) return inner;
  return inner.replace(/\\.|[a-z]/gi, (part) =>
    part.length > 1 ? part : `[${part.toLowerCase()}${part.toUpperCase()}]`,
  );
};

/** Matches an object whose member has this value. */
export const where = (member: string, value: JsonObject): JsonObject => ({
  properties: { [member]: value },
  required: [member],
});

/** If `condition` holds, `then` must hold; otherwise `otherwise`. */
export const given = (condition: JsonObject, then: JsonObject, otherwise?: JsonObject): JsonObject => ({
  if: condition,
  then,
  ...(otherwise === undefined ? {} : { else: otherwise }),
});

/** An object that has none of these members. */
export const without = (names: readonly string[]): JsonObject => ({
  properties: Object.fromEntries(names.map((name): [string, Json] => [name, false])),
});

const key: JsonObject = { type: 'string', maxLength: KEY_CHARS_MAX, pattern: VISIBLE };
const digits: JsonObject = { type: 'integer', minimum: 0, maximum: DIGITS_MAX };
const flag: JsonObject = { type: 'boolean' };

const fallback = described(
  { type: 'string', pattern: VISIBLE, maxLength: FALLBACK_CHARS_MAX },
  'Text in the place of a value that is empty; cannot hold {{…}}',
);
const filters = described(
  {
    type: 'array',
    maxItems: FILTERS_MAX,
    items: {
      anyOf: [
        words(filterNames),
        closedObject({ truncate: { type: 'integer', minimum: 1, maximum: TRUNCATE_MAX } }, ['truncate']),
      ],
    },
  },
  'Changes to a text before it is shown, applied in order',
);

const format: Readonly<Record<keyof ValueFormat, JsonObject>> = {
  style: words(formatStyles),
  currency: described(
    orTemplated({ type: 'string', pattern: CURRENCY.source }),
    'A currency code such as EUR; may be {{order.currency}}',
  ),
  minimumFractionDigits: digits,
  maximumFractionDigits: digits,
  dateStyle: words(dateLengths),
  timeStyle: words(dateLengths),
  pattern: described(text(PATTERN_CHARS_MAX), 'For dates letters such as yyyy-MM-dd, for numbers #,##0.00'),
  locale: described(text(LANGUAGE_CHARS_MAX), 'A language tag (BCP 47) instead of the template’s'),
  timeZone: described(text(LANGUAGE_CHARS_MAX), 'The IANA name of a time zone instead of the template’s'),
};

const definition = (refer: Refer): Readonly<Record<(typeof definitionFields)[number], JsonObject>> => ({
  name: described(
    key,
    'The name by which paths begin; one that is not of letters, digits, "_" and "-" stands in brackets: {{["1st item"]}}',
  ),
  type: words(variableTypes),
  required: described(flag, 'A call without it is refused'),
  description: { type: 'string', maxLength: DESCRIPTION_CHARS_MAX },
  defaultValue: {},
  isCalculated: described(flag, 'Its value is that of expression'),
  expression: described(
    { type: 'string', pattern: VISIBLE },
    'Expression that computes the value of a calculated variable from the others',
  ),
  schema: refer('VariableSchema'),
  itemType: described(words(variableTypes), 'Type of the items of an array'),
  format: refer('ValueFormat'),
  fallback,
  filters,
  id: text(VARIABLE_ID_CHARS_MAX),
});

const member = (refer: Refer): Readonly<Record<(typeof memberFields)[number], JsonObject>> => ({
  type: words(variableTypes),
  description: { type: 'string' },
  required: flag,
  isCalculated: described(flag, 'True if the member of an item gets the value of its expression'),
  expression: described(
    { type: 'string', pattern: VISIBLE },
    'Expression that computes the member from its item, its index and the variables',
  ),
  format: refer('ValueFormat'),
  fallback,
  filters,
  properties: described(
    { type: 'object', maxProperties: MEMBERS_MAX, propertyNames: key, additionalProperties: refer('VariableSchema') },
    'The members of an object',
  ),
  itemType: described(words(variableTypes), 'Type of the items of an array'),
  itemSchema: refer('VariableSchema'),
});

/** Members of column rules; `ruleMembers` says which kind has which. */
const ruleParts = (refer: Refer): Readonly<Record<(typeof ruleMembers)[ColumnRule['kind']][number], JsonObject>> => {
  const end: JsonObject = { type: ['number', 'string'], maxLength: RULE_TEXT_CHARS_MAX };
  return {
    kind: words(Object.keys(ruleMembers)),
    colors: described(
      { type: 'array', minItems: 2, maxItems: 3, items: refer('Color') },
      'From the least value to the largest',
    ),
    color: refer('Color'),
    operator: words(Object.keys(ruleOperators)),
    value: end,
    and: described(end, 'The other end of between'),
    backgroundColor: refer('Color'),
    bold: flag,
  };
};

const requiredOfRule: Readonly<Record<ColumnRule['kind'], readonly string[]>> = {
  colorScale: ['kind', 'colors'],
  dataBar: ['kind'],
  cells: ['kind', 'operator', 'value'],
};

const columnRule = (refer: Refer): JsonObject => {
  const parts = ruleParts(refer);
  const kinds = Object.keys(ruleMembers) as readonly ColumnRule['kind'][];
  return {
    ...closedObject(parts, ['kind']),
    allOf: kinds.map((kind) =>
      given(where('kind', words([kind])), {
        ...without(Object.keys(parts).filter((part) => !ruleMembers[kind].some((known) => known === part))),
        required: requiredOfRule[kind],
      }),
    ),
  };
};

/** Members belong to objects, items to arrays. */
const partsByType: readonly JsonObject[] = [
  given(where('type', { not: words(['object']) }), without(['properties'])),
  given(where('type', { not: words(['array']) }), without(['itemType', 'itemSchema'])),
];

/** An expression belongs to what is calculated. */
const calculated: JsonObject = given(
  where('isCalculated', words([true])),
  { required: ['expression'] },
  without(['expression']),
);

/** A language tag as `Intl` writes it. */
const LANGUAGE_TAG = '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$';

const translations = (refer: Refer): JsonObject => ({
  anyOf: [
    {
      type: 'object',
      propertyNames: { type: 'string', pattern: LANGUAGE_TAG, maxLength: LANGUAGE_CHARS_MAX },
      additionalProperties: refer('TranslatedTexts'),
    },
    { type: 'null' },
  ],
});

const translatedTexts: JsonObject = described(
  { type: 'object', additionalProperties: { type: 'string' } },
  'By each text of the template the text of this language; what is left out stays as it is. A text of the template is named as it is written there, with \' for each ", / for each backslash and a blank for each line break and tab',
);

/** The definitions that speak of values, the same for mails and documents. */
export const valueDefinitions = (refer: Refer): JsonObject => ({
  Variable: described(
    {
      ...closedObject(definition(refer), ['name', 'type']),
      allOf: [
        calculated,
        given(where('type', { not: words(['object']) }), { properties: { schema: without(['properties']) } }),
        given(where('type', { not: words(['array']) }), {
          properties: { itemType: false, schema: without(['itemType', 'itemSchema']) },
        }),
      ],
    },
    'A variable that calls bring, or that is calculated from them',
  ),
  VariableSchema: described(
    { ...closedObject(member(refer)), allOf: [calculated, ...partsByType] },
    'Parts of a value: the members of an object, the items of an array',
  ),
  ValueFormat: described(
    {
      ...closedObject(format, ['style']),
      allOf: [given(where('style', words(['currency'])), { required: ['currency'] })],
    },
    'How a value is written, as in ECMA-402',
  ),
  Translations: described(
    translations(refer),
    'The texts of the template in other languages, by language tag such as de or de-AT; null or {} for none',
  ),
  TranslatedTexts: translatedTexts,
  ColumnRule: described(columnRule(refer), 'How the cells of a column of a workbook look by what they hold'),
});

/** Mails and documents know different lengths, pictures and numbers of columns. */
export type Medium = Readonly<{
  /** Begins the names of its definitions. */
  name: 'Email' | 'Document';
  media: Media;
  /** undefined: a setting says it. */
  columnsMax: number | undefined;
}>;

/** A path, with or without braces: names, dots and places in brackets. */
const KEY = `\\[\\s*(?:"(?:[^"\\\\]|\\\\[^])*"|'(?:[^'\\\\]|\\\\[^])*'|&[^{}<>\\[\\]]*)\\s*\\]`;
const PATH = `(?:[\\p{L}_]|${KEY})(?:[\\p{L}\\p{N}_.-]|\\[[0-9]+\\]|${KEY})*`;
const points: JsonObject = { type: 'number', minimum: 0, maximum: 9_999 };
const anyText: JsonObject = { type: 'string' };

const upTo = (max: number | undefined, items: JsonObject): JsonObject => ({
  type: 'array',
  minItems: 1,
  ...(max === undefined ? {} : { maxItems: max }),
  items,
});

/** The props of one thing; each kind is a definition of its own. */
export const propsOf = (specs: PropSpecs, medium: Medium, refer: Refer): JsonObject =>
  closedObject(
    Object.fromEntries(
      Object.entries(specs).map(([name, { kind }]): [string, Json] => [name, refer(nameOfKind(kind, medium))]),
    ),
    Object.keys(specs).filter((name) => specs[name]?.required === true),
  );

/** Lists the names of colours in lower case, so that an editor offers them; takes all other spellings too. */
const color: JsonObject = {
  anyOf: [
    words(['transparent', ...colorNames.keys()]),
    trimmed('#[0-9a-fA-F]{3,8}', sourceOf(FUNCTIONAL_COLOR)),
    { type: 'string', pattern: '[A-Z]|^\\s|\\s$|\\{\\{' },
  ],
};

/** The kinds that are not the same in mails and in documents. */
const ofMedium = [
  'link',
  'image',
  'length',
  'fixedLength',
  'size',
  'box',
  'border',
  'lineHeight',
  'widths',
  'rows',
  'columns',
] as const satisfies readonly PropKind[];
type KindOfMedium = (typeof ofMedium)[number];

const isOfMedium = (kind: PropKind): kind is KindOfMedium => ofMedium.some((known) => known === kind);

/** `EmailLength`, `DocumentLength`; `Color` is the same for both. */
export const nameOfKind = (kind: PropKind, { name }: Medium): string =>
  kind === 'format' ? 'ValueFormat' : `${isOfMedium(kind) ? name : ''}${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;

const literal = (schema: JsonObject, what: string): JsonObject => described(schema, `${what}; cannot hold {{…}}`);

/** The definitions that mails and documents share; a format is one of values. */
export const sharedKinds = (
  medium: Medium,
  refer: Refer,
): Readonly<Record<Exclude<PropKind, KindOfMedium | 'format'>, JsonObject>> => ({
  text: described(anyText, 'Text, which may hold {{…}}'),
  scalar: described(
    { type: ['string', 'number', 'boolean', 'null'] },
    'Text, which may hold {{…}}, a number, true, false or null',
  ),
  color: described(color, 'A colour such as #1f2937, rgb(31, 41, 55) or a CSS colour name'),
  fontFamily: described(orTemplated(trimmed(sourceOf(FONT_FAMILY))), 'A list of font names'),
  align: described(orTemplated(words(aligns)), `One of ${aligns.join(', ')}`),
  verticalAlign: described(orTemplated(words(verticalAligns)), `One of ${verticalAligns.join(', ')}`),
  lineStyle: described(orTemplated(words(lineStyles)), `One of ${lineStyles.join(', ')}`),
  pageBreak: described(
    orTemplated(words(pageBreaks)),
    'Where a PDF begins a new sheet: before the component or after it',
  ),
  errorCorrection: described(
    orTemplated(words(errorCorrections)),
    'How much of a QR code may be unreadable: 7, 15, 25 or 30 %',
  ),
  slug: literal({ type: 'string', maxLength: BLOCK_SLUG_CHARS_MAX, pattern: BLOCK_SLUG.source }, 'The slug of a block'),
  includedVersion: literal(
    { anyOf: [{ type: 'integer', minimum: 1 }, words(['latest'])] },
    'The number of a published version, or "latest" for the newest at the time of sending; default latest',
  ),
  includedVariables: described(
    { type: 'object', additionalProperties: true },
    'Values for the variables of the block, by name; a text may hold {{…}}, and a text that is one placeholder hands over the value with its type',
  ),
  columnType: literal(words(columnTypes), 'Type of the values of the column'),
  linkBase: literal(
    { type: 'string', maxLength: LINK_BASE_CHARS_MAX, pattern: LINK_BASE.source },
    'An https or http address without credentials, query and fragment, which completes relative addresses of links and pictures',
  ),
  linkSchemes: literal(
    upTo(LINK_SCHEMES_MAX, { type: 'string', pattern: OWN_SCHEME.source }),
    'Schemes that links may have besides https, http, mailto, tel and sms, each without ":"',
  ),
  direction: literal(words(directions), 'How texts run and where lines begin'),
  textDirection: literal(words(textDirections), 'How the text runs; auto: as its first letter'),
  hidesLines: literal(
    { anyOf: [{ type: 'boolean' }, words(['lines'])] },
    'Whether the component is left out where all that it shows is empty; "lines": line by line',
  ),
  boolean: literal({ type: 'boolean' }, 'true or false'),
  operator: literal(words(operators), 'How the two are compared'),
  codeKind: literal(words(codeKinds), 'Which code it is'),
  chartType: literal(words(chartTypes), 'Which chart it is'),
  path: described(
    trimmed(PATH, `\\{\\{\\s*${PATH}\\s*\\}\\}`),
    'The path of a variable, with or without braces: items or {{order.items}}',
  ),
  name: described(
    { type: 'string', maxLength: NAME_CHARS_MAX, pattern: PATH_NAME.source },
    'A name: letters, digits, "_" and "-", not beginning with a digit',
  ),
  field: described(trimmed(PATH), 'A field of the items, without braces: month or totals.net'),
  groupOrder: literal(
    {
      anyOf: [
        words(groupOrders),
        upTo(GROUPS_MAX, { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^(?!.*\\{\\{)' }] }),
      ],
    },
    'The order of the groups: as their first items stand, by name in the language of the document, or as the values stand here',
  ),
  rules: described(upTo(RULES_MAX, refer('ColumnRule')), 'How the cells of a workbook look by what they hold'),
  series: described(upTo(SERIES_MAX, propsOf(seriesSpecs, medium, refer)), 'Values that a chart shows for each item'),
  timelineItems: described(
    upTo(TIMELINE_ITEMS_MAX, propsOf(timelineItemSpecs, medium, refer)),
    'The steps of a timeline, written out',
  ),
});

const pattern = {
  Email: { length: [CSS_LENGTH], fixed: /^\d{1,4}(?:\.\d{1,3})?(?:px|pt)?|0{1,4}(?:\.0{1,3})?(?:em|rem|%)$/i },
  Document: { length: [DOCUMENT_LENGTH, DOCUMENT_PERCENT], fixed: DOCUMENT_LENGTH },
} as const;

/** The definitions of one medium. */
export const kindsOfMedium = (medium: Medium, refer: Refer): Readonly<Record<KindOfMedium, JsonObject>> => {
  const { media, name, columnsMax } = medium;
  const { length: lengths, fixed } = pattern[name];
  const length = lengths.map(sourceOf).join('|');
  const side = `(?:${sourceOf(name === 'Email' ? CSS_LENGTH : DOCUMENT_LENGTH)})`;
  const must = (what: string): string => `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  return {
    link: described(text(), `${must(media.link.expected)}, or a place in the mail itself (#top)`),
    image: described(text(), must(media.image.expected)),
    length: described(orTemplated(points, trimmed(length)), must(media.length.expected)),
    fixedLength: literal({ anyOf: [points, trimmed(sourceOf(fixed))] }, must(media.fixedLength.expected)),
    size: described(
      orTemplated(points, trimmed(name === 'Email' ? length : sourceOf(DOCUMENT_LENGTH))),
      must(media.size.expected),
    ),
    box: described(orTemplated(points, trimmed(`${side}(?:\\s+${side}){0,3}`)), must(media.box.expected)),
    border: described(
      orTemplated({ type: 'boolean' }, points, { type: 'string', pattern: VISIBLE, maxLength: 100 }),
      must(media.border.expected),
    ),
    lineHeight: described(orTemplated(points, trimmed(length)), must(media.lineHeight.expected)),
    widths: literal(upTo(WIDTHS_MAX, { anyOf: [points, trimmed(length)] }), 'The widths of the columns'),
    rows: described(
      upTo(
        ROWS_MAX,
        upTo(columnsMax, { anyOf: [refer(nameOfKind('scalar', medium)), propsOf(cellSpecs, medium, refer)] }),
      ),
      'The rows of a table, written out: each cell its content, or an object with it and a format of its own',
    ),
    columns: described(upTo(columnsMax, refer(`${name}Column`)), 'The columns of a table'),
  };
};

/** A column of a table. */
export const columnOf = (medium: Medium, refer: Refer): JsonObject =>
  described(propsOf(columnSpecs, medium, refer), 'A column of a table: what stands in it, and how it looks');
