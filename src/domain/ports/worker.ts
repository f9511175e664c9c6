/** Something that runs beside the requests, and how it is doing. */
import type { HealthReason, WorkerHealth, LogHealth, RelayHealth } from '../core/readiness.js';

export type Worker = Readonly<{
  name: string;
  /** Runs until the signal aborts; a rejection is a fault of the worker, which is started again after a pause. */
  run: (signal: AbortSignal) => Promise<void>;
}>;

export type Health = Readonly<{
  /** True from the end of the start until the stop begins. */
  accepting: () => boolean;
  workers: () => readonly WorkerHealth[];
  log: () => LogHealth;
  /** Faults outside workers and log. */
  noted: () => readonly HealthReason[];
  /** The relays of this process; absent if they have no names. */
  relays?: () => readonly RelayHealth[];
}>;
