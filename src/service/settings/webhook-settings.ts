/** Which endpoints of webhooks are allowed without TLS, for development. */
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';

/** Of a service that nobody beyond this machine reaches, and whose mail does not leave it. */
const LOCAL_HOSTS: readonly string[] = ['127.0.0.1'];

/** `beyond`: the address beyond loopback that the service listens on; undefined where it does not. `hasRelay`: whether mail leaves the machine. */
export const insecureHosts = (
  text: (name: SettingName) => string | undefined,
  beyond: string | undefined,
  hasRelay: boolean,
): readonly string[] => {
  const value = text('SEALPOST_WEBHOOK_INSECURE_HOSTS');
  const isShared = beyond !== undefined || hasRelay || text('SEALPOST_PUBLIC_URL') !== undefined;
  if (value === undefined) return isShared ? [] : LOCAL_HOSTS;
  if (beyond !== undefined) {
    throw new ConfigError(
      `SEALPOST_WEBHOOK_INSECURE_HOSTS is for development, and HOST=${beyond} listens beyond this machine: leave it out, and give webhooks https URLs.`,
    );
  }
  return value.split(',').map((name) => name.trim().toLowerCase());
};
