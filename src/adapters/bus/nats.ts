/**
 * Pointers to work on a NATS server with JetStream, shared by every process: one stream, in it a subject for each
 * pointer by processor and priority, and a durable consumer for each processor and priority. Timers find work again
 * whose pointer the server has lost.
 */
import { readFileSync } from 'node:fs';
import { setMaxListeners } from 'node:events';
import type * as Driver from 'nats';
import type { ConnectionOptions, NatsConnection } from 'nats';
import type { Parked, ParkedWork, Bus } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openHeld, consumeFrom } from './nats-consume.js';
import { openLink } from './nats-link.js';
import { openPublish } from './nats-publish.js';
import { decodePointer, isMissing, membersOf, namesOf, openStreams, type Streams } from './nats-streams.js';

type NatsBusOptions = Readonly<{
  /** The value of SEALPOST_BUS_URL. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** Room for pointers of one priority of one processor, those in work included. */
  pointersMax: number;
}>;

const CONNECT_WITHIN_MS = 5_000;
const RECONNECT_EVERY_MS = 250;
/** The driver gives up a server that leaves two pings unanswered, and tries another of the cluster. */
const PING_EVERY_MS = 5_000;
/** A server with much to do works for so long on a request to make a stream or a consumer. */
const PATIENT_WITHIN_MS = 30_000;

const schemes = ['nats:', 'tls:'];
const parameters = ['ca', 'cert', 'key', 'creds', 'prefix', 'replicas'];
const prefixDefault = 'sealpost';
const replicasMax = 5;

/** Rejects where no server answers, or the one that does has no JetStream for us; the message names the setting. */
export const openNatsBus = async ({ url, clock, logger, pointersMax }: NatsBusOptions): Promise<Bus> => {
  const address = readNatsUrl(url);
  const { prefix, replicas } = address;
  const driver = await import('nats');
  const freshInbox = (): string => driver.createInbox();
  const connection = await connectTo(address, driver);
  const manager = await connection.jetstreamManager({ timeout: PATIENT_WITHIN_MS, checkAPI: false });
  const link = openLink(connection, freshInbox(), { clock, logger });
  // Every wait listens to this signal.
  setMaxListeners(0, link.closed);
  const streams = openStreams({ link, manager, driver, names: namesOf(prefix), pointersMax, replicas });
  try {
    await streams.ensure();
  } catch (fault) {
    await link.close();
    throw new Error(`SEALPOST_BUS_URL: ${whyOf(fault)}`, { cause: fault });
  }
  const held = openHeld({ clock, link });
  const publishing = openPublish({ clock, logger, link, streams, pointersMax });
  return {
    ...publishing,
    consume: (processor, { maxInFlight, signal }) =>
      consumeFrom({ clock, logger, link, streams, held, freshInbox }, { processor, maxInFlight, signal }),
    parked: openParked(streams, publishing.publish),
    close: link.close,
  };
};

const connectTo = async (
  { servers, user, pass, token, tls, credentials }: NatsAddress,
  driver: Pick<typeof Driver, 'connect' | 'credsAuthenticator'>,
): Promise<NatsConnection> => {
  const options = {
    ...{ servers, user, pass, token, tls },
    // The file is read for each connection, so that renewed credentials are used.
    authenticator: credentials && driver.credsAuthenticator(() => readFileSync(credentials)),
    name: 'sealpost',
    timeout: CONNECT_WITHIN_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_EVERY_MS,
    pingInterval: PING_EVERY_MS,
    maxPingOut: 2,
    // Credentials that are renewed on the server's side make it answer again.
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
  };
  try {
    // A part that the URL does not have is undefined, which the driver takes for absent.
    return await driver.connect(options as ConnectionOptions);
  } catch (fault) {
    throw new Error(
      `SEALPOST_BUS_URL: no NATS server can be used at ${servers.join(', ')} (${whyOf(fault)}). Start it, or correct the setting.`,
      { cause: fault },
    );
  }
};

/** The driver says `tls` alone where the server has none, and `503` where it has no JetStream. */
const whyOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'unknown fault';
  if (fault.message === 'tls') return 'it offers no TLS';
  return fault.message === '503' ? 'the NATS server has no JetStream; enable it there' : fault.message;
};

const openParked = ({ manager, names, ensure }: Streams, publish: Bus['publish']): ParkedWork => {
  async function* all(): AsyncGenerator<Readonly<{ seq: number; parked: Parked }>> {
    await ensure();
    for (let from = 1; ;) {
      const query = { seq: from, next_by_subj: names.parkedSubjects };
      const found = await manager.streams.getMessage(names.parkedStream, query).catch((fault: unknown) => {
        if (!isMissing(fault)) throw fault;
      });
      if (found === undefined) return;
      const parked = readParked(found.string());
      if (parked !== undefined) yield { seq: found.seq, parked };
      from = found.seq + 1;
    }
  }
  return {
    list: async function* () {
      for await (const { parked } of all()) yield parked;
    },
    release: async ({ processor, id }) => {
      for await (const { seq, parked } of all()) {
        if (parked.processor !== processor || parked.pointer.id !== id) continue;
        if ((await publish(processor, [parked.pointer])).length > 0) return false;
        return manager.streams.deleteMessage(names.parkedStream, seq, false);
      }
      return false;
    },
  };
};

const readParked = (json: string): Parked | undefined => {
  const { processor, priority, pointer: encoded, deliveries, reason, parkedAtMs } = membersOf(json);
  const pointer = decodePointer(String(encoded), String(priority));
  if (pointer === undefined || typeof processor !== 'string') return undefined;
  return { processor, pointer, deliveries: Number(deliveries), reason: String(reason), parkedAtMs: Number(parkedAtMs) };
};

/** The parsed URL of a NATS server. */
type NatsAddress = ReturnType<typeof readNatsUrl>;

/**
 * nats://user:password@host:4222,other:4222?prefix=sealpost&replicas=3, tls://… where only an encrypted connection will
 * do. Throws where the URL says what the bus does not understand; the message shows no credentials.
 */
export const readNatsUrl = (url: string) => {
  const refuse = (why: string): never => {
    throw new Error(`SEALPOST_BUS_URL=${url.replace(/\/\/.*@/, '//…@')} ${why}`);
  };
  // WHATWG URLs have one host, those of a NATS cluster several.
  const [, scheme = '', userInfo = '', hosts = '', query = ''] =
    /^([a-z]+:)\/\/(?:(.*)@)?([^/?#@]*)\/?(?:\?(.*))?$/i.exec(url) ??
    refuse('is not of the form nats://user:password@host:4222.');
  if (!schemes.includes(scheme)) refuse(`has no scheme of NATS; it takes ${schemes.join(' and ')}.`);
  const search = new URLSearchParams(query);
  for (const name of search.keys()) {
    if (!parameters.includes(name)) refuse(`has a parameter ${name}, which is none of ${parameters.join(', ')}.`);
  }
  const given = (name: string): string | undefined => search.get(name) ?? undefined;
  const prefix = given('prefix') ?? prefixDefault;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix))
    refuse('has a prefix that is not made of 1 to 32 letters, digits, hyphens and underscores.');
  const replicas = Number(given('replicas') ?? 1);
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > replicasMax)
    refuse(`has replicas that are no number from 1 to ${replicasMax}.`);
  const servers = hosts.split(',').map((host) => host.trim());
  if (servers.includes('')) refuse('names no host.');
  const [, user, pass] = /^([^:]+)(?::(.*))?$/s.exec(userInfo) ?? [];
  const files = { caFile: given('ca'), certFile: given('cert'), keyFile: given('key') };
  const isEncrypted = scheme === 'tls:' || Object.values(files).some((file) => file !== undefined);
  return {
    /** Without credentials, as messages and logs may show them. */
    servers,
    user: pass === undefined ? undefined : decoded(user),
    pass: decoded(pass),
    token: pass === undefined ? decoded(user) : undefined,
    tls: isEncrypted ? files : undefined,
    /** A file of a JWT and its key, as `nsc` writes them. */
    credentials: given('creds'),
    /** The first part of every subject, in capitals the names of the streams: several services may share a server. */
    prefix,
    replicas,
  };
};

/** Decodes percent signs. A text with one that encodes nothing is taken literally. */
const decoded = (text: string | undefined): string | undefined => {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
};
