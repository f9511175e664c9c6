/**
 * Accepting an email durably at 64 connections, against the least that any program must do for that, and one whose HTML
 * comes with the call against one that is rendered from a template: CPU per request.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inlineCalls } from './support/captured-mail.js';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures } from './support/pairs.js';
import { describeProfile, partRules } from './support/parts.js';
import { profileClockUs, profileOptions, readProfile } from './support/profile.js';
import { pinToLoad, startProgram, type Program } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { CONNECTIONS, post, startService, storedCount } from './support/service.js';

const TARGET = 1.5;
/** A mail as HTML of the call costs no more than from its template. */
const INLINE_TARGET = 1.0;
/** V8 goes on compiling what it runs for that long a warm-up: each thousand takes less than the one before. */
const { pairs, emails, 'warm-up': warmUp } = numbersGiven({ pairs: 8, emails: 10_000, 'warm-up': 20_000 });

const check = (stored: number): void => {
  if (stored !== warmUp + emails) throw new Error(`${warmUp + emails} emails were accepted, ${stored} are stored`);
};

const cpuOf = async (program: Program, accept: (count: number) => Promise<unknown>): Promise<number> => {
  await accept(warmUp);
  const before = program.cpuUs();
  await accept(emails);
  return (program.cpuUs() - before) / emails;
};

const limitProgram = fileURLToPath(new URL('./limits/accept.js', import.meta.url));

const limit = (): Promise<number> =>
  withDirectory(async (directory) => {
    const key = randomUUID();
    const file = join(directory, 'limit.db');
    const program = startProgram({ command: process.execPath, args: [limitProgram, file, key], side: 'system' });
    try {
      const port = Number((await program.saw(/listening on http:\/\/[^\s:]+:(\d+)/))[1]);
      const cpuUs = await cpuOf(program, (count) => post(port, `Bearer ${key}`, count, orderRequest));
      await program.stop();
      check(storedCount(file, 'SELECT count(*) FROM emails'));
      return cpuUs;
    } finally {
      program.kill();
    }
  });

type BodyOf = (n: number) => unknown;

const ours = (directory: string, bodyOf: BodyOf = orderRequest): Promise<number> =>
  run(directory, [], bodyOf).then(({ cpuUs }) => cpuUs);

const run = async (directory: string, nodeOptions: readonly string[], bodyOf: BodyOf = orderRequest) => {
  const service = await startService({ directory, env: { SEALPOST_ROLES: 'http' }, nodeOptions });
  try {
    let fromUs = 0;
    const cpuUs = await cpuOf(service.program, async (count) => {
      fromUs = profileClockUs();
      await service.accept(count, bodyOf);
    });
    const toUs = profileClockUs();
    await service.stop();
    check(
      storedCount(join(directory, 'data', 'events.db'), `SELECT count(*) FROM events WHERE type = 'EmailQueued.v1'`),
    );
    return { cpuUs, window: { fromUs, toUs } };
  } finally {
    service.kill();
  }
};

pinToLoad();
const result = await compareMeasures({
  name: 'accept an email durably',
  ours: () => withDirectory((directory) => ours(directory)),
  limit,
  pairs,
  operations: emails,
});
const bodyOf = await inlineCalls();
const inline = await compareMeasures({
  name: 'accept an email with its HTML, against one from a template',
  ours: () => withDirectory((directory) => ours(directory, bodyOf)),
  limit: () => withDirectory((directory) => ours(directory)),
  pairs,
  operations: emails,
});
const profile = await withDirectory(async (directory) => {
  const { window } = await run(directory, profileOptions(directory));
  return readProfile(directory, window, partRules);
});
console.log('\nthe time of one request (profile of one further run, waiting for the disk included):');
for (const line of describeProfile(profile, result.oursUs)) console.log(line);
report({
  name: 'accept',
  figures: [
    ...figuresOf(result, 'µs/request', { atMost: TARGET }),
    ...figuresOf(inline, 'µs/request', { atMost: INLINE_TARGET }).map((figure) => ({
      ...figure,
      what: `HTML in the call: ${figure.what.replaceAll('limit', 'template')}`,
    })),
  ],
  machine: machineWithDisk(),
  details: { ...result, connections: CONNECTIONS, profile: { ...profile, functions: profile.functions.slice(0, 60) } },
});
