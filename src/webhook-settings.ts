/** Which endpoints of webhooks are allowed without TLS, for development. */
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';

/** `beyond`: the address beyond loopback that the service listens on; undefined where it does not. */
export const insecureHosts = (text: (name: SettingName) => string | undefined, beyond: string | undefined): readonly string[] => {
  const value = text('SEALPOST_WEBHOOK_INSECURE_HOSTS');
  if (value === undefined) return [];
  if (beyond !== undefined) {
    throw new ConfigError(
      `SEALPOST_WEBHOOK_INSECURE_HOSTS is for development, and HOST=${beyond} listens beyond this machine: leave it out, and give webhooks https URLs.`,
    );
  }
  return value.split(',').map((name) => name.trim().toLowerCase());
};
