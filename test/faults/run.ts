/**
 * Every program of faults, one after the other: `npm run test:faults -- [--rounds N] [--seed N] [--only kill,disk,…]
 * [--faults SIGSTOP,wiped,…]`. Prints what each has done and what it found wrong; ends with 1 where that is anything.
 * The seed repeats every choice of a run.
 */
import { parseArgs } from 'node:util';
import { killTest } from '../e2e/kill.js';
import { attacksTest } from './attacks.js';
import { clocksTest } from './clocks.js';
import { connectionsTest } from './connections.js';
import { diskTest } from './disk.js';
import { distributedTest } from './distributed.js';
import { faultNamed, type Fault } from './distributed-faults.js';
import { documentsTest } from './documents.js';
import { fullDiskTest } from './full-disk.js';
import { relaysTest } from './relays.js';
import { outageTest } from './outage.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { sizesTest } from './sizes.js';
import { webhookHostileTest } from './webhook-hostile.js';
import { webhookKillsTest } from './webhook-kills.js';

type Program = Readonly<{ what: string; run: (options: ProgramOptions) => Promise<FaultReport> }>;

/** A round of each takes about a minute or less, one of `sizes` some minutes. */
const programs: Readonly<Record<string, Program>> = {
  kill: {
    what: 'processes killed while mails are sent',
    run: ({ rounds, ...options }) => killTest({ ...options, rounds: rounds * 20 }),
  },
  outage: {
    what: 'a relay that is away while 20,000 mails come, and is back',
    run: ({ rounds, print }) => outageTest({ rounds: Math.ceil(rounds / 5), print }),
  },
  relay: { what: 'relays that misbehave', run: relaysTest },
  disk: {
    what: 'full disks and failing syncs',
    run: ({ rounds, ...options }) => diskTest({ ...options, rounds: rounds * 10 }),
  },
  clock: {
    what: 'clocks that are set',
    run: ({ rounds, ...options }) => clocksTest({ ...options, rounds: rounds * 20 }),
  },
  'full-disk': {
    what: 'a real server whose files may not grow',
    run: ({ rounds, ...options }) => fullDiskTest({ ...options, rounds: rounds * 20 }),
  },
  distributed: {
    what: 'the distributed engine, its processes and servers killed, frozen, cut off and out of time',
    run: ({ rounds, ...options }) => distributedTest({ ...options, ...chosenFaults(), rounds: Math.ceil(rounds / 5) }),
  },
  attacks: {
    what: 'damaged stores, edits of the log, a log that is away, newer events, output that nobody reads',
    run: attacksTest,
  },
  connections: { what: 'clients that hold connections and read no answers', run: connectionsTest },
  documents: { what: 'heavy documents of one team beside small ones of another', run: documentsTest },
  webhooks: {
    what: 'processes killed while 5,000 emails are sent and told of to three endpoints',
    run: ({ rounds, ...options }) => webhookKillsTest({ ...options, rounds: rounds * 4 }),
  },
  'webhooks-hostile': { what: 'endpoints of webhooks that mean no good', run: webhookHostileTest },
  sizes: { what: 'inputs of hostile sizes', run: sizesTest },
};

/** Those whose names hold one of the texts, where some are asked for. */
const chosenFaults = (): Readonly<{ faults?: readonly Fault[] }> => {
  if (values.faults === undefined) return {};
  const faults = values.faults.split(',').flatMap(faultNamed);
  if (faults.length === 0) throw new Error(`no fault of the distributed engine is called ${values.faults}`);
  return { faults: [...new Set(faults)] };
};

const FAULTS_SHOWN_MAX = 50;

const show = (name: string, { counts, faults }: FaultReport): void => {
  console.log(`${name}: ${faults.length === 0 ? 'passed' : `${faults.length} faults`}`);
  for (const [what, count] of Object.entries(counts)) console.log(`  ${what.padEnd(44)} ${count}`);
  for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) console.log(`  FAULT ${fault}`);
};

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seed: { type: 'string' },
    only: { type: 'string' },
    faults: { type: 'string' },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const names = values.only === undefined ? Object.keys(programs) : values.only.split(',');
const reports = new Map<string, FaultReport>();
for (const name of names) {
  const program = programs[name];
  if (program === undefined)
    throw new Error(`there is no program "${name}"; there are ${Object.keys(programs).join(', ')}`);
  console.log(`${name}: ${program.what}; ${values.rounds} rounds, seed ${seed}`);
  reports.set(name, await program.run({ rounds: Number(values.rounds), seed, print: (line) => console.log(line) }));
}
console.log('');
for (const [name, report] of reports) show(name, report);
process.exit([...reports.values()].every(({ faults }) => faults.length === 0) ? 0 : 1);
