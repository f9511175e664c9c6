/** The settings of what comes back: the return path of mails. */
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';

export type FeedbackSettings = Readonly<{
  /** The domain of envelope senders, in lower case. */
  domain: string;
}>;

/** undefined where no domain is set. Throws ConfigError. */
export const readFeedback = (text: (name: SettingName) => string | undefined): FeedbackSettings | undefined => {
  const domain = readDomain(text('SEALPOST_RETURN_PATH_DOMAIN'));
  return domain === undefined ? undefined : { domain };
};

const DOMAIN = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/i;

/** With `bounce+`, a token and `@` before it an address stays within its 254 octets. */
const readDomain = (value: string | undefined): string | undefined => {
  if (value === undefined || DOMAIN.test(value)) return value?.toLowerCase();
  throw new ConfigError(`SEALPOST_RETURN_PATH_DOMAIN=${value} is no domain, such as bounces.example.com, of at most 190 characters.`);
};
