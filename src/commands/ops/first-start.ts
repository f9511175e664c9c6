/**
 * The first start, done once: makes the first team and its sample templates, and the first key when somebody can see
 * it.
 */
import { createApiKey } from '../keys/api-keys.js';
import { attachmentTemplates } from '../templates/attachment-templates.js';
import type { CommandNeeds } from '../needs.js';
import { loadState } from '../core/handle.js';
import { blocks } from '../templates/block-usage.js';
import { emailTemplates } from '../templates/email-templates.js';
import { firstPermissions } from '../../domain/access/permissions.js';
import { apiKeyDecider, formatApiKey, readApiKey } from '../../domain/keys/decider.js';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  apiKeyStream,
  INSTANCE_STREAM,
  assertDefined,
  parseTeamId,
  teamStream,
  uuidV5,
} from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { TeamSettings } from '../../domain/teams/events.js';
import { sampleCompany, sampleSender, evolveTeam, type TeamState } from '../../domain/teams/state.js';
import type {
  CreateAttachmentTemplateRequest,
  CreateBlockRequest,
  CreateTemplateRequest,
} from '../../api/templates/templates.js';
import { firstTeam, loadInstance, systemCaller } from '../core/caller.js';

/**
 * The settings of the first team until they are changed: it sends as the account mails do, and the samples show an
 * example company.
 */
const initialSettings = ({ accountSender = sampleSender }: Pick<CommandNeeds, 'accountSender'>): TeamSettings => ({
  name: 'First team',
  defaultFrom: accountSender,
  company: sampleCompany,
});

/** The templates of the first team, and the blocks that they name. */
export type Samples = Readonly<{
  blocks: readonly CreateBlockRequest[];
  emails: readonly CreateTemplateRequest[];
  attachments: readonly CreateAttachmentTemplateRequest[];
}>;

/**
 * Makes the first team and the samples, and draws the first key, which is not created before it is shown. Every step is
 * safe to repeat, so the next start finishes one that died in the middle; the instance is marked as initialised last.
 * `pending` is absent in a process that serves no requests: the first one that does draws the key.
 */
export const firstStart = async (deps: CommandNeeds, samples: Samples, pending?: PendingFirstKey): Promise<void> => {
  const instance = await loadInstance(deps);
  if (instance.state !== undefined) return;
  const teamId = assertDefined(parseTeamId(uuidV5('team', 'first')), 'team id');
  const cause = {
    teamId,
    actor: 'system',
    correlationId: 'first-start',
    causationId: 'first-start',
    at: isoTime(deps.clock.now()),
  };
  const team = await loadState(deps.eventLog, teamStream(teamId), {
    evolve: evolveTeam,
    initialState: undefined as TeamState,
  });
  if (team.state === undefined) {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    await deps.eventLog.append(
      teamStream(teamId),
      team.version,
      [{ type: 'TeamCreated', data: { at: cause.at, billing: 'unmetered', settings: initialSettings(deps) } }],
      cause,
    );
  }
  const caller = systemCaller(teamId, 'system', 'first-start');
  // The samples get no document process made ready: a first start shows no preview.
  const quiet = { ...deps, generator: { ...deps.generator, prepare: () => {} } };
  for (const sample of samples.blocks) {
    const known = await blocks.find(deps, teamId, sample.slug ?? '');
    if (known === undefined) await blocks.create(deps, caller, { ...sample, publish: true });
  }
  for (const sample of samples.emails) {
    const known = await emailTemplates.find(deps, teamId, sample.slug ?? '');
    if (known === undefined) await emailTemplates.create(deps, caller, { ...sample, publish: true });
  }
  for (const sample of samples.attachments) {
    const known = await attachmentTemplates.find(deps, teamId, sample.slug ?? '');
    if (known === undefined) await attachmentTemplates.create(quiet, caller, { ...sample, publish: true });
  }
  if (pending !== undefined && pending.read() === undefined) pending.keep(formatApiKey(deps.ids.bytes(32)));
  try {
    // Not by `handle`: if another process was faster, its event says the same.
    await deps.eventLog.append(
      INSTANCE_STREAM,
      instance.version,
      [{ type: 'InstanceInitialised', data: { at: cause.at, teamId } }],
      cause,
    );
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
  }
};

/**
 * Creates the pending key, shows it, and only then removes it from where it waits: if the program dies in between, the
 * next start shows the same key, so no key ever works that nobody has seen.
 */
export const showFirstKey = async (
  deps: CommandNeeds,
  pending: PendingFirstKey,
  show: (key: string) => void,
): Promise<void> => {
  if (pending.read() === undefined && !(await hasKeys(deps))) pending.keep(formatApiKey(deps.ids.bytes(32)));
  const key = pending.read();
  const read = key === undefined ? undefined : readApiKey(key);
  if (key === undefined || read === undefined) return;
  const teamId = assertDefined(await firstTeam(deps), 'first team');
  const { state } = await loadState(deps.eventLog, apiKeyStream(read.id), apiKeyDecider);
  if (state === undefined) {
    const caller = systemCaller(teamId, 'system', 'first-start');
    await createApiKey(deps, caller, { name: 'First key', permissions: [...firstPermissions] }, key);
  }
  show(key);
  pending.remove();
};

/** Whether a key was ever made. Every log has one near its beginning, so this reads little. */
const hasKeys = async ({ eventLog }: Pick<CommandNeeds, 'eventLog'>): Promise<boolean> => {
  for await (const { events, unreadable } of eventLog.readAll(0, {
    kinds: ['apiKey'],
    decrypt: [],
    batchSize: 1,
    unknown: 'listed',
  }))
    if (events.length + unreadable.length > 0) return true;
  return false;
};
