/**
 * Erases an address: takes requests, reports progress, and destroys what is found. Findings are recorded before
 * anything of them is destroyed, and every step may be repeated, so the next run continues after a crash.
 */
import { eraseProposal } from '../approvals/decisions.js';
import { type Caller, ownedBy, assertNoTestKey, causeOf } from '../core/caller.js';
import { requireAddress } from '../../domain/mime/address.js';
import { emptyLoaded, foldOnto, handle, handleFrom, loadState } from '../core/handle.js';
import type { Loaded } from '../core/ports.js';
import type { EmailNeeds } from '../email/needs.js';
import { suppressionIdOf } from '../recipients/suppression-check.js';
import type { DataSubjectRequest, ErasureReceipt } from '../../api/privacy.js';
import {
  erasureDecider,
  erasureNotFound,
  type ErasureState,
  type AddressIndex,
  type BatchPlace,
  type Erasure,
  type ErasureCommand,
} from '../../domain/privacy/decider.js';
import type { Recorded } from '../../domain/events.js';
import {
  assertDefined,
  erasureStream,
  parseErasureId,
  type ErasureId,
  type StreamName,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  parseEmailId,
  parseSuppressionId,
  suppressionStream,
  type BatchId,
  type EmailId,
  type SuppressionId,
  type TeamId,
} from '../../domain/core/ids.js';
import { eraseRecipientsOf, eraseStream, type EraseDeps } from '../core/erase.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailState } from '../../domain/email/state.js';
import type { Cause } from '../../event-log/event-log.js';
import { suppressionIdsOf } from '../recipients/suppressions.js';
import { batchDecider, releaseAtOf } from '../../domain/bulk/decider.js';
import type { EmailContent } from '../../domain/email/events.js';
import { EventUnknown, EventUnreadable, KeyMissing } from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/time.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import { nextTurn } from '../../shared/concurrency.js';

/** How long the answer waits for the end of the erasure, and how often it looks. */
const WAIT_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Asks for the erasure of what is held about the address, and waits a while for its end. From then on it is carried
 * out, whatever becomes of this call. Rejects with ERR_EMAIL_001 and NOT_DURING_UPDATE.
 */
export const eraseAddress = async (
  deps: EmailNeeds,
  caller: Caller,
  { email }: DataSubjectRequest,
): Promise<ErasureReceipt> => {
  assertNoTestKey(caller, 'erases nothing, for what is erased is real');
  const address = requireAddress(email, 'email');
  const id = assertDefined(parseErasureId(deps.ids.uuid()), 'erasure id');
  const cause = causeOf(deps, caller);
  const suppressionId = suppressionIdOf(deps, caller.teamId, address);
  const command = { type: 'RequestErasure' as const, at: cause.at, suppressionId, address };
  await handle(deps.eventLog, erasureStream(id), erasureDecider, command, cause);
  const untilMs = deps.clock.monotonic() + WAIT_MS;
  const { signal } = new AbortController();
  for (;;) {
    const receipt = await getErasure(deps, caller, id);
    if (receipt.status === 'completed' || receipt.waiting !== null || deps.clock.monotonic() >= untilMs) return receipt;
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
  }
};

/** Rejects with ERASURE_NOT_FOUND. */
export const getErasure = async (
  deps: Pick<EmailNeeds, 'eventLog'>,
  { teamId }: Pick<Caller, 'teamId'>,
  id: ErasureId,
) => {
  const stream = erasureStream(id);
  const recorded = await deps.eventLog.load(stream);
  const loaded = foldOnto(erasureDecider, emptyLoaded<ErasureState>(stream, undefined), recorded);
  ownedBy(teamId, erasureNotFound)(loaded);
  return receiptOf(id, loaded, recorded);
};

const receiptOf = (id: ErasureId, { state }: Loaded<ErasureState>, recorded: readonly Recorded[]): ErasureReceipt => {
  const erasure = assertDefined(state, 'erasure');
  const { openEmails, openBatches, isSearched, completedAt } = erasure;
  const last = recorded.at(-1)!.event.type;
  return {
    id,
    status: completedAt === null ? 'pending' : 'completed',
    requestedAt: erasure.requestedAt,
    completedAt,
    suppressed: completedAt === null ? null : erasure.isSuppressed,
    emails: erasure.emailCount,
    emailIds: [...erasure.emailIds],
    bulkSends: [...new Set(erasure.batches.map((place) => place.id))],
    waiting: isSearched && last === 'ErasureWaits' ? { emailIds: [...openEmails], bulkSends: [...openBatches] } : null,
    events: recorded.map(({ event, metadata }) => ({
      id: metadata.eventId,
      type: event.type,
      at: metadata.occurredAt,
    })),
  };
};

type RecipientsToErase = Readonly<{
  stream: StreamName;
  /** By their place in the email. */
  recipients: readonly number[];
  cause: Cause;
  /** The email as it was found, where it is at hand. */
  known?: Loaded<EmailState>;
}>;

/**
 * Records the erasure of recipients, then destroys their keys, and the keys of recipients erased earlier. If all
 * recipients are erased, the whole email is destroyed. Safe to repeat. Out: false if a dialogue is under way, so that
 * the erasure must be tried again.
 */
export const eraseRecipients = async (
  deps: EraseDeps,
  { stream, recipients, cause, known }: RecipientsToErase,
): Promise<boolean> => {
  const { eventLog } = deps;
  const from = known ?? (await loadState(eventLog, stream, emailDecider));
  const { state } = await handleFrom(
    from,
    eventLog,
    stream,
    emailDecider,
    { type: 'EraseRecipients', at: cause.at, recipients },
    cause,
  );
  if (state === undefined) return true;
  if (state.archivedAt !== null) await eraseStream(deps, stream);
  else if (state.erased !== undefined) await eraseRecipientsOf(deps, stream, state.erased);
  return state.archivedAt !== null || recipients.every((place) => state.erased?.includes(place) === true);
};

export type CarryOutDeps = EraseDeps &
  Pick<EmailNeeds, 'clock' | 'keys' | 'team'> &
  Readonly<{
    addressIndex: AddressIndex;
    /** Resolves when the index has all that was recorded before the call, or the signal aborts. */
    emailsCaughtUp: (signal: AbortSignal) => Promise<void>;
  }>;

type ErasureWork = Readonly<{ id: ErasureId; cause: Cause; signal: AbortSignal }>;

type Work = ErasureWork &
  Readonly<{
    /** Cause without the fence of this work, for events in streams that other processes write to as well. */
    besides: Cause;
    teamId: TeamId;
    /** undefined once the key of the erasure is gone. */
    address: string | undefined;
  }>;

/**
 * Emails that are destroyed side by side, so that they share commits. The read models then remove them from their
 * search in one transaction, for which requests of this process wait.
 */
const AT_ONCE = 20;

/** Ends early where the signal aborts; done again, it goes on. */
export const carryOutErasure = async (deps: CarryOutDeps, work: ErasureWork): Promise<void> => {
  const stream = erasureStream(work.id);
  const loaded = await loadState(deps.eventLog, stream, erasureDecider);
  if (loaded.state === undefined) return;
  if (loaded.state.completedAt === null) {
    const { fence: _fence, ...besides } = work.cause;
    const whole: Work = { ...work, besides, teamId: besides.teamId as TeamId, address: loaded.state.address };
    const waiting = await eraseEmails(deps, whole, loaded.state.openEmails);
    const searched = await search(deps, whole, { loaded, waiting });
    if (work.signal.aborted || !(await settle(deps, whole, searched))) return;
  }
  await eraseStream(deps, stream);
};

type Searched = Readonly<{ loaded: Loaded<ErasureState>; waiting: readonly string[] }>;

const stateOf = ({ loaded: { state } }: Searched): Erasure => assertDefined(state, 'erasure');

/** Out: where the erasure stands after, and the emails found that may not be destroyed yet. */
const search = async (deps: CarryOutDeps, work: Work, from: Searched): Promise<Searched> => {
  if (stateOf(from).isSearched) return from;
  const { address } = work;
  if (address === undefined) throw new KeyMissing(erasureStream(work.id));
  const { signal, teamId } = work;
  await deps.emailsCaughtUp(signal);
  for (const id of await deps.addressIndex.approvalsOfAddress(teamId, address))
    await eraseProposal(deps, id, { ...work.besides, at: now(deps) });
  let batches = await eraseInBatches(deps, work, address, stateOf(from).batches);
  // The emails of a batch that was made to its end before it was looked at are found by the index.
  await deps.emailsCaughtUp(signal);
  let { loaded, waiting } = from;
  for await (const { ids, isLast } of deps.addressIndex.emailsOfAddress(teamId, address)) {
    if (signal.aborted) break;
    const emails = ids.filter((id) => !waiting.includes(id));
    if (emails.length > 0 || batches.length > 0 || isLast)
      loaded = await note(deps, work, loaded, { type: 'NoteFound', at: now(deps), emails, batches, waiting, isLast });
    batches = [];
    waiting = [...waiting, ...(await eraseEmails(deps, work, emails))];
  }
  return { loaded, waiting };
};

const now = ({ clock }: Pick<CarryOutDeps, 'clock'>): string => isoTime(clock.now());

const note = (deps: CarryOutDeps, { id, cause }: Work, loaded: Loaded<ErasureState>, command: ErasureCommand) =>
  handleFrom(loaded, deps.eventLog, erasureStream(id), erasureDecider, command, { ...cause, at: command.at });

/** Out: the ids of those that are in a dialogue, or cannot be read. */
const eraseEmails = async (deps: CarryOutDeps, work: Work, ids: readonly string[]): Promise<readonly string[]> => {
  const waiting: string[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE).map((id) => assertDefined(parseEmailId(id), 'email id'));
    const ends = await Promise.all(some.map((id) => eraseEmail(deps, work, id)));
    waiting.push(...some.filter((_, at) => !ends[at]));
    // Wait, or too many emails would leave the search at once.
    await deps.emailsCaughtUp(work.signal);
    await nextTurn();
  }
  return waiting;
};

/** Out: false where it may not be destroyed yet. One that is not there has nothing to be destroyed. */
const eraseEmail = async (deps: CarryOutDeps, { besides, address }: Work, id: EmailId): Promise<boolean> => {
  const stream = emailStream(id);
  try {
    const known = await loadState(deps.eventLog, stream, emailDecider);
    if (known.state === undefined) return true;
    if (known.version.recipientKeys !== undefined && known.state.content !== undefined) {
      // Without its key an erasure does not tell whom it is about.
      if (address === undefined) return false;
      const recipients = placesOf(known.state.content, address);
      return await eraseRecipients(deps, { stream, recipients, cause: { ...besides, at: now(deps) }, known });
    }
    const command = { type: 'EraseEmail' as const, at: now(deps) };
    const { state } = await handleFrom(known, deps.eventLog, stream, emailDecider, command, {
      ...besides,
      at: command.at,
    });
    if (state?.archivedAt === null) return false;
    await eraseStream(deps, stream);
    return true;
  } catch (fault) {
    // Damaged streams wait for the operator and do not stop the others.
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return false;
    throw fault;
  }
};

/** Recipients of an email with that address, compared as its index does. */
const placesOf = ({ recipients }: EmailContent, address: string): readonly number[] => {
  const wanted = foldForSearch(address);
  return recipients.flatMap((recipient, place) =>
    recipient && foldForSearch(recipient.email) === wanted ? [place] : [],
  );
};

/** Bulk sends whose emails are not all made go on without the address. Out: its places in those that were not known. */
const eraseInBatches = async (
  deps: CarryOutDeps,
  work: Work,
  address: string,
  known: readonly BatchPlace[],
): Promise<readonly BatchPlace[]> => {
  const found: BatchPlace[] = [];
  for (const id of await deps.addressIndex.openBatches(work.teamId)) {
    if (work.signal.aborted) break;
    for (const recipient of await eraseInBatch(deps, work, address, id)) {
      if (!known.some((place) => place.id === id && place.recipient === recipient)) found.push({ id, recipient });
    }
    await nextTurn();
  }
  return found;
};

const eraseInBatch = async (
  deps: CarryOutDeps,
  { besides, teamId }: Work,
  address: string,
  id: BatchId,
): Promise<readonly number[]> => {
  const stream = batchStream(id);
  const loaded = await loadState(deps.eventLog, stream, batchDecider);
  if (loaded.teamId !== teamId) return [];
  const recipients = loaded.state?.content?.recipients ?? [];
  const places = recipients.flatMap(({ email }, at) => (email.toLowerCase() === address.toLowerCase() ? [at] : []));
  if (places.length === 0) return [];
  const command = { type: 'EraseRecipients' as const, at: now(deps), recipients: places };
  await handleFrom(loaded, deps.eventLog, stream, batchDecider, command, { ...besides, at: command.at });
  return places;
};

/** Out: whether nothing is left. */
const settle = async (deps: CarryOutDeps, work: Work, searched: Searched): Promise<boolean> => {
  const { loaded, waiting } = searched;
  const state = stateOf(searched);
  const batches = await openBatchesOf(deps, work, state);
  const isSuppressed = await eraseSuppressions(deps, work, state);
  const at = now(deps);
  if (waiting.length === 0 && batches.open.length === 0) {
    await note(deps, work, loaded, { type: 'CompleteErasure', at, isSuppressed });
    return true;
  }
  const untilMs = deps.clock.now() + pauseMs(state.waits, waiting.length > 0 || batches.isMoving);
  await note(deps, work, loaded, {
    type: 'WaitForRest',
    at,
    until: isoTime(untilMs),
    emails: waiting,
    batches: batches.open,
  });
  return false;
};

const PAUSE_MS = 2_000;
const PAUSE_MAX_MS = 30_000;
const PAUSE_FOR_SCHEDULED_MAX_MS = 60 * 60_000;

const pauseMs = (waits: number, isSoon: boolean): number =>
  Math.min(PAUSE_MS * 2 ** Math.min(waits, 20), isSoon ? PAUSE_MAX_MS : PAUSE_FOR_SCHEDULED_MAX_MS);

/**
 * Erases the emails that were made of the places found. Out: the batches that still hold the address, and whether one
 * of them is being made.
 */
const openBatchesOf = async (
  deps: CarryOutDeps,
  work: Work,
  { batches, openBatches }: Erasure,
): Promise<Readonly<{ open: readonly string[]; isMoving: boolean }>> => {
  const open: string[] = [];
  let isMoving = false;
  for (const id of openBatches) {
    const batchId = assertDefined(parseBatchId(id), 'batch id');
    const { state: batch } = await loadState(deps.eventLog, batchStream(batchId), batchDecider);
    const holdsIt = batch?.content !== undefined;
    const places = batches.filter((place) => place.id === id);
    const left = await eraseEmails(
      deps,
      work,
      places.map(({ recipient }) => emailIdInBatch(batchId, recipient)),
    );
    if (holdsIt || left.length > 0) open.push(id);
    isMoving ||= left.length > 0 || (holdsIt && releaseAtOf(batch) <= now(deps));
    await nextTurn();
  }
  return { open, isMoving };
};

/** Those of lists too. Out: whether the team goes on not to write to it at all. */
const eraseSuppressions = async (
  deps: CarryOutDeps,
  work: Work,
  { suppressionId, address }: Erasure,
): Promise<boolean> => {
  const ids = address === undefined ? [] : await suppressionIdsOf(deps, work.teamId, address);
  for (const id of ids) if (id !== suppressionId) await eraseSuppression(deps, work, id);
  return eraseSuppression(deps, work, assertDefined(parseSuppressionId(suppressionId), 'suppression id'));
};

/** The address goes, its HMAC stays. Out: whether it goes on to hold. */
const eraseSuppression = async (deps: CarryOutDeps, { besides }: Work, id: SuppressionId): Promise<boolean> => {
  const stream = suppressionStream(id);
  const command = { type: 'EraseAddress' as const, at: now(deps) };
  const { state } = await handle(deps.eventLog, stream, suppressionDecider, command, { ...besides, at: command.at });
  if (state === undefined) return false;
  await eraseStream(deps, stream);
  return state.isSuppressed;
};
