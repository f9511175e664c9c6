/** Whether the service saves a template, and whether its JSON schema takes it. */
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { templateJsonSchema, type TemplateKind } from '../../src/api/templates/json-schema.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkBlock } from '../../src/domain/rendering/check/block.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';

const root = new URL('../../../', import.meta.url);
export const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

export const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allowUnionTypes: true,
  validateFormats: false,
});
export const validators: Readonly<Record<TemplateKind, ValidateFunction>> = {
  email: ajv.compile(templateJsonSchema('email')),
  attachment: ajv.compile(templateJsonSchema('attachment')),
  block: ajv.compile(templateJsonSchema('block')),
};

/** The body of a POST. */
const bodyOf = (kind: TemplateKind, template: unknown): unknown => ({
  name: 'Example',
  ...(kind === 'email' ? { subject: 'Example' } : {}),
  ...(template as JsonObject),
});
export const accepts = (kind: TemplateKind, template: unknown): boolean => validators[kind](bodyOf(kind, template));

export const isSaved = (kind: TemplateKind, template: unknown): boolean => {
  try {
    if (kind === 'email') checkEmailTemplate(template, defaultLimits);
    else if (kind === 'attachment') checkAttachmentTemplate(template, defaultLimits);
    else checkBlock({ locale: 'en', ...(template as JsonObject) }, defaultLimits);
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
};
