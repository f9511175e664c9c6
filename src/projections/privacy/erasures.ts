/** When an erasure of an address is to be gone on with. */
import type { ErasureEvent } from '../../domain/privacy/events.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { timersOf } from '../../domain/core/timers.js';
import { declareProjection, type Handler, type Step } from '../core/projection.js';
import { timersSpec, type TimerDocument } from '../core/timers.js';

export const ERASURES = 'erasures';
export const ERASURE_TIMERS = timersOf('erasure');

/** Those that go on, each until it is completed. */
export type ErasureDocument = Document & Readonly<{ team: string }>;

type Timer = Readonly<{ kind: 'erasing' | 'waiting'; dueAt: string }>;

const steps = ({ stream, position, metadata }: Recorded, before: Document | undefined, timer: Timer | undefined): readonly Step[] => {
  const { id } = splitStream(stream);
  const common = { id, seq: before?.seq ?? position, position };
  const document: TimerDocument | undefined = timer && { ...common, ...timer, key: stream, priority: 'normal', team: metadata.teamId };
  const erasure: ErasureDocument | undefined = timer && { ...common, team: metadata.teamId };
  return [
    { collection: ERASURE_TIMERS, id, document },
    { collection: ERASURES, id, document: erasure },
  ];
};

const erasing: Handler<Extract<ErasureEvent, { type: 'ErasureRequested' | 'ErasureFound' }>> = (recorded, document) =>
  steps(recorded, document, { kind: 'erasing', dueAt: recorded.event.data.at });

export const erasuresProjection = declareProjection({
  name: 'erasures',
  collections: [timersSpec(ERASURE_TIMERS), { name: ERASURES, version: 1, fields: [], indexes: [] }],
  main: ERASURES,
  kinds: ['erasure'],
  decrypts: [],
  on: {
    ErasureRequested: erasing,
    ErasureFound: erasing,
    ErasureWaits: (recorded, document) => steps(recorded, document, { kind: 'waiting', dueAt: recorded.event.data.until }),
    ErasureCompleted: (recorded, document) => steps(recorded, document, undefined),
  },
});
