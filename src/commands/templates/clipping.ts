/** Warns of mails that are so large that Gmail cuts them off. */
import type { CommandDeps } from '../core/deps.js';
import { openBudget, type Budget } from '../../domain/rendering/budget.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { MaybePromise } from '../../domain/core/maybe-promise.js';
import type { CompiledEmail, EmailInput } from '../../domain/ports/renderer.js';
import { clippingWarnings } from './clipped-size.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { emailInLanguage } from '../../domain/rendering/languages.js';
import { emptyCompany } from '../../domain/teams/state.js';
import type { EmailTemplateContent } from '../../domain/rendering/content.js';
import { nextTurn } from '../../shared/next-turn.js';

/** What measuring mails may cost: a share of the budget of a call. */
export const measuringBudget = ({ limits }: Pick<CommandDeps, 'limits'>): Budget => {
  const { workCharsMax, workElementsMax, workOperationsMax, workModulesMax, previewInlineShare } = limits;
  return openBudget({
    workCharsMax: workCharsMax / previewInlineShare,
    workElementsMax: workElementsMax / previewInlineShare,
    workOperationsMax: workOperationsMax / previewInlineShare,
    workModulesMax: workModulesMax / previewInlineShare,
  });
};

/** In: a compiled template and what it is filled with. Out: what is to be told of the size of that mail; nothing where it is not to be had within the budget. */
export const sizeWarnings = async (
  compiled: MaybePromise<CompiledEmail>,
  email: EmailInput,
  budget: Budget,
): Promise<readonly FieldError[]> => {
  try {
    const render = await compiled;
    return clippingWarnings(Buffer.byteLength(render({ ...email, budget }).html));
  } catch (fault) {
    // What cannot be rendered with these values is told where it is sent.
    if (fault instanceof DomainError) return [];
    throw fault;
  }
};

/**
 * Compiles a template that is to be saved in each of its languages, the own one first. Out: the same of its mail in each of them, with the
 * defaults of its variables. Rejects where it cannot be compiled.
 */
export const compileAndMeasure = async (
  { renderer, limits }: Pick<CommandDeps, 'renderer' | 'limits'>,
  content: EmailTemplateContent,
  at: string,
): Promise<readonly FieldError[]> => {
  const { variables, translations = {} } = content;
  const email = { variables: previewVariables(variables, {}), environment: { at, company: emptyCompany } };
  const budget = measuringBudget({ limits });
  const warnings: FieldError[] = [];
  for (const locale of [undefined, ...Object.keys(translations)]) {
    const compiled = await renderer.compileEmailInTurns(emailInLanguage(content, locale === undefined ? undefined : { locale }));
    for (const { field, message } of await sizeWarnings(compiled, email, budget))
      warnings.push({ field: locale === undefined ? field : `translations.${locale}`, message });
    await nextTurn();
  }
  return warnings;
};
