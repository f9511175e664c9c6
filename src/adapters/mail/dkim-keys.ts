/** Key pairs for DKIM from the system's generator: RSA with 2,048 bits (RFC 6376) and Ed25519 (RFC 8463). */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { DkimKeys, KeyPair } from '../../domain/ports/dkim-keys.js';
import { openFairSlots } from '../../shared/fairness.js';

const make = promisify(generateKeyPair);

const RSA_BITS = 2_048;
/** The key itself stands at the end of its DER form (RFC 8410). */
const ED25519_BYTES = 32;

/** The threads that make them are those of files and look-ups too. How many requests wait is bounded where they come in. */
const SLOTS = { slotsMax: 2, shareMax: 1, queueMax: Infinity } as const;

const never = new AbortController().signal;

export const systemDkimKeys = (): DkimKeys => {
  const slots = openFairSlots(SLOTS);
  return {
    make: async (teamId) => {
      await slots.acquire(teamId, never);
      try {
        return await makePairs();
      } finally {
        slots.release(teamId);
      }
    },
  };
};

const makePairs = async (): Promise<readonly KeyPair[]> => {
  const rsa = await make('rsa', { modulusLength: RSA_BITS });
  const ed25519 = await make('ed25519');
  const pem = { type: 'pkcs8', format: 'pem' } as const;
  const der = { type: 'spki', format: 'der' } as const;
  return [
    { algorithm: 'rsa', publicKey: rsa.publicKey.export(der).toString('base64'), privateKey: String(rsa.privateKey.export(pem)) },
    {
      algorithm: 'ed25519',
      publicKey: ed25519.publicKey.export(der).subarray(-ED25519_BYTES).toString('base64'),
      privateKey: String(ed25519.privateKey.export(pem)),
    },
  ];
};
