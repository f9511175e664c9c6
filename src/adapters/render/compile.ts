/** Compiles one template revision, through Eta, to one function from variables to a finished email. */
import { Eta } from 'eta/core';
import { DomainError } from '../../domain/errors.js';
import type { JsonObject } from '../../domain/json.js';
import type { Limits } from '../../domain/limits.js';
import type { CompiledEmail, EmailInput, RenderedEmail, RenderEnvironment } from '../../domain/ports/renderer.js';
import type { EmailTemplateContent } from '../../domain/template/schema.js';
import { constantsOf } from '../../domain/rendering/constants.js';
import { formatterOf, type Language } from '../../domain/rendering/formats.js';
import { bodyTooLarge, subjectTooLong } from '../../domain/rendering/limit-errors.js';
import { readPath } from '../../domain/rendering/path.js';
import { formatAt } from '../../domain/rendering/shapes.js';
import { parseTemplatedText } from '../../domain/rendering/templated-text.js';
import { compileVariableCheck } from '../../domain/rendering/variables.js';
import { writeValue } from '../../domain/rendering/values.js';
import { checkingRuntimeOf, surelyFits, UNDECIDED } from './checking.js';
import { shapesOf } from './context.js';
import { writeDocument, type Source } from './document.js';
import { runtimeOf, RUNTIME_NAMES, type Runtime } from './runtime.js';
import { finish } from './text-layout.js';

type Constants = Readonly<Record<string, string | number>>;
type Made = Readonly<{
  subject: (values: JsonObject, constants: Constants) => string;
  body: (values: JsonObject, constants: Constants, subject: string) => Readonly<{ html: string; text: string }>;
}>;

// The source is one block of JavaScript: no text of an author is ever read as a template by Eta.
const eta = new Eta({ autoTrim: false, cache: false, autoEscape: false, debug: false });

/** In: a checked template. Out: its function, and the size of its source in characters, for caches to weigh. */
export const compile = (content: EmailTemplateContent, limits: Limits): Readonly<{ render: CompiledEmail; sizeChars: number }> => {
  const language: Language = { locale: content.locale ?? 'en-US', timeZone: content.timeZone ?? 'UTC' };
  const whole = make(writeDocument(content, limits, language, 'html and text'));
  const htmlOnly = make(writeDocument(content, limits, language, 'html'));
  const full = whole.of(runtimeOf(limits));
  const exact = htmlOnly.of(runtimeOf(limits));
  const measuring = htmlOnly.of(checkingRuntimeOf(limits));
  const checked = compileVariableCheck(content.variables);
  const constantsAt = constantsOf(language);
  const prepare = ({ variables, subject, environment }: EmailInput) => {
    const values = checked(variables);
    const constants = constantsAt(environment);
    const title = oneLine(subject === undefined ? exact.subject(values, constants) : fill(subject, values, { content, limits, language, environment }));
    if (title.length > limits.subjectCharsMax) throw subjectTooLong(title.length, limits.subjectCharsMax);
    return { values, constants, title };
  };
  const render = (input: EmailInput): RenderedEmail => {
    const { values, constants, title } = prepare(input);
    const { html, text } = full.body(values, constants, title);
    checkSize(html, limits);
    return { subject: title, html, text: finish(text) };
  };
  const check = (input: EmailInput): string => {
    const { values, constants, title } = prepare(input);
    if (!isSurelySmall(() => measuring.body(values, constants, title).html.length, limits)) checkSize(exact.body(values, constants, title).html, limits);
    return title;
  };
  return { render: Object.assign(render, { check }), sizeChars: whole.sizeChars + htmlOnly.sizeChars };
};

const isSurelySmall = (measure: () => number, limits: Limits): boolean => {
  try {
    return surelyFits(measure(), limits);
  } catch (fault) {
    if (fault === UNDECIDED) return false;
    throw fault;
  }
};

type Compiled = Readonly<{ /** The functions, calling those of that runtime. */ of: (runtime: Runtime) => Made; sizeChars: number }>;

const make = ({ constants, body, subject }: Source): Compiled => {
  const source =
    `const {${RUNTIME_NAMES.join(',')}}=it;\n${constants}\n` +
    `it.take({subject:(v,c)=>{${subject}\nreturn made;},body:(v,c,subject)=>{let h="",t="";\n${body}\nreturn {html:h,text:t};}});`;
  const compiled = eta.compile(`<% ${source} %>`);
  const of = (runtime: Runtime): Made => {
    let made: Made | undefined;
    compiled.call(eta, { ...runtime, take: (functions: Made) => void (made = functions) });
    if (made === undefined) throw new Error('the compiled template did not hand over its functions');
    return made;
  };
  return { of, sizeChars: source.length };
};

const BREAKS = /[\x00-\x1f\x7f\u0085\u2028\u2029]/;

/** A header is one line: breaks and other controls become blanks. */
const oneLine = (subject: string): string =>
  (BREAKS.test(subject) ? subject.replace(/[\x00-\x1f\x7f\u0085\u2028\u2029]+/g, ' ') : subject).trim();

/** UTF-8 takes at most three bytes for each UTF-16 unit, so most bodies need no counting. */
const checkSize = (html: string, { htmlSizeBytesMax }: Limits): void => {
  if (html.length * 3 <= htmlSizeBytesMax) return;
  const bytes = Buffer.byteLength(html);
  if (bytes > htmlSizeBytesMax) throw bodyTooLarge(bytes, htmlSizeBytesMax, true);
};

type Filling = Readonly<{ content: EmailTemplateContent; limits: Limits; language: Language; environment: RenderEnvironment }>;

/** A subject that came with the call: read by the domain's own functions, for it is used once. */
const fill = (subject: string, values: JsonObject, { content, limits, language, environment }: Filling): string => {
  const { parts, faults } = parseTemplatedText(subject, limits.pathSegmentsMax);
  const errors = faults.map((message) => ({ field: 'subject', message }));
  if (errors[0] !== undefined) throw new DomainError('VALIDATION_ERROR', `subject is not valid: ${errors[0].message}`, { errors });
  const shapes = shapesOf(content.variables);
  const all: JsonObject = { ...values, ...constantsOf(language)(environment) };
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const format = formatAt(shapes.get(String(part.path[0])), part.path);
      const value = readPath(all, part.path);
      return format === undefined ? writeValue(value) : formatterOf(format, language)(value);
    })
    .join('');
};
