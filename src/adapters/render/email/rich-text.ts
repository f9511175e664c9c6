/** Writes the elements of rich text for the text part: paragraphs, underlined headings, bullets, links as `text (address)`. */
import type { TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import type { Showing } from '../../../domain/rendering/scope/showing.js';
import { blockTags, sectionTags } from '../../../domain/rendering/html.js';
import { concat, js, literalOf, quote, type Term } from './code.js';
import { type Context, whenOf, type RichElement, type RichNode, textOf } from './values.js';
import { heading, wrap } from './text-layout.js';
import { addressAtBase, textLinkOf } from './urls.js';

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
  /** Variables of the numbers of items. */
  readonly counters: string[];
};

const openText = (): TextState => ({ paragraphs: [], terms: [], kind: 'plain', first: '', rest: '', when: undefined, counters: [] });

/** Writes the elements as paragraphs, each followed by an empty line (the items of a list by a line break). */
export const writeRichText = (nodes: readonly RichNode[], context: Context, column?: Showing): void => {
  const state = openText();
  visit(nodes, state, context, column);
  close(state);
  for (const counter of state.counters) context.code.textStatement(`let ${counter}=0;`);
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
  const state = openText();
  visit(nodes, state, context, column);
  close(state);
  const terms = state.paragraphs.flatMap(({ terms, when }, at): readonly Term[] => {
    const all = at === 0 ? terms : [', ', ...terms];
    return when === undefined ? all : [js(`(${when}?${concat(all)}:"")`)];
  });
  return terms.map((term) => (typeof term === 'string' ? term.replace(/^\n$/, ', ') : term));
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

const visit = (nodes: readonly RichNode[], state: TextState, context: Context, column: Showing | undefined): void => {
  for (const node of nodes) {
    if (node.kind === 'text') addText(textOf(node.text, context, column), state);
    else if (BLOCKS.has(node.tag)) visitOptional(node, state, context, () => visitBlock(node, state, context, column));
    else {
      const when = node.when && whenOf(node.when, context);
      const start = state.terms.length;
      visitInline(node, state, context, column);
      if (when !== undefined) state.terms.push(js(`(${when}?${concat(state.terms.splice(start))}:"")`));
    }
  }
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
      if (state.terms.length > 0) state.terms.push('  ');
      return visit(node.children, state, context, column);
    case 'a': {
      const start = state.terms.length;
      visit(node.children, state, context, column);
      const href = node.attributes.get('href');
      if (href !== undefined) state.terms.push(...linkTail(state.terms.slice(start), href, context));
      return;
    }
  }
  visit(node.children, state, context, column);
};

/** ` (address)` after the text of a link, or nothing where the text says it already or there is nowhere to go. */
export const linkTail = (text: readonly Term[], href: TemplatedText, context: Context): readonly Term[] => {
  const address = textLinkOf(href, context);
  const bare = 'terms' in address ? withoutScheme(address.terms) : undefined;
  const literal = bare === undefined ? undefined : literalOf(bare);
  if (literal === '' || literal?.startsWith('#') === true) return [];
  const isSaid = concat(text).trim() === concat(withoutScheme(textOf(addressAtBase(href, context), context)));
  // Only the value tells whether the base completes it.
  if (isSaid && 'judge' in address && context.links.base !== undefined) return [js(`TEXT_LINK(${address.judge},false,true)`)];
  if (isSaid) return [];
  if ('judge' in address) return [js(`TEXT_LINK(${address.judge},${text.length === 0})`)];
  return text.length === 0 ? (bare ?? []) : [' (', ...(bare ?? []), ')'];
};

/** Nobody reads `mailto:`. */
const withoutScheme = (address: readonly Term[]): readonly Term[] =>
  address.map((term, at) => (at === 0 && typeof term === 'string' ? term.replace(/^(?:mailto|tel|sms):/i, '') : term));

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
  const isOptional = list.children.some(holdsOptional);
  const marked = isOptional ? marksOf(list, state, context) : undefined;
  let number = 0;
  for (const item of list.children) {
    if (item.kind === 'text') continue;
    number += 1;
    const bullet = list.tag === 'ol' ? `${number}. ` : '- ';
    const inner = rest + ' '.repeat(bullet.length);
    Object.assign(state, { kind: 'item', first: marked?.(number, inner) ?? `${rest}${bullet}`, rest: inner });
    visitOptional(item, state, context, () => visit(item.children, state, context, column));
    close(state);
  }
  Object.assign(state, { first, rest, kind });
  // Nobody knows yet which item will be the last.
  if (isOptional && kind !== 'item') state.paragraphs.push({ terms: [], kind: 'gap', first: '', rest, when: state.when });
};

const holdsOptional = (node: RichNode): boolean =>
  node.kind === 'element' && (node.when !== undefined || node.children.some(holdsOptional));

/** What the items of a list begin with where some may be left out: the first paragraph of an item that is there has the mark, and takes the next number. */
const marksOf = ({ tag }: RichElement, { rest, counters }: TextState, { code }: Context): ((item: number, inner: string) => Term) => {
  const [marked, counter] = [code.name('m'), code.name('n')];
  counters.push(marked, counter);
  const mark = tag === 'ol' ? `${quote(rest)}+ ++${counter}+". "` : quote(`${rest}- `);
  return (item, inner) => js(`(${marked}===${item}?${quote(inner)}:(${marked}=${item},${mark}))`);
};

/** Blanks as HTML has them: runs are one, none at the ends of a line. */
const addText = (terms: readonly Term[], state: TextState): void => {
  for (const term of terms) {
    if (typeof term !== 'string' || state.kind === 'pre') {
      state.terms.push(term);
      continue;
    }
    const text = term.replace(/[ \t\r\n\f]+/g, ' ').replaceAll('\u00a0', ' ');
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
  if (literalOf(terms)?.trim() === '') return;
  state.paragraphs.push({ terms, kind, first, rest, when });
  // The bullet stands before the first paragraph of an item only; of one that may be left out, the next takes it.
  if (typeof first === 'string') state.first = rest;
};
