/** The paths of a template that stay empty for some variables: what previews and dry runs tell. */
import type { AttachmentTemplateContent } from '../../domain/rendering/document-content.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { DomainError } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/environment.js';
import { compilePreparation } from '../../domain/rendering/fill/prepare-values.js';
import { emptyPathsOf } from '../../domain/rendering/paths/empty.js';
import { partsOfDocument, partsOfEmail } from '../../domain/rendering/paths/walk.js';
import { DEFAULT_LOCALE, DEFAULT_TIME_ZONE, type EmailTemplateContent } from '../../domain/rendering/content.js';

export type EmptyPaths = (variables: JsonObject, environment: RenderEnvironment) => readonly string[];

/**
 * In: a checked template. Out: a function from the variables of a call to the paths that stay empty, as far as a share of the budget of a
 * call reaches. None where the variables are refused: then there is nothing that a reader would see.
 */
export const emptyPathsIn = (content: EmailTemplateContent | AttachmentTemplateContent, limits: Limits): EmptyPaths => {
  const { variables: definitions, locale = DEFAULT_LOCALE, timeZone = DEFAULT_TIME_ZONE } = content;
  const parts = isDocument(content) ? partsOfDocument(content) : partsOfEmail(content);
  const prepare = compilePreparation(definitions, { locale, timeZone }, limits);
  return (variables, environment) => {
    const budget = openBudget({ ...limits, workCharsMax: limits.workCharsMax / limits.previewInlineShare });
    const found = new Set<string>();
    try {
      const prepared = prepare(variables, environment, budget);
      return emptyPathsOf(parts, { ...prepared, definitions, segmentsMax: limits.pathSegmentsMax, budget, found });
    } catch (fault) {
      if (fault instanceof DomainError) return [...found];
      throw fault;
    }
  };
};

const isDocument = (content: EmailTemplateContent | AttachmentTemplateContent): content is AttachmentTemplateContent =>
  !('subject' in content);
