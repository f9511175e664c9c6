/**
 * Reads the groups of settings that have a form of their own or must not contradict each other: return path and inbound
 * SMTP, retention, traces, webhooks, mail headers, DNS and links.
 */
import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { ConfigError, limitsOf, readFile, type SettingName, type valuesOf } from './settings.js';
import { defaultLimits, type Limits } from '../../domain/core/limits.js';
import { parseAddress, splitMailbox, type Recipient } from '../../domain/mime/address.js';
import { parseAllowedHeaders } from '../../domain/mime/header.js';
import { isSampleSender, sampleSender } from '../../domain/teams/state.js';
import type { ProviderSettings } from '../../domain/ports/provider-feedback.js';
import type { SignInProvider } from '../../domain/ports/sign-in-providers.js';
import { nameFault } from '../../shared/text.js';

export type FeedbackSettings = Readonly<{
  /** The domain of envelope senders, in lower case. */
  domain: string;
  /** The name of the host that takes mail for the domain, in lower case. */
  name: string;
  /** Absent: reports come in by the API alone. */
  smtp?: InboundSmtpSettings;
}>;

type InboundSmtpSettings = Readonly<{
  host: string;
  port: number;
  tls?: Tls;
}>;

/** The SMTP servers of submission. `isTls`: TLS from the first byte on. */
export type SubmissionSettings = Readonly<{
  host: string;
  ports: readonly Readonly<{ port: number; isTls: boolean }>[];
  name: string;
  tls?: Tls;
}>;

/**
 * A certificate chain with its private key in PEM form, the files that they were read from, and the settings that name
 * these.
 */
export type Tls = Readonly<{
  cert: string;
  key: string;
  paths: readonly [string, string];
  names: readonly [SettingName, SettingName];
}>;

export type TraceSettings = Readonly<{
  /** URL to which batches of spans are posted. */
  url: string;
  headers: Readonly<Record<string, string>>;
  resource: Readonly<Record<string, string>>;
  /** The share of traces that is sent. */
  ratio: number;
}>;

type Text = (name: SettingName) => string | undefined;
/** The API has them: an address that it listens on, and a certificate. */
type Standard = Readonly<{ defaultHost: string; https: InboundSmtpSettings['tls'] }>;
type Values = ReturnType<typeof valuesOf>;

const DOMAIN = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/i;

const samplers = {
  always_on: 1,
  always_off: 0,
  traceidratio: undefined,
  parentbased_always_on: 1,
  parentbased_always_off: 0,
  parentbased_traceidratio: undefined,
} as const;

const PROTOCOL = 'http/protobuf';
const SERVICE_NAME = 'sealpost';

const PAIR = /^\s*([^\s=,]+)\s*=\s*(.*?)\s*$/;

/** The default for a service that only this machine reaches, and whose mail does not leave it. */
const LOCAL_HOSTS: readonly string[] = ['127.0.0.1'];

/**
 * undefined where no domain is set. `standard`: taken where there is no address or certificate for SMTP. Throws ConfigError.
 */
export const readFeedback = (text: Text, value: Values, standard: Standard): FeedbackSettings | undefined => {
  const domain = readDomain('SEALPOST_RETURN_PATH_DOMAIN', text('SEALPOST_RETURN_PATH_DOMAIN'));
  const smtp = readInboundSmtp(text, value, standard);
  if (domain === undefined && smtp !== undefined)
    throw new ConfigError(
      'SEALPOST_INBOUND_SMTP_PORT is set without SEALPOST_RETURN_PATH_DOMAIN; set that to the domain whose mail comes to this port, for example bounces.example.com.',
    );
  if (domain === undefined) return undefined;
  const name = readDomain('SEALPOST_INBOUND_SMTP_NAME', text('SEALPOST_INBOUND_SMTP_NAME')) ?? domain;
  return { domain, name, ...(smtp === undefined ? {} : { smtp }) };
};

/** The ARN of an SNS topic. */
const TOPIC = /^arn:aws(?:-cn|-us-gov)?:sns:[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}:\d{12}:[\w-]{1,256}(?:\.fifo)?$/;
const SECRET_CHARS_MIN = 16;

/** By what calls of providers are authenticated. Throws ConfigError. */
export const readProviders = (text: Text): ProviderSettings => {
  const topics = text('SEALPOST_SES_TOPICS')
    ?.split(',')
    .map((topic) => topic.trim());
  const wrong = topics?.find((topic) => !TOPIC.test(topic));
  if (wrong !== undefined)
    throw new ConfigError(
      `SEALPOST_SES_TOPICS: ${JSON.stringify(wrong)} is no ARN of an SNS topic, such as arn:aws:sns:eu-west-1:123456789012:sealpost.`,
    );
  const [postmark, brevo, mailjet, signingKey] = (
    [
      'SEALPOST_POSTMARK_TOKEN',
      'SEALPOST_BREVO_TOKEN',
      'SEALPOST_MAILJET_TOKEN',
      'SEALPOST_MAILGUN_SIGNING_KEY',
    ] as const
  ).map((name) => readSecret(name, text(name)));
  const verificationKey = readVerificationKey(text('SEALPOST_SENDGRID_VERIFICATION_KEY'));
  return {
    ...(topics === undefined ? {} : { ses: { topics } }),
    ...(postmark === undefined ? {} : { postmark: { token: postmark } }),
    ...(verificationKey === undefined ? {} : { sendgrid: { verificationKey } }),
    ...(signingKey === undefined ? {} : { mailgun: { signingKey } }),
    ...(brevo === undefined ? {} : { brevo: { token: brevo } }),
    ...(mailjet === undefined ? {} : { mailjet: { token: mailjet } }),
  };
};

/** The value is not repeated: it is a secret. */
const readSecret = (name: SettingName, value: string | undefined): string | undefined => {
  if (value === undefined || (value.length >= SECRET_CHARS_MIN && /^[\x21-\x7e]+$/.test(value))) return value;
  throw new ConfigError(
    `${name} must have at least ${SECRET_CHARS_MIN} characters of ASCII without spaces, for example the output of openssl rand -hex 24.`,
  );
};

const readVerificationKey = (value: string | undefined): string | undefined => {
  if (value === undefined) return undefined;
  // Some consoles show it between the lines of PEM.
  const base64 = value.replace(/-----[A-Z ]+-----|\\n|\s/g, '');
  try {
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return base64;
  } catch {
    // The error below says so.
  }
  throw new ConfigError(
    'SEALPOST_SENDGRID_VERIFICATION_KEY is no verification key of a signed event webhook: Base64 that begins with MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE.',
  );
};

const readInboundSmtp = (
  text: Text,
  value: Values,
  { defaultHost, https }: Standard,
): InboundSmtpSettings | undefined => {
  const port = value('SEALPOST_INBOUND_SMTP_PORT');
  if (port === undefined) return undefined;
  const tls = readTls(text, ['SEALPOST_INBOUND_SMTP_TLS_CERT', 'SEALPOST_INBOUND_SMTP_TLS_KEY']) ?? https;
  return {
    host: text('SEALPOST_INBOUND_SMTP_HOST') ?? defaultHost,
    port,
    ...(tls === undefined ? {} : { tls }),
  };
};

/** undefined where no port is set. Throws ConfigError where keys would travel in the clear. */
export const readSubmission = (
  text: Text,
  value: Values,
  { defaultHost, https, publicUrl }: Standard & Readonly<{ publicUrl: string }>,
): SubmissionSettings | undefined => {
  const [plain, implicit] = [value('SEALPOST_SUBMISSION_PORT'), value('SEALPOST_SUBMISSION_TLS_PORT')];
  if (plain === undefined && implicit === undefined) return undefined;
  const tls = readTls(text, ['SEALPOST_SUBMISSION_TLS_CERT', 'SEALPOST_SUBMISSION_TLS_KEY']) ?? https;
  const host = text('SEALPOST_SUBMISSION_HOST') ?? defaultHost;
  if (tls === undefined && (implicit !== undefined || !isLoopback(host)))
    throw new ConfigError(
      `${implicit === undefined ? `SEALPOST_SUBMISSION_PORT on ${host}` : 'SEALPOST_SUBMISSION_TLS_PORT'} needs a certificate, or API keys would travel in the clear: ` +
        'set SEALPOST_SUBMISSION_TLS_CERT and SEALPOST_SUBMISSION_TLS_KEY to the paths of PEM files.',
    );
  return {
    host,
    ports: [
      ...(plain === undefined ? [] : [{ port: plain, isTls: false }]),
      ...(implicit === undefined ? [] : [{ port: implicit, isTls: true }]),
    ],
    name: readDomain('SEALPOST_SUBMISSION_NAME', text('SEALPOST_SUBMISSION_NAME')) ?? new URL(publicUrl).hostname,
    ...(tls === undefined ? {} : { tls }),
  };
};

/**
 * In: the settings that name the files of certificate and key. Throws ConfigError if one is missing, or a file cannot
 * be read.
 */
export const readTls = (text: Text, names: Tls['names']): Tls | undefined => {
  const [cert, key] = names.map(text);
  if (cert === undefined && key === undefined) return undefined;
  const [given, missing] = cert === undefined ? [names[1], names[0]] : names;
  if (cert === undefined || key === undefined)
    throw new ConfigError(`${given} is set without ${missing}; set both, to the paths of PEM files.`);
  return readTlsFiles(names, [cert, key]);
};

/** Throws ConfigError if a file cannot be read. */
export const readTlsFiles = (names: Tls['names'], paths: Tls['paths']): Tls => ({
  cert: readFile(names[0], paths[0]),
  key: readFile(names[1], paths[1]),
  paths,
  names,
});

/** A domain in lower case. Its bound keeps an address with `bounce+`, a token and `@` before it within 254 octets. */
const readDomain = (name: SettingName, value: string | undefined): string | undefined => {
  if (value === undefined || DOMAIN.test(value)) return value?.toLowerCase();
  throw new ConfigError(`${name}=${value} is no domain, such as bounces.example.com, of at most 190 characters.`);
};

/** The limits in force. Throws ConfigError if the retention periods contradict each other. */
export const readLimits = (text: Text): Limits => {
  const limits = limitsOf(text);
  const { generatedFileDays, retentionDays } = limits;
  // The files of an email go with its key; a default contradicts nobody.
  if (generatedFileDays > retentionDays && generatedFileDays !== defaultLimits.generatedFileDays) {
    throw new ConfigError(
      `SEALPOST_RETENTION_GENERATED_FILE_DAYS=${generatedFileDays} is longer than SEALPOST_RETENTION_DAYS=${retentionDays}, ` +
        'after which an email is archived and its files are destroyed: set it to that or less.',
    );
  }
  return limits;
};

/** undefined where no collector is named, or traces are switched off. Throws ConfigError. */
export const readTraces = (text: (name: SettingName) => string | undefined): TraceSettings | undefined => {
  /** The setting of traces alone in front of that of every signal, as OpenTelemetry has it. */
  const ofSignal = (rest: 'ENDPOINT' | 'PROTOCOL' | 'HEADERS') => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${rest}` as const;
    return text(own) === undefined ? (`OTEL_EXPORTER_OTLP_${rest}` as const) : own;
  };
  const endpointName = ofSignal('ENDPOINT');
  const endpoint = text(endpointName);
  const isDisabled = text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const exporter = text('OTEL_TRACES_EXPORTER')?.toLowerCase() ?? 'otlp';
  if (endpoint === undefined || isDisabled || exporter === 'none') return undefined;
  if (exporter !== 'otlp')
    throw new ConfigError(`OTEL_TRACES_EXPORTER=${exporter} is not spoken; set otlp, or none for no traces.`);
  const protocolName = ofSignal('PROTOCOL');
  const protocol = text(protocolName) ?? PROTOCOL;
  if (protocol !== PROTOCOL) {
    throw new ConfigError(
      `${protocolName}=${protocol} is not spoken; set ${PROTOCOL}, and the collector's port for it (4318, where 4317 is that of grpc).`,
    );
  }
  const resource = readPairs('OTEL_RESOURCE_ATTRIBUTES', text('OTEL_RESOURCE_ATTRIBUTES'));
  const headersName = ofSignal('HEADERS');
  const serviceName = text('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? SERVICE_NAME;
  return {
    url: urlOf(endpointName, endpoint),
    headers: readPairs(headersName, text(headersName)),
    resource: { ...resource, 'service.name': serviceName },
    ratio: readRatio(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG')),
  };
};

/** The value is not repeated: an address may hold a password. */
const urlOf = (name: SettingName, endpoint: string): string => {
  const url = URL.parse(endpoint);
  const isWhole = name === 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    (url.search !== '' && !isWhole) ||
    url.hash !== ''
  ) {
    throw new ConfigError(
      `${name} must be an http:// or https:// address, for example http://collector.internal:4318.`,
    );
  }
  return isWhole ? url.href : `${url.href.replace(/\/+$/, '')}/v1/traces`;
};

/**
 * `name=value` pairs with commas between them, values as in a URL. A fault names the place and no value, which may be a
 * secret.
 */
const readPairs = (name: SettingName, value: string | undefined): Readonly<Record<string, string>> => {
  const pairs = (value ?? '').split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const [, key, given] = PAIR.exec(pair) ?? [];
      const decoded = given === undefined ? undefined : decode(given);
      if (key === undefined || decoded === undefined) {
        throw new ConfigError(
          `Part ${index + 1} of ${name} is not name=value with the value as in a URL (a comma is %2C, a percent sign %25).`,
        );
      }
      return [key, decoded];
    }),
  );
};

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

const readRatio = (sampler = 'parentbased_always_on', argument: string | undefined): number => {
  if (!Object.hasOwn(samplers, sampler)) {
    throw new ConfigError(`OTEL_TRACES_SAMPLER=${sampler} is none of ${Object.keys(samplers).join(', ')}.`);
  }
  const fixed = samplers[sampler as keyof typeof samplers];
  if (fixed !== undefined) return fixed;
  const ratio = Number(argument ?? '1');
  if (!/^\d*\.?\d+$/.test(argument ?? '1') || ratio > 1) {
    throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG=${argument} is not a number from 0 to 1, for example 0.1.`);
  }
  return ratio;
};

/**
 * The hosts to which webhooks may be posted without TLS, for development. `beyond`: the address beyond loopback that
 * the service listens on; undefined if there is none. `hasRelay`: whether mail leaves the machine.
 */
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

/** The keys are as they were given; the command is cut into words. */
export type SealSettings = Readonly<{
  keys: readonly string[];
  command: readonly string[] | undefined;
  lost: readonly string[];
  webhook: string | undefined;
  file: string | undefined;
  /** An address. */
  mail: string | undefined;
}>;

const listed = (value: string | undefined): readonly string[] =>
  (value ?? '').split(/[,\s]+/).filter((part) => part !== '');

/** Under what the log is sealed, and where seals are told. Throws ConfigError. */
export const readSeals = (
  text: (name: SettingName) => string | undefined,
  localHosts: readonly string[],
): SealSettings => {
  const webhook = text('SEALPOST_SEAL_WEBHOOK');
  const url = webhook === undefined ? undefined : URL.parse(webhook);
  // The value is not repeated: it may hold a secret.
  if (
    url === null ||
    (url?.protocol === 'http:' && !localHosts.includes(url.hostname)) ||
    (url && !/^https?:$/.test(url.protocol))
  )
    throw new ConfigError(
      'SEALPOST_SEAL_WEBHOOK must be an https:// address, for example https://notary.example.com/seals.',
    );
  if (url && (url.username !== '' || url.password !== ''))
    throw new ConfigError('SEALPOST_SEAL_WEBHOOK must carry no user name and no password.');
  const file = text('SEALPOST_SEAL_FILE');
  const command = text('SEALPOST_SEAL_COMMAND')?.split(/\s+/);
  return {
    keys: listed(text('SEALPOST_SEAL_KEY')),
    command,
    lost: listed(text('SEALPOST_SEAL_KEYS_LOST')),
    webhook,
    file: file === undefined ? undefined : resolve(file),
    mail: readSealMail(text('SEALPOST_SEAL_MAIL')),
  };
};

const readSealMail = (value: string | undefined): string | undefined => {
  if (value === undefined) return undefined;
  const parsed = parseAddress(value);
  if (!parsed.ok) throw new ConfigError(`SEALPOST_SEAL_MAIL is no address: ${parsed.reason}.`);
  return value;
};

/** The sender of account mails; undefined if a relay is set and the sender is not. Throws ConfigError. */
export const readAccountSender = (value: string | undefined, hasRelay: boolean): Recipient | undefined => {
  if (value === undefined) return hasRelay ? undefined : sampleSender;
  const { email, name } = splitMailbox(value);
  const parsed = parseAddress(email);
  const fault = name === undefined ? undefined : nameFault(name);
  if (!parsed.ok || fault !== undefined) {
    const reason = parsed.ok ? `its name ${fault}` : parsed.reason;
    throw new ConfigError(
      `SEALPOST_ACCOUNT_SENDER=${value} is no sender, such as accounts@example.com or Example <accounts@example.com>: ${reason}.`,
    );
  }
  return { email: parsed.address, ...(name === undefined ? {} : { name }) };
};

/** Throws ConfigError if account mails would leave by the relay without a sender of the operator. */
export const assertAccountSender = (sender: Recipient | undefined, hasRelay: boolean): void => {
  if (!hasRelay || (sender !== undefined && !isSampleSender(sender.email))) return;
  throw new ConfigError(
    `SEALPOST_ACCOUNT_SENDER is ${sender === undefined ? 'not set' : `the sample ${sender.email}`}, and SEALPOST_SMTP_URL names a relay: mails to people about their accounts ` +
      'need a sender of a domain of yours. Set it, for example to accounts@example.com or Example <accounts@example.com>.',
  );
};

export const readRelayHeaders = (value: string | undefined): readonly string[] => {
  const read = parseAllowedHeaders(value ?? '');
  if ('fault' in read) throw new ConfigError(`SEALPOST_ALLOWED_RELAY_HEADERS: ${read.fault}.`);
  return read.names;
};

/** IP addresses, with or without a port; an IPv6 address with a port stands in brackets. */
export const readDnsServers = (value: string | undefined): readonly string[] => {
  if (value === undefined) return [];
  const servers = value.split(',').map((server) => server.trim());
  for (const server of servers) {
    const [, address = server, port = '53'] = /^\[(.+)\]:(\d+)$/.exec(server) ?? /^([^:]+):(\d+)$/.exec(server) ?? [];
    if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535)
      throw new ConfigError(
        `SEALPOST_DNS_SERVERS: ${server} is no IP address, such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353.`,
      );
  }
  return servers;
};

/** The terms between `v=spf1` and the last term of an SPF record. */
export const readSpf = (value: string): string => {
  const terms = value.split(/\s+/);
  const wrong = terms.find((term) => !/^(?:a|mx|include|ip4|ip6|exists)(?:[:/][A-Za-z0-9._:/%{}-]+)?$/i.test(term));
  if (wrong === undefined) return terms.join(' ');
  throw new ConfigError(
    `SEALPOST_SPF_MECHANISMS: ${wrong} is no mechanism of SPF, such as mx, ip4:192.0.2.1 or include:_spf.example.net.`,
  );
};

/** The address of the service without a slash at its end; without the setting, where the server listens. */
export const readPublicUrl = (
  value: string | undefined,
  { host, port, isHttps }: Readonly<{ host: string; port: number; isHttps: boolean }>,
): string => {
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return (value ?? `${isHttps ? 'https' : 'http'}://${shownHost}:${port}`).replace(/\/+$/, '');
};

/**
 * In: the address of the service, and whether recipients can reach it: it is set, or no mail leaves this machine. Out:
 * the beginning of links in mails, which is https or on loopback; undefined if there is none.
 */
export const readLinkBase = (publicUrl: string, isKnown: boolean): string | undefined => {
  const url = URL.parse(publicUrl);
  if (!isKnown || url === null) return undefined;
  const isSafe =
    url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
  return isSafe ? publicUrl : undefined;
};

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

const SIGN_IN = 'SEALPOST_SIGN_IN_PROVIDERS';

const PROVIDER_ID = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

const PROVIDER_DOMAIN = /^(?=.{1,253}$)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/;

const PROVIDERS_MAX = 20;

const providerFields = [
  'id',
  'label',
  'issuer',
  'clientId',
  'clientSecret',
  'scopes',
  'domains',
  'authoritative',
  'secondFactor',
  'internal',
] as const;

/** In: a JSON array. Throws ConfigError, which shows no value: secrets stand beside it. */
export const readSignInProviders = (text: string | undefined): readonly SignInProvider[] => {
  if (text === undefined) return [];
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new ConfigError(`${SIGN_IN} is not JSON: docs/sign-in.md shows an example.`);
  }
  if (!Array.isArray(given) || given.length > PROVIDERS_MAX)
    throw new ConfigError(`${SIGN_IN} is not an array of at most ${PROVIDERS_MAX} providers.`);
  const providers = given.map((one: unknown, place) => readSignInProvider(one, place));
  const ids = providers.map(({ id }) => id);
  const twice = ids.find((id, place) => ids.indexOf(id) !== place);
  if (twice !== undefined) throw new ConfigError(`${SIGN_IN} has the id ${twice} twice.`);
  return providers;
};

const readSignInProvider = (given: unknown, place: number): SignInProvider => {
  const wrong = (field: string, rule: string): ConfigError => new ConfigError(`${SIGN_IN}[${place}].${field} ${rule}.`);
  if (typeof given !== 'object' || given === null) throw new ConfigError(`${SIGN_IN}[${place}] is not an object.`);
  const fields = given as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((name) => !providerFields.some((known) => known === name));
  if (unknown !== undefined) throw wrong(unknown, `is unknown; the fields are ${providerFields.join(', ')}`);
  const text = (name: (typeof providerFields)[number], pattern = /^[^\p{Cc}]{1,500}$/u): string => {
    const value = fields[name];
    if (typeof value !== 'string' || !pattern.test(value))
      throw wrong(name, value === undefined ? 'is missing' : 'is not a text of the right form');
    return value;
  };
  const flag = (name: (typeof providerFields)[number]): boolean => {
    const value = fields[name] ?? false;
    if (typeof value !== 'boolean') throw wrong(name, 'is neither true nor false');
    return value;
  };
  const texts = (name: (typeof providerFields)[number], pattern: RegExp): readonly string[] => {
    const value: unknown = fields[name];
    const isList = Array.isArray(value) && value.length > 0 && value.length <= 1_000;
    if (!isList || !value.every((one) => typeof one === 'string' && pattern.test(one)))
      throw wrong(name, 'is not an array of texts of the right form');
    return value as string[];
  };
  const issuer = text('issuer');
  const isInternal = flag('internal');
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isUrl = url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isUrl || !(url.protocol === 'https:' || (isInternal && url.protocol === 'http:')))
    throw wrong('issuer', 'is not an https URL (http only with "internal": true)');
  const domains = fields['domains'] === '*' ? undefined : texts('domains', PROVIDER_DOMAIN);
  const isAuthoritative = flag('authoritative');
  if (isAuthoritative && domains === undefined)
    throw wrong('authoritative', 'needs domains by name: nobody is authoritative for all addresses');
  const secondFactor = fields['secondFactor'] ?? 'sealpost';
  if (secondFactor !== 'sealpost' && secondFactor !== 'provider')
    throw wrong('secondFactor', 'is neither "sealpost" nor "provider"');
  return {
    id: text('id', PROVIDER_ID),
    label: text('label', /^[^\p{Cc}<>]{1,60}$/u),
    issuer,
    clientId: text('clientId'),
    clientSecret: text('clientSecret'),
    scopes:
      fields['scopes'] === undefined
        ? ['openid', 'email', 'profile']
        : texts('scopes', /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/),
    domains,
    isAuthoritative,
    asksSecondFactor: secondFactor === 'provider',
    isInternal,
  };
};
