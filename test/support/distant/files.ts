/**
 * Files on a distant server, in memory: they are put, read and deleted late, and what came of a call is sometimes not
 * known.
 */
import { createHash } from 'node:crypto';
import type { Files } from '../../../src/domain/ports/files.js';
import { ask, type Network } from './network.js';

export type FileServer = Readonly<{
  stored: Map<string, Buffer>;
  put: (hash: string, bytes: Buffer, expiresAt: string | undefined) => void;
  delete: (hash: string) => void;
  expired: (now: string) => number;
  sweep: (now: string) => number;
}>;

export const fileServer = (): FileServer => {
  const stored = new Map<string, Buffer>();
  const expiry = new Map<string, string>();
  return {
    stored,
    put: (hash, bytes, expiresAt) => {
      const mayExpire = !stored.has(hash) || expiry.has(hash);
      stored.set(hash, bytes);
      if (expiresAt === undefined || !mayExpire) expiry.delete(hash);
      else if ((expiry.get(hash) ?? '') < expiresAt) expiry.set(hash, expiresAt);
    },
    delete: (hash) => {
      stored.delete(hash);
      expiry.delete(hash);
    },
    expired: (now) => [...expiry].filter(([, at]) => at <= now).length,
    sweep: (now) => {
      const due = [...expiry].filter(([, at]) => at <= now);
      for (const [hash] of due) {
        stored.delete(hash);
        expiry.delete(hash);
      }
      return due.length;
    },
  };
};

export const openDistantFiles = (server: FileServer, network: Network): Files => ({
  put: async (given, { expiresAt } = {}) => {
    const bytes = Buffer.from(given);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const until = expiresAt === undefined ? undefined : instant(expiresAt);
    await ask(network, 'files.put', () => server.put(hash, bytes, until));
    return hash;
  },
  get: async (hash) => ask(network, 'files.get', () => server.stored.get(checked(hash))),
  delete: async (hash) => ask(network, 'files.delete', () => server.delete(checked(hash))),
  expired: async (now) => {
    const due = instant(now);
    return ask(network, 'files.expired', () => server.expired(due));
  },
  sweep: async (now) => {
    const due = instant(now);
    return ask(network, 'files.sweep', () => server.sweep(due));
  },
});

const checked = (hash: string): string => {
  if (!/^[0-9a-f]{64}$/.test(hash) || hash.length !== 64) throw new RangeError('a file is named by its SHA-256 in hex');
  return hash;
};

/** Times in one form, so that they compare as texts. Throws RangeError for what is no time. */
const instant = (time: string): string => new Date(time).toISOString();
