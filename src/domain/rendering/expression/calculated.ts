/** Calculated variables: what they depend on, in which order they are calculated, and the values they add to a call. */
import { DomainError, invalidAt } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { constants as constantNames } from '../scope/constants.js';
import { shorten } from '../scope/path.js';
import { compileVariableCheck } from '../fill/variables.js';
import { compileExpression, type CompiledExpression, type Moment } from './compile.js';
import { ExpressionError } from './values.js';
import type { ExpressionLimits } from '../../core/limits.js';

/** A calculated variable and its expression. */
export type Calculated = Readonly<{ definition: VariableDefinition; expression: CompiledExpression }>;

/** What is wrong with the expression of `definitions[index]`; the message goes on after the name of the field. */
type CalculatedFault = Readonly<{ index: number; message: string }>;

export const isCalculated = ({ isCalculated: flag }: VariableDefinition): boolean => flag === true;

/**
 * In: definitions whose names have been checked. Out: the calculated ones so that each comes after all it reads, else in the
 * order written; and what is wrong: an expression that is missing or cannot be compiled, a name that nothing declares, a
 * circle (`a → b → a`). Where there are faults the order is of no use.
 */
export const orderCalculated = (
  definitions: readonly VariableDefinition[],
  limits: ExpressionLimits,
): Readonly<{ ordered: readonly Calculated[]; faults: readonly CalculatedFault[] }> => {
  const names = new Set<string>([...definitions.map(({ name }) => name), ...constantNames]);
  const faults: CalculatedFault[] = [];
  const compiled = new Map<string, Calculated & { readonly index: number }>();
  let chars = 0;
  definitions.forEach((definition, index) => {
    if (!isCalculated(definition)) return;
    const before = chars;
    chars += typeof definition.expression === 'string' ? definition.expression.length : 0;
    if (chars > limits.expressionsTotalCharsMax) {
      if (before <= limits.expressionsTotalCharsMax)
        faults.push({
          index,
          message: `brings the expressions of the template to ${chars} characters together, the maximum is ${limits.expressionsTotalCharsMax}`,
        });
      return;
    }
    const made = compileOne(definition, names, limits);
    if (typeof made === 'string') faults.push({ index, message: made });
    else compiled.set(definition.name, { definition, expression: made, index });
  });
  const { ordered, circles } = inOrder(compiled);
  return { ordered, faults: [...faults, ...circles] };
};

type Compiled = ReadonlyMap<string, Calculated & Readonly<{ index: number }>>;

const CIRCLE_CHARS_MAX = 300;

/** Depth first; a variable met again while what it reads is still open closes a circle. One circle is named for each variable. */
const inOrder = (compiled: Compiled): Readonly<{ ordered: readonly Calculated[]; circles: readonly CalculatedFault[] }> => {
  const ordered: Calculated[] = [];
  const circles = new Map<number, CalculatedFault>();
  const done = new Set<string>();
  const open: string[] = [];
  const visit = (name: string): void => {
    const found = compiled.get(name);
    if (found === undefined || done.has(name)) return;
    const from = open.indexOf(name);
    if (from >= 0) {
      const { index } = found;
      if (!circles.has(index))
        circles.set(index, { index, message: `depends on itself: ${shorten([...open.slice(from), name].join(' → '), CIRCLE_CHARS_MAX)}` });
      return;
    }
    open.push(name);
    found.expression.reads.forEach(visit);
    open.pop();
    done.add(name);
    ordered.push(found);
  };
  for (const name of compiled.keys()) visit(name);
  return { ordered, circles: [...circles.values()] };
};

const compileOne = (
  { expression }: VariableDefinition,
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
type CalculationMoment = Pick<Moment, 'at' | 'locale' | 'timeZone' | 'constants' | 'budget'>;

/**
 * In: the definitions of a checked template. Out: a function from the checked values of a call to the same values with the
 * calculated ones added. A calculated variable is what its expression says: a value that the call gives under its name is
 * neither read nor kept. Its default stands in where the expression comes to nothing (undefined or null), and where a text is made with
 * something that is none, such as a missing name: no reader is shown "undefined". It throws
 * VALIDATION_ERROR naming the variable where an expression fails or comes to another type than the definition declares, and
 * TEMPLATE_INVALID at once where the definitions were not checked.
 */
export const compileCalculation = (definitions: readonly VariableDefinition[], limits: ExpressionLimits): Calculation => {
  const { ordered, faults } = orderCalculated(definitions, limits);
  const [fault] = faults;
  if (fault !== undefined) {
    const errors = faults.map(({ index, message }) => ({ field: `variables[${index}].expression`, message }));
    throw new DomainError('TEMPLATE_INVALID', `the template is not valid: variables[${fault.index}].expression ${fault.message}`, {
      errors,
    });
  }
  if (ordered.length === 0) return (values) => values;
  const steps = ordered.map(({ definition, expression }) => ({
    name: definition.name,
    expression,
    check: compileVariableCheck([definition]),
  }));
  return (values, moment) => {
    const all: Record<string, Json> = { ...values };
    for (const { name } of steps) if (Object.hasOwn(all, name)) delete all[name];
    const shared: Moment = { ...moment, resultSize: { charsLeft: limits.expressionResultsCharsMax }, isWholeText: true };
    for (const { name, expression, check } of steps) {
      const value = named(name, () => {
        const result = expression.evaluate(all, shared);
        return check(result === undefined ? {} : { [name]: result })[name];
      });
      if (value !== undefined) all[name] = value;
    }
    return all;
  };
};

/** Errors name the variable, and say that it is the template that made the value. */
const named = <T>(name: string, calculate: () => T): T => {
  try {
    return calculate();
  } catch (error) {
    if (error instanceof ExpressionError) throw failed(name, `cannot be calculated: its expression ${error.message}`, error);
    if (!(error instanceof DomainError) || error.code === 'WORK_LIMIT_EXCEEDED') throw error;
    const [first] = error.details.errors ?? [];
    throw failed(
      first === undefined ? name : first.field.slice('variables.'.length),
      `${first?.message ?? 'is not valid'}; the template calculates it`,
    );
  }
};

const failed = (path: string, message: string, cause?: ExpressionError): DomainError =>
  invalidAt(`variables.${path}`, message, cause && { reason: cause.reason, at: cause.at });
