/** Finds the paths of a template that stay empty for the values of a call: gaps that a reader would see and nobody meant. */
import type { Json } from '../../core/json.js';
import { hasPlaceholder, parseTemplatedText, pageMarks } from '../fill/templated-text.js';
import { type Path, isArray, readPath, variableField, writePath, writeSteps } from '../scope/path.js';
import { writeValue } from '../scope/formats.js';
import { spendChars, type Budget } from '../budget.js';
import { DomainError, type FieldError } from '../../core/errors.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { isBlank } from '../fill/shown-value.js';
import type { PreparedValues } from '../fill/filling.js';
import { holds, isOperator } from '../scope/conditions.js';
import { isConstant, UNSUBSCRIBE_CONSTANT } from '../scope/constants.js';
import { shapeAt, shapeOf, type Shape } from '../scope/shapes.js';
import { insideImage, safeDocumentImage, safeImage, safeLink, type LinkRules } from '../addresses.js';
import { pathsInTexts, walkOf, walkTemplate, type PathReader, type WalkedTemplate } from './walk.js';

/** Most paths that an answer names. */
export const EMPTY_PATHS_MAX = 100;

/** Cost of looking at one path: a workbook of 10,000 rows and 50 columns stays within the budget of its call. */
const PATH_CHARS = 8;

/** A variable of a loop: its value, and how one writes it from the variables of the call. */
type Local = Readonly<{ value: Json | undefined; written: () => string; shape: Shape | undefined }>;
type Scope = ReadonlyMap<string, Local>;

type EmptyPathsInput = PreparedValues &
  Readonly<{
    definitions: readonly VariableDefinition[];
    segmentsMax: number;
    budget: Budget;
    found?: Set<string>;
    /** Gets those of the found paths whose value is no address that can be used. */
    unusable?: Set<string>;
  }>;

type Lookups = Readonly<{
  valueOf: (path: Path, scope: Scope) => Json | undefined;
  shapeOfPath: (path: Path, scope: Scope) => Shape | undefined;
  /** As one writes it from the variables of the call. */
  written: (path: Path, scope: Scope) => string;
  isMissed: (path: Path, scope: Scope) => boolean;
}>;

/**
 * In: the parts of a checked template, and the prepared values of a call. Out: the paths that are shown and blank, with the places of items
 * (`items[2].note`), each once, at most 100; and those whose value should be an address and is none that a mail may hold. Branches that are not taken, components, columns and lines that are hidden, values with a
 * fallback, and the address for unsubscribing are none. Throws WORK_LIMIT_EXCEEDED; what was found by then stands in `found`.
 */
export const emptyPathsOf = (parts: WalkedTemplate, input: EmptyPathsInput): readonly string[] => {
  const { segmentsMax, budget, found = new Set(), unusable = new Set() } = input;
  const { valueOf, shapeOfPath, written, isMissed } = lookupsOf(input);

  const step = (): void => spendChars(budget, 1);
  const reader: PathReader<Scope> = {
    step,
    path: (path, _, scope, use) => {
      if (use === 'compared' || found.size >= EMPTY_PATHS_MAX || path[0] === UNSUBSCRIBE_CONSTANT) return;
      if (use === 'link' || use === 'picture') {
        if (isMissed(path, scope) || isAddress(valueOf(path, scope), use, parts.links)) return;
        found.add(written(path, scope));
        unusable.add(written(path, scope));
        return;
      }
      if (use === 'shown') {
        const currency = shapeOfPath(path, scope)?.format?.currency;
        for (const other of currency === undefined ? [] : pathsInTexts(currency, segmentsMax))
          if (isMissed(other, scope)) found.add(written(other, scope));
      }
      // An empty list is meant; a missing one is a gap.
      const isFound = use === 'repeated' ? (valueOf(path, scope) ?? null) === null : isMissed(path, scope);
      if (isFound) found.add(written(path, scope));
    },
    branches: (path, scope, { operator, value }) => {
      const right = jsonValueOf(value, { segmentsMax, budget, read: (other) => valueOf(other, scope) });
      const isTrue = isOperator(operator) && holds(operator, valueOf(path, scope), right);
      return { then: isTrue, otherwise: !isTrue };
    },
    items: (path, scope, names) => {
      const value = valueOf(path, scope);
      if (!isArray(value)) return [];
      const source = { written: () => written(path, scope), shape: shapeOfPath(path, scope)?.item };
      return { [Symbol.iterator]: () => itemScopes(value, source, scope, { ...names, step }) };
    },
    member: (source, member, _, scope) => {
      const value = valueOf(source, scope);
      if (!isArray(value)) return;
      for (const [at, item] of value.entries()) {
        spendChars(budget, PATH_CHARS);
        if (found.size < EMPTY_PATHS_MAX && isBlank(readPath(item, member)))
          found.add(`${written(source, scope)}[${at}]${writeSteps(member)}`);
      }
    },
    isHidden: (paths, scopes) => {
      if (paths.length === 0) return false;
      let isAny = false;
      for (const scope of scopes) {
        isAny = true;
        if (paths.some((path) => !isMissed(path, scope))) return false;
      }
      return isAny;
    },
  };
  const mark = (name: string): Local => ({ value: 1, written: () => name, shape: undefined });
  const margin: Scope = new Map(pageMarks.map((name) => [name, mark(name)] as const));
  walkTemplate(parts, walkOf(reader, segmentsMax), { root: new Map(), margin });
  return [...found];
};

/** Whether a value that is not blank may stand as the address of a link or of a picture. */
const isAddress = (value: Json | undefined, use: 'link' | 'picture', rules?: LinkRules): boolean => {
  if (typeof value !== 'string') return value === undefined || value === null;
  return (
    (use === 'link' ? safeLink(value, rules) : (insideImage(value) ?? safeDocumentImage(value) ?? safeImage(value, rules))) !== undefined
  );
};

/**
 * Reuses one scope, in which the next item takes the place of the one before: a copy for each of very many items would cost more than all
 * else.
 */
function* itemScopes(
  items: readonly Json[],
  source: Omit<Local, 'value'>,
  scope: Scope,
  { item, index, step }: Readonly<{ item: string; index: string | undefined; step: () => void }>,
): Iterator<Scope> {
  const inside = new Map(scope);
  for (let at = 0; at < items.length; at += 1) {
    step();
    inside.set(item, { value: items[at], written: () => `${source.written()}[${at}]`, shape: source.shape });
    if (index !== undefined) inside.set(index, { value: at, written: () => index, shape: undefined });
    yield inside;
  }
}

/** Throws VARIABLES_EMPTY where a path is shown and blank: for a template that says `strictVariables`. */
export const refuseEmptyPaths = (parts: WalkedTemplate, input: EmptyPathsInput): void => {
  const unusable = new Set<string>();
  const paths = emptyPathsOf(parts, { ...input, unusable });
  const [first] = paths;
  if (first === undefined) return;
  const errors: FieldError[] = paths.map((path) => ({
    field: variableField(path),
    message: unusable.has(path)
      ? 'is the address of a link or a picture and none that can be used: it begins with https://, http://, or for links mailto:, tel: or sms:'
      : 'is shown by the template and has no value',
  }));
  const rest = paths.length === 1 ? '' : ` (and ${paths.length - 1} more, see errors)`;
  throw new DomainError(
    'VARIABLES_EMPTY',
    `The template asks for a value of everything it shows (strictVariables), and ${first} has none${unusable.has(first) ? ' that can be used as an address' : ''}${rest}. Give it one, or give its variable a defaultValue or a fallback.`,
    { errors },
  );
};

const lookupsOf = ({ values, constants, definitions, budget }: EmptyPathsInput): Lookups => {
  const shapes = new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));

  const valueOf = (path: Path, scope: Scope): Json | undefined => {
    spendChars(budget, PATH_CHARS);
    const name = String(path[0]);
    const local = scope.get(name);
    if (local !== undefined) return path.length === 1 ? local.value : readPath(local.value, path.slice(1));
    return isConstant(name) ? (path.length === 1 ? constants[name] : undefined) : readPath(values, path);
  };
  const shapeOfPath = (path: Path, scope: Scope): Shape | undefined => {
    const name = String(path[0]);
    const local = scope.get(name);
    return shapeAt(local === undefined ? shapes.get(name) : local.shape, path);
  };
  const written = (path: Path, scope: Scope): string => {
    const local = scope.get(String(path[0]));
    return local === undefined ? writePath(path) : local.written() + writeSteps(path.slice(1));
  };
  const isMissed = (path: Path, scope: Scope): boolean =>
    isBlank(valueOf(path, scope)) && shapeOfPath(path, scope)?.substitution?.fallback === undefined;
  return { valueOf, shapeOfPath, written, isMissed };
};

type Reading = Readonly<{ segmentsMax: number; budget: Budget; read: (path: Path) => Json | undefined }>;

/** A string that is one placeholder is the value behind it, with its type; other texts are filled. */
const jsonValueOf = (value: Json | undefined, { segmentsMax, budget, read }: Reading): Json | undefined => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return value;
  const { parts } = parseTemplatedText(value, segmentsMax);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return read(only.path);
  const written = parts.map((part) => {
    const text = typeof part === 'string' ? part : writeValue(read(part.path));
    spendChars(budget, text.length);
    return text;
  });
  return written.join('');
};
