/**
 * Finds what a mail or a document loses of the values of a call: gaps that a reader would see and nobody meant, and
 * values that cannot be used where they stand.
 */
import type { Json } from '../../core/json.js';
import { hasPlaceholder, parseTemplatedText, pageMarks, type TemplatedText } from '../fill/templated-text.js';
import {
  type Path,
  isArray,
  readPath,
  readStep,
  shorten,
  variableField,
  writePath,
  writeSteps,
} from '../scope/path.js';
import { writeValue } from '../scope/formats.js';
import { openBudget, openUnlimitedBudget, spendChars, type Budget } from '../budget.js';
import { DomainError, type FieldError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { isBlank, substituterOf, type Substitution } from '../fill/shown-value.js';
import type { PreparedValues } from '../fill/compile.js';
import { holds, isOperator } from '../scope/conditions.js';
import { isConstant, UNSUBSCRIBE_CONSTANT, type Constant } from '../scope/constants.js';
import { shapeAt, shapeOf, type Shape } from '../scope/shapes.js';
import { isCurrency } from '../scope/display-format.js';
import { GROUP, groupItems, groupShape } from '../scope/scope.js';
import { compileBlockValues, handedOver, onlyPath, shapeInBlock } from '../scope/include.js';
import { completedStart, encodeFor, isSettled, NO_HOST, NO_LINK_RULES, partAt, type LinkRules } from '../addresses.js';
import { cssColor, cssDeclaration } from '../css.js';
import { checkProp } from '../props.js';
import { documentMedia, mailMediaWith } from '../lengths.js';
import { isCalculated } from '../expression/calculated.js';
import { once } from '../../../shared/cache.js';
import { walkOver, type PathReader, type Role, type Visit, type WalkedTemplate } from './walk.js';

export const lossKinds = ['missing', 'calculated', 'link', 'picture', 'color', 'currency', 'setting'] as const;
/**
 * `missing`: it has no value; `calculated`: it is worked out from something that has none; `link`, `picture`, `color`,
 * `currency`: it is none that can be used; `setting`: it is a length, a side or the like, and none that its place
 * takes.
 */
export type LossKind = (typeof lossKinds)[number];

/** Holds nothing of the value itself. */
export type Loss = Readonly<{
  kind: LossKind;
  /** As one writes it from the variables of the call: `items[2].note`. */
  path: string;
  /** The place of the template that uses it. */
  field: string;
  /** The type of the value and its rough form: "number", "text without a scheme". */
  shape: string;
}>;

/** Most losses that an answer names. */
export const LOSSES_MAX = 100;

/** Most losses that are kept with an email. */
export const KEPT_LOSSES_MAX = 20;

/** Cost of looking at one path: a workbook of 10,000 rows and 50 columns stays within the budget of its call. */
const PATH_CHARS = 8;

const PATH_SHOWN_CHARS_MAX = 200;

/** A variable of a loop: its value, and how one writes it from the variables of the call. */
type Local = Readonly<{ value: Json | undefined; written: () => string; shape: Shape | undefined }>;
type Scope = ReadonlyMap<string, Local>;

/** `locale`: the language of the template. */
type Lossy = Readonly<{ definitions: readonly VariableDefinition[]; locale: string; limits: Limits }>;

/** `found` gets the losses one by one, so that it holds what was found where the budget ends the search. */
type Search = Readonly<{ budget: Budget; found?: Map<string, Loss>; lossesMax?: number }>;

export type LossesOf = (prepared: PreparedValues, search: Search) => readonly Loss[];

type Run = PreparedValues & Readonly<{ budget: Budget; found: Map<string, Loss>; lossesMax: number }>;

/**
 * A path of the template, with all that is known of it before there are values. `shape`: of its value where `root` is
 * the shape of the local variable that it begins with; one place of a template has one such shape, as a rule.
 */
type Place = {
  readonly path: Path;
  readonly name: string;
  readonly isConstant: boolean;
  readonly declared: Shape | undefined;
  root: Shape | undefined;
  shape: Shape | undefined;
};

type Lookups = Readonly<{
  placeOf: (path: Path) => Place;
  valueOf: (place: Place, scope: Scope) => Json | undefined;
  shapeOfPlace: (place: Place, scope: Scope) => Shape | undefined;
  /** As one writes it from the variables of the call. */
  written: (place: Place, scope: Scope) => string;
  isMissed: (place: Place, scope: Scope) => boolean;
  /** With the filters and the fallback of its definition. */
  shownOf: (place: Place, scope: Scope) => Json | undefined;
}>;

/** Ends a walk that has found enough. */
const ENOUGH = new Error('enough is found');

const IDLE: Run = {
  values: {},
  constants: {} as Run['constants'],
  budget: openUnlimitedBudget(),
  found: new Map(),
  lossesMax: 0,
};

/**
 * In: the parts of a checked template. Out: from the prepared values of a call to what it loses, with the places of
 * items, each path once for each kind. Branches that are not taken, components, columns and lines that are hidden,
 * values with a fallback, and the address for unsubscribing lose nothing. Texts are taken apart once, however often the
 * function is called. It throws WORK_LIMIT_EXCEEDED.
 */
export const compileLosses = (parts: WalkedTemplate, lossy: Lossy): LossesOf => {
  let run = IDLE;
  const walk = walkOver(
    parts,
    readerOf(parts, lossy, () => run),
    lossy.limits.pathSegmentsMax,
  );
  const mark = (name: string): Local => ({ value: 1, written: () => name, shape: undefined });
  const margin: Scope = new Map(pageMarks.map((name) => [name, mark(name)] as const));
  return (prepared, { budget, found = new Map(), lossesMax = LOSSES_MAX }) => {
    run = { ...prepared, budget, found, lossesMax };
    try {
      walk({ root: new Map(), margin });
    } catch (fault) {
      if (fault !== ENOUGH) throw fault;
    } finally {
      run = IDLE;
    }
    return [...found.values()];
  };
};

/** The losses that are found within a share of the budget of a call. */
export const lossesWithin = (
  find: LossesOf,
  prepared: PreparedValues,
  { limits, lossesMax = LOSSES_MAX }: Readonly<{ limits: Limits; lossesMax?: number }>,
): readonly Loss[] => {
  const found = new Map<string, Loss>();
  const budget = openBudget({ ...limits, workCharsMax: limits.workCharsMax / limits.previewInlineShare });
  try {
    return find(prepared, { budget, found, lossesMax });
  } catch (fault) {
    if (fault instanceof DomainError) return [...found.values()];
    throw fault;
  }
};

const readerOf = (parts: WalkedTemplate, lossy: Lossy, running: () => Run): PathReader<Scope> => {
  const { definitions, limits } = lossy;
  const calculated = new Set(definitions.filter(isCalculated).map(({ name }) => name));
  const { placeOf, valueOf, shapeOfPlace, written, isMissed, shownOf } = lookupsOf(lossy, running);
  const judge = judgeOf(parts, limits);
  const partsOf = once((text: string) => parseTemplatedText(text, limits.pathSegmentsMax).parts);

  const step = (count: number): void => {
    const { budget, found, lossesMax } = running();
    if (found.size >= lossesMax) throw ENOUGH;
    spendChars(budget, count);
  };
  const add = (loss: Omit<Loss, 'path'>, path: string): void => {
    const { found, lossesMax } = running();
    const key = `${loss.kind} ${path}`;
    if (found.size < lossesMax && !found.has(key))
      found.set(key, { ...loss, path: shorten(path, PATH_SHOWN_CHARS_MAX) });
  };
  const gap = (place: Place, scope: Scope): LossKind =>
    (calculated.has(place.name) && !scope.has(place.name)) || shapeOfPlace(place, scope)?.expression !== undefined
      ? 'calculated'
      : 'missing';
  const missed = (place: Place, field: string, scope: Scope): void =>
    add({ kind: gap(place, scope), field, shape: formOf(valueOf(place, scope)) }, written(place, scope));
  const placesOf = once((text: TemplatedText) =>
    text.flatMap((part) => (typeof part === 'object' ? [placeOf(part.path)] : [])),
  );
  const judged = (text: TemplatedText, role: Role, field: string): Visit<Scope> => {
    const places = placesOf(text);
    const culpritOf = judge(text, role);
    return (scope) => {
      const lacking = places.find((place) => isMissed(place, scope));
      if (lacking !== undefined) {
        if (role === 'currency')
          add({ kind: 'currency', field, shape: formOf(valueOf(lacking, scope)) }, written(lacking, scope));
        return;
      }
      const values = places.map((place) => shownOf(place, scope));
      for (const value of values) if (typeof value === 'string') spendChars(running().budget, value.length);
      const culprit = culpritOf(values);
      const place = places[culprit ?? -1];
      if (place === undefined || culprit === undefined) return;
      const kind = lossKindOf(role);
      add({ kind, field, shape: formOf(values[culprit], kind) }, written(place, scope));
    };
  };
  return {
    step,
    judged,
    paths: (paths, field, use) => {
      const places = paths.filter(([name]) => name !== UNSUBSCRIBE_CONSTANT).map(placeOf);
      // An empty list is meant; a missing one is a gap.
      if (use === 'repeated')
        return (scope) => {
          for (const place of places) if ((valueOf(place, scope) ?? null) === null) missed(place, field, scope);
        };
      if (use === 'compared') return () => undefined;
      const inCurrency = once((currency: string) => judged(partsOf(currency), 'currency', field));
      return (scope) => {
        for (const place of places) {
          const currency = shapeOfPlace(place, scope)?.format?.currency;
          if (currency !== undefined && hasPlaceholder(currency)) inCurrency(currency)(scope);
          if (isMissed(place, scope)) missed(place, field, scope);
        }
      };
    },
    branches: (path, { operator, value }) => {
      const place = placeOf(path);
      const right = jsonValueOf(value, { partsOf, placeOf, read: valueOf });
      return (scope) => {
        const { budget } = running();
        const compared = right(scope, budget);
        const isTrue = isOperator(operator) && holds(operator, valueOf(place, scope), compared);
        return { then: isTrue, otherwise: !isTrue };
      };
    },
    items: (path, names) => {
      const place = placeOf(path);
      return (scope) => {
        const value = valueOf(place, scope);
        if (!isArray(value)) return [];
        const source = { written: () => written(place, scope), shape: shapeOfPlace(place, scope)?.item };
        return { [Symbol.iterator]: () => itemScopes(value, source, scope, { ...names, step }) };
      };
    },
    member: (source, member, field) => {
      const place = placeOf(source);
      return (scope) => {
        const value = valueOf(place, scope);
        if (!isArray(value)) return;
        for (const [at, item] of value.entries()) {
          spendChars(running().budget, PATH_CHARS);
          const found = readPath(item, member);
          if (isBlank(found))
            add(
              { kind: 'missing', field, shape: formOf(found) },
              `${written(place, scope)}[${at}]${writeSteps(member)}`,
            );
        }
      };
    },
    groups: (path, grouping) => {
      const place = placeOf(path);
      return (scope) => {
        const value = valueOf(place, scope);
        if (!isArray(value)) return [];
        spendChars(running().budget, value.length * PATH_CHARS * (1 + grouping.sums.length));
        const shape = groupShape(shapeOfPlace(place, scope)?.item, grouping.by);
        return groupItems(value, grouping, lossy.locale).map((group) =>
          new Map(scope).set(GROUP, { value: group.value, written: () => GROUP, shape }),
        );
      };
    },
    inside: ({ variables, ...block }, props) => {
      const complete = compileBlockValues({ ...block, variables });
      const handed = variables.map((definition) => {
        const value = handedOver(props, definition.name);
        const path = typeof value === 'string' ? onlyPath(value, limits.pathSegmentsMax) : undefined;
        return {
          definition,
          place: path && placeOf(path),
          read: jsonValueOf(value, { partsOf, placeOf, read: valueOf }),
        };
      });
      return (scope) => {
        const { budget } = running();
        const given = handed.flatMap(({ definition, read }) => {
          const value = read(scope, budget);
          return value === undefined ? [] : [[definition.name, value] as const];
        });
        const values = complete(Object.fromEntries(given));
        return new Map(
          handed.map(({ definition, place }) => [
            definition.name,
            {
              value: readStep(values, definition.name),
              written: () => (place === undefined ? definition.name : written(place, scope)),
              shape: shapeInBlock(definition, place && shapeOfPlace(place, scope)),
            },
          ]),
        );
      };
    },
    isHidden: (paths) => {
      if (paths.length === 0) return () => false;
      const places = paths.map(placeOf);
      return (scopes) => {
        let isAny = false;
        for (const scope of scopes) {
          isAny = true;
          if (places.some((place) => !isMissed(place, scope))) return false;
        }
        return isAny;
      };
    },
  };
};

/**
 * In: a text of which a value is no prose, and what it stands for. Out: a function from the values of its placeholders
 * in order to the place of the value that makes the text unusable; undefined if the text can be used.
 */
type Judge = (text: TemplatedText, role: Role) => (values: readonly (Json | undefined)[]) => number | undefined;

const judgeOf = ({ output, links = NO_LINK_RULES }: WalkedTemplate, limits: Limits): Judge => {
  const media = output === 'email' ? mailMediaWith(links) : documentMedia(limits.excelColumnsMax);
  const passes = (whole: string, raw: Json | undefined, role: Role): boolean => {
    if (role === 'currency') return isCurrency(whole);
    if (role === 'declaration') return cssDeclaration(whole) !== undefined;
    if (role === 'link' || role === 'image') return media[role].safe(whole) !== undefined;
    if (role === 'color') return cssColor(whole) !== undefined;
    const tools = { limits, media, budget: openUnlimitedBudget() };
    return (
      checkProp(role, output === 'email' ? whole : raw, tools) || checkProp(role, whole.trim().toLowerCase(), tools)
    );
  };
  return (given, role) => {
    const isAddress = role === 'link' || role === 'image';
    const text = isAddress ? atBase(given, links) : given;
    const [first] = text;
    // An address whose beginning stands in the template can be used whatever its values are.
    if (isAddress && typeof first === 'string' && isSettled(first, role, links)) return () => undefined;
    return (values) => {
      const texts = values.map(writeValue);
      const encoded = isAddress ? encodedValues(text, texts, role, links) : texts;
      let next = 0;
      const whole = text.map((part) => (typeof part === 'string' ? part : (encoded[next++] ?? ''))).join('');
      if (passes(whole, text.length === 1 ? values[0] : whole, role)) return undefined;
      const host = encoded.findIndex((value, at) => value === NO_HOST && texts[at] !== NO_HOST);
      return Math.max(host, 0);
    };
  };
};

const atBase = (text: TemplatedText, links: LinkRules): TemplatedText => {
  const [first, ...rest] = text;
  return typeof first === 'string' ? [completedStart(first, links), ...rest] : text;
};

/** Each value encoded for its part of the address, as it is where the address is written. */
const encodedValues = (
  text: TemplatedText,
  values: readonly string[],
  kind: 'link' | 'image',
  links: LinkRules,
): readonly string[] => {
  const [first] = text;
  const start = typeof first === 'string' ? first : '';
  const encoded: string[] = [];
  let before = '';
  for (const [at, part] of text.entries()) {
    if (typeof part === 'string') before += part;
    else
      encoded.push(
        encodeFor[partAt({ start, before, isLast: at === text.length - 1 }, kind, links)](values[encoded.length] ?? ''),
      );
  }
  return encoded;
};

const lossKindOf = (role: Role): LossKind => {
  if (role === 'image') return 'picture';
  return role === 'link' || role === 'color' || role === 'currency' ? role : 'setting';
};

/**
 * In: a text or HTML that came with a call, the path of its field, the values that fill it. Out: the placeholders that
 * have no value, each path once.
 */
export const missingIn = (
  text: string,
  field: string,
  { values, constants }: PreparedValues,
  { pathSegmentsMax }: Limits,
): readonly Loss[] => {
  const missing = new Map<string, Loss>();
  for (const part of parseTemplatedText(text, pathSegmentsMax, true).parts) {
    if (typeof part === 'string' || missing.size >= KEPT_LOSSES_MAX) continue;
    const [root] = part.path;
    if (isConstant(String(root)) && String(root) in constants) continue;
    const value = readPath(values, part.path);
    const path = writePath(part.path);
    if (isBlank(value)) missing.set(path, { kind: 'missing', path, field, shape: formOf(value) });
  }
  return [...missing.values()];
};

/** The type of a value and its rough form, and nothing of the value itself. */
const formOf = (value: Json | undefined, kind: LossKind = 'missing'): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'empty list' : 'list';
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'empty object' : 'object';
  if (typeof value !== 'string') return typeof value;
  const text = value.trim();
  if (text === '') return 'empty text';
  if (kind !== 'link' && kind !== 'picture') return 'text';
  if (text.startsWith('/')) return `text that begins with ${text.startsWith('//') ? '//' : '/'}`;
  if (/^https?:/i.test(text)) return 'text with http and no host that can be used';
  return /^[a-z][a-z0-9+.-]*:/i.test(text) ? 'text with another scheme' : 'text without a scheme';
};

/**
 * Reuses one scope, in which the next item takes the place of the one before: a copy for each of very many items would
 * cost more than all else.
 */
function* itemScopes(
  items: readonly Json[],
  source: Omit<Local, 'value'>,
  scope: Scope,
  { item, index, step }: Readonly<{ item: string; index: string | undefined; step: (count: number) => void }>,
): Iterator<Scope> {
  const inside = new Map(scope);
  for (let at = 0; at < items.length; at += 1) {
    step(1);
    inside.set(item, { value: items[at], written: () => `${source.written()}[${at}]`, shape: source.shape });
    if (index !== undefined) inside.set(index, { value: at, written: () => index, shape: undefined });
    yield inside;
  }
}

/** The paths of losses, each once. */
export const pathsOfLosses = (losses: readonly Loss[]): string[] => [...new Set(losses.map(({ path }) => path))];

/** The loss in a sentence whose subject is the path. */
export const lossMessage = ({ kind, field, shape }: Loss): string => `${faultOf(kind, shape)} (at ${field})`;

const faultOf = (kind: LossKind, shape: string): string => {
  switch (kind) {
    case 'missing':
      return 'is shown and has no value';
    case 'calculated':
      return 'is shown and has no value, for it is worked out from something that has none';
    case 'link':
      return `is the address of a link and none that can be used, ${shape}: an address begins with https://, http://, mailto:, tel: or sms:, or is one that linkBase or linkSchemes of the template allow`;
    case 'picture':
      return `is the address of a picture and none that can be used, ${shape}: an address begins with https:// or http://, or is that of a picture inside the mail`;
    case 'color':
      return `is a colour and none that can be used, ${shape}: a colour is written as #1f2937, rgb(31, 41, 55) or a CSS colour name`;
    case 'currency':
      return `is the currency of an amount and none that can be used, ${shape}: a currency is three letters such as EUR`;
    case 'setting':
      return `is a setting and none that can be used, ${shape}: what the mail or document has without it stands in its place`;
  }
};

/** A loss as one of several warnings. */
export const lossWarning = (loss: Loss): FieldError => ({
  field: loss.field,
  message: `{{${loss.path}}} ${faultOf(loss.kind, loss.shape)}`,
});

/** Throws VARIABLES_EMPTY where anything is lost: for a template that says `strictVariables`. */
export const refuseLosses = (losses: readonly Loss[]): void => {
  const [first] = losses;
  if (first === undefined) return;
  const errors: FieldError[] = losses.map((loss) => ({ field: variableField(loss.path), message: lossMessage(loss) }));
  const rest = losses.length === 1 ? '' : ` (and ${losses.length - 1} more, see errors)`;
  throw new DomainError(
    'VARIABLES_EMPTY',
    `The template asks for a value of everything it shows (strictVariables), and ${first.path} ${faultOf(first.kind, first.shape)}${rest}. Give it one, or give its variable a defaultValue or a fallback.`,
    { errors },
  );
};

const lookupsOf = ({ definitions, locale }: Lossy, running: () => Run): Lookups => {
  const shapes = new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));
  const substitute = once((substitution: Substitution) => substituterOf(substitution, locale));

  const placeOf = (path: Path): Place => {
    const name = String(path[0]);
    const declared = shapeAt(shapes.get(name), path);
    return { path, name, isConstant: isConstant(name), declared, root: undefined, shape: undefined };
  };
  const valueOf = ({ path, name, isConstant: isOfService }: Place, scope: Scope): Json | undefined => {
    const { budget, constants, values } = running();
    spendChars(budget, PATH_CHARS);
    const local = scope.get(name);
    if (local !== undefined) return readPath(local.value, path, 1);
    return isOfService ? (path.length === 1 ? constants[name as Constant] : undefined) : readPath(values, path);
  };
  const shapeOfPlace = (place: Place, scope: Scope): Shape | undefined => {
    const local = scope.get(place.name);
    if (local === undefined) return place.declared;
    if (place.root !== local.shape) {
      place.root = local.shape;
      place.shape = shapeAt(local.shape, place.path);
    }
    return place.shape;
  };
  const written = ({ path, name }: Place, scope: Scope): string => {
    const local = scope.get(name);
    return local === undefined ? writePath(path) : local.written() + writeSteps(path.slice(1));
  };
  const isMissed = (place: Place, scope: Scope): boolean =>
    isBlank(valueOf(place, scope)) && shapeOfPlace(place, scope)?.substitution?.fallback === undefined;
  const shownOf = (place: Place, scope: Scope): Json | undefined => {
    const substitution = shapeOfPlace(place, scope)?.substitution;
    const value = valueOf(place, scope);
    return substitution === undefined ? value : substitute(substitution)(value);
  };
  return { placeOf, valueOf, shapeOfPlace, written, isMissed, shownOf };
};

type Reading = Readonly<{
  partsOf: (text: string) => TemplatedText;
  placeOf: (path: Path) => Place;
  read: (place: Place, scope: Scope) => Json | undefined;
}>;

/** A string that is one placeholder is the value behind it, with its type; other texts are filled. */
const jsonValueOf = (
  value: Json | undefined,
  { partsOf, placeOf, read }: Reading,
): ((scope: Scope, budget: Budget) => Json | undefined) => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return () => value;
  const parts = partsOf(value).map((part) => (typeof part === 'string' ? part : placeOf(part.path)));
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return (scope) => read(only, scope);
  return (scope, budget) => {
    const written = parts.map((part) => {
      const text = typeof part === 'string' ? part : writeValue(read(part, scope));
      spendChars(budget, text.length);
      return text;
    });
    return written.join('');
  };
};
