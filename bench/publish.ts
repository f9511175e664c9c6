/**
 * Writes the results of bench/results into bench/published.json, and from there the tables of docs/performance.md and
 * its chart. A benchmark without a new result keeps its published figures.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawChart, writePage, type Counted, type Published } from './support/performance.js';
import type { BenchResult } from './support/results.js';
import { projectRoot, resultsRoot } from './support/scratch.js';

/** The results that the page shows. */
const shown = [
  ...['accept', 'render', 'peers', 'end-to-end', 'dkim', 'bulk', 'distributed'],
  ...['memory', 'start', 'memory-by-package', 'storage'],
];
const DIGITS = 5;

const pathOf = (path: string): string => join(projectRoot, path);
const readJson = <Content>(path: string): Content => JSON.parse(readFileSync(path, 'utf8')) as Content;
const rounded = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;

const file = pathOf('bench/published.json');
const published: Record<string, Published[string]> = existsSync(file) ? { ...readJson<Published>(file) } : {};
for (const name of existsSync(resultsRoot) ? readdirSync(resultsRoot) : []) {
  const result = readJson<BenchResult & Readonly<{ measuredAt: string }>>(join(resultsRoot, name));
  if (!shown.includes(result.name)) continue;
  const { figures, machine, measuredAt } = result;
  if (measuredAt <= (published[result.name]?.measuredAt ?? '')) continue;
  published[result.name] = { figures, machine, measuredAt };
  console.log(`${result.name}: measured ${measuredAt}`);
}
const missing = shown.filter((name) => published[name] === undefined);
if (missing.length > 0) console.log(`without a result, so left out of the page: ${missing.join(', ')}`);
const sorted: Published = Object.fromEntries(Object.entries(published).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(sorted, rounded, 2)}\n`);

const [kept, counted] = [readJson<Published>(file), readJson<Counted>(pathOf('bench/counts.json'))];
const page = pathOf('docs/performance.md');
writeFileSync(page, writePage(readFileSync(page, 'utf8'), kept, counted));
writeFileSync(pathOf('docs/img/performance.svg'), drawChart(kept));
