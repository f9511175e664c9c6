/**
 * Measures the CPU of webhooks: one webhook, from the event of the log to the record of its delivery, against a bare
 * signed post of the same body with undici; and an email with one subscription against one without, the posts
 * themselves not counted.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { CreatedWebhook } from '../src/api/webhooks.js';
import { machineWithDisk } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures } from './support/pairs.js';
import { pinToLoad, startProgram } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService, type Service } from './support/service.js';
import { startSink, type Sink } from './support/sink.js';
import {
  openSubscriptions,
  samplesOf,
  startEndpoint,
  type CountingEndpoint,
  type Subscriptions,
} from './support/webhooks.js';

const WEBHOOK_TARGET = 1.6;
const SUBSCRIBED_TARGET = 1.25;
const PAIRS = 8;
/** A subscription gets 100 events a second at most: with so many, those of one block are posted in some seconds. */
const SUBSCRIPTIONS = 20;
const PER_SECOND = 100;
const WARM_UP = 6_000;
const WARM_UP_TOLD = 500;
const EMAILS = 400;
/**
 * Longer than a block takes with one subscription at its pace: what is done by the clock costs a block with none as
 * much.
 */
const BLOCK_MS_MIN = 7_000;
const QUIET_MS = 400;
const QUIET_CPU_US = 10_000;
const DEADLINE_MS = 120_000;

type World = Readonly<{
  service: Service;
  sink: Sink;
  endpoint: CountingEndpoint;
  subscriptions: Subscriptions;
  made: readonly CreatedWebhook[];
}>;

/** Waits until all posts are recorded and projected. */
const quiet = async ({ service }: World): Promise<void> => {
  for (let waitedMs = 0; waitedMs < DEADLINE_MS; waitedMs += QUIET_MS) {
    const before = service.program.cpuUs();
    await wait(QUIET_MS);
    if (service.program.cpuUs() - before <= QUIET_CPU_US) return;
  }
  throw new Error('the service does not come to rest');
};

/**
 * Out: µs of CPU for so many emails from the call to the relay, and to so many subscriptions. Work that follows is
 * counted in.
 */
const sendBlock = async (world: World, emails: number, hearing: number): Promise<number> => {
  const { service, sink, endpoint, subscriptions } = world;
  const made = world.made.slice(0, hearing);
  await subscriptions.enable(made, true);
  await quiet(world);
  const [mails, posts, cpuUs] = [sink.mails(), endpoint.posts(), service.program.cpuUs()];
  const longEnough = wait(BLOCK_MS_MIN);
  await service.accept(emails, orderRequest);
  await sink.took(mails + emails);
  await endpoint.got(posts + emails * hearing);
  await longEnough;
  await quiet(world);
  const used = service.program.cpuUs() - cpuUs;
  if (hearing > 0) samplesOf(endpoint, made);
  await subscriptions.enable(made, false);
  return used;
};

const limitProgram = fileURLToPath(new URL('./limits/webhooks.js', import.meta.url));

const startLimit = async (directory: string, endpoint: CountingEndpoint, samples: unknown) => {
  const file = join(directory, 'samples.json');
  writeFileSync(file, JSON.stringify(samples));
  const program = startProgram({
    command: process.execPath,
    args: [limitProgram, `${endpoint.url}/limit`, file, String(SUBSCRIPTIONS), String(PER_SECOND)],
    side: 'system',
  });
  await program.saw(/ready/);
  let rounds = 0;
  return {
    /** Out: µs of CPU of one post. */
    post: async (count: number): Promise<number> => {
      const [cpuUs, posts] = [program.cpuUs(), endpoint.posts()];
      program.send(String(count));
      rounds += 1;
      await program.saw(new RegExp(`(?:posted \\d+\\n[^]*){${rounds}}`));
      await endpoint.got(posts + count);
      return (program.cpuUs() - cpuUs) / count;
    },
    kill: program.kill,
  };
};

const measure = async (world: World, directory: string) => {
  const { service, endpoint, subscriptions, made } = world;
  await subscriptions.enable(made, false);
  await sendBlock(world, WARM_UP, 0);
  await subscriptions.enable(made, true);
  await quiet(world);
  await service.accept(WARM_UP_TOLD, orderRequest);
  await endpoint.got(WARM_UP_TOLD * SUBSCRIPTIONS);
  const samples = samplesOf(endpoint, made);
  await subscriptions.enable(made, false);
  const limit = await startLimit(directory, endpoint, samples);
  try {
    const posts = EMAILS * SUBSCRIPTIONS;
    await limit.post(posts * 2);
    const webhook = await compareMeasures({
      name: 'a webhook, from the event to the record of its delivery',
      ours: async () => ((await sendBlock(world, EMAILS, SUBSCRIPTIONS)) - (await sendBlock(world, EMAILS, 0))) / posts,
      limit: () => limit.post(posts),
      pairs: PAIRS,
      operations: posts,
    });
    const subscribed = await compareMeasures({
      name: 'an email that one subscription hears of, without the post, against one without subscriptions',
      ours: async () => (await sendBlock(world, EMAILS, 1)) / EMAILS - webhook.limitUs,
      limit: async () => (await sendBlock(world, EMAILS, 0)) / EMAILS,
      pairs: PAIRS,
      operations: EMAILS,
    });
    return { webhook, subscribed, bodyBytes: Buffer.byteLength(samples[0]!.body) };
  } finally {
    limit.kill();
  }
};

pinToLoad();
await withDirectory(async (directory) => {
  const [sink, endpoint] = [await startSink(), await startEndpoint()];
  const env = { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' };
  const service = await startService({ directory: join(directory, 'service'), env });
  try {
    const subscriptions = await openSubscriptions(service);
    const made = await subscriptions.make(endpoint.url, SUBSCRIPTIONS);
    const { webhook, subscribed, bodyBytes } = await measure(
      { service, sink, endpoint, subscriptions, made },
      directory,
    );
    await service.stop();
    report({
      name: 'webhooks',
      figures: [
        ...figuresOf(webhook, 'µs/webhook', { atMost: WEBHOOK_TARGET }),
        ...figuresOf(subscribed, 'µs/email', { atMost: SUBSCRIBED_TARGET }),
        { what: 'size of a body', value: bodyBytes, unit: 'bytes' },
      ],
      machine: machineWithDisk(),
      details: { webhook, subscribed, subscriptions: SUBSCRIPTIONS, emails: EMAILS },
    });
  } finally {
    service.kill();
    sink.kill();
    endpoint.close();
  }
});
