/**
 * `sealpost template …`: saves templates of JSON files, and lists, writes and previews those that are there; of emails
 * and of attachments, and blocks, which have no preview.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Value } from '@sinclair/typebox/value';
import type { Static, TObject } from '@sinclair/typebox';
import { attachmentTemplates } from '../commands/templates/attachment-templates.js';
import { blocks } from '../commands/templates/block-usage.js';
import { type Caller, systemCaller } from '../commands/core/caller.js';
import type { CommandNeeds } from '../commands/needs.js';
import { emailTemplates } from '../commands/templates/email-templates.js';
import { previewTemplate } from '../commands/templates/preview.js';
import { previewAttachmentTemplate } from '../commands/documents/preview.js';
import { outputFormats } from '../domain/rendering/content.js';
import type { JsonObject } from '../domain/core/json.js';
import { makeQueries } from '../projections/queries.js';
import {
  ImportAttachmentTemplateRequestSchema,
  ImportBlockRequestSchema,
  ImportTemplateRequestSchema,
} from '../api/templates/templates.js';
import { kindOfTemplate } from '../domain/templates/authored.js';
import { print, printFault } from './core/output.js';
import type { FieldError } from '../domain/core/errors.js';
import { withTeam } from './core/engine.js';

export type PullOptions = Readonly<{ attachment?: boolean; block?: boolean; force?: boolean }>;
export type PreviewOptions = Omit<PullOptions, 'block'> &
  Readonly<{ variables?: string; format?: string; locale?: string }>;

/** Emails first, then attachments, then blocks. */
export const listTemplates = ({ json = false }: Readonly<{ json?: boolean }>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const queries = makeQueries({ ...engine, awaitOwnWrites: async () => {} });
    for (const list of [queries.listTemplates, queries.listAttachmentTemplates, queries.listBlocks]) {
      let cursor: string | undefined;
      do {
        const { data, meta } = await list(
          teamId,
          {},
          { page: 1, limit: 100, ...(cursor === undefined ? {} : { cursor }) },
        );
        for (const one of data)
          print(json ? JSON.stringify(one) : [one.slug, one.type, one.status, one.id, one.name].join('  '));
        cursor = meta.nextCursor ?? undefined;
      } while (cursor !== undefined);
    }
  });

export const pullTemplate = (
  reference: string,
  file: string | undefined,
  { attachment, block = false, force = false }: PullOptions,
): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const caller = systemCaller(teamId, 'cli', 'cli');
    const templates = async () =>
      (await isOfEmail(engine, caller, reference, attachment)) ? emailTemplates : attachmentTemplates;
    const record = await (block ? blocks : await templates()).get(engine, caller, reference);
    write(`${JSON.stringify(record, undefined, 2)}\n`, file, force);
  });

export const previewFile = (reference: string, file: string | undefined, options: PreviewOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { attachment, format, locale, force = false } = options;
    const variables = options.variables === undefined ? {} : variablesOf(options.variables);
    const caller = systemCaller(teamId, 'cli', 'cli');
    const wanted = { variables, ...(locale === undefined ? {} : { locale }) };
    const { signal } = new AbortController();
    if (await isOfEmail(engine, caller, reference, attachment)) {
      const chosen = oneOf('--format', format ?? 'html', ['html', 'text'] as const);
      const {
        [chosen]: text,
        warnings = [],
        emptyPaths,
      } = await previewTemplate(engine, caller, reference, wanted, signal);
      tell(warnings, emptyPaths);
      return write(text, file, force);
    }
    const chosen = format === undefined ? {} : { format: oneOf('--format', format, outputFormats) };
    const made = await previewAttachmentTemplate(engine, caller, reference, { ...wanted, ...chosen }, signal);
    tell(made.warnings, made.emptyPaths);
    write(made.bytes, file, force);
  });

/**
 * Whether the template of that name is one of emails; where both kinds have the name it is, unless that of attachments
 * is asked for.
 */
const isOfEmail = async (
  deps: CommandNeeds,
  { teamId }: Caller,
  reference: string,
  wantsAttachment = false,
): Promise<boolean> =>
  !wantsAttachment &&
  ((await emailTemplates.find(deps, teamId, reference)) !== undefined ||
    (await attachmentTemplates.find(deps, teamId, reference)) === undefined);

const tell = (warnings: readonly FieldError[], emptyPaths: readonly string[]): void => {
  for (const { field, message } of warnings) printFault(`${field} ${message}`);
  for (const path of emptyPaths) printFault(`${path} has no value`);
};

const write = (content: string | Uint8Array, file: string | undefined, force: boolean): void => {
  if (file === undefined) process.stdout.write(content);
  else writeFileSync(file, content, { flag: force ? 'w' : 'wx' });
};

const variablesOf = (file: string): JsonObject => {
  const given = read(file);
  if (!isObject(given)) throw new Error(`${file} holds no JSON object: variables are its members`);
  return given as JsonObject;
};

const oneOf = <Choice extends string>(option: string, text: string, choices: readonly Choice[]): Choice => {
  const choice = choices.find((one) => one === text);
  if (choice === undefined) throw new Error(`${option} ${text} is not one of ${choices.join(', ')}`);
  return choice;
};

export const importTemplate = (file: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const given = read(file);
    const caller = systemCaller(teamId, 'cli', 'cli');
    const { template, created } = await imported(engine, caller, given, file);
    const name = {
      email: () => `Template ${template.slug} (${template.id})`,
      attachment: () => `Attachment template ${template.slug} (${'shortId' in template ? template.shortId : ''})`,
      block: () => `Block ${template.slug} (${template.id})`,
    }[template.type]();
    print(`${name} is ${created ? 'created and ' : ''}published as version ${template.publishedVersion}.`);
  });

const imported = (engine: CommandNeeds, caller: Caller, given: unknown, file: string) => {
  const request = withoutPublish(given);
  switch (kindOfTemplate(given)) {
    case 'email':
      return emailTemplates.import(engine, caller, checked(ImportTemplateRequestSchema, request, file));
    case 'attachment':
      return attachmentTemplates.import(engine, caller, checked(ImportAttachmentTemplateRequestSchema, request, file));
    case 'block':
      return blocks.import(engine, caller, checked(ImportBlockRequestSchema, request, file));
  }
};

const read = (file: string): unknown => {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw new Error(`${file} cannot be read as JSON: ${fault instanceof Error ? fault.message : 'unknown fault'}`, {
      cause: fault,
    });
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every import publishes, so that a file for a POST may say it or not. */
const withoutPublish = (template: unknown): unknown => {
  if (!isObject(template)) return template;
  const { publish: _, ...rest } = template;
  return rest;
};

const checked = <Schema extends TObject>(schema: Schema, template: unknown, file: string): Static<Schema> => {
  if (Value.Check(schema, template)) return template;
  const faults = [...Value.Errors(schema, template)]
    .slice(0, 20)
    .map(({ path, message }) => `  ${path || '/'}: ${message}`);
  throw new Error(`${file} is not a template:\n${faults.join('\n')}`);
};
