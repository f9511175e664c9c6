/**
 * Every setting by name with its default and its description, from which .env.example is made; and how single settings
 * are read.
 */
import { reasonOf } from '../../shared/files.js';
import { readFileSync } from 'node:fs';
import { withoutCredentials } from '../../shared/addresses.js';
import { defaultLimits, type Limits } from '../../domain/core/limits.js';

/** A setting that stops the start. The message names it and says what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Setting = Readonly<{ default: string | undefined; description: string; group: string; example?: string }>;

const setting = (group: string, standard: string | undefined, description: string, example?: string): Setting => ({
  group,
  default: standard,
  description,
  ...(example === undefined ? {} : { example }),
});

const named = {
  PORT: setting('Serving', '3000', 'TCP port of the HTTP server.'),
  HOST: setting(
    'Serving',
    '127.0.0.1',
    'Address to listen on. Outside loopback, HTTPS is required unless SEALPOST_REQUIRE_HTTPS is false.',
  ),
  SEALPOST_PUBLIC_URL: setting(
    'Serving',
    undefined,
    'The address under which clients and the recipients of mails reach the service. Links in mails need it, with https outside loopback. Default: made of HOST and PORT.',
    'https://mail.example.com',
  ),
  SEALPOST_TLS_CERT: setting(
    'Serving',
    undefined,
    'Path of a PEM certificate chain; with SEALPOST_TLS_KEY the server speaks HTTPS.',
    '/etc/sealpost/cert.pem',
  ),
  SEALPOST_TLS_KEY: setting(
    'Serving',
    undefined,
    'Path of the PEM private key of the certificate.',
    '/etc/sealpost/key.pem',
  ),
  SEALPOST_REQUIRE_HTTPS: setting(
    'Serving',
    undefined,
    'true: plain HTTP gets 403. Default: true outside loopback, false on loopback.',
    'true',
  ),
  SEALPOST_TRUST_PROXY: setting(
    'Serving',
    undefined,
    'Proxies whose X-Forwarded-* headers are believed: addresses or networks, separated by commas, or true for all.',
    '10.0.0.0/8',
  ),
  SEALPOST_REGISTRATION: setting(
    'Serving',
    'invited',
    'People who may become users beside the first: open (everybody who verifies an address), invited (people invited into a team) or closed (none).',
  ),
  SEALPOST_ROLES: setting(
    'Serving',
    'http,process,project',
    'Roles of this process, separated by commas: http (the API), process (delivery, timers), project (read models).',
  ),
  SEALPOST_METRICS_PORT: setting(
    'Serving',
    undefined,
    'TCP port on which GET /metrics answers figures for Prometheus, without a key. Default: no figures.',
    '9464',
  ),
  SEALPOST_METRICS_HOST: setting('Serving', '127.0.0.1', 'Address on which SEALPOST_METRICS_PORT listens.'),
  SEALPOST_LOG_LEVEL: setting(
    'Serving',
    'info',
    'Least level of the log lines that are written: debug, info, warn, error or silent.',
  ),

  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    'Traces',
    undefined,
    'Address of a collector that takes spans by OTLP over HTTP; /v1/traces is added. Default: no traces.',
    'http://127.0.0.1:4318',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    'Traces',
    undefined,
    'The whole address for spans, in place of OTEL_EXPORTER_OTLP_ENDPOINT; nothing is added to it.',
    'http://127.0.0.1:4318/v1/traces',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: setting(
    'Traces',
    'http/protobuf',
    'Protocol of the collector. Only http/protobuf is supported.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: setting(
    'Traces',
    undefined,
    'Protocol for spans, in place of OTEL_EXPORTER_OTLP_PROTOCOL.',
    'http/protobuf',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    'Traces',
    undefined,
    'Headers for the collector: name=value, separated by commas, values as in a URL.',
    'authorization=Bearer%20token',
  ),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: setting(
    'Traces',
    undefined,
    'Headers for spans, in place of OTEL_EXPORTER_OTLP_HEADERS.',
    'authorization=Bearer%20token',
  ),
  OTEL_SDK_DISABLED: setting('Traces', 'false', 'true: no traces are sent, even if an endpoint is set.'),
  OTEL_TRACES_EXPORTER: setting(
    'Traces',
    'otlp',
    'Exporter of the spans: otlp, or none, which sends no traces even if an endpoint is set.',
  ),
  OTEL_SERVICE_NAME: setting('Traces', 'sealpost', 'Name of the service in its spans (service.name).'),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    'Traces',
    undefined,
    'More that every span says of this process: name=value, separated by commas, values as in a URL.',
    'deployment.environment.name=production',
  ),
  OTEL_TRACES_SAMPLER: setting(
    'Traces',
    'parentbased_always_on',
    'Which traces are sent: always_on, always_off or traceidratio, or the same with parentbased_ before it, which means the same here.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting('Traces', '1', 'With traceidratio: the share of traces, from 0 to 1.'),

  SEALPOST_DATA_DIR: setting('Data', './data', 'Directory of the log, keys, read models, files and mailbox.'),
  SEALPOST_MASTER_KEY: setting(
    'Data',
    undefined,
    '32 bytes in base64 or hex that wrap every key. Default: created as master.key in the data directory.',
  ),
  SEALPOST_SEAL_KEY: setting(
    'Data',
    undefined,
    '32 bytes in base64 or hex under which the log is sealed; keep it away from the data directory. Earlier ones follow, separated by commas. Default: derived from the master key, which proves nothing to who has that.',
  ),
  SEALPOST_SEAL_COMMAND: setting(
    'Data',
    undefined,
    'A program with its arguments, run without a shell, that signs seals with a key that sealpost never has: bytes on standard input, the signature as text on standard output, always the same for the same bytes.',
    '/usr/local/bin/sign-seal --slot 9c',
  ),
  SEALPOST_SEAL_KEYS_LOST: setting(
    'Data',
    undefined,
    'Ids of seal keys that are lost, separated by commas: what is under them alone is told as unproved, and is no fault.',
    '5f0c2a9be1d47a36',
  ),
  SEALPOST_SEAL_WEBHOOK: setting(
    'Data',
    undefined,
    'An https address to which each new seal is posted. Default: none.',
    'https://notary.example.com/seals',
  ),
  SEALPOST_SEAL_FILE: setting(
    'Data',
    undefined,
    'Path of a file, on another machine best, to which each new seal is appended; sealpost verify compares the log with it. Default: none.',
    '/mnt/notary/seals.jsonl',
  ),
  SEALPOST_SEAL_MAIL: setting(
    'Data',
    undefined,
    'An address to which the first seal of each day with work is mailed. Default: none.',
    'notary@example.com',
  ),
  SEALPOST_RETENTION_DAYS: setting(
    'Data',
    '30',
    'Age in days at which an email is archived: its key is destroyed, and with it everything personal.',
  ),
  SEALPOST_RETENTION_ARCHIVE_DAYS: setting(
    'Data',
    '1826',
    'For how many days the record of an archived email is kept, and that of a bulk send when its emails are archived; then they are gone.',
  ),
  SEALPOST_RETENTION_DELETED_DAYS: setting(
    'Data',
    '30',
    'For how many days templates, assets, webhook subscriptions and sender domains that were deleted can be restored; then they are gone.',
  ),
  SEALPOST_RETENTION_AUDIT_DAYS: setting(
    'Data',
    '731',
    'Days for which the audit log is kept, at least 1. Older entries are destroyed. The default is two years.',
  ),
  SEALPOST_RETENTION_WEBHOOK_DAYS: setting(
    'Data',
    '30',
    'Days for which the records of webhook deliveries are kept, at least 1. Older ones are removed.',
  ),
  SEALPOST_RETENTION_GENERATED_FILE_DAYS: setting(
    'Data',
    '7',
    'For how many days generated PDF and Excel files are kept, counted from when their email is due; no longer than SEALPOST_RETENTION_DAYS.',
  ),
  SEALPOST_RETENTION_TEMPORARY_FILE_HOURS: setting(
    'Data',
    '24',
    'Hours after which files are removed whose writing was cut off.',
  ),
  SEALPOST_EVENT_STORE_URL: setting(
    'Data',
    undefined,
    'The log: sqlite:<file>, or a server of EventStoreDB or KurrentDB (esdb://…, esdb+discover://…, kurrentdb://…). Default: sqlite:<data directory>/events.db',
    'sqlite:./data/events.db',
  ),
  SEALPOST_READ_MODELS_URL: setting(
    'Data',
    undefined,
    'The read models: sqlite:<file>, or a database of MongoDB (mongodb://…, mongodb+srv://…). Default: sqlite:<data directory>/documents.db',
    'sqlite:./data/documents.db',
  ),
  SEALPOST_KEYS_URL: setting(
    'Data',
    undefined,
    'The keys, apart from the log: sqlite:<file>, or mongodb://…, which needs the master key in a setting. Default: sqlite:<data directory>/keys.db',
    'sqlite:./data/keys.db',
  ),
  SEALPOST_FILES_URL: setting(
    'Data',
    undefined,
    'Files: dir:<directory> or mongodb://…. Default: dir:<data directory>/files',
    'dir:./data/files',
  ),
  SEALPOST_LEASES_URL: setting(
    'Data',
    undefined,
    'Leases, under which one process alone does what is done once: sqlite:<file> or mongodb://…. Default: where the keys are, if those and the log are on servers; else sqlite:<data directory>/leases.db',
    'sqlite:./data/leases.db',
  ),
  SEALPOST_BUS_URL: setting(
    'Data',
    undefined,
    'Pointers to work: memory: or a server of NATS with JetStream (nats://…, tls://…), which several delivering processes share. Default: memory:',
    'memory:',
  ),
  SEALPOST_LIMITER_URL: setting(
    'Data',
    undefined,
    'Rate limits: memory:, which counts in each process, or redis://…, rediss://…. Default: memory:',
    'memory:',
  ),

  SEALPOST_FONTS_DIR: setting(
    'Documents',
    undefined,
    'Directory of more fonts for PDF files (.ttf, .otf, .woff), used for characters that the shipped ones do not have.',
    '/etc/sealpost/fonts',
  ),

  SEALPOST_SMTP_URL: setting(
    'Delivery',
    undefined,
    'The relay that takes all mail, or mailbox: for the built-in mailbox at /mailbox. Default: mailbox: on loopback without a public URL.',
    'smtp://user:password@mail.example.com:587',
  ),
  SEALPOST_ACCOUNT_SENDER: setting(
    'Delivery',
    undefined,
    'The sender of mails to people about their accounts: an address, or Name <address>. Needed with a relay. Default: a sample that only the built-in mailbox takes.',
    'Example <accounts@example.com>',
  ),
  SEALPOST_SMTP_NAME: setting(
    'Delivery',
    undefined,
    'Our name in EHLO, a host name. Default: the host of the public URL, else the name of the machine where it has a dot.',
    'mail.example.com',
  ),
  SEALPOST_SMTP_TOKEN_FILE: setting(
    'Delivery',
    undefined,
    'File with the token of a login by XOAUTH2 (auth=xoauth2 in SEALPOST_SMTP_URL), read for each connection.',
    '/run/secrets/smtp-token',
  ),
  SEALPOST_SMTP_TOKEN_COMMAND: setting(
    'Delivery',
    undefined,
    'A program with its arguments, run without a shell for each connection, that writes such a token.',
    '/usr/local/bin/smtp-token',
  ),
  SEALPOST_SMTP_CONNECTIONS: setting('Delivery', '10', 'Connections to the relay at once.'),
  SEALPOST_SMTP_FINAL: setting(
    'Delivery',
    undefined,
    'true: the relay is the final host of every recipient, so what it accepts is delivered. Default: false.',
    'true',
  ),
  SEALPOST_RETRY_DELAYS: setting(
    'Delivery',
    '60,300,1440,5400',
    'Seconds before the second, third, … attempt after a temporary refusal.',
  ),
  SEALPOST_WEBHOOK_RETRY_DELAYS: setting(
    'Delivery',
    '60,300,1800',
    'Seconds before the second, third, … attempt to post an event to a webhook: at most 20 pauses of at most a day, together at most 5 days and no longer than SEALPOST_RETENTION_WEBHOOK_DAYS.',
  ),
  SEALPOST_ALLOWED_RELAY_HEADERS: setting(
    'Delivery',
    undefined,
    'Headers by which callers may instruct the relay, separated by commas; * stands for any rest. Default: none.',
    'X-PM-Message-Stream,X-MC-*',
  ),
  SEALPOST_RETURN_PATH_DOMAIN: setting(
    'Delivery',
    undefined,
    'Domain whose mail comes back to this service: mails leave with bounce+<token>@ it as envelope sender, so that bounces and complaints are told apart. Default: the sender of the mail.',
    'bounces.example.com',
  ),
  SEALPOST_INBOUND_SMTP_PORT: setting(
    'Delivery',
    undefined,
    'Port on which the process with the role http takes reports to the return path domain by SMTP. Default: none; reports come in by the API alone.',
    '25',
  ),
  SEALPOST_INBOUND_SMTP_HOST: setting(
    'Delivery',
    undefined,
    'Address that this port listens on. Default: that of HOST.',
    '0.0.0.0',
  ),
  SEALPOST_INBOUND_SMTP_NAME: setting(
    'Delivery',
    undefined,
    'Name of the host that takes mail for the return path domain: what its MX record names. Default: the return path domain.',
    'mx.example.com',
  ),
  SEALPOST_INBOUND_SMTP_TLS_CERT: setting(
    'Delivery',
    undefined,
    'Path of a PEM certificate chain for STARTTLS on this port. Default: SEALPOST_TLS_CERT; without either no STARTTLS.',
    '/etc/sealpost/mx-cert.pem',
  ),
  SEALPOST_INBOUND_SMTP_TLS_KEY: setting(
    'Delivery',
    undefined,
    'Path of the PEM private key of that certificate.',
    '/etc/sealpost/mx-key.pem',
  ),
  SEALPOST_DNS_SERVERS: setting(
    'Delivery',
    undefined,
    'Servers of the DNS that are asked for the records of sender domains, IP addresses with or without a port. Default: those of the system.',
    '192.0.2.53,192.0.2.54:5353',
  ),
  SEALPOST_SPF_MECHANISMS: setting(
    'Delivery',
    'mx',
    'SPF mechanisms that allow the relay to send, separated by spaces. The SPF records that sender domains must publish contain them.',
  ),
  SEALPOST_WEBHOOK_INSECURE_HOSTS: setting(
    'Delivery',
    undefined,
    'Hosts of webhooks, separated by commas, that may be posted to over http and on loopback: for development, refused beyond loopback. Default: 127.0.0.1 where the service listens on loopback, has no public URL, and delivers to its mailbox; else none.',
    'localhost,127.0.0.1',
  ),
  SEALPOST_DKIM_DOMAIN: setting(
    'Delivery',
    undefined,
    'Domain of the DKIM signature; set with selector and key.',
    'example.com',
  ),
  SEALPOST_DKIM_SELECTOR: setting('Delivery', undefined, 'Selector of the DKIM key.', 'mail'),
  SEALPOST_DKIM_PRIVATE_KEY: setting(
    'Delivery',
    undefined,
    'PEM private key for DKIM (RSA or Ed25519), line breaks as \\n.',
  ),
} as const satisfies Record<string, Setting>;

/** `recipientsMax` is set by `SEALPOST_LIMIT_RECIPIENTS_MAX`. */
export const limitSetting = (name: keyof Limits): `SEALPOST_LIMIT_${string}` =>
  `SEALPOST_LIMIT_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * The limits that an operator may set, because they depend on the machine or on what is sent; all others are constants.
 */
const limitDescriptions = {
  bodySizeBytesMax: 'Bytes of a request body. A larger body is refused.',
  connectionsMax: 'Connections of all clients to one process. One more is refused.',
  networkConnectionsMax:
    'Connections of one network (an IPv4 address, or the /64 of an IPv6 address) to one process. One more is refused. Trusted proxies have no such limit.',
  answerSilenceMs: 'Milliseconds for which a client may read nothing of an answer. Then its connection is closed.',
  recipientsMax: 'Recipients of one email: to, cc and bcc together. An email with more is refused.',
  attachmentsTotalSizeBytesMax: 'Bytes of all attachments of one email. An email with more is refused.',
  teamAttachmentBytesMax:
    'Bytes of all attachments that one team stores. A send that would exceed it is refused until older emails are deleted or archived.',
  assetsMax: 'Files in the gallery of a team. One more upload is refused.',
  loopIterationsMax: 'Iterations of one loop of a template. A send with more is refused.',
  pdfPagesMax: 'Pages of one PDF. A document with more is refused.',
  pdfTimeoutMs: 'Milliseconds for making one PDF. A document that takes longer is refused.',
  excelRowsMax: 'Data rows of one workbook. A workbook with more is refused. Headers and footers do not count.',
  generatorProcessesMax:
    'Documents made at once, each in its own process; at least 2. Further documents wait. Machines with few cores use fewer processes.',
  generatorQueueMax: 'Documents of all teams that wait for a process. One more is refused.',
  generatorMemoryMbMax:
    'Megabytes that one document process may use beyond the program itself. A document that needs more is refused.',
  generatorReadyMs:
    'Milliseconds for which one document process stays ready after the last document or change of an attachment template. 0: none stays.',
  ledgerSealEveryMs: 'Milliseconds after which the log is sealed again if it has new events.',
  stateFreshnessMs:
    'Milliseconds for which a key, team, template or slug may be used from memory. A change at another process takes effect within this time.',
  lanes:
    'Work items that each processor of one process has in work at once. More lanes use more memory and connections.',
  deliveryDeadlineMs: 'Milliseconds for one delivery attempt. An attempt that takes longer is cut off.',
  hostAwayHoursMax: 'Hours for which a host may refuse sessions. Then mails to it fail.',
  queueWaitingMax: 'Emails of one team that are queued or in delivery. A send beyond that is refused.',
  webhooksMax: 'Webhook subscriptions of one team, at most 1000. One more is refused. A plan may allow fewer.',
  mailboxMessagesMax: 'Mails that the development mailbox keeps. The oldest is removed for a new one.',
  shutdownDeadlineMs: 'Milliseconds within which work under way may end after a stop signal. Then it is cut off.',
  stopNoticeMs:
    'Milliseconds for which the service goes on serving after a stop signal while health says stopping, so that load balancers notice. 0: none.',
  inboundSmtpConnectionsMax:
    'Connections to the SMTP server of the return path, for each process. One more is refused.',
} as const satisfies Partial<Record<keyof Limits, string>>;

export type SettableLimit = keyof typeof limitDescriptions;

export const settableLimits = Object.keys(limitDescriptions) as readonly SettableLimit[];

const bounds: Readonly<Record<string, Setting>> = Object.fromEntries(
  settableLimits.map((name) => [
    limitSetting(name),
    setting('Limits', String(defaultLimits[name]), limitDescriptions[name]),
  ]),
);

/**
 * Settings that are secrets, or addresses that may hold a password. Each may be given in a file, which `<name>_FILE`
 * names.
 */
const secrets = [
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'SEALPOST_MASTER_KEY',
  'SEALPOST_SEAL_KEY',
  'SEALPOST_SEAL_WEBHOOK',
  'SEALPOST_EVENT_STORE_URL',
  'SEALPOST_READ_MODELS_URL',
  'SEALPOST_KEYS_URL',
  'SEALPOST_FILES_URL',
  'SEALPOST_LEASES_URL',
  'SEALPOST_BUS_URL',
  'SEALPOST_LIMITER_URL',
  'SEALPOST_SMTP_URL',
  'SEALPOST_DKIM_PRIVATE_KEY',
] as const satisfies readonly (keyof typeof named)[];

const fileOf = <Name extends string>(name: Name): `${Name}_FILE` => `${name}_FILE`;

const secretFiles: Readonly<Record<string, Setting>> = Object.fromEntries(
  secrets.map((name) => {
    const example = `/run/secrets/${name.toLowerCase().replaceAll('_', '-')}`;
    return [
      fileOf(name),
      setting('Secrets', undefined, `Path of a file that holds ${name}, instead of that setting.`, example),
    ];
  }),
);

export type SettingName = keyof typeof named | `${(typeof secrets)[number]}_FILE` | `SEALPOST_LIMIT_${string}`;

export const settings: Readonly<Record<string, Setting>> = { ...named, ...secretFiles, ...bounds };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment with each secret that stands in a file, without white space around it. Throws ConfigError if a secret
 * is given in both ways, or its file cannot be read or is empty.
 */
export const withSecretsOfFiles = (environment: Environment): Environment => {
  const found: Record<string, string> = {};
  for (const name of secrets) {
    const file = environment[fileOf(name)]?.trim() ?? '';
    if (file === '') continue;
    if ((environment[name]?.trim() ?? '') !== '')
      throw new ConfigError(`${name} and ${fileOf(name)} are both set; keep one of them.`);
    found[name] = readFile(fileOf(name), file).trim();
    if (found[name] === '')
      throw new ConfigError(`${fileOf(name)}=${file} is empty; write the value of ${name} into the file.`);
  }
  return { ...environment, ...found };
};

/** The text of .env.example. */
export const envExample = (): string => {
  const lines = [
    '# Settings of sealpost, as its schema has them. Every line is optional; what is commented out shows the default or an example.',
  ];
  let group = '';
  for (const [name, { default: standard, description, group: own, example }] of Object.entries(settings) as [
    string,
    Setting,
  ][]) {
    if (own !== group) lines.push('', `# ${own}`);
    group = own;
    lines.push(`# ${description}`, `#${name}=${standard ?? example ?? ''}`);
  }
  return `${lines.join('\n')}\n`;
};

const HOLDS_SECRET = /_(KEY|TOKEN|PASSWORD|SECRET|WEBHOOK)$|^OTEL_EXPORTER_OTLP_(TRACES_)?HEADERS$/;

/** The settings that are set, one a line, without secrets and without user and password in addresses. */
export const withoutSecrets = (environment: Environment): string =>
  Object.keys(settings)
    .flatMap((name) => {
      const value = environment[name]?.trim() ?? '';
      if (value === '') return [];
      return [
        HOLDS_SECRET.test(name) ? `# ${name} is set, and is not kept here` : `${name}=${withoutCredentials(value)}`,
      ];
    })
    .map((line) => `${line}\n`)
    .join('');

const SERVICE_LINK =
  /^SEALPOST_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
const SERVICE_PORT = /_PORT$/;
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/**
 * Whether a platform set the variable for a Service or a linked container whose name begins with `sealpost`, and no
 * operator did. The name may be that of a setting: a Service `sealpost-metrics` gives
 * SEALPOST_METRICS_PORT=tcp://10.0.0.7:9464.
 */
export const isServiceLink = (name: string, value: string): boolean =>
  (!(name in settings) && SERVICE_LINK.test(name)) ||
  (name.startsWith('SEALPOST_') && SERVICE_PORT.test(name) && SERVICE_ADDRESS.test(value));

/** Throws ConfigError unless the value is a whole number within the bounds. */
export const integer = (name: SettingName, value: string, min: number, max: number): number => {
  const parsed = Number(value);
  if (!/^\d+$/.test(value) || parsed < min || parsed > max) {
    throw new ConfigError(`${name}=${value} is not a whole number from ${min} to ${max}.`);
  }
  return parsed;
};

/** Throws ConfigError unless the value is one of those allowed. */
export const oneOf = <T extends string>(name: SettingName, value: string, allowed: readonly T[]): T => {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ConfigError(`${name}=${value} is none of ${allowed.join(', ')}.`);
  return found;
};

export const readBoolean = (name: SettingName, value: string | undefined): boolean | undefined =>
  value === undefined ? undefined : oneOf(name, value, ['true', 'false']) === 'true';

/** The text of a file that a setting names. Throws ConfigError. */
export const readFile = (name: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (fault) {
    throw unreadable(name, file, fault);
  }
};

export const unreadable = (name: string, path: string, fault: unknown): ConfigError => {
  return new ConfigError(`${name}=${path} cannot be read: ${reasonOf(fault)}.`);
};
