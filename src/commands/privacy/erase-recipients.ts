/** Erases some recipients of an email, which goes on for the others. */
import { handleFrom, loadState, type Loaded } from '../core/handle.js';
import { eraseRecipientsOf, eraseStream, type EraseDeps } from '../core/erase.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailState } from '../../domain/email/state.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';

export type RecipientsToErase = Readonly<{
  stream: StreamName;
  /** By their place in the email. */
  recipients: readonly number[];
  cause: Cause;
  /** The email as it was found, where it is at hand. */
  known?: Loaded<EmailState>;
}>;

/**
 * Records that they are erased, then destroys their keys, and those of whoever was erased before. Where nobody else is left the email goes
 * whole. Safe to repeat. Out: false where a dialogue is under way, so that it may not be done yet.
 */
export const eraseRecipients = async (deps: EraseDeps, { stream, recipients, cause, known }: RecipientsToErase): Promise<boolean> => {
  const { eventLog } = deps;
  const from = known ?? (await loadState(eventLog, stream, emailDecider));
  const { state } = await handleFrom(from, eventLog, stream, emailDecider, { type: 'EraseRecipients', at: cause.at, recipients }, cause);
  if (state === undefined) return true;
  if (state.archivedAt !== null) await eraseStream(deps, stream);
  else if (state.erased !== undefined) await eraseRecipientsOf(deps, stream, state.erased);
  return state.archivedAt !== null || recipients.every((place) => state.erased?.includes(place) === true);
};
