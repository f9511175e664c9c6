/** What of a document is left out because nothing stands in it: components, columns and lines with `hideWhenEmpty`. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { DocumentComponent } from '../document-content.js';
import { compileHtml, type Fill } from '../fill/filling.js';
import { isBlank } from '../fill/shown-value.js';
import { decidingPaths, pathsInTexts } from '../paths/deciding.js';
import { optionalLinesOf, type OptionalHtml } from '../rich-text.js';
import type { Path } from '../scope/path.js';
import { compileRead, rootShape, type Scope, type Source, type State } from '../scope/scope.js';
import { shapeAt } from '../scope/shapes.js';

export type IsHidden = (state: State) => boolean;

/** True where all of the paths are blank; undefined where that can never be. */
const compileBlank = (paths: readonly Path[], scope: Scope): IsHidden | undefined => {
  if (paths.length === 0) return undefined;
  if (paths.some((path) => shapeAt(rootShape(path, scope), path)?.substitution?.fallback !== undefined)) return undefined;
  const reads = paths.map((path) => compileRead(path, scope));
  return (state) => reads.every((read) => isBlank(read(state)));
};

/** Of a component; undefined where it is always there. */
export const compileHiding = (component: DocumentComponent, scope: Scope): IsHidden | undefined => {
  const hides = component.props?.['hideWhenEmpty'];
  return hides === true || hides === 'lines' ? compileBlank(decidingPaths(component, scope.limits.pathSegmentsMax), scope) : undefined;
};

/** HTML as `compileHtml` fills it, without the lines in which every value is blank. */
export const compileLines = (html: string, scope: Scope): Fill =>
  filled(optionalLinesOf(html, scope.limits.pathSegmentsMax).map((part) => compilePart(part, scope)));

const filled =
  (fills: readonly Fill[]): Fill =>
  (state) =>
    fills.map((fill) => fill(state)).join('');

const compilePart = (part: OptionalHtml, scope: Scope): Fill => {
  if (typeof part === 'string') return compileHtml(part, scope);
  const blank = part.when.flatMap((group) => compileBlank(group, scope) ?? []);
  const fill = filled([part.open, ...part.children, part.close].map((inner) => compilePart(inner, scope)));
  return (state) => (blank.some((isHidden) => isHidden(state)) ? '' : fill(state));
};

/** The places of the columns of a table that are left out: those whose values are blank in every row, where there are rows. */
export const compileHiddenColumns = (
  props: JsonObject,
  source: Source,
  segmentsMax: number,
): ((state: State) => ReadonlySet<number>) | undefined => {
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  const columns = given.flatMap((column, at) => {
    if (!isJsonObject(column) || column['hideWhenEmpty'] !== true) return [];
    const isHidden = compileBlank(pathsInTexts(column['content'], segmentsMax), source.inside);
    return isHidden === undefined ? [] : [{ at, isHidden }];
  });
  if (columns.length === 0) return undefined;
  return (state) => {
    const items = source.all(state);
    let left = items.length === 0 ? [] : columns;
    for (let at = 0; at < items.length && left.length > 0; at += 1) {
      source.enter(state, items[at] ?? null, at);
      left = left.filter(({ isHidden }) => isHidden(state));
    }
    return new Set(left.map(({ at }) => at));
  };
};
