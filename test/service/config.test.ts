/**
 * The settings: defaults, every check of one setting and between settings, and that each fault is a sentence that
 * helps.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import {
  ConfigError,
  readConfig,
  readServeConfig,
  settingsToKeep,
  type Environment,
} from '../../src/service/settings/config.js';
import { isLoopback, readLinkBase } from '../../src/service/settings/groups.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { envExample, settings } from '../../src/service/settings/settings.js';
import { programDirectory } from '../../src/service/version.js';
import { temporaryDirectory } from '../support/data-directory.js';

/** The sentence with which the settings are refused. */
const faultOf = (environment: Environment): string => {
  try {
    readConfig(environment);
  } catch (fault) {
    if (fault instanceof ConfigError) return fault.message;
    throw fault;
  }
  throw new Error(`these settings were taken: ${Object.keys(environment).join(', ')}`);
};

await t.test('a setting that is declared for a limit sets it, within the bounds that its refusal names', async (t) => {
  const declared = Object.entries(settings).filter(([, { limit }]) => limit !== undefined);
  t.ok(declared.length >= 34);
  for (const [name, { limit, default: standard }] of declared) {
    t.equal(standard, String(defaultLimits[limit!]), name);
    const [, least, most] = /is not a whole number from (\d+) to (\d+)\.$/.exec(faultOf({ [name]: 'x' })) ?? [];
    t.ok(
      Number(least) <= defaultLimits[limit!] && defaultLimits[limit!] <= Number(most),
      `${name}: ${least} to ${most}`,
    );
    t.match(faultOf({ [name]: String(Number(least) - 1) }), new RegExp(`^${name}=`));
    t.equal(readConfig({ SEALPOST_RETENTION_DAYS: '3650', [name]: least }).limits[limit!], Number(least));
  }
});

await t.test('the defaults', async (t) => {
  const data = resolve('./data');
  t.same(readConfig({}), {
    port: 3000,
    host: '127.0.0.1',
    publicUrl: 'http://127.0.0.1:3000',
    linkBase: 'http://127.0.0.1:3000',
    registration: 'invited',
    appsRegister: true,
    signInProviders: [],
    isOnLoopback: true,
    dataDir: data,
    isDataDirNamed: false,
    roles: ['http', 'process', 'project'],
    logLevel: 'info',
    webhookInsecureHosts: ['127.0.0.1'],
    accountSender: { email: 'hello@sealpost.example', name: 'Sealpost' },
    masterKey: undefined,
    masterKeyFile: join(data, 'master.key'),
    seals: { keys: [], command: undefined, lost: [], webhook: undefined, file: undefined, mail: undefined },
    urls: {
      eventStore: `sqlite:${data}/events.db`,
      readModels: `sqlite:${data}/documents.db`,
      bus: 'memory:',
      limiter: 'memory:',
      keys: `sqlite:${data}/keys.db`,
      files: `dir:${data}/files`,
      leases: `sqlite:${data}/leases.db`,
    },
    smtp: {
      url: undefined,
      connections: 10,
      final: false,
      name: undefined,
      tokenFile: undefined,
      tokenCommand: undefined,
    },
    providers: {},
    dkim: undefined,
    dnsServers: [],
    spfMechanisms: 'mx',
    retryDelaysMs: [60_000, 300_000, 1_440_000, 5_400_000],
    webhookDelaysMs: [60_000, 300_000, 1_800_000],
    allowedRelayHeaders: [],
    tls: undefined,
    requireHttps: false,
    trustProxy: false,
    limits: defaultLimits,
  });
  t.same(
    readConfig({ PORT: '', SEALPOST_SMTP_URL: ' ', SEALPOST_ROLES: '' }),
    readConfig({}),
    'an empty setting is none',
  );
  t.equal(readConfig({ PATH: '/bin', sealpost_port: '1' }).port, 3000, 'what is not ours is left alone');
});

await t.test('a terminal shows warnings where no level is set', (t) => {
  t.equal(readServeConfig({}, true).logLevel, 'warn');
  t.equal(readServeConfig({ SEALPOST_LOG_LEVEL: ' ' }, true).logLevel, 'warn');
  t.equal(readServeConfig({ SEALPOST_LOG_LEVEL: 'info' }, true).logLevel, 'info');
  t.equal(readServeConfig({}, false).logLevel, 'info');
  t.end();
});

await t.test('by what calls of mail providers are authenticated', async (t) => {
  const topic = 'arn:aws:sns:eu-west-1:123456789012:mail';
  const key =
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==';
  const secret = 'a-secret-of-sixteen';
  t.same(
    readConfig({
      SEALPOST_SES_TOPICS: `${topic}, arn:aws-cn:sns:cn-north-1:123456789012:x.fifo`,
      SEALPOST_POSTMARK_TOKEN: secret,
      SEALPOST_SENDGRID_VERIFICATION_KEY: `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----`,
      SEALPOST_MAILGUN_SIGNING_KEY: secret,
      SEALPOST_BREVO_TOKEN: secret,
      SEALPOST_MAILJET_TOKEN: secret,
    }).providers,
    {
      ses: { topics: [topic, 'arn:aws-cn:sns:cn-north-1:123456789012:x.fifo'] },
      postmark: { token: secret },
      sendgrid: { verificationKey: key },
      mailgun: { signingKey: secret },
      brevo: { token: secret },
      mailjet: { token: secret },
    },
  );
  const file = join(temporaryDirectory(t), 'token');
  writeFileSync(file, `${secret}\n`);
  t.same(readConfig({ SEALPOST_BREVO_TOKEN_FILE: file }).providers, { brevo: { token: secret } });
  for (const SEALPOST_SES_TOPICS of ['https://example.com', `${topic},`, 'arn:aws:sqs:eu-west-1:123456789012:mail'])
    t.match(faultOf({ SEALPOST_SES_TOPICS }), /is no ARN of an SNS topic/);
  for (const SEALPOST_POSTMARK_TOKEN of ['short', 'with spaces in the secret', 'é'.repeat(20)]) {
    const fault = faultOf({ SEALPOST_POSTMARK_TOKEN });
    t.match(fault, /at least 16 characters/);
    t.notOk(fault?.includes(SEALPOST_POSTMARK_TOKEN), 'the secret is not repeated');
  }
  for (const SEALPOST_SENDGRID_VERIFICATION_KEY of ['nonsense', key.slice(0, 60)])
    t.match(faultOf({ SEALPOST_SENDGRID_VERIFICATION_KEY }), /is no verification key/);
});

await t.test('under what the log is sealed, and where seals are told', async (t) => {
  const file = join(temporaryDirectory(t), 'seal.key');
  writeFileSync(file, ' new,old \n');
  const { seals } = readConfig({
    SEALPOST_SEAL_KEY_FILE: file,
    SEALPOST_SEAL_COMMAND: '/bin/sign  --slot 1',
    SEALPOST_SEAL_KEYS_LOST: 'a, b',
    SEALPOST_SEAL_WEBHOOK: 'https://notary.example.com/seals',
    SEALPOST_SEAL_FILE: 'seals.jsonl',
    SEALPOST_SEAL_MAIL: 'notary@example.com',
  });
  t.same(seals, {
    keys: ['new', 'old'],
    command: ['/bin/sign', '--slot', '1'],
    lost: ['a', 'b'],
    webhook: 'https://notary.example.com/seals',
    file: resolve('seals.jsonl'),
    mail: 'notary@example.com',
  });
  t.match(faultOf({ SEALPOST_SEAL_KEY: 'a', SEALPOST_SEAL_KEY_FILE: file }), /are both set/);
  for (const SEALPOST_SEAL_WEBHOOK of [
    'nonsense',
    'http://notary.example.com/hidden',
    'ftp://notary.example.com/hidden',
    'https://u:hidden@notary.example.com/',
  ])
    t.match(faultOf({ SEALPOST_SEAL_WEBHOOK }), /^SEALPOST_SEAL_WEBHOOK must (?!.*hidden)/);
  t.equal(readConfig({ SEALPOST_SEAL_WEBHOOK: 'http://127.0.0.1:8080/' }).seals.webhook, 'http://127.0.0.1:8080/');
  t.match(faultOf({ SEALPOST_SEAL_MAIL: 'nobody' }), /^SEALPOST_SEAL_MAIL is no address/);
});

await t.test('the SMTP servers of submission', async (t) => {
  t.equal(readConfig({}).submission, undefined);
  t.match(readConfig({ SEALPOST_SUBMISSION_PORT: '587' }).submission, {
    host: '127.0.0.1',
    ports: [{ port: 587, isTls: false }],
    name: '127.0.0.1',
  });
  const directory = temporaryDirectory(t);
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  writeFileSync(cert, 'certificate');
  writeFileSync(key, 'key');
  const own = { SEALPOST_SUBMISSION_TLS_CERT: cert, SEALPOST_SUBMISSION_TLS_KEY: key };
  const both = { SEALPOST_SUBMISSION_PORT: '587', SEALPOST_SUBMISSION_TLS_PORT: '465' };
  t.match(readConfig({ ...both, ...own, SEALPOST_SUBMISSION_HOST: '0.0.0.0' }).submission, {
    host: '0.0.0.0',
    ports: [
      { port: 587, isTls: false },
      { port: 465, isTls: true },
    ],
    tls: { cert: 'certificate', key: 'key' },
  });
  t.match(
    readConfig({
      ...both,
      SEALPOST_TLS_CERT: cert,
      SEALPOST_TLS_KEY: key,
      SEALPOST_SUBMISSION_NAME: 'Mail.Example.com',
    }).submission,
    {
      name: 'mail.example.com',
      tls: { cert: 'certificate' },
    },
  );
  t.match(faultOf(both), /SEALPOST_SUBMISSION_TLS_PORT needs a certificate/);
  t.match(
    faultOf({ SEALPOST_SUBMISSION_PORT: '587', SEALPOST_SUBMISSION_HOST: '0.0.0.0' }),
    /SEALPOST_SUBMISSION_PORT on 0\.0\.0\.0 needs a certificate, or API keys would travel in the clear/,
  );
});

await t.test('the return path, and the SMTP server for it', async (t) => {
  const SEALPOST_RETURN_PATH_DOMAIN = 'Bounces.Example.com';
  t.same(readConfig({ SEALPOST_RETURN_PATH_DOMAIN }).feedback, {
    domain: 'bounces.example.com',
    name: 'bounces.example.com',
  });
  const listening = {
    SEALPOST_RETURN_PATH_DOMAIN,
    SEALPOST_INBOUND_SMTP_PORT: '25',
    SEALPOST_INBOUND_SMTP_NAME: 'mx.example.com',
  };
  t.same(readConfig({ ...listening, SEALPOST_INBOUND_SMTP_HOST: '0.0.0.0' }).feedback, {
    domain: 'bounces.example.com',
    name: 'mx.example.com',
    smtp: { host: '0.0.0.0', port: 25 },
  });
  t.same(readConfig(listening).feedback?.smtp?.host, '127.0.0.1', 'where the API listens');
  const directory = temporaryDirectory(t);
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  writeFileSync(cert, 'certificate');
  writeFileSync(key, 'key');
  const tls = { cert: 'certificate', key: 'key' };
  t.match(readConfig({ ...listening, SEALPOST_TLS_CERT: cert, SEALPOST_TLS_KEY: key }).feedback?.smtp?.tls, tls);
  const own = { ...listening, SEALPOST_INBOUND_SMTP_TLS_CERT: cert, SEALPOST_INBOUND_SMTP_TLS_KEY: key };
  t.match(readConfig(own).feedback?.smtp?.tls, tls);
  t.match(
    faultOf({ ...listening, SEALPOST_INBOUND_SMTP_TLS_CERT: cert }),
    /SEALPOST_INBOUND_SMTP_TLS_CERT is set without SEALPOST_INBOUND_SMTP_TLS_KEY/,
  );
  t.match(faultOf({ SEALPOST_INBOUND_SMTP_PORT: '25' }), /SEALPOST_RETURN_PATH_DOMAIN; set that/);
  t.match(faultOf({ ...listening, SEALPOST_INBOUND_SMTP_PORT: 'smtp' }), /SEALPOST_INBOUND_SMTP_PORT=smtp/);
  t.match(faultOf({ SEALPOST_RETURN_PATH_DOMAIN: 'localhost' }), /SEALPOST_RETURN_PATH_DOMAIN=localhost is no domain/);
});

await t.test('single settings', async (t) => {
  t.equal(readConfig({ PORT: '0' }).port, 0);
  t.equal(readConfig({ PORT: '8080', HOST: 'localhost' }).publicUrl, 'http://localhost:8080');
  t.equal(readConfig({ HOST: '::1' }).publicUrl, 'http://[::1]:3000');
  t.equal(readConfig({ SEALPOST_PUBLIC_URL: 'https://mail.example.com//' }).publicUrl, 'https://mail.example.com');
  t.same(readConfig({ SEALPOST_ROLES: 'http, project' }).roles, ['http', 'project']);
  t.equal(readConfig({ SEALPOST_DATA_DIR: '/srv/x' }).urls.keys, 'sqlite:/srv/x/keys.db');
  t.equal(
    readConfig({ SEALPOST_KEYS_URL: 'sqlite:./elsewhere/keys.db' }).urls.keys,
    `sqlite:${resolve('./elsewhere/keys.db')}`,
  );
  t.equal(readConfig({ SEALPOST_FILES_URL: 'dir:/var/files' }).urls.files, 'dir:/var/files');
  t.same(readConfig({ SEALPOST_RETRY_DELAYS: '1, 2,3' }).retryDelaysMs, [1_000, 2_000, 3_000]);
  t.same(readConfig({}).webhookDelaysMs, [60_000, 300_000, 1_800_000]);
  t.same(readConfig({ SEALPOST_WEBHOOK_RETRY_DELAYS: '5, 86400' }).webhookDelaysMs, [5_000, 86_400_000]);
  t.equal(readConfig({ SEALPOST_LIMIT_WEBHOOKS_MAX: '40' }).limits.webhooksMax, 40);
  t.equal(readConfig({ SEALPOST_RETENTION_DAYS: '7' }).limits.retentionDays, 7);
  t.match(
    readConfig({ SEALPOST_RETENTION_DAYS: '3' }).limits,
    { retentionDays: 3, generatedFileDays: 7 },
    'a default contradicts nobody',
  );
  t.match(
    readConfig({
      SEALPOST_RETENTION_WEBHOOK_DAYS: '8',
      SEALPOST_RETENTION_DELETED_DAYS: '9',
      SEALPOST_RETENTION_TEMPORARY_FILE_HOURS: '5',
    }).limits,
    { webhookRecordDays: 8, restoreDays: 9, temporaryFileHours: 5 },
  );
  t.equal(readConfig({}).limits.requestLogDays, 7);
  t.equal(readConfig({ SEALPOST_RETENTION_REQUEST_LOG_DAYS: '0' }).limits.requestLogDays, 0);
  t.throws(() => readConfig({ SEALPOST_RETENTION_REQUEST_LOG_DAYS: '31' }), /SEALPOST_RETENTION_REQUEST_LOG_DAYS/);
  t.equal(readConfig({ SEALPOST_LIMIT_REQUEST_LOG_CALLS_MAX: '500' }).limits.requestLogCallsMax, 500);
  t.equal(readConfig({ SEALPOST_LIMIT_RECIPIENTS_MAX: '5' }).limits.recipientsMax, 5);
  t.equal(readConfig({}).limits.bounceAlertPerMille, 50);
  t.equal(readConfig({ SEALPOST_LIMIT_BOUNCE_ALERT_PER_MILLE: '20' }).limits.bounceAlertPerMille, 20);
  t.same(
    readConfig({
      SEALPOST_SMTP_URL: 'smtp://mail.example.com',
      SEALPOST_SMTP_FINAL: 'true',
      SEALPOST_SMTP_CONNECTIONS: '3',
    }).smtp,
    {
      url: 'smtp://mail.example.com',
      connections: 3,
      final: true,
      name: undefined,
      tokenFile: undefined,
      tokenCommand: undefined,
    },
  );
  for (const [settings, name] of [
    [{ SEALPOST_PUBLIC_URL: 'https://mail.example.com' }, 'mail.example.com'],
    [{ SEALPOST_PUBLIC_URL: 'https://mail.example.com', SEALPOST_SMTP_NAME: 'out.example.net' }, 'out.example.net'],
    [{ SEALPOST_PUBLIC_URL: 'http://192.0.2.1:3000' }, undefined],
    [{ SEALPOST_PUBLIC_URL: 'http://localhost:3000' }, undefined],
  ] as const)
    t.equal(readConfig(settings).smtp.name, name, JSON.stringify(settings));
  for (const name of ['localhost', '192.0.2.1', 'a b.example'])
    t.throws(() => readConfig({ SEALPOST_SMTP_NAME: name }), { message: /is no host name with a dot/ }, name);
  t.same(readConfig({ SEALPOST_SMTP_TOKEN_COMMAND: '/bin/token --for mail' }).smtp.tokenCommand, [
    '/bin/token',
    '--for',
    'mail',
  ]);
  t.same(readConfig({ SEALPOST_TRUST_PROXY: '10.0.0.0/8, 192.0.2.1' }).trustProxy, ['10.0.0.0/8', '192.0.2.1']);
  const dnsServers = ['192.0.2.1', '192.0.2.2:5353', '2001:db8::1', '[2001:db8::1]:5353'];
  t.same(readConfig({ SEALPOST_DNS_SERVERS: dnsServers.join(', ') }).dnsServers, dnsServers);
  t.equal(
    readConfig({ SEALPOST_SPF_MECHANISMS: 'mx  include:_spf.example.net' }).spfMechanisms,
    'mx include:_spf.example.net',
  );
  t.equal(readConfig({ SEALPOST_TRUST_PROXY: 'true' }).trustProxy, true);
  t.same(readConfig({ SEALPOST_TRUST_PROXY: 'loopback,fd00::/8,::1' }).trustProxy, ['loopback', 'fd00::/8', '::1']);
  t.equal(readConfig({ SEALPOST_TRUST_PROXY: 'false' }).trustProxy, false);
});

await t.test('HTTPS is required outside loopback', async (t) => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost'])
    t.equal(readConfig({ HOST: host }).requireHttps, false, host);
  t.equal(readConfig({ HOST: '0.0.0.0', SEALPOST_TRUST_PROXY: '10.0.0.1' }).requireHttps, true);
  t.equal(readConfig({ HOST: '0.0.0.0', SEALPOST_REQUIRE_HTTPS: 'false' }).requireHttps, false);
  t.throws(() => readConfig({ HOST: '0.0.0.0' }), {
    name: 'ConfigError',
    message:
      /HOST=0\.0\.0\.0 would serve plain HTTP.*SEALPOST_TLS_CERT.*SEALPOST_TRUST_PROXY.*SEALPOST_REQUIRE_HTTPS=false/,
  });
  t.throws(() => readConfig({ SEALPOST_REQUIRE_HTTPS: 'true' }), { message: /SEALPOST_REQUIRE_HTTPS/ });
  t.equal(isLoopback('127.0.0.1.example.com'), false);
  t.equal(isLoopback('10.0.0.1'), false);
});

await t.test('links in mails lead to the public URL, over https or on this machine', async (t) => {
  t.equal(readLinkBase('https://mail.example.com', true), 'https://mail.example.com');
  for (const here of ['http://127.0.0.1:3000', 'http://[::1]:3000', 'http://localhost:3000'])
    t.equal(readLinkBase(here, true), here);
  for (const unsafe of ['http://mail.example.com', 'ftp://127.0.0.1', 'mail.example.com'])
    t.equal(readLinkBase(unsafe, true), undefined);
  t.equal(readConfig({}).linkBase, 'http://127.0.0.1:3000', 'the mails are in the built-in mailbox');
  const relayed = { SEALPOST_SMTP_URL: 'smtp://127.0.0.1:2525' };
  t.equal(readConfig(relayed).linkBase, undefined, 'nobody else is sent to this machine');
  t.equal(
    readConfig({ ...relayed, SEALPOST_PUBLIC_URL: 'https://mail.example.com/' }).linkBase,
    'https://mail.example.com',
  );
});

await t.test('webhooks may go to loopback where the service is local alone, or where hosts are named', async (t) => {
  const of = (env: Readonly<Record<string, string>>): readonly string[] => readConfig(env).webhookInsecureHosts;
  t.same(of({}), ['127.0.0.1']);
  t.same(of({ SEALPOST_SMTP_URL: 'mailbox:' }), ['127.0.0.1']);
  t.same(of({ SEALPOST_SMTP_URL: 'smtp://mail.example.com' }), [], 'with a relay');
  t.same(of({ SEALPOST_PUBLIC_URL: 'https://mail.example.com' }), [], 'under a public URL');
  t.same(of({ HOST: '0.0.0.0', SEALPOST_REQUIRE_HTTPS: 'false' }), [], 'beyond loopback');
  t.same(
    of({ SEALPOST_SMTP_URL: 'smtp://mail.example.com', SEALPOST_WEBHOOK_INSECURE_HOSTS: 'Hooks.test, localhost' }),
    ['hooks.test', 'localhost'],
  );
  t.throws(
    () => of({ HOST: '0.0.0.0', SEALPOST_REQUIRE_HTTPS: 'false', SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' }),
    /leave it out/,
  );
});

await t.test('beyond loopback, or under a public URL, the built-in mailbox must be asked for', async (t) => {
  t.equal(readServeConfig({}).smtp.url, undefined);
  const beyond = { HOST: '0.0.0.0', SEALPOST_REQUIRE_HTTPS: 'false' };
  const shared = { SEALPOST_PUBLIC_URL: 'https://mail.example.com' };
  t.throws(() => readServeConfig(beyond), {
    name: 'ConfigError',
    message:
      /^SEALPOST_SMTP_URL is not set, and HOST=0\.0\.0\.0 listens beyond this machine: no mail would leave\. .*mailbox:/,
  });
  t.throws(() => readServeConfig(shared), {
    message: /^SEALPOST_SMTP_URL is not set, and SEALPOST_PUBLIC_URL=https:\/\/mail\.example\.com /,
  });
  for (const settings of [beyond, shared]) {
    t.equal(readServeConfig({ ...settings, SEALPOST_SMTP_URL: 'mailbox:' }).smtp.url, undefined);
    const relayed = { ...settings, SEALPOST_SMTP_URL: 'smtp://mail', SEALPOST_ACCOUNT_SENDER: 'accounts@example.com' };
    t.equal(readServeConfig(relayed).smtp.url, 'smtp://mail');
    t.equal(readConfig(settings).smtp.url, undefined, 'a command that delivers nothing needs no relay');
  }
});

await t.test('what is read from files', async (t) => {
  const directory = temporaryDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const key = Buffer.alloc(32, 7).toString('base64');
  t.equal(readConfig({ SEALPOST_MASTER_KEY_FILE: file('master', `${key}\n`) }).masterKey, key);
  t.equal(readConfig({ SEALPOST_MASTER_KEY: key }).masterKey, key);
  const relay = {
    SEALPOST_SMTP_URL_FILE: file('relay', 'smtp://user:secret@mail.example.com\r\n'),
    SEALPOST_ACCOUNT_SENDER: 'a@example.com',
  };
  t.equal(
    readServeConfig({ ...relay, HOST: '0.0.0.0', SEALPOST_REQUIRE_HTTPS: 'false' }).smtp.url,
    'smtp://user:secret@mail.example.com',
  );
  t.notMatch(settingsToKeep(relay), 'secret');
  t.match(settingsToKeep(relay), `SEALPOST_SMTP_URL_FILE=${relay.SEALPOST_SMTP_URL_FILE}`);
  for (const [name, value] of [
    ['SEALPOST_LIMITER_URL', 'rediss://:secret@redis.example.com'],
    ['SEALPOST_READ_MODELS_URL', 'mongodb://user:secret@db.example.com/sealpost'],
    ['SEALPOST_SEAL_WEBHOOK', 'https://notary.example.com/seals?token=secret'],
  ] as const)
    t.same(readConfig({ [`${name}_FILE`]: file(name, `${value}\n`) }), readConfig({ [name]: value }), name);
  const empty = file('empty', '\n');
  t.match(
    faultOf({ SEALPOST_SMTP_URL_FILE: empty }),
    `SEALPOST_SMTP_URL_FILE=${empty} is empty; write the value of SEALPOST_SMTP_URL`,
  );
  const tls = readConfig({
    HOST: '0.0.0.0',
    SEALPOST_TLS_CERT: file('cert', 'CERT'),
    SEALPOST_TLS_KEY: file('key', 'KEY'),
  });
  t.match(tls.tls, { cert: 'CERT', key: 'KEY', names: ['SEALPOST_TLS_CERT', 'SEALPOST_TLS_KEY'] });
  t.equal(tls.publicUrl, 'https://0.0.0.0:3000');
  const fonts = temporaryDirectory(t);
  t.equal(readConfig({ SEALPOST_FONTS_DIR: fonts }).fontsDir, fonts);
  const dkim = { SEALPOST_DKIM_DOMAIN: 'example.com', SEALPOST_DKIM_SELECTOR: 's1' };
  t.same(readConfig({ ...dkim, SEALPOST_DKIM_PRIVATE_KEY: 'a\\nb' }).dkim, {
    domain: 'example.com',
    selector: 's1',
    privateKey: 'a\nb',
  });
  t.equal(readConfig({ ...dkim, SEALPOST_DKIM_PRIVATE_KEY_FILE: file('dkim', 'PEM\n') }).dkim?.privateKey, 'PEM');
});

await t.test('what a platform sets for a Service or a linked container is passed over', async (t) => {
  for (const [service, ports] of Object.entries({
    '': [80],
    _METRICS: [9_464],
    _INBOUND_SMTP: [25, 587],
    _EVENT_STORE: [2_113],
  })) {
    const of = (rest: string): string => `SEALPOST${service}_${rest}`;
    const links = Object.fromEntries([
      [of('SERVICE_HOST'), '10.0.0.7'],
      [of('SERVICE_PORT'), String(ports[0])],
      [of('SERVICE_PORT_HTTP'), String(ports[0])],
      [of('PORT'), `tcp://10.0.0.7:${ports[0]}`],
      ...ports.flatMap((port) =>
        ['TCP', 'UDP', 'SCTP'].flatMap((protocol) => [
          [of(`PORT_${port}_${protocol}`), `${protocol.toLowerCase()}://10.0.0.7:${port}`],
          [of(`PORT_${port}_${protocol}_PROTO`), protocol.toLowerCase()],
          [of(`PORT_${port}_${protocol}_PORT`), String(port)],
          [of(`PORT_${port}_${protocol}_ADDR`), '10.0.0.7'],
        ]),
      ),
    ]);
    t.same(readConfig(links), readConfig({}), service);
    t.match(readServeConfig(links), { port: 3_000, metrics: undefined });
  }
  const manifest = readFileSync(join(programDirectory, 'deploy', 'kubernetes.yaml'), 'utf8');
  t.equal(manifest.split('enableServiceLinks: false').length, manifest.split('terminationGracePeriodSeconds').length);
});

await t.test('each fault stops the start with a sentence that names the setting', async (t) => {
  const faults: readonly (readonly [Environment, RegExp])[] = [
    [
      { SEALPOST_SMPT_URL: 'x' },
      /^SEALPOST_SMPT_URL is not a setting of sealpost\. Did you mean SEALPOST_SMTP_URL\? \.env\.example lists all\.$/,
    ],
    [{ SEALPOST_PORT: '1' }, /^SEALPOST_PORT is not a setting/],
    [{ SEALPOST_SMTP_PORT: '25' }, /^SEALPOST_SMTP_PORT is not a setting/],
    [{ SEALPOST_SERVICE_HOSTS: '10.0.0.7' }, /^SEALPOST_SERVICE_HOSTS is not a setting/],
    [{ SEALPOST_METRICS_PORT: 'http://10.0.0.7' }, /^SEALPOST_METRICS_PORT=http:/],
    [{ SEALPOST_COMPLETELY_UNLIKE_ANYTHING_ELSE_HERE: '1' }, /is not a setting of sealpost\. \.env\.example/],
    [{ SEALPOST_LIMIT_RECIPIENT_MAX: '1' }, /Did you mean SEALPOST_LIMIT_RECIPIENTS_MAX\?/],
    [{ PORT: '70000' }, /^PORT=70000 is not a whole number from 0 to 65535/],
    [{ PORT: '-1' }, /^PORT=-1/],
    [{ PORT: '8e3' }, /^PORT=8e3/],
    [{ SEALPOST_ROLES: 'http,cook' }, /^SEALPOST_ROLES=cook is none of http, process, project/],
    [{ SEALPOST_LOG_LEVEL: 'loud' }, /^SEALPOST_LOG_LEVEL=loud is none of debug/],
    [{ SEALPOST_REQUIRE_HTTPS: 'yes' }, /^SEALPOST_REQUIRE_HTTPS=yes is none of true, false/],
    [{ SEALPOST_RETENTION_DAYS: '0' }, /^SEALPOST_RETENTION_DAYS=0/],
    [{ SEALPOST_RETENTION_DELETED_DAYS: '0' }, /^SEALPOST_RETENTION_DELETED_DAYS=0/],
    [{ SEALPOST_RETENTION_TEMPORARY_FILE_HOURS: '0' }, /^SEALPOST_RETENTION_TEMPORARY_FILE_HOURS=0/],
    [
      { SEALPOST_RETENTION_DAYS: '5', SEALPOST_RETENTION_GENERATED_FILE_DAYS: '6' },
      /^SEALPOST_RETENTION_GENERATED_FILE_DAYS=6 is longer/,
    ],
    [{ SEALPOST_LIMIT_TEMPLATE_RESTORE_DAYS: '9' }, /is now called SEALPOST_RETENTION_DELETED_DAYS/],
    [{ SEALPOST_LIMIT_COMPLAINT_ALERT_PER_MILLE: '1001' }, /is not a whole number from 1 to 1000/],
    [{ SEALPOST_LIMIT_RECIPIENTS_MAX: '0' }, /^SEALPOST_LIMIT_RECIPIENTS_MAX=0/],
    [{ SEALPOST_RETRY_DELAYS: '60,soon' }, /^SEALPOST_RETRY_DELAYS=soon/],
    [{ SEALPOST_RETRY_DELAYS: '60,,60' }, /^SEALPOST_RETRY_DELAYS=/],
    [
      { SEALPOST_DOCUMENTS_URL: 'sqlite:./data/documents.db' },
      /^SEALPOST_DOCUMENTS_URL is now called SEALPOST_READ_MODELS_URL;/,
    ],
    [{ SEALPOST_RETRY_DELAYS: Array(21).fill('1').join(',') }, /^SEALPOST_RETRY_DELAYS holds 21 pauses; at most 20/],
    [
      { SEALPOST_WEBHOOK_RETRY_DELAYS: '60,0' },
      /^SEALPOST_WEBHOOK_RETRY_DELAYS=0 is not a whole number from 1 to 86400/,
    ],
    [{ SEALPOST_WEBHOOK_RETRY_DELAYS: '86401' }, /^SEALPOST_WEBHOOK_RETRY_DELAYS=86401 is not/],
    [
      { SEALPOST_WEBHOOK_RETRY_DELAYS: Array(21).fill('1').join(',') },
      /^SEALPOST_WEBHOOK_RETRY_DELAYS holds 21 pauses/,
    ],
    [
      { SEALPOST_WEBHOOK_RETRY_DELAYS: Array(6).fill('86400').join(',') },
      /holds pauses of 518400 seconds together; at most 432000/,
    ],
    [
      { SEALPOST_WEBHOOK_RETRY_DELAYS: '86400,1', SEALPOST_RETENTION_WEBHOOK_DAYS: '1' },
      /at most 86400 .*SEALPOST_RETENTION_WEBHOOK_DAYS=1/,
    ],
    [{ SEALPOST_LIMIT_WEBHOOKS_MAX: '1001' }, /^SEALPOST_LIMIT_WEBHOOKS_MAX=1001 is not a whole number from 1 to 1000/],
    [{ SEALPOST_SMTP_FINAL: 'true' }, /^SEALPOST_SMTP_FINAL is set without a relay in SEALPOST_SMTP_URL/],
    [{ SEALPOST_SMTP_URL: 'http://x' }, /^SEALPOST_SMTP_URL must begin with smtp:\/\//],
    [{ SEALPOST_SMTP_URL: 'mail.example.com:25' }, /^SEALPOST_SMTP_URL must begin/],
    [{ SEALPOST_SMTP_CONNECTIONS: '0' }, /^SEALPOST_SMTP_CONNECTIONS=0/],
    [
      { SEALPOST_EVENT_STORE_URL: 'mysql://user:secret@h/db' },
      /^SEALPOST_EVENT_STORE_URL=mysql:\/\/…@h\/db has no scheme that sealpost knows here; it takes sqlite:/,
    ],
    [{ SEALPOST_EVENT_STORE_URL: './events.db' }, /^SEALPOST_EVENT_STORE_URL/],
    [{ SEALPOST_KEYS_URL: 'sqlite:' }, /^SEALPOST_KEYS_URL=sqlite: names no path/],
    [{ SEALPOST_BUS_URL: 'sqlite:x' }, /^SEALPOST_BUS_URL/],
    [{ SEALPOST_FILES_URL: '/var/files' }, /^SEALPOST_FILES_URL/],
    [{ SEALPOST_FONTS_DIR: '/no/such' }, /^SEALPOST_FONTS_DIR=\/no\/such cannot be read: it is not there\./],
    [{ SEALPOST_TLS_KEY: 'k' }, /^SEALPOST_TLS_KEY is set without SEALPOST_TLS_CERT/],
    [{ SEALPOST_TLS_CERT: 'c' }, /^SEALPOST_TLS_CERT is set without SEALPOST_TLS_KEY/],
    [
      { SEALPOST_TLS_CERT: '/no/such', SEALPOST_TLS_KEY: '/no/such' },
      /^SEALPOST_TLS_CERT=\/no\/such cannot be read: it is not there\./,
    ],
    [
      { SEALPOST_MASTER_KEY: 'a', SEALPOST_MASTER_KEY_FILE: 'b' },
      /^SEALPOST_MASTER_KEY and SEALPOST_MASTER_KEY_FILE are both set/,
    ],
    [{ SEALPOST_MASTER_KEY_FILE: '/no/such' }, /^SEALPOST_MASTER_KEY_FILE=\/no\/such cannot be read/],
    [
      { SEALPOST_SMTP_URL: 'a', SEALPOST_SMTP_URL_FILE: 'b' },
      /^SEALPOST_SMTP_URL and SEALPOST_SMTP_URL_FILE are both set/,
    ],
    ...[
      'yes',
      '1',
      '1.2.3',
      'proxy.example.com',
      '10.0.0.0/33',
      '::1/129',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.1,',
      '10.0.0.0/',
      '/8',
    ].map((proxy): [Environment, RegExp] => [
      { SEALPOST_TRUST_PROXY: proxy },
      /^SEALPOST_TRUST_PROXY=.* is .*\. Name the addresses|^SEALPOST_TRUST_PROXY=.* has a prefix/,
    ]),
    [
      { SEALPOST_DKIM_DOMAIN: 'example.com' },
      /^DKIM signing needs all of its settings; missing: SEALPOST_DKIM_SELECTOR, SEALPOST_DKIM_PRIVATE_KEY or …_FILE/,
    ],
    [{ SEALPOST_DKIM_PRIVATE_KEY: 'a', SEALPOST_DKIM_PRIVATE_KEY_FILE: 'b' }, /are both set/],
    [{ SEALPOST_DNS_SERVERS: '192.0.2.1,dns.example' }, /^SEALPOST_DNS_SERVERS: dns\.example is no IP address/],
    [{ SEALPOST_DNS_SERVERS: '192.0.2.1:0' }, /^SEALPOST_DNS_SERVERS: 192\.0\.2\.1:0 is no IP address/],
    [{ SEALPOST_SPF_MECHANISMS: 'mx -all' }, /^SEALPOST_SPF_MECHANISMS: -all is no mechanism/],
  ];
  for (const [environment, sentence] of faults) {
    t.match(faultOf(environment), sentence, Object.keys(environment).join(' '));
  }
});

await t.test('a fault never shows a secret', async (t) => {
  for (const environment of [
    { SEALPOST_READ_MODELS_URL: 'mongo://user:hunter2@h/db' },
    { SEALPOST_READ_MODELS_URL: 'mongodb:///user:hunter2@h/db' },
    { SEALPOST_SMTP_URL: 'imap://user:hunter2@h' },
    { SEALPOST_EVENT_STORE_URL: 'mysql://user:p/hunter2@h' },
    { SEALPOST_EVENT_STORE_URL: 'mysql://user:p@hunter2@h' },
    { SEALPOST_EVENT_STORE_URL: 'mysql://h/?tlsPassword=hunter2&x=1' },
    { SEALPOST_MASTER_KEY: 'hunter2', SEALPOST_MASTER_KEY_FILE: 'x' },
  ]) {
    t.notMatch(faultOf(environment), 'hunter2');
  }
});

await t.test('.env.example lists every setting, and all of it can be set as it stands', async (t) => {
  const lines = envExample()
    .split('\n')
    .filter((line) => /^#[A-Z_]+=/.test(line))
    .map((line) => line.slice(1));
  t.same(lines.map((line) => line.slice(0, line.indexOf('='))).sort(), Object.keys(settings).sort());
  const withDefault = lines.filter((line) => settings[line.slice(0, line.indexOf('='))]?.default !== undefined);
  const environment = Object.fromEntries(
    withDefault.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  t.same(readConfig(environment), { ...readConfig({}), isDataDirNamed: true });
});

await t.test('headers that instruct the relay are allowed by name, or by the beginning of their names', async (t) => {
  const allowed = (value: string) => readConfig({ SEALPOST_ALLOWED_RELAY_HEADERS: value }).allowedRelayHeaders;
  t.same(allowed('X-PM-Message-Stream, X-MC-*'), ['x-pm-message-stream', 'x-mc-*']);
  t.same(allowed('X-SMTPAPI'), ['x-smtpapi']);
  t.same(allowed('x-mc-tag*'), ['x-mc-tag*']);
  for (const [value, fault] of [
    ['From', /"from" is set by the service/],
    ['X-Service-*', /is set by the service/],
    ['X-Note', /"x-note" is no instruction to a relay/],
    ['X-*', /is no instruction to a relay/],
    ['X-SMTPAPI*', /is no instruction to a relay/],
    ['*', /is no name of a header/],
    ['X-MC-*,', /"" is no name of a header/],
    ['X MC', /is no name of a header/],
    ['X-*-Tag', /is no name of a header/],
  ] as const)
    t.match(faultOf({ SEALPOST_ALLOWED_RELAY_HEADERS: value }), fault, value);
});

const onServers: Environment = {
  SEALPOST_EVENT_STORE_URL: 'esdb://log:2113?tls=false',
  SEALPOST_KEYS_URL: 'mongodb://user:hunter2@db/sealpost',
  SEALPOST_FILES_URL: 'mongodb://db/sealpost',
  SEALPOST_BUS_URL: 'nats://bus:4222',
  SEALPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};

await t.test(
  'each part may be on a server; the leases follow the keys where other machines share the log',
  async (t) => {
    const { urls } = readConfig(onServers);
    t.equal(urls.eventStore, 'esdb://log:2113?tls=false');
    t.equal(urls.leases, urls.keys);
    t.equal(
      readConfig({ ...onServers, SEALPOST_LEASES_URL: 'mongodb+srv://other/x' }).urls.leases,
      'mongodb+srv://other/x',
    );
    for (const [name, value] of [
      ['SEALPOST_EVENT_STORE_URL', 'esdb+discover://a:2113,b:2113'],
      ['SEALPOST_EVENT_STORE_URL', 'kurrentdb://h'],
      ['SEALPOST_READ_MODELS_URL', 'mongodb+srv://h/db'],
      ['SEALPOST_FILES_URL', 'mongodb://h'],
      ['SEALPOST_LEASES_URL', 'mongodb://h'],
      ['SEALPOST_BUS_URL', 'tls://h:4222'],
      ['SEALPOST_LIMITER_URL', 'rediss://h'],
    ] as const)
      t.ok(
        Object.values(readConfig({ [name]: value }).urls).includes(value),
        `${name}=${value} beside the parts of this machine`,
      );
    t.match(
      readConfig({ SEALPOST_EVENT_STORE_URL: 'esdb://log' }).urls.leases,
      /^sqlite:/,
      'the keys tie this log to this machine',
    );
  },
);

await t.test('parts that cannot work together are refused, with a sentence', async (t) => {
  const { SEALPOST_MASTER_KEY: _, ...withoutMaster } = onServers;
  for (const [environment, sentence] of [
    [withoutMaster, /^SEALPOST_KEYS_URL names a server.*SEALPOST_MASTER_KEY_FILE/],
    [
      { ...onServers, SEALPOST_LEASES_URL: 'sqlite:./x' },
      /^SEALPOST_LEASES_URL=sqlite:.* is seen on this machine alone/,
    ],
    [{ ...onServers, SEALPOST_FILES_URL: '' }, /^SEALPOST_FILES_URL is a directory of this machine/],
    [
      { ...onServers, SEALPOST_BUS_URL: '', SEALPOST_ROLES: 'process' },
      /^SEALPOST_ROLES=process splits the work.*nats:/,
    ],
    [
      { ...onServers, SEALPOST_BUS_URL: '', SEALPOST_ROLES: 'http,project' },
      /^SEALPOST_ROLES=http,project splits the work/,
    ],
    [{ SEALPOST_BUS_URL: 'nats:' }, /^SEALPOST_BUS_URL=nats: names no server; write for example nats:/],
    [{ SEALPOST_LIMITER_URL: 'redis://' }, /^SEALPOST_LIMITER_URL=redis:\/\/ names no server/],
  ] as const) {
    t.match(faultOf(environment), sentence);
    t.notMatch(faultOf(environment), 'hunter2');
  }
  t.ok(readConfig({ ...onServers, SEALPOST_BUS_URL: '' }), 'one process for everything needs no bus that others see');
});

void t.test(
  'the built-in mailbox is refused where the process that shows it is not the one that fills it',
  async (t) => {
    const settings = {
      SEALPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      SEALPOST_EVENT_STORE_URL: 'esdb://127.0.0.1:2113?tls=false',
      SEALPOST_KEYS_URL: 'mongodb://127.0.0.1/sealpost',
      SEALPOST_FILES_URL: 'mongodb://127.0.0.1/sealpost',
      SEALPOST_LEASES_URL: 'mongodb://127.0.0.1/sealpost',
      SEALPOST_BUS_URL: 'nats://127.0.0.1',
      SEALPOST_SMTP_URL: 'mailbox:',
    };
    for (const roles of ['http', 'process', 'project'])
      t.throws(() => readServeConfig({ ...settings, SEALPOST_ROLES: roles }), {
        name: 'ConfigError',
        message: /built-in mailbox is in the data directory/,
      });
    t.doesNotThrow(() => readServeConfig(settings));
    const relayed = { SEALPOST_SMTP_URL: 'smtp://127.0.0.1:1025', SEALPOST_ACCOUNT_SENDER: 'accounts@example.com' };
    t.doesNotThrow(() => readServeConfig({ ...settings, SEALPOST_ROLES: 'http', ...relayed }));
  },
);

void t.test('with a relay account mails need a sender, which is checked at start', async (t) => {
  const sender = (value: string) => ({ SEALPOST_SMTP_URL: 'smtp://mail', SEALPOST_ACCOUNT_SENDER: value });
  t.same(readServeConfig(sender(' Shop, Ltd <Accounts@Shop.Test> ')).accountSender, {
    email: 'Accounts@shop.test',
    name: 'Shop, Ltd',
  });
  t.same(readServeConfig(sender('accounts@shop.test')).accountSender, { email: 'accounts@shop.test' });
  t.throws(() => readServeConfig({ SEALPOST_SMTP_URL: 'smtp://mail' }), {
    message: /^SEALPOST_ACCOUNT_SENDER is not set, and SEALPOST_SMTP_URL names a relay/,
  });
  const sample = readConfig({}).accountSender?.email ?? '';
  t.not(sample, '', 'the built-in mailbox takes a sample');
  for (const address of [sample, sample.replace('@', '@mail.')])
    t.throws(() => readServeConfig(sender(address)), { message: /^SEALPOST_ACCOUNT_SENDER is the sample / });
  for (const wrong of ['accounts', 'Shop <accounts>', 'a@shop', 'Shop accounts@shop.test', 'Shop <a@shop.test> b'])
    t.throws(() => readConfig(sender(wrong)), {
      message: /^SEALPOST_ACCOUNT_SENDER=.* is no sender, such as accounts@example\.com/,
    });
  t.equal(
    readConfig({ SEALPOST_SMTP_URL: 'smtp://mail' }).accountSender,
    undefined,
    'a command beside the service goes on without',
  );
});

await t.test('the providers by which people sign in', async (t) => {
  const least = {
    id: 'acme',
    label: 'Acme',
    issuer: 'https://id.example.com',
    clientId: 'one',
    clientSecret: 'two',
    domains: ['example.com'],
  };
  const read = (...providers: readonly unknown[]) =>
    readConfig({ SEALPOST_SIGN_IN_PROVIDERS: JSON.stringify(providers) }).signInProviders;
  t.same(
    read(least, { ...least, id: 'b', domains: '*', internal: true, issuer: 'http://id.test', scopes: ['openid'] }),
    [
      {
        ...least,
        scopes: ['openid', 'email', 'profile'],
        isAuthoritative: false,
        asksSecondFactor: false,
        isInternal: false,
      },
      {
        ...least,
        id: 'b',
        issuer: 'http://id.test',
        domains: undefined,
        scopes: ['openid'],
        isAuthoritative: false,
        asksSecondFactor: false,
        isInternal: true,
      },
    ],
  );
  t.match(read({ ...least, authoritative: true, secondFactor: 'provider' }), [
    { isAuthoritative: true, asksSecondFactor: true },
  ]);
  for (const [change, words] of [
    [{ id: 'A b' }, /\[0\]\.id /],
    [{ label: '' }, /label/],
    [{ issuer: 'http://id.example.com' }, /issuer is not an https URL/],
    [{ issuer: 'https://u:p@id.example.com' }, /issuer/],
    [{ clientSecret: 7 }, /clientSecret/],
    [{ clientId: undefined }, /clientId is missing/],
    [{ domains: 'example.com' }, /domains/],
    [{ domains: [] }, /domains/],
    [{ domains: ['Example.com'] }, /domains/],
    [{ domains: '*', authoritative: true }, /authoritative needs domains/],
    [{ secondFactor: true }, /secondFactor/],
    [{ internal: 'yes' }, /internal/],
    [{ secret: 'x' }, /secret is unknown/],
  ] as const)
    t.match(faultOf({ SEALPOST_SIGN_IN_PROVIDERS: JSON.stringify([{ ...least, ...change }]) }), words);
  t.match(faultOf({ SEALPOST_SIGN_IN_PROVIDERS: JSON.stringify([least, least]) }), /the id acme twice/);
  const broken = faultOf({ SEALPOST_SIGN_IN_PROVIDERS: '[{"clientSecret":"hush"' });
  t.match(broken, /is not JSON/);
  t.notMatch(broken, /hush/);
});
