/** Settings of the service: lines of the environment, certificates, traces, blocks. */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'node:tls';
import { parseEnv } from 'node:util';
import t, { type Test } from 'tap';
import { systemIds } from '../../src/adapters/ids/system.js';
import type { Mailer, OutgoingMessage, RecipientOutcome } from '../../src/domain/ports/mailer.js';
import { requestIds } from '../../src/http/server/hooks.js';
import {
  assertServable,
  certificateFaults,
  certifiedHost,
  openCertificates,
} from '../../src/service/observe/certificates.js';
import { openDomainLabels, watchedForBlocks } from '../../src/service/observe/metrics.js';
import { idsOfTraceparent, partIdOf, spanIdOf, traceIdOf } from '../../src/service/observe/traces.js';
import {
  linesWithoutSetting,
  readConfig,
  settingsToKeep,
  type Environment,
} from '../../src/service/settings/config.js';
import { readTlsFiles, type Tls } from '../../src/service/settings/groups.js';
import { advanceUntil, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';

// Lines of a file `.env` that would be passed over without a word.

void t.test('a line without a setting is found, and no other', async (t) => {
  const text = [
    '# a comment, of A=1',
    '',
    'HOST=127.0.0.1',
    '  export PORT = 3000  # why',
    'SEALPOST_LOG_LEVEL',
    'KEY="-----BEGIN KEY-----',
    'no setting here',
    '-----END KEY-----"',
    "ONE='in one line'",
    'OPEN="never closed',
    'SEALPOST_PUBLIC_URL: https://mail.example.com',
    '=1',
    'EMPTY=',
  ].join('\r\n');
  t.same(linesWithoutSetting(text), [5, 11, 12]);
  t.same(linesWithoutSetting('A=1\nB=2'), []);
  t.same(
    Object.keys(parseEnv(text.replaceAll('\r\n', '\n'))).sort(),
    ['EMPTY', 'HOST', 'KEY', 'ONE', 'OPEN', 'PORT'],
    'Node reads the rest',
  );
});

// Certificates: what is wrong with one is told, and renewed files are served to new connections without a restart.

const fixture = (name: string): string => resolve('test/support/tls', `${name}.pem`);
const pairOf = (cert: string, key = fixture('key')): Tls =>
  readTlsFiles(['SEALPOST_TLS_CERT', 'SEALPOST_TLS_KEY'], [cert, key]);
const NOW_MS = Date.parse('2030-01-31T12:00:00Z');
const saysOf = (tls: Tls, host: string | undefined, nowMs = NOW_MS) =>
  certificateFaults({ tls, host }, nowMs).map(({ says }) => says);

/** A directory with `cert.pem` and `key.pem`, the pair of the fixture of that name. */
const directoryOf = (t: Test, name: string) => {
  const directory = temporaryDirectory(t);
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  copyFileSync(fixture(name), cert);
  copyFileSync(fixture('key'), key);
  return { directory, cert, key };
};

void t.test('what clients object to', async (t) => {
  const valid = pairOf(fixture('valid'));
  for (const host of ['localhost', '127.0.0.1', undefined]) t.same(saysOf(valid, host), []);
  t.same(saysOf(valid, 'mail.example.com'), ['is not for mail.example.com']);
  t.same(saysOf(valid, '::1'), ['is not for ::1']);
  t.same(saysOf(valid, 'localhost', Date.parse('2026-01-01')), ['is valid from 2026-11-21 on']);
  t.same(saysOf(pairOf(fixture('expired')), 'mail.example.com'), [
    'expired on 2020-02-01',
    'is not for mail.example.com',
  ]);
  const { directory } = directoryOf(t, 'valid');
  const daysOf = (days: number): Tls => {
    const cert = join(directory, `${days}.pem`);
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync('openssl', ['req', '-x509', '-key', fixture('key'), '-days', String(days), '-out', cert, ...subject]);
    return pairOf(cert);
  };
  for (const [days, leftDays, isTold] of [
    [90, 15, false],
    [90, 13, true],
    [6, 2, false],
    [6, 1, true],
  ] as const) {
    const tls = daysOf(days);
    const endMs = Date.now() + days * 86_400_000;
    t.equal(
      saysOf(tls, 'localhost', endMs - leftDays * 86_400_000).length,
      isTold ? 1 : 0,
      `${leftDays} of ${days} days left`,
    );
  }
  t.equal(certifiedHost('https://mail.example.com/base'), 'mail.example.com');
  t.equal(certifiedHost('https://[::1]:3000'), '::1');
  t.equal(certifiedHost('https://0.0.0.0:3000'), undefined);
});

void t.test('a pair that cannot be served is refused by the names of its settings', async (t) => {
  const { directory } = directoryOf(t, 'valid');
  const other = join(directory, 'other.pem');
  execFileSync('openssl', ['genpkey', '-algorithm', 'ED25519', '-out', other]);
  const named = /^SEALPOST_TLS_CERT and SEALPOST_TLS_KEY \(.*\) cannot be served: /;
  for (const [cert, key, why] of [
    [fixture('valid'), other, /the key is not that of the certificate\.$/],
    [fixture('key'), fixture('key'), /the first file holds no certificate in PEM form\.$/],
    [fixture('valid'), fixture('valid'), /the second file holds no private key in PEM form without a passphrase\.$/],
  ] as const) {
    t.throws(() => assertServable(pairOf(cert, key)), { message: named });
    t.throws(() => assertServable(pairOf(cert, key)), { message: why });
  }
  t.doesNotThrow(() => assertServable(pairOf(fixture('valid'))));
});

void t.test('renewed files are taken, and a half-written pair changes nothing', async (t) => {
  const { directory, cert, key } = directoryOf(t, 'valid');
  const renewed: Tls[] = [];
  const served = { tls: pairOf(cert, key), host: 'localhost', renew: (tls: Tls) => void renewed.push(tls) };
  const look = openCertificates([served], { now: () => NOW_MS });
  t.same(look(), []);
  writeFileSync(cert, readFileSync(fixture('stranger'), 'utf8').slice(0, 200));
  t.match(look(), [
    {
      code: 'CERTIFICATE_UNUSABLE',
      message: /cannot be served .*the certificate that was read before is still in use$/,
    },
  ]);
  renameSync(cert, join(directory, 'gone.pem'));
  t.match(look(), [{ code: 'CERTIFICATE_UNUSABLE', message: /they cannot be read/ }]);
  t.same(renewed, []);
  symlinkSync(fixture('stranger'), cert);
  t.same(look(), []);
  t.same(look(), []);
  t.same(
    renewed.map((tls) => tls.cert),
    [readFileSync(fixture('stranger'), 'utf8')],
    'once',
  );
  renameSync(cert, join(directory, 'old.pem'));
  copyFileSync(fixture('expired'), cert);
  t.match(look(), [
    { code: 'CERTIFICATE_REFUSED', message: /cert\.pem expired on 2020-02-01: clients refuse it; replace the files/ },
  ]);
});

void t.test(
  'a running service serves the renewed certificate to new connections, and health tells a bad one',
  async (t) => {
    const { cert, key } = directoryOf(t, 'valid');
    const clock = fakeClock(NOW_MS);
    const settings = { SEALPOST_TLS_CERT: cert, SEALPOST_TLS_KEY: key };
    const app = await startTestApp({ dataDir: temporaryDirectory(t), clock, settings });
    t.teardown(() => app.stop());
    const { port } = new URL(await app.server.listen({ host: '127.0.0.1', port: 0 }));
    const fingerprint = () =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
          resolve(socket.getPeerX509Certificate()!.fingerprint256);
          socket.destroy();
        });
        socket.on('error', reject);
      });
    const codes = async () =>
      (await app.call<{ reasons: { code: string }[] }>('GET', '/health/ready')).body.reasons.map(({ code }) => code);
    const first = await fingerprint();
    await advanceUntil(
      clock,
      1_000,
      'health knows its certificate',
      async () => !(await codes()).includes('CERTIFICATE_REFUSED'),
    );
    copyFileSync(fixture('expired'), cert);
    await advanceUntil(clock, 1_000, 'health tells it', async () => (await codes()).includes('CERTIFICATE_REFUSED'));
    t.not(await fingerprint(), first);
    copyFileSync(fixture('stranger'), cert);
    await advanceUntil(clock, 1_000, 'that is over', async () => !(await codes()).includes('CERTIFICATE_REFUSED'));
  },
);

// The settings of traces: what is sent where, and that a fault is a sentence without the secrets of the settings.

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
const read = (environment: Environment = {}) => readConfig({ ...endpoint, ...environment }).traces;

await t.test('without an address nothing is traced, whatever else is set', async (t) => {
  t.equal(
    readConfig({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).traces,
    undefined,
  );
});

await t.test('an address alone sends all of it', async (t) => {
  t.same(read(), {
    url: 'http://127.0.0.1:4318/v1/traces',
    headers: {},
    resource: { 'service.name': 'sealpost' },
    ratio: 1,
  });
  t.equal(
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.example.com/otlp/' })?.url,
    'https://c.example.com/otlp/v1/traces',
  );
});

await t.test('headers, names and the share are read as OpenTelemetry writes them', async (t) => {
  t.same(
    read({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=b, x-team = 7,',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    }),
    {
      url: 'http://127.0.0.1:4318/v1/traces',
      headers: { authorization: 'Bearer a=b', 'x-team': '7' },
      resource: { 'service.name': 'other', 'deployment.environment.name': 'test' },
      ratio: 0.25,
    },
  );
  t.equal(
    read({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=other', OTEL_SERVICE_NAME: 'mail' })?.resource['service.name'],
    'mail',
  );
  for (const [sampler, ratio] of [
    ['always_off', 0],
    ['parentbased_always_off', 0],
    ['always_on', 1],
    ['parentbased_traceidratio', 0.5],
  ] as const)
    t.equal(read({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0.5' })?.ratio, ratio, sampler);
});

await t.test('traces are switched off as OpenTelemetry says, and nothing else of them is looked at', async (t) => {
  const wrong = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'some',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'hunter2',
  };
  for (const off of [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_SDK_DISABLED: 'True' }, { OTEL_TRACES_EXPORTER: 'none' }])
    t.equal(read({ ...wrong, ...off }), undefined, JSON.stringify(off));
  for (const on of [{ OTEL_SDK_DISABLED: 'false' }, { OTEL_SDK_DISABLED: '1' }, { OTEL_TRACES_EXPORTER: 'otlp' }])
    t.match(read(on), { url: 'http://127.0.0.1:4318/v1/traces' }, JSON.stringify(on));
});

await t.test('the names of the signal hold before those of every signal', async (t) => {
  const own = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in?tenant=7',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=own',
  };
  const general = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=all,x-team=7' };
  const sent = { url: 'https://traces.example.com/in?tenant=7', headers: { authorization: 'own' } };
  t.match(readConfig(own).traces, sent);
  t.same(read({ ...own, ...general })?.headers, sent.headers);
  t.equal(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318' })?.url, 'http://127.0.0.1:4318/');
});

await t.test('what cannot be used is refused with a sentence', async (t) => {
  for (const [environment, message] of [
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'hunter2' },
      /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http:\/\/ or https:\/\/ address/,
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://hunter2@c:4317' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken; set http\/protobuf/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=1,hunter2' }, /^Part 2 of OTEL_EXPORTER_OTLP_HEADERS is not name=value/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=hunter2%' }, /^Part 1 of OTEL_EXPORTER_OTLP_HEADERS is not name=value/],
    [
      { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
      /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc is not spoken; set http\/protobuf/,
    ],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'hunter2' }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http/],
    [{ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'hunter2' }, /^Part 1 of OTEL_EXPORTER_OTLP_TRACES_HEADERS is not/],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER=zipkin is not spoken; set otlp, or none/],
    [{ OTEL_TRACES_SAMPLER: 'some' }, /^OTEL_TRACES_SAMPLER=some is none of always_on, /],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      /^OTEL_TRACES_SAMPLER_ARG=2 is not a number from 0 to 1/,
    ],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' },
      /^OTEL_TRACES_SAMPLER_ARG=half is not a number/,
    ],
  ] as const) {
    const thrown = t.throws(() => read(environment), { name: 'ConfigError', message }) as Error | false;
    t.notMatch(String(thrown), 'hunter2');
  }
});

await t.test('the headers, which hold secrets, are not kept with a backup', async (t) => {
  const kept = settingsToKeep({
    ...endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=hunter2',
  });
  t.match(kept, 'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318');
  t.notMatch(kept, 'hunter2');
});

// Ids of traces and spans: the same id gives the same, whatever it looks like.

const DIGITS = '0af7651916cd43dd8448eb211c80319c';

await t.test('an id of 16 bytes is the id of the trace, and its end the id of the span', async (t) => {
  for (const id of [DIGITS, '0af76519-16cd-43dd-8448-eb211c80319c', '0AF76519-16CD-43DD-8448-EB211C80319C']) {
    t.equal(traceIdOf(id), DIGITS);
    t.equal(spanIdOf(id), DIGITS.slice(16));
  }
});

await t.test('any other id is hashed; what would be zero, which no id may be, too', async (t) => {
  for (const id of [
    'order-4711',
    DIGITS.toUpperCase(),
    '0'.repeat(32),
    '00000000-0000-0000-0000-000000000000',
    `${DIGITS}0`,
  ]) {
    t.equal(traceIdOf(id), hash('sha256', id).slice(0, 32), id);
    t.match(spanIdOf(id), /^[0-9a-f]{16}$/);
  }
  t.not(spanIdOf(`${'1'.repeat(16)}${'0'.repeat(16)}`), '0'.repeat(16));
});

await t.test('parts of a span have ids of their own, apart from those of events', async (t) => {
  const ids = new Set([0, 1, 2, 99].map((n) => partIdOf('8448eb211c80319c', n)));
  t.equal(ids.size, 4);
  for (const id of ids) t.match(id, /^0[0-9a-f]{3}eb211c80319c$/);
});

await t.test('a traceparent is read, and what is none is not', async (t) => {
  t.same(idsOfTraceparent(`00-${DIGITS}-00f067aa0ba902b7-01`), { traceId: DIGITS, spanId: '00f067aa0ba902b7' });
  t.same(idsOfTraceparent(`cc-${DIGITS}-00f067aa0ba902b7-01-more`)?.traceId, DIGITS, 'of a later version');
  for (const header of [
    undefined,
    '',
    'x',
    [`00-${DIGITS}-00f067aa0ba902b7-01`],
    `ff-${DIGITS}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${DIGITS}-${'0'.repeat(16)}-01`,
    `00-${DIGITS.toUpperCase()}-00f067aa0ba902b7-01`,
  ])
    t.equal(idsOfTraceparent(header), undefined);
});

await t.test('fresh request ids are such ids, and none comes twice', async (t) => {
  const idOf = requestIds(systemIds(), 128);
  const ids = new Set(Array.from({ length: 100_000 }, () => idOf(undefined)));
  t.equal(ids.size, 100_000);
  t.ok([...ids].every((id) => traceIdOf(id) === id));
  t.equal(idOf('order-4711'), 'order-4711', 'an own one is taken');
  t.match(idOf('order 4711'), /^[0-9a-f]{32}$/, 'an unfit one is not');
});

// Log lines about domains that block our mail: one for each domain and reason of a delivery, under a bounded number of
// names.

const outcome = (result: RecipientOutcome['result'], rule: string): RecipientOutcome => ({
  result,
  rule,
  replyCode: 550,
  enhancedCode: null,
  text: '550',
});

const mailer: Mailer = {
  final: false,
  host: 'mx.example.net',
  probe: async () => true,
  close: async () => {},
  lend: async (_wanted, use) => {
    const recipients = [
      outcome('blocked', 'host-refused'),
      outcome('blocked', 'host-refused'),
      outcome('blocked', 'sending-limit'),
      outcome('bounced', 'mailbox-unknown'),
      outcome('accepted', 'accepted'),
    ];
    return { kind: 'used', result: await use(async () => ({ host: 'mx.example.net', durationMs: 1, recipients })) };
  },
};

void t.test(
  'a delivery tells each domain and reason once, with the number of recipients, and no address',
  async (t) => {
    const noted: unknown[] = [];
    const { signal } = new AbortController();
    const message: OutgoingMessage = {
      envelope: {
        from: 'a@example.com',
        to: ['b@One.example', 'c@one.example', 'd@one.example', 'e@two.example', 'f@three.example'],
      },
      messageId: '<1@example.com>',
      raw: Buffer.from(''),
    };
    const watched = watchedForBlocks(mailer, (...block) => void noted.push(block));
    await watched.lend({ priority: 'normal', signal }, (send) => send(message, signal));
    t.same(noted, [
      ['one.example', 'host-refused', 2],
      ['one.example', 'sending-limit', 1],
    ]);
    t.equal(watchedForBlocks(mailer, undefined), mailer, 'nobody counts');
  },
);

void t.test('200 domains are named, and all others together', async (t) => {
  const labelOf = openDomainLabels();
  const labels = Array.from({ length: 300 }, (_, index) => labelOf(`${index}.example`));
  t.equal(new Set(labels).size, 201);
  t.equal(labels[299], 'other');
  t.equal(labelOf('7.example'), '7.example');
});
