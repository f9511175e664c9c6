/** The way between one process and the servers: messages take time, overtake each other and get lost. */
import type { Fate, FaultPlan } from './faults.js';
import type { Machine, Scheduler } from './scheduler.js';

/** Options of every distant adapter. */
export type Network = Readonly<{ scheduler: Scheduler; faults: FaultPlan; machine: Machine }>;

/** `certain`: the call was not carried out and never will be. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly certain: boolean;

  constructor(operation: string, certain: boolean) {
    super(certain ? `${operation}: no connection` : `${operation}: the connection broke before the answer came`);
    this.certain = certain;
  }
}

/**
 * So long a caller waits for an answer before the connection counts as broken, and so much later a late request may
 * arrive.
 */
const ANSWER_TIMEOUT_MS = 2_000;
const LATE_MS = 6_000;

/**
 * Carries a request to the server and its answer back. `serve` runs at the server, in one piece; what it throws is an
 * answer too.
 */
export const ask = <Answer>(
  { scheduler, faults, machine }: Network,
  operation: string,
  serve: () => Answer,
  fate: Fate = faults.fate(operation),
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const answered = (): void => {
      try {
        const answer = serve();
        scheduler.travel(machine, () => resolve(answer));
      } catch (fault) {
        scheduler.travel(machine, () => reject(fault as Error));
      }
    };
    const broken = (): void =>
      void scheduler.at(scheduler.now() + ANSWER_TIMEOUT_MS, machine, () =>
        reject(new ConnectionLost(operation, false)),
      );
    switch (fate) {
      case 'done':
        scheduler.travel(undefined, answered);
        return;
      case 'refused':
        scheduler.travel(machine, () => reject(new ConnectionLost(operation, true)));
        return;
      case 'request-lost':
        broken();
        return;
      case 'answer-lost':
        scheduler.travel(undefined, () => unheard(serve));
        broken();
        return;
      case 'late':
        scheduler.at(scheduler.now() + scheduler.random.next() * LATE_MS, undefined, () => unheard(serve));
        broken();
    }
  });

const unheard = (serve: () => unknown): void => {
  try {
    serve();
  } catch {
    // The answer, good or bad, reaches nobody.
  }
};

/** Resolves after the time that one message takes; where the machine has died, never. */
export const passage = ({ scheduler, machine }: Network): Promise<void> =>
  new Promise((resolve) => scheduler.travel(machine, resolve));
