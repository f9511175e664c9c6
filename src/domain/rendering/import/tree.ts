/**
 * HTML of a template as one tree: elements with their styles inlined, texts, and between them the values and
 * blocks of the language of placeholders. A block that begins and ends in different elements is told and left out.
 */
import { Parser } from 'htmlparser2';
import { mayRunCode } from '../addresses.js';
import { droppedTags, voidTags } from '../html.js';
import { movedBy, TooLarge, type Block, type Place, type Statement, type Value } from './language.js';
import type { AddNote } from './names.js';

export type Styles = ReadonlyMap<string, string>;
export type Element = Readonly<{
  kind: 'element';
  tag: string;
  attributes: ReadonlyMap<string, string>;
  styles: Styles;
  children: readonly Node[];
  at: Place;
}>;
type Text = Readonly<{ kind: 'text'; text: string; at: Place }>;
export type Node = Element | Text | Value | Block<Node>;

export type Document = Readonly<{
  nodes: readonly Node[];
  title: string;
  /** The statement of each mark in a text of an attribute. */
  marks: ReadonlyMap<number, Statement>;
}>;

const DEPTH_MAX = 200;
const ELEMENTS_MAX = 5_000;

const OPEN = '\ue000';
const END = '\ue001';
/** `o`: a block opens, `e`: its other branch begins, `c`: it closes, `v`: a value, `u`: what no template carries. */
const MARK = /\ue000([oecvu])(\d+)\ue001/g;
export const holdsMark = (text: string): boolean => text.includes(OPEN);

type Marked = Readonly<{
  text: string;
  marks: ReadonlyMap<number, Statement>;
  placeAt: (offset: number) => Place;
}>;

/** The source with a mark in the place of each value, and of each end of a block. */
const markedSource = (statements: readonly Statement[]): Marked => {
  const out: string[] = [];
  const marks = new Map<number, Statement>();
  const starts: { offset: number; at: Place; text: string }[] = [];
  let offset = 0;
  const write = (text: string, at: Place): void => {
    starts.push({ offset, at, text });
    out.push(text);
    offset += text.length;
  };
  const mark = (kind: string, id: number, at: Place): void => write(`${OPEN}${kind}${id}${END}`, at);
  const walk = (all: readonly Statement[]): void => {
    for (const one of all) {
      if (one.kind === 'text') {
        write(one.text.replace(/[\ue000\ue001]/g, ' '), one.at);
        continue;
      }
      const id = marks.size;
      marks.set(id, one);
      if (one.kind !== 'block') {
        mark(one.kind === 'value' ? 'v' : 'u', id, one.at);
        continue;
      }
      mark('o', id, one.at);
      walk(one.body);
      if (one.other.length > 0) {
        mark('e', id, one.at);
        walk(one.other);
      }
      mark('c', id, one.at);
    }
  };
  walk(statements);
  /** Offsets are asked for in their order, so each text is walked once. */
  let last = { index: 0, offset: 0, at: { line: 1, column: 1 } };
  const placeAt = (wanted: number): Place => {
    let { index } = last;
    while ((starts[index + 1]?.offset ?? Infinity) <= wanted) index += 1;
    const start = starts[index];
    if (start === undefined) return { line: 1, column: 1 };
    const known = index === last.index && wanted >= last.offset && last.offset >= start.offset ? last : { ...start };
    if (holdsMark(start.text)) return start.at;
    const at = movedBy(known.at, start.text.slice(known.offset - start.offset, wanted - start.offset));
    last = { index, offset: wanted, at };
    return at;
  };
  return { text: out.join(''), marks, placeAt };
};

type Open = { tag: string; attributes: Map<string, string>; children: RawNode[]; at: Place };
type RawText = Readonly<{ kind: 'text'; text: string; at: Place }>;
export type RawElement = Readonly<{ kind: 'element' }> & Open;
/** A node as it is parsed, without the styles of sheets; placeholders are marks in it. */
export type RawNode = RawText | RawElement;
/** Makes HTML of the nodes of another language of mails. */
export type Rewrite = (
  nodes: readonly RawNode[],
  note: AddNote,
) => Readonly<{ nodes: readonly RawNode[]; sheets: readonly string[]; title: string }>;

const DROPPED: ReadonlySet<string> = new Set(droppedTags.filter((tag) => tag !== 'style' && tag !== 'title'));
const VOID: ReadonlySet<string> = new Set(voidTags);
/** The head of a document, of which only styles and the title are read. */
const HEAD: ReadonlySet<string> = new Set(['meta', 'link', 'base', 'xml']);

/**
 * In: the statements of a template. Out: its document. Throws `TooLarge` where it has too many elements, or where they
 * are nested too deep.
 */
export const documentOf = (statements: readonly Statement[], note: AddNote, rewrite?: Rewrite): Document => {
  const { text, marks, placeAt } = markedSource(statements);
  const top: RawNode[] = [];
  const stack: Open[] = [];
  const sheets: string[] = [];
  let title = '';
  let elements = 0;
  let dropped = 0;
  let comments = 0;
  const place = (): Place => placeAt(parser.startIndex);
  const into = (): RawNode[] => stack.at(-1)?.children ?? top;
  const parser = new Parser(
    {
      onopentag: (tag, attributes) => {
        elements += 1;
        if (elements > ELEMENTS_MAX) throw new TooLarge(`has more than ${ELEMENTS_MAX} elements`);
        if (dropped > 0 || DROPPED.has(tag)) {
          if (dropped === 0)
            note('dropped', place(), `<${tag}> is left out with all that is in it`, 'Mail programs do not show it.');
          if (!VOID.has(tag)) dropped += 1;
          return;
        }
        if (HEAD.has(tag) && isActiveHead(tag, attributes))
          note('dropped', place(), `<${tag}> is left out`, 'A mail loads no style sheet, font or page.');
        const one = { tag, attributes: new Map(Object.entries(attributes)), children: [], at: place() };
        stack.push(one);
        if (stack.length > DEPTH_MAX) throw new TooLarge(`has more than ${DEPTH_MAX} elements in each other`);
      },
      onclosetag: (tag) => {
        if (dropped > 0) {
          if (!VOID.has(tag)) dropped -= 1;
          return;
        }
        const one = stack.pop();
        if (one === undefined) return;
        if (tag === 'style') sheets.push(one.children.map(plainTextOf).join(''));
        else if (tag === 'title') title = one.children.map(plainTextOf).join('').trim();
        else if (!HEAD.has(tag)) into().push({ kind: 'element', ...one });
      },
      ontext: (written) => {
        if (dropped > 0) return;
        const all = into();
        const before = all.at(-1);
        // A text comes in pieces where it has entities.
        if (before?.kind === 'text') all[all.length - 1] = { ...before, text: before.text + written };
        else all.push({ kind: 'text', text: written, at: place() });
      },
      oncomment: (written) => {
        if (holdsMark(written) && !/\[if [^\]]*\]/.test(written)) comments += 1;
      },
    },
    {
      ...{ decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
      recognizeSelfClosing: rewrite !== undefined,
    },
  );
  parser.write(text);
  parser.end();
  if (comments > 0)
    note(
      'kept',
      { line: 1, column: 1 },
      `${comments} comments with placeholders are left out`,
      'They were never shown.',
    );
  const made = rewrite?.(top, note);
  const rules = rulesOf([...(made?.sheets ?? []), ...sheets].join('\n'), note);
  const context = { rules, marks, note, path: [], work: { left: WORK_MAX } };
  return { nodes: finished(made?.nodes ?? top, context), title: made?.title ?? title, marks };
};

const isActiveHead = (tag: string, attributes: Readonly<Record<string, string>>): boolean =>
  tag === 'base' ||
  (tag === 'link' && /stylesheet/i.test(attributes['rel'] ?? '')) ||
  (tag === 'meta' && /refresh/i.test(attributes['http-equiv'] ?? ''));

const plainTextOf = (node: RawNode): string =>
  node.kind === 'text' ? node.text : node.children.map(plainTextOf).join('');

type Compound = Readonly<{ tag: string; classes: readonly string[]; id: string }>;
type Rule = Readonly<{
  /** The compounds from left to right, and whether each is the parent of the next. */
  steps: readonly Compound[];
  isChild: readonly boolean[];
  weight: number;
  order: number;
  styles: Styles;
  important: ReadonlySet<string>;
}>;

const RULES_MAX = 3_000;
/** Comparisons of selectors with elements in one document. */
const WORK_MAX = 3_000_000;
const SHEET_CHARS_MAX = 200_000;

/** Rules of style sheets that stand for all screens. */
const rulesOf = (sheet: string, note: AddNote): readonly Rule[] => {
  const css = sheet
    .slice(0, SHEET_CHARS_MAX)
    .replace(/\/\*[^]*?(?:\*\/|$)/g, ' ')
    .replace(/<!--|-->/g, ' ');
  const rules: Rule[] = [];
  let hasMedia = false;
  let at = 0;
  while (at < css.length && rules.length < RULES_MAX) {
    const open = css.indexOf('{', at);
    const semicolon = css.indexOf(';', at);
    if (open < 0) break;
    const head = css.slice(at, open).trim();
    if (head.startsWith('@')) {
      if (semicolon >= 0 && semicolon < open) {
        at = semicolon + 1;
        continue;
      }
      hasMedia ||= head.startsWith('@media');
      at = endOfBlock(css, open);
      continue;
    }
    const close = css.indexOf('}', open);
    const end = close < 0 ? css.length : close;
    const { styles, important } = declarationsOf(css.slice(open + 1, end));
    if (styles.size > 0 && head.length < 5_000)
      for (const selector of head.replace(/\s+/g, ' ').split(',').slice(0, 200)) {
        const rule = ruleOf(selector, styles, important, rules.length);
        if (rule !== undefined) rules.push(rule);
      }
    at = end + 1;
  }
  if (hasMedia)
    note(
      'kept',
      { line: 1, column: 1 },
      'Rules of @media are left out',
      'Columns fall below each other on phones and colours have a dark form without them.',
    );
  return rules;
};

const endOfBlock = (css: string, open: number): number => {
  let depth = 0;
  for (let at = open; at < css.length; at += 1) {
    const sign = css.charCodeAt(at);
    if (sign === 123) depth += 1;
    else if (sign === 125) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return css.length;
};

const ruleOf = (selector: string, styles: Styles, important: ReadonlySet<string>, order: number): Rule | undefined => {
  const words = selector
    .trim()
    .replace(/\s*>\s*/g, ' > ')
    .split(/\s+/);
  if (words.length > 12) return undefined;
  const steps: Compound[] = [];
  const isChild: boolean[] = [];
  for (const word of words) {
    if (word === '>') {
      if (isChild.length === 0) return undefined;
      isChild[isChild.length - 1] = true;
      continue;
    }
    const found = /^([a-z][a-z0-9-]*|\*)?((?:[.#][\w-]+)*)$/i.exec(word);
    if (found === null || word === '') return undefined;
    const marks = found[2]?.match(/[.#][\w-]+/g) ?? [];
    steps.push({
      tag: (found[1] ?? '*').toLowerCase(),
      classes: marks.filter((mark) => mark.startsWith('.')).map((mark) => mark.slice(1)),
      id: marks.find((mark) => mark.startsWith('#'))?.slice(1) ?? '',
    });
    isChild.push(false);
  }
  const weight = steps.reduce(
    (sum, { tag, classes, id }) => sum + (id === '' ? 0 : 10_000) + classes.length * 100 + (tag === '*' ? 0 : 1),
    0,
  );
  return { steps, isChild, weight, order, styles, important };
};

/** A longer value is left out. */
const STYLE_CHARS_MAX = 2_000;
const IMPORTANT_CHARS = 40;
const IMPORTANT = /\s*!\s*important\s*$/i;

/** The declarations of a style, a later one of the same property in the place of an earlier one. */
export const declarationsOf = (style: string): Readonly<{ styles: Styles; important: ReadonlySet<string> }> => {
  const styles = new Map<string, string>();
  const important = new Set<string>();
  for (const piece of piecesOf(style)) {
    const colon = piece.indexOf(':');
    if (colon < 0) continue;
    const name = piece.slice(0, colon).trim().toLowerCase();
    const value = piece.slice(colon + 1).trim();
    if (value === '' || !/^-?[a-z][a-z-]*$/.test(name)) continue;
    if (IMPORTANT.test(value.slice(-IMPORTANT_CHARS))) important.add(name);
    styles.delete(name);
    styles.set(name, value.length > STYLE_CHARS_MAX ? value : value.replace(IMPORTANT, ''));
  }
  return { styles, important };
};

/** The text of a style at its semicolons, but for those within parentheses. */
const piecesOf = (style: string): readonly string[] => {
  if (!style.includes('(')) return style.split(';');
  const pieces: string[] = [];
  let [from, depth] = [0, 0];
  for (let at = 0; at < style.length; at += 1) {
    const sign = style.charAt(at);
    if (sign === '(') depth += 1;
    else if (sign === ')') depth = Math.max(depth - 1, 0);
    else if (sign === ';' && depth === 0) {
      pieces.push(style.slice(from, at));
      from = at + 1;
    }
  }
  return [...pieces, style.slice(from)];
};

type Finishing = Readonly<{
  rules: readonly Rule[];
  marks: ReadonlyMap<number, Statement>;
  note: AddNote;
  /** The elements around, the nearest last. */
  path: readonly Seen[];
  work: { left: number };
}>;
type Seen = Readonly<{ tag: string; classes: ReadonlySet<string>; id: string }>;

const fits = ({ tag, classes, id }: Compound, seen: Seen): boolean =>
  (tag === '*' || tag === seen.tag) && (id === '' || id === seen.id) && classes.every((one) => seen.classes.has(one));

const matches = (rule: Rule, path: readonly Seen[], work: Finishing['work']): boolean => {
  let step = rule.steps.length - 1;
  const last = path.at(-1);
  if (last === undefined || rule.steps[step] === undefined || !fits(rule.steps[step]!, last)) return false;
  step -= 1;
  for (let at = path.length - 2; step >= 0; at -= 1) {
    work.left -= 1;
    const seen = path[at];
    if (seen === undefined || work.left < 0) return false;
    if (fits(rule.steps[step]!, seen)) step -= 1;
    else if (rule.isChild[step] === true) return false;
  }
  return true;
};

const stylesOf = ({ attributes }: Open, { rules, path, work }: Finishing): Styles => {
  const own = declarationsOf(attributes.get('style') ?? '');
  work.left -= rules.length;
  const found = work.left < 0 ? [] : rules.filter((rule) => matches(rule, path, work));
  if (found.length === 0) return own.styles;
  const styles = new Map<string, string>();
  const put = (all: Styles, only?: ReadonlySet<string>): void => {
    for (const [name, value] of all)
      if (only === undefined || only.has(name)) {
        styles.delete(name);
        styles.set(name, value);
      }
  };
  const ordered = found.sort((a, b) => a.weight - b.weight || a.order - b.order);
  for (const rule of ordered) put(rule.styles);
  put(own.styles);
  for (const rule of ordered) put(rule.styles, rule.important);
  put(own.styles, own.important);
  return styles;
};

const ADDRESSES: ReadonlySet<string> = new Set([
  'href',
  'src',
  'background',
  'action',
  'formaction',
  'background-url',
  'xlink:href',
  'poster',
  'data',
]);
/** Declarations that load or run something, in the spellings that hide them too. */
const ACTIVE_STYLE =
  /expression|javascript|vbscript|behaviou?r|-moz-binding|@import|data:(?!image\/(?:png|jpe?g|gif|webp)[;,])|\\/i;

/** Takes the attributes from an element that would run a script. */
const dropActive = ({ tag, attributes, at }: Open, note: AddNote): void => {
  for (const [name, value] of attributes) {
    const isHandler = /^on[a-z]/.test(name);
    if (!isHandler && !(ADDRESSES.has(name) && mayRunCode(value.replace(MARK, '')))) continue;
    attributes.delete(name);
    note(
      'dropped',
      at,
      isHandler
        ? `${name.slice(0, 30)} of <${tag}> is left out`
        : `The address ${shortened(value)} in ${name} of <${tag}> is left out`,
      isHandler ? 'Mails run no scripts.' : 'Write an address of https:, http:, mailto: or tel:.',
    );
  }
};

const harmlessStyles = (styles: Styles, { tag, at }: Open, note: AddNote): Styles => {
  const active = [...styles].filter(
    ([name, value]) => value.length > STYLE_CHARS_MAX || ACTIVE_STYLE.test(`${name}:${value}`),
  );
  for (const [name, value] of active)
    note(
      'dropped',
      at,
      `The style ${shortened(`${name}: ${value}`)} of <${tag}> is left out`,
      'It would load or run something, or is too long.',
    );
  return active.length === 0 ? styles : new Map([...styles].filter(([name]) => !active.some(([one]) => one === name)));
};

const SHOWN_CHARS = 40;
const shortened = (text: string): string => {
  const plain = text.replace(MARK, '…').replace(/\s+/g, ' ').trim();
  return `"${plain.length > SHOWN_CHARS ? `${plain.slice(0, SHOWN_CHARS)}…` : plain}"`;
};

const finished = (raw: readonly RawNode[], context: Finishing): readonly Node[] => {
  type Part = Node | Readonly<{ kind: 'open' | 'else' | 'close'; id: number; at: Place }>;
  const parts = raw.flatMap((node): readonly Part[] => {
    if (node.kind === 'text') return partsOfText(node, context);
    dropActive(node, context.note);
    const classes = new Set((node.attributes.get('class') ?? '').split(/\s+/).filter((name) => name !== ''));
    const inner = {
      ...context,
      path: [...context.path, { tag: node.tag, classes, id: node.attributes.get('id') ?? '' }],
    };
    for (const [name] of node.attributes)
      if (holdsMark(name))
        context.note(
          'dropped',
          node.at,
          `A placeholder inside of the tag <${node.tag}>, outside of the value of an attribute, is left out`,
          'Write it into the value of an attribute, or put the element into a conditional.',
        );
    return [
      {
        kind: 'element',
        tag: node.tag,
        attributes: node.attributes,
        styles: harmlessStyles(stylesOf(node, inner), node, context.note),
        children: finished(node.children, inner),
        at: node.at,
      },
    ];
  });
  type Level = {
    block: Block<Statement> | undefined;
    id: number;
    at: Place;
    body: Node[];
    other: Node[];
    isOther: boolean;
  };
  const level = (block: Block<Statement> | undefined, id: number, at: Place): Level => ({
    ...{ block, id, at, body: [], other: [], isOther: false },
  });
  const levels: Level[] = [level(undefined, -1, { line: 1, column: 1 })];
  const add = (...nodes: readonly Node[]): void => {
    const open = levels.at(-1)!;
    (open.isOther ? open.other : open.body).push(...nodes);
  };
  const broken = (at: Place, written: string): void =>
    context.note(
      'dropped',
      at,
      `The block ${written} begins and ends in different elements, so its content is always shown`,
      'Put the conditional or loop around whole elements in the editor.',
    );
  const giveUp = (): void => {
    const open = levels.pop();
    if (open?.block === undefined) return;
    broken(open.at, open.block.written);
    add(...open.body, ...open.other);
  };
  for (const part of parts) {
    switch (part.kind) {
      case 'open': {
        const block = context.marks.get(part.id);
        if (block?.kind === 'block') levels.push(level(block, part.id, part.at));
        break;
      }
      case 'else': {
        const open = levels.at(-1);
        if (open?.id === part.id) open.isOther = true;
        break;
      }
      case 'close': {
        if (!levels.some(({ id }) => id === part.id)) break;
        while (levels.at(-1)?.id !== part.id) giveUp();
        const { block, body, other } = levels.pop()!;
        if (block !== undefined) add({ ...block, body, other });
        break;
      }
      case 'element':
      case 'text':
      case 'value':
      case 'block':
        add(part);
    }
  }
  while (levels.length > 1) giveUp();
  return levels[0]!.body;
};

type TextPiece = Text | Value | Readonly<{ kind: 'open' | 'else' | 'close'; id: number; at: Place }>;
const KINDS: Readonly<Record<string, 'open' | 'else' | 'close'>> = { o: 'open', e: 'else', c: 'close' };

const partsOfText = ({ text, at }: RawText, { marks, note }: Finishing): readonly TextPiece[] => {
  const pieces: TextPiece[] = [];
  let from = 0;
  for (const found of text.matchAll(MARK)) {
    if (found.index > from) pieces.push({ kind: 'text', text: text.slice(from, found.index), at });
    from = found.index + found[0].length;
    const id = Number(found[2]);
    const statement = marks.get(id);
    const kind = KINDS[found[1] ?? ''];
    if (statement === undefined || statement.kind === 'text') continue;
    if (kind !== undefined) pieces.push({ kind, id, at: statement.at });
    else if (statement.kind === 'value') pieces.push(statement);
    else if (statement.kind === 'unknown') unknownNote(statement, note);
  }
  if (from < text.length) pieces.push({ kind: 'text', text: text.slice(from), at });
  return pieces;
};

export const unknownNote = ({ at, written }: Readonly<{ at: Place; written: string }>, note: AddNote): void =>
  note(
    'dropped',
    at,
    `${written} is left out: it shows another template`,
    'Make a block of that template and include it.',
  );

/**
 * In: the text of an attribute, a subject or a plain text, with marks. Out: its parts as statements; undefined where a
 * block begins in it and ends outside.
 */
export const statementsIn = (
  text: string,
  marks: ReadonlyMap<number, Statement>,
  at: Place,
): readonly Statement[] | undefined => {
  type Level = {
    id: number;
    block: Block<Statement> | undefined;
    body: Statement[];
    other: Statement[];
    isOther: boolean;
  };
  const levels: Level[] = [{ id: -1, block: undefined, body: [], other: [], isOther: false }];
  const add = (one: Statement): void => {
    const open = levels.at(-1)!;
    (open.isOther ? open.other : open.body).push(one);
  };
  let from = 0;
  for (const found of text.matchAll(MARK)) {
    if (found.index > from) add({ kind: 'text', text: text.slice(from, found.index), at });
    from = found.index + found[0].length;
    const id = Number(found[2]);
    const statement = marks.get(id);
    if (statement === undefined) continue;
    switch (KINDS[found[1] ?? '']) {
      case 'open':
        if (statement.kind === 'block') levels.push({ id, block: statement, body: [], other: [], isOther: false });
        break;
      case 'else':
        if (levels.at(-1)?.id !== id) return undefined;
        levels.at(-1)!.isOther = true;
        break;
      case 'close': {
        const open = levels.pop();
        if (open === undefined || open.id !== id || open.block === undefined) return undefined;
        add({ ...open.block, body: open.body, other: open.other });
        break;
      }
      case undefined:
        add(statement);
    }
  }
  if (from < text.length) add({ kind: 'text', text: text.slice(from), at });
  return levels.length === 1 ? levels[0]!.body : undefined;
};
