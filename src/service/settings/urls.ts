/** URLs of the parts of the service: one each, whose scheme selects the engine. */
import { join, resolve } from 'node:path';
import { ConfigError, type SettingName } from './settings.js';
import { withoutCredentials } from '../../shared/addresses.js';

/** Roles of a process; it may have several. */
export const roles = ['http', 'process', 'project'] as const;
export type Role = (typeof roles)[number];

export type Urls = Readonly<
  Record<'eventStore' | 'readModels' | 'keys' | 'files' | 'leases' | 'bus' | 'limiter', string>
>;

type Part = Readonly<{
  setting: SettingName;
  /** The scheme of the engine in this process or on this machine. */
  local: 'sqlite' | 'dir' | 'memory';
  /** Those of servers, which processes of several machines share. */
  servers: readonly string[];
  example: string;
}>;

const mongodb = {
  servers: ['mongodb', 'mongodb+srv'],
  example: 'mongodb://user:password@db.example.com:27017/sealpost',
} as const;

const parts: Readonly<Record<keyof Urls, Part>> = {
  eventStore: {
    setting: 'SEALPOST_EVENT_STORE_URL',
    local: 'sqlite',
    servers: ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'],
    example: 'esdb://user:password@log.example.com:2113?tls=true',
  },
  readModels: { setting: 'SEALPOST_READ_MODELS_URL', local: 'sqlite', ...mongodb },
  keys: { setting: 'SEALPOST_KEYS_URL', local: 'sqlite', ...mongodb },
  files: { setting: 'SEALPOST_FILES_URL', local: 'dir', ...mongodb },
  leases: { setting: 'SEALPOST_LEASES_URL', local: 'sqlite', ...mongodb },
  bus: {
    setting: 'SEALPOST_BUS_URL',
    local: 'memory',
    servers: ['nats', 'tls'],
    example: 'nats://user:password@bus.example.com:4222',
  },
  limiter: {
    setting: 'SEALPOST_LIMITER_URL',
    local: 'memory',
    servers: ['redis', 'rediss'],
    example: 'redis://user:password@limits.example.com:6379',
  },
};

/** The setting that names a part. */
export const settingOf = (part: keyof Urls): SettingName => parts[part].setting;

/** In: a setting by name, undefined where it is not set. Throws ConfigError. */
export const readUrls = (text: (name: SettingName) => string | undefined, dataDir: string): Urls => {
  const read = (part: keyof Urls, standard: string): string =>
    readUrl(parts[part], text(parts[part].setting), standard);
  const eventStore = read('eventStore', `sqlite:${join(dataDir, 'events.db')}`);
  const keys = read('keys', `sqlite:${join(dataDir, 'keys.db')}`);
  return {
    eventStore,
    readModels: read('readModels', `sqlite:${join(dataDir, 'documents.db')}`),
    keys,
    files: read('files', `dir:${join(dataDir, 'files')}`),
    leases: read('leases', isShared({ eventStore, keys }) ? keys : `sqlite:${join(dataDir, 'leases.db')}`),
    bus: read('bus', 'memory:'),
    limiter: read('limiter', 'memory:'),
  };
};

const readUrl = ({ setting, local, servers, example }: Part, value: string | undefined, standard: string): string => {
  if (value === undefined) return standard;
  const scheme = value.slice(0, Math.max(0, value.indexOf(':')));
  if (servers.includes(scheme)) {
    if (/^[a-z+]+:\/\/[^/?]/.test(value)) return value;
    throw new ConfigError(`${setting}=${withoutCredentials(value)} names no server; write for example ${example}`);
  }
  if (scheme !== local) {
    throw new ConfigError(
      `${setting}=${withoutCredentials(value)} has no scheme that sealpost knows here; it takes ${[local, ...servers].map((known) => `${known}:`).join(', ')}.`,
    );
  }
  if (scheme === 'memory') return value;
  const path = value.slice(scheme.length + 1);
  if (path === '') throw new ConfigError(`${setting}=${value} names no path; write for example ${standard}`);
  return `${scheme}:${resolve(path)}`;
};

/** The part of a URL after its scheme; for a part on this machine its file or directory. */
export const pathOf = (url: string): string => url.slice(url.indexOf(':') + 1);

/** The kind of store: `sqlite`, `dir`, `memory`, or the protocol of a server. */
export const kindOf = (url: string): string => url.slice(0, url.indexOf(':')).split('+')[0]!;

/** Whether the part is in this process, or a file or directory of this machine. */
export const isLocal = (url: string): boolean => /^(sqlite|dir|memory):/.test(url);

/** The part as messages name it: its file or directory, or its server without credentials. */
export const placeOf = (url: string): string => (isLocal(url) ? pathOf(url) : withoutCredentials(url));

/** Processes of several machines can work on one log: nothing that ties it to one machine is on its disk. */
const isShared = ({ eventStore, keys }: Pick<Urls, 'eventStore' | 'keys'>): boolean =>
  !isLocal(eventStore) && !isLocal(keys);

/** Throws ConfigError where the parts cannot work together. */
export const assertTogether = (urls: Urls, roles: readonly Role[], hasMasterKey: boolean): void => {
  if (!isLocal(urls.keys) && !hasMasterKey) {
    throw new ConfigError(
      'SEALPOST_KEYS_URL names a server, whose keys several processes use: give each of them the same master key in SEALPOST_MASTER_KEY or SEALPOST_MASTER_KEY_FILE (openssl rand -base64 32 makes one).',
    );
  }
  if (!isShared(urls)) return;
  const shared = 'log and keys are on servers, so that other machines work on them too';
  if (isLocal(urls.leases)) {
    throw new ConfigError(
      `SEALPOST_LEASES_URL=${urls.leases} is seen on this machine alone, but ${shared}; write for example ${mongodb.example}`,
    );
  }
  if (isLocal(urls.files)) {
    throw new ConfigError(
      `SEALPOST_FILES_URL is a directory of this machine, but ${shared}; write for example ${mongodb.example}`,
    );
  }
  if (isLocal(urls.bus) && !(roles.includes('http') && roles.includes('process'))) {
    throw new ConfigError(
      `SEALPOST_ROLES=${roles.join(',')} splits the work among processes, but ${shared}, and SEALPOST_BUS_URL=memory: is inside one process; write for example ${parts.bus.example}`,
    );
  }
};

/** Mail that one process puts into its own data directory is not shown by another. Throws ConfigError. */
export const assertMailboxSeen = ({ eventStore }: Urls, roles: readonly Role[]): void => {
  if (isLocal(eventStore) || (roles.includes('http') && roles.includes('process'))) return;
  throw new ConfigError(
    `SEALPOST_ROLES=${roles.join(',')} splits the work, and the built-in mailbox is in the data directory of one process: set SEALPOST_SMTP_URL to a relay (docker-compose.yml has Mailpit).`,
  );
};
