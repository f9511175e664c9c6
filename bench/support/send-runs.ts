/** One run of the service from the call to the relay and into the read models: the CPU of an email. */
import { setTimeout as wait } from 'node:timers/promises';
import { orderRequest } from './orders.js';
import { profileClockUs } from './profile.js';
import { startService, type Service } from './service.js';
import { startSink } from './sink.js';

export const SMTP_CONNECTIONS = 10;
export const MESSAGES_PER_CONNECTION = 100;
/** V8 goes on compiling what it runs for so many emails: each thousand takes less than the one before. */
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
    prepare = () => Promise.resolve(),
  }: Readonly<{ nodeOptions?: readonly string[]; prepare?: (service: Service) => Promise<void> }> = {},
): Promise<Readonly<{ cpuUs: number; window: Readonly<{ fromUs: number; toUs: number }> }>> => {
  const sink = await startSink();
  try {
    const env = {
      SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS),
    };
    const service = await startService({ directory, env, nodeOptions });
    try {
      await prepare(service);
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
