/** One run of the service from the call to the relay and into the read models: the CPU of an email. */
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { orderRequest } from './orders.js';
import { profileClockUs } from './profile.js';
import { startProgram, type Program } from './programs.js';
import { startService, type Service } from './service.js';
import { startSink } from './sink.js';

export const SMTP_CONNECTIONS = 10;
export const MESSAGES_PER_CONNECTION = 100;
/** V8 goes on compiling what it runs for that many emails: each thousand takes less than the one before. */
export const WARM_UP = 8_000;
export const EMAILS = 5_000;
const DEADLINE_MS = 300_000;

/** How many emails are sent before the measurement, and in it. */
export type Counts = Readonly<{ warmUp: number; emails: number }>;

/** Everything that follows from the emails is done: the relay has them, and the read model says so. */
const settled = async (service: Service, emails: number): Promise<void> => {
  for (let waitedMs = 0; (await service.listed('sent')) < emails; waitedMs += 100) {
    if (waitedMs > DEADLINE_MS)
      throw new Error(`${await service.listed('sent')} emails are listed as sent, ${emails} were accepted`);
    await wait(100);
  }
};

/** µs of CPU of each email, and when the measurement was, for a profile of it. */
export const runService = async (
  directory: string,
  { warmUp, emails }: Counts,
  {
    nodeOptions = [],
    env = {},
  }: Readonly<{ nodeOptions?: readonly string[]; env?: Readonly<Record<string, string>> }> = {},
): Promise<Readonly<{ cpuUs: number; window: Readonly<{ fromUs: number; toUs: number }> }>> => {
  const sink = await startSink();
  try {
    const settings = {
      SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS),
      ...env,
    };
    const service = await startService({ directory, env: settings, nodeOptions });
    try {
      const send = async (count: number, before: number): Promise<void> => {
        await service.accept(count, orderRequest);
        await sink.took(before + count);
        await settled(service, before + count);
      };
      await send(warmUp, 0);
      const [cpuUs, fromUs] = [service.program.cpuUs(), profileClockUs()];
      await send(emails, warmUp);
      const used = (service.program.cpuUs() - cpuUs) / emails;
      const toUs = profileClockUs();
      await service.stop();
      await sink.took(warmUp + emails);
      return { cpuUs: used, window: { fromUs, toUs } };
    } finally {
      service.kill();
    }
  } finally {
    sink.kill();
  }
};

/** A key that signs mails, as the settings of the service name it. */
export type SigningKey = Readonly<{ domain: string; selector: string; privateKeyFile: string }>;

const poolProgram = fileURLToPath(new URL('../limits/end-to-end.js', import.meta.url));

/**
 * Starts nodemailer's pool. In: the port of the relay, the file of a mail that is ready, the key that signs it. Each line
 * sent to the program says how many mails it sends.
 */
export const startPool = async (port: number, mail: string, key?: SigningKey): Promise<Program> => {
  const args = [
    ...[poolProgram, port, mail, SMTP_CONNECTIONS, MESSAGES_PER_CONNECTION].map(String),
    ...(key === undefined ? [] : [key.domain, key.selector, key.privateKeyFile]),
  ];
  const program = startProgram({ command: process.execPath, args, side: 'system' });
  await program.saw(/ready/);
  return program;
};

/** In: the file of a mail that is ready. Out: µs of CPU of each email of nodemailer's pool, signed where a key is given. */
export const runPool = async (mail: string, { warmUp, emails }: Counts, key?: SigningKey): Promise<number> => {
  const sink = await startSink();
  const program = await startPool(sink.port, mail, key);
  try {
    const send = async (count: number, before: number): Promise<void> => {
      program.send(String(count));
      await sink.took(before + count);
      await program.saw(new RegExp(`sent ${count}\n`));
    };
    await send(warmUp, 0);
    const cpuUs = program.cpuUs();
    await send(emails, warmUp);
    return (program.cpuUs() - cpuUs) / emails;
  } finally {
    program.kill();
    sink.kill();
  }
};
