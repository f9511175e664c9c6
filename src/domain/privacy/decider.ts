/** The erasure of an address: its commands, decisions and state, and the index that says where an address may stand. */
import type { ApprovalId, BatchId, EmailId, TeamId, WebhookId } from '../core/ids.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { ErasureEvent } from './events.js';

/** Places where an address may be stored, according to read models, which may lag. */
export type AddressIndex = Readonly<{
  /**
   * The emails of a team that have the address as a recipient, the newest first, some at a time; at least one page, and
   * after the last none. Archived emails have no address any more. In: the address in the form in which emails have it;
   * letter case does not count.
   */
  emailsOfAddress: (
    teamId: TeamId,
    address: string,
  ) => AsyncIterable<Readonly<{ ids: readonly EmailId[]; isLast: boolean }>>;
  /** The bulk sends that may still hold the addresses of their recipients, each once. */
  openBatches: (teamId: TeamId) => Promise<readonly BatchId[]>;
  /** The approvals of a team that hold the address as a recipient of their proposals. */
  approvalsOfAddress: (teamId: TeamId, address: string) => Promise<readonly ApprovalId[]>;
  /** The webhook subscriptions of a team. */
  webhooksOfTeam: (teamId: TeamId) => Promise<readonly WebhookId[]>;
}>;

/** A place of a bulk send that holds the address. */
export type BatchPlace = Readonly<{ id: string; recipient: number }>;

export type Erasure = Readonly<{
  requestedAt: string;
  suppressionId: string;
  /** undefined once the key is destroyed. */
  address: string | undefined;
  /** How many emails were found, and the ids of the first of them. */
  emailCount: number;
  emailIds: readonly string[];
  /** The emails that may not be destroyed yet. */
  openEmails: readonly string[];
  batches: readonly BatchPlace[];
  /** The bulk sends that may still hold the address. */
  openBatches: readonly string[];
  /** The search has ended. */
  isSearched: boolean;
  /** How often the erasure has waited since something was last destroyed. */
  waits: number;
  completedAt: string | null;
  isSuppressed: boolean;
}>;

/** undefined: no event yet. */
export type ErasureState = Erasure | undefined;

/** Ids of emails that the state keeps; the events have all. */
const IDS_SHOWN_MAX = 10_000;

export type ErasureCommand =
  | Readonly<{ type: 'RequestErasure'; at: string; suppressionId: string; address: string }>
  | Readonly<{
      type: 'NoteFound';
      at: string;
      emails: readonly string[];
      batches: readonly BatchPlace[];
      waiting: readonly string[];
      isLast: boolean;
    }>
  | Readonly<{ type: 'WaitForRest'; at: string; until: string; emails: readonly string[]; batches: readonly string[] }>
  | Readonly<{ type: 'CompleteErasure'; at: string; isSuppressed: boolean }>;

export const erasureNotFound = (): DomainError =>
  new DomainError(
    'ERASURE_NOT_FOUND',
    'There is no erasure with this id. Ids are answered by POST /api/privacy/erase.',
  );

const none: readonly ErasureEvent[] = [];

const decide = (command: ErasureCommand, state: ErasureState): readonly ErasureEvent[] => {
  if (command.type === 'RequestErasure') {
    const { at, suppressionId, address } = command;
    return state === undefined
      ? [{ type: 'ErasureRequested', data: { at, suppressionId }, sealed: { address } }]
      : none;
  }
  if (state === undefined) throw erasureNotFound();
  if (state.completedAt !== null) return none;
  const { at } = command;
  switch (command.type) {
    case 'NoteFound': {
      const { emails, batches, waiting, isLast } = command;
      if (state.isSearched) return none;
      return [
        {
          type: 'ErasureFound',
          data: { at, emails: [...emails], batches: [...batches], waiting: [...waiting], isLast },
        },
      ];
    }
    case 'WaitForRest':
      return [
        {
          type: 'ErasureWaits',
          data: { at, until: command.until, emails: [...command.emails], batches: [...command.batches] },
        },
      ];
    case 'CompleteErasure':
      return [{ type: 'ErasureCompleted', data: { at, isSuppressed: command.isSuppressed } }];
  }
};

const begin = ({ data, sealed }: Extract<ErasureEvent, { type: 'ErasureRequested' }>): Erasure => ({
  requestedAt: data.at,
  suppressionId: data.suppressionId,
  address: sealed?.address,
  emailCount: 0,
  emailIds: [],
  openEmails: [],
  batches: [],
  openBatches: [],
  isSearched: false,
  waits: 0,
  completedAt: null,
  isSuppressed: false,
});

const evolve = (state: ErasureState, event: ErasureEvent): ErasureState => {
  if (event.type === 'ErasureRequested') return begin(event);
  if (state === undefined) return undefined;
  switch (event.type) {
    case 'ErasureFound': {
      const { emails, batches, waiting, isLast } = event.data;
      const places = [...state.batches, ...batches];
      return {
        ...state,
        emailCount: state.emailCount + emails.length,
        emailIds: [...state.emailIds, ...emails.slice(0, IDS_SHOWN_MAX - state.emailIds.length)],
        openEmails: [...waiting, ...emails],
        batches: places,
        openBatches: [...new Set(places.map(({ id }) => id))],
        isSearched: isLast,
        waits: 0,
      };
    }
    case 'ErasureWaits': {
      const { emails, batches } = event.data;
      const isMoving = emails.length < state.openEmails.length || batches.length < state.openBatches.length;
      return { ...state, openEmails: emails, openBatches: batches, waits: isMoving ? 0 : state.waits + 1 };
    }
    case 'ErasureCompleted':
      return {
        ...state,
        address: undefined,
        openEmails: [],
        openBatches: [],
        completedAt: event.data.at,
        isSuppressed: event.data.isSuppressed,
      };
  }
};

export const erasureDecider: Decider<ErasureCommand, ErasureEvent, ErasureState> = {
  decide,
  evolve,
  initialState: undefined,
};
