/** Whether a team writes to one address, and why not. */
import type { Decider } from '../decider.js';
import { DomainError } from '../errors.js';
import type { SuppressionEvent } from './events.js';

export const suppressionReasons = ['hard-bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

export type Suppression = Readonly<{
  isSuppressed: boolean;
  /** That of the last time it was suppressed, as all that follows. */
  reason: SuppressionReason;
  at: string;
  /** The id of the email that was refused or complained about. */
  emailId: string | null;
  /** undefined once the key is destroyed. */
  address: string | undefined;
  removedAt: string | null;
  /** The address is erased, and is not kept again. */
  isErased?: true;
}>;

/** undefined: the address was never suppressed. */
export type SuppressionState = Suppression | undefined;

export type SuppressionCommand =
  /** `learnedAt`: when the reason came to be. What was known before the address was last taken off the list does not put it there again. */
  | Readonly<{ type: 'Suppress'; at: string; learnedAt: string; reason: SuppressionReason; emailId: string | undefined; address: string }>
  | Readonly<{ type: 'RemoveSuppression'; at: string }>
  /** What is kept of it beside its HMAC is to go; it is suppressed afterwards as it was before. */
  | Readonly<{ type: 'EraseAddress'; at: string }>;

export const suppressionNotFound = (): DomainError =>
  new DomainError(
    'SUPPRESSION_NOT_FOUND',
    'There is no suppression with this id. GET /api/suppressions lists yours, GET /api/suppressions/check finds that of an address.',
  );

const none: readonly SuppressionEvent[] = [];

const decide = (command: SuppressionCommand, state: SuppressionState): readonly SuppressionEvent[] => {
  switch (command.type) {
    case 'Suppress': {
      const { at, learnedAt, reason, emailId, address } = command;
      const isOld = state !== undefined && state.removedAt !== null && learnedAt <= state.removedAt;
      if (isOld || state?.isSuppressed === true) return none;
      const data = emailId === undefined ? { at, reason } : { at, reason, emailId };
      return [{ type: 'AddressSuppressed', data, sealed: { address } }];
    }
    case 'RemoveSuppression':
      if (state?.isSuppressed !== true) throw suppressionNotFound();
      return [{ type: 'SuppressionRemoved', data: { at: command.at } }];
    case 'EraseAddress': {
      if (state === undefined || state.isErased === true) return none;
      const erased: SuppressionEvent = { type: 'SuppressedAddressErased', data: { at: command.at } };
      // The last event of the stream tells whether it is suppressed.
      return state.isSuppressed ? [erased] : [erased, { type: 'SuppressionRemoved', data: { at: state.removedAt ?? command.at } }];
    }
  }
};

const evolve = (state: SuppressionState, event: SuppressionEvent): SuppressionState => {
  switch (event.type) {
    case 'AddressSuppressed': {
      const { reason, at, emailId = null } = event.data;
      const removedAt = state?.removedAt ?? null;
      if (state?.isErased === true) return { isSuppressed: true, reason, at, emailId, address: undefined, removedAt, isErased: true };
      return { isSuppressed: true, reason, at, emailId, address: event.sealed?.address ?? state?.address, removedAt };
    }
    case 'SuppressionRemoved':
      return state && { ...state, isSuppressed: false, removedAt: event.data.at };
    case 'SuppressedAddressErased':
      return state && { ...state, address: undefined, isErased: true };
  }
};

export const suppressionDecider: Decider<SuppressionCommand, SuppressionEvent, SuppressionState> = {
  decide,
  evolve,
  initialState: undefined,
};
