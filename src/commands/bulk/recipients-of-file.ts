/** The recipients of a file for a bulk send of one template; and answers that name their lines. */
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import { readRecipientFile, type FileOptions, type FileRecipients } from '../recipients/file.js';
import { templateOf } from '../email/send.js';
import { draftAt } from '../templates/templates.js';
import { DomainError } from '../../domain/core/errors.js';
import type { SendBulkRequest } from '../../api/bulk.js';
import type { VariableDefinition } from '../../domain/rendering/scope/definitions.js';

type Given = Pick<FileOptions, 'columns' | 'parseLine'> &
  Readonly<{ bytes: Buffer; rowsMax?: number; request: Pick<SendBulkRequest, 'templateId' | 'version'> }>;

/** Rejects with VALIDATION_ERROR. A template that cannot be found has no types: the call itself says so. */
export const recipientsOfFile = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  { bytes, request, rowsMax = deps.limits.bulkRecipientsMax, ...options }: Given,
): Promise<FileRecipients> =>
  readRecipientFile(bytes, { ...options, types: await typesOf(deps, caller, request), rowsMax, limits: deps.limits });

const typesOf = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  request: Given['request'],
): Promise<ReadonlyMap<string, string>> => {
  try {
    const { id, revision } = await templateOf(deps, caller, request);
    const { variables } = await draftAt(deps, id, revision);
    return new Map((variables as readonly VariableDefinition[]).map(({ name, type }) => [name, type]));
  } catch (fault) {
    if (fault instanceof DomainError) return new Map();
    throw fault;
  }
};

/** Puts the line of the file behind each recipient that a sentence names by its place. */
export const withLines = (text: string, lines: readonly number[]): string =>
  text.replaceAll(/\brecipients\[(\d+)\](?:\.[\w$-]+|\[\d+\])*/g, (path, place: string) => {
    const line = lines[Number(place)];
    return line === undefined ? path : `${path} (line ${line})`;
  });

/** The same of a fault and of each fault that it lists. */
export const faultWithLines = (fault: DomainError, lines: readonly number[]): DomainError => {
  const { errors, ...details } = fault.details;
  return new DomainError(fault.code, withLines(fault.message, lines), {
    ...details,
    ...(errors === undefined
      ? {}
      : { errors: errors.map(({ field, message }) => ({ field, message: lineOfField(field, message, lines) })) }),
  });
};

const lineOfField = (field: string, message: string, lines: readonly number[]): string => {
  const line = lines[Number(/^recipients\[(\d+)\]/.exec(field)?.[1] ?? -1)];
  return line === undefined ? message : `${message} (line ${line})`;
};
