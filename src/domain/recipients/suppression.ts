/** Decider of one suppression: an address that a team does not write to, and why. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { SuppressionEvent } from './events.js';

export const suppressionReasons = ['hard-bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

export type Suppression = Readonly<{
  isSuppressed: boolean;
  /** `reason`, `at`, `emailId` and `list` are those of the latest AddressSuppressed. */
  reason: SuppressionReason;
  at: string;
  /** The email that bounced, was complained about, or whose unsubscribe link was followed. */
  emailId: string | null;
  /** The address gets no mail of this list; null: no mail at all. */
  list: string | null;
  /** undefined once its key is destroyed. */
  address: string | undefined;
  removedAt: string | null;
  /**
   * The email in which the host of the address refused it without a reason, since it was last removed; absent if there
   * was none.
   */
  refusedIn?: string;
  /** The address was erased; it is not stored again when the address is suppressed anew. */
  isErased?: true;
}>;

/** undefined: the address was never suppressed. */
export type SuppressionState = Suppression | undefined;

export type SuppressionCommand =
  /**
   * `learnedAt`: when the reason was learned; undefined: now. A reason learned before the last SuppressionRemoved is
   * ignored.
   */
  | Readonly<{
      type: 'Suppress';
      at: string;
      learnedAt: string | undefined;
      reason: SuppressionReason;
      emailId: string | undefined;
      list: string | undefined;
      /** undefined if its key is destroyed. */
      address: string | undefined;
    }>
  /**
   * A host refused the address without a reason. One refusal proves nothing; after a second email the caller suppresses
   * the address.
   */
  | Readonly<{ type: 'NoteRefusal'; at: string; learnedAt: string; emailId: string }>
  | Readonly<{ type: 'RemoveSuppression'; at: string }>
  /** Removes all of the address but its HMAC; it stays suppressed, or not, as before. */
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
      if (isOld(state, learnedAt) || state?.isSuppressed === true) return none;
      const data = {
        at,
        reason,
        ...(emailId === undefined ? {} : { emailId }),
        ...(list === undefined ? {} : { list }),
      };
      return [{ type: 'AddressSuppressed', data, sealed: address === undefined ? {} : { address } }];
    }
    case 'NoteRefusal': {
      const { at, learnedAt, emailId } = command;
      if (isOld(state, learnedAt) || state?.isSuppressed === true || state?.refusedIn !== undefined) return none;
      return [{ type: 'AddressRefused', data: { at, emailId } }];
    }
    case 'RemoveSuppression':
      if (state?.isSuppressed !== true) throw suppressionNotFound();
      return [{ type: 'SuppressionRemoved', data: { at: command.at } }];
    case 'EraseAddress': {
      if (state === undefined || state.isErased === true) return none;
      const erased: SuppressionEvent = { type: 'SuppressedAddressErased', data: { at: command.at } };
      // `isSuppressedNow` reads the last event only, so a removal must come last again.
      return state.isSuppressed
        ? [erased]
        : [erased, { type: 'SuppressionRemoved', data: { at: state.removedAt ?? command.at } }];
    }
  }
};

/** Whether a reason was learned before the address was last removed from the list. */
const isOld = (state: SuppressionState, learnedAt: string | undefined): boolean =>
  state !== undefined && learnedAt !== undefined && state.removedAt !== null && learnedAt <= state.removedAt;

const evolve = (state: SuppressionState, event: SuppressionEvent): SuppressionState => {
  switch (event.type) {
    case 'AddressSuppressed': {
      const { reason, at, emailId = null, list = null } = event.data;
      const said = { isSuppressed: true, reason, at, emailId, list, removedAt: state?.removedAt ?? null };
      if (state?.isErased === true) return { ...said, address: undefined, isErased: true };
      return { ...said, address: event.sealed?.address ?? state?.address };
    }
    case 'AddressRefused':
      return { ...(state ?? unsuppressed(event.data.at)), refusedIn: event.data.emailId };
    case 'SuppressionRemoved': {
      if (state === undefined) return undefined;
      const { refusedIn: _past, ...rest } = state;
      return { ...rest, isSuppressed: false, removedAt: event.data.at };
    }
    case 'SuppressedAddressErased':
      return state && { ...state, address: undefined, isErased: true };
  }
};

/** The state of an address that was refused and never suppressed; `reason` is what it would be suppressed for. */
const unsuppressed = (at: string): Suppression => ({
  isSuppressed: false,
  reason: 'hard-bounce',
  at,
  emailId: null,
  list: null,
  address: undefined,
  removedAt: null,
});

export const suppressionDecider: Decider<SuppressionCommand, SuppressionEvent, SuppressionState> = {
  decide,
  evolve,
  initialState: undefined,
};
