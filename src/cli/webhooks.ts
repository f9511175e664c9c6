/**
 * `sealpost webhooks listen`: a subscription, and a receiver on this machine that checks its signatures, until the
 * command ends.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../domain/ports/clock.js';
import { type Caller, systemCaller } from '../commands/core/caller.js';
import { createWebhook, deleteWebhook } from '../commands/webhooks/subscriptions.js';
import type { WebhookId } from '../domain/core/ids.js';
import { webhookKinds, type WebhookKind } from '../domain/core/event.js';
import type { Engine } from '../service/engine.js';
import { WEBHOOKS, type WebhookDocument } from '../projections/webhooks/webhooks.js';
import { keptWebhooks } from '../projections/webhooks/reads.js';
import { print, printFault } from './core/output.js';
import { withTeam } from './core/engine.js';

export type ListenOptions = Readonly<{ events?: string; port?: string; json?: boolean }>;

type LocalReceiver = Readonly<{ url: string; close: () => void }>;

/** `secret`: asked for at each post. `take`: the id of the event, and its body. `refuse`: why a post is not taken. */
type ReceiverOptions = Readonly<{
  clock: Pick<Clock, 'now'>;
  port: number;
  secret: () => string;
  take: (id: string, body: string) => void;
  refuse: (reason: string) => void;
}>;

type Shown = Readonly<{ event: string; timestamp: string; data: Readonly<Record<string, unknown>> }>;

const HOST = '127.0.0.1';

/** The description by which the subscription of a killed listener is recognised. */
const DESCRIPTION = 'sealpost webhooks listen';
const CONNECT_WITHIN_MS = 1_000;

/** A post that was signed longer ago may be a replay. */
const TOLERANCE_S = 300;
/** Twice the largest body of a webhook. */
const BODY_BYTES_MAX = 512 * 1024;

/** Control characters: texts of mails must not steer the terminal. */
const CONTROLS = /\p{Cc}/gu;

export const listen = (options: ListenOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const [events, port] = [kindsOf(options.events), portOf(options.port)];
    if (!engine.webhooks.insecureHosts.includes(HOST))
      throw new Error(
        `webhooks go to https only here: start the service with SEALPOST_WEBHOOK_INSECURE_HOSTS=${HOST}, and set it for this command too`,
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
      const created = await createWebhook(
        engine,
        caller,
        { url: receiver.url, events, description: DESCRIPTION },
        held,
      );
      ({ secret } = created);
      if (options.json !== true) print(`Webhooks arrive on ${receiver.url} until Ctrl-C; signatures are checked.\n`);
      await stopped;
      await deleteWebhook(engine, caller, created.id as WebhookId, { permanently: true });
    } finally {
      receiver.close();
    }
  });

const stopSignal = (): Promise<unknown> =>
  Promise.race((['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => once(process, signal)));

const kindsOf = (list: string | undefined): WebhookKind[] => {
  if (list === undefined) return [...webhookKinds];
  return [...new Set(list.split(',').map((text) => text.trim()))].map((name) => {
    const kind = webhookKinds.find((one) => one === name);
    if (kind === undefined)
      throw new Error(`--events ${name} is not a kind of event; there are ${webhookKinds.join(', ')}`);
    return kind;
  });
};

const portOf = (text: string | undefined): number => {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error(`--port ${text} is not a whole number from 1 to 65535`);
  return port;
};

/**
 * Deletes the subscriptions of killed listeners, at whose addresses nothing listens. Out: how many subscriptions the
 * team has.
 */
const removeAbandoned = async (engine: Engine, caller: Caller): Promise<number> => {
  const own = (await keptWebhooks(engine.readModels)).filter(
    ({ team, isDeleted }) => team === caller.teamId && !isDeleted,
  );
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

/** Opens an endpoint on loopback that checks signatures as any receiver should. Rejects if the port is taken. */
const openReceiver = async ({ clock, port, secret, take, refuse }: ReceiverOptions): Promise<LocalReceiver> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > BODY_BYTES_MAX) request.destroy();
      else chunks.push(chunk);
    });
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const fault = faultOf(request.headers, body, secret(), clock.now());
      response.writeHead(fault === undefined ? 204 : 401).end();
      if (fault === undefined) take(String(request.headers['x-service-event-id']), body.toString());
      else refuse(fault);
    });
  });
  server.listen(port, HOST);
  await once(server, 'listening');
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** Fault of a post; undefined if it was signed with the secret within the tolerance. */
const faultOf = (headers: IncomingHttpHeaders, body: Buffer, secret: string, nowMs: number): string | undefined => {
  const timestamp = String(headers['x-service-timestamp'] ?? '');
  if (!(Math.abs(nowMs / 1_000 - Number(timestamp || Number.NaN)) <= TOLERANCE_S))
    return 'its X-Service-Timestamp is not of now';
  const expected = Buffer.from(`v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`);
  const given = Buffer.from(String(headers['x-service-signature'] ?? ''));
  return given.length === expected.length && timingSafeEqual(given, expected)
    ? undefined
    : 'its X-Service-Signature is wrong';
};

const lineOf = (id: string, body: string): string => {
  const { event, timestamp, data } = JSON.parse(body) as Shown;
  const about = ['recipient', 'batchName', 'subject'].flatMap((field) =>
    typeof data[field] === 'string' ? [data[field]] : [],
  );
  return [timestamp, event.padEnd(16), ...about, id].join('  ').replace(CONTROLS, ' ');
};
