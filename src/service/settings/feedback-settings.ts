/** The settings of what comes back: the return path of mails, and the SMTP server that takes the reports that are sent there. */
import { ConfigError } from './config-error.js';
import { integer, readFile } from './setting-values.js';
import type { SettingName } from './settings.js';

export type InboundSmtpSettings = Readonly<{
  host: string;
  port: number;
  tls?: Readonly<{ cert: string; key: string }>;
}>;

export type FeedbackSettings = Readonly<{
  /** The domain of envelope senders, in lower case. */
  domain: string;
  /** The name of the host that takes mail for the domain, in lower case. */
  name: string;
  /** Absent: reports come in by the API alone. */
  smtp?: InboundSmtpSettings;
}>;

type Text = (name: SettingName) => string | undefined;

/** undefined where no domain is set. `https`: the certificate of the API, taken where there is none for SMTP. Throws ConfigError. */
export const readFeedback = (text: Text, defaultHost: string, https: InboundSmtpSettings['tls']): FeedbackSettings | undefined => {
  const domain = readDomain('SEALPOST_RETURN_PATH_DOMAIN', text('SEALPOST_RETURN_PATH_DOMAIN'));
  const smtp = readInboundSmtp(text, defaultHost, https);
  if (domain === undefined && smtp !== undefined)
    throw new ConfigError(
      'SEALPOST_INBOUND_SMTP_PORT is set without SEALPOST_RETURN_PATH_DOMAIN; set that to the domain whose mail comes to this port, for example bounces.example.com.',
    );
  if (domain === undefined) return undefined;
  const name = readDomain('SEALPOST_INBOUND_SMTP_NAME', text('SEALPOST_INBOUND_SMTP_NAME')) ?? domain;
  return { domain, name, ...(smtp === undefined ? {} : { smtp }) };
};

const readInboundSmtp = (text: Text, defaultHost: string, https: InboundSmtpSettings['tls']): InboundSmtpSettings | undefined => {
  const port = text('SEALPOST_INBOUND_SMTP_PORT');
  if (port === undefined) return undefined;
  const tls = readTls(text('SEALPOST_INBOUND_SMTP_TLS_CERT'), text('SEALPOST_INBOUND_SMTP_TLS_KEY')) ?? https;
  return {
    host: text('SEALPOST_INBOUND_SMTP_HOST') ?? defaultHost,
    port: integer('SEALPOST_INBOUND_SMTP_PORT', port, 0, 65_535),
    ...(tls === undefined ? {} : { tls }),
  };
};

const readTls = (cert: string | undefined, key: string | undefined): InboundSmtpSettings['tls'] => {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new ConfigError(
      'SEALPOST_INBOUND_SMTP_TLS_CERT and SEALPOST_INBOUND_SMTP_TLS_KEY belong together; set both, to the paths of PEM files.',
    );
  return { cert: readFile('SEALPOST_INBOUND_SMTP_TLS_CERT', cert), key: readFile('SEALPOST_INBOUND_SMTP_TLS_KEY', key) };
};

const DOMAIN = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/i;

/** In lower case. With `bounce+`, a token and `@` before it an address stays within its 254 octets. */
const readDomain = (name: SettingName, value: string | undefined): string | undefined => {
  if (value === undefined || DOMAIN.test(value)) return value?.toLowerCase();
  throw new ConfigError(`${name}=${value} is no domain, such as bounces.example.com, of at most 190 characters.`);
};
