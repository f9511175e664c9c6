/**
 * Authenticates and reads the calls of providers: fetches and keeps the certificates of SNS, confirms subscriptions, and
 * remembers tokens that are good once.
 */
import { type Clock } from '../../../domain/ports/clock.js';
import type { OutboundHttp } from '../../../domain/ports/outbound-http.js';
import type {
  FeedbackProvider,
  ProviderCall,
  ProviderFeedback,
  ProviderReading,
  ProviderSettings,
} from '../../../domain/ports/provider-feedback.js';
import { feedbackProviders } from '../../../domain/ports/provider-feedback.js';
import type { TeamId } from '../../../domain/core/ids.js';
import { readBrevo, readMailjet } from './brevo-mailjet.js';
import { type OneTime, readMailgun } from './mailgun.js';
import { readPostmark } from './postmark.js';
import { refused, SIGNED_AGO_MAX_MS, tokenFault } from './reading.js';
import { readSendgrid, sendgridFault } from './sendgrid.js';
import { readSes, sesFault } from './ses.js';

type Deps = Readonly<{
  settings: ProviderSettings;
  outbound: Pick<OutboundHttp, 'get'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}>;

/** Fetches of the service itself take turns with those of teams, under this name. */
const OWN = 'sealpost' as TeamId;
const FETCH = { sizeBytesMax: 64 * 1024, timeoutMs: 10_000, redirectsMax: 0 };
/** Certificates of SNS that are kept, and how long; a region has one at a time. */
const CERTIFICATES_MAX = 16;
const CERTIFICATE_KEPT_MS = 24 * 3_600_000;
/** A certificate that cannot be had is not asked for again for so long. */
const MISSING_KEPT_MS = 10_000;
/** Certificates that are fetched at a time: a forged call can name one that does not exist. */
const FETCHES_MAX = 2;
/** Tokens of Mailgun that are remembered: the newest. */
const TOKENS_MAX = 100_000;

export const openProviderFeedback = (deps: Deps): ProviderFeedback => {
  const { settings, clock } = deps;
  const certificates = openCertificates(deps);
  const tokens = openOneTimes(clock);

  const readSns = async (call: ProviderCall, signal: AbortSignal): Promise<ProviderReading> => {
    const ses = settings.ses!;
    let reading = readSes(call, ses, clock.now(), certificates.known());
    if (reading.kind === 'certificate') {
      const { url } = reading;
      if (!(await certificates.fetch(url, signal)))
        return { kind: 'later', message: 'The certificate that signed the call could not be fetched from SNS.' };
      reading = readSes(call, ses, clock.now(), certificates.known());
    }
    if (reading.kind === 'certificate') throw new Error('a certificate that was fetched is not known');
    if (reading.kind !== 'confirm') return reading;
    try {
      await deps.outbound.get(reading.url, { ...FETCH, teamId: OWN, signal });
      return { kind: 'confirmed' };
    } catch {
      return { kind: 'later', message: 'The subscription could not be confirmed at SNS.' };
    }
  };

  return {
    providers: feedbackProviders.filter((name) => settings[name] !== undefined),
    refusalOf: (provider, headers) => {
      switch (provider) {
        case 'ses':
          return sesFault(headers, settings.ses!);
        case 'sendgrid':
          return sendgridFault(headers, clock.now());
        case 'mailgun':
          return undefined;
        case 'postmark':
        case 'brevo':
        case 'mailjet':
          return tokenFault(headers, settings[provider]!.token);
      }
    },
    read: async (provider: FeedbackProvider, call, signal) => {
      const nowMs = clock.now();
      switch (provider) {
        case 'ses':
          return readSns(call, signal);
        case 'postmark':
          return readPostmark(call, settings.postmark!);
        case 'sendgrid':
          return readSendgrid(call, settings.sendgrid!, nowMs);
        case 'brevo':
          return readBrevo(call, settings.brevo!);
        case 'mailjet':
          return readMailjet(call, settings.mailjet!);
        case 'mailgun': {
          const { once, ...reading } = readMailgun(call, settings.mailgun!, nowMs);
          return once === undefined || tokens.isFirst(once)
            ? reading
            : refused('replayed', 'The signature of the call was used for another call before.');
        }
      }
    },
  };
};

type Certificates = Readonly<{
  known: () => ReadonlyMap<string, string>;
  /** Out: whether the certificate is known now. Calls that need the same one share its fetch. */
  fetch: (url: string, signal: AbortSignal) => Promise<boolean>;
}>;

const openCertificates = ({ outbound, clock }: Deps): Certificates => {
  const pems = new Map<string, string>();
  const fetchedAt = new Map<string, number>();
  const missing = new Map<string, number>();
  const underWay = new Map<string, Promise<boolean>>();

  const known = (): ReadonlyMap<string, string> => {
    const now = clock.monotonic();
    for (const [url, at] of fetchedAt)
      if (now - at > CERTIFICATE_KEPT_MS) {
        pems.delete(url);
        fetchedAt.delete(url);
      }
    return pems;
  };

  const get = async (url: string, signal: AbortSignal): Promise<boolean> => {
    try {
      const { bytes } = await outbound.get(url, { ...FETCH, teamId: OWN, signal });
      keep(pems, url, Buffer.from(bytes).toString('latin1'), CERTIFICATES_MAX);
      keep(fetchedAt, url, clock.monotonic(), CERTIFICATES_MAX);
      return true;
    } catch {
      keep(missing, url, clock.monotonic(), CERTIFICATES_MAX);
      return false;
    }
  };

  return {
    known,
    fetch: async (url, signal) => {
      const other = underWay.get(url);
      if (other !== undefined) return other;
      const missedAt = missing.get(url);
      if (missedAt !== undefined && clock.monotonic() - missedAt < MISSING_KEPT_MS) return false;
      if (underWay.size >= FETCHES_MAX) return false;
      const fetching = get(url, signal).finally(() => underWay.delete(url));
      underWay.set(url, fetching);
      return fetching;
    },
  };
};

/** Sets an entry, and drops the oldest beyond `max`. */
const keep = <Value>(entries: Map<string, Value>, key: string, value: Value, max: number): void => {
  entries.delete(key);
  entries.set(key, value);
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(oldest);
  }
};

type OneTimes = Readonly<{
  /** Whether the token came with no other body before. A call that is sent again has the same body. */
  isFirst: (once: OneTime) => boolean;
}>;

const openOneTimes = (clock: Pick<Clock, 'monotonic'>): OneTimes => {
  const seen = new Map<string, Readonly<{ digest: string; atMs: number }>>();
  return {
    isFirst: ({ token, digest }) => {
      const before = seen.get(token);
      if (before !== undefined && clock.monotonic() - before.atMs < SIGNED_AGO_MAX_MS) return before.digest === digest;
      keep(seen, token, { digest, atMs: clock.monotonic() }, TOKENS_MAX);
      return true;
    },
  };
};
