/**
 * From the rows of a table to the recipients of bulk calls: which column fills what, values in the types that the
 * template declares, and what keeps a row out, by its line and column.
 */
import { looksLikeAddress, type Row, type Table, trimmed } from './csv.js';

export type VariableType = 'string' | 'number' | 'boolean' | 'date' | 'array' | 'object';

/** A field of recipients that a column can fill. `key`: how a mapping names it. */
export type Target = Readonly<{
  key: string;
  label: string;
  /** The steps to the value, if it is a variable. */
  path?: readonly string[];
  type?: VariableType;
  isRequired?: boolean;
}>;

/** By target: the column at a place, a text that is the same for everybody, or nothing, as an absent one. */
export type Source = Readonly<{ column: number }> | Readonly<{ same: string }> | Readonly<{ isNothing: true }>;
export type Mapping = Readonly<Record<string, Source>>;

/** How the file writes numbers, and dates with slashes. */
export type Writing = Readonly<{ decimal: '.' | ','; dates: 'day' | 'month' }>;

export type Recipient = Readonly<{
  email: string;
  name?: string;
  locale?: string;
  timeZone?: string;
  variables?: Values;
}>;

export type Values = Readonly<Record<string, unknown>>;

/** A recipient with the line of its row. */
export type Built = Readonly<{ line: number; recipient: Recipient }>;

/** A row that is left out. `column`: the name of the column; empty where the fault is not in one. */
export type LeftOut = Readonly<{
  line: number;
  email: string;
  column: string;
  message: string;
  kind: 'fault' | 'duplicate';
}>;

export type BuiltRows = Readonly<{
  recipients: readonly Built[];
  leftOut: readonly LeftOut[];
  /** Values that are the same for everybody; their faults name no line. */
  base: Values;
  baseFaults: readonly string[];
}>;

const EMAIL = 'email';

const own: readonly Target[] = [
  { key: EMAIL, label: 'Address', isRequired: true },
  { key: 'name', label: 'Name' },
  { key: 'locale', label: 'Language' },
  { key: 'timeZone', label: 'Time zone' },
];

const types: readonly string[] = ['string', 'number', 'boolean', 'date', 'array', 'object'] satisfies VariableType[];

const typeOf = (type: unknown): VariableType | undefined =>
  type === 'integer' ? 'number' : types.includes(String(type)) ? (type as VariableType) : undefined;

const keyOf = (path: readonly string[]): string => JSON.stringify(path);

type Definition = Readonly<{
  name?: unknown;
  type?: unknown;
  required?: unknown;
  defaultValue?: unknown;
  isCalculated?: unknown;
  schema?: unknown;
}>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const PATH_NAMES_MAX = 8;
const TARGETS_MAX = 1_000;

/**
 * The fields that columns of a table can fill. In: the variables that the template declares. Out: address, name, language and
 * time zone; each variable, and in the place of an object whose members are declared these; members of other objects
 * that a column names, such as `order.total`.
 */
export const targetsOf = (definitions: readonly unknown[], head: readonly string[]): readonly Target[] => {
  const targets: Target[] = [...own];
  const add = (path: readonly string[], definition: Definition, isRequired: boolean): void => {
    if (targets.length >= TARGETS_MAX) return;
    const type = typeOf(definition.type);
    const properties = isObject(definition.schema) ? definition.schema['properties'] : undefined;
    if (type === 'object' && isObject(properties) && path.length < PATH_NAMES_MAX) {
      const required = isObject(definition.schema) ? definition.schema['required'] : undefined;
      for (const [name, member] of Object.entries(properties))
        if (isObject(member))
          add(
            [...path, name],
            { ...member, schema: member },
            isRequired && Array.isArray(required) && required.includes(name),
          );
      return;
    }
    targets.push({
      ...{ key: keyOf(path), label: path.join('.'), path, isRequired },
      ...(type === undefined ? {} : { type }),
    });
    if (type === 'object')
      for (const named of head) {
        const names = pathOf(named);
        const member = [...path, ...names.slice(path.length)];
        const isMember = names.length > path.length && path.every((name, at) => name === names[at]);
        if (isMember && !targets.some(({ key }) => key === keyOf(member)))
          targets.push({ key: keyOf(member), label: member.join('.'), path: member, isRequired: false });
      }
  };
  for (const one of definitions) {
    if (!isObject(one)) continue;
    const definition: Definition = one;
    if (typeof definition.name !== 'string' || definition.isCalculated === true) continue;
    add([definition.name], definition, definition.required === true && definition.defaultValue === undefined);
  }
  return targets;
};

/** The target that a column fills under its own name, for variables that no template declares. */
export const ownTarget = (name: string): Target => {
  const path = pathOf(name);
  return { key: keyOf(path), label: path.join('.'), path, isRequired: false };
};

/** `customer.firstName` is a member of an object; a name with empty steps is one name. */
const pathOf = (name: string): readonly string[] => {
  const names = name.split('.');
  return names.length > PATH_NAMES_MAX || names.some((one) => one.trim() !== one || one === '' || one === '__proto__')
    ? [name]
    : names;
};

/** A name by its letters and digits alone: `E-Mail Address` and `EmailAddress` are one. */
const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

const known: Readonly<Record<string, readonly string[]>> = {
  [EMAIL]: ['email', 'emailaddress', 'mail', 'mailaddress', 'emailadresse', 'mailadresse', 'recipient', 'to'],
  name: ['name', 'fullname', 'displayname', 'recipientname', 'kontakt', 'nom', 'nombre'],
  locale: ['locale', 'language', 'lang', 'sprache'],
  timeZone: ['timezone', 'zeitzone'],
};

const SAMPLE_ROWS = 50;

/** The columns that fill targets by their names, and by their values for the address. */
export const guessedMapping = ({ head, rows }: Table, targets: readonly Target[]): Mapping => {
  const letters = head.map(lettersOf);
  const columnOf = (names: readonly string[]): number =>
    names.reduce((found, name) => (found === -1 ? letters.indexOf(name) : found), -1);
  const mapping: Record<string, Source> = {};
  for (const { key, label, path } of targets) {
    const exact = path === undefined ? -1 : head.indexOf(label);
    const column = exact === -1 ? columnOf(path === undefined ? (known[key] ?? []) : [lettersOf(label)]) : exact;
    if (column !== -1 && letters[column] !== '') mapping[key] = { column };
  }
  const holdsAddresses = (at: number): number =>
    rows.slice(0, SAMPLE_ROWS).filter(({ cells }) => looksLikeAddress(cells[at] ?? '')).length;
  const guessed = mapping[EMAIL];
  if (guessed === undefined || !('column' in guessed) || holdsAddresses(guessed.column) === 0) {
    const best = head.map((_, at) => holdsAddresses(at));
    const most = Math.max(...best);
    if (most > 0) mapping[EMAIL] = { column: best.indexOf(most) };
  }
  return mapping;
};

/** How the file seems to write numbers and dates: files with semicolons come from places with decimal commas. */
export const guessedWriting = ({ delimiter, rows, head }: Table): Writing => {
  let monthFirst = 0;
  let dayFirst = 0;
  for (const { cells } of rows.slice(0, SAMPLE_ROWS))
    for (let at = 0; at < head.length; at += 1) {
      const [, first = '', second = ''] = SLASHED.exec((cells[at] ?? '').trim()) ?? [];
      if (Number(first) > 12) dayFirst += 1;
      if (Number(second) > 12) monthFirst += 1;
    }
  return { decimal: delimiter === ';' ? ',' : '.', dates: monthFirst > dayFirst ? 'month' : 'day' };
};

type Converted = Readonly<{ value: unknown }> | Readonly<{ fault: string }>;

/** In: a cell with a value. Out: the value in the declared type, or why it has none, as the end of a sentence. */
export const converted = (cell: string, type: VariableType | undefined, writing: Writing): Converted => {
  switch (type) {
    case undefined:
    case 'string':
      return { value: cell };
    case 'number':
      return numberOf(cell.trim(), writing);
    case 'boolean':
      return booleanOf(cell.trim());
    case 'date':
      return dateOf(cell.trim(), writing);
    case 'array':
      return jsonOf(cell.trim(), Array.isArray, 'a list as JSON, such as ["a","b"]');
    case 'object':
      return jsonOf(cell.trim(), isObject, 'an object as JSON, such as {"a": 1}');
  }
};

const CELL_SHOWN_CHARS = 40;

const shown = (cell: string): string =>
  `"${cell.length > CELL_SHOWN_CHARS ? `${cell.slice(0, CELL_SHOWN_CHARS)}…` : cell}"`;

const NUMBER_CHARS_MAX = 400;
const GROUPED = { '.': /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/, ',': /^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?$/ } as const;
const PLAIN = /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Blanks and apostrophes between digits group them. */
const numberOf = (cell: string, { decimal }: Writing): Converted => {
  const other = decimal === '.' ? ',' : '.';
  const close = cell.replace(/(?<=\d)[\s\u00a0\u202f'’](?=\d{3}(?!\d))/gu, '');
  const ungrouped = GROUPED[decimal].test(close) ? close.replaceAll(other, '') : close;
  const text = ungrouped.replace(decimal, '.');
  if (cell.length > NUMBER_CHARS_MAX || ungrouped.includes(other) || !PLAIN.test(text))
    return { fault: `${shown(cell)} is no number, such as ${decimal === '.' ? '1234.5' : '1234,5'}` };
  const value = Number(text);
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/[^\d]/g, '')
    .replace(/^0+/, '');
  if (!Number.isFinite(value) || (digits.length > 15 && String(value) !== text.replace('+', '')))
    return { fault: `${shown(cell)} has more digits than a number keeps; declare the variable as text` };
  return { value };
};

const yes = ['true', 'yes', '1', 'ja', 'oui', 'sí', 'si', 'sim', 'wahr', 'vrai', 'x'];
const no = ['false', 'no', '0', 'nein', 'non', 'não', 'falsch', 'faux'];

const booleanOf = (cell: string): Converted => {
  const text = cell.toLowerCase();
  if (yes.includes(text)) return { value: true };
  if (no.includes(text)) return { value: false };
  return { fault: `${shown(cell)} is neither yes nor no (true, false, 1, 0)` };
};

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const SLASHED = /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const DOTTED = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const YEAR_FIRST = /^(\d{4})\/(\d{1,2})\/(\d{1,2})$/;

/** ISO 8601 as it is; `24.12.2026`, `24/12/2026` or `12/24/2026`, and `2026/12/24`, with a time of day where it has one. */
const dateOf = (cell: string, { dates }: Writing): Converted => {
  const fault = { fault: `${shown(cell)} is no date, such as 2026-12-24` };
  const [, year, month, day] = ISO.exec(cell) ?? YEAR_FIRST.exec(cell) ?? [];
  if (year !== undefined)
    return isDay(Number(year), Number(month), Number(day)) && isTime(cell)
      ? { value: cell.includes('/') ? `${year}-${two(month)}-${two(day)}` : cell }
      : fault;
  const slashed = SLASHED.exec(cell);
  const [, one, other, ofYear, hour, minute, second] = slashed ?? DOTTED.exec(cell) ?? [];
  if (ofYear === undefined) return fault;
  const [d, m] = slashed !== null && dates === 'month' ? [other, one] : [one, other];
  if (!isDay(Number(ofYear), Number(m), Number(d)) || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59) return fault;
  const time = hour === undefined ? '' : `T${two(hour)}:${minute}${second === undefined ? '' : `:${second}`}`;
  return { value: `${ofYear}-${two(m)}-${two(d)}${time}` };
};

const two = (text: string | undefined): string => (text ?? '').padStart(2, '0');

const isDay = (year: number, month: number, day: number): boolean => {
  const at = new Date(Date.UTC(2000, 0, 1));
  at.setUTCFullYear(year, month - 1, day);
  return month >= 1 && month <= 12 && day >= 1 && at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
};

const isTime = (cell: string): boolean => {
  const [, hour = '0', minute = '0', second = '0'] = /[T ](\d{2}):(\d{2})(?::(\d{2}))?/.exec(cell) ?? [];
  return Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 59;
};

const jsonOf = (cell: string, is: (value: unknown) => boolean, what: string): Converted => {
  try {
    const value: unknown = JSON.parse(cell);
    if (is(value)) return { value };
  } catch {
    // The fault below says it.
  }
  return { fault: `${shown(cell)} is not ${what}` };
};

/** In: a table, what fills what, and how it writes. Out: the recipients, and the rows that are left out with the reason. */
export const builtRows = (
  table: Table,
  targets: readonly Target[],
  { mapping, writing }: Readonly<{ mapping: Mapping; writing: Writing }>,
): BuiltRows => {
  const { base, baseFaults } = baseOf(targets, mapping, writing);
  const columns = targets.flatMap((target): readonly Filled[] => {
    const source = mapping[target.key];
    return source !== undefined && 'column' in source
      ? [{ target, at: source.column, name: nameOf(table, source.column) }]
      : [];
  });
  const required = targets.filter(
    ({ path, isRequired, key }) => path !== undefined && isRequired === true && !isSame(mapping[key]),
  );
  const recipients: Built[] = [];
  const leftOut: LeftOut[] = [];
  const lines = new Map<string, number>();
  for (const row of table.rows) {
    const built = builtRow(row, { columns, required, base, writing, width: table.head.length });
    if ('message' in built) {
      leftOut.push({ line: row.line, kind: 'fault', ...built });
      continue;
    }
    const address = addressKey(built.email);
    const before = lines.get(address);
    if (before === undefined) {
      lines.set(address, row.line);
      recipients.push({ line: row.line, recipient: built });
    } else
      leftOut.push({
        ...{ line: row.line, kind: 'duplicate', email: built.email, column: '' },
        message: `its address is that of line ${before}`,
      });
  }
  return { recipients, leftOut, base, baseFaults };
};

export const nameOf = ({ head }: Table, at: number): string => head[at] || `column ${at + 1}`;

const isSame = (source: Source | undefined): boolean =>
  source !== undefined && 'same' in source && source.same.trim() !== '';

const baseOf = (
  targets: readonly Target[],
  mapping: Mapping,
  writing: Writing,
): Readonly<{ base: Values; baseFaults: readonly string[] }> => {
  const base: Record<string, unknown> = {};
  const baseFaults: string[] = [];
  for (const { key, label, path, type } of targets) {
    const source = mapping[key];
    if (path === undefined || source === undefined || !('same' in source) || source.same.trim() === '') continue;
    const made = converted(source.same, type, writing);
    if ('fault' in made) baseFaults.push(`${label}: ${made.fault}`);
    else if (!put(base, path, made.value)) baseFaults.push(`${label}: stands in a variable that is given as a whole`);
  }
  return { base, baseFaults };
};

type Filled = Readonly<{ target: Target; at: number; name: string }>;
type Builder = Readonly<{
  columns: readonly Filled[];
  required: readonly Target[];
  base: Values;
  writing: Writing;
  width: number;
}>;
type RowFault = Readonly<{ email: string; column: string; message: string }>;

const VARIABLES_BYTES_MAX = 100 * 1024;

const builtRow = ({ cells }: Row, { columns, required, base, writing, width }: Builder): Recipient | RowFault => {
  const emailAt = columns.find(({ target }) => target.key === EMAIL);
  const email = trimmed(cells[emailAt?.at ?? -1] ?? '');
  const fault = (column: string, message: string): RowFault => ({ email, column, message });
  if (cells.slice(width).some((cell) => trimmed(cell) !== ''))
    return fault('', `has ${cells.length} cells and the file ${width} columns; cells with a delimiter stand in quotes`);
  if (email === '') return fault(emailAt?.name ?? '', 'has no address');
  if (!email.includes('@')) return fault(emailAt?.name ?? '', `${shown(email)} is no address: it has no @`);
  const given: { name?: string; locale?: string; timeZone?: string } = {};
  const variables: Record<string, unknown> = {};
  for (const { target, at, name } of columns) {
    const cell = cells[at] ?? '';
    if (target === emailAt?.target || trimmed(cell) === '') continue;
    if (target.path === undefined) {
      const text = trimmed(cell).replaceAll(/\s+/g, ' ');
      const why = faultOf(target.key, text);
      if (why !== undefined) return fault(name, why);
      given[target.key as keyof typeof given] = text;
      continue;
    }
    const made = converted(cell, target.type, writing);
    if ('fault' in made) return fault(name, made.fault);
    if (!put(variables, target.path, made.value))
      return fault(name, `${target.label} stands in a variable that another column fills as a whole`);
  }
  withBase(variables, base);
  for (const target of required)
    if (target.path !== undefined && isMissing(target.path, variables, base)) {
      const column = columns.find((one) => one.target === target)?.name ?? '';
      return fault(column, `${target.label} is required and empty`);
    }
  const size = new TextEncoder().encode(JSON.stringify(variables)).length;
  if (size > VARIABLES_BYTES_MAX) return fault('', 'its variables are larger than 100 KB');
  return { email, ...given, ...(Object.keys(variables).length === 0 ? {} : { variables }) };
};

/** Why the service would refuse the whole call; undefined: it would not. */
const faultOf = (key: string, text: string): string | undefined => {
  if (key === 'name')
    return /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(text) ||
      /^\p{Default_Ignorable_Code_Point}*$/u.test(text)
      ? 'the name has characters that no name has'
      : text.length > NAME_CHARS_MAX
        ? `the name is longer than ${NAME_CHARS_MAX} characters`
        : undefined;
  try {
    if (key === 'locale') Intl.getCanonicalLocales(text);
    else new Intl.DateTimeFormat('en', { timeZone: text });
    return undefined;
  } catch {
    return `${shown(text)} is no ${key === 'locale' ? 'language, such as de-AT' : 'time zone, such as Europe/Vienna'}`;
  }
};

const NAME_CHARS_MAX = 255;

/** False: a value stands where an object would have to. */
const put = (values: Record<string, unknown>, path: readonly string[], value: unknown): boolean => {
  let target = values;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(target, name)) define(target, name, {});
    const inner = target[name];
    if (!isObject(inner)) return false;
    target = inner;
  }
  const last = path.at(-1) ?? '';
  if (Object.hasOwn(target, last)) return false;
  define(target, last, value);
  return true;
};

const define = (target: Record<string, unknown>, name: string, value: unknown): void => {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
};

/** A row's object replaces that of the call, so the members that are the same for everybody go into it. */
const withBase = (variables: Record<string, unknown>, base: Values): void => {
  for (const [name, inner] of Object.entries(variables)) {
    const same = Object.hasOwn(base, name) ? base[name] : undefined;
    if (!isObject(inner) || !isObject(same)) continue;
    const merged: Record<string, unknown> = { ...inner };
    for (const [member, value] of Object.entries(same))
      if (!Object.hasOwn(merged, member)) define(merged, member, value);
    withBase(merged, same);
    define(variables, name, merged);
  }
};

const isMissing = (path: readonly string[], variables: Values, base: Values): boolean => {
  const [first = ''] = path;
  let value: unknown = Object.hasOwn(variables, first) ? variables : base;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value === undefined || value === null;
};

/** Addresses that are the same to the service: in any letter case, and with the domain in letters or as A-labels. */
const addressKey = (email: string): string => {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1);
  if (/^[\x21-\x7e]*$/.test(domain)) return email.toLowerCase();
  try {
    return `${email.slice(0, at)}@${new URL(`http://${domain}`).hostname}`.toLowerCase();
  } catch {
    return email.toLowerCase();
  }
};

export const CALL_RECIPIENTS_MAX = 1_000;
/** Below what a call may have, with room for what is said beside the recipients. */
const CALL_BYTES_MAX = 4 * 1024 * 1024;

/** The recipients of each call, in the order of the file. */
export const partsOf = (recipients: readonly Built[]): readonly (readonly Built[])[] => {
  const parts: Built[][] = [];
  let part: Built[] = [];
  let bytes = 0;
  for (const built of recipients) {
    const size = 3 * JSON.stringify(built.recipient).length;
    if (part.length > 0 && (part.length === CALL_RECIPIENTS_MAX || bytes + size > CALL_BYTES_MAX)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(built);
    bytes += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
};
