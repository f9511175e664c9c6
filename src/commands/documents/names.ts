/** Names of the files of one call: filled from its variables within its budget, made safe and short enough. */
import { invalidAttachments } from './request.js';
import type { AttachmentTemplateContent, OutputFormat } from '../../domain/rendering/document-content.js';
import type { Budget } from '../../domain/rendering/budget.js';
import { safeFilename } from '../../domain/mime/filename.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/environment.js';
import { compilePreparation } from '../../domain/rendering/fill/prepare-values.js';
import { hasPlaceholder } from '../../domain/rendering/fill/templated-text.js';
import { fillText } from '../../domain/rendering/fill/text.js';
import { constantsOf } from '../../domain/rendering/scope/constants.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import type { Language } from '../../domain/rendering/scope/formats.js';
import { DEFAULT_LOCALE, DEFAULT_TIME_ZONE } from '../../domain/rendering/content.js';
import { firstChars } from '../../shared/text.js';

/** The media types of made documents. */
export const documentTypes: Readonly<Record<OutputFormat, string>> = {
  pdf: 'application/pdf',
  excel: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** What names are filled from. */
type Filling = Readonly<{
  variables: JsonObject;
  /** Of the call. */
  language?: CallLanguage | undefined;
  environment: RenderEnvironment;
  budget: Budget;
  limits: Limits;
}>;

const extensions: Readonly<Record<OutputFormat, string>> = { pdf: '.pdf', excel: '.xlsx' };

/** The title of a document, which is its name too: filled with the formats and the calculated variables of its template. */
export const generatedTitle = (
  template: string,
  field: string,
  content: AttachmentTemplateContent,
  { variables, environment, budget, limits }: Filling,
): string => {
  if (!hasPlaceholder(template)) return template;
  const language: Language = { locale: content.locale ?? 'en-US', timeZone: content.timeZone ?? 'UTC' };
  const prepared = compilePreparation(content.variables, language, limits)(variables, environment, budget);
  return fillText(template, field, { definitions: content.variables, language, limits, budget }, prepared);
};

/** The name without an extension of ours, made safe and short enough, then with the one of its format. A slash, as numbers have it, is no path here. */
export const generatedName = (title: string, format: OutputFormat, charsMax: number): string => {
  const extension = extensions[format];
  const safe = safeFilename(title.replace(/\.(?:pdf|xlsx)$/i, '').replace(/[/\\]/g, '-'));
  const stem = firstChars(safe, charsMax - extension.length).trimEnd();
  return `${stem === '' ? 'document' : stem}${extension}`;
};

/** Names of supplied files are filled from the variables of the call as they came: no template describes them. */
export const suppliedName = (
  given: string,
  field: string,
  { variables, language: spoken, environment, budget, limits }: Filling,
): string => {
  const language: Language = { locale: spoken?.locale ?? DEFAULT_LOCALE, timeZone: spoken?.timeZone ?? DEFAULT_TIME_ZONE };
  const filled = hasPlaceholder(given)
    ? fillText(
        given,
        `${field}.filename`,
        { definitions: [], language, limits, budget },
        { values: variables, constants: constantsOf(language)(environment) },
      )
    : given;
  const name = firstChars(safeFilename(filled), limits.filenameCharsMax);
  if (name === '') throw invalidAttachments([{ field: `${field}.filename`, message: 'has no visible character' }]);
  return name;
};
