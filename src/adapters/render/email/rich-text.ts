/** Writes the elements of rich text for the text part: paragraphs, underlined headings, bullets, links as `text (address)`. */
import type { TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import type { Showing } from '../../../domain/rendering/scope/showing.js';
import { blockTags, sectionTags } from '../../../domain/rendering/html.js';
import { concat, js, literalOf, quote, type Term } from './code.js';
import { type Context, whenOf, type RichElement, type RichNode, textOf } from './values.js';
import { HARD_BLANK, heading, integer, linked, mark, oneLine, raised, wrap } from './text-layout.js';
import { hides } from '../rich-tree.js';
import { textLinkOf } from './urls.js';

/** A paragraph to come: its pieces, and what its lines begin with. */
type Paragraph = Readonly<{
  terms: readonly Term[];
  kind: 'plain' | 'h1' | 'h2' | 'h4' | 'pre' | 'item' | 'gap';
  first: Term;
  rest: string;
  /** The expression of what it is there for; undefined where it is always there. */
  when: string | undefined;
}>;
type TextState = {
  readonly paragraphs: Paragraph[];
  terms: Term[];
  kind: Paragraph['kind'];
  first: Term;
  rest: string;
  when: string | undefined;
  /** Variables of the numbers of items, and the expressions of their first values. */
  readonly counters: (readonly [name: string, first: string])[];
};

const openText = (): TextState => ({ paragraphs: [], terms: [], kind: 'plain', first: '', rest: '', when: undefined, counters: [] });

/** Writes the elements as paragraphs, each followed by an empty line (the items of a list by a line break). */
export const writeRichText = (nodes: readonly RichNode[], context: Context, column?: Showing): void => {
  const state = openText();
  visit(nodes, state, context, column);
  close(state);
  for (const [name, first] of state.counters) context.code.textStatement(`let ${name}=${first};`);
  state.paragraphs.forEach((paragraph, at) => {
    const gap = gapBehind(paragraph, state.paragraphs[at + 1]);
    const { when } = paragraph;
    if (when === undefined) context.code.text(layOut(paragraph), gap);
    else context.code.text(js(`(${when}?${concat([layOut(paragraph), gap])}:"")`));
  });
};

const gapBehind = ({ kind }: Paragraph, next: Paragraph | undefined): Term => {
  if (kind === 'gap') return '\n';
  if (next === undefined) return '\n\n';
  if (kind === 'h4') return next.when === undefined ? '\n' : js(`(${next.when}?"\\n":"\\n\\n")`);
  return kind === 'item' && (next.kind === 'item' || next.kind === 'gap') ? '\n' : '\n\n';
};

/** The elements on one line: for cells and labels. */
export const inlineText = (nodes: readonly RichNode[], context: Context, column?: Showing): readonly Term[] => {
  const terms = lineTexts(nodes, context, column);
  const literal = literalOf(terms);
  if (literal !== undefined) return [oneLine(literal)];
  return context.keepsLines || terms.includes('\n') ? [js(`ONE_LINE(${concat(terms)})`)] : terms;
};

/** The elements with a line break between their paragraphs. */
export const lineTexts = (nodes: readonly RichNode[], context: Context, column?: Showing): readonly Term[] => {
  const state = openText();
  visit(nodes, state, context, column);
  close(state);
  return state.paragraphs.flatMap(({ terms, when }, at): readonly Term[] => {
    const shown = when === undefined ? terms : [js(`(${when}?${concat(terms)}:"")`)];
    return at === 0 ? shown : ['\n', ...shown];
  });
};

/** A line of the text part, wrapped; for components that are one. */
export const writeLine = (terms: readonly Term[], context: Context): void =>
  context.code.text(layOut({ terms, kind: 'plain', first: '', rest: '', when: undefined }), '\n\n');

const layOut = ({ terms, kind, first, rest }: Paragraph): Term => {
  const literal = literalOf(terms);
  const text = literal === undefined ? concat(terms) : '';
  switch (kind) {
    case 'h1':
    case 'h2': {
      const mark = kind === 'h1' ? '=' : '-';
      return literal === undefined ? js(`HEADING(${text},${quote(mark)})`) : heading(literal, mark);
    }
    case 'pre':
      return literal === undefined ? js(text) : literal;
    case 'plain':
    case 'h4':
    case 'item':
      if (literal !== undefined && typeof first === 'string') return wrap(literal, first, rest);
      return js(`WRAP(${concat(terms)},${concat([first])},${quote(rest)})`);
    case 'gap':
      return '';
  }
};

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...sectionTags, 'table', 'tr', 'caption']);

/** True for an element in which HTML shows the line breaks of values. */
const showsLines = ({ tag, attributes }: RichElement): boolean =>
  tag === 'pre' || /(?:^|;)\s*white-space\s*:\s*(?:pre|break-spaces)/i.test(literalAttribute(attributes.get('style')) ?? '');

const literalAttribute = (value: TemplatedText | undefined): string | undefined =>
  value?.every((part) => typeof part === 'string') === true ? value.join('') : undefined;

const visit = (nodes: readonly RichNode[], state: TextState, outer: Context, column: Showing | undefined): void => {
  for (const node of nodes) {
    const context = node.kind === 'element' && !outer.keepsLines && showsLines(node) ? { ...outer, keepsLines: true } : outer;
    if (node.kind === 'text') addText(textOf(node.text, context, column), state);
    else if (isSilent(node)) continue;
    else if (BLOCKS.has(node.tag)) visitOptional(node, state, context, () => visitBlock(node, state, context, column));
    else {
      const when = node.when && whenOf(node.when, context);
      const start = state.terms.length;
      visitInline(node, state, context, column);
      if (when !== undefined) state.terms.push(js(`(${when}?${concat(state.terms.splice(start))}:"")`));
    }
  }
};

/** True for an element that is not shown, and for one that screen readers pass over: a decoration. */
const isSilent = ({ attributes }: RichElement): boolean => {
  if (hides(attributes.has('hidden'), literalAttribute(attributes.get('style')))) return true;
  return literalAttribute(attributes.get('aria-hidden'))?.trim().toLowerCase() === 'true';
};

/** What stands around a block ends before it, and is not there for what the block is there for. */
const visitOptional = (node: RichElement, state: TextState, context: Context, visitIt: () => void): void => {
  const own = node.when && whenOf(node.when, context);
  if (own === undefined) return visitIt();
  close(state);
  const { when } = state;
  state.when = when === undefined ? own : `${when}&&${own}`;
  visitIt();
  close(state);
  state.when = when;
};

const visitInline = (node: RichElement, state: TextState, context: Context, column: Showing | undefined): void => {
  switch (node.tag) {
    case 'br':
      state.terms.push('\n');
      return;
    case 'img':
      return addText(textOf(node.attributes.get('alt') ?? [], context), state);
    case 'td':
    case 'th':
      if (state.terms.length > 0) state.terms.push(HARD_BLANK, HARD_BLANK);
      return visit(node.children, state, context, column);
    case 'a': {
      const start = state.terms.length;
      visit(node.children, state, context, column);
      const href = node.attributes.get('href');
      if (href !== undefined) state.terms.push(...linkText(state.terms.splice(start), href, context));
      return;
    }
    case 'sup':
    case 'sub': {
      const start = state.terms.length;
      visit(node.children, state, context, column);
      const terms = state.terms.splice(start);
      const literal = literalOf(terms);
      if (literal === undefined) state.terms.push(js(`RAISED(${concat(terms)},${quote(node.tag)})`));
      else if (literal !== '') state.terms.push(raised(literal, node.tag));
      return;
    }
  }
  visit(node.children, state, context, column);
};

/** The words of a link with its address, see `linked`. */
export const linkText = (words: readonly Term[], href: TemplatedText, context: Context): readonly Term[] => {
  const address = textLinkOf(href, context);
  const known = 'terms' in address ? literalOf(address.terms) : undefined;
  const literal = literalOf(words);
  if (known === '' || known?.startsWith('#') === true) return words;
  if (known === undefined || literal === undefined)
    return [js(`LINKED(${concat(words)},${'terms' in address ? concat(address.terms) : address.judge})`)];
  const text = linked(literal, known, context.links);
  return text === '' ? [] : [text];
};

const visitBlock = (node: RichElement, state: TextState, context: Context, column: Showing | undefined): void => {
  close(state);
  const { first, rest, kind } = state;
  const count = state.paragraphs.length;
  switch (node.tag) {
    case 'hr':
      state.terms.push('-'.repeat(40));
      break;
    case 'h1':
      state.kind = 'h1';
      break;
    case 'h2':
    case 'h3':
      state.kind = 'h2';
      break;
    case 'h4':
    case 'h5':
    case 'h6':
      state.kind = 'h4';
      break;
    case 'pre':
      state.kind = 'pre';
      break;
    case 'blockquote':
      state.first = `${rest}> `;
      state.rest = `${rest}> `;
      break;
    case 'dd':
      state.first = `${rest}    `;
      state.rest = `${rest}    `;
      break;
    case 'ul':
    case 'ol':
      visitItems(node, state, context, column);
      return;
  }
  visit(node.children, state, context, column);
  close(state);
  const isMarked = typeof first === 'string' && state.paragraphs.length > count;
  Object.assign(state, { first: isMarked ? rest : first, rest, kind });
};

const visitItems = (list: RichElement, state: TextState, context: Context, column: Showing | undefined): void => {
  const { first, rest, kind } = state;
  const numbering = numberingOf(list, context);
  const isOptional = list.children.some(holdsOptional);
  const marked = isOptional || numbering.isDynamic ? marksOf(numbering, state, context) : undefined;
  let number = numbering.first - numbering.step;
  list.children.forEach((item, at) => {
    if (!isItem(item)) {
      // Old editors write an inner list beside the items.
      const inner = item.kind === 'element' && LISTS.has(item.tag) ? `${rest}  ` : rest;
      Object.assign(state, { kind: 'item', first: inner, rest: inner });
      visit([item], state, context, column);
      return close(state);
    }
    const value = item.attributes.get('value');
    number = value === undefined ? number + numbering.step : integer(literalOf(textOf(value, context)) ?? '', number + numbering.step);
    const bullet = numbering.mark(number);
    const inner = rest + ' '.repeat(bullet.length);
    Object.assign(state, { kind: 'item', first: marked?.(item, at + 1, inner) ?? `${rest}${bullet}`, rest: inner });
    visitOptional(item, state, context, () => visit(item.children, state, context, column));
    close(state);
  });
  Object.assign(state, { first, rest, kind });
  // Nobody knows yet which item will be the last.
  if (isOptional && kind !== 'item') state.paragraphs.push({ terms: [], kind: 'gap', first: '', rest, when: state.when });
};

const LISTS: ReadonlySet<string> = new Set(['ul', 'ol']);
const isItem = (node: RichNode): node is RichElement & { tag: 'li' } => node.kind === 'element' && node.tag === 'li';

/** How a list marks its items. */
type Numbering = Readonly<{
  isOrdered: boolean;
  type: string;
  first: number;
  step: number;
  /** The expression of the number before the first. */
  before: string;
  /** A number comes from a value, or goes back from how many items are shown. */
  isDynamic: boolean;
  mark: (number: number) => string;
}>;

/** By the names of CSS. */
const TYPES: Readonly<Record<string, string>> = {
  'lower-alpha': 'a',
  'lower-latin': 'a',
  'upper-alpha': 'A',
  'upper-latin': 'A',
  'lower-roman': 'i',
  'upper-roman': 'I',
  none: 'none',
};

const numberingOf = (list: RichElement, context: Context): Numbering => {
  const { attributes } = list;
  const items = list.children.filter(isItem);
  const text = (name: string): string | undefined => {
    const value = attributes.get(name);
    return value === undefined ? undefined : literalOf(textOf(value, context));
  };
  const [, named = ''] = /(?:^|;)\s*list-style(?:-type)?\s*:\s*([a-z-]+)/i.exec(text('style') ?? '') ?? [];
  const type = TYPES[named.toLowerCase()] ?? text('type')?.trim() ?? '1';
  const isOrdered = list.tag === 'ol';
  const step = isOrdered && attributes.has('reversed') ? -1 : 1;
  const shown = items.map(({ when }) => (when && whenOf(when, context)) ?? '1');
  const counted =
    step > 0 ? '1' : shown.every((one) => one === '1') ? String(items.length) : `0${shown.map((one) => `+(${one}?1:0)`).join('')}`;
  const start = attributes.get('start');
  const literal = start === undefined ? undefined : literalOf(textOf(start, context));
  const otherwise = step > 0 ? 1 : items.length;
  const isDynamic =
    isOrdered && ((start !== undefined && literal === undefined) || items.some((item) => valueOf(item, context) !== undefined));
  const begin =
    start === undefined
      ? counted
      : literal === undefined
        ? `INTEGER(${concat(textOf(start, context))},${counted})`
        : String(integer(literal, otherwise));
  return {
    isOrdered,
    type,
    first: literal === undefined ? otherwise : integer(literal, otherwise),
    step,
    before: `${begin}-(${step})`,
    isDynamic,
    mark: (number) => (type === 'none' ? '' : isOrdered ? mark(number, type) : '- '),
  };
};

/** The expression of the number that an item names itself, where it is known when the mail is rendered. */
const valueOf = ({ attributes }: RichElement, context: Context): string | undefined => {
  const value = attributes.get('value');
  if (value === undefined) return undefined;
  const terms = textOf(value, context);
  return literalOf(terms) === undefined ? concat(terms) : undefined;
};

const holdsOptional = (node: RichNode): boolean =>
  node.kind === 'element' && (node.when !== undefined || node.children.some(holdsOptional));

/**
 * What the items of a list begin with where some may be left out or bring their number: the first paragraph of an item that is there has the
 * mark, and takes the next number.
 */
const marksOf = (
  { isOrdered, type, step, before }: Numbering,
  { rest, counters }: TextState,
  context: Context,
): ((item: RichElement, at: number, inner: string) => Term) => {
  const [marked, counter] = [context.code.name('m'), context.code.name('n')];
  counters.push([marked, '0'], [counter, before]);
  return (item, at, inner) => {
    const value = item.attributes.get('value');
    const next = `${counter}+(${step})`;
    const number = value === undefined ? next : `INTEGER(${concat(textOf(value, context))},${next})`;
    const bullet = type === 'none' ? '""' : isOrdered ? `MARK(${counter}=${number},${quote(type)})` : '"- "';
    return js(`(${marked}===${at}?${quote(inner)}:(${marked}=${at},${quote(rest)}+${bullet}))`);
  };
};

/** Blanks as HTML has them: runs are one, none at the ends of a line. */
const addText = (terms: readonly Term[], state: TextState): void => {
  for (const term of terms) {
    if (typeof term !== 'string' || state.kind === 'pre') {
      state.terms.push(term);
      continue;
    }
    const text = term.replace(/[ \t\r\n\f]+/g, ' ').replaceAll('\u00a0', HARD_BLANK);
    const before = state.terms.at(-1);
    const atStart = before === undefined || (typeof before === 'string' && /\s$/.test(before));
    const piece = atStart ? text.trimStart() : text;
    if (piece !== '') state.terms.push(piece);
  }
};

const close = (state: TextState): void => {
  const last = state.terms.at(-1);
  if (typeof last === 'string' && state.kind !== 'pre') state.terms[state.terms.length - 1] = last.trimEnd();
  const { terms, kind, first, rest, when } = state;
  state.terms = [];
  if (literalOf(terms)?.replaceAll(HARD_BLANK, ' ').trim() === '') return;
  state.paragraphs.push({ terms, kind, first, rest, when });
  // The bullet stands before the first paragraph of an item only; of one that may be left out, the next takes it.
  if (typeof first === 'string') state.first = rest;
};
