/**
 * Sealing keys on a distant server: real AES-256-GCM, the keys in a map; calls come late and their answers get lost.
 */
import { createHash, createHmac } from 'node:crypto';
import { sealingKey } from '../../../src/adapters/keys/key-wrap.js';
import type { Keys, LogMark, SealingKey } from '../../../src/domain/ports/keys.js';
import { ask, type Network } from './network.js';

export type KeyServer = {
  readonly keys: Map<string, SealingKey>;
  made: number;
  /** The fingerprint of the master key under which the first client came. */
  master: string | undefined;
  mark: LogMark | undefined;
};

/** In: the server whose keys it begins with. */
export const keyServer = (begun?: KeyServer): KeyServer => ({
  keys: new Map<string, SealingKey>(begun?.keys),
  made: begun?.made ?? 0,
  master: begun?.master,
  mark: begun?.mark,
});

export const TEST_MASTER_KEY = Buffer.alloc(32, 0xa1);

/** Throws where the keys were made under another master key. */
export const openDistantKeys = (server: KeyServer, network: Network, master: Buffer = TEST_MASTER_KEY): Keys => {
  if (master.byteLength !== 32) throw new RangeError('a master key has 32 bytes');
  const check = createHash('sha256').update(master).digest('hex');
  if ((server.master ??= check) !== check) throw new Error('these keys were made under another master key');
  let isClosed = false;
  return {
    create: async () => {
      if (isClosed) throw new Error('the keys are closed');
      return ask(network, 'keys.create', () => {
        const id = `key-${(server.made += 1)}`;
        const key = sealingKey(createHash('sha256').update(master).update(id).digest());
        server.keys.set(id, key);
        return { id, key };
      });
    },
    getMany: (ids) =>
      ask(network, 'keys.read', () => {
        const found = new Map<string, SealingKey>();
        for (const id of ids) {
          const key = server.keys.get(id);
          if (key !== undefined) found.set(id, key);
        }
        return found;
      }),
    destroy: (ids) =>
      ask(network, 'keys.destroy', () => {
        for (const id of ids) server.keys.delete(id);
        return { journalMs: 0 };
      }),
    faults: async () => [],
    mark: () => ask(network, 'keys.read', () => server.mark),
    setMark: (mark) =>
      ask(network, 'keys.mark', () => {
        server.mark = mark;
      }),
    fingerprint: (purpose, text) =>
      createHmac('sha256', Buffer.concat([master, Buffer.from(purpose)]))
        .update(text)
        .digest('hex'),
    close: async () => {
      isClosed = true;
    },
  };
};
