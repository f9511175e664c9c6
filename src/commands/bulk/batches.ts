/** Commands on an accepted bulk send: make its emails, stop it, complete it, and read its status from the streams. */
import { costAfter, makeBatchEmail, omittedBy, openBatch, type OpenBatch } from './emails.js';
import { type Caller, ownedBy } from '../core/caller.js';
import { emptyLoaded, foldOnto, handle, handleFrom, loadState } from '../core/handle.js';
import type { Loaded } from '../core/ports.js';
import type { EmailNeeds } from '../email/needs.js';
import type { StoredBytes } from '../email/acceptance.js';
import { eraseStream } from '../core/erase.js';
import { batchDecider, batchNotFound, claimedUpTo, type Batch, type BatchState } from '../../domain/bulk/decider.js';
import type { BatchEnds } from '../../domain/bulk/events.js';
import { batchListing, type BatchListing } from '../../domain/bulk/listing.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailState } from '../../domain/email/state.js';
import type { EmailStatus } from '../../domain/email/status.js';
import { DomainError, EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  type BatchId,
  type TeamId,
} from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';
import { nextTurn } from '../../shared/concurrency.js';

/** Emails that are made or read in one turn of the event loop, and appended concurrently: they share commits. */
const AT_ONCE = 10;
/** Emails of a part, after which progress is recorded. Emails with documents take longer. */
const PART = 100;
const PART_WITH_DOCUMENTS = 10;

/** The pause before a document is requested again if the generator is busy. */
const BUSY_PAUSE_MS = 1_000;

/**
 * How often, and with which pause, emails in an SMTP dialogue are checked again before the batch is recorded as
 * stopped.
 */
const LOOKS_MAX = 20;
const LOOK_PAUSE_MS = 100;

/** The name of the returned part of a reservation: emails that will never be made. */
const UNMADE = 'unmade';

/** `storedBytes`: the bytes of attachments that the team stores; absent: no limit is checked. */
export type BatchWork = Readonly<{ id: BatchId; cause: Cause; signal: AbortSignal; storedBytes?: StoredBytes }>;

/**
 * `actor`: the sender of the bulk send. Its emails are made in that name, so that they take turns with those of other
 * senders.
 */
export type LoadedBatch = Readonly<{ batch: Batch; teamId: TeamId; actor: string; loaded: Loaded<BatchState> }>;

/** The content may be large, so it is loaded once and passed on. Rejects with BATCH_NOT_FOUND. */
export const loadBatch = async (deps: Pick<EmailNeeds, 'eventLog'>, id: BatchId): Promise<LoadedBatch> => {
  const stream = batchStream(id);
  const recorded = await deps.eventLog.load(stream);
  const loaded = foldOnto(batchDecider, emptyLoaded(stream, batchDecider.initialState), recorded);
  const metadata = recorded[0]?.metadata;
  if (loaded.state === undefined || metadata === undefined) throw batchNotFound();
  return { batch: loaded.state, teamId: metadata.teamId as TeamId, actor: metadata.actor, loaded };
};

/**
 * Makes the next part of its emails if the batch is due, and records the progress; when the last is made, the content
 * is destroyed. After an interruption it goes on from the recorded progress.
 */
export const fanOut = async (deps: EmailNeeds, { cause, ...work }: BatchWork, known?: LoadedBatch): Promise<void> => {
  const { id } = work;
  const stream = batchStream(id);
  const { loaded, batch: found, teamId, actor } = known ?? (await loadBatch(deps, id));
  const partSize = found.accepted.documents.length > 0 ? PART_WITH_DOCUMENTS : PART;
  const start = { type: 'StartBatch' as const, at: isoTime(deps.clock.now()), partSize };
  const started = await handleFrom(loaded, deps.eventLog, stream, batchDecider, start, cause);
  const { state: batch } = started;
  if (batch?.status !== 'processing') return;
  if (batch.fannedOutAt === null) {
    const upTo = await makePart(deps, openBatch(id, teamId, batch), batch, { ...work, cause: { ...cause, actor } });
    if (upTo === batch.upTo) return;
    const advance = { type: 'AdvanceBatch' as const, at: isoTime(deps.clock.now()), upTo };
    const { state } = await handleFrom(started, deps.eventLog, stream, batchDecider, advance, {
      ...cause,
      at: advance.at,
    });
    if (state?.fannedOutAt === null) return;
  }
  await eraseStream(deps, stream);
};

/** Out: the number of emails that exist. */
const makePart = async (
  deps: EmailNeeds,
  open: OpenBatch,
  batch: Batch,
  { cause, signal, storedBytes }: BatchWork,
): Promise<number> => {
  const end = claimedUpTo(batch);
  let upTo = batch.upTo;
  while (upTo < end && !signal.aborted) {
    const next = Math.min(upTo + AT_ONCE, end);
    const at = isoTime(deps.clock.now());
    const made = await Promise.all(
      placesOf(upTo, next).map((index) =>
        whenThereIsRoom(deps, signal, () => makeBatchEmail(deps, open, index, { ...cause, at }, { storedBytes })),
      ),
    );
    if (made.includes(undefined)) return upTo;
    await returnOmitted(deps, open, upTo, made, { ...cause, at });
    upTo = next;
    await nextTurn();
  }
  return upTo;
};

/**
 * Repeats `make` while the generator is busy, so that no recipient fails for that. Out: undefined if the signal aborted
 * before.
 */
const whenThereIsRoom = async <Made>(
  deps: EmailNeeds,
  signal: AbortSignal,
  make: () => Promise<Made>,
): Promise<Made | undefined> => {
  while (!signal.aborted) {
    try {
      return await make();
    } catch (fault) {
      if (!(fault instanceof DomainError) || fault.code !== 'GENERATOR_BUSY') throw fault;
      await deps.clock.sleep(BUSY_PAUSE_MS, signal);
    }
  }
  return undefined;
};

/**
 * Returns the credits of documents that the emails of a group, from that place on, were made without. A repetition
 * makes the same groups, so that each group returns its credits once.
 */
const returnOmitted = async (
  deps: EmailNeeds,
  { id, teamId }: Pick<OpenBatch, 'id' | 'teamId'>,
  from: number,
  omitted: readonly (number | undefined)[],
  cause: Cause,
): Promise<void> => {
  const attachments = omitted.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  if (attachments > 0)
    await deps.credits.giveBack(teamId, batchStream(id), `omitted-${from}`, { emails: 0, attachments }, cause);
};

const placesOf = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

/**
 * Cancels every email of a cancelled batch that was not sent. Emails in an SMTP dialogue may still be sent, and are
 * waited for a while; one that is deferred is cancelled when this runs again. Out: the stopped batch.
 */
export const stopBatch = async (
  deps: EmailNeeds,
  { id, cause, signal }: BatchWork,
  known?: LoadedBatch,
): Promise<Batch> => {
  const stream = batchStream(id);
  const { batch, teamId, loaded } = known ?? (await loadBatch(deps, id));
  if (batch.cancelled === null) return batch;
  const made = batch.stopped?.made ?? (batch.fannedOutAt === null ? claimedUpTo(batch) : batch.accepted.total);
  const withdraw = () => withdrawAll(deps, { id, teamId, batch, made }, cause);
  let ends = await withdraw();
  if (batch.stopped !== null) return batch;
  for (let looks = 1; ends.processing > 0 && looks < LOOKS_MAX && !signal.aborted; looks += 1) {
    await deps.clock.sleep(LOOK_PAUSE_MS, signal);
    ends = await withdraw();
  }
  const at = isoTime(deps.clock.now());
  await returnUnmade(deps, { id, teamId, batch, made }, { ...cause, at });
  await returnOmittedOfPart(deps, { id, teamId, batch, made }, { ...cause, at });
  const stop = {
    type: 'StopBatch' as const,
    at,
    made,
    ends: { ...ends, cancelled: ends.cancelled + batch.accepted.total - made },
  };
  const { state } = await handleFrom(loaded, deps.eventLog, stream, batchDecider, stop, { ...cause, at });
  await eraseStream(deps, stream);
  return assertDefined(state, 'batch');
};

type Cancelled = Readonly<{ id: BatchId; teamId: TeamId; batch: Batch; made: number }>;

/**
 * Returns the credits of emails that will never be made. Those of cancelled emails are returned by `return-credits`.
 */
const returnUnmade = async (deps: EmailNeeds, { id, teamId, batch, made }: Cancelled, cause: Cause): Promise<void> => {
  const { accepted, content } = batch;
  const isUnmetered = accepted.charged === undefined;
  if (made === accepted.total || accepted.test === true || (isUnmetered && content === undefined)) return;
  const cost = costAfter(openBatch(id, teamId, batch).content, made);
  const unmetered = isUnmetered ? { calledAt: accepted.at, cancelledAt: batch.cancelled?.at ?? cause.at } : undefined;
  await deps.credits.giveBack(teamId, batchStream(id), UNMADE, cost, cause, unmetered);
};

/**
 * Returns the credits of omitted documents in the part that was being made when the batch was cancelled; repeating it
 * changes nothing.
 */
const returnOmittedOfPart = async (
  deps: EmailNeeds,
  { id, teamId, batch, made }: Cancelled,
  cause: Cause,
): Promise<void> => {
  if (batch.accepted.charged === undefined || batch.accepted.documents.length === 0 || batch.upTo >= made) return;
  const open = openBatch(id, teamId, batch);
  for (let from = batch.upTo; from < made; from += AT_ONCE) {
    const places = placesOf(from, Math.min(from + AT_ONCE, made));
    await returnOmitted(
      deps,
      open,
      from,
      await Promise.all(places.map((index) => omittedBy(deps, open, index))),
      cause,
    );
  }
};

/** Out: the results of the first `made` emails, each of which exists then. */
const withdrawAll = async (deps: EmailNeeds, cancelled: Cancelled, cause: Cause): Promise<BatchEnds> => {
  const ends = { sent: 0, failed: 0, cancelled: 0, processing: 0 };
  for (let from = 0; from < cancelled.made; from += AT_ONCE) {
    const places = placesOf(from, Math.min(from + AT_ONCE, cancelled.made));
    for (const end of await Promise.all(places.map((index) => withdrawOne(deps, cancelled, index, cause))))
      ends[end] += 1;
    await nextTurn();
  }
  return ends;
};

type End = keyof BatchEnds;

const withdrawOne = async (
  deps: EmailNeeds,
  { id, teamId, batch, made }: Cancelled,
  index: number,
  cause: Cause,
): Promise<End> => {
  const stream = emailStream(emailIdInBatch(id, index));
  const at = isoTime(deps.clock.now());
  const command = { type: 'WithdrawEmail' as const, at, cancelledAt: batch.cancelled?.at ?? at };
  const mayBeMissing = index >= batch.upTo && index < made && batch.stopped === null;
  try {
    // Another process may still be making this email: create it here as cancelled, so that it cannot be made any more.
    if (mayBeMissing && (await loadState(deps.eventLog, stream, emailDecider)).state === undefined)
      await makeBatchEmail(deps, openBatch(id, teamId, batch), index, { ...cause, at }, { end: 'cancelled' });
    return endOf((await handle(deps.eventLog, stream, emailDecider, command, { ...cause, at })).state);
  } catch (fault) {
    // A damaged email stays as it is, and the others go on.
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return 'processing';
    throw fault;
  }
};

const endOf = (email: EmailState): End => {
  const status = assertDefined(email, 'email of the batch').status;
  return status === 'queued' || status === 'scheduled' ? 'processing' : endOfStatus[status];
};

const endOfStatus: Readonly<Record<Exclude<EmailStatus, 'queued' | 'scheduled'>, End>> = {
  processing: 'processing',
  sent: 'sent',
  delivered: 'sent',
  complained: 'sent',
  failed: 'failed',
  bounced: 'failed',
  cancelled: 'cancelled',
};

/**
 * The status of a bulk send from its streams, for a call that comes before the read models know it. Rejects with
 * BATCH_NOT_FOUND.
 */
export const getBatch = async (
  deps: EmailNeeds,
  caller: Pick<Caller, 'teamId'>,
  id: BatchId,
): Promise<BatchListing> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  ownedBy(caller.teamId, batchNotFound)(loaded);
  const batch = assertDefined(loaded.state, 'batch');
  const { accepted } = batch;
  const figures = {
    id,
    status: batch.status,
    name: accepted.name ?? null,
    templateId: accepted.templateId,
    templateName: accepted.templateName,
    priority: accepted.priority,
    total: accepted.total,
    invalid: accepted.invalid.length,
    duplicates: accepted.duplicates.length,
    counts: await statusesOf(deps, id, claimedUpTo(batch)),
    claimed: claimedUpTo(batch),
    createdAt: accepted.at,
    scheduledAt: batch.scheduledAt,
    startedAt: batch.startedAt,
    cancelledAt: batch.cancelled?.at ?? null,
    completedAt: batch.completedAt,
    test: accepted.test === true,
  };
  return batchListing(figures, { clock: deps.clock, waitMs: (emails) => deps.backlog.waitMs(caller.teamId, emails) });
};

/** The first `made` emails counted by status; emails that do not exist are not counted. */
const statusesOf = async (
  deps: Pick<EmailNeeds, 'eventLog'>,
  id: BatchId,
  made: number,
): Promise<Readonly<Partial<Record<EmailStatus, number>>>> => {
  const counts: Partial<Record<EmailStatus, number>> = {};
  for (let from = 0; from < made; from += AT_ONCE) {
    const places = placesOf(from, Math.min(from + AT_ONCE, made));
    const loaded = await Promise.all(
      places.map((index) => loadState(deps.eventLog, emailStream(emailIdInBatch(id, index)), emailDecider)),
    );
    for (const { state } of loaded) if (state !== undefined) counts[state.status] = (counts[state.status] ?? 0) + 1;
    await nextTurn();
  }
  return counts;
};

/** The results of all its emails, from their streams; an email that does not exist counts as open. */
export const endsOfBatch = async (
  deps: Pick<EmailNeeds, 'eventLog'>,
  id: BatchId,
  total: number,
): Promise<BatchEnds> => {
  const ends = { sent: 0, failed: 0, cancelled: 0, processing: total };
  const counts = await statusesOf(deps, id, total);
  for (const status of Object.keys(endOfStatus) as (keyof typeof endOfStatus)[]) {
    const count = counts[status] ?? 0;
    ends.processing -= count;
    ends[endOfStatus[status]] += count;
  }
  return ends;
};

/** Records that every email has ended. `ends`: the results of all its emails; does nothing if one is still open. */
export const completeBatch = async (
  deps: EmailNeeds,
  id: BatchId,
  ends: BatchEnds,
  cause: Cause,
  known?: LoadedBatch,
): Promise<void> => {
  const { processing, ...ended } = ends;
  if (processing > 0) return;
  const complete = { type: 'CompleteBatch' as const, at: cause.at, ends: ended };
  await handleFrom(known?.loaded, deps.eventLog, batchStream(id), batchDecider, complete, cause);
};
