/** How a program of faults is run, what it has done, and what it found wrong. */

/** The seed repeats every choice. */
export type ProgramOptions = Readonly<{ rounds: number; seed: number; print: (line: string) => void }>;

export type FaultReport = Readonly<{ counts: Readonly<Record<string, number>>; faults: readonly string[] }>;
