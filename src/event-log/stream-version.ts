/** Where a stream ends, as an append needs to know it. */
import { chainStart } from './hash-chain.js';
import type { Recorded } from '../domain/events.js';

/**
 * The expected revision of the next append, the hash that it continues, the key of the stream where it has one, those of its recipients
 * where they have keys of their own, and the fence of the lease under which its last event was appended.
 */
export type StreamVersion = Readonly<{
  revision: number;
  hash: string;
  keyId: string | undefined;
  recipientKeys?: readonly string[];
  fence?: number;
}>;

/** `keyId`: a key that was made for the stream before its first event, for files that belong to it. */
export const startOf = (stream: string, keyId?: string): StreamVersion => ({ revision: -1, hash: chainStart(stream), keyId });

/** The version of a stream whose last event is given. */
export const versionOf = ({ revision, hash, metadata }: Pick<Recorded, 'revision' | 'hash' | 'metadata'>): StreamVersion => ({
  revision,
  hash,
  keyId: metadata.keyId,
  ...(metadata.recipientKeys === undefined ? {} : { recipientKeys: metadata.recipientKeys }),
  ...(metadata.fence === undefined ? {} : { fence: metadata.fence }),
});
