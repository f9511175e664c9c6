/** `sealpost template import FILE`: saves the template of a JSON file and publishes it. */
import { readFileSync } from 'node:fs';
import { Value } from '@sinclair/typebox/value';
import { makeCommands } from '../commands/index.js';
import { systemCaller } from '../commands/first-start.js';
import { CreateTemplateRequestSchema, type CreateTemplateRequest } from '../domain/template/records.js';
import { DomainError } from '../domain/errors.js';
import { print } from './output.js';
import { withTeam } from './with-engine.js';

export const importTemplate = (file: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const request = parse(file);
    const commands = makeCommands(engine);
    const caller = systemCaller(teamId, 'cli', 'cli');
    const known = request.slug === undefined ? undefined : await commands.getTemplate(caller, request.slug).catch(absent);
    const { publish: _, ...changes } = request;
    if (known === undefined) {
      const created = await commands.createTemplate(caller, { ...request, publish: true });
      return print(`Template ${created.slug} (${created.id}) is created and published as version 1.`);
    }
    await commands.updateTemplate(caller, known.id, changes);
    const published = await commands.publishTemplate(caller, known.id);
    print(`Template ${published.slug} (${published.id}) is published as version ${published.publishedVersion}.`);
  });

const absent = (fault: unknown): undefined => {
  if (fault instanceof DomainError && fault.code === 'TEMPLATE_NOT_FOUND') return undefined;
  throw fault;
};

const parse = (file: string): CreateTemplateRequest => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new Error(`${file} cannot be read as JSON: ${fault instanceof Error ? fault.message : 'unknown fault'}`, { cause: fault });
  }
  if (Value.Check(CreateTemplateRequestSchema, parsed)) return parsed;
  const faults = [...Value.Errors(CreateTemplateRequestSchema, parsed)].slice(0, 20).map(({ path, message }) => `  ${path || '/'}: ${message}`);
  throw new Error(`${file} is not a template:\n${faults.join('\n')}`);
};
