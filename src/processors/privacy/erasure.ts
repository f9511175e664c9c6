/** Carries out the erasure of an address: at once, and again for what could not be destroyed then. */
import { carryOutErasure, type CarryOutDeps } from '../../commands/privacy/erasure.js';
import { erasureDecider, type ErasureCommand, type ErasureState } from '../../domain/privacy/decider.js';
import { assertDefined, parseErasureId, splitStream } from '../../domain/core/ids.js';
import type { Processor } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

export type EraseAddressDeps = CarryOutDeps;

/** What is left then is gone on with by the timer. */
const DEADLINE_MS = 10 * 60_000;

/** Each may hold the content of a bulk send in memory. */
const IN_FLIGHT_MAX = 4;

/** All of it is recorded by the command, which may be repeated. */
export const eraseAddressProcessor = (deps: EraseAddressDeps): Processor =>
  makeProcessor<'erasure', ErasureState, ErasureCommand>({
    name: 'erase-address',
    kind: 'erasure',
    decider: erasureDecider,
    startedBy: {
      ErasureRequested: () => 'normal',
      ErasureFound: null,
      ErasureWaits: null,
      ErasureCompleted: null,
    },
    timers: [
      { kind: 'erasing', read: 'started' },
      { kind: 'waiting', read: 'due' },
    ],
    deadlineMs: DEADLINE_MS,
    inFlightMax: IN_FLIGHT_MAX,
    act: async ({ stream, cause, signal }) => {
      const id = assertDefined(parseErasureId(splitStream(stream).id), 'erasure id');
      await carryOutErasure(deps, { id, cause, signal });
      return {};
    },
  });
