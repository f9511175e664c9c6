/** Commands on emails that are there: read, retry, delete, archive, remove. */
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { emptyLoaded, foldOnto, handle, loadState } from '../core/handle.js';
import { eraseStream, type EraseDeps } from '../core/erase.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { handleKeyed } from '../core/keyed-command.js';
import { ownedBy, ownedState } from '../core/owned-by.js';
import { changeableBy, isTest } from '../core/test-keys.js';
import { emailDecider } from '../../domain/email/decider.js';
import { emailNotFound } from '../../domain/email/requests.js';
import { emailRecord, retryResponse } from './answers.js';
import type { Deleted } from '../../api/core/common.js';
import type { BulkDeleteResponse, EmailRecord, RetryEmailResponse } from '../../api/email.js';
import { eventsAsOf, type AsOf } from '../../domain/audit/as-of.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import { DomainError, EventUnknown, EventUnreadable, invalid } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import type { Cause } from '../../event-log/event-log.js';
import { emailStream, type EmailId } from '../../domain/core/ids.js';
import { DAY_MS } from '../../domain/core/time.js';

/** Folds the stream: what was just written is there. `asOf`: as it was then; what was destroyed since stays so. */
export const getEmail = async (deps: CommandDeps, caller: Caller, id: EmailId, asOf?: AsOf): Promise<EmailRecord> => {
  const recorded = await deps.eventLog.load(emailStream(id));
  const loaded = foldOnto(emailDecider, emptyLoaded(emailStream(id), emailDecider.initialState), recorded);
  ownedBy(caller.teamId, emailNotFound)(loaded);
  return emailRecord(id, asOf === undefined ? loaded.state! : emailAsOf(recorded, asOf));
};

const emailAsOf = (recorded: readonly Recorded[], asOf: AsOf): Email => {
  const events = eventsAsOf(recorded, asOf);
  if (events === undefined) throw invalid('query', 'asOf', 'names no event of this email; `GET /api/emails/:id/timeline` lists them');
  const email = events.reduce<EmailState>((state, { event }) => emailDecider.evolve(state, event as EmailEvent), emailDecider.initialState);
  if (email === undefined) throw new DomainError('EMAIL_NOT_FOUND', 'This email was not there yet.');
  return email;
};

/** Exactly the ids given; the route resolves a filter to ids through the read model first. */
export const deleteEmails = async (
  deps: CommandDeps,
  caller: Caller,
  ids: readonly EmailId[],
): Promise<Omit<BulkDeleteResponse, 'remaining'>> => {
  const counts = { deleted: 0, notFound: 0, inProgress: 0 };
  let damaged: EventUnreadable | EventUnknown | undefined;
  const distinct = [...new Set(ids)];
  if (isTest(caller)) await assertAllOfTests(deps, caller, distinct);
  // Side by side they share commits, and the one that clears destroyed keys out of the file.
  for (let from = 0; from < distinct.length; from += DELETED_AT_ONCE) {
    const ends = await Promise.all(distinct.slice(from, from + DELETED_AT_ONCE).map((id) => tryDelete(deps, caller, id)));
    for (const end of ends) {
      if (end instanceof Error) damaged ??= end;
      else counts[end] += 1;
    }
  }
  // All others are deleted by then, and a request that is sent again finds them so.
  if (damaged !== undefined) throw damaged;
  return counts;
};

/** Before any is deleted. What is not there is no email of anybody. */
const assertAllOfTests = async (deps: CommandDeps, caller: Caller, ids: readonly EmailId[]): Promise<void> => {
  for (const id of ids) {
    const loaded = await loadState(deps.eventLog, emailStream(id), emailDecider);
    if (ownedState(caller.teamId, loaded) !== undefined) changeableBy(caller, emailNotFound)(loaded);
  }
};

const DELETED_AT_ONCE = 64;

type DeleteEnd = 'deleted' | 'notFound' | 'inProgress' | EventUnreadable | EventUnknown;

const tryDelete = async (deps: CommandDeps, caller: Caller, id: EmailId): Promise<DeleteEnd> => {
  try {
    await deleteEmail(deps, caller, id);
    return 'deleted';
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'EMAIL_NOT_FOUND') return 'notFound';
    if (fault instanceof DomainError && fault.code === 'EMAIL_IN_PROGRESS') return 'inProgress';
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return fault;
    throw fault;
  }
};

export const retryEmail = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  idempotency?: Idempotency,
): Promise<Answer<RetryEmailResponse>> => {
  const cause = causeOf(deps, caller);
  const earlier = ({ retries }: Email, key: string) => retries.find((retry) => retry.idempotencyKey === key);
  const { state, idempotencyKey, replayed } = await handleKeyed(deps, emailStream(id), emailDecider, {
    command: (key) => ({ type: 'RetryEmail' as const, at: cause.at, ...key }),
    earlier,
    idempotency,
    cause,
    guard: changeableBy(caller, emailNotFound),
  });
  const retry = (idempotencyKey === undefined ? undefined : earlier(state, idempotencyKey)) ?? state.retries.at(-1)!;
  return { body: retryResponse(id, retry), replayed };
};

export const deleteEmail = async (deps: CommandDeps, caller: Caller, id: EmailId): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  await handle(
    deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'DeleteEmail', at: cause.at },
    cause,
    changeableBy(caller, emailNotFound),
  );
  await archiveEmail(deps, id, cause);
  return { id, deleted: true };
};

/**
 * Records that a deleted email, or one whose time has come, is archived, then destroys what is personal of it: its files, the copies of its mail and its key.
 * Where the program dies in between, the erase worker does the rest. Out: false where it is not time, or was done before.
 */
export const archiveEmail = async (deps: EraseDeps & Pick<CommandDeps, 'limits'>, id: EmailId, cause: Cause): Promise<boolean> => {
  const stream = emailStream(id);
  const command = { type: 'ArchiveEmail' as const, at: cause.at, retentionMs: deps.limits.retentionDays * DAY_MS };
  const { events } = await handle(deps.eventLog, stream, emailDecider, command, cause);
  if (events.length === 0) return false;
  await eraseStream(deps, stream);
  return true;
};

/** Records that what is left of an archived email is kept no longer: nothing shows it any more. Out: false where it is not time, or was done before. */
export const removeEmailRecord = async (
  { eventLog, limits }: Pick<CommandDeps, 'eventLog' | 'limits'>,
  id: EmailId,
  cause: Cause,
): Promise<boolean> => {
  const command = { type: 'RemoveEmail' as const, at: cause.at, archiveMs: limits.archiveDays * DAY_MS };
  const { events } = await handle(eventLog, emailStream(id), emailDecider, command, cause);
  return events.length > 0;
};
