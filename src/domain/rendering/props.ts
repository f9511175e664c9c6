/** Kinds of values that props hold: what each accepts, and the sentence for what it refuses. */
import type { Budget } from './budget.js';
import type { Limits } from '../core/limits.js';
import { isOperator, operators } from './scope/conditions.js';
import { codeKinds } from './codes.js';
import { checkRule, RULES_MAX } from './column-rules.js';
import { cssColor, cssFontFamily, chartTypes } from './css.js';
import { checkFormat, isPlainObject } from './check/format.js';
import { collectFaults, type Faults } from './check/faults.js';
import type { Json } from '../core/json.js';
import { directions, textDirections } from './direction.js';
import type { AddressRule, Media } from './lengths.js';
import { isConstantName, isKey, isName, parsePath, shorten, writeSteps, type Path } from './scope/path.js';
import { columnTypes } from './scope/display-format.js';
import { spendHtml } from './html.js';
import { hasPlaceholder, parsePathText, parseTemplatedText, pathsOf } from './fill/templated-text.js';
import { isLinkBase, isOwnScheme, LINK_BASE_CHARS_MAX, LINK_SCHEMES_MAX } from './addresses.js';

export type PropKind = keyof typeof kinds;
type PropSpec = Readonly<{ kind: PropKind; required?: true }>;
export type PropSpecs = Readonly<Record<string, PropSpec>>;

export const aligns = ['left', 'center', 'right', 'start', 'end'] as const;
export const verticalAligns = ['top', 'middle', 'bottom'] as const;

/** Places where a PDF begins a new sheet: before the component or after it. */
export const pageBreaks = ['before', 'after'] as const;
/** Orders of the groups of a table that have a name. */
export const groupOrders = ['given', 'name'] as const;
export const lineStyles = ['solid', 'dashed', 'dotted', 'double'] as const;
export const errorCorrections = ['L', 'M', 'Q', 'H'] as const;

type Check = (value: unknown, field: string, tools: CheckTools) => void;
export type CheckTools = Readonly<{
  faults: Faults;
  limits: Limits;
  /** Budget of the call: each text that is checked takes what it will cost. */
  budget: Budget;
  media: Media;
  /** A sentence where a path may not stand at this place. */
  refused?: (path: Path) => string | undefined;
}>;

/**
 * Checks the props of one thing: unknown ones are refused by their path, required ones asked for, each value held
 * against its kind. `beside` names members that somebody else checks. A string with `{{…}}` is checked for its syntax
 * here and for its value when it is rendered.
 */
export const checkProps = (
  props: unknown,
  specs: PropSpecs,
  field: string,
  tools: CheckTools,
  beside: readonly string[] = [],
): void => {
  const { faults } = tools;
  const known = [...Object.keys(specs), ...beside];
  if (props !== undefined && !isPlainObject(props))
    return faults.add(field, `must be an object, with ${known.join(', ')}`);
  const given = props ?? {};
  for (const [name, value] of Object.entries(given)) {
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined) {
      faults.add(`${field}.${shorten(name)}`, `is not a known prop; known are ${known.join(', ') || 'none'}`);
    } else {
      kinds[spec.kind](value, `${field}.${name}`, tools);
    }
  }
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.required === true && !Object.hasOwn(given, name)) faults.add(`${field}.${name}`, 'is required');
  }
};

/**
 * True where a value that a variable brings may stand in a prop of that kind: by the rule for what an author writes.
 */
export const checkProp = (kind: PropKind, value: Json | undefined, tools: Omit<CheckTools, 'faults'>): boolean => {
  if (typeof value === 'string' && hasPlaceholder(value)) return false;
  const faults = collectFaults();
  kinds[kind](value, '', { ...tools, faults });
  return faults.count() === 0;
};

/** Any text with `{{…}}` or tags: its syntax, and within the budget of the call its size. */
export const checkText = (text: string, field: string, { faults, limits, budget, refused }: CheckTools): void => {
  const tooDeep = spendHtml(text, budget);
  if (tooDeep !== undefined) faults.add(field, tooDeep);
  if (!hasPlaceholder(text)) return;
  const parsed = parseTemplatedText(text, limits.pathSegmentsMax);
  for (const fault of parsed.faults) faults.add(field, fault);
  if (refused === undefined) return;
  for (const path of pathsOf(parsed.parts)) {
    const fault = refused(path);
    if (fault !== undefined) faults.add(field, fault);
  }
};

/** A value of which a literal must pass `accepts`; a string with `{{…}}` passes where its syntax is right. */
const templated =
  (accepts: (value: unknown) => boolean, expected: string): Check =>
  (value, field, tools) => {
    if (typeof value === 'string' && hasPlaceholder(value)) checkText(value, field, tools);
    else if (!accepts(value)) tools.faults.add(field, `must be ${expected}, got ${shown(value)}`);
  };

/** A value that shapes the layout, so that it must be known when the template is compiled. */
const fixed =
  (accepts: (value: unknown) => boolean, expected: string): Check =>
  (value, field, { faults, media }) => {
    if (typeof value === 'string' && hasPlaceholder(value))
      faults.add(field, `cannot hold {{…}}: it must be known before any ${media.noun} is rendered`);
    else if (!accepts(value)) faults.add(field, `must be ${expected}, got ${shown(value)}`);
  };

const oneOf = (values: readonly string[]): Check =>
  templated((value) => values.some((known) => known === value), `one of ${values.join(', ')}`);

const passes =
  (css: (value: unknown) => string | undefined) =>
  (value: unknown): boolean =>
    css(value) !== undefined;

/** Lengths and what is made of them: mails and documents know different units. */
const measured =
  (kind: 'length' | 'size' | 'box' | 'border' | 'lineHeight'): Check =>
  (value, field, tools) =>
    templated(tools.media[kind].accepts, tools.media[kind].expected)(value, field, tools);
const fixedMeasure =
  (kind: 'length' | 'fixedLength'): Check =>
  (value, field, tools) =>
    fixed(tools.media[kind].accepts, tools.media[kind].expected)(value, field, tools);

/** An address: the literal beginning of one with `{{…}}` must not name a scheme that could never pass. */
const address =
  (kind: AddressRule): Check =>
  (value, field, tools) => {
    if (typeof value === 'string' && hasPlaceholder(value)) checkText(value, field, tools);
    if (typeof value !== 'string' || !mayBeAddress(value, kind))
      tools.faults.add(field, `must be ${kind.expected}, got ${shown(value)}`);
  };

/** False for an address that can never pass, whatever its variables bring. */
export const mayBeAddress = (text: string, { safe, start: open }: AddressRule): boolean => {
  if (!hasPlaceholder(text)) return safe(text) !== undefined;
  const start = text.slice(0, text.indexOf('{{'));
  // The value of a variable can only complete the beginning: with letters and digits for it, the whole must pass.
  return (
    start.trim() === '' ||
    safe(`${start}1`) !== undefined ||
    safe(`${start}//1`) !== undefined ||
    open.test(start.trim())
  );
};

const path: Check = (value, field, { faults, limits, refused }) => {
  if (typeof value !== 'string' || value.trim() === '')
    return faults.add(field, 'must be the path of a variable such as {{items}}');
  const parsed = parsePathText(value, limits.pathSegmentsMax);
  const fault = parsed.ok ? refused?.(parsed.path) : parsed.message;
  if (fault !== undefined) faults.add(field, fault);
};

/** A member of the items of a data source: a path that begins at the item. */
const field: Check = (value, at, { faults, limits }) => {
  const expected = 'must be the name of a field of the items, such as month or totals.net, without braces';
  if (typeof value !== 'string' || value.trim() === '' || hasPlaceholder(value))
    return faults.add(at, `${expected}, got ${shown(value)}`);
  const parsed = parsePath(value.trim(), limits.pathSegmentsMax);
  if (!parsed.ok) faults.add(at, parsed.message);
};

const name: Check = (value, field, { faults }) => {
  if (typeof value !== 'string' || !isName(value) || isConstantName(value)) {
    faults.add(field, `must be a name (letters, digits, "_" and "-", not beginning with a digit), got ${shown(value)}`);
  }
};

export const ROWS_MAX = 1_000;
export const GROUPS_MAX = 1_000;
export const SERIES_MAX = 12;
export const TIMELINE_ITEMS_MAX = 200;
export const WIDTHS_MAX = 8;

export const columnSpecs: PropSpecs = {
  header: { kind: 'text' },
  content: { kind: 'scalar' },
  width: { kind: 'length' },
  align: { kind: 'align' },
  headerAlign: { kind: 'align' },
  format: { kind: 'format' },
  type: { kind: 'columnType' },
  footer: { kind: 'text' },
  groupHeader: { kind: 'text' },
  groupFooter: { kind: 'text' },
  hidden: { kind: 'boolean' },
  rules: { kind: 'rules' },
  hideWhenEmpty: { kind: 'boolean' },
};

/** A written cell with a format of its own, in place of that of its column. */
export const cellSpecs: PropSpecs = {
  content: { kind: 'scalar', required: true },
  type: { kind: 'columnType' },
  format: { kind: 'format' },
};

export const seriesSpecs: PropSpecs = {
  name: { kind: 'text' },
  valueField: { kind: 'field', required: true },
  color: { kind: 'color' },
};

export const timelineItemSpecs: PropSpecs = {
  title: { kind: 'text', required: true },
  description: { kind: 'text' },
  date: { kind: 'text' },
  status: { kind: 'text' },
};

const arrayOf =
  (what: string, max: number, each: Check): Check =>
  (value, field, tools) => {
    if (!Array.isArray(value)) return tools.faults.add(field, `must be an array of ${what}, got ${shown(value)}`);
    if (value.length === 0) tools.faults.add(field, 'must not be empty');
    if (value.length > max) return tools.faults.add(field, `has ${value.length} ${what}, the maximum is ${max}`);
    value.forEach((item, at) => each(item, `${field}[${at}]`, tools));
  };

const each =
  (specs: PropSpecs): Check =>
  (value, at, tools) =>
    checkProps(value, specs, at, tools);

const text: Check = (value, field, tools) => {
  if (typeof value !== 'string') tools.faults.add(field, `must be text, got ${shown(value)}`);
  else checkText(value, field, tools);
};

const scalar: Check = (value, field, tools) => {
  if (typeof value === 'string') checkText(value, field, tools);
  else if (value !== null && typeof value !== 'boolean' && !(typeof value === 'number' && Number.isFinite(value))) {
    tools.faults.add(field, `must be text, a number, true, false or null, got ${shown(value)}`);
  }
};

const cell: Check = (value, field, tools) =>
  isPlainObject(value) ? checkProps(value, cellSpecs, field, tools) : scalar(value, field, tools);

const groupList = arrayOf('values', GROUPS_MAX, (value, field, { faults }) => {
  if (typeof value !== 'number' && (typeof value !== 'string' || hasPlaceholder(value)))
    faults.add(field, `must be a number or text without {{…}}, got ${shown(value)}`);
});

/** The slug of a block, as the API takes it. */
export const BLOCK_SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
export const BLOCK_SLUG_CHARS_MAX = 100;

const kinds = {
  text,
  scalar,
  link: (value, field, tools) => address(tools.media.link)(value, field, tools),
  linkBase: fixed(
    isLinkBase,
    `an https:// or http:// address of at most ${LINK_BASE_CHARS_MAX} characters without credentials, query and fragment, such as "https://app.example.com/"`,
  ),
  linkSchemes: arrayOf(
    'schemes',
    LINK_SCHEMES_MAX,
    fixed(
      isOwnScheme,
      'the name of a scheme in lower case without ":", such as "myapp", and none that can run code or read files',
    ),
  ),
  image: (value, field, tools) => address(tools.media.image)(value, field, tools),
  color: templated(passes(cssColor), 'a colour such as #1f2937, rgb(31, 41, 55) or a CSS colour name'),
  length: measured('length'),
  size: measured('size'),
  fixedLength: fixedMeasure('fixedLength'),
  box: measured('box'),
  border: measured('border'),
  fontFamily: templated(passes(cssFontFamily), 'a list of font names'),
  lineHeight: measured('lineHeight'),
  align: oneOf(aligns),
  verticalAlign: oneOf(verticalAligns),
  lineStyle: oneOf(lineStyles),
  pageBreak: oneOf(pageBreaks),
  columnType: fixed((value) => columnTypes.some((known) => known === value), `one of ${columnTypes.join(', ')}`),
  direction: fixed((value) => directions.some((known) => known === value), `one of ${directions.join(', ')}`),
  textDirection: fixed(
    (value) => textDirections.some((known) => known === value),
    `one of ${textDirections.join(', ')}`,
  ),
  hidesLines: fixed((value) => typeof value === 'boolean' || value === 'lines', 'true, false or "lines"'),
  boolean: fixed((value) => typeof value === 'boolean', 'true or false'),
  operator: fixed(isOperator, `one of ${operators.join(', ')}`),
  path,
  name,
  widths: arrayOf('widths', WIDTHS_MAX, fixedMeasure('length')),
  rows: (value, field, tools) =>
    arrayOf('rows', ROWS_MAX, arrayOf('cells', tools.media.columnsMax, cell))(value, field, tools),
  columns: (value, field, tools) => arrayOf('columns', tools.media.columnsMax, each(columnSpecs))(value, field, tools),
  rules: arrayOf('rules', RULES_MAX, (value, field, { faults }) => checkRule(value, field, faults)),
  errorCorrection: oneOf(errorCorrections),
  codeKind: fixed((value) => codeKinds.some((known) => known === value), `one of ${codeKinds.join(', ')}`),
  chartType: fixed((value) => chartTypes.some((known) => known === value), `one of ${chartTypes.join(', ')}`),
  field,
  groupOrder: (value, field, tools) => {
    if (Array.isArray(value)) return groupList(value, field, tools);
    if (!groupOrders.some((known) => known === value))
      tools.faults.add(
        field,
        `must be ${groupOrders.join(', ')} or an array of the values in their order, got ${shown(value)}`,
      );
  },
  series: arrayOf('series', SERIES_MAX, each(seriesSpecs)),
  timelineItems: arrayOf('items', TIMELINE_ITEMS_MAX, each(timelineItemSpecs)),
  format: (value, field, tools) => checkFormat(value, field, tools.faults, tools.limits),
  slug: fixed(
    (value) => typeof value === 'string' && value.length <= BLOCK_SLUG_CHARS_MAX && BLOCK_SLUG.test(value),
    'the slug of a block, such as "legal-footer"',
  ),
  includedVersion: fixed(
    (value) => value === 'latest' || (Number.isInteger(value) && Number(value) > 0),
    'the number of a published version, or "latest"',
  ),
  includedVariables: (value, field, tools) => {
    if (!isPlainObject(value))
      return tools.faults.add(field, `must be an object of values by name, got ${shown(value)}`);
    for (const [name, given] of Object.entries(value)) {
      const at = `${field}${writeSteps([name])}`;
      if (!isKey(name)) tools.faults.add(at, 'is no name of a variable');
      else if (typeof given !== 'object' || given === null) scalar(given, at, tools);
      else if (JSON.stringify(given).includes('{{'))
        tools.faults.add(at, 'cannot hold {{…}} inside of an object or an array: hand over a variable of the template');
    }
  },
} satisfies Record<string, Check>;

const shown = (value: unknown): string => {
  if (typeof value === 'string') return `"${shorten(value, 40)}"`;
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : 'an object';
};
