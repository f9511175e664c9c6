/**
 * The chain that makes a changed, removed, moved or inserted event visible: each event's hash covers its stored bytes
 * and the hash before it in the stream; sealed bytes count as ciphertext, so the chain can be checked when the key is gone.
 */
import * as crypto from 'node:crypto';

/** `sealed`: a text where no more than its hash is known. */
type Hashable = Readonly<{ type: string; data: string; metadata: string; sealed: Uint8Array | string | undefined }>;

const sha256 = (data: string | Uint8Array): string => crypto.hash('sha256', data, 'hex');

/** What stands before the first event of a stream. */
export const chainStart = (stream: string): string => sha256(`stream:${stream}`);

/** In: the predecessor's hash (hex), the place of the event, and its stored parts. Out: its hash (hex). */
export const chainHash = (previous: string, stream: string, revision: number, event: Hashable): string => {
  const sealed = sealedHashOf(event.sealed);
  // Every part but the last is framed by its length, so no two different events give the same text.
  return sha256(`${previous}\n${stream}\n${revision}\n${event.type}\n${sealed}\n${event.data.length}\n${event.data}\n${event.metadata}`);
};

/** Empty where nothing is sealed. */
export const sealedHashOf = (sealed: Hashable['sealed']): string =>
  sealed === undefined ? '' : typeof sealed === 'string' ? sealed : sha256(sealed);

/** Leaves and nodes of the tree are told apart by a prefix. */
export const merkleLeaf = (hash: string): string => sha256(Buffer.from(`00${hash}`, 'hex'));
export const merkleNode = (left: string, right: string): string => sha256(Buffer.from(`01${left}${right}`, 'hex'));

/** Folds hashes into the root of a binary Merkle tree (RFC 6962, section 2.1: leaves and nodes are told apart by a prefix). */
export const merkleRoot = (leaves: readonly string[]): string => {
  if (leaves.length === 0) return sha256('');
  let level = leaves.map(merkleLeaf);
  while (level.length > 1) {
    const next: string[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const left = level[i]!;
      const right = level[i + 1];
      // An odd node moves up unchanged, which gives RFC 6962's split at the largest power of two.
      next.push(right === undefined ? left : merkleNode(left, right));
    }
    level = next;
  }
  return level[0]!;
};

/** A seal covers all seals before it: the root of one segment is bound to the seal of the segment before. */
export const sealRoot = (previousSeal: string, segmentRoot: string): string =>
  sha256(Buffer.from(`02${previousSeal}${segmentRoot}`, 'hex'));
export const FIRST_SEAL = sha256('sealpost ledger');
