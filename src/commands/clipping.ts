/** Warns of mails that are so large that Gmail cuts them off. */
import type { CommandDeps } from './deps.js';
import { openBudget } from '../domain/budget.js';
import { DomainError, type FieldError } from '../domain/errors.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { CompiledEmail, EmailInput } from '../domain/ports/renderer.js';
import { clippingWarnings } from '../domain/rendering/clipping.js';

/** In: a compiled template and what it is filled with. Out: what is to be told of the size of that mail; nothing where it is not to be had within a share of the budget of a call. */
export const sizeWarnings = async (
  { limits }: Pick<CommandDeps, 'limits'>,
  compiled: MaybePromise<CompiledEmail>,
  email: EmailInput,
): Promise<readonly FieldError[]> => {
  const { workCharsMax, workElementsMax, workOperationsMax, workModulesMax, previewInlineShare } = limits;
  const budget = openBudget({
    workCharsMax: workCharsMax / previewInlineShare,
    workElementsMax: workElementsMax / previewInlineShare,
    workOperationsMax: workOperationsMax / previewInlineShare,
    workModulesMax: workModulesMax / previewInlineShare,
  });
  try {
    const render = await compiled;
    return clippingWarnings(Buffer.byteLength(render({ ...email, budget }).html));
  } catch (fault) {
    // What cannot be rendered with these values is told where it is sent.
    if (fault instanceof DomainError) return [];
    throw fault;
  }
};
