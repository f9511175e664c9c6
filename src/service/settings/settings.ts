/**
 * Every setting by name, declared in one line each: its kind with its bounds, its description, its default or an
 * example. The values, the limits in force and .env.example are made from these lines.
 */
import { reasonOf } from '../../shared/files.js';
import { readFileSync } from 'node:fs';
import { withoutCredentials } from '../../shared/addresses.js';
import { defaultLimits, type Limits } from '../../domain/core/limits.js';
import { registrations } from '../../domain/people/user.js';

/** A setting that stops the start. The message names it and says what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Shown = Readonly<{ default?: string; example?: string; isSecret?: true }>;

/**
 * A setting as it is declared: in one place. `read` throws ConfigError for a value that is out of its bounds. `limit`:
 * the limit that the setting sets.
 */
type Declared<Value> = Shown &
  Readonly<{ description: string; read: (name: string, value: string) => Value; limit?: keyof Limits }>;
type Setting = Declared<unknown> & Readonly<{ group: string }>;

const kind =
  <Value>(read: Declared<Value>['read']) =>
  <const More extends Shown = Shown>(description: string, more?: More): Declared<Value> & More => ({
    description,
    read,
    ...(more ?? ({} as More)),
  });

/** Throws ConfigError unless the value is a whole number within the bounds. */
export const integer = (name: string, value: string, min: number, max: number): number => {
  const parsed = Number(value);
  if (!/^\d+$/.test(value) || parsed < min || parsed > max) {
    throw new ConfigError(`${name}=${value} is not a whole number from ${min} to ${max}.`);
  }
  return parsed;
};

/** Throws ConfigError unless the value is one of those allowed. */
export const oneOf = <T extends string>(name: string, value: string, allowed: readonly T[]): T => {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ConfigError(`${name}=${value} is none of ${allowed.join(', ')}.`);
  return found;
};

/** Text that is used as it is, or that config.ts takes apart. */
const text = kind((_name, value) => value);
const whole = (min: number, max: number) => kind((name, value) => integer(name, value, min, max));
const port = whole(0, 65_535);
const flag = kind((name, value) => oneOf(name, value, ['true', 'false']) === 'true');
const choice = <const Choice extends string>(choices: readonly Choice[]) =>
  kind((name, value) => oneOf(name, value, choices));
const limit = (
  name: keyof Limits,
  description: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER }: Readonly<{ min?: number; max?: number }> = {},
) => ({ ...whole(min, max)(description, { default: String(defaultLimits[name]) }), limit: name });

const inGroup = <Names extends Readonly<Record<string, Declared<unknown>>>>(group: string, declared: Names) =>
  Object.fromEntries(Object.entries(declared).map(([name, of]) => [name, { ...of, group }])) as {
    readonly [Name in keyof Names]: Names[Name] & Readonly<{ group: string }>;
  };

const DAYS_MAX = 3_650;

const named = {
  ...inGroup('Serving', {
    PORT: port('TCP port of the HTTP server.', { default: '3000' }),
    HOST: text('Address to listen on. Outside loopback, HTTPS is required unless SEALPOST_REQUIRE_HTTPS is false.', {
      default: '127.0.0.1',
    }),
    SEALPOST_PUBLIC_URL: text(
      'The address under which clients and the recipients of mails reach the service. Links in mails need it, with https outside loopback. Default: made of HOST and PORT.',
      { example: 'https://mail.example.com' },
    ),
    SEALPOST_TLS_CERT: text('Path of a PEM certificate chain; with SEALPOST_TLS_KEY the server speaks HTTPS.', {
      example: '/etc/sealpost/cert.pem',
    }),
    SEALPOST_TLS_KEY: text('Path of the PEM private key of the certificate.', { example: '/etc/sealpost/key.pem' }),
    SEALPOST_REQUIRE_HTTPS: flag('true: plain HTTP gets 403. Default: true outside loopback, false on loopback.', {
      example: 'true',
    }),
    SEALPOST_TRUST_PROXY: text(
      'Proxies whose X-Forwarded-* headers are believed: addresses or networks, separated by commas, or true for all.',
      { example: '10.0.0.0/8' },
    ),
    SEALPOST_REGISTRATION: choice(registrations)(
      'People who may become users beside the first: open (everybody who verifies an address), invited (people invited into a team) or closed (none).',
      { default: 'invited' },
    ),
    SEALPOST_OAUTH_REGISTRATION: choice(['open', 'closed'])(
      'Whether apps may register themselves, as MCP clients do: open or closed. Closing it ends the access of those that did.',
      { default: 'open' },
    ),
    SEALPOST_SIGN_IN_PROVIDERS: text(
      'Providers by which people sign in (OpenID Connect), as a JSON array; docs/sign-in.md shows it.',
      { example: '[{"id":"google","label":"Google","issuer":"https://accounts.google.com",…}]', isSecret: true },
    ),
    SEALPOST_ROLES: text(
      'Roles of this process, separated by commas: http (the API), process (delivery, timers), project (read models).',
      { default: 'http,process,project' },
    ),
    SEALPOST_METRICS_PORT: port(
      'TCP port on which GET /metrics answers figures for Prometheus, without a key. Default: no figures.',
      { example: '9464' },
    ),
    SEALPOST_METRICS_HOST: text('Address on which SEALPOST_METRICS_PORT listens.', { default: '127.0.0.1' }),
    SEALPOST_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error', 'silent'])(
      'Least level of the log lines that are written: debug, info, warn, error or silent. Default on a terminal: warn.',
      { default: 'info' },
    ),
  }),

  ...inGroup('Traces', {
    OTEL_EXPORTER_OTLP_ENDPOINT: text(
      'Address of a collector that takes spans by OTLP over HTTP; /v1/traces is added. Default: no traces.',
      { example: 'http://127.0.0.1:4318' },
    ),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: text(
      'The whole address for spans, in place of OTEL_EXPORTER_OTLP_ENDPOINT; nothing is added to it.',
      { example: 'http://127.0.0.1:4318/v1/traces' },
    ),
    OTEL_EXPORTER_OTLP_PROTOCOL: text('Protocol of the collector. Only http/protobuf is supported.', {
      default: 'http/protobuf',
    }),
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: text('Protocol for spans, in place of OTEL_EXPORTER_OTLP_PROTOCOL.', {
      example: 'http/protobuf',
    }),
    OTEL_EXPORTER_OTLP_HEADERS: text(
      'Headers for the collector: name=value, separated by commas, values as in a URL.',
      { example: 'authorization=Bearer%20token', isSecret: true },
    ),
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: text('Headers for spans, in place of OTEL_EXPORTER_OTLP_HEADERS.', {
      example: 'authorization=Bearer%20token',
      isSecret: true,
    }),
    OTEL_SDK_DISABLED: text('true: no traces are sent, even if an endpoint is set.', { default: 'false' }),
    OTEL_TRACES_EXPORTER: text(
      'Exporter of the spans: otlp, or none, which sends no traces even if an endpoint is set.',
      { default: 'otlp' },
    ),
    OTEL_SERVICE_NAME: text('Name of the service in its spans (service.name).', { default: 'sealpost' }),
    OTEL_RESOURCE_ATTRIBUTES: text(
      'More that every span says of this process: name=value, separated by commas, values as in a URL.',
      { example: 'deployment.environment.name=production' },
    ),
    OTEL_TRACES_SAMPLER: text(
      'Which traces are sent: always_on, always_off or traceidratio, or the same with parentbased_ before it, which means the same here.',
      { default: 'parentbased_always_on' },
    ),
    OTEL_TRACES_SAMPLER_ARG: text('With traceidratio: the share of traces, from 0 to 1.', { default: '1' }),
  }),

  ...inGroup('Data', {
    SEALPOST_DATA_DIR: text('Directory of the log, keys, read models, files and mailbox.', { default: './data' }),
    SEALPOST_MASTER_KEY: text(
      '32 bytes in base64 or hex that wrap every key. Default: created as master.key in the data directory.',
      { isSecret: true },
    ),
    SEALPOST_SEAL_KEY: text(
      '32 bytes in base64 or hex under which the log is sealed; keep it away from the data directory. Earlier ones follow, separated by commas. Default: derived from the master key, which proves nothing to who has that.',
      { isSecret: true },
    ),
    SEALPOST_SEAL_COMMAND: text(
      'A program with its arguments, run without a shell, that signs seals with a key that sealpost never has: bytes on standard input, the signature as text on standard output, always the same for the same bytes.',
      { example: '/usr/local/bin/sign-seal --slot 9c' },
    ),
    SEALPOST_SEAL_KEYS_LOST: text(
      'Ids of seal keys that are lost, separated by commas: what is under them alone is told as unproved, and is no fault.',
      { example: '5f0c2a9be1d47a36' },
    ),
    SEALPOST_SEAL_WEBHOOK: text('An https address to which each new seal is posted. Default: none.', {
      example: 'https://notary.example.com/seals',
      isSecret: true,
    }),
    SEALPOST_SEAL_FILE: text(
      'Path of a file, on another machine best, to which each new seal is appended; sealpost verify compares the log with it. Default: none.',
      { example: '/mnt/notary/seals.jsonl' },
    ),
    SEALPOST_SEAL_MAIL: text('An address to which the first seal of each day with work is mailed. Default: none.', {
      example: 'notary@example.com',
    }),
    SEALPOST_RETENTION_DAYS: limit(
      'retentionDays',
      'Age in days at which an email is archived: its key is destroyed, and with it everything personal.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_ARCHIVE_DAYS: limit(
      'archiveDays',
      'For how many days the record of an archived email is kept, and that of a bulk send when its emails are archived; then they are gone.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_DELETED_DAYS: limit(
      'restoreDays',
      'For how many days templates, assets, webhook subscriptions and sender domains that were deleted can be restored; then they are gone.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_AUDIT_DAYS: limit(
      'auditDays',
      'Days for which the audit log is kept, at least 1. Older entries are destroyed. The default is two years.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_REQUEST_LOG_DAYS: limit(
      'requestLogDays',
      'Days for which calls of API keys and apps are kept in the log of calls, at most 30. 0: no call is logged.',
      { min: 0, max: 30 },
    ),
    SEALPOST_RETENTION_WEBHOOK_DAYS: limit(
      'webhookRecordDays',
      'Days for which the records of webhook deliveries are kept, at least 1. Older ones are removed.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_GENERATED_FILE_DAYS: limit(
      'generatedFileDays',
      'For how many days generated PDF and Excel files are kept, counted from when their email is due; no longer than SEALPOST_RETENTION_DAYS.',
      { max: DAYS_MAX },
    ),
    SEALPOST_RETENTION_TEMPORARY_FILE_HOURS: limit(
      'temporaryFileHours',
      'Hours after which files are removed whose writing was cut off.',
      { max: 24 * DAYS_MAX },
    ),
    SEALPOST_EVENT_STORE_URL: text(
      'The log: sqlite:<file>, or a server of EventStoreDB or KurrentDB (esdb://…, esdb+discover://…, kurrentdb://…). Default: sqlite:<data directory>/events.db',
      { example: 'sqlite:./data/events.db', isSecret: true },
    ),
    SEALPOST_READ_MODELS_URL: text(
      'The read models: sqlite:<file>, or a database of MongoDB (mongodb://…, mongodb+srv://…). Default: sqlite:<data directory>/documents.db',
      { example: 'sqlite:./data/documents.db', isSecret: true },
    ),
    SEALPOST_KEYS_URL: text(
      'The keys, apart from the log: sqlite:<file>, or mongodb://…, which needs the master key in a setting. Default: sqlite:<data directory>/keys.db',
      { example: 'sqlite:./data/keys.db', isSecret: true },
    ),
    SEALPOST_FILES_URL: text('Files: dir:<directory> or mongodb://…. Default: dir:<data directory>/files', {
      example: 'dir:./data/files',
      isSecret: true,
    }),
    SEALPOST_LEASES_URL: text(
      'Leases, under which one process alone does what is done once: sqlite:<file> or mongodb://…. Default: where the keys are, if those and the log are on servers; else sqlite:<data directory>/leases.db',
      { example: 'sqlite:./data/leases.db', isSecret: true },
    ),
    SEALPOST_BUS_URL: text(
      'Pointers to work: memory: or a server of NATS with JetStream (nats://…, tls://…), which several delivering processes share. Default: memory:',
      { example: 'memory:', isSecret: true },
    ),
    SEALPOST_LIMITER_URL: text(
      'Rate limits: memory:, which counts in each process, or redis://…, rediss://…. Default: memory:',
      { example: 'memory:', isSecret: true },
    ),
  }),

  ...inGroup('Documents', {
    SEALPOST_FONTS_DIR: text(
      'Directory of more fonts for PDF files (.ttf, .otf, .woff), used for characters that the shipped ones do not have.',
      { example: '/etc/sealpost/fonts' },
    ),
  }),

  ...inGroup('Delivery', {
    SEALPOST_SMTP_URL: text(
      'The relay that takes all mail, or mailbox: for the built-in mailbox at /mailbox. Default: mailbox: on loopback without a public URL.',
      { example: 'smtp://user:password@mail.example.com:587', isSecret: true },
    ),
    SEALPOST_RELAYS: text(
      'Path of a JSON file with several relays and the rules by which mails go to them (docs/relays.md), in place of SEALPOST_SMTP_URL.',
      { example: '/etc/sealpost/relays.json' },
    ),
    SEALPOST_ACCOUNT_SENDER: text(
      'The sender of mails to people about their accounts: an address, or Name <address>. Needed with a relay. Default: a sample that only the built-in mailbox takes.',
      { example: 'Example <accounts@example.com>' },
    ),
    SEALPOST_SMTP_NAME: text(
      'Our name in EHLO, a host name. Default: the host of the public URL, else the name of the machine where it has a dot.',
      { example: 'mail.example.com' },
    ),
    SEALPOST_SMTP_TOKEN_FILE: text(
      'File with the token of a login by XOAUTH2 (auth=xoauth2 in SEALPOST_SMTP_URL), read for each connection.',
      { example: '/run/secrets/smtp-token' },
    ),
    SEALPOST_SMTP_TOKEN_COMMAND: text(
      'A program with its arguments, run without a shell for each connection, that writes such a token.',
      { example: '/usr/local/bin/smtp-token' },
    ),
    SEALPOST_SMTP_CONNECTIONS: whole(1, 1_000)('Connections to the relay at once.', { default: '10' }),
    SEALPOST_SMTP_FINAL: flag(
      'true: the relay is the final host of every recipient, so what it accepts is delivered. Default: false.',
      { example: 'true' },
    ),
    SEALPOST_RETRY_DELAYS: text('Seconds before the second, third, … attempt after a temporary refusal.', {
      default: '60,300,1440,5400',
    }),
    SEALPOST_WEBHOOK_RETRY_DELAYS: text(
      'Seconds before the second, third, … attempt to post an event to a webhook: at most 20 pauses of at most a day, together at most 5 days and no longer than SEALPOST_RETENTION_WEBHOOK_DAYS.',
      { default: '60,300,1800' },
    ),
    SEALPOST_ALLOWED_RELAY_HEADERS: text(
      'Headers by which callers may instruct the relay, separated by commas; * stands for any rest. Default: none.',
      { example: 'X-PM-Message-Stream,X-MC-*' },
    ),
    SEALPOST_RETURN_PATH_DOMAIN: text(
      'Domain whose mail comes back to this service: mails leave with bounce+<token>@ it as envelope sender, so that bounces and complaints are told apart. Default: the sender of the mail.',
      { example: 'bounces.example.com' },
    ),
    SEALPOST_INBOUND_SMTP_PORT: port(
      'Port on which the process with the role http takes reports to the return path domain by SMTP. Default: none; reports come in by the API alone.',
      { example: '25' },
    ),
    SEALPOST_INBOUND_SMTP_HOST: text('Address that this port listens on. Default: that of HOST.', {
      example: '0.0.0.0',
    }),
    SEALPOST_INBOUND_SMTP_NAME: text(
      'Name of the host that takes mail for the return path domain: what its MX record names. Default: the return path domain.',
      { example: 'mx.example.com' },
    ),
    SEALPOST_INBOUND_SMTP_TLS_CERT: text(
      'Path of a PEM certificate chain for STARTTLS on this port. Default: SEALPOST_TLS_CERT; without either no STARTTLS.',
      { example: '/etc/sealpost/mx-cert.pem' },
    ),
    SEALPOST_INBOUND_SMTP_TLS_KEY: text('Path of the PEM private key of that certificate.', {
      example: '/etc/sealpost/mx-key.pem',
    }),
    SEALPOST_SES_TOPICS: text(
      'ARNs of the SNS topics, separated by commas, whose messages are taken at /api/feedback/ses. Default: none are taken.',
      { example: 'arn:aws:sns:eu-west-1:123456789012:sealpost' },
    ),
    SEALPOST_POSTMARK_TOKEN: text(
      'The secret of at least 16 characters in the URL of the webhook at Postmark, for /api/feedback/postmark. Default: no events are taken.',
      { isSecret: true },
    ),
    SEALPOST_SENDGRID_VERIFICATION_KEY: text(
      'The verification key of the signed event webhook at SendGrid, for /api/feedback/sendgrid. Default: no events are taken.',
      { isSecret: true },
    ),
    SEALPOST_MAILGUN_SIGNING_KEY: text(
      'The HTTP webhook signing key of Mailgun, for /api/feedback/mailgun. Default: no events are taken.',
      { isSecret: true },
    ),
    SEALPOST_BREVO_TOKEN: text(
      'The secret of at least 16 characters in the URL of the webhook at Brevo, for /api/feedback/brevo. Default: no events are taken.',
      { isSecret: true },
    ),
    SEALPOST_MAILJET_TOKEN: text(
      'The secret of at least 16 characters in the URL of the webhook at Mailjet, for /api/feedback/mailjet. Default: no events are taken.',
      { isSecret: true },
    ),
    SEALPOST_SUBMISSION_PORT: port(
      'Port on which the process with the role http takes mail of programs by SMTP with STARTTLS. Default: none.',
      { example: '587' },
    ),
    SEALPOST_SUBMISSION_TLS_PORT: port(
      'Port on which it takes mail by SMTP with TLS from the first byte on. Default: none.',
      {
        example: '465',
      },
    ),
    SEALPOST_SUBMISSION_HOST: text('Address that these ports listen on. Default: that of HOST.', {
      example: '0.0.0.0',
    }),
    SEALPOST_SUBMISSION_NAME: text(
      'Name of the server in its greeting and in the trace of mails. Default: the host of SEALPOST_PUBLIC_URL.',
      { example: 'mail.example.com' },
    ),
    SEALPOST_SUBMISSION_TLS_CERT: text(
      'Path of a PEM certificate chain for these ports, read again when it changes. Default: SEALPOST_TLS_CERT; needed beyond this machine.',
      { example: '/etc/sealpost/mail-cert.pem' },
    ),
    SEALPOST_SUBMISSION_TLS_KEY: text('Path of the PEM private key of that certificate.', {
      example: '/etc/sealpost/mail-key.pem',
    }),
    SEALPOST_DNS_SERVERS: text(
      'Servers of the DNS that are asked for the records of sender domains, IP addresses with or without a port. Default: those of the system.',
      { example: '192.0.2.53,192.0.2.54:5353' },
    ),
    SEALPOST_SPF_MECHANISMS: text(
      'SPF mechanisms that allow the relay to send, separated by spaces. The SPF records that sender domains must publish contain them.',
      { default: 'mx' },
    ),
    SEALPOST_WEBHOOK_INSECURE_HOSTS: text(
      'Hosts of webhooks, separated by commas, that may be posted to over http and on loopback: for development, refused beyond loopback. Default: 127.0.0.1 where the service listens on loopback, has no public URL, and delivers to its mailbox; else none.',
      { example: 'localhost,127.0.0.1' },
    ),
    SEALPOST_DKIM_DOMAIN: text('Domain of the DKIM signature; set with selector and key.', { example: 'example.com' }),
    SEALPOST_DKIM_SELECTOR: text('Selector of the DKIM key.', { example: 'mail' }),
    SEALPOST_DKIM_PRIVATE_KEY: text('PEM private key for DKIM (RSA or Ed25519), line breaks as \\n.', {
      isSecret: true,
    }),
  }),

  ...inGroup('Commands from afar', {
    SEALPOST_API_URL: text(
      'The service that commands from afar call (docs/command-line-remote.md). Default: that of the profile of `sealpost login`.',
      { example: 'https://mail.example.com' },
    ),
    SEALPOST_API_KEY: text('The API key with which commands from afar call it. Default: that of the profile.', {
      isSecret: true,
    }),
  }),
};

/** `recipientsMax` is set by `SEALPOST_LIMIT_RECIPIENTS_MAX`. */
const limitSetting = (name: keyof Limits): `SEALPOST_LIMIT_${string}` =>
  `SEALPOST_LIMIT_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * The limits that an operator may set, because they depend on the machine or on what is sent; all others are constants.
 * The least of `generatorProcessesMax` keeps a process that one team cannot take; one event holds all webhooks of a team.
 */
const limits = [
  limit('bodySizeBytesMax', 'Bytes of a request body. A larger body is refused.'),
  limit('connectionsMax', 'Connections of all clients to one process. One more is refused.'),
  limit(
    'networkConnectionsMax',
    'Connections of one network (an IPv4 address, or the /64 of an IPv6 address) to one process. One more is refused. Trusted proxies have no such limit.',
  ),
  limit(
    'answerSilenceMs',
    'Milliseconds for which a client may read nothing of an answer. Then its connection is closed.',
  ),
  limit('recipientsMax', 'Recipients of one email: to, cc and bcc together. An email with more is refused.'),
  limit('attachmentsTotalSizeBytesMax', 'Bytes of all attachments of one email. An email with more is refused.'),
  limit(
    'teamAttachmentBytesMax',
    'Bytes of all attachments that one team stores. A send that would exceed it is refused until older emails are deleted or archived.',
  ),
  limit('assetsMax', 'Files in the gallery of a team. One more upload is refused.'),
  limit('loopIterationsMax', 'Iterations of one loop of a template. A send with more is refused.'),
  limit('pdfPagesMax', 'Pages of one PDF. A document with more is refused.'),
  limit('pdfTimeoutMs', 'Milliseconds for making one PDF. A document that takes longer is refused.'),
  limit(
    'excelRowsMax',
    'Data rows of one workbook. A workbook with more is refused. Headers and footers do not count.',
  ),
  limit(
    'generatorProcessesMax',
    'Documents made at once, each in its own process; at least 2. Further documents wait. Machines with few cores use fewer processes.',
    { min: 2 },
  ),
  limit('generatorQueueMax', 'Documents of all teams that wait for a process. One more is refused.'),
  limit(
    'generatorMemoryMbMax',
    'Megabytes that one document process may use beyond the program itself. A document that needs more is refused.',
  ),
  limit(
    'generatorReadyMs',
    'Milliseconds for which one document process stays ready after the last document or change of an attachment template. 0: none stays.',
    { min: 0 },
  ),
  limit('requestLogCallsMax', 'Calls of one team in the log of calls. The oldest give way to new ones.'),
  limit('ledgerSealEveryMs', 'Milliseconds after which the log is sealed again if it has new events.'),
  limit(
    'stateFreshnessMs',
    'Milliseconds for which a key, team, template or slug may be used from memory. A change at another process takes effect within this time.',
  ),
  limit(
    'lanes',
    'Work items that each processor of one process has in work at once. More lanes use more memory and connections.',
  ),
  limit('deliveryDeadlineMs', 'Milliseconds for one delivery attempt. An attempt that takes longer is cut off.'),
  limit('bounceAlertPerMille', 'Bounces of 1,000 recipients of a domain on a day. From then on webhooks tell of it.', {
    min: 1,
    max: 1_000,
  }),
  limit(
    'complaintAlertPerMille',
    'Complaints of 1,000 recipients of a domain on a day. From then on webhooks tell of it.',
    {
      min: 1,
      max: 1_000,
    },
  ),
  limit('rateAlertRecipientsMin', 'Recipients of a domain on a day. Of fewer no webhook tells.'),
  limit('hostAwayHoursMax', 'Hours for which a host may refuse sessions. Then mails to it fail.'),
  limit(
    'hotBytesMax',
    'Bytes of memory for what was accepted and waits for its delivery. What has no room is read from the log again.',
    { min: 64 * 1024 },
  ),
  limit('queueWaitingMax', 'Emails of one team that are queued or in delivery. A send beyond that is refused.'),
  limit(
    'webhooksMax',
    'Webhook subscriptions of one team, at most 1000. One more is refused. A plan may allow fewer.',
    { max: 1_000 },
  ),
  limit('templateBlocksMax', 'Blocks of one team. One more is refused.'),
  limit('mailboxMessagesMax', 'Mails that the development mailbox keeps. The oldest is removed for a new one.'),
  limit(
    'shutdownDeadlineMs',
    'Milliseconds within which work under way may end after a stop signal. Then it is cut off.',
  ),
  limit(
    'stopNoticeMs',
    'Milliseconds for which the service goes on serving after a stop signal while health says stopping, so that load balancers notice. 0: none.',
    { min: 0 },
  ),
  limit(
    'inboundSmtpConnectionsMax',
    'Connections to the SMTP server of the return path, for each process. One more is refused.',
  ),
  limit('submissionSizeBytesMax', 'Bytes of one mail that comes by SMTP. A larger one is refused.', {
    min: 1024,
    max: 256 * 1024 * 1024,
  }),
  limit(
    'submissionConnectionsMax',
    'Connections of programs that send by SMTP, for each process. One team has half of them.',
  ),
  limit(
    'submissionMemoryBytesMax',
    'Bytes of mails that arrive by SMTP at the same moment, for each process. One team has half of them; more are told to come later.',
    { min: 1024 * 1024 },
  ),
];

const fileOf = <Name extends string>(name: Name): `${Name}_FILE` => `${name}_FILE`;

/**
 * Settings that are secrets, or addresses that may hold a password. Each may be given in a file, which `<name>_FILE`
 * names.
 */
const secrets = Object.entries<Setting>(named).flatMap(([name, { isSecret }]) => (isSecret === true ? [name] : []));

const secretFiles = secrets.map((name) => {
  const example = `/run/secrets/${name.toLowerCase().replaceAll('_', '-')}`;
  return [fileOf(name), text(`Path of a file that holds ${name}, instead of that setting.`, { example })] as const;
});

export type SettingName = keyof typeof named | `${keyof typeof named}_FILE` | `SEALPOST_LIMIT_${string}`;

export const settings: Readonly<Record<string, Setting>> = {
  ...named,
  ...inGroup('Secrets', Object.fromEntries(secretFiles)),
  ...inGroup('Limits', Object.fromEntries(limits.map((declared) => [limitSetting(declared.limit), declared]))),
};

type ValueOf<Name extends keyof typeof named> =
  | ReturnType<(typeof named)[Name]['read']>
  | ((typeof named)[Name] extends Readonly<{ default: string }> ? never : undefined);

/** In: the text of each setting that is given. Out: the value of a setting, or its default. Throws ConfigError. */
export const valuesOf =
  (given: (name: SettingName) => string | undefined) =>
  <Name extends keyof typeof named>(name: Name): ValueOf<Name> => {
    const { read, default: standard }: Setting = named[name];
    const value = given(name) ?? standard;
    return (value === undefined ? undefined : read(name, value)) as ValueOf<Name>;
  };

/** The limits in force. Throws ConfigError. */
export const limitsOf = (given: (name: SettingName) => string | undefined): Limits => ({
  ...defaultLimits,
  ...Object.fromEntries(
    Object.entries(settings).flatMap(([name, { limit: set, read, default: standard = '' }]) =>
      set === undefined ? [] : [[set, read(name, given(name as SettingName) ?? standard)]],
    ),
  ),
});

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
  for (const [name, { default: standard, description, group: own, example }] of Object.entries(settings)) {
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
