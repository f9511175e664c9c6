/**
 * The first document of a service: in a process that is started for it, and in one that stands ready; and what it takes
 * to stand there.
 */
import { readFileSync } from 'node:fs';
import { systemClock } from '../src/adapters/clock/system.js';
import { openGenerator } from '../src/adapters/render/workers/generator.js';
import { assertDefined, parseTeamId } from '../src/domain/core/ids.js';
import { defaultLimits } from '../src/domain/core/limits.js';
import type { Generator } from '../src/domain/ports/generator.js';
import { childrenOf, cpuMsOf } from './support/processes.js';
import { environment, invoiceContent, invoiceOf, metadata } from './support/documents.js';
import { machine } from './support/machine.js';
import { median } from './support/pairs.js';
import { report } from './support/results.js';

const FIRST_MS = 500;
const READY_MB = 100;
const PAIRS = 7;
const MB = 1_000_000;
/** Below this share of the time the processor was with others, and the wall time says little. */
const CPU_SHARE_MIN = 0.7;
/** Least ratio of CPU time to wall time at the start of a process: its threads work side by side. */
const START_SHARE_MIN = 1.1;
const LOOK_EVERY_MS = 500;

const teamId = assertDefined(parseTeamId('11111111-1111-4111-8111-111111111111'), 'team');
const variables = invoiceOf(10);
const input = { teamId, content: invoiceContent(variables), cacheKey: 'invoice', variables, environment };

/** Bytes of memory that no other process shares. */
const ownBytes = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm);
  return [...fields].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1_024, 0);
};

/** Resolves when the process has nothing more to do. */
const atRest = async (): Promise<number> => {
  for (let before = -1; ;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const [pid] = childrenOf(process.pid);
    const now = pid === undefined ? 0 : cpuMsOf(pid);
    if (pid !== undefined && now > 0 && now === before) return pid;
    before = now;
  }
};

type First = Readonly<{ wallMs: number; cpuMs: number }>;

const first = async (generator: Generator, fromCpuMs: number): Promise<First> => {
  const ownFromMs = cpuMsOf(process.pid);
  const startMs = performance.now();
  await generator.make(input, 'pdf', new Map(), metadata, new AbortController().signal);
  const wallMs = performance.now() - startMs;
  const [pid = 0] = childrenOf(process.pid);
  return { wallMs, cpuMs: cpuMsOf(pid) - fromCpuMs + cpuMsOf(process.pid) - ownFromMs };
};

const open = (keepsReady: boolean): Generator =>
  openGenerator({ limits: defaultLimits, clock: systemClock(), keepsReady });

const [cold, ready, standing]: [First[], First[], number[]] = [[], [], []];
for (let pair = 0; pair < PAIRS; pair += 1) {
  const [started, prepared] = [open(false), open(true)];
  cold.push(await first(started, 0));
  await started.close();
  prepared.prepare();
  const pid = await atRest();
  standing.push(ownBytes(pid));
  ready.push(await first(prepared, cpuMsOf(pid)));
  await prepared.close();
}

const wallOf = (found: readonly First[]): number => median(found.map(({ wallMs }) => wallMs));
const cpuOf = (found: readonly First[]): number => median(found.map(({ cpuMs }) => cpuMs));
report({
  name: 'first-document',
  figures: [
    {
      what: 'first PDF, in a process started for it',
      value: wallOf(cold),
      unit: 'ms',
      target: { atMost: FIRST_MS },
      counts: cpuOf(cold) >= START_SHARE_MIN * wallOf(cold),
    },
    { what: 'its CPU', value: cpuOf(cold), unit: 'ms' },
    {
      what: 'first PDF, in a process that stands ready',
      value: wallOf(ready),
      unit: 'ms',
      target: { atMost: FIRST_MS },
      counts: cpuOf(ready) >= CPU_SHARE_MIN * wallOf(ready),
    },
    { what: 'its CPU', value: cpuOf(ready), unit: 'ms', target: { atMost: FIRST_MS } },
    {
      what: 'own memory of the process that stands ready',
      value: median(standing) / MB,
      unit: 'MB',
      target: { atMost: READY_MB },
    },
  ],
  machine: machine(),
  details: { cold, ready, standing },
});
