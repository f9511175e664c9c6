/** Looks, some time after a reservation of credits, whether what it was made for came to be. */
import type { CreditsAccounts } from '../../commands/billing/credits.js';
import type { Decider } from '../../domain/core/decider.js';
import type { CreditsEvent } from '../../domain/billing/events.js';
import { assertDefined, parseTeamId, splitStream } from '../../domain/core/ids.js';
import type { Processor, StartedBy } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

/** The command loads what it needs of the state. */
const decider: Decider<never, CreditsEvent, true | undefined> = { decide: () => [], evolve: () => true, initialState: undefined };

const byTimeOnly: StartedBy<'credits'> = {
  CreditsGranted: null,
  CreditsBought: null,
  CreditsReserved: null,
  CreditsReturned: null,
  CreditsReset: null,
  QuotaMonthBegan: null,
  QuotaThresholdReached: null,
  ReservationsSettled: null,
  CreditsCarried: null,
};

export const settleCredits = ({ credits }: Readonly<{ credits: CreditsAccounts }>): Processor =>
  makeProcessor({
    name: 'settle-credits',
    kind: 'credits',
    decider,
    startedBy: byTimeOnly,
    timers: [{ kind: 'settle', read: 'due' }],
    deadlineMs: 60_000,
    // A stream of millions is not read for this.
    foldsFrom: async ({ eventLog }, stream) => (await eventLog.last(stream))?.revision ?? 0,
    act: async ({ stream, cause: { fence: _fence, ...cause } }) => {
      await credits.settle(assertDefined(parseTeamId(splitStream(stream).id), 'team id'), cause);
      return {};
    },
  });
