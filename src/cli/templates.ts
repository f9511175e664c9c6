/** `sealpost template import FILE`: saves and publishes the template of a JSON file, of an email or of an attachment. */
import { readFileSync } from 'node:fs';
import { Value } from '@sinclair/typebox/value';
import type { TObject } from '@sinclair/typebox';
import { importAttachmentTemplate } from '../commands/templates/attachment-templates.js';
import { type Caller, systemCaller } from '../commands/core/caller.js';
import type { CommandDeps } from '../commands/core/deps.js';
import { importTemplate as importTemplateOfEmail } from '../commands/templates/templates.js';
import {
  ImportAttachmentTemplateRequestSchema,
  type ImportAttachmentTemplateRequest,
  ImportTemplateRequestSchema,
  type ImportTemplateRequest,
} from '../api/templates/templates.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export const importTemplate = (file: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const given = read(file);
    const caller = systemCaller(teamId, 'cli', 'cli');
    if (isAttachment(given))
      await importAttachment(
        engine,
        caller,
        checked<ImportAttachmentTemplateRequest>(ImportAttachmentTemplateRequestSchema, withoutPublish(given), file),
      );
    else await importEmail(engine, caller, checked<ImportTemplateRequest>(ImportTemplateRequestSchema, withoutPublish(given), file));
  });

const importEmail = async (deps: CommandDeps, caller: Caller, request: ImportTemplateRequest): Promise<void> => {
  const { template, created } = await importTemplateOfEmail(deps, caller, request);
  print(`Template ${template.slug} (${template.id}) is ${created ? 'created and ' : ''}published as version ${template.publishedVersion}.`);
};

const importAttachment = async (deps: CommandDeps, caller: Caller, request: ImportAttachmentTemplateRequest): Promise<void> => {
  const { template, created } = await importAttachmentTemplate(deps, caller, request);
  const name = `Attachment template ${template.slug} (${template.shortId})`;
  print(`${name} is ${created ? 'created and ' : ''}published as version ${template.publishedVersion}.`);
};

const read = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new Error(`${file} cannot be read as JSON: ${fault instanceof Error ? fault.message : 'unknown fault'}`, { cause: fault });
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A template says what it is by `type`, or shows it by the pages of its schema. */
const isAttachment = (template: unknown): template is Readonly<Record<string, unknown>> => {
  if (!isObject(template)) return false;
  const { type, schema } = template;
  return type === 'attachment' || (type === undefined && isObject(schema) && ('pages' in schema || 'outputFormats' in schema));
};

/** Every import publishes, so that a file for a POST may say it or not. */
const withoutPublish = (template: unknown): unknown => {
  if (!isObject(template)) return template;
  const { publish: _, ...rest } = template;
  return rest;
};

const checked = <Request>(schema: TObject, template: unknown, file: string): Request => {
  if (Value.Check(schema, template)) return template as Request;
  const faults = [...Value.Errors(schema, template)].slice(0, 20).map(({ path, message }) => `  ${path || '/'}: ${message}`);
  throw new Error(`${file} is not a template:\n${faults.join('\n')}`);
};
