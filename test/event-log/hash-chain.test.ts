/** The hash chain and the Merkle tree over it: nothing can change without changing them. */
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import t from 'tap';
import { chainHash, chainStart, FIRST_SEAL, merkleRoot, sealRoot } from '../../src/event-log/hash-chain.js';

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const event = {
  type: 'EmailSent.v1',
  data: '{"at":"now"}',
  metadata: '{"eventId":"1"}',
  sealed: Buffer.from([1, 2, 3]),
};

void t.test('the hashes stay what they are for ever', async (t) => {
  t.equal(chainStart('email-1'), sha256('stream:email-1'));
  t.equal(FIRST_SEAL, sha256('sealpost ledger'));
  const start = chainStart('email-1');
  t.equal(
    chainHash(start, 'email-1', 0, event),
    sha256(`${start}\nemail-1\n0\nEmailSent.v1\n${sha256(Buffer.from([1, 2, 3]))}\n12\n{"at":"now"}\n{"eventId":"1"}`),
  );
  t.equal(
    chainHash(start, 'email-1', 0, { ...event, sealed: undefined }),
    sha256(`${start}\nemail-1\n0\nEmailSent.v1\n\n12\n{"at":"now"}\n{"eventId":"1"}`),
  );
});

void t.test('a single byte anywhere changes the hash', async () => {
  const json = fc.jsonValue().map((value) => JSON.stringify(value));
  const sealed = fc.option(fc.uint8Array({ minLength: 1, maxLength: 40 }), { nil: undefined });
  const parts = fc.record({
    type: fc.stringMatching(/^[A-Z][a-zA-Z]{1,12}\.v[1-9]$/),
    data: json,
    metadata: json,
    sealed,
  });
  fc.assert(
    fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 255 }), (stored, where, flip) => {
      const hash = chainHash(chainStart('s-1'), 's-1', 3, stored);
      const mutated = (text: string): string | undefined => {
        const bytes = Buffer.from(text);
        bytes[where % bytes.length]! ^= flip;
        const changed = bytes.toString();
        // Bytes that are no UTF-8 cannot stand in a text of the store.
        return Buffer.from(changed).equals(bytes) ? changed : undefined;
      };
      for (const field of ['type', 'data', 'metadata'] as const) {
        const changed = mutated(stored[field]);
        if (changed !== undefined && chainHash(chainStart('s-1'), 's-1', 3, { ...stored, [field]: changed }) === hash)
          throw new Error(`a change of ${field} is not seen`);
      }
      if (stored.sealed !== undefined) {
        const bytes = Uint8Array.from(stored.sealed);
        bytes[where % bytes.length]! ^= flip;
        if (chainHash(chainStart('s-1'), 's-1', 3, { ...stored, sealed: bytes }) === hash)
          throw new Error('a change of sealed is not seen');
        if (chainHash(chainStart('s-1'), 's-1', 3, { ...stored, sealed: undefined }) === hash)
          throw new Error('taking sealed away is not seen');
      }
      const places = [
        chainHash(chainStart('s-2'), 's-1', 3, stored),
        chainHash(chainStart('s-1'), 's-2', 3, stored),
        chainHash(chainStart('s-1'), 's-1', 4, stored),
      ];
      if (places.includes(hash)) throw new Error('another place gives the same hash');
    }),
    { numRuns: 500 },
  );
});

void t.test('text cannot wander from one part into the next', async () => {
  const text = fc.string({ minLength: 2, maxLength: 12, unit: fc.constantFrom('a', '1', '{', '}', '"') });
  fc.assert(
    fc.property(text, fc.nat(12), fc.nat(12), (whole, i, j) => {
      const hashAt = (at: number): string =>
        chainHash('00', 's-1', 0, {
          type: 'T',
          data: whole.slice(0, at),
          metadata: whole.slice(at),
          sealed: undefined,
        });
      if ((hashAt(i) === hashAt(j)) !== (whole.slice(0, i) === whole.slice(0, j)))
        throw new Error('data and metadata run into one another');
    }),
    { numRuns: 500 },
  );
});

/** RFC 6962, section 2.1, in its own words: split at the largest power of two below the number of leaves. */
const referenceRoot = (leaves: readonly string[]): string => {
  if (leaves.length === 0) return sha256('');
  if (leaves.length === 1) return sha256(Buffer.from(`00${leaves[0]!}`, 'hex'));
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.from(`01${referenceRoot(leaves.slice(0, split))}${referenceRoot(leaves.slice(split))}`, 'hex'));
};

const leaf = (index: number): string => sha256(`leaf ${index}`);

void t.test('the root is that of RFC 6962, for every number of leaves', async (t) => {
  for (let count = 0; count <= 70; count += 1) {
    const leaves = Array.from({ length: count }, (_, index) => leaf(index));
    t.equal(merkleRoot(leaves), referenceRoot(leaves), `${count} leaves`);
  }
});

void t.test('a leaf that is changed, removed, doubled or moved changes the root', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 40 }), fc.nat(), fc.nat(), (count, a, b) => {
      const leaves = Array.from({ length: count }, (_, index) => leaf(index));
      const [i, j] = [a % count, b % count];
      const root = merkleRoot(leaves);
      const others = [
        leaves.with(i, leaf(999)),
        leaves.toSpliced(i, 1),
        leaves.toSpliced(i, 0, leaves[i]!),
        [...leaves, leaves.at(-1)!],
      ];
      if (i !== j) others.push(leaves.with(i, leaves[j]!).with(j, leaves[i]!));
      if (others.some((other) => merkleRoot(other) === root)) throw new Error('another tree has the same root');
    }),
  );
});

void t.test('a seal is bound to the seal before it', async (t) => {
  t.equal(sealRoot(leaf(1), leaf(2)), sha256(Buffer.from(`02${leaf(1)}${leaf(2)}`, 'hex')));
  t.not(sealRoot(leaf(1), leaf(2)), sealRoot(leaf(2), leaf(1)));
  t.not(sealRoot(leaf(1), leaf(2)), merkleRoot([leaf(1), leaf(2)]));
});
