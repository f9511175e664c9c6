/**
 * Loads each dependency alone and prints the resident memory and the CPU time that it takes, and whether a service at
 * rest has loaded it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as wait } from 'node:timers/promises';
import { machine } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { median } from './support/pairs.js';
import { report } from './support/results.js';
import { projectRoot, withDirectory } from './support/scratch.js';
import { startService } from './support/service.js';

const REST_MS = 5_000;
const MB = 1_000_000;
const { pairs: rounds } = numbersGiven({ pairs: 5 });
const { dependencies } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  dependencies: Readonly<Record<string, string>>;
};

/** The program loads these packages by another path than their name. */
const entries: Readonly<Record<string, string>> = {
  pdfmake: 'pdfmake/js/index.js',
  '@jsquash/jpeg': '@jsquash/jpeg/decode.js',
  '@jsquash/webp': '@jsquash/webp/decode.js',
};

type Cost = Readonly<{ bytes: number; cpuMs: number }>;

/** Modules of Node that the service loads whatever its packages are: their memory is not that of a package. */
const ofNode = ['http', 'https', 'tls', 'crypto', 'dns', 'zlib', 'worker_threads', 'child_process', 'stream/web'];

/** A process of its own; without a package, the error of the measurement. */
const program = (entry: string | undefined): string => `
  for (const name of ${JSON.stringify(ofNode)}) await import('node:' + name);
  const of = () => { for (let i = 0; i < 3; i += 1) gc(); return process.memoryUsage.rss(); };
  const before = of(), cpu = process.cpuUsage();
  const loaded = ${entry === undefined ? '0' : `await import(${JSON.stringify(entry)})`};
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ bytes: of() - before, cpuMs: (user + system) / 1e3 }));
  process.exit(loaded === undefined ? 1 : 0);
`;
const costOf = (entry: string | undefined): Cost =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', program(entry)], {
      cwd: projectRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  ) as Cost;

const medianOf = (costs: readonly Cost[]): Cost => ({
  bytes: median(costs.map(({ bytes }) => bytes)),
  cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
});

/** Notes each package of which a file is loaded, by import and by require. */
const hook = (list: string): string => `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const seen = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
      if (name !== undefined && !seen.has(name)) {
        seen.add(name);
        appendFileSync(${JSON.stringify(list)}, name + '\\n');
      }
      return next(url, context);
    },
  });
`;

/** The packages that a service has loaded when it has been at rest for some seconds. */
const loadedAtRest = (): Promise<ReadonlySet<string>> =>
  withDirectory(async (directory) => {
    const [list, file] = [join(directory, 'loaded'), join(directory, 'hook.mjs')];
    writeFileSync(file, hook(list));
    const service = await startService({ directory, nodeOptions: ['--import', pathToFileURL(file).href], side: 'any' });
    try {
      await wait(REST_MS);
      return new Set(existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []);
    } finally {
      service.kill();
    }
  });

const loaded = await loadedAtRest();
if (!loaded.has('fastify')) throw new Error('the service has not loaded fastify: the list of packages is wrong');
const names: readonly (string | undefined)[] = [undefined, ...Object.keys(dependencies)];
const found = new Map<string | undefined, Cost[]>();
for (let round = 0; round < rounds; round += 1)
  for (const name of names)
    found.set(name, [...(found.get(name) ?? []), costOf(name === undefined ? undefined : (entries[name] ?? name))]);
const nothing = medianOf(found.get(undefined) ?? []);
const costs = Object.keys(dependencies)
  .map((name) => {
    const cost = medianOf(found.get(name) ?? []);
    return {
      name,
      megabytes: Math.max(0, cost.bytes - nothing.bytes) / MB,
      cpuMs: Math.max(0, cost.cpuMs - nothing.cpuMs),
      atRest: loaded.has(name),
    };
  })
  .sort((a, b) => b.megabytes - a.megabytes);
const sum = (atRest: boolean): number =>
  costs.filter((cost) => cost.atRest === atRest).reduce((total, { megabytes }) => total + megabytes, 0);
report({
  name: 'memory-by-package',
  figures: [
    ...costs.map(({ name, megabytes, cpuMs, atRest }) => ({
      what: name,
      value: megabytes,
      unit: 'MB',
      note: `${cpuMs.toFixed(0).padStart(4)} ms of CPU${atRest ? ', loaded at rest' : ''}`,
    })),
    { what: 'loaded at rest, each alone, in all', value: sum(true), unit: 'MB' },
    { what: 'not loaded at rest, in all', value: sum(false), unit: 'MB' },
  ],
  machine: machine(),
  details: { costs, loaded: [...loaded].sort() },
});
