/** What of a mail is left out because nothing stands in it: the conditions of components, columns and lines with `hideWhenEmpty`. */
import type { Component } from '../../../domain/rendering/content.js';
import { decidingPaths } from '../../../domain/rendering/paths/deciding.js';
import type { When } from '../../../domain/rendering/rich-text.js';
import type { Path } from '../../../domain/rendering/scope/path.js';
import { shapeAt } from '../../../domain/rendering/scope/shapes.js';
import type { Context } from './context.js';
import { rawOf, rootShape } from './values.js';

const hasFallback = (path: Path, context: Context): boolean =>
  shapeAt(rootShape(path, context), path)?.substitution?.fallback !== undefined;

/** The expression that holds where one of the paths has a value; undefined where that is always so. */
export const anyShown = (paths: readonly Path[], context: Context): string | undefined => {
  if (paths.length === 0 || paths.some((path) => hasFallback(path, context))) return undefined;
  return `!(${[...new Set(paths.map((path) => `BLANK(${rawOf(path, context)})`))].join('&&')})`;
};

/** Of a component; undefined where it is always there. */
export const shownConditionOf = (component: Component, context: Context): string | undefined => {
  const hides = component.props?.['hideWhenEmpty'];
  return hides === true || hides === 'lines' ? anyShown(decidingPaths(component, context.limits.pathSegmentsMax), context) : undefined;
};

/** The expression of what an element is there for; undefined where that is always so. */
export const whenOf = (when: When, context: Context): string | undefined => {
  const groups = when.flatMap((group) => anyShown(group, context) ?? []);
  return groups.length === 0 ? undefined : groups.join('&&');
};
