/** Where each part of the service is: one URL each, whose scheme says which engine it is. */
import { join, resolve } from 'node:path';
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';
import { withoutCredentials } from './shared/credentials.js';

export type Urls = Readonly<Record<'eventStore' | 'readModels' | 'keys' | 'files' | 'leases' | 'bus' | 'limiter', string>>;

type Part = Readonly<{
  setting: SettingName;
  /** The engine in this process or on this machine. */
  local: 'sqlite' | 'dir' | 'memory';
}>;

const parts: Readonly<Record<keyof Urls, Part>> = {
  eventStore: { setting: 'SEALPOST_EVENT_STORE_URL', local: 'sqlite' },
  readModels: { setting: 'SEALPOST_READ_MODELS_URL', local: 'sqlite' },
  keys: { setting: 'SEALPOST_KEYS_URL', local: 'sqlite' },
  files: { setting: 'SEALPOST_FILES_URL', local: 'dir' },
  leases: { setting: 'SEALPOST_LEASES_URL', local: 'sqlite' },
  bus: { setting: 'SEALPOST_BUS_URL', local: 'memory' },
  limiter: { setting: 'SEALPOST_LIMITER_URL', local: 'memory' },
};

/** In: a setting by name, undefined where it is not set. Throws ConfigError. */
export const readUrls = (text: (name: SettingName) => string | undefined, dataDir: string): Urls => {
  const read = (part: keyof Urls, standard: string): string => readUrl(parts[part], text(parts[part].setting), standard);
  return {
    eventStore: read('eventStore', `sqlite:${join(dataDir, 'events.db')}`),
    readModels: read('readModels', `sqlite:${join(dataDir, 'documents.db')}`),
    keys: read('keys', `sqlite:${join(dataDir, 'keys.db')}`),
    files: read('files', `dir:${join(dataDir, 'files')}`),
    leases: read('leases', `sqlite:${join(dataDir, 'leases.db')}`),
    bus: read('bus', 'memory:'),
    limiter: read('limiter', 'memory:'),
  };
};

const readUrl = ({ setting, local }: Part, value: string | undefined, standard: string): string => {
  if (value === undefined) return standard;
  const scheme = value.slice(0, Math.max(0, value.indexOf(':')));
  if (scheme !== local) {
    throw new ConfigError(
      `${setting}=${withoutCredentials(value)} has no scheme that sealpost knows here; it takes ${[local].map((known) => `${known}:`).join(', ')}.`,
    );
  }
  if (scheme === 'memory') return value;
  const path = value.slice(scheme.length + 1);
  if (path === '') throw new ConfigError(`${setting}=${value} names no path; write for example ${standard}`);
  return `${scheme}:${resolve(path)}`;
};

/** What stands behind the scheme: of a part on this machine its file or directory. */
export const pathOf = (url: string): string => url.slice(url.indexOf(':') + 1);
