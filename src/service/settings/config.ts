/** The settings: the only reader of the environment. One schema with defaults, and the checks between settings. */
import { isIP } from 'node:net';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import {
  ConfigError,
  settings,
  valuesOf,
  withoutSecrets,
  type SettingName,
  integer,
  isServiceLink,
  oneOf,
  withSecretsOfFiles,
  unreadable,
} from './settings.js';
import {
  assertAccountSender,
  readAccountSender,
  readFeedback,
  readSignInProviders,
  type FeedbackSettings,
  isLoopback,
  readDnsServers,
  readLinkBase,
  readProviders,
  readPublicUrl,
  readRelayHeaders,
  readSpf,
  readLimits,
  readSeals,
  readSubmission,
  readTls,
  type SubmissionSettings,
  readTraces,
  type SealSettings,
  type Tls,
  type TraceSettings,
  insecureHosts,
} from './groups.js';
import { DAY_MS } from '../../domain/core/time.js';
import { FAILING_MAX_MS } from '../../domain/webhooks/delivery.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { ProviderSettings } from '../../domain/ports/provider-feedback.js';
import { reasonOf } from '../../shared/files.js';
import { nearest } from '../../shared/text.js';
import { readRelays, type RelaysFile } from './relays.js';
import type { SignInProvider } from '../../domain/ports/sign-in-providers.js';
import { type Registration } from '../../domain/people/user.js';
import { roles, type Role, assertMailboxSeen, assertTogether, readUrls, type Urls } from './urls.js';

export { ConfigError } from './settings.js';

export type Config = Readonly<{
  port: number;
  host: string;
  publicUrl: string;
  /** Base URL of links in mails; undefined if mails leave this machine and no such address is set. */
  linkBase: string | undefined;
  /** People who may become users. */
  registration: Registration;
  /** Whether apps may register themselves. */
  appsRegister: boolean;
  signInProviders: readonly SignInProvider[];
  /** Only this machine can reach the service: no address for others is set, and no proxy. */
  isOnLoopback: boolean;
  dataDir: string;
  /** The settings name the data directory. */
  isDataDirNamed: boolean;
  roles: readonly Role[];
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Address at which metrics are served; undefined: no metrics are measured. */
  metrics: Readonly<{ host: string; port: number }> | undefined;
  /** Endpoint of spans; undefined: no spans are made. */
  traces: TraceSettings | undefined;
  /** The master key as given; undefined: it is kept in `masterKeyFile`, and made there where that is allowed. */
  masterKey: string | undefined;
  masterKeyFile: string;
  /** Under what the log is sealed, and where seals are told. */
  seals: SealSettings;
  urls: Urls;
  /** Without a URL: the built-in mailbox. */
  smtp: Readonly<{
    url: string | undefined;
    connections: number;
    final: boolean;
    /** Our name in EHLO; undefined: the machine's. */
    name: string | undefined;
    tokenFile: string | undefined;
    tokenCommand: readonly string[] | undefined;
  }>;
  /** Relays with names; undefined: the one of `smtp`. */
  relays: RelaysFile | undefined;
  /** The sender of account mails; undefined if a relay is set and the sender is not. */
  accountSender: Recipient | undefined;
  /** How reports come back; undefined: the sender of a mail is its envelope sender, and none are taken. */
  feedback: FeedbackSettings | undefined;
  /** By what calls of mail providers with events are authenticated. */
  providers: ProviderSettings;
  /** The SMTP servers on which programs hand over their mail; undefined: none. */
  submission: SubmissionSettings | undefined;
  dkim: Readonly<{ domain: string; selector: string; privateKey: string }> | undefined;
  retryDelaysMs: readonly number[];
  webhookDelaysMs: readonly number[];
  /** DNS servers, with ports; empty: those of the system. */
  dnsServers: readonly string[];
  /** The SPF mechanisms by which the relay may send. */
  spfMechanisms: string;
  /** Names of headers, and beginnings with `*`, by which callers may instruct the relay, in lower case. */
  allowedRelayHeaders: readonly string[];
  webhookInsecureHosts: readonly string[];
  fontsDir: string | undefined;
  tls: Tls | undefined;
  requireHttps: boolean;
  trustProxy: boolean | readonly string[];
  limits: Limits;
}>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether mails leave by a relay; else they go to the built-in mailbox. */
export const hasRelay = ({ smtp, relays }: Pick<Config, 'smtp' | 'relays'>): boolean =>
  relays !== undefined || smtp.url !== undefined;

const PREFIX = 'SEALPOST_';

const SETTING = /^\s*(?:export\s+)?[^\s=#][^=]*=/;
const QUOTED = /^[^=]*=[ \t]*(["'`])/;

/** Former names of settings. */
const renamedSettings: Readonly<Record<string, SettingName>> = {
  SEALPOST_DOCUMENTS_URL: 'SEALPOST_READ_MODELS_URL',
  SEALPOST_LIMIT_TEMPLATE_RESTORE_DAYS: 'SEALPOST_RETENTION_DELETED_DAYS',
};

/** Reads the settings from the environment of the process. Throws ConfigError. */
export const readConfig = (given: Environment = process.env): Config => {
  refuseUnknown(given);
  const environment = withSecretsOfFiles(given);
  const text = (name: SettingName): string | undefined => {
    const value = environment[name]?.trim() ?? '';
    return value === '' || isServiceLink(name, value) ? undefined : value;
  };
  const value = valuesOf(text);
  const [host, port] = [value('HOST'), value('PORT')];
  const dataDir = resolve(value('SEALPOST_DATA_DIR'));
  const tls = readTls(text, ['SEALPOST_TLS_CERT', 'SEALPOST_TLS_KEY']);
  const trustProxy = readProxies(text('SEALPOST_TRUST_PROXY'));
  const requireHttps = value('SEALPOST_REQUIRE_HTTPS') ?? !isLoopback(host);
  if (requireHttps && tls === undefined && trustProxy === false) {
    throw new ConfigError(
      `HOST=${host} would serve plain HTTP, which SEALPOST_REQUIRE_HTTPS refuses: set SEALPOST_TLS_CERT and SEALPOST_TLS_KEY, ` +
        'or SEALPOST_TRUST_PROXY for a proxy that speaks HTTPS, or SEALPOST_REQUIRE_HTTPS=false.',
    );
  }
  const masterKey = text('SEALPOST_MASTER_KEY');
  const chosenRoles = readRoles(value('SEALPOST_ROLES'));
  const urls = readUrls(text, dataDir);
  assertTogether(urls, chosenRoles, masterKey !== undefined);
  const smtp = readSmtp(text, value);
  const relays = readNamedRelays(text, given, smtp);
  const isRelayed = hasRelay({ smtp, relays });
  const limits = readLimits(text);
  const metricsPort = value('SEALPOST_METRICS_PORT');
  const publicUrl = readPublicUrl(text('SEALPOST_PUBLIC_URL'), { host, port, isHttps: tls !== undefined });
  const webhookHosts = insecureHosts(text, isLoopback(host) ? undefined : host, isRelayed);
  return {
    port,
    host,
    publicUrl,
    linkBase: readLinkBase(publicUrl, text('SEALPOST_PUBLIC_URL') !== undefined || !isRelayed),
    registration: value('SEALPOST_REGISTRATION'),
    appsRegister: value('SEALPOST_OAUTH_REGISTRATION') === 'open',
    signInProviders: readSignInProviders(text('SEALPOST_SIGN_IN_PROVIDERS')),
    isOnLoopback: isLoopback(host) && text('SEALPOST_PUBLIC_URL') === undefined && trustProxy === false,
    dataDir,
    isDataDirNamed: text('SEALPOST_DATA_DIR') !== undefined,
    roles: chosenRoles,
    logLevel: value('SEALPOST_LOG_LEVEL'),
    metrics: metricsPort === undefined ? undefined : { host: value('SEALPOST_METRICS_HOST'), port: metricsPort },
    traces: readTraces(text),
    masterKey,
    masterKeyFile: join(dataDir, 'master.key'),
    seals: readSeals(text, webhookHosts),
    urls,
    smtp,
    relays,
    accountSender: readAccountSender(text('SEALPOST_ACCOUNT_SENDER'), isRelayed),
    feedback: readFeedback(text, value, { defaultHost: host, https: tls }),
    providers: readProviders(text),
    submission: readSubmission(text, value, { defaultHost: host, https: tls, publicUrl }),
    dkim: readDkim(text),
    retryDelaysMs: readDelays('SEALPOST_RETRY_DELAYS', value('SEALPOST_RETRY_DELAYS'), 7 * DAY_MS),
    webhookDelaysMs: readWebhookDelays(value('SEALPOST_WEBHOOK_RETRY_DELAYS'), limits),
    dnsServers: readDnsServers(text('SEALPOST_DNS_SERVERS')),
    spfMechanisms: readSpf(value('SEALPOST_SPF_MECHANISMS')),
    allowedRelayHeaders: readRelayHeaders(text('SEALPOST_ALLOWED_RELAY_HEADERS')),
    webhookInsecureHosts: webhookHosts,
    fontsDir: readFontsDir(text('SEALPOST_FONTS_DIR')),
    tls,
    requireHttps,
    trustProxy,
    limits,
  };
};

/**
 * Settings of a file `.env` in the working directory, with or without a byte order mark; those of the real environment
 * win. Throws ConfigError where it, or a line of it, cannot be read.
 */
export const loadEnvFile = (): void => {
  const file = resolve('.env');
  if (!existsSync(file)) return;
  let text: string;
  try {
    text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (fault) {
    throw new ConfigError(
      `${file} is there and cannot be read (${reasonOf(fault)}); make it readable, or move it away.`,
    );
  }
  const [line] = linesWithoutSetting(text);
  // The line itself is not shown: it may be the rest of a secret.
  if (line !== undefined)
    throw new ConfigError(`${file}, line ${line}, is no setting: write NAME=value, or # before a comment.`);
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
};

export type RemoteSettings = Readonly<{
  url: string | undefined;
  key: string | undefined;
  /** The profiles that `sealpost login` writes. */
  profilesFile: string;
  hasColor: boolean;
}>;

/** The settings of commands that call a service elsewhere. Throws ConfigError. */
export const readRemoteSettings = (given: Environment = process.env): RemoteSettings => {
  const { SEALPOST_API_URL: url = '', SEALPOST_API_KEY: key = '' } = withSecretsOfFiles({
    SEALPOST_API_URL: given['SEALPOST_API_URL'],
    SEALPOST_API_KEY: given['SEALPOST_API_KEY'],
    SEALPOST_API_KEY_FILE: given['SEALPOST_API_KEY_FILE'],
  });
  const chosen = given['XDG_CONFIG_HOME'] ?? '';
  const settingsOfUser = isAbsolute(chosen) ? chosen : join(given['HOME'] ?? homedir(), '.config');
  return {
    url: url.trim() || undefined,
    key: key.trim() || undefined,
    profilesFile: join(settingsOfUser, 'sealpost', 'profiles.json'),
    hasColor: (given['NO_COLOR'] ?? '') === '',
  };
};

const keyNames = [
  'SEALPOST_MASTER_KEY',
  'SEALPOST_MASTER_KEY_FILE',
  'SEALPOST_SEAL_KEY',
  'SEALPOST_SEAL_KEY_FILE',
  'SEALPOST_SEAL_COMMAND',
  'SEALPOST_SEAL_KEYS_LOST',
] as const satisfies readonly SettingName[];

/**
 * The settings of the environment that name the master key and the seal key, for use with settings that are read from
 * elsewhere.
 */
export const keySettings = (environment: Environment = process.env): Environment =>
  Object.fromEntries(keyNames.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));

/** The settings that are set, in the form of a file `.env`, without secrets. */
export const settingsToKeep = (environment: Environment = process.env): string => withoutSecrets(environment);

/**
 * As `readConfig`, for a process that delivers: it refuses to use the built-in mailbox because somebody forgot to name
 * the relay, and a relay without a sender of account mails. `isTerminal`: a person reads the log as it is written.
 */
export const readServeConfig = (environment: Environment = process.env, isTerminal = false): Config => {
  const config = withLogFor(readConfig(environment), environment, isTerminal);
  const publicUrl = environment['SEALPOST_PUBLIC_URL']?.trim() ?? '';
  const isRelayed = hasRelay(config);
  if (!isRelayed) assertMailboxSeen(config.urls, config.roles);
  assertAccountSender(config.accountSender, isRelayed);
  const isAsked =
    config.relays !== undefined || (withSecretsOfFiles(environment)['SEALPOST_SMTP_URL']?.trim() ?? '') !== '';
  if (isAsked || (publicUrl === '' && isLoopback(config.host))) return config;
  throw new ConfigError(
    `SEALPOST_SMTP_URL is not set, and ${publicUrl === '' ? `HOST=${config.host} listens beyond this machine` : `SEALPOST_PUBLIC_URL=${publicUrl} says that others use this service`}: ` +
      'no mail would leave. Set it to your relay, for example smtp://user:password@mail.example.com:587, or to mailbox: for the built-in mailbox.',
  );
};

/** On a terminal a line for each call would scroll the first key away, so the default there is `warn`. */
const withLogFor = (config: Config, environment: Environment, isTerminal: boolean): Config =>
  isTerminal && (environment['SEALPOST_LOG_LEVEL']?.trim() ?? '') === '' ? { ...config, logLevel: 'warn' } : config;

const refuseUnknown = (environment: Environment): void => {
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || name in settings || isServiceLink(name, value)) continue;
    const renamed = renamedSettings[name];
    if (renamed !== undefined)
      throw new ConfigError(`${name} is now called ${renamed}; set that instead, to the same value.`);
    const near = nearest(name, Object.keys(settings));
    throw new ConfigError(
      `${name} is not a setting of sealpost.${near === undefined ? '' : ` Did you mean ${near}?`} .env.example lists all.`,
    );
  }
};

const readRoles = (value: string): readonly Role[] => {
  const given = value.split(',').map((role) => role.trim());
  return given.map((role) => oneOf('SEALPOST_ROLES', role, roles));
};

/** The directory as an absolute path; its fonts are read when a document first needs them. */
const readFontsDir = (value: string | undefined): string | undefined => {
  if (value === undefined) return undefined;
  const directory = resolve(value);
  try {
    readdirSync(directory);
  } catch (fault) {
    throw unreadable('SEALPOST_FONTS_DIR', directory, fault);
  }
  return directory;
};

const readProxies = (value: string | undefined): Config['trustProxy'] => {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  return value.split(',').map((part) => {
    const proxy = part.trim();
    const fault = proxyFault(proxy);
    if (fault === undefined) return proxy;
    throw new ConfigError(
      `SEALPOST_TRUST_PROXY=${value}: ${JSON.stringify(proxy)} ${fault}. Name the addresses or networks of your proxies, for example 10.0.0.7,10.1.0.0/16, or true, or false.`,
    );
  });
};

/** Names that the HTTP server knows for networks. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal'];

/** Why the part names no proxy; undefined if it does. */
const proxyFault = (proxy: string): string | undefined => {
  if (namedNetworks.includes(proxy) || isIP(proxy) !== 0) return undefined;
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d+)$/.exec(proxy) ?? [];
  const version = isIP(address);
  if (version === 0) return 'is neither an IP address nor a network';
  if (Number(prefix) > (version === 4 ? 32 : 128)) return `has a prefix longer than an address of IPv${version}`;
  if (Number(prefix) === 0)
    return 'is the whole internet, so that everybody could say from where they call; say true if only your proxy reaches this service';
  return undefined;
};

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/;

/** A relay asks for a name with a dot (RFC 5321, section 2.3.5); an address and `localhost` are none. */
const smtpName = (given: string | undefined, publicUrl: string | undefined): string | undefined => {
  if (given !== undefined && (!HOST_NAME.test(given) || isIP(given) !== 0))
    throw new ConfigError(`SEALPOST_SMTP_NAME=${given} is no host name with a dot, such as mail.example.com.`);
  const host = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname;
  return given ?? (host !== undefined && HOST_NAME.test(host) && isIP(host) === 0 ? host : undefined);
};

const readSmtp = (
  text: (name: SettingName) => string | undefined,
  value: ReturnType<typeof valuesOf>,
): Config['smtp'] => {
  const [given, tokenFile] = [text('SEALPOST_SMTP_URL'), text('SEALPOST_SMTP_TOKEN_FILE')];
  const tokenCommand = text('SEALPOST_SMTP_TOKEN_COMMAND')?.split(/\s+/);
  const url = given === 'mailbox:' ? undefined : given;
  if (url === undefined && text('SEALPOST_SMTP_FINAL') !== undefined && text('SEALPOST_RELAYS') === undefined) {
    throw new ConfigError(
      'SEALPOST_SMTP_FINAL is set without a relay in SEALPOST_SMTP_URL; the built-in mailbox is always the final host.',
    );
  }
  if (url !== undefined && !/^smtps?:\/\//.test(url)) {
    throw new ConfigError(
      'SEALPOST_SMTP_URL must begin with smtp:// or smtps://, for example smtp://user:password@mail.example.com:587, or be mailbox: for the built-in mailbox.',
    );
  }
  return {
    url,
    connections: value('SEALPOST_SMTP_CONNECTIONS'),
    final: value('SEALPOST_SMTP_FINAL') ?? false,
    name: smtpName(text('SEALPOST_SMTP_NAME'), text('SEALPOST_PUBLIC_URL')),
    tokenFile: tokenFile === undefined ? undefined : resolve(tokenFile),
    tokenCommand,
  };
};

const onlyWithUrl = [
  'SEALPOST_SMTP_URL',
  'SEALPOST_SMTP_FINAL',
  'SEALPOST_SMTP_TOKEN_FILE',
  'SEALPOST_SMTP_TOKEN_COMMAND',
] as const satisfies readonly SettingName[];

const readNamedRelays = (
  text: (name: SettingName) => string | undefined,
  environment: Environment,
  { connections }: Config['smtp'],
): Config['relays'] => {
  const path = text('SEALPOST_RELAYS');
  if (path === undefined) return undefined;
  const other = onlyWithUrl.find((name) => text(name) !== undefined);
  if (other !== undefined)
    throw new ConfigError(
      `SEALPOST_RELAYS and ${other} are both set; the file of SEALPOST_RELAYS says that for each relay, so leave ${other} out.`,
    );
  return readRelays(path, { environment, connections });
};

const readDkim = (text: (name: SettingName) => string | undefined): Config['dkim'] => {
  const domain = text('SEALPOST_DKIM_DOMAIN');
  const selector = text('SEALPOST_DKIM_SELECTOR');
  const privateKey = text('SEALPOST_DKIM_PRIVATE_KEY');
  const given = {
    SEALPOST_DKIM_DOMAIN: domain,
    SEALPOST_DKIM_SELECTOR: selector,
    'SEALPOST_DKIM_PRIVATE_KEY or …_FILE': privateKey,
  };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === 3) return undefined;
  if (domain === undefined || selector === undefined || privateKey === undefined) {
    throw new ConfigError(`DKIM signing needs all of its settings; missing: ${missing.join(', ')}.`);
  }
  // A key in one line of the environment has its line breaks written as \n.
  return { domain, selector, privateKey: privateKey.replaceAll('\\n', '\n') };
};

const readDelays = (name: SettingName, value: string, maxMs: number): readonly number[] => {
  const seconds = value.split(',').map((part) => part.trim());
  if (seconds.length > 20) throw new ConfigError(`${name} holds ${seconds.length} pauses; at most 20 are allowed.`);
  return seconds.map((part) => integer(name, part, 1, maxMs / 1_000) * 1_000);
};

/**
 * A subscription that fails for longer is disabled, and an attempt that waits longer than records are kept is never
 * made.
 */
const readWebhookDelays = (value: string, { webhookRecordDays }: Limits): readonly number[] => {
  const name = 'SEALPOST_WEBHOOK_RETRY_DELAYS';
  const delaysMs = readDelays(name, value, DAY_MS);
  const totalMs = delaysMs.reduce((sum, delayMs) => sum + delayMs, 0);
  const maxMs = Math.min(FAILING_MAX_MS, webhookRecordDays * DAY_MS);
  if (totalMs > maxMs) {
    throw new ConfigError(
      `${name} holds pauses of ${totalMs / 1_000} seconds together; at most ${maxMs / 1_000} are allowed, and no more than SEALPOST_RETENTION_WEBHOOK_DAYS=${webhookRecordDays}.`,
    );
  }
  return delaysMs;
};

/**
 * In: the text of a file `.env`. Out: the numbers, from 1, of the lines that are no setting, no comment and not part of
 * a value in quotes.
 */
export const linesWithoutSetting = (text: string): readonly number[] => {
  const lines = text.split(/\r\n|\n|\r/);
  const found: number[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (/^\s*(?:#|$)/.test(line)) continue;
    if (!SETTING.test(line)) {
      found.push(at + 1);
      continue;
    }
    const [opening, quote] = QUOTED.exec(line) ?? [];
    if (opening === undefined || quote === undefined || line.includes(quote, opening.length)) continue;
    const end = lines.findIndex((later, index) => index > at && later.includes(quote));
    // Quotes that are never closed are part of the value, which ends with its line.
    if (end >= 0) at = end;
  }
  return found;
};
