/** From the variables of a call to the values that a template is rendered with: checked, completed, calculated. */
import type { Budget } from '../budget.js';
import type { JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import type { RenderEnvironment } from '../scope/environment.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { constantsOf, type Constant } from '../scope/constants.js';
import { compileCalculation, isCalculated } from '../expression/calculated.js';
import type { Language } from '../scope/formats.js';
import { compileVariableCheck } from './variables.js';

export type PreparedValues = Readonly<{
  /** The call's own values, the defaults of those it left out, and the calculated ones. */
  values: JsonObject;
  constants: Readonly<Record<Constant, string | number>>;
}>;

export type Preparation = (variables: JsonObject, environment: RenderEnvironment, budget: Budget) => PreparedValues;

/**
 * In: the definitions of a checked template, its language. Out: a function for its calls. It throws VALIDATION_ERROR with
 * `errors` (`variables.order.total`) where a value is missing or of the wrong type, or a calculation fails. What a call
 * gives under the name of a calculated variable is left out. A template that calculates nothing pays nothing for it.
 */
export const compilePreparation = (definitions: readonly VariableDefinition[], language: Language, limits: Limits): Preparation => {
  const constantsAt = constantsOf(language);
  if (!definitions.some(isCalculated)) {
    const check = compileVariableCheck(definitions);
    return (variables, environment) => ({ values: check(variables), constants: constantsAt(environment) });
  }
  const check = compileVariableCheck(definitions.filter((definition) => !isCalculated(definition)));
  const calculate = compileCalculation(definitions, limits);
  return (variables, environment, budget) => {
    const constants = constantsAt(environment);
    return { values: calculate(check(variables), { at: environment.at, constants, budget }), constants };
  };
};
