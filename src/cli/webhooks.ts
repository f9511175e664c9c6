/** `sealpost webhooks listen`: a subscription and its receiver for as long as somebody looks on. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Caller } from '../commands/core/caller.js';
import { systemCaller } from '../commands/core/instance.js';
import { createWebhook, deleteWebhook } from '../commands/webhooks/subscriptions.js';
import type { WebhookId } from '../domain/core/ids.js';
import { webhookKinds, type WebhookKind } from '../domain/webhooks/kinds.js';
import type { Engine } from '../service/engine.js';
import { WEBHOOKS, type WebhookDocument } from '../projections/webhooks/webhooks.js';
import { keptWebhooks } from '../projections/webhooks/reads.js';
import { print, printFault } from './core/output.js';
import { withTeam } from './core/engine.js';
import { openReceiver } from './webhook-receiver.js';

export type ListenOptions = Readonly<{ events?: string; port?: string; json?: boolean }>;

const LOCAL_HOST = '127.0.0.1';
/** By this the subscription of a listener that was killed is known. */
const DESCRIPTION = 'sealpost webhooks listen';
const CONNECT_WITHIN_MS = 1_000;

export const listen = (options: ListenOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const [events, port] = [kindsOf(options.events), portOf(options.port)];
    if (!engine.webhooks.insecureHosts.includes(LOCAL_HOST))
      throw new Error(
        `webhooks go to https only here: start the service with SEALPOST_WEBHOOK_INSECURE_HOSTS=${LOCAL_HOST}, and set it for this command too`,
      );
    const caller = systemCaller(teamId, 'cli', 'cli');
    const held = await removeAbandoned(engine, caller);
    const stopped = stopSignal();
    let secret = '';
    const receiver = await openReceiver({
      clock: engine.clock,
      port,
      secret: () => secret,
      take: (id, body) => print(options.json === true ? body : lineOf(id, body)),
      refuse: (reason) => printFault(`A post was refused: ${reason}.`),
    });
    try {
      const created = await createWebhook(engine, caller, { url: receiver.url, events, description: DESCRIPTION }, held);
      ({ secret } = created);
      if (options.json !== true) print(`Webhooks arrive on ${receiver.url} until Ctrl-C; signatures are checked.\n`);
      await stopped;
      await deleteWebhook(engine, caller, created.id as WebhookId, { permanently: true });
    } finally {
      receiver.close();
    }
  });

const stopSignal = (): Promise<unknown> => Promise.race((['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => once(process, signal)));

const kindsOf = (list: string | undefined): WebhookKind[] => {
  if (list === undefined) return [...webhookKinds];
  return [...new Set(list.split(',').map((text) => text.trim()))].map((name) => {
    const kind = webhookKinds.find((one) => one === name);
    if (kind === undefined) throw new Error(`--events ${name} is not a kind of event; there are ${webhookKinds.join(', ')}`);
    return kind;
  });
};

const portOf = (text: string | undefined): number => {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error(`--port ${text} is not a whole number from 1 to 65535`);
  return port;
};

/** Takes away what listeners left that were killed: nothing listens where they did. Out: how many subscriptions the team has. */
const removeAbandoned = async (engine: Engine, caller: Caller): Promise<number> => {
  const own = (await keptWebhooks(engine.readModels)).filter(({ team, isDeleted }) => team === caller.teamId && !isDeleted);
  let held = own.length;
  for (const { id } of own) {
    const found = (await engine.readModels.get(WEBHOOKS, id)) as WebhookDocument | undefined;
    if (found?.shown?.description !== DESCRIPTION || (await isListening(new URL(found.shown.url)))) continue;
    await deleteWebhook(engine, caller, id, { permanently: true });
    held -= 1;
  }
  return held;
};

const isListening = async ({ hostname, port }: URL): Promise<boolean> => {
  const socket = connect({ host: hostname, port: Number(port) });
  const settled = new AbortController();
  try {
    await Promise.race([once(socket, 'connect', settled), wait(CONNECT_WITHIN_MS, undefined, settled)]);
    return true;
  } catch {
    return false;
  } finally {
    settled.abort();
    socket.destroy();
  }
};

type Shown = Readonly<{ event: string; timestamp: string; data: Readonly<Record<string, unknown>> }>;

const lineOf = (id: string, body: string): string => {
  const { event, timestamp, data } = JSON.parse(body) as Shown;
  const about = ['recipient', 'batchName', 'subject'].flatMap((field) => (typeof data[field] === 'string' ? [data[field]] : []));
  return [timestamp, event.padEnd(16), ...about, id].join('  ').replace(CONTROLS, ' ');
};

/** What a mail says must not steer the terminal. */
const CONTROLS = /\p{Cc}/gu;
