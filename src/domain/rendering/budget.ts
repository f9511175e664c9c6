/** What one call may spend on filling, rendering, sanitising and calculating. It is drawn on while the work is done, so no input makes the work larger. */
import { DomainError } from '../core/errors.js';
import type { Limits } from '../core/limits.js';

type WorkLimits = Pick<Limits, 'workCharsMax' | 'workElementsMax' | 'workOperationsMax' | 'workModulesMax'>;
type Unit = 'characters' | 'elements' | 'operations' | 'modules';

/** One for each call; everything that the call does takes from the same counters. */
export type Budget = {
  charsLeft: number;
  elementsLeft: number;
  operationsLeft: number;
  modulesLeft: number;
  readonly max: Readonly<Record<Unit, number>>;
};

export const openBudget = ({ workCharsMax, workElementsMax, workOperationsMax, workModulesMax }: WorkLimits): Budget => ({
  charsLeft: workCharsMax,
  elementsLeft: workElementsMax,
  operationsLeft: workOperationsMax,
  modulesLeft: workModulesMax,
  max: { characters: workCharsMax, elements: workElementsMax, operations: workOperationsMax, modules: workModulesMax },
});

/** For what was accepted or saved before: it was bounded then, and must come out the same under tighter limits. */
export const openUnlimitedBudget = (): Budget =>
  openBudget({ workCharsMax: Infinity, workElementsMax: Infinity, workOperationsMax: Infinity, workModulesMax: Infinity });

/** Takes the length of a text that was read or written. */
export const spendChars = (budget: Budget, chars: number): void => {
  budget.charsLeft -= chars;
  if (budget.charsLeft < 0) throw exceeded(budget, 'characters');
};

/** Takes what stands in HTML that an author wrote. */
export const spendElements = (budget: Budget, elements: number): void => {
  budget.elementsLeft -= elements;
  if (budget.elementsLeft < 0) throw exceeded(budget, 'elements');
};

/** Takes operations of expressions. */
export const spendOperations = (budget: Budget, operations: number): void => {
  budget.operationsLeft -= operations;
  if (budget.operationsLeft < 0) throw exceeded(budget, 'operations');
};

/** Takes modules of QR codes, before they are laid. */
export const spendModules = (budget: Budget, modules: number): void => {
  budget.modulesLeft -= modules;
  if (budget.modulesLeft < 0) throw exceeded(budget, 'modules');
};

const written = new Intl.NumberFormat('en-US');

const advice: Readonly<Record<Unit, string>> = {
  characters: 'characters of values are filled in, or of tags are read: give shorter values, show them less often, close every tag',
  elements:
    'tags, placeholders and written cells of tables (attributes and entities count a quarter) stand in the template: write less of them, or use components',
  operations: 'operations are taken by calculated variables together: calculate less, or pass calculated values',
  modules:
    'modules (black and white squares) stand in the QR codes of the mail: show fewer codes, shorter values, or a lower error correction',
};

const exceeded = ({ max }: Budget, unit: Unit): DomainError =>
  new DomainError('WORK_LIMIT_EXCEEDED', `The call is too much work: more than ${written.format(max[unit])} ${advice[unit]}.`, {
    relatedInfo: { unit, max: max[unit] },
  });
