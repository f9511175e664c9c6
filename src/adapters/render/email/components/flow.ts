/** Components that decide what is shown and how often: conditional and loop. */
import { isOperator } from '../../../../domain/rendering/scope/conditions.js';
import type { Component } from '../../../../domain/rendering/content.js';
import { quote } from '../code.js';
import type { ComponentRenderer, Context } from '../context.js';
import { attributeSafe, classAttribute, colorClass, textDeclarations } from '../style.js';
import { jsonOf, pathOf, rawOf, shownOf, templated, textOf } from '../values.js';
import { alignAttribute, gap, propsOf } from './blocks.js';
import { openItems } from './items.js';

/** Components that stand there whenever their surroundings do: all but those inside a loop or a conditional. */
export const countFixed = (components: readonly Component[]): number =>
  components.reduce(
    (count, { type, children = [] }) => count + 1 + (type === 'loop' || type === 'conditional' ? 0 : countFixed(children)),
    0,
  );

const block = (components: readonly Component[], context: Context): void => {
  const { code, limits } = context;
  const count = countFixed(components);
  if (count > 0) code.statement(`if((n+=${count})>${limits.componentsExpandedMax})TOO_MANY(n);`);
  context.rows(components, context);
};

export const conditional: ComponentRenderer = (component, context) => {
  const { condition, operator, value } = propsOf(component);
  const left = rawOf(pathOf(condition, context), context);
  if (!isOperator(operator)) throw new Error('an operator that was checked is none');
  context.code.block(`if(HOLDS(${quote(operator)},${left},${jsonOf(value, context)}))`, () => block(component.children ?? [], context));
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

/** A plain line of text in the place of something that is not there. */
const note = (text: string, context: Context): void => {
  const { code, type } = context;
  const parts = templated(text, context);
  code.html(
    '<tr><td',
    classAttribute(colorClass('text', type.color, context)),
    ...alignAttribute(type.align, context),
    ` style="padding:${gap(context)};`,
  );
  code.html(...textDeclarations(type).map(attributeSafe), '">', shownOf(parts, context), '</td></tr>');
  code.text(textOf(parts, context), '\n\n');
};
