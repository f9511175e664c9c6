/** Components of a document that hold others or decide about them: container, columns, conditional, loop. */
import type { DocumentComponent } from '../document-content.js';
import type { Json } from '../../core/json.js';
import { holds, isOperator } from '../scope/conditions.js';
import { colorOf, compileAlign, compileBorder, compileBox, compilePoints, compileWidth, compileWord, defined } from './style.js';
import type { Expanded } from './expanded.js';
import type { Width } from '../boxes.js';
import type { CompileComponent, Expander } from './expander.js';
import { compileJson, compilePlain, escapeHtml } from '../fill/filling.js';
import { noBox, pointsOf, widthOf } from '../lengths.js';
import { verticalAligns } from '../props.js';
import { charge, compileRead, compileSource, pathOf, type Scope, type State } from '../scope/scope.js';

/** Compiles components one below the other; `first` is the place of the first in what `field` names, where it is not 0. */
export type CompileChildren = (components: readonly DocumentComponent[], field: string, scope: Scope, first?: number) => Expander;

export const containerOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const inner = children(component.children ?? [], `${field}.children`, scope);
    const [backgroundColor, color] = [colorOf(props['backgroundColor'], scope), colorOf(props['color'], scope)];
    const padding = compileBox(
      props['padding'],
      scope,
      props['backgroundColor'] === undefined && props['border'] === undefined ? noBox : { top: 12, right: 12, bottom: 12, left: 12 },
    );
    const border = props['border'] === undefined ? undefined : compileBorder(props['border'], scope);
    const [borderRadius, width] = [compilePoints(props['borderRadius'], scope), compileWidth(props['width'], scope)];
    const align = compileAlign(props['align'], scope);
    return (state, out) => {
      out.push({
        type: 'container',
        id,
        field,
        children: gathered(inner, state),
        padding: padding(state),
        align: align(state),
        ...defined({
          backgroundColor: backgroundColor(state),
          color: color(state),
          border: border?.(state),
          borderRadius: borderRadius(state),
          width: width(state),
        }),
      });
    };
  };

const gathered = (expander: Expander, state: State): readonly Expanded[] => {
  const out: Expanded[] = [];
  expander(state, out);
  return out;
};

const GAP_POINTS = 12;

/** Each child is one column, whatever is left of it: its place must not be taken by the next one. */
export const columnsOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const columns = (component.children ?? []).map((child, at) => ({
      id: child.id,
      field: `${field}.children[${at}]`,
      expand: children([child], `${field}.children`, scope, at),
    }));
    const given = Array.isArray(props['widths']) ? (props['widths'] as readonly Json[]) : [];
    const widths = columns.map((_, at): Width => widthOf(given[at]) ?? 'rest');
    const gap = pointsOf(props['gap']) ?? GAP_POINTS;
    const verticalAlign = compileWord(props['verticalAlign'], verticalAligns, scope);
    return (state, out) => {
      const made = columns.map(({ expand, ...place }) => column(gathered(expand, state), place));
      out.push({ type: 'columns', id, field, children: made, widths, gap, verticalAlign: verticalAlign(state) ?? 'top' });
    };
  };

const column = (made: readonly Expanded[], place: Readonly<{ id: string; field: string }>): Expanded => {
  const [only] = made;
  return made.length === 1 && only !== undefined ? only : { type: 'container', ...place, children: made, padding: noBox, align: 'start' };
};

export const conditionalOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { condition, operator, value } = component.props ?? {};
    if (!isOperator(operator)) throw new Error('an operator that was checked is none');
    const left = compileRead(pathOf(condition, scope), scope);
    const right = compileJson(value, scope, compileRead);
    const then = children(component.children ?? [], `${field}.children`, scope);
    const otherwise = children(component.elseChildren ?? [], `${field}.elseChildren`, scope);
    return (state, out) => (holds(operator, left(state), right(state)) ? then : otherwise)(state, out);
  };

export const loopOf =
  (children: CompileChildren): CompileComponent =>
  (component, field, scope) => {
    const { id, props = {} } = component;
    const source = compileSource(props, scope);
    const body = children(component.children ?? [], `${field}.children`, source.inside);
    const emptyText = typeof props['emptyText'] === 'string' ? compilePlain(props['emptyText'], scope) : undefined;
    return (state, out) => {
      const items = source.items(state);
      if (items.length === 0 && emptyText !== undefined) {
        out.push({
          type: 'rich-text',
          id,
          field,
          html: charge(escapeHtml(emptyText(state)), state, scope.limits),
          style: {},
          padding: noBox,
        });
      }
      items.forEach((item, at) => {
        source.enter(state, item, at);
        body(state, out);
      });
    };
  };
