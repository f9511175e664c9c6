/** Results of a benchmark: figures with their targets, printed as a table and written as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PairsResult } from './pairs.js';
import { resultsRoot } from './scratch.js';

/** One figure. `counts` is false where the machine was too restless for it to mean anything; then it cannot fail. */
export type Figure = Readonly<{
  what: string;
  value: number;
  unit: string;
  /** 95 % interval, where it was taken from pairs. */
  low?: number;
  high?: number;
  target?: Readonly<{ atMost: number }> | Readonly<{ atLeast: number }>;
  counts?: boolean;
  note?: string;
}>;

export type BenchResult = Readonly<{
  name: string;
  figures: readonly Figure[];
  machine: Readonly<Record<string, string>>;
  details?: unknown;
}>;

/** True where the figure is what it should be, has no target, or does not count. */
export const isMet = ({ value, target, counts }: Figure): boolean => {
  if (target === undefined || counts === false) return true;
  return 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
};

/** The figures of a comparison: what each costs, their ratio, and the band of the limit against itself. */
export const figuresOf = (
  { oursUs, limitUs, ratio, self, counts }: PairsResult,
  unit: string,
  target: Figure['target'],
): readonly Figure[] => [
  { what: 'ours', value: oursUs, unit },
  { what: 'limit', value: limitUs, unit },
  {
    what: 'ours / limit',
    value: ratio.median,
    low: ratio.low,
    high: ratio.high,
    unit: '',
    counts,
    ...(target === undefined ? {} : { target }),
  },
  {
    what: 'limit / limit',
    value: self.median,
    low: self.low,
    high: self.high,
    unit: '',
    note: counts ? 'inside 0.93 to 1.07' : 'wider than 0.93 to 1.07, or too few pairs: does not count',
  },
];

/** The exit code of a benchmark that was right but too restless to decide whether its target is met. */
export const UNDECIDED = 3;

/**
 * Prints the figures, writes them to bench/results, and notes in the exit code where a target is missed (1) or not
 * decided.
 */
export const report = (result: BenchResult): void => {
  console.log(`\n${result.name}`);
  for (const line of rows(result.figures)) console.log(`  ${line}`);
  mkdirSync(resultsRoot, { recursive: true });
  writeFileSync(
    join(resultsRoot, `${result.name}.json`),
    `${JSON.stringify({ ...result, measuredAt: new Date().toISOString() }, null, 2)}\n`,
  );
  if (!result.figures.every(isMet)) process.exitCode = 1;
  else if (result.figures.some(({ target, counts }) => target !== undefined && counts === false))
    process.exitCode = UNDECIDED;
};

const rows = (figures: readonly Figure[]): readonly string[] => {
  const cells = figures.map((figure) => [
    figure.what,
    `${shown(figure.value)} ${figure.unit}`.trim(),
    figure.low === undefined || figure.high === undefined ? '' : `[${shown(figure.low)}, ${shown(figure.high)}]`,
    targetOf(figure),
    figure.note ?? '',
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};

const shown = (value: number): string => value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3);

const targetOf = (figure: Figure): string => {
  if (figure.target === undefined) return '';
  const bound = 'atMost' in figure.target ? `at most ${figure.target.atMost}` : `at least ${figure.target.atLeast}`;
  return `${bound}: ${figure.counts === false ? 'not decided' : isMet(figure) ? 'met' : 'MISSED'}`;
};
