/**
 * Pointers to work on a NATS server with JetStream, shared by every process: one stream, in it a subject for each
 * pointer by processor, priority and group, and a durable consumer for each group that has had pointers. Timers find
 * work again whose pointer the server has lost.
 */
import { readFileSync } from 'node:fs';
import type * as Driver from 'nats';
import type { ConnectionOptions, TlsOptions } from 'nats';
import { setMaxListeners } from 'node:events';
import type { Parked, ParkedWork, Bus, Work } from '../../domain/ports/bus.js';
import { type Delivery, openHeld, type Held, consumeFrom } from './nats-consume.js';
import { decodePointer, encodePointer, membersOf, JetStreamRefusal, namesOf, openStreams } from './nats-streams.js';
import { type Publish, type PublishDeps, openPublish, openRooms } from './nats-publish.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openLink, type Link } from './nats-link.js';

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

const NO_MESSAGE = 10_037;
const schemes = ['nats:', 'tls:'];
const parameters = ['ca', 'cert', 'key', 'creds', 'prefix', 'replicas'];
const prefixDefault = 'sealpost';
const replicasMax = 5;

/** Rejects where no server answers, or the one that does has no JetStream for us; the message names the setting. */
export const openNatsBus = async ({ url, clock, logger, pointersMax }: NatsBusOptions): Promise<Bus> => {
  const address = readNatsUrl(url);
  const { connection, freshInbox } = await connectTo(address);
  const link = openLink(connection, freshInbox(), { clock, logger });
  const names = namesOf(address.prefix);
  const streams = openStreams(link, names, { clock, pointersMax, replicas: address.replicas });
  try {
    await streams.ensureStreams();
  } catch (fault) {
    await link.close();
    throw new Error(`SEALPOST_BUS_URL: ${fault instanceof Error ? fault.message : 'unknown fault'}`, { cause: fault });
  }
  const rooms = openRooms({ clock, link, streams, names, pointersMax });
  const held = openHeld({ clock, link });
  const closing = new AbortController();
  // Every wait of a consumer listens to these signals.
  setMaxListeners(0, closing.signal, link.closed);
  const publishing: PublishDeps = { logger, link, streams, names, rooms };
  const publish = openPublish(publishing);
  const workOf = (delivery: Delivery, done: () => void): Work =>
    makeWork({ clock, logger, held, publishing }, delivery, done);
  return {
    publish,
    whenRoom: rooms.whenRoom,
    consume: (processor, { maxInFlight, signal }) =>
      consumeFrom({ clock, link, streams, names, held, freshInbox, closed: closing.signal }, processor, {
        maxInFlight,
        signal,
        workOf,
      }),
    depth: rooms.depth,
    parked: openParked(publishing, publish),
    close: async () => {
      // Consumers hand back what they pulled ahead before the connection closes.
      closing.abort();
      await link.close();
    },
  };
};

const connectTo = async (
  address: NatsAddress,
): Promise<Readonly<{ connection: Link['connection']; freshInbox: () => string }>> => {
  const driver = await import('nats');
  const servers = address.servers.join(', ');
  try {
    const connection = await driver.connect({
      ...connectionOptionsOf(address, driver),
      name: 'sealpost',
      timeout: CONNECT_WITHIN_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_EVERY_MS,
      pingInterval: PING_EVERY_MS,
      maxPingOut: 2,
      // Credentials that are renewed on the server's side make it answer again.
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
    });
    return { connection, freshInbox: () => driver.createInbox() };
  } catch (fault) {
    const why = whyOf(fault);
    throw new Error(
      `SEALPOST_BUS_URL: no NATS server can be used at ${servers} (${why}). Start it, or correct the setting.`,
      {
        cause: fault,
      },
    );
  }
};

/** The driver says `tls` alone where the server has none. */
const whyOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'unknown fault';
  return fault.message === 'tls' ? 'it offers no TLS' : fault.message;
};

const connectionOptionsOf = (
  { servers, user, password, token, credentials, tls }: NatsAddress,
  { credsAuthenticator }: Pick<typeof Driver, 'credsAuthenticator'>,
): ConnectionOptions => ({
  servers: [...servers],
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { pass: password }),
  ...(token === undefined ? {} : { token }),
  ...(tls === undefined ? {} : { tls }),
  // The file is read for each connection, so that renewed credentials are used.
  ...(credentials === undefined ? {} : { authenticator: credsAuthenticator(() => readFileSync(credentials)) }),
});

type WorkDeps = Readonly<{ clock: Clock; logger: Logger; held: Held; publishing: PublishDeps }>;

const makeWork = ({ clock, logger, held, publishing }: WorkDeps, delivery: Delivery, done: () => void): Work => {
  const { pointer, deliveries } = delivery;
  let open = true;
  let isOut = true;
  const settle = async (act: () => Promise<void>): Promise<void> => {
    if (!open) throw new Error(`work ${pointer.id} was settled twice`);
    open = false;
    try {
      await act();
    } catch (fault) {
      // The server has not heard of it, so the caller may try another end.
      open = true;
      throw fault;
    } finally {
      if (isOut) done();
      isOut = false;
    }
  };
  return {
    pointer,
    deliveries,
    ack: () => settle(() => held.ack(delivery)),
    retryAt: (atMs) => settle(() => held.retryAt(delivery, atMs)),
    park: (reason) =>
      settle(async () => {
        await park(publishing, delivery, reason, clock.now());
        await held.ack(delivery);
        logger.error({ id: pointer.id, stream: pointer.stream, deliveries, reason }, 'work was parked');
      }),
  };
};

/**
 * Writes work to the stream of parked work: one message for each id, which stays until it is released. Resolves when
 * the server has it.
 */
const park = async (
  { link, streams, names }: PublishDeps,
  delivery: Delivery,
  reason: string,
  atMs: number,
): Promise<void> => {
  await streams.ensureStreams();
  const { processor, pointer, deliveries } = delivery;
  const kept = {
    processor,
    priority: pointer.priority,
    pointer: encodePointer(pointer),
    deliveries,
    reason,
    parkedAtMs: atMs,
  };
  const answer = membersOf((await link.ask(names.parkedSubject(processor, pointer), JSON.stringify(kept))).string());
  if (answer['error'] !== undefined)
    throw new Error(`the NATS server keeps no parked work: ${JSON.stringify(answer['error'])}`);
};

const openParked = ({ streams, names }: PublishDeps, publish: Publish): ParkedWork => {
  const find = async (seq: number): Promise<Readonly<{ seq: number; parked: Parked | undefined }> | undefined> => {
    try {
      await streams.ensureStreams();
      const answer = await streams.api(`STREAM.MSG.GET.${names.parkedStream}`, {
        seq,
        next_by_subj: names.parkedSubjects,
      });
      const message = answer['message'] as Readonly<{ seq: number; data?: string }>;
      return { seq: message.seq, parked: readParked(Buffer.from(message.data ?? '', 'base64').toString()) };
    } catch (fault) {
      if (fault instanceof JetStreamRefusal && fault.code === NO_MESSAGE) return undefined;
      throw fault;
    }
  };
  async function* all(): AsyncGenerator<Readonly<{ seq: number; parked: Parked }>> {
    for (let found = await find(1); found !== undefined; found = await find(found.seq + 1)) {
      if (found.parked !== undefined) yield { seq: found.seq, parked: found.parked };
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
        await streams.api(`STREAM.MSG.DELETE.${names.parkedStream}`, { seq, no_erase: true });
        return true;
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
type NatsAddress = Readonly<{
  /** Without credentials, as messages and logs may show them. */
  servers: readonly string[];
  user: string | undefined;
  password: string | undefined;
  token: string | undefined;
  /** A file of a JWT and its key, as `nsc` writes them. */
  credentials: string | undefined;
  tls: TlsOptions | undefined;
  /** The first part of every subject, in capitals the names of the streams: several services may share a server. */
  prefix: string;
  replicas: number;
}>;

/**
 * nats://user:password@host:4222,other:4222?prefix=sealpost&replicas=3, tls://… where only an encrypted connection will
 * do. Throws where the URL says what the bus does not understand; the message shows no credentials.
 */
export const readNatsUrl = (url: string): NatsAddress => {
  const refuse = (why: string): never => {
    throw new Error(`SEALPOST_BUS_URL=${withoutCredentials(url)} ${why}`);
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
  const [user, password] = credentialsOf(userInfo);
  const isToken = user !== undefined && password === undefined;
  return {
    servers: serversOf(hosts) ?? refuse('names no host.'),
    user: isToken ? undefined : user,
    password,
    token: isToken ? user : undefined,
    credentials: given('creds'),
    tls: tlsOf(scheme, given),
    prefix,
    replicas,
  };
};

const withoutCredentials = (url: string): string => url.replace(/\/\/.*@/, '//…@');

const credentialsOf = (userInfo: string): readonly [string | undefined, string | undefined] => {
  if (userInfo === '') return [undefined, undefined];
  const at = userInfo.indexOf(':');
  return at === -1 ? [decoded(userInfo), undefined] : [decoded(userInfo.slice(0, at)), decoded(userInfo.slice(at + 1))];
};

/** Decodes percent signs. A text with one that encodes nothing is taken literally. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const serversOf = (hosts: string): readonly string[] | undefined => {
  const servers = hosts.split(',').map((host) => host.trim());
  return servers.every((server) => server !== '') ? servers : undefined;
};

const tlsOf = (scheme: string, given: (name: string) => string | undefined): TlsOptions | undefined => {
  const [caFile, certFile, keyFile] = [given('ca'), given('cert'), given('key')];
  if (scheme !== 'tls:' && caFile === undefined && certFile === undefined && keyFile === undefined) return undefined;
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
};
