/** What of a mail is left out because nothing stands in it: the conditions of components, columns and lines with `hideWhenEmpty`. */
import type { Component } from '../../../domain/template/schema.js';
import { pathsOf } from '../../../domain/rendering/fill/templated-text.js';
import { decidingPaths } from '../../../domain/rendering/paths/deciding.js';
import type { Path } from '../../../domain/rendering/scope/path.js';
import { shapeAt } from '../../../domain/rendering/scope/shapes.js';
import type { Context } from './context.js';
import type { RichElement, RichNode, When } from './rich-nodes.js';
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

/** The expression of what an element is there for: each of its groups has a value. */
export const whenOf = (when: When, context: Context): string =>
  when.map((group) => `!(${group.map((path) => `BLANK(${rawOf(path, context)})`).join('&&')})`).join('&&');

const LINES: ReadonlySet<string> = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'li', 'dt', 'dd', 'div', 'blockquote', 'tr']);
/** Those that are there for what they hold. */
const AROUND: ReadonlySet<string> = new Set(['ul', 'ol', 'dl', 'table', 'tbody', 'thead']);

/** In: elements of rich text. Out: the same, of which each line says what it is there for. */
export const withOptionalLines = (nodes: readonly RichNode[], context: Context): readonly RichNode[] =>
  nodes.some(holdsLine) ? nodes.map((node) => optional(node, context)) : linesOf(nodes, context).nodes;

const holdsLine = (node: RichNode): boolean => node.kind === 'element' && (LINES.has(node.tag) || node.children.some(holdsLine));

const optional = (node: RichNode, context: Context): RichNode => {
  if (node.kind === 'text') return node;
  if (LINES.has(node.tag) && (node.tag === 'tr' || !node.children.some(holdsLine))) {
    const { nodes, group } =
      node.tag === 'tr' ? { nodes: node.children, group: groupOf(node.children, context) } : linesOf(node.children, context);
    return group.length === 0 ? { ...node, children: nodes } : { ...node, children: nodes, when: [group] };
  }
  const children = node.children.map((child) => optional(child, context));
  if (!AROUND.has(node.tag)) return { ...node, children };
  const inner = children.filter(
    (child) => child.kind === 'element' || child.text.some((part) => typeof part !== 'string' || part.trim() !== ''),
  );
  const groups = inner.map((child) => (child.kind === 'element' ? (child.when ?? []) : []));
  return inner.length > 0 && groups.every((group) => group.length === 1)
    ? { ...node, children, when: [groups.flat(2)] }
    : { ...node, children };
};

const pathsIn = (nodes: readonly RichNode[]): readonly Path[] =>
  nodes.flatMap((node) =>
    node.kind === 'text' ? pathsOf(node.text) : [...[...node.attributes.values()].flatMap(pathsOf), ...pathsIn(node.children)],
  );

/** None where the line is always there. */
const groupOf = (nodes: readonly RichNode[], context: Context): readonly Path[] => {
  const paths = pathsIn(nodes);
  return paths.some((path) => hasFallback(path, context)) ? [] : paths;
};

type Lines = Readonly<{ nodes: readonly RichNode[]; /** Of all lines; none where one of them is always there. */ group: readonly Path[] }>;

/** Lines between breaks, each with what it is there for; a break stands where a line is there and one before it. */
const linesOf = (nodes: readonly RichNode[], context: Context): Lines => {
  const lines: RichNode[][] = [[]];
  for (const node of nodes) {
    if (node.kind === 'element' && node.tag === 'br') lines.push([]);
    else lines.at(-1)?.push(node);
  }
  const groups = lines.map((line) => groupOf(line, context));
  const isOptional = groups.every((group) => group.length > 0);
  if (lines.length === 1) return { nodes, group: groups[0] ?? [] };
  const out: RichNode[] = [];
  lines.forEach((line, at) => {
    const own = groups[at] ?? [];
    const before = groups.slice(0, at);
    if (at > 0)
      out.push(element('br', [], [...conditionOf(own), ...conditionOf(before.some((group) => group.length === 0) ? [] : before.flat())]));
    out.push(...(own.length === 0 ? line : [element('span', line, [own])]));
  });
  return { nodes: out, group: isOptional ? groups.flat() : [] };
};

const conditionOf = (group: readonly Path[]): When => (group.length === 0 ? [] : [group]);

const element = (tag: string, children: readonly RichNode[], when: When): RichElement => ({
  kind: 'element',
  tag,
  attributes: new Map(),
  children,
  ...(when.length === 0 ? {} : { when }),
});
