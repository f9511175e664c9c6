/** Commands on emails that are there: read, retry, delete, archive. */
import type { Answer, Caller, Commands, Idempotency } from './api.js';
import { causeOf, type CommandDeps } from './deps.js';
import { handle, loadState, type Loaded } from './command-handler.js';
import { keyReused, sendEmail } from './send-email.js';
import { emailDecider, notFound } from '../domain/email/decider.js';
import { emailRecord, retryResponse } from './email-answers.js';
import type { RetryEmailResponse } from '../api/emails.js';
import type { Email, EmailState } from '../domain/email/state.js';
import { DomainError } from '../domain/errors.js';
import type { Cause } from '../event-log/event-log.js';
import { emailStream, type EmailId, type TeamId } from '../domain/ids.js';

const DAY_MS = 86_400_000;

/** Throws EMAIL_NOT_FOUND for an unknown, a deleted and another team's email alike. */
const ownedBy =
  (teamId: TeamId) =>
  ({ state, teamId: owner }: Loaded<EmailState>): void => {
    if (state === undefined || state.deletedAt !== null || owner !== teamId) throw notFound();
  };

export const emailCommands = (
  deps: CommandDeps,
): Pick<Commands, 'sendEmail' | 'getEmail' | 'retryEmail' | 'deleteEmail' | 'deleteEmails'> => ({
  sendEmail: (caller, request, idempotency) => sendEmail(deps, caller, request, idempotency),
  getEmail: async (caller, id) => {
    const loaded = await loadState(deps.eventLog, emailStream(id), emailDecider);
    ownedBy(caller.teamId)(loaded);
    return emailRecord(id, loaded.state!);
  },
  retryEmail: (caller, id, idempotency) => retryEmail(deps, caller, id, idempotency),
  deleteEmail: async (caller, id) => {
    await deleteEmail(deps, caller, id);
    return { id, deleted: true };
  },
  deleteEmails: async (caller, ids) => {
    const counts = { deleted: 0, notFound: 0, inProgress: 0 };
    const distinct = [...new Set(ids)];
    // Side by side they share commits, and the one that clears destroyed keys out of the file.
    for (let from = 0; from < distinct.length; from += DELETED_AT_ONCE) {
      const ends = await Promise.all(distinct.slice(from, from + DELETED_AT_ONCE).map((id) => tryDelete(deps, caller, id)));
      for (const end of ends) counts[end] += 1;
    }
    return counts;
  },
});

const DELETED_AT_ONCE = 64;

const tryDelete = async (deps: CommandDeps, caller: Caller, id: EmailId): Promise<'deleted' | 'notFound' | 'inProgress'> => {
  try {
    await deleteEmail(deps, caller, id);
    return 'deleted';
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'EMAIL_NOT_FOUND') return 'notFound';
    if (fault instanceof DomainError && fault.code === 'EMAIL_IN_PROGRESS') return 'inProgress';
    throw fault;
  }
};

const retryEmail = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  idempotency: Idempotency | undefined,
): Promise<Answer<RetryEmailResponse>> => {
  const cause = causeOf(deps, caller);
  const idempotencyKey = idempotency && deps.keys.fingerprint('idempotency-key', idempotency.key);
  const fingerprint = idempotency && deps.keys.fingerprint('idempotency', JSON.stringify(idempotency.body ?? null));
  const earlier = (email: Email) =>
    idempotencyKey === undefined ? undefined : email.retries.find((retry) => retry.idempotencyKey === idempotencyKey);
  const decider = {
    ...emailDecider,
    // A retry that was made under this key is not made again, whatever became of the email since.
    decide: (command: Parameters<typeof emailDecider.decide>[0], email: EmailState) =>
      email !== undefined && earlier(email) !== undefined ? [] : emailDecider.decide(command, email),
  };
  const command = { type: 'RetryEmail' as const, at: cause.at, idempotencyKey, fingerprint };
  const { state, events } = await handle(deps.eventLog, emailStream(id), decider, command, cause, ownedBy(caller.teamId));
  const retry = earlier(state!) ?? state!.retries.at(-1)!;
  if (events.length === 0 && retry.fingerprint !== fingerprint) throw keyReused();
  return { body: retryResponse(id, retry), replayed: events.length === 0 };
};

const deleteEmail = async (deps: CommandDeps, caller: Caller, id: EmailId): Promise<void> => {
  const cause = causeOf(deps, caller);
  await handle(deps.eventLog, emailStream(id), emailDecider, { type: 'DeleteEmail', at: cause.at }, cause, ownedBy(caller.teamId));
  await archiveEmail(deps, id, cause);
};

/**
 * Destroys what is personal of a deleted email, or of one whose time has come: its key and its files, then records it.
 * Safe to repeat; where the program dies in between, it is repeated by timer.
 */
export const archiveEmail = async (
  deps: Pick<CommandDeps, 'eventLog' | 'files' | 'limits'>,
  id: EmailId,
  cause: Cause,
): Promise<boolean> => {
  const stream = emailStream(id);
  const recorded = await deps.eventLog.load(stream);
  const state = recorded.reduce((email: EmailState, { event }) => emailDecider.evolve(email, event as never), undefined);
  const command = { type: 'ArchiveEmail' as const, at: cause.at, retentionMs: deps.limits.retentionDays * DAY_MS };
  if (state === undefined || emailDecider.decide(command, state).length === 0) return false;

  for (const { file } of state.content?.attachments ?? []) await deps.files.delete(file);
  for (const { metadata } of recorded) if (metadata.sealedFile !== undefined) await deps.files.delete(metadata.sealedFile);
  await deps.eventLog.destroyKey(stream);
  await handle(deps.eventLog, stream, emailDecider, command, cause);
  return true;
};
