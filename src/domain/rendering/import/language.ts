/**
 * The languages of placeholders that other services have, Handlebars (SendGrid) and Mustachio (Postmark): their texts as
 * a small tree with places, and an interpreter of that tree. Nothing is compiled, so it also runs in a page whose policy
 * forbids `eval`.
 */
import { parse } from '@handlebars/parser';
import type { Json, JsonObject } from '../../core/json.js';

export type Dialect = 'handlebars' | 'mustachio';

/** Languages of sources. In plain HTML braces are text; MJML holds placeholders of Handlebars or of Mustachio. */
export const sourceLanguages = ['handlebars', 'mustachio', 'mjml', 'html'] as const;
export type SourceLanguage = (typeof sourceLanguages)[number];

const HELPERS =
  /\{\{~?\s*(?:#\s*(?:if|unless|with|equals|notEquals|greaterThan|lessThan|and|or)\s|else\b|insert\s|formatDate\s|>)/;
const SECTIONS = /\{\{\s*(?:[#^]\s*(?!each\b)[\w.]{1,100}\s*\}\}|\.\s*\}\}|pm:|@content)/;

/** In: a source. Out: the language that it seems to be in, and why. */
export const guessLanguage = (source: string): Readonly<{ name: SourceLanguage; reason: string }> => {
  if (/<mjml[\s>]/i.test(source)) return { name: 'mjml', reason: 'It has <mjml>.' };
  return guessPlaceholders(source);
};

const guessPlaceholders = (source: string): Readonly<{ name: Dialect | 'html'; reason: string }> => {
  const helper = HELPERS.exec(source)?.[0];
  if (helper !== undefined)
    return {
      name: 'handlebars',
      reason: `It has ${helper.trim()}, which is a helper of Handlebars, as SendGrid takes it.`,
    };
  const section = SECTIONS.exec(source)?.[0];
  if (section !== undefined)
    return {
      name: 'mustachio',
      reason: `It has ${section.trim()}, as Mustachio of Postmark writes sections and values.`,
    };
  if (source.includes('{{'))
    return { name: 'handlebars', reason: 'It has {{placeholders}}, which Handlebars and Mustachio read alike.' };
  if (/<!--\/?\$-->|data-skip-in-text|__react-email/.test(source))
    return { name: 'html', reason: 'It has no placeholders, and is HTML as React Email renders it.' };
  return { name: 'html', reason: 'It has no placeholders.' };
};

/** In: a source and its language. Out: the language of its placeholders. */
export const dialectOf = (source: string, language: SourceLanguage): Dialect =>
  language === 'mustachio' || (language === 'mjml' && guessPlaceholders(source).name === 'mustachio')
    ? 'mustachio'
    : 'handlebars';

/** A place in the source; both count from 1. */
export type Place = Readonly<{ line: number; column: number }>;

/** `up`: how many `../` stand before it. `data`: the name behind `@`. */
export type PathRef = Readonly<{
  kind: 'path';
  up: number;
  data?: string | undefined;
  parts: readonly string[];
}>;
type Literal = Readonly<{ kind: 'literal'; value: string | number | boolean | null }>;
type Call = Readonly<{ kind: 'call'; name: string; args: readonly Expr[] }>;
export type Expr = PathRef | Literal | Call;

export type Value = Readonly<{ kind: 'value'; value: Expr; isRaw: boolean; at: Place; written: string }>;
/** `name` is `section` for `{{#name}}`, whose first argument is the path. */
export interface Block<Part> {
  readonly kind: 'block';
  readonly name: string;
  readonly args: readonly Expr[];
  readonly body: readonly Part[];
  readonly other: readonly Part[];
  readonly at: Place;
  readonly written: string;
}
type Text = Readonly<{ kind: 'text'; text: string; at: Place }>;
/** A partial or a decorator, which no template can carry. */
type Unknown = Readonly<{ kind: 'unknown'; at: Place; written: string }>;
export type Statement = Text | Value | Block<Statement> | Unknown;

type Parsed =
  Readonly<{ ok: true; statements: readonly Statement[] }> | Readonly<{ ok: false; at: Place; message: string }>;

/** A mail has far fewer placeholders. */
const PLACEHOLDERS_MAX = 5_000;
const DEPTH_MAX = 50;
const STEPS_MAX = 200_000;
const OUTPUT_CHARS_MAX = 4_000_000;

/** Names that are no path in front of arguments. */
export const comparisons: Readonly<Record<string, '==' | '!=' | '>' | '<' | '>=' | '<='>> = {
  equals: '==',
  eq: '==',
  notEquals: '!=',
  ne: '!=',
  neq: '!=',
  greaterThan: '>',
  gt: '>',
  lessThan: '<',
  lt: '<',
  gte: '>=',
  lte: '<=',
};

/** In: the text of a template. Out: its statements, or the place and the reason for which it cannot be read. */
export const parseTemplate = (source: string): Parsed => {
  if (source.split('{{', PLACEHOLDERS_MAX + 2).length > PLACEHOLDERS_MAX + 1)
    return { ok: false, at: { line: 1, column: 1 }, message: `has more than ${PLACEHOLDERS_MAX} placeholders` };
  const lines = source.split('\n');
  try {
    // Mustachio allows a blank before the sign of a block; it moves behind the sign, so that places stay.
    const program = parse(source.replace(/\{\{([ \t]{1,8})([#^/])/g, '{{$2$1'));
    return { ok: true, statements: statementsOf(program as unknown as RawProgram, { source, lines, depth: 0 }) };
  } catch (fault) {
    return { ok: false, ...faultOf(fault) };
  }
};

/** The source is more than an import takes; the message continues a sentence about it. */
export class TooLarge extends Error {}

class TooDeep extends Error {}

const faultOf = (fault: unknown): Readonly<{ at: Place; message: string }> => {
  if (fault instanceof TooDeep)
    return { at: { line: 1, column: 1 }, message: `has more than ${DEPTH_MAX} blocks in each other` };
  const told = fault instanceof Error ? fault.message : '';
  const { hash } = fault as Readonly<{
    hash?: Readonly<{ token?: string; loc?: Readonly<{ first_line: number; first_column: number }> }>;
  }>;
  const [, mismatch, at, column] = /^(.*) - (\d+):(\d+)$/.exec(told) ?? [];
  if (mismatch !== undefined)
    return {
      at: { line: Number(at), column: Number(column) + 1 },
      message: /doesn't match/.test(mismatch)
        ? `opens a block that another name closes (${mismatch.slice(0, 100)})`
        : mismatch.slice(0, 200),
    };
  return {
    at: { line: hash?.loc?.first_line ?? 1, column: (hash?.loc?.first_column ?? 0) + 1 },
    message:
      hash?.token === 'EOF'
        ? 'ends before a block or a placeholder is closed'
        : 'has something between braces that is no path, helper or block',
  };
};

type RawPlace = Readonly<{ line: number; column: number }>;
type RawPath = Readonly<{
  type: 'PathExpression';
  data: boolean;
  depth: number;
  parts: readonly unknown[];
  original: string;
}>;
type RawExpr =
  | RawPath
  | Readonly<{ type: 'SubExpression'; path: RawExpr; params: readonly RawExpr[] }>
  | Readonly<{ type: 'StringLiteral' | 'NumberLiteral' | 'BooleanLiteral'; value: string | number | boolean }>
  | Readonly<{ type: 'UndefinedLiteral' | 'NullLiteral' }>;
type RawProgram = Readonly<{ body: readonly RawStatement[] }>;
type RawLoc = Readonly<{ loc: Readonly<{ start: RawPlace; end: RawPlace }> }>;
type RawStatement = RawLoc &
  (
    | Readonly<{ type: 'ContentStatement'; value: string; original: string }>
    | Readonly<{ type: 'CommentStatement' }>
    | Readonly<{ type: 'MustacheStatement'; path: RawExpr; params: readonly RawExpr[]; escaped: boolean }>
    | Readonly<{
        type: 'BlockStatement';
        path: RawPath;
        params: readonly RawExpr[];
        program?: RawProgram | null;
        inverse?: RawProgram | null;
      }>
    | Readonly<{ type: 'PartialStatement' | 'PartialBlockStatement' | 'Decorator' | 'DecoratorBlock' }>
  );

type Reading = Readonly<{ source: string; lines: readonly string[]; depth: number }>;

const statementsOf = (program: RawProgram | null | undefined, reading: Reading): readonly Statement[] => {
  if (reading.depth > DEPTH_MAX) throw new TooDeep();
  return (program?.body ?? []).flatMap((raw): readonly Statement[] => {
    const at = placeOf(raw.loc.start);
    switch (raw.type) {
      case 'ContentStatement': {
        const before = raw.value === '' ? 0 : Math.max(raw.original.indexOf(raw.value), 0);
        return [{ kind: 'text', text: raw.value, at: movedBy(at, raw.original.slice(0, before)) }];
      }
      case 'CommentStatement':
        return [];
      case 'MustacheStatement': {
        const value = raw.params.length === 0 ? exprOf(raw.path) : callOf(raw.path, raw.params);
        return [{ kind: 'value', value, isRaw: !raw.escaped, at, written: writtenAt(raw, reading) }];
      }
      case 'BlockStatement': {
        const inner = { ...reading, depth: reading.depth + 1 };
        const isSection = raw.params.length === 0 && !(raw.path.original in KNOWN_BLOCKS);
        return [
          {
            kind: 'block',
            name: isSection ? 'section' : raw.path.original,
            args: isSection ? [exprOf(raw.path)] : raw.params.map(exprOf),
            body: statementsOf(raw.program, inner),
            other: statementsOf(raw.inverse, inner),
            at,
            written: writtenAt(raw, reading),
          },
        ];
      }
      case 'PartialStatement':
      case 'PartialBlockStatement':
      case 'Decorator':
      case 'DecoratorBlock':
        return [{ kind: 'unknown', at, written: writtenAt(raw, reading) }];
    }
  });
};

const KNOWN_BLOCKS: Readonly<Record<string, true>> = { if: true, unless: true, each: true, with: true };

const placeOf = ({ line, column }: RawPlace): Place => ({ line, column: column + 1 });

/** In: a place, and the text from there on. Out: the place behind the text. */
export const movedBy = ({ line, column }: Place, text: string): Place => {
  const breaks = text.split('\n').length - 1;
  return breaks === 0
    ? { line, column: column + text.length }
    : { line: line + breaks, column: text.length - text.lastIndexOf('\n') };
};

const WRITTEN_CHARS_MAX = 80;

/** The first tag of a statement as it is written. */
const writtenAt = ({ loc }: RawLoc, { lines }: Reading): string => {
  const line = (lines[loc.start.line - 1] ?? '').slice(loc.start.column, loc.start.column + WRITTEN_CHARS_MAX);
  const end = /\}\}\}?/.exec(line);
  return end === null ? line : line.slice(0, end.index + end[0].length);
};

const exprOf = (raw: RawExpr): Expr => {
  switch (raw.type) {
    case 'PathExpression': {
      const parts = raw.parts.filter((part) => typeof part === 'string');
      return raw.data
        ? { kind: 'path', up: raw.depth, data: parts[0] ?? '', parts: parts.slice(1) }
        : { kind: 'path', up: raw.depth, parts };
    }
    case 'SubExpression':
      return callOf(raw.path, raw.params);
    case 'StringLiteral':
    case 'NumberLiteral':
    case 'BooleanLiteral':
      return { kind: 'literal', value: raw.value };
    case 'UndefinedLiteral':
    case 'NullLiteral':
      return { kind: 'literal', value: null };
  }
};

const callOf = (path: RawExpr, params: readonly RawExpr[]): Call => ({
  kind: 'call',
  name: path.type === 'PathExpression' ? path.original : '',
  args: params.map(exprOf),
});

/** In: the arguments of `insert`. Out: the path that it shows, and the text of `default=…`. */
export const insertOf = ({ args }: Pick<Call, 'args'>): Readonly<{ path?: PathRef; otherwise?: string }> => {
  const path = args.find((arg) => arg.kind === 'path');
  const texts = args.flatMap((arg) => (arg.kind === 'literal' && typeof arg.value === 'string' ? [arg.value] : []));
  const otherwise = texts.flatMap((text) => /^default=([^]*)$/.exec(text)?.[1] ?? [])[0];
  return { ...(path === undefined ? {} : { path }), ...(otherwise === undefined ? {} : { otherwise }) };
};

/** The values that `{{…}}` reads. `isAlias`: names are looked up in the frame around, for the value itself has none. */
type Frame = Readonly<{
  value: Json | undefined;
  parent?: Frame | undefined;
  isAlias?: boolean;
  data: Readonly<Record<string, Json>>;
}>;

/**
 * In: statements, and values. Out: the text that the service of the dialect would make of them, with values escaped as
 * HTML. Helpers that are not known give nothing. The text ends where it becomes too long.
 */
export const runTemplate = (statements: readonly Statement[], values: JsonObject, isHtml = true): string => {
  const out: string[] = [];
  const left = { steps: STEPS_MAX, chars: OUTPUT_CHARS_MAX };
  const write = (text: string): void => {
    left.chars -= text.length;
    if (left.chars >= 0) out.push(text);
  };
  const run = (all: readonly Statement[], frame: Frame): void => {
    for (const one of all) {
      left.steps -= 1;
      if (left.steps < 0 || left.chars < 0) return;
      switch (one.kind) {
        case 'text':
          write(one.text);
          break;
        case 'unknown':
          break;
        case 'value': {
          const text = textOf(evaluate(one.value, frame));
          write(one.isRaw || !isHtml ? text : escaped(text));
          break;
        }
        case 'block':
          runBlock(one, frame);
      }
    }
  };
  const each = (value: Json | undefined, { body, other }: Block<Statement>, frame: Frame): void => {
    const entries: readonly (readonly [string | number, Json])[] =
      typeof value !== 'object' || value === null
        ? []
        : Array.isArray(value)
          ? (value as readonly Json[]).map((item, at) => [at, item] as const)
          : Object.entries(value as JsonObject);
    if (entries.length === 0) return run(other, frame);
    entries.forEach(([key, item], at) => {
      const data = { index: at, key, first: at === 0, last: at === entries.length - 1 };
      run(body, { value: item, parent: frame, data: { ...frame.data, ...data } });
    });
  };
  const runBlock = (block: Block<Statement>, frame: Frame): void => {
    const { name, args, body, other } = block;
    const first = args[0] === undefined ? undefined : evaluate(args[0], frame);
    switch (name) {
      case 'each':
        return each(first, block, frame);
      case 'with':
        return isTruthy(first) ? run(body, { ...frame, value: first, parent: frame }) : run(other, frame);
      case 'section':
        if (Array.isArray(first)) return each(first, block, frame);
        if (!isTruthy(first)) return run(other, frame);
        return run(body, { ...frame, value: first, parent: frame, isAlias: typeof first !== 'object' });
      default:
        return run(isTruthy(evaluate({ kind: 'call', name, args }, frame)) ? body : other, frame);
    }
  };
  const root: Frame = { value: values, data: {} };
  run(statements, root);
  return out.join('');
};

const evaluate = (expr: Expr, frame: Frame): Json | undefined => {
  switch (expr.kind) {
    case 'literal':
      return expr.value;
    case 'path':
      return readRef(expr, frame);
    case 'call':
      return called(expr, frame);
  }
};

const called = ({ name, args }: Call, frame: Frame): Json | undefined => {
  const all = args.map((arg) => evaluate(arg, frame));
  const [left, right] = all;
  const comparison = Object.hasOwn(comparisons, name) ? comparisons[name] : undefined;
  if (comparison !== undefined) return compared(comparison, left, right);
  switch (name) {
    case 'if':
      return isTruthy(left);
    case 'unless':
    case 'not':
      return !isTruthy(left);
    case 'and':
      return all.every(isTruthy);
    case 'or':
      return all.some(isTruthy);
    case 'length':
      return typeof left === 'string' || Array.isArray(left) ? (left as string | readonly Json[]).length : 0;
    case 'insert': {
      const { path, otherwise = '' } = insertOf({ args });
      const value = path === undefined ? undefined : readRef(path, frame);
      return value === undefined || value === null || value === '' ? otherwise : value;
    }
    case 'formatDate':
      return typeof left === 'string' && typeof right === 'string' ? formattedDate(left, right) : undefined;
    default:
      return undefined;
  }
};

const compared = (operator: string, left: Json | undefined, right: Json | undefined): boolean => {
  switch (operator) {
    case '==':
      return left === right || (left !== undefined && right !== undefined && textOf(left) === textOf(right));
    case '!=':
      return !compared('==', left, right);
    default: {
      const [a, b] = [Number(left), Number(right)];
      return operator === '>' ? a > b : operator === '<' ? a < b : operator === '>=' ? a >= b : a <= b;
    }
  }
};

const readRef = ({ up, data, parts }: PathRef, from: Frame): Json | undefined => {
  let frame = from;
  for (let step = 0; step < up && frame.parent !== undefined; step += 1) frame = frame.parent;
  if (data !== undefined && data !== 'root') return Object.hasOwn(frame.data, data) ? frame.data[data] : undefined;
  if (data === 'root') while (frame.parent !== undefined) frame = frame.parent;
  else if (parts.length > 0) while (frame.isAlias === true && frame.parent !== undefined) frame = frame.parent;
  return parts.reduce<Json | undefined>(memberOf, frame.value);
};

const memberOf = (value: Json | undefined, name: string): Json | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return name === 'length' ? value.length : (value as readonly Json[])[Number(name)];
  return Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined;
};

/** As Handlebars judges: an empty array is false, an object without members is not. */
export const isTruthy = (value: Json | undefined): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value);

const textOf = (value: Json | undefined): string => {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return (value as readonly Json[]).map(textOf).join(',');
  return typeof value === 'object' ? '[object Object]' : String(value);
};

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const DATE_TOKEN = /\[[^\]]*\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|dddd|ddd|DD|D|HH|H|hh|h|mm|m|ss|s|A|a/g;

/** A date in UTC by a pattern such as `MMMM DD, YYYY h:mm A`. */
const formattedDate = (value: string, pattern: string): string => {
  const ms = Date.parse(value);
  if (Number.isNaN(ms)) return value;
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  const month = MONTHS[date.getUTCMonth()] ?? '';
  const day = DAYS[date.getUTCDay()] ?? '';
  const hour = date.getUTCHours();
  const parts: Readonly<Record<string, string>> = {
    ...{ YYYY: String(date.getUTCFullYear()), YY: two(date.getUTCFullYear() % 100) },
    ...{ MMMM: month, MMM: month.slice(0, 3), MM: two(date.getUTCMonth() + 1), M: String(date.getUTCMonth() + 1) },
    ...{ dddd: day, ddd: day.slice(0, 3), DD: two(date.getUTCDate()), D: String(date.getUTCDate()) },
    ...{ HH: two(hour), H: String(hour), hh: two(hour % 12 || 12), h: String(hour % 12 || 12) },
    ...{ mm: two(date.getUTCMinutes()), m: String(date.getUTCMinutes()) },
    ...{ ss: two(date.getUTCSeconds()), s: String(date.getUTCSeconds()), A: hour < 12 ? 'AM' : 'PM' },
    a: hour < 12 ? 'am' : 'pm',
  };
  return pattern.replace(DATE_TOKEN, (token) => parts[token] ?? token.replace(/^\[|\]$/g, ''));
};

/**
 * In: a pattern of `formatDate`. Out: the same with the letters that patterns of ours have, or undefined where one of
 * its letters has no counterpart.
 */
export const patternOf = (pattern: string): string | undefined => {
  const letters: Readonly<Record<string, string>> = {
    ...{ YYYY: 'yyyy', YY: 'yy', MMMM: 'MMMM', MMM: 'MMM', MM: 'MM', M: 'M', DD: 'dd', D: 'd' },
    ...{ dddd: 'EEEE', ddd: 'EEE', HH: 'HH', H: 'H', hh: 'hh', h: 'h', mm: 'mm', m: 'm', ss: 'ss', s: 's' },
    ...{ A: 'a', a: 'a' },
  };
  let isWhole = true;
  const made = pattern.replace(new RegExp(`${DATE_TOKEN.source}|[A-Za-z]+`, 'g'), (token) => {
    if (token.startsWith('[')) return `'${token.slice(1, -1)}'`;
    const letter = Object.hasOwn(letters, token) ? letters[token] : undefined;
    if (letter === undefined) isWhole = false;
    return letter ?? token;
  });
  return isWhole && made.length <= 100 ? made : undefined;
};
