/**
 * Hashes over the log: the chain through the events of a stream, the Merkle tree of seals, and the metadata text that
 * the chain covers. Each hash covers the stored bytes and the hash before it in the stream, so a changed, removed,
 * moved or inserted event is noticed. Sealed parts count as ciphertext, so the chain can be checked after their key is
 * destroyed.
 */
import * as crypto from 'node:crypto';
import { UnreadableEvent } from './codec.js';
import type { EventMetadata } from '../domain/core/event.js';

/** `sealed`: the bytes, or their hash as text if only that is known. */
type Hashable = Readonly<{ type: string; data: string; metadata: string; sealed: Uint8Array | string | undefined }>;

const sha256 = (data: string | Uint8Array): string => crypto.hash('sha256', data, 'hex');

const HASH_CHARS = 64;
const TAG_CHARS = 32;

/**
 * The hash of an event without the tag of the seal key that stores keep behind it. Chains and trees are made of it
 * alone.
 */
export const plainHash = (hash: string): string => (hash.length > HASH_CHARS ? hash.slice(0, HASH_CHARS) : hash);

/** The tag of the seal key under which the event was appended; empty if there was none. */
export const tagOf = (hash: string): string => hash.slice(HASH_CHARS);

/** Whether that is as long as a hash, or a hash with a tag. */
export const hasHashLength = ({ length }: string): boolean =>
  length === HASH_CHARS || length === HASH_CHARS + TAG_CHARS;

/** The hash before the first event of a stream. */
export const chainStart = (stream: string): string => sha256(`stream:${stream}`);

/** In: the predecessor's hash (hex), the place of the event, and its stored parts. Out: its hash (hex). */
export const chainHash = (previous: string, stream: string, revision: number, event: Hashable): string => {
  const sealed = sealedHashOf(event.sealed);
  // Every part but the last is framed by its length, so no two different events give the same text.
  return sha256(
    `${plainHash(previous)}\n${stream}\n${revision}\n${event.type}\n${sealed}\n${event.data.length}\n${event.data}\n${event.metadata}`,
  );
};

/** The hash of the sealed part; empty if there is none. */
export const sealedHashOf = (sealed: Hashable['sealed']): string =>
  sealed === undefined ? '' : typeof sealed === 'string' ? sealed : sha256(sealed);

/** Leaves and nodes of the tree are told apart by a prefix. */
export const merkleLeaf = (hash: string): string => sha256(Buffer.from(`00${plainHash(hash)}`, 'hex'));
export const merkleNode = (left: string, right: string): string => sha256(Buffer.from(`01${left}${right}`, 'hex'));

/**
 * Folds hashes into the root of a binary Merkle tree (RFC 6962, section 2.1: leaves and nodes are told apart by a
 * prefix).
 */
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

const texts = ['eventId', 'teamId', 'occurredAt', 'actor', 'correlationId', 'causationId'] as const;

const optionalTexts = ['keyId', 'dataFile', 'sealedFile', 'origin'] as const;

export const encodeMetadata = (metadata: EventMetadata): string => JSON.stringify(metadata);

/** Reads the metadata of an event. Throws UnreadableEvent if the text is no metadata. */
export const decodeMetadata = (text: string): EventMetadata => {
  const value = parse(text);
  if (typeof value !== 'object' || value === null) throw new UnreadableEvent('the metadata is no object');
  const metadata = value as Readonly<Record<string, unknown>>;
  for (const name of texts)
    if (typeof metadata[name] !== 'string') throw new UnreadableEvent(`the metadata has no text ${name}`);
  for (const name of optionalTexts) {
    const given = metadata[name];
    if (given !== undefined && typeof given !== 'string')
      throw new UnreadableEvent(`${name} of the metadata is no text`);
  }
  const { fence, recipientKeys } = metadata;
  if (
    recipientKeys !== undefined &&
    !(Array.isArray(recipientKeys) && recipientKeys.every((id) => typeof id === 'string'))
  )
    throw new UnreadableEvent('recipientKeys of the metadata are no texts');
  if (fence !== undefined && typeof fence !== 'number') throw new UnreadableEvent('fence of the metadata is no number');
  return metadata as EventMetadata;
};

/** As `decodeMetadata`, but undefined if the text is no metadata. */
export const readableMetadata = ({ metadata }: Readonly<{ metadata: string }>): EventMetadata | undefined => {
  try {
    return decodeMetadata(metadata);
  } catch {
    return undefined;
  }
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableEvent('the metadata is no JSON');
  }
};

/** Metadata as `encodeMetadata` writes it, if no text needs an escape and no file is named. */
const AS_WRITTEN =
  /^\{"eventId":"[^"\\\0-\x1f]*","teamId":"[^"\\\0-\x1f]*","occurredAt":"[^"\\\0-\x1f]*","actor":"[^"\\\0-\x1f]*","correlationId":"[^"\\\0-\x1f]*","causationId":"[^"\\\0-\x1f]*"(?:,"keyId":"[^"\\\0-\x1f]*")?(?:,"recipientKeys":\[(?:"[^"\\\0-\x1f]*",)*"[^"\\\0-\x1f]*"\])?(?:,"fence":\d+)?(?:,"origin":"[^"\\\0-\x1f]*")?\}$/;

/** True if the text can certainly be decoded and names no file; far faster than parsing it. */
export const isCertainlyMetadata = (text: string): boolean => AS_WRITTEN.test(text);
