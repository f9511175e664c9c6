/** Certificates: what is wrong with one is told, and renewed files are served to new connections without a restart. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'node:tls';
import t, { type Test } from 'tap';
import {
  assertServable,
  certificateFaults,
  certifiedHost,
  openCertificates,
} from '../../src/service/observe/certificates.js';
import { readTlsFiles, type Tls } from '../../src/service/settings/groups.js';
import { advanceUntil, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';

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
