/**
 * Writes the elements of rich text for the text part: paragraphs, underlined headings, bullets, links as `text
 * (address)`.
 */
import type { TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import type { DisplayFormat } from '../../../domain/rendering/scope/display-format.js';
import { blockTags, sectionTags } from '../../../domain/rendering/html.js';
import { concat, js, literalOf, quote, type Term } from './code.js';
import { type Context, whenOf, type RichElement, type RichNode, textOf } from './values.js';
import { beside, HARD_BLANK, heading, integer, linked, mark, oneLine, raised, wrap } from './text-layout.js';
import { hides } from '../rich-tree.js';
import { textLinkOf } from './urls.js';

/** A paragraph to come: its pieces, and what its lines begin with. */
type Paragraph = Readonly<{
  terms: readonly Term[];
  kind: 'plain' | 'h1' | 'h2' | 'h4' | 'pre' | 'item' | 'gap' | 'table';
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

const openText = (): TextState => ({
  paragraphs: [],
  terms: [],
  kind: 'plain',
  first: '',
  rest: '',
  when: undefined,
  counters: [],
});

/** Writes the elements as paragraphs, each followed by an empty line (the items of a list by a line break). */
export const writeRichText = (nodes: readonly RichNode[], context: Context, column?: DisplayFormat): void => {
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
export const inlineText = (nodes: readonly RichNode[], context: Context, column?: DisplayFormat): readonly Term[] => {
  const terms = lineTexts(nodes, context, column);
  const literal = literalOf(terms);
  if (literal !== undefined) return [oneLine(literal)];
  return context.keepsLines || terms.includes('\n') ? [js(`ONE_LINE(${concat(terms)})`)] : terms;
};

/** The elements with a line break between their paragraphs. */
export const lineTexts = (nodes: readonly RichNode[], context: Context, column?: DisplayFormat): readonly Term[] => {
  const state = openText();
  visit(nodes, state, context, column);
  close(state);
  return state.paragraphs.flatMap(({ terms: words, kind, first, when }, at): readonly Term[] => {
    const terms = kind === 'item' ? [first, ...words] : words;
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
    case 'table':
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

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...sectionTags, 'table', 'tr', 'td', 'th', 'caption']);

/** True for an element in which HTML shows the line breaks of values. */
const showsLines = ({ tag, attributes }: RichElement): boolean =>
  tag === 'pre' ||
  /(?:^|;)\s*white-space\s*:\s*(?:pre|break-spaces)/i.test(literalAttribute(attributes.get('style')) ?? '');

const literalAttribute = (value: TemplatedText | undefined): string | undefined =>
  value?.every((part) => typeof part === 'string') === true ? value.join('') : undefined;

const visit = (
  nodes: readonly RichNode[],
  state: TextState,
  outer: Context,
  column: DisplayFormat | undefined,
): void => {
  for (const node of nodes) {
    const context =
      node.kind === 'element' && !outer.keepsLines && showsLines(node) ? { ...outer, keepsLines: true } : outer;
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

/** Text around an optional block ends before the block. The block has a condition of its own. */
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

const visitInline = (
  node: RichElement,
  state: TextState,
  context: Context,
  column: DisplayFormat | undefined,
): void => {
  switch (node.tag) {
    case 'br':
      state.terms.push('\n');
      return;
    case 'img':
      return addText(textOf(node.attributes.get('alt') ?? [], context), state);
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

const visitBlock = (node: RichElement, state: TextState, context: Context, column: DisplayFormat | undefined): void => {
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
    case 'table':
      if (holdsData(node)) return visitTable(node, state, context, column);
      break;
    case 'tr':
      if (!cellsOf(node).every(isInline)) break;
      state.terms.push(...besideOf(cellsOf(node).map((cell) => lineTexts(cell.children, context, column))));
      close(state);
      return;
  }
  visit(node.children, state, context, column);
  close(state);
  const isMarked = typeof first === 'string' && state.paragraphs.length > count;
  Object.assign(state, { first: isMarked ? rest : first, rest, kind });
};

const elementsIn = ({ children }: RichElement, ...tags: readonly string[]): readonly RichElement[] =>
  children.flatMap((child) => (child.kind === 'element' && tags.includes(child.tag) ? [child] : []));

/** True for an element with nothing in it that stands in lines of its own. */
const isInline = (node: RichNode): boolean =>
  node.kind === 'text' ||
  node.children.every((child) => !(child.kind === 'element' && BLOCKS.has(child.tag)) && isInline(child));

const cellsOf = (row: RichElement): readonly RichElement[] =>
  elementsIn(row, 'td', 'th').filter((cell) => !isSilent(cell));

const besideOf = (cells: readonly (readonly Term[])[]): readonly Term[] => {
  const literals = cells.map(literalOf);
  return literals.every((literal) => literal !== undefined)
    ? [beside(literals)]
    : [js(`BESIDE([${cells.map(concat).join(',')}])`)];
};

/** A row of a table of data, and the expression of what it is there for. */
type DataRow = Readonly<{ row: RichElement; part: (typeof parts)[number]; when: string | undefined }>;
const parts = ['thead', 'tbody', 'tfoot'] as const;

const rowsOf = (table: RichElement, context: Context): readonly DataRow[] => {
  const whenIn = (node: RichElement, outer: string | undefined): string | undefined => {
    const own = node.when && whenOf(node.when, context);
    return outer === undefined || own === undefined ? (own ?? outer) : `${outer}&&${own}`;
  };
  const rows = (node: RichElement, part: DataRow['part'], outer: string | undefined): readonly DataRow[] =>
    node.children.flatMap((child): readonly DataRow[] => {
      if (child.kind === 'text' || isSilent(child)) return [];
      const when = whenIn(child, outer);
      if (child.tag === 'tr') return [{ row: child, part, when }];
      const inner = parts.find((name) => name === child.tag);
      return inner === undefined ? [] : rows(child, inner, when);
    });
  const all = rows(table, 'tbody', undefined);
  return parts.flatMap((part) => all.filter((row) => row.part === part));
};

/**
 * True for a table that is laid out in columns: one with several of them and with heads, or with text alone in its
 * cells. Others are there for the layout of what they hold, and so is what calls itself so.
 */
const holdsData = (table: RichElement): boolean => {
  if (/^(?:presentation|none)$/i.test(literalAttribute(table.attributes.get('role'))?.trim() ?? '')) return false;
  const rows = [table, ...elementsIn(table, ...parts)].flatMap((part) => elementsIn(part, 'tr')).map(cellsOf);
  const cells = rows.flat();
  if (!rows.some(({ length }) => length > 1) || cells.some((cell) => holds(cell, 'table'))) return false;
  return cells.some(({ tag }) => tag === 'th') || (cells.every(isInline) && !cells.some((cell) => holds(cell, 'img')));
};

const holds = ({ children }: RichElement, tag: string): boolean =>
  children.some((child) => child.kind === 'element' && (child.tag === tag || holds(child, tag)));

/** Columns that spans reach into. A cell beyond them has one column. */
const TABLE_COLUMNS_MAX = 50;

const visitTable = (
  table: RichElement,
  state: TextState,
  context: Context,
  column: DisplayFormat | undefined,
): void => {
  const [caption] = elementsIn(table, 'caption');
  if (caption !== undefined) {
    const { kind } = state;
    state.kind = 'h4';
    visit([caption], state, context, column);
    close(state);
    state.kind = kind;
  }
  const rows = rowsOf(table, context);
  const heads = headsOf(rows);
  const placed = placedIn(rows.map(({ row }) => cellsOf(row)));
  const laid = rows.map((row, at) => ({ ...row, cells: placed[at] ?? [], isHead: at < heads || row.part === 'thead' }));
  const body = laid.filter(({ isHead, part }) => !isHead && part !== 'tfoot');
  const columns = Math.max(0, ...placed.map((cells) => cells.reduce((sum, { span }) => sum + span, 0)));
  const aligns = Array.from({ length: columns }, (_, at) =>
    columnSide(
      at,
      body.map(({ cells }) => cells),
      context,
    ),
  ).join('');
  const texts = (cells: readonly PlacedCell[]): readonly (readonly Term[])[] =>
    cells.map(({ cell }) => (cell === undefined ? [] : lineTexts(cell.children, context, column)));
  const { first, rest } = state;
  const given = {
    aligns,
    isLabelled: context.direction === 'rtl',
    isKeyed: body.every(({ cells }) => cells[0]?.cell?.tag === 'th'),
    least: 0,
    rest,
  };
  const groups = {
    heads: laid.filter(({ isHead }) => isHead),
    rows: body,
    feet: laid.filter(({ isHead, part }) => !isHead && part === 'tfoot'),
  };
  const written = Object.entries(groups).map(([name, some]) => {
    const source = some.map(({ cells, when }) => {
      const all = texts(cells);
      const row = `[${cells.map(({ span, side }, at) => `[${concat(all[at] ?? [])},${span},${quote(side)}]`).join(',')}]`;
      return when === undefined ? row : `...(${when}?[${row}]:[])`;
    });
    return `${name}:[${source.join(',')}]`;
  });
  const { when } = state;
  state.paragraphs.push({
    terms: [js(`GRID({${written.join(',')},...${JSON.stringify(given)},first:${concat([first])}})`)],
    kind: 'table',
    first: '',
    rest: '',
    when,
  });
  if (typeof first === 'string') state.first = rest;
};

/** How many rows at the beginning are heads: those of heads alone, where others follow. */
const headsOf = (rows: readonly DataRow[]): number => {
  const isHead = ({ row, part }: DataRow): boolean => part === 'thead' || cellsOf(row).every(({ tag }) => tag === 'th');
  const heads = rows.findIndex((row) => !isHead(row));
  return heads < 0 ? Math.min(rows.length, 1) : heads;
};

/** A cell in its place; without a cell it is one that a cell above reaches into. */
type PlacedCell = Readonly<{ cell: RichElement | undefined; span: number; side: string }>;

const placedIn = (rows: readonly (readonly RichElement[])[]): readonly (readonly PlacedCell[])[] => {
  /** How many further rows the cells above reach into, by column. */
  const covered: number[] = [];
  return rows.map((cells, row) => {
    const placed: PlacedCell[] = [];
    let at = 0;
    const skip = (): void => {
      const start = at;
      for (; (covered[at] ?? 0) > 0; at += 1) covered[at] = (covered[at] ?? 0) - 1;
      if (at > start) placed.push({ cell: undefined, span: at - start, side: '' });
    };
    for (const cell of cells) {
      skip();
      const span = Math.min(spanOf(cell, 'colspan'), Math.max(TABLE_COLUMNS_MAX - at, 1));
      const down = Math.min(spanOf(cell, 'rowspan'), rows.length - row) - 1;
      for (let column = at; column < at + span; column += 1) covered[column] = down;
      placed.push({ cell, span, side: sideOf(cell) });
      at += span;
    }
    skip();
    return placed;
  });
};

const spanOf = ({ attributes }: RichElement, name: 'colspan' | 'rowspan'): number =>
  Math.max(integer(literalAttribute(attributes.get(name)) ?? '', 1), 1);

/** The side that a cell names: l, c, r or ''. */
const sideOf = ({ attributes }: RichElement): string => {
  const [, styled] = /(?:^|;)\s*text-align\s*:\s*([a-z]+)/i.exec(literalAttribute(attributes.get('style')) ?? '') ?? [];
  const side = (styled ?? literalAttribute(attributes.get('align')) ?? '').trim().toLowerCase();
  return ({ left: 'l', start: 'l', center: 'c', right: 'r', end: 'r' } as Readonly<Record<string, string>>)[side] ?? '';
};

/** The side of a column: that of its first cell which names one, else by what it holds. */
const columnSide = (column: number, rows: readonly (readonly PlacedCell[])[], context: Context): string => {
  for (const cells of rows) {
    let at = 0;
    for (const { side, span } of cells) {
      if (at === column && span === 1 && side !== '') return side;
      at += span;
    }
  }
  return context.direction === 'rtl' ? 'l' : 'n';
};

const visitItems = (list: RichElement, state: TextState, context: Context, column: DisplayFormat | undefined): void => {
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
    number =
      value === undefined
        ? number + numbering.step
        : integer(literalOf(textOf(value, context)) ?? '', number + numbering.step);
    const bullet = numbering.mark(number);
    const inner = rest + ' '.repeat(bullet.length);
    Object.assign(state, { kind: 'item', first: marked?.(item, at + 1, inner) ?? `${rest}${bullet}`, rest: inner });
    visitOptional(item, state, context, () => visit(item.children, state, context, column));
    close(state);
  });
  Object.assign(state, { first, rest, kind });
  // It is not known here which item will be the last.
  if (isOptional && kind !== 'item')
    state.paragraphs.push({ terms: [], kind: 'gap', first: '', rest, when: state.when });
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
    step > 0
      ? '1'
      : shown.every((one) => one === '1')
        ? String(items.length)
        : `0${shown.map((one) => `+(${one}?1:0)`).join('')}`;
  const start = attributes.get('start');
  const literal = start === undefined ? undefined : literalOf(textOf(start, context));
  const otherwise = step > 0 ? 1 : items.length;
  const isDynamic =
    isOrdered &&
    ((start !== undefined && literal === undefined) || items.some((item) => valueOf(item, context) !== undefined));
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
 * The marks of the items of a list in which some items may be left out or bring a number: the first paragraph of an
 * item that is shown has the mark and takes the next number.
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
