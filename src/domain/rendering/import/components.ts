/**
 * Makes components of ours from the nodes of a mail: texts, pictures, buttons, boxes and columns where they look alike,
 * fragments of HTML for the rest, conditionals and loops for the blocks around them.
 */
import { bandOfBlock, boxOf, type Made, NO_SIDES, withMargins } from './boxes.js';
import type { Block, Statement } from './language.js';
import { backgroundOf, isHidden, type Look, lookIn } from './look.js';
import { openMarkup } from './markup.js';
import { BAND } from './mjml.js';
import type { AddNote, Names, Scope } from './names.js';
import { type Context, openParts } from './parts.js';
import {
  besideOf,
  buttonIn,
  HARMLESS,
  INLINE,
  isBlank,
  isInline,
  isSpace,
  isTextContent,
  KEPT,
  pictureIn,
  sizeOf,
  TEXT_BLOCKS,
  textPartOf,
  trimmedRun,
  VOID,
  withBlock,
} from './shapes.js';
import { openTables } from './tables.js';
import type { Element, Node } from './tree.js';

const CONDITIONS_MAX = 5;

const LOOPS_MAX = 3;

const VARIANTS_MAX = 3;

const pathText = (path: readonly (string | number)[]): string =>
  path
    .map((step, at) =>
      typeof step === 'number'
        ? `[${step}]`
        : /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(step)
          ? `${at === 0 ? '' : '.'}${step}`
          : `[${JSON.stringify(step)}]`,
    )
    .join('');

const usesName = (children: readonly Made[], name: string): boolean => JSON.stringify(children).includes(name);

export type Builder = ReturnType<typeof openBuilder>;

/** In: the names of the template, and the statements of its marks. `isCoarse`: few components, larger fragments. */
export const openBuilder = ({
  names,
  marks,
  base,
  note,
  isCoarse,
}: Readonly<{ names: Names; marks: ReadonlyMap<number, Statement>; base: Look; note: AddNote; isCoarse: boolean }>) => {
  const markup = openMarkup({ names, marks, note });
  const { html, line, lineOfNodes } = markup;
  const parts = openParts(markup, { base, note });
  const {
    made,
    lookProps,
    richText,
    lettered,
    isFragment,
    fragment,
    conditional,
    dividerOf,
    spacerOf,
    imageOf,
    buttonOf,
    boxed,
    framed,
    linedBox,
  } = parts;

  /** The nodes below each other. */
  const build = (nodes: readonly Node[], context: Context): Made[] => {
    const out: Made[] = [];
    let run: Node[] = [];
    let texts: Element[] = [];
    const { scope, look } = context;
    names.spend(nodes.reduce((sum, node) => sum + sizeOf(node), 0) / 4);
    const flushTexts = (): void => {
      if (texts.length > 0) out.push(...richText(html(texts, scope), look));
      texts = [];
    };
    const flush = (): void => {
      const line = trimmedRun(run);
      run = [];
      if (line.length === 0) return;
      flushTexts();
      out.push(...lineOf(line, context));
    };
    const seen = nodes.filter((node) => node.kind !== 'element' || !isHidden(node));
    for (let at = 0; at < seen.length; at += 1) {
      const node = seen[at]!;
      if (isInline(node)) {
        run.push(node);
        continue;
      }
      const beside = node.kind === 'element' ? besideOf(seen, at) : undefined;
      if (beside !== undefined) {
        flush();
        flushTexts();
        out.push(...columnsOf(beside.cells, context, true));
        at = beside.last;
        continue;
      }
      flush();
      if (node.kind === 'element' && isPlainText(node, context)) {
        texts.push(node);
        continue;
      }
      flushTexts();
      if (node.kind === 'block') out.push(...bandOfBlock(blockOf(node, context)));
      else if (node.kind === 'element') out.push(...elementOf(node, context));
    }
    flush();
    flushTexts();
    return out;
  };

  /** A paragraph or a list that a rich text shows as it is. */
  const isPlainText = (node: Element, context: Context): boolean =>
    TEXT_BLOCKS.has(node.tag) &&
    !hasOwnBox(node) &&
    isTextContent(node.children) &&
    toLift(node.children, context.scope) === undefined &&
    loopIn(node.children, context.scope) === undefined &&
    pictureIn([node]) === undefined &&
    buttonIn([node]) === undefined;

  const hasOwnBox = ({ styles }: Element): boolean =>
    backgroundOf(styles) !== undefined && styles.has('background-image');

  /** A line of text, or what stands alone in a line: a picture, a button, a block. */
  const lineOf = (line: readonly Node[], context: Context): Made[] => {
    const { scope, look } = context;
    const [only] = line;
    if (line.length === 1 && only?.kind === 'block') return blockOf(only, context);
    const picture = pictureIn(line);
    if (picture !== undefined) return imageOf(picture, context);
    const link = buttonIn(line);
    if (link !== undefined)
      return buttonOf(
        link,
        { padding: NO_SIDES, background: undefined, border: undefined, radius: 0, width: undefined, at: link.at },
        context,
      );
    const lifted = toLift(line, scope);
    if (lifted !== undefined) return variants(line, lifted, context, (nodes, inner) => lineOf(nodes, inner));
    const loop = loopIn(line, scope);
    if (loop !== undefined) {
      const at = line.indexOf(loop);
      if (at >= 0) {
        note(
          'approximated',
          loop.at,
          `${loop.written} inside of a line: its items stand below each other`,
          'Use a calculated text with join(), or a list.',
        );
        return [
          ...trimmedLine(line.slice(0, at), context),
          ...blockOf(loop, context),
          ...trimmedLine(line.slice(at + 1), context),
        ];
      }
    }
    return richText(html(line, scope), look);
  };

  const trimmedLine = (line: readonly Node[], context: Context): Made[] => {
    const rest = trimmedRun(line);
    return rest.length === 0 ? [] : lineOf(rest, context);
  };

  /** The first block in a line that no calculated text can say. */
  const toLift = (nodes: readonly Node[], scope: Scope): Block<Node> | undefined => {
    for (const node of nodes) {
      names.spend(1);
      if (node.kind === 'block') {
        names.spend(sizeOf(node));
        const part = textPartOf(node);
        if (names.enter(node, scope).kind === 'if' && (part === undefined || names.text([part], scope) === undefined))
          return node;
      }
      if (node.kind !== 'element') continue;
      const found = toLift(node.children, scope);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const loopIn = (nodes: readonly Node[], scope: Scope): Block<Node> | undefined => {
    for (const node of nodes) {
      names.spend(1);
      if (node.kind === 'block') {
        names.spend(sizeOf(node));
        const part = textPartOf(node);
        if (names.enter(node, scope).kind === 'each' && (part === undefined || names.text([part], scope) === undefined))
          return node;
      }
      const found = node.kind === 'element' ? loopIn(node.children, scope) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };

  /** A conditional around two copies of what stands around a block. */
  const variants = (
    nodes: readonly Node[],
    block: Block<Node>,
    context: Context,
    make: (nodes: readonly Node[], inner: Context) => Made[],
  ): Made[] => {
    const condition = names.condition(block, context.scope);
    const isIn = names.enter(block, context.scope).scope;
    const body = isIn.path === context.scope.path ? block.body : undefined;
    if (
      condition === undefined ||
      body === undefined ||
      context.depth.conditions >= Math.min(CONDITIONS_MAX, VARIANTS_MAX)
    ) {
      note(
        'dropped',
        block.at,
        `${block.written} inside of a line stands without its condition`,
        'Put this part of the text into a conditional of its own.',
      );
      return make(withBlock(nodes, block, block.body), context);
    }
    const inner = { ...context, depth: { ...context.depth, conditions: context.depth.conditions + 1 } };
    return conditional(
      condition,
      make(withBlock(nodes, block, body), inner),
      make(withBlock(nodes, block, block.other), inner),
    );
  };

  /** A block between elements. */
  const blockOf = (
    block: Block<Node>,
    context: Context,
    make: (nodes: readonly Node[], inner: Context) => Made[] = build,
  ): Made[] => {
    const { scope, depth } = context;
    const entered = names.enter(block, scope);
    const without = (reason: string): Made[] => {
      note(
        'dropped',
        block.at,
        `${block.written} ${reason}, so its content is always shown`,
        'Give it a condition or a data source in the editor.',
      );
      return [...make(block.body, { ...context, scope: entered.scope }), ...make(block.other, context)];
    };
    if (entered.kind === 'each') {
      if (!names.isLoopable(entered.usage)) return without('goes through the members of an object');
      if (depth.loops >= LOOPS_MAX) return without(`is the loop ${LOOPS_MAX + 1} deep`);
      const children = make(block.body, {
        ...context,
        scope: entered.scope,
        depth: { ...depth, loops: depth.loops + 1 },
      });
      const { loop } = entered.scope;
      const source = pathText(entered.source);
      const loops: Made[] =
        children.length === 0 || loop === undefined
          ? []
          : [
              made('loop', {
                props: {
                  dataSource: source,
                  itemVariable: loop.item,
                  ...(usesName(children, loop.index) ? { indexVariable: loop.index } : {}),
                },
                children,
              }),
            ];
      const other = make(block.other, context);
      return other.length === 0
        ? loops
        : conditional(
            { props: { condition: `${source}.length`, operator: '>', value: 0 }, isNegated: false },
            loops,
            other,
          );
    }
    const condition = names.condition(block, scope);
    if (condition === undefined) return without('has a condition that no component or calculated variable says');
    if (depth.conditions >= CONDITIONS_MAX) return without(`is the condition ${CONDITIONS_MAX + 1} deep`);
    const inner = { ...depth, conditions: depth.conditions + 1 };
    return conditional(
      condition,
      make(block.body, { ...context, scope: entered.scope, depth: inner }),
      make(block.other, { ...context, depth: inner }),
    );
  };

  const elementOf = (node: Element, outer: Context): Made[] => {
    const { tag } = node;
    const context = { ...outer, look: lookIn(node, outer.look) };
    if (tag === 'hr') return [dividerOf(node, outer)];
    if (tag === 'table') return tableOf(node, outer);
    if (tag === 'img') return imageOf({ image: node, link: undefined }, outer);
    const link = buttonIn([node]);
    if (link !== undefined && link !== node)
      return boxed(
        withMargins(boxOf(node, context), node, context),
        buttonOf(
          link,
          { ...boxOf(link, context), padding: NO_SIDES, background: undefined, border: undefined, radius: 0 },
          context,
        ),
        outer,
      );
    if (TEXT_BLOCKS.has(tag) && isTextContent(node.children)) {
      const picture = pictureIn([node]);
      if (picture !== undefined)
        return boxed(withMargins(boxOf(node, context), node, context), imageOf(picture, context), outer);
      const list = tag === 'ul' || tag === 'ol' ? listOf(node, outer) : undefined;
      if (list !== undefined) return list;
      const lifted = toLift(node.children, outer.scope);
      if (lifted !== undefined) return variants([node], lifted, outer, (nodes, inner) => build(nodes, inner));
      return boxed(withMargins(boxOf(node, context), node, context), build(node.children, context), outer);
    }
    if (VOID.has(tag)) return [];
    if (isSpace(node)) return spacerOf(node, outer);
    if (isFragment(node)) return fragment([node], outer);
    if (!KEPT.has(tag) && !HARMLESS.has(tag) && !INLINE.has(tag))
      names.noteOnce(
        `tag ${tag}`,
        'dropped',
        node.at,
        `<${tag.slice(0, 30)}> is left out; what stands in it stays`,
        'Mails show no such element.',
      );
    if (tag === 'a' && node.attributes.has('href')) return fragment([node], outer);
    if (node.attributes.has(BAND)) {
      const box = boxOf(node, context);
      const children = build(node.children, context);
      const isPlain = box.border === undefined && box.radius === 0;
      return isPlain ? [{ ...framed(box, outer, children), isBand: true }] : boxed(box, children, outer);
    }
    return linedBox(node, withMargins(boxOf(node, context), node, context), build(node.children, context), outer);
  };

  /** A list with one item for each of a data source. */
  const listOf = (node: Element, { scope, look }: Context): Made[] | undefined => {
    const items = node.children.filter((child) => !isBlank(child));
    const [only] = items;
    if (items.length !== 1 || only?.kind !== 'block' || only.other.length > 0) return undefined;
    const entered = names.enter(only, scope);
    const inside = only.body.filter((child) => !isBlank(child));
    const [item] = inside;
    if (entered.kind !== 'each' || inside.length !== 1 || item?.kind !== 'element' || item.tag !== 'li')
      return undefined;
    if (!isTextContent(item.children) || toLift(item.children, entered.scope) !== undefined) return undefined;
    const { loop } = entered.scope;
    const content = lettered(html(item.children, entered.scope).trim(), lookIn(item, lookIn(node, look)));
    if (loop === undefined || content === '') return undefined;
    return [
      made('list', {
        content,
        props: {
          dataSource: pathText(entered.source),
          itemVariable: loop.item,
          ...(node.tag === 'ol' ? { ordered: true } : {}),
          ...lookProps(lookIn(node, look)),
        },
      }),
    ];
  };

  const { tableOf, columnsOf } = openTables(parts, { build, toLift, variants, blockOf, elementOf }, isCoarse);

  return { line, lineOfNodes, build, fragment };
};
