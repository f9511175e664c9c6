/** Whether a team writes to one address, and why not. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { SuppressionEvent } from './events.js';

export const suppressionReasons = ['hard-bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

export type Suppression = Readonly<{
  isSuppressed: boolean;
  /** That of the last time it was suppressed, as all that follows. */
  reason: SuppressionReason;
  at: string;
  /** The id of the email that was refused or complained about, or whose link was followed. */
  emailId: string | null;
  /** Of the list that it is kept from; null where it is kept from all. */
  list: string | null;
  /** undefined once the key is destroyed. */
  address: string | undefined;
  removedAt: string | null;
  /** The address is erased, and is not kept again. */
  isErased?: true;
}>;

/** undefined: the address was never suppressed. */
export type SuppressionState = Suppression | undefined;

export type SuppressionCommand =
  /** `learnedAt`: when the reason came to be, undefined: now. What was known before the address was last taken off the list does not put it there again. */
  | Readonly<{
      type: 'Suppress';
      at: string;
      learnedAt: string | undefined;
      reason: SuppressionReason;
      emailId: string | undefined;
      list: string | undefined;
      /** undefined where it is destroyed. */
      address: string | undefined;
    }>
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
      const { at, learnedAt, reason, emailId, list, address } = command;
      const isOld = state !== undefined && learnedAt !== undefined && state.removedAt !== null && learnedAt <= state.removedAt;
      if (isOld || state?.isSuppressed === true) return none;
      const data = { at, reason, ...(emailId === undefined ? {} : { emailId }), ...(list === undefined ? {} : { list }) };
      return [{ type: 'AddressSuppressed', data, sealed: address === undefined ? {} : { address } }];
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
      const { reason, at, emailId = null, list = null } = event.data;
      const said = { isSuppressed: true, reason, at, emailId, list, removedAt: state?.removedAt ?? null };
      if (state?.isErased === true) return { ...said, address: undefined, isErased: true };
      return { ...said, address: event.sealed?.address ?? state?.address };
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
