/** Warns of mails that are so large that Gmail cuts them off. */
import type { CommandDeps } from './deps.js';
import { openBudget, type Budget } from '../domain/budget.js';
import { DomainError, type FieldError } from '../domain/errors.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { CompiledEmail, EmailInput } from '../domain/ports/renderer.js';
import { clippingWarnings } from '../domain/rendering/clipping.js';
import { previewVariables } from '../domain/rendering/fill/variables.js';
import type { CallLanguage } from '../domain/rendering/languages/translations.js';
import { emptyCompany } from '../domain/team/state.js';
import type { EmailTemplateContent } from '../domain/template/schema.js';
import { nextTurn } from '../shared/next-turn.js';

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

type Compiled = (language: CallLanguage | undefined) => MaybePromise<CompiledEmail>;

/** In: a template that is saved. Out: the same of its mail in each language, with the defaults of its variables; the template's own language comes first to its share. */
export const sizeWarningsOf = async (
  deps: Pick<CommandDeps, 'limits'>,
  { variables, translations = {} }: EmailTemplateContent,
  compiledIn: Compiled,
  at: string,
): Promise<readonly FieldError[]> => {
  const email = { variables: previewVariables(variables, {}), environment: { at, company: emptyCompany } };
  const budget = measuringBudget(deps);
  const warnings = [...(await sizeWarnings(compiledIn(undefined), email, budget))];
  for (const locale of Object.keys(translations)) {
    await nextTurn();
    const large = await sizeWarnings(compiledIn({ locale }), email, budget);
    warnings.push(...large.map(({ message }) => ({ field: `translations.${locale}`, message })));
  }
  return warnings;
};
