/**
 * An email from the call to the relay and into the read models, against the pool of nodemailer sending the same mail
 * ready-made: CPU per email.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { captureMail } from './support/captured-mail.js';
import { machineWithDisk } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures } from './support/pairs.js';
import { describeProfile, partRules } from './support/parts.js';
import { profileClockUs, profileOptions, readProfile } from './support/profile.js';
import { pinToLoad, startProgram } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { CONNECTIONS, startService, type Service } from './support/service.js';
import { startSink } from './support/sink.js';

const TARGET = 2.5;
const PAIRS = 8;
/** So long V8 goes on compiling what it runs: each thousand takes less than the one before. */
const WARM_UP = 8_000;
const OPERATIONS = 5_000;
const SMTP_CONNECTIONS = 10;
const MESSAGES_PER_CONNECTION = 100;
const DEADLINE_MS = 300_000;

/** Everything that follows from the emails is done: the relay has them, and the read model says so. */
const settled = async (service: Service, emails: number): Promise<void> => {
  for (let waitedMs = 0; (await service.listed('sent')) < emails; waitedMs += 100) {
    if (waitedMs > DEADLINE_MS)
      throw new Error(`${await service.listed('sent')} emails are listed as sent, ${emails} were accepted`);
    await wait(100);
  }
};

const environment = (port: number) => ({
  SEALPOST_SMTP_URL: `smtp://127.0.0.1:${port}`,
  SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS),
});

const run = async (directory: string, nodeOptions: readonly string[]) => {
  const sink = await startSink();
  try {
    const service = await startService({ directory, env: environment(sink.port), nodeOptions });
    try {
      const send = async (count: number, before: number): Promise<void> => {
        await service.accept(count, orderRequest);
        await sink.took(before + count);
        await settled(service, before + count);
      };
      await send(WARM_UP, 0);
      const [cpuUs, fromUs] = [service.program.cpuUs(), profileClockUs()];
      await send(OPERATIONS, WARM_UP);
      const used = (service.program.cpuUs() - cpuUs) / OPERATIONS;
      const toUs = profileClockUs();
      await service.stop();
      await sink.took(WARM_UP + OPERATIONS);
      return { cpuUs: used, window: { fromUs, toUs } };
    } finally {
      service.kill();
    }
  } finally {
    sink.kill();
  }
};

const limitProgram = fileURLToPath(new URL('./limits/end-to-end.js', import.meta.url));

const limit = async (mail: string): Promise<number> => {
  const sink = await startSink();
  const args = [limitProgram, String(sink.port), mail, String(SMTP_CONNECTIONS), String(MESSAGES_PER_CONNECTION)];
  const program = startProgram({ command: process.execPath, args, side: 'system' });
  try {
    await program.saw(/ready/);
    const send = async (count: number, before: number): Promise<void> => {
      program.send(String(count));
      await sink.took(before + count);
      await program.saw(new RegExp(`sent ${count}\n`));
    };
    await send(WARM_UP, 0);
    const cpuUs = program.cpuUs();
    await send(OPERATIONS, WARM_UP);
    return (program.cpuUs() - cpuUs) / OPERATIONS;
  } finally {
    program.kill();
    sink.kill();
  }
};

pinToLoad();
const raw = await withDirectory((directory) =>
  captureMail(directory, { SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS) }),
);
const result = await withDirectory(async (directory) => {
  const mail = join(directory, 'mail.eml');
  writeFileSync(mail, raw);
  return compareMeasures({
    name: 'an email from the call to the relay',
    ours: () => withDirectory((own) => run(own, []).then(({ cpuUs }) => cpuUs)),
    limit: () => limit(mail),
    pairs: PAIRS,
    operations: OPERATIONS,
  });
});
const profile = await withDirectory(async (directory) => {
  const { window } = await run(directory, profileOptions(directory));
  return readProfile(directory, window, partRules);
});
console.log('\nthe time of one email by part (profile of one further run, waiting for the disk included):');
for (const line of describeProfile(profile, result.oursUs)) console.log(line);
report({
  name: 'end-to-end',
  figures: [
    ...figuresOf(result, 'µs/email', { atMost: TARGET }),
    { what: 'size of a mail', value: raw.length, unit: 'bytes' },
  ],
  machine: machineWithDisk(),
  details: {
    ...result,
    connections: CONNECTIONS,
    smtpConnections: SMTP_CONNECTIONS,
    profile: { ...profile, functions: profile.functions.slice(0, 60) },
  },
});
