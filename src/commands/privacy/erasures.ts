/** Erasures of addresses: asked for, and told how far they came. */
import type { Caller } from '../core/caller.js';
import { requireAddress } from '../../domain/mime/required-address.js';
import { emptyLoaded, foldOnto, handle, type Loaded } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { ownedBy } from '../core/owned-by.js';
import { suppressionIdOf } from '../recipients/suppression-check.js';
import { assertNoTestKey } from '../core/test-keys.js';
import type { AddressRequest, ErasureReceipt } from '../../api/privacy.js';
import { erasureDecider, erasureNotFound, type ErasureState } from '../../domain/privacy/decider.js';
import type { Recorded } from '../../domain/events.js';
import { assertDefined, erasureStream, parseErasureId, type ErasureId } from '../../domain/core/ids.js';

/** How long the answer waits for the end of the erasure, and how often it looks. */
const WAIT_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Asks for the erasure of what is held about the address, and waits a while for its end. From then on it is carried out, whatever becomes of
 * this call. Rejects with ERR_EMAIL_001 and NOT_DURING_UPDATE.
 */
export const eraseAddress = async (deps: CommandDeps, caller: Caller, { email }: AddressRequest): Promise<ErasureReceipt> => {
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
export const getErasure = async (deps: Pick<CommandDeps, 'eventLog'>, { teamId }: Pick<Caller, 'teamId'>, id: ErasureId) => {
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
    events: recorded.map(({ event, metadata }) => ({ id: metadata.eventId, type: event.type, at: metadata.occurredAt })),
  };
};
