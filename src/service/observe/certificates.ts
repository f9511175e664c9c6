/**
 * The certificates of the HTTP server and of the return path: what is wrong with them, and how renewed files are taken
 * without a restart.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { HealthReason } from '../../domain/core/readiness.js';
import { DAY_MS, isoTime, outwardNow } from '../../domain/core/time.js';
import type { Clock } from '../../domain/ports/clock.js';
import { readTlsFiles, type Tls } from '../settings/groups.js';
import { ConfigError } from '../settings/settings.js';

/**
 * `host`: the name or address by which clients reach the server; undefined: any. `renew`: serves another pair from now
 * on.
 */
type Served = Readonly<{ tls: Tls; host: string | undefined; renew: (pair: Tls) => void }>;

/** `isFault`: clients refuse the certificate, or soon the server does. */
type CertificateFault = Readonly<{ isFault: boolean; says: string }>;

/** A certificate is to be renewed when so much of its time is left, or a quarter of it where that is less. */
const RENEWED_BEFORE_MS = 14 * DAY_MS;

/** Why no server can serve the pair; undefined if one can. */
export const pairFault = ({ cert, key }: Pick<Tls, 'cert' | 'key'>): string | undefined => {
  const certificate = attempt(() => new X509Certificate(cert));
  if (certificate === undefined) return 'the first file holds no certificate in PEM form';
  const privateKey = attempt(() => createPrivateKey(key));
  if (privateKey === undefined) return 'the second file holds no private key in PEM form without a passphrase';
  return certificate.checkPrivateKey(privateKey) ? undefined : 'the key is not that of the certificate';
};

const attempt = <Value>(make: () => Value): Value | undefined => {
  try {
    return make();
  } catch {
    return undefined;
  }
};

/** In: a pair without `pairFault`. Out: what clients object to, or will soon. */
export const certificateFaults = (
  { tls, host }: Pick<Served, 'tls' | 'host'>,
  nowMs: number,
): readonly CertificateFault[] => {
  const certificate = new X509Certificate(tls.cert);
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const faults: CertificateFault[] = [];
  const day = (ms: number): string => isoTime(ms).slice(0, 10);
  if (nowMs < fromMs) faults.push({ isFault: true, says: `is valid from ${day(fromMs)} on` });
  if (nowMs >= toMs) faults.push({ isFault: true, says: `expired on ${day(toMs)}` });
  else if (toMs - nowMs < Math.min(RENEWED_BEFORE_MS, (toMs - fromMs) / 4))
    faults.push({ isFault: false, says: `expires on ${day(toMs)}` });
  const isCovered =
    host === undefined || (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
  if (!isCovered) faults.push({ isFault: true, says: `is not for ${host}` });
  return faults;
};

/** The host of a URL, as certificates name it; undefined for an address that means every address. */
export const certifiedHost = (url: string): string | undefined => {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return host === '0.0.0.0' || host === '::' ? undefined : host;
};

/** Throws ConfigError if a server cannot serve the pair. */
export const assertServable = (tls: Tls): void => {
  const fault = pairFault(tls);
  if (fault !== undefined)
    throw new ConfigError(`${tls.names.join(' and ')} (${tls.paths.join(', ')}) cannot be served: ${fault}.`);
};

/**
 * Out: a function that reads the files again, serves a pair that has changed, and says what is wrong. A pair that
 * cannot be served changes nothing.
 */
export const openCertificates = (
  served: readonly Served[],
  clock: Pick<Clock, 'now' | 'machineNow'>,
): (() => readonly HealthReason[]) => {
  const looks = served.map((one) => watched(one, clock));
  return () => looks.flatMap((look) => look());
};

const watched = (
  { tls: first, host, renew }: Served,
  clock: Pick<Clock, 'now' | 'machineNow'>,
): (() => readonly HealthReason[]) => {
  let tls = first;
  return () => {
    const [path] = first.paths;
    const read = attempt(() => readTlsFiles(first.names, first.paths));
    const unusable = read === undefined ? 'they cannot be read' : pairFault(read);
    if (read !== undefined && unusable === undefined && (read.cert !== tls.cert || read.key !== tls.key)) {
      renew(read);
      tls = read;
    }
    const reasons = certificateFaults({ tls, host }, outwardNow(clock)).map(({ isFault, says }): HealthReason => ({
      code: isFault ? 'CERTIFICATE_REFUSED' : 'CERTIFICATE_EXPIRES',
      message: `the certificate of ${path} ${says}${isFault ? ': clients refuse it' : ''}; replace the files, no restart is needed`,
    }));
    if (unusable === undefined) return reasons;
    const message = `the files ${first.paths.join(' and ')} cannot be served (${unusable}): the certificate that was read before is still in use`;
    return [...reasons, { code: 'CERTIFICATE_UNUSABLE', message }];
  };
};
