/**
 * Converts a mail of another service (Handlebars of SendGrid, Mustachio of Postmark, MJML, plain HTML such as that
 * of React Email) to an email template: guesses the language, finds preheader, width and colours of the layout, makes
 * sections of the components, and fits the result into the limits of a template. What a template cannot carry is named.
 */
import { DomainError, type FieldError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { checkEmailTemplate } from '../check/email.js';
import { localeFault } from '../check/format.js';
import { mend } from '../check/mend.js';
import { cssColor } from '../css.js';
import { UNSUBSCRIBE_CONSTANT } from '../scope/constants.js';
import { addedSides, boxText, NO_SIDES, sidesOf, toTheLeft, type Made, type Sides } from './boxes.js';
import { openBuilder, type Builder } from './components.js';
import { commonLook, isHidden, lookIn, propsOfLook, START, type Look } from './look.js';
import { NO_DEPTH } from './parts.js';
import { isBlank } from './shapes.js';
import {
  dialectOf,
  guessLanguage,
  parseTemplate,
  runTemplate,
  TooLarge,
  type SourceLanguage,
  type Statement,
} from './language.js';
import { importOutcomes, openNames, type AddNote, type ImportOutcome, type Names } from './names.js';
import { rewriteMjml } from './mjml.js';
import { documentOf, statementsIn, type Document, type Element, type Node } from './tree.js';

/** Longest source. A mail beyond 102 KB is cut off by Gmail. */
export const SOURCE_CHARS_MAX = 500_000;
/** Sample values as JSON; the answer holds them again. */
const VARIABLES_CHARS_MAX = 500_000;
const NOTES_MAX = 200;
const NAME_CHARS_MAX = 100;
const PREHEADER_CHARS_MAX = 300;

export type ImportNote = Readonly<{
  what: string;
  in: 'source' | 'subject';
  line: number;
  column: number;
  done: ImportOutcome;
  advice: string;
}>;

export type ImportedSource = Readonly<{
  source: string;
  language?: SourceLanguage | 'auto' | undefined;
  subject?: string | undefined;
  name?: string | undefined;
  /** Values as the other service gets them. */
  variables?: JsonObject | undefined;
}>;

export type ImportedTemplate = Readonly<{
  language: Readonly<{ name: SourceLanguage; guessed: boolean; reason: string }>;
  /** The body of a call that saves it. */
  template: Readonly<{
    name: string;
    subject: string;
    locale: string;
    variables: readonly JsonObject[];
    schema: JsonObject;
    unsubscribeList?: string;
  }>;
  samples: JsonObject;
  notes: readonly ImportNote[];
  notesLeftOut: number;
  /** The source in its own language, filled with the samples: HTML, or MJML. It may hold scripts. */
  original: Readonly<{ subject: string; html: string | null; mjml: string | null }>;
}>;

/**
 * In: a source, however hostile. Out: a template that a save accepts, with what became of the parts of the source.
 * Throws TEMPLATE_INVALID where the source cannot be read or no template can be made of it, WORK_LIMIT_EXCEEDED where
 * it has more elements than a template may have.
 */
export const convertTemplate = (given: ImportedSource, limits: Limits): ImportedTemplate => {
  const { source } = given;
  if (JSON.stringify(given.variables ?? {}).length > VARIABLES_CHARS_MAX)
    throw refused('variables', `has more than ${VARIABLES_CHARS_MAX} characters as JSON`);
  const language = languageOf(given);
  const notes = collectNotes();
  const statements = statementsOf(source, language.name, 'source');
  const subject = given.subject === undefined ? undefined : statementsOf(given.subject, language.name, 'subject');
  const attempts: readonly Attempt[] = ['whole', 'coarse', 'flat'];
  for (const attempt of attempts) {
    notes.clear();
    const document = readDocument(statements, notes.add('source'), language.name);
    const titled = subject ?? statementsIn(document.title, document.marks, START_PLACE) ?? [];
    const names = openNames(dialectOf(source, language.name), given.variables, notes.add('source'));
    names.scan(statements);
    names.scan(subject ?? []);
    const template = made(() => templateOf({ given, document, names, titled, attempt, notes }), attempt);
    if (template === undefined) continue;
    const checked = fitted(template, limits, { notes, isLast: attempt === 'flat' });
    if (checked === undefined) continue;
    const samples = names.samples();
    const filled = runTemplate(statements, samples);
    const isMjml = language.name === 'mjml';
    return {
      language,
      template: checked,
      samples,
      ...notes.answer(),
      original: {
        subject: runTemplate(titled, samples, false).replace(/\s+/g, ' ').trim(),
        html: isMjml ? null : filled,
        mjml: isMjml ? filled : null,
      },
    };
  }
  throw new Error('the last attempt either answers or throws');
};

/** Undefined where it takes too many steps and another attempt is left. */
const made = (make: () => Template, attempt: Attempt): Template | undefined => {
  try {
    return make();
  } catch (fault) {
    if (!(fault instanceof TooLarge)) throw fault;
    if (attempt === 'flat') throw refused('source', fault.message);
    return undefined;
  }
};

/** `coarse`: larger fragments of HTML in the place of components; `flat`: one fragment for each part of the mail. */
type Attempt = 'whole' | 'coarse' | 'flat';
const START_PLACE = { line: 1, column: 1 } as const;

const languageOf = ({ source, language = 'auto', subject = '' }: ImportedSource): ImportedTemplate['language'] =>
  language === 'auto'
    ? { ...guessLanguage(`${subject}\n${source}`), guessed: true }
    : { name: language, guessed: false, reason: 'The request names it.' };

const refused = (field: 'source' | 'subject' | 'variables', message: string): DomainError =>
  new DomainError('TEMPLATE_INVALID', `The ${field} cannot be converted: it ${message}.`, {
    errors: [{ field, message }],
  });

const statementsOf = (text: string, language: SourceLanguage, field: 'source' | 'subject'): readonly Statement[] => {
  if (language === 'html') return [{ kind: 'text', text, at: START_PLACE }];
  const parsed = parseTemplate(text);
  if (parsed.ok) return parsed.statements;
  const { at, message } = parsed;
  throw refused(field, `${message} (line ${at.line}, column ${at.column})`);
};

const readDocument = (statements: readonly Statement[], note: AddNote, language: SourceLanguage): Document => {
  try {
    return documentOf(statements, note, language === 'mjml' ? rewriteMjml : undefined);
  } catch (fault) {
    if (fault instanceof TooLarge) throw refused('source', fault.message);
    throw fault;
  }
};

type Notes = Readonly<{
  add: (where: ImportNote['in']) => AddNote;
  clear: () => void;
  answer: () => Readonly<{ notes: readonly ImportNote[]; notesLeftOut: number }>;
}>;

/** Collects notes, each once. */
const collectNotes = (): Notes => {
  const all = new Map<string, ImportNote>();
  let leftOut = 0;
  return {
    add:
      (where) =>
      (done, { line, column }, what, advice) => {
        const key = `${where} ${line} ${column} ${what}`;
        if (all.has(key)) return;
        if (all.size >= NOTES_KEPT_MAX) leftOut += 1;
        else all.set(key, { what, in: where, line, column, done, advice });
      },
    clear: () => {
      all.clear();
      leftOut = 0;
    },
    answer: () => {
      const rank = ({ done }: ImportNote): number => importOutcomes.indexOf(done);
      const sorted = [...all.values()].sort(
        (a, b) => rank(a) - rank(b) || a.in.localeCompare(b.in) || a.line - b.line || a.column - b.column,
      );
      return { notes: sorted.slice(0, NOTES_MAX), notesLeftOut: leftOut + Math.max(sorted.length - NOTES_MAX, 0) };
    },
  };
};
/** Enough to find the dropped ones among them. */
const NOTES_KEPT_MAX = 5_000;

type Template = ImportedTemplate['template'];
type Making = Readonly<{
  given: ImportedSource;
  document: Document;
  names: Names;
  titled: readonly Statement[];
  attempt: Attempt;
  notes: Notes;
}>;

const templateOf = ({ given, document, names, titled, attempt, notes }: Making): Template => {
  const note = notes.add('source');
  const { nodes, marks } = document;
  const page = pageOf(nodes);
  const base = commonLook(page.nodes, page.start);
  const builder = openBuilder({ names, marks, base, note, isCoarse: attempt !== 'whole' });
  const context = { scope: names.root, look: { ...base, background: page.background }, depth: NO_DEPTH };
  const layout = layoutOf(
    attempt === 'flat'
      ? builder.fragment(page.nodes, context)
      : builder.build(page.nodes, { ...context, look: page.look(base) }),
    page.background,
  );
  const preheader = preheaderOf(page.hidden, builder, names);
  const ofSubject =
    given.subject === undefined
      ? builder
      : openBuilder({ names, marks, base, note: notes.add('subject'), isCoarse: false });
  const title = subjectOf(titled, ofSubject, names);
  const sections = sectionsOf(layout);
  const written = JSON.stringify([title, preheader, sections]);
  return {
    name: nameOf(given, title),
    subject: title,
    locale: page.locale,
    variables: usedVariables(names.variables(), written),
    schema: {
      props: {
        ...(preheader === '' ? {} : { preheader }),
        ...(page.isFromRight ? { direction: 'rtl' } : {}),
        backgroundColor: layout.page ?? layout.background ?? '#ffffff',
        contentBackgroundColor: layout.background ?? layout.page ?? '#ffffff',
        ...propsOfLook(base),
        ...(layout.width === undefined ? {} : { width: layout.width }),
        borderRadius: layout.radius,
      },
      sections,
    },
    ...(written.includes(UNSUBSCRIBE_CONSTANT) ? { unsubscribeList: UNSUBSCRIBE_LIST } : {}),
  };
};

/** The list of an imported template that shows a link to unsubscribe. */
const UNSUBSCRIBE_LIST = 'newsletter';

/** Definitions that something shows or reads. */
const usedVariables = (all: readonly JsonObject[], written: string): readonly JsonObject[] => {
  const others = JSON.stringify(all.map(({ name: _, ...rest }) => rest));
  return all.filter(({ name }) => {
    const inJson = JSON.stringify(name).slice(1, -1);
    return written.includes(inJson) || others.includes(inJson);
  });
};

const nameOf = ({ name }: ImportedSource, title: string): string => {
  const plain = (name ?? title.replace(/\{\{[^}]*\}\}/g, ' ')).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return plain === '' ? DEFAULT_NAME : plain.slice(0, name === undefined ? NAME_CHARS_MAX : undefined);
};
const DEFAULT_NAME = 'Imported template';

/** The subject of the request, or the title of the document. */
const subjectOf = (given: readonly Statement[], builder: Builder, names: Names): string => {
  const line = builder
    .line(given, names.root)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line === '' ? DEFAULT_NAME : line.slice(0, SUBJECT_CHARS_MAX);
};
const SUBJECT_CHARS_MAX = 900;

const FILLERS = /(?:[\u00ad\u061c\u200b-\u200f\u2007\u2060\ufeff\u00a0\s]|\u034f)+/g;

const preheaderOf = (hidden: Element | undefined, builder: Builder, names: Names): string => {
  if (hidden === undefined) return '';
  const text = builder.lineOfNodes(hidden.children, names.root).replace(FILLERS, ' ').trim();
  return text.length > PREHEADER_CHARS_MAX ? '' : text;
};

type Page = Readonly<{
  nodes: readonly Node[];
  /** The colour behind the whole mail. */
  background: string | undefined;
  /** The look that the elements around all others give. */
  start: Look;
  look: (base: Look) => Look;
  hidden: Element | undefined;
  locale: string;
  isFromRight: boolean;
}>;

/** The settings of the elements around all others, and the text that inboxes show beside the subject. */
const pageOf = (all: readonly Node[]): Page => {
  let nodes = all;
  const around: Element[] = [];
  for (;;) {
    const seen = nodes.filter((node) => !isBlank(node) && !(node.kind === 'element' && isSkipped(node)));
    const [only] = seen;
    if (seen.length !== 1 || only?.kind !== 'element' || !/^(?:html|body|center)$/.test(only.tag)) break;
    around.push(only);
    nodes = only.children;
  }
  const outer = around.reduce<Look>((look, element) => lookIn(element, look), START);
  const attribute = (name: string): string | undefined =>
    around.map(({ attributes }) => attributes.get(name)).find((value) => value !== undefined);
  const lang = attribute('lang') ?? attribute('xml:lang') ?? '';
  return {
    nodes: nodes.filter((node) => node.kind !== 'element' || !isSkipped(node)),
    background: outer.background === 'transparent' ? undefined : outer.background,
    start: outer,
    look: (base) => ({ ...START, ...outer, background: outer.background ?? base.background }),
    hidden: hiddenIn(nodes, { left: 400 }),
    locale: lang !== '' && localeFault(lang) === undefined ? lang : 'en-US',
    isFromRight: attribute('dir')?.toLowerCase() === 'rtl',
  };
};
const isSkipped = ({ tag }: Element): boolean => tag === 'head';

/** The first hidden element with a text, among the first elements. */
const hiddenIn = (nodes: readonly Node[], work: { left: number }): Element | undefined => {
  for (const node of nodes) {
    work.left -= 1;
    if (work.left < 0) return undefined;
    if (node.kind !== 'element') continue;
    if (isHidden(node)) {
      if (hasText(node.children)) return node;
      continue;
    }
    const found = hiddenIn(node.children, work);
    if (found !== undefined) return found;
  }
  return undefined;
};
const hasText = (nodes: readonly Node[]): boolean =>
  nodes.some((node) =>
    node.kind === 'element'
      ? hasText(node.children)
      : node.kind === 'text'
        ? node.text.replace(FILLERS, '') !== ''
        : true,
  );

/** A part of the mail with its own background, from edge to edge. */
type Band = Readonly<{ background: string | undefined; padding: Sides; children: readonly Made[] }>;
type Layout = Readonly<{
  page: string | undefined;
  bands: readonly Band[];
  background: string | undefined;
  width: number | undefined;
  radius: number;
}>;

const WIDTH_MIN = 320;
const WIDTH_MAX = 1_000;
const LEVELS_MAX = 8;

type Frame = Readonly<{
  background: string | undefined;
  padding: Sides;
  room: Readonly<{ above: number; below: number }>;
  width: number | undefined;
  radius: number;
}>;

/** The look of a container that only groups, colours or narrows; undefined for one with a border. */
const frameOf = ({ type, props = {}, room = { above: 0, below: 0 } }: Made): Frame | undefined => {
  if (type !== 'container' || props['border'] !== undefined) return undefined;
  const { width, backgroundColor, borderRadius, padding } = props;
  const px = typeof width === 'string' && width.endsWith('px') ? parseFloat(width) : undefined;
  if (width !== undefined && (px === undefined || px < WIDTH_MIN || px > WIDTH_MAX)) return undefined;
  return {
    background: typeof backgroundColor === 'string' ? backgroundColor : undefined,
    padding: sidesOf(padding),
    room,
    width: px,
    radius: typeof borderRadius === 'number' ? borderRadius : 0,
  };
};

/**
 * Takes the boxes around the whole mail apart: the widest one with a width is the mail, and its rows are bands. The
 * boxes of one band give it their colour and padding.
 */
const layoutOf = (all: readonly Made[], page: string | undefined): Layout => {
  const card = { width: undefined as number | undefined, background: undefined as string | undefined, radius: 0 };
  const opened = (part: Made, around: Omit<Band, 'children'>, level: number, isAlone: boolean): Frame | undefined => {
    const frame = level > LEVELS_MAX ? undefined : frameOf(part);
    if (frame === undefined) return undefined;
    const isColoured = frame.background !== undefined && frame.background !== around.background;
    // A box of another colour within a padding is not as wide as the mail.
    const isWithin = around.padding[1] > 0 || around.padding[3] > 0;
    if (isColoured && isWithin && !(isAlone && card.width === undefined)) return undefined;
    return part.isBand === true || isColoured || isAlone || frame.width !== undefined || level === 0
      ? frame
      : undefined;
  };
  const bandsOf = (parts: readonly Made[], around: Omit<Band, 'children'>, level: number): readonly Band[] => {
    type Segment =
      Readonly<{ frame: Frame; children: readonly Made[] }> | Readonly<{ frame: undefined; children: Made[] }>;
    const segments: Segment[] = [];
    for (const part of parts) {
      const frame = opened(part, around, level, parts.length === 1);
      const last = segments.at(-1);
      if (frame !== undefined) segments.push({ frame, children: part.children ?? [] });
      else if (last !== undefined && last.frame === undefined) last.children.push(part);
      else segments.push({ frame, children: [part] });
    }
    const [top, right, bottom, left] = around.padding;
    return segments.flatMap(({ frame, children }, at): readonly Band[] => {
      const above = (at === 0 ? top : 0) + (frame?.room.above ?? 0);
      const below = (at === segments.length - 1 ? bottom : 0) + (frame?.room.below ?? 0);
      if (frame === undefined) return [{ ...around, padding: [above, right, below, left], children }];
      if (frame.width !== undefined && frame.width > (card.width ?? 0)) {
        card.width = frame.width;
        card.radius = frame.radius;
        card.background = frame.background ?? card.background;
      }
      const isColoured = frame.background !== undefined && frame.background !== around.background;
      if (!isColoured)
        return bandsOf(
          children,
          { ...around, padding: addedSides([above, right, below, left], frame.padding) },
          level + 1,
        );
      return [
        ...roomBand(around.background, above),
        ...bandsOf(children, { background: frame.background, padding: frame.padding }, level + 1),
        ...roomBand(around.background, below),
      ];
    });
  };
  const [only] = all;
  const outer = all.length === 1 && only !== undefined ? frameOf(only) : undefined;
  // One box without a width around all others is the page.
  if (outer !== undefined && only !== undefined && outer.width === undefined && outer.background !== undefined) {
    const around = { background: outer.background, padding: outer.padding };
    return { page: outer.background, bands: bandsOf(only.children ?? [], around, 0), ...card };
  }
  return { page, bands: bandsOf(all, { background: page, padding: NO_SIDES }, 0), ...card };
};

const roomBand = (background: string | undefined, height: number): readonly Band[] =>
  height === 0 ? [] : [{ background, padding: [height, 0, 0, 0], children: [] }];

const SECTIONS_MAX = 60;

const sectionsOf = ({ bands: all, page, radius }: Layout): readonly JsonObject[] => {
  // Room above and below a card with round corners is that of the page, whose colour would hide the corners.
  const isRoom = ({ background, children }: Band): boolean => background === page && children.length === 0;
  const [first, last] = [all.findIndex((band) => !isRoom(band)), all.findLastIndex((band) => !isRoom(band))];
  const bands = radius > 0 && first >= 0 ? all.slice(first, last + 1) : all;
  const whole =
    bands.length <= SECTIONS_MAX
      ? bands
      : [{ background: bands[0]?.background, padding: NO_SIDES, children: bands.flatMap(({ children }) => children) }];
  const parted = whole.flatMap(withoutGaps);
  const joined = parted.length <= SECTIONS_MAX ? parted : whole;
  return (joined.length === 0 ? [{ background: undefined, padding: NO_SIDES, children: [] }] : joined).map(
    ({ background, padding, children }, at): JsonObject => ({
      id: `section-${at + 1}`,
      type:
        at > 0 && at === joined.length - 1 && JSON.stringify(children).includes(UNSUBSCRIBE_CONSTANT)
          ? 'footer'
          : 'main',
      props: {
        ...(background === undefined || cssColor(background) === undefined ? {} : { backgroundColor: background }),
        padding: boxText(padding),
      },
      components: spaced(children),
    }),
  );
};

/** Rows below these components have the gap of the renderer above them. */
const GAPPED: ReadonlySet<string> = new Set(['button', 'columns', 'container', 'list']);
const GAP_PX = 16;
/** Fewer pixels are no reason for another section. */
const SEEN_PX = 6;

const hasGap = ({ type, children = [], elseChildren = [] }: Made): boolean =>
  GAPPED.has(type) ||
  ((type === 'conditional' || type === 'loop') &&
    [children.at(-1), elseChildren.at(-1)].some((last) => last !== undefined && hasGap(last)));

const roomBetween = (one: Made, next: Made): number => (one.room?.below ?? 0) + (next.room?.above ?? 0);

/** Pixels of the gap below a component that the component below it cannot give up. */
const surplusOf = (one: Made, next: Made): number =>
  hasGap(one) ? Math.max(GAP_PX - roomBetween(one, next) - topOf(next), 0) : 0;

/** The prop with the room above the content of a component that shows no colour there. */
const topProp = ({ type, props = {} }: Made): 'padding' | 'margin' | undefined =>
  type === 'divider'
    ? 'margin'
    : /^(?:rich-text|html-fragment|image)$/.test(type) && props['backgroundColor'] === undefined
      ? 'padding'
      : undefined;
const topOf = (one: Made): number => {
  const name = topProp(one);
  return name === undefined ? 0 : sidesOf(one.props?.[name])[0];
};
const withLessAbove = (one: Made, less: number): Made => {
  const name = topProp(one);
  if (name === undefined || less <= 0) return one;
  const [top, ...others] = sidesOf(one.props?.[name]);
  return { ...one, props: { ...one.props, [name]: boxText([Math.max(top - less, 0), ...others]) } };
};

/** Parts of a band between which the renderer would leave a gap that the source has not; sections have none. */
const withoutGaps = (band: Band): readonly Band[] => {
  const { children, padding, background } = band;
  const [top, right, bottom, left] = padding;
  const parts: Made[][] = [[]];
  children.forEach((one, at) => {
    parts.at(-1)!.push(one);
    const next = children[at + 1];
    if (next !== undefined && surplusOf(one, next) > SEEN_PX) parts.push([]);
  });
  return parts.map((part, at) => ({
    background,
    padding: [at === 0 ? top : 0, right, at === parts.length - 1 ? bottom : 0, left],
    children: part,
  }));
};

/** Components as they are saved, with spacers for the room that they want around them. */
const spaced = (all: readonly Made[]): readonly JsonObject[] => {
  const out: JsonObject[] = [];
  const space = (id: string, height: number): void => {
    if (Math.round(height) > 0) out.push({ id, type: 'spacer', props: { height: Math.round(height) } });
  };
  all.forEach((one, at) => {
    const before = all[at - 1];
    const gap = before !== undefined && hasGap(before) ? GAP_PX : 0;
    const wanted = before === undefined ? (one.room?.above ?? 0) : roomBetween(before, one);
    space(`space-above-${one.id}`, wanted - gap);
    const { room, children: inner, elseChildren, props, isBand: _, ...rest } = withLessAbove(one, gap - wanted);
    // The texts of a component with an alignment inherit it.
    const children = props?.['align'] !== undefined && one.type === 'container' ? inner?.map(toTheLeft) : inner;
    out.push({
      ...rest,
      ...(props === undefined ? {} : { props }),
      ...(children === undefined ? {} : { children: spaced(children) }),
      ...(elseChildren === undefined ? {} : { elseChildren: spaced(elseChildren) }),
    });
    if (at === all.length - 1) space(`space-below-${one.id}`, room?.below ?? 0);
  });
  return out;
};

const ROUNDS_MAX = 8;
/** Faults of size, which another attempt makes smaller. */
const TOO_MUCH: ReadonlySet<string> = new Set(['ERR_LIMIT_008', 'ERR_LIMIT_009']);

/**
 * The template as a save accepts it: parts that the check refuses are taken out and named. Undefined where it is too
 * large or too deep and another attempt is left.
 */
const fitted = (
  template: Template,
  limits: Limits,
  { notes, isLast }: Readonly<{ notes: Notes; isLast: boolean }>,
): Template | undefined => {
  const { name, unsubscribeList, ...written } = template;
  let content: JsonObject = written as unknown as JsonObject;
  let faults: readonly FieldError[] = [];
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    try {
      checkEmailTemplate(content, limits);
      return {
        ...(content as unknown as Omit<Template, 'name'>),
        name,
        ...(unsubscribeList === undefined ? {} : { unsubscribeList }),
      };
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      if (TOO_MUCH.has(fault.code) && !isLast) return undefined;
      if (fault.code !== 'TEMPLATE_INVALID') throw fault;
      faults = fault.details.errors ?? [];
      const mended = mend(content, faults, 'email');
      if (mended === undefined) break;
      for (const { field, message } of faults)
        notes.add('source')('dropped', START_PLACE, `${placeText(content, field)} ${message}`, 'Add it in the editor.');
      content = mended.template;
    }
  }
  const [first] = faults;
  throw refused(
    'source',
    `makes a template that cannot be saved: ${first?.field ?? ''} ${first?.message ?? ''}`.trim(),
  );
};

/** A field of the schema as the author finds it: the type of the component and the prop. */
const placeText = (content: JsonObject, field: string): string => {
  const id = idAt(content, field);
  return id === undefined ? field : `${id} ${field.slice(field.lastIndexOf(']') + 1).replace(/^\./, '')}`.trim();
};
const idAt = (content: JsonObject, field: string): string | undefined => {
  let value: Json | undefined = content;
  let id: string | undefined;
  for (const [step] of field.matchAll(/[^.[\]]+/g)) {
    value = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, Json>>)[step] : undefined;
    if (typeof value === 'object' && value !== null && 'id' in value && typeof value['id'] === 'string')
      id = value['id'];
  }
  return id;
};
