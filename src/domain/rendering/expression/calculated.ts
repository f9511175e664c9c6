/**
 * Calculated variables and calculated members of items: what they depend on, in which order they are calculated, and
 * the values they add to a call.
 */
import { DomainError, invalidAt } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { constants as constantNames } from '../scope/constants.js';
import { isArray, shorten, variableField, writePath, writeSteps } from '../scope/path.js';
import { shapeOf, type Shape } from '../scope/shapes.js';
import { compileShapeCheck, compileValueTest, compileVariableCheck } from '../fill/variables.js';
import { spendOperations } from '../budget.js';
import { compileExpression, type CompiledExpression, type Moment } from './compile.js';
import { readMembers } from './member-reads.js';
import { ExpressionError } from './values.js';
import type { ExpressionLimits } from '../../core/limits.js';

/** A step of the way to a member: a name, or EACH, which no member can be called, for all items of an array. */
const EACH = ' ';

/** A calculated member of items, `lines[].total`. */
type CalculatedMember = Readonly<{
  /** From the value of the variable to the member; the last one is its name. */
  steps: readonly string[];
  source: string;
  /** The path of the member in the template. */
  field: string;
  shape: Shape;
  /** The item that `item` stands for in the expression. */
  item: Shape;
}>;

/** A calculated variable, or a calculated member of the items of `definition`, and its expression. */
export type Calculated = Readonly<{
  definition: VariableDefinition;
  member?: CalculatedMember;
  expression: CompiledExpression;
}>;

/**
 * Fault of the expression at `field`, which is `definitions[index]` or a member of it; the message goes on after the
 * name of the field.
 */
type CalculatedFault = Readonly<{ index: number; field: string; message: string }>;

export const isCalculated = ({ isCalculated: flag }: VariableDefinition): boolean => flag === true;

/** True for a variable that is calculated, or whose items have calculated members. */
export const calculates = (definition: VariableDefinition): boolean =>
  isCalculated(definition) ||
  (definition.schema !== undefined && calculatedMembers(shapeOf(definition), '').length > 0);

/**
 * In: what is known of the value of a variable, and the field of its definition. Out: the calculated members of its
 * items, at any depth.
 */
export const calculatedMembers = (root: Shape, definitionField: string): readonly CalculatedMember[] => {
  const found: CalculatedMember[] = [];
  const walk = (shape: Shape, at: readonly string[], field: string, item: Shape | undefined): void => {
    for (const [name, member] of shape.members) {
      const [steps, inside] = [[...at, name], `${field}.properties${writeSteps([name])}`];
      if (member.expression !== undefined && item !== undefined)
        found.push({ steps, source: member.expression, field: inside, shape: member, item });
      walk(member, steps, inside, item);
    }
    if (shape.item !== undefined) walk(shape.item, [...at, EACH], `${field}.itemSchema`, shape.item);
  };
  walk(root, [], `${definitionField}.schema`, undefined);
  return found;
};

/** A calculated value, before its expression is compiled. */
type Wanted = Pick<CalculatedFault, 'index' | 'field'> &
  Readonly<{ definition: VariableDefinition; member?: CalculatedMember; source: string | undefined }>;

/** `total`, `order.lines[].total`. */
const keyOf = (name: string, steps: readonly string[] = []): string =>
  writePath([name]) + steps.map((step) => (step === EACH ? '[]' : writeSteps([step]))).join('');

/** Members go first: only an expression that they read themselves is calculated before them. */
const wantedOf = (
  definitions: readonly VariableDefinition[],
  shapes: ReadonlyMap<string, Shape>,
): readonly Wanted[] => {
  const members: Wanted[] = [];
  const variables: Wanted[] = [];
  definitions.forEach((definition, index) => {
    const field = `variables[${index}]`;
    if (isCalculated(definition)) variables.push({ definition, index, field, source: definition.expression });
    const shape = shapes.get(definition.name);
    if (shape === undefined || definition.schema === undefined) return;
    for (const member of calculatedMembers(shape, field))
      members.push({ definition, index, field: member.field, member, source: member.source });
  });
  return [...members, ...variables];
};

/**
 * In: definitions whose names have been checked. Out: the calculated values, each after all that it reads, otherwise
 * members in the order written, then variables; and the faults: an expression that is missing or cannot be compiled, a
 * name that nothing declares, a circle (`a → b → a`). If there are faults, ignore the order.
 */
export const orderCalculated = (
  definitions: readonly VariableDefinition[],
  limits: ExpressionLimits & Readonly<{ templateVariablesMax?: number }>,
): Readonly<{ ordered: readonly Calculated[]; faults: readonly CalculatedFault[] }> => {
  const shapes = new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));
  const names = new Set<string>([...definitions.map(({ name }) => name), ...constantNames]);
  const faults: CalculatedFault[] = [];
  const compiled = new Map<string, Compiled>();
  let chars = 0;
  const wanted = wantedOf(definitions, shapes);
  const { templateVariablesMax = Infinity } = limits;
  wanted.forEach((one, at) => {
    const { definition, index, field, member, source } = one;
    if (at === templateVariablesMax)
      faults.push({
        index,
        field,
        message: `is one of ${wanted.length} calculated variables and members, the maximum is ${at}`,
      });
    if (at >= templateVariablesMax) return;
    const before = chars;
    chars += typeof source === 'string' ? source.length : 0;
    if (chars > limits.expressionsTotalCharsMax) {
      if (before <= limits.expressionsTotalCharsMax)
        faults.push({
          index,
          field,
          message: `brings the expressions of the template to ${chars} characters together, the maximum is ${limits.expressionsTotalCharsMax}`,
        });
      return;
    }
    if (member?.steps.includes('__proto__') === true)
      return void faults.push({ index, field, message: 'cannot make or reach a member of the name "__proto__"' });
    const made = compileOne(source, member === undefined ? names : new Set([...names, 'item', 'index']), limits);
    if (typeof made === 'string') faults.push({ index, field, message: made });
    else compiled.set(keyOf(definition.name, member?.steps), { ...one, expression: made });
  });
  const { ordered, circles } = inOrder(compiled, shapes);
  return { ordered, faults: [...faults, ...circles] };
};

type Compiled = Wanted & Readonly<{ expression: CompiledExpression }>;

const CIRCLE_CHARS_MAX = 300;

/** Answers the keys of what must be calculated before. */
const needsOf = (
  compiled: ReadonlyMap<string, Compiled>,
  shapes: ReadonlyMap<string, Shape>,
): ((one: Compiled) => Iterable<string>) => {
  const keys = new Map<Shape, string>();
  for (const [key, { member }] of compiled) if (member !== undefined) keys.set(member.shape, key);
  return ({ definition, member, source, expression }) => {
    const needs = new Set(expression.reads);
    if (member !== undefined) {
      // A variable named so is hidden by the item.
      needs.delete('item');
      needs.delete('index');
      needs.add(keyOf(definition.name));
      member.steps.forEach((_, at) => void (at > 0 && needs.add(keyOf(definition.name, member.steps.slice(0, at)))));
    }
    if (keys.size > 0 && source !== undefined)
      readMembers(source, member === undefined ? shapes : insideOf(member.item, shapes), ({ shape }, name) => {
        const read = shape.members.get(name);
        const key = read && keys.get(read);
        if (key !== undefined) needs.add(key);
      });
    return needs;
  };
};

/** Shapes that the expression of a member reads: an item hides variables of its names. */
const insideOf = (item: Shape, shapes: ReadonlyMap<string, Shape>): ReadonlyMap<string, Shape> => {
  const inside = new Map(shapes).set('item', item);
  inside.delete('index');
  return inside;
};

/**
 * Depth first; one that is met again while what it reads is still open closes a circle. One circle is named for each.
 */
const inOrder = (
  compiled: ReadonlyMap<string, Compiled>,
  shapes: ReadonlyMap<string, Shape>,
): Readonly<{ ordered: readonly Calculated[]; circles: readonly CalculatedFault[] }> => {
  const needs = needsOf(compiled, shapes);
  const ordered: Calculated[] = [];
  const circles = new Map<Compiled, CalculatedFault>();
  const done = new Set<string>();
  const open: string[] = [];
  const visit = (key: string): void => {
    const found = compiled.get(key);
    if (found === undefined || done.has(key)) return;
    const from = open.indexOf(key);
    if (from >= 0) {
      const { index, field } = found;
      if (!circles.has(found))
        circles.set(found, {
          index,
          field,
          message: `depends on itself: ${shorten([...open.slice(from), key].join(' → '), CIRCLE_CHARS_MAX)}`,
        });
      return;
    }
    open.push(key);
    for (const need of needs(found)) visit(need);
    open.pop();
    done.add(key);
    ordered.push(found);
  };
  for (const key of compiled.keys()) visit(key);
  return { ordered, circles: [...circles.values()] };
};

const compileOne = (
  expression: string | undefined,
  names: ReadonlySet<string>,
  limits: ExpressionLimits,
): CompiledExpression | string => {
  if (expression === undefined) return 'is required where isCalculated is true';
  if (typeof expression !== 'string') return 'must be text';
  try {
    return compileExpression(expression, { names, limits });
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
};

type Calculation = (values: JsonObject, moment: CalculationMoment) => JsonObject;

/** The moment of one call; its results share one size. */
type CalculationMoment = Pick<Moment, 'at' | 'locale' | 'timeZone' | 'constants' | 'budget' | 'setsApart'>;

/**
 * In: the definitions of a checked template. Out: a function from the checked values of a call to the same values with
 * the calculated ones added; arrays and items that get members are copied, never changed. A calculated variable is what
 * its expression says: a value that the call gives under its name is neither read nor kept. Its default stands in where
 * the expression comes to nothing (undefined or null), and where a text is made with something that is none, such as a
 * missing name: no reader is shown "undefined". It throws VALIDATION_ERROR naming the variable where an expression
 * fails or comes to another type than the definition declares, and TEMPLATE_INVALID at once where the definitions were
 * not checked.
 */
export const compileCalculation = (
  definitions: readonly VariableDefinition[],
  limits: ExpressionLimits,
): Calculation => {
  const { ordered, faults } = orderCalculated(definitions, limits);
  const [fault] = faults;
  if (fault !== undefined) {
    const errors = faults.map(({ field, message }) => ({ field: `${field}.expression`, message }));
    throw new DomainError('TEMPLATE_INVALID', `the template is not valid: ${fault.field}.expression ${fault.message}`, {
      errors,
    });
  }
  if (ordered.length === 0) return (values) => values;
  const steps = ordered.map((one) =>
    one.member === undefined ? variableStep(one) : memberStep(one.definition.name, one.member, one.expression),
  );
  const given = ordered.flatMap(({ definition, member }) => (member === undefined ? [definition.name] : []));
  return (values, moment) => {
    const all: Record<string, Json> = { ...values };
    for (const name of given) if (Object.hasOwn(all, name)) delete all[name];
    const shared: Moment = {
      ...moment,
      resultSize: { charsLeft: limits.expressionResultsCharsMax },
      isWholeText: true,
    };
    const copies = new Set<Json>();
    for (const step of steps) step({ all, shared, copies });
    return all;
  };
};

/** The values of one call while they are calculated; `copies` are its own arrays and objects, which may be changed. */
type Calculating = Readonly<{ all: Record<string, Json>; shared: Moment; copies: Set<Json> }>;
type CalculationStep = (calculating: Calculating) => void;

const variableStep = ({ definition, expression }: Calculated): CalculationStep => {
  const { name } = definition;
  const checked = compileResultCheck(name, shapeOf(definition), compileVariableCheck([definition]));
  return ({ all, shared }) => {
    let value: Json | undefined;
    try {
      value = checked(expression.evaluate(all, shared));
    } catch (error) {
      throw named('', name, error);
    }
    if (value !== undefined) all[name] = value;
  };
};

/**
 * Calculates the member for each item that has its place; an item that is none, or lacks the object around the member,
 * stays as it is.
 */
const memberStep = (
  variable: string,
  { steps, shape }: CalculatedMember,
  expression: CompiledExpression,
): CalculationStep => {
  const name = steps.at(-1) ?? '';
  const checked = compileResultCheck(name, shape, compileShapeCheck([{ name, shape }]));
  return ({ all, shared, copies }) => {
    const scope: Record<string, Json> = { ...all };
    const places: number[] = [];
    const evaluate = (): Json | undefined => {
      try {
        return checked(expression.evaluate(scope, shared));
      } catch (error) {
        throw named(pathOf(variable, steps, places), name, error);
      }
    };
    const walk = (value: Json, depth: number): Json => {
      const step = steps[depth] ?? '';
      if (step === EACH) {
        if (!isArray(value)) return value;
        const items = copyOnce(value, copies) as Json[];
        for (const [at, item] of items.entries()) {
          if (shared.budget !== undefined) spendOperations(shared.budget, 1);
          places.push(at);
          [scope['item'], scope['index']] = [item, at];
          items[at] = walk(item, depth + 1);
          places.pop();
        }
        return items;
      }
      if (!isJsonObject(value)) return value;
      if (depth < steps.length - 1) {
        const inner = Object.hasOwn(value, step) ? value[step] : undefined;
        return inner === undefined ? value : Object.assign(copyOnce(value, copies), { [step]: walk(inner, depth + 1) });
      }
      const owner = copyOnce(value, copies) as Record<string, Json>;
      delete owner[step];
      const result = evaluate();
      if (result !== undefined) owner[step] = result;
      return owner;
    };
    const value = Object.hasOwn(all, variable) ? all[variable] : undefined;
    if (value !== undefined) all[variable] = walk(value, 0);
  };
};

/** The check of a result by itself. A result as declared, which nearly every one is, needs no object around it. */
const compileResultCheck = (
  name: string,
  shape: Shape,
  check: (values: JsonObject) => JsonObject,
): ((result: Json | undefined) => Json | undefined) => {
  const isAsDeclared = compileValueTest(shape);
  return (result) => (isAsDeclared(result) ? result : check(result === undefined ? {} : { [name]: result })[name]);
};

/** The array or object itself where it is a copy already. */
const copyOnce = <T extends readonly Json[] | JsonObject>(value: T, copies: Set<Json>): T => {
  if (copies.has(value)) return value;
  const copy = (isArray(value) ? [...value] : { ...value }) as T;
  copies.add(copy);
  return copy;
};

/** `order.lines[2]`: where the owner of a member stands. */
const pathOf = (variable: string, steps: readonly string[], places: readonly number[]): string => {
  let at = 0;
  return (
    writePath([variable]) +
    steps
      .slice(0, -1)
      .map((step) => (step === EACH ? `[${places[at++]}]` : writeSteps([step])))
      .join('')
  );
};

/**
 * The fault of a calculation with the name of the variable, or of the member and its owner, which says that it is the
 * template that made the value.
 */
const named = (owner: string, name: string, error: unknown): unknown => {
  const within = (path: string): string =>
    variableField(owner === '' ? path : owner + (path.startsWith('[') ? '' : '.') + path);
  if (error instanceof ExpressionError)
    return failed(within(writePath([name])), `cannot be calculated: its expression ${error.message}`, error);
  if (!(error instanceof DomainError) || error.code === 'WORK_LIMIT_EXCEEDED') return error;
  const [first] = error.details.errors ?? [];
  return failed(
    within(first === undefined ? writePath([name]) : first.field.replace(/^variables\.?/, '')),
    `${first?.message ?? 'is not valid'}; the template calculates it`,
  );
};

const failed = (field: string, message: string, cause?: ExpressionError): DomainError =>
  invalidAt(field, message, cause && { reason: cause.reason, at: cause.at });
