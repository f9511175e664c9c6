/** Conversion of a mail of another service to a template, which is shown and not saved. */
import type { ConvertedTemplate, ConvertTemplateRequest } from '../../api/templates/convert.js';
import { DomainError } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import { convertTemplate as convert } from '../../domain/templates/import/convert.js';
import type { Caller } from '../core/caller.js';
import type { TemplateNeeds } from './needs.js';
import { previewUnsavedTemplate } from './unsaved.js';

/**
 * In: a source with sample values. Out: its template, both rendered, and what became of the parts of the source. Rejects
 * with TEMPLATE_INVALID where no template can be made of it, and with what a preview rejects with.
 */
export const convertTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  { variables, ...source }: ConvertTemplateRequest,
  signal: AbortSignal,
): Promise<ConvertedTemplate> => {
  const made = convert({ ...source, variables: variables as JsonObject | undefined }, deps.limits);
  const request = { template: made.template, variables: made.samples };
  const { subject, html, text, errors } = await previewUnsavedTemplate(deps, caller, request, signal);
  const [fault] = errors.filter(({ field }) => !field.startsWith('variables.'));
  if (fault !== undefined) {
    const message = `makes a template that cannot be shown: ${fault.field} ${fault.message}`;
    throw new DomainError('TEMPLATE_INVALID', `The source cannot be converted: it ${message}.`, {
      errors: [{ field: 'source', message }],
    });
  }
  return { ...made, notes: [...made.notes], preview: { subject, html, text } };
};
