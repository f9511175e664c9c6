/**
 * Checks the paths of a template against its variables when it is saved: a name that is nearly a declared one is
 * refused, any other undeclared name is a warning.
 */
import type { FieldError } from '../../core/errors.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { constants, isConstant } from '../scope/constants.js';
import { shorten, writePath, writeSteps, type Path, nearestName } from '../scope/path.js';
import { shapeOf, type Shape } from '../scope/shapes.js';
import { GROUP, groupShape } from '../scope/scope.js';
import { handedOver, onlyPath, shapeInBlock } from '../scope/include.js';
import { pageMarkMeantBy, pageMarks, type PageMark } from '../fill/templated-text.js';
import { pathsInTexts, walkOver, type PathReader, type PathUse, type WalkedTemplate } from './walk.js';
import { calculatedMembers, isCalculated } from '../expression/calculated.js';
import { readMembers, type Known } from '../expression/member-reads.js';

/** `faults` stop the save, `warnings` go along with it. Each path is told once. */
export type PathFindings = Readonly<{ faults: readonly FieldError[]; warnings: readonly FieldError[] }>;

/** Enough to work with; a template of very many texts gives no larger answer. */
const FINDINGS_MAX = 100;

/** Most undeclared names that are compared with all declared ones; further names are reported without a suggestion. */
const COMPARED_MAX = 2 * FINDINGS_MAX;

/** Answers which declared name a misspelt one may mean. */
export type Nearest = typeof nearestName;

/** Shared by the checks of one save, so that all together compare no more names than that. */
export const boundedNearest = (): Nearest => {
  let left = COMPARED_MAX;
  return (name, declared) => {
    left -= 1;
    return left < 0 ? undefined : nearestName(name, declared);
  };
};

const anything: Shape = { type: undefined, required: false, format: undefined, members: new Map(), item: undefined };
const number: Shape = { ...anything, type: 'number' };

/** The names that are in reach at a place, each with what is known of its value. */
type Scope = ReadonlyMap<string, Shape>;

/**
 * In: the parts of a checked template, its variables, how many segments a path may have, and what several checks share.
 * `isClosed`: no call brings values beside the variables, so a name that nothing declares is a fault.
 */
export const checkPaths = (
  parts: WalkedTemplate,
  variables: readonly VariableDefinition[],
  segmentsMax: number,
  nearest: Nearest = boundedNearest(),
  isClosed = false,
): PathFindings => {
  const faults: FieldError[] = [];
  const warnings: FieldError[] = [];
  const told = new Set<string>();
  const tell = (path: Path, field: string, finding: Finding): void => {
    const key = `${finding.kind} ${writePath(path)}`;
    const list = finding.kind === 'fault' ? faults : warnings;
    if (told.has(key) || list.length >= FINDINGS_MAX) return;
    told.add(key);
    list.push({ field, message: finding.message });
  };
  const look = (path: Path, field: string, scope: Scope, use: PathUse): void => {
    const finding = pathFinding(path, scope, use, nearest);
    if (finding !== undefined) tell(path, field, isClosed ? closedFinding(finding, path, scope) : finding);
    const currency = use === 'shown' ? shapeIn(path, scope)?.format?.currency : undefined;
    for (const named of currency === undefined ? [] : pathsInTexts(currency, segmentsMax)) {
      const wrong = pathFinding(named, scope, 'compared', nearest);
      if (wrong !== undefined)
        tell(named, field, {
          ...wrong,
          message: `${wrong.message}; it is the currency in the format of {{${writePath(path)}}}`,
        });
    }
  };
  const reader: PathReader<Scope> = {
    paths: (paths, field, use) => (scope) => {
      for (const path of paths) look(path, field, scope, use);
    },
    branches: () => () => ({ then: true, otherwise: true }),
    items:
      (path, { item, index }) =>
      (scope) => {
        const inside = new Map(scope).set(item, shapeIn(path, scope)?.item ?? anything);
        return [index === undefined ? inside : inside.set(index, number)];
      },
    member: (source, member, field) => (scope) => {
      const finding = fieldFinding(member, shapeIn(source, scope)?.item ?? anything, nearest);
      if (finding !== undefined) tell([...source, ...member], field, finding);
    },
    groups:
      (path, { by }) =>
      (scope) => [new Map(scope).set(GROUP, groupShape(shapeIn(path, scope)?.item, by))],
    inside:
      ({ slug, variables: own }, props, field) =>
      (scope) => {
        const inside = new Map<string, Shape>();
        for (const definition of own) {
          const value = handedOver(props, definition.name);
          const path = typeof value === 'string' ? onlyPath(value, segmentsMax) : undefined;
          const outer = path === undefined ? undefined : shapeIn(path, scope);
          inside.set(definition.name, shapeInBlock(definition, outer));
          if (path !== undefined && outer?.type !== undefined && outer.type !== definition.type)
            tell(path, `${field}${writeSteps([definition.name])}`, {
              kind: 'fault',
              message: `{{${shorten(writePath(path))}}} is declared as ${outer.type}, and the block "${slug}" takes it as ${definition.type}`,
            });
        }
        return inside;
      },
    isHidden: () => () => false,
  };
  const root: Scope = new Map(variables.map((definition) => [definition.name, shapeOf(definition)]));
  const margin: Scope = new Map([...pageMarks.map((mark) => [mark, number] as const), ...root]);
  walkOver(parts, reader, segmentsMax)({ root, margin });
  return { faults, warnings };
};

type Finding = Readonly<{ kind: 'fault' | 'warning'; message: string }>;

const pathFinding = (path: Path, scope: Scope, use: PathUse, nearest: Nearest): Finding | undefined => {
  const [name] = path;
  if (typeof name !== 'string') return undefined;
  if (isConstant(name) && !scope.has(name))
    return path.length === 1 ? undefined : warning(path, 'a global constant has no members, so it is always empty');
  const shape = scope.get(name);
  if (shape === undefined) return unknownName(name, path, scope, nearest);
  const finding = memberFinding(path, shape, 1, nearest);
  const ofItem = finding?.kind === 'warning' ? itemMeantBy(path, scope) : undefined;
  if (finding !== undefined && ofItem !== undefined)
    return warning(path, `${name} is declared as array; of one of its items it is {{${ofItem}}}`);
  if (finding !== undefined || use !== 'repeated') return finding;
  const type = shapeIn(path, scope)?.type;
  return type === undefined || type === 'array'
    ? undefined
    : warning(path, `is declared as ${type}, and only an array can be gone over`);
};

const closedFinding = (finding: Finding, path: Path, scope: Scope): Finding => {
  const name = String(path[0]);
  if (finding.kind === 'fault' || scope.has(name) || isConstant(name)) return finding;
  return fault(
    path,
    `no variable "${shorten(name)}" is declared: a block reads its own variables only, which the template that includes it fills`,
  );
};

const markOf: Readonly<Record<PageMark, string>> = {
  pageNumber: 'the number of the page',
  totalPages: 'the number of all pages',
};

/** The name in reach whose value has this member: an item goes before a variable. */
const ownerOf = (member: string, scope: Scope): string | undefined =>
  [...scope].findLast(([, { members }]) => members.has(member))?.[0];

/**
 * In: a path that asks an array for a member. Out: the path from an item of it that is in reach, where the item has the
 * member.
 */
const itemMeantBy = ([name, member, ...rest]: Path, scope: Scope): string | undefined => {
  const item = scope.get(String(name))?.item;
  const inReach =
    item !== undefined && typeof member === 'string' && item.members.has(member)
      ? [...scope].findLast(([, shape]) => shape === item)
      : undefined;
  return inReach === undefined ? undefined : writePath([inReach[0], member as string, ...rest]);
};

/** Other languages of templates call an item so. */
const THIS =
  'no variable "this" is declared, so it is empty; an item of a loop, table, list or timeline has the name that its itemVariable gives it, as in {{item.name}}';

const unknownName = (name: string, path: Path, scope: Scope, nearest: Nearest): Finding => {
  const near = nearest(name, [...scope.keys(), ...constants]);
  const mark = scope.has('pageNumber') ? pageMarkMeantBy(name) : undefined;
  if (near === undefined && mark !== undefined)
    return warning(
      path,
      `no variable "${shorten(name)}" is declared, so it is empty unless a call brings it; ${markOf[mark]} is {{${mark}}}`,
    );
  const owner = near === undefined ? ownerOf(name, scope) : undefined;
  if (owner !== undefined)
    return warning(
      path,
      `no variable "${shorten(name)}" is declared; did you mean {{${shorten(writePath([owner, ...path]))}}}?`,
    );
  if (near === undefined && name === 'this') return warning(path, THIS);
  if (near === undefined)
    return warning(
      path,
      `no variable "${shorten(name)}" is declared, so its values are not checked; declare it under variables`,
    );
  return fault(
    path,
    `no variable "${shorten(name)}" is declared; did you mean "${near}"? Write that, or declare "${shorten(name)}" under variables if it is another one`,
  );
};

/** Follows a path through what is declared; `from` is its first segment that is a member of `shape`. */
const memberFinding = (path: Path, shape: Shape, from: number, nearest: Nearest): Finding | undefined => {
  let at: Shape | undefined = shape;
  for (const [index, segment] of path.entries()) {
    if (index < from) continue;
    // An object without declared members may hold any.
    if (at === undefined || (at.type === undefined && at.members.size === 0)) return undefined;
    const before = writePath(path.slice(0, index)) || 'an item';
    if (typeof segment === 'number') {
      if (at.type !== undefined && at.type !== 'array')
        return warning(path, `${before} is declared as ${at.type}, which has no places`);
      at = at.item;
    } else if (at.type === 'array') {
      return segment === 'length'
        ? undefined
        : warning(path, `${before} is declared as array: an item of it has an index, ${before}[0]`);
    } else if (at.type !== undefined && at.type !== 'object') {
      return warning(path, `${before} is declared as ${at.type}, which has no members, so it is always empty`);
    } else {
      if (at.members.size === 0) return undefined;
      const member: Shape | undefined = at.members.get(segment);
      if (member === undefined) return unknownMember(segment, path, { before, shape: at, nearest });
      at = member;
    }
  }
  return undefined;
};

/** A field of a chart begins at the item, and stands without braces. */
const fieldFinding = (field: Path, item: Shape, nearest: Nearest): Finding | undefined => {
  const finding = memberFinding(field, item, 0, nearest);
  if (finding === undefined) return undefined;
  const message = finding.message.replace(/^\{\{(.*?)\}\}/, '"$1"');
  const [first, ...rest] = field;
  const known = first === 'item' && typeof rest[0] === 'string' && item.members.has(rest[0]);
  return known
    ? { kind: 'fault', message: `"${writePath(field)}": a field begins at the item itself; write "${writePath(rest)}"` }
    : { ...finding, message };
};

type Place = Readonly<{ before: string; shape: Shape; nearest: Nearest }>;

const unknownMember = (name: string, path: Path, { before, shape: { members }, nearest }: Place): Finding => {
  const near = nearest(name, members.keys());
  if (near === undefined)
    return warning(
      path,
      `the schema of ${before} declares no member "${shorten(name)}", so its values are not checked; declare it there`,
    );
  return fault(
    path,
    `the schema of ${before} declares no member "${shorten(name)}"; did you mean "${near}"? Write that, or declare "${shorten(name)}" there if it is another one`,
  );
};

const fault = (path: Path, message: string): Finding => ({ kind: 'fault', message: shownAs(path, message) });
const warning = (path: Path, message: string): Finding => ({ kind: 'warning', message: shownAs(path, message) });
const shownAs = (path: Path, message: string): string => `{{${shorten(writePath(path))}}}: ${message}`;

const shapeIn = (path: Path, scope: Scope): Shape | undefined => {
  let shape = scope.get(String(path[0]));
  for (const segment of path.slice(1)) shape = typeof segment === 'number' ? shape?.item : shape?.members.get(segment);
  return shape;
};

/**
 * Adds to `found` what expressions read, checked against what the variables declare, as paths of texts are. `nearest`
 * is shared by the checks of one save.
 */
export const withExpressions = (
  found: PathFindings,
  variables: readonly VariableDefinition[],
  nearest: Nearest,
): PathFindings => {
  const { faults, warnings } = checkExpressions(variables, nearest);
  return { faults: [...found.faults, ...faults], warnings: [...found.warnings, ...warnings] };
};

/** Warns of members that no schema declares; a member that is nearly a declared one is a fault. */
const checkExpressions = (variables: readonly VariableDefinition[], nearest: Nearest): PathFindings => {
  const shapes = new Map(variables.map((definition) => [definition.name, shapeOf(definition)]));
  const faults: FieldError[] = [];
  const warnings: FieldError[] = [];
  for (const [at, definition] of variables.entries()) {
    const read = (source: string, field: string, names: ReadonlyMap<string, Shape>): void => {
      const told = new Set<string>();
      readMembers(source, names, (owner, member) => {
        const key = `${owner.name}.${member}`;
        if (told.has(key) || faults.length + warnings.length >= FINDINGS_MAX) return;
        told.add(key);
        const finding = expressionFinding(owner, member, nearest);
        if (finding === undefined) return;
        (finding.kind === 'fault' ? faults : warnings).push({ field: `${field}.expression`, message: finding.message });
      });
    };
    if (isCalculated(definition) && definition.expression !== undefined)
      read(definition.expression, `variables[${at}]`, shapes);
    for (const { source, field, item } of calculatedMembers(
      shapes.get(definition.name) ?? anything,
      `variables[${at}]`,
    ))
      read(source, field, new Map(shapes).set('item', item).set('index', number));
  }
  return { faults, warnings };
};

const expressionFinding = (
  { name, shape: { type, members } }: Known,
  member: string,
  nearest: Nearest,
): Finding | undefined => {
  const reads = `reads "${shorten(member)}" of ${shorten(name)}`;
  if (type === 'array') {
    if (member === 'length') return undefined;
    if (nearest(member, ['length']) !== undefined)
      return { kind: 'fault', message: `${reads}, which is an array; did you mean "length"?` };
    return {
      kind: 'warning',
      message: `${reads}, which is an array: an item of it has an index, or comes by in map, filter and reduce`,
    };
  }
  // An object without declared members may hold any.
  if (members.size === 0 || members.has(member)) return undefined;
  const near = nearest(member, members.keys());
  return near === undefined
    ? {
        kind: 'warning',
        message: `${reads}, whose schema declares no such member, so its values are not checked; declare it there`,
      }
    : {
        kind: 'fault',
        message: `${reads}, whose schema declares no such member; did you mean "${near}"? Write that, or declare "${shorten(member)}" there if it is another one`,
      };
};
