/** Variables, formats and rules of columns as JSON schemas. */
import type { JsonObject } from '../../domain/core/json.js';
import {
  CURRENCY,
  dateLengths,
  DIGITS_MAX,
  formatStyles,
  LANGUAGE_CHARS_MAX,
  PATTERN_CHARS_MAX,
} from '../../domain/rendering/check/format.js';
import { MEMBERS_MAX, type memberFields } from '../../domain/rendering/check/members.js';
import { DESCRIPTION_CHARS_MAX, VARIABLE_ID_CHARS_MAX, type definitionFields } from '../../domain/rendering/check/variables.js';
import { RULE_TEXT_CHARS_MAX, ruleMembers, ruleOperators, type ColumnRule } from '../../domain/rendering/column-rules.js';
import { FALLBACK_CHARS_MAX, filterNames, FILTERS_MAX, TRUNCATE_MAX } from '../../domain/rendering/fill/shown-value.js';
import { NAME_CHARS_MAX, PATH_NAME } from '../../domain/rendering/scope/path.js';
import { variableTypes, type ValueFormat } from '../../domain/rendering/scope/definitions.js';
import { closedObject, described, given, orTemplated, text, VISIBLE, where, without, words, type Refer } from './parts.js';

const name: JsonObject = { type: 'string', maxLength: NAME_CHARS_MAX, pattern: PATH_NAME.source };
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
      anyOf: [words(filterNames), closedObject({ truncate: { type: 'integer', minimum: 1, maximum: TRUNCATE_MAX } }, ['truncate'])],
    },
  },
  'What is done with text before it is shown, one after the other',
);

const format: Readonly<Record<keyof ValueFormat, JsonObject>> = {
  style: words(formatStyles),
  currency: described(orTemplated({ type: 'string', pattern: CURRENCY.source }), 'A currency code such as EUR; may be {{order.currency}}'),
  minimumFractionDigits: digits,
  maximumFractionDigits: digits,
  dateStyle: words(dateLengths),
  timeStyle: words(dateLengths),
  pattern: described(text(PATTERN_CHARS_MAX), 'For dates letters such as yyyy-MM-dd, for numbers #,##0.00'),
  locale: described(text(LANGUAGE_CHARS_MAX), 'A language tag (BCP 47) instead of the template’s'),
  timeZone: described(text(LANGUAGE_CHARS_MAX), 'The IANA name of a time zone instead of the template’s'),
};

const definition = (refer: Refer): Readonly<Record<(typeof definitionFields)[number], JsonObject | true>> => ({
  name: described(name, 'A name: letters, digits, "_" and "-", not beginning with a digit'),
  type: words(variableTypes),
  required: described(flag, 'A call without it is refused'),
  description: { type: 'string', maxLength: DESCRIPTION_CHARS_MAX },
  defaultValue: true,
  isCalculated: described(flag, 'Its value is that of expression'),
  expression: described({ type: 'string', pattern: VISIBLE }, 'What a calculated variable comes to, from the others'),
  schema: refer('VariableSchema'),
  itemType: described(words(variableTypes), 'Of the items of an array'),
  format: refer('ValueFormat'),
  fallback,
  filters,
  id: text(VARIABLE_ID_CHARS_MAX),
});

const member = (refer: Refer): Readonly<Record<(typeof memberFields)[number], JsonObject>> => ({
  type: words(variableTypes),
  description: { type: 'string' },
  required: flag,
  format: refer('ValueFormat'),
  fallback,
  filters,
  properties: described(
    { type: 'object', maxProperties: MEMBERS_MAX, propertyNames: name, additionalProperties: refer('VariableSchema') },
    'The members of an object',
  ),
  itemType: described(words(variableTypes), 'Of the items of an array'),
  itemSchema: refer('VariableSchema'),
});

/** Members of rules; of which kind each is says `ruleMembers`. */
const ruleParts = (refer: Refer): Readonly<Record<(typeof ruleMembers)[ColumnRule['kind']][number], JsonObject>> => {
  const end: JsonObject = { type: ['number', 'string'], maxLength: RULE_TEXT_CHARS_MAX };
  return {
    kind: words(Object.keys(ruleMembers)),
    colors: described({ type: 'array', minItems: 2, maxItems: 3, items: refer('Color') }, 'From the least value to the largest'),
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

/** A language tag as `Intl` writes it. */
const LANGUAGE_TAG = '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$';

const translations: JsonObject = {
  type: ['object', 'null'],
  propertyNames: { type: 'string', pattern: LANGUAGE_TAG, maxLength: LANGUAGE_CHARS_MAX },
  additionalProperties: described(
    { type: 'object', additionalProperties: { type: 'string' } },
    'By each text of the template the text of this language; what is left out stays as it is. A text of the template is named as it is written there, with \' for each ", / for each backslash and a blank for each line break and tab',
  ),
};

/** The definitions that speak of values, the same for mails and documents. */
export const valueDefinitions = (refer: Refer): JsonObject => ({
  Variable: described(
    {
      ...closedObject(definition(refer), ['name', 'type']),
      allOf: [
        given(where('isCalculated', words([true])), { required: ['expression'] }, without(['expression'])),
        given(where('type', { not: words(['object']) }), { properties: { schema: without(['properties']) } }),
        given(where('type', { not: words(['array']) }), { properties: { itemType: false, schema: without(['itemType', 'itemSchema']) } }),
      ],
    },
    'A variable that calls bring, or that is calculated from them',
  ),
  VariableSchema: described(
    { ...closedObject(member(refer)), allOf: partsByType },
    'What a value consists of: the members of an object, the items of an array',
  ),
  ValueFormat: described(
    { ...closedObject(format, ['style']), allOf: [given(where('style', words(['currency'])), { required: ['currency'] })] },
    'How a value is written, as in ECMA-402',
  ),
  Translations: described(
    translations,
    'The texts of the template in other languages, by language tag such as de or de-AT; null or {} for none',
  ),
  ColumnRule: described(columnRule(refer), 'How the cells of a column of a workbook look by what they hold'),
});
