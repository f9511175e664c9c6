/**
 * The servers of the distributed engine, each behind a relay that can cut and slow its connections. All are real but
 * EventStoreDB, for which the stand-in takes its place.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStandInProcess } from '../support/eventstoredb/process.js';
import { canStart, openOwnServer, type ServerInHand } from '../support/own-server.js';
import { openSlowNats } from '../support/slow-nats.js';
import { openTcpRelay, type TcpRelay } from '../support/tcp-relay.js';

const names = ['eventstore', 'nats', 'mongodb', 'redis'] as const;
export type PartName = (typeof names)[number];

export type Part = Readonly<{ name: PartName; relay: TcpRelay } & Pick<ServerInHand, 'freeze' | 'resume' | 'wipe'>>;

export type Servers = Readonly<{
  parts: Readonly<Record<PartName, Part>>;
  /** From now on NATS takes so long for each request of its API. */
  slowNats: (perRequestMs: number) => void;
  /** The settings that name them: through the relays, and past them. */
  throughRelays: Readonly<Record<string, string>>;
  direct: Readonly<Record<string, string>>;
  close: () => Promise<void>;
}>;

const PREFIX = 'faults';

/** Those that cannot be started here. */
export const missingServers = (): readonly PartName[] =>
  names.filter((name) => name !== 'eventstore' && !canStart(name));

export const openServers = async (): Promise<Servers> => {
  const closing: (() => void | Promise<void>)[] = [];
  const direct = new Map<PartName, string>();
  const relayed = new Map<PartName, string>();
  const parts = new Map<PartName, Part>();
  let slowNats = (_perRequestMs: number): void => {};
  for (const name of names) {
    const { url, drop, ...server } = await (name === 'eventstore' ? openLog() : openReal(name));
    closing.push(drop);
    const { hostname, port } = new URL(url.replace(/^\w+:/, 'http:'));
    let target = { host: hostname, port: Number(port) };
    if (name === 'nats') {
      const slow = await openSlowNats(target);
      closing.push(slow.close);
      slowNats = slow.slow;
      target = { host: '127.0.0.1', port: slow.port };
    }
    const relay = await openTcpRelay(target);
    closing.push(relay.close);
    direct.set(name, url);
    relayed.set(name, url.replace(`:${port}`, `:${relay.port}`));
    parts.set(name, { name, relay, ...server });
  }
  return {
    parts: Object.fromEntries(parts) as Servers['parts'],
    slowNats,
    throughRelays: settingsOf((name) => relayed.get(name)!),
    direct: settingsOf((name) => direct.get(name)!),
    close: async () => {
      for (const close of closing.reverse()) await close();
    },
  };
};

const openReal = async (name: Exclude<PartName, 'eventstore'>) => {
  const server = await openOwnServer(name);
  if (server === undefined) throw new Error(`no ${name} can be started here`);
  return server;
};

const openLog = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealpost-log-'));
  const process = await startStandInProcess(join(directory, 'log'));
  return {
    url: process.url(),
    freeze: process.freeze,
    resume: process.goOn,
    wipe: () => Promise.reject(new Error('the log is never wiped')),
    drop: async (): Promise<void> => {
      process.goOn();
      await process.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

const withPrefix = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}prefix=${PREFIX}`;

const settingsOf = (url: (name: PartName) => string): Readonly<Record<string, string>> => ({
  SEALPOST_EVENT_STORE_URL: withPrefix(url('eventstore')),
  SEALPOST_READ_MODELS_URL: `${url('mongodb')}/${PREFIX}`,
  SEALPOST_KEYS_URL: `${url('mongodb')}/${PREFIX}`,
  SEALPOST_FILES_URL: `${url('mongodb')}/${PREFIX}`,
  SEALPOST_LEASES_URL: `${url('mongodb')}/${PREFIX}`,
  SEALPOST_BUS_URL: withPrefix(url('nats')),
  SEALPOST_LIMITER_URL: withPrefix(url('redis')),
});
