/** The kinds of values that props hold: what each accepts, and the sentence for what it does not. */
import type { Limits } from '../limits.js';
import { isOperator, operators } from './conditions.js';
import { cssBorder, cssBox, cssColor, cssFontFamily, cssLength, cssLineHeight, pixels } from './css.js';
import { checkFormat, isPlainObject } from './check-format.js';
import type { Faults } from './faults.js';
import { isConstantName, isName, shorten } from './path.js';
import { hasPlaceholder, parsePathText, parseTemplatedText } from './templated-text.js';
import { safeImage, safeLink } from './urls.js';

export type PropKind = keyof typeof kinds;
export type PropSpec = Readonly<{ kind: PropKind; required?: true }>;
export type PropSpecs = Readonly<Record<string, PropSpec>>;

export const aligns = ['left', 'center', 'right'] as const;
export const verticalAligns = ['top', 'middle', 'bottom'] as const;
export const lineStyles = ['solid', 'dashed', 'dotted', 'double'] as const;
export const columnTypes = ['string', 'number', 'boolean', 'date', 'currency', 'percent'] as const;

type Check = (value: unknown, field: string, tools: CheckTools) => void;
export type CheckTools = Readonly<{ faults: Faults; limits: Limits }>;

/**
 * Checks the props of one thing: unknown ones are refused by their path, required ones asked for, each value held against
 * its kind. A string with `{{…}}` is checked for its syntax here and for its value when it is rendered.
 */
export const checkProps = (props: unknown, specs: PropSpecs, field: string, tools: CheckTools): void => {
  const { faults } = tools;
  if (props !== undefined && !isPlainObject(props)) return faults.add(field, 'must be an object');
  const given = props ?? {};
  for (const [name, value] of Object.entries(given)) {
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined) {
      faults.add(`${field}.${shorten(name)}`, `is not a known prop; known are ${Object.keys(specs).join(', ') || 'none'}`);
    } else {
      kinds[spec.kind](value, `${field}.${name}`, tools);
    }
  }
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.required === true && !Object.hasOwn(given, name)) faults.add(`${field}.${name}`, 'is required');
  }
};

/** Any text with `{{…}}`: its syntax. */
export const checkText = (text: string, field: string, { faults, limits }: CheckTools): void => {
  if (!hasPlaceholder(text)) return;
  for (const fault of parseTemplatedText(text, limits.pathSegmentsMax).faults) faults.add(field, fault);
};

/** A value of which a literal must pass `accepts`; a string with `{{…}}` passes where its syntax is right. */
const templated = (accepts: (value: unknown) => boolean, expected: string): Check => (value, field, tools) => {
  if (typeof value === 'string' && hasPlaceholder(value)) checkText(value, field, tools);
  else if (!accepts(value)) tools.faults.add(field, `must be ${expected}, got ${shown(value)}`);
};

/** A value that shapes the layout, so that it must be known when the template is compiled. */
const fixed = (accepts: (value: unknown) => boolean, expected: string): Check => (value, field, { faults }) => {
  if (typeof value === 'string' && hasPlaceholder(value)) faults.add(field, 'cannot hold {{…}}: it must be known before any email is rendered');
  else if (!accepts(value)) faults.add(field, `must be ${expected}, got ${shown(value)}`);
};

const oneOf = (values: readonly string[]): Check =>
  templated((value) => values.some((known) => known === value), `one of ${values.join(', ')}`);

const passes = (css: (value: unknown) => string | undefined) => (value: unknown): boolean => css(value) !== undefined;

/** An address: the literal beginning of one with `{{…}}` must not name a scheme that could never pass. */
const address = (safe: (text: string) => string | undefined, expected: string): Check => (value, field, tools) => {
  if (typeof value !== 'string') return tools.faults.add(field, `must be ${expected}, got ${shown(value)}`);
  if (!hasPlaceholder(value)) {
    if (safe(value) === undefined) tools.faults.add(field, `must be ${expected}, got ${shown(value)}`);
    return;
  }
  checkText(value, field, tools);
  const start = value.slice(0, value.indexOf('{{'));
  // What a variable brings can only complete the beginning: with letters and digits for it, the whole must pass.
  if (start.trim() !== '' && safe(`${start}1`) === undefined && safe(`${start}//1`) === undefined && !isOpenScheme(start)) {
    tools.faults.add(field, `must be ${expected}, got ${shown(value)}`);
  }
};

/** `https:`, `data:image/png;base64,` and other beginnings that a variable may complete; rendering judges the whole. */
const isOpenScheme = (start: string): boolean => /^(?:https?:?\/{0,2}|data:image\/(?:png|jpe?g|gif|webp);base64,.*|#)$/i.test(start.trim());

const path: Check = (value, field, { faults, limits }) => {
  if (typeof value !== 'string' || value.trim() === '') return faults.add(field, 'must be the path of a variable such as {{items}}');
  const parsed = parsePathText(value, limits.pathSegmentsMax);
  if (!parsed.ok) faults.add(field, parsed.message);
};

const name: Check = (value, field, { faults }) => {
  if (typeof value !== 'string' || !isName(value) || isConstantName(value)) {
    faults.add(field, `must be a name (letters, digits, "_" and "-", not beginning with a digit), got ${shown(value)}`);
  }
};

const COLUMNS_MAX = 20;
const ROWS_MAX = 1_000;

const columnSpecs: PropSpecs = {
  header: { kind: 'text' },
  content: { kind: 'scalar' },
  width: { kind: 'length' },
  align: { kind: 'align' },
  headerAlign: { kind: 'align' },
  format: { kind: 'format' },
  type: { kind: 'columnType' },
  footer: { kind: 'text' },
};

const arrayOf = (what: string, max: number, each: Check): Check => (value, field, tools) => {
  if (!Array.isArray(value)) return tools.faults.add(field, `must be an array of ${what}, got ${shown(value)}`);
  if (value.length === 0) tools.faults.add(field, 'must not be empty');
  if (value.length > max) return tools.faults.add(field, `has ${value.length} ${what}, the maximum is ${max}`);
  value.forEach((item, at) => each(item, `${field}[${at}]`, tools));
};

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

const length = 'a length such as 16, "16px" or "50%"';

const kinds = {
  text,
  scalar,
  link: address(safeLink, 'an address that begins with https://, http://, mailto: or tel:'),
  image: address(safeImage, 'an address that begins with https:// or http://, or a data URI of a PNG, JPEG, GIF or WebP'),
  color: templated(passes(cssColor), 'a colour such as #1f2937, rgb(31, 41, 55) or a CSS colour name'),
  length: templated(passes(cssLength), length),
  fixedLength: fixed((value) => { const css = cssLength(value); return css !== undefined && pixels(css) !== undefined || css === '0'; }, 'a length in pixels such as 16 or "16px"'),
  box: templated(passes(cssBox), 'one to four lengths such as 16 or "8px 16px"'),
  border: templated(passes(cssBorder), 'a border such as "1px solid #e5e7eb", true or false'),
  fontFamily: templated(passes(cssFontFamily), 'a list of font names'),
  lineHeight: templated(passes(cssLineHeight), 'a factor such as 1.5, or a length'),
  align: oneOf(aligns),
  verticalAlign: oneOf(verticalAligns),
  lineStyle: oneOf(lineStyles),
  columnType: fixed((value) => columnTypes.some((known) => known === value), `one of ${columnTypes.join(', ')}`),
  boolean: fixed((value) => typeof value === 'boolean', 'true or false'),
  operator: fixed(isOperator, `one of ${operators.join(', ')}`),
  path,
  name,
  widths: arrayOf('widths', 8, fixed(passes(cssLength), length)),
  rows: arrayOf('rows', ROWS_MAX, arrayOf('cells', COLUMNS_MAX, scalar)),
  columns: arrayOf('columns', COLUMNS_MAX, (value, field, tools) => checkProps(value, columnSpecs, field, tools)),
  format: (value, field, tools) => checkFormat(value, field, tools.faults, tools.limits),
} satisfies Record<string, Check>;

const shown = (value: unknown): string => {
  if (typeof value === 'string') return `"${shorten(value, 40)}"`;
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : 'an object';
};
