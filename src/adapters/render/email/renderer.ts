/**
 * The renderer port: compiles a template revision to one function from variables to a finished email, and keeps
 * compiled revisions while they are in use.
 */
import { Eta } from 'eta/core';
import {
  DEFAULT_LOCALE,
  DEFAULT_TIME_ZONE,
  type Component,
  type EmailTemplateContent,
  type AttachmentTemplateContent,
  type DocumentComponent,
} from '../../../domain/rendering/content.js';
import { charsOf, headerLine, isLonger } from '../../../shared/text.js';
import type { PictureSize } from '../../../domain/rendering/pictures.js';
import { openBudget, openUnlimitedBudget, bodyTooLarge, subjectTooLong } from '../../../domain/rendering/budget.js';
import { type JsonObject, isJsonObject, type Json } from '../../../domain/core/json.js';
import type { Limits } from '../../../domain/core/limits.js';
import type {
  CheckedEmail,
  CompiledEmail,
  EmailInput,
  InlineImage,
  RenderedEmail,
  Renderer,
} from '../../../domain/ports/renderer.js';
import { fillText, compilePreparation, type PreparedValues } from '../../../domain/rendering/fill/compile.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import { linkRulesOf, insideImage, safeImage, type LinkRules } from '../../../domain/rendering/addresses.js';
import {
  compileLosses,
  KEPT_LOSSES_MAX,
  lossesWithin,
  refuseLosses,
  type Loss,
  type LossesOf,
} from '../../../domain/rendering/paths/losses.js';
import { hasPlaceholder } from '../../../domain/rendering/fill/templated-text.js';
import { partsOfBody, partsOfSubject, type WalkedTemplate } from '../../../domain/rendering/paths/walk.js';
import { nextTurn } from '../../../shared/concurrency.js';
import {
  checkingRuntimeOf,
  surelyFits,
  UNDECIDED,
  openMeter,
  runtimeOf,
  RUNTIME_NAMES,
  startMeter,
  type Meter,
  type Runtime,
} from './runtime.js';
import type { Context } from './values.js';
import { directionOf, writeDocument, type Source } from './document.js';
import { BREAKS_CHARS_MAX } from './escape.js';
import { finish } from './text-layout.js';
import { languageKey } from '../../../domain/rendering/languages.js';
import { constantsOf } from '../../../domain/rendering/scope/constants.js';
import { compileInline, showsAnything } from './inline.js';
import { boundedCache } from '../../../shared/cache.js';
import { parseDocument } from 'htmlparser2';
import type { FieldError } from '../../../domain/core/errors.js';
import { cssColor } from '../../../domain/rendering/css.js';
import { droppedTags, NESTING_MAX } from '../../../domain/rendering/html.js';
import { shorten } from '../../../domain/rendering/scope/path.js';
import { declarationsOf, isKeptAttribute, keptTagOf, type RichMode } from '../rich-tree.js';
import { lostDeclarations } from './rich-html.js';

type Constants = Readonly<Record<string, string | number>>;
type Made = Readonly<{
  subject: (values: JsonObject, constants: Constants) => string;
  body: (values: JsonObject, constants: Constants, subject: string) => Body;
}>;
/** `inline`: undefined where the mail carries no pictures. */
type Body = Readonly<{ html: string; text: string; inline: readonly InlineImage[] | undefined }>;

/** `sizeChars`: the length of its source, which caches weigh. */
type CompiledTemplate = Readonly<{ render: CompiledEmail; sizeChars: number }>;

type Compiled = Readonly<{
  /** The functions, calling those of that runtime. */ of: (runtime: Runtime) => Made;
  sizeChars: number;
}>;

const REVISIONS_MAX = 1_000;
const LANGUAGES_MAX = 100;
const SOURCE_CHARS_MAX = 64 * 1024 * 1024;

/** In: the limits in force. Out: a renderer that compiles each revision once and forgets those not used for longest. */
export const openRenderer = ({ limits }: Readonly<{ limits: Limits }>): Renderer => {
  const compiled = boundedCache<string, CompiledTemplate>({
    entriesMax: REVISIONS_MAX,
    size: { max: SOURCE_CHARS_MAX, of: ({ sizeChars }) => Math.max(sizeChars, 1) },
  });
  const loading = new Map<string, Promise<CompiledEmail>>();
  const constantsIn = boundedCache<string, ReturnType<typeof constantsOf>>({ entriesMax: LANGUAGES_MAX });

  const loadOnce = async (cacheKey: string, load: () => Promise<EmailTemplateContent>): Promise<CompiledEmail> => {
    const made = await compileInTurns(await load(), limits);
    compiled.set(cacheKey, made);
    return made.render;
  };
  return {
    email: async (cacheKey, load) => {
      const known = compiled.get(cacheKey);
      if (known !== undefined) return known.render;
      const pending = loading.get(cacheKey);
      if (pending !== undefined) return pending;
      const started = loadOnce(cacheKey, load).finally(() => loading.delete(cacheKey));
      loading.set(cacheKey, started);
      return started;
    },
    compileEmail: (content) => compile(content, limits).render,
    inline: (content, { locale = DEFAULT_LOCALE, timeZone = DEFAULT_TIME_ZONE } = {}) => {
      const language = { locale, timeZone };
      const constantsAt = constantsIn.getOrMake(languageKey(language), () => constantsOf(language));
      return compileInline(content, { language, constantsAt, limits });
    },
    compileEmailInTurns: async (content, marks) => (await compileInTurns(content, limits, marks)).render,
    dropped: droppedIn,
    close: async () => compiled.clear(),
  };
};

// The source is one block of JavaScript: no text of an author is ever read as a template by Eta.
const eta = new Eta({ autoTrim: false, cache: false, autoEscape: false, debug: false });

/** In: a checked template. Out: its function. */
export const compile = (content: EmailTemplateContent, limits: Limits): CompiledTemplate => {
  const { whole, htmlOnly } = outputsOf(content, limits);
  return functionOf(content, limits, whole(), htmlOnly());
};

/** `compile` with turns for other requests between the two outputs, because a very large template takes long. */
const compileInTurns = async (
  content: EmailTemplateContent,
  limits: Limits,
  marks?: boolean,
): Promise<CompiledTemplate> => {
  const outputs = outputsOf(content, limits, marks);
  const whole = outputs.whole();
  await nextTurn();
  const htmlOnly = outputs.htmlOnly();
  await nextTurn();
  return functionOf(content, limits, whole, htmlOnly);
};

/** Both outputs share parsed rich texts and checked codes, so the second is cheaper than the first. */
const outputsOf = (content: EmailTemplateContent, limits: Limits, marks?: boolean) => {
  const language = languageOf(content);
  const known: Pick<Context, 'richTexts' | 'checkedCodes'> = { richTexts: new Map(), checkedCodes: new Set() };
  return {
    whole: () => make(writeDocument(content, limits, language, { outputs: 'html and text', marks, ...known })),
    htmlOnly: () => make(writeDocument(content, limits, language, { outputs: 'html', ...known })),
  };
};

const languageOf = ({ locale = 'en-US', timeZone = 'UTC' }: EmailTemplateContent): Language => ({ locale, timeZone });

const functionOf = (
  content: EmailTemplateContent,
  limits: Limits,
  whole: Compiled,
  htmlOnly: Compiled,
): CompiledTemplate => {
  const language = languageOf(content);
  const direction = directionOf(content.schema.props, language);
  const meter = openMeter();
  const rules = linkRulesOf(content.schema.props);
  const full = whole.of(runtimeOf(limits, meter, rules));
  const exact = htmlOnly.of(runtimeOf(limits, meter, rules));
  const measuring = htmlOnly.of(checkingRuntimeOf(limits, meter, rules));
  const isNeverEmpty = alwaysShows(content);
  const filling = { definitions: content.variables, language, limits, direction };
  const prepared = compilePreparation(content.variables, language, limits);
  const lossesIn = lossesOf(content, limits);
  const prepare = ({ variables, subject, environment, budget = UNLIMITED }: EmailInput) => {
    const { values, constants } = prepared(variables, environment, budget, true);
    startMeter(meter, limits, budget);
    meter.lost = subject !== undefined && hasPlaceholder(subject);
    const title = headerLine(
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
    const losses = lossesIn({ values, constants }, input, meter.lost);
    return {
      losses,
      subject: title,
      // The measured text is not escaped, so a value that looks like a tag may hide in it what the mail itself shows.
      isEmpty:
        !isNeverEmpty &&
        !showsAnything(html) &&
        (small === undefined || !showsAnything(exact.body(values, constants, title).html)),
      assetIds: inline === undefined ? NONE : inline.flatMap((image) => ('assetId' in image ? [image.assetId] : [])),
      contentIds:
        inline === undefined ? NONE : inline.flatMap((image) => ('isAttached' in image ? [image.contentId] : [])),
    };
  };
  return { render: Object.assign(render, { check }), sizeChars: whole.sizeChars + htmlOnly.sizeChars };
};

/**
 * In: a template. Out: what a call loses. With `strictVariables` it throws VARIABLES_EMPTY instead; else it looks only
 * where the rendering met a loss, as far as a share of the budget of a call reaches. Emails that were accepted are
 * rendered without it.
 */
const lossesOf = (content: EmailTemplateContent, limits: Limits) => {
  const { variables: definitions, strictVariables, subject: own } = content;
  const { locale } = languageOf(content);
  const compiled = (parts: WalkedTemplate): LossesOf => compileLosses(parts, { definitions, locale, limits });
  let ofOwn: LossesOf | undefined;
  let ofBody: LossesOf | undefined;
  return (
    prepared: PreparedValues,
    { subject, budget = openBudget(limits) }: EmailInput,
    isMet: boolean,
  ): readonly Loss[] => {
    if (strictVariables !== true && !isMet) return NONE;
    // The texts of a subject that comes with a call are not kept.
    const inSubject =
      subject === undefined ? (ofOwn ??= compiled(partsOfSubject(own))) : compiled(partsOfSubject(subject));
    const inBody = (ofBody ??= compiled(partsOfBody(content)));
    const find: LossesOf = (values, search) => {
      const found = search.found ?? new Map<string, Loss>();
      inSubject(values, { ...search, found });
      return inBody(values, { ...search, found });
    };
    if (strictVariables === true) {
      refuseLosses(find(prepared, { budget }));
      return NONE;
    }
    return lossesWithin(find, prepared, { limits, lossesMax: KEPT_LOSSES_MAX });
  };
};

const NONE: readonly never[] = [];
const NO_PICTURES: ReadonlyMap<string, PictureSize> = new Map();
const UNLIMITED = openUnlimitedBudget();

/** Undefined if the body may be too large. */
const bodyIfSmall = (measure: () => Body, limits: Limits): Body | undefined => {
  try {
    const body = measure();
    return surelyFits(body.html.length, limits) ? body : undefined;
  } catch (fault) {
    if (fault === UNDECIDED) return undefined;
    throw fault;
  }
};

const make = ({ constants, body, subject }: Source): Compiled => {
  const source =
    `const {${RUNTIME_NAMES.join(',')}}=it;\n${constants}\n` +
    `it.take({subject:(v,c)=>{${subject}\nreturn made;},body:(v,c,subject)=>{let h="",t="",q,d,k;\n${body}\nreturn {html:h,text:t,inline:q};}});`;
  const compiled = eta.compile(`<% ${source} %>`);
  const of = (runtime: Runtime): Made => {
    let made: Made | undefined;
    compiled.call(eta, { ...runtime, take: (functions: Made) => void (made = functions) });
    if (made === undefined) throw new Error('the compiled template did not hand over its functions');
    return made;
  };
  return { of, sizeChars: source.length };
};

/**
 * UTF-8 takes at most three bytes for each UTF-16 unit, so most bodies need no counting. The markup around long words
 * does not count: a mail that was accepted without it is not refused for it.
 */
const checkSize = (html: string, { breaksLeft }: Meter, { htmlSizeBytesMax }: Limits): void => {
  if (html.length * 3 <= htmlSizeBytesMax) return;
  const bytes = Buffer.byteLength(html) - (BREAKS_CHARS_MAX - breaksLeft);
  if (bytes > htmlSizeBytesMax) throw bodyTooLarge(bytes, htmlSizeBytesMax, true);
};

/** Tags whose text is shown as it stands; of others some are taken out with what is in them. */
const OTHER_TAG = /<(?!\/?(?:p|br|b|strong|i|em|u|s|a|span|div|h[1-6]|ul|ol|li|blockquote)[\s/>])/i;
const TAG = /<[^>]*>?/g;
const NOT_TEXT = /\{\{[^}]*\}?\}?|&[^;\s]*;?/g;
const LETTER = /[\p{L}\p{N}]/u;

/**
 * True where a mail of the template shows a letter whatever its variables are: one that stands in the text itself,
 * outside every loop and conditional. Most templates have one, and their mails need not be looked at.
 */
export const alwaysShows = ({ schema }: Pick<EmailTemplateContent, 'schema'>): boolean =>
  schema.sections.some(({ components }) => components.some(hasFixedLetter));

const hasFixedLetter = ({ type, content = '', children = [], props }: Component): boolean => {
  if (type === 'loop' || type === 'conditional' || (props?.['hideWhenEmpty'] ?? false) !== false) return false;
  return (type === 'rich-text' && hasLetter(content)) || children.some(hasFixedLetter);
};

/** False if it is not certain. */
const hasLetter = (html: string): boolean => {
  if (OTHER_TAG.test(html)) return false;
  // An angle within quotes does not end a tag.
  if ((html.match(TAG) ?? []).some((tag) => tag.split('"').length % 2 === 0 || tag.split("'").length % 2 === 0))
    return false;
  return LETTER.test(html.replace(TAG, '').replace(NOT_TEXT, ''));
};

// Warnings about the HTML of an author: elements, attributes, styles and comments that a mail or a document does not
// keep.

/** Enough to work with: components that are told, and names that are told of each. */
const WARNINGS_MAX = 20;
const NAMES_MAX = 20;
const CHARS_SHOWN = 40;

type AnyComponent = Component | DocumentComponent;
/** `links`: the addresses that an email allows; undefined in a document. */
type Rules = Readonly<{ mode: RichMode; links: LinkRules | undefined }>;

/**
 * In: a checked template in one of its languages. Out: a warning for each text whose HTML loses something, with the
 * names of what it loses.
 */
export const droppedIn = ({
  schema,
}: Pick<EmailTemplateContent, 'schema'> | Pick<AttachmentTemplateContent, 'schema'>): readonly FieldError[] => {
  const links = 'pages' in schema ? undefined : linkRulesOf(schema.props);
  const warnings: FieldError[] = [];
  const look = (text: Json | undefined, field: string, mode: RichMode): void => {
    if (typeof text !== 'string' || !text.includes('<') || text.startsWith('=') || warnings.length >= WARNINGS_MAX)
      return;
    const lost = lossesIn(text, { mode, links });
    if (lost.size > 0)
      warnings.push({ field, message: messageFor(lost, links === undefined ? 'a document' : 'an email') });
  };
  const visit = (components: readonly AnyComponent[], field: string): void =>
    components.forEach((component, at) => {
      const { content, children = [], elseChildren = [] } = component;
      const place = `${field}[${at}]`;
      if (component.type === 'table') visitTable(component, place, look);
      else look(content, `${place}.content`, modeOf(component));
      visit(children, `${place}.children`);
      visit(elseChildren, `${place}.elseChildren`);
    });
  if ('pages' in schema) {
    schema.pages.forEach(({ sections }, page) =>
      sections.forEach(({ components }, at) => visit(components, `schema.pages[${page}].sections[${at}].components`)),
    );
  } else schema.sections.forEach(({ components }, at) => visit(components, `schema.sections[${at}].components`));
  return warnings;
};

const modeOf = ({ type, props }: AnyComponent): RichMode => {
  if (type === 'html-fragment') return 'fragment';
  return type === 'rich-text' || (type === 'list' && props?.['dataSource'] === undefined) ? 'block' : 'inline';
};

type Look = (text: Json | undefined, field: string, mode: RichMode) => void;

const itemsOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

const visitTable = ({ props = {} }: AnyComponent, place: string, look: Look): void => {
  itemsOf(props['columns']).forEach((column, at) => {
    if (!isJsonObject(column)) return;
    for (const name of ['header', 'content', 'footer'])
      look(column[name], `${place}.props.columns[${at}].${name}`, 'inline');
  });
  itemsOf(props['rows']).forEach((row, at) =>
    itemsOf(row).forEach((cell, column) =>
      look(isJsonObject(cell) ? cell['content'] : cell, `${place}.props.rows[${at}][${column}]`, 'inline'),
    ),
  );
};

/** How often each is lost, by its name. */
type Losses = Map<string, number>;

const messageFor = (losses: Losses, noun: string): string => {
  const names = [...losses]
    .slice(0, NAMES_MAX)
    .map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  const rest = losses.size > NAMES_MAX ? ` and ${losses.size - NAMES_MAX} more` : '';
  return `is shown without what ${noun} does not keep: ${names.join(', ')}${rest}`;
};

/** Parts of a whole page that show nothing by themselves. */
const FRAME: ReadonlySet<string> = new Set(['html', 'head', 'body', 'meta', 'title']);
const SURFACE: ReadonlySet<string> = new Set(['style', 'bgcolor', 'background']);
const WITH_CONTENT: ReadonlySet<string> = new Set(droppedTags);
/** Attributes for style sheets, scripts, editors and browsers' windows: without them a mail looks as before. */
const UNSEEN =
  /^(?:class|target|rel|xmlns(?::.*)?|data-.*|contenteditable|spellcheck|tabindex|draggable|translate|itemscope|item.*)$/;
const AT_RULE = /@(?:media|font-face|import|keyframes|supports)\b/gi;

type DomNode = ReturnType<typeof parseDocument>['children'][number];
type DomElement = Extract<DomNode, { attribs: unknown }>;

const lossesIn = (html: string, { mode, links }: Rules): Losses => {
  const losses: Losses = new Map();
  const add = (name: string): void => void losses.set(name, (losses.get(name) ?? 0) + 1);
  const visit = (nodes: readonly DomNode[], depth: number): void => {
    for (const node of nodes) {
      if (links !== undefined && node.type === 'comment' && 'data' in node && /^\s*\[if\s/i.test(node.data))
        add('comments for Outlook (<!--[if …]>)');
      if ('attribs' in node) element(node, depth);
    }
  };
  const element = (node: DomElement, depth: number): void => {
    const { name } = node;
    if (depth > NESTING_MAX) return add(`elements deeper than ${NESTING_MAX}`);
    const kept = keptTagOf(name, mode);
    if (kept !== undefined) attributesLost({ ...node, name: kept }, links).forEach(add);
    else if (FRAME.has(name)) {
      if (Object.keys(node.attribs).some((attribute) => SURFACE.has(attribute))) add(`the look of <${name}>`);
    } else add(`<${shorten(name, CHARS_SHOWN)}>${WITH_CONTENT.has(name) ? ' with all that is in it' : ''}`);
    if (kept === undefined && name === 'style')
      for (const child of node.children)
        if ('data' in child) for (const [rule] of child.data.matchAll(AT_RULE)) add(rule.toLowerCase());
    if (kept !== undefined || !WITH_CONTENT.has(name)) visit(node.children, depth + 1);
  };
  visit(parseDocument(html).children, 1);
  return losses;
};

const attributesLost = (
  { name: tag, attribs }: Pick<DomElement, 'name' | 'attribs'>,
  links: LinkRules | undefined,
): readonly string[] =>
  Object.entries(attribs).flatMap(([name, value]) => {
    if (name === 'style')
      return (links === undefined ? lostInDocument(value) : lostDeclarations(value, links)).map(
        (lost) => `the style ${shorten(lost, CHARS_SHOWN)}`,
      );
    const where = `of <${tag}>`;
    if (!isKeptAttribute(tag, name))
      return UNSEEN.test(name) || name.includes('{{') ? [] : [`${shorten(name, CHARS_SHOWN)} ${where}`];
    return isUsable(name, value, links) ? [] : [`${name}="${shorten(value, CHARS_SHOWN)}" ${where}`];
  });

/**
 * False for a colour or a picture that the author wrote out and that is none. Links and other pictures have warnings of
 * their own.
 */
const isUsable = (name: string, value: string, links: LinkRules | undefined): boolean => {
  if (value.includes('{{')) return true;
  if (name === 'bgcolor' || name === 'color') return cssColor(value) !== undefined;
  return (
    name !== 'background' || (links !== undefined && (insideImage(value) ?? safeImage(value, links)) !== undefined)
  );
};

/** The properties that a PDF or a workbook reads. */
const READ: ReadonlySet<string> = new Set([
  ...[
    'color',
    'background',
    'background-color',
    'font-family',
    'font-size',
    'font-weight',
    'font-style',
    'letter-spacing',
    'white-space',
  ],
  ...[
    'text-align',
    'text-decoration',
    'text-decoration-line',
    'text-transform',
    'vertical-align',
    'direction',
    'width',
    'height',
  ],
  ...[
    'margin-left',
    'margin-right',
    'padding-left',
    'padding-right',
    'border',
    'border-color',
    'list-style',
    'list-style-type',
  ],
]);

const lostInDocument = (style: string): readonly string[] =>
  [...declarationsOf(style)].flatMap(([property, value]) => {
    if (!READ.has(property)) return [property];
    const isColor = property === 'color' || property === 'background-color';
    return isColor && !value.includes('{{') && cssColor(value) === undefined ? [`${property}: ${value}`] : [];
  });
