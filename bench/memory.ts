/** The memory of the service: at rest, and with 100,000 emails that wait because the relay says nothing. */
import { setTimeout as wait } from 'node:timers/promises';
import { machineWithDisk } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { pinToLoad } from './support/programs.js';
import { report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService, type Service } from './support/service.js';
import { startMuteRelay } from './support/sink.js';

const IDLE_TARGET_MB = 110;
const QUEUED_TARGET_MB = 180;
const QUEUED = 100_000;
const REST_MS = 5_000;
const DEADLINE_MS = 300_000;
const MB = 1_000_000;

/** As it is started by `npm start`, with the built-in mailbox. */
const idle = (): Promise<number> =>
  withDirectory(async (directory) => {
    const service = await startService({ directory });
    try {
      await wait(REST_MS);
      const { rssBytes } = service.program.memory();
      await service.stop();
      return rssBytes;
    } finally {
      service.kill();
    }
  });

/** Asserts that every accepted email is in the read model, in any state but sent. */
const checkWaiting = async (service: Service): Promise<void> => {
  for (let waitedMs = 0; ; waitedMs += 200) {
    const waiting = (await service.listed('queued')) + (await service.listed('processing'));
    if (waiting === QUEUED) return;
    if (waiting > QUEUED || waitedMs > DEADLINE_MS) throw new Error(`${QUEUED} emails were accepted, ${waiting} wait`);
    await wait(200);
  }
};

const queued = (): Promise<Readonly<{ peakBytes: number; rssBytes: number; acceptedPerSecond: number }>> =>
  withDirectory(async (directory) => {
    const relay = await startMuteRelay();
    const service = await startService({ directory, env: { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${relay.port}` } });
    try {
      const { durationMs } = await service.accept(QUEUED, orderRequest);
      await checkWaiting(service);
      await wait(REST_MS);
      const memory = service.program.memory();
      return { ...memory, acceptedPerSecond: (QUEUED / durationMs) * 1_000 };
    } finally {
      // It would wait for its dialogues with the mute relay; what it accepted is checked already.
      service.kill();
      relay.close();
    }
  });

pinToLoad();
const idleBytes = await idle();
const { peakBytes, rssBytes, acceptedPerSecond } = await queued();
report({
  name: 'memory',
  figures: [
    { what: 'idle', value: idleBytes / MB, unit: 'MB', target: { atMost: IDLE_TARGET_MB } },
    {
      what: `${QUEUED} queued, relay mute: peak`,
      value: peakBytes / MB,
      unit: 'MB',
      target: { atMost: QUEUED_TARGET_MB },
    },
    { what: `${QUEUED} queued, relay mute: at rest`, value: rssBytes / MB, unit: 'MB' },
    { what: 'accepted meanwhile', value: acceptedPerSecond, unit: 'emails/s' },
  ],
  machine: machineWithDisk(),
});
