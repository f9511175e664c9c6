/** What props hold, as JSON schemas: one for each kind of props.ts. What a check takes its schema takes; a schema may take more. */
import type { Json, JsonObject } from '../../domain/core/json.js';
import { codeKinds } from '../../domain/rendering/codes.js';
import { colorNames } from '../../domain/rendering/color-names.js';
import { RULES_MAX } from '../../domain/rendering/column-rules.js';
import { CSS_LENGTH, FONT_FAMILY, FUNCTIONAL_COLOR } from '../../domain/rendering/css.js';
import { directions, textDirections } from '../../domain/rendering/direction.js';
import { chartTypes } from '../../domain/rendering/chart-types.js';
import { DOCUMENT_LENGTH, DOCUMENT_PERCENT } from '../../domain/rendering/lengths.js';
import type { Media } from '../../domain/rendering/media.js';
import {
  aligns,
  columnSpecs,
  errorCorrections,
  lineStyles,
  pageBreaks,
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
import { operators } from '../../domain/rendering/scope/conditions.js';
import { NAME_CHARS_MAX, PATH_NAME } from '../../domain/rendering/scope/path.js';
import { columnTypes } from '../../domain/rendering/scope/showing.js';
import { closedObject, described, orTemplated, sourceOf, text, trimmed, VISIBLE, words, type Refer } from './parts.js';

/** Mails and documents know different lengths, pictures and numbers of columns. */
export type Medium = Readonly<{
  /** Begins the names of its definitions. */
  name: 'Email' | 'Document';
  media: Media;
  /** undefined: a setting says it. */
  columnsMax: number | undefined;
}>;

/** A path, with or without braces: names, dots and places in brackets. */
const PATH = '[\\p{L}_][\\p{L}\\p{N}_.\\[\\]-]*';
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
    Object.fromEntries(Object.entries(specs).map(([name, { kind }]): [string, Json] => [name, refer(nameOfKind(kind, medium))])),
    Object.keys(specs).filter((name) => specs[name]?.required === true),
  );

/** Names of colours in lower case are told one by one, so that an editor offers them; all other spellings are taken. */
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
export const sharedKinds = (medium: Medium, refer: Refer): Readonly<Record<Exclude<PropKind, KindOfMedium | 'format'>, JsonObject>> => ({
  text: described(anyText, 'Text, which may hold {{…}}'),
  scalar: described({ type: ['string', 'number', 'boolean', 'null'] }, 'Text, which may hold {{…}}, a number, true, false or null'),
  color: described(color, 'A colour such as #1f2937, rgb(31, 41, 55) or a CSS colour name'),
  fontFamily: described(orTemplated(trimmed(sourceOf(FONT_FAMILY))), 'A list of font names'),
  align: described(orTemplated(words(aligns)), `One of ${aligns.join(', ')}`),
  verticalAlign: described(orTemplated(words(verticalAligns)), `One of ${verticalAligns.join(', ')}`),
  lineStyle: described(orTemplated(words(lineStyles)), `One of ${lineStyles.join(', ')}`),
  pageBreak: described(orTemplated(words(pageBreaks)), 'Where a PDF begins a new sheet: before the component or after it'),
  errorCorrection: described(orTemplated(words(errorCorrections)), 'How much of a QR code may be unreadable: 7, 15, 25 or 30 %'),
  columnType: literal(words(columnTypes), 'What the column holds'),
  direction: literal(words(directions), 'How texts run and where lines begin'),
  textDirection: literal(words(textDirections), 'How the text runs; auto: as its first letter'),
  hidesLines: literal(
    words([true, false, 'lines']),
    'Whether the component is left out where all that it shows is empty; "lines": line by line',
  ),
  boolean: literal({ type: 'boolean' }, 'true or false'),
  operator: literal(words(operators), 'How the two are compared'),
  codeKind: literal(words(codeKinds), 'Which code it is'),
  chartType: literal(words(chartTypes), 'Which chart it is'),
  path: described(trimmed(PATH, `\\{\\{\\s*${PATH}\\s*\\}\\}`), 'The path of a variable, with or without braces: items or {{order.items}}'),
  name: described(
    { type: 'string', maxLength: NAME_CHARS_MAX, pattern: PATH_NAME.source },
    'A name: letters, digits, "_" and "-", not beginning with a digit',
  ),
  field: described(trimmed(PATH), 'A field of the items, without braces: month or totals.net'),
  rules: described(upTo(RULES_MAX, refer('ColumnRule')), 'How the cells of a workbook look by what they hold'),
  series: described(upTo(SERIES_MAX, propsOf(seriesSpecs, medium, refer)), 'What a chart shows for each item'),
  timelineItems: described(upTo(TIMELINE_ITEMS_MAX, propsOf(timelineItemSpecs, medium, refer)), 'The steps of a timeline, written out'),
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
    link: described(text(), 'An address that begins with https://, http://, mailto: or tel:, or a place in the mail itself (#top)'),
    image: described(text(), must(media.image.expected)),
    length: described(orTemplated(points, trimmed(length)), must(media.length.expected)),
    fixedLength: literal({ anyOf: [points, trimmed(sourceOf(fixed))] }, must(media.fixedLength.expected)),
    size: described(orTemplated(points, trimmed(name === 'Email' ? length : sourceOf(DOCUMENT_LENGTH))), must(media.size.expected)),
    box: described(orTemplated(points, trimmed(`${side}(?:\\s+${side}){0,3}`)), must(media.box.expected)),
    border: described(
      orTemplated({ type: 'boolean' }, points, { type: 'string', pattern: VISIBLE, maxLength: 100 }),
      must(media.border.expected),
    ),
    lineHeight: described(orTemplated(points, trimmed(length)), must(media.lineHeight.expected)),
    widths: literal(upTo(WIDTHS_MAX, { anyOf: [points, trimmed(length)] }), 'The widths of the columns'),
    rows: described(upTo(ROWS_MAX, upTo(columnsMax, refer(nameOfKind('scalar', medium)))), 'The rows of a table, written out'),
    columns: described(upTo(columnsMax, refer(`${name}Column`)), 'The columns of a table'),
  };
};

/** A column of a table. */
export const columnOf = (medium: Medium, refer: Refer): JsonObject =>
  described(propsOf(columnSpecs, medium, refer), 'A column of a table: what stands in it, and how it looks');
