/** Compiles one template revision, through Eta, to one function from variables to a finished email. */
import { charsOf, isLonger } from '../../../shared/text.js';
import { Eta } from 'eta/core';
import type { PictureSize } from '../../../domain/rendering/pictures.js';
import { openBudget, openUnlimitedBudget } from '../../../domain/rendering/budget.js';
import type { JsonObject } from '../../../domain/core/json.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { CheckedEmail, CompiledEmail, EmailInput, InlineImage, RenderedEmail } from '../../../domain/ports/renderer.js';
import type { EmailTemplateContent } from '../../../domain/rendering/content.js';
import { fillText } from '../../../domain/rendering/fill/text.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import { bodyTooLarge, subjectTooLong } from '../../../domain/rendering/limit-errors.js';
import { compilePreparation, type PreparedValues } from '../../../domain/rendering/fill/prepare-values.js';
import { refuseEmptyPaths } from '../../../domain/rendering/paths/empty.js';
import { partsOfEmail } from '../../../domain/rendering/paths/walk.js';
import { nextTurn } from '../../../shared/next-turn.js';
import { checkingRuntimeOf, surelyFits, UNDECIDED } from './checking.js';
import { alwaysShows, showsAnything } from './emptiness.js';
import type { Context } from './context.js';
import { directionOf, writeDocument, type Source } from './document.js';
import { BREAKS_CHARS_MAX } from './long-words.js';
import { openMeter, runtimeOf, RUNTIME_NAMES, startMeter, type Meter, type Runtime } from './runtime.js';
import { finish } from './text-layout.js';

type Constants = Readonly<Record<string, string | number>>;
type Made = Readonly<{
  subject: (values: JsonObject, constants: Constants) => string;
  body: (values: JsonObject, constants: Constants, subject: string) => Body;
}>;
/** `inline`: undefined where the mail carries no pictures. */
type Body = Readonly<{ html: string; text: string; inline: readonly InlineImage[] | undefined }>;

// The source is one block of JavaScript: no text of an author is ever read as a template by Eta.
const eta = new Eta({ autoTrim: false, cache: false, autoEscape: false, debug: false });

/** The function of a template, and the size of its source in characters, for caches to weigh. */
export type CompiledTemplate = Readonly<{ render: CompiledEmail; sizeChars: number }>;

/** In: a checked template. Out: its function. */
export const compile = (content: EmailTemplateContent, limits: Limits): CompiledTemplate => {
  const { whole, htmlOnly } = outputsOf(content, limits);
  return functionOf(content, limits, whole(), htmlOnly());
};

/** The same; others are served between its two outputs, for a template of the most elements takes long. */
export const compileInTurns = async (content: EmailTemplateContent, limits: Limits): Promise<CompiledTemplate> => {
  const outputs = outputsOf(content, limits);
  const whole = outputs.whole();
  await nextTurn();
  const htmlOnly = outputs.htmlOnly();
  await nextTurn();
  return functionOf(content, limits, whole, htmlOnly);
};

/** One after the other: what the first has taken apart serves the second too. */
const outputsOf = (content: EmailTemplateContent, limits: Limits) => {
  const language = languageOf(content);
  const known: Pick<Context, 'richTexts' | 'checkedCodes'> = { richTexts: new Map(), checkedCodes: new Set() };
  return {
    whole: () => make(writeDocument(content, limits, language, { outputs: 'html and text', ...known })),
    htmlOnly: () => make(writeDocument(content, limits, language, { outputs: 'html', ...known })),
  };
};

const languageOf = ({ locale = 'en-US', timeZone = 'UTC' }: EmailTemplateContent): Language => ({ locale, timeZone });

const functionOf = (content: EmailTemplateContent, limits: Limits, whole: Compiled, htmlOnly: Compiled): CompiledTemplate => {
  const language = languageOf(content);
  const direction = directionOf(content.schema.props, language);
  const meter = openMeter();
  const full = whole.of(runtimeOf(limits, meter));
  const exact = htmlOnly.of(runtimeOf(limits, meter));
  const measuring = htmlOnly.of(checkingRuntimeOf(limits, meter));
  const isNeverEmpty = alwaysShows(content);
  const filling = { definitions: content.variables, language, limits };
  const prepared = compilePreparation(content.variables, language, limits);
  const refuseMissing = missingOf(content, limits);
  const prepare = ({ variables, subject, environment, budget = UNLIMITED }: EmailInput) => {
    const { values, constants } = prepared(variables, environment, budget);
    startMeter(meter, limits, budget);
    const title = oneLine(
      subject === undefined
        ? exact.subject(values, constants)
        : fillText(subject, 'subject', { ...filling, budget }, { values, constants }),
    );
    if (isLonger(title, limits.subjectCharsMax)) throw subjectTooLong(charsOf(title), limits.subjectCharsMax);
    return { values, constants, title };
  };
  const render = (input: EmailInput): RenderedEmail => {
    const { values, constants, title } = prepare(input);
    meter.marksUntracked = input.marksUntracked === true;
    meter.pictures = input.pictures ?? NO_PICTURES;
    const { html, text, inline = NONE } = full.body(values, constants, title);
    checkSize(html, meter, limits);
    return { subject: title, html, text: finish(text, direction), inline };
  };
  const check = (input: EmailInput): CheckedEmail => {
    const { values, constants, title } = prepare(input);
    const small = bodyIfSmall(() => measuring.body(values, constants, title), limits);
    if (small === undefined) startMeter(meter, limits, input.budget);
    const { html, inline } = small ?? exact.body(values, constants, title);
    if (small === undefined) checkSize(html, meter, limits);
    refuseMissing?.({ values, constants }, input);
    return {
      subject: title,
      // The measured text is not escaped, so a value that looks like a tag may hide in it what the mail itself shows.
      isEmpty: !isNeverEmpty && !showsAnything(html) && (small === undefined || !showsAnything(exact.body(values, constants, title).html)),
      assetIds: inline === undefined ? NONE : inline.flatMap((image) => ('assetId' in image ? [image.assetId] : [])),
    };
  };
  return { render: Object.assign(render, { check }), sizeChars: whole.sizeChars + htmlOnly.sizeChars };
};

/** Of a template that asks for everything it shows: throws VARIABLES_EMPTY where a path has no value. What was accepted before goes on. */
const missingOf = (content: EmailTemplateContent, limits: Limits) => {
  if (content.strictVariables !== true) return undefined;
  const { variables: definitions } = content;
  return (prepared: PreparedValues, { subject = content.subject, budget = openBudget(limits) }: EmailInput): void =>
    refuseEmptyPaths(partsOfEmail({ ...content, subject }), {
      ...prepared,
      definitions,
      segmentsMax: limits.pathSegmentsMax,
      budget,
    });
};

const NONE: readonly never[] = [];
const NO_PICTURES: ReadonlyMap<string, PictureSize> = new Map();
const UNLIMITED = openUnlimitedBudget();

/** Undefined where the body may be too large, or it is not certain. */
const bodyIfSmall = (measure: () => Body, limits: Limits): Body | undefined => {
  try {
    const body = measure();
    return surelyFits(body.html.length, limits) ? body : undefined;
  } catch (fault) {
    if (fault === UNDECIDED) return undefined;
    throw fault;
  }
};

type Compiled = Readonly<{ /** The functions, calling those of that runtime. */ of: (runtime: Runtime) => Made; sizeChars: number }>;

const make = ({ constants, body, subject }: Source): Compiled => {
  const source =
    `const {${RUNTIME_NAMES.join(',')}}=it;\n${constants}\n` +
    `it.take({subject:(v,c)=>{${subject}\nreturn made;},body:(v,c,subject)=>{let h="",t="",q;\n${body}\nreturn {html:h,text:t,inline:q};}});`;
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
/** What lets long words break is no part of it: a mail that was accepted without is not refused for it. */
const checkSize = (html: string, { breaksLeft }: Meter, { htmlSizeBytesMax }: Limits): void => {
  if (html.length * 3 <= htmlSizeBytesMax) return;
  const bytes = Buffer.byteLength(html) - (BREAKS_CHARS_MAX - breaksLeft);
  if (bytes > htmlSizeBytesMax) throw bodyTooLarge(bytes, htmlSizeBytesMax, true);
};
