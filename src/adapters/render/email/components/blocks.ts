/**
 * Components of text (rich text, fragment, list) and of room (divider, spacer), with the helpers that all components
 * share: props, gaps, alignment, loops over a data source.
 */
import type { JsonObject, Json } from '../../../../domain/core/json.js';
import { writePath, type Path } from '../../../../domain/rendering/scope/path.js';
import { indexShape, type Shape } from '../../../../domain/rendering/scope/shapes.js';
import { GROUP, groupingOf, groupShape } from '../../../../domain/rendering/scope/scope.js';
import { quote, concat, js, type Term } from '../code.js';
import {
  withLocals,
  type Context,
  type Local,
  itemShapeAt,
  pathOf,
  quoteJson,
  rawOf,
  rootShape,
  type ComponentRenderer,
  parseOptionalLines,
  parseRichText,
  type RichElement,
  type RichNode,
} from '../values.js';
import { directions } from '../../../../domain/rendering/direction.js';
import type { Component } from '../../../../domain/rendering/content.js';
import { inlineText, lineTexts, writeRichText } from '../rich-text.js';
import { richHtml } from '../rich-html.js';
import {
  attributePx,
  attributeSafe,
  boxAt,
  classAttribute,
  color,
  colorClass,
  css,
  onBackground,
  startOf,
  tableTag,
  textDeclarations,
  typographyOf,
  word,
} from '../style.js';

/** Write what stands above and below the items of a group, where `group` is in reach. */
type GroupEdges = Readonly<{ head: (inGroup: Context) => void; foot: (inGroup: Context) => void }>;

/**
 * Writes a loop over `dataSource` around what `body` writes; the body gets the context in which the item
 * (`itemVariable`, default `item`) and the index (`indexVariable`, from 0) are in reach, and the expressions of the
 * index and of the number of items. More items than the limit throw ERR_LIMIT_007, a body beyond its size
 * RENDERED_BODY_TOO_LARGE while it grows. `empty` is written where there are no items. With `around` the items come
 * group by group, as `groupBy` and `groupOrder` say.
 */
export const openItems = (
  props: JsonObject,
  context: Context,
  body: (inner: Context, index: string, count: string) => void,
  empty?: () => void,
  around?: GroupEdges,
): void => {
  const { code, limits } = context;
  const path = pathOf(props['dataSource'], context);
  const [items, index, item] = [code.name('a'), code.name('i'), code.name('e')];
  code.statement(`const ${items}=ITEMS(${rawOf(path, context)},${quote(writePath(path))});`);
  const locals: [string, Local][] = [
    [nameOf(props['itemVariable'], 'item'), { js: item, shape: itemShapeAt(path, context) }],
  ];
  if (props['indexVariable'] !== undefined)
    locals.push([nameOf(props['indexVariable'], 'index'), { js: index, shape: indexShape }]);
  const grow = `if(h.length>${limits.htmlSizeBytesMax})TOO_LARGE(h.length);`;
  const each = (list: string, at: string): void => {
    code.statement(`const ${item}=${list}[${at}];`);
    body(withLocals(context, locals), index, `${items}.length`);
    code.statement(grow);
  };
  const grouping = around === undefined ? undefined : groupingOf(props, limits.pathSegmentsMax);
  if (around === undefined || grouping === undefined)
    code.block(`for(let ${index}=0;${index}<${items}.length;${index}++)`, () => each(items, index));
  else {
    const [group, value, place, next] = [code.name('g'), code.name('e'), code.name('i'), code.name('i')];
    const groups = `GROUPS(${items},${code.constant(quoteJson(grouping))},${quote(context.language.locale)})`;
    const inGroup = withLocals(context, [
      [GROUP, { js: value, shape: groupShape(itemShapeAt(path, context), grouping.by) }],
    ]);
    code.statement(`let ${next}=0;`);
    code.block(`for(const ${group} of ${groups})`, () => {
      code.statement(`const ${value}=${group}.value;`);
      around.head(inGroup);
      code.block(`for(let ${place}=0;${place}<${group}.items.length;${place}++)`, () => {
        code.statement(`const ${index}=${next}++;`);
        each(`${group}.items`, place);
      });
      around.foot(inGroup);
      code.statement(grow);
    });
  }
  if (empty !== undefined) code.block(`if(${items}.length===0)`, empty);
};

/**
 * In: a path inside the loop over `dataSource`. Out: what the definitions say of the variable or the item that it
 * begins with.
 */
export const rootShapeOfItems = (path: Path, props: JsonObject, context: Context): Shape | undefined => {
  const name = String(path[0]);
  if (props['indexVariable'] !== undefined && name === nameOf(props['indexVariable'], 'index')) return indexShape;
  if (props['dataSource'] === undefined || name !== nameOf(props['itemVariable'], 'item'))
    return rootShape(path, context);
  return itemShapeAt(pathOf(props['dataSource'], context), context);
};

const nameOf = (value: JsonObject[string] | undefined, fallback: string): string =>
  typeof value === 'string' ? value : fallback;

export const gap = ({ gapPx }: Context): string => (gapPx === 0 ? '0' : `0 0 ${gapPx}px`);

export const propsOf = (component: Component): JsonObject => component.props ?? {};

/** The context within a component: `keepLines` is one of its props. */
export const withLines = (component: Component, context: Context): Context =>
  component.props?.['keepLines'] === true ? { ...context, keepsLines: true } : context;

/**
 * ` align="center"` where the alignment is not the natural one; from right to left always, for clients take the left
 * for natural.
 */
export const alignAttribute = (align: Term, { direction }: Context): readonly Term[] =>
  align === 'left' && direction === 'ltr' ? [] : [' align="', align, '"'];

/** The cell for text with the component's own typography, background and padding, and the context inside. */
const textCell = (props: JsonObject, surroundings: Context): Readonly<{ open: readonly Term[]; inner: Context }> => {
  const outer = directed(props, surroundings);
  const background =
    props['backgroundColor'] === undefined ? undefined : color(props['backgroundColor'], 'transparent', outer);
  const context = background === undefined ? outer : onBackground(background, undefined, outer);
  const type = typographyOf(props, context);
  const inner: Context = { ...context, type };
  const padding = css('box', props['padding'], background === undefined ? gap(outer) : '16px', outer);
  const classes = classAttribute(
    colorClass('text', type.color, inner),
    background === undefined ? '' : colorClass('surface', background, outer),
  );
  const dir = outer.direction === 'ltr' && surroundings.direction === 'ltr' ? '' : ` dir="${outer.direction}"`;
  const open = [
    `<tr${outer.mark}><td`,
    dir,
    classes,
    ...alignAttribute(type.align, surroundings.direction === 'rtl' ? surroundings : outer),
    ' style="padding:',
    padding,
    ...(background === undefined ? [] : [';background-color:', background]),
    ';',
    ...textDeclarations(type).map(attributeSafe),
    '">',
  ];
  return { open, inner };
};

/** The context in the direction that the props name; lines that began at the old start begin at the new one. */
const directed = (props: JsonObject, context: Context): Context => {
  const direction = directions.find((known) => known === props['direction']) ?? context.direction;
  if (direction === context.direction) return context;
  const align = context.type.align === startOf(context) ? startOf({ direction }) : context.type.align;
  return { ...context, direction, type: { ...context.type, align } };
};

/**
 * Text in its cell; where its direction is its own, it is written for both and chosen by its first letter when it is
 * rendered.
 */
const writeTextCell = (props: JsonObject, nodes: readonly RichNode[], context: Context): void => {
  const cell = (direction: Json | undefined): readonly Term[] => {
    const { open, inner } = textCell({ ...props, direction: direction ?? null }, context);
    return [...open, ...richHtml(nodes, inner), '</td></tr>'];
  };
  if (props['direction'] !== 'auto') context.code.html(cell(props['direction']));
  else context.code.html(js(`(${runsFromRight(nodes, context)}?${concat(cell('rtl'))}:${concat(cell('ltr'))})`));
};

/** The condition that the first letter of a text runs from the right. */
const runsFromRight = (nodes: readonly RichNode[], context: Context): string =>
  `RIGHT_TO_LEFT(${concat(inlineText(nodes, context))})`;

/** The text part of what `writeTextCell` writes. */
const writeDirected = (props: JsonObject, nodes: readonly RichNode[], context: Context): void => {
  if (props['direction'] !== 'auto') return writeRichText(nodes, directed(props, context));
  context.code.block(`if(${runsFromRight(nodes, context)})`, () =>
    writeRichText(nodes, { ...context, direction: 'rtl' }),
  );
  context.code.block('else', () => writeRichText(nodes, { ...context, direction: 'ltr' }));
};

/** The elements of a content, of which lines without a value may be left out. */
const nodesOf = ({ content = '', props = {} }: Component, context: Context): readonly RichNode[] =>
  props['hideWhenEmpty'] === 'lines' ? parseOptionalLines(content, context) : parseRichText(content, 'block', context);

export const richText: ComponentRenderer = (component, outer) => {
  const context = withLines(component, outer);
  const nodes = nodesOf(component, context);
  writeTextCell(propsOf(component), nodes, context);
  writeDirected(propsOf(component), nodes, context);
};

export const htmlFragment: ComponentRenderer = (component, outer) => {
  const context = withLines(component, outer);
  const nodes = parseRichText(component.content ?? '', 'fragment', context);
  writeTextCell(propsOf(component), nodes, context);
  writeDirected(propsOf(component), nodes, context);
};

export const list: ComponentRenderer = (component, outer) => {
  const context = withLines(component, outer);
  const props = propsOf(component);
  const tag = props['ordered'] === true ? 'ol' : 'ul';
  if (props['dataSource'] === undefined) {
    const nodes = asList(nodesOf(component, context), tag, props['ordered'] === true);
    writeTextCell(props, nodes, context);
    return writeDirected(props, nodes, context);
  }
  const { open, inner } = textCell(props, context);
  const { code } = context;
  code.html(open, `<${tag} style="margin:0;padding:${boxAt(startOf(inner), '24px')}">`);
  openItems(props, inner, (each, index) => {
    const nodes = parseRichText(component.content ?? '', 'inline', each);
    code.html('<li style="margin:0 0 6px">', richHtml(nodes, each), '</li>');
    const terms = lineTexts(nodes, each);
    const bullet = tag === 'ol' ? `(${index}+1)+". "` : '"- "';
    code.text(js(`ITEM(${bullet},${concat(terms)})`), '\n');
  });
  code.html(`</${tag}></td></tr>`);
  code.text('\n');
};

/** Content without a list around its items gets one; lines without any markup are items. */
const asList = (nodes: readonly RichNode[], tag: 'ol' | 'ul', ordered: boolean): readonly RichNode[] => {
  const element = (name: string, children: readonly RichNode[]): RichElement => ({
    kind: 'element',
    tag: name,
    attributes: new Map(),
    children,
  });
  if (nodes.some((node) => node.kind === 'element' && (node.tag === 'ul' || node.tag === 'ol'))) {
    return nodes.map((node) =>
      node.kind === 'element' && node.tag === 'ul' && ordered ? { ...node, tag: 'ol' } : node,
    );
  }
  const items = nodes.filter((node) => node.kind === 'element' && node.tag === 'li');
  return [element(tag, items.length > 0 ? items : [element('li', nodes)])];
};

export const divider: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  const shown = color(props['color'], '#e5e7eb', context);
  const thickness = css('length', props['thickness'], '1px', context);
  const style = word(props['style'], ['solid', 'dashed', 'dotted', 'double'], 'solid', context);
  const width = css('length', props['width'], '100%', context);
  const margin = css('box', props['margin'], context.gapPx === 0 ? '8px 0 0' : `8px 0 ${context.gapPx + 8}px`, context);
  context.code.html(
    `<tr${context.mark}><td style="padding:`,
    margin,
    '">',
    tableTag(context, typeof width === 'string' ? attributeWidth(width) : '100%'),
    ' align="center" style="',
    ...narrowing(width),
    '"><tr><td',
    classAttribute(colorClass('line', shown, context)),
    ' style="border-top:',
    thickness,
    ' ',
    style,
    ' ',
    shown,
    ';font-size:0;line-height:0">&nbsp;</td></tr></table></td></tr>',
  );
  context.code.text('-'.repeat(40), '\n\n');
};

/**
 * A table as wide as it is told where there is room, else as wide as its place: where its width is one of pixels,
 * `max-width` alone would not let it shrink inside a cell.
 */
export const narrowing = (width: Term): readonly Term[] =>
  isPixels(width) ? ['width:100%;max-width:', width] : ['width:', width];

export const isPixels = (width: Term): boolean => typeof width === 'string' && width.endsWith('px');

export const attributeWidth = (width: string): string => {
  const px = attributePx(width);
  return typeof px === 'string' ? px : width.endsWith('%') ? width : '100%';
};

export const spacer: ComponentRenderer = (component, context) => {
  const height = css('length', propsOf(component)['height'], '24px', context);
  const number = attributePx(height);
  context.code.html(
    `<tr${context.mark}><td`,
    ...(number === undefined ? [] : [' height="', number, '"']),
    ' style="height:',
    height,
    ';line-height:',
    height,
    ';font-size:0">&nbsp;</td></tr>',
  );
};
