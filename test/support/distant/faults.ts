/** Decides which call fails and how: by probabilities and a seed, or by a script. */
import type { Random } from '../random.js';

/**
 * Fate of one call to a distant server. `refused`: the server did not execute it and the caller is told so. For all
 * others the caller only learns that the connection broke. `answer-lost`: it was executed. `request-lost`: it never is.
 * `late`: it is executed after the caller was told.
 */
export type Fate = 'done' | 'refused' | 'answer-lost' | 'request-lost' | 'late';
export const fates: readonly Fate[] = ['done', 'refused', 'answer-lost', 'request-lost', 'late'];

export type FaultPlan = Readonly<{
  /** The fate of the next call of that operation, such as `event-store.append`. */
  fate: (operation: string) => Fate;
  /** Whether a fault that is no lost message strikes now, such as `bus.double`. */
  strikes: (fault: string) => boolean;
  /** How often each has struck, as `operation:fate` or by the name of the fault. */
  struck: ReadonlyMap<string, number>;
  /** From now on nothing fails. */
  cease: () => void;
}>;

/** Probabilities by operation and fate, and by fault. An operation without any uses those of `*`. */
export type FaultRates = Readonly<{
  fates: Readonly<Record<string, Partial<Record<Exclude<Fate, 'done'>, number>>>>;
  faults: Readonly<Record<string, number>>;
}>;

const counted = (struck: Map<string, number>, name: string): void => void struck.set(name, (struck.get(name) ?? 0) + 1);

export const noFaults = (): FaultPlan => ({
  fate: () => 'done',
  strikes: () => false,
  struck: new Map(),
  cease: () => {},
});

export const randomFaults = (random: Random, rates: FaultRates): FaultPlan => {
  const struck = new Map<string, number>();
  const table = new Map(
    Object.entries(rates.fates).map(([operation, shares]) => [operation, Object.entries(shares) as [Fate, number][]]),
  );
  const anything = table.get('*') ?? [];
  let ceased = false;
  return {
    struck,
    cease: () => {
      ceased = true;
    },
    fate: (operation) => {
      const shares = table.get(operation) ?? anything;
      if (ceased || shares.length === 0) return 'done';
      let drawn = random.next();
      for (const [fate, share] of shares) {
        drawn -= share;
        if (drawn >= 0) continue;
        counted(struck, `${operation}:${fate}`);
        return fate;
      }
      return 'done';
    },
    strikes: (fault) => {
      const share = rates.faults[fault] ?? 0;
      if (ceased || share === 0 || !random.chance(share)) return false;
      counted(struck, fault);
      return true;
    },
  };
};

/**
 * One entry: the `call`-th call (from 1) of that operation meets that fate, or the `call`-th chance of that fault is
 * taken.
 */
export type ScriptedFault = Readonly<{ operation: string; call: number; fate: Fate } | { fault: string; call: number }>;

export const scriptedFaults = (script: readonly ScriptedFault[]): FaultPlan => {
  const calls = new Map<string, number>();
  const struck = new Map<string, number>();
  let ceased = false;
  const callOf = (name: string): number => {
    counted(calls, name);
    return calls.get(name)!;
  };
  return {
    struck,
    cease: () => {
      ceased = true;
    },
    fate: (operation) => {
      const call = callOf(operation);
      const found = script.find(
        (entry) => 'operation' in entry && entry.operation === operation && entry.call === call,
      );
      if (ceased || found === undefined || !('fate' in found)) return 'done';
      counted(struck, `${operation}:${found.fate}`);
      return found.fate;
    },
    strikes: (fault) => {
      const call = callOf(fault);
      if (ceased || !script.some((entry) => 'fault' in entry && entry.fault === fault && entry.call === call))
        return false;
      counted(struck, fault);
      return true;
    },
  };
};
