/**
 * Components that hold others: conditional and loop decide what is shown and how often, include holds a block, container and columns where it
 * stands.
 */
import { isOperator } from '../../../../domain/rendering/scope/conditions.js';
import type { Component } from '../../../../domain/rendering/content.js';
import { quote, literalOf } from '../code.js';
import {
  type ComponentRenderer,
  type Context,
  jsonOf,
  type Local,
  pathOf,
  quoteJson,
  rawOf,
  rootShape,
  shownOf,
  templated,
  textOf,
} from '../values.js';
import { handedOver, onlyPath, shapeInBlock } from '../../../../domain/rendering/scope/include.js';
import { shapeAt } from '../../../../domain/rendering/scope/shapes.js';
import {
  attributeSafe,
  borderClass,
  classAttribute,
  color,
  colorClass,
  textDeclarations,
  aligned,
  css,
  horizontalPx,
  endOf,
  boxAt,
  onBackground,
  startOf,
  tableTag,
} from '../style.js';
import { alignAttribute, gap, propsOf, openItems, attributeWidth, isPixels, narrowing } from './blocks.js';
import type { Json } from '../../../../domain/core/json.js';
import { cssLength } from '../../../../domain/rendering/css.js';

export const conditional: ComponentRenderer = (component, context) => {
  const { condition, operator, value } = propsOf(component);
  const left = rawOf(pathOf(condition, context), context);
  if (!isOperator(operator)) throw new Error('an operator that was checked is none');
  context.code.block(`if(HOLDS(${quote(operator)},${left},${jsonOf(value, context)}))`, () =>
    block(component.children ?? [], context),
  );
  if (component.elseChildren !== undefined && component.elseChildren.length > 0) {
    const other = component.elseChildren;
    context.code.block('else', () => block(other, context));
  }
};

export const loop: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  const emptyText = props['emptyText'];
  const each = { ...context, gapPx: Math.max(context.gapPx, 16) };
  openItems(
    props,
    each,
    (inner) => block(component.children ?? [], inner),
    typeof emptyText === 'string' ? () => note(emptyText, context) : undefined,
  );
};

/** Writes the components of a block, in whose scope only its own variables are in reach. */
export const include: ComponentRenderer = ({ props, children = [], included }, context) => {
  if (included === undefined) throw new Error('blocks are put in before a template is compiled');
  const { code, limits } = context;
  const handed = included.variables.map((definition) => {
    const value = handedOver(props, definition.name);
    const path = typeof value === 'string' ? onlyPath(value, limits.pathSegmentsMax) : undefined;
    const shape = shapeInBlock(definition, path && shapeAt(rootShape(path, context), path));
    return { name: definition.name, given: value === undefined ? undefined : jsonOf(value, context), shape };
  });
  const members = handed.flatMap(({ name, given }) => (given === undefined ? [] : [`${quote(name)}:${given}`]));
  const values = code.name('b');
  code.block('', () => {
    code.statement(`const ${values}=${code.constant(`IN_BLOCK(${quoteJson(included)})`)}({${members.join(',')}});`);
    const locals = handed.map(({ name, shape }) => {
      const local: Local = { js: code.remember(`STEP(${values},${quote(name)})`), shape };
      return [name, local] as const;
    });
    block(children, { ...context, shapes: new Map(), locals: new Map(locals) });
  });
};

export const container: ComponentRenderer = (component, outer) => {
  const props = propsOf(component);
  const { code } = outer;
  const background = color(props['backgroundColor'], 'transparent', outer);
  const border = props['border'] === undefined ? 'none' : css('border', props['border'], 'none', outer);
  const framed = background !== 'transparent' || border !== 'none';
  const padding = css('box', props['padding'], framed ? '24px' : '0', outer);
  const radius = css('length', props['borderRadius'], '0', outer);
  const width = css('length', props['width'], '100%', outer);
  const minHeight = props['minHeight'] === undefined ? undefined : css('length', props['minHeight'], '0', outer);
  const context = onBackground(background, props['color'], outer);
  const classes = classAttribute(colorClass('surface', background, outer), borderClass(border, outer));
  const align = aligned(props, startOf(outer), outer);
  code.html(`<tr${outer.mark}><td`, ...alignAttribute(align, outer), ' style="padding:', gap(outer), '">');
  code.html(tableTag(outer, typeof width === 'string' ? attributeWidth(width) : '100%'));
  code.html(
    ' style="',
    ...narrowing(width),
    isPixels(width) ? '' : ';max-width:100%',
    ';border-collapse:separate"><tr><td',
    classes,
    ' style="padding:',
    padding,
  );
  if (background !== 'transparent') code.html(';background-color:', background);
  if (border !== 'none') code.html(';border:', border);
  if (radius !== '0') code.html(';border-radius:', radius);
  // The height of a cell is its least one, for all readers.
  if (minHeight !== undefined) code.html(';vertical-align:top;height:', minHeight);
  code.html('">', tableTag(outer), '>');
  const children = component.children ?? [];
  const inner = widthPx(width, outer.widthPx) - horizontalPx(padding) - (border === 'none' ? 0 : 2);
  const type = { ...context.type, align: props['align'] === undefined ? context.type.align : align };
  const lost = horizontalPx(padding) + (border === 'none' ? 0 : 2);
  const phonePx = Math.min(widthPx(width, outer.phonePx), outer.phonePx) - lost;
  context.rows(children, { ...context, type, gapPx: 0, widthPx: Math.max(inner, 50), phonePx });
  if (children.length === 0) code.html('<tr><td></td></tr>');
  code.html('</table></td></tr></table></td></tr>');
};

/**
 * Columns side by side: cells of a table for Outlook, inline blocks for all others, which fall below each other where
 * the screen is narrow, media queries or not.
 */
export const columns: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  const children = component.children ?? [];
  const gapPx = parseFloat(literalOf([css('length', props['gap'], '16px', context)]) ?? '16');
  const valign = typeof props['verticalAlign'] === 'string' ? props['verticalAlign'] : 'top';
  const widths = columnWidths(props['widths'], children.length, context.widthPx - gapPx * (children.length - 1));
  const fixed = props['stackOnMobile'] === false;
  const { code } = context;
  code.html(
    fixed
      ? `<tr${context.mark}><td style="padding:${gap(context)}">${tableTag(context)}><tr>`
      : `<tr${context.mark}><td style="padding:${gap(context)};font-size:0"><!--[if mso]>${tableTag(context)}><tr><![endif]-->`,
  );
  children.forEach((child, at) => {
    const last = at === children.length - 1;
    const inner = widths[at] ?? 50;
    const outer = inner + (last ? 0 : gapPx);
    const padding = last ? '' : `padding:${boxAt(endOf(context), `${gapPx}px`)}`;
    if (fixed) {
      code.html(
        `<td width="${outer}" valign="${valign}" style="width:${Math.round((outer * 1000) / context.widthPx) / 10}%;vertical-align:${valign}${padding === '' ? '' : `;${padding}`}">`,
      );
      oneColumn(child, inner, {
        ...context,
        phonePx: context.phonePx * (outer / context.widthPx) - (last ? 0 : gapPx),
      });
      code.html('</td>');
    } else {
      code.html(`<!--[if mso]><td width="${outer}" valign="${valign}"><![endif]-->`);
      code.html(
        `<div class="col" style="display:inline-block;width:100%;max-width:${outer}px;vertical-align:${valign}">${tableTag(context)}><tr><td${padding === '' ? '' : ` class="gut" style="${padding}"`}>`,
      );
      oneColumn(child, inner, context);
      code.html('</td></tr></table></div><!--[if mso]></td><![endif]-->');
    }
  });
  code.html(fixed ? '</tr></table></td></tr>' : '<!--[if mso]></tr></table><![endif]--></td></tr>');
};

/** Counts the components that are shown whenever their parent is: all but those inside a loop or a conditional. */
export const countFixed = (components: readonly Component[]): number =>
  components.reduce(
    (count, { type, children = [] }) =>
      count + 1 + (type === 'loop' || type === 'conditional' ? 0 : countFixed(children)),
    0,
  );

const block = (components: readonly Component[], context: Context): void => {
  const { code, limits } = context;
  const count = countFixed(components);
  if (count > 0) code.statement(`if((n+=${count})>${limits.componentsExpandedMax})TOO_MANY(n);`);
  context.rows(components, context);
};

/** The `emptyText` of a loop without items, as a plain line. */
const note = (text: string, context: Context): void => {
  const { code, type } = context;
  const parts = templated(text, context);
  code.html(
    `<tr${context.mark}><td`,
    classAttribute(colorClass('text', type.color, context)),
    ...alignAttribute(type.align, context),
    ` style="padding:${gap(context)};`,
  );
  code.html(...textDeclarations(type).map(attributeSafe), '">', shownOf(parts, context), '</td></tr>');
  code.text(textOf(parts, context), '\n\n');
};

const widthPx = (width: unknown, available: number): number => {
  const found = typeof width === 'string' ? /^([\d.]+)(px|%)$/.exec(width) : null;
  if (found === null) return available;
  return found[2] === '%' ? (available * Number(found[1])) / 100 : Math.min(available, Number(found[1]));
};

const oneColumn = (child: Component, widthPx: number, context: Context): void => {
  context.code.html(tableTag(context), '>');
  context.rows([child], { ...context, gapPx: 0, widthPx });
  context.code.html('</table>');
};

/** Whole pixels that together fit into what there is; columns without a width share the rest. */
const columnWidths = (widths: Json | undefined, count: number, available: number): readonly number[] => {
  const given = Array.isArray(widths) ? (widths as Json[]) : [];
  const wanted = Array.from({ length: count }, (_, at) => {
    const css = cssLength(given[at]);
    const found = css === undefined ? null : /^([\d.]+)(px|%)$/.exec(css);
    if (found === null) return undefined;
    return found[2] === '%' ? (available * Number(found[1])) / 100 : Number(found[1]);
  });
  const taken = wanted.reduce<number>((sum, width) => sum + (width ?? 0), 0);
  const open = wanted.filter((width) => width === undefined).length;
  const share = open === 0 ? 0 : Math.max((available - taken) / open, 20);
  const all = wanted.map((width) => width ?? share);
  const total = all.reduce((sum, width) => sum + width, 0);
  const scale = total > available ? available / total : 1;
  return all.map((width) => Math.floor(width * scale));
};
